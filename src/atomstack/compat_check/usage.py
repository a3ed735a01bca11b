"""What the consumer uses of the host: imports, attributes, patches, each with what guards it.

Reads one file at a time and knows nothing of the host but its name. Whether a site resolves, and whether its
guards let it run, is judged by `resolve.py` and the rules.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from atomstack.compat_check import syntax


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
        """Whether it catches one of these, by name or by a base of all."""
        return not self.catches or any(name in self.catches for name in (*names, "Exception", "BaseException"))


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


Condition = Tested | InBody | InHandler | AfterBody
Conditions = tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A name of the host: `module`, and `name` in it, or "" for the module itself."""

    module: str
    name: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """One place that binds a name: to a host reference, to a constant (`value`), or to something else."""

    line: int
    conditions: Conditions
    reference: Reference | None = None
    constant: bool = False
    value: object = None


@dataclass(slots=True, eq=False)
class Scope:
    """One namespace of the consumer. `kind` is module, class or function."""

    kind: str
    name: str
    parent: "Scope | None" = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outer: set[str] = field(default_factory=set)

    def bind(self, name: str, binding: Binding) -> None:
        """Add a binding, where `global` and `nonlocal` say it belongs."""
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


@dataclass(frozen=True, slots=True, eq=False)
class ImportSite:
    """One imported name at one place. `name` is None for `import module`; `dynamic` for import_module("…")."""

    file: str
    line: int
    end_line: int
    module: str
    name: str | None
    conditions: Conditions
    dynamic: bool = False

    @property
    def symbol(self) -> str:
        """`module:name`, or the module."""
        return f"{self.module}:{self.name}" if self.name else self.module


@dataclass(frozen=True, slots=True, eq=False)
class AttributeUse:
    """An attribute chain read off a name: `names[0]` is looked up in `scope`."""

    file: str
    line: int
    names: tuple[str, ...]
    scope: Scope
    conditions: Conditions


@dataclass(frozen=True, slots=True, eq=False)
class PatchSite:
    """An attribute of something assigned from outside: `mod.name = f`, `setattr(mod, "name", f)`."""

    file: str
    line: int
    names: tuple[str, ...]
    scope: Scope
    conditions: Conditions
    how: str


@dataclass(slots=True)
class Usage:
    """Everything one file uses. `reads` holds every attribute name that is read, `getattr` and `hasattr` included."""

    imports: list[ImportSite] = field(default_factory=list)
    attributes: list[AttributeUse] = field(default_factory=list)
    patches: list[PatchSite] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    opaque_imports: list[tuple[str, int]] = field(default_factory=list)


def scan(tree: ast.Module, *, file: str, module: str, is_package: bool, host: str) -> Usage:
    """Everything that the file `file`, importable as `module`, uses of the package `host`."""
    scanner = _Scanner(file, module, is_package=is_package, host=host)
    scanner.block(tree.body, scanner.top, ())
    return scanner.usage


