"""Where did a missing symbol go? The places in the host that now define a name, best first."""

import ast
from collections.abc import Iterable

from atomstack.compat_check import syntax
from atomstack.compat_check.host import Host

_AT_MOST = 3
_CANDIDATES = 40
"""Files that are parsed to tell a definition at module level from a method of that name."""


def moved_to(host: Host, module: str, name: str | None) -> tuple[str, ...]:
    """Up to three places, as `module:name`, that define what `module` no longer has; modules for a missing module."""
    if name is None or name == "*":
        last = module.rpartition(".")[2]
        same = [other for other in host.module_names() if other.rpartition(".")[2] == last and other != module]
        akin = [other for other in same if len(set(other.split(".")) & set(module.split("."))) > 2]
        found = akin or (same if len(same) == 1 else [])  # a name that many modules have tells nothing
        return tuple(sorted(found, key=lambda place: _distance(module, place))[:_AT_MOST])
    places: dict[str, str] = {}
    for path, kind in host.definitions(name):
        places.setdefault(syntax.module_of(path), kind)
    nearest = sorted(places, key=lambda place: (places[place] == "=", _distance(module, place)))
    found = [place for place in nearest[:_CANDIDATES] if place != module and _defines(host, place, name)]
    return tuple(f"{place}:{name}" for place in _of_one_kind(found, places, name)[:_AT_MOST])


def _of_one_kind(found: Iterable[str], places: dict[str, str], name: str) -> list[str]:
    """Those of the likely kind first: a class for a CapitalisedName, a function or value otherwise."""
    likely = "class" if name[:1].isupper() and not name.isupper() else "def"
    return sorted(found, key=lambda place: not places[place].endswith(likely))


def _defines(host: Host, place: str, name: str) -> bool:
    module = host.module(place)
    nodes = module.bindings.get(name, ()) if module is not None else ()
    return any(not isinstance(node, ast.Import | ast.ImportFrom) for node in nodes)


def _distance(module: str, place: str) -> tuple[bool, int, int, int, str]:
    """Public before private and vendored, then the longest way together from the top, then names in common."""
    old, new = module.split("."), place.split(".")
    aside = any(part.startswith(("_", "test")) or part in {"third_party", "vendor"} for part in new)
    together = 0
    while together < min(len(old), len(new)) and old[together] == new[together]:
        together += 1
    return aside, -together, -len(set(old) & set(new)), len(new), place
