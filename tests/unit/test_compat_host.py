"""What a host module has, by the ways real packages give names to modules. Each: the module, names there, names not."""

from pathlib import Path

import pytest
from compat_pairs import result, said, unchecked

CASES = {
    "plain": ("def f(): ...\nclass C: ...\nx = y = 1\na, (b, *c) = 1, (2, 3)\nz: int = 1\n", "f C x y a b c z", "w"),
    "annotation only": ("x: int\n", "", "x"),
    "conditional": ("import sys\nif sys.version_info > (3, 12):\n    f = 1\nelse:\n    g = 2\n", "f g sys", "h"),
    "try": (
        "try:\n    import fast as f\nexcept ImportError as e:\n    f = None\nelse:\n    g = 1\nfinally:\n    h = 1\n",
        "f g h",
        "e fast",
    ),
    "with, for, while": (
        "with a as b:\n    c = 1\nfor d in e:\n    f = 1\nwhile g:\n    h = 1\n",
        "b c d f h",
        "a e g",
    ),
    "match": (
        "match a:\n    case [b, *c]:\n        d = 1\n    case {'k': e, **f}:\n        pass\n",
        "b c d e f",
        "a k",
    ),
    "del": ("x = 1\nfor i in []:\n    pass\ndel x, i\ny = 1\n", "y", "x i"),
    "del in one arm": ("x = 1\nif a:\n    del x\n", "x", ""),
    "bound again after del": ("x = 1\ndel x\nx = 2\n", "x", ""),
    "walrus": ("if (n := 10) > 5:\n    pass\n[last := i for i in range(3)]\n", "n last", "i"),
    "global in a function": ("def f():\n    global g, h\n    g = h = 1\n", "f g h", "x"),
    "augmented": ("n = 1\nn += 1\n", "n", ""),
    "type checking": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import T\nelse:\n    F = 1\n",
        "F",
        "T",
    ),
    "type checking or": ("if TYPE_CHECKING or HAS:\n    import json as tl\nelse:\n    tl = None\n", "tl", ""),
    "module attributes": ("", "__name__ __file__ __doc__ __dict__ __path__", "__version__"),
    "lazy loader": ("x = LazyLoader('y', globals(), 'z')\n", "x y", "z w"),
    "globals by name": ("globals()['made'] = 1\n", "made", "other"),
    "getattr if": (
        "def __getattr__(n):\n    if n == 'a' or n == 'b':\n        return 1\n    raise AttributeError(n)\n",
        "a b",
        "c",
    ),
    "getattr in": (
        "def __getattr__(n):\n    if n in ('a', 'b'):\n        return 1\n    elif 'c' == n:\n        return 2\n    else:\n        raise AttributeError\n",
        "a b c",
        "d",
    ),
    "getattr not in": (
        "_KEYS = ['a']\ndef __getattr__(n):\n    if n not in _KEYS:\n        raise AttributeError\n    return load(n)\n",
        "a",
        "b",
    ),
    "getattr dict": (
        "_OLD = {'a': 'x'}\ndef __getattr__(n):\n    if n in _OLD:\n        return getattr(m, _OLD[n])\n    raise AttributeError\n",
        "a",
        "x b",
    ),
    "getattr annotated dict": (
        "env: dict[str, object] = {**BASE, 'b': 1}\ndef __getattr__(n):\n    if n in env:\n        return env[n]()\n    raise AttributeError\nBASE = {'a': lambda: 1}\n",
        "a b",
        "c",
    ),
    "getattr merged dict": (
        "E = {'a': 1} | dict(b=2)\nE.update({'c': 3})\nE['d'] = 4\ndef __getattr__(n):\n    if n in E:\n        return E[n]\n    raise AttributeError\n",
        "a b c d",
        "e",
    ),
    "getattr get": (
        "M = {'a': 'b'}\ndef __getattr__(n):\n    mod = M.get(n)\n    if mod is None:\n        raise AttributeError\n    return load(mod)\n",
        "a",
        "b",
    ),
    "getattr walrus": (
        "M = {'a': 'b'}\ndef __getattr__(n):\n    if (m := M.get(n)) is not None:\n        return m\n    raise AttributeError\n",
        "a",
        "b",
    ),
    "getattr key error": (
        "M = {'a': 'b'}\ndef __getattr__(n):\n    try:\n        return load(M[n])\n    except KeyError:\n        raise AttributeError(n) from None\n",
        "a",
        "b",
    ),
    "getattr inverted dict": (
        "L = {'m': ['a', 'b']}\nM = {n: m for m, ns in L.items() for n in ns}\ndef __getattr__(n):\n    if n in M:\n        return load(M[n])\n    raise AttributeError\n",
        "a b",
        "m",
    ),
    "getattr all": (
        "__all__ = ['a']\ndef __getattr__(n):\n    if n in __all__:\n        return load(n)\n    raise AttributeError\n",
        "a",
        "b",
    ),
    "getattr match": (
        "def __getattr__(n):\n    match n:\n        case 'a' | 'b':\n            return 1\n        case _:\n            raise AttributeError\n",
        "a b",
        "c",
    ),
    "getattr globals": (
        "x = 1\ndef __getattr__(n):\n    if n not in globals():\n        raise AttributeError\n    return globals()[n]\n",
        "x",
        "y",
    ),
    "getattr dunder first": (
        "def __getattr__(n):\n    if n.startswith('__'):\n        raise AttributeError\n    if n == 'a':\n        return 1\n    raise AttributeError\n",
        "a",
        "b",
    ),
    "getattr in the else arm": (
        "import typing\nATTRS = {'a': '.x:a'}\nif typing.TYPE_CHECKING:\n    from .x import a, t\nelse:\n    def __getattr__(n):\n        if n in ATTRS:\n            return 1\n        raise AttributeError\n",
        "a",
        "t",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_exactly_these_names(tmp_path: Path, name: str) -> None:
    module, there, absent = CASES[name]
    names = [*there.split(), *absent.split()]
    source = "\n".join(f"from host.m import {n}" for n in names) or "import host.m"
    found = result(tmp_path, source, {"m/__init__.py": module})
    assert said(found) == [f"error unresolved-import host.m:{n}" for n in absent.split()]
    assert not unchecked(found)


UNDECIDABLE = {
    "getattr open": "def __getattr__(n):\n    return load(n)\n",
    "getattr falls off the end": "def __getattr__(n):\n    if n == 'a':\n        return 1\n",
    "getattr of a registry": "M = {}\ndef register(n):\n    M[n] = 1\ndef __getattr__(n):\n    if n in M:\n        return 1\n    raise AttributeError\n",
    "getattr from elsewhere": "from lazy import __getattr__\n",
    "globals in a loop": "for n in names():\n    globals()[n] = 1\n",
    "globals update": "globals().update(load())\n",
    "replaces itself": "import sys\nsys.modules[__name__] = Lazy()\n",
    "sets its own attributes": "import sys\nfor n in names():\n    setattr(sys.modules[__name__], n, 1)\n",
    "exec": "exec(open('x').read())\n",
    "star of another package": "from elsewhere import *\n",
    "star of a compiled extension": "from host._C import *\n",
    "unreadable": "def f(:\n",
}


@pytest.mark.parametrize("name", UNDECIDABLE)
def test_what_cannot_be_decided_is_never_missing(tmp_path: Path, name: str) -> None:
    host = {"m.py": UNDECIDABLE[name], "_C.abi3.so": b""}
    found = result(tmp_path, "from host.m import anything\n", host)
    assert said(found) == []
    assert [f.symbol for f in unchecked(found)] == ["host.m:anything"]


@pytest.mark.parametrize(
    "source",
    [
        "import host._C",
        "from host._C import ops",
        "from host import _C",
        "import host._C.sub",
        "import host\nhost._C.ops.f()",
    ],
)
def test_a_compiled_extension_is_opaque(tmp_path: Path, source: str) -> None:
    assert said(result(tmp_path, source, {"_C.cpython-311-x86_64-linux-gnu.so": b"", "_C.pyi": ""})) == []


STARS = {
    "m.py": "from host.s import *\nfrom .t import *\nfrom . import u\nfrom .u import *\n",
    "s.py": "public = 1\n_private = 1\n",
    "t.py": "__all__ = ['promised', '_too']\n_too = 1\nhidden = 1\nfrom host.u import __all__ as more\n__all__ += more\n",
    "u.py": "__all__ = []\n__all__.extend(['v'])\n__all__.append('w')\n__all__ += [n for n in ('x',)]\nv = w = 1\nhidden = 1\n",
}


def test_star_imports_and_all(tmp_path: Path) -> None:
    names = "public _private promised _too hidden u v w x"
    found = result(tmp_path, "\n".join(f"from host.m import {n}" for n in names.split()), STARS)
    assert said(found) == [f"error unresolved-import host.m:{n}" for n in ("_private", "hidden")]


def test_circular_star_imports_end(tmp_path: Path) -> None:
    host = {
        "a.py": "from host.b import *\nx = 1\n",
        "b.py": "from host.c import *\ny = 1\n",
        "c.py": "from host.a import *\nz = 1\n",
    }
    found = result(tmp_path, "from host.a import x, y, z, gone\n", host)
    assert said(found) == ["error unresolved-import host.a:gone"]


def test_re_exports_and_submodules(tmp_path: Path) -> None:
    host = {
        "__init__.py": "from .impl import f\nfrom . import sub as renamed\n",
        "impl.py": "def f(): ...\n",
        "sub/__init__.py": "",
        "sub/leaf.py": "x = 1\n",
        "space/inner.py": "y = 1\n",
        "twin.py": "in_module = 1\n",
        "twin/__init__.py": "in_package = 1\n",
    }
    source = """
        import host
        from host import f, sub, renamed, impl, space
        from host.space import inner
        from host.space.inner import y
        from host.twin import in_package
        host.sub.leaf.x
        renamed.leaf.x
        from host.twin import in_module
    """
    assert said(result(tmp_path, source, host)) == ["error unresolved-import host.twin:in_module"]


def test_names_set_from_another_file_of_the_host_are_there(tmp_path: Path) -> None:
    host = {
        "m.py": "class C: ...\n",
        "other.py": "import host.m\nfrom host.m import C\nhost.m.late = 1\nC.method = f\n",
    }
    source = "import host.m\nhost.m.late\nhost.m.C.method\nhost.m.C.other\n"
    assert said(result(tmp_path, source, host)) == ["error missing-attribute host.m:C.other"]


def test_modules_made_at_run_time_are_undecided(tmp_path: Path) -> None:
    host = {"__init__.py": "import sys\nfor name in ('old',):\n    sys.modules[f'host.{name}'] = load(name)\n"}
    found = result(tmp_path, "import host.old\n", host)
    assert said(found) == []
    assert "writes to sys.modules" in unchecked(found)[0].message


def test_a_module_that_other_builds_of_the_host_have_is_undecided(tmp_path: Path) -> None:
    # vllm._rocm_C is compiled for one device only; vllm._version is generated when a wheel is made.
    host = {
        "m.py": "try:\n    import host._rocm_C\nexcept ImportError:\n    pass\n",
        "v.py": "from ._version import v\n",
    }
    found = result(tmp_path, "import host._rocm_C\nfrom host._version import v\nimport host._gone\n", host)
    assert said(found) == ["error unresolved-import host._gone"]


LAZY_MODULE = """
    class _LazyModule:
        def __getattr__(self, name): ...
    def define_import_structure(path, prefix=None): ...
"""


def test_lazy_module_old_style(tmp_path: Path) -> None:
    host = {
        "__init__.py": """
            import sys
            from .utils import _LazyModule, dummy
            _structure = {"config": ["Config"], "models": []}
            try:
                import torch
            except ImportError:
                _structure["dummies"] = [n for n in dir(dummy) if not n.startswith("_")]
            else:
                _structure["models.one"] = ["One"]
                _structure["models"].extend(["Many"])
                _structure["models"] += ["More"]
            sys.modules[__name__] = _LazyModule(__name__, __file__, _structure, extra_objects={"__version__": "1"})
        """,
        "utils/__init__.py": LAZY_MODULE,
        "utils/dummy.py": "class Dummy: ...\ndef _no(): ...\n",
        "config.py": "class Config: ...\n",
    }
    names = "Config One Many More Dummy __version__ config models _no Gone"
    found = result(tmp_path, "\n".join(f"from host import {n}" for n in names.split()), host)
    assert said(found) == ["error unresolved-import host:_no", "error unresolved-import host:Gone"]
    assert not unchecked(found)


def test_lazy_module_that_reads_its_files(tmp_path: Path) -> None:
    # transformers 4.56: __all__ of the files beside it, and what is decorated with @requires.
    host = {
        "__init__.py": """
            import sys
            from pathlib import Path
            from .utils import _LazyModule, define_import_structure
            _import_structure = {"config": ["Config"]}
            import_structure = define_import_structure(Path(__file__).parent / "models", prefix="models")
            import_structure[frozenset({})].update(_import_structure)
            sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], import_structure)
        """,
        "utils.py": LAZY_MODULE,
        "config.py": "class Config: ...\n",
        "models/__init__.py": "",
        "models/one/__init__.py": """
            import sys
            from ...utils import _LazyModule, define_import_structure
            _file = globals()["__file__"]
            sys.modules[__name__] = _LazyModule(__name__, _file, define_import_structure(_file))
        """,
        "models/one/modeling_one.py": "__all__ = ['One']\nclass One: ...\nclass Hidden: ...\n@requires(backends=('torch',))\nclass Two: ...\n",
    }
    source = """
        from host import Config, One, Two, models, Hidden
        from host.models.one import One, Two, modeling_one, Hidden
        from host.models.one.modeling_one import Hidden
    """
    found = result(tmp_path, source, host)
    assert said(found) == ["error unresolved-import host:Hidden", "error unresolved-import host.models.one:Hidden"]
    assert not unchecked(found)


@pytest.mark.parametrize(
    "module",
    [
        "from google.protobuf import builder\nbuilder.BuildTopDescriptors(DESC, 'x_pb2', globals())\n",
        "_globals = globals()\nbuild(_globals)\n",
        "import sys\ninstall_config_module(sys.modules[__name__])\n",  # torch/_inductor/config.py
    ],
)
def test_a_module_that_hands_its_namespace_to_others_is_undecided(tmp_path: Path, module: str) -> None:
    found = result(tmp_path, "from host import m\nm.Message\n", {"m.py": module})
    assert said(found) == []
    assert [f.symbol for f in unchecked(found)] == ["host.m:Message"]


def test_looking_at_globals_hides_nothing(tmp_path: Path) -> None:
    module = "NAMES = sorted(globals())\n__all__ = [n for n in dir() if n in set(globals())]\nx = globals().get('y')\n"
    assert said(result(tmp_path, "from host.m import gone\n", {"m.py": module})) == [
        "error unresolved-import host.m:gone"
    ]


def test_a_folder_of_stubs_is_no_package(tmp_path: Path) -> None:
    # torch/_C holds only .pyi files, and torch._C is compiled.
    host = {"_C.abi3.so": b"", "_C/__init__.pyi": "", "_C/_dynamo/__init__.pyi": "", "only/stub.pyi": ""}
    found = result(tmp_path, "from host._C._dynamo import guards\nimport host.only.stub\n", host)
    assert said(found) == ["error unresolved-import host.only.stub"]


def test_a_walrus_in_a_lambda_binds_nothing_in_the_module(tmp_path: Path) -> None:
    """vLLM 0.32.0, vllm/envs.py: `lambda: val if (val := float(…)) > 0 else 10`; importing it leaves no `val`."""
    host = {"m.py": "f = lambda a=(default := 1): (val := 2)\nkept = [(last := 1) for _ in (1,)]\n"}
    found = result(tmp_path, "from host.m import default, last, val\n", host)
    assert said(found) == ["error unresolved-import host.m:val"]
