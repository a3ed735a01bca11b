"""Members of a zip file, read one by one into memory, from anything that gives bytes at an offset."""

import io
import itertools
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from atomstack.errors import CannotCheckError, UnreadableError
from atomstack.sources.files import (
    COMPILED,
    COUNT_LIMIT,
    FILE_LIMIT,
    DamagedError,
    ListedFiles,
    is_metadata,
    is_source,
    member_name,
    shown,
    too_large,
)
from atomstack.sources.layout import check_total

_DIRECTORY_LIMIT = 64 << 20
_LOCAL_HEADER = struct.Struct("<4s22xHH")
# What zipfile is known to raise for bytes that are no zip file.
_MALFORMED = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    NotImplementedError,
    ValueError,
    OverflowError,
    RuntimeError,
    struct.error,
)


class Blob(Protocol):
    """Bytes that can be read anywhere: a file on disk, or on a server that answers range requests."""

    size: int

    def read_at(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset`; fewer only where the end is."""


class FileBlob:
    """A file on disk. It is opened for each read, so that nothing has to be closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = path.stat().st_size

    def read_at(self, offset: int, length: int) -> bytes:
        """See Blob."""
        with open(self._path, "rb") as file:
            file.seek(offset)
            return file.read(length)


@dataclass(frozen=True, slots=True)
class Member:
    """One member that matters, and where its bytes end at the latest."""

    info: zipfile.ZipInfo
    end: int


def list_zip(blob: Blob, origin: str) -> dict[str, Member]:
    """Source and metadata members by name, from the central directory alone; of one name the last counts."""
    try:
        with zipfile.ZipFile(_Reader(blob)) as archive:
            infos = archive.infolist()
            start = archive.start_dir
    except _MALFORMED as error:
        raise CannotCheckError(
            f"{origin}: not a readable zip file ({error}); it may be truncated: fetch it again"
        ) from None
    if len(infos) > COUNT_LIMIT:
        raise CannotCheckError(f"{origin}: {len(infos):,} members, more than {COUNT_LIMIT:,}")
    offsets = sorted({info.header_offset for info in infos} | {start})
    following = dict(itertools.pairwise(offsets))
    found: dict[str, Member] = {}
    for info in infos:
        name = shown(member_name(info.filename, origin))
        if not info.is_dir() and (is_source(name) or is_metadata(_installed_name(name))):
            # The local header may have a longer extra field than the directory's; then the rest is asked for.
            most = info.header_offset + _LOCAL_HEADER.size + 2 * len(info.filename) + 1024 + info.compress_size
            found[name] = Member(info, min(following.get(info.header_offset, start), most))
    check_total(
        [
            (name, max(m.info.file_size, m.info.compress_size))
            for name, m in found.items()
            if _readable(name, m.info) is None
        ],
        origin,
    )
    return found


def zip_files(blob: Blob, members: dict[str, Member], rename: Callable[[str], str]) -> ListedFiles:
    """The members as a set of files, each under the name that `rename` gives it."""
    by_path = {rename(name): (name, member) for name, member in members.items()}

    def fetch(path: str) -> bytes:
        name, member = by_path[path]
        return read_member(blob, name, member.info)

    return ListedFiles(by_path, fetch)


def wheel_files(blob: Blob, members: dict[str, Member]) -> ListedFiles:
    """A wheel's members under the paths that an installer would give them below site-packages."""
    return zip_files(blob, members, _installed_name)


def _installed_name(name: str) -> str:
    """`x-1.data/purelib/x/a.py` is installed as `x/a.py`."""
    first, _, rest = name.partition("/")
    second, _, inner = rest.partition("/")
    return inner if first.endswith(".data") and second in ("purelib", "platlib") and inner else name


def _readable(name: str, info: zipfile.ZipInfo) -> str | None:
    """Why this member is not read, or None."""
    mode = stat.S_IFMT(info.external_attr >> 16)
    if name.endswith(COMPILED):
        return "a compiled extension: only its name is known"
    if mode not in (0, stat.S_IFREG):
        return "a link; not followed" if mode == stat.S_IFLNK else "not a regular file"
    if info.flag_bits & 1:
        return "encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"compressed by method {info.compress_type}; only stored and deflated members are read"
    # Deflate never grows its input by more than a few bytes per block: a far larger size is a lie.
    if max(info.file_size, info.compress_size // 2) > FILE_LIMIT:
        return too_large(info.file_size)
    return None


def is_fetched(name: str, member: Member) -> bool:
    """Whether reading this member can succeed at all, so that its bytes are worth moving."""
    return _readable(name, member.info) is None


def read_member(blob: Blob, name: str, info: zipfile.ZipInfo) -> bytes:
    """The content of one member, checked against its declared size and CRC-32; raises UnreadableError."""
    if reason := _readable(name, info):
        raise UnreadableError(name, reason)
    try:
        start = max(0, info.header_offset)
        header = blob.read_at(start, _LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
            raise DamagedError(name, "no member where the zip file's directory says it is")
        _, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        packed = blob.read_at(start + _LOCAL_HEADER.size + name_length + extra_length, info.compress_size)
    except OSError as error:
        raise UnreadableError(name, error.strerror or str(error)) from None
    content = packed
    if info.compress_type == zipfile.ZIP_DEFLATED:
        try:
            # One byte more than declared shows that the size is a lie; a bomb is not unpacked further.
            content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, info.file_size + 1)
        except zlib.error as error:
            raise DamagedError(name, f"its compressed data is damaged ({error})") from None
    if len(content) != info.file_size:
        more = "more" if len(content) > info.file_size else "fewer"
        raise DamagedError(name, f"unpacks to {more} bytes than the {info.file_size:,} that are declared")
    if zlib.crc32(content) != info.CRC:
        raise DamagedError(name, "its content does not match its CRC-32")
    return content


class _Reader:
    """A Blob as the file object that zipfile wants; refuses a read that no honest directory needs."""

    def __init__(self, blob: Blob) -> None:
        self._blob = blob
        self._position = 0

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._blob.size}[whence]
        if base + offset < 0:
            raise io.UnsupportedOperation("a position before the start")
        self._position = base + offset
        return self._position

    def read(self, length: int | None = -1) -> bytes:
        rest = max(0, self._blob.size - self._position)
        length = rest if length is None or length < 0 else min(length, rest)
        if length > _DIRECTORY_LIMIT:
            raise zipfile.BadZipFile(f"a directory of {length:,} bytes")
        content = self._blob.read_at(self._position, length)
        self._position += len(content)
        return content
