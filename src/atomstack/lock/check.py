"""Is docker-bake.override.json of this checkout? Offline, standard library only, well under a second."""

import hashlib
from pathlib import Path

from atomstack.errors import StaleError
from atomstack.lock import override
from atomstack.lock.recipes import recipes


def check(root: Path) -> None:
    """StaleError when a recipe or manifest on disk is not the one docker-bake.override.json was made of."""
    if not (root / override.FILE).is_file():
        raise StaleError(
            f"{override.FILE}: not there; mend it with: atomstack manifest render && atomstack lock"
        )
    differing = []
    locked = override.read(root, override.LOCK).get("recipes", {})
    differing += _differences("the recipe of {}", locked, recipes(root), "atomstack lock --recipes")
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
