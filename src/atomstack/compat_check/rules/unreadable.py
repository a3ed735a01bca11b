"""`unreadable`: a consumer file that could not be parsed."""

from atomstack.errors import UnreadableError
from atomstack.findings import Finding, Severity

CODE = "unreadable"


def finding(error: UnreadableError) -> Finding:
    """The finding for one file; the line is the parser's, where it names one."""
    line = error.reason.removeprefix("line ").partition(":")[0]
    return Finding(
        CODE,
        Severity.ERROR,
        error.path,
        int(line) if line.isdigit() else 1,
        error.path,
        f"cannot be parsed, so nothing in it was checked: {error.reason}",
    )
