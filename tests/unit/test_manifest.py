"""Manifests: the shipped fleets are right, and every mistake is one line with file, line and what was expected."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from atomstack.cli import main
from atomstack.errors import UsageError
from atomstack.manifest import load, load_all, names, render

REPOSITORY = Path(__file__).parents[2]
SNOC = (REPOSITORY / "manifests/snoc.yml").read_text()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout that has manifests and nothing else, and is the current folder."""
    shutil.copytree(REPOSITORY / "manifests", tmp_path / "manifests")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mistake(checkout: Path, content: str | bytes) -> str:
    """What is said of a manifest of this content, named own.yml."""
    file = checkout / "manifests/own.yml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError) as caught:
        load(checkout, "own")
    assert caught.value.exit_code == 2
    return str(caught.value)


# --- the shipped ones


def test_the_fleets_are_those_of_their_cards() -> None:
    """MI300 is gfx942, MI350 gfx950; Strix Halo is gfx1151, Radeon RX 9070 gfx1201 (ROCm's system requirements)."""
    fleets = {manifest.name: manifest for manifest in load_all(REPOSITORY)}
    assert fleets["instinct"].gfx == ("gfx942", "gfx950")
    assert fleets["snoc"].gfx == ("gfx1151", "gfx1201")
    assert fleets["portable"].gfx == ()


def test_the_plugin_is_forbidden_where_atom_has_no_kernels() -> None:
    """ATOM's kernels need gfx942, gfx950 or gfx1250."""
    with_kernels = {"gfx942", "gfx950", "gfx1250"}
    for manifest in load_all(REPOSITORY):
        assert (manifest.plugin == "allowed") == with_kernels.issuperset(manifest.gfx), manifest.name


def test_every_manifest_names_its_schema_for_editors() -> None:
    for name in names(REPOSITORY):
        first = (REPOSITORY / f"manifests/{name}.yml").read_text().splitlines()[0]
        assert first == "# yaml-language-server: $schema=schema.json"


