"""What a check costs grows with what the consumer uses, not with the size of the host.

    python benchmarks/scaling.py HOST [--package NAME]

Consumers with 10, 100 and 1,000 import sites, each of a name that the host defines, against the host and against a copy
of it four times as large (three more copies of all it holds, in packages of it that nothing imports).
"""

import argparse
import ast
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

SITES = (10, 100, 1000)
ROUNDS = 3


def definitions(folder: Path, package: str) -> list[str]:
    """An import statement for each class and function at the top of a module, modules in turn."""
    found: list[list[str]] = []
    for path in sorted((folder / package).rglob("*.py")):
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
        if path.stem == "__init__" or not all(part.isidentifier() for part in name.split(".")):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(path.read_bytes()).body
        found.append([f"from {name} import {n.name}" for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef)])
        if sum(map(len, found)) > 3 * SITES[-1]:
            break
    depth = max(map(len, found))
    return [names[at] for at in range(depth) for names in found if at < len(names)]


def seconds(consumer: Path, host: Path) -> float:
    """The best of some runs, interpreter start included, nothing cached."""
    best = float("inf")
    for _ in range(ROUNDS):
        command = [
            sys.executable,
            "-m",
            "atomstack",
            "compat-check",
            str(consumer),
            "--against",
            str(host),
            "--no-cache",
        ]
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        best = min(best, time.perf_counter() - started)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("host", type=Path, help="folder that holds the package")
    parser.add_argument("--package", default="vllm")
    args = parser.parse_args()
    statements = definitions(args.host, args.package)
    with tempfile.TemporaryDirectory() as place:
        large = Path(place) / "large" / args.package
        shutil.copytree(args.host / args.package, large)
        for copy in range(3):
            shutil.copytree(args.host / args.package, large / f"copy{copy}")
        print("| import sites | s | s, host four times as large |\n|---|---|---|")
        for sites in SITES:
            plug = Path(place) / f"of{sites}"
            plug.mkdir()
            (plug / "__init__.py").write_text("")
            for start in range(0, sites, 20):
                (plug / f"part{start}.py").write_text("\n".join(statements[start : min(start + 20, sites)]) + "\n")
            here, there = seconds(plug, args.host / args.package), seconds(plug, large)
            print(f"| {sites:,} | {here:.2f} | {there:.2f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
