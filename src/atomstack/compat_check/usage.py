"""What the consumer uses of the host: imports, attributes, patches, each with what guards it.

Reads one file at a time and knows nothing of the host but its name. Whether a site resolves, and whether its
guards let it run, is judged by `resolve.py` and the rules.

Only statements whose lines name the host, or something that came from it, are looked at: the cost grows with what is
used, not with the size of the file.
"""

import ast
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from atomstack.compat_check import syntax
from atomstack.errors import UnreadableError

_CONDITIONS = 300
"""Conditions that one place may stand under; in vLLM, torch and sglang it is under twenty."""
_ROUNDS = 8
"""Names that are followed through one another: each round finds what was assigned from those of the one before."""


@dataclass(frozen=True, slots=True, eq=False)
class Handler:
    """One `except` clause. `catches` holds the last parts of the exception names; empty is a bare `except`."""

    catches: tuple[str, ...]
    reraises: bool
    line: int

    @property
    def text(self) -> str:
        """As the source spells it, roughly."""
        return f"except {', '.join(self.catches)}".rstrip()

    def catches_any(self, *names: str) -> bool:
        """Whether it catches one of these, by name, by a base of all, or by a constant that holds we know not what."""
        return not self.catches or any(
            caught in (*names, "Exception", "BaseException") or caught.isupper() for caught in self.catches
        )


@dataclass(slots=True, eq=False)
class Try:
    """One `try` statement: the import sites in its body, those in its handlers, and whether it may fail otherwise."""

    handlers: tuple[Handler, ...]
    imports: list["ImportSite"] = field(default_factory=list)
    fallbacks: list["ImportSite"] = field(default_factory=list)
    foreign: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Tested:
    """The site runs when `test` is `value`."""

    test: ast.expr
    value: bool
    scope: "Scope"


@dataclass(frozen=True, slots=True, eq=False)
class InBody:
    """The site stands in the body of a `try`."""

    statement: Try


@dataclass(frozen=True, slots=True, eq=False)
class InHandler:
    """The site runs when the body of a `try` raised what the handler catches."""

    statement: Try
    handler: Handler


@dataclass(frozen=True, slots=True, eq=False)
class AfterBody:
    """The site runs when the body of a `try` did not raise."""

    statement: Try


@dataclass(slots=True, eq=False)
class Function:
    """A function of the consumer, and the places of its file that name it: where it is called, or handed on."""

    name: str
    file: str
    references: list["Mention"] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Mention:
    """One place that names a function."""

    conditions: "Conditions"
    called: bool


@dataclass(frozen=True, slots=True, eq=False)
class InFunction:
    """The site runs when the function is called."""

    function: Function


Condition = Tested | InBody | InHandler | AfterBody | InFunction
Conditions = tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A name of the host: `module`, and `name` in it, or "" for the module itself."""

    module: str
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """One place that binds a name: to a host reference, to a constant (`value`), or to something else.

    `expression` is what was assigned, where it is neither: an alias, or a condition that is tested later.
    """

    line: int
    conditions: Conditions
    reference: Reference | None = None
    constant: bool = False
    value: object = None
    expression: ast.expr | None = None
    function: Function | None = None


@dataclass(slots=True, eq=False)
class Scope:
    """One namespace of the consumer. `kind` is module, class or function."""

    kind: str
    parent: "Scope | None" = None
    name: str = ""
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outer: set[str] = field(default_factory=set)

    def bind(self, name: str, binding: Binding) -> None:
        """Add a binding, where `global` says it belongs."""
        scope: Scope = self
        if name in self.outer:
            while scope.parent is not None:
                scope = scope.parent
        scope.bindings.setdefault(name, []).append(binding)

    def lookup(self, name: str) -> list[Binding]:
        """The bindings of the scope in which Python would find the name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bindings and (scope is self or scope.kind != "class"):
                return scope.bindings[name]
            scope = scope.parent
        return []

    def lookup_at(self, name: str, line: int) -> list[Binding]:
        """Those that may hold at a line: in the scope itself the ones above it, where there are any."""
        found = self.lookup(name)
        above = [binding for binding in self.bindings.get(name, ()) if binding.line < line]
        return above if found is self.bindings.get(name) and above else found


