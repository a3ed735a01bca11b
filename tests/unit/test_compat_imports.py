"""`unresolved-import`: which imports count, which guards hold. The rules are those of Python's import statement."""

from pathlib import Path

import pytest
from compat_pairs import result, said, unchecked

from atomstack.errors import CannotCheckError

HOST = {"a.py": "X = 1\n", "b/__init__.py": "", "b/c.py": "Y = 1\n"}


@pytest.mark.parametrize(
    "source",
    [
        "import host.a",
        "import host.b.c as c",
        "from host import a, b",
        "from host.a import X as Z",
        "from host.b.c import *",
        "def f():\n    from host.a import X",
        "try:\n    from host.a import X\nexcept ImportError:\n    from host.gone import X",
        "try:\n    from host.gone import X\nexcept ImportError:\n    from host.a import X",
        "try:\n    import host.gone as g\nexcept ModuleNotFoundError:\n    import host.a as g",
        "import host\ntry:\n    from host.a import gone\nexcept ImportError:\n    gone = None",
        "import host\ntry:\n    from host.a import gone\nexcept (ImportError, RuntimeError):\n    pass",
        "import host\ntry:\n    from host.a import gone\nexcept Exception:\n    pass",
        "import host\ntry:\n    from host.a import gone\nexcept:\n    pass",
        "import host\nfrom contextlib import suppress\nwith suppress(ImportError):\n    from host.a import gone",
        "import host\nfrom importlib.util import find_spec\nif find_spec('host.gone'):\n    from host.gone import X",
        "import host\nfrom importlib.util import find_spec\nif find_spec('host.gone') is None:\n    X = 1\nelse:\n    import host.gone",
        "import host\nif hasattr(host.a, 'gone'):\n    from host.a import gone",
        "import host.a\nif not hasattr(host.a, 'gone'):\n    raise SystemExit\nfrom host.a import gone",
    ],
)
def test_resolves_or_is_guarded(tmp_path: Path, source: str) -> None:
    assert said(result(tmp_path, source, HOST)) == []


@pytest.mark.parametrize(
    ("source", "symbol"),
    [
        ("import host.gone", "host.gone"),
        ("import host.a.x", "host.a.x"),  # a module is no package
        ("from host import gone", "host:gone"),
        ("from host.a import X, gone", "host.a:gone"),
        ("def f():\n    from host.a import gone", "host.a:gone"),
        ("import importlib\nimportlib.import_module('host.gone')", "host.gone"),
        # ModuleNotFoundError is not what a missing *name* raises
        ("try:\n    from host.a import gone\nexcept ModuleNotFoundError:\n    gone = None", "host.a:gone"),
        ("try:\n    from host.a import gone\nexcept AttributeError:\n    gone = None", "host.a:gone"),
        # a handler that raises guards nothing
        ("try:\n    from host.a import gone\nexcept ImportError:\n    raise", "host.a:gone"),
        (
            "try:\n    from host.a import gone\nexcept ImportError as e:\n    raise RuntimeError('no') from e",
            "host.a:gone",
        ),
        # what runs when the import went well is not guarded by its handler
        ("try:\n    import host\nexcept ImportError:\n    pass\nelse:\n    from host.a import gone", "host.a:gone"),
        # a function runs when it is called, outside of the try
        ("try:\n    def f():\n        from host.a import gone\nexcept ImportError:\n    pass", "host.a:gone"),
        # whether a package is there says nothing about a name in it
        ("from x import is_host_available\nif is_host_available():\n    from host.a import gone", "host.a:gone"),
        ("from importlib.util import find_spec\nif find_spec('host'):\n    from host.a import gone", "host.a:gone"),
    ],
)
def test_does_not_resolve(tmp_path: Path, source: str, symbol: str) -> None:
    assert said(result(tmp_path, source, HOST)) == [f"error unresolved-import {symbol}"]


def test_one_finding_for_a_ladder_with_no_rung_left(tmp_path: Path) -> None:
    found = result(
        tmp_path, "try:\n    from host.gone import X\nexcept ImportError:\n    from host.away import X\n", HOST
    )
    assert said(found) == ["error unresolved-import host.gone:X"]
    assert "host.gone:X (line 2)" in found.findings[0].message
    assert found.summary["import_sites"] == 2


