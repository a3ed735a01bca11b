"""What a consumer declares: version files, requirements, and the table [tool.compat-check] of its pyproject.toml."""

import contextlib
import json
import zipfile
from pathlib import Path

import pytest
from compat_pairs import write
from hypothesis import given, settings
from hypothesis import strategies as st

from atomstack.cli import main
from atomstack.compat_check import check
from atomstack.compat_check.declared import Declaration, distance, parse
from atomstack.errors import UsageError
from atomstack.findings import Result, Severity
from atomstack.sources import open_source


def checked(folder: Path, files: dict[str, str], *, version: str = "0.33.0", git: bool = True, at: str = "c") -> Result:
    """A checkout `c` with package `plug`, which imports what is there and what is gone, against `host`."""
    if git:
        (folder / "c" / ".git").mkdir(parents=True)
    write(
        folder / "c", {"plug/__init__.py": "from host import m\n", "plug/use.py": "from host.m import gone\n", **files}
    )
    write(folder / "h", {"host/__init__.py": f"__version__ = '{version}'\n", "host/m.py": ""})
    return check(open_source(str(folder / at), package="plug"), open_source(str(folder / "h" / "host")))


# --- how far


@pytest.mark.parametrize(
    ("declared", "given_", "words"),
    [
        ("0.31.0", "0.33.0", "2 minor releases ahead"),
        ("0.33.0", "0.32.1", "1 minor release behind"),
        ("0.33.0", "0.33.2", "2 patch releases ahead"),
        ("0.33", "0.33.0", "the same release"),
        ("1.2.0", "3.0.0", "2 major releases ahead"),
        ("0.33.0", "0.33.0rc1", "another build of the same release, behind"),
        ("0.33.0", "0.33.0+cpu", "another build of the same release, ahead"),
        ("main", "0.33.0", ""),
    ],
)
def test_distance(declared: str, given_: str, words: str) -> None:
    assert distance(Declaration("vllm", "f", 1, declared), given_) == words


def test_a_range_is_allowed_or_not_and_has_no_distance() -> None:
    lower = Declaration("vllm", "f", 1, specifier=">=0.20")
    assert distance(lower, "0.33.0") == "which that allows"
    assert distance(Declaration("vllm", "f", 1, specifier=">=0.20,<0.30"), "0.33.0") == "which that does not allow"
    assert distance(lower, None) == ""


# --- where it is declared


def test_a_version_file_in_the_package_as_upstream_atom_has_it(tmp_path: Path) -> None:
    env = "HOST_COMMIT=6e448d0ea9bf3d88d898b65449ca6dc2aec170ac\nHOST_VERSION=0.31.0\n"
    found = checked(tmp_path, {"plug/plugin/vllm/host-version.env": env})
    assert found.headline == (
        "plug declares host 0.31.0, commit 6e448d0ea9bf (plug/plugin/vllm/host-version.env:2); "
        "checked against 0.33.0: 2 minor releases ahead"
    )


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("HOST_VERSION=0.31.0", "0.31.0"),
        ("export HOST_VERSION='v0.31.0'  # the newest that works", "0.31.0"),
        ("# HOST_VERSION=0.31.0", None),
        ("OTHER_HOST_VERSION=0.31.0", None),
        ("HOST_VERSION=$(cat version)", None),
    ],
)
def test_lines_of_a_version_file(tmp_path: Path, line: str, version: str | None) -> None:
    found = checked(tmp_path, {"docker/VERSION.env": f"{line}\n"})
    assert [d["version"] for d in found.details["declared"]] == ([version] if version else [])


def test_other_env_files_are_left_alone(tmp_path: Path) -> None:
    found = checked(tmp_path, {"secrets.env": "HOST_VERSION=0.31.0\n", ".cache/x-version.env": "HOST_VERSION=1\n"})
    assert found.details["declared"] == []
    assert found.headline == ""


def test_requirements_of_a_checkout_extras_included(tmp_path: Path) -> None:
    project = """\
        [project]
        name = "plug"
        dependencies = ["numpy", "hostess==1.0"]
        [project.optional-dependencies]
        host = ["host>=0.31,<0.33"]
        any = ["host"]
        """
    found = checked(tmp_path, {"pyproject.toml": project})
    assert found.headline == (
        "plug declares host <0.33,>=0.31 (pyproject.toml:5); checked against 0.33.0: which that does not allow"
    )


