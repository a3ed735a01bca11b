"""The gate: consumer and host in, one result out."""

import dataclasses
import gc
import posixpath
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from atomstack.compat_check import declared, relocations, syntax, words
from atomstack.compat_check.context import Context
from atomstack.compat_check.host import Host
from atomstack.compat_check.resolve import Resolver
from atomstack.compat_check.rules import (
    missing_attribute,
    missing_patch_target,
    relocation,
    unchecked,
    unreadable,
    unresolved_import,
    unused_acceptance,
)
from atomstack.compat_check.usage import Usage, scan
from atomstack.errors import CannotCheckError, UnreadableError, UsageError
from atomstack.findings import Check, Finding, Input, Result
from atomstack.sources.tree import SourceTree

NOT_ESTABLISHED = (
    "A clean compat-check means nothing will fail to import. It does not establish that a patch installs (doctor), "
    "that the kernels are there (kernels audit), or that any number is right (the accuracy gate on real hardware)."
)
# `unchecked` reports what the ones before it could not decide.
_FEW = 20
"""Words that are searched for one by one; for more of them, all words of the consumer are listed once."""
_RULES = (unresolved_import, missing_attribute, missing_patch_target, unchecked)


def check(consumer: SourceTree, host: SourceTree, tables: Sequence[Path] = ()) -> Result:
    """What of the host the consumer uses and this host lacks.

    `tables` are relocation tables beside those that the consumer holds. Raises CannotCheckError when the consumer uses
    nothing of the host: a wrong pair must not look like a clean one.
    """
    started = time.perf_counter()
    own = declared.settings(consumer)
    moves = _tables(consumer, host, own, tables)
    with _without_collector():
        usages, found = _read(consumer, host.package)
        sites = [site for usage in usages for site in usage.imports if not site.dynamic]
        if not any(usage.imports for usage in usages) and not found and not moves:
            raise CannotCheckError(
                f"{consumer.origin}: no import of {host.package} in package {consumer.package}, TYPE_CHECKING aside; "
                f"is this the package that uses it? Where there are several, `--package NAME` says which"
            )
        offered = Host(host)
        context = Context(tuple(usages), offered, Resolver(offered, usages, _mentioned(consumer)), _sources(consumer))
        states = relocation.states(offered, moves)
        found += relocation.findings(context, states)
        for rule in _RULES:
            found += rule.findings(context)
        found, unused = declared.accept(list(dict.fromkeys(found)), own, consumer.prefix)
        place = declared.beside(own.file, consumer.prefix)
        found += [unused_acceptance.finding(entry, place) for entry in unused]
        found.sort(key=lambda f: (f.severity.rank, f.file, f.line, f.symbol))
        meant = declared.declarations(consumer, _names(host), own)
        return Result(
            gate="compat-check",
            inputs=(_input("consumer", consumer), _input("host", host)),
            summary={
                "import_sites": len(sites),
                "distinct_symbols": len({site.symbol for site in sites}),
                "patch_sites": sum(map(len, _patches(context))),
                **_counted(states),
                "modules_parsed": len(usages) + offered.modules_parsed,
                "seconds": round(time.perf_counter() - started, 3),
            },
            findings=tuple(found),
            not_established=NOT_ESTABLISHED,
            not_checked=tuple(unchecked.sentences(context)),
            checks=tuple(_described(rule) for rule in (unreadable, relocation, unused_acceptance, *_RULES)),
            headline=declared.headline(_name(consumer), meant, host.version),
            fail_on=own.fail_on,
            details={
                "declared": [declaration.as_dict() for declaration in meant],
                "relocations": [state.as_dict() for state in states],
            },
        )


