"""Where the files of a package come from: directory, wheel, sdist, index requirement, installed package.

`open_source` is the way in; each kind is a module of its own.
"""

import stat
from pathlib import Path

from atomstack.errors import CannotCheckError, UsageError
from atomstack.sources.tree import SourceTree

_FORMS = "a directory, a .whl, a .tar.gz or .zip sdist, NAME==VERSION from the package index, or installed:NAME"


def open_source(spec: str, *, package: str | None = None, cache: Path | None = None) -> SourceTree:
    """The package that `spec` means; `package` chooses among several top-level packages.

    `cache` is the folder for what came from the index (default `$ATOMSTACK_CACHE`, else
    `$XDG_CACHE_HOME/atomstack`, else `~/.cache/atomstack`). Raises UsageError for a spec or package that
    makes no sense, CannotCheckError where the source cannot be had.
    """
    if spec.startswith("installed:"):
        from atomstack.sources.installed import open_installed

        return open_installed(spec.removeprefix("installed:"), package=package)
    path = Path(spec)
    try:
        mode = path.stat().st_mode if spec else 0
    except FileNotFoundError:
        mode = 0
    except (OSError, ValueError) as error:
        raise UsageError(f"{spec!r:.200}: {error}; expected {_FORMS}") from None
    if stat.S_ISDIR(mode):
        from atomstack.sources.directory import open_directory

        return open_directory(path, package=package)
    if stat.S_ISREG(mode):
        return _open_archive(path, package)
    if mode:
        raise CannotCheckError(f"{spec}: neither a folder nor a regular file; expected {_FORMS}")
    if "/" in spec or spec.endswith((".whl", ".gz", ".zip")):
        raise CannotCheckError(f"{spec}: no such file or folder")
    from atomstack.sources.index import open_index

    return open_index(spec, package=package, cache=cache)


def _open_archive(path: Path, package: str | None) -> SourceTree:
    if path.suffix == ".whl":
        from atomstack.sources.wheel import open_wheel

        return open_wheel(path, package=package)
    from atomstack.sources.sdist import SUFFIXES, open_sdist

    if path.name.endswith(SUFFIXES):
        return open_sdist(path, package=package)
    raise UsageError(f"{path}: expected {_FORMS}")
