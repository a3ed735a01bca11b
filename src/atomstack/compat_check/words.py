"""Whole words in the bytes of Python source.

A search by `bytes.find` takes 10 ms for the 50 MB of vLLM. A regular expression that begins with anything but a
literal, as with `\\b`, takes 360 ms. What a word ends at is ASCII, as for `\\b` in a pattern of bytes.
"""

import re
from collections.abc import Iterable, Iterator

_INSIDE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_APART = bytes(byte if byte in _INSIDE or byte > 127 else 32 for byte in range(256))


def places(source: bytes, word: bytes) -> Iterator[int]:
    """Where `word` begins, wherever it stands by itself."""
    length = len(word)
    at = source.find(word)
    while at >= 0:
        end = at + length
        if (at == 0 or source[at - 1] not in _INSIDE) and (end == len(source) or source[end] not in _INSIDE):
            yield at
        at = source.find(word, end)


def has(source: bytes, word: bytes) -> bool:
    """Whether `word` stands somewhere by itself."""
    return next(places(source, word), None) is not None


def all_of(sources: Iterable[tuple[str, bytes]]) -> dict[str, str | None]:
    """Every word, with the path it stands in, or None where it stands in several."""
    found: dict[bytes, str | None] = {}
    for path, source in sources:
        for word in set(source.translate(_APART).split()):
            found[word] = path if word not in found else None
    return {word.decode("utf-8", "replace"): path for word, path in found.items()}


def definitions(source: bytes) -> Iterator[tuple[str, str]]:
    """The names that a file seems to define at its top or as a method, each with `class`, `def`, `async def` or `=`."""
    # The leading newline is a literal: `(?m)^` would be tried at every byte.
    for match in _DEFINITION.finditer(b"\n" + source):
        yield (match[2] or match[3]).decode("utf-8", "replace"), match[1].decode() if match[1] else "="


def defined_at(source: bytes, start: int, end: int) -> str | None:
    """What the word at that place is defined as, in the words of `definitions`; None where it is only named."""
    before = source[source.rfind(b"\n", max(0, start - 100), start) + 1 : start]
    word = before.strip()
    if word in {b"class", b"def", b"async def"} and len(before) - len(word) <= 9:
        return word.decode()
    return "=" if not before and _ASSIGNED.match(source, end) else None


# What a pattern may skip is bounded: a file that is one long line would take the square of its length.
_ASSIGNED = re.compile(rb"[ \t]*(?::[^=\n]{0,300})?=(?!=)")
_DEFINITION = re.compile(rb"\n(?:[ \t]{0,8}(class|def|async def)[ \t]+(\w+)\b|(\w+)[ \t]*(?::[^=\n]{0,300})?=(?!=))")
