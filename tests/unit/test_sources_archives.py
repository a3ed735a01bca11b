"""Wheels and sdists, honest and hostile: read into memory with bounds, never unpacked, never executed."""

import gzip
import io
import os
import random
import stat
import tarfile
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from atomstack.errors import AtomstackError, CannotCheckError, UnreadableError, UsageError
from atomstack.sources import open_source, sdist

WHEEL = "demo-1.0-py3-none-any.whl"
INFO = "demo-1.0.dist-info/METADATA"
METADATA = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n\nVersion: 9 in the text counts for nothing\n"
FILES = {"demo/__init__.py": "", "demo/core.py": "x = 1\n"}


def make_wheel(
    folder: Path,
    files: dict[str, str | bytes],
    edit: Callable[[zipfile.ZipFile], None] = lambda archive: None,
    name: str = WHEEL,
) -> str:
    """A wheel; `edit` may add members, or change what the central directory says of those that are there."""
    with warnings.catch_warnings(), zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # duplicate names
        for path, content in {INFO: METADATA, **files}.items():
            archive.writestr(path, content)
        edit(archive)
    return str(folder / name)


def make_sdist(
    folder: Path,
    files: dict[str, str | bytes],
    extra: Sequence[tarfile.TarInfo] = (),
    top: str = "demo-1.0/",
) -> str:
    path = folder / "demo-1.0.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in {"PKG-INFO": METADATA, "setup.py": "raise SystemExit(1)", **files}.items():
            member = tarfile.TarInfo(top + name)
            data = content.encode() if isinstance(content, str) else content
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        for member in extra:
            archive.addfile(member)
    return str(path)


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def reason(spec: str, path: str) -> str:
    tree = open_source(spec, package="demo")
    assert path in tree.paths()
    with pytest.raises(UnreadableError) as caught:
        tree.read(path)
    assert caught.value.path == path
    assert tree.read("demo/core.py") == b"x = 1\n"
    return caught.value.reason


def test_a_wheel(tmp_path: Path) -> None:
    files = FILES | {
        "demo/_C.abi3.so": "ELF",
        "demo/data.json": "",
        "demo-1.0.data/purelib/demo/more.py": "y = 2",
    }
    tree = open_source(make_wheel(tmp_path, files))
    assert (tree.package, tree.distribution, tree.version, tree.kind) == ("demo", "demo", "1.0", "wheel")
    assert tree.paths() == ("demo/_C.abi3.so", "demo/__init__.py", "demo/core.py", "demo/more.py")
    assert tree.read("demo/more.py") == b"y = 2"
    with pytest.raises(UsageError, match="no package other there; it holds demo"):
        open_source(str(tmp_path / WHEEL), package="other")


@pytest.mark.parametrize("holder", ["", "src/"])
def test_an_sdist_is_the_same_package(tmp_path: Path, holder: str) -> None:
    inside = {holder + name: content for name, content in FILES.items()}
    tree = open_source(make_sdist(tmp_path, inside | {"tests/__init__.py": "", "docs/conf.py": ""}))
    assert (tree.package, tree.distribution, tree.version, tree.kind) == ("demo", "demo", "1.0", "sdist")
    assert tree.paths() == ("demo/__init__.py", "demo/core.py")
    assert tree.content_hash() == open_source(make_wheel(tmp_path, FILES)).content_hash()


def test_a_zip_sdist(tmp_path: Path) -> None:
    path = tmp_path / "demo-1.0.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (FILES | {"PKG-INFO": METADATA}).items():
            archive.writestr(f"demo-1.0/{name}", content)
    tree = open_source(str(path))
    assert (tree.package, tree.version, tree.kind) == ("demo", "1.0", "sdist")
    assert tree.paths() == ("demo/__init__.py", "demo/core.py")


@pytest.mark.parametrize("name", ["../evil.py", "demo/../../evil.py", "/etc/evil.py", "demo/" + "n" * 60_000 + ".py"])
def test_a_member_that_would_leave_the_folder_refuses_the_archive(tmp_path: Path, name: str) -> None:
    for spec in (
        make_wheel(tmp_path, FILES | {name: "x"}),
        make_sdist(tmp_path, FILES, [tarfile.TarInfo(name)]),
    ):
        with pytest.raises(CannotCheckError, match=r"evil\.py would leave|nnn.* characters, more than"):
            open_source(spec)
    assert not list(tmp_path.rglob("evil*"))


