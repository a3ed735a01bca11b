"""What the host offers: one export table per module, parsed when something asks for it.

Names are resolved as Python would at run time: star imports and `__all__`, conditional and `try` definitions,
PEP 562 `__getattr__` with its closed set of keys, re-exports, submodules, compiled extensions. What cannot be
decided is `UNKNOWN`, with the reason in words, never missing.
"""

import ast
import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from atomstack.compat_check import constants, syntax, words
from atomstack.compat_check.exports import MODULE_ATTRIBUTES, Module
from atomstack.compat_check.lazy import LazyNames, lazy_names
from atomstack.compat_check.usage import InBody, Usage, scan
from atomstack.errors import UnreadableError
from atomstack.sources.tree import SourceTree

_DEPTH = 30
"""Re-exports that are followed; the longest chain seen in torch has six."""


_FEW = 20
"""Names that are searched for one by one; for more of them, all definitions of the host are listed once."""


class Presence(Enum):
    """Whether the host has a name. UNKNOWN is undecided, and never a finding."""

    PRESENT = "present"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Target:
    """What a name in a host module stands for, as far as it is certain.

    `kind` is `module` (then `name` is empty), `class`, `function`, or `value`.
    """

    kind: str
    module: str
    name: str = ""
    node: ast.AST | None = field(default=None, compare=False)

    @property
    def symbol(self) -> str:
        """`module:qualname`, or the module's own name."""
        return f"{self.module}:{self.name}" if self.name else self.module


