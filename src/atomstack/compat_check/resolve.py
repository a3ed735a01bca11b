"""Which sites run in this host, and what their names stand for there.

Joins usage to host: evaluates the conditions around a site (`try` bodies, handlers, `hasattr`, flags, comparisons of
the host's version) the way Python would run them against this host. What cannot be evaluated is None, and never a
finding.
"""

import ast
import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from atomstack.compat_check import syntax
from atomstack.compat_check.host import Host, Presence, Target
from atomstack.compat_check.members import class_has
from atomstack.compat_check.usage import (
    AfterBody,
    Binding,
    Conditions,
    Function,
    Handler,
    ImportSite,
    InBody,
    InFunction,
    InHandler,
    Mention,
    Reference,
    Scope,
    Tested,
    Try,
    Usage,
)

_Answer = TypeVar("_Answer")

_DEPTH = 8
"""Names that are followed through one another in a condition."""
_PENDING = 25
"""Questions that wait for one another; each takes up to a dozen frames of Python's thousand."""
_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_VERSION_NAME = re.compile(r"version|(?:^|_)(?:ge|gt|le|lt|eq|since|before|after)_?v?\d|\d_\d", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class State:
    """Whether a site runs: `live` is True, False or None; `why` is the condition that decided, in words."""

    live: bool | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Lookup:
    """What an attribute chain came to: the module (or class) that was asked for `name`, and the answer."""

    owner: Target
    name: str
    presence: Presence
    target: Target | None

    @property
    def symbol(self) -> str:
        """`module:qualname`."""
        return f"{self.owner.symbol}{'.' if self.owner.name else ':'}{self.name}"


_ITSELF = Handler((), reraises=False, line=0)
"""Stands for the guard of a call that is asked for already: functions that call each other."""


class Resolver:
    """Answers for one host; keeps what it has found out.

    `mentioned` says whether a file of the consumer other than the given one names a function.
    """

    def __init__(self, host: Host, usages: Iterable[Usage], mentioned: Callable[[str, str], bool]) -> None:
        self.host = host
        self._mentioned = mentioned
        self._answers: dict[tuple[object, ...], object] = {}
        self._pending = 0
        self._probes: dict[str, list[ImportSite]] = {}
        for usage in usages:
            for site in usage.imports:
                if site.function in usage.probes:
                    self._probes.setdefault(site.function, []).append(site)

    def _once(self, ask: Callable[[], _Answer], meanwhile: _Answer, *question: object) -> _Answer:
        """What `ask` answers, asked once; `meanwhile` where the answer depends on itself, or on too much.

        Flags, aliases and functions of a consumer may hang on each other in circles, and in as many ways as it likes.
        """
        if question not in self._answers:
            if self._pending > _PENDING:
                return meanwhile
            self._answers[question] = meanwhile
            self._pending += 1
            try:
                self._answers[question] = ask()
            finally:
                self._pending -= 1
        return cast("_Answer", self._answers[question])

    # --- imports

    def presence(self, site: ImportSite) -> Presence:
        """Whether the import itself would succeed, guards aside."""
        return self.find(site.module, site.name)

    def find(self, module: str, name: str | None) -> Presence:
        """Whether `import module`, or `from module import name`, would succeed."""
        found = self.host.find_module(module)
        if found is not Presence.PRESENT or name is None or name == "*":
            return found
        return self.host.has(module, name)

    def module_is_missing(self, site: ImportSite) -> bool:
        """Whether the module is what lacks (ModuleNotFoundError), not a name in it (ImportError)."""
        return self.host.find_module(site.module) is Presence.MISSING

    def guard(self, conditions: Conditions, *errors: str) -> Handler | None:
        """The handler that catches one of `errors` and goes on, from the inside out."""
        for condition in reversed(conditions):
            if isinstance(condition, InFunction):
                around = self._guard_of_calls(condition.function, errors)
                if around is not None:
                    return around
            if not isinstance(condition, InBody):
                continue
            for handler in condition.statement.handlers:
                if handler.catches_any(*errors):
                    if handler.reraises:
                        break
                    return handler
        return None

    def _guard_of_calls(self, function: Function, errors: tuple[str, ...]) -> Handler | None:
        """The handler around every call of a function, where all are known."""

        meanwhile: Handler | None = _ITSELF

        def ask() -> Handler | None:
            guards = [
                self.guard(mention.conditions, *errors) if mention.called else None
                for mention in self._mentions(function)
            ]
            return (
                next((guard for guard in guards if guard is not _ITSELF), _ITSELF) if guards and all(guards) else None
            )

        return self._once(ask, meanwhile, "guard", function, errors)

    def _mentions(self, function: Function) -> list[Mention]:
        """All places that name a function, itself aside; none where another file may name it."""
        found = [
            mention
            for mention in function.references
            if not any(isinstance(c, InFunction) and c.function is function for c in mention.conditions)
        ]
        return [] if self._mentioned(function.name, function.file) else found

    def _called(self, function: Function) -> State:
        """Whether anything that runs in this host names the function; what nothing names may be called from outside."""

        def ask() -> State:
            states = [self.state(mention.conditions) for mention in self._mentions(function)]
            if not states or any(state.live for state in states):
                return State(live=True)
            undecided = [state for state in states if state.live is None]
            return undecided[0] if undecided else states[0]

        return self._once(ask, State(live=True), "called", function)

    def import_errors(self, site: ImportSite) -> tuple[str, ...]:
        """The exceptions that catch what this import raises when it fails."""
        return ("ImportError", "ModuleNotFoundError") if self.module_is_missing(site) else ("ImportError",)

    # --- conditions

    def state(self, conditions: Conditions, line: int = 0) -> State:
        """Whether a site under these conditions runs in this host.

        `line` for one that is no import itself: it does not run after one in the same `try` that fails.
        """
        undecided = State(live=True)
        for condition in conditions:
            match condition:
                case Tested(test=test, value=value):
                    holds = self._holds(condition)
                    if holds is False:
                        return State(live=False, why=_as_condition(test, value=value))
                    if holds is None:
                        undecided = State(live=None, why=f"under `{_as_condition(test, value=value)}`")
                case InHandler(statement=statement, handler=handler):
                    failed = self.fails(statement, handler)
                    if failed is False:
                        return State(live=False, why=handler.text)
                    if failed is None:
                        undecided = State(live=None, why=f"in `{handler.text}`")
                case AfterBody(statement=statement):
                    if any(self.fails(statement, handler) for handler in statement.handlers):
                        return State(live=False, why="the import before it fails")
                    if any(self._escapes(site, statement) is None for site in statement.imports):
                        undecided = State(live=None, why="after an import that is undecided")
                case InFunction(function=function):
                    called = self._called(function)
                    if called.live is False:
                        return called
                    if called.live is None:
                        undecided = called
                case InBody(statement=statement) if any(
                    site.line < line and self._escapes(site, statement) for site in statement.imports
                ):
                    return State(live=False, why="the import before it fails")
        return undecided

    def _holds(self, condition: Tested) -> bool | None:
        """Whether a test is as the site needs it: None where a version decides that cannot be told, else True."""

        def ask() -> bool | None:
            truth = self.truth(condition.test, condition.scope)
            if truth is not None:
                return truth is condition.value
            return None if self._on_version(condition.test, condition.scope) else True

        return self._once(ask, None, "holds", condition)

    def fails(self, statement: Try, handler: Handler) -> bool | None:
        """Whether the body of a `try` ends in this handler, as far as imports of the host decide."""

        def ask() -> bool | None:
            undecided = statement.foreign or not statement.imports
            for site in statement.imports:
                match self._escapes(site, statement):
                    case True:
                        errors = self.import_errors(site)
                        return handler is next((h for h in statement.handlers if h.catches_any(*errors)), None)
                    case None:
                        undecided = True
            return None if undecided else False

        return self._once(ask, None, "fails", statement, handler)

    def _escapes(self, site: ImportSite, statement: Try) -> bool | None:
        """Whether an import in the body of a `try` fails there, and nothing further inside deals with it."""
        presence = self.presence(site)
        inside = _inside(site.conditions, statement)
        if presence is Presence.PRESENT or self.guard(inside, *self.import_errors(site)) is not None:
            return False
        live = self.state(inside).live
        return None if live is True and presence is Presence.UNKNOWN else live

    def truth(self, test: ast.expr, scope: Scope, depth: int = 0) -> bool | None:
        """The truth of a condition in this host, or None."""
        if depth > _DEPTH:
            return None
        if syntax.is_type_checking(test):
            return False
        match test:
            case ast.Constant(value=value):
                return bool(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.truth(operand, scope, depth + 1)
                return None if inner is None else not inner
            case ast.BoolOp(op=connective, values=values):
                parts = [self.truth(value, scope, depth + 1) for value in values]
                deciding = isinstance(connective, ast.Or)
                if deciding in parts:
                    return deciding
                return None if None in parts else not deciding
            case ast.Compare(
                left=left, ops=[ast.Is() | ast.IsNot() as comparison], comparators=[ast.Constant(value=None)]
            ):
                absent = self._is_none(left, scope, depth + 1)
                return None if absent is None else absent is isinstance(comparison, ast.Is)
            case ast.Compare(left=left, ops=[comparison], comparators=[right]):
                return self._compared(left, comparison, right, scope)
            case ast.Call(func=ast.Name(id="hasattr"), args=[owner, name]):
                return self._has_attribute(owner, syntax.string(name), scope)
            case ast.Call(func=ast.Name(id="callable" | "bool"), args=[inner_test]):
                return self.truth(inner_test, scope, depth + 1)
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, ast.Constant(value=default)]):
                present = self._has_attribute(owner, syntax.string(name), scope)
                return bool(default) if present is False else None
            case ast.Call(func=function, args=[_, *_]) if (syntax.dotted(function) or ("",))[-1] == "find_spec":
                absent = self._is_none(test, scope, depth + 1)
                return None if absent is None else not absent
            case ast.Call(func=function, args=[], keywords=[]):
                return self._probed((syntax.dotted(function) or ("",))[-1])
            case ast.NamedExpr(value=value):
                return self.truth(value, scope, depth + 1)
            case ast.Name(id=name, lineno=line):
                return self._once(lambda: self._flag(name, line, scope, depth + 1), None, "flag", name, line, scope)
        return None

    def _probed(self, function: str) -> bool | None:
        """False for a function of the consumer that tries an import which fails here, and answers so."""
        sites = self._probes.get(function, [])
        if len({site.file for site in sites}) != 1:
            return None
        failing = (
            self.presence(site) is Presence.MISSING
            and self.guard(site.conditions, *self.import_errors(site)) is not None
            for site in sites
        )
        return False if any(failing) else None

    def _is_none(self, node: ast.expr, scope: Scope, depth: int) -> bool | None:
        match node:
            case ast.Call(func=function, args=[name, *_]) if (syntax.dotted(function) or ("",))[-1] == "find_spec":
                module = syntax.string(name)
                if module is None or not self.host.owns(module):
                    return None
                found = self.host.find_module(module)
                return None if found is Presence.UNKNOWN else found is Presence.MISSING
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, ast.Constant(value=None)]):
                present = self._has_attribute(owner, syntax.string(name), scope)
                return None if present is None else not present
            case ast.Name(id=name, lineno=line):
                return self._once(
                    lambda: self._name_is_none(name, line, scope, depth), None, "is none", name, line, scope
                )
        return None

    def _name_is_none(self, name: str, line: int, scope: Scope, depth: int) -> bool | None:
        live = self._live(scope.lookup_at(name, line), depth)
        if live is None:
            return None
        if live.constant:
            return live.value is None
        if live.expression is not None and depth <= _DEPTH:
            return self._is_none(live.expression, scope, depth + 1)
        return False if live.reference is not None else None

    def _has_attribute(self, owner: ast.expr, name: str | None, scope: Scope) -> bool | None:
        names = syntax.dotted(owner)
        if name is None or names is None:
            return None
        found = self.lookup((*names, name), scope)
        if found is None:
            # `hasattr(mod, …)` where `mod` itself is None, for its import failed.
            return None
        if found.presence is Presence.UNKNOWN:
            return None
        return found.presence is Presence.PRESENT

    def _flag(self, name: str, line: int, scope: Scope, depth: int) -> bool | None:
        live = self._live(scope.lookup_at(name, line), depth)
        if live is None:
            return None
        if live.expression is not None:
            return self.truth(live.expression, scope, depth + 1)
        return bool(live.value) if live.constant else True if live.reference is not None else None

    def _live(self, bindings: list[Binding], depth: int) -> Binding | None:
        """The one binding that holds in this host, when the others do not run or come before it."""
        if not bindings or depth > _DEPTH:
            return None
        if any(not b.constant and b.reference is None and b.expression is None for b in bindings):
            return None
        running: list[Binding] = []
        for binding in bindings:
            state = self.state(binding.conditions, binding.line)
            if state.live is None:
                return None
            if state.live is False:
                continue
            reference = binding.reference
            if reference is not None and self.find(reference.module, reference.name) is not Presence.PRESENT:
                continue
            running.append(binding)
        # A plain default that a `try` or an `if` overrides: the later one holds, if it surely runs. What all stand
        # under says nothing about which of them holds.
        shared = set.intersection(*(set(binding.conditions) for binding in bindings))
        if not running or any(
            isinstance(c, Tested) and c not in shared and self.truth(c.test, c.scope) is None
            for c in running[-1].conditions
        ):
            return None
        return running[-1]

    # --- versions

    def _compared(self, left: ast.expr, comparison: ast.cmpop, right: ast.expr, scope: Scope) -> bool | None:
        """`Version(host.__version__) >= Version("0.12")`, either way round."""
        compare = _OPERATORS.get(type(comparison))
        if compare is None:
            return None
        if syntax.dotted(left) == ("sys", "version_info") and isinstance(right, ast.Tuple):
            # The Python that runs this is the one of the image, or as old as the oldest that is supported.
            parts = [part.value for part in right.elts if isinstance(part, ast.Constant)]
            whole = len(parts) == len(right.elts) and all(isinstance(part, int) for part in parts)
            return bool(compare(sys.version_info[:], tuple(parts))) if whole else None
        first, second = self._version(left, scope), self._version(right, scope)
        if first is None or second is None or not (first[1] or second[1]):
            return None
        return bool(compare(first[0], second[0]))

    def _version(self, node: ast.expr, scope: Scope, depth: int = 0) -> tuple[Version, bool] | None:
        """The version that an expression stands for, and whether it is the host's."""
        match node:
            case ast.Call(func=function, args=[inner]) if depth <= _DEPTH:
                name = (syntax.dotted(function) or ("",))[-1]
                if name in {"Version", "parse", "parse_version"}:
                    text = syntax.string(inner)
                    if text is None:
                        return self._version(inner, scope, depth + 1)
                    return (found, False) if (found := _parsed(text)) is not None else None
                if name == "version" and (distribution := syntax.string(inner)) is not None:
                    ours = {self.host.package, self.host.tree.distribution or self.host.package}
                    if canonicalize_name(distribution) in map(canonicalize_name, ours):
                        return self._host_version()
            case ast.Attribute(attr="__version__"):
                names = syntax.dotted(node) or ("",)
                reference = self.reference(names[0], scope)
                if len(names) == 2 and reference == Reference(self.host.package):
                    return self._host_version()
            case ast.Name(id=name) if depth <= _DEPTH:
                if self.reference(name, scope) == Reference(self.host.package, "__version__"):
                    return self._host_version()
                match scope.lookup(name):
                    case [Binding(expression=ast.expr() as expression)]:
                        return self._version(expression, scope, depth + 1)
        return None

    def _host_version(self) -> tuple[Version, bool] | None:
        found = _parsed(self.host.version or "")
        return None if found is None else (found, True)

    def _on_version(self, test: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Whether a condition depends on the version of something that may be the host."""
        if any(self._asks_for_version(part) for part in ast.walk(test)):
            return True
        for name, node in _names(test):
            if _VERSION_NAME.search(name):
                owner = node.value if isinstance(node, ast.Attribute) else None
                if isinstance(owner, ast.Name) and name in {"__version__", "version_info"}:
                    reference = self.reference(owner.id, scope)
                    if reference is None and owner.id != self.host.package:
                        continue  # the version of Python, or of another package
                return True
            if isinstance(node, ast.Name) and depth < _DEPTH and self._set_by_version(name, scope, depth):
                return True
        return False

    def _asks_for_version(self, node: ast.AST) -> bool:
        """`is_torch_equal_or_newer("2.7")`, where the host is torch."""
        match node:
            case ast.Call(func=function, args=[value, *_]):
                words = (syntax.dotted(function) or ("",))[-1].lower().split("_")
                text = syntax.string(value) or ""
                return self.host.package in words and re.match(r"v?\d+(\.\d+)+", text) is not None
        return False

    def _set_by_version(self, name: str, scope: Scope, depth: int) -> bool:
        def ask() -> bool:
            expressions = (binding.expression for binding in scope.lookup(name))
            return any(e is not None and self._on_version(e, scope, depth + 1) for e in expressions)

        return self._once(ask, False, "on version", name, scope)  # noqa: FBT003 - the answer for the time being

    # --- names

    def reference(self, name: str, scope: Scope, depth: int = 0) -> Reference | None:
        """What of the host a plain name certainly stands for."""
        return self._once(lambda: self._reference(name, scope, depth), None, "reference", name, scope)

    def _reference(self, name: str, scope: Scope, depth: int) -> Reference | None:
        references: set[Reference] = set()
        for binding in scope.lookup(name):
            if binding.reference is not None:
                references.add(binding.reference)
            elif binding.expression is not None and depth <= _DEPTH:
                aliased = self._aliased(binding.expression, scope, depth + 1)
                if aliased is None:
                    return None
                references.add(aliased)
            elif not (binding.constant and binding.value is None):
                return None
        if len(references) > 1:
            found = {r: self.find(r.module, r.name or None) for r in references}
            if Presence.UNKNOWN in found.values():
                return None
            references = {r for r, presence in found.items() if presence is Presence.PRESENT}
        return references.pop() if len(references) == 1 else None

    def _aliased(self, expression: ast.expr, scope: Scope, depth: int) -> Reference | None:
        names = syntax.dotted(expression)
        if names is None:
            return None
        if len(names) == 1:
            return self.reference(names[0], scope, depth)
        found = self.lookup(names, scope, depth)
        if (
            found is None
            or found.target is None
            or found.name != names[-1]
            or found.target.kind not in {"module", "class"}
        ):
            return None
        return Reference(found.target.module, found.target.name)

    def target(self, reference: Reference) -> Target | None:
        """What a reference stands for in this host, when certain."""
        if not reference.name:
            return Target("module", reference.module) if self.host.has_module(reference.module) else None
        return self.host.resolve(reference.module, reference.name)

    def lookup(self, names: tuple[str, ...], scope: Scope, depth: int = 0) -> Lookup | None:
        """Follow an attribute chain into the host: to the first name that is missing, else to the last one.

        None when the chain does not certainly start at a module or class of the host, or leaves them on its way.
        """
        reference = self.reference(names[0], scope, depth)
        owner = self.target(reference) if reference is not None else None
        found: Lookup | None = None
        for name in names[1:]:
            if owner is None or owner.kind not in {"module", "class"}:
                return None
            if owner.kind == "module":
                presence, target = self.host.has(owner.module, name), self.host.resolve(owner.module, name)
            else:
                presence, target = class_has(self.host, owner, name), None
            found = Lookup(owner, name, presence, target)
            if presence is not Presence.PRESENT:
                return found
            owner = target
        return found


def _names(test: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    for part in ast.walk(test):
        match part:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name, part


def _parsed(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _as_condition(test: ast.expr, *, value: bool) -> str:
    """`if …` as the source spells it, or would spell the other arm."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, value = test.operand, not value
    try:
        text = " ".join(ast.unparse(test).split())
    except RecursionError:
        text = "…"
    text = text if len(text) <= 80 else text[:77] + "…"
    if value:
        return f"if {text}"
    return f"if not ({text})" if isinstance(test, ast.BoolOp | ast.Compare) else f"if not {text}"


def _inside(conditions: Conditions, statement: Try) -> Conditions:
    """The conditions that stand inside the body of `statement`."""
    for index, condition in enumerate(conditions):
        if isinstance(condition, InBody) and condition.statement is statement:
            return conditions[index + 1 :]
    return ()
