"""Text, for a person: silent findings first, by the file in which the fix goes, one entry per missing symbol."""

import textwrap
from collections.abc import Iterator

from atomstack.findings import Finding, Result, Severity
from atomstack.report import words

_COLOUR = {Severity.SILENT: "35;1", Severity.ERROR: "31;1", Severity.INFO: "36"}
_WIDTH = 110
_SITES = 6
_NOT_CHECKED = 10
_BELOW = frozenset(("unchecked",))
"""Codes whose findings `not_checked` says in words."""


def render(result: Result, fail_on: Severity, *, colour: bool = False) -> str:
    """The result as lines of text that end in a newline; the verdict is the last line but the one on what it is not."""
    return "\n".join(_lines(result, fail_on, colour=colour)) + "\n"


def _lines(result: Result, fail_on: Severity, *, colour: bool) -> Iterator[str]:
    if result.headline:
        yield words.plain(result.headline)
    yield f"{result.gate}: {words.sides(result)}"
    open_ones = [f for f in result.findings if f.accepted is None and f.code not in _BELOW]
    for severity in Severity:
        yield from _section(result, severity, [f for f in open_ones if f.severity is severity], colour=colour)
    if accepted := [f for f in result.findings if f.accepted is not None]:
        yield ""
        yield f"accepted ({len(accepted)}):"
        for f in accepted:
            yield from _wrapped(f"{f.severity} {f.code} {f.symbol} ({result.path(f)}:{f.line}): {f.accepted}", "  ")
    if result.not_checked:
        yield ""
        yield f"not decided ({len(result.not_checked)}):"
        for line in result.not_checked[:_NOT_CHECKED]:
            yield from _wrapped(line, "  ")
        if len(result.not_checked) > _NOT_CHECKED:
            yield f"  … and {len(result.not_checked) - _NOT_CHECKED} more (--format json has them all)"
    yield ""
    yield ", ".join(words.counted(key, value) for key, value in result.summary.items())
    verdict = f"{result.gate}: {words.verdict(result, fail_on)}"
    yield _paint(verdict, "31;1" if result.failing(fail_on) else "32;1", colour=colour)
    yield from textwrap.wrap(result.not_established, _WIDTH)


def _section(result: Result, severity: Severity, findings: list[Finding], *, colour: bool) -> Iterator[str]:
    """One entry per code, symbol and message, under the file of its first site."""
    entries: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        entries.setdefault((finding.code, finding.symbol, finding.message), []).append(finding)
    file = ""
    for (code, symbol, message), group in sorted(
        entries.items(), key=lambda entry: (entry[1][0].file, entry[1][0].line)
    ):
        if group[0].file != file:
            file = group[0].file
            yield ""
            yield words.plain(result.path(group[0]))
        label = _paint(severity.value, _COLOUR[severity], colour=colour)
        yield f"  {label} {code}  {words.plain(symbol)}  ({words.plain(_sites(result, group))})"
        yield from _wrapped(message, "    ")
        if group[0].moved_to:
            yield from _wrapped(f"now at {', '.join(group[0].moved_to)}", "    ")


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        words.plain(text),
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _sites(result: Result, group: list[Finding]) -> str:
    """`line 3, 9; other.py:4 and 2 more`: lines of the first one's file, then places in others."""
    here = [str(finding.line) for finding in group if finding.file == group[0].file]
    there = [f"{result.path(finding)}:{finding.line}" for finding in group if finding.file != group[0].file]
    text = f"line {', '.join(here[:_SITES])}{' …' if len(here) > _SITES else ''}"
    if there:
        text += f"; {', '.join(there[:_SITES])}"
    return text + (f" and {len(there) - _SITES} more" if len(there) > _SITES else "")


def _paint(text: str, code: str, *, colour: bool) -> str:
    return f"\033[{code}m{text}\033[0m" if colour else text
