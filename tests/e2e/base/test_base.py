"""What holds for every image that this repository builds for MANIFEST=portable, base included."""

import json
import os
import subprocess
import tarfile
from pathlib import Path

from e2e.conftest import REPOSITORY, docker, in_image


def mirrors() -> set[str]:
    """Where this machine gets Debian from, by its own apt configuration."""
    lines = subprocess.run(
        [REPOSITORY / "scripts/debian-sources.sh", "bookworm"], capture_output=True, text=True, check=True
    ).stdout
    return {word for word in lines.split() if "://" in word}


def annotations(image: str, folder: Path) -> dict[str, str]:
    """The annotations in the image manifest for linux/amd64, read from the layout that `docker save` writes."""
    docker("save", "--output", str(folder / "image.tar"), image)
    with tarfile.open(folder / "image.tar") as layout:

        def blob(digest: str) -> dict:
            return json.load(layout.extractfile(f"blobs/{digest.replace(':', '/')}"))

        index = blob(json.load(layout.extractfile("index.json"))["manifests"][0]["digest"])
        (manifest,) = [m["digest"] for m in index["manifests"] if m["platform"]["architecture"] == "amd64"]
        found = blob(manifest).get("annotations", {})
    (folder / "image.tar").unlink()
    return found


class TestBase:
    """The base image; the classes of the images that stand on it inherit these tests."""

    target = "base"

    def test_labels_are_those_that_bake_resolved(self, images, inspected):
        assert inspected["Config"]["Labels"] == images.plan(self.target)[self.target]["labels"]

    def test_annotations_say_what_the_labels_say(self, images, image, tmp_path):
        labels = images.plan(self.target)[self.target]["labels"]
        assert annotations(image, tmp_path) == {key: value for key, value in labels.items() if value}

    def test_apt_knows_no_mirror_of_the_machine_that_built_it(self, image):
        known = in_image(image, "cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null; true")
        assert not [line for line in known.splitlines() if line and not line.startswith("#")]
        found = in_image(image, "cat /etc/apt/*.conf /etc/apt/*/* /var/lib/apt/lists/* 2>/dev/null; true")
        assert not [mirror for mirror in mirrors() if mirror in found]

    def test_the_trusted_authorities_are_debians_own(self, image):
        """/etc/ca-certificates.conf lists Debian's; whatever else stands in the bundle came from somewhere else."""
        counts = in_image(
            image,
            "grep -c '^[^!#]' /etc/ca-certificates.conf;"
            "grep -c 'BEGIN CERTIFICATE' /etc/ssl/certs/ca-certificates.crt;"
            "find /usr/local/share/ca-certificates /run/secrets -type f 2>/dev/null | wc -l",
        ).split()
        assert counts[0] == counts[1] != "0"
        assert counts[2] == "0"

    def test_no_pip_configuration_and_no_cache_is_left(self, image):
        """As root, for a cache may lie where the image's user does not see it."""
        left = docker(
            *("run", "--rm", "--network=none", "--user=0", "--entrypoint=sh", image, "-c"),
            "find /root/.cache /home/*/.cache /etc/pip.conf /root/.config /root/.pip /opt/venv/pip.conf /etc/xdg/pip"
            " /var/cache/apt/archives /var/lib/apt/lists /var/log -type f 2>/dev/null; true",
        )
        assert left.split() == []

    def test_the_history_holds_no_secret_and_no_path_of_this_machine(self, image):
        history = docker("history", "--no-trunc", "--format", "{{.CreatedBy}}", image)
        assert history.strip()
        # What bake.sh hands over as secrets, what else a build may pick up from its surroundings, and this checkout.
        names = ("PIP_CERT", "SSL_CERT_FILE", "PIP_INDEX_URL", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        told = [*(os.environ.get(name) for name in names), *mirrors(), str(REPOSITORY)]
        assert not [value for value in told if value and value in history]
        assert "BEGIN CERTIFICATE" not in history

    def test_nothing_of_the_tool_is_left_behind(self, image):
        found = in_image(
            image, "find / -xdev \\( -name 'atomstack*.pyz' -o -path '*/site-packages/atomstack*' \\) 2>/dev/null; true"
        )
        assert found.split() == []
