"""SARIF, GitHub annotations, JUnit and HTML: their own rules hold, whatever the checked packages say."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from compat_pairs import result, write
from hypothesis import given, settings
from hypothesis import strategies as st

from atomstack.cli import main
from atomstack.findings import Check, Finding, Input, Result, Severity
from atomstack.report import FORMATS, render

# The schema as OASIS publishes it, in one line: github.com/oasis-tcs/sarif-spec, sarif-2.1/schema.
SARIF = json.loads((Path(__file__).parent / "data" / "sarif-2.1.0.json").read_text())

SILENT = Finding("missing-patch-target", Severity.SILENT, "plug/z.py", 9, "vllm.m:f", "no f", "if x", ("vllm.n:f",))
ERROR = Finding("unresolved-import", Severity.ERROR, "plug/a.py", 3, "vllm.gone:X", "no module vllm.gone")
INFO = Finding("registry-drift", Severity.INFO, "plug/a.py", 1, "vllm:r", "not registered")
ACCEPTED = replace(ERROR, line=5, accepted="old releases only")
CHECKS = tuple(
    Check(code, f"what {code} says")
    for code in ("missing-attribute", "missing-patch-target", "registry-drift", "unresolved-import")
)
SIDES = (Input("consumer", "plug", "1.0", "directory", None, "src/"), Input("host", "vllm", None, "wheel", None))
RESULT = Result(
    "compat-check",
    SIDES,
    {"import_sites": 2},
    (SILENT, ERROR, ACCEPTED, INFO),
    "It says nothing about numbers.",
    checks=CHECKS,
    headline="plug declares vllm 0.31.0",
)
EVIL = "\x1b]0;x\a\r\n::error::x</script><script>alert(1)</script>\u202e\x00\ud800\ufffe]]>&quot;\"'%0A,:"


def of(*findings: Finding) -> Result:
    return replace(RESULT, findings=findings)


def sarif(of_it: Result) -> dict:
    document = json.loads(render("sarif", of_it, Severity.ERROR))
    jsonschema.Draft4Validator(SARIF).validate(document)
    return document["runs"][0]


def test_sarif_is_valid_with_one_rule_per_code() -> None:
    run = sarif(RESULT)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [check.code for check in CHECKS]
    assert [rules[r["ruleIndex"]]["id"] for r in run["results"]] == [f.code for f in RESULT.findings]


def test_sarif_levels_follow_severity_and_silent_says_so() -> None:
    results = sarif(RESULT)["results"]
    assert [r["level"] for r in results] == ["error", "error", "error", "note"]
    assert results[0]["properties"]["severity"] == "silent"


def test_sarif_suppresses_what_is_accepted() -> None:
    results = sarif(RESULT)["results"]
    assert [r.get("suppressions") for r in results[:2]] == [None, None]
    assert results[2]["suppressions"] == [{"kind": "external", "justification": "old releases only"}]


def test_sarif_names_files_as_the_repository_has_them() -> None:
    place = sarif(RESULT)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/plug/z.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 9}


def test_sarif_carries_the_page_of_a_code() -> None:
    rules = {rule["id"]: rule for rule in sarif(RESULT)["tool"]["driver"]["rules"]}
    assert rules["unresolved-import"]["help"]["markdown"].startswith("# unresolved-import\n")


def test_the_same_finding_has_the_same_fingerprint_when_lines_above_it_come() -> None:
    first, second, other = sarif(of(ERROR, replace(ERROR, line=40), SILENT))["results"]
    assert first["partialFingerprints"] == second["partialFingerprints"] != other["partialFingerprints"]


def test_github_annotations() -> None:
    assert render("github", RESULT, Severity.ERROR).splitlines() == [
        "::error file=src/plug/z.py,line=9,title=silent%3A missing-patch-target vllm.m%3Af::no f; now at vllm.n:f",
        "::error file=src/plug/a.py,line=3,title=error%3A unresolved-import vllm.gone%3AX::no module vllm.gone",
        "::notice file=src/plug/a.py,line=5,title=error%3A unresolved-import vllm.gone%3AX"
        "::no module vllm.gone; accepted: old releases only",
        "::notice file=src/plug/a.py,line=1,title=info%3A registry-drift vllm%3Ar::not registered",
        "compat-check: plug declares vllm 0.31.0",
        "compat-check: plug 1.0 (directory) against vllm (version unknown) (wheel): "
        "does not hold: 1 silent, 1 error, 1 info, 1 accepted",
    ]


def test_junit_has_a_case_for_each_finding_and_for_each_code_without_one() -> None:
    suite = ET.fromstring(render("junit", RESULT, Severity.ERROR))[0]
    cases = {(case.get("classname"), case.get("line")): case for case in suite.iter("testcase")}
    assert suite.get("tests") == "5"
    assert (suite.get("failures"), suite.get("skipped")) == ("2", "2")
    assert list(cases["compat-check.missing-attribute", None]) == []
    assert cases["compat-check.unresolved-import", "3"].find("failure") is not None
    assert cases["compat-check.unresolved-import", "5"].find("skipped") is not None


def test_a_clean_run_shows_passes_in_junit() -> None:
    suite = ET.fromstring(render("junit", of(), Severity.ERROR))[0]
    assert len(suite.findall("testcase")) == len(CHECKS)
    assert suite.get("failures") == "0"


class Page(HTMLParser):
    """What a browser would load, run and show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []
        self.headings: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in {"src", "href", "action", "background"}]
        if tag not in {"meta", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


def test_html_stands_alone_and_puts_silent_first() -> None:
    page = Page(render("html", RESULT, Severity.ERROR))
    assert page.loads == []
    assert page.open == []
    assert page.headings == ["Silent (1)", "Errors (1)", "For information (1)", "Accepted (1)"]


def test_every_format_says_the_verdict_and_where_the_symbol_went() -> None:
    for form in set(FORMATS) - {"json", "sarif"}:
        said = render(form, RESULT, Severity.ERROR)
        assert "vllm.n:f" in said
        assert "src/plug/z.py" in said
        assert "old releases only" in said
        if form != "junit":
            assert "does not hold: 1 silent, 1 error, 1 info, 1 accepted" in said


def evil(text: str) -> Result:
    finding = Finding("unreadable", Severity.ERROR, f"plug/{text}.py", 1, text, text, text, (text,), text)
    sides = (Input("consumer", text, text, "directory", None), *SIDES[1:])
    return Result(
        "compat-check", sides, {"said": text}, (finding, replace(finding, accepted=None)), "", (text,), CHECKS, text
    )


def harmless(text: str) -> None:
    """What the formats promise of any words from outside."""
    of_it = evil(text)
    for form in FORMATS:
        said = render(form, of_it, Severity.ERROR)
        assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", said) is None
        said.encode()
    commands = [line for line in render("github", of_it, Severity.ERROR).split("\n") if line.startswith("::")]
    assert len(commands) == 2
    for command in commands:
        assert re.fullmatch(r"::(error|notice) file=[^:,]*,line=1,title=[^:,]*::.*", command)
    ET.fromstring(render("junit", of_it, Severity.ERROR))
    sarif(of_it)
    page = Page(render("html", of_it, Severity.ERROR))
    assert page.tags.count("script") == 1
    assert page.open == []


def test_words_from_outside_steer_nothing() -> None:
    harmless(EVIL)


@given(st.text(alphabet=st.characters(), max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_words_from_outside_steer_nothing(text: str) -> None:
    harmless(text)


def test_a_file_name_is_percent_encoded_in_sarif() -> None:
    odd = "plug/a b#é:%.py"
    uri = sarif(of(replace(ERROR, file=odd)))["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"][
        "uri"
    ]
    assert re.fullmatch(r"[A-Za-z0-9/%._~-]+", uri)
    assert unquote(uri) == f"src/{odd}"


def test_every_format_can_be_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, {"c/plug/__init__.py": "from host.m import gone\n", "h/host/__init__.py": "", "h/host/m.py": ""})
    sides = [str(tmp_path / "c/plug"), "--against", str(tmp_path / "h/host")]
    for form in FORMATS:
        assert main(["compat-check", *sides, f"--{form}", str(tmp_path / form), "--format", form]) == 1
        drop = r"[\d.]+ seconds|\"seconds\": [\d.]+|name=\"seconds\" value=\"[\d.]+\""
        printed, written = capsys.readouterr().out, (tmp_path / form).read_text()
        assert re.sub(drop, "", printed) == re.sub(drop, "", written)


def test_the_codes_that_were_looked_for_are_those_with_a_page(tmp_path: Path) -> None:
    found = result(tmp_path, "import host\n", {})
    pages = {path.stem for path in (Path(__file__).parents[2] / "docs" / "checks").glob("*.md")}
    assert {check.code for check in found.checks} == pages
    assert all(check.text for check in found.checks)
