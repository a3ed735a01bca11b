"""What the host offers: one export table per module, parsed when something asks for it.

Names are resolved as Python would at run time: star imports and `__all__`, conditional and `try` definitions,
PEP 562 `__getattr__` with its closed set of keys, re-exports, submodules, compiled extensions. What cannot be
decided is `UNKNOWN`, never missing.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from atomstack.compat_check import syntax
from atomstack.compat_check.lazy import LazyNames, lazy_names
from atomstack.errors import UnreadableError
from atomstack.sources.tree import SourceTree

# What every module has (language reference, "Module attributes"), and what the import system sets.
_MODULE_ATTRIBUTES = frozenset(
    [
        "__name__",
        "__file__",
        "__doc__",
        "__dict__",
        "__spec__",
        "__loader__",
        "__package__",
        "__path__",
        "__cached__",
        "__builtins__",
        "__class__",
        "__annotations__",
        "__getattribute__",
        "__setattr__",
        "__delattr__",
        "__dir__",
    ]
)


class Presence(Enum):
    """Whether the host has a name. UNKNOWN is undecided, and never a finding."""

    PRESENT = "present"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Target:
    """What a name in a host module stands for, as far as it is certain.

    `kind` is `module` (then `name` is empty), `class`, `function`, `value`, or `foreign` for what comes from
    outside the host.
    """

    kind: str
    module: str
    name: str = ""
    node: ast.AST | None = field(default=None, compare=False)

    @property
    def symbol(self) -> str:
        """`module:qualname`, or the module's own name."""
        return f"{self.module}:{self.name}" if self.name else self.module


