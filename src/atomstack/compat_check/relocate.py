"""Where did a missing symbol go? The places in the host that now define a name, best first."""

import ast
import re

from atomstack.compat_check import syntax
from atomstack.compat_check.host import Host
from atomstack.errors import UnreadableError

_AT_MOST = 3


def moved_to(host: Host, module: str, name: str) -> tuple[str, ...]:
    """Up to three `module:name` that define `name` at module level: nearest package first, public before private."""
    definition = re.compile(
        rb"(?m)^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+"
        + re.escape(name.encode())
        + rb"\b|^"
        + re.escape(name.encode())
        + rb"[ \t]*(?::[^\n]*)?="
    )
    found = [
        place
        for path, source in host.sources_with(name.encode())
        if definition.search(source) and (place := _defining_module(path, source, name)) is not None and place != module
    ]
    return tuple(f"{place}:{name}" for place in sorted(found, key=lambda place: _distance(module, place))[:_AT_MOST])


def _defining_module(path: str, source: bytes, name: str) -> str | None:
    try:
        tree = syntax.parse(source, path)
    except UnreadableError:
        return None
    for node in syntax.live_statements(tree.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name == name:
                break
        elif not isinstance(node, ast.Import | ast.ImportFrom) and name in syntax.bound_names(node):
            break
    else:
        return None
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _distance(module: str, place: str) -> tuple[bool, int, int, str]:
    old, new = module.split("."), place.split(".")
    private = any(part.startswith(("_", "test")) for part in new)
    return private, -len(set(old) & set(new)), len(new), place


def moved_module(host: Host, module: str) -> tuple[str, ...]:
    """Modules of the host with the same last name, nearest first."""
    last = module.rpartition(".")[2]
    found = [name for name in host.module_names() if name.rpartition(".")[2] == last and name != module]
    return tuple(sorted(found, key=lambda place: _distance(module, place))[:_AT_MOST])
