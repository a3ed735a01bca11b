"""`missing-attribute`: an attribute of a host module or class that this host lacks."""

from collections.abc import Iterator

from atomstack.compat_check.context import Context
from atomstack.compat_check.host import Presence
from atomstack.compat_check.relocate import moved_to
from atomstack.compat_check.resolve import Lookup
from atomstack.compat_check.usage import AttributeUse
from atomstack.findings import Finding, Severity

CODE = "missing-attribute"


def findings(context: Context) -> Iterator[Finding]:
    """One finding per place that reads a name off a host module, or a class known in full, which has none of it."""
    for usage in context.usages:
        unresolved = {site.module for site in usage.imports if context.resolver.module_is_missing(site)}
        for use in usage.attributes:
            if use.optional:
                continue
            found = context.resolver.lookup(use.names, use.scope)
            if found is None or found.presence is Presence.PRESENT or _is_patched_here(context, use, found):
                continue
            state = context.resolver.state(use.conditions, use.line)
            if state.live is False or context.resolver.guard(use.conditions, "AttributeError") is not None:
                continue  # an optional attribute, and its absence is handled
            if found.presence is Presence.UNKNOWN:
                if found.owner.kind == "module":
                    reason = context.host.why(found.owner.module, found.name)
                    context.note(found.owner.module, reason, found.symbol, use.file, use.line)
            elif state.live is None:
                context.note("", f"runs only {state.why}", found.symbol, use.file, use.line)
            elif not any(f"{module}.".startswith(f"{found.owner.module}.{found.name}.") for module in unresolved):
                yield from _judge(context, use, found)


def _is_patched_here(context: Context, use: AttributeUse, found: Lookup) -> bool:
    return context.adds(found.symbol, use.scope)


def _judge(context: Context, use: AttributeUse, found: Lookup) -> Iterator[Finding]:
    module = context.host.module(found.owner.module) if found.owner.kind == "module" else None
    lazy = context.host.lazy(module) if module is not None else None
    if lazy is not None and lazy.containers and context.mentions(lazy.containers):
        reason = f"the consumer itself may add keys to {', '.join(sorted(lazy.containers))}"
        context.note(found.owner.module, reason, found.symbol, use.file, use.line)
        return
    yield Finding(
        CODE,
        Severity.ERROR,
        use.file,
        use.line,
        found.symbol,
        f"{found.owner.symbol} of {context.host_name} has no {found.name}",
        moved_to=moved_to(context.host, found.owner.module, found.name) if found.owner.kind == "module" else (),
    )
