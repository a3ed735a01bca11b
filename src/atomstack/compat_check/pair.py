"""Which two packages are meant."""

from pathlib import Path

from atomstack.compat_check import declared
from atomstack.errors import AtomstackError, UsageError
from atomstack.sources import open_source
from atomstack.sources.tree import SourceTree


def open_pair(consumer: str, host: str, package: str | None) -> tuple[SourceTree, SourceTree]:
    """The consumer and the host, from what the command line says.

    `package` is the consumer's import package; a folder's own pyproject.toml may name it. Read as the package whose
    internals are checked it names the host's, and is taken so where the consumer has no such package and the host has.
    """
    if package is None and (named := _named(consumer)) is not None:
        return open_source(consumer, package=named), open_source(host)
    if package is None:
        return open_source(consumer), open_source(host)
    try:
        opened = open_source(consumer, package=package)
    except UsageError as error:
        try:
            offered = open_source(host, package=package)
        except AtomstackError:
            raise error from None
        return open_source(consumer), offered
    return opened, open_source(host)


def _named(consumer: str) -> str | None:
    """What `[tool.compat-check]` of the very folder says."""
    file = Path(consumer) / "pyproject.toml"
    try:
        return declared.parse(file.read_text(encoding="utf-8"), str(file)).package if file.is_file() else None
    except (OSError, UnicodeDecodeError, ValueError):
        return None
