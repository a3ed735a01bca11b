"""Real builds with real BuildKit, in a copy of the checkout, through the commands that a person types."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e import record

REPOSITORY = Path(__file__).parents[2]
REGISTRY = "atomstack-e2e/"  # names of our own: the images of a person are neither replaced nor removed
TIMEOUT = 1500  # seconds; a cold `make portable` takes minutes
# A pin in the shell of who runs the tests is not what is tested.
PINS = (
    "ATOM_",
    "VLLM_",
    "AITER_",
    "LMCACHE_",
    "CUPY_",
    "TORCH_RE",
    "TORCH_V",
    "TRITON_",
    "ROCM_",
    "MANIFEST",
    "FROZEN",
)


@dataclass(frozen=True, slots=True)
class Checkout:
    """A copy of the repository's files that tests may change and build from."""

    path: Path

    def make(self, *arguments: str, **env: str) -> record.Record:
        """`make ARGUMENTS`, as a person types it."""
        return self._record(["make", "--no-print-directory", *arguments], ("atom-vllm",), env)

    def bake(self, *arguments: str, **env: str) -> record.Record:
        """`docker buildx bake ARGUMENTS` for MANIFEST=portable, by the script that make calls."""
        env = {"MANIFEST": "portable"} | env
        targets = tuple(argument for argument in arguments if not argument.startswith("-"))
        return self._record(["scripts/bake.sh", *arguments], targets, env)

    def plan(self, *targets: str, **env: str) -> dict[str, dict]:
        """The targets that bake would build."""
        done = self._run(["scripts/bake.sh", "--print", *targets], {"MANIFEST": "portable"} | env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["target"]

    def image(self, target: str = "atom-vllm", **env: str) -> str:
        """The name under which bake puts a target's image."""
        return self.plan(target, **env)[target]["tags"][0]

    def _record(self, command: list[str], targets: tuple[str, ...], env: Mapping[str, str]) -> record.Record:
        done = self._run(command, {"BUILDKIT_PROGRESS": "rawjson"} | env)
        return record.read(done.returncode == 0, done.stderr.splitlines(), self.plan(*targets, **env))

    def _run(self, command: list[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith(PINS)}
        return subprocess.run(
            command,
            cwd=self.path,
            env=surroundings | {"REGISTRY": REGISTRY} | dict(env),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )


def docker(*arguments: str) -> str:
    """What the docker of the builder in use prints; asserts that it succeeds."""
    done = subprocess.run(
        [REPOSITORY / "scripts/builder.sh", "run", "docker", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"docker {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def in_image(image: str, script: str) -> str:
    """What a shell prints in a container of the image, as the image's own user and without a network."""
    return docker("run", "--rm", "--network=none", image, "sh", "-c", script)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test of a session may wait for a build from nothing."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.fixture(scope="session")
def progress(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Say something now, past pytest's capture: builds take minutes."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled():
            sys.stdout.write(f"\n  {text}\n")
            sys.stdout.flush()

    return say


@pytest.fixture(scope="session")
def new_checkout(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Checkout]:
    """Copies what Git has or would take of this checkout; the tools and what make prepared are shared, not copied."""

    def copy() -> Checkout:
        target = tmp_path_factory.mktemp("checkout")
        listing = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name in filter(None, listing.split("\0")):
            source = REPOSITORY / name
            if source.exists():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target / name, follow_symlinks=False)
        # The tools are the checkout's, and ready: `make setup` in a copy would move them over to the copy.
        (target / ".venv").mkdir()
        for part in ("bin", "lib", "pyvenv.cfg"):
            (target / ".venv" / part).symlink_to(REPOSITORY / ".venv" / part)
        (target / ".venv/ready").touch()
        # Hundreds of megabytes that no test changes.
        for prepared in ("rootfs", "torch"):
            if (REPOSITORY / ".build" / prepared).is_dir():
                shutil.copytree(REPOSITORY / ".build" / prepared, target / ".build" / prepared, copy_function=_link)
        return Checkout(target)

    return copy


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


@pytest.fixture(scope="session")
def built(new_checkout: Callable[[], Checkout], progress: Callable[[str], None]) -> Iterator[Checkout]:
    """A checkout in which `make portable` came through; nobody changes it."""
    checkout = new_checkout()
    progress("make portable …")
    start = time.monotonic()
    done = checkout.make("portable")
    assert done.ok, done.end
    progress(f"{time.monotonic() - start:.0f} s, {len(done.executed)} of {len(done.steps)} build steps executed")
    yield checkout
    names = docker("images", "--format={{.Repository}}:{{.Tag}}", f"--filter=reference={REGISTRY}*").split()
    subprocess.run(
        [REPOSITORY / "scripts/builder.sh", "run", "docker", "rmi", *names], capture_output=True, check=False
    )


@pytest.fixture(scope="session")
def images(built: Checkout) -> Checkout:
    """The checkout whose base, vllm and atom-vllm images are all there to be looked at."""
    done = built.bake("base", "vllm", "atom-vllm")
    assert done.ok, done.end
    return built


@pytest.fixture(scope="class")
def image(request: pytest.FixtureRequest, images: Checkout) -> str:
    """The image that a class of tests is about: that of its `target`."""
    return images.image(request.cls.target)


@pytest.fixture(scope="class")
def inspected(image: str) -> dict:
    """That image's own description."""
    return json.loads(docker("image", "inspect", image))[0]


@dataclass(frozen=True, slots=True)
class GitServer:
    """A git daemon on the loopback with one repository, atom.git, and the work tree behind it."""

    url: str
    tree: Path

    def commit(self, message: str) -> None:
        """Everything in the work tree, on the branch main."""
        git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.invalid", "-C", str(self.tree)]
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--message", message], check=True)


@pytest.fixture
def atom_repository(tmp_path: Path) -> Iterator[GitServer]:
    """The in-tree plugin as a Git repository that BuildKit can fetch from this machine."""
    tree = tmp_path / "atom.git"
    shutil.copytree(REPOSITORY / "atom", tree, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(tree)], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    daemon = subprocess.Popen(
        [
            "git",
            "daemon",
            "--listen=127.0.0.1",
            f"--port={port}",
            "--export-all",
            f"--base-path={tmp_path}",
            str(tmp_path),
        ],
        stderr=subprocess.DEVNULL,
    )
    server = GitServer(f"git://127.0.0.1:{port}/atom.git", tree)
    try:
        server.commit("The plugin as it stands in the tree")
        for _ in range(50):
            if subprocess.run(["git", "ls-remote", server.url], capture_output=True, check=False).returncode == 0:
                break
            assert daemon.poll() is None, f"git daemon ended with {daemon.returncode}"
            time.sleep(0.1)
        yield server
    finally:
        daemon.terminate()
        daemon.wait(10)
