"""A ref -> a commit, against real Git repositories on this disk."""

import http.server
import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from atomstack.errors import CannotCheckError
from atomstack.lock import command, git


class Repository:
    """A Git repository with commits at known times."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self("init", "--quiet", "--initial-branch=main", ".")

    def __call__(self, *arguments: str, date: str = "2026-11-01T12:00:00+02:00") -> str:
        who = {"NAME": "t", "EMAIL": "t@example.com", "DATE": date}
        env = os.environ | {
            f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()
        }
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=env, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, message: str, **files: str) -> str:
        for name, content in files.items():
            (self.folder / name).write_text(content)
        self("add", "--all")
        self("commit", "--quiet", "--allow-empty", "--message", message)
        return self("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "upstream")


def resolve(repository: Repository, ref: str) -> git.Source:
    return git.resolve(str(repository.folder), ref)


def test_a_branch_is_the_commit_at_its_tip(repository: Repository) -> None:
    first = repository.commit("one")
    assert resolve(repository, "main") == git.Source(first, None, {}, "2026-11-01T10:00:00Z", tag=False)
    second = repository.commit("two")
    assert resolve(repository, "main").commit == second


def test_an_annotated_tag_is_the_commit_and_not_the_tag_object(repository: Repository) -> None:
    commit = repository.commit("one")
    repository("tag", "--annotate", "v0.1.9", "--message", "release")
    assert repository("rev-parse", "v0.1.9") != commit
    assert resolve(repository, "v0.1.9") == git.Source(commit, "0.1.9", {}, "2026-11-01T10:00:00Z", tag=True)


def test_a_tag_of_a_tag_is_peeled_to_the_commit(repository: Repository) -> None:
    commit = repository.commit("one")
    repository("tag", "--annotate", "v1", "--message", "release")
    repository("tag", "--annotate", "again", "v1", "--message", "of a tag")
    assert resolve(repository, "again").commit == commit


def test_a_tag_that_was_forced_elsewhere_is_where_it_is_now(repository: Repository) -> None:
    repository.commit("one")
    repository("tag", "v1.0")
    second = repository.commit("two")
    repository("tag", "--force", "v1.0")
    assert resolve(repository, "v1.0").commit == second


@pytest.mark.parametrize(
    ("tag", "version"),
    [("v0.1.28.post1", "0.1.28.post1"), ("0.5.6", "0.5.6"), ("v14.0.0rc1", "14.0.0rc1"), ("nightly", None)],
)
def test_the_version_is_the_tags_when_it_is_one(repository: Repository, tag: str, version: str | None) -> None:
    """PEP 440 versions, as vLLM's, aiter's and CuPy's tags spell them."""
    repository.commit("one")
    repository("tag", tag)
    assert resolve(repository, tag).version == version


def test_a_commit_with_a_tag_on_it_has_its_version(repository: Repository) -> None:
    commit = repository.commit("one")
    repository("tag", "v1.2.0rc1")
    repository("tag", "--annotate", "v1.2.0", "--message", "release")
    assert resolve(repository, commit) == git.Source(commit, "1.2.0", {}, "2026-11-01T10:00:00Z", tag=False)
    assert resolve(repository, "main").version == "1.2.0"


def test_a_commit_that_no_ref_names_is_found(repository: Repository) -> None:
    first = repository.commit("one")
    repository.commit("two")
    assert resolve(repository, first).commit == first


def test_an_abbreviated_commit_becomes_a_full_one(repository: Repository) -> None:
    first = repository.commit("one")
    repository.commit("two")
    assert resolve(repository, first[:7]).commit == first


def test_a_commit_that_is_not_there_is_not_believed(repository: Repository) -> None:
    repository.commit("one")
    for absent in ("0" * 40, "0" * 7):
        with pytest.raises(CannotCheckError):
            resolve(repository, absent)


def test_submodules_are_recorded_with_their_commits(repository: Repository, tmp_path: Path) -> None:
    library = Repository(tmp_path / "composable_kernel")
    pinned = library.commit("library")
    repository("submodule", "--quiet", "add", str(library.folder), "3rdparty/composable_kernel")
    commit = repository.commit("with a submodule")
    library.commit("later")
    source = resolve(repository, "main")
    assert (source.commit, source.submodules) == (commit, {"3rdparty/composable_kernel": pinned})


def test_a_name_that_is_both_wants_to_be_told_which(repository: Repository) -> None:
    first = repository.commit("one")
    repository("tag", "stable")
    second = repository.commit("two")
    repository("branch", "stable")
    with pytest.raises(CannotCheckError, match=r"refs/heads/stable or refs/tags/stable"):
        resolve(repository, "stable")
    assert resolve(repository, "refs/tags/stable").commit == first
    assert resolve(repository, "refs/heads/stable").commit == second


def test_a_ref_matches_whole_names_only(repository: Repository) -> None:
    """`git ls-remote REPO v1` would list feature/v1 as well."""
    repository.commit("one")
    repository("branch", "feature/v1")
    with pytest.raises(CannotCheckError, match="has no branch and no tag v1"):
        resolve(repository, "v1")


def test_a_ref_is_no_option(repository: Repository, tmp_path: Path) -> None:
    repository.commit("one")
    with pytest.raises(CannotCheckError):
        resolve(repository, f"--upload-pack=touch {tmp_path}/executed")
    with pytest.raises(CannotCheckError):
        git.resolve(f"--upload-pack=touch {tmp_path}/executed", "main")
    assert not (tmp_path / "executed").exists()


def test_a_repository_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(CannotCheckError, match="does not appear to be a git repository"):
        git.resolve(str(tmp_path / "nothing"), "main")


def test_it_works_inside_a_git_hook(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git sets these for its hooks, and they would point every git we start at the hook's repository."""
    commit = repository.commit("one")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    assert resolve(repository, "main").commit == commit


def test_nobody_is_asked_for_a_password() -> None:
    """GitHub answers 401 for a repository that does not exist."""

    class Unauthorized(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Unauthorized) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started = time.monotonic()
        with pytest.raises(CannotCheckError):
            git.resolve(f"http://127.0.0.1:{server.server_port}/private.git", "main")
        assert time.monotonic() - started < 20
        server.shutdown()


def test_a_host_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_ASK_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        with pytest.raises(CannotCheckError, match="no answer within 1 s"):
            git.resolve(f"git://127.0.0.1:{silent.getsockname()[1]}/x.git", "main")
        assert time.monotonic() - started < 20


def test_what_hung_leaves_no_process_behind(tmp_path: Path) -> None:
    child = tmp_path / "child"
    with pytest.raises(CannotCheckError, match="no answer"):
        command.run(["sh", "-c", f"sleep 60 & echo $! > {child}; wait"], seconds=1)
    state = Path(f"/proc/{child.read_text().strip()}/stat")
    for _ in range(50):
        if not state.exists() or ") Z" in state.read_text():
            return
        time.sleep(0.1)
    pytest.fail("the child still runs")


def test_a_program_that_is_not_installed_is_named() -> None:
    with pytest.raises(CannotCheckError, match="no-such-program cannot be run: No such file"):
        command.run(["no-such-program"], seconds=1)
