"""Is docker-bake.override.json of this checkout? Offline, standard library only, well under a second."""

import hashlib
from pathlib import Path

from atomstack.errors import StaleError
from atomstack.lock import override, wheels
from atomstack.lock.recipes import recipes


def check(root: Path) -> None:
    """StaleError when what is on disk is not what docker-bake.override.json was made of.

    That is: recipes, manifests, and the pins of the portable flavour's wheels. The pins of the bake file are
    not asked, which would take buildx: one that the lock lacks is built as `unlocked`, and says so.
    """
    actual = recipes(root)  # first: in another folder there is nothing to compare with
    if not (root / override.FILE).exists():
        raise StaleError(f"{override.FILE}: not there; mend it with: atomstack manifest render && atomstack lock")
    differing = []
    lock = override.EMPTY_LOCK | override.read(root, override.LOCK)
    differing += _differences("the recipe of {}", lock["recipes"], actual, "atomstack lock --recipes")
    if lock["wheels"].get("vllm") != wheels.vllm(root):
        differing.append(
            "the pin of the vLLM wheel changed since it was written; mend it with: atomstack lock --recipes"
        )
    if (torch := lock["wheels"].get("torch")) and torch["version"] != wheels.pinned_torch(root):
        differing.append("the pin of the torch wheel changed since it was written; mend it with: atomstack lock")
    rendered = {name: entry.get("hash") for name, entry in override.read(root, override.MANIFESTS).items()}
    on_disk = {p.stem: hashlib.sha256(p.read_bytes()).hexdigest() for p in (root / "manifests").glob("*.yml")}
    differing += _differences("manifests/{}.yml", rendered, on_disk, "atomstack manifest render")
    if differing:
        raise StaleError("\n".join(f"{override.FILE}: {line}" for line in differing))


def _differences(what: str, recorded: dict[str, str], actual: dict[str, str], mend: str) -> list[str]:
    lines = []
    for name in sorted(recorded.keys() | actual.keys()):
        if recorded.get(name) == actual.get(name):
            continue
        verb = "was added" if name not in recorded else "is gone" if name not in actual else "changed"
        lines.append(f"{what.format(name)} {verb} since it was written; mend it with: {mend}")
    return lines