class _Scanner:
    def __init__(self, file: str, module: str, *, is_package: bool, host: str) -> None:
        self.file = file
        self.module = module
        self.is_package = is_package
        self.host = host
        self.top = Scope("module", "")
        self.usage = Usage()

    def of_host(self, module: str) -> bool:
        return module == self.host or module.startswith(self.host + ".")

    # --- statements

    def block(self, body: list[ast.stmt], scope: Scope, conditions: Conditions) -> None:
        for node in body:
            conditions = (*conditions, *self.statement(node, scope, conditions))

    def statement(self, node: ast.stmt, scope: Scope, conditions: Conditions) -> Conditions:
        """Scan one statement; return what also holds for those after it in the same block."""
        match node:
            case ast.Import() | ast.ImportFrom():
                self.imported(node, scope, conditions)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for decorator in node.decorator_list:
                    self.expression(decorator, scope, conditions)
                for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                    self.expression(default, scope, conditions)
                scope.bind(node.name, Binding(node.lineno, conditions))
                inner = Scope("function", node.name, scope)
                for argument in _arguments(node.args):
                    inner.bind(argument, Binding(node.lineno, conditions))
                # It runs when it is called: no `try` around the definition guards it.
                self.block(node.body, inner, tuple(c for c in conditions if not isinstance(c, InBody)))
            case ast.ClassDef():
                for expression in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
                    self.expression(expression, scope, conditions)
                scope.bind(node.name, Binding(node.lineno, conditions))
                self.block(node.body, Scope("class", node.name, scope), conditions)
            case ast.If():
                return self.conditional(node, scope, conditions)
            case ast.Try():
                return self.attempt(node, scope, conditions)
            case ast.Global() | ast.Nonlocal():
                if isinstance(node, ast.Global):
                    scope.outer |= set(node.names)
            case ast.With() | ast.AsyncWith():
                self.generic(node, scope, conditions)
                suppressed = _suppressed(node)
                if suppressed is not None:
                    statement = Try((Handler(suppressed, reraises=False, line=node.lineno),))
                    self.block(node.body, scope, (*conditions, InBody(statement)))
                else:
                    self.block(node.body, scope, conditions)
            case ast.For() | ast.AsyncFor() | ast.While():
                self.generic(node, scope, conditions)
                self.block(node.body, scope, conditions)
                self.block(node.orelse, scope, conditions)
            case ast.Match():
                self.generic(node, scope, conditions)
                for case in node.cases:
                    self.block(case.body, scope, conditions)
            case _:
                self.generic(node, scope, conditions)
        return ()

    def conditional(self, node: ast.If, scope: Scope, conditions: Conditions) -> Conditions:
        negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
        self.expression(node.test, scope, conditions)
        if not syntax.is_type_checking(node.test):
            self.block(node.body, scope, (*conditions, Tested(node.test, value=True, scope=scope)))
        else:
            self.typed_only(node.body, scope)
        if negated and syntax.is_type_checking(node.test.operand):  # type: ignore[attr-defined]
            self.typed_only(node.orelse, scope)
            return ()
        self.block(node.orelse, scope, (*conditions, Tested(node.test, value=False, scope=scope)))
        after: list[Condition] = []
        if _leaves(node.body):
            after.append(Tested(node.test, value=False, scope=scope))
        if node.orelse and _leaves(node.orelse):
            after.append(Tested(node.test, value=True, scope=scope))
        return tuple(after)

    def typed_only(self, body: list[ast.stmt], scope: Scope) -> None:
        """Names bound for the type checker: never at run time, yet the scope has them."""
        for node in syntax.live_statements(body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for alias in node.names:
                    scope.bind(alias.asname or alias.name.partition(".")[0], Binding(node.lineno, ()))

    def attempt(self, node: ast.Try, scope: Scope, conditions: Conditions) -> Conditions:
        statement = Try(tuple(_handler(handler) for handler in node.handlers))
        self.block(node.body, scope, (*conditions, InBody(statement)))
        statement.foreign = statement.foreign or any(_may_fail_otherwise(child, self.host) for child in node.body)
        for handler, clause in zip(statement.handlers, node.handlers, strict=True):
            if clause.name:
                scope.bind(clause.name, Binding(clause.lineno, conditions))
            self.block(clause.body, scope, (*conditions, InHandler(statement, handler)))
        self.block(node.orelse, scope, (*conditions, AfterBody(statement)))
        self.block(node.finalbody, scope, conditions)
        if node.handlers and all(_leaves(clause.body) for clause in node.handlers):
            return (AfterBody(statement),)
        return ()

    def generic(self, node: ast.stmt, scope: Scope, conditions: Conditions) -> None:
        bound: Binding | None = None
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                bound = self.value_binding(value, node.lineno, conditions)
        for name in syntax.bound_names(node):
            scope.bind(name, bound or Binding(node.lineno, conditions))
        for expression in syntax.own_expressions(node):
            self.expression(expression, scope, conditions)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self.set_attribute(node.value, scope, conditions)

    def value_binding(self, value: ast.expr, line: int, conditions: Conditions) -> Binding | None:
        if isinstance(value, ast.Constant):
            return Binding(line, conditions, constant=True, value=value.value)
        module = _import_module(value)
        if module is not None and self.of_host(module):
            return Binding(line, conditions, reference=Reference(module))
        return None

    def imported(self, node: ast.Import | ast.ImportFrom, scope: Scope, conditions: Conditions) -> None:
        end = node.end_lineno or node.lineno
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                reference = None
                if self.of_host(alias.name):
                    self.site(ImportSite(self.file, node.lineno, end, alias.name, None, conditions))
                    reference = Reference(alias.name if alias.asname else name)
                scope.bind(name, Binding(node.lineno, conditions, reference))
            return
        source = syntax.absolute(node, self.module, self.is_package)
        for alias in node.names:
            reference = None
            if not node.level and self.of_host(source):
                line = alias.lineno
                if alias.name == "*":
                    self.site(ImportSite(self.file, line, end, source, None, conditions))
                    continue
                self.site(ImportSite(self.file, line, end, source, alias.name, conditions))
                reference = Reference(source, alias.name)
            if alias.name != "*":
                scope.bind(alias.asname or alias.name, Binding(node.lineno, conditions, reference))

    def site(self, site: ImportSite) -> None:
        self.usage.imports.append(site)
        for condition in reversed(site.conditions):
            if isinstance(condition, InBody):
                condition.statement.imports.append(site)
            elif isinstance(condition, InHandler):
                condition.statement.fallbacks.append(site)

    # --- expressions

    def expression(self, node: ast.expr, scope: Scope, conditions: Conditions) -> None:
        match node:
            case ast.Attribute():
                self.attribute(node, scope, conditions)
            case ast.BoolOp(op=operator, values=values):
                for value in values:
                    self.expression(value, scope, conditions)
                    conditions = (
                        *conditions,
                        Tested(value, value=isinstance(operator, ast.And), scope=scope),
                    )
            case ast.IfExp():
                self.expression(node.test, scope, conditions)
                self.expression(node.body, scope, (*conditions, Tested(node.test, value=True, scope=scope)))
                self.expression(node.orelse, scope, (*conditions, Tested(node.test, value=False, scope=scope)))
            case ast.Lambda():
                inner = Scope("function", "<lambda>", scope)
                for argument in _arguments(node.args):
                    inner.bind(argument, Binding(node.lineno, conditions))
                self.expression(node.body, inner, conditions)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                inner = Scope("function", "<comprehension>", scope)
                for generator in node.generators:
                    for part in ast.walk(generator.target):
                        if isinstance(part, ast.Name):
                            inner.bind(part.id, Binding(node.lineno, conditions))
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.expression(child, inner, conditions)
                    elif isinstance(child, ast.comprehension):
                        self.expression(child.iter, inner, conditions)
                        for test in child.ifs:
                            self.expression(test, inner, conditions)
            case ast.Call():
                self.call(node, scope, conditions)
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.expression(child, scope, conditions)
                    elif isinstance(child, ast.keyword):
                        self.expression(child.value, scope, conditions)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self.expression(child, scope, conditions)

    def attribute(self, node: ast.Attribute, scope: Scope, conditions: Conditions) -> None:
        names = syntax.dotted(node)
        if isinstance(node.ctx, ast.Load):
            self.usage.reads.add(node.attr)
        if names is None:
            self.expression(node.value, scope, conditions)
            return
        if isinstance(node.ctx, ast.Store):
            self.usage.patches.append(PatchSite(self.file, node.lineno, tuple(names), scope, conditions, "assignment"))
            names = names[:-1]
        if len(names) > 1:
            self.usage.reads |= set(names[1:])
            self.usage.attributes.append(AttributeUse(self.file, node.lineno, tuple(names), scope, conditions))

    def call(self, node: ast.Call, scope: Scope, conditions: Conditions) -> None:
        module = _import_module(node)
        if module is not None and self.of_host(module):
            end = node.end_lineno or node.lineno
            self.site(ImportSite(self.file, node.lineno, end, module, None, conditions, dynamic=True))
        match node:
            case ast.Call(func=ast.Name(id="getattr" | "hasattr" as function), args=[owner, name, *default]):
                attribute = syntax.string(name)
                if attribute is None:
                    return
                self.usage.reads.add(attribute)
                names = syntax.dotted(owner)
                if function == "getattr" and not default and names is not None:
                    self.usage.attributes.append(
                        AttributeUse(self.file, node.lineno, (*names, attribute), scope, conditions)
                    )

    def set_attribute(self, node: ast.Call, scope: Scope, conditions: Conditions) -> None:
        match node:
            case ast.Call(func=ast.Name(id="setattr"), args=[owner, name, _]):
                attribute, names = syntax.string(name), syntax.dotted(owner)
                if attribute is not None and names is not None:
                    self.usage.patches.append(
                        PatchSite(self.file, node.lineno, (*names, attribute), scope, conditions, "setattr")
                    )


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        yield argument.arg
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            yield extra.arg


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _handler(node: ast.ExceptHandler) -> Handler:
    types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type] if node.type else []
    names = tuple((syntax.dotted(t) or ["?"])[-1] for t in types)
    return Handler(names, reraises=bool(node.body) and isinstance(node.body[-1], ast.Raise), line=node.lineno)


def _suppressed(node: ast.With | ast.AsyncWith) -> tuple[str, ...] | None:
    """The exceptions of `with contextlib.suppress(…)`."""
    for item in node.items:
        if isinstance(item.context_expr, ast.Call):
            names = syntax.dotted(item.context_expr.func)
            if names and names[-1] == "suppress":
                return tuple((syntax.dotted(a) or ["?"])[-1] for a in item.context_expr.args)
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


def _import_module(node: ast.expr) -> str | None:
    """The module of `importlib.import_module("…")` or `__import__("…")`."""
    match node:
        case ast.Call(func=function, args=[name, *_]):
            names = syntax.dotted(function)
            if names and names[-1] in {"import_module", "__import__"}:
                return syntax.string(name)
    return None
