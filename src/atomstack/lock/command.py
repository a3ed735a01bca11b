"""Other people's programs, run so that they cannot wait for a person: git, docker, pip."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from atomstack.errors import CannotCheckError


def run(
    command: Sequence[str], *, seconds: float, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> str:
    """What `command` prints. CannotCheckError with its own last words when it fails, hangs or is not there.

    `env` replaces the environment. After `seconds` the command and what it started are killed.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise CannotCheckError(f"{command[0]} cannot be run: {error.strerror}") from None
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise CannotCheckError(f"no answer within {seconds:.0f} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        raise CannotCheckError(_last_words(err) or f"{command[0]} ended with status {process.returncode}")
    return out


def _last_words(err: str) -> str:
    """The line of `err` that says why: the first that git, docker or pip mark as an error, else the last."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    marked = [line for line in lines if line.lower().startswith(("fatal:", "error:"))]
    return (marked + lines[-1:] + [""])[0]
