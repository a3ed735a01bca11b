"""What every rule is given: the usages of the consumer, the host, and a place for what could not be decided."""

from collections import defaultdict
from dataclasses import dataclass, field

from atomstack.compat_check.host import Host
from atomstack.compat_check.resolve import Resolver
from atomstack.compat_check.usage import PatchSite, Scope, Usage


@dataclass(slots=True)
class Context:
    """One check under way."""

    usages: tuple[Usage, ...]
    host: Host
    resolver: Resolver
    _undecided: dict[str, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))
    _added: dict[tuple[str, str], list[Scope]] = field(default_factory=lambda: defaultdict(list))
    _reads: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def __post_init__(self) -> None:
        for usage in self.usages:
            for name in usage.reads:
                self._reads[name] += 1
            for site in usage.patches:
                found = self.resolver.lookup(site.names, site.scope)
                if found is not None and found.name == site.names[-1]:
                    self._added[found.owner.symbol, found.name].append(site.scope)

    @property
    def host_name(self) -> str:
        """The host as a person says it: `vllm 0.33.0`."""
        return f"{self.host.package} {self.host.version}" if self.host.version else self.host.package

    def undecided(self, what: str, file: str, line: int) -> None:
        """Note a site that the analysis could not decide."""
        self._undecided[what].append((file, line))

    def not_checked(self) -> tuple[str, ...]:
        """What was not decided, one line for all places of a kind."""
        return tuple(
            f"{what} ({file}:{line}{f' and {len(rest)} more' if rest else ''})"
            for what, [(file, line), *rest] in sorted(self._undecided.items())
        )

    def added(self, owner: str, name: str, scope: Scope) -> bool:
        """Whether the consumer itself assigns that name on the host, elsewhere than where it is read."""
        return any(place is not scope for place in self._added.get((owner, name), ()))

    def reads_elsewhere(self, name: str, site: PatchSite) -> bool:
        """Whether the consumer reads an attribute of that name: then the assignment adds it.

        Reading it only where it is patched is how an original is kept: that is a patch all the same.
        """
        if name not in self._reads:
            return False
        return not any(
            use.names[-1] == name and use.scope is site.scope for usage in self.usages for use in usage.attributes
        )
