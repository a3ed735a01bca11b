"""Which two packages are meant."""

from atomstack.errors import AtomstackError, UsageError
from atomstack.sources import open_source
from atomstack.sources.tree import SourceTree


def open_pair(consumer: str, host: str, package: str | None) -> tuple[SourceTree, SourceTree]:
    """The consumer and the host, from what the command line says.

    `package` is the consumer's import package. Read as the package whose internals are checked it names the host's,
    and is taken so where the consumer has no such package and the host has.
    """
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
