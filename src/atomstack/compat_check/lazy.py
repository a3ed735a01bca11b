"""Names that a module makes on demand: PEP 562 `__getattr__` and transformers' `_LazyModule`.

A `__getattr__` whose every successful path tests the name against literal keys is *closed*: exactly those keys
resolve. Any other is open, and undecided.
"""

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atomstack.compat_check import syntax

if TYPE_CHECKING:
    from atomstack.compat_check.host import Host


@dataclass(frozen=True, slots=True)
class LazyNames:
    """What a module provides beyond its bindings: `keys`, or None for anything; or a lazy package's folder."""

    keys: frozenset[str] | None
    folder: str | None = None

    def has(self, host: "Host", name: str) -> bool | None:
        """True, False, or None when it cannot be decided."""
        if self.keys is None:
            return None
        if name in self.keys:
            return True
        return False if self.folder is None else self._defined_below(host, name)

    def _defined_below(self, host: "Host", name: str) -> bool | None:
        """Whether some module under the folder exports `name`, as `define_import_structure` would find it."""
        for path, source in host.sources_with(name.encode()):
            if not path.startswith(f"{self.folder}/"):
                continue
            pattern = (
                rb"(?m)^(class|def|async def) +"
                + re.escape(name.encode())
                + rb"\b|['\"]"
                + re.escape(name.encode())
                + rb"['\"]"
            )
            if re.search(pattern, source):
                return None
        return False


def lazy_names(tree: ast.Module, bindings: dict[str, list[ast.AST]], module: str, path: str) -> LazyNames | None:
    """What the module provides on demand, or None when it provides nothing so."""
    if any(_is_lazy_module(node) for node in syntax.live_statements(tree.body)):
        # Every name of the import structure stands in this file as a string, or in `__all__` of a module below.
        strings = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        return LazyNames(frozenset(strings), path.rpartition("/")[0])
    getter = bindings.get("__getattr__")
    if getter is None:
        return None
    functions = [node for node in getter if isinstance(node, ast.FunctionDef)]
    if not functions or any(not isinstance(node, ast.FunctionDef | ast.Global) for node in getter):
        return LazyNames(None)
    keys: set[str] = set()
    for function in functions:
        found = _Getter(function, tree).keys()
        if found is None:
            return LazyNames(None)
        keys |= found
    return LazyNames(frozenset(keys))


def _is_lazy_module(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Subscript(value=ast.Attribute(attr="modules"))], value=ast.Call(func=function)):
            name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
            return name == "_LazyModule"
    return False


