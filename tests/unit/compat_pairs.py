"""Two tiny packages on disk, `plug` (the consumer) and `host`, and what compat-check says of them."""

from pathlib import Path
from textwrap import dedent

from atomstack.compat_check import check
from atomstack.findings import Finding, Result
from atomstack.sources import open_source


def result(folder: Path, consumer: str | dict[str, str | bytes], host: dict[str, str | bytes]) -> Result:
    """Check package `plug` (a text is its one module) against package `host`, its modules given by path."""
    files = {"use.py": consumer} if isinstance(consumer, str) else consumer
    write(folder / "consumer" / "plug", {"__init__.py": "", **files})
    write(folder / "offered" / "host", {"__init__.py": "", **host})
    return check(open_source(str(folder / "consumer" / "plug")), open_source(str(folder / "offered" / "host")))


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    """Create files; text is dedented."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else dedent(content).encode())


def said(found: Result) -> list[str]:
    """`severity code symbol` of every finding that is not info, in the order of the report."""
    return [f"{f.severity} {f.code} {f.symbol}" for f in found.findings if f.severity != "info"]


def unchecked(found: Result) -> list[Finding]:
    """The sites that could not be decided."""
    return [f for f in found.findings if f.code == "unchecked"]
