"""What tests of more than one folder share."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parent.parent
# A pin in the shell of who runs the tests is not the checkout's.
ENVIRONMENT = {
    name: os.environ[name]
    for name in ("PATH", "HOME", "TMPDIR", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_HOST", "BUILDX_CONFIG")
    if name in os.environ
}


@dataclass(frozen=True)
class Bake:
    """`docker buildx bake` on this checkout, asked to resolve and never to build. It takes no daemon."""

    command: Sequence[str]
    committed: Path
    answers: dict[Any, str] = field(default_factory=dict)

    def run(
        self, *arguments: str, env: Mapping[str, str] = {}, override: Path | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """bake with the pins in `env`; `override` stands in for docker-bake.override.json."""
        files = ["--file", "docker-bake.hcl", "--file", str(override or self.committed)]
        return subprocess.run(
            [*self.command, "bake", "--progress=quiet", *files, *arguments],
            cwd=REPOSITORY,
            env=ENVIRONMENT | dict(env),
            capture_output=True,
            text=True,
            check=False,
        )

    def print(
        self, *targets: str, env: Mapping[str, str] = {}, override: Path | None = None
    ) -> dict[str, dict[str, Any]]:
        """What bake would build: {"group": …, "target": …}; of the committed lock asked for once a session."""
        question = (targets, frozenset(env.items()))
        if override is not None or question not in self.answers:
            done = self.run("--print", *targets, env=env, override=override)
            assert done.returncode == 0, done.stderr
            if override is not None:
                return json.loads(done.stdout)
            self.answers[question] = done.stdout
        return json.loads(self.answers[question])

    def refusal(self, *targets: str, env: Mapping[str, str] = {}, override: Path | None = None) -> str:
        """The line in which bake says why it refuses."""
        done = self.run("--print", *targets, env=env, override=override)
        assert done.returncode != 0, f"bake resolved {targets} with {env}"
        return next(line for line in done.stderr.splitlines() if line.startswith("ERROR:"))


@pytest.fixture(scope="session")
def bake(tmp_path_factory: pytest.TempPathFactory) -> Bake:
    """buildx where Docker has it, else the one that scripts/builder.sh brings.

    One session sees one docker-bake.override.json, though a build beside it may refresh the file.
    """
    committed = tmp_path_factory.mktemp("bake") / "docker-bake.override.json"
    committed.write_bytes((REPOSITORY / committed.name).read_bytes())
    buildx = ["docker", "buildx"]
    try:
        subprocess.run([*buildx, "version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        buildx = ["scripts/builder.sh", "run", *buildx]
    return Bake(buildx, committed)


@pytest.fixture
def buildx_in_path(bake: Bake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`docker buildx` works for what the test calls; where Docker has none, by way of scripts/builder.sh."""
    if bake.command[0] == "docker":
        return
    bridge = tmp_path / "bin/docker"
    bridge.parent.mkdir()
    bridge.write_text(
        f'#!/bin/sh\nPATH="{os.environ["PATH"]}" exec "{REPOSITORY}/scripts/builder.sh" run docker "$@"\n'
    )
    bridge.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bridge.parent}:{os.environ['PATH']}")