@dataclass(frozen=True, slots=True, eq=False)
class ImportSite:
    """One imported name at one place. `name` is None for `import module`; `dynamic` for import_module("…").

    `function` is the innermost function around it, or "".
    """

    file: str
    line: int
    module: str
    name: str | None
    conditions: Conditions
    dynamic: bool = False
    function: str = ""

    @property
    def symbol(self) -> str:
        """`module:name`, or the module."""
        return f"{self.module}:{self.name}" if self.name else self.module


@dataclass(frozen=True, slots=True, eq=False)
class AttributeUse:
    """An attribute chain read off a name: `names[0]` is looked up in `scope`.

    `optional` where it may be absent by design: `hasattr`, `getattr` with a default.
    """

    file: str
    line: int
    names: tuple[str, ...]
    scope: Scope
    conditions: Conditions
    optional: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class PatchSite:
    """An attribute of something assigned from outside: `mod.name = f`, `setattr(mod, "name", f)`."""

    file: str
    line: int
    names: tuple[str, ...]
    scope: Scope
    conditions: Conditions
    value: ast.expr | None


@dataclass(slots=True)
class Usage:
    """Everything one file uses.

    `additions` are host attributes that are handed to a function by name, which may add them: `extend_enum(Status,
    "NEW", 7)`. `probes` are functions that may answer with a false value, as `has_feature()` does.
    """

    file: str
    imports: list[ImportSite] = field(default_factory=list)
    attributes: list[AttributeUse] = field(default_factory=list)
    patches: list[PatchSite] = field(default_factory=list)
    additions: list[PatchSite] = field(default_factory=list)
    probes: set[str] = field(default_factory=set)


def scan(tree: ast.Module, source: bytes, *, file: str, host: str, relative: bool = False) -> Usage:
    """Everything that a file uses of the package `host`; UnreadableError for what is beyond analysis.

    `relative` for a file of the host itself: then `from .x import y` is an import of the host, too.
    """
    if b"\r" in source:
        source = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    names = {host}
    usage = Usage(file)
    for _ in range(_ROUNDS):
        scanner = _Scanner(file, host, _Mentions(source, names, relative=relative), names, relative=relative)
        try:
            scanner.run(tree)
        except RecursionError:
            raise UnreadableError(file, "nested too deeply to analyse") from None
        usage = scanner.usage
        if scanner.found <= names:
            break
        names |= scanner.found
    return usage


class _Mentions:
    """The lines of a file on which one of the names stands, be it in a comment."""

    def __init__(self, source: bytes, names: Iterable[str], *, relative: bool) -> None:
        words = "|".join(map(re.escape, sorted(names)))
        more = r"|\bfrom[ \t]+\." if relative else ""
        self.lines: list[int] = []
        line, last = 1, 0
        for match in re.finditer(rf"\b(?:{words}|TYPE_CHECKING)\b|[vV](?i:ersion){more}".encode(), source):
            line += source.count(b"\n", last, match.start())
            last = match.start()
            if not self.lines or self.lines[-1] != line:
                self.lines.append(line)

    def within(self, node: ast.stmt) -> bool:
        """Whether a statement, its decorators included, has such a line."""
        first = node.lineno
        for decorator in getattr(node, "decorator_list", ()):
            first = min(first, decorator.lineno)
        index = bisect_left(self.lines, first)
        return index < len(self.lines) and self.lines[index] <= (node.end_lineno or node.lineno)


