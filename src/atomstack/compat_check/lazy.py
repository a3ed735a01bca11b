"""Names that a module makes on demand: PEP 562 `__getattr__` and transformers' `_LazyModule`.

A `__getattr__` is *closed* when each path that returns has the name tested against literal keys: exactly those keys
resolve. Any other is open: whatever it is asked for stays undecided.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from atomstack.compat_check import constants, syntax
from atomstack.compat_check.exports import Module

Keys = frozenset[str] | None
"""The names that may reach a place in `__getattr__`; None for any name, empty where none does."""
_NONE: frozenset[str] = frozenset()
_NESTED = 3
"""Dicts within dicts of an import structure; transformers' have two."""


@dataclass(frozen=True, slots=True)
class LazyNames:
    """What a module provides beyond its bindings: `keys`, or None for anything.

    `folders` are those whose modules a lazy package exports by their `__all__`; `affixes` the endings and beginnings
    that its `__getattr__` treats apart; `containers` the names of the dicts and lists that hold the keys.
    """

    keys: Keys
    folders: tuple[str, ...] = ()
    affixes: tuple[str, ...] = ()
    containers: frozenset[str] = _NONE


def lazy_names(
    module: Module, lookup: constants.Lookup, lazy_class: Callable[[str], ast.ClassDef | None]
) -> LazyNames | None:
    """What the module provides on demand, or None when it provides nothing so.

    `lookup` gives the value of a module-level name (raises UnknownError), `lazy_class` the definition of a class.
    """
    try:
        return _lazy_names(module, lookup, lazy_class)
    except RecursionError:
        return LazyNames(None)  # thousands of arms, or of terms


def _lazy_names(
    module: Module, lookup: constants.Lookup, lazy_class: Callable[[str], ast.ClassDef | None]
) -> LazyNames | None:
    if b"LazyModule" in module.source:
        for node in module.statements():
            if (call := _lazy_module(node)) is not None:
                return _Structure(module, lookup).names(call, lazy_class)
    getters = module.bindings.get("__getattr__")
    if getters is None:
        return None
    keys: Keys = _NONE
    containers: set[str] = set()
    for getter in getters:
        if not isinstance(getter, ast.FunctionDef):
            return LazyNames(None)
        reader = _Getter(getter, lookup)
        keys = _either(keys, reader.keys())
        containers |= reader.containers
    if any(_changed_in_functions(module, name) for name in containers):
        return LazyNames(None)
    return LazyNames(keys, containers=frozenset(containers))


def _either(first: Keys, second: Keys) -> Keys:
    return None if first is None or second is None else first | second


def _both(first: Keys, second: Keys) -> Keys:
    if first is None:
        return second
    return first if second is None else first & second


def _changed_in_functions(module: Module, container: str) -> bool:
    """Whether a function of the module adds keys: a registry, whose keys depend on what was registered."""
    if module.source.count(container.encode()) < 2:
        return False
    pending: list[tuple[ast.AST, bool]] = [(node, False) for node in module.tree.body]
    while pending:
        node, inside = pending.pop()
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if inside:
            match node:
                case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()) if name == container:
                    return True
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Name(id=name), attr="update" | "setdefault" | "append" | "extend" | "add"
                    )
                ) if name == container:
                    return True
        pending.extend((child, inside) for child in ast.iter_child_nodes(node))
    return False