def test_the_schema_is_a_schema_and_describes_every_key() -> None:
    schema = json.loads((REPOSITORY / "manifests/schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    described = [*schema["properties"].items(), *schema["properties"]["rootfs"]["properties"].items()]
    for key, value in described:
        assert value.get("description"), key


def test_another_validator_agrees(checkout: Path) -> None:
    """An editor judges by the same file without our code."""
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", "manifests/schema.json"]
    files = [f"manifests/{name}.yml" for name in names(checkout)]
    assert subprocess.run([*command, *files], check=False, capture_output=True).returncode == 0
    (checkout / "manifests/own.yml").write_text(SNOC.replace("gfx1201", "gfx1202"))
    assert subprocess.run([*command, "manifests/own.yml"], check=False, capture_output=True).returncode == 1


def test_the_known_gfx_targets_are_processors_of_llvm() -> None:
    """AMDGPUUsage's table of processors; a generic target or a feature suffix is not a card."""
    targets = json.loads((REPOSITORY / "manifests/gfx-targets.json").read_text())["enum"]
    assert {"gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201", "gfx1250"} <= set(targets)
    assert not {"gfx940", "gfx941"} & set(targets), "LLVM removed them before 20"
    assert not [target for target in targets if not target.removeprefix("gfx").isalnum()]


# --- mistakes

MISTAKES = [
    ("gfx1201]", "gfx12011]", ":5:", ["gfx[1]", "did you mean 'gfx1201'", "gfx-targets.json"]),
    ("gfx1201]", "GFX1201]", ":5:", ["did you mean 'gfx1201'"]),
    ("gfx1201]", "gfx11-generic]", ":5:", ["is not a gfx target"]),
    ("gfx1201]", "1201]", ":5:", ["is not a gfx target"]),
    ("[gfx1151, gfx1201]", "[gfx1151, gfx1151]", ":5:", ["listed twice"]),
    ("[gfx1151, gfx1201]", "\n  - gfx1151\n  - gfx9999", ":7:", ["gfx[1]"]),
    ("[gfx1151, gfx1201]", "gfx1151", ":5:", ["gfx: expected a list, found a string"]),
    ("[gfx1151, gfx1201]", "[]", ":5:", ["at least one gfx target"]),
    ("[gfx1151, gfx1201]", "", ":5:", ["gfx: expected a list, found nothing"]),
    ("flavour: rocm", "flavor: rocm", ":4:", ["unknown key 'flavor'", "did you mean 'flavour'"]),
    ("flavour: rocm", "flavour: cuda", ":4:", ["rocm, portable"]),
    (
        "aiter: {ship: true}",
        "aiter: true",
        ":7:",
        ["components.aiter: expected a mapping, found true or false"],
    ),
    (
        "aiter: {ship: true}",
        "aiter: {ship: yes}",
        ":7:",
        ["components.aiter.ship: expected true or false, found a string"],
    ),
    ("  cupy: {ship: true}\n", "", ":6:", ["components: missing: cupy"]),
    ("plugin: forbidden", "plugin: off", ":11:", ["allowed, forbidden"]),
    ("schema: 1", "schema: 2", ":2:", ["schema: expected 1, found 2"]),
    (
        "description: ",
        "description: AMD\ngfx: [gfx942]\nx: ",
        ":7:",
        ["the key 'gfx' stands here a second time"],
    ),
    ("toolchain: [gcc, g++]", "toolchain: [gcc, g++", ":15:", ["not YAML"]),
    ("toolchain: [gcc, g++]", "toolchain: [GCC]", ":14:", ["Name of a Debian or Ubuntu package"]),
    (
        "toolchain: [gcc, g++]",
        "toolchain: [gcc]\nrootfs: {suite: sid, packages: []}",
        ":15:",
        ["only a portable manifest"],
    ),
    ("schema: 1", "\tschema: 1", ":2:", ["not YAML"]),
]


@pytest.mark.parametrize(("old", "new", "line", "said"), MISTAKES, ids=[m[1][:40].strip() or "gone" for m in MISTAKES])
def test_a_mistake_is_one_line_with_its_place(checkout: Path, old: str, new: str, line: str, said: list[str]) -> None:
    assert old in SNOC
    message = mistake(checkout, SNOC.replace(old, new, 1))
    assert message.startswith(f"manifests/own.yml{line} "), message
    assert len(message.splitlines()) == 1, message
    for words in said:
        assert words in message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("- a\n", "expected a mapping, found a list"),
        ("hello", "expected a mapping, found a string"),
        (b"a: \xff\n", "not UTF-8"),
        (b"a: b\n\x00", ":2: not YAML"),
        ("a: " + "[" * 3000 + "]" * 3000, "nested too deeply"),
        ("a: &x [*x]\n", "unknown key 'a'"),
        ("a: *nobody\n", "undefined alias"),
        (SNOC + "---\n" + SNOC, "another document"),
    ],
)
def test_a_file_that_is_no_manifest_is_said_to_be_none(checkout: Path, content: str | bytes, said: str) -> None:
    assert said in mistake(checkout, content)


def test_nothing_in_a_manifest_is_executed(checkout: Path) -> None:
    assert "own.yml:" in mistake(checkout, "schema: !!python/object/apply:os.system ['touch executed']\n")
    assert not (checkout / "executed").exists()


def test_portable_ships_nothing_that_needs_a_gpu(checkout: Path) -> None:
    portable = (checkout / "manifests/portable.yml").read_text()
    assert "gfx: must be empty" in mistake(checkout, portable.replace("gfx: []", "gfx: [gfx942]"))
    said = mistake(checkout, portable.replace("aiter: {ship: false}", "aiter: {ship: true}"))
    assert "components.aiter.ship: expected false" in said
    assert "missing: rootfs" in mistake(checkout, portable[: portable.index("rootfs:")])


