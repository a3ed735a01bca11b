"""What the consumer says of itself: the version of the host it is made for, and `[tool.compat-check]`.

Read from `*version*.env` files (VLLM_VERSION=, VLLM_COMMIT=), the requirements in its metadata or pyproject.toml, and
the table `[tool.compat-check]` of a checkout.
"""

import posixpath
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from atomstack.errors import UnreadableError, UsageError
from atomstack.findings import Finding, Severity
from atomstack.sources.tree import SourceTree

_TABLE = "[tool.compat-check]"
_KEYS = {"target", "package", "fail-on", "relocations", "accept"}
_ACCEPT = {"code", "symbol", "file", "reason"}


@dataclass(frozen=True, slots=True)
class Declaration:
    """One place that says which host is meant: `version` where it is exactly one, `specifier` where it is a range."""

    name: str
    file: str
    line: int
    version: str | None = None
    specifier: str | None = None
    commit: str | None = None

    def as_dict(self) -> dict[str, object]:
        """For machines."""
        names = ("name", "version", "specifier", "commit", "file", "line")
        return {name: getattr(self, name) for name in names}

    @property
    def place(self) -> str:
        """`vllm-version.env:2`."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that the consumer lives with: everything given must be equal. `line` is where it says so."""

    code: str
    reason: str
    symbol: str | None
    file: str | None
    line: int

    def covers(self, finding: Finding, path: str) -> bool:
        """Whether it speaks of this finding, whose file is `path` in the repository."""
        return (
            finding.code == self.code
            and self.symbol in (None, finding.symbol)
            and (self.file is None or self.file in (finding.file, path))
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """The table `[tool.compat-check]` of `file`."""

    file: str = "pyproject.toml"
    targets: tuple[Declaration, ...] = ()
    package: str | None = None
    fail_on: Severity | None = None
    relocations: str | None = None
    accept: tuple[Accepted, ...] = ()


def settings(consumer: SourceTree) -> Settings:
    """The table of a checkout; UsageError, with file and line, for one that is wrong.

    An archive's is not read: what a maintainer accepts in his own checks is not for others to take over unseen.
    """
    if consumer.kind != "directory":
        return Settings()
    for path in consumer.declarations():
        if posixpath.basename(path) == "pyproject.toml":
            return parse(_text(consumer, path), path)
    return Settings()


def parse(text: str, path: str) -> Settings:
    """The settings in a pyproject.toml; without the table, none."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        if "tool.compat-check" not in text:
            return Settings(path)  # pip will say so
        raise UsageError(f"{path}: not TOML: {error or 'nested too deeply'}") from None
    tool = document.get("tool")
    table = tool.get("compat-check") if isinstance(tool, dict) else None
    return Settings(path) if table is None else _Reader(text, path).settings(table)


def declarations(consumer: SourceTree, names: Sequence[str], own: Settings) -> list[Declaration]:
    """Everything that says which host is meant, `names` being what the host is called; the most explicit first."""
    known: set[str] = {canonicalize_name(name) for name in names}
    found = [target for target in own.targets if canonicalize_name(target.name) in known]
    paths = list(consumer.declarations())
    for path in paths:
        if path.lower().endswith(".env"):
            found += _from_env(_text(consumer, path), path, names)
    for path in paths:
        match posixpath.basename(path):
            case "pyproject.toml":
                found += _from_project(_text(consumer, path), path, known)
            case "METADATA" | "PKG-INFO":
                found += _from_metadata(_text(consumer, path), path, known)
    return found


def headline(consumer: str, found: Sequence[Declaration], version: str | None) -> str:
    """`plug declares vllm 0.31.0 (vllm-version.env:2); checked against 0.33.0: 2 minor releases ahead`, or ""."""
    if not found:
        return ""
    first = found[0]
    what = first.version or first.specifier or (f"commit {first.commit[:12]}" if first.commit else "")
    commit = f", commit {first.commit[:12]}" if first.commit and (first.version or first.specifier) else ""
    against = f"checked against {version}" if version else "checked against a version that does not say which"
    how = distance(first, version)
    said = f"{consumer} declares {first.name} {what}{commit} ({first.place}); {against}"
    return f"{said}: {how}" if how else said


def distance(declared: Declaration, version: str | None) -> str:
    """How far the host given is from what is declared, in words; "" where it cannot be told."""
    try:
        given = Version(version or "")
        if declared.version is None:
            if declared.specifier is None:
                return ""
            allowed = SpecifierSet(declared.specifier).contains(given, prereleases=True)
            return "which that allows" if allowed else "which that does not allow"
        meant = Version(declared.version)
    except (InvalidVersion, InvalidSpecifier):
        return ""
    if given == meant:
        return "the same release"
    side = "ahead" if given > meant else "behind"
    for name, one, other in zip(("major", "minor", "patch"), _three(given), _three(meant), strict=True):
        if one != other:
            number = abs(one - other)
            return f"{number} {name} release{'s' if number > 1 else ''} {side}"
    return f"another build of the same release, {side}"


def accept(found: Sequence[Finding], own: Settings, prefix: str) -> tuple[list[Finding], list[Accepted]]:
    """The findings, those that the consumer accepts with its reason on them; and the entries that met none."""
    used: set[Accepted] = set()
    judged = []
    for finding in found:
        path = posixpath.normpath(posixpath.join(prefix, finding.file))
        entry = next((entry for entry in own.accept if entry.covers(finding, path)), None)
        if entry is not None:
            used.add(entry)
        judged.append(finding if entry is None else replace(finding, accepted=entry.reason))
    return judged, [entry for entry in own.accept if entry not in used]


def beside(path: str, prefix: str) -> str:
    """A declaration's path as a finding's file: relative to the folder that holds the package."""
    return posixpath.relpath(path, prefix) if prefix and not path.startswith("/") else path


def _three(version: Version) -> tuple[int, int, int]:
    return version.major, version.minor, version.micro


def _text(consumer: SourceTree, path: str) -> str:
    try:
        return consumer.declaration(path).decode("utf-8", "replace")
    except UnreadableError:
        return ""


def _from_env(text: str, path: str, names: Sequence[str]) -> Iterator[Declaration]:
    """VLLM_VERSION= and VLLM_COMMIT=, as a shell would read them; of several lines the last counts."""
    for name in dict.fromkeys(names):
        word = re.escape(re.sub(r"\W", "_", name).upper())
        values: dict[str, tuple[str, int]] = {}
        for number, line in enumerate(text.splitlines(), 1):
            match = re.fullmatch(
                rf"\s*(?:export\s+)?{word}_(VERSION|COMMIT)\s*=\s*[\"']?v?([\w.+!-]{{1,100}})[\"']?\s*(?:#.*)?", line
            )
            if match:
                values[match[1]] = match[2], number
        if values:
            version, number = values.get("VERSION") or (None, 0)
            commit, other = values.get("COMMIT") or (None, 0)
            yield Declaration(name, path, number or other, version, None, commit)


def _from_project(text: str, path: str, known: set[str]) -> Iterator[Declaration]:
    try:
        project = tomllib.loads(text).get("project")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return
    if not isinstance(project, dict):
        return
    extras = project.get("optional-dependencies")
    lists = [project.get("dependencies"), *(extras.values() if isinstance(extras, dict) else ())]
    for requirement in (item for one in lists if isinstance(one, list) for item in one if isinstance(item, str)):
        if found := _required(requirement, path, _line(text, re.escape(requirement)), known):
            yield found


def _from_metadata(text: str, path: str, known: set[str]) -> Iterator[Declaration]:
    headers = text.partition("\n\n")[0]
    for value in HeaderParser().parsestr(headers).get_all("Requires-Dist") or ():
        requirement = " ".join(str(value).split())
        line = _line(headers, r"^Requires-Dist:\s*" + re.escape(str(value)))
        if found := _required(requirement, path, line, known):
            yield found


def _required(text: str, path: str, line: int, known: set[str]) -> Declaration | None:
    """A requirement of the host that says something of its version."""
    try:
        requirement = Requirement(text)
    except (InvalidRequirement, RecursionError):
        return None
    pins = list(requirement.specifier)
    if canonicalize_name(requirement.name) not in known or not pins:
        return None
    if len(pins) == 1 and pins[0].operator in {"==", "==="} and "*" not in pins[0].version:
        return Declaration(requirement.name, path, line, pins[0].version)
    return Declaration(requirement.name, path, line, specifier=str(requirement.specifier))


def _line(text: str, pattern: str, start: int = 0) -> int:
    match = re.compile(pattern, re.MULTILINE).search(text, start)
    return text.count("\n", 0, match.start()) + 1 if match else 1


class _Reader:
    """Reads the table; lines are looked up in the text, for a TOML document has none."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        header = re.search(r"^\s*\[\[?\s*tool\s*\.\s*[\"']?compat-check\b", text, re.MULTILINE)
        self.start = header.start() if header else 0

    def line(self, key: str | None = None, number: int = 0) -> int:
        """The line of the header, or of the n-th time that a key stands after it."""
        if key is None:
            return self.text.count("\n", 0, self.start) + 1 + self.text[self.start :].startswith("\n")
        pattern = re.compile(rf"^(?!\s*#).*?(?<![\w-])[\"']?{re.escape(key)}[\"']?\s*=", re.MULTILINE)
        found = list(pattern.finditer(self.text, self.start))
        return self.text.count("\n", 0, found[number].end()) + 1 if number < len(found) else self.line()

    def refuse(self, line: int, what: str) -> UsageError:
        return UsageError(f"{self.path}:{line}: {_TABLE}: {what}")

    def settings(self, table: object) -> Settings:
        if not isinstance(table, dict):
            raise self.refuse(self.line(), "expected a table")
        if unknown := sorted(table.keys() - _KEYS):
            raise self.refuse(
                self.line(unknown[0]), f"unknown key {unknown[0]!r}; known are {', '.join(sorted(_KEYS))}"
            )
        fail_on = self.text_of(table, "fail-on")
        if fail_on not in (None, *Severity):
            raise self.refuse(self.line("fail-on"), f"fail-on is {fail_on!r}; expected {', '.join(Severity)}")
        entries = table.get("accept", [])
        if not isinstance(entries, list):
            raise self.refuse(self.line("accept"), "expected accept to be a list of tables")
        return Settings(
            self.path,
            tuple(self.targets(table)),
            self.text_of(table, "package"),
            Severity(fail_on) if fail_on else None,
            self.text_of(table, "relocations"),
            tuple(self.accepted(entry, number) for number, entry in enumerate(entries)),
        )

    def text_of(self, table: Mapping[str, Any], key: str, line: int | None = None) -> str | None:
        value = table.get(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self.refuse(line or self.line(key), f"expected {key} to be a string that says something")
        return value

    def targets(self, table: Mapping[str, Any]) -> Iterator[Declaration]:
        value = table.get("target", [])
        for text in value if isinstance(value, list) else [value]:
            line = self.line("target")
            found = None
            if isinstance(text, str):
                try:
                    found = _required(text, self.path, line, {canonicalize_name(Requirement(text).name)})
                except InvalidRequirement:
                    found = None
            if found is None:
                raise self.refuse(line, f'target is {text!r:.100}; expected a requirement such as "vllm==0.31.0"')
            yield found

    def accepted(self, entry: object, number: int) -> Accepted:
        line = self.line("code", number)
        if not isinstance(entry, dict):
            raise self.refuse(self.line("accept"), "expected accept to be a list of tables")
        if unknown := sorted(entry.keys() - _ACCEPT):
            known = ", ".join(sorted(_ACCEPT))
            raise self.refuse(self.line(unknown[0]), f"accept has an unknown key {unknown[0]!r}; known are {known}")
        values = {key: self.text_of(entry, key, line) for key in _ACCEPT}
        code, reason = values["code"], values["reason"]
        if code is None or reason is None:
            raise self.refuse(line, "an accept entry needs a code and a reason")
        if values["symbol"] is None and values["file"] is None:
            raise self.refuse(line, "an accept entry needs a symbol or a file: a code alone would accept all to come")
        return Accepted(code, reason, values["symbol"], values["file"], line)
