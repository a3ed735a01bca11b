"""Argument parsing and exit codes, nothing else.

Each command is one function here that calls one room; rooms are imported by the command that needs them, so
that `compat-check` starts fast and runs where only the standard library and packaging are installed.
"""

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from atomstack import __version__
from atomstack.errors import EXIT_FINDINGS, EXIT_HOLDS, EXIT_NOT_CHECKED, AtomstackError, StaleError, UsageError
from atomstack.findings import Severity
from atomstack.report import FORMATS, render


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
    parser = argparse.ArgumentParser(
        prog="atomstack", description=__doc__ and "Lock, gate, build and verify a combination."
    )
    parser.add_argument("--version", action="version", version=f"atomstack {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_compat_check(commands)
    _add_lock(commands)
    _add_manifest(commands)
    return parser


def _add_compat_check(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser(
        "compat-check",
        help="does a package fit the package whose internals it uses?",
        description="Does CONSUMER fit HOST? Static: nothing of either side is imported or run. Each is a directory, a "
        "wheel, an sdist, NAME==VERSION from the package index, or installed:NAME.",
    )
    command.add_argument("consumer", metavar="CONSUMER", help="the package that uses another one's internals")
    command.add_argument(
        "--package",
        metavar="NAME",
        help="import package of CONSUMER, where it holds several (or that of HOST)",
    )
    command.add_argument("--against", metavar="HOST", required=True, help="the package whose internals it uses")
    command.add_argument("--format", choices=FORMATS, default="text", help="of what is printed (default: text)")
    for form in FORMATS:
        command.add_argument(f"--{form}", metavar="FILE", type=Path, help=f"write the result there as {form}, too")
    command.add_argument(
        "--fail-on",
        choices=[severity.value for severity in Severity],
        help="exit 1 on findings of this severity or a worse one (default: what the consumer's pyproject.toml says, "
        "else error, which is silent too)",
    )
    command.add_argument(
        "--relocations",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a table of where CONSUMER looks for symbols of HOST, beside those that it holds",
    )
    command.add_argument(
        "--no-cache",
        action="store_true",
        help="check anew, and do not keep the result for the next time that all of it is the same",
    )
    command.set_defaults(run=_compat_check)


def _compat_check(args: argparse.Namespace) -> int:
    from atomstack.compat_check import check, open_pair, results_folder

    files: dict[str, Path] = {form: file for form in FORMATS if (file := getattr(args, form)) is not None}
    for form, file in files.items():
        _forget(form, file)
    folder = None if args.no_cache else results_folder()
    result = check(*open_pair(args.consumer, args.against, args.package), args.relocations, folder=folder)
    fail_on = Severity(args.fail_on) if args.fail_on else result.fail_on or Severity.ERROR
    for form, file in files.items():
        _write(form, file, render(form, result, fail_on))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    print(render(args.format, result, fail_on, colour=colour), end="")
    return EXIT_FINDINGS if result.failing(fail_on) else EXIT_HOLDS


def _forget(form: str, file: Path) -> None:
    """Remove an earlier result, never a device or a link: a check that cannot be made must not seem to have one."""
    try:
        if file.is_file() and not file.is_symlink():
            file.unlink()
    except OSError as error:
        raise UsageError(f"--{form} {file}: {error.strerror}") from None


def _write(form: str, file: Path, document: str) -> None:
    try:
        file.write_text(document, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"--{form} {file}: {error.strerror}") from None


def _add_lock(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser("lock", help="resolve every pin; write docker-bake.override.json")
    how = command.add_mutually_exclusive_group()
    how.add_argument(
        "--check",
        action="store_true",
        help="write nothing, use no network; exit 1 when recipes or manifests changed",
    )
    how.add_argument("--recipes", action="store_true", help="refresh only what takes no network and no buildx")
    command.set_defaults(run=_lock)


def _lock(args: argparse.Namespace) -> int:
    if args.check:
        from atomstack.lock.check import check

        check(Path())
        return EXIT_HOLDS
    from atomstack.lock.override import FILE
    from atomstack.lock.write import write, write_offline

    if args.recipes:
        print(f"{FILE}: {'written' if write_offline(Path()) else 'up to date'}")
        return EXIT_HOLDS
    report = write(Path(), announce=lambda line: print(line, file=sys.stderr))
    for outcome in report.outcomes:
        print(f"{outcome.state:9} {outcome.name}: {outcome.detail}")
    unlocked = sum(outcome.state == "unlocked" for outcome in report.outcomes)
    state = "written" if report.changed else "up to date"
    print(f"{FILE}: {state}, {unlocked} of {len(report.outcomes)} pins unlocked")
    if refused := [outcome.name for outcome in report.outcomes if outcome.state == "refused"]:
        raise StaleError(
            f"what ought not to move has, and the lock did not follow: {', '.join(refused)}. To accept one, "
            f"delete its entry from {FILE} and run `atomstack lock` again"
        )
    return EXIT_HOLDS


def _add_manifest(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = commands.add_parser("manifest", help="fleets of GPUs: check, render")
    actions = command.add_subparsers(title="actions", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="is every manifest valid? (all, or the named ones)")
    check.add_argument("names", nargs="*", metavar="NAME")
    check.set_defaults(run=_manifest_check)
    render = actions.add_parser("render", help="write them into docker-bake.override.json")
    render.add_argument("--check", action="store_true", help="write nothing; exit 1 when it is not up to date")
    render.set_defaults(run=_manifest_render)
    show = actions.add_parser("show", help="print one manifest, or one field of it, a line per item")
    show.add_argument("name", metavar="NAME")
    show.add_argument("--field", metavar="FIELD", help="such as gfx, toolchain or rootfs.packages")
    show.set_defaults(run=_manifest_show)


def _manifest_check(args: argparse.Namespace) -> int:
    from atomstack.manifest import load_all

    for manifest in load_all(Path(), args.names):
        print(f"manifests/{manifest.name}.yml: valid ({', '.join(manifest.gfx) or manifest.flavour})")
    return EXIT_HOLDS


def _manifest_render(args: argparse.Namespace) -> int:
    from atomstack.lock import override
    from atomstack.manifest import load_all, render

    rendered = render(load_all(Path()))
    if args.check:
        if override.read(Path(), override.MANIFESTS) != rendered:
            raise StaleError(
                f"{override.FILE} is not what manifests/ renders to; mend it with: atomstack manifest render"
            )
        return EXIT_HOLDS
    changed = override.update(Path(), override.MANIFESTS, lambda _: rendered)
    print(f"{override.FILE}: {'written' if changed else 'up to date'}, {len(rendered)} manifests")
    return EXIT_HOLDS


def _manifest_show(args: argparse.Namespace) -> int:
    import json

    from atomstack.manifest import load

    value = load(Path(), args.name).as_dict()
    for step in args.field.split(".") if args.field else ():
        if not isinstance(value, dict) or step not in value:
            known = ", ".join(value) if isinstance(value, dict) else "no fields"
            raise UsageError(f"manifest {args.name} has no field {args.field!r}; at {step!r} it has: {known}")
        value = value[step]
    if isinstance(value, dict):
        print(json.dumps(value, indent=2))
    else:
        for item in value if isinstance(value, list) else [value]:
            print(item)
    return EXIT_HOLDS
