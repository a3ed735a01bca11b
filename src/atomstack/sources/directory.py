"""A package in a folder: the package itself, the folder that holds it, an src layout or a checkout."""

import os
import stat
from dataclasses import replace
from pathlib import Path

from atomstack.errors import CannotCheckError, UnreadableError, UsageError
from atomstack.sources.files import COUNT_LIMIT, FILE_LIMIT, PackageTree, is_declaration, is_source, shown, too_large
from atomstack.sources.layout import package_tree

_NEAR = 2
"""Folders above a declaration outside of the package."""
_NO_SOURCE = frozenset(("__pycache__", "node_modules", "site-packages", "venv", "build", "dist", "third_party"))


def open_directory(path: Path, *, package: str | None) -> PackageTree:
    """The package in `path`. Files are listed now and read when asked for."""
    # Not resolve(): where the folder is a link, the link's name is the package's.
    path = Path(os.path.abspath(path))
    itself = package in (None, path.name) and path.name.isidentifier()
    if itself and (path / "__init__.py").is_file():
        return _as_package(path, path.name)
    try:
        found = package_tree(DirectoryFiles(path, path), kind="directory", origin=str(path), package=package)
        return _placed(found, path, checkout(path) or path)
    except UsageError:
        if package != path.name:
            raise
        return _as_package(path, package)


def _as_package(path: Path, name: str) -> PackageTree:
    found = package_tree(
        DirectoryFiles(path.parent, path), kind="directory", origin=str(path), package=name, parent=True
    )
    top = checkout(path.parent)
    return _placed(found, path.parent, top) if top else found


def checkout(folder: Path) -> Path | None:
    """The top of the git checkout that a folder lies in."""
    return next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)


def _placed(tree: PackageTree, root: Path, top: Path) -> PackageTree:
    inside = root.relative_to(top).as_posix()
    return replace(tree, around=DirectoryFiles(top, top), inside="" if inside == "." else f"{inside}/")


class DirectoryFiles:
    """Files below `root`. Links out of `boundary` are not followed; only regular files are opened, and each once."""

    def __init__(self, root: Path, boundary: Path) -> None:
        self._root = str(root)
        self._boundary = os.path.realpath(boundary)
        self._real: dict[str, str] = {}
        self._refused: dict[str, str] = {}
        self._contents: dict[str, bytes] = {}

    def top(self, folder: str) -> tuple[set[str], set[str]]:
        """See Files."""
        folders: set[str] = set()
        names: set[str] = set()
        for entry in _entries(os.path.join(self._root, folder)):
            (folders if _is_folder(entry) else names).add(entry.name)
        return folders, names

    def holds(self, path: str) -> bool:
        """See Files."""
        return os.path.lexists(os.path.join(self._root, path))

    def under(self, folder: str) -> list[str]:
        """See Files. A folder that may not be entered is listed as its `__init__.py`, which is unreadable."""
        found: list[str] = []
        followed: set[str] = set()
        count = 0
        start = os.path.join(self._root, folder.rstrip("/"))
        if not os.path.isdir(start):
            return found
        real_start = os.path.realpath(start)
        if not self._inside(real_start):
            return [
                self._refuse(f"{folder}__init__.py", f"{folder} is a link that leaves {self._boundary}; not followed")
            ]
        pending = [(folder.rstrip("/"), real_start, frozenset((real_start,)))]
        while pending:
            name, real, above = pending.pop()
            try:
                entries = _entries(real)
            except CannotCheckError as error:
                found.append(self._refuse(f"{name}/__init__.py", f"its folder cannot be listed: {error}"))
                continue
            count += len(entries)
            if count > COUNT_LIMIT:
                raise CannotCheckError(f"{start}: more than {COUNT_LIMIT:,} files and folders")
            for entry in entries:
                path, target = f"{name}/{shown(entry.name)}", entry.path
                if entry.is_symlink():
                    target = os.path.realpath(entry.path)
                    if os.path.isdir(target):
                        if not self._inside(target):
                            reason = "its folder is a link that leaves the one that was named; not followed"
                            found.append(self._refuse(f"{path}/__init__.py", reason))
                        elif target not in above and target not in followed:
                            followed.add(target)
                            pending.append((path, target, above | {target}))
                        continue
                    if is_source(path):
                        found.append(path)
                        if self._inside(target):
                            self._real[path] = target
                        else:
                            self._refuse(path, "a link that leaves the folder; not followed")
                elif entry.is_dir(follow_symlinks=False):
                    if entry.name != "__pycache__" and not entry.name.startswith("."):
                        pending.append((path, target, above | {target}))
                elif is_source(path):
                    found.append(path)
                    self._real[path] = target
        return found

    def declarations(self, package: str, *, near: bool) -> list[str]:
        """See Files: at any depth of the package, in three levels of what lies around it. Links are left alone."""
        found: list[str] = []
        pending = [(package, True), *([("", False)] if near else [])]
        count = 0
        while pending and count <= COUNT_LIMIT:
            folder, deep = pending.pop()
            try:
                entries = _entries(os.path.join(self._root, folder))
            except CannotCheckError:
                continue
            for entry in entries:
                count += 1
                path = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    further = deep or (folder.count("/") < _NEAR and f"{path}/" != package)
                    if further and not entry.name.startswith(".") and entry.name not in _NO_SOURCE:
                        pending.append((f"{path}/", deep))
                elif (is_declaration(path) or entry.name == "pyproject.toml") and entry.is_file(follow_symlinks=False):
                    found.append(path)
        return [path for path in found if path.isprintable()]

    def read(self, path: str) -> bytes:
        """See Files."""
        if path in self._refused:
            raise UnreadableError(path, self._refused[path])
        real = self._real.get(path)
        if real is None:
            real = os.path.realpath(os.path.join(self._root, path))
            if not _within(real, os.path.realpath(self._root)):
                raise UnreadableError(path, "a link that leaves the folder; not followed")
        content = self._contents.get(path)
        if content is None:
            content = self._contents[path] = _read_regular(path, real)
        return content

    def _inside(self, real: str) -> bool:
        return _within(real, self._boundary)

    def _refuse(self, path: str, reason: str) -> str:
        self._refused[path] = reason
        return path


def _read_regular(path: str, real: str) -> bytes:
    """The bytes of one regular file; a FIFO or a device is never opened. `path` is how errors name it."""
    try:
        status = os.lstat(real)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableError(path, "not a regular file")
        if status.st_size > FILE_LIMIT:
            raise UnreadableError(path, too_large(status.st_size))
        # Should it become a FIFO or a link just now, it is still not waited for and not followed.
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            content = os.read(descriptor, status.st_size + 1)
            while len(content) != status.st_size and (more := os.read(descriptor, FILE_LIMIT + 1 - len(content))):
                content += more
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise UnreadableError(path, getattr(error, "strerror", None) or str(error)) from None
    if len(content) > FILE_LIMIT:
        raise UnreadableError(path, too_large(len(content)))
    return content


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            found = []
            for entry in entries:
                found.append(entry)
                if len(found) > COUNT_LIMIT:
                    raise CannotCheckError(f"{folder}: more than {COUNT_LIMIT:,} entries")
            return found
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        return []
    except OSError as error:
        raise CannotCheckError(f"{folder}: {error.strerror}") from None


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