def test_links_and_devices_are_not_followed(tmp_path: Path) -> None:
    def add_link(archive: zipfile.ZipFile) -> None:
        member = zipfile.ZipInfo("demo/link.py")
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, "/etc/passwd")

    assert reason(make_wheel(tmp_path, FILES, add_link), "demo/link.py") == "a link; not followed"
    extra = [
        special("demo-1.0/demo/sym.py", tarfile.SYMTYPE, "/etc/passwd"),
        special("demo-1.0/demo/hard.py", tarfile.LNKTYPE, "demo-1.0/demo/core.py"),
        special("demo-1.0/demo/fifo.py", tarfile.FIFOTYPE),
        special("demo-1.0/demo/dev.py", tarfile.CHRTYPE),
    ]
    spec = make_sdist(tmp_path, FILES, extra)
    assert reason(spec, "demo/sym.py") == reason(spec, "demo/hard.py") == "a link; not followed"
    assert reason(spec, "demo/fifo.py") == reason(spec, "demo/dev.py") == "not a regular file"


def test_of_two_members_of_one_name_the_last_counts(tmp_path: Path) -> None:
    spec = make_wheel(tmp_path, FILES, lambda archive: archive.writestr("demo/core.py", "x = 2"))
    assert open_source(spec).read("demo/core.py") == zipfile.ZipFile(spec).read("demo/core.py") == b"x = 2"
    with tarfile.open(tmp_path / "demo-1.0.tar.gz", "w:gz") as archive:
        for content in (b"", b"x = 3"):
            member = tarfile.TarInfo("demo-1.0/demo/__init__.py")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    assert open_source(str(tmp_path / "demo-1.0.tar.gz")).read("demo/__init__.py") == b"x = 3"


def test_an_encrypted_member(tmp_path: Path) -> None:
    def encrypt(archive: zipfile.ZipFile) -> None:
        archive.getinfo("demo/secret.py").flag_bits |= 1

    assert reason(make_wheel(tmp_path, FILES | {"demo/secret.py": "x"}, encrypt), "demo/secret.py") == "encrypted"


def test_a_compression_that_wheels_do_not_use(tmp_path: Path) -> None:
    spec = make_wheel(tmp_path, FILES, lambda archive: archive.writestr("demo/b.py", "x", zipfile.ZIP_BZIP2))
    assert "only stored and deflated" in reason(spec, "demo/b.py")


def test_a_hundred_megabytes_are_not_read(tmp_path: Path) -> None:
    zeros = bytes(100_000_000)
    for spec in (
        make_wheel(tmp_path, FILES | {"demo/huge.py": zeros}),
        make_sdist(tmp_path, FILES | {"demo/huge.py": zeros}),
    ):
        tracemalloc.start()
        try:
            assert reason(spec, "demo/huge.py").startswith("100,000,000 bytes, more than the 16,777,216")
            assert tracemalloc.get_traced_memory()[1] < 8_000_000
        finally:
            tracemalloc.stop()


def test_a_bomb_that_lies_about_its_size(tmp_path: Path) -> None:
    def lie(archive: zipfile.ZipFile) -> None:
        archive.getinfo("demo/bomb.py").file_size = 100

    spec = make_wheel(tmp_path, FILES | {"demo/bomb.py": bytes(50_000_000)}, lie)
    tracemalloc.start()
    try:
        assert reason(spec, "demo/bomb.py") == "unpacks to more bytes than the 100 that are declared"
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_many_members_that_are_too_much_together(tmp_path: Path) -> None:
    def swell(archive: zipfile.ZipFile) -> None:
        for member in archive.infolist():
            member.file_size = 16 << 20

    spec = make_wheel(tmp_path, FILES | {f"demo/m{i}.py": "" for i in range(20)}, swell)
    with pytest.raises(CannotCheckError, match=r"bytes unpacked, more than the 268,435,456 .* the largest is"):
        open_source(spec)


def test_an_sdist_whose_python_files_are_too_much_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdist, "TOTAL_LIMIT", 1_000_000)
    spec = make_sdist(tmp_path, FILES | {f"demo/m{i}.py": bytes(400_000) for i in range(4)})
    with pytest.raises(
        CannotCheckError, match=r"at demo-1\.0/demo/m2\.py its Python files are more than 1,000,000 bytes"
    ):
        open_source(spec)


