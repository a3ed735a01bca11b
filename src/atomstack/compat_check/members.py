"""What a class of the host certainly has, or certainly lacks."""

import abc
import ast
import builtins
import enum
import typing
from collections.abc import Iterator

from atomstack.compat_check import syntax
from atomstack.compat_check.host import Host, Presence, Target

_DEPTH = 20


def _names(kind: type) -> frozenset[str]:
    """What a class has, its metaclass's part included: `SomeABC.register` is ABCMeta's."""
    return frozenset(dir(kind)) | frozenset(dir(type(kind)))


# Bases from the standard library whose attributes this Python knows, by the last part of their name.
_BASES: dict[str, frozenset[str]] = {
    **{name: _names(kind) for name, kind in vars(builtins).items() if isinstance(kind, type)},
    **{name: _names(getattr(enum, name)) for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")},
    "ABC": _names(abc.ABC),
    "Generic": _names(typing.Generic) | {"__orig_bases__", "__parameters__"},
    "Protocol": _names(typing.Protocol) | {"__orig_bases__", "__parameters__"},
}
# What every class has from `type`, and what Python sets on it.
_ANY_CLASS = frozenset(dir(type)) | {"__dict__", "__module__", "__annotations__", "__slots__", "__weakref__"}
# Class decorators that add nothing but dunder names.
_HARMLESS = frozenset(("final", "runtime_checkable", "dataclass", "total_ordering", "unique"))
_DATACLASS = frozenset(
    ("__dataclass_fields__", "__dataclass_params__", "__match_args__", "__lt__", "__le__", "__gt__", "__ge__")
)


def class_has(host: Host, target: Target, name: str, depth: int = 0) -> Presence:
    """Whether a class of the host has an attribute of that name, through bases that are all known."""
    node = target.node
    if not isinstance(node, ast.ClassDef) or depth > _DEPTH:
        return Presence.UNKNOWN
    if name in _ANY_CLASS or name in _DATACLASS or any(name == own for own in _own(node)):
        return Presence.PRESENT
    if node.keywords or any(not _harmless(decorator) for decorator in node.decorator_list):
        return Presence.UNKNOWN  # a metaclass or a decorator may add anything
    if any(isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) for statement in node.body):
        return Presence.UNKNOWN  # `locals()[…]`, `exec`
    for base in node.bases:
        found = _base_has(host, target.module, base, name, depth)
        if found is not Presence.MISSING:
            return found
    if depth == 0 and host.set_from_outside(target.symbol, name):
        return Presence.PRESENT
    return Presence.MISSING


def _own(node: ast.ClassDef) -> Iterator[str]:
    for statement in syntax.live_statements(node.body):
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name for alias in names)
            case _:
                yield from syntax.bound_names(statement)
                if isinstance(statement, ast.Assign) and "__slots__" in syntax.bound_names(statement):
                    yield from (
                        part.value
                        for part in ast.walk(statement.value)
                        if isinstance(part, ast.Constant) and isinstance(part.value, str)
                    )


def _base_has(host: Host, module: str, base: ast.expr, name: str, depth: int) -> Presence:
    if isinstance(base, ast.Subscript):
        base = base.value  # Generic[T]
    names = syntax.dotted(base)
    if names is None:
        return Presence.UNKNOWN
    if names[-1] in _BASES and host.is_standard(module, names[0]):
        return Presence.PRESENT if name in _BASES[names[-1]] else Presence.MISSING
    owner = Target("module", module)
    for part in names:
        found = host.resolve(owner.module, part) if owner.kind == "module" else None
        if found is None:
            return Presence.UNKNOWN
        owner = found
    return class_has(host, owner, name, depth + 1) if owner.kind == "class" else Presence.UNKNOWN


def _harmless(decorator: ast.expr) -> bool:
    names = syntax.dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
    if isinstance(decorator, ast.Call) and any(keyword.arg == "slots" for keyword in decorator.keywords):
        return False
    return names is not None and names[-1] in _HARMLESS
