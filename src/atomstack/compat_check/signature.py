"""What a function accepts, what a call hands over, and whether they fit, by Python's own rules of binding."""

import ast
from dataclasses import dataclass
from enum import Enum
from typing import Literal

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Kind(Enum):
    """How an argument reaches a parameter."""

    POSITIONAL = "positional only"
    EITHER = "positional or keyword"
    KEYWORD = "keyword only"
    STAR = "*args"
    STARS = "**kwargs"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `required` where it has no default."""

    name: str
    kind: Kind
    required: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of something that is called, in their order."""

    parameters: tuple[Parameter, ...]

    @classmethod
    def of_function(cls, node: FunctionNode | ast.Lambda, *, bound: bool = False) -> "Signature":
        """What a definition says, decorators aside; without its first parameter where that is `bound`, `*args` kept."""
        arguments = node.args
        positional = [
            *((argument, Kind.POSITIONAL) for argument in arguments.posonlyargs),
            *((argument, Kind.EITHER) for argument in arguments.args),
        ]
        first_default = len(positional) - len(arguments.defaults)
        found = [Parameter(a.arg, kind, index < first_default) for index, (a, kind) in enumerate(positional)]
        if bound:
            found = found[1:]
        if arguments.vararg is not None:
            found.append(Parameter(arguments.vararg.arg, Kind.STAR, required=False))
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            found.append(Parameter(argument.arg, Kind.KEYWORD, default is None))
        if arguments.kwarg is not None:
            found.append(Parameter(arguments.kwarg.arg, Kind.STARS, required=False))
        return cls(tuple(found))

    @property
    def positional(self) -> tuple[Parameter, ...]:
        """Those that an argument without a name reaches, `*args` aside."""
        return tuple(p for p in self.parameters if p.kind in {Kind.POSITIONAL, Kind.EITHER})

    def has(self, kind: Kind) -> bool:
        """Whether there is one of that kind."""
        return any(parameter.kind is kind for parameter in self.parameters)

    def accepts(self, other: "Signature") -> bool:
        """Whether it takes every call that another one takes, each argument in the parameter of the same name."""
        own = {parameter.name: parameter for parameter in self.parameters}
        mine, theirs = self.positional, other.positional
        for index, parameter in enumerate(theirs):
            if index >= len(mine) or mine[index].name != parameter.name:
                return False
            if parameter.kind is not mine[index].kind and (
                parameter.kind is Kind.EITHER or other.has(Kind.STARS)  # `f(0, a=0)` is fine where `a` cannot be named
            ):
                return False
        if other.has(Kind.STAR) and other.has(Kind.STARS) and any(p.kind is Kind.EITHER for p in mine[len(theirs) :]):
            return False
        for parameter in other.parameters:
            found = own.get(parameter.name)
            if parameter.kind is Kind.KEYWORD and not (
                found.kind in {Kind.EITHER, Kind.KEYWORD} if found is not None else self.has(Kind.STARS)
            ):
                return False
            if parameter.kind in {Kind.STAR, Kind.STARS} and not self.has(parameter.kind):
                return False
        required = {parameter.name for parameter in other.parameters if parameter.required}
        return all(parameter.name in required for parameter in self.parameters if parameter.required)


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call hands over: `count` without a name, before any `*x`, and those with one.

    `star` where there may be more without a name, `stars` where there may be more with one.
    """

    count: int
    names: tuple[str, ...] = ()
    star: bool = False
    stars: bool = False

    @classmethod
    def of_call(cls, node: ast.Call) -> "Arguments":
        """What one call hands over."""
        starred = [isinstance(argument, ast.Starred) for argument in node.args]
        plain = len(starred) - sum(starred)
        names = tuple(keyword.arg for keyword in node.keywords if keyword.arg is not None)
        return cls(plain, names, any(starred), len(names) < len(node.keywords))


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why Python raises TypeError. `names` are the parameters or keywords, `count` the arguments without a name."""

    kind: Literal["missing", "extra", "unknown", "twice"]
    names: tuple[str, ...] = ()
    count: int = 0
    accepted: int = 0

    def of_call(self, caller: str) -> str:
        """As the end of a sentence about the function: `takes no hash_block_size, which CALLER passes`."""
        named = ", ".join(self.names)
        match self.kind:
            case "missing":
                return f"also needs {named}, which {caller} does not pass"
            case "extra":
                plural = "" if self.accepted == 1 else "s"
                return f"takes {self.accepted} positional argument{plural}, and {caller} passes {self.count}"
            case "unknown":
                return f"takes no {named}, which {caller} passes"
            case "twice":
                return f"is given {named} twice by {caller}"


def misfit(signature: Signature, arguments: Arguments) -> Misfit | None:
    """Why a call certainly does not fit, or None where it fits or cannot be told."""
    positional = signature.positional
    if arguments.count > len(positional) and not signature.has(Kind.STAR):
        return Misfit("extra", count=arguments.count, accepted=len(positional))
    keywords = {p.name for p in signature.parameters if p.kind in {Kind.EITHER, Kind.KEYWORD}}
    unknown = tuple(name for name in arguments.names if name not in keywords)
    if unknown and not signature.has(Kind.STARS):
        return Misfit("unknown", unknown)
    reached = {p.name for p in positional[: arguments.count] if p.kind is Kind.EITHER}
    if twice := tuple(name for name in arguments.names if name in reached):
        return Misfit("twice", twice)
    missing = tuple(
        p.name
        for p in signature.parameters
        if p.required
        and (p.kind is Kind.POSITIONAL or p.name not in arguments.names)
        and p not in positional[: arguments.count]
        and not (arguments.star and p in positional)
        and not (arguments.stars and p.kind is not Kind.POSITIONAL)
    )
    return Misfit("missing", missing) if missing else None
