"""Releases on disk: what was read of a release file, in one file that is checked when it is opened."""

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from atomstack.errors import UnreadableError
from atomstack.sources.files import TOTAL_LIMIT, DamagedError, ListedFiles

_MAGIC = b"atomstack-release-1 "
_LIMIT = 2 * TOTAL_LIMIT


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """What a release file was and how it was read; `kind` is index-wheel or index-sdist."""

    distribution: str
    version: str
    kind: str
    filename: str
    sha256: str | None
    provenance: str


def default_folder() -> Path:
    """`$ATOMSTACK_CACHE`, else `$XDG_CACHE_HOME/atomstack`, else `~/.cache/atomstack`."""
    if named := os.environ.get("ATOMSTACK_CACHE"):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path("~/.cache").expanduser()) / "atomstack"


def pack(facts: ReleaseFacts, files: ListedFiles) -> tuple[bytes, bool]:
    """One file: a line with the hash of the rest, a line of JSON, then the contents one after another.

    The second value is whether it may be kept: not when a member may have been damaged on the way.
    """
    whole = True
    places: dict[str, list[int] | str] = {}
    contents: list[bytes] = []
    offset = 0
    for name in files.names():
        try:
            content = files.read(name)
        except UnreadableError as error:
            places[name] = error.reason
            whole = whole and not isinstance(error, DamagedError)
            continue
        places[name] = [offset, len(content)]
        contents.append(content)
        offset += len(content)
    head = json.dumps({"facts": asdict(facts), "files": places}).encode() + b"\n"
    digest = hashlib.sha256(head)
    for content in contents:
        digest.update(content)
    return b"".join([_MAGIC, digest.hexdigest().encode(), b"\n", head, *contents]), whole


def unpack(packed: bytes) -> tuple[ReleaseFacts, ListedFiles]:
    """The reverse of pack; ValueError for bytes that are damaged or of another version of this format."""
    start = len(_MAGIC) + 65
    digest = hashlib.sha256(memoryview(packed)[start:]).hexdigest().encode()
    if packed[:start] != _MAGIC + digest + b"\n":
        raise ValueError("a damaged cache entry")
    base = packed.index(b"\n", start) + 1
    head = json.loads(packed[start:base])
    places: dict[str, list[int] | str] = head["files"]

    def fetch(path: str) -> bytes:
        place = places[path]
        if isinstance(place, str):
            raise UnreadableError(path, place)
        offset, length = place
        return packed[base + offset : base + offset + length]

    return ReleaseFacts(**head["facts"]), ListedFiles(places, fetch)


def load(entry: Path) -> tuple[ReleaseFacts, ListedFiles] | None:
    """What a cache entry holds, or None where there is none that is whole."""
    try:
        if entry.stat().st_size > _LIMIT:
            return None
        return unpack(entry.read_bytes())
    except (OSError, ValueError, TypeError, LookupError):
        return None


def store(entry: Path, packed: bytes) -> None:
    """Write an entry at once or not at all; a cache that cannot be written is no error."""
    with contextlib.suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=entry.parent, prefix=".", suffix=".part")
        try:
            with open(descriptor, "wb") as file:
                file.write(packed)
            os.replace(temporary, entry)
        except BaseException:
            os.unlink(temporary)
            raise
