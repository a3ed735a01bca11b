"""`unused-acceptance`: an entry of `accept` in `[tool.compat-check]` that meets no finding."""

from atomstack.compat_check.declared import Accepted
from atomstack.findings import Finding, Severity

CODE = "unused-acceptance"


def finding(entry: Accepted, file: str) -> Finding:
    """The finding for one entry of that file."""
    about = entry.symbol or entry.file or ""
    return Finding(
        CODE, Severity.INFO, file, entry.line, about, f"accepts {entry.code}, which is not found there: drop the entry"
    )
