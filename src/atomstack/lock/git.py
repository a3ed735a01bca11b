"""A ref of a Git repository -> the commit it names now, and what can be known of it without a clone."""

import os
import re
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from atomstack.errors import CannotCheckError
from atomstack.lock.command import run

_ASK_SECONDS = 60.0
_FETCH_SECONDS = 300.0
_HISTORY_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Source:
    """What a ref named when it was asked. None where it could not be had, which is not the same as "none".

    `version` is PEP 440, from the tag at that commit. `submodules`: path -> commit, direct ones. `time` is
    the committer's, RFC 3339 in UTC. `tag` says whether the ref is a tag, which ought not to move.
    """

    commit: str
    version: str | None
    submodules: dict[str, str] | None
    time: str | None
    tag: bool = False

    def entry(self) -> dict[str, Any]:
        """The same as the lock has it."""
        return {
            "commit": self.commit,
            "version": self.version,
            "submodules": self.submodules,
            "time": self.time,
        }


def resolve(repo: str, ref: str) -> Source:
    """Ask `repo` what `ref` is: a tag (peeled), a branch, a full refs/ name, a commit, an abbreviated one."""
    refs = _remote_refs(repo)
    commit, tag = _named(refs, ref)
    if commit is None:
        if not re.fullmatch(r"[0-9a-f]{7,40}", ref):
            raise CannotCheckError(f"{repo} has no branch and no tag {ref}")
        commit = ref if len(ref) == 40 else _expand(repo, ref)
    version = _version(ref) if tag else _version_at(refs, commit)
    try:
        submodules, time = _facts(repo, commit)
    except CannotCheckError:
        if commit == ref:
            raise  # nobody but us has said that this commit is there
        submodules, time = None, None
    return Source(commit=commit, version=version, submodules=submodules, time=time, tag=tag)


def _git(*arguments: str, seconds: float, folder: Path | None = None) -> str:
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    env.setdefault("GIT_ASKPASS", "false")
    env.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
    for name in (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
    ):  # set inside a Git hook, and about our own repository
        env.pop(name, None)
    return run(["git", *arguments], seconds=seconds, cwd=folder, env=env)


def _remote_refs(repo: str) -> dict[str, str]:
    """Every branch and tag -> commit; an annotated tag is the commit it points to, not the tag object."""
    refs = {}
    for line in _git("ls-remote", "--heads", "--tags", "--", repo, seconds=_ASK_SECONDS).splitlines():
        commit, _, name = line.partition("\t")
        refs[name] = commit
    for name in [name for name in refs if name.endswith("^{}")]:
        refs[name.removesuffix("^{}")] = refs.pop(name)
    return refs


def _named(refs: dict[str, str], ref: str) -> tuple[str | None, bool]:
    """The commit that `ref` names in `refs`, or None; whether it is a tag."""
    if ref.startswith("refs/"):
        return refs.get(ref), ref.startswith("refs/tags/")
    branch, tag = refs.get(f"refs/heads/{ref}"), refs.get(f"refs/tags/{ref}")
    if branch and tag and branch != tag:
        raise CannotCheckError(f"{ref} is a branch and a tag: write refs/heads/{ref} or refs/tags/{ref}")
    return tag or branch, tag is not None


def _version(tag: str) -> str | None:
    try:
        return str(Version(tag.removeprefix("refs/tags/").removeprefix("v")))
    except InvalidVersion:
        return None


def _version_at(refs: dict[str, str], commit: str) -> str | None:
    """The highest version that a tag at exactly `commit` names."""
    tags = [name for name, target in refs.items() if target == commit and name.startswith("refs/tags/")]
    return max(filter(None, map(_version, tags)), key=Version, default=None)


def _facts(repo: str, commit: str) -> tuple[dict[str, str], str]:
    """Submodules and time of `commit`: one commit and its trees are fetched, no files and no history."""
    with tempfile.TemporaryDirectory(prefix="atomstack-lock-") as scratch:
        folder = Path(scratch)
        _git("init", "--quiet", "--bare", ".", seconds=_ASK_SECONDS, folder=folder)
        fetch = ["fetch", "--quiet", "--depth=1", "--filter=blob:none", "--no-tags", "--", repo, commit]
        _git(*fetch, seconds=_FETCH_SECONDS, folder=folder)
        tree = _git("ls-tree", "-r", "-z", commit, seconds=_ASK_SECONDS, folder=folder)
        seconds = int(_git("show", "--no-patch", "--format=%ct", commit, seconds=_ASK_SECONDS, folder=folder))
    entries = [entry.partition("\t") for entry in tree.split("\0") if entry.startswith("160000 ")]
    submodules = {path: head.split()[2] for head, _, path in entries}
    return submodules, datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _expand(repo: str, abbreviated: str) -> str:
    """The full id of an abbreviated commit. Git serves none: this takes the history, without its files."""
    with tempfile.TemporaryDirectory(prefix="atomstack-lock-") as scratch:
        folder = Path(scratch)
        clone = ["clone", "--quiet", "--bare", "--filter=tree:0", "--", repo, "."]
        _git(*clone, seconds=_HISTORY_SECONDS, folder=folder)
        try:
            commit = f"{abbreviated}^{{commit}}"
            return _git("rev-parse", "--verify", "--quiet", commit, seconds=_ASK_SECONDS, folder=folder).strip()
        except CannotCheckError:
            raise CannotCheckError(f"{repo} has no branch, tag or (one) commit {abbreviated}") from None
