"""compat-check against Python itself: random small hosts and consumers are checked, and then really imported.

What it calls an error must raise; what it calls clean, with nothing undecided, must not. Modules import from later ones
only, so that no circle makes the order of imports matter, and a consumer starts by importing all of the host.
"""

import importlib
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compat_pairs import write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atomstack.compat_check import check
from atomstack.findings import Result
from atomstack.sources import open_source

MODULES = ("a", "b", "c", "d", "d.e")
NAMES = ("x", "y", "_z", "K", "a", "b")
FILES = {"d": "d/__init__.py", "d.e": "d/e.py"}

name = st.sampled_from(NAMES)
names = st.lists(name, max_size=3).map(lambda found: repr(list(found)))


def indent(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for block in lines for line in block.splitlines()) or "    pass"


def statements(simple: st.SearchStrategy[str], *more: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        block = st.lists(inner, min_size=1, max_size=3).map(indent)
        test = st.sampled_from(["True", "False", "TYPE_CHECKING", "not TYPE_CHECKING", "sys.version_info >= (3, 8)"])
        caught = st.sampled_from(["ImportError", "ModuleNotFoundError", "(ImportError, KeyError)", "Exception", ""])
        return st.one_of(
            st.builds("if {}:\n{}\nelse:\n{}".format, test, block, block),
            st.builds("try:\n{}\nexcept {}:\n{}\nelse:\n{}".format, block, caught, block, block).map(
                lambda text: text.replace("except :", "except:")
            ),
            st.builds("try:\n{}\nfinally:\n{}".format, block, block),
            st.builds("with contextlib.nullcontext():\n{}".format, block),
            *more,
        )

    return st.lists(st.recursive(simple, compound, max_leaves=8), max_size=5).map("\n".join)


def module(position: int) -> st.SearchStrategy[str]:
    """The text of one module of the host, which imports from those after it."""
    own = [
        st.builds("{} = 1".format, name),
        st.builds("def {}(): ...".format, name),
        st.builds("class {}: ...".format, name),
        st.builds("{}: int".format, name),
        st.builds("for {} in (1,): pass".format, name),
        st.builds("for {} in (): pass".format, name),
        st.builds("({} := 1)".format, name),
        st.builds("__all__ = {}".format, names),
        st.builds("def make():\n    global {0}\n    {0} = 1\nmake()".format, name),
        st.builds("import json as {}".format, name),
    ]
    after = MODULES[position + 1 :]
    if after:
        later = st.sampled_from(after)
        own += [
            st.builds("from host.{} import {}".format, later, name),
            st.builds("from host.{} import {} as {}".format, later, name, name),
            st.builds("from host.{} import *".format, later),
            st.builds("import host.{} as {}".format, later, name),
        ]
    lazy = st.one_of(
        st.builds(
            "def __getattr__(name):\n    if name in {}:\n        return 1\n    raise AttributeError(name)".format, names
        ),
        st.builds(
            "def __getattr__(name):\n    if name == {!r}:\n        return 1\n    raise AttributeError(name)".format,
            name,
        ),
        st.builds(
            "_M = {{key: 1 for key in {}}}\ndef __getattr__(name):\n    if name not in _M:\n        raise AttributeError(name)\n    return _M[name]\n".format,
            names,
        ),
        st.just(""),
    )
    return st.builds("{}\n{}".format, statements(st.one_of(own)), lazy)


whole = st.sampled_from(MODULES)
reads = st.lists(st.builds("host.{}.{}".format, whole, name), max_size=2).map("\n".join)
sites = statements(
    st.one_of(
        st.builds("from host.{} import {}".format, whole, name),
        st.builds("from host import {}".format, st.sampled_from(["a", "d", "gone"])),
        st.builds("import host.{} as m".format, st.sampled_from([*MODULES, "gone", "a.gone"])),
        st.builds("if hasattr(host.{0}, {1!r}):\n    from host.{0} import {1}".format, whole, name),
        st.builds("getattr(host.{}, {!r}, None)".format, whole, name),
        st.builds(
            "try:\n    from host.{0} import {1}\n    HAS = True\nexcept ImportError:\n    HAS = False\nif HAS:\n    host.{0}.{1}".format,
            whole,
            name,
        ),
        st.builds("with contextlib.suppress(ImportError):\n    from host.{} import {}".format, whole, name),
    )
)
consumer = st.builds("{}\n{}".format, sites, reads)
HEAD = "import contextlib, sys\nfrom typing import TYPE_CHECKING\n"
CONDITIONAL = re.compile(r"^\s*(try|for|with|if (?!name)|def make|\w+: int)", re.M)


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """The folder first on the path, and nothing of host and plug left in sys.modules."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for loaded in [m for m in sys.modules if m.partition(".")[0] in ("host", "plug")]:
            del sys.modules[loaded]


def imported(folder: Path, *modules: str) -> Exception | None:
    with importable(folder):
        try:
            for each in modules:
                importlib.import_module(each)
        except Exception as error:
            return error
    return None


@given(consumer=consumer, host=st.tuples(*map(module, range(len(MODULES)))))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_says_what_python_does(consumer: str, host: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        texts = {FILES.get(m, f"{m}.py"): f"{HEAD}{text}\n" for m, text in zip(MODULES, host, strict=True)}
        write(folder / "host", {"__init__.py": "", **texts})
        everything = ", ".join(f"host.{m}" for m in MODULES)
        write(folder / "plug", {"__init__.py": f"{HEAD}import {everything}\n{consumer}\n"})
        if imported(folder, *(f"host.{m}" for m in MODULES)) is not None:
            return  # a host that does not import is no host
        found = check(open_source(str(folder / "plug")), open_source(str(folder / "host")))
        error = imported(folder, "plug")
    judge(found, error, texts, consumer)


def judge(found: Result, error: Exception | None, host: dict[str, str], consumer: str) -> None:
    said = [f"{f.code} {f.symbol} line {f.line}" for f in found.findings if f.severity != "info"]
    text = "\n".join([f"--- {path}\n{source}" for path, source in host.items()] + ["--- consumer", consumer])
    if said:
        assert isinstance(error, ImportError | AttributeError), f"false: {said}; Python: {error!r}\n{text}"
    elif isinstance(error, ImportError | AttributeError) and not any(map(CONDITIONAL.search, host.values())):
        # A name that any arm binds counts as there, so only hosts without arms are asked.
        assert found.findings, f"missed: {error!r}\n{text}"
