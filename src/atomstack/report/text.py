"""Text, for a person: silent findings first, by the file in which the fix goes, one entry per missing symbol."""

import textwrap
from collections.abc import Iterator

from atomstack.findings import Finding, Result, Severity

_COLOUR = {Severity.SILENT: "35;1", Severity.ERROR: "31;1", Severity.INFO: "36"}
_WIDTH = 110
_SITES = 6
_NOT_CHECKED = 10


def render(result: Result, fail_on: Severity, *, colour: bool = False) -> str:
    """The result as lines of text that end in a newline; the verdict is the last line but the one on what it is not."""
    return "\n".join(_lines(result, fail_on, colour=colour)) + "\n"


def _plain(text: str) -> str:
    """What the checked packages say, without what would steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def _lines(result: Result, fail_on: Severity, *, colour: bool) -> Iterator[str]:
    sides = " against ".join(
        f"{_plain(i.name)} {_plain(i.version or '(version unknown)')} ({i.kind})" for i in result.inputs
    )
    yield f"{result.gate}: {sides}"
    for severity in (Severity.SILENT, Severity.ERROR):
        yield from _section(severity, [f for f in result.findings if f.severity is severity], colour=colour)
    if result.not_checked:
        yield ""
        yield f"not decided ({len(result.not_checked)}):"
        for line in result.not_checked[:_NOT_CHECKED]:
            yield from _wrapped(line, "  ")
        if len(result.not_checked) > _NOT_CHECKED:
            yield f"  … and {len(result.not_checked) - _NOT_CHECKED} more (--format json has them all)"
    yield ""
    yield ", ".join(_counted(key, value) for key, value in result.summary.items())
    failing = result.failing(fail_on)
    counts = ", ".join(
        f"{number} {severity}"
        for severity in Severity
        if (number := sum(f.severity is severity for f in result.findings))
    )
    verdict = f"does not hold: {counts}" if failing else f"holds{f' ({counts})' if counts else ''}"
    yield _paint(f"{result.gate}: {verdict}", "31;1" if failing else "32;1", colour=colour)
    yield from textwrap.wrap(result.not_established, _WIDTH)


def _counted(key: str, value: float | str) -> str:
    return f"{key} {value}" if isinstance(value, str) else f"{value:,} {key.replace('_', ' ')}"


def _section(severity: Severity, findings: list[Finding], *, colour: bool) -> Iterator[str]:
    """One entry per symbol and code, under the file of its first site."""
    entries: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        entries.setdefault((finding.code, finding.symbol), []).append(finding)
    file = ""
    for (code, symbol), group in sorted(entries.items(), key=lambda entry: (entry[1][0].file, entry[1][0].line)):
        if group[0].file != file:
            file = group[0].file
            yield ""
            yield _plain(file)
        label = _paint(severity.value, _COLOUR[severity], colour=colour)
        yield f"  {label} {code}  {_plain(symbol)}  ({_plain(_sites(group, file))})"
        yield from _wrapped(group[0].message, "    ")
        if group[0].moved_to:
            yield from _wrapped(f"now at {', '.join(group[0].moved_to)}", "    ")


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        _plain(text),
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _sites(group: list[Finding], file: str) -> str:
    """`line 3, 9; other.py:4 and 2 more`: lines of this file, then places in others."""
    here = [str(finding.line) for finding in group if finding.file == file]
    there = [f"{finding.file}:{finding.line}" for finding in group if finding.file != file]
    text = f"line {', '.join(here[:_SITES])}{' …' if len(here) > _SITES else ''}"
    if there:
        text += f"; {', '.join(there[:_SITES])}"
    return text + (f" and {len(there) - _SITES} more" if len(there) > _SITES else "")


def _paint(text: str, code: str, *, colour: bool) -> str:
    return f"\033[{code}m{text}\033[0m" if colour else text
