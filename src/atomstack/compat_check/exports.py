"""The export table of one module of the host: what its statements bind, read once."""

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from atomstack.compat_check import syntax

# What every module has (language reference, "Module objects"), and what the import system sets.
MODULE_ATTRIBUTES = frozenset(dir(type(ast))) | frozenset(
    (
        *("__name__", "__file__", "__doc__", "__spec__", "__loader__", "__package__", "__path__", "__cached__"),
        *("__builtins__", "__dict__", "__annotations__"),
    )
)
_WRITES_NAMESPACE = re.compile(rb"globals\(\)|vars\(\)|locals\(\)|sys\.modules|\bexec\(")


# Builtins that only look at a namespace.
_READERS = frozenset(
    (
        "all",
        "any",
        "dict",
        "eval",
        "exec",
        "filter",
        "frozenset",
        "iter",
        "len",
        "list",
        "map",
        "set",
        "sorted",
        "tuple",
    )
)


class Module:
    """One module: `bindings` maps each name to the statements that bind it, in order."""

    def __init__(self, name: str, path: str, source: bytes, tree: ast.Module) -> None:
        self.name = name
        self.path = path
        self.source = source
        self.tree = tree
        self.is_package = path.endswith("__init__.py") or not path
        self.bindings: dict[str, list[ast.stmt]] = {}
        self.stars: list[str] = []
        walrus = b":=" in source
        for node in self.statements():
            self._bind(node, walrus=walrus)

    def statements(self) -> Iterator[ast.stmt]:
        """The statements that may run on import."""
        return syntax.live_statements(self.tree.body)

    def _bind(self, node: ast.stmt, *, walrus: bool) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._add(node.name, node)
            case ast.Import():
                for alias in node.names:
                    self._add(alias.asname or alias.name.partition(".")[0], node)
            case ast.ImportFrom():
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(self.absolute(node))
                    else:
                        self._add(alias.asname or alias.name, node)
            case ast.Delete():
                # Only one that surely runs: a `del` in one arm leaves the name to the other.
                if node in self.tree.body:
                    for target in node.targets:
                        for name in syntax.target_names(target):
                            self.bindings.pop(name, None)
            case ast.Expr(value=ast.Constant()):
                pass
            case _:
                for name in syntax.bound_names(node):
                    self._add(name, node)
                if walrus:
                    for name in syntax.walrus_names(node):
                        self._add(name, node)

    def _add(self, name: str, node: ast.stmt) -> None:
        self.bindings.setdefault(name, []).append(node)

    def absolute(self, node: ast.ImportFrom) -> str:
        """The module that an import statement of this module means."""
        return syntax.absolute(node, self.name, is_package=self.is_package)

    def imported(self, node: ast.stmt, name: str) -> tuple[str, str] | None:
        """What an import statement binds to `name`: module and name in it ("" for the module itself)."""
        match node:
            case ast.Import():
                for alias in node.names:
                    if alias.asname == name:
                        return alias.name, ""
                    if alias.asname is None and alias.name.partition(".")[0] == name:
                        return name, ""
            case ast.ImportFrom():
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self.absolute(node), alias.name
        return None

    def assigns_global(self, name: str) -> bool:
        """Whether a function declares the name `global`: then the module has it once that function ran."""
        pattern = rb"\bglobal\b[^\n]{0,500}\b" + re.escape(name.encode()) + rb"\b"
        return b"global" in self.source and re.search(pattern, self.source) is not None

    @property
    def dynamic(self) -> str | None:
        """The construct that writes names into this module which no reader of the source can know."""
        return self._namespace_writes[0]

    @property
    def named_globals(self) -> frozenset[str]:
        """The names of `globals()["name"] = …`."""
        return self._namespace_writes[1]

    @cached_property
    def _namespace_writes(self) -> tuple[str | None, frozenset[str]]:
        if b"sys.modules[__name__]" in self.source and b"setattr(" in self.source:
            return "sets its own attributes", frozenset()
        names: set[str] = set()
        if not _WRITES_NAMESPACE.search(self.source):
            return None, frozenset()
        pending: list[tuple[ast.AST, bool]] = [(node, True) for node in self.tree.body]
        while pending:
            node, top = pending.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                # In a module's own hooks, what is written is what was asked for, or what exists already.
                if getattr(node, "name", "") in {"__getattr__", "__setattr__"}:
                    continue
                top = False
            match _namespace_write(node, top=top):
                case str(what):
                    return what, frozenset(names)
                case [name]:
                    names.add(name)
            pending.extend((child, top) for child in ast.iter_child_nodes(node))
        return None, frozenset(names)


def _namespace_write(node: ast.AST, *, top: bool) -> str | tuple[str] | None:
    """How a node writes into its module's namespace; a single name in a tuple when it is a literal."""
    match node:
        case ast.Subscript(value=owner, ctx=ast.Store(), slice=key):
            if _is_namespace(owner):
                name = syntax.string(key)
                return "writes its globals() by computed names" if name is None else (name,)
            if _is_modules(owner) and isinstance(key, ast.Name) and key.id == "__name__":
                return "replaces itself in sys.modules"
        case ast.Call(func=ast.Attribute(value=owner, attr="update" | "setdefault" | "__setitem__")):
            if _is_namespace(owner):
                return "updates its globals()"
        case ast.AugAssign(target=target) if _is_namespace(target):
            return "updates its globals()"
        case ast.Assign(value=value) if _is_namespace(value):
            return "hands its globals() to others"
        case ast.Call(func=function, args=[_, *_] as arguments) if any(map(_is_namespace, arguments)):
            if (syntax.dotted(function) or ("",))[-1] == "LazyLoader" and (name := syntax.string(arguments[0])):
                return (name,)  # TensorFlow's, which vLLM has: LazyLoader("numba", globals(), "numba")
            # protobuf: BuildTopDescriptorsAndMessages(DESCRIPTOR, "x_pb2", globals())
            if not (isinstance(function, ast.Name) and function.id in _READERS):
                return "hands its globals() to others"
        case ast.Call(args=[_, *_] as arguments) if any(map(_is_itself, arguments)):
            # torch: install_config_module(sys.modules[__name__])
            return "hands itself to others"
        case ast.Call(func=ast.Name(id="exec"), args=[_]) if top:
            return "runs exec()"
        case ast.Call(func=ast.Name(id="exec"), args=[_, space, *_]) if _is_namespace(space):
            return "runs exec()"
    return None


def _is_namespace(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="globals" | "vars" | "locals"), args=[]):
            return True
        case ast.Attribute(value=ast.Subscript(value=owner), attr="__dict__"):
            return _is_modules(owner)
    return False


def _is_itself(node: ast.expr) -> bool:
    """Whether an expression is `sys.modules[__name__]`."""
    match node:
        case ast.Subscript(value=owner, slice=ast.Name(id="__name__")):
            return _is_modules(owner)
    return False


def _is_modules(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "modules"