class _Scanner:
    """One pass over a file, for given names of interest; `found` holds the names that ought to be among them."""

    def __init__(self, file: str, host: str, mentions: _Mentions, names: set[str], *, relative: bool) -> None:
        self.host = host
        self.mentions = mentions
        self.names = names
        self.relative = relative
        self.module = syntax.module_of(file)
        self.is_package = file.endswith("__init__.py")
        self.file = file
        self.usage = Usage(file)
        self.found: set[str] = set()
        self.type_checking: frozenset[str] = frozenset()
        self.lazy_annotations = False
        # Bodies of functions wait until their module's names are known; blocks never nest deeper than Python allows.
        self.pending: deque[tuple[list[ast.stmt], Scope, Conditions]] = deque()
        self.mentioned: list[tuple[str, Scope, Mention]] = []

    def run(self, tree: ast.Module) -> None:
        self.lazy_annotations = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in tree.body
        )
        self.pending.append((tree.body, Scope("module"), ()))
        while self.pending:
            self.block(*self.pending.popleft())
        for name, scope, mention in self.mentioned:
            match scope.lookup(name):
                case [Binding(function=Function() as function)]:
                    function.references.append(mention)

    def of_host(self, module: str) -> bool:
        return module == self.host or module.startswith(self.host + ".")

    def bind(self, scope: Scope, name: str, binding: Binding) -> None:
        if binding.reference is not None:
            self.found.add(name)
        scope.bind(name, binding)

    # --- statements

    def block(self, body: list[ast.stmt], scope: Scope, conditions: Conditions) -> None:
        for node in body:
            if self.mentions.within(node):
                conditions = _under(conditions, *self.statement(node, scope, conditions))

    def statement(self, node: ast.stmt, scope: Scope, conditions: Conditions) -> Conditions:
        """Scan one statement; return what also holds for those after it in the same block."""
        match node:
            case ast.Import() | ast.ImportFrom():
                self.imported(node, scope, conditions)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.function(node, scope, conditions)
            case ast.ClassDef():
                for expression in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
                    self.expression(expression, scope, conditions)
                self.bind(scope, node.name, Binding(node.lineno, conditions))
                self.block(node.body, Scope("class", scope), conditions)
            case ast.If():
                return self.conditional(node, scope, conditions)
            case ast.Try() | ast.TryStar():
                return self.attempt(node, scope, conditions)
            case ast.Global():
                scope.outer |= set(node.names)
            case ast.With() | ast.AsyncWith():
                self.simple(node, scope, conditions)
                suppressed = _suppressed(node)
                if suppressed is not None:
                    statement = Try((Handler(suppressed, reraises=False, line=node.lineno),))
                    self.block(node.body, scope, _under(conditions, InBody(statement)))
                else:
                    self.block(node.body, scope, conditions)
            case ast.For() | ast.AsyncFor() | ast.While():
                self.simple(node, scope, conditions)
                inner = (
                    _under(conditions, Tested(node.test, value=True, scope=scope))
                    if isinstance(node, ast.While)
                    else conditions
                )
                self.block(node.body, scope, inner)
                self.block(node.orelse, scope, conditions)
            case ast.Match():
                self.simple(node, scope, conditions)
                for case in node.cases:
                    self.block(case.body, scope, conditions)
            case _:
                self.simple(node, scope, conditions)
        return ()

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, conditions: Conditions) -> None:
        arguments = _arguments(node.args)
        for expression in [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.expression(expression, scope, conditions)
        if not self.lazy_annotations:
            for annotation in [*(argument.annotation for argument in arguments), node.returns]:
                if annotation is not None:
                    self.expression(annotation, scope, conditions)
        # What a decorator or a class does with a function is not followed.
        plain = not node.decorator_list and scope.kind != "class"
        function = Function(node.name, self.file) if plain else None
        if plain:
            self.found.add(node.name)
        self.bind(scope, node.name, Binding(node.lineno, conditions, function=function))
        inner = Scope("function", scope, node.name)
        for argument in arguments:
            inner.bind(argument.arg, Binding(node.lineno, conditions))
        if any(isinstance(s, ast.Return) and _is_false(s.value) for s in syntax.live_statements(node.body)):
            self.usage.probes.add(node.name)
        # It runs when it is called: no `try` around the definition guards it.
        kept: Conditions = tuple(c for c in conditions if not isinstance(c, InBody))
        self.pending.append((node.body, inner, (*kept, InFunction(function)) if function else kept))

    def conditional(self, node: ast.If, scope: Scope, conditions: Conditions) -> Conditions:
        after: list[Condition] = []
        left = True
        while True:
            self.expression(node.test, scope, conditions)
            runs, other = syntax.arms(node.test, self.type_checking)
            if runs:
                self.block(node.body, scope, _under(conditions, Tested(node.test, value=True, scope=scope)))
                left = left and _leaves(node.body)
                if left:
                    after.append(Tested(node.test, value=False, scope=scope))
            else:
                self.typed_only(node.body, scope)
            if not other:
                self.typed_only(node.orelse, scope)
                break
            conditions = _under(conditions, Tested(node.test, value=False, scope=scope))
            if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
                node = node.orelse[0]  # `elif`, of which there may be thousands
                continue
            self.block(node.orelse, scope, conditions)
            if not after and _leaves(node.orelse):
                after.append(Tested(node.test, value=True, scope=scope))
            break
        return tuple(after)

    def typed_only(self, body: list[ast.stmt], scope: Scope) -> None:
        """Names bound for the type checker: never at run time, yet the scope has them."""
        for node in syntax.live_statements(body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    self.bind(scope, alias.asname or alias.name.partition(".")[0], Binding(node.lineno, ()))

    def attempt(self, node: ast.Try | ast.TryStar, scope: Scope, conditions: Conditions) -> Conditions:
        statement = Try(tuple(_handler(handler) for handler in node.handlers))
        self.flags(node)
        self.block(node.body, scope, _under(conditions, InBody(statement)))
        statement.foreign = any(_may_fail_otherwise(child, self.host) for child in node.body)
        for handler, clause in zip(statement.handlers, node.handlers, strict=True):
            if clause.name:
                self.bind(scope, clause.name, Binding(clause.lineno, conditions))
            self.block(clause.body, scope, _under(conditions, InHandler(statement, handler)))
        self.block(node.orelse, scope, _under(conditions, AfterBody(statement)))
        self.block(node.finalbody, scope, conditions)
        if node.handlers and all(_leaves(clause.body) for clause in node.handlers):
            return (AfterBody(statement),)
        return ()

    def flags(self, node: ast.Try | ast.TryStar) -> None:
        """Names that say afterwards whether the imports of a `try` went well: `HAS_X = True`, `X = None`."""
        for block in (node.body, node.orelse, *(handler.body for handler in node.handlers)):
            for child in block:
                if isinstance(child, ast.Assign) and isinstance(child.value, ast.Constant):
                    self.found.update(name for target in child.targets for name in syntax.target_names(target))

    def simple(self, node: ast.stmt, scope: Scope, conditions: Conditions) -> None:
        bound = Binding(node.lineno, conditions)
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                bound = self.assigned(name, value, bound)
        for name in syntax.bound_names(node):
            self.bind(scope, name, bound)
        match node:
            case ast.Assign(targets=targets, value=value):
                self.stores(targets, value, scope, conditions)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.stores([target], value, scope, conditions)
            case ast.AugAssign(target=target):
                self.expression(target, scope, conditions)
            case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[owner, name_node, value])):
                self.stores(
                    [ast.Attribute(owner, syntax.string(name_node) or "", ast.Store())],
                    value,
                    scope,
                    conditions,
                    node.lineno,
                )
        skipped = (
            node.annotation
            if isinstance(node, ast.AnnAssign) and (self.lazy_annotations or scope.kind == "function")
            else None
        )
        for expression in syntax.own_expressions(node):
            if expression is not skipped and not isinstance(getattr(expression, "ctx", None), ast.Store):
                self.expression(expression, scope, conditions)

    def assigned(self, name: str, value: ast.expr, bound: Binding) -> Binding:
        line, conditions = bound.line, bound.conditions
        if isinstance(value, ast.Constant):
            return Binding(line, conditions, constant=True, value=value.value)
        module = _imported_by_call(value)
        if module is not None and self.of_host(module):
            return Binding(line, conditions, reference=Reference(module))
        names = syntax.dotted(value)
        if (names and names[0] in self.names) or _is_condition(value):
            self.found.add(name)
            return Binding(line, conditions, expression=value)
        return bound

    def stores(
        self, targets: list[ast.expr], value: ast.expr, scope: Scope, conditions: Conditions, line: int | None = None
    ) -> None:
        pending = list(targets)
        while pending:
            match pending.pop():
                case ast.Tuple(elts=items) | ast.List(elts=items):
                    pending.extend(items)
                case ast.Starred(value=inner):
                    pending.append(inner)
                case ast.Attribute(attr=attribute, value=owner) as target if attribute:
                    names = syntax.dotted(target)
                    if names is None:
                        self.expression(owner, scope, conditions)
                    elif names[0] in self.names:
                        at = line or target.lineno
                        self.usage.patches.append(PatchSite(self.file, at, names, scope, conditions, value))
                        self.use(names[:-1], at, scope, conditions)
                case ast.Subscript() as target:
                    self.expression(target, scope, conditions)

    def imported(self, node: ast.Import | ast.ImportFrom, scope: Scope, conditions: Conditions) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                reference = None
                if self.of_host(alias.name):
                    self.site(
                        ImportSite(self.file, alias.lineno, alias.name, None, conditions, function=_function(scope))
                    )
                    reference = Reference(alias.name if alias.asname else name)
                self.bind(scope, name, Binding(node.lineno, conditions, reference))
            return
        source = syntax.absolute(node, self.module, is_package=self.is_package)
        ours = self.of_host(source) and (self.relative or not node.level)
        for alias in node.names:
            if alias.name == "TYPE_CHECKING" and alias.asname:
                self.type_checking |= {alias.asname}
            if ours:
                self.site(
                    ImportSite(self.file, alias.lineno, source, alias.name, conditions, function=_function(scope))
                )
            if alias.name != "*":
                reference = Reference(source, alias.name) if ours else None
                self.bind(scope, alias.asname or alias.name, Binding(node.lineno, conditions, reference))

    def site(self, site: ImportSite) -> None:
        self.usage.imports.append(site)
        for condition in site.conditions:
            if isinstance(condition, InBody):
                condition.statement.imports.append(site)
            elif isinstance(condition, InHandler):
                condition.statement.fallbacks.append(site)

    # --- expressions

    def expression(self, node: ast.expr, scope: Scope, conditions: Conditions) -> None:
        pending = [(node, scope, conditions)]
        while pending:
            pending.extend(self.parts(*pending.pop()))

    def parts(
        self, node: ast.expr, scope: Scope, conditions: Conditions
    ) -> Iterator[tuple[ast.expr, Scope, Conditions]]:
        """Note what one expression uses by itself; yield the expressions inside it, with their scope and conditions."""
        match node:
            case ast.Constant():
                return
            case ast.Name(id=name):
                if name in self.names:
                    self.mentioned.append((name, scope, Mention(conditions, called=False)))
            case ast.Attribute():
                names = syntax.dotted(node)
                if names is None:
                    inner: ast.expr = node
                    while isinstance(inner, ast.Attribute):
                        inner = inner.value
                    yield inner, scope, conditions
                elif names[0] in self.names:
                    self.use(names, node.lineno, scope, conditions)
            case ast.BoolOp(op=operator, values=values):
                for value in values:
                    yield value, scope, conditions
                    conditions = _under(conditions, Tested(value, value=isinstance(operator, ast.And), scope=scope))
            case ast.IfExp():
                yield node.test, scope, conditions
                yield node.body, scope, _under(conditions, Tested(node.test, value=True, scope=scope))
                yield node.orelse, scope, _under(conditions, Tested(node.test, value=False, scope=scope))
            case ast.Lambda():
                inside = Scope("function", scope)
                for argument in _arguments(node.args):
                    inside.bind(argument.arg, Binding(node.lineno, conditions))
                for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                    yield default, scope, conditions
                yield node.body, inside, conditions
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                yield from self.comprehension(node, scope, conditions)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                self.bind(scope, name, self.assigned(name, value, Binding(node.lineno, conditions)))
                yield value, scope, conditions
            case _:
                if isinstance(node, ast.Call):
                    self.call(node, scope, conditions)
                for child in ast.iter_child_nodes(node):
                    if isinstance(node, ast.Call) and child is node.func and isinstance(child, ast.Name):
                        if child.id in self.names:
                            self.mentioned.append((child.id, scope, Mention(conditions, called=True)))
                        continue
                    if isinstance(child, ast.expr):
                        yield child, scope, conditions
                    elif isinstance(child, ast.keyword):
                        yield child.value, scope, conditions

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, scope: Scope, conditions: Conditions
    ) -> Iterator[tuple[ast.expr, Scope, Conditions]]:
        inside = Scope("function", scope)
        for generator in node.generators:
            for name in syntax.target_names(generator.target):
                inside.bind(name, Binding(node.lineno, conditions))
            yield generator.iter, inside, conditions
            for test in generator.ifs:
                yield test, inside, conditions
                conditions = _under(conditions, Tested(test, value=True, scope=inside))
        for element in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            yield element, inside, conditions

    def use(
        self, names: tuple[str, ...], line: int, scope: Scope, conditions: Conditions, *, optional: bool = False
    ) -> None:
        if len(names) > 1:
            self.usage.attributes.append(AttributeUse(self.file, line, names, scope, conditions, optional))

    def call(self, node: ast.Call, scope: Scope, conditions: Conditions) -> None:
        module = _imported_by_call(node)
        if module is not None and self.of_host(module):
            self.site(
                ImportSite(self.file, node.lineno, module, None, conditions, dynamic=True, function=_function(scope))
            )
        match node:
            case ast.Call(func=ast.Name(id="getattr" | "hasattr" as function), args=[owner, name, *default]):
                names, attribute = syntax.dotted(owner), syntax.string(name)
                if names is not None and attribute is not None and names[0] in self.names:
                    optional = function == "hasattr" or bool(default)
                    self.use((*names, attribute), node.lineno, scope, conditions, optional=optional)
            case ast.Call(args=[owner, name, *_]) if (attribute := syntax.string(name)) is not None:
                names = syntax.dotted(owner)
                if names is not None and names[0] in self.names and attribute.isidentifier():
                    added = PatchSite(self.file, node.lineno, (*names, attribute), scope, conditions, None)
                    self.usage.additions.append(added)


