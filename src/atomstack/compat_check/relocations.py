"""Relocation tables: where a consumer says that symbols of the host are, release by release.

JSON that a shim can read with the standard library of Python 3.10 (docs/checks/relocation.md has the format). Places
and signatures have independent ranges of versions; of a version only the release counts (0.33.0rc1 is 0.33.0).
"""

import ast
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from atomstack.errors import UsageError

FORMAT = "atomstack/relocations@1"
_LIMIT = 4 << 20
"""Bytes of one table; an entry takes about 400."""
_SYMBOL = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_RELEASE = re.compile(r"\d{1,9}(\.\d{1,9}){0,9}")

Release = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Versions from `since` on and before `before`; None is without end. `text` is what holds for them."""

    text: str
    since: Release | None
    before: Release | None

    def holds(self, release: Release) -> bool:
        """Whether a release is one of them."""
        return (self.since is None or release >= self.since) and (self.before is None or release < self.before)

    @property
    def words(self) -> str:
        """`since 0.32 and before 0.33`."""
        ends = (("since", self.since), ("before", self.before))
        return " and ".join(f"{word} {'.'.join(map(str, end))}" for word, end in ends if end is not None) or "always"


@dataclass(frozen=True, slots=True)
class Entry:
    """One symbol, by the name that callers use: its places as `module:qualname`, its signatures as `(a, b=…)`."""

    symbol: str
    line: int
    places: tuple[Span, ...]
    signatures: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One file. `path` is how findings name it; `host` is the import package that it is about."""

    path: str
    host: str
    entries: tuple[Entry, ...]


def is_table(content: bytes) -> bool:
    """Whether a JSON file says that it is one of these."""
    return FORMAT.encode() in content


