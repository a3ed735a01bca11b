"""Searching for words without regular expressions finds what they find (the re documentation: `\\b` in a bytes pattern)."""

import re

from hypothesis import given
from hypothesis import strategies as st

from atomstack.compat_check import words

text = st.text(alphabet="aAb_1. =:(\n\té", max_size=40).map(str.encode)
word = st.from_regex(r"[aAb_][aAb_1]{0,2}", fullmatch=True).map(str.encode)


@given(source=text, sought=word)
def test_places_are_those_of_a_bounded_pattern(source: bytes, sought: bytes) -> None:
    expected = [match.start() for match in re.finditer(rb"\b" + sought + rb"\b", source)]
    assert list(words.places(source, sought)) == expected
    assert words.has(source, sought) is bool(expected)


@given(
    lines=st.lists(
        st.sampled_from(
            [b"def a():", b"  def b(): a", b"class A:", b" async def b", b"a = 1", b"a: A = 1", b"a == 1", b" b = 1"]
        )
    )
)
def test_listing_all_definitions_and_asking_for_one_agree(lines: list[bytes]) -> None:
    source = b"\n".join(lines)
    listed = list(words.definitions(source))
    for name in (b"a", b"b", b"A"):
        asked = [words.defined_at(source, at, at + len(name)) for at in words.places(source, name)]
        assert [kind for kind in asked if kind] == [kind for each, kind in listed if each.encode() == name]


def test_a_word_says_which_single_file_has_it() -> None:
    assert words.all_of([("x.py", b"a.b"), ("y.py", b"b(c1)")]) == {"a": "x.py", "b": None, "c1": "y.py"}
