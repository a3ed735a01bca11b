"""A source distribution on disk: the Python members of a .tar.gz or .zip, below its one top folder."""

import gzip
import tarfile
import zlib
from pathlib import Path
from typing import IO, cast

from atomstack.errors import CannotCheckError, UnreadableError
from atomstack.sources.files import (
    COMPILED,
    COUNT_LIMIT,
    FILE_LIMIT,
    TOTAL_LIMIT,
    ListedFiles,
    PackageTree,
    is_metadata,
    is_source,
    member_name,
    shown,
    too_large,
)
from atomstack.sources.layout import package_tree
from atomstack.sources.zips import FileBlob, list_zip, zip_files

SUFFIXES = (".tar.gz", ".tgz", ".zip")
_STREAM_LIMIT = 4 << 30
"""Bytes of a whole unpacked tar: what a gzip bomb may cost is ten seconds, and no memory."""
# What tarfile and gzip are known to raise for bytes that are no archive.
_MALFORMED = (
    tarfile.TarError,
    EOFError,
    OSError,
    zlib.error,
    ValueError,
    OverflowError,
    RecursionError,
    KeyError,
    IndexError,
)


def open_sdist(path: Path, *, package: str | None) -> PackageTree:
    """The package in the source distribution `path`."""
    return package_tree(sdist_files(path, str(path)), kind="sdist", origin=str(path), package=package)


def sdist_files(path: Path, origin: str) -> ListedFiles:
    """The Python and metadata members of an sdist, without the top folder that all members share."""
    try:
        if path.name.endswith(".zip"):
            blob = FileBlob(path)
            members = list_zip(blob, origin)
            strip = _stripper({name.split("/", 1)[0] if "/" in name else "" for name in members})
            return zip_files(blob, members, lambda name: name[strip:])
        return _tar_files(path, origin)
    except OSError as error:
        raise CannotCheckError(f"{origin}: {error.strerror or error}") from None


def _stripper(tops: set[str]) -> int:
    """How many characters to cut off every name: those of the only top folder there is."""
    return len(next(iter(tops))) + 1 if len(tops) == 1 and tops != {""} else 0


def _tar_files(path: Path, origin: str) -> ListedFiles:
    contents: dict[str, bytes | str] = {}  # the bytes, or why there are none
    tops: set[str] = set()
    kept = count = 0
    name = "the first member"
    try:
        with gzip.open(path) as unpacked, _open_tar(stream := _Forward(unpacked)) as archive:
            while (member := archive.next()) is not None:
                count += 1
                if count > COUNT_LIMIT:
                    raise CannotCheckError(f"{origin}: more than {COUNT_LIMIT:,} members")
                name = shown(member_name(member.name, origin))
                if member.isdir() or not name:
                    continue
                tops.add(name.split("/", 1)[0] if "/" in name else "")
                if not is_source(name) and not is_metadata(name.partition("/")[2] or name):
                    continue
                contents[name] = content = _tar_member(archive, member, name)
                kept += len(content)
                if kept > TOTAL_LIMIT:
                    raise CannotCheckError(
                        f"{origin}: at {name} its Python files are more than {TOTAL_LIMIT:,} bytes unpacked"
                    )
            # gzip checks what it gave only at its own end.
            while stream.read(1 << 20):
                pass
    except _MALFORMED as error:
        reason = str(error) or type(error).__name__
        raise CannotCheckError(
            f"{origin}: not a readable .tar.gz after {name} ({reason}); it may be truncated: fetch it again"
        ) from None
    strip = _stripper(tops)

    def fetch(path: str) -> bytes:
        content = by_path[path]
        if isinstance(content, str):
            raise UnreadableError(path, content)
        return content

    by_path = {name[strip:]: content for name, content in contents.items()}
    return ListedFiles(by_path, fetch)


def _open_tar(stream: "_Forward") -> tarfile.TarFile:
    # typed for a whole file object, of which it uses read, seek and tell
    return tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r:")


def _tar_member(archive: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> bytes | str:
    if name.endswith(COMPILED):
        return "a compiled extension: only its name is known"
    if member.issym() or member.islnk():
        return "a link; not followed"
    if not member.isreg() or member.issparse():
        return "not a regular file"
    if member.size > FILE_LIMIT:
        return too_large(member.size)
    file = archive.extractfile(member)
    content = file.read() if file else b""
    if len(content) != member.size:
        raise EOFError(f"it ends inside {name}")
    return content


class _Forward:
    """An unpacked stream as the file object that tarfile wants: forwards only, reads and total bounded."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._position = 0

    def tell(self) -> int:
        return self._position

    def read(self, length: int = -1) -> bytes:
        # Headers for long names are read whole, at the size that they claim.
        if not 0 <= length <= FILE_LIMIT + tarfile.BLOCKSIZE:
            raise tarfile.ReadError(f"a header of {length:,} bytes")
        content = self._stream.read(length)
        self._position += len(content)
        if self._position > _STREAM_LIMIT:
            raise tarfile.ReadError(f"it unpacks to more than {_STREAM_LIMIT:,} bytes")
        return content

    def seek(self, position: int) -> int:
        if position < self._position:
            raise tarfile.ReadError("its members are out of order")
        while self._position < position:
            if not self.read(min(position - self._position, 1 << 20)):
                break
        return self._position