class _Getter:
    """Reads one `__getattr__(name)`."""

    def __init__(self, function: ast.FunctionDef, tree: ast.Module) -> None:
        self.function = function
        self.tree = tree
        arguments = function.args.posonlyargs + function.args.args
        self.name = arguments[0].arg if arguments else ""

    def keys(self) -> set[str] | None:
        """The keys that resolve, or None when some path resolves a name that no literal names."""
        return self._block(self.function.body)

    def _block(self, body: list[ast.stmt]) -> set[str] | None:
        keys: set[str] = set()
        for node in body:
            match node:
                case ast.Raise():
                    return keys
                case ast.If():
                    found = self._branch(node)
                    if found is None:
                        return None
                    keys |= found
                    if _negated_membership(node.test, self.name) and _only_raises(node.body):
                        # `if name not in KEYS: raise` - what follows serves KEYS, whatever it does.
                        return keys
                case ast.Return(value=value):
                    found = self._subscripted(value)
                    return None if found is None else keys | found
                case ast.Try():
                    found = self._block(node.body)
                    if found is None:
                        return None
                    keys |= found
                    if any(isinstance(inner, ast.Return) for inner in node.body):
                        return keys
                case ast.Match(subject=ast.Name(id=self.name)):
                    for case in node.cases:
                        literals = _pattern_strings(case.pattern)
                        if literals is None and not _only_raises(case.body):
                            return None
                        keys |= literals or set()
                case ast.For() | ast.While() | ast.With():
                    return None
        return keys  # falls off the end: returns None for any name

    def _branch(self, node: ast.If) -> set[str] | None:
        keys: set[str] = set()
        tested = self._tested(node.test)
        if tested is not None:
            keys |= tested
        elif not _only_raises(node.body):
            inner = self._block(node.body)
            if inner is None or (not inner and any(isinstance(n, ast.Return) for n in ast.walk(node))):
                return None
            keys |= inner
        if node.orelse:
            rest = self._block(node.orelse)
            if rest is None:
                return None
            keys |= rest
        return keys

    def _tested(self, test: ast.expr) -> set[str] | None:
        """The literal keys that a condition lets through."""
        match test:
            case ast.Compare(left=ast.Name(id=self.name), ops=[ast.Eq()], comparators=[value]):
                return syntax.string_set(value)
            case ast.Compare(left=value, ops=[ast.Eq()], comparators=[ast.Name(id=self.name)]):
                return syntax.string_set(value)
            case ast.Compare(left=ast.Name(id=self.name), ops=[ast.In() | ast.NotIn()], comparators=[value]):
                return self._collection(value)
            case ast.NamedExpr(value=value):
                return self._subscripted(value)
            case ast.Compare(left=ast.NamedExpr(value=value)):
                return self._subscripted(value)
            case ast.BoolOp(op=ast.Or(), values=values):
                parts = [self._tested(value) for value in values]
                return None if None in parts else set().union(*(p for p in parts if p))
            case ast.BoolOp(op=ast.And(), values=values):
                # Each condition narrows: one that names literal keys is enough.
                known = [found for value in values if (found := self._tested(value)) is not None]
                return min(known, key=len) if known else None
            case ast.Name(id=local):
                return self._subscripted_local(local)
            case ast.Compare(
                left=ast.Name(id=local),
                ops=[ast.IsNot() | ast.NotEq()],
                comparators=[ast.Constant(value=None)],
            ):
                return self._subscripted_local(local)
        return None

    def _subscripted_local(self, name: str) -> set[str] | None:
        value = self._local(name)
        return None if value is None else self._subscripted(value)

    def _local(self, name: str) -> ast.expr | None:
        for node in ast.walk(self.function):
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                return node.value
        return None

    def _subscripted(self, value: ast.expr | None) -> set[str] | None:
        """The keys of `KEYS[name]`, `KEYS.get(name)` and what is called or read off them."""
        match value:
            case ast.Constant(value=None) | None:
                return set()
            case ast.Subscript(value=keys, slice=ast.Name(id=self.name)):
                return self._collection(keys)
            case ast.Call(func=ast.Attribute(value=keys, attr="get"), args=[ast.Name(id=self.name), *_]):
                return self._collection(keys)
            case ast.Call(func=inner) | ast.Attribute(value=inner):
                return self._subscripted(inner) if isinstance(inner, ast.Subscript | ast.Call) else None
        return None

    def _collection(self, value: ast.expr) -> set[str] | None:
        match value:
            case ast.Call(func=ast.Name(id="globals"), args=[]):
                return set()  # what is bound already
            case ast.Name(id=name):
                return self._named(name)
            case ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[]):
                return self._collection(inner)
            case ast.Dict() | ast.BinOp() | ast.Call():
                return self._dict_keys(value)
        return syntax.string_set(value)

    def _named(self, name: str) -> set[str] | None:
        """The keys of a module-level (or local) literal, with everything that is added to it."""
        keys: set[str] = set()
        found = False
        for node in [*syntax.live_statements(self.tree.body), *syntax.live_statements(self.function.body)]:
            value = syntax.assigned(node, name)
            if value is not None:
                part = self._collection(value)
                if part is None:
                    return None
                keys |= part
                found = True
            match node:
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=target), slice=key)]) if target == name:
                    text = syntax.string(key)
                    if text is None:
                        return None
                    keys.add(text)
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id=target), attr="update"), args=[value])
                ) if target == name:
                    part = self._collection(value)
                    if part is None:
                        return None
                    keys |= part
        return keys if found else None

    def _dict_keys(self, value: ast.expr) -> set[str] | None:
        match value:
            case ast.Dict(keys=dict_keys, values=values):
                found: set[str] = set()
                for key, item in zip(dict_keys, values, strict=True):
                    part = self._collection(item) if key is None else syntax.string_set(key)
                    if part is None:
                        return None
                    found |= part
                return found
            case ast.BinOp(left=left, op=ast.BitOr() | ast.Add(), right=right):
                first, second = self._collection(left), self._collection(right)
                return None if first is None or second is None else first | second
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords) if all(k.arg for k in keywords):
                return {k.arg for k in keywords if k.arg}
            case ast.Call(func=ast.Name(id="set" | "frozenset" | "list" | "tuple" | "dict"), args=[inner]):
                return self._collection(inner)
        return None


def _negated_membership(test: ast.expr, name: str) -> bool:
    match test:
        case ast.Compare(left=ast.Name(id=left), ops=[ast.NotIn() | ast.NotEq()]):
            return left == name
    return False


def _only_raises(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)


def _pattern_strings(pattern: ast.pattern) -> set[str] | None:
    match pattern:
        case ast.MatchValue(value=value):
            return syntax.string_set(value)
        case ast.MatchOr(patterns=patterns):
            parts = [_pattern_strings(part) for part in patterns]
            return None if None in parts else set().union(*(p for p in parts if p))
    return None
