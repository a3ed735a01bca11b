"""Text and JSON: what a machine reads is DESIGN.md's schema 1; what a person reads puts silent first."""

import json

from atomstack.findings import Finding, Input, Result, Severity
from atomstack.report import json_report, text

RESULT = Result(
    gate="compat-check",
    inputs=(
        Input("consumer", "plug", "1.0", "directory", "sha256:aa"),
        Input("host", "vllm", None, "index-wheel", None),
    ),
    summary={"import_sites": 1279, "distinct_symbols": 53, "patch_sites": 2, "modules_parsed": 9, "seconds": 0.5},
    findings=(
        Finding(
            "missing-patch-target",
            Severity.SILENT,
            "plug/z.py",
            9,
            "vllm.m:f",
            "no f",
            "if hasattr(m, 'f')",
            ("vllm.n:f",),
        ),
        Finding("unresolved-import", Severity.ERROR, "plug/a.py", 3, "vllm.gone:X", "no module vllm.gone"),
        Finding("unresolved-import", Severity.ERROR, "plug/a.py", 7, "vllm.gone:X", "no module vllm.gone"),
        Finding("unresolved-import", Severity.ERROR, "plug/b.py", 1, "vllm.gone:X", "no module vllm.gone"),
        Finding("unchecked", Severity.INFO, "plug/a.py", 1, "vllm._C:ops", "compiled"),
    ),
    not_established="It says nothing about numbers.",
    not_checked=("vllm._C:ops: compiled (plug/a.py:1)",),
)
CLEAN = Result("compat-check", RESULT.inputs, RESULT.summary, (), RESULT.not_established)


def test_json_is_schema_1() -> None:
    document = json.loads(json_report.render(RESULT, Severity.ERROR))
    assert list(document) == [
        *("schema", "gate", "verdict", "fail_on", "inputs", "summary"),
        *("findings", "not_checked", "not_established"),
    ]
    assert (document["schema"], document["gate"], document["verdict"]) == (1, "compat-check", "fails")
    assert document["inputs"]["consumer"] == {
        "name": "plug",
        "version": "1.0",
        "kind": "directory",
        "content_hash": "sha256:aa",
        "prefix": "",
    }
    assert list(document["summary"]) == [
        *("import_sites", "distinct_symbols", "patch_sites"),
        *("modules_parsed", "seconds"),
    ]
    assert document["findings"][0] == {
        "code": "missing-patch-target",
        "severity": "silent",
        "file": "plug/z.py",
        "line": 9,
        "symbol": "vllm.m:f",
        "message": "no f",
        "guard": "if hasattr(m, 'f')",
        "moved_to": ["vllm.n:f"],
        "accepted": None,
    }


def test_the_verdict_is_that_of_fail_on() -> None:
    only_info = Result("g", (), {}, RESULT.findings[-1:], "")
    assert json.loads(json_report.render(only_info, Severity.ERROR))["verdict"] == "holds"
    assert json.loads(json_report.render(only_info, Severity.INFO))["verdict"] == "fails"
    only_error = Result("g", (), {}, RESULT.findings[1:2], "")
    assert json.loads(json_report.render(only_error, Severity.SILENT))["verdict"] == "holds"


def test_text_is_for_a_person() -> None:
    assert text.render(RESULT, Severity.ERROR).splitlines() == [
        "compat-check: plug 1.0 (directory) against vllm (version unknown) (index-wheel)",
        "",
        "plug/z.py",
        "  silent missing-patch-target  vllm.m:f  (line 9)",
        "    no f",
        "    now at vllm.n:f",
        "",
        "plug/a.py",
        "  error unresolved-import  vllm.gone:X  (line 3, 7; plug/b.py:1)",
        "    no module vllm.gone",
        "",
        "not decided (1):",
        "  vllm._C:ops: compiled (plug/a.py:1)",
        "",
        "1,279 import sites, 53 distinct symbols, 2 patch sites, 9 modules parsed, 0.5 seconds",
        "compat-check: does not hold: 1 silent, 3 error, 1 info",
        "It says nothing about numbers.",
    ]


def test_a_clean_result_says_what_it_is_no_evidence_of() -> None:
    lines = text.render(CLEAN, Severity.ERROR).splitlines()
    assert lines[-2:] == ["compat-check: holds", "It says nothing about numbers."]


def test_colour_only_when_asked() -> None:
    assert "\033[" not in text.render(RESULT, Severity.ERROR)
    assert "\033[35;1msilent\033[0m" in text.render(RESULT, Severity.ERROR, colour=True)


def test_long_lists_are_cut_for_a_person_and_whole_for_a_machine() -> None:
    many = Result("g", (), {}, (), "", tuple(f"site {n}" for n in range(30)))
    assert "… and 20 more (--format json has them all)" in text.render(many, Severity.ERROR)
    assert len(json.loads(json_report.render(many, Severity.ERROR))["not_checked"]) == 30


def test_control_characters_of_the_checked_packages_do_not_reach_a_terminal() -> None:
    evil = Finding("unreadable", Severity.ERROR, "plug/\033[2J.py", 1, "x", "line 1: \033]0;owned\a")
    assert "\033" not in text.render(Result("g", (), {}, (evil,), ""), Severity.ERROR)