@contextmanager
def _without_collector() -> Iterator[None]:
    """Syntax trees hold no cycles; looking for some in them takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read(consumer: SourceTree, host: str) -> tuple[list[Usage], list[Finding]]:
    usages: list[Usage] = []
    found: list[Finding] = []
    needle = host.encode()
    for path in consumer.paths():
        if not path.endswith(".py"):
            continue
        try:
            source = consumer.read(path)
            # A NUL between the letters must not hide a file from the parser, which refuses it.
            if needle in source or (b"\0" in source and needle in source.replace(b"\0", b"")):
                usages.append(scan(syntax.parse(source, path), source, file=path, host=host))
        except UnreadableError as error:
            found.append(unreadable.finding(UnreadableError(path, error.reason)))
        except RecursionError:
            found.append(unreadable.finding(UnreadableError(path, "nested too deeply to analyse")))
    return usages, found


def _sources(consumer: SourceTree) -> Callable[[], Iterator[bytes]]:
    return lambda: (source for _, source in _files(consumer))


def _files(consumer: SourceTree) -> Iterator[tuple[str, bytes]]:
    for path in consumer.paths():
        if path.endswith(".py"):
            try:
                yield path, consumer.read(path)
            except UnreadableError:
                continue


def _mentioned(consumer: SourceTree) -> Callable[[str, str], bool]:
    """Whether a file other than the one given has a word; each file is read once, when first asked."""
    known: dict[str, str | None] = {}
    asked = 0

    def elsewhere(name: str, file: str) -> bool:
        nonlocal asked
        asked += 1
        if asked <= _FEW:
            return any(path != file and words.has(source, name.encode()) for path, source in _files(consumer))
        if not known:
            known.update(words.all_of(_files(consumer)))
        return known.get(name, file) != file

    return elsewhere


def _patches(context: Context) -> Iterator[list[str]]:
    """For each file, the host attributes that it assigns."""
    for usage in context.usages:
        looked_up = (context.resolver.lookup(site.names, site.scope) for site in usage.patches)
        yield [
            found.symbol
            for site, found in zip(usage.patches, looked_up, strict=True)
            if found and found.name == site.names[-1]
        ]


def _described(rule: ModuleType) -> Check:
    """A rule's code, and the first line of its docstring after it: what a finding says."""
    first = (rule.__doc__ or "").partition("\n")[0]
    return Check(rule.CODE, first.partition(": ")[2])


def _names(tree: SourceTree) -> list[str]:
    return [tree.package, *([tree.distribution] if tree.distribution else [])]


def _name(tree: SourceTree) -> str:
    return tree.distribution or tree.package


def _input(role: str, tree: SourceTree) -> Input:
    return Input(role, _name(tree), tree.version, tree.kind, tree.content_hash(), tree.prefix)


def _tables(
    consumer: SourceTree, host: SourceTree, own: declared.Settings, given: Sequence[Path]
) -> list[relocations.Table]:
    """The tables about this host: those given, the one that the settings name, those among the consumer's files."""
    contents: dict[bytes, tuple[str, bool]] = {}
    for file in given:
        try:
            contents[file.read_bytes()] = str(file), True
        except OSError as error:
            raise UsageError(f"--relocations {file}: {error.strerror}") from None
    if own.relocations is not None:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(own.file), own.relocations))
        try:
            contents.setdefault(consumer.declaration(path), (path, False))
        except UnreadableError as error:
            raise UsageError(f"{own.file}: [tool.compat-check] relocations: {error}") from None
    for path in consumer.declarations():
        if path.endswith(".json"):
            try:
                content = consumer.declaration(path)
            except UnreadableError:
                continue
            if relocations.is_table(content):
                contents.setdefault(content, (path, False))
    found = []
    for content, (path, was_given) in contents.items():
        table = relocations.read(content, path)
        if table.host == host.package:
            found.append(dataclasses.replace(table, path=declared.beside(path, consumer.prefix)))
        elif was_given:
            raise UsageError(f"{path}: is about {table.host}, and the host is {host.package}")
    return found


def _counted(states: Sequence[relocation.State]) -> dict[str, int | str]:
    """`relocations: 7 (6 here, 1 gone)`."""
    if not states:
        return {}
    counts = Counter(state.state for state in states)
    return {"relocations": f"{len(states)} ({', '.join(f'{number} {name}' for name, number in counts.items())})"}
