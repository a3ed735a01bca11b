"""The page of docs/checks for a finding code, where it was installed along."""

import re
from importlib.resources import files
from pathlib import Path


def page(code: str) -> str | None:
    """The page in Markdown; None where it is not there (a zipapp leaves the pages out) or `code` is no code."""
    if re.fullmatch(r"[a-z]+(-[a-z]+)*", code) is None:
        return None
    beside = Path(__file__).parents[3] / "docs" / "checks"
    for folder in (files("atomstack") / "checks", beside):
        try:
            return (folder / f"{code}.md").read_text(encoding="utf-8")
        except OSError:
            continue
    return None