class _Getter:
    """Follows one `__getattr__(name)` path by path, keeping which names can be where."""

    def __init__(self, function: ast.FunctionDef, lookup: constants.Lookup) -> None:
        self.function = function
        self.lookup = lookup
        self.containers: set[str] = set()
        arguments = function.args.posonlyargs + function.args.args
        self.name = arguments[0].arg if arguments else ""
        self.locals: dict[str, ast.expr] = {}
        self.served: Keys = _NONE

    def keys(self) -> Keys:
        """The names that some path returns for."""
        # A path that falls off the end returns None, for whatever name got there.
        return _either(self._block(self.function.body, None), self.served)

    def _block(self, body: list[ast.stmt], keys: Keys) -> Keys:
        for node in body:
            if keys == _NONE:
                break
            keys = self._statement(node, keys)
        return keys

    def _statement(self, node: ast.stmt, keys: Keys) -> Keys:
        match node:
            case ast.Raise():
                return _NONE
            case ast.Return(value=value):
                self.served = _either(self.served, self._narrowed(value, keys))
                return _NONE
            case ast.If(test=test, body=body, orelse=orelse):
                when, otherwise = self._tested(test)
                return _either(self._block(body, _both(keys, when)), self._block(orelse, _both(keys, otherwise)))
            case ast.Try():
                after = self._block(node.orelse, self._block(node.body, keys))
                handled = [self._block(handler.body, keys) for handler in node.handlers]
                return self._block(node.finalbody, reduce(_either, handled, after))
            case ast.With(body=body):
                return self._block(body, keys)
            case ast.For(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
                return _either(keys, self._block([*body, *orelse], keys))
            case ast.Match(subject=ast.Name(id=self.name), cases=cases):
                # Every name meets `case _:` in the end, or falls past all cases.
                exhaustive = any(case.guard is None and _is_wildcard(case.pattern) for case in cases)
                after = _NONE if exhaustive else keys
                for case in cases:
                    after = _either(after, self._block(case.body, _both(keys, _pattern_keys(case.pattern))))
                return after
            case ast.Match():
                self.served = None
                return _NONE
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                self.locals[target] = value
                return self._narrowed(value, keys)
            case ast.Assign(value=value) | ast.Expr(value=value):
                return self._narrowed(value, keys)
        return keys

    def _narrowed(self, value: ast.expr | None, keys: Keys) -> Keys:
        """What is left after `KEYS[name]` was evaluated: any other name raised KeyError."""
        if value is None:
            return keys
        for part in ast.walk(value):
            match part:
                case ast.IfExp() | ast.BoolOp() | ast.Lambda():
                    return keys
                case ast.Subscript(value=owner, slice=ast.Name(id=self.name)):
                    keys = _both(keys, self._collection(owner))
        return keys

    def _tested(self, test: ast.expr) -> tuple[Keys, Keys]:
        """The names for which a condition may be true, and those for which it may be false."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                when, otherwise = self._tested(operand)
                return otherwise, when
            case ast.BoolOp(op=ast.And(), values=values):
                parts = [self._tested(value) for value in values]
                return reduce(_both, (p[0] for p in parts)), reduce(_either, (p[1] for p in parts))
            case ast.BoolOp(values=values):
                parts = [self._tested(value) for value in values]
                return reduce(_either, (p[0] for p in parts)), reduce(_both, (p[1] for p in parts))
            case (
                ast.Compare(left=ast.Name(id=self.name), ops=[ast.Eq()], comparators=[value])
                | ast.Compare(left=value, ops=[ast.Eq()], comparators=[ast.Name(id=self.name)])
            ):
                return _text(value), None
            case ast.Compare(left=ast.Name(id=self.name), ops=[ast.NotEq()], comparators=[value]):
                return None, _text(value)
            case ast.Compare(left=ast.Name(id=self.name), ops=[ast.In()], comparators=[value]):
                return self._collection(value), None
            case ast.Compare(left=ast.Name(id=self.name), ops=[ast.NotIn()], comparators=[value]):
                return None, self._collection(value)
            case ast.Compare(left=value, ops=[ast.IsNot() | ast.NotEq()], comparators=[ast.Constant(value=None)]):
                return self._got(value), None
            case ast.Compare(left=value, ops=[ast.Is() | ast.Eq()], comparators=[ast.Constant(value=None)]):
                return None, self._got(value)
        return self._got(test), None

    def _got(self, value: ast.expr) -> Keys:
        """The names for which `KEYS.get(name)`, or a local that holds it, is not None."""
        match value:
            case ast.NamedExpr(target=ast.Name(id=target), value=inner):
                self.locals[target] = inner
                return self._got(inner)
            case ast.Name(id=local) if local in self.locals:
                return self._got(self.locals[local]) if not isinstance(self.locals[local], ast.Name) else None
            case (
                ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[ast.Name(id=self.name)])
                | ast.Call(
                    func=ast.Attribute(value=owner, attr="get"), args=[ast.Name(id=self.name), ast.Constant(value=None)]
                )
            ):
                return self._collection(owner)
            case ast.Subscript(value=owner, slice=ast.Name(id=self.name)):
                return self._collection(owner)
        return None

    def _collection(self, value: ast.expr) -> Keys:
        match value:
            case ast.Call(func=ast.Name(id="globals" | "vars"), args=[]):
                return _NONE  # what is bound already
            case ast.Name(id=name) | ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
                self.containers.add(name)
        try:
            return constants.strings(constants.evaluate(value, self._value))
        except constants.UnknownError:
            return None

    def _value(self, name: str) -> object:
        local = self.locals.get(name)
        return constants.evaluate(local, self.lookup) if local is not None else self.lookup(name)


def _text(value: ast.expr) -> Keys:
    text = syntax.string(value)
    return None if text is None else frozenset((text,))


def _is_wildcard(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _pattern_keys(pattern: ast.pattern) -> Keys:
    match pattern:
        case ast.MatchValue(value=value):
            return _text(value)
        case ast.MatchOr(patterns=patterns):
            return reduce(_either, map(_pattern_keys, patterns))
    return None


def _lazy_module(node: ast.stmt) -> ast.Call | None:
    match node:
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Attribute(attr="modules"))], value=ast.Call(func=function) as call
        ):
            names = syntax.dotted(function)
            return call if names and names[-1].endswith("LazyModule") else None
    return None


@dataclass(slots=True)
class _Structure:
    """Reads the import structure of `sys.modules[__name__] = _LazyModule(__name__, file, structure, …)`."""

    module: Module
    lookup: constants.Lookup
    keys: set[str] = field(default_factory=set)
    folders: list[str] = field(default_factory=list)
    open: bool = False
    _seen: set[str] = field(default_factory=set)

    def names(self, call: ast.Call, lazy_class: Callable[[str], ast.ClassDef | None]) -> LazyNames:
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        structure = call.args[2] if len(call.args) > 2 else keywords.get("import_structure")
        for part in (structure, keywords.get("extra_objects"), keywords.get("explicit_import_shortcut")):
            if part is not None:
                self._add(part)
        names = syntax.dotted(call.func)
        definition = lazy_class(names[-1]) if names else None
        keys = None if self.open or structure is None else frozenset(self.keys)
        return LazyNames(keys, tuple(self.folders), _affixes(definition))

    def _add(self, node: ast.expr) -> None:
        match node:
            case ast.Call(func=function, args=[path, *_]) if (syntax.dotted(function) or ("",))[
                -1
            ] == "define_import_structure":
                parts = [n.value for n in ast.walk(path) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                here = self.module.path.rpartition("/")[0]
                self.folders.append("/".join([here, *(part for part in parts if part != "__file__")]))
                return
        try:
            self._add_value(constants.evaluate(node, self.lookup))
        except constants.UnknownError:
            if isinstance(node, ast.Name) and node.id not in self._seen:
                self._seen.add(node.id)
                self._add_assigned(node.id)
            else:
                self.open = True

    def _add_assigned(self, name: str) -> None:
        """What a name is put together from, part by part, where it is no literal as a whole."""
        for node in self.module.statements():
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                    self._add(value)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="update"), args=[value])):
                    inner = owner.value if isinstance(owner, ast.Subscript) else owner
                    if isinstance(inner, ast.Name) and inner.id == name:
                        self._add(value)
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=target))], value=value) if target == name:
                    self._add(value)

    def _add_value(self, value: object, depth: int = 0) -> None:
        match value:
            case dict() if depth > _NESTED:
                self.open = True
            case dict():
                for key, item in value.items():
                    if isinstance(key, str):
                        self.keys.add(key)
                    if isinstance(item, dict | list | set):
                        self._add_value(item, depth + 1)
            case list() | set():
                for item in value:
                    if isinstance(item, str):
                        self.keys.add(item)
                    else:
                        self.open = True
            case _:
                self.open = True


def _affixes(definition: ast.ClassDef | None) -> tuple[str, ...]:
    """The beginnings and endings of names that a lazy module class treats in its own way."""
    if definition is None:
        return ()
    getter = next((n for n in definition.body if isinstance(n, ast.FunctionDef) and n.name == "__getattr__"), None)
    if getter is None:
        return ()
    asked = getter.args.args[-1].arg
    found: list[str] = []
    for node in ast.walk(getter):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="endswith" | "startswith" | "removesuffix"),
                args=[value],
            ) if name == asked:
                found += [n.value for n in ast.walk(value) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return tuple(found)
