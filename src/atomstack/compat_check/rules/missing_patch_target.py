"""`missing-patch-target`: the monkeypatch has nothing to patch."""

from collections.abc import Iterator

from atomstack.compat_check.context import Context
from atomstack.compat_check.host import Presence
from atomstack.compat_check.relocate import moved_to
from atomstack.findings import Finding, Severity

CODE = "missing-patch-target"


def findings(context: Context) -> Iterator[Finding]:
    """One finding per patch of a name that the host's module or class does not have.

    Assigning a name that is not there raises nothing, so the patch is lost without a word: *silent*. A name that the
    consumer reads itself is its own addition, and no patch.
    """
    for usage in context.usages:
        for site in usage.patches:
            found = context.resolver.lookup(site.names, site.scope)
            if found is None or len(site.names) < 2 or found.name != site.names[-1]:
                continue
            if found.presence is not Presence.MISSING:
                continue
            if found.name.startswith("__") or context.reads_elsewhere(found.name, site):
                continue
            symbol = f"{found.owner.module}:{found.owner.name + '.' if found.owner.name else ''}{found.name}"
            state = context.resolver.state(site.conditions)
            if state.live is None:
                context.undecided(f"patch of {symbol}: runs only {state.why}", site.file, site.line)
                continue
            guard = state.why if state.live is False else None
            if state.live is False and not state.why.startswith("if "):
                continue  # another arm is what runs in this host
            how = f"stands down (`{guard}`)" if guard else "adds a name that nothing reads"
            yield Finding(
                CODE,
                Severity.SILENT,
                site.file,
                site.line,
                symbol,
                f"{found.owner.symbol} of {context.host_name} has no {found.name}: the patch {how}",
                guard=guard,
                moved_to=moved_to(context.host, found.owner.module, found.name),
            )
