"""The one interface through which every check reads a package's files."""

from collections.abc import Sequence
from typing import Protocol


class SourceTree(Protocol):
    """The Python files and compiled extensions of one importable package.

    `package` is the top-level import name, `distribution` the name it is published under, `version` what its
    metadata (or a literal in the package) says, `kind` one of directory, wheel, sdist, index-wheel,
    index-sdist, installed; `origin` is what a person would recognise it by.
    """

    package: str
    distribution: str | None
    version: str | None
    kind: str
    origin: str

    def paths(self) -> Sequence[str]:
        """Sorted posix paths relative to the folder that holds the package: `vllm/config/__init__.py`."""

    def read(self, path: str) -> bytes:
        """The content of one file; raises UnreadableError for a member that cannot or must not be read."""

    def content_hash(self) -> str:
        """`sha256:<hex>` over the sorted paths and contents of the Python files."""
