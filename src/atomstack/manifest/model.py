"""The values of a manifest that passed its schema, and how bake gets them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rootfs:
    """What mmdebstrap makes the base of: a Debian release, and packages beyond its minbase variant."""

    suite: str
    packages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One fleet. Fields are those of manifests/schema.json, which describes them.

    `hash` is the SHA-256 of the file's bytes, in hex: who holds the YAML can tell without parsing it whether
    a rendered manifest is of that YAML. `components`: whether the image carries each of the optional ones.
    """

    name: str
    hash: str
    description: str
    flavour: str
    gfx: tuple[str, ...]
    components: Mapping[str, bool]
    plugin: str
    toolchain: tuple[str, ...]
    rootfs: Rootfs | None

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON has it: lists where these are tuples."""
        value: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return value


def render(manifests: Iterable[Manifest]) -> dict[str, dict[str, Any]]:
    """The value of ATOMSTACK_MANIFESTS: name -> what the graph reads of it, every entry with the same keys.

    The root filesystem is not in it: scripts/rootfs.sh makes that before bake runs.
    """
    rendered = {m.name: m.as_dict() for m in manifests}
    for entry in rendered.values():
        del entry["name"], entry["rootfs"]
    return rendered
