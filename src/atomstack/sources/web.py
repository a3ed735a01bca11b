"""Bytes over HTTP: whole pages, files with their hash, and ranges of a file on a server that honours them."""

import base64
import http
import http.client
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from atomstack.errors import CannotCheckError

_TIMEOUT = 60
_ATTEMPTS = 3
_CONNECTIONS = 6
_PAGE_LIMIT = 64 << 20
_DOWNLOAD_LIMIT = 4 << 30
# Bytes that are cheaper to read over than to ask for anew, and the most that one request asks for.
_GAP = 48 << 10
_RUN = 2 << 20
_REQUESTS = 2000
_T = TypeVar("_T")


class NotFoundError(CannotCheckError):
    """The server is there and has nothing at this address."""


class NoRangesError(CannotCheckError):
    """The server answers a range request with the whole file, which was not read."""


class Web:
    """A client that trusts what pip trusts. It can be used by several threads."""

    def __init__(self, cert: str | None) -> None:
        handlers: list[urllib.request.BaseHandler] = []
        try:
            if cert and Path(cert).is_dir():
                handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(capath=cert)))
            elif cert:
                handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=cert)))
        except (OSError, ssl.SSLError) as error:
            raise CannotCheckError(f"{cert}: the CA bundle that pip is configured to trust: {error}") from None
        self._opener = urllib.request.build_opener(*handlers)
        self._logins: dict[str, str] = {}

    def page(self, url: str, accept: str) -> tuple[str, str, bytes]:
        """The address after redirects, content type and body of one page."""

        def read(response: http.client.HTTPResponse) -> tuple[str, str, bytes]:
            body = response.read(_PAGE_LIMIT + 1)
            if len(body) > _PAGE_LIMIT:
                raise CannotCheckError(f"{redacted(url)}: a page of more than {_PAGE_LIMIT:,} bytes")
            return response.url, response.headers.get_content_type(), body

        return self._ask(url, {"Accept": accept}, read)

    def size(self, url: str) -> int | None:
        """The size of a file without reading it, where the server says so."""
        return self._ask(url, {}, _content_length, method="HEAD")

    def download(self, url: str, to: Path) -> int:
        """Write the file to `to` and return its size."""

        def read(response: http.client.HTTPResponse) -> int:
            length = _content_length(response)
            size = 0
            with to.open("wb") as file:
                while block := response.read(1 << 20):
                    size += len(block)
                    if size > _DOWNLOAD_LIMIT:
                        raise CannotCheckError(f"{redacted(url)}: more than {_DOWNLOAD_LIMIT:,} bytes")
                    file.write(block)
            if length not in (None, size):
                raise EOFError(f"{size:,} of {length:,} bytes came")
            return size

        return self._ask(url, {}, read)

    def span(self, url: str, start: int | None, length: int) -> tuple[bytes, int]:
        """`length` bytes from `start` (None: the last ones), and the size of the whole file."""
        wanted = f"bytes=-{length}" if start is None else f"bytes={start}-{start + length - 1}"

        def read(response: http.client.HTTPResponse) -> tuple[bytes, int]:
            if response.status != http.HTTPStatus.PARTIAL_CONTENT:
                raise NoRangesError(f"{redacted(url)}: the server does not honour range requests")
            first, whole = _content_range(response)
            expected = min(length, whole if start is None else whole - start)
            if first != (whole - expected if start is None else start):
                raise CannotCheckError(f"{redacted(url)}: asked for {wanted}, the server sent another range")
            body = response.read(expected + 1)
            if len(body) != expected:
                raise EOFError(f"{len(body):,} of {expected:,} bytes came")
            return body, whole

        return self._ask(url, {"Range": wanted, "Accept-Encoding": "identity"}, read)

    def _ask(
        self,
        url: str,
        headers: dict[str, str],
        read: Callable[[http.client.HTTPResponse], _T],
        method: str = "GET",
    ) -> _T:
        request = self._request(url, headers, method)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self._opener.open(request, timeout=_TIMEOUT) as response:
                    return read(response)
            except urllib.error.HTTPError as error:
                error.close()
                if error.code in (404, 410):
                    raise NotFoundError(f"{redacted(url)}: not found") from None
                reason = f"HTTP status {error.code} {error.reason}"
                if error.code != http.HTTPStatus.TOO_MANY_REQUESTS and error.code < 500:
                    break
            except urllib.error.URLError as error:
                reason = str(error.reason)
            except (OSError, EOFError, http.client.HTTPException, ValueError) as error:
                reason = f"{type(error).__name__}: {error}"
            if attempt < _ATTEMPTS:
                time.sleep(0.5 * attempt)
        raise CannotCheckError(f"{redacted(url)}: {reason}; check the network, the proxy and `pip config list`")

    def _request(self, url: str, headers: dict[str, str], method: str) -> urllib.request.Request:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise CannotCheckError(f"{redacted(url)}: expected an http, https or file address")
        login, _, host = parts.netloc.rpartition("@")
        server = f"{parts.scheme}://{host}"
        if login:
            self._logins[server] = base64.b64encode(urllib.parse.unquote(login).encode()).decode()
        request = urllib.request.Request(  # noqa: S310 - the scheme was looked at just above
            redacted(url), headers={"User-Agent": "atomstack", **headers}, method=method
        )
        # As pip does, the index's login is good for the files that lie beside it, and not sent elsewhere.
        if server in self._logins:
            request.add_unredirected_header("Authorization", f"Basic {self._logins[server]}")
        return request


