"""An image reference -> its digest, against a real registry (Debian's docker-registry) on this machine."""

import fcntl
import hashlib
import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from atomstack.errors import CannotCheckError
from atomstack.lock import images

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "atomstack/tests"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def program() -> Path:
    """The registry of Debian's package, unpacked and not installed."""
    registry = CACHE / "docker-registry/usr/bin/docker-registry"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "docker-registry.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the unit tests run in several processes
        if not registry.exists():
            fetch = ["apt-get", "--quiet=2", "download", "docker-registry"]
            if subprocess.run(fetch, cwd=CACHE, check=False, capture_output=True).returncode != 0:
                subprocess.run(["apt-get", "--quiet=2", "update"], check=False, capture_output=True)
                subprocess.run(fetch, cwd=CACHE, check=True)
            (package,) = CACHE.glob("docker-registry_*.deb")
            subprocess.run(["dpkg-deb", "--extract", package, CACHE / "docker-registry"], check=True)
            package.unlink()
    return registry


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """The address of an empty registry."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    settings = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(tmp_path / "data")}},
        "http": {"addr": address},
    }
    (tmp_path / "config.yml").write_text(json.dumps(settings))
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([program(), "serve", tmp_path / "config.yml"], stdout=log, stderr=log)
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://{address}/v2/")
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        process.kill()
        process.wait()


def push(address: str, name: str, tag: str, architecture: str) -> str:
    """Put an image without layers into the registry; the digest of its image manifest."""
    config = json.dumps(
        {"architecture": architecture, "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}}
    ).encode()
    digest = "sha256:" + hashlib.sha256(config).hexdigest()
    url = f"http://{address}/v2/{name}"
    with urllib.request.urlopen(urllib.request.Request(f"{url}/blobs/uploads/", data=b"", method="POST")) as started:
        place = started.headers["Location"]
    binary = {"Content-Type": "application/octet-stream"}
    urllib.request.urlopen(
        urllib.request.Request(f"{place}&digest={digest}", data=config, headers=binary, method="PUT")
    )
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": len(config)},
            "layers": [],
        }
    ).encode()
    request = urllib.request.Request(
        f"{url}/manifests/{tag}", data=manifest, headers={"Content-Type": MANIFEST}, method="PUT"
    )
    urllib.request.urlopen(request)
    return "sha256:" + hashlib.sha256(manifest).hexdigest()


def test_a_tag_is_the_digest_behind_it_now(registry: str, buildx_in_path: None) -> None:
    first = push(registry, "library/base", "1", "amd64")
    assert images.digest(f"{registry}/library/base:1") == first
    second = push(registry, "library/base", "1", "arm64")
    assert second != first
    assert images.digest(f"{registry}/library/base:1") == second


def test_a_tag_that_is_not_there_says_so(registry: str, buildx_in_path: None) -> None:
    with pytest.raises(CannotCheckError, match="not found"):
        images.digest(f"{registry}/library/base:1")


def test_a_registry_that_is_not_there_says_so(buildx_in_path: None) -> None:
    with pytest.raises(CannotCheckError, match="connection refused"):
        images.digest("127.0.0.1:9/library/base:1")
