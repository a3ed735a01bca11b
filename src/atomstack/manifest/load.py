"""Reads manifests: YAML 1.2 by ruamel.yaml, judged by manifests/schema.json, every mistake with its line."""

import difflib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedBase
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from atomstack.errors import CannotCheckError, UsageError
from atomstack.manifest.model import Manifest, Rootfs

FOLDER = "manifests"
_NAME = "[a-z0-9][a-z0-9_-]{0,40}"
_JSON_TYPES = {"object": "a mapping", "array": "a list", "string": "a string", "boolean": "true or false"}


def names(root: Path) -> tuple[str, ...]:
    """The names of the manifests of the checkout at `root`, sorted."""
    folder = root / FOLDER
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; run this where docker-bake.hcl lies")
    if odd := sorted(p.name for p in folder.glob("*.yaml")):
        raise UsageError(f"{FOLDER}/{odd[0]}: a manifest is named NAME.yml; rename it to {Path(odd[0]).stem}.yml")
    found = tuple(sorted(p.stem for p in folder.glob("*.yml")))
    if odd := [name for name in found if not re.fullmatch(_NAME, name)]:
        raise UsageError(f"{FOLDER}/{odd[0]}.yml: its name is part of image tags: expected {_NAME}; rename it")
    return found


def load_all(root: Path, chosen: Sequence[str] = ()) -> tuple[Manifest, ...]:
    """The manifests named in `chosen`, or all; a UsageError has the mistakes of every file, a line each."""
    manifests, mistakes = [], []
    for name in chosen or names(root):
        try:
            manifests.append(load(root, name))
        except UsageError as error:
            mistakes.append(str(error))
    if mistakes:
        raise UsageError("\n".join(mistakes))
    return tuple(manifests)


def load(root: Path, name: str) -> Manifest:
    """The manifest `name` of the checkout at `root`; UsageError for one that is not, or is not valid."""
    if name not in (known := names(root)):
        raise UsageError(
            f"no manifest {name!r} in {FOLDER}/{_did_you_mean(name, known)}; there are: {', '.join(known)}"
        )
    shown = f"{FOLDER}/{name}.yml"
    try:
        content = (root / shown).read_bytes()
    except OSError as error:
        raise CannotCheckError(f"{shown}: {error.strerror}") from None
    document = _parse(shown, content)
    if mistakes := sorted(set(_mistakes(document, _validator(root)))):
        raise UsageError("\n".join(f"{shown}:{line}: {message}" for line, message in mistakes))
    return Manifest(
        name=name,
        hash=hashlib.sha256(content).hexdigest(),
        description=str(document["description"]),
        flavour=str(document["flavour"]),
        gfx=_strings(document["gfx"]),
        components={key: bool(component["ship"]) for key, component in sorted(document["components"].items())},
        plugin=str(document["plugin"]),
        toolchain=_strings(document["toolchain"]),
        rootfs=(
            Rootfs(suite=str(document["rootfs"]["suite"]), packages=_strings(document["rootfs"]["packages"]))
            if "rootfs" in document
            else None
        ),
    )


