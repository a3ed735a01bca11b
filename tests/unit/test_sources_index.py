"""`name==version` from a package index that runs here: what is moved, how it is checked, what is kept.

The index speaks the simple repository API (PEP 503 HTML, PEP 691 JSON) over HTTP on the loopback interface.
"""

import base64
import hashlib
import html
import http.server
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from atomstack.errors import CannotCheckError, UnreadableError, UsageError
from atomstack.sources import open_source, web
from atomstack.sources.pip_config import read_pip_config

NOISE = random.Random(7).randbytes(12 << 20)
LINUX = "demo-1.0-cp310-cp310-manylinux_2_28_x86_64.whl"
METADATA = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"
FILES: dict[str, str | bytes] = {
    "demo/__init__.py": "",
    "demo/_C.abi3.so": NOISE[: 3 << 20],
    "demo/core.py": "x = 1\n" * 1000,
    "demo/_D.abi3.so": NOISE[: 3 << 20],
    "demo/last.py": "y = 2\n",
    "demo-1.0.dist-info/METADATA": METADATA,
}


def wheel(files: dict[str, str | bytes] = FILES) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            # Noise does not compress, and trying to costs most of a test's time.
            archive.writestr(name, content, zipfile.ZIP_STORED if content[:9] == NOISE[:9] else None)
    return buffer.getvalue()


