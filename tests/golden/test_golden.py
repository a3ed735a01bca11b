"""What bake resolves for each manifest and each tuple of env/ is frozen beside this file: a change shows in review."""

import difflib
import json
from pathlib import Path

import pytest

from atomstack.lock.pins import env_file

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
TUPLES = {
    **{path.stem: {"MANIFEST": path.stem} for path in sorted((REPOSITORY / "manifests").glob("*.yml"))},
    **{path.stem: env_file(path) for path in sorted((REPOSITORY / "env").glob("*.env"))},
}


@pytest.mark.parametrize("name", TUPLES)
def test_resolved_output_is_the_frozen_one(name: str, bake, request: pytest.FixtureRequest) -> None:
    resolved = json.dumps(bake.print("all", env=TUPLES[name]), indent=2, sort_keys=True) + "\n"
    frozen = HERE / f"{name}.json"
    if request.config.getoption("--update"):
        frozen.write_text(resolved)
        return
    assert frozen.exists(), f"{name} has no golden file; mend it with: make golden"
    difference = list(
        difflib.unified_diff(frozen.read_text().splitlines(), resolved.splitlines(), "frozen", "now", lineterm="", n=1)
    )
    assert not difference, "\n".join([*difference[:60], "if this is meant, mend it with: make golden"])


def test_no_golden_file_is_left_over() -> None:
    assert {path.stem for path in HERE.glob("*.json")} <= set(TUPLES), "remove it: its manifest or tuple is gone"


def test_no_path_of_a_machine_is_frozen() -> None:
    for path in HERE.glob("*.json"):
        assert str(REPOSITORY) not in path.read_text(), path.name
        assert str(Path.home()) + "/" not in path.read_text(), path.name
