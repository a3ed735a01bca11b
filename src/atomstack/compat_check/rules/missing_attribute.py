"""`missing-attribute`: an attribute of a host module that this host lacks."""

from collections.abc import Iterator

from atomstack.compat_check.context import Context
from atomstack.compat_check.host import Presence
from atomstack.compat_check.relocate import moved_to
from atomstack.findings import Finding, Severity

CODE = "missing-attribute"


def findings(context: Context) -> Iterator[Finding]:
    """One finding per place that reads a name off a host module which has none of that name."""
    for usage in context.usages:
        for use in usage.attributes:
            found = context.resolver.lookup(use.names, use.scope)
            if found is None or found.owner.kind != "module" or found.presence is not Presence.MISSING:
                continue
            symbol = f"{found.owner.module}:{found.name}"
            if context.added(found.owner.symbol, found.name, use.scope):
                continue
            state = context.resolver.state(use.conditions)
            if state.live is False:
                continue
            if state.live is None:
                context.undecided(f"{symbol}: runs only {state.why}", use.file, use.line)
                continue
            guard = context.resolver.guard(use.conditions, "AttributeError")
            if guard is not None:
                continue  # an optional attribute, and its absence is handled
            yield Finding(
                CODE,
                Severity.ERROR,
                use.file,
                use.line,
                symbol,
                f"{found.owner.module} of {context.host_name} has no {found.name}",
                moved_to=moved_to(context.host, found.owner.module, found.name),
            )
