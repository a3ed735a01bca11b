"""The command line of compat-check: exit codes, --package, --fail-on, --json, and what is said when nothing was checked."""

import json
from pathlib import Path

import pytest
from compat_pairs import write

from atomstack.cli import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(
        tmp_path,
        {
            "c/plug/__init__.py": "from host import m\n",
            "c/plug/silent.py": "from host import m\nif hasattr(m, 'gone'):\n    m.gone = len\n",
            "c/broken/__init__.py": "from host.m import gone\n",
            "c/idle/__init__.py": "",
            "c/typed/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import host\n",
            "clean/good/__init__.py": "import host.m\n",
            "h/host/__init__.py": "__version__ = '1.2'\n",
            "h/host/m.py": "x = 1\n",
            "h/other/__init__.py": "",
        },
    )
    return tmp_path


def run(folder: Path, *arguments: str) -> int:
    return main(["compat-check", *(a.replace("@", str(folder)) for a in arguments)])


def test_exit_codes(folder: Path) -> None:
    assert run(folder, "@/clean/good", "--against", "@/h/host") == 0
    assert run(folder, "@/c/broken", "--against", "@/h/host") == 1
    assert run(folder, "@/c", "--against", "@/h/host") == 2  # which of four packages?
    assert run(folder, "@/nowhere", "--against", "@/h/host") == 3
    assert run(folder, "@/c/plug", "--against", "@/nowhere") == 3


@pytest.mark.parametrize("package", ["idle", "typed"])
def test_nothing_to_check_is_said_and_is_not_a_pass(
    folder: Path, package: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, f"@/c/{package}", "--against", "@/h/host") == 3
    assert f"no import of host in package {package}" in capsys.readouterr().err


def test_package_names_the_consumers(folder: Path) -> None:
    assert run(folder, "@/c", "--package", "broken", "--against", "@/h/host") == 1


def test_package_may_name_the_hosts(folder: Path) -> None:
    assert run(folder, "@/clean/good", "--package", "host", "--against", "@/h") == 0


def test_a_package_that_neither_has(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "@/c", "--package", "zz", "--against", "@/h/host") == 2
    assert "no package zz there; it holds broken, idle, plug, typed" in capsys.readouterr().err


@pytest.mark.parametrize(("fail_on", "status"), [("error", 1), ("silent", 1), ("info", 1)])
def test_silent_is_worst(folder: Path, fail_on: str, status: int) -> None:
    assert run(folder, "@/c/plug", "--against", "@/h/host", "--fail-on", fail_on) == status


@pytest.mark.parametrize(("fail_on", "status"), [("error", 1), ("silent", 0), ("info", 1)])
def test_an_error_does_not_fail_on_silent(folder: Path, fail_on: str, status: int) -> None:
    assert run(folder, "@/c/broken", "--against", "@/h/host", "--fail-on", fail_on) == status


def test_json_to_a_file_beside_the_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "@/c/broken", "--against", "@/h/host", "--json", "@/out.json") == 1
    document = json.loads((folder / "out.json").read_text())
    assert document["verdict"] == "fails"
    assert document["inputs"]["host"]["version"] == "1.2"
    assert document["inputs"]["host"]["content_hash"].startswith("sha256:")
    assert capsys.readouterr().out.startswith("compat-check: broken")


def test_json_on_standard_output_is_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, "@/clean/good", "--against", "@/h/host", "--format", "json")
    assert json.loads(capsys.readouterr().out)["verdict"] == "holds"


def test_a_check_that_could_not_be_made_leaves_no_earlier_result(folder: Path) -> None:
    (folder / "out.json").write_text("{}")
    assert run(folder, "@/nowhere", "--against", "@/h/host", "--json", "@/out.json") == 3
    assert not (folder / "out.json").exists()


def test_a_result_that_cannot_be_written_is_a_wrong_use(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "@/clean/good", "--against", "@/h/host", "--json", "@/none/out.json") == 2
    assert "No such file or directory" in capsys.readouterr().err


def test_no_colour_where_it_is_not_a_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(folder, "@/c/broken", "--against", "@/h/host")
    assert "\033" not in capsys.readouterr().out