def test_a_gzip_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdist, "_STREAM_LIMIT", 10_000_000)
    spec = make_sdist(tmp_path, FILES | {"data.bin": bytes(30_000_000)})
    with pytest.raises(CannotCheckError, match=r"data\.bin .*it unpacks to more than 10,000,000 bytes"):
        open_source(spec)


def test_a_tar_header_that_claims_gigabytes(tmp_path: Path) -> None:
    member = special("demo-1.0/long", tarfile.GNUTYPE_LONGNAME)
    member.size = 4 << 30
    path = tmp_path / "demo-1.0.tar.gz"
    path.write_bytes(gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + bytes(2048)))
    tracemalloc.start()
    try:
        with pytest.raises(CannotCheckError, match="a header of 4,294,967,296 bytes"):
            open_source(str(path))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_damaged_content_is_noticed(tmp_path: Path) -> None:
    def lie(archive: zipfile.ZipFile) -> None:
        archive.getinfo("demo/a.py").CRC ^= 1
        archive.getinfo("demo/b.py").header_offset += 7

    spec = make_wheel(tmp_path, FILES | {"demo/a.py": "a", "demo/b.py": "b"}, lie)
    assert reason(spec, "demo/a.py") == "its content does not match its CRC-32"
    assert reason(spec, "demo/b.py") == "no member where the zip file's directory says it is"


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.9, 0.999])
def test_truncated_archives(tmp_path: Path, keep: float) -> None:
    noise = {"demo/noise.py": random.Random(1).randbytes(40_000)}
    for spec in (make_wheel(tmp_path, FILES | noise), make_sdist(tmp_path, FILES | noise)):
        size = os.path.getsize(spec)
        os.truncate(spec, int(keep) if keep >= 1 else int(size * keep))
        with pytest.raises(CannotCheckError, match=r"not a readable .* fetch it again"):
            open_source(spec)


def test_a_hundred_thousand_members(tmp_path: Path) -> None:
    def multiply(archive: zipfile.ZipFile) -> None:
        one = archive.getinfo("demo/core.py")
        for number in range(100_000):
            member = zipfile.ZipInfo(f"demo/m{number}.py")
            for field in ("header_offset", "CRC", "compress_size", "file_size", "compress_type"):
                setattr(member, field, getattr(one, field))
            archive.filelist.append(member)

    tree = open_source(make_wheel(tmp_path, FILES, multiply))
    assert len(tree.paths()) == 100_002
    assert tree.read("demo/m99999.py") == b"x = 1\n"


def test_names_with_control_characters_stay_printable(tmp_path: Path) -> None:
    for spec in (
        make_wheel(tmp_path, FILES | {"demo/\x1b[2J\n.py": "z"}),
        make_sdist(tmp_path, FILES | {"demo/\x1b[2J\n.py": "z"}),
    ):
        tree = open_source(spec)
        assert tree.paths()[0] == r"demo/\x1b[2J\n.py"
        assert tree.read(tree.paths()[0]) == b"z"


def test_what_is_no_archive(tmp_path: Path) -> None:
    for name in (WHEEL, "demo-1.0.tar.gz", "demo-1.0.zip"):
        (tmp_path / name).write_text("<html>404</html>")
        with pytest.raises(CannotCheckError, match="not a readable"):
            open_source(str(tmp_path / name))
    (tmp_path / "demo.whl").write_bytes(b"")
    with pytest.raises(CannotCheckError, match="expected NAME-VERSION-PYTHON-ABI-PLATFORM"):
        open_source(str(tmp_path / "demo.whl"))
    with pytest.raises(CannotCheckError, match="no Python package there"):
        open_source(make_wheel(tmp_path, {"data.json": ""}))


def test_random_damage_is_refused_or_read_and_never_a_bug(tmp_path: Path) -> None:
    """Hundreds of archives with a few bytes changed: each opens or is refused, by one of our own errors."""
    wheel = Path(make_wheel(tmp_path, FILES)).read_bytes()
    tar = gzip.decompress(Path(make_sdist(tmp_path, FILES)).read_bytes())
    chance = random.Random(20260101)
    opened = refused = 0
    for round_ in range(400):
        damaged = bytearray(wheel if round_ % 2 else tar)
        for _ in range(chance.randint(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path = tmp_path / (WHEEL if round_ % 2 else "demo-1.0.tar.gz")
        path.write_bytes(damaged if round_ % 2 else gzip.compress(damaged, 0))
        try:
            open_source(str(path)).content_hash()
            opened += 1
        except AtomstackError:
            refused += 1
    assert min(opened, refused) > 50