def _under(conditions: Conditions, *more: Condition) -> Conditions:
    if len(conditions) + len(more) > _CONDITIONS:
        raise UnreadableError("", f"more than {_CONDITIONS} conditions around one place")
    return (*conditions, *more)


def _function(scope: Scope) -> str:
    inner: Scope | None = scope
    while inner is not None and not inner.name:
        inner = inner.parent
    return inner.name if inner is not None else ""


def _is_false(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and not value.value)


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    more = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *more]


def _leaves(body: list[ast.stmt]) -> bool:
    return body != [] and (isinstance(body[-1], ast.Return | ast.Continue | ast.Break) or _raises(body))


def _raises(body: list[ast.stmt]) -> bool:
    """Whether a block surely ends by raising, or by leaving the program."""
    while True:
        match body[-1]:
            case ast.Raise():
                return True
            case ast.Expr(value=ast.Call(func=function)):
                return (syntax.dotted(function) or ("",))[-1] in {"exit", "_exit", "quit"}
            case ast.If(body=first, orelse=[_, *_] as second):
                if not _raises(first):
                    return False
                body = second  # `elif`, of which there may be thousands
            case ast.With(body=inner):
                body = inner
            case _:
                return False


def _handler(node: ast.ExceptHandler) -> Handler:
    types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type] if node.type else []
    names = tuple((syntax.dotted(t) or ("?",))[-1] for t in types)
    return Handler(names, reraises=_raises(node.body), line=node.lineno)


