"""The data that gates produce and reports render: inputs, findings, one result."""

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

    `file` is relative to the root of the consumer; `line` counts from 1; `symbol` is `module:qualname`, in
    the host's names. `guard` is the construct that keeps the site from raising, as the source spells it, or
    None. `moved_to` holds candidates in the host, best first, as `module:qualname`.
    """

    code: str
    severity: Severity
    file: str
    line: int
    symbol: str
    message: str
    guard: str | None = None
    moved_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Input:
    """One side of a check. `content_hash` is `sha256:<hex>` over what was read, or None when nothing was."""

    role: str
    name: str
    version: str | None
    kind: str
    content_hash: str | None


@dataclass(frozen=True, slots=True)
class Result:
    """What one gate says. `summary` is a flat mapping of names to numbers or strings, in reading order.

    `not_checked` lists, in words, what the gate saw and could not decide. `not_established` is the sentence
    every report ends with: what a clean result is no evidence of.
    """

    gate: str
    inputs: tuple[Input, ...]
    summary: Mapping[str, int | float | str]
    findings: tuple[Finding, ...]
    not_established: str
    not_checked: tuple[str, ...] = field(default=())

    def failing(self, fail_on: Severity) -> tuple[Finding, ...]:
        """The findings at or above `fail_on`."""
        return tuple(f for f in self.findings if f.severity.rank <= fail_on.rank)
