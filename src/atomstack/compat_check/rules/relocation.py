"""`relocation`: an entry of a relocation table resolves at none of its places, or with another signature."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from atomstack.compat_check import syntax
from atomstack.compat_check.context import Context
from atomstack.compat_check.host import Host, Presence, Target
from atomstack.compat_check.members import class_has
from atomstack.compat_check.relocate import moved_to
from atomstack.compat_check.relocations import Entry, Release, Table, parameters, release_of
from atomstack.findings import Finding, Severity

CODE = "relocation"


@dataclass(frozen=True, slots=True)
class State:
    """What one entry comes to in this host.

    `state` is `here` (where its range says), `elsewhere` (at another of its places), `gone` (at none), `signature`
    (there, with other parameters than stated), `excluded` (no range holds for this version, and it is at none of its
    places), `outside` (no range holds, yet it is there) or `undecided`. `place` is where it resolves; `found` and
    `stated` are parameter lists.
    """

    table: str
    line: int
    symbol: str
    state: str
    place: str | None = None
    stated: str | None = None
    found: str | None = None
    why: str = ""

    def as_dict(self) -> dict[str, object]:
        """For machines."""
        names = ("table", "line", "symbol", "state", "place", "stated", "found")
        return {name: getattr(self, name) for name in names}


def states(host: Host, tables: Iterable[Table]) -> list[State]:
    """The state of every entry, resolved directly: the tables' own ranges are not trusted."""
    release = release_of(host.version or "")
    return [_state(host, table, entry, release) for table in tables for entry in table.entries]


def findings(context: Context, found: Iterable[State]) -> Iterator[Finding]:
    """An error where the table leads nowhere or to another signature; info where its ranges are off."""
    for state in found:
        severity, message = Severity.ERROR, ""
        match state.state:
            case "gone":
                message = f"resolves at none of its places in {context.host_name}"
            case "signature":
                message = f"{state.place} of {context.host_name} takes {state.found}; the table says {state.stated}"
            case "elsewhere":
                severity = Severity.INFO
                message = f"is at {state.place} in {context.host_name}, which is not where the table's range says"
            case "outside":
                severity = Severity.INFO
                message = f"no range of the table holds for {context.host_name}, yet {state.place} is there"
            case "undecided":
                context.note(state.symbol, state.why, state.symbol, state.table, state.line)
                continue
            case _:
                continue
        module, _, name = state.symbol.partition(":")
        moved = moved_to(context.host, module, name) if state.state == "gone" and "." not in name else ()
        yield Finding(CODE, severity, state.table, state.line, state.symbol, message, moved_to=moved)


def _state(host: Host, table: Table, entry: Entry, release: Release | None) -> State:
    def state(name: str, place: str | None = None, **more: str | None) -> State:
        return State(table.path, entry.line, entry.symbol, name, place, **more)  # type: ignore[arg-type]

    looked_up = {place.text: _resolved(host, place.text) for place in entry.places}
    due = [p.text for p in entry.places if release is not None and p.holds(release)]
    ordered = [*due, *(text for text in looked_up if text not in due)]
    for text in ordered:
        presence, node = looked_up[text]
        if presence is Presence.UNKNOWN:
            return state("undecided", why=f"{text} cannot be decided from the host's source")
        if presence is Presence.MISSING:
            continue
        if release is not None and not due:
            return state("outside", text)
        return _with_signature(
            entry, release, node, state("here" if text in due or release is None else "elsewhere", text)
        )
    return state("gone" if due or release is None else "excluded")


def _with_signature(
    entry: Entry, release: Release | None, node: ast.FunctionDef | ast.AsyncFunctionDef | None, state: State
) -> State:
    stated = [s.text for s in entry.signatures if release is None or s.holds(release)]
    if not stated:
        return state
    if node is None:
        why = f"{state.place} is not one plain definition, so its signature was not compared"
        return State(state.table, state.line, state.symbol, "undecided", state.place, stated[0], why=why)
    found = parameters(node)
    name = state.state if found in stated else "signature"
    return State(
        state.table, state.line, state.symbol, name, state.place, found if found in stated else stated[-1], found
    )


def _resolved(host: Host, symbol: str) -> tuple[Presence, ast.FunctionDef | ast.AsyncFunctionDef | None]:
    """Whether `module:qualname` is there, and its definition where it is one plain function or method."""
    module, _, qualname = symbol.partition(":")
    presence = host.find_module(module)
    if presence is not Presence.PRESENT:
        return presence, None
    owner: Target | None = Target("module", module)
    node: ast.AST | None = None
    for part in qualname.split("."):
        if owner is None or owner.kind not in {"module", "class"}:
            return Presence.UNKNOWN, None
        if owner.kind == "module":
            presence, target = host.has(owner.module, part), host.resolve(owner.module, part)
            node = target.node if target is not None else None
        else:
            presence, target = class_has(host, owner, part), None
            node = _method(owner.node, part)
        if presence is not Presence.PRESENT:
            return presence, None
        owner = target
    return presence, node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _method(owner: ast.AST | None, name: str) -> ast.AST | None:
    if not isinstance(owner, ast.ClassDef):
        return None
    found = [node for node in syntax.live_statements(owner.body) if getattr(node, "name", None) == name]
    return found[0] if len(found) == 1 else None
