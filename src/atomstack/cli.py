"""Argument parsing and exit codes, nothing else.

Each command is one function here that calls one room; rooms are imported by the command that needs them, so
that `compat-check` starts fast and runs where only the standard library and packaging are installed.
"""

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from atomstack import __version__
from atomstack.errors import EXIT_FINDINGS, EXIT_HOLDS, EXIT_NOT_CHECKED, AtomstackError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; never raises (argparse's own exit 2 aside)."""
    args = _parser().parse_args(argv)
    try:
        status: int = args.run(args)
    except AtomstackError as error:
        print(f"atomstack: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_NOT_CHECKED
    except KeyboardInterrupt:
        print("atomstack: interrupted", file=sys.stderr)
        return EXIT_NOT_CHECKED
    except Exception:
        traceback.print_exc()
        print("atomstack: this is a bug of ours; nothing was checked", file=sys.stderr)
        return EXIT_NOT_CHECKED
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="atomstack", description=__doc__ and "Lock, gate, build and verify a combination.")
    parser.add_argument("--version", action="version", version=f"atomstack {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_compat_check(commands)
    _add_lock(commands)
    _add_manifest(commands)
    return parser


def _add_compat_check(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser("compat-check", help="does a package fit the package whose internals it uses?")
    command.set_defaults(run=_compat_check)


def _compat_check(args: argparse.Namespace) -> int:
    raise NotImplementedError


def _add_lock(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser("lock", help="resolve every pin; write docker-bake.override.json")
    command.set_defaults(run=_lock)


def _lock(args: argparse.Namespace) -> int:
    raise NotImplementedError


def _add_manifest(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser("manifest", help="fleets of GPUs: check, render")
    command.set_defaults(run=_manifest)


def _manifest(args: argparse.Namespace) -> int:
    raise NotImplementedError
