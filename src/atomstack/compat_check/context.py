"""What every rule is given: the usages of the consumer, the host, and a place for what could not be decided."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from atomstack.compat_check.host import Host
from atomstack.compat_check.resolve import Resolver
from atomstack.compat_check.usage import Scope, Usage


@dataclass(frozen=True, slots=True)
class Undecided:
    """One site that the analysis could not decide. `about` is what the reason speaks of; sites are grouped by both."""

    about: str
    reason: str
    symbol: str
    file: str
    line: int


@dataclass(slots=True)
class Context:
    """One check under way. `sources` yields every Python file of the consumer."""

    usages: tuple[Usage, ...]
    host: Host
    resolver: Resolver
    sources: Callable[[], Iterator[bytes]]
    undecided: list[Undecided] = field(default_factory=list)
    guarded: dict[str, tuple[str, int]] = field(default_factory=dict)
    _added: dict[str, list[Scope]] | None = None
    _read: dict[str, bool] = field(default_factory=dict)

    @property
    def host_name(self) -> str:
        """The host as a person says it: `vllm 0.33.0`."""
        return f"{self.host.package} {self.host.version}" if self.host.version else self.host.package

    def note(self, about: str, reason: str, symbol: str, file: str, line: int) -> None:
        """Keep a site that the analysis could not decide."""
        self.undecided.append(Undecided(about, reason, symbol, file, line))

    def note_guarded(self, symbol: str, file: str, line: int) -> None:
        """Keep an import that does not resolve and whose handler goes on without it."""
        self.guarded.setdefault(symbol, (file, line))

    def adds(self, symbol: str, scope: Scope) -> bool:
        """Whether the consumer itself assigns that attribute of the host, elsewhere than in `scope`."""
        if self._added is None:
            self._added = {}
            for usage in self.usages:
                for site in (*usage.patches, *usage.additions):
                    found = self.resolver.lookup(site.names, site.scope)
                    if found is not None and found.name == site.names[-1]:
                        self._added.setdefault(found.symbol, []).append(site.scope)
        return any(place is not scope for place in self._added.get(symbol, ()))

    def reads_anywhere(self, name: str) -> bool:
        """Whether any file of the consumer reads an attribute of that name, off whatever object."""
        if name not in self._read:
            text = re.escape(name.encode())
            pattern = re.compile(
                rb"\.[ \t]*" + text + rb"\b(?![ \t]*=(?!=))|(?:getattr|hasattr)\([^\n]{0,200}['\"]" + text + rb"['\"]"
            )
            self._read[name] = any(name.encode() in source and pattern.search(source) for source in self.sources())
        return self._read[name]

    def mentions(self, names: frozenset[str]) -> bool:
        """Whether a file that uses the host speaks of one of these containers of it, and so may add keys."""
        return any(
            use.names[-1] in names or names & set(use.names) for usage in self.usages for use in usage.attributes
        ) or any(site.name in names for usage in self.usages for site in usage.imports)