@pytest.mark.parametrize(
    "source",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from host.gone import X",
        "import typing as t\nif t.TYPE_CHECKING:\n    from host.gone import X",
        "from typing import TYPE_CHECKING as TC\nif TC:\n    from host.gone import X",
        "from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    pass\nelse:\n    from host.gone import X",
        "if False:\n    from host.gone import X",
    ],
)
def test_what_only_a_type_checker_sees_is_no_import_site(tmp_path: Path, source: str) -> None:
    found = result(tmp_path, f"{source}\nimport host\n", HOST)
    assert said(found) == []
    assert found.summary["import_sites"] == 1


def test_the_other_arm_of_type_checking_runs(tmp_path: Path) -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n    from host.gone import X\n"
    assert said(result(tmp_path, source, HOST)) == ["error unresolved-import host.gone:X"]


def test_counts_every_name_at_every_place(tmp_path: Path) -> None:
    source = """
        import host.a, host.b
        from host.a import X
        from .host import nothing_of_theirs
        import hosting
        def f():
            from host.a import X
    """
    found = result(tmp_path, source, HOST)
    assert (found.summary["import_sites"], found.summary["distinct_symbols"]) == (4, 3)


@pytest.mark.parametrize(
    "gate",
    [
        "host_version_is('0.1')",
        "is_host_equal_or_newer('2.7')",
        "HOST_VERSION >= (0, 12)",
        "version.parse(v) > version.parse('0.1')",
        "HOST_GE_0_12",
    ],
)
def test_a_version_gate_that_cannot_be_read_leaves_the_site_undecided(tmp_path: Path, gate: str) -> None:
    found = result(tmp_path, f"if {gate}:\n    from host.gone import X\n", HOST)
    assert said(found) == []
    assert "host.gone:X: runs only under" in unchecked(found)[0].message


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        ("Version(host.__version__) >= Version('0.5')", 1),
        ("Version(host.__version__) < Version('0.5')", 0),
        ("version.parse(metadata.version('host')) > version.parse('2')", 0),
        ("NEW", 1),
        ("not NEW", 0),
    ],
)
def test_a_plain_comparison_of_the_host_version_is_evaluated(tmp_path: Path, gate: str, expected: int) -> None:
    source = (
        f"import host\nNEW = Version(host.__version__) >= Version('1.0')\nif {gate}:\n    from host.gone import X\n"
    )
    found = result(tmp_path, source, HOST | {"__init__.py": "__version__ = '1.2.0'\n"})
    assert len(said(found)) == expected
    assert not unchecked(found)


def test_the_version_of_python_or_of_another_package_gates_nothing(tmp_path: Path) -> None:
    source = (
        "import sys, torch\nif torch.__version__ > '2' and sys.version_info > (3, 9):\n    from host.gone import X\n"
    )
    assert said(result(tmp_path, source, HOST)) == ["error unresolved-import host.gone:X"]


def test_a_flag_set_by_the_import_guards_what_is_under_it(tmp_path: Path) -> None:
    source = """
        try:
            import host.gone
            HAS_GONE = True
        except ImportError:
            HAS_GONE = False
        if HAS_GONE:
            from host.gone import X
        def f():
            if not HAS_GONE:
                return None
            from host.gone.deep import Y
    """
    assert said(result(tmp_path, source, HOST)) == []


def test_a_function_that_tries_the_import_guards_what_is_under_it(tmp_path: Path) -> None:
    # torch/utils/_triton.py has such functions for each feature of triton.
    source = {
        "probe.py": "def has_gone():\n    try:\n        from host.a import gone\n        return True\n    except ImportError:\n        return False\n",
        "use.py": "from plug.probe import has_gone\nif has_gone():\n    from host.a import gone\n",
    }
    assert said(result(tmp_path, source, HOST)) == []


def test_after_a_failed_import_returned_nothing_runs(tmp_path: Path) -> None:
    source = """
        def f():
            try:
                from host.gone import A
            except ImportError:
                return
            from host.gone import B
    """
    assert said(result(tmp_path, source, HOST)) == []


def test_an_absent_import_with_a_guard_is_listed_as_not_checked(tmp_path: Path) -> None:
    found = result(tmp_path, "try:\n    from host.a import gone\nexcept ImportError:\n    gone = None\n", HOST)
    assert found.findings == ()
    assert found.not_checked == (
        "host.a:gone is absent and its import is guarded: whether plug/use.py:2 does without it was not checked",
    )