def test_requires_dist_of_a_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "plug-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("plug/__init__.py", "import host\n")
        archive.writestr(
            "plug-1.0.dist-info/METADATA", "Name: plug\nVersion: 1.0\nRequires-Dist: host==0.31.0; extra == 'h'\n\n"
        )
    write(tmp_path, {"h/host/__init__.py": "__version__ = '0.31.0'\n"})
    found = check(open_source(str(wheel)), open_source(str(tmp_path / "h/host")))
    assert found.headline == (
        "plug declares host 0.31.0 (plug-1.0.dist-info/METADATA:3); checked against 0.31.0: the same release"
    )


def test_the_table_says_it_first(tmp_path: Path) -> None:
    project = '[tool.compat-check]\ntarget = ["other==3.0", "host==0.32.0"]\n'
    found = checked(tmp_path, {"pyproject.toml": project, "host-version.env": "HOST_VERSION=0.31.0\n"})
    assert [(d["version"], d["file"], d["line"]) for d in found.details["declared"]] == [
        ("0.32.0", "pyproject.toml", 2),
        ("0.31.0", "host-version.env", 1),
    ]


def test_the_distance_is_the_first_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checked(tmp_path, {"host-version.env": "HOST_VERSION=0.31.0\n"})
    main(["compat-check", str(tmp_path / "c"), "--against", str(tmp_path / "h" / "host")])
    assert capsys.readouterr().out.splitlines()[0].startswith("plug declares host 0.31.0 (host-version.env:1); checked")


# --- paths


@pytest.mark.parametrize(("at", "files"), [("c", {}), ("c/plug", {})])
def test_paths_are_those_of_the_checkout(tmp_path: Path, at: str, files: dict[str, str]) -> None:
    [finding] = checked(tmp_path, files, at=at).findings
    assert finding.file == "plug/use.py"


def test_a_package_deep_in_a_checkout(tmp_path: Path) -> None:
    (tmp_path / "r" / ".git").mkdir(parents=True)
    write(tmp_path / "r", {"plugins/x/src/plug/__init__.py": "from host import gone\n"})
    write(
        tmp_path / "r", {"x-version.env": "HOST_VERSION=1.0\n", "plugins/x/pyproject.toml": "[project]\nname='plug'\n"}
    )
    write(tmp_path, {"h/host/__init__.py": "__version__ = '1.0'\n"})
    for named in ("r/plugins/x", "r/plugins/x/src/plug", "r/plugins/x/src"):
        found = check(open_source(str(tmp_path / named)), open_source(str(tmp_path / "h/host")))
        [finding] = found.findings
        assert finding.file == "plug/__init__.py"
        assert found.path(finding) == "plugins/x/src/plug/__init__.py"
        assert [d["file"] for d in found.details["declared"]] == ["x-version.env"]


def test_outside_of_a_checkout_paths_are_those_of_the_folder_named(tmp_path: Path) -> None:
    write(tmp_path, {"r/src/plug/__init__.py": "from host import gone\n", "h/host/__init__.py": ""})
    for named, path in (("r", "src/plug/__init__.py"), ("r/src/plug", "plug/__init__.py")):
        found = check(open_source(str(tmp_path / named)), open_source(str(tmp_path / "h/host")))
        assert [found.path(finding) for finding in found.findings] == [path]


# --- accepted

ACCEPT = """\
    [tool.compat-check]
    fail-on = "silent"
    [[tool.compat-check.accept]]
    code = "unresolved-import"
    symbol = "host.m:{symbol}"
    reason = "only for old hosts"
    """


def test_an_accepted_finding_is_shown_with_its_reason_and_does_not_fail(tmp_path: Path) -> None:
    found = checked(tmp_path, {"pyproject.toml": ACCEPT.format(symbol="gone")})
    [finding] = found.findings
    assert finding.accepted == "only for old hosts"
    assert found.failing(Severity.INFO) == ()


