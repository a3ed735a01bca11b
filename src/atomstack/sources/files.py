"""What every kind of source shares: bounds, names that matter, a package cut out of a set of files."""

import hashlib
import posixpath
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from packaging.utils import canonicalize_name

from atomstack.errors import CannotCheckError, UnreadableError

FILE_LIMIT = 16 << 20
"""Bytes of one file. The largest Python files in use (generated tables) are under 4 MB."""
TOTAL_LIMIT = 256 << 20
"""Bytes of all Python files of one source. torch has 30 MB, transformers 40 MB."""
COUNT_LIMIT = 300_000
"""Members of one archive, entries of one folder tree."""
NAME_LIMIT = 1024
"""Characters of one member's name; a file system takes 255 for each folder and 4,096 in all."""

PYTHON = (".py", ".pyi")
COMPILED = (".so", ".pyd")
_METADATA = ("METADATA", "PKG-INFO", "top_level.txt", "pyproject.toml")


def is_source(path: str) -> bool:
    """Whether a package's file of this name is listed: Python source, stub or compiled extension."""
    return path.endswith(PYTHON + COMPILED)


def is_metadata(path: str) -> bool:
    """Whether this file says something about a distribution: its name, at most two folders deep; what it declares."""
    return is_declaration(path) or (path.count("/") <= 2 and posixpath.basename(path) in _METADATA)


def is_declaration(path: str) -> bool:
    """Whether this may be a pin of another package (`vllm-version.env`) or a relocation table."""
    name = posixpath.basename(path).lower()
    return (name.endswith(".env") and "version" in name) or (name.endswith(".json") and "relocation" in name)


def member_name(name: str, origin: str) -> str:
    """An archive member's name in normal form; refuses one that leaves the archive."""
    if len(name) > NAME_LIMIT:
        raise CannotCheckError(
            f"{origin}: the name of member {shown(name[:60])}… has {len(name)} characters, more than {NAME_LIMIT}"
        )
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts:
        raise CannotCheckError(
            f"{origin}: member {shown(name)} would leave the archive's folder: the archive is refused"
        )
    return "/".join(parts)


def too_large(size: int) -> str:
    """Why a file of this size is not read."""
    return f"{size:,} bytes, more than the {FILE_LIMIT:,} that are read of one file"


def shown(name: str) -> str:
    """A file name that is safe to print: control characters and bytes that are no text become escapes."""
    return name if name.isprintable() else name.encode("unicode_escape", "surrogatepass").decode()


def _declares(path: str) -> bool:
    return is_declaration(path) or posixpath.basename(path) == "pyproject.toml"


class DamagedError(UnreadableError):
    """A member is not what its archive says of it, perhaps since it was damaged on its way here."""


class Files(Protocol):
    """A set of files under one root, known by posix paths relative to it."""

    def top(self, folder: str) -> tuple[set[str], set[str]]:
        """Names of the folders and of the files directly in `folder` ("" or "src/")."""

    def holds(self, path: str) -> bool:
        """Whether there is a file of this path."""

    def under(self, folder: str) -> list[str]:
        """Paths of all source files below `folder` ("src/vllm/"), in no order."""

    def read(self, path: str) -> bytes:
        """The content; raises UnreadableError."""

    def declarations(self, package: str, *, near: bool) -> list[str]:
        """Declarations and pyproject.toml: below `package` ("src/vllm/") and, where `near`, beside it."""


class ListedFiles:
    """Files whose names are all known beforehand, as an archive's are; `fetch` reads one of them."""

    def __init__(self, names: Iterable[str], fetch: Callable[[str], bytes]) -> None:
        self._names = sorted(names)
        self._known = frozenset(self._names)
        self._fetch = fetch

    def top(self, folder: str) -> tuple[set[str], set[str]]:
        """See Files."""
        rests = [name[len(folder) :] for name in self._below(folder)]
        return {rest.split("/", 1)[0] for rest in rests if "/" in rest}, {rest for rest in rests if "/" not in rest}

    def holds(self, path: str) -> bool:
        """See Files."""
        return path in self._known

    def under(self, folder: str) -> list[str]:
        """See Files."""
        return [name for name in self._below(folder) if is_source(name)]

    def read(self, path: str) -> bytes:
        """See Files."""
        if path not in self._known:
            raise UnreadableError(path, "no such file")
        return self._fetch(path)

    def declarations(self, package: str, *, near: bool) -> list[str]:
        """See Files."""
        return [name for name in self._names if _declares(name)]

    def names(self) -> Sequence[str]:
        """All names, sorted."""
        return self._names

    def _below(self, folder: str) -> list[str]:
        if not folder:
            return self._names
        end = folder[:-1] + chr(ord("/") + 1)
        return self._names[bisect_left(self._names, folder) : bisect_left(self._names, end)]


@dataclass(frozen=True)
class PackageTree:
    """One package of a set of files: the SourceTree of every kind.

    `holder` is the folder of the set that holds the package: "" or "src/". `around` is the checkout or folder that the
    set lies in, at `inside`: "" or "plugins/x/".
    """

    package: str
    distribution: str | None
    version: str | None
    kind: str
    origin: str
    provenance: str
    holder: str
    listed: tuple[str, ...]
    files: Files
    around: Files | None = None
    inside: str = ""

    @property
    def prefix(self) -> str:
        """See SourceTree."""
        return f"{self.inside}{self.holder}" if self.kind == "directory" else ""

    def declarations(self) -> Sequence[str]:
        """See SourceTree."""
        home = f"{self.inside}{self.holder}{self.package}/"
        found = (self.around or self.files).declarations(home, near=self.around is not None)
        projects = [path for path in found if not is_declaration(path) and home.startswith(posixpath.dirname(path))]
        nearest = max(projects, key=len, default=None)
        return sorted({*filter(is_declaration, found), *filter(None, (nearest, self._metadata()))})

    def declaration(self, path: str) -> bytes:
        """See SourceTree."""
        if self.around is not None:
            return self.around.read(path)
        return self.files.read(path)

    def _metadata(self) -> str | None:
        """The METADATA or PKG-INFO of this distribution."""
        folders, names = self.files.top("")
        if "PKG-INFO" in names:
            return f"{self.inside}PKG-INFO"
        for folder in sorted(folders):
            name, _, kind = folder.rpartition(".")
            file = {"dist-info": "METADATA", "egg-info": "PKG-INFO"}.get(kind)
            if (
                file
                and self.distribution
                and canonicalize_name(name.split("-", 1)[0]) == canonicalize_name(self.distribution)
            ):
                return f"{self.inside}{folder}/{file}"
        return None

    def paths(self) -> Sequence[str]:
        """See SourceTree."""
        return self.listed

    def read(self, path: str) -> bytes:
        """See SourceTree."""
        if path.endswith(COMPILED):
            raise UnreadableError(path, "a compiled extension: only its name is known")
        try:
            return self.files.read(self.holder + path)
        except UnreadableError as error:
            raise UnreadableError(path, error.reason) from None

    def content_hash(self) -> str:
        """See SourceTree. The same files give the same hash whatever kind of source they came from."""
        return self._content_hash

    @cached_property
    def _content_hash(self) -> str:
        total = hashlib.sha256()
        for path in self.listed:
            if not path.endswith(".py"):
                continue
            try:
                digest = hashlib.sha256(self.read(path)).hexdigest()
            except UnreadableError as error:
                digest = f"unreadable: {error.reason}"
            total.update(f"{digest} {path}\n".encode())
        return f"sha256:{total.hexdigest()}"
