"""The gate with a memory: a result is kept, and given again where everything it came from is the same.

That is the names, versions and contents of both packages (never a time of modification), what they declare, the
relocation tables, this program's own source and the Python that runs it. A kept result is a file of JSON that begins
with the hash of the rest: what is damaged, foreign or of another release is not taken.
"""

import contextlib
import hashlib
import json
import os
import posixpath
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import packaging

import atomstack
from atomstack.compat_check import declared
from atomstack.compat_check.check import check as check_anew
from atomstack.errors import UnreadableError
from atomstack.findings import Check, Finding, Input, Result, Severity
from atomstack.sources.cache import default_folder, store
from atomstack.sources.tree import SourceTree

_MOST = 200
"""Results that are kept; the oldest go first. One takes 3 to 200 kB."""
_LIMIT = 8 << 20
"""Bytes of one result that is kept."""


def check(consumer: SourceTree, host: SourceTree, tables: Sequence[Path] = (), *, folder: Path | None = None) -> Result:
    """See check.check. `folder` is where results are kept; without one, everything is checked anew."""
    entry = _entry(folder, consumer, host, tables) if folder is not None else None
    if entry is not None and (known := _load(entry)) is not None:
        return known
    result = check_anew(consumer, host, tables)
    if entry is not None:
        _keep(entry, result)
    return result


def results_folder() -> Path:
    """Where the command keeps results: `results` in the folder of what came from the index."""
    return default_folder() / "results"


def _entry(folder: Path, consumer: SourceTree, host: SourceTree, tables: Sequence[Path]) -> Path | None:
    """The file that is named after everything a result comes from; None where that cannot be told."""
    program = _program()
    if program is None:
        return None
    key = hashlib.sha256(repr((program, sys.version, packaging.__version__)).encode())
    try:
        for file in tables:
            key.update(repr((str(file), file.read_bytes())).encode())
        for fact in (*_facts(consumer), *_facts(host), *_named_table(consumer)):
            key.update(repr(fact).encode("utf-8", "surrogatepass"))
    except (OSError, UnreadableError):
        return None
    return folder / f"{key.hexdigest()}.json"


def _facts(tree: SourceTree) -> Iterator[object]:
    yield tree.package, tree.distribution, tree.version, tree.kind, tree.origin, tree.provenance, tree.prefix
    yield tree.paths()
    yield tree.content_hash()
    for path in tree.paths():
        if path.endswith(".pyi"):
            yield path, tree.read(path)
    for path in tree.declarations():
        yield path, tree.declaration(path)


def _named_table(consumer: SourceTree) -> Iterator[bytes]:
    """The relocation table that the consumer's settings name; it may lie where no declaration is looked for."""
    own = declared.settings(consumer)
    if own.relocations is not None:
        yield consumer.declaration(posixpath.normpath(posixpath.join(posixpath.dirname(own.file), own.relocations)))


def _program() -> bytes | None:
    """The hash of this program's source; None inside a zipapp, which is run where nothing may be left behind."""
    root = os.path.dirname(atomstack.__file__)
    if not os.path.isdir(root):
        return None
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    digest.update(f"{path} {hashlib.sha256(file.read()).hexdigest()}\n".encode())
    return digest.digest()


def _load(entry: Path) -> Result | None:
    try:
        if entry.stat().st_size > _LIMIT:
            return None
        digest, _, document = entry.read_bytes().partition(b"\n")
        if hashlib.sha256(document).hexdigest().encode() != digest:
            return None
        return _decoded(document)
    except (OSError, ValueError, TypeError, LookupError):
        return None


def _keep(entry: Path, result: Result) -> None:
    try:
        document = json.dumps(asdict(result)).encode()
        if len(document) > _LIMIT or _decoded(document) != result:
            return
    except (ValueError, TypeError, LookupError):
        return  # it holds what JSON does not: it is not kept
    store(entry, b"%b\n%b" % (hashlib.sha256(document).hexdigest().encode(), document))
    with contextlib.suppress(OSError):
        kept = sorted(entry.parent.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
        for file in kept[:-_MOST]:
            file.unlink()


def _decoded(document: bytes) -> Result:
    fields = json.loads(document)
    fail_on = fields["fail_on"]
    return Result(
        **fields
        | {
            "inputs": tuple(Input(**side) for side in fields["inputs"]),
            "findings": tuple(
                Finding(**one | {"severity": Severity(one["severity"]), "moved_to": tuple(one["moved_to"])})
                for one in fields["findings"]
            ),
            "checks": tuple(Check(**each) for each in fields["checks"]),
            "not_checked": tuple(fields["not_checked"]),
            "fail_on": None if fail_on is None else Severity(fail_on),
        }
    )
