"""What there is to lock, learnt from the bake file itself: no pin is written down a second time."""

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from atomstack.errors import CannotCheckError, UsageError
from atomstack.lock import override
from atomstack.lock.command import run

# Pins of a person's shell are not the checkout's: bake gets these variables of the environment and no others.
_ENVIRONMENT = ("PATH", "HOME", "TMPDIR", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_HOST", "BUILDX_CONFIG")


@dataclass(frozen=True, slots=True)
class Pins:
    """Every pin of every tuple of a checkout: (repository, ref) pairs, and images by tag."""

    sources: tuple[tuple[str, str], ...]
    images: tuple[str, ...]


def pins(root: Path) -> Pins:
    """The pins of the default tuple and of each env/*.env of the checkout at `root`.

    By convention a variable X_REPO with a value goes with X_REF, and X_IMAGE is an image; what names a digest
    itself or lives in the tree has nothing to lock.
    """
    sources, images = set(), set()
    for settings in [{}, *(env_file(path) for path in sorted((root / "env").glob("*.env")))]:
        values = variables(root, settings)
        for name, value in values.items():
            if name.endswith("_REPO") and value not in ("", "in-tree") and (ref := values.get(f"{name[:-5]}_REF")):
                sources.add((value, ref))
            elif name.endswith("_IMAGE") and value and "@" not in value:
                images.add(value)
    return Pins(tuple(sorted(sources)), tuple(sorted(images)))


def variables(root: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Name -> value of every variable of the bake file when the environment has `settings`."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ} | dict(settings)
    files = ["--file", "docker-bake.hcl", "--file", override.FILE]
    try:
        answer = run(
            ["docker", "buildx", "bake", *files, "--progress=quiet", "--list=type=variables,format=json"],
            seconds=60,
            cwd=root,
            env=environment,
        )
        return {v["name"]: v.get("value", "") for v in json.loads(answer)}
    except (CannotCheckError, ValueError, KeyError, TypeError) as error:
        raise CannotCheckError(
            f"docker buildx does not say what docker-bake.hcl pins: {error}. Where there is no buildx, `make "
            f"builder` brings one: scripts/builder.sh run .venv/bin/atomstack lock"
        ) from None


def env_file(path: Path) -> dict[str, str]:
    """The assignments of a file that people use as `set -a; . FILE`: NAME=VALUE lines and comments only."""
    settings = {}
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        words = shlex.split(value, comments=True)
        plain = re.fullmatch(r"[A-Z][A-Z0-9_]*", name) and not re.search(r"[$`\\]", value)
        if not (equals and plain and len(words) <= 1):
            raise UsageError(f"{path.parent.name}/{path.name}:{number}: expected NAME=VALUE, found {line!r}")
        settings[name] = words[0] if words else ""
    return settings