class RemoteBlob:
    """A file on a server, of which the end is fetched now and other ranges when asked for; a `zips.Blob`."""

    def __init__(self, web: Web, url: str, tail: int = 64 << 10) -> None:
        self._web = web
        self._url = url
        end, self.size = web.span(url, None, tail)
        self._chunks = [(self.size - len(end), end)]
        self.moved = len(end)
        self.requests = 1

    def read_at(self, offset: int, length: int) -> bytes:
        """See zips.Blob."""
        length = min(length, self.size - offset)
        if length <= 0:
            return b""
        for start, content in self._chunks:
            if start <= offset and offset + length <= start + len(content):
                return content[offset - start : offset - start + length]
        self._add([(offset, offset + length)])
        return self.read_at(offset, length)

    def plan(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """The requests that bring `spans` (start, end): neighbours joined, what is here already left out."""
        runs: list[list[int]] = []
        held = self._chunks[0][0]
        for start, to in sorted(spans):
            end = min(to, held)
            if start >= end:
                continue
            if runs and start - runs[-1][1] <= _GAP and end - runs[-1][0] <= _RUN:
                runs[-1][1] = max(runs[-1][1], end)
            else:
                runs.append([start, end])
        return [(start, end) for start, end in runs]

    def fetch(self, runs: Sequence[tuple[int, int]]) -> None:
        """Bring the planned runs over a few connections at a time."""
        self._add(runs)

    def _add(self, runs: Sequence[tuple[int, int]]) -> None:
        if self.requests + len(runs) > _REQUESTS:
            raise CannotCheckError(f"{redacted(self._url)}: its Python files are in more than {_REQUESTS} places")

        def one(run: tuple[int, int]) -> tuple[int, bytes]:
            body, whole = self._web.span(self._url, run[0], run[1] - run[0])
            if whole != self.size:
                raise CannotCheckError(f"{redacted(self._url)}: the file changed while it was read")
            return run[0], body

        with ThreadPoolExecutor(min(_CONNECTIONS, max(1, len(runs)))) as pool:
            for start, body in pool.map(one, runs):
                self._chunks.append((start, body))
                self.moved += len(body)
                self.requests += 1


def redacted(url: str) -> str:
    """The address without the name and password that it may carry."""
    parts = urllib.parse.urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _content_length(response: http.client.HTTPResponse) -> int | None:
    value = response.headers.get("Content-Length", "")
    return int(value) if value.isdecimal() else None


def _content_range(response: http.client.HTTPResponse) -> tuple[int, int]:
    """First byte and whole size out of `bytes 100-199/1000`."""
    unit, _, value = response.headers.get("Content-Range", "").partition(" ")
    span, _, whole = value.partition("/")
    first = span.partition("-")[0]
    if unit != "bytes" or not first.isdecimal() or not whole.isdecimal():
        raise CannotCheckError(f"{redacted(response.url)}: a partial answer without a usable Content-Range")
    return int(first), int(whole)
