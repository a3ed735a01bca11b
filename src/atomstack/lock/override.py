"""docker-bake.override.json: the generated, committed half of the bake file; whole or unchanged, always."""

import fcntl
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atomstack.errors import CannotCheckError, UsageError

FILE = "docker-bake.override.json"
LOCK, MANIFESTS = "ATOMSTACK_LOCK", "ATOMSTACK_MANIFESTS"
EMPTY_LOCK: dict[str, Any] = {"schema": 1, "sources": {}, "images": {}, "wheels": {}, "recipes": {}}
_COMMIT, _DIGEST, _SHA256 = "[0-9a-f]{40}", "sha256:[0-9a-f]{64}", "[0-9a-f]{64}"


def read(root: Path, variable: str) -> Any:
    """The value that the file of the checkout at `root` gives `variable`; {} when either is not there.

    UsageError when it is not what this tool writes: a merge conflict, another schema, a commit that is none.
    """
    return _value(_document(root), variable)


def update(root: Path, variable: str, change: Callable[[Any], Any]) -> bool:
    """Set `variable` to `change(its value)`; whether the file changed.

    Concurrent runs wait for each other and each sees what the one before wrote. A run that is killed leaves
    the old file or the new one, and at most a temporary file that the next run removes.
    """
    with _only_one(root):
        document = _document(root)
        value = change(_value(document, variable))
        document.setdefault("variable", {})[variable] = {"default": value}
        content = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n"
        path = root / FILE
        if path.is_file() and path.read_bytes() == content:
            return False
        try:
            _replace(path, content)
        except OSError as error:
            raise CannotCheckError(f"{FILE}: cannot be written: {error.strerror}") from None
    return True


def _document(root: Path) -> dict[str, Any]:
    try:
        text = (root / FILE).read_text()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise CannotCheckError(f"{FILE}: cannot be read: {error}") from None
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{FILE}:{error.lineno}: not JSON ({error.msg}). It is generated: take one side of a merge "
            f"(`git checkout --ours {FILE}`), then `atomstack manifest render && atomstack lock`"
        ) from None
    except (ValueError, RecursionError):
        raise UsageError(f"{FILE}: not JSON that anybody wrote; {_mend()}") from None
    if not isinstance(document, dict) or not isinstance(document.get("variable", {}), dict):
        raise UsageError(f'{FILE}:1: expected {{"variable": {{…}}}}; {_mend()}')
    # bake would take a target from here as well, and nothing would show that it is not that of docker-bake.hcl.
    if unknown := (document.keys() - {"variable"}) | (document.get("variable", {}).keys() - {LOCK, MANIFESTS}):
        raise UsageError(f"{FILE}: holds {LOCK} and {MANIFESTS}, and not {', '.join(sorted(unknown))}; {_mend()}")
    return document


def _value(document: dict[str, Any], variable: str) -> Any:
    declared = document.get("variable", {}).get(variable, {})
    value = declared.get("default", {}) if isinstance(declared, dict) else None
    if not isinstance(value, dict):
        raise UsageError(f"{FILE}: {variable} is not a map; {_mend()}")
    if variable == LOCK and value and value.get("schema") != EMPTY_LOCK["schema"]:
        raise UsageError(
            f"{FILE}: {LOCK} has schema {value.get('schema')!r}, and this atomstack writes "
            f"{EMPTY_LOCK['schema']}; use the atomstack of this checkout (`make setup`)"
        )
    if flaw := next(_lock_flaws(value) if variable == LOCK else _manifest_flaws(value), None):
        raise UsageError(f"{FILE}: {variable}: {flaw}; {_mend()}")
    return value


def _lock_flaws(lock: dict[str, Any]) -> Iterator[str]:
    """What of a lock is not what this tool writes."""
    if unknown := sorted(lock.keys() - EMPTY_LOCK.keys()):
        yield f"unknown: {', '.join(unknown)}"
    identities = {"sources": ("commit", _COMMIT), "images": (None, _DIGEST), "wheels": ("sha256", _SHA256)}
    for kind, (key, pattern) in {**identities, "recipes": (None, _SHA256)}.items():
        entries = lock.get(kind, {})
        if not isinstance(entries, dict):
            yield f"{kind} is not a map"
            continue
        for name, entry in entries.items():
            identity = entry.get(key) if key and isinstance(entry, dict) else entry
            if not (isinstance(identity, str) and re.fullmatch(pattern, identity)):
                yield f"{kind}: {name}: {key or 'it'} is not {pattern}"
            elif kind == "wheels" and not isinstance(entry.get("version"), str):
                yield f"{kind}: {name}: has no version"


def _manifest_flaws(manifests: dict[str, Any]) -> Iterator[str]:
    return (f"{name} is not a map" for name, entry in manifests.items() if not isinstance(entry, dict))


def _mend() -> str:
    return "it is generated: remove it, then `atomstack manifest render && atomstack lock`"


@contextmanager
def _only_one(root: Path) -> Iterator[None]:
    """Hold the folder itself locked: no lock file to leave behind, and the kernel frees it however we end."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        for left in root.glob(f".{FILE}.*"):  # of a run that was killed: nobody else is at work now
            left.unlink(missing_ok=True)
        yield
        os.fsync(folder)
    finally:
        os.close(folder)


def _replace(path: Path, content: bytes) -> None:
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
