"""Faults, and what looks like one and is none, in public releases: compat-check says so of the real packages.

compat.json holds them, each with the issue in which its users reported it; own.json holds more, each with the sources
in which it was read. The packages come from the package index, through the tool's own cache.
"""

import ast
import json
from functools import cache
from pathlib import Path

import pytest

from atomstack.compat_check import check
from atomstack.compat_check.usage import scan
from atomstack.findings import Finding, Result, Severity
from atomstack.sources import open_source
from atomstack.sources.tree import SourceTree

CASES = {
    case["id"]: case
    for file in ("compat.json", "own.json")
    for case in json.loads((Path(__file__).parent / file).read_text())
}
POSITIVES = [name for name, case in CASES.items() if case["expect"] == "flag"]
NEGATIVES = [name for name, case in CASES.items() if case["expect"] == "no-flag"]

released = cache(open_source)


@cache
def result(consumer: str, package: str, host: str) -> Result:
    return check(released(consumer, package=package), released(host))


def consumer_of(case: dict[str, str]) -> SourceTree:
    return released(case["consumer"], package=package_of(case))


def package_of(case: dict[str, str]) -> str:
    return case["consumer_file"].partition("/")[0]


def statement_at(case: dict[str, str]) -> range:
    """The lines of the innermost statement that the case is about."""
    source = consumer_of(case).read(case["consumer_file"])
    line = int(case["line"])
    around = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return min(around, key=len)


def found_there(case: dict[str, str], host: str) -> list[Finding]:
    """The findings that fail a build, in that statement."""
    lines = statement_at(case)
    return [
        finding
        for finding in result(case["consumer"], package_of(case), host).findings
        if finding.severity in (Severity.ERROR, Severity.SILENT)
        and finding.file == case["consumer_file"]
        and finding.line in lines
    ]


def is_about(finding: Finding, symbol: str) -> bool:
    """Whether the finding names the symbol, or something in it."""
    return f"{finding.symbol.replace(':', '.')}.".startswith(f"{symbol}.")


@pytest.mark.parametrize("name", POSITIVES)
def test_the_fault_is_found(name: str) -> None:
    case = CASES[name]
    found = [finding for finding in found_there(case, case["host"]) if is_about(finding, case["symbol"])]
    assert found
    if "severity" in case:
        assert {finding.severity for finding in found} == {case["severity"]}


@pytest.mark.parametrize("name", [name for name in POSITIVES if CASES[name]["good_host"]])
def test_the_release_before_it_is_right(name: str) -> None:
    case = CASES[name]
    assert found_there(case, case["good_host"]) == []


@pytest.mark.parametrize("name", NEGATIVES)
def test_what_is_no_fault_is_not_reported(name: str) -> None:
    case = CASES[name]
    assert found_there(case, case["host"]) == []
    # It was looked at, not overlooked.
    tree, host = consumer_of(case), released(case["host"]).package
    source = tree.read(case["consumer_file"])
    usage = scan(ast.parse(source), source, file=case["consumer_file"], host=host)
    seen = [site.line for site in (*usage.imports, *usage.attributes, *usage.patches)]
    # Of a call or a class, what it calls or derives from stands elsewhere in the file.
    elsewhere = case["kind"] in {"call-arity", "override-drift", "registry"}
    assert seen if elsewhere else set(seen) & set(statement_at(case))


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("P02", "vllm.utils.network_utils:get_open_port"),  # huggingface/trl#4883
        ("P30", "vllm.utils.math_utils:cdiv"),  # tpu-inference 0.13.2 imports it from there
    ],
)
def test_says_where_it_went(name: str, place: str) -> None:
    case = CASES[name]
    [finding] = [f for f in found_there(case, case["host"]) if is_about(f, case["symbol"])]
    assert finding.moved_to[:1] == (place,)
