"""The data that gates produce and reports render: inputs, findings, one result."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is. *silent* ranks first: nothing raises and a number is wrong."""

    SILENT = "silent"
    ERROR = "error"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return (Severity.SILENT, Severity.ERROR, Severity.INFO).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found at one place.

    `file` is relative to the folder that holds the consumer's package; `line` counts from 1; `symbol` is
    `module:qualname`, in the host's names. `guard` is the construct that keeps the site from raising, as the source
    spells it, or None. `moved_to` holds candidates in the host, best first, as `module:qualname`. `accepted` is the
    reason for which the consumer lives with it, or None.
    """

    code: str
    severity: Severity
    file: str
    line: int
    symbol: str
    message: str
    guard: str | None = None
    moved_to: tuple[str, ...] = ()
    accepted: str | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """One side of a check. `content_hash` is `sha256:<hex>` over what was read, or None when nothing was.

    `prefix` makes the path of a file, relative to the folder that holds the package, one that is relative to the
    checkout which the user named: `src/`; "" for what lies in no folder.
    """

    role: str
    name: str
    version: str | None
    kind: str
    content_hash: str | None
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding code that was looked for, and what a finding of it says."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Result:
    """What one gate says. `summary` is a flat mapping of names to numbers or strings, in reading order.

    `headline` is the first line of a report for a person, or "". `not_checked` lists, in words, what the gate saw and
    could not decide. `not_established` is the sentence every report ends with: what a clean result is no evidence of.
    `checks` are the codes that were looked for; `fail_on` is what the consumer asks to fail on, if it does. `details`
    is what a machine is told besides, under names of its own.
    """

    gate: str
    inputs: tuple[Input, ...]
    summary: Mapping[str, int | float | str]
    findings: tuple[Finding, ...]
    not_established: str
    not_checked: tuple[str, ...] = field(default=())
    checks: tuple[Check, ...] = field(default=())
    headline: str = ""
    fail_on: Severity | None = None
    details: Mapping[str, object] = field(default_factory=dict)

    def failing(self, fail_on: Severity) -> tuple[Finding, ...]:
        """The findings at or above `fail_on` that nobody accepted."""
        return tuple(f for f in self.findings if f.accepted is None and f.severity.rank <= fail_on.rank)

    def path(self, finding: Finding) -> str:
        """The finding's file as the consumer's repository has it: `src/plug/use.py`."""
        prefix = next((side.prefix for side in self.inputs if side.role == "consumer"), "")
        return posixpath.normpath(posixpath.join(prefix, finding.file)) if prefix else finding.file
