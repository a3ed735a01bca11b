"""One release of the package index: which files it has, which of them is best read, and its Python files.

Of a wheel only the central directory and the Python files are moved, by range requests, where that is less
than its sdist.
"""

import hashlib
import json
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from atomstack.errors import CannotCheckError
from atomstack.sources.cache import ReleaseFacts
from atomstack.sources.files import ListedFiles
from atomstack.sources.pip_config import PipConfig
from atomstack.sources.sdist import SUFFIXES, sdist_files
from atomstack.sources.web import NoRangesError, NotFoundError, RemoteBlob, Web, redacted
from atomstack.sources.zips import FileBlob, is_fetched, list_zip, wheel_files

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
# A wheel this small is moved whole, for one request less and for its hash.
_SMALL = 1 << 20
# The share of a wheel above which its Python files are better had with the rest of it, for the hash.
_MOST = 0.75
# A wheel is what gets installed and names its compiled extensions: an sdist must save this much to be taken.
_WORTH_AN_SDIST = 4 << 20


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """One file of a project page; `size` and `sha256` as far as the index says."""

    filename: str
    url: str
    sha256: str | None
    size: int | None

    @property
    def is_wheel(self) -> bool:
        """Whether it is a wheel, else an sdist."""
        return self.filename.endswith(".whl")

    @property
    def is_local(self) -> bool:
        """Whether it lies on this machine."""
        return self.url.startswith("file:")


@contextmanager
def reading_release(name: str, version: Version, config: PipConfig) -> Iterator[tuple[ReleaseFacts, ListedFiles]]:
    """The files of one release, which can be read until the context ends."""
    web = Web(config.cert)
    origin = f"{name}=={version}"
    found = _release_files(name, version, config.indexes, web)
    wheel = min((file for file in found if file.is_wheel), key=_wheel_rank, default=None)
    sdist = next((file for file in found if not file.is_wheel), None)
    with tempfile.TemporaryDirectory(prefix="atomstack-") as scratch:
        if wheel and (read := _by_ranges(wheel, sdist, web, origin)):
            chosen, (files, how) = wheel, read
        else:
            chosen = _smaller(wheel, sdist, web)
            files, how = _as_a_whole(chosen, web, Path(scratch), origin)
        kind = "index-wheel" if chosen.is_wheel else "index-sdist"
        yield ReleaseFacts(name, str(version), kind, chosen.filename, chosen.sha256, how), files


def _by_ranges(wheel: ReleaseFile, sdist: ReleaseFile | None, web: Web, origin: str) -> tuple[ListedFiles, str] | None:
    """A wheel's Python files by range requests, or None where a whole file is less or all there is."""
    if wheel.is_local or (wheel.size is not None and wheel.size <= _SMALL):
        return None
    try:
        blob = RemoteBlob(web, wheel.url)
    except NoRangesError:
        return None
    members = list_zip(blob, f"{origin}: {wheel.filename}")
    wanted = [member for name, member in members.items() if is_fetched(name, member)]
    runs = blob.plan((member.info.header_offset, member.end) for member in wanted)
    cost = blob.moved + sum(end - start for start, end in runs)
    if cost > _MOST * blob.size:
        return None
    if sdist and cost > _WORTH_AN_SDIST and cost > (_size(sdist, web) or cost) + _WORTH_AN_SDIST:
        return None
    blob.fetch(runs)
    return wheel_files(blob, members), (
        f"{len(wanted):,} files of {wheel.filename}, {blob.moved:,} of its {blob.size:,} bytes in "
        f"{blob.requests} range requests; each file checked by its CRC-32, the wheel's own hash not"
    )


def _smaller(wheel: ReleaseFile | None, sdist: ReleaseFile | None, web: Web) -> ReleaseFile:
    if wheel is None or sdist is None:
        return wheel or sdist  # type: ignore[return-value]  # _release_files gives at least one
    if wheel.is_local or sdist.is_local:
        return wheel
    wheel_size, sdist_size = _size(wheel, web), _size(sdist, web)
    if wheel_size is None or sdist_size is None:
        return sdist
    return sdist if sdist_size + _WORTH_AN_SDIST < wheel_size else wheel


def _size(file: ReleaseFile, web: Web) -> int | None:
    if file.size is not None or file.is_local:
        return file.size
    try:
        return web.size(file.url)
    except CannotCheckError:
        return None


