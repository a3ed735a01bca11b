"""`missing-attribute`: attributes read off host modules and classes, by Python's rules of scope and lookup."""

from pathlib import Path

import pytest
from compat_pairs import result, said, unchecked

HOST = {
    "m.py": """
        x = 1
        def f(): ...
        class Base:
            inherited = 1
        class C(Base):
            own: int = 0
            def method(self): self.instance = 1
        class E(__import__('enum').Enum):
            A = 1
    """,
    "p/__init__.py": "",
    "p/q.py": "deep = 1\n",
}


@pytest.mark.parametrize(
    "use",
    [
        "host.m.x",
        "m.f()",
        "m.f.anything_of_a_function",
        "m.x.anything_of_a_value",
        "host.p.q.deep",
        "C.own, C.method, C.inherited, C.__name__, C.mro()",
        "C().whatever",
        "hasattr(m, 'gone') and m.gone",
        "m.gone if hasattr(m, 'gone') else None",
        "getattr(m, 'gone', None)",
        "not hasattr(m, 'gone') or m.gone",
        "[m.gone for _ in range(3) if hasattr(m, 'gone')]",
        "(lambda m: m.gone)(1)",
        "[m.gone for m in ()]",
        "'m.gone'",
    ],
)
def test_is_there_or_is_guarded(tmp_path: Path, use: str) -> None:
    source = f"import host.m\nimport host.p\nfrom host import m\nfrom host.m import C\n{use}\n"
    assert said(result(tmp_path, source, HOST)) == []


@pytest.mark.parametrize(
    ("use", "symbol"),
    [
        ("host.gone", "host:gone"),
        ("host.m.gone", "host.m:gone"),
        ("m.gone.and_more()", "host.m:gone"),
        ("host.p.q.gone", "host.p.q:gone"),
        ("alias.gone", "host.m:gone"),
        ("late.gone", "host.m:gone"),
        ("C.gone", "host.m:C.gone"),
        ("C.instance", "host.m:C.instance"),
        ("getattr(m, 'gone')", "host.m:gone"),
        ("m.gone += 1", "host.m:gone"),
        ("del m.gone", "host.m:gone"),
        ("lambda: m.gone", "host.m:gone"),
        ("f'{m.gone}'", "host.m:gone"),
        ("def f(a=m.gone): ...", "host.m:gone"),
        ("def f(a: m.gone): ...", "host.m:gone"),
        ("@m.gone\ndef f(): ...", "host.m:gone"),
        ("class D(m.gone): ...", "host.m:gone"),
        ("while m.gone:\n    break", "host.m:gone"),
        ("hasattr(m, 'x') and m.gone", "host.m:gone"),
    ],
)
def test_is_missing(tmp_path: Path, use: str, symbol: str) -> None:
    source = "import importlib, host.m\nfrom host import m\nfrom host.m import C\nimport host.p.q\nalias = m\n"
    source += f"late = importlib.import_module('host.m')\n{use}\n"
    assert said(result(tmp_path, source, HOST)) == [f"error missing-attribute {symbol}"]


def test_a_name_that_is_bound_again_is_not_followed(tmp_path: Path) -> None:
    source = """
        from host import m
        def parameter(m): return m.gone
        def rebound():
            m = make()
            return m.gone
        def looped():
            for m in (): m.gone
            with open(".") as m: m.gone
        def imported():
            from elsewhere import m
            return m.gone
        class K:
            m = other()
            m.gone
            def method(self): return m.there_is_no_class_scope_here
    """
    assert said(result(tmp_path, source, HOST)) == ["error missing-attribute host.m:there_is_no_class_scope_here"]


def test_a_global_that_a_function_sets_is_not_followed(tmp_path: Path) -> None:
    source = "from host import m\ndef f():\n    global m\n    m = other()\nm.gone\n"
    assert said(result(tmp_path, source, HOST)) == []


def test_a_ladder_is_followed_to_the_rung_that_resolves(tmp_path: Path) -> None:
    source = "try:\n    from host import gone as m\nexcept ImportError:\n    from host import m\nm.x\nm.nothing\n"
    assert said(result(tmp_path, source, HOST)) == ["error missing-attribute host.m:nothing"]