class Host:
    """A package whose names another one uses."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self.package = tree.package
        self.version = tree.version
        self._modules: dict[str, Module | None] = {}
        self._unreadable: dict[str, str] = {}
        self._sources: dict[str, bytes] = {}
        self._paths: dict[str, str] = {}
        self._compiled: set[str] = set()
        self._packages: set[str] = set()
        self._lazy: dict[str, LazyNames | None] = {}
        self._constants: dict[tuple[str, str], object] = {}
        self._known: dict[tuple[str, str], Presence] = {}
        self._targets: dict[tuple[str, str], Target | None] = {}
        self._paths_with: dict[bytes, list[str]] = {}
        self._usages: dict[str, Usage | None] = {}
        self._known_modules: dict[str, Presence] = {}
        self._reasons: dict[tuple[str, str], str] = {}
        self._asked = 0
        for path in tree.paths():
            self._list(path)

    def _list(self, path: str) -> None:
        if path.endswith(".pyi"):
            return  # torch/_C holds stubs, and torch._C is compiled
        name = syntax.module_of(path)
        package = path.rpartition("/")[0].replace("/", ".")
        while package and package not in self._packages:
            self._packages.add(package)
            package = package.rpartition(".")[0]
        if path.endswith(".py"):
            # A package wins over a module of the same name.
            if name not in self._paths or path.endswith("/__init__.py"):
                self._paths[name] = path
        else:
            self._compiled.add(name)

    # --- files and modules

    @property
    def modules_parsed(self) -> int:
        """How many modules were parsed so far."""
        return sum(module is not None and bool(module.path) for module in self._modules.values())

    def module_names(self) -> Iterable[str]:
        """Every importable module and package, in no order."""
        return self._paths.keys() | self._compiled | self._packages

    def has_module(self, name: str) -> bool:
        """Whether the host holds a module or (namespace) package of that dotted name."""
        return name in self._paths or name in self._packages or name in self._compiled

    def owns(self, module: str) -> bool:
        """Whether a dotted name lies in this package."""
        return module == self.package or module.startswith(self.package + ".")

    def source(self, path: str) -> bytes:
        """The content of one file, read once; empty where it cannot be read."""
        if path not in self._sources:
            try:
                self._sources[path] = self.tree.read(path)
            except UnreadableError as error:
                self._sources[path] = b""
                self._unreadable[path] = error.reason
        return self._sources[path]

    def sources(self) -> Iterator[tuple[str, bytes]]:
        """Path and content of every Python file."""
        for path in self._paths.values():
            yield path, self.source(path)

    def sources_with(self, needle: bytes) -> Iterator[tuple[str, bytes]]:
        """Path and content of every Python file whose bytes contain `needle`."""
        if needle not in self._paths_with:
            self._paths_with[needle] = [path for path, source in self.sources() if needle in source]
        return ((path, self.source(path)) for path in self._paths_with[needle])

    def module(self, name: str) -> Module | None:
        """The export table of a module, or None when there is none that can be read."""
        if name not in self._modules:
            self._modules[name] = self._open(name)
        return self._modules[name]

    def _open(self, name: str) -> Module | None:
        if name in self._compiled or not self.has_module(name):
            return None
        path = self._paths.get(name)
        if path is None:
            return Module(name, "", b"", ast.Module([], []))
        source = self.source(path)
        if path in self._unreadable:
            return None
        try:
            return Module(name, path, source, syntax.parse(source, path))
        except UnreadableError as error:
            self._unreadable[path] = error.reason
            return None

    def why(self, module: str, name: str = "") -> str:
        """Why a name (or the module itself) is undecided, as the end of a sentence about the module."""
        return self._reasons.get((module, name), "cannot be decided from its source")

    def _unknown(self, module: str, name: str, reason: str) -> Presence:
        self._reasons[module, name] = reason
        return Presence.UNKNOWN

    # --- is it there?

    def find_module(self, name: str) -> Presence:
        """Whether `import name` would find it."""
        if self.has_module(name):
            return Presence.PRESENT
        if name not in self._known_modules:
            self._known_modules[name] = self._search_module(name)
        return self._known_modules[name]

    def _search_module(self, name: str) -> Presence:
        parent = ""
        for part in name.split("."):
            if not self.has_module(f"{parent}{part}"):
                break
            parent += f"{part}."
        parent = parent.rstrip(".")
        if not parent:
            return Presence.MISSING
        if parent in self._compiled:
            return self._unknown(name, "", f"would be made by {parent}, which is compiled")
        # Every package on the way may have put modules into sys.modules, or looked for them in its own way.
        while parent:
            module = self.module(parent)
            if module is None:
                return self._unknown(name, "", f"lies in {parent}, which cannot be parsed")
            if "__path__" in module.bindings or b"sys.meta_path" in module.source:
                return self._unknown(name, "", f"may be found by {parent}, which changes where its modules are")
            if re.search(
                rb"sys\.modules\[(?!__name__|self\.)[^\]]{0,200}\]\s*=(?!=)|sys\.modules\.(update|setdefault)",
                module.source,
            ):
                return self._unknown(name, "", f"may be made by {parent}, which writes to sys.modules")
            parent = parent.rpartition(".")[0]
        quoted = (f'"{name}"'.encode(), f"'{name}'".encode())
        for path, source in self.sources_with(quoted[0][1:-1]):
            if b"sys.modules" in source and any(text in source for text in quoted):
                return self._unknown(name, "", f"may be made by {path}, which writes to sys.modules")
        if self._built_elsewhere(name):
            return self._unknown(name, "", "is imported by the host itself: compiled or generated in other builds")
        return Presence.MISSING

    def _built_elsewhere(self, name: str) -> bool:
        """Whether the host imports the module itself and is prepared that it is not there.

        `vllm._rocm_C` is in the wheel for one device only, `vllm._version` in no checkout.
        """
        parent, _, last = name.rpartition(".")
        if not self.has_module(parent):
            return False
        guarded: list[bool] = []
        for path, source in self.sources_with(last.encode()):
            if not any(text.search(source) for text in _imports_text(path, parent, last)):
                continue
            usage = self._usage(path)
            for site in usage.imports if usage is not None else ():
                whole = f"{site.module}.{site.name}" if site.name else site.module
                if name in {site.module, whole}:
                    guarded.append(any(isinstance(condition, InBody) for condition in site.conditions))
        return bool(guarded) and (last.startswith("_") or all(guarded))

    def has(self, module: str, name: str) -> Presence:
        """Whether `from module import name` would find it; the module is known to be there."""
        if (module, name) not in self._known:
            presence = self._exports(module, name, set())
            if presence is Presence.UNKNOWN:
                presence = self._unknown(module, name, self._reasons.get((module, name), f"{module} is undecided"))
            elif presence is Presence.MISSING and self.set_from_outside(module, name):
                presence = Presence.PRESENT
            self._known[module, name] = presence
        return self._known[module, name]

    def _exports(self, module_name: str, name: str, seen: set[str]) -> Presence:
        """`seen` holds the modules that were asked already: each is heard once, however many stars lead there."""
        seen.add(module_name)
        if self.has_module(f"{module_name}.{name}"):
            return Presence.PRESENT
        if module_name in self._compiled:
            return self._unknown(module_name, name, f"{module_name} is a compiled extension")
        module = self.module(module_name)
        if module is None:
            reason = self._unreadable.get(self._paths.get(module_name, ""), "is not there")
            return self._unknown(module_name, name, f"{module_name} cannot be parsed: {reason}")
        if name in module.bindings or name in MODULE_ATTRIBUTES:
            return Presence.PRESENT
        undecided: str | None = None
        for star in module.stars:
            match self._star_brings(star, name, seen):
                case Presence.PRESENT:
                    return Presence.PRESENT
                case Presence.UNKNOWN:
                    undecided = undecided or self._reasons.get((star, name), f"{star} is undecided")
        closed = False
        if (lazy := self.lazy(module)) is not None:
            match self._lazily(lazy, name):
                case True:
                    return Presence.PRESENT
                case None:
                    undecided = undecided or f"the __getattr__ of {module_name} is open"
            closed = b"LazyModule" in module.source
        if module.assigns_global(name) or name in module.named_globals:
            return Presence.PRESENT
        if module.dynamic is not None and not closed:
            undecided = undecided or f"{module_name} {module.dynamic}"
        return self._unknown(module_name, name, undecided) if undecided else Presence.MISSING

    def _star_brings(self, star: str, name: str, seen: set[str]) -> Presence:
        """Whether `from star import *` binds the name."""
        if not self.owns(star):
            return self._unknown(star, name, f"`from {star} import *` brings what another package exports")
        if star in seen:
            return Presence.MISSING  # it was asked already, and what it said has been heard
        if not self._may_hold(star, name):
            return Presence.MISSING
        module = self.module(star)
        if module is None:
            return self._unknown(star, name, f"`from {star} import *` cannot be followed")
        try:
            promised = self.all_of(module)
        except constants.UnknownError:
            found = self._exports(star, name, seen)
            return (
                found if found is Presence.MISSING else self._unknown(star, name, f"the __all__ of {star} is computed")
            )
        if promised is not None:
            # What `__all__` lists a star, a lazy `__getattr__` or a loop may provide: it is the promise that counts.
            return Presence.PRESENT if name in promised else Presence.MISSING
        if name.startswith("_"):
            return Presence.MISSING
        return self._exports(star, name, seen)

    def _may_hold(self, star: str, name: str) -> bool:
        """Whether a module's bytes allow for the name: most star imports need not be parsed."""
        path = self._paths.get(star)
        if path is None or star in self._compiled or self.has_module(f"{star}.{name}"):
            return True
        source = self.source(path)
        return (
            name.encode() in source
            or re.search(rb"import[ \t]*\(?[ \t]*\*|globals\(|vars\(|locals\(|__all__|exec\(|sys\.modules", source)
            is not None
        )

    def set_from_outside(self, module: str, name: str) -> bool:
        """Whether another file of the host assigns the name on that module or class: `torch.classes = …`."""
        text = re.escape(name.encode())
        pattern = re.compile(
            rb"\." + text + rb"[ \t]*(?::[^=\n]{0,300})?=(?!=)|setattr\([^\n]{0,200}['\"]" + text + rb"['\"]"
        )
        owner = module.replace(":", ".").rpartition(".")[2].encode()
        for path, source in self.sources_with(name.encode()):
            if owner in source and pattern.search(source):
                usage = self._usage(path)
                if usage is None:
                    return True
                last = owner.decode()
                for site in usage.patches:
                    if site.names[-1] == name and (site.names[-2] == last or site.names[0] == "cls"):
                        return True
                    binding = next((b.reference for b in site.scope.lookup(site.names[0]) if b.reference), None)
                    if (
                        site.names[-1] == name
                        and binding is not None
                        and last in (binding.name, binding.module.rpartition(".")[2])
                    ):
                        return True
        return False

    def _usage(self, path: str) -> Usage | None:
        """What a file of the host uses of the host; None when it cannot be told."""
        if path not in self._usages:
            module = self.module(syntax.module_of(path))
            self._usages[path] = None
            if module is not None:
                with contextlib.suppress(UnreadableError):
                    self._usages[path] = scan(module.tree, module.source, file=path, host=self.package, relative=True)
        return self._usages[path]

    # --- what a module provides on demand

    def lazy(self, module: Module) -> LazyNames | None:
        """The names that a module makes on demand."""
        if module.name not in self._lazy:
            self._lazy[module.name] = None  # while it is being read, it provides nothing
            self._lazy[module.name] = lazy_names(
                module, lambda name: self.constant(module, name), lambda name: self._class(module.name, name)
            )
        return self._lazy[module.name]

    def _class(self, module: str, name: str) -> ast.ClassDef | None:
        target = self.resolve(module, name)
        return target.node if target is not None and isinstance(target.node, ast.ClassDef) else None

    def _lazily(self, lazy: LazyNames, name: str) -> bool | None:
        if lazy.keys is None:
            return None
        if name in lazy.keys:
            return True
        if any(self._exported_below(folder, name) for folder in lazy.folders):
            return True
        return None if any(name.endswith(affix) or name.startswith(affix) for affix in lazy.affixes) else False

    def _exported_below(self, folder: str, name: str) -> bool:
        """Whether a module below the folder lists the name in `__all__`, or decorates it with `@requires`."""
        for path, source in self.sources_with(name.encode()):
            if not path.startswith(f"{folder}/") or path.endswith("__init__.py"):
                continue
            module = self.module(syntax.module_of(path))
            if module is None:
                return True
            try:
                if name in (self.all_of(module) or ()):
                    return True
            except constants.UnknownError:
                return True
            if b"@requires" in source or b"@export" in source:
                for node in module.bindings.get(name, ()):
                    decorators = getattr(node, "decorator_list", ())
                    if any(
                        (syntax.dotted(getattr(d, "func", d)) or ("",))[-1] in {"requires", "export"}
                        for d in decorators
                    ):
                        return True
        return False

    def all_of(self, module: Module) -> frozenset[str] | None:
        """The names in `__all__`, or None when there is none; UnknownError where it is computed."""
        if "__all__" not in module.bindings:
            return None
        return constants.strings(self.constant(module, "__all__"))

    def constant(self, module: Module, name: str) -> object:
        """The value of a module-level name; UnknownError when the source does not tell."""
        key = (module.name, name)
        if key not in self._constants:
            self._constants[key] = constants.UnknownError  # a circle tells nothing
            try:
                self._constants[key] = self._evaluated(module, name)
            except RecursionError:
                pass
            except constants.UnknownError:
                pass
        value = self._constants[key]
        if value is constants.UnknownError:
            raise constants.UnknownError
        return value

    def _evaluated(self, module: Module, name: str) -> object:
        owner, _, attribute = name.rpartition(".")
        nodes = module.bindings.get(owner or name, [])
        imported = module.imported(nodes[0], owner or name) if len(nodes) == 1 else None
        if imported is None:
            if owner:
                raise constants.UnknownError
            return constants.value_of(name, module.statements(), lambda other: self.constant(module, other))
        source, original = imported
        whole = f"{source}.{original}" if original else source
        if self.has_module(whole) and (opened := self.module(whole)) is not None:
            # A module itself stands for what dir() says of it.
            return self.constant(opened, attribute) if owner else list(opened.bindings)
        inner = self.module(source)
        if inner is None or not original or owner:
            raise constants.UnknownError
        return self.constant(inner, original)

    # --- what does it stand for?

    def resolve(self, module_name: str, name: str, depth: int = 0) -> Target | None:
        """What `module.name` stands for, through re-exports, when that is certain; else None."""
        if (module_name, name) not in self._targets:
            self._targets[module_name, name] = None  # a circle stands for nothing
            self._targets[module_name, name] = self._resolve(module_name, name, depth)
        return self._targets[module_name, name]

    def _resolve(self, module_name: str, name: str, depth: int) -> Target | None:
        module = self.module(module_name)
        if module is None or depth > _DEPTH:
            return None
        nodes = module.bindings.get(name)
        if nodes is None:
            if self.has_module(f"{module_name}.{name}"):
                return Target("module", f"{module_name}.{name}")
            found = [
                target
                for star in module.stars
                if self.owns(star)
                and self._may_hold(star, name)
                and (target := self.resolve(star, name, depth + 1)) is not None
            ]
            return found[0] if len(found) == 1 else None
        if len(nodes) > 1:
            return None
        match nodes[0]:
            case ast.ClassDef() as node:
                return Target("class", module.name, name, node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() as node:
                return Target("function", module.name, name, node)
        imported = module.imported(nodes[0], name)
        if imported is None:
            return Target("value", module.name, name, nodes[0])
        source, original = imported
        if not self.has_module(source):
            return None
        if not original:
            return Target("module", source)
        inner = self.module(source)
        if (inner is None or original not in inner.bindings) and self.has_module(f"{source}.{original}"):
            return Target("module", f"{source}.{original}")
        return self.resolve(source, original, depth + 1)

    def is_standard(self, module_name: str, name: str) -> bool:
        """Whether a name in a module is a builtin, or comes from the standard library."""
        module = self.module(module_name)
        if module is None:
            return False
        nodes = module.bindings.get(name)
        if nodes is None:
            return not module.stars
        imported = module.imported(nodes[0], name) if len(nodes) == 1 else None
        return imported is not None and imported[0].partition(".")[0] in {
            "abc",
            "enum",
            "typing",
            "typing_extensions",
            "builtins",
        }

    def definitions(self, name: str) -> Sequence[tuple[str, str]]:
        """Where files define a class, function or value of that name, perhaps as a method: path and kind."""
        self._asked += 1
        if self._asked > _FEW:
            return self._all_definitions.get(name, ())
        word = name.encode()
        return [
            (path, kind)
            for path, source in self.sources_with(word)
            for at in words.places(source, word)
            if (kind := words.defined_at(source, at, at + len(word))) is not None
        ]

    @cached_property
    def _all_definitions(self) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for path, source in self.sources():
            for name, kind in words.definitions(source):
                found.setdefault(name, []).append((path, kind))
        return found


def _imports_text(path: str, parent: str, last: str) -> Sequence[re.Pattern[bytes]]:
    """What an import of `parent.last` may look like in a file of the host: absolute, or relative from where it lies.

    Each begins with a literal, which is searched for fast.
    """
    package = path.rpartition("/")[0].replace("/", ".")
    whole = rf"{re.escape(parent)}\.[ \t]*{last}\b"
    places = [re.escape(parent) + r"[ \t]*"]
    if f"{package}.".startswith(f"{parent}."):
        places.append(r"\." * (package.count(".") - parent.count(".") + 1))
    where = "|".join(places)
    names = rf"(?:{where})[ \t]*import[ \t]*(?:\([^)]{{0,3000}}|[^\n(]{{0,300}})\b{last}\b"
    patterns = (rf"from[ \t]+(?:{whole}|(?:{where})[ \t]*{last}\b|{names})", rf"import[ \t]+{whole}")
    return [re.compile(pattern.encode()) for pattern in patterns]