def _strings(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


def _parse(shown: str, content: bytes) -> Any:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{shown}:{line}: this is not UTF-8, which a manifest is written in") from None
    try:
        document = YAML(typ="rt").load(text)
    except DuplicateKeyError as error:
        key = str(error.problem).partition('"')[2].partition('"')[0]
        raise UsageError(f"{shown}:{_line_of(error)}: the key {key!r} stands here a second time; keep one") from None
    except MarkedYAMLError as error:
        where = f" ({error.context})" if error.context else ""
        raise UsageError(f"{shown}:{_line_of(error)}: not YAML: {error.problem}{where}") from None
    except RecursionError:
        raise UsageError(f"{shown}:1: nested too deeply to be a manifest") from None
    except YAMLError as error:  # a character that YAML forbids has an offset and no mark
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise UsageError(f"{shown}:{line}: not YAML: {getattr(error, 'reason', error)}") from None
    if document is None:
        raise UsageError(f"{shown}:1: the file is empty; copy another manifest and change it")
    return document


def _line_of(error: MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return int(mark.line) + 1 if mark else 1


def _validator(root: Path) -> Draft202012Validator:
    """A validator for manifests/schema.json; the gfx targets it refers to are a file beside it."""
    documents = {}
    for name in ("schema.json", "gfx-targets.json"):
        try:
            documents[name] = json.loads((root / FOLDER / name).read_bytes())
        except (OSError, ValueError) as error:
            raise CannotCheckError(f"{FOLDER}/{name}: cannot be read as JSON: {error}") from None
    resources = [(name, Resource.from_contents(document)) for name, document in documents.items()]
    registry: Registry[Any] = Registry().with_resources(resources)
    return Draft202012Validator(documents["schema.json"], registry=registry)


def _mistakes(document: Any, validator: Draft202012Validator) -> Iterator[tuple[int, str]]:
    for error in validator.iter_errors(document):
        where = "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in error.absolute_path).lstrip(".")
        path = list(error.absolute_path)
        for step, message in _messages(error, where):
            yield (
                _line(document, [*path, step] if step is not None else path),
                f"{where}: {message}".removeprefix(": "),
            )


def _line(document: Any, path: Sequence[Any]) -> int:
    """Where the value at `path` begins, or the innermost key around it; a document's own is 1."""
    node, line = document, 1
    for step in path:
        if not isinstance(node, CommentedBase):
            break
        position = node.lc.key(step) if isinstance(node, Mapping) else node.lc.item(step)
        line, node = int(position[0]) + 1, node[step]  # type: ignore[index]  # CommentedBase is a map or a sequence
    return line


def _messages(error: ValidationError, where: str) -> Iterator[tuple[Any, str]]:
    """What is wrong and what was expected, in the YAML's words, with the key or index it is about."""
    value: Any = error.instance
    schema: Any = error.schema
    expected: Any = error.validator_value
    match error.validator:
        case "additionalProperties":
            known = sorted(schema["properties"])
            for key in [key for key in value if key not in known]:
                yield key, f"unknown key {key!r}{_did_you_mean(key, known)}; known are: {', '.join(known)}"
        case "required":
            missing = [key for key in expected if key not in value]
            misspelt = {_closest(key, missing) for key in value if key not in expected}
            if missing := [key for key in missing if key not in misspelt]:
                yield None, f"missing: {', '.join(missing)}"
        case "enum" if schema.get("title") == "gfx target":
            hint = f"{_did_you_mean(value, expected)}; {FOLDER}/gfx-targets.json lists those that LLVM knows"
            yield None, f"{_quoted(value)} is not a gfx target{hint}"
        case "enum":
            yield (
                None,
                f"{_quoted(value)} is not one of {', '.join(expected)}{_did_you_mean(value, expected)}",
            )
        case "type":
            yield None, f"expected {_JSON_TYPES[expected]}, found {_kind(value)}"
        case "const":
            reason = " in the portable flavour: it needs a GPU" if where.endswith(".ship") else ""
            yield None, f"expected {json.dumps(expected)}, found {_quoted(value)}{reason}"
        case "minItems":
            yield None, "is empty; a rocm manifest names at least one gfx target"
        case "maxItems":
            yield None, "must be empty in the portable flavour, which runs on no GPU"
        case "uniqueItems":
            second = next(i for i, item in enumerate(value) if item in list(value)[:i])
            yield second, f"{_quoted(value[second])} is listed twice"
        case "not":
            yield None, "only a portable manifest has it; a rocm image starts from an image"
        case _:
            yield (
                None,
                f"{_quoted(value)} does not match {expected}. {schema.get('description', '')}".rstrip(),
            )


def _kind(value: object) -> str:
    names = {
        bool: "true or false",
        dict: "a mapping",
        list: "a list",
        str: "a string",
        int: "a number",
        float: "a number",
    }
    return next((name for kind, name in names.items() if isinstance(value, kind)), "nothing")


def _quoted(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else text[:60] + "…"


def _closest(word: object, known: Sequence[str]) -> str | None:
    return next(iter(difflib.get_close_matches(str(word).lower(), known, n=1)), None)


def _did_you_mean(word: object, known: Sequence[str]) -> str:
    close = _closest(word, known)
    return f"; did you mean {close!r}?" if close else ""