def test_none_for_want_of_the_import_leaves_the_module_certain(tmp_path: Path) -> None:
    source = "try:\n    from host import m\nexcept ImportError:\n    m = None\nm.gone\n"
    assert said(result(tmp_path, source, HOST)) == ["error missing-attribute host.m:gone"]


@pytest.mark.parametrize("handler", ["AttributeError", "(ImportError, AttributeError)", "Exception"])
def test_a_handler_for_attribute_errors_guards(tmp_path: Path, handler: str) -> None:
    source = f"from host import m\ntry:\n    m.gone\nexcept {handler}:\n    pass\n"
    assert said(result(tmp_path, source, HOST)) == []


def test_an_early_return_guards(tmp_path: Path) -> None:
    source = """
        from host import m
        def f():
            if not hasattr(m, "gone"):
                return None
            return m.gone
        has = hasattr(m, "gone")
        if has:
            m.gone
        got = getattr(m, "gone", None)
        if got is not None:
            m.gone
    """
    assert said(result(tmp_path, source, HOST)) == []


def test_what_the_consumer_adds_itself_is_there(tmp_path: Path) -> None:
    source = """
        from host import m
        from host.m import E
        m.ours = 1
        extend_enum(E, "NEW", 2)
        def f(): return m.ours, E.NEW
    """
    assert said(result(tmp_path, source, HOST)) == []


def test_annotations_that_are_never_evaluated_are_not_read(tmp_path: Path) -> None:
    source = "from __future__ import annotations\nfrom host import m\ndef f(a: m.gone) -> m.gone:\n    b: m.gone\n"
    assert said(result(tmp_path, source, HOST)) == []


@pytest.mark.parametrize(
    "definition",
    [
        "class C(Unknown): ...",
        "class C(elsewhere.Model): ...",
        "class C(metaclass=Meta): ...",
        "@register\nclass C: ...",
        "class C:\n    locals().update(made())",
        "if cond:\n    class C: ...\nelse:\n    from .x import C",
        "C = make()",
    ],
)
def test_a_class_that_is_not_known_in_full_is_not_judged(tmp_path: Path, definition: str) -> None:
    host = {"m.py": f"from elsewhere import Unknown\n{definition}\n"}
    assert said(result(tmp_path, "from host.m import C\nC.gone\n", host)) == []


def test_keys_the_consumer_may_add_to_a_lazy_module_are_undecided(tmp_path: Path) -> None:
    # Plugins of vLLM do this: vllm.envs.environment_variables.update({...}).
    host = {
        "envs.py": "env = {'A': 1}\ndef __getattr__(n):\n    if n in env:\n        return env[n]\n    raise AttributeError\n"
    }
    assert said(result(tmp_path, "from host import envs\nenvs.B\n", host)) == ["error missing-attribute host.envs:B"]
    found = result(tmp_path, "from host import envs\nenvs.env.update(B=2)\nenvs.B\n", host)
    assert said(found) == []
    assert "may add keys to env" in unchecked(found)[0].message


def test_one_fault_is_said_once(tmp_path: Path) -> None:
    assert said(result(tmp_path, "import host.gone\nhost.gone.f()\n", HOST)) == ["error unresolved-import host.gone"]


@pytest.mark.parametrize(
    ("bases", "attribute", "there"),
    [
        ("ABC", "register", True),  # ABCMeta's: how a class outside the hierarchy joins it
        ("Enum", "__members__", True),  # EnumType's
        ("ABC", "unregister", False),
        ("Enum", "members", False),
    ],
)
def test_a_class_has_what_its_metaclass_has(tmp_path: Path, bases: str, attribute: str, there: bool) -> None:
    host = {"m.py": f"from abc import ABC\nfrom enum import Enum\nclass C({bases}): ...\n"}
    found = said(result(tmp_path, f"from host.m import C\nC.{attribute}\n", host))
    assert bool(found) is not there
