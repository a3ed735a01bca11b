"""Which sites run in this host, and what their names stand for there.

Joins usage to host: evaluates the conditions around a site (`try` bodies, handlers, `hasattr`, availability flags)
the way Python would run them against this host. What cannot be evaluated is None, and never a finding.
"""

import ast
from dataclasses import dataclass

from atomstack.compat_check import syntax
from atomstack.compat_check.host import Host, Presence, Target
from atomstack.compat_check.usage import (
    AfterBody,
    Binding,
    Conditions,
    Handler,
    ImportSite,
    InBody,
    InHandler,
    Reference,
    Scope,
    Tested,
    Try,
)


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


class Resolver:
    """Answers for one host; keeps what it has found out."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._imports: dict[ImportSite, Presence] = {}
        self._busy: set[int] = set()

    # --- imports

    def presence(self, site: ImportSite) -> Presence:
        """Whether the import itself would succeed, guards aside."""
        if site not in self._imports:
            self._imports[site] = self._find(site.module, site.name)
        return self._imports[site]

    def _find(self, module: str, name: str | None) -> Presence:
        found = self.host.find_module(module)
        if found is not Presence.PRESENT or name is None:
            return found
        return self.host.has(module, name)

    def module_is_missing(self, site: ImportSite) -> bool:
        """Whether the module is what lacks (ModuleNotFoundError), not a name in it (ImportError)."""
        return not self.host.has_module(site.module)

    def guard(self, conditions: Conditions, *errors: str) -> Handler | None:
        """The handler that catches one of `errors` and goes on, from the inside out."""
        for condition in reversed(conditions):
            if not isinstance(condition, InBody):
                continue
            for handler in condition.statement.handlers:
                if handler.catches_any(*errors):
                    if handler.reraises:
                        break
                    return handler
        return None

    def import_errors(self, site: ImportSite) -> tuple[str, ...]:
        """The exceptions that catch what this import raises when it fails."""
        return ("ImportError", "ModuleNotFoundError") if self.module_is_missing(site) else ("ImportError",)

    # --- conditions

    def state(self, conditions: Conditions) -> State:
        """Whether a site under these conditions runs in this host."""
        undecided = State(live=True)
        for condition in conditions:
            match condition:
                case Tested(test=test, value=value, scope=scope):
                    truth = self.truth(test, scope)
                    text = f"if {ast.unparse(test)}" if truth is not None or _mentions_version(test) else ""
                    if truth is not None and truth is not value:
                        return State(live=False, why=text)
                    if truth is None and _mentions_version(test):
                        undecided = State(live=None, why=text)
                case InHandler(statement=statement, handler=handler):
                    failed = self.fails(statement, handler)
                    if failed is False:
                        return State(live=False, why=handler.text)
                    if failed is None:
                        undecided = State(live=None, why=handler.text)
                case AfterBody(statement=statement):
                    if any(self.fails(statement, handler) for handler in statement.handlers):
                        return State(live=False, why="the import before it fails")
                case InBody():
                    pass
        return undecided

    def fails(self, statement: Try, handler: Handler) -> bool | None:
        """Whether the body of a `try` ends in this handler, as far as imports of the host decide."""
        if id(statement) in self._busy:
            return None
        self._busy.add(id(statement))
        try:
            if not handler.catches_any("ImportError", "ModuleNotFoundError", "AttributeError"):
                return None if statement.foreign or not statement.imports else False
            undecided = statement.foreign or not statement.imports
            for site in statement.imports:
                if self.state(_inside(site.conditions, statement)).live is False:
                    continue
                match self.presence(site):
                    case Presence.MISSING:
                        if handler.catches_any(*self.import_errors(site)):
                            return True
                    case Presence.UNKNOWN:
                        undecided = True
            return None if undecided else False
        finally:
            self._busy.discard(id(statement))

    def truth(self, test: ast.expr, scope: Scope) -> bool | None:
        """The truth of a condition in this host, or None."""
        match test:
            case ast.Constant(value=value):
                return bool(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.truth(operand, scope)
                return None if inner is None else not inner
            case ast.BoolOp(op=operator, values=values):
                parts = [self.truth(value, scope) for value in values]
                deciding = isinstance(operator, ast.Or)
                if deciding in parts:
                    return deciding
                return None if None in parts else not deciding
            case ast.Compare(
                left=left, ops=[ast.Is() | ast.IsNot() as operator], comparators=[ast.Constant(value=None)]
            ):
                absent = self._is_none(left, scope)
                return None if absent is None else absent is isinstance(operator, ast.Is)
            case ast.Call(func=ast.Name(id="hasattr"), args=[owner, name]):
                return self._has_attribute(owner, syntax.string(name), scope)
            case ast.Call(func=ast.Name(id="callable"), args=[inner_test]):
                return self.truth(inner_test, scope)
            case ast.Call(func=ast.Name(id="bool"), args=[inner_test]):
                return self.truth(inner_test, scope)
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, ast.Constant(value=default)]):
                present = self._has_attribute(owner, syntax.string(name), scope)
                return bool(default) if present is False else None
            case ast.Name(id=name):
                return self._flag(scope.lookup(name))
        return None

    def _is_none(self, node: ast.expr, scope: Scope) -> bool | None:
        match node:
            case ast.Call(func=function, args=[name, *_]) if (syntax.dotted(function) or [""])[-1] == "find_spec":
                module = syntax.string(name)
                if module is None or (module != self.host.package and not module.startswith(self.host.package + ".")):
                    return None
                found = self.host.find_module(module)
                return None if found is Presence.UNKNOWN else found is Presence.MISSING
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, ast.Constant(value=None)]):
                present = self._has_attribute(owner, syntax.string(name), scope)
                return None if present is None else not present
            case ast.Name(id=name):
                live = self._live(scope.lookup(name))
                if live is None:
                    return None
                if live.constant:
                    return live.value is None
                return False if live.reference is not None else None
        return None

    def _has_attribute(self, owner: ast.expr, name: str | None, scope: Scope) -> bool | None:
        names = syntax.dotted(owner)
        if name is None or names is None:
            return None
        found = self.lookup((*names, name), scope)
        if found is None or found.presence is Presence.UNKNOWN:
            return None
        return found.presence is Presence.PRESENT

    def _flag(self, bindings: list[Binding]) -> bool | None:
        live = self._live(bindings)
        if live is None:
            return None
        return bool(live.value) if live.constant else True if live.reference is not None else None

    def _live(self, bindings: list[Binding]) -> Binding | None:
        """The one binding that holds in this host, when the others do not run or come before it."""
        if not bindings or any(not b.constant and b.reference is None for b in bindings):
            return None
        running: list[Binding] = []
        for binding in bindings:
            state = self.state(binding.conditions)
            if state.live is None:
                return None
            if state.live is False or self._follows_failure(binding):
                continue
            if (
                binding.reference is not None
                and self._find(binding.reference.module, binding.reference.name or None) is not Presence.PRESENT
            ):
                continue
            running.append(binding)
        # A plain default that a `try` or an `if` overrides: the later one holds, if it surely runs.
        if not running or any(
            isinstance(c, Tested) and self.truth(c.test, c.scope) is None for c in running[-1].conditions
        ):
            return None
        return running[-1]

    def _follows_failure(self, binding: Binding) -> bool:
        return any(
            isinstance(condition, InBody)
            and any(
                site.line < binding.line and self.presence(site) is Presence.MISSING
                for site in condition.statement.imports
            )
            for condition in binding.conditions
        )

    # --- names

    def reference(self, name: str, scope: Scope) -> Reference | None:
        """What of the host a plain name certainly stands for."""
        bindings = scope.lookup(name)
        if not bindings or any(b.reference is None and not (b.constant and b.value is None) for b in bindings):
            return None
        references = {b.reference for b in bindings if b.reference is not None}
        if len(references) > 1:
            references = {r for r in references if self._find(r.module, r.name or None) is Presence.PRESENT}
        return references.pop() if len(references) == 1 else None

    def target(self, reference: Reference) -> Target | None:
        """What a reference stands for in this host, when certain."""
        if not reference.name:
            return Target("module", reference.module) if self.host.has_module(reference.module) else None
        return self.host.resolve(reference.module, reference.name)

    def lookup(self, names: tuple[str, ...], scope: Scope) -> Lookup | None:
        """Follow an attribute chain into the host: to the first name that is missing, else to the last one.

        None when the chain does not certainly start at a module or class of the host, or leaves them on its way.
        """
        reference = self.reference(names[0], scope)
        owner = self.target(reference) if reference is not None else None
        found: Lookup | None = None
        for name in names[1:]:
            if owner is None or owner.kind not in {"module", "class"}:
                return None
            presence = self.host.has(owner.module, name) if owner.kind == "module" else self.class_has(owner, name)
            target = self.host.resolve(owner.module, name) if owner.kind == "module" else None
            found = Lookup(owner, name, presence, target)
            if presence is not Presence.PRESENT:
                return found
            owner = target
        return found

    def class_has(self, target: Target, name: str, depth: int = 0) -> Presence:
        """Whether a class of the host certainly has, or lacks, an attribute of that name."""
        node = target.node
        if not isinstance(node, ast.ClassDef) or depth > 20:
            return Presence.UNKNOWN
        for statement in syntax.live_statements(node.body):
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if statement.name == name:
                    return Presence.PRESENT
            elif isinstance(statement, ast.AnnAssign):
                if isinstance(statement.target, ast.Name) and statement.target.id == name:
                    return Presence.PRESENT
            elif name in syntax.bound_names(statement) or isinstance(statement, ast.Import | ast.ImportFrom):
                return Presence.PRESENT
        if name in _OBJECT:
            return Presence.PRESENT
        # A decorator, a metaclass or a keyword may add anything.
        if node.keywords or any(not _adds_nothing(decorator) for decorator in node.decorator_list):
            return Presence.UNKNOWN
        for base in node.bases:
            names = syntax.dotted(base)
            if names in (["object"], ["ABC"], ["abc", "ABC"]):
                continue
            parent = self.host.resolve(target.module, names[0]) if names and len(names) == 1 else None
            if parent is None or parent.kind != "class":
                return Presence.UNKNOWN
            found = self.class_has(parent, name, depth + 1)
            if found is not Presence.MISSING:
                return found
        return Presence.MISSING


_OBJECT = frozenset(dir(object)) | {
    "__dict__",
    "__module__",
    "__annotations__",
    "__name__",
    "__qualname__",
    "__mro__",
    "__bases__",
}


def _adds_nothing(decorator: ast.expr) -> bool:
    """Decorators of the standard library that leave a class's names as they are written."""
    names = syntax.dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return names is not None and names[-1] in {"final", "runtime_checkable"}


def _inside(conditions: Conditions, statement: Try) -> Conditions:
    """The conditions that stand inside the body of `statement`."""
    for index, condition in enumerate(conditions):
        if isinstance(condition, InBody) and condition.statement is statement:
            return conditions[index + 1 :]
    return ()


def _mentions_version(test: ast.expr) -> bool:
    return any(
        "version" in text.lower()
        for part in ast.walk(test)
        for text in (
            (part.id,) if isinstance(part, ast.Name) else (part.attr,) if isinstance(part, ast.Attribute) else ()
        )
    )
