"""Text, for a person: silent findings first, one entry per missing symbol, and what the result does not establish."""

from collections import defaultdict
from collections.abc import Iterator

from atomstack.findings import Finding, Result, Severity

_COLOUR = {Severity.SILENT: "35;1", Severity.ERROR: "31;1", Severity.INFO: "36"}


def render(result: Result, fail_on: Severity, *, colour: bool = False) -> str:
    """The result as lines of text that end in a newline."""
    return "\n".join(_lines(result, fail_on, colour=colour)) + "\n"


def _lines(result: Result, fail_on: Severity, *, colour: bool) -> Iterator[str]:
    sides = " against ".join(f"{i.name} {i.version or '(version unknown)'} ({i.kind})" for i in result.inputs)
    yield f"{result.gate}: {sides}"
    for severity in Severity:
        of_severity = [f for f in result.findings if f.severity is severity]
        if of_severity:
            yield ""
            yield from _group(severity, of_severity, colour=colour)
    if result.not_checked:
        yield ""
        yield f"not decided ({len(result.not_checked)}):"
        yield from (f"  {line}" for line in result.not_checked[:10])
        if len(result.not_checked) > 10:
            yield f"  … and {len(result.not_checked) - 10} more (--format json has them all)"
    yield ""
    yield ", ".join(
        f"{value:,} {key.replace('_', ' ')}" if not isinstance(value, str) else f"{key} {value}"
        for key, value in result.summary.items()
    )
    failing = result.failing(fail_on)
    counts = ", ".join(
        f"{number} {severity}"
        for severity in Severity
        if (number := sum(f.severity is severity for f in result.findings))
    )
    verdict = f"does not hold: {counts}" if failing else f"holds{f' ({counts})' if counts else ''}"
    yield _paint(f"{result.gate}: {verdict}", "31;1" if failing else "32;1", colour=colour)
    yield result.not_established


def _group(severity: Severity, findings: list[Finding], *, colour: bool) -> Iterator[str]:
    by_symbol: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        by_symbol[finding.code, finding.symbol].append(finding)
    for (code, symbol), group in by_symbol.items():
        yield f"{_paint(severity.value, _COLOUR[severity], colour=colour)} {code}  {symbol}"
        if group[0].moved_to:
            yield f"    now at {', '.join(group[0].moved_to)}"
        for message, places in _by_message(group).items():
            yield f"    {message}"
            yield from (f"      {place}" for place in places)


def _by_message(group: list[Finding]) -> dict[str, list[str]]:
    messages: dict[str, list[str]] = defaultdict(list)
    for finding in group:
        messages[finding.message].append(f"{finding.file}:{finding.line}")
    return messages


def _paint(text: str, code: str, *, colour: bool) -> str:
    return f"\033[{code}m{text}\033[0m" if colour else text
