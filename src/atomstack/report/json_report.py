"""JSON, for machines. `schema` changes when a field changes its meaning or goes."""

import json
from dataclasses import asdict

from atomstack.findings import Result, Severity

SCHEMA = 1


def render(result: Result, fail_on: Severity) -> str:
    """The result as one JSON document, in ASCII, that ends in a newline."""
    document = {
        "schema": SCHEMA,
        "gate": result.gate,
        "verdict": "fails" if result.failing(fail_on) else "holds",
        "fail_on": fail_on.value,
        "inputs": {i.role: {k: v for k, v in asdict(i).items() if k != "role"} for i in result.inputs},
        **result.details,
        "summary": dict(result.summary),
        "findings": [asdict(finding) for finding in result.findings],
        "not_checked": list(result.not_checked),
        "not_established": result.not_established,
    }
    return json.dumps(document, indent=2) + "\n"
