"""Input that means harm, or is only broken: a finding or exit 3, never a crash, a hang, or a clean verdict.

The command runs in a process of its own, for what is feared most is that the interpreter dies.
"""

import ast
import io
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from compat_pairs import result, said, unchecked, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atomstack.errors import CannotCheckError

HOST = {"__init__.py": "", "a.py": "X = 1\n"}
ENOUGH = 60
"""Seconds for one run: each takes one or two."""


def compat_check(consumer: Path | str, host: Path | str, *more: str) -> tuple[int, str, str]:
    """Exit status, output and errors of the command; a negative status is a signal that killed it."""
    done = subprocess.run(
        [sys.executable, "-m", "atomstack", "compat-check", str(consumer), "--against", str(host), *more],
        capture_output=True,
        text=True,
        timeout=ENOUGH,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def as_json(consumer: Path | str, host: Path | str) -> tuple[int, dict[str, Any]]:
    status, out, err = compat_check(consumer, host, "--format", "json")
    assert "Traceback" not in err, err[-2000:]
    return status, json.loads(out)


def deep(depth: int) -> dict[str, str]:
    """One construct each, nested `depth` times, with an import that is gone at the top of the file."""
    blocks = min(depth, 2_000)  # the indentation alone takes the square of it
    shapes = {
        "parentheses": "x = " + "(" * depth + "host.a" + ")" * depth,
        "lists": "x = " + "[" * depth + "host.a" + "]" * depth,
        "calls": "x = host" + "()" * depth,
        "calls_within": "x = " + "f(" * depth + "host.a" + ")" * depth,
        "attributes": "x = host" + ".a" * depth,
        "subscripts": "x = host" + "[0]" * depth,
        "sums": "x = host.a" + " + 1" * depth,
        "powers": "x = host.a" + " ** 1" * depth,
        "comparisons": "x = host.a" + " < 1" * depth,
        "bools": "x = host.a" + " and 1 or 2" * depth,
        "minus": "x = " + "-" * depth + "host.a",
        "nots": "if " + "not " * depth + "host.a:\n    pass",
        "lambdas": "x = " + "lambda: " * depth + "host.a",
        "ternaries": "x = " + "1 if host.a else " * depth + "1",
        "strings": "x = host.a" + ' + "s"' * depth,
        "comprehensions": "x = " + "[a for a in " * depth + "host.a" + "]" * depth,
        "arms": "if host.a:\n    pass\n" + "elif host.a:\n    import host.a\n" * depth,
        "blocks": "".join(" " * i + "if host.a:\n" for i in range(blocks)) + " " * blocks + "pass",
        "functions": "".join(" " * i + "def f():\n" for i in range(blocks)) + " " * blocks + "host.a",
        "classes": "".join(" " * i + "class C:\n" for i in range(blocks)) + " " * blocks + "x = host.a",
        "tries": "".join(" " * i + "try:\n" for i in range(blocks)) + " " * blocks + "import host.a",
        "f_strings": "x = " + "f'{" * depth + "host.a" + "}'" * depth,
        "decorators": "@host.a\n" * depth + "def f(): ...",
        "assignments": "x = " * depth + "host.a",
        "targets": "(" * depth + "host.a" + ",)" * depth + " = 1",
        "starred": "x = [" + "*[" * depth + "host.a" + "]" * depth + "]",
        "awaits": "async def f():\n    " + "await " * depth + "host.a",
        "walrus": "".join(f"(x{i} := " for i in range(depth)) + "host.a" + ")" * depth,
        "match": "match host.a:\n    case " + "[" * depth + "x" + "]" * depth + ":\n        pass",
        "patches": "host.a" + ".b" * depth + " = 1",
        "dots": "from host" + ".a" * depth + " import b",
    }
    return {f"{name}.py": f"from host.a import gone\n{text}\n" for name, text in shapes.items()}


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_a_deep_consumer_is_checked_or_said_to_be_unreadable(tmp_path: Path, depth: int) -> None:
    files = deep(depth)
    write(tmp_path / "consumer/plug", {"__init__.py": "", **files})
    write(tmp_path / "offered/host", HOST)
    status, report = as_json(tmp_path / "consumer/plug", tmp_path / "offered/host")
    assert status == 1
    first = {f["file"]: f for f in reversed(report["findings"]) if f["symbol"] in ("host.a:gone", f["file"])}
    assert sorted(first) == sorted(f"plug/{name}" for name in files)
    assert {f["code"] for f in first.values()} == {"unresolved-import", "unreadable"}


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_a_deep_host_is_read_or_undecided(tmp_path: Path, depth: int) -> None:
    files = deep(depth)
    write(tmp_path / "offered/host", HOST | {name: f"here = 1\n{text}" for name, text in files.items()})
    asked = [f"from host.{name.removesuffix('.py')} import here, nowhere\n" for name in files]
    write(tmp_path / "consumer/plug", {"__init__.py": "".join(asked)})
    status, report = as_json(tmp_path / "consumer/plug", tmp_path / "offered/host")
    assert status == 1
    assert not [f for f in report["findings"] if f["symbol"].endswith(":here") and f["severity"] != "info"]
    decided = {f["line"] for f in report["findings"] if f["symbol"].endswith(":nowhere")}
    undecided = {f["line"] for f in report["findings"] if "cannot be parsed" in f["message"]}
    assert decided | undecided == set(range(1, len(files) + 1))
    assert decided
    assert undecided


TANGLED = {
    "flags in a circle": "A = B\nB = A\nif A:\n    B = True\nif B:\n    A = True\nif A:\n    from host.gone import X",
    "flags that double": "F0 = False\n"
    + "".join(f"if F{i} and F{i} or F{i}:\n    F{i + 1} = True\nelif F{i}:\n    F{i + 1} = False\n" for i in range(60))
    + "if F60:\n    from host.gone import X",
    "conditions that double": "".join(f"f{i} = {' or '.join([f'f{i + 1}'] * 60)}\n" for i in range(12))
    + "if f0:\n    from host.gone import X",
    "versions that double": "".join(f"v{i} = {' or '.join([f'v{i + 1}'] * 60)}\n" for i in range(12))
    + "if v0 > Version('1'):\n    from host.gone import X",
    "aliases that double": "".join(f"a{i} = a{i + 1}.x\n" * 60 for i in range(12)) + "import host.a as a12\na0.gone",
    "functions in a circle": "def f():\n    import host.gone\n    g()\ndef g():\n    f()\ntry:\n    f()\nexcept OSError:\n    g()",
    "functions that all call each other": "".join(
        f"def f{i}():\n    if host.a: {' + '.join(f'f{j}()' for j in range(40))}\n" for i in range(40)
    )
    + "def f40():\n    import host.gone\n    f0()",
    "a chain of functions": "".join(f"def f{i}():\n    f{i + 1}()\n" for i in range(800))
    + "def f800():\n    import host.gone\nf0()",
    "ladders within ladders": "".join(f"{' ' * i}try:\n" for i in range(90))
    + f"{' ' * 90}import host.gone\n"
    + "".join(f"{' ' * i}except ImportError:\n{' ' * i} import host.gone{i}\n" for i in range(89, -1, -1)),
    "more conditions than are followed": "".join(f"if host.a == {i}:\n    raise\n" for i in range(400)),
    "aliases of aliases": "a0 = host\n" + "".join(f"a{i + 1} = a{i}\n" for i in range(20_000)),
    "a thousand arms that raise": "try:\n    import host.gone\nexcept ImportError:\n    if a:\n        raise\n"
    + "    elif a:\n        raise\n" * 1800
    + "    else:\n        raise",
}


@pytest.mark.parametrize("name", TANGLED)
@pytest.mark.timeout(20)
def test_a_tangled_consumer_ends(tmp_path: Path, name: str) -> None:
    # The name of the host on every line: none is passed over.
    lines = "".join(f"{line}  # host\n" for line in TANGLED[name].splitlines())
    found = result(tmp_path, f"import host.a\n{lines}from host.a import gone\n", HOST)
    assert said(found)


def doubled(first: str, step: str, last: str) -> str:
    return f"a0 = b0 = {first}\n" + "".join(step.format(i, i + 1) for i in range(60)) + last


TANGLED_HOST = {
    "stars": {
        "m.py": "from .s0 import *\n",
        **{f"s{i}.py": "".join(f"from .s{j} import *  # gone here\n" for j in range(60)) for i in range(59)},
        "s59.py": "from .s0 import *\nhere = 1\n",
    },
    "bases": "".join(f"class C{i}({', '.join([f'C{i + 1}'] * 4)}): ...\n" for i in range(15))
    + "class C15:\n    here = 1\n",
    "bases in a circle": "class C0(C1): ...\nclass C1(C0):\n    here = 1\n",
    "list": doubled('["here"]', "a{1} = a{0} + a{0}\n", "__all__ = a60\nhere = 1\n"),
    "text": doubled('"here"', "a{1} = a{0} + a{0}\n", "__all__ = [a60]\nhere = 1\n"),
    "dict keys": doubled('["here"]', "a{1} = [a{0}, a{0}]\n", "__all__ = {a60: 1}\nhere = 1\n"),
    "dicts": doubled(
        '{"here": 1}', "a{1} = {{1: a{0}, 2: a{0}}}\nb{1} = {{1: b{0}, 2: b{0}}}\n", "__all__ = a60 | b60\n"
    ),
    "equal": doubled(
        '["here"]', "a{1} = [a{0}, a{0}]\nb{1} = [b{0}, b{0}]\n", "__all__ = [1 for i in [1] if a60 == b60]\n"
    ),
    "lazy": doubled(
        '{"here": 1}', "a{1} = {{1: a{0}, 2: a{0}}}\n", "import sys\nsys.modules[__name__] = LazyModule(1, 2, a60)\n"
    ),
    "loops": f"a = ['here'] * 9\nb = {list('abcdefghij')}\n__all__ = [i0 {' '.join(f'for i{n} in b' for n in range(10))}]\nhere = 1\n",
    "arms": "def __getattr__(n):\n    if n == 'here':\n        return 1\n"
    + "    elif n == 'x':\n        return 2\n" * 1500
    + "    raise AttributeError\n",
    "one line": "here = 1\n# "
    + "".join(f"{text} " * 20_000 for text in ("setattr(", ".gone:", "global", "from host import ("))
    + "\n",
    "one more line": "import sys\nhere = 1\n# " + "sys.modules[" * 100_000 + "gone\n",
}


@pytest.mark.parametrize("name", TANGLED_HOST)
@pytest.mark.timeout(20)
def test_a_tangled_host_ends(tmp_path: Path, name: str) -> None:
    given = TANGLED_HOST[name]
    modules = given if isinstance(given, dict) else {"m.py": given}
    source = "from host.a import gone\nfrom host.stars import here\nfrom host.m import here\nfrom host.m import gone\nimport host.m\nhost.m.C0.here\n"
    found = result(tmp_path, source, HOST | modules | {"stars.py": "from .m import *  # here\n"})
    wrong = [f for f in found.findings if f.severity != "info"]
    assert "host.a:gone" in [f.symbol for f in wrong]
    assert not [f for f in wrong if f.symbol.endswith("here") and f.line == 3 and "\nhere = 1" in str(given)]


BROKEN = {
    "syntax error": b"import host.a\n\ndef f(:\n",
    "indentation": b"import host.a\n\n  x = 1\n",
    "NUL": b"import host.a\n\nx = '\0'\n",
    "NUL in the name": b"\n\nimport ho\0st.a\n",
    "not UTF-8": b"import host.a\n\nx = '\xff\xfe'\n",
    "unknown encoding": b"# coding: no-such\nimport host.a\n",
    "an encoding that is no text": b"# coding: hex\nimport host.a\n",
    "UTF-16": "import host.a\n".encode("utf-16"),
    "a number of a million digits": b"import host.a\nx = " + b"9" * 1_000_000 + b"\n",
    "Python 2": b"import host.a\n\nprint 'x'\n",
    "larger than is parsed": b"import host.a\n" + b"x = 1\n" * 500_000,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_a_finding_in_a_consumer(tmp_path: Path, name: str) -> None:
    found = result(tmp_path, {"ok.py": "import host.a\n", "broken.py": BROKEN[name]}, HOST)
    [finding] = found.findings
    assert (finding.code, finding.severity, finding.file) == ("unreadable", "error", "plug/broken.py")
    if name in ("syntax error", "indentation", "Python 2"):
        assert finding.line == 3


@pytest.mark.parametrize("name", BROKEN)
def test_and_undecided_in_a_host(tmp_path: Path, name: str) -> None:
    found = result(tmp_path, "from host.broken import anything\nimport host.a\n", HOST | {"broken.py": BROKEN[name]})
    assert said(found) == []
    assert [f.symbol for f in unchecked(found)] == ["host.broken:anything"]


def test_other_encodings_are_read(tmp_path: Path) -> None:
    source = {
        "latin.py": "# coding: latin-1\nfrom host.a import gone  # é\n".encode("latin-1"),
        "bom.py": "\ufefffrom host.a import gone\n".encode(),
        "crlf.py": b"import host.a\r\nif host.a:\r\n    from host.a import gone\r\n",
        "cr.py": b"import host.a\rfrom host.a import gone\r",
    }
    found = result(tmp_path, source, HOST)
    assert [(f.file, f.line) for f in found.findings] == [
        ("plug/bom.py", 1),
        ("plug/cr.py", 2),
        ("plug/crlf.py", 3),
        ("plug/latin.py", 2),
    ]


def test_a_file_of_100_mb(tmp_path: Path) -> None:
    write(
        tmp_path / "consumer/plug",
        {"__init__.py": "", "use.py": "from host.big import x\nimport host.a\n", "big.py": ""},
    )
    write(tmp_path / "offered/host", HOST | {"big.py": ""})
    for path in ("consumer/plug/big.py", "offered/host/big.py"):
        os.truncate(tmp_path / path, 100 << 20)
    status, report = as_json(tmp_path / "consumer/plug", tmp_path / "offered/host")
    assert status == 1
    assert [(f["code"], f["file"]) for f in report["findings"]] == [
        ("unreadable", "plug/big.py"),
        ("unchecked", "plug/use.py"),
    ]
    assert all("104,857,600 bytes" in f["message"] for f in report["findings"])


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    write(tmp_path / "offered/host", HOST)
    write(tmp_path / "elsewhere", {"secret.py": "from host.a import gone\n"})
    write(tmp_path / "consumer/plug", {"__init__.py": "import host.a\n"})
    folder = tmp_path / "consumer/plug"
    (folder / "file.py").symlink_to(tmp_path / "elsewhere/secret.py")
    (folder / "folder").symlink_to(tmp_path / "elsewhere")
    (folder / "loop").symlink_to(folder)
    status, report = as_json(folder, tmp_path / "offered/host")
    assert "host.a:gone" not in json.dumps(report)
    assert status in (0, 1)
    assert status == 0 or {f["code"] for f in report["findings"]} == {"unreadable"}


def sdist(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        files = {"plug-1/PKG-INFO": "Name: plug\nVersion: 1\n", "plug-1/plug/__init__.py": "import host.a\n"}
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
        for member in members:
            archive.addfile(member, io.BytesIO(b"\0" * member.size) if member.size else None)
    return path


def member(name: str, *, link: str = "", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    if link:
        info.type, info.linkname = tarfile.SYMTYPE, link
    return info


@pytest.mark.parametrize("name", ["plug-1/../../../escaped.py", "/tmp/escaped.py", "plug-1/plug/../../../escaped.py"])
def test_members_that_would_leave_the_archive(tmp_path: Path, name: str) -> None:
    write(tmp_path / "offered/host", HOST)
    for role in ("consumer", "host"):
        archive = sdist(tmp_path / "plug-1.tar.gz", member(name))
        sides = (archive, tmp_path / "offered/host") if role == "consumer" else (tmp_path / "offered/host", archive)
        status, out, err = compat_check(*sides)
        assert (status, out) == (3, "")
        assert "would leave the archive's folder" in err
    assert not list(tmp_path.rglob("escaped.py"))


def test_a_link_in_an_archive_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "offered/host", HOST)
    (tmp_path / "secret.py").write_text("from host.a import gone\n")
    archive = sdist(tmp_path / "plug-1.tar.gz", member("plug-1/plug/link.py", link=str(tmp_path / "secret.py")))
    status, out, _ = compat_check(archive, tmp_path / "offered/host", "--format", "json")
    assert status in (0, 1, 3)
    assert "host.a:gone" not in out


def bomb(path: Path, files: int, size: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("plug-1.dist-info/METADATA", "Name: plug\nVersion: 1\n")
        archive.writestr("plug/__init__.py", "import host.a\n")
        for number in range(files):
            archive.writestr(f"plug/f{number}.py", b"#" * size)
    return path


@pytest.mark.parametrize(("files", "size"), [(1, 100 << 20), (40, 8 << 20)])
def test_a_zip_bomb(tmp_path: Path, files: int, size: int) -> None:
    write(tmp_path / "offered/host", HOST)
    archive = bomb(tmp_path / "plug-1-py3-none-any.whl", files, size)
    started = time.monotonic()
    status, out, err = compat_check(archive, tmp_path / "offered/host", "--format", "json")
    assert "Traceback" not in err
    assert status == 3 or (status == 1 and "unreadable" in out), (status, out, err)
    assert time.monotonic() - started < 30


# --- anything at all

NAMES = ["host", "host.a", "host.gone", "X", "gone", "f", "plug", "__all__", "TYPE_CHECKING"]
name = st.sampled_from(NAMES)
plain = st.sampled_from(["X", "gone", "f", "host", "a", "_"])
expression = st.recursive(
    st.one_of(name, st.sampled_from(["1", "'host.a'", "None", "[]", "{}", "host.__version__", "sys.version_info"])),
    lambda inner: st.one_of(
        st.builds("{}.{}".format, plain, plain),
        st.builds("({} or {})".format, inner, inner),
        st.builds("(not {})".format, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("hasattr({}, 'gone')".format, inner),
        st.builds("getattr({}, 'gone', None)".format, inner),
        st.builds("(lambda {}: {})".format, plain, inner),
        st.builds("[{0} for {1} in {0} if {1}]".format, inner, plain),
        st.builds("({} := {})".format, plain, inner),
        st.builds("{} >= {}".format, inner, inner),
        st.builds("find_spec({})".format, inner),
        st.builds("f'{{{}}}'".format, plain),
    ),
    max_leaves=6,
)
simple = st.one_of(
    st.builds("import {}".format, name),
    st.builds("import {} as {}".format, name, plain),
    st.builds("from {} import {}".format, name, st.sampled_from(["X", "gone", "*", "a as f", "(X, gone)"])),
    st.builds("from . import {}".format, plain),
    st.builds("{} = {}".format, plain, expression),
    st.builds("{}.{} = {}".format, plain, plain, expression),
    st.builds("setattr({}, 'gone', {})".format, expression, expression),
    st.builds("{} += {}".format, plain, expression),
    st.builds("del {}".format, plain),
    st.builds("__all__ = {}".format, expression),
    st.builds("__all__ += {}".format, expression),
    st.builds("sys.modules[{}] = {}".format, expression, expression),
    st.builds("globals()[{}] = {}".format, expression, expression),
    st.sampled_from(["pass", "raise", "return", "global X", "continue", "raise ImportError", "sys.exit(1)"]),
    expression,
)


def indent(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for block in lines for line in block.splitlines())


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    block = st.lists(inner, min_size=1, max_size=3).map(indent)
    caught = st.sampled_from(["", " ImportError", " (ImportError, KeyError)", " ModuleNotFoundError as f", " X"])
    return st.one_of(
        st.builds("if {}:\n{}\nelif {}:\n{}\nelse:\n{}".format, expression, block, expression, block, block),
        st.builds("try:\n{}\nexcept{}:\n{}\nelse:\n{}\nfinally:\n{}".format, block, caught, block, block, block),
        st.builds("try:\n{}\nexcept{}:\n{}".format, block, caught, block),
        st.builds("def {}({}):\n{}".format, plain, plain, block),
        st.builds("def __getattr__(name):\n{}".format, block),
        st.builds("@{}\nclass {}({}):\n{}".format, expression, plain, expression, block),
        st.builds("for {} in {}:\n{}".format, plain, expression, block),
        st.builds("with {} as {}:\n{}".format, expression, plain, block),
        st.builds("with suppress(ImportError):\n{}".format, block),
        st.builds("while {}:\n{}".format, expression, block),
        st.builds("match {}:\n    case {}:\n{}".format, expression, plain, block.map(lambda text: indent([text]))),
    )


source = st.lists(st.recursive(simple, compound, max_leaves=12), max_size=6).map("\n".join)


@given(consumer=source, module=source, package=source)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_python_is_checked_or_refused(consumer: str, module: str, package: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines = f"{consumer}\n".count("\n")
        try:
            found = result(Path(folder), consumer + "\n", {"__init__.py": package, "a.py": module})
        except CannotCheckError:
            return  # nothing of the host in it
    assert found.summary["import_sites"] or found.summary["distinct_symbols"] == 0
    for finding in found.findings:
        assert 1 <= finding.line <= lines
        assert finding.code == "unreadable" or finding.symbol.startswith("host")
    if not can_be_parsed(consumer):
        assert [f.code for f in found.findings] == ["unreadable"]


def can_be_parsed(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@given(
    junk=st.binary(max_size=300),
    prefix=st.sampled_from([b"", b"import host.a\n", b"# coding: utf-16\n", b"\xef\xbb\xbf"]),
)
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_checked_or_refused(junk: bytes, prefix: bytes) -> None:
    content = prefix + b"\nhost " + junk
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = result(Path(folder), {"use.py": content}, {"a.py": content})
        except CannotCheckError:
            return
    # Nothing is called clean that was not read.
    assert [f.code for f in found.findings] == ["unreadable"] or found.summary["import_sites"]


def test_what_is_only_broken_is_never_clean(tmp_path: Path) -> None:
    generator = random.Random(7)
    for number in range(20):
        text = b"from host.a import gone\n" * 5
        position = generator.randrange(len(text))
        damaged = text[:position] + bytes([generator.randrange(256)]) + text[position + 1 :]
        found = result(tmp_path / str(number), {"use.py": damaged}, HOST)
        assert said(found)
