"""What several formats say in the same words. The checked packages' own words are never trusted."""

from collections.abc import Iterable

from atomstack.findings import Finding, Result, Severity


def plain(text: str) -> str:
    """What the checked packages say, without what would steer a terminal, a reader's eye (bidi) or a parser."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def sides(result: Result) -> str:
    """`lmcache 0.5.6 (directory) against vllm 0.33.0 (index-wheel)`."""
    return " against ".join(
        f"{plain(i.name)} {plain(i.version or '(version unknown)')} ({i.kind})" for i in result.inputs
    )


def counts(findings: Iterable[Finding]) -> str:
    """`1 silent, 3 error, 2 accepted`; "" for none."""
    listed = list(findings)
    numbers = [(sum(f.severity is s and f.accepted is None for f in listed), s.value) for s in Severity]
    numbers.append((sum(f.accepted is not None for f in listed), "accepted"))
    return ", ".join(f"{number} {what}" for number, what in numbers if number)


def verdict(result: Result, fail_on: Severity) -> str:
    """`does not hold: 1 silent, 3 error`, or `holds`."""
    counted = counts(result.findings)
    if result.failing(fail_on):
        return f"does not hold: {counted}"
    return f"holds ({counted})" if counted else "holds"


def counted(key: str, value: float | str) -> str:
    """One entry of the summary: `1,279 import sites`."""
    return f"{key.replace('_', ' ')} {plain(value)}" if isinstance(value, str) else f"{value:,} {key.replace('_', ' ')}"


def whole_message(finding: Finding) -> str:
    """The message, where the symbol is now, and why it is accepted: all that a line of its own can say."""
    parts = [plain(finding.message)]
    if finding.moved_to:
        parts.append(f"now at {plain(', '.join(finding.moved_to))}")
    if finding.accepted is not None:
        parts.append(f"accepted: {plain(finding.accepted)}")
    return "; ".join(parts)