def test_the_mistakes_of_every_file_are_told_at_once(checkout: Path) -> None:
    for name in ("instinct", "snoc"):
        file = checkout / f"manifests/{name}.yml"
        file.write_text(file.read_text().replace("flavour: rocm", "flavour: rock"))
    with pytest.raises(UsageError, match=r"instinct\.yml:4: .*\n.*snoc\.yml:4: "):
        load_all(checkout)


def test_an_unknown_manifest_lists_the_known_ones(checkout: Path) -> None:
    with pytest.raises(UsageError, match=r"did you mean 'snoc'\?; there are: instinct, portable, snoc"):
        load(checkout, "snok")


def test_another_ending_is_refused_and_not_overlooked(checkout: Path) -> None:
    (checkout / "manifests/mine.yaml").write_text(SNOC)
    with pytest.raises(UsageError, match=r"rename it to mine\.yml"):
        load_all(checkout)


@pytest.mark.parametrize("name", ["my fleet", "-x", "MI300", "a.b", "a" * 42, "é"])
def test_a_name_that_no_image_tag_can_have_is_refused(checkout: Path, name: str) -> None:
    (checkout / f"manifests/{name}.yml").write_text(SNOC)
    with pytest.raises(UsageError, match=rf"manifests/{name}\.yml: its name is part of image tags"):
        load_all(checkout)


def test_a_path_is_no_name(checkout: Path) -> None:
    (checkout / "outside.yml").write_text(SNOC)
    with pytest.raises(UsageError, match=r"no manifest '\.\./outside'"):
        load(checkout, "../outside")


# --- the commands


def test_check_says_what_is_valid(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest", "check"]) == 0
    assert capsys.readouterr().out.count(": valid") == 3
    assert main(["manifest", "check", "snoc"]) == 0
    assert "gfx1151, gfx1201" in capsys.readouterr().out
    assert main(["manifest", "check", "snok"]) == 2


def test_render_writes_and_its_twin_notices(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest", "render", "--check"]) == 1
    assert "mend it with: atomstack manifest render" in capsys.readouterr().err
    assert main(["manifest", "render"]) == 0
    assert main(["manifest", "render", "--check"]) == 0
    written = (checkout / "docker-bake.override.json").read_bytes()
    assert json.loads(written)["variable"]["ATOMSTACK_MANIFESTS"]["default"] == render(load_all(checkout))
    assert main(["manifest", "render"]) == 0
    assert (checkout / "docker-bake.override.json").read_bytes() == written
    snoc = checkout / "manifests/snoc.yml"
    snoc.write_text(snoc.read_text() + "# a comment\n")
    assert main(["manifest", "render", "--check"]) == 1


def test_render_refuses_an_invalid_manifest_and_writes_nothing(checkout: Path) -> None:
    (checkout / "manifests/own.yml").write_text("schema: 1\n")
    assert main(["manifest", "render"]) == 2
    assert not (checkout / "docker-bake.override.json").exists()


def test_render_leaves_the_lock_alone(checkout: Path) -> None:
    file = checkout / "docker-bake.override.json"
    lock = {"default": {"schema": 1, "sources": {"x#y": {"commit": "0" * 40}}}}
    file.write_text(json.dumps({"variable": {"ATOMSTACK_LOCK": lock}}))
    assert main(["manifest", "render"]) == 0
    assert json.loads(file.read_text())["variable"]["ATOMSTACK_LOCK"] == lock


def test_show_prints_a_field_a_line_per_item(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest", "show", "snoc", "--field", "gfx"]) == 0
    assert capsys.readouterr().out == "gfx1151\ngfx1201\n"
    assert main(["manifest", "show", "portable", "--field", "rootfs.suite"]) == 0
    assert capsys.readouterr().out == "bookworm\n"
    assert main(["manifest", "show", "snoc"]) == 0
    assert json.loads(capsys.readouterr().out)["plugin"] == "forbidden"
    assert main(["manifest", "show", "snoc", "--field", "rootfs.suite"]) == 2
    assert main(["manifest", "show", "snoc", "--field", "colour"]) == 2
    assert "it has: " in capsys.readouterr().err