def tar_gz(files: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(f"demo-1.0/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


SDIST = tar_gz({"PKG-INFO": METADATA, "demo/__init__.py": "", "demo/core.py": "from sdist"})


@dataclass
class Index:
    """An index of one project. `moved` counts the bytes of file contents that went out, not of pages."""

    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    as_json: bool = True
    sizes: bool = True
    hashes: bool = True
    status: int = 200
    login: str | None = None
    url: str = ""
    moved: int = 0
    requests: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def page(self) -> tuple[str, bytes]:
        listed = {name: hashlib.sha256(content).hexdigest() for name, content in self.files.items()}
        if self.as_json:
            files = [
                {
                    "filename": name,
                    "url": f"../../files/{name}",
                    "hashes": {"sha256": digest} if self.hashes else {},
                }
                | ({"size": len(self.files[name])} if self.sizes else {})
                for name, digest in listed.items()
            ]
            body = {"meta": {"api-version": "1.1"}, "name": "demo", "files": files}
            return "application/vnd.pypi.simple.v1+json", json.dumps(body).encode()
        links = "".join(
            f'<a href="../../files/{html.escape(name)}{f"#sha256={digest}" if self.hashes else ""}">{name}</a><br>'
            for name, digest in listed.items()
        )
        return "text/html", f"<!DOCTYPE html><html><body>{links}</body></html>".encode()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    state = Index()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            with state.lock:
                state.requests.append(f"{self.command} {self.path} {self.headers.get('Range', '')}".strip())
            name = self.path.rpartition("/files/")[2]
            if state.status != 200:
                self.send_error(state.status)
            elif state.login and self.headers.get("Authorization") != state.login:
                self.send_error(401)
            elif self.path == "/simple/demo/":
                content_type, body = state.page()
                self.answer(200, body, {"Content-Type": content_type})
            elif name not in state.files:
                self.send_error(404)
            elif state.ranges and "Range" in self.headers:
                whole = state.files[name]
                first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
                start = int(first) if first else max(0, len(whole) - int(last))
                part = whole[start : int(last) + 1 if first else None]
                self.answer(206, part, {"Content-Range": f"bytes {start}-{start + len(part) - 1}/{len(whole)}"})
            else:
                self.answer(200, state.files[name], {})

        def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for key, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                try:
                    self.wfile.write(body)
                except OSError:
                    return
                if "/files/" in self.path:
                    with state.lock:
                        state.moved += len(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/simple"
    for name in [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", state.url)
    monkeypatch.setenv("ATOMSTACK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(web.time, "sleep", lambda seconds: None)
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("as_json", [True, False])
def test_of_a_wheel_only_the_python_files_are_moved(index: Index, as_json: bool) -> None:
    index.files = {LINUX: wheel(), "demo-1.0.tar.gz": SDIST}
    index.as_json = as_json
    tree = open_source("Demo==1.0")
    assert (tree.package, tree.distribution, tree.version) == ("demo", "demo", "1.0")
    assert (tree.kind, tree.origin) == ("index-wheel", "demo==1.0")
    assert tree.paths() == (
        "demo/_C.abi3.so",
        "demo/_D.abi3.so",
        "demo/__init__.py",
        "demo/core.py",
        "demo/last.py",
    )
    assert tree.read("demo/core.py") == b"x = 1\n" * 1000
    assert LINUX in tree.provenance
    assert "CRC-32" in tree.provenance
    assert len(index.files[LINUX]) > 6_000_000
    assert index.moved < 200_000


def test_a_later_run_needs_no_network(index: Index) -> None:
    index.files = {LINUX: wheel()}
    first = open_source("demo==1.0")
    index.requests.clear()
    index.status = 503
    again = open_source("demo==1.0")
    assert index.requests == []
    assert (again.paths(), again.content_hash(), again.kind) == (
        first.paths(),
        first.content_hash(),
        first.kind,
    )
    assert (again.distribution, again.version, again.provenance) == (
        first.distribution,
        first.version,
        first.provenance,
    )
    with pytest.raises(UnreadableError, match="only its name is known"):
        again.read("demo/_C.abi3.so")


def test_without_ranges_whatever_is_smaller_is_moved(index: Index) -> None:
    index.ranges = False
    index.files = {LINUX: wheel(), "demo-1.0.tar.gz": SDIST}
    tree = open_source("demo==1.0")
    assert (tree.kind, tree.read("demo/core.py")) == ("index-sdist", b"from sdist")
    assert "its SHA-256 is the index's" in tree.provenance
    assert "GET /files/demo-1.0.tar.gz" in index.requests


@pytest.mark.parametrize("sizes", [True, False])
def test_an_sdist_that_is_far_smaller_is_preferred(index: Index, sizes: bool) -> None:
    index.sizes = sizes
    index.files = {LINUX: wheel(FILES | {"demo/table.py": NOISE}), "demo-1.0.tar.gz": SDIST}
    assert open_source("demo==1.0").kind == "index-sdist"
    assert index.moved < 200_000


def test_only_a_wheel_and_no_ranges(index: Index) -> None:
    index.ranges = False
    index.files = {LINUX: wheel()}
    tree = open_source("demo==1.0")
    assert tree.kind == "index-wheel"
    assert "its SHA-256 is the index's" in tree.provenance
    assert tree.read("demo/last.py") == b"y = 2\n"


def test_which_of_several_wheels(index: Index) -> None:
    small: dict[str, str | bytes] = {"demo/__init__.py": ""}
    index.files = {
        f"demo-1.0-{tag}.whl": wheel(small | {"demo/which.py": tag})
        for tag in (
            "cp312-cp312-win_amd64",
            "cp312-cp312-manylinux_2_28_aarch64",
            "cp312-cp312-manylinux_2_28_x86_64",
        )
    }
    assert open_source("demo==1.0").read("demo/which.py") == b"cp312-cp312-manylinux_2_28_x86_64"
    index.files["demo-1.1-py3-none-any.whl"] = wheel(small | {"demo/which.py": "pure"})
    index.files["demo-1.1-cp312-cp312-manylinux_2_28_x86_64.whl"] = wheel(small)
    assert open_source("demo==1.1").read("demo/which.py") == b"pure"


def test_a_local_version_stands_in_where_there_is_no_other(index: Index) -> None:
    small: dict[str, str | bytes] = {"demo/__init__.py": ""}
    index.files = {"demo-1.0+cpu-py3-none-any.whl": wheel(small | {"demo/which.py": "cpu"})}
    assert open_source("demo==1.0").read("demo/which.py") == b"cpu"
    assert open_source("demo==1.0+cpu").version == "1.0+cpu"
    with pytest.raises(CannotCheckError, match="no such release"):
        open_source("demo==1.0+rocm")


def test_a_file_with_another_hash_is_refused(index: Index, tmp_path: Path) -> None:
    index.files = {"demo-1.0.tar.gz": SDIST}
    content_type, page = index.page()
    index.page = lambda: (content_type, page)  # type: ignore[method-assign]
    index.files = {"demo-1.0.tar.gz": tar_gz({"demo/__init__.py": "evil"})}
    with pytest.raises(CannotCheckError, match=r"the SHA-256 of demo-1\.0\.tar\.gz is .* refused"):
        open_source("demo==1.0")
    assert not list(tmp_path.rglob("*.pack"))


def test_damage_on_the_way_is_noticed_and_not_kept(index: Index, tmp_path: Path) -> None:
    good = wheel()
    at = good.index(b"demo/core.py") + 20
    index.files = {LINUX: good[:at] + bytes([good[at] ^ 255]) + good[at + 1 :]}
    with pytest.raises(UnreadableError, match=r"demo/core\.py: "):
        open_source("demo==1.0").read("demo/core.py")
    assert not list(tmp_path.rglob("*.pack"))
    index.files = {LINUX: good}
    assert open_source("demo==1.0").read("demo/core.py").startswith(b"x = 1")


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "text", "folder"])
def test_a_damaged_cache_entry_is_fetched_again(index: Index, tmp_path: Path, damage: str) -> None:
    index.files = {LINUX: wheel()}
    whole = open_source("demo==1.0").content_hash()
    (entry,) = (tmp_path / "cache").rglob("*.pack")
    content = entry.read_bytes()
    damaged = {
        "flip": content[:-1] + bytes([content[-1] ^ 1]),
        "truncate": content[:-100],
        "empty": b"",
        "text": b"atomstack-release-1 \n{}",
    }
    if damage == "folder":
        entry.unlink()
        entry.mkdir()
    else:
        entry.write_bytes(damaged[damage])
    index.requests.clear()
    assert open_source("demo==1.0").content_hash() == whole
    assert index.requests
    if damage != "folder":
        assert entry.read_bytes() == content
    assert not list((tmp_path / "cache").rglob("*.part"))


def test_a_cache_that_cannot_be_written_is_no_error(index: Index, tmp_path: Path) -> None:
    index.files = {LINUX: wheel()}
    (tmp_path / "file").write_text("")
    tree = open_source("demo==1.0", cache=tmp_path / "file" / "below")
    assert tree.read("demo/last.py") == b"y = 2\n"


def test_several_runs_at_once(index: Index) -> None:
    index.files = {LINUX: wheel()}
    hashes: list[str] = []
    threads = [
        threading.Thread(target=lambda: hashes.append(open_source("demo==1.0").content_hash())) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(hashes) == 6
    assert len(set(hashes)) == 1


def test_another_index_has_another_cache(index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    index.files = {LINUX: wheel()}
    open_source("demo==1.0")
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "empty").as_uri())
    with pytest.raises(CannotCheckError, match="no wheel or sdist of a project demo"):
        open_source("demo==1.0")


def test_an_extra_index_in_a_folder(index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    project = tmp_path / "simple" / "demo"
    project.mkdir(parents=True)
    (tmp_path / "demo-2.0-py3-none-any.whl").write_bytes(wheel())
    (project / "index.html").write_text('<a href="../../demo-2.0-py3-none-any.whl">demo-2.0-py3-none-any.whl</a>')
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{(tmp_path / 'nothing').as_uri()} {(tmp_path / 'simple').as_uri()}")
    tree = open_source("demo==2.0")
    assert (tree.kind, tree.read("demo/last.py")) == ("index-wheel", b"y = 2\n")
    assert "no SHA-256" in tree.provenance


def test_a_page_from_the_network_may_not_name_files_of_this_machine(index: Index) -> None:
    body = {"files": [{"filename": "demo-1.0.tar.gz", "url": "file:///etc/passwd", "hashes": {}}]}
    index.page = lambda: ("application/vnd.pypi.simple.v1+json", json.dumps(body).encode())  # type: ignore[method-assign]
    with pytest.raises(CannotCheckError, match="not a project page"):
        open_source("demo==1.0")


@pytest.mark.parametrize(
    "page",
    [b"[", b"{}", b'{"files": 3}', b'{"files": [{"filename": "a/../b.whl", "url": "x", "hashes": {}}]}'],
)
def test_a_page_that_is_none(index: Index, page: bytes) -> None:
    index.page = lambda: ("application/vnd.pypi.simple.v1+json", page)  # type: ignore[method-assign]
    with pytest.raises(CannotCheckError, match="not a project page"):
        open_source("demo==1.0")


def test_unknown_version_and_project(index: Index) -> None:
    index.files = {
        LINUX: wheel(),
        "demo-1.1rc1.tar.gz": SDIST,
        "demo-0.9-py3.9.egg": b"",
        "other-2.0.tar.gz": b"",
    }
    with pytest.raises(CannotCheckError, match=r"no such release; its newest are 1\.1rc1, 1\.0$"):
        open_source("demo==3.0")
    with pytest.raises(CannotCheckError, match="no wheel or sdist of a project nothing"):
        open_source("nothing==1.0")


@pytest.mark.parametrize("status", [403, 500, 503])
def test_a_server_that_fails(index: Index, status: int) -> None:
    index.status = status
    with pytest.raises(CannotCheckError, match=rf"HTTP status {status}.*check the network, the proxy"):
        open_source("demo==1.0")
    assert len(index.requests) == (3 if status >= 500 else 1)


def test_no_server(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(CannotCheckError, match="check the network, the proxy"):
        open_source("demo==1.0")
    monkeypatch.setenv("PIP_INDEX_URL", "ftp://127.0.0.1/simple")
    with pytest.raises(CannotCheckError, match="expected an http, https or file address"):
        open_source("demo==1.0")


def test_a_server_that_sends_another_range(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.files = {LINUX: wheel()}
    monkeypatch.setattr(web, "_content_range", lambda response: (5, len(index.files[LINUX])))
    with pytest.raises(CannotCheckError, match="the server sent another range"):
        open_source("demo==1.0")


def test_a_password_in_the_address_is_sent_and_never_shown(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.files = {LINUX: wheel()}
    index.login = "Basic " + base64.b64encode(b"me:s3cret/x").decode()
    monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("://", "://me:s3cret%2Fx@"))
    assert open_source("demo==1.0").kind == "index-wheel"
    index.login = "Basic other"
    with pytest.raises(CannotCheckError, match="HTTP status 401") as caught:
        open_source("demo==1.1")
    assert "s3cret" not in str(caught.value)


def test_a_ca_bundle_that_is_not_there(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CERT", "/nowhere/ca.pem")
    with pytest.raises(CannotCheckError, match=r"/nowhere/ca\.pem: the CA bundle that pip is configured to trust"):
        open_source("demo==1.0")


def test_a_spec_that_is_not_one_version(index: Index) -> None:
    for spec in ("demo", "demo>=1", "demo==1.*", "demo==1,==2", "demo[x]==1", "demo==1; python_version>'3'"):
        with pytest.raises(UsageError, match="NAME==VERSION"):
            open_source(spec)
    assert index.requests == []


def test_pip_configuration_overrides_in_pips_order(tmp_path: Path) -> None:
    home, xdg, named = tmp_path / "home", tmp_path / "xdg", tmp_path / "named.conf"
    (home / ".config/pip").mkdir(parents=True)
    (xdg / "pip").mkdir(parents=True)
    (xdg / "pip/pip.conf").write_text(
        "[global]\nindex-url = http://site/\nextra_index_url =\n  http://a/\n  http://b/\n"
    )
    environ = {"HOME": str(home), "XDG_CONFIG_DIRS": str(xdg)}
    assert read_pip_config(environ).indexes == ("http://site/", "http://a/", "http://b/")
    (home / ".config/pip/pip.conf").write_text("[global]\nindex-url = http://user/\ncert = /ca.pem\n")
    assert read_pip_config(environ).indexes[0] == "http://user/"
    assert read_pip_config(environ).cert == "/ca.pem"
    # https://pip.pypa.io/en/stable/topics/configuration/: PIP_CONFIG_FILE replaces the user's file.
    named.write_text("[global]\nindex-url = http://named/\n[install]\nindex-url = http://install/\n")
    environ["PIP_CONFIG_FILE"] = str(named)
    assert read_pip_config(environ).indexes[0] == "http://install/"
    environ["PIP_INDEX_URL"] = "http://variable/"
    assert read_pip_config(environ).indexes[0] == "http://variable/"
    environ["PIP_NO_INDEX"] = "1"
    with pytest.raises(CannotCheckError, match="no-index"):
        read_pip_config(environ)
    named.write_text("index-url without a section\n")
    with pytest.raises(UsageError, match=r"named\.conf: not a pip configuration file"):
        read_pip_config(environ)


def test_pip_itself_reads_the_same_configuration(tmp_path: Path) -> None:
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip/pip.conf").write_text("[global]\nindex-url = http://user/\n[install]\ncert = /ca.pem\n")
    environ = {"HOME": "/nowhere", "XDG_CONFIG_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    said = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    ours = read_pip_config(environ)
    assert f"global.index-url='{ours.indexes[0]}'" in said
    assert f"install.cert='{ours.cert}'" in said


def test_where_nothing_is_configured_pip_says_which_index_is_its_own() -> None:
    built_in = read_pip_config({"PIP_CONFIG_FILE": os.devnull}).indexes
    said = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--help"],
        env={"PIP_CONFIG_FILE": os.devnull, "PATH": os.environ["PATH"], "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert len(built_in) == 1
    assert built_in[0] in "".join(said.split())
