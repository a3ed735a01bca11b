"""A wheel on disk: a zip file that is read where it lies, never unpacked."""

from pathlib import Path

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from atomstack.errors import CannotCheckError
from atomstack.sources.files import PackageTree
from atomstack.sources.layout import package_tree
from atomstack.sources.zips import FileBlob, list_zip, wheel_files


def open_wheel(path: Path, *, package: str | None) -> PackageTree:
    """The package in the wheel `path`. Members are read when asked for."""
    try:
        parse_wheel_filename(path.name)
    except InvalidWheelFilename:
        raise CannotCheckError(
            f"{path}: not a wheel's file name; expected NAME-VERSION-PYTHON-ABI-PLATFORM.whl"
        ) from None
    try:
        blob = FileBlob(path)
        files = wheel_files(blob, list_zip(blob, str(path)))
    except OSError as error:
        raise CannotCheckError(f"{path}: {error.strerror or error}") from None
    return package_tree(files, kind="wheel", origin=str(path), package=package)
