"""A kept result: the same to the letter, and not taken once anything that it came from is another."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from compat_pairs import write

from atomstack.cli import main
from atomstack.compat_check import remember
from atomstack.report import FORMATS

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("ATOMSTACK_CACHE", str(tmp_path / "cache"))
    write(
        tmp_path,
        {
            "c/pyproject.toml": "[project]\nname = 'plug'\nversion = '3'\ndependencies = ['host==1.1']\n",
            "c/plug/__init__.py": "from host import m\nif hasattr(m, 'gone'):\n    m.gone = len\nfrom host.m import x, y\n",
            "h/host/__init__.py": "__version__ = '1.2'\n",
            "h/host/m.py": "x = 1\n",
        },
    )

    def once(*arguments: str) -> tuple[int, str, str]:
        status = main(["compat-check", str(tmp_path / "c"), "--against", str(tmp_path / "h/host"), *arguments])
        return status, *capsys.readouterr()

    return once


def entries(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache/results").glob("*"))


def never(*_: object) -> None:
    raise AssertionError("checked anew")


@pytest.mark.parametrize("form", FORMATS)
def test_says_the_same_without_checking(run: Run, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("--format", form)
    assert first[0] == 1
    monkeypatch.setattr(remember, "check_anew", never)
    assert run("--format", form) == first
    assert run("--format", form, "--fail-on", "silent")[0] == 1


def test_no_cache_neither_takes_nor_keeps(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("--no-cache")
    assert not entries(tmp_path)
    run()
    monkeypatch.setattr(remember, "check_anew", never)
    assert run("--no-cache")[0] == 3


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("h/host/m.py", "y = 1\n"),
        ("c/plug/__init__.py", "from host import m\n"),
        ("c/plug/more.py", ""),
        ("h/host/gone.so", ""),
        ("h/host/m.pyi", "x: int\n"),
        ("c/pyproject.toml", "[project]\nname = 'plug'\nversion = '3'\ndependencies = ['host==1.2']\n"),
        ("c/vllm-version.env", "HOST_VERSION=1.2\n"),
    ],
)
def test_a_change_of_anything_is_noticed(run: Run, tmp_path: Path, file: str, content: str) -> None:
    """Though the file keeps its size and its time: contents are compared."""
    path = tmp_path / file
    before = path.stat() if path.exists() else None
    run()
    path.write_text(content)
    if before:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    run()
    assert len(entries(tmp_path)) == 2


def test_a_table_that_the_settings_name_is_part_of_it(run: Run, tmp_path: Path) -> None:
    project = tmp_path / "c/pyproject.toml"
    project.write_text("[tool.compat-check]\nrelocations = 'where.json'\n")
    table = tmp_path / "c/where.json"
    table.write_text("{}")
    assert run()[0] == 2  # not a table
    table.unlink()
    assert run()[0] == 2
    assert not entries(tmp_path)


def test_another_program_starts_anew(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr(remember, "_program", lambda: b"another")
    run()
    assert len(entries(tmp_path)) == 2
    monkeypatch.setattr(remember, "_program", lambda: None)  # as inside a zipapp
    run()
    assert len(entries(tmp_path)) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:-1],
        lambda whole: whole.replace(b"host.m:y", b"host.m:z"),
        lambda whole: b"\x80\x04" + whole,
        lambda whole: b"%b\n[]" % b"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945",  # sha256 of []
    ],
)
def test_a_damaged_entry_is_none(run: Run, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    expected = run("--format", "github")
    (entry,) = entries(tmp_path)
    entry.write_bytes(damage(entry.read_bytes()))
    assert run("--format", "github") == expected


def test_only_so_many_are_kept(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remember, "_MOST", 2)
    for number in range(4):
        (tmp_path / "h/host/m.py").write_text(f"x = {number}\n")
        run()
    assert len(entries(tmp_path)) == 2


def test_a_folder_that_cannot_be_written_is_no_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert run()[0] == 1