def test_a_consumer_that_uses_nothing_of_the_host_is_no_clean_result(tmp_path: Path) -> None:
    with pytest.raises(CannotCheckError, match="no import of host in package plug"):
        result(tmp_path, "import os\n", HOST)


def test_names_the_new_place_nearest_first(tmp_path: Path) -> None:
    host = {
        "utils/__init__.py": "",
        "utils/net.py": "def get_port(): ...\n",
        "deep/er/net.py": "def get_port(): ...\n",
        "_private.py": "def get_port(): ...\n",
        "reexport.py": "from host.utils.net import get_port\n",
        "method.py": "class C:\n    def get_port(self): ...\n",
    }
    found = result(tmp_path, "from host.utils import get_port\n", host)
    assert found.findings[0].moved_to == (
        "host.utils.net:get_port",
        "host.deep.er.net:get_port",
        "host._private:get_port",
    )


def test_names_the_new_place_of_a_module(tmp_path: Path) -> None:
    host = {"new/__init__.py": "", "new/thing/__init__.py": "", "new/thing/part.py": "", "part.py": ""}
    found = result(tmp_path, "import host.old.thing.part\n", host)
    assert found.findings[0].moved_to == ("host.new.thing.part",)  # host.part shares too little


LADDERS = {
    "an inner try deals with it": "try:\n    try:\n        from host.a import gone\n        HAS = True\n    except ImportError:\n"
    "        HAS = False\n    if HAS:\n        host.a.gone\nfinally:\n    pass",
    "the first handler that catches runs": "try:\n    import host.gone\nexcept ModuleNotFoundError:\n    pass\n"
    "except ImportError:\n    from host.a import gone",
    "the flag as it is at that line": "try:\n    from host.a import gone\n    HAS = True\nexcept ImportError:\n    HAS = False\n"
    "if HAS:\n    host.a.gone\ntry:\n    from host.a import X\n    HAS = True\nexcept ImportError:\n    HAS = False",
    "nothing runs after an import that fails": "try:\n    from host.a import gone\n    host.a.gone\nexcept ImportError:\n    pass",
    "this Python is never that old": "import sys\nif sys.version_info >= (3, 8):\n    pass\nelse:\n    from host.a import gone",
}


@pytest.mark.parametrize("name", LADDERS)
def test_what_python_never_runs(tmp_path: Path, name: str) -> None:
    assert said(result(tmp_path, f"import host.a\n{LADDERS[name]}\n", HOST)) == []


def test_what_python_does_run(tmp_path: Path) -> None:
    source = "import host.a\ntry:\n    from host.a import X\n    HAS = True\nexcept ImportError:\n    HAS = False\nif HAS:\n    host.a.gone"
    assert said(result(tmp_path, source, HOST)) == ["error missing-attribute host.a:gone"]
    source = "import host.a\ntry:\n    from host.a import gone\nexcept ModuleNotFoundError:\n    pass\nexcept ImportError:\n    import host.gone"
    assert said(result(tmp_path, source, HOST)) == ["error unresolved-import host.a:gone"]


@pytest.mark.parametrize(
    "calls",
    [
        "f() if Version(host.__version__) > Version('2') else g()",
        "patch('x', f if version.parse(host.__version__) > version.parse('2') else g)",
        "def install():\n    if hasattr(host, 'gone'):\n        f()",
        "try:\n    f()\nexcept ImportError:\n    pass",
        "def install():\n    with suppress(ImportError):\n        f()",
    ],
)
def test_a_function_runs_where_it_is_called(tmp_path: Path, calls: str) -> None:
    # verl 0.7.0, vllm_fp8_utils.py: one function for vLLM 0.10, one for 0.11, chosen where they are installed.
    source = f"import host\ndef f():\n    from host.gone import X\ndef g(): ...\n{calls}\n"
    host = HOST | {"__init__.py": "__version__ = '1.0'\n"}
    assert said(result(tmp_path, source, host)) == []
    called_elsewhere = {"use.py": source, "other.py": "from plug.use import f\nf()\n"}
    assert said(result(tmp_path / "2", called_elsewhere, host)) == ["error unresolved-import host.gone:X"]


def test_a_function_that_is_called_without_a_guard_too_is_not_guarded(tmp_path: Path) -> None:
    source = "import host\ndef f():\n    from host.gone import X\ntry:\n    f()\nexcept ImportError:\n    pass\nf()\n"
    assert said(result(tmp_path, source, HOST)) == ["error unresolved-import host.gone:X"]
