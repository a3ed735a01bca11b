"""Relocation tables: the state of every entry in tiny hosts, and what a table must not say."""

import contextlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from compat_pairs import result, said, unchecked, write
from hypothesis import given, settings
from hypothesis import strategies as st

from atomstack.cli import main
from atomstack.compat_check import check
from atomstack.compat_check.relocations import FORMAT, read
from atomstack.errors import UsageError
from atomstack.sources import open_source

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "checks" / "relocation.schema.json").read_text())
REAL = ROOT / "tests" / "cases" / "data" / "vllm-relocations.json"

PLACES = [{"at": "host.old:f", "before": "2.0"}, {"at": "host.new:f", "since": "2.0"}]
SIGNATURES = [{"parameters": "(groups)", "before": "1.5"}, {"parameters": "(config, groups)", "since": "1.5"}]


def table(entry: dict[str, Any], symbol: str = "host.old:f", **more: Any) -> str:
    return json.dumps({"format": FORMAT, "host": "host", "symbols": {symbol: entry}, **more}, indent=1)


def state(
    folder: Path, version: str, host: dict[str, str], entry: dict[str, Any] | None = None
) -> tuple[str, list[str]]:
    """The state of one entry in a host, and what is reported."""
    text = table(entry or {"places": PLACES, "signatures": SIGNATURES})
    found = result(
        folder,
        {"use.py": "import host\n", "relocations.json": text},
        {"__init__.py": f"__version__ = '{version}'\n", **host},
    )
    [one] = found.details["relocations"]
    return one["state"], [f"{f.severity} {f.code}" for f in found.findings]


OLD, NEW = "def f(groups): ...\n", "def f(config, groups): ...\n"


# As vLLM did it: the signature changed in 0.32.0 in the old module, and the function moved in 0.33.0.
@pytest.mark.parametrize(
    ("version", "host"),
    [
        ("1.0", {"old.py": OLD}),
        ("1.5", {"old.py": NEW}),
        ("2.0", {"old.py": "", "new.py": NEW}),
        ("2.0rc1", {"new.py": NEW}),
        ("2.0.0+cpu", {"new.py": NEW}),
        ("2.0", {"old.py": "from host.new import f\n", "new.py": "from host._impl import f\n", "_impl.py": NEW}),
    ],
)
def test_well(tmp_path: Path, version: str, host: dict[str, str]) -> None:
    assert state(tmp_path, version, host) == ("here", [])


@pytest.mark.parametrize(
    ("version", "host", "expected"),
    [
        ("2.0", {"old.py": "", "new.py": ""}, "gone"),
        ("1.0", {"old.py": NEW}, "signature"),
        ("2.0", {"new.py": OLD}, "signature"),
        ("2.0", {"new.py": "def f(config, groups=None): ...\n"}, "signature"),
        ("2.0", {"new.py": "def f(config, *, groups): ...\n"}, "signature"),
        ("2.0", {"new.py": "def f(groups, config): ...\n"}, "signature"),
    ],
)
def test_wrong(tmp_path: Path, version: str, host: dict[str, str], expected: str) -> None:
    assert state(tmp_path, version, host) == (expected, ["error relocation"])


def test_at_another_of_its_places_is_info(tmp_path: Path) -> None:
    assert state(tmp_path, "2.0", {"old.py": NEW}) == ("elsewhere", ["info relocation"])


def test_a_version_that_no_range_holds_for(tmp_path: Path) -> None:
    entry = {"places": [{"at": "host.old:f", "before": "1.0"}]}
    assert state(tmp_path / "a", "1.2", {"old.py": ""}, entry) == ("excluded", [])
    assert state(tmp_path / "b", "1.2", {"old.py": OLD}, entry) == ("outside", ["info relocation"])
    assert state(tmp_path / "c", "0.9", {"old.py": OLD}, entry) == ("here", [])


