"""What fits a signature, against Python itself: random functions that are really called.

Not against `inspect.signature(f).bind`: until Python 3.13 it refused `f(a=0)` for `def f(a=0, /, **kw)`, which runs.
"""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atomstack.compat_check.signature import Arguments, Signature, misfit

NAMES = ("a", "b", "c", "d")


def definition(source: str) -> ast.FunctionDef:
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def call(source: str) -> ast.Call:
    node = ast.parse(source, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


@st.composite
def functions(draw: st.DrawFn) -> str:
    """`def f(a, /, b, c=0, *args, d, **kw): ...`, any part of it left out."""
    names = list(NAMES[: draw(st.integers(0, 4))])
    first = draw(st.integers(0, len(names)))
    second = draw(st.integers(first, len(names)))
    optional = draw(st.integers(0, second))
    positional = [name if index < optional else f"{name}=0" for index, name in enumerate(names[:second])]
    if first:
        positional.insert(first, "/")
    keyword = [draw(st.sampled_from((name, f"{name}=0"))) for name in names[second:]]
    star = draw(st.sampled_from(("*args", "*"))) if keyword else draw(st.sampled_from(("*args", "")))
    parts = [*positional, star, *keyword, draw(st.sampled_from(("**kw", "")))]
    return f"def f({', '.join(filter(None, parts))}): ..."


@st.composite
def calls(draw: st.DrawFn) -> str:
    names = draw(st.lists(st.sampled_from((*NAMES, "x")), unique=True, max_size=4))
    return f"f({', '.join(['0'] * draw(st.integers(0, 5)) + [f'{name}=0' for name in names])})"


def python_takes(function: str, arguments: str) -> bool:
    space: dict[str, object] = {}
    exec(function, space)
    try:
        exec(arguments, space)
    except TypeError:
        return False
    return True


@settings(max_examples=500)
@given(functions(), calls())
def test_fits_where_python_binds(function: str, arguments: str) -> None:
    fits = misfit(Signature.of_function(definition(function)), Arguments.of_call(call(arguments))) is None
    assert fits is python_takes(function, arguments)


@settings(max_examples=500)
@given(functions(), functions(), calls())
def test_one_that_accepts_another_takes_every_call_of_it(wide: str, narrow: str, arguments: str) -> None:
    if Signature.of_function(definition(wide)).accepts(Signature.of_function(definition(narrow))):
        assert python_takes(wide, arguments) or not python_takes(narrow, arguments)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("def f(a, b): ...", "f(*x)"),
        ("def f(a, b): ...", "f(**x)"),
        ("def f(a, *, b): ...", "f(0, **x)"),
        ("def f(a, /, b): ...", "f(*x, b=0)"),
    ],
)
def test_what_a_star_may_bring_is_not_missing(function: str, arguments: str) -> None:
    assert misfit(Signature.of_function(definition(function)), Arguments.of_call(call(arguments))) is None


@pytest.mark.parametrize(
    ("function", "arguments", "says"),
    [
        ("def f(a): ...", "f(0, 0, *x)", "takes 1 positional argument, and it passes 2"),
        ("def f(a): ...", "f(b=0, **x)", "takes no b, which it passes"),
        ("def f(a, *, b): ...", "f(*x)", "also needs b, which it does not pass"),
        ("def f(a, /): ...", "f(**x)", "also needs a, which it does not pass"),
        ("def f(a): ...", "f(0, a=0, **x)", "is given a twice by it"),
    ],
)
def test_what_no_star_mends(function: str, arguments: str, says: str) -> None:
    found = misfit(Signature.of_function(definition(function)), Arguments.of_call(call(arguments)))
    assert found is not None
    assert found.of_call("it") == says


def test_a_bound_method_has_its_first_parameter_already() -> None:
    node = definition("def f(self, a): ...")
    assert [p.name for p in Signature.of_function(node, bound=True).parameters] == ["a"]
    assert [p.name for p in Signature.of_function(definition("def f(*args): ..."), bound=True).parameters] == ["args"]
