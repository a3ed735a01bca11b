"""A package of the running interpreter, found through its metadata or its finders; never imported."""

import importlib.util
import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.utils import canonicalize_name

from atomstack.errors import CannotCheckError, UsageError
from atomstack.sources.directory import DirectoryFiles, open_directory
from atomstack.sources.files import PackageTree
from atomstack.sources.layout import Metadata, package_tree, pick

# What is installed may be links into an installer's store; the interpreter follows them, and so do we.
_ANYWHERE = Path("/")


def open_installed(name: str, *, package: str | None) -> PackageTree:
    """The package that `name`, a distribution or an import name, has in the running interpreter."""
    origin = f"installed:{name}"
    if not name:
        raise UsageError("installed: expected a distribution or import name, as in installed:vllm")
    try:
        distribution = metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):
        distribution = None
    if distribution is not None:
        root, packages = _location(distribution)
        if packages:
            known = Metadata(distribution.metadata["Name"], distribution.version, packages)
            if package is not None and package not in packages:
                raise UsageError(f"{origin}: no package {package} there; it holds {', '.join(sorted(packages))}")
            files = DirectoryFiles(root, _ANYWHERE)
            chosen = package or pick(packages, [known], origin)
            return package_tree(files, kind="installed", origin=origin, package=chosen, known=known)
        if root != Path(str(distribution.locate_file(""))):
            tree = open_directory(root, package=package)
            version = distribution.version
            return replace(
                tree,
                kind="installed",
                origin=origin,
                distribution=distribution.metadata["Name"],
                version=version,
            )
    # A distribution may be metadata alone, with the package of its name installed by another one.
    return _by_import_name(package or name, origin)


def _location(distribution: metadata.Distribution) -> tuple[Path, frozenset[str]]:
    """The folder that holds a distribution's packages and their names; no names for an editable install."""
    try:
        direct_url = json.loads(distribution.read_text("direct_url.json") or "{}")
        if direct_url.get("dir_info", {}).get("editable"):
            return Path(url2pathname(urlsplit(direct_url["url"]).path)), frozenset()
    except (ValueError, LookupError, AttributeError, TypeError):
        raise CannotCheckError(
            f"installed:{distribution.metadata['Name']}: its direct_url.json cannot be read: install it again"
        ) from None
    return Path(str(distribution.locate_file(""))), frozenset(_top_levels(map(str, distribution.files or ())))


def _top_levels(paths: Iterable[str]) -> set[str]:
    found = set()
    for path in paths:
        first, _, rest = path.partition("/")
        if path.endswith((".py", ".so", ".pyd")) and (not rest or path.endswith("/__init__.py")):
            found.add(first.split(".", 1)[0])
    return {name for name in found if name.isidentifier()}


def _by_import_name(name: str, origin: str) -> PackageTree:
    try:
        # For a top-level name nothing is imported; a finder that an installer left behind may raise anything.
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    except Exception as error:
        raise CannotCheckError(f"{origin}: looking for {name} failed: {type(error).__name__}: {error}") from None
    if spec is None:
        raise CannotCheckError(f"{origin}: not installed in {sys.executable}: no distribution or package {name}")
    places = list(spec.submodule_search_locations or ()) or [spec.origin or ""]
    place = Path(places[0])
    if not place.exists() or place.name.split(".", 1)[0] != name:
        raise CannotCheckError(f"{origin}: {name} is at {places[0] or 'no file'}, which cannot be read as a folder")
    return package_tree(
        DirectoryFiles(place.parent, _ANYWHERE),
        kind="installed",
        origin=origin,
        package=name,
        known=_owner(name),
        parent=True,
    )


def _owner(package: str) -> Metadata | None:
    """The installed distribution that declares `package`."""
    owners = sorted({name for name in metadata.packages_distributions().get(package, ()) if name})
    fitting = [owner for owner in owners if canonicalize_name(owner).replace("-", "_") == package.lower()] or owners
    return Metadata(fitting[0], metadata.version(fitting[0]), frozenset((package,))) if fitting else None
