"""What a module-level name is, without running anything: literals, their sums, and what is added to them.

A small interpreter for the containers that real packages list their names in: `__all__`, the dict behind a PEP 562
`__getattr__`, transformers' `_import_structure`. All arms of a condition are taken together: a name that any arm lists
is listed.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

_SIZE_LIMIT = 50_000
"""Items, or characters, of one value; transformers, the largest package of all, lists 6,000 names."""
_NESTED = 4
"""Containers within containers that are taken together."""
_READ_ONLY = frozenset(("sort", "reverse", "copy", "keys", "items", "values", "get", "index", "count"))


class UnknownError(Exception):
    """The value cannot be told from the source."""


class _Opaque:
    """A value inside a container that does not matter: only keys do."""

    def __repr__(self) -> str:
        return "OPAQUE"


OPAQUE: Final = _Opaque()

Lookup = Callable[[str], object]


def evaluate(node: ast.expr, lookup: Lookup) -> object:
    """The value of a literal expression; `lookup` gives the values of names, `module.name` too. Raises UnknownError."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return lookup(name)
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return lookup(f"{owner}.{name}")
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return list(_items(items, lookup))
        case ast.Set(elts=items):
            return set(_hashable(_items(items, lookup)))
        case ast.Dict(keys=keys, values=values):
            return _dict(keys, values, lookup)
        case ast.BinOp(left=left, op=ast.Add() | ast.BitOr(), right=right):
            return merged(evaluate(left, lookup), evaluate(right, lookup))
        case ast.IfExp(body=body, orelse=orelse):
            return merged(evaluate(body, lookup), evaluate(orelse, lookup))
        case ast.Subscript(value=owner, slice=key):
            found = evaluate(owner, lookup)
            if isinstance(found, Mapping) and (text := evaluate(key, lookup)) in found:
                return found[text]
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=keywords):
            return _builtin(function, arguments, keywords, lookup)
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=arguments, keywords=[]):
            return _method(evaluate(owner, lookup), method, [evaluate(a, lookup) for a in arguments])
        case ast.Call(func=ast.Attribute(attr="MappingProxyType"), args=[inner]):
            return evaluate(inner, lookup)
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element) | ast.SetComp(elt=element):
            return [evaluate(element, inner) for inner in _iterations(node.generators, lookup)]
        case ast.DictComp(key=key, value=value):
            return {
                _key(evaluate(key, inner)): _or_opaque(value, inner) for inner in _iterations(node.generators, lookup)
            }
        case ast.JoinedStr(values=parts):
            return "".join(_formatted(part, lookup) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not evaluate(operand, lookup)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _compared(evaluate(left, lookup), operator, evaluate(right, lookup))
    raise UnknownError


def strings(value: object) -> frozenset[str]:
    """The strings of a list or set, the keys of a dict; UnknownError where one of them is no string."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise UnknownError
    found = list(value)
    if not all(isinstance(item, str) for item in found):
        raise UnknownError
    return frozenset(found)


def merged(first: object, second: object, depth: int = 0) -> object:
    """Two containers taken together; dicts by key."""
    if first is second and not isinstance(first, list | str):
        return first
    match first, second:
        case dict(), dict():
            both: dict[object, object] = dict(first)
            for key, value in second.items():
                both[key] = _merged_values(both[key], value, depth + 1) if key in both else value
            return both
        case ((list() | set() | str()), (list() | set() | str())) if len(first) + len(second) > _SIZE_LIMIT:
            raise UnknownError
        case ((list() | set()), (list() | set())):
            return [*first, *second]
        case str(), str():
            return first + second
    if _is_scalar(first) and first == second:
        return first
    raise UnknownError


def _is_scalar(value: object) -> bool:
    """Whether comparing the value is one step: a container may hold another one any number of times."""
    return value is None or isinstance(value, str | int | float | bytes)


def _merged_values(first: object, second: object, depth: int) -> object:
    if depth > _NESTED:
        return OPAQUE
    try:
        return merged(first, second, depth)
    except UnknownError:
        return OPAQUE


def _items(nodes: list[ast.expr], lookup: Lookup) -> Iterator[object]:
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from _iterable(evaluate(node.value, lookup))
        else:
            yield _or_opaque(node, lookup)


def _iterable(value: object) -> Iterable[object]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise UnknownError
    return value


def _hashable(values: Iterable[object]) -> Iterator[object]:
    return (_key(value) for value in values)


def _key(value: object) -> object:
    if isinstance(value, str | int | None | _Opaque):
        return value
    if isinstance(value, list) and all(map(_is_scalar, value)):
        return tuple(value)
    raise UnknownError


def _dict(keys: list[ast.expr | None], values: list[ast.expr], lookup: Lookup) -> dict[object, object]:
    found: dict[object, object] = {}
    for key, value in zip(keys, values, strict=True):
        if key is None:
            spread = evaluate(value, lookup)
            if not isinstance(spread, dict):
                raise UnknownError
            found.update(spread)
        else:
            found[_key(evaluate(key, lookup))] = _or_opaque(value, lookup)
    return found


def _or_opaque(node: ast.expr, lookup: Lookup) -> object:
    try:
        return evaluate(node, lookup)
    except UnknownError:
        return OPAQUE


def _formatted(part: ast.expr, lookup: Lookup) -> str:
    match part:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            found = evaluate(value, lookup)
            if isinstance(found, str):
                return found
    raise UnknownError


def _builtin(name: str, arguments: list[ast.expr], keywords: list[ast.keyword], lookup: Lookup) -> object:
    if name == "dict":
        found: dict[object, object] = {}
        for argument in arguments:
            value = evaluate(argument, lookup)
            if not isinstance(value, dict):
                raise UnknownError
            found.update(value)
        for keyword in keywords:
            if keyword.arg is None:
                raise UnknownError
            found[keyword.arg] = _or_opaque(keyword.value, lookup)
        return found
    if name in {"list", "tuple", "sorted", "set", "frozenset", "reversed"} and not keywords:
        values = [item for argument in arguments for item in _iterable(evaluate(argument, lookup))]
        return set(_hashable(values)) if name in {"set", "frozenset"} else values
    if name in {"dir", "MappingProxyType"} and len(arguments) == 1:
        return evaluate(arguments[0], lookup)
    raise UnknownError


def _method(owner: object, method: str, arguments: list[object]) -> object:
    match owner, method, arguments:
        case dict(), "keys" | "copy", []:
            return dict(owner)
        case dict(), "values", []:
            return list(owner.values())
        case dict(), "items", []:
            return [[key, value] for key, value in owner.items()]
        case ((list() | set()), "copy", []):
            return list(owner)
        case ((list() | set()), "union", [other]):
            return merged(owner, other)
        case str(), "startswith" | "endswith" | "removeprefix" | "removesuffix" | "split" | "rsplit", [str()]:
            return getattr(owner, method)(*arguments)
        case str(), "lower" | "upper" | "strip", []:
            return getattr(owner, method)()
    raise UnknownError


def _compared(left: object, operator: ast.cmpop, right: object) -> bool:
    if not _is_scalar(left):
        raise UnknownError
    match operator:
        case ast.Eq():
            return left == right
        case ast.NotEq():
            return left != right
        case ast.In() if isinstance(right, str | list | set | dict):
            return left in right
        case ast.NotIn() if isinstance(right, str | list | set | dict):
            return left not in right
    raise UnknownError


def _iterations(
    generators: list[ast.comprehension], lookup: Lookup, budget: Iterator[int] | None = None
) -> Iterator[Lookup]:
    first, *rest = generators
    budget = budget or iter(range(_SIZE_LIMIT))
    for item in _iterable(evaluate(first.iter, lookup)):
        if next(budget, None) is None:
            raise UnknownError
        bound: dict[str, object] = {}
        _unpack(first.target, item, bound)
        inner = _with(bound, lookup)
        if all(evaluate(test, inner) for test in first.ifs):
            if rest:
                yield from _iterations(rest, inner, budget)
            else:
                yield inner


def _with(bound: dict[str, object], lookup: Lookup) -> Lookup:
    return lambda name: bound[name] if name in bound else lookup(name)


def _unpack(target: ast.expr, value: object, bound: dict[str, object]) -> None:
    match target:
        case ast.Name(id=name):
            bound[name] = value
        case ast.Tuple(elts=items) | ast.List(elts=items) if isinstance(value, list | tuple) and len(items) == len(
            value
        ):
            for item, part in zip(items, value, strict=True):
                _unpack(item, part, bound)
        case _:
            raise UnknownError


def value_of(name: str, statements: Iterable[ast.stmt], lookup: Lookup) -> object:
    """What the module-level name holds once all `statements` have run; raises UnknownError."""
    found: object = OPAQUE

    def so_far(other: str) -> object:
        if other != name:
            return lookup(other)
        if found is OPAQUE:
            raise UnknownError
        return found

    for node in statements:
        found = _after(node, name, found, so_far)
    if found is OPAQUE:
        raise UnknownError
    return found


def _after(node: ast.stmt, name: str, before: object, lookup: Lookup) -> object:
    match node:
        case ast.Assign(targets=targets, value=value) if any(_is(target, name) for target in targets):
            return _joined(before, evaluate(value, lookup))
        case ast.AnnAssign(target=target, value=ast.expr() as value) if _is(target, name):
            return _joined(before, evaluate(value, lookup))
        case ast.AugAssign(target=target, value=value) if _is(target, name):
            return _joined(before, evaluate(value, lookup))
        case ast.Assign(targets=[ast.Subscript(value=owner, slice=key)], value=value) if _is(owner, name):
            return _joined(before, {_key(evaluate(key, lookup)): _or_opaque(value, lookup)})
        case ast.AugAssign(target=ast.Subscript(value=owner, slice=key), value=value) if _is(owner, name):
            return _joined(before, {_key(evaluate(key, lookup)): _or_opaque(value, lookup)})
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method), args=arguments, keywords=keywords)):
            if method in _READ_ONLY:
                return before
            if _is(owner, name):
                return _joined(before, _added(method, arguments, keywords, lookup))
            if isinstance(owner, ast.Subscript) and _is(owner.value, name):
                return _joined(
                    before, {_key(evaluate(owner.slice, lookup)): _added(method, arguments, keywords, lookup)}
                )
        case ast.For() | ast.AsyncFor() | ast.With() | ast.Import() | ast.ImportFrom() if _binds(node, name):
            raise UnknownError
        case ast.Delete(targets=targets) if any(
            _is(t, name) or (isinstance(t, ast.Subscript) and _is(t.value, name)) for t in targets
        ):
            raise UnknownError
    return before


def _joined(before: object, after: object) -> object:
    return after if before is OPAQUE else merged(before, after)


def _added(method: str, arguments: list[ast.expr], keywords: list[ast.keyword], lookup: Lookup) -> object:
    match method, arguments:
        case "append" | "add", [value]:
            return [evaluate(value, lookup)]
        case "extend" | "update" | "__ior__", [value] if not keywords:
            return evaluate(value, lookup)
        case "update", []:
            return _builtin("dict", [], keywords, lookup)
        case "setdefault", [key, *_]:
            return {_key(evaluate(key, lookup)): OPAQUE}
    raise UnknownError


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _binds(node: ast.For | ast.AsyncFor | ast.With | ast.Import | ast.ImportFrom, name: str) -> bool:
    match node:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return any((alias.asname or alias.name) == name for alias in names)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            return any(_is(part, name) for part in ast.walk(target) if isinstance(part, ast.expr))
    return any(item.optional_vars is not None and _is(item.optional_vars, name) for item in node.items)