def _as_a_whole(file: ReleaseFile, web: Web, scratch: Path, origin: str) -> tuple[ListedFiles, str]:
    if file.is_local:
        path = Path(urllib.request.url2pathname(urllib.parse.urlsplit(file.url).path))
        if not path.is_file():
            raise CannotCheckError(f"{origin}: the index names {path}, which is no file")
        how = f"{file.filename}, on this machine"
    else:
        path = scratch / file.filename
        how = f"{file.filename}, {web.download(file.url, path):,} bytes"
    if file.sha256 is None:
        how += "; the index gives no SHA-256 to check it by"
    else:
        found = _sha256(path)
        if found != file.sha256:
            raise CannotCheckError(
                f"{origin}: the SHA-256 of {file.filename} is {found}, the index says {file.sha256}: refused"
            )
        how += "; its SHA-256 is the index's"
    if not file.is_wheel:
        return sdist_files(path, f"{origin}: {file.filename}"), how
    blob = FileBlob(path)
    return wheel_files(blob, list_zip(blob, f"{origin}: {file.filename}")), how


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wheel_rank(file: ReleaseFile) -> tuple[int, str]:
    """Pure Python, then manylinux x86_64, then other Linux; the same on every machine."""
    platforms = {tag.platform for tag in parse_wheel_filename(file.filename)[3]}
    kinds = (
        "any" in platforms,
        any(name.endswith("_x86_64") and "linux" in name for name in platforms),
        any("linux" in name for name in platforms),
        True,
    )
    return kinds.index(True), file.filename


def _release_files(name: str, version: Version, indexes: Sequence[str], web: Web) -> list[ReleaseFile]:
    """The wheels and sdists of one release; where several indexes have a file the first one's counts."""
    by_version: dict[Version, dict[str, ReleaseFile]] = {}
    problems: list[str] = []
    for index in indexes:
        try:
            files = _project_page(f"{index.rstrip('/')}/{name}/", web)
        except NotFoundError:
            continue
        except CannotCheckError as error:
            problems.append(str(error))
            continue
        for file in files:
            if (found := _version_of(file.filename, name)) is not None:
                by_version.setdefault(found, {}).setdefault(file.filename, file)
    # `==2.13.0` means 2.13.0+cpu too where nothing is called 2.13.0 alone.
    local = [found for found in by_version if version.local is None and Version(found.public) == version]
    match = version if version in by_version else max(local, default=None)
    if match is not None:
        return list(by_version[match].values())
    if problems:
        raise CannotCheckError(f"{name}=={version}: " + "; ".join(problems))
    if not by_version:
        raise CannotCheckError(
            f"{name}=={version}: the package index has no wheel or sdist of a project {name}: "
            "check the name, and where `pip config list` points"
        )
    newest = ", ".join(str(found) for found in sorted(by_version, reverse=True)[:8])
    raise CannotCheckError(f"{name}=={version}: the package index has no such release; its newest are {newest}")


def _version_of(filename: str, name: str) -> Version | None:
    try:
        if filename.endswith(".whl"):
            found, version, *_ = parse_wheel_filename(filename)
        elif filename.endswith(SUFFIXES):
            found, version = parse_sdist_filename(filename)
        else:
            return None
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    return version if found == name else None


def _project_page(url: str, web: Web) -> list[ReleaseFile]:
    if url.startswith("file:"):
        page = Path(urllib.request.url2pathname(urllib.parse.urlsplit(url).path)) / "index.html"
        if not page.is_file():
            raise NotFoundError(f"{page}: no such file")
        return list(_from_html(page.read_bytes(), url))
    address, content_type, body = web.page(url, _ACCEPT)
    try:
        if content_type.endswith("+json"):
            return list(_from_json(body, address))
        return list(_from_html(body, address))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise CannotCheckError(f"{redacted(url)}: not a project page as package indexes write them") from None


def _from_json(body: bytes, address: str) -> Iterator[ReleaseFile]:
    """PEP 691."""
    for file in json.loads(body)["files"]:
        size = file.get("size")
        yield _release_file(file["filename"], file["url"], file["hashes"].get("sha256"), size, address)


def _from_html(body: bytes, address: str) -> Iterator[ReleaseFile]:
    """PEP 503: anchors whose address ends in the file's name and, as a fragment, its hash."""
    links = _Links()
    links.feed(body.decode("utf-8", "replace"))
    for href in links.found:
        url, fragment = urllib.parse.urldefrag(urllib.parse.urljoin(links.base or "", href))
        filename = urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
        sha256 = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None
        yield _release_file(filename, url, sha256, None, address)


def _release_file(filename: str, url: str, sha256: str | None, size: int | None, address: str) -> ReleaseFile:
    url = urllib.parse.urljoin(address, url)
    if url.startswith("file:") and not address.startswith("file:"):
        raise ValueError("a page from the network names a file of this machine")
    if "/" in filename:
        raise ValueError("a file name with a slash")
    return ReleaseFile(filename, url, sha256, size)


class _Links(HTMLParser):
    """The hrefs of a page's anchors, and its base address if it names one."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.base: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag == "a" and href:
            self.found.append(href)
        elif tag == "base" and href and self.base is None:
            self.base = href
