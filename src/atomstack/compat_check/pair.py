"""Which two packages are meant."""

from atomstack.errors import UsageError
from atomstack.sources import open_source
from atomstack.sources.tree import SourceTree


def open_pair(consumer: str, host: str, package: str | None) -> tuple[SourceTree, SourceTree]:
    """The consumer and the host, from what the command line says.

    `package` is the consumer's import package. Read as the package whose internals are checked it names the host's,
    and is taken so where the consumer has no such package.
    """
    try:
        return open_source(consumer, package=package), open_source(host)
    except UsageError:
        if package is None:
            raise
        opened = open_source(host, package=package)
        return open_source(consumer), opened
