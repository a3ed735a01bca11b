"""What runs again and what does not, what is refused and when: by BuildKit's own record of each build.

BuildKit fetches from a Git daemon on this machine's loopback, so the builder must share it (the docker driver does).
"""

import uuid
from pathlib import Path

from e2e.conftest import docker, in_image

# The gate and what it is built on: the machine it runs in, and the wheel it reads.
GATE = {"gate", "gate-report", "gate-tool", "base", "vllm-wheel"}


def mark(tree: Path) -> str:
    """Change the plugin to what it never was before, without changing what it does."""
    marker = uuid.uuid4().hex
    source = tree / "atom/__init__.py"
    source.write_text(source.read_text() + f"\nMARKER = {marker!r}\n")
    return marker


def skew(tree: Path) -> None:
    """Make the plugin one for vLLM 0.33.0, which has vllm.v1.core.kv_cache_planning; 0.32.0 has not."""
    (tree / "atom/planning.py").write_text(
        "from vllm.v1.core.kv_cache_planning import check_enough_kv_cache_memory, get_kv_cache_configs\n"
        "__all__ = ['check_enough_kv_cache_memory', 'get_kv_cache_configs']\n"
    )


def test_a_second_identical_build_executes_no_step(built):
    again = built.make("portable")
    assert again.ok, again.end
    assert again.executed == ()
    # The record is not empty: the steps are there, from the cache.
    assert {"gate", "base", "torch", "vllm", "atom", "atom-vllm"} <= {step.recipe for step in again.steps}


def test_a_change_in_atom_runs_the_gate_atom_and_atom_vllm_again(built, new_checkout):
    changed = new_checkout()
    mark(changed.path / "atom")
    done = changed.make("portable")
    assert done.ok, done.end
    assert done.recipes == {"gate", "atom", "atom-vllm"}


def test_a_branch_that_moves_is_picked_up_without_no_cache(built, atom_repository):
    pins = {"ATOM_REPO": atom_repository.url, "ATOM_REF": "main"}
    first = built.make("portable", **pins)
    assert first.ok, first.end

    marker = mark(atom_repository.tree)
    atom_repository.commit("Move the branch")
    moved = built.make("portable", **pins)
    assert moved.ok, moved.end
    assert moved.recipes == {"gate", "atom", "atom-vllm"}
    image = built.image(**pins)
    assert in_image(image, "python3 -c 'import atom; print(atom.MARKER)'").split()[-1] == marker

    still = built.make("portable", **pins)
    assert still.executed == ()


def test_a_pair_that_does_not_fit_is_refused_before_anything_expensive_starts(built, atom_repository):
    skew(atom_repository.tree)
    atom_repository.commit("Move to the next vLLM")
    pins = {"ATOM_REPO": atom_repository.url, "ATOM_REF": "main", "REGISTRY": "atomstack-e2e-skewed/"}
    done = built.make("portable", **pins)
    assert not done.ok

    # The symbols by name, and the file that wants them.
    assert "vllm.v1.core.kv_cache_planning" in done.log
    assert "check_enough_kv_cache_memory" in done.log
    assert "get_kv_cache_configs" in done.log
    assert "atom/planning.py" in done.log

    # No image.
    assert docker("images", "--quiet", "--filter", "reference=atomstack-e2e-skewed/*").split() == []

    # Nothing but the gate, what it reads, and copies of sources. Not even from the cache: everything is warm here, so a
    # step that does not wait for the gate would show, as cached.
    others = [step for step in done.steps if step.started and step.target not in GATE]
    assert [step for step in others if not step.instruction.startswith("COPY --from=atom-src ")] == []
    (failed,) = {step.recipe for step in done.steps if step.error}
    assert failed == "gate"


def test_the_gate_alone_gives_a_verdict_and_builds_no_image(built, new_checkout):
    changed = new_checkout()
    mark(changed.path / "atom")
    done = changed.make("gate", MANIFEST="portable", REGISTRY="atomstack-e2e-gate/")
    assert done.ok, done.end
    assert done.recipes == {"gate"}
    assert {step.target for step in done.steps} <= GATE
    assert "import sites" in done.log
    assert docker("images", "--quiet", "--filter=reference=atomstack-e2e-gate/*").split() == []
