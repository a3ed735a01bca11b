"""Resolves every pin and writes what it learnt; what cannot be resolved stays as it was, with the reason."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from atomstack.errors import CannotCheckError
from atomstack.lock import git, images, override, wheels
from atomstack.lock.pins import Pins, pins
from atomstack.lock.recipes import recipes


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one pin. `state`: locked, unchanged, moved, kept (was not to be had), unlocked, refused.

    `detail` says what it is locked to, or why not.
    """

    kind: str
    name: str
    state: str
    detail: str


@dataclass(frozen=True, slots=True)
class Report:
    """One run: whether docker-bake.override.json changed, and every pin of the checkout."""

    changed: bool
    outcomes: tuple[Outcome, ...]


def write_offline(root: Path) -> bool:
    """Refresh the half that takes no network; whether docker-bake.override.json changed."""
    found, vllm = recipes(root), wheels.vllm(root)

    def change(old: dict[str, Any]) -> dict[str, Any]:
        new = override.EMPTY_LOCK | old
        return new | {"recipes": found, "wheels": new["wheels"] | {"vllm": vllm}}

    return override.update(root, override.LOCK, change)


def write(root: Path, announce: Callable[[str], None]) -> Report:
    """Resolve every pin of the checkout at `root`, write what was learnt; `announce` is told of progress.

    An entry that cannot be asked for is kept. A tag that moved or a wheel that was replaced is not followed:
    its entry is kept and the outcome is `refused`. An entry whose pin is gone goes.
    """
    offline_changed = write_offline(root)  # bake refuses to say anything without the file
    wanted = pins(root)
    questions = [*_questions(root, wanted)]
    with ThreadPoolExecutor(max_workers=8) as pool:
        asked = []
        for question, answer in zip(questions, pool.map(_ask, questions), strict=True):
            asked.append((question, answer))
            announce(f"asked for {question[1]} ({len(asked)} of {len(questions)})")
    outcomes: list[Outcome] = []

    def change(old: dict[str, Any]) -> dict[str, Any]:
        new: dict[str, Any] = old | {"sources": {}, "images": {}, "wheels": {"vllm": old["wheels"]["vllm"]}}
        for (kind, name, _), answer in asked:
            entry, outcome = _merge(root, kind, name, old.get(kind, {}).get(name), answer)
            outcomes.append(outcome)
            if entry is not None:
                new[kind][name] = entry
        return new

    changed = override.update(root, override.LOCK, change)
    return Report(changed=changed or offline_changed, outcomes=tuple(outcomes))


_Question = tuple[str, str, Callable[[], Any]]


def _questions(root: Path, wanted: Pins) -> Iterator[_Question]:
    """(kind, name in the lock, how to find out) for every pin."""
    for repo, ref in wanted.sources:
        yield "sources", f"{repo}#{ref}", partial(git.resolve, repo, ref)
    for reference in wanted.images:
        yield "images", reference, partial(images.digest, reference)
    yield "wheels", "torch", partial(wheels.torch, root)


def _ask(question: _Question) -> Any:
    """The answer, or the error that stands in its place."""
    try:
        return question[2]()
    except CannotCheckError as error:
        return error


def _merge(root: Path, kind: str, name: str, old: Any, answer: Any) -> tuple[Any, Outcome]:
    """The entry to write, None for none, and what to tell of it."""
    if kind == "wheels" and old is not None and old["version"] != wheels.pinned_torch(root):
        old = None  # of another pin: a source or an image has its pin in its name
    if isinstance(answer, CannotCheckError):
        state = "kept" if old is not None else "unlocked"
        return old, Outcome(kind, name, state, str(answer).splitlines()[0])
    entry = answer.entry() if isinstance(answer, git.Source) else answer
    before, after = _identity(old), _identity(entry)
    if before is None:
        return entry, Outcome(kind, name, "locked", after or "")
    if before == after:
        if isinstance(answer, git.Source):  # a fact that could not be had this time still holds of the commit
            entry = {key: old.get(key) if value is None else value for key, value in entry.items()}
        return entry, Outcome(kind, name, "unchanged", after or "")
    if kind == "wheels" or (isinstance(answer, git.Source) and answer.tag):  # what ought never to change
        return old, Outcome(kind, name, "refused", f"was {before} and is now {after}")
    return entry, Outcome(kind, name, "moved", f"from {before} to {after}")


def _identity(entry: Any) -> str | None:
    return entry.get("commit") or entry.get("sha256") if isinstance(entry, dict) else entry
