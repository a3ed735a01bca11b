"""What BuildKit says it did: the vertexes of `--progress=rawjson`, reduced to build steps."""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# "[atom-vllm stage-1 2/7] RUN …", "[base 1/2] ADD …". Loads of definitions and contexts carry no counter; neither do exports.
STEP = re.compile(r"\[(?P<target>[a-z0-9_.-]+)(?: [a-z0-9_.-]+)? +\d+/\d+\] (?P<instruction>(?!FROM ).*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """One build step: an instruction of a Dockerfile that makes a layer (RUN, COPY, ADD, WORKDIR).

    *Executed* means that BuildKit started it and took its result from no cache: some job completed the vertex without
    `cached`, or it began and did not complete (it failed or was interrupted). What is not a step never counts: loading
    the bake file, a Dockerfile, a context or image metadata, pulling a FROM, exporting, provenance.

    `target` is the bake target whose Dockerfile holds the instruction. BuildKit names a vertex once for every target that
    uses its result; of those it is the one that all others are built on.
    """

    target: str
    recipe: str  # the Dockerfile's ending: gate, gate-report and gate-tool are all docker/Dockerfile.gate
    instruction: str
    executed: bool
    started: bool
    error: str


@dataclass(frozen=True, slots=True)
class Record:
    """One build: whether it came through, its steps, and everything that it and its steps printed."""

    ok: bool
    steps: tuple[Step, ...] = field(repr=False)
    log: str = field(repr=False)

    @property
    def end(self) -> str:
        """The last lines of the log, for a person whose test failed."""
        return "\n".join(self.log.splitlines()[-40:])

    @property
    def executed(self) -> tuple[Step, ...]:
        """The steps that ran."""
        return tuple(step for step in self.steps if step.executed)

    @property
    def recipes(self) -> set[str]:
        """The Dockerfiles of which some step ran."""
        return {step.recipe for step in self.executed}


def read(ok: bool, lines: Iterable[str], plan: Mapping[str, dict]) -> Record:
    """The record of a build from its standard error and from the targets that `bake --print` names for it."""
    names: dict[str, list[str]] = {}
    events: dict[str, list[dict]] = {}
    text, printed = [], []
    for line in lines:
        if not line.startswith("{"):
            text.append(line)
            continue
        status = json.loads(line)
        for vertex in status.get("vertexes") or ():
            names.setdefault(vertex["digest"], []).append(vertex["name"])
            events.setdefault(vertex["digest"], []).append(vertex)
        printed += [base64.b64decode(log["data"]).decode(errors="replace") for log in status.get("logs") or ()]

    below = {name: _below(name, plan) for name in plan}
    steps = []
    for digest, seen in names.items():
        matches = [match for match in map(STEP.match, seen) if match and match["target"] in plan]
        if not matches:
            continue
        users = {match["target"] for match in matches}
        owner = min(sorted(users), key=lambda name: len(below[name] & users))
        vertexes = events[digest]
        done = [vertex for vertex in vertexes if vertex.get("completed")]
        started = any(vertex.get("started") for vertex in vertexes)
        steps.append(
            Step(
                target=owner,
                recipe=plan[owner]["dockerfile"].rpartition(".")[2],
                instruction=matches[0]["instruction"],
                executed=started and (not done or any(not vertex.get("cached") for vertex in done)),
                started=started,
                error=next((vertex["error"] for vertex in vertexes if vertex.get("error")), ""),
            )
        )
    return Record(ok, tuple(steps), "\n".join([*text, "".join(printed)]))


def _below(name: str, plan: Mapping[str, dict]) -> set[str]:
    """Every target that a target is built on."""
    direct = {
        context.removeprefix("target:")
        for context in plan[name].get("contexts", {}).values()
        if context.startswith("target:")
    }
    return direct.union(*(_below(other, plan) for other in direct))