def test_an_entry_that_meets_nothing_is_said(tmp_path: Path) -> None:
    found = checked(tmp_path, {"pyproject.toml": ACCEPT.format(symbol="other")})
    error, unused = found.findings
    assert (error.code, error.accepted) == ("unresolved-import", None)
    assert (unused.code, unused.severity, unused.file, unused.line) == (
        "unused-acceptance",
        "info",
        "pyproject.toml",
        4,
    )


@pytest.mark.parametrize(("file", "met"), [("plug/use.py", True), ("plug/__init__.py", False), ("use.py", False)])
def test_an_entry_may_name_the_file(tmp_path: Path, file: str, met: bool) -> None:
    table = f'[tool.compat-check]\naccept = [\n  {{code = "unresolved-import", file = "{file}", reason = "r"}},\n]\n'
    found = checked(tmp_path, {"pyproject.toml": table})
    assert (found.findings[0].accepted == "r") is met
    assert [f.line for f in found.findings if f.code == "unused-acceptance"] == ([] if met else [3])


def test_what_an_archive_accepts_is_not_taken_over(tmp_path: Path) -> None:
    archive = tmp_path / "plug-1.0.zip"
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("plug-1.0/plug/__init__.py", "from host.m import gone\n")
        members.writestr(
            "plug-1.0/pyproject.toml", "\n".join(map(str.strip, ACCEPT.format(symbol="gone").splitlines()))
        )
    write(tmp_path, {"h/host/__init__.py": "", "h/host/m.py": ""})
    [finding] = check(open_source(str(archive)), open_source(str(tmp_path / "h/host"))).findings
    assert finding.accepted is None


# --- the table


def test_its_package_and_fail_on_are_taken_where_the_command_line_says_nothing(tmp_path: Path) -> None:
    table = '[tool.compat-check]\npackage = "plug"\nfail-on = "silent"\n'
    checked(tmp_path, {"pyproject.toml": table, "other/__init__.py": ""})
    sides = [str(tmp_path / "c"), "--against", str(tmp_path / "h" / "host")]
    assert main(["compat-check", *sides]) == 0
    assert main(["compat-check", *sides, "--fail-on", "error"]) == 1


def test_json_says_what_it_failed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checked(tmp_path, {"pyproject.toml": '[tool.compat-check]\nfail-on = "silent"\n'})
    main(["compat-check", str(tmp_path / "c"), "--against", str(tmp_path / "h" / "host"), "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert (document["fail_on"], document["verdict"], document["declared"]) == ("silent", "holds", [])


@pytest.mark.parametrize(
    ("table", "line", "said"),
    [
        ("fail_on = 'error'", 2, "unknown key 'fail_on'"),
        ("fail-on = 'warning'", 2, "expected silent, error, info"),
        ("target = 'host'", 2, 'a requirement such as "vllm==0.31.0"'),
        ("package = 3", 2, "expected package to be a string"),
        ("accept = [{code = 'x', symbol = 'y'}]", 2, "needs a code and a reason"),
        (
            "accept = [{code = 'x', symbol = 'y', reason = ' '}]",
            2,
            "expected reason to be a string that says something",
        ),
        ("accept = [{code = 'x', reason = 'y'}]", 2, "a code alone would accept all to come"),
        ("accept = [\n  {code = 'x', reason = 'y', symbol = 'z', line = 3},\n]", 3, "unknown key 'line'"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(table: str, line: int, said: str) -> None:
    with pytest.raises(UsageError, match=rf"^pyproject\.toml:{line}: \[tool\.compat-check\]: ") as refused:
        parse(f"[tool.compat-check]\n{table}\n", "pyproject.toml")
    assert said in str(refused.value)


def test_a_wrong_table_is_a_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError):
        checked(tmp_path, {"pyproject.toml": "[tool.compat-check]\nfail-fast = true\n"})
    assert main(["compat-check", str(tmp_path / "c"), "--against", str(tmp_path / "h" / "host")]) == 2
    assert "pyproject.toml:2: [tool.compat-check]: unknown key 'fail-fast'" in capsys.readouterr().err


def test_another_tools_broken_file_stops_nothing(tmp_path: Path) -> None:
    assert checked(tmp_path, {"pyproject.toml": "[project\n"}).headline == ""


@given(st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_table_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        parse(f"[tool.compat-check]\n{text}", "pyproject.toml")