class Module:
    """The export table of one module of the host."""

    def __init__(self, name: str, path: str, *, is_package: bool, source: bytes | None) -> None:
        self.name = name
        self.path = path
        self.is_package = is_package
        self.opaque = source is None
        self.bindings: dict[str, list[ast.AST]] = {}
        self.stars: list[str] = []
        self.lazy: LazyNames | None = None
        self._all: set[str] | None = set()
        self._has_all = False
        if source is not None:
            self._read(source)

    def _read(self, source: bytes) -> None:
        try:
            tree = syntax.parse(source, self.path)
        except UnreadableError:
            self.opaque = True
            return
        self.tree = tree
        for statement in syntax.live_statements(tree.body):
            self._bind(statement)
        if b"global " in source:
            self._bind_globals(tree)
        self.lazy = lazy_names(tree, self.bindings, self.name, self.path)

    def _bind(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._add(node.name, node)
            case ast.Import():
                for alias in node.names:
                    self._add(alias.asname or alias.name.partition(".")[0], node)
            case ast.ImportFrom():
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(syntax.absolute(node, self.name, self.is_package))
                    else:
                        self._add(alias.asname or alias.name, node)
            case ast.Delete():
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self.bindings.pop(target.id, None)
            case _:
                for name in syntax.bound_names(node):
                    self._add(name, node)
                self._note_dynamic(node)
                self._note_all(node)

    def _add(self, name: str, node: ast.AST) -> None:
        self.bindings.setdefault(name, []).append(node)

    def _note_dynamic(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.For | ast.While) and syntax.writes_namespace(
            node
        ):
            self.opaque = True

    def _note_all(self, node: ast.stmt) -> None:
        value = syntax.assigned(node, "__all__")
        if value is None:
            return
        self._has_all = True
        if self._all is None:
            return
        names = syntax.string_set(value)
        if names is not None:
            self._all |= names
        else:
            self._all = None

    def _bind_globals(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Global):
                for name in node.names:
                    self._add(name, node)

    def public(self) -> set[str] | None:
        """The names of its own that `import *` brings, or None when `__all__` cannot be read."""
        if self._has_all:
            return self._all
        return {name for name in self.bindings if not name.startswith("_")}

    @property
    def has_all(self) -> bool:
        """Whether it defines `__all__`."""
        return self._has_all


class Host:
    """A package whose names another one uses."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.package = tree.package
        self.version = tree.version
        self._modules: dict[str, Module] = {}
        self._index: dict[str, str] = {}
        self._packages: set[str] = set()
        for path in tree.paths():
            self._add_path(path)

    def _add_path(self, path: str) -> None:
        folder, _, file = path.rpartition("/")
        stem, _, suffix = file.partition(".")
        package = folder.replace("/", ".")
        parts = package.split(".") if package else []
        for depth in range(1, len(parts) + 1):
            self._packages.add(".".join(parts[:depth]))
        name = package if stem == "__init__" else f"{package}.{stem}" if package else stem
        # As the import system prefers them: package, then extension, then .py; .pyi is no module of its own.
        rank = {"py": 1, "pyi": 3}.get(suffix, 2)
        known = self._index.get(name)
        if known is None or rank < self._rank(known) or (stem == "__init__" and not known.endswith("/__init__.py")):
            self._index[name] = path

    @staticmethod
    def _rank(path: str) -> int:
        return {"py": 1, "pyi": 3}.get(path.rpartition("/")[2].partition(".")[2], 2)

    @property
    def modules_parsed(self) -> int:
        """How many modules were parsed so far."""
        return sum(1 for module in self._modules.values() if hasattr(module, "tree"))

    def module_names(self) -> Iterator[str]:
        """Every importable module and package, in no order."""
        yield from self._index.keys() | self._packages

    def has_module(self, name: str) -> bool:
        """Whether the host holds a module or (namespace) package of that dotted name."""
        return name in self._index or name in self._packages

    def module(self, name: str) -> Module | None:
        """The export table of a module, or None when there is none of that name."""
        if name in self._modules:
            return self._modules[name]
        if not self.has_module(name):
            return None
        path = self._index.get(name)
        if path is None:
            module = Module(name, "", is_package=True, source=b"")
        elif not path.endswith(".py"):
            module = Module(name, path, is_package=False, source=None)
        else:
            try:
                source: bytes | None = self.tree.read(path)
            except UnreadableError:
                source = None
            module = Module(name, path, is_package=path.endswith("/__init__.py"), source=source)
        self._modules[name] = module
        return module

    def find_module(self, name: str) -> Presence:
        """Whether `import name` would find it."""
        if self.has_module(name):
            return Presence.PRESENT
        parent = name
        while parent := parent.rpartition(".")[0]:
            module = self.module(parent)
            if module is None:
                continue
            if module.path and not module.path.endswith(".py"):
                return Presence.UNKNOWN  # an extension may register submodules
            if "__path__" in module.bindings:
                return Presence.UNKNOWN
            break
        return Presence.UNKNOWN if self._made_at_run_time(name) else Presence.MISSING

    def _made_at_run_time(self, name: str) -> bool:
        quoted = (f'"{name}"'.encode(), f"'{name}'".encode())
        return any(
            b"sys.modules" in source and any(text in source for text in quoted)
            for _, source in self.sources_with(name.encode())
        )

    def sources_with(self, needle: bytes) -> Iterator[tuple[str, bytes]]:
        """Path and content of every Python file whose bytes contain `needle`."""
        for path in self.tree.paths():
            if path.endswith(".py"):
                try:
                    source = self.tree.read(path)
                except UnreadableError:
                    continue
                if needle in source:
                    yield path, source

    def has(self, module: str, name: str) -> Presence:
        """Whether `from module import name` would find it; the module is known to be there."""
        return self._has(module, name, frozenset())

    def _has(self, module_name: str, name: str, seen: frozenset[str]) -> Presence:
        if module_name in seen:
            return Presence.MISSING  # a circle of star imports adds nothing
        module = self.module(module_name)
        if module is None:
            return Presence.UNKNOWN
        if name in module.bindings or name in _MODULE_ATTRIBUTES or self.has_module(f"{module_name}.{name}"):
            return Presence.PRESENT
        undecided = module.opaque
        for star in module.stars:
            match self._star_has(star, name, seen | {module_name}):
                case Presence.PRESENT:
                    return Presence.PRESENT
                case Presence.UNKNOWN:
                    undecided = True
        if module.lazy is not None:
            match module.lazy.has(self, name):
                case True:
                    return Presence.PRESENT
                case None:
                    undecided = True
        return Presence.UNKNOWN if undecided else Presence.MISSING

    def _star_has(self, star: str, name: str, seen: frozenset[str]) -> Presence:
        if star != self.package and not star.startswith(self.package + "."):
            return Presence.UNKNOWN
        module = self.module(star)
        if module is None:
            return Presence.UNKNOWN
        public = module.public()
        if public is not None and module.has_all:
            # `__all__` may list what a star, a lazy `__getattr__` or a loop provides: it is the promise that counts.
            return Presence.PRESENT if name in public else Presence.MISSING
        if public is None:
            return Presence.PRESENT if self._has(star, name, seen) is Presence.PRESENT else Presence.UNKNOWN
        if name.startswith("_"):
            return Presence.MISSING
        return self._has_without_submodules(module, name, seen)

    def _has_without_submodules(self, module: Module, name: str, seen: frozenset[str]) -> Presence:
        if name in module.bindings:
            return Presence.PRESENT
        undecided = module.opaque
        if module.name in seen:
            return Presence.MISSING
        for star in module.stars:
            match self._star_has(star, name, seen | {module.name}):
                case Presence.PRESENT:
                    return Presence.PRESENT
                case Presence.UNKNOWN:
                    undecided = True
        # A submodule imported somewhere is an attribute of its package, and `import *` brings it.
        undecided = undecided or self.has_module(f"{module.name}.{name}")
        return Presence.UNKNOWN if undecided else Presence.MISSING

    def resolve(self, module_name: str, name: str, depth: int = 0) -> Target | None:
        """What `module.name` stands for, through re-exports, when that is certain; else None."""
        module = self.module(module_name)
        if module is None or depth > 20:
            return None
        nodes = module.bindings.get(name)
        if nodes is None:
            if self.has_module(f"{module_name}.{name}"):
                return Target("module", f"{module_name}.{name}")
            found = [
                target
                for star in module.stars
                if self.module(star) is not None and (target := self.resolve(star, name, depth + 1)) is not None
            ]
            return found[0] if len(found) == 1 else None
        if len(nodes) > 1:
            return None
        return self._resolve_binding(module, name, nodes[0], depth)

    def _resolve_binding(self, module: Module, name: str, node: ast.AST, depth: int) -> Target | None:
        match node:
            case ast.ClassDef():
                return Target("class", module.name, name, node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return Target("function", module.name, name, node)
            case ast.Import():
                dotted = syntax.imported_module(node, name)
                return (
                    Target("module", dotted)
                    if dotted and self.has_module(dotted)
                    else Target("foreign", module.name, name)
                )
            case ast.ImportFrom():
                source = syntax.absolute(node, module.name, module.is_package)
                original = next(a.name for a in node.names if (a.asname or a.name) == name)
                if not self.has_module(source):
                    return Target("foreign", module.name, name)
                if source == module.name and self.has_module(f"{source}.{original}"):
                    return Target("module", f"{source}.{original}")
                return self.resolve(source, original, depth + 1)
            case _:
                return Target("value", module.name, name, node)
