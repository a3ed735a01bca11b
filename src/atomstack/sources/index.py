"""`name==version` from the package index that pip is configured for, kept on disk once it was read.

A release file never changes, so what was read of it once needs no network again.
"""

import hashlib
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from atomstack.errors import UsageError
from atomstack.sources import cache as cache_folder
from atomstack.sources.cache import ReleaseFacts
from atomstack.sources.files import ListedFiles, PackageTree
from atomstack.sources.layout import Metadata, package_tree
from atomstack.sources.pip_config import PipConfig, read_pip_config


def open_index(spec: str, *, package: str | None, cache: Path | None) -> PackageTree:
    """The package of the release `spec`, which is NAME==VERSION."""
    name, version = _parse(spec)
    config = read_pip_config()
    indexes = hashlib.sha256("\n".join(config.indexes).encode()).hexdigest()[:12]
    entry = (cache or cache_folder.default_folder()) / "releases" / indexes / name / f"{version}.pack"
    facts, files = cache_folder.load(entry) or _fetch(name, version, config, entry)
    return package_tree(
        files,
        kind=facts.kind,
        origin=f"{name}=={version}",
        package=package,
        provenance=facts.provenance,
        known=_declared(facts, files),
    )


def _parse(spec: str) -> tuple[str, Version]:
    expected = "expected a directory, a wheel, an sdist, NAME==VERSION or installed:NAME"
    try:
        requirement = Requirement(spec)
        pins = list(requirement.specifier)
        if (
            len(pins) == 1
            and pins[0].operator == "=="
            and not (requirement.extras or requirement.marker or requirement.url)
        ):
            return canonicalize_name(requirement.name), Version(pins[0].version)
    except (InvalidRequirement, InvalidVersion):
        raise UsageError(f"{spec!r:.200}: no such file or folder, and not NAME==VERSION; {expected}") from None
    raise UsageError(f"{spec!r:.200}: not one exact version; {expected}")


def _declared(facts: ReleaseFacts, files: ListedFiles) -> Metadata:
    """The index is certain of name and version; which packages there are, a wheel's top_level.txt may say."""
    for name in files.names():
        if name.endswith(".dist-info/top_level.txt"):
            return Metadata(
                facts.distribution,
                facts.version,
                frozenset(files.read(name).decode("utf-8", "replace").split()),
            )
    return Metadata(facts.distribution, facts.version)


def _fetch(name: str, version: Version, config: PipConfig, entry: Path) -> tuple[ReleaseFacts, ListedFiles]:
    from atomstack.sources.release import reading_release

    with reading_release(name, version, config) as (facts, files):
        packed, may_be_kept = cache_folder.pack(facts, files)
    if may_be_kept:
        cache_folder.store(entry, packed)
    return cache_folder.unpack(packed)
