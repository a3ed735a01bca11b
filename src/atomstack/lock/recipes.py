"""What makes a component besides its pins: the tree hash of its Dockerfile and of what that one COPYs.

Standard library only: the gate stage recomputes the same inside the build.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from atomstack.errors import CannotCheckError

# What running or installing from a tree leaves in it.
_LEFTOVERS = {"__pycache__", "build", "dist"}


def recipes(root: Path) -> dict[str, str]:
    """Component name -> tree hash, for every docker/Dockerfile.NAME of the checkout at `root`.

    A recipe is, by convention: docker/Dockerfile.NAME, docker/NAME/, docker/patches/NAME/, and for the
    component `atom` the in-tree plugin atom/.
    """
    dockerfiles = sorted(p for p in (root / "docker").glob("Dockerfile.*") if p.name.count(".") == 1)
    if not dockerfiles:
        raise CannotCheckError(f"{root}/docker: holds no Dockerfile.NAME; run this where docker-bake.hcl lies")
    found = {}
    for dockerfile in dockerfiles:
        name = dockerfile.name.removeprefix("Dockerfile.")
        folders = [f"docker/{name}", f"docker/patches/{name}"] + (["atom"] if name == "atom" else [])
        files = [f"docker/{dockerfile.name}", *(path for folder in folders for path in _files(root, folder))]
        found[name] = tree_hash(root, files)
    return found


def tree_hash(root: Path, files: list[str]) -> str:
    """SHA-256 over the sorted lines "<1 if executable, else 0> <SHA-256 of content> <path below root>"."""
    lines = []
    for path in files:
        try:
            content = (root / path).read_bytes()
            executable = (root / path).stat().st_mode & 0o100 != 0
        except OSError as error:
            raise CannotCheckError(f"{path}: {error.strerror}") from None
        lines.append(f"{executable:d} {hashlib.sha256(content).hexdigest()} {path}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _files(root: Path, folder: str) -> Iterator[str]:
    """The plain files below `folder`, but for dotfiles and leftovers; none when it is not there."""
    for path in sorted((root / folder).rglob("*")):
        inside = PurePosixPath(path.relative_to(root / folder).as_posix())
        if any(part in _LEFTOVERS or part.startswith(".") or part.endswith(".egg-info") for part in inside.parts):
            continue
        if path.suffix == ".pyc":
            continue
        if path.is_symlink():
            raise CannotCheckError(f"{folder}/{inside}: is a symbolic link; a recipe holds plain files only")
        if path.is_file():
            yield f"{folder}/{inside}"