def test_what_cannot_be_decided_is_no_finding(tmp_path: Path) -> None:
    opaque = "import random\nglobals()[random.choice('fg')] = len\n"
    assert state(tmp_path / "a", "2.0", {"new.py": opaque}) == ("undecided", ["info unchecked"])
    either = "import sys\nif sys.argv:\n    def f(config, groups): ...\nelse:\n    def f(config): ...\n"
    assert state(tmp_path / "b", "2.0", {"new.py": either}) == ("undecided", ["info unchecked"])


def test_a_host_that_does_not_say_its_version(tmp_path: Path) -> None:
    host = {"__init__.py": "", "old.py": OLD}
    assert state(tmp_path / "a", "", host) == ("here", [])
    assert state(tmp_path / "b", "", {**host, "old.py": ""}) == ("gone", ["error relocation"])


def test_methods(tmp_path: Path) -> None:
    host = {"m.py": "class B:\n    def g(self, x): ...\nclass C(B):\n    def f(self, a, *, b=1, **more): ...\n"}
    places = [{"at": "host.m:C.f"}]
    right = {"places": places, "signatures": [{"parameters": "(self, a, *, b=…, **more)"}]}
    assert state(tmp_path / "a", "1", host, right) == ("here", [])
    wrong = {"places": places, "signatures": [{"parameters": "(self, a, b=…, **more)"}]}
    assert state(tmp_path / "b", "1", host, wrong) == ("signature", ["error relocation"])
    assert state(tmp_path / "c", "1", host, {"places": [{"at": "host.m:C.h"}]}) == ("gone", ["error relocation"])
    assert state(tmp_path / "d", "1", host, {"places": [{"at": "host.m:C.g"}]}) == ("here", [])


def test_what_is_gone_is_reported_where_the_table_says_it_with_candidates(tmp_path: Path) -> None:
    text = table({"places": [{"at": "host.old:f"}]})
    found = result(
        tmp_path,
        {"use.py": "import host\n", "compat/relocations.json": text},
        {"__init__.py": "__version__ = '2.0'\n", "old.py": "", "new.py": NEW},
    )
    [finding] = found.findings
    assert (finding.file, finding.line) == ("plug/compat/relocations.json", 5)
    assert finding.moved_to == ("host.new:f",)
    assert said(found) == ["error relocation host.old:f"]


# --- where tables are


def test_a_table_is_enough_to_have_something_to_check(tmp_path: Path) -> None:
    write(tmp_path, {"c/plug/__init__.py": "", "h/host/__init__.py": "__version__ = '1'\n", "h/host/old.py": OLD})
    write(tmp_path, {"t.json": table({"places": [{"at": "host.old:f"}]})})
    sides = [str(tmp_path / "c/plug"), "--against", str(tmp_path / "h/host")]
    assert main(["compat-check", *sides]) == 3
    assert main(["compat-check", *sides, "--relocations", str(tmp_path / "t.json")]) == 0


def test_the_table_that_pyproject_names(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "c/pyproject.toml": '[tool.compat-check]\nrelocations = "data/moves.json"\n',
            "c/data/moves.json": table({"places": [{"at": "host.old:g"}]}),
            "c/src/plug/__init__.py": "import host.old\n",
            "h/host/__init__.py": "",
            "h/host/old.py": OLD,
        },
    )
    found = check(open_source(str(tmp_path / "c")), open_source(str(tmp_path / "h/host")))
    assert [found.path(finding) for finding in found.findings] == ["data/moves.json"]
    (tmp_path / "c/data/moves.json").unlink()
    with pytest.raises(UsageError, match=r"data/moves\.json: No such file"):
        check(open_source(str(tmp_path / "c")), open_source(str(tmp_path / "h/host")))


def test_other_json_and_tables_of_other_hosts_are_left_aside(tmp_path: Path) -> None:
    other = table({"places": [{"at": "torch.x:f"}]}, "torch.x:f", host="torch")
    found = result(tmp_path, {"use.py": "import host\n", "relocations.json": other, "my_relocations.json": "{"}, {})
    assert found.details["relocations"] == []


