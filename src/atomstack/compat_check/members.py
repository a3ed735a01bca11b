"""What a class of the host certainly has, or certainly lacks."""

import abc
import ast
import builtins
import enum
import typing
from collections.abc import Iterator

from atomstack.compat_check import syntax
from atomstack.compat_check.host import Host, Presence, Target

_CLASSES = 200
"""Classes that are looked at for one name; torch.nn has up to a dozen above one."""


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


def class_has(host: Host, target: Target, name: str) -> Presence:
    """Whether a class of the host has an attribute of that name, through bases that are all known."""
    if name in _ANY_CLASS or name in _DATACLASS:
        return Presence.PRESENT
    answer = Presence.MISSING
    pending, seen = [target], {target}
    while pending:
        one = pending.pop()
        node = one.node
        if not isinstance(node, ast.ClassDef) or len(seen) > _CLASSES:
            answer = Presence.UNKNOWN
            continue
        if any(name == own for own in _own(node)):
            return Presence.PRESENT
        if _may_add(node):
            answer = Presence.UNKNOWN
        for base in node.bases:
            match _base(host, one.module, base):
                case Target() as found if found not in seen:
                    seen.add(found)
                    pending.append(found)
                case frozenset() as names if name in names:
                    return Presence.PRESENT
                case None:
                    answer = Presence.UNKNOWN
    if answer is Presence.MISSING and any(host.set_from_outside(one.symbol, name) for one in seen):
        return Presence.PRESENT
    return answer


def _may_add(node: ast.ClassDef) -> bool:
    """Whether a metaclass, a decorator, or a call in its body (`exec`) may give the class any name."""
    return (
        bool(node.keywords)
        or not all(map(_harmless, node.decorator_list))
        or any(isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) for statement in node.body)
    )


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


def _base(host: Host, module: str, base: ast.expr) -> Target | frozenset[str] | None:
    """The class of the host that a base is, or the names in one from the standard library; None for any other."""
    if isinstance(base, ast.Subscript):
        base = base.value  # Generic[T]
    names = syntax.dotted(base)
    if names is None:
        return None
    if names[-1] in _BASES and host.is_standard(module, names[0]):
        return _BASES[names[-1]]
    owner = Target("module", module)
    for part in names:
        found = host.resolve(owner.module, part) if owner.kind == "module" else None
        if found is None:
            return None
        owner = found
    return owner


def _harmless(decorator: ast.expr) -> bool:
    names = syntax.dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
    if isinstance(decorator, ast.Call) and any(keyword.arg == "slots" for keyword in decorator.keywords):
        return False
    return names is not None and names[-1] in _HARMLESS