def release_of(version: str) -> Release | None:
    """The numbers that count of a version, without trailing zeros."""
    match = re.match(r"v?(\d{1,9}(?:\.\d{1,9})*)", version)
    return _release(match[1]) if match else None


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A definition's parameters as tables state them: no annotations, and `…` for every default."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    required = len(plain) - len(given.defaults)
    parts = [argument.arg + ("=…" if index >= required else "") for index, argument in enumerate(plain)]
    if given.posonlyargs:
        parts.insert(len(given.posonlyargs), "/")
    if given.vararg:
        parts.append(f"*{given.vararg.arg}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [
        argument.arg + ("=…" if default is not None else "")
        for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    if given.kwarg:
        parts.append(f"**{given.kwarg.arg}")
    return f"({', '.join(parts)})"


def read(content: bytes, path: str) -> Table:
    """The table; UsageError, with file and line, for anything that is not exactly one."""
    return _Reader(content, path).table()


class _Reader:
    def __init__(self, content: bytes, path: str) -> None:
        self.path = path
        if len(content) > _LIMIT:
            self.refuse(1, f"{len(content):,} bytes, more than the {_LIMIT:,} that are read of a table")
        try:
            self.text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            self.refuse(content.count(b"\n", 0, error.start) + 1, "not UTF-8")

    def refuse(self, line: int, what: str) -> NoReturn:
        raise UsageError(f"{self.path}:{line}: {what}")

    def line(self, key: str, after: int = 1) -> int:
        """The line on which an object's key stands, or else the line that is given."""
        match = re.search(re.escape(json.dumps(key)) + r"\s*:", self.text)
        return self.text.count("\n", 0, match.start()) + 1 if match else after

    def table(self) -> Table:
        try:
            document = json.loads(self.text, object_pairs_hook=self.once)
        except json.JSONDecodeError as error:
            self.refuse(error.lineno, f"not JSON: {error.msg} (column {error.colno})")
        except (RecursionError, ValueError):
            self.refuse(1, "not JSON that can be read: nested too deeply, or a number too long")
        fields = self.fields(document, 1, "the table", {"format", "host", "symbols"}, {"$schema", "note"})
        if fields["format"] != FORMAT:
            self.refuse(self.line("format"), f'expected "format": "{FORMAT}"')
        if not isinstance(fields["host"], str) or not fields["host"].isidentifier():
            self.refuse(self.line("host"), 'expected "host" to be the import package, such as "vllm"')
        if not isinstance(fields["symbols"], dict):
            self.refuse(self.line("symbols"), 'expected "symbols" to be an object of "module:name": entry')
        return Table(
            self.path, fields["host"], tuple(self.entry(key, value) for key, value in fields["symbols"].items())
        )

    def once(self, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            self.refuse(self.line(twice), f"{_short(twice)} stands twice in one object")
        return found

    def fields(
        self, value: object, line: int, what: str, required: set[str], optional: set[str] | None = None
    ) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self.refuse(line, f"expected {what} to be an object")
        if unknown := sorted(value.keys() - required - (optional or set())):
            known = ", ".join(sorted(required | (optional or set())))
            self.refuse(
                self.line(unknown[0], line), f"{what} has an unknown key {_short(unknown[0])}; known are {known}"
            )
        if lacking := sorted(required - value.keys()):
            self.refuse(line, f'{what} has no "{lacking[0]}"')
        return value

    def entry(self, symbol: str, value: object) -> Entry:
        line = self.line(symbol)
        if not _SYMBOL.fullmatch(symbol):
            self.refuse(line, f"{_short(symbol)} is not module:name")
        fields = self.fields(value, line, symbol, {"places"}, {"signatures", "note"})
        places = self.spans(fields["places"], symbol, "places", "at", line)
        if not places:
            self.refuse(line, f"{symbol} has no places")
        for place in places:
            if not _SYMBOL.fullmatch(place.text):
                self.refuse(line, f"{symbol}: {_short(place.text)} is not module:name")
        stated = self.spans(fields.get("signatures", []), symbol, "signatures", "parameters", line)
        signatures = tuple(Span(self.signature(s.text, symbol, line), s.since, s.before) for s in stated)
        return Entry(symbol, line, places, signatures)

    def spans(self, value: object, symbol: str, name: str, key: str, line: int) -> tuple[Span, ...]:
        if not isinstance(value, list):
            self.refuse(line, f"{symbol}: expected {name} to be a list")
        spans = []
        for item in value:
            fields = self.fields(item, line, f"{symbol}, one of its {name},", {key}, {"since", "before"})
            since, before = (self.bound(fields.get(end), symbol, line) for end in ("since", "before"))
            if since is not None and before is not None and since >= before:
                self.refuse(line, f"{symbol}: since {fields['since']} and before {fields['before']} holds no release")
            if not isinstance(fields[key], str):
                self.refuse(line, f'{symbol}: expected "{key}" to be a string')
            spans.append(Span(fields[key], since, before))
        ordered = sorted(spans, key=lambda span: span.since or ())
        for first, second in itertools.pairwise(ordered):
            if first.before is None or (second.since or ()) < first.before:
                both = f"{_short(first.text)} ({first.words}) and {_short(second.text)} ({second.words})"
                self.refuse(line, f"{symbol}: the versions of {both} overlap; give one an end")
        return tuple(spans)

    def bound(self, value: object, symbol: str, line: int) -> Release | None:
        if value is None:
            return None
        if not isinstance(value, str) or not _RELEASE.fullmatch(value):
            self.refuse(line, f'{symbol}: {_short(value)} is not a release such as "0.33.0"')
        return _release(value)

    def signature(self, text: str, symbol: str, line: int) -> str:
        """The parameters in the form that `parameters` gives."""
        body: list[ast.stmt] = []
        if re.fullmatch(r"\([\w\s,*/=….'\"\[\]:|-]{0,5000}\)", text):
            try:
                body = ast.parse(f"def f{text.replace('…', '...')}: ...").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                body = []
        if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
            self.refuse(line, f'{symbol}: {_short(text)} is no parameter list such as "(a, b=…, *, c)"')
        return parameters(body[0])


def _release(text: str) -> Release:
    numbers = [int(number) for number in text.split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
