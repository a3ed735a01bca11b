"""GitHub annotations: workflow commands, one a line, silent findings first; the verdict is the last line."""

from atomstack.findings import Result, Severity
from atomstack.report import words


def render(result: Result, fail_on: Severity) -> str:
    """The commands, each with the file as the repository has it; what is accepted is a notice, as info is."""
    lines = []
    for finding in result.findings:
        level = "notice" if finding.accepted is not None or finding.severity is Severity.INFO else "error"
        place = f"file={_property(result.path(finding))},line={finding.line}"
        title = _property(f"{finding.severity}: {finding.code} {finding.symbol}")
        lines.append(f"::{level} {place},title={title}::{_data(words.whole_message(finding))}")
    if result.headline:
        lines.append(f"{result.gate}: {words.plain(result.headline)}")
    lines.append(f"{result.gate}: {words.sides(result)}: {words.verdict(result, fail_on)}")
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    """What a command says, escaped as GitHub's own toolkit does it."""
    return words.plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
