"""compat-check beside pyright, ty and griffe, in one run: time, processor, memory, lines of diagnostics.

    python benchmarks/peers.py CONSUMER HOST [--package NAME]

CONSUMER and HOST are folders that hold a package each. The peers are installed, at the versions below, into an
environment of their own that is removed afterwards. `ast.parse` is the time that Python takes for the files of the
consumer that name the host: no tool that reads them can do with less.
"""

import argparse
import ast
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
import warnings
from pathlib import Path

PEERS = ("pyright[nodejs]==1.1.414", "ty==1.0.0", "griffe==2.4.1")
ROUNDS = 3
DIAGNOSTIC = re.compile(r"^::|:\d+:\d+(?::| -) ")


def measured(command: list[str], environment: dict[str, str], place: Path) -> tuple[float, float, float, str]:
    """Seconds of wall, seconds of processor, MB at the peak (of the largest process), and what was printed."""
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, env=environment, cwd=place)
        _, _, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text


def parse_alone(consumer: Path, host: str) -> tuple[float, int]:
    """Seconds of `ast.parse` for the consumer's files that name the host, and how many they are."""
    sources = [source for path in consumer.rglob("*.py") if host.encode() in (source := path.read_bytes())]
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for source in sources:
            with warnings.catch_warnings(), contextlib.suppress(SyntaxError, ValueError):
                warnings.simplefilter("ignore")
                ast.parse(source)
        best = min(best, time.perf_counter() - started)
    return best, len(sources)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("consumer", type=Path)
    parser.add_argument("host", type=Path)
    parser.add_argument("--package", default="lmcache")
    parser.add_argument("--host-package", default="vllm")
    args = parser.parse_args()
    consumer, host = args.consumer.resolve(), args.host.resolve()
    source = consumer / args.package
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv/bin/python"
        subprocess.run([python, "-m", "pip", "install", "-q", *PEERS], check=True)
        bin_, environment = folder / "venv/bin", os.environ | {"ATOMSTACK_CACHE": str(folder / "cache")}
        ours = [sys.executable, "-m", "atomstack", "compat-check", str(consumer), "--package", args.package]
        ours += ["--against", str(host), "--format", "github"]
        project = folder / "project"
        project.mkdir()
        (project / "pyrightconfig.json").write_text(
            f'{{"include": ["{os.path.relpath(source, project)}"], "extraPaths": ["{host}", "{consumer}"]}}'
        )
        commands = {
            "compat-check, cold": [*ours, "--no-cache"],
            "compat-check, warm": ours,
            "ty": [
                str(bin_ / "ty"),
                "check",
                "--no-progress",
                "--output-format",
                "concise",
                "--extra-search-path",
                str(host),
                str(source),
            ],
            "pyright": [str(bin_ / "pyright"), "-p", str(project)],
            "griffe (loads the host)": [
                str(bin_ / "griffe"),
                "dump",
                args.host_package,
                "-s",
                str(host),
                "-o",
                os.devnull,
            ],
        }
        subprocess.run([bin_ / "pyright", "--version"], capture_output=True, check=True)  # it brings its Node now
        subprocess.run(
            ours, env=environment, capture_output=True, check=False
        )  # fills the cache that `warm` takes from
        parse, files = parse_alone(source, args.host_package)
        print(f"ast.parse alone, {files} files: {parse:.2f} s\n")
        print("| tool | wall s | CPU s | peak MB | lines | wall / ast.parse |\n|---|---|---|---|---|---|")
        for name, command in commands.items():
            rounds = [measured(command, environment, consumer) for _ in range(ROUNDS if "compat" in name else 1)]
            wall, cpu, peak, text = min(rounds)
            lines = sum(map(bool, map(DIAGNOSTIC.search, text.splitlines())))
            print(f"| {name} | {wall:.2f} | {cpu:.2f} | {peak:.0f} | {lines:,} | {wall / parse:.1f} |", flush=True)


if __name__ == "__main__":
    main()
