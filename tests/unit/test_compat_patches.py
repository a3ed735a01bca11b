"""`missing-patch-target`: monkeypatches with nothing to patch; *silent* where a guard stands down."""

from pathlib import Path

import pytest
from compat_pairs import result, said, unchecked

HOST = {
    "m.py": "def f(): ...\nclass C:\n    def method(self): ...\n",
    "new.py": "def moved(): ...\n",
}
START = "import host.m\nfrom host import m\nfrom host.m import C\ndef replacement(*a): ...\n"


@pytest.mark.parametrize(
    "patch",
    [
        "m.f = replacement",
        "host.m.f = m.C = replacement",
        "C.method = replacement",
        "setattr(m, 'f', replacement)",
        "original = m.f\nm.f = lambda: original()",
        "m.f.attribute = 1",
        "C().anything = 1",
        "other.gone = replacement",
        "C.__doc__ = 'x'",
    ],
)
def test_the_target_is_there(tmp_path: Path, patch: str) -> None:
    assert said(result(tmp_path, START + patch, HOST)) == []


@pytest.mark.parametrize(
    ("patch", "symbol"),
    [
        ("m.gone = replacement", "host.m:gone"),
        ("host.m.gone = replacement", "host.m:gone"),
        ("m.f, m.gone = replacement, replacement", "host.m:gone"),
        ("C.gone = replacement", "host.m:C.gone"),
        ("m.C.gone = replacement", "host.m:C.gone"),
        ("setattr(m, 'gone', replacement)", "host.m:gone"),
        ("def install():\n    m.gone = replacement", "host.m:gone"),
    ],
)
def test_an_unguarded_patch_of_nothing(tmp_path: Path, patch: str, symbol: str) -> None:
    found = result(tmp_path, START + patch, HOST)
    assert said(found) == [f"error missing-patch-target {symbol}"]
    assert found.findings[0].guard is None
    assert found.summary["patch_sites"] >= 1


@pytest.mark.parametrize(
    ("patch", "guard"),
    [
        ("if hasattr(m, 'gone'):\n    m.gone = replacement", "if hasattr(m, 'gone')"),
        ("def p():\n    if not hasattr(m, 'gone'):\n        return\n    m.gone = replacement", "if hasattr(m, 'gone')"),
        ("has = hasattr(m, 'gone')\nif has:\n    m.gone = replacement", "if has"),
        ("old = getattr(m, 'gone', None)\nif old is not None:\n    m.gone = replacement", "if old is not None"),
        ("if getattr(m, 'gone', None):\n    m.gone = replacement", "if getattr(m, 'gone', None)"),
        ("try:\n    m.gone = wrap(m.gone)\nexcept AttributeError:\n    pass", "except AttributeError"),
        ("try:\n    m.gone = replacement\nexcept Exception:\n    pass", "except Exception"),
    ],
)
def test_a_guarded_patch_stands_down_silently(tmp_path: Path, patch: str, guard: str) -> None:
    found = result(tmp_path, START + patch, HOST)
    assert said(found) == ["silent missing-patch-target host.m:gone"]
    assert found.findings[0].guard == guard


def test_a_patch_whose_module_is_gone_stands_down_silently(tmp_path: Path) -> None:
    source = """
        import host
        def install():
            try:
                from host import old
            except ImportError:
                return
            old.moved = replacement
    """
    found = result(tmp_path, source, HOST)
    assert said(found) == ["silent missing-patch-target host:old.moved"]


def test_says_where_the_target_went(tmp_path: Path) -> None:
    found = result(tmp_path, START + "if hasattr(m, 'moved'):\n    m.moved = replacement\n", HOST)
    assert found.findings[0].moved_to == ("host.new:moved",)


def test_reading_the_original_is_said_as_well(tmp_path: Path) -> None:
    found = result(tmp_path, START + "original = m.gone\nm.gone = replacement\n", HOST)
    assert said(found) == ["error missing-attribute host.m:gone", "error missing-patch-target host.m:gone"]


@pytest.mark.parametrize(
    "addition",
    [
        "m.ours = replacement\ndef f(): return m.ours()",
        "C.ours = replacement\ndef f(c): return c.ours()",
        "m._patched = True",
        "def p():\n    if getattr(m, '_patched', False):\n        return\n    m._patched = object()",
        "if not hasattr(m, 'ours'):\n    m.ours = replacement",
        "try:\n    m.ours\nexcept AttributeError:\n    pass\nelse:\n    pass\nm.f = replacement",
    ],
)
def test_an_addition_of_its_own_is_no_patch(tmp_path: Path, addition: str) -> None:
    assert said(result(tmp_path, START + addition, HOST)) == []


def test_a_helper_put_on_a_class_under_its_own_name_may_be_an_addition(tmp_path: Path) -> None:
    # vllm-ascend 0.20.2rc1 puts thirty such helpers on DeepSeekV4ToolParser and calls them by their plain names.
    source = START + "def _helper(self): ...\nC._helper = _helper\nclass New: ...\nm.New = New\n"
    found = result(tmp_path, source, HOST)
    assert said(found) == []
    assert len(unchecked(found)) == 2


def test_a_class_of_that_name_is_a_patch_where_the_host_still_speaks_of_it(tmp_path: Path) -> None:
    host = HOST | {"other.py": "# New was made public in 0.9\n"}
    source = START + "class New: ...\nm.New = New\n"
    assert said(result(tmp_path, source, host)) == ["error missing-patch-target host.m:New"]


def test_silent_comes_first(tmp_path: Path) -> None:
    source = START + "m.aaa = replacement\nif hasattr(m, 'zzz'):\n    m.zzz = replacement\n"
    assert [f.severity.value for f in result(tmp_path, source, HOST).findings] == ["silent", "error"]
