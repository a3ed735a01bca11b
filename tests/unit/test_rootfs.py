"""scripts/rootfs.sh beside an mmdebstrap that makes a small tar: what it writes belongs together, whatever happens."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SCRIPT = REPOSITORY / "scripts/rootfs.sh"
# The tar is the last argument but for the sources; --include names the packages.
MMDEBSTRAP = """#!/bin/sh
set -eu
[ ! -e "$FAIL" ] || exit 1
for argument; do
    case $argument in
    */rootfs.tar) tar=$argument ;;
    --include=*) packages=${argument#--include=} ;;
    esac
done
mkdir -p "$tar.d/var/lib/dpkg"
for package in $packages; do printf 'Package: %s\\nVersion: 1\\n\\n' "$package"; done >"$tar.d/var/lib/dpkg/status"
tar -C "$tar.d" -cf "$tar" ./var/lib/dpkg/status
"""
NOTHING = "#!/bin/sh\n"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {"mmdebstrap": MMDEBSTRAP, "apt-get": NOTHING, "apt-config": NOTHING}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "FAIL": str(tmp_path / "fail")}


def make(out: Path, environment: dict[str, str], *packages: str) -> int:
    command = [SCRIPT, out, "bookworm", *packages]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode


def belongs_together(out: Path) -> bool:
    """The id is the SHA-256 over the suite, the script and the packages of the tar."""
    packages = (out / "rootfs.packages").read_text()
    status = subprocess.run(
        ["tar", "-xOf", out / "rootfs.tar", "./var/lib/dpkg/status"], capture_output=True, text=True, check=True
    ).stdout
    of_tar = sorted(
        line.removeprefix("Package: ") + "=1" for line in status.splitlines() if line.startswith("Package: ")
    )
    identity = hashlib.sha256(b"bookworm\n" + SCRIPT.read_bytes() + packages.encode()).hexdigest()
    return packages.split() == of_tar and (out / "rootfs.id").read_text().strip() == identity


def test_a_copy_that_shares_files_by_hard_links_is_left_alone(tmp_path: Path, environment: dict[str, str]) -> None:
    first, copy = tmp_path / "a b", tmp_path / "copy"
    assert make(first, environment, "python3") == 0
    shutil.copytree(first, copy, copy_function=os.link)
    assert make(copy, environment, "python3", "g++") == 0
    assert belongs_together(first)
    assert belongs_together(copy)
    assert (first / "rootfs.id").read_text() != (copy / "rootfs.id").read_text()
    assert make(copy, environment, "python3") == 0
    assert (first / "rootfs.id").read_text() == (copy / "rootfs.id").read_text()


def test_a_failure_leaves_what_was_there(tmp_path: Path, environment: dict[str, str]) -> None:
    out = tmp_path / "out"
    assert make(out, environment, "python3") == 0
    (tmp_path / "fail").touch()
    assert make(out, environment, "python3", "g++") == 3
    assert belongs_together(out)
    assert make(out, environment, "python3") == 0, "nothing to make, so nothing fails"