def test_a_given_table_of_another_host_is_a_wrong_use(tmp_path: Path) -> None:
    write(tmp_path, {"t.json": table({"places": [{"at": "torch.x:f"}]}, "torch.x:f", host="torch")})
    write(tmp_path, {"c/plug/__init__.py": "import host\n", "h/host/__init__.py": ""})
    sides = [str(tmp_path / "c/plug"), "--against", str(tmp_path / "h/host")]
    assert main(["compat-check", *sides, "--relocations", str(tmp_path / "t.json")]) == 2
    assert main(["compat-check", *sides, "--relocations", str(tmp_path / "none.json")]) == 2


# --- the format


def test_the_schema_takes_what_the_reader_takes() -> None:
    assert len(read(REAL.read_bytes(), "t").entries) == 7
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads(REAL.read_text()), SCHEMA)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"places": PLACES, "signature": "(a)"}, "unknown key"),
        ({}, 'has no "places"'),
        ({"places": []}, "has no places"),
        ({"places": [{"at": "host.old.f"}]}, "is not module:name"),
        ({"places": [{"at": "host.old:f", "until": "2.0"}]}, "unknown key"),
        ({"places": [{"at": "host.old:f", "since": ">=2.0"}]}, "is not a release"),
        ({"places": [{"at": "host.old:f", "since": "2.0rc1"}]}, "is not a release"),
        ({"places": [{"at": "host.old:f", "since": 2.0}]}, "is not a release"),
        ({"places": [{"at": "host.old:f", "since": "2.0", "before": "2"}]}, "holds no release"),
        ({"places": [{"at": "host.old:f"}, {"at": "host.new:f", "since": "2.0"}]}, "overlap"),
        ({"places": PLACES, "signatures": [{"parameters": "(a)"}, {"parameters": "(b)", "before": "1"}]}, "overlap"),
        ({"places": PLACES, "signatures": [{"parameters": "a, b"}]}, "is no parameter list"),
        ({"places": PLACES, "signatures": [{"parameters": "(a=, b)"}]}, "is no parameter list"),
        ({"places": PLACES, "signatures": [{"parameters": "(): ...\ndef g()"}]}, "is no parameter list"),
        ([], "to be an object"),
    ],
)
def test_what_is_no_table_is_refused_with_its_line(entry: Any, words: str) -> None:
    with pytest.raises(UsageError, match=r"^moves\.json:\d+: ") as refused:
        read(table(entry).encode(), "moves.json")
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said_"),
    [
        ('{"format": 1,}', "moves.json:1: not JSON"),
        ("{}", 'moves.json:1: the table has no "format"'),
        (table({"places": PLACES}, format="other@9"), "moves.json:2: expected"),
        (table({"places": PLACES}, extra=1), "moves.json:18: the table has an unknown key"),
        ('{"format": 1, "format": 2}', 'moves.json:1: "format" stands twice'),
        ("[" * 100_000, "moves.json:1: not JSON that can be read"),
        ("\ufeff{}", "moves.json:1: not JSON"),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, said_: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(text.encode(), "moves.json")
    assert str(refused.value).startswith(said_)


@given(
    st.recursive(
        st.one_of(st.none(), st.text(max_size=8), st.integers(), st.sampled_from(["host.old:f", "2.0", "(a)", FORMAT])),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.sampled_from(["format", "host", "symbols", "places", "at", "since", "a:b"]), inner),
        ),
        max_leaves=12,
    )
)
@settings(max_examples=200, deadline=None)
def test_any_json_is_a_table_or_refused(value: Any) -> None:
    for document in (value, {"format": FORMAT, "host": "host", "symbols": value}):
        with contextlib.suppress(UsageError):
            read(json.dumps(document).encode(), "moves.json")


def test_undecided_entries_are_among_the_unchecked(tmp_path: Path) -> None:
    text = table({"places": [{"at": "host.m:f"}]}, "host.m:f")
    found = result(tmp_path, {"use.py": "import host\n", "relocations.json": text}, {"m.so": b""})
    assert [finding.symbol for finding in unchecked(found)] == ["host.m:f"]