def _suppressed(node: ast.With | ast.AsyncWith) -> tuple[str, ...] | None:
    """The exceptions of `with contextlib.suppress(…)`."""
    for item in node.items:
        if isinstance(item.context_expr, ast.Call):
            names = syntax.dotted(item.context_expr.func)
            if names and names[-1] == "suppress":
                return tuple((syntax.dotted(a) or ("?",))[-1] for a in item.context_expr.args)
    return None


def _may_fail_otherwise(node: ast.stmt, host: str) -> bool:
    """Whether a statement in a `try` may raise for a reason that is not an import of the host."""
    match node:
        case ast.Import():
            return any(a.name != host and not a.name.startswith(host + ".") for a in node.names)
        case ast.ImportFrom():
            module = node.module or ""
            return bool(node.level) or (module != host and not module.startswith(host + "."))
        case ast.Assign(value=ast.Constant() | ast.Name()) | ast.Pass() | ast.FunctionDef() | ast.ClassDef():
            return False
    return True


def _imported_by_call(node: ast.expr) -> str | None:
    """The module of `importlib.import_module("…")` or `__import__("…")`."""
    match node:
        case ast.Call(func=function, args=[name, *_]):
            names = syntax.dotted(function)
            if names and names[-1] in {"import_module", "__import__"}:
                return syntax.string(name)
    return None


_ASKING = re.compile(
    r"_?(has|is|can|supports|use)_|hasattr$|getattr$|find_spec$|callable$|bool$|Version$|parse$|.*version", re.I
)


def _is_condition(value: ast.expr) -> bool:
    """Whether a value is worth remembering as something that is tested later."""
    match value:
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call(func=function):
            return _ASKING.match((syntax.dotted(function) or ("",))[-1]) is not None
    return (syntax.dotted(value) or ("",))[-1] == "__version__"
