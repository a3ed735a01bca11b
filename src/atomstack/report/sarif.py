"""SARIF 2.1.0, for code scanning: one rule per finding code, silent findings as errors that say so."""

import hashlib
import json
import urllib.parse
from typing import Any

from atomstack import __version__
from atomstack.findings import Check, Finding, Result, Severity
from atomstack.report import pages, words

_LEVELS = {Severity.SILENT: "error", Severity.ERROR: "error", Severity.INFO: "note"}


def render(result: Result, fail_on: Severity) -> str:
    """One run of one tool, in ASCII. Files are relative to `%SRCROOT%`, which is the repository's root."""
    known = {check.code: check for check in result.checks}
    for finding in result.findings:
        known.setdefault(finding.code, Check(finding.code, finding.code))
    places = {code: index for index, code in enumerate(known)}
    run = {
        "tool": {
            "driver": {"name": "atomstack", "semanticVersion": __version__, "rules": [_rule(c) for c in known.values()]}
        },
        "automationDetails": {"id": f"{result.gate}/{'/'.join(words.plain(side.name) for side in result.inputs)}/"},
        "columnKind": "unicodeCodePoints",
        "results": [_result(result, finding, places[finding.code]) for finding in result.findings],
        "properties": {
            "gate": result.gate,
            "verdict": words.verdict(result, fail_on),
            "fail_on": fail_on.value,
            "inputs": {side.role: f"{side.name} {side.version or '(version unknown)'}" for side in result.inputs},
            "summary": dict(result.summary),
            **result.details,
            "not_checked": list(result.not_checked),
            "not_established": result.not_established,
        },
    }
    document = {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=2) + "\n"


def _rule(check: Check) -> dict[str, Any]:
    text = check.text[:1].upper() + check.text[1:]
    rule: dict[str, Any] = {"id": check.code, "shortDescription": {"text": text}}
    page = pages.page(check.code)
    rule["help"] = {"text": page, "markdown": page} if page else {"text": text}
    return rule


def _result(result: Result, finding: Finding, rule: int) -> dict[str, Any]:
    path = result.path(finding)
    about: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{words.plain(finding.symbol)}: {words.whole_message(finding)}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(path), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": max(1, finding.line)},
                },
                "logicalLocations": [{"fullyQualifiedName": words.plain(finding.symbol), "kind": "member"}],
            }
        ],
        # Not the line: a finding is the same one when lines above it come and go.
        "partialFingerprints": {"finding/v1": _fingerprint(finding.code, finding.symbol, path)},
        "properties": {
            "severity": finding.severity.value,
            "symbol": finding.symbol,
            "guard": finding.guard,
            "moved_to": list(finding.moved_to),
        },
    }
    if finding.accepted is not None:
        about["suppressions"] = [{"kind": "external", "justification": words.plain(finding.accepted)}]
    return about


def _uri(path: str) -> str:
    """A relative reference: what is no letter of one is percent-encoded, and the first part holds no scheme."""
    return urllib.parse.quote(path.encode("utf-8", "surrogatepass"), safe="/")


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
