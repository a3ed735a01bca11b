"""The scripts that people and make call: what they take from the machine, and what they say where something is missing."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


def make(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """What make would run; MAKEFLAGS and the like are of the make that runs the tests."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(
        command, cwd=REPOSITORY, env=surroundings | environment, capture_output=True, text=True, check=False
    )


def test_make_help_has_one_line_for_every_target() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    listed = [line.split()[1] for line in make("help").stdout.splitlines()]
    assert sorted(listed) == sorted(targets)
    assert make().stdout == make("help").stdout


def test_every_tool_of_a_rule_is_made_by_its_setup() -> None:
    """In a fresh clone there is no .venv: whichever rule is typed first makes it."""
    rules = re.findall(r"^([a-z0-9-]+):([^#\n]*).*\n((?:\t.*\n)+)", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert len(rules) > 15
    for name, needs, body in rules:
        if "$(VENV)" in body or "bake.sh" in body:
            assert "setup" in needs.split(), name


def test_a_tuple_that_is_not_there_is_not_the_default_tuple(tmp_path: Path) -> None:
    """The rule for `gate`, with a bake.sh that shows its pins."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/bake.sh").write_text('#!/bin/sh\necho "VLLM_REF=$VLLM_REF"\n')
    (tmp_path / "scripts/bake.sh").chmod(0o755)
    (tmp_path / "a tuple.env").write_text("VLLM_REF=v9\n")
    rule = [
        "-f",
        str(REPOSITORY / "Makefile"),
        "-C",
        str(tmp_path),
        "-o",
        "setup",
        "-o",
        "builder",
        "-o",
        "update-recipes",
    ]
    assert "VLLM_REF=v9" in make(*rule, "gate", "ENV=./a tuple.env").stdout
    missing = make(*rule, "gate", "ENV=env/typo.env")
    assert missing.returncode != 0
    assert "VLLM_REF" not in missing.stdout
    assert "env/typo.env: No such file" in missing.stderr
    assert "VLLM_REF=v9" not in make(*rule, "gate", ENV="./a tuple.env").stdout, "a shell's start-up file is no tuple"


def pip_conf(listing: str) -> str:
    command = [sys.executable, REPOSITORY / "scripts/pip_conf.py"]
    return subprocess.run(command, input=listing, capture_output=True, text=True, check=True).stdout


def test_pips_order_of_precedence_holds_in_a_run_step() -> None:
    """pip's documentation, Configuration: environment variables over command sections over [global]; listed sorted."""
    listing = (
        ":env:.index-url='https://env/'\nglobal.index-url='https://global/'\ninstall.index-url='https://install/'\n"
    )
    assert "index-url = https://env/\n" in pip_conf(listing)
    assert "index-url = https://install/\n" in pip_conf(listing.split("\n", 1)[1])
    assert "https" not in pip_conf("list.index-url='https://list/'\n"), "of another command"


def test_paths_of_this_machine_stay_here() -> None:
    listing = "global.cert='/etc/ca.pem'\nglobal.extra-index-url='file:///srv/a https://b/'\nglobal.find-links='/srv'\n"
    assert pip_conf(listing) == "[global]\nextra-index-url = https://b/\n"
    assert pip_conf("global.timeout='60'\n") == "", "nothing to say, so no file"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a space in its name, and the scripts in it."""
    copy = tmp_path / "a copy"
    shutil.copytree(REPOSITORY / "scripts", copy / "scripts")
    return copy


def test_without_its_tools_bake_says_how_to_get_them(copy: Path) -> None:
    done = subprocess.run([copy / "scripts/bake.sh", "gate"], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "make setup" in done.stderr


def test_the_password_of_an_index_is_for_nobody_elses_eyes(copy: Path) -> None:
    (copy / ".venv").symlink_to(REPOSITORY / ".venv")
    environment = os.environ | {"PIP_INDEX_URL": "https://somebody:password@example.com/"}
    done = subprocess.run(
        [copy / "scripts/bake.sh", "--print"], env=environment, capture_output=True, text=True, check=False
    )
    written = copy / ".build/pip.conf"
    assert "somebody:password@" in written.read_text()
    assert written.stat().st_mode & 0o777 == 0o600
    assert "password" not in done.stdout + done.stderr


def test_a_builder_is_found_without_a_home() -> None:
    """systemd and cron start without one."""
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    command = [REPOSITORY / "scripts/builder.sh", "run", "sh", "-c", 'test -n "$HOME"']
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("variable", "value"), [("CA_BUNDLE", "/nowhere/ca.pem"), ("CA_BUNDLE", ".")], ids=["none", "a folder"]
)
def test_what_bake_is_to_mount_must_be_there(variable: str, value: str) -> None:
    command = [REPOSITORY / "scripts/bake.sh", "--print", "gate"]
    done = subprocess.run(command, env=os.environ | {variable: value}, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"bake.sh: {variable}={value}: no such file\n"
