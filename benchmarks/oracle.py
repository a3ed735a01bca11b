"""The export table against Python itself: every module of a package is really imported, and each answer compared.

    python benchmarks/oracle.py [--python PYTHON] PACKAGE …

PYTHON is the interpreter of the environment that holds the packages (default: this one). Of every module that it can
import it is asked for each name that the table has, for each name that the module really has, and for names that other
modules have. A name said to exist must, a name said not to must not; what is undecided is counted. Exits 1 where one
answer differs.
"""

import argparse
import ast
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from atomstack.compat_check.exports import Module
from atomstack.compat_check.host import Host, Presence
from atomstack.sources import open_source

FOREIGN = 40
"""Names of other modules that each module is asked for."""

WORKER = """
import contextlib, importlib, json, os, sys, warnings
warnings.simplefilter("ignore")
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for line in sys.stdin:
    name, asked = json.loads(line)
    answer = {"module": name}
    print(json.dumps({"begins": name}), file=out, flush=True)
    try:
        module = importlib.import_module(name)
        answer["names"] = sorted(key for key in vars(module) if isinstance(key, str) and key != "__warningregistry__")
        answer["has"] = []
        for each in asked:
            with contextlib.suppress(Exception):
                # As `from module import each` does.
                if hasattr(module, each) or importlib.util.find_spec(f"{name}.{each}"):
                    answer["has"].append(each)
    except BaseException as error:
        answer["error"] = f"{type(error).__name__}: {error}"[:200]
    print(json.dumps(answer), file=out, flush=True)
os._exit(0)
"""


def imported(python: str, questions: list[tuple[str, list[str]]]) -> Iterator[dict[str, object]]:
    """What really importing each module tells; one that takes the interpreter down with it is left out."""
    while questions:
        text = "\n".join(map(json.dumps, questions))
        done = subprocess.run(
            [python, "-c", f"import importlib.util\n{WORKER}"], input=text, capture_output=True, text=True, check=False
        )
        begun = 0
        for line in done.stdout.splitlines():
            answer = json.loads(line)
            if "begins" in answer:
                begun += 1
            else:
                yield answer
        if not begun:
            raise SystemExit(f"{python}: {done.stderr[-2000:]}")
        questions = questions[begun:]


def conditional(module: Module, name: str) -> bool:
    """Whether only some way through the module binds the name: a table of all ways has it, one import may not."""
    top = set(map(id, module.tree.body))
    nodes = module.bindings.get(name, [])
    return bool(nodes) and not any(id(node) in top and not isinstance(node, ast.For | ast.While) for node in nodes)


def compare(python: str, folder: Path, package: str) -> Counter[str]:
    """Print each difference; counts by what was said and what is."""
    host = Host(open_source(str(folder), package=package))
    modules = sorted(name for name in host.module_names() if not name.endswith("__main__"))
    tables = {name: set(table.bindings) for name in modules if (table := host.module(name)) is not None}
    pool = sorted(set().union(*tables.values()))
    chance = random.Random(0)
    questions = [
        (name, sorted(tables.get(name, set()) | set(chance.sample(pool, min(FOREIGN, len(pool)))))) for name in modules
    ]
    asked = dict(questions)
    counts: Counter[str] = Counter(modules=len(modules))
    for answer in imported(python, questions):
        name = str(answer["module"])
        if "error" in answer:
            counts["not importable"] += 1
            continue
        counts["imported"] += 1
        names, has = answer["names"], answer["has"]
        assert isinstance(names, list)
        assert isinstance(has, list)
        there = {*names, *has}
        for each in sorted({*names, *asked[name]}):
            said = host.has(name, each)
            counts[f"said {said.value}"] += 1
            if said is Presence.UNKNOWN or (said is Presence.PRESENT) == (each in there):
                continue
            table = host.module(name)
            if said is Presence.PRESENT and table is not None and conditional(table, each):
                counts["bound on another way through the module"] += 1
                continue
            counts["wrong"] += 1
            print(f"{name}:{each} is said to be {said.value}, and is {'there' if each in there else 'not there'}")
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("packages", nargs="+", metavar="PACKAGE")
    args = parser.parse_args()
    question = (
        "import importlib.util as u, sys\n"
        "for package in sys.argv[1:]: print(u.find_spec(package).submodule_search_locations[0])"
    )
    found = subprocess.run(
        [args.python, "-c", question, *args.packages], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    wrong = 0
    for package, place in zip(args.packages, found.splitlines(), strict=True):
        counts = compare(args.python, Path(place), package)
        print(f"{package}: " + ", ".join(f"{number:,} {what}" for what, number in counts.items()))
        wrong += counts["wrong"]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
