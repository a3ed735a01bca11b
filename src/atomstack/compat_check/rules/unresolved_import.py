"""`unresolved-import`: no rung of the import resolves in this host."""

from collections.abc import Iterator

from atomstack.compat_check.context import Context
from atomstack.compat_check.host import Presence
from atomstack.compat_check.relocate import moved_module, moved_to
from atomstack.compat_check.usage import ImportSite, InBody, InHandler
from atomstack.findings import Finding, Severity

CODE = "unresolved-import"


def findings(context: Context) -> Iterator[Finding]:
    """One finding per import, or per `try`/`except ImportError` ladder, that this host does not satisfy."""
    for usage in context.usages:
        for site in usage.imports:
            presence = context.resolver.presence(site)
            if presence is Presence.UNKNOWN:
                context.undecided(
                    f"{site.symbol}: the host makes it at run time, or it is compiled", site.file, site.line
                )
            elif presence is Presence.MISSING:
                yield from _judge(context, site)


def _judge(context: Context, site: ImportSite) -> Iterator[Finding]:
    resolver = context.resolver
    state = resolver.state(site.conditions)
    if state.live is False:
        return  # another rung, or another arm, is what runs in this host
    if state.live is None:
        context.undecided(f"{site.symbol}: runs only {state.why}", site.file, site.line)
        return
    guard = resolver.guard(site.conditions, *resolver.import_errors(site))
    rungs = _rungs_above(site)
    first = rungs[0] if rungs else site
    module_missing = resolver.module_is_missing(site)
    host = context.host_name
    what = f"{host} has no module {site.module}" if module_missing else f"{site.module} of {host} has no {site.name}"
    if guard is not None:
        if not _has_fallback(site):
            context.undecided(f"{site.symbol}: absent, and `{guard.text}` goes on without it", site.file, site.line)
        return  # what the handler imports instead is judged there
    if rungs:
        what += ", and no other rung resolves: " + ", ".join(f"{r.symbol} (line {r.line})" for r in rungs)
    moved = moved_to(context.host, site.module, site.name) if site.name else moved_module(context.host, site.module)
    yield Finding(CODE, Severity.ERROR, site.file, first.line, first.symbol, what, moved_to=moved)


def _rungs_above(site: ImportSite) -> list[ImportSite]:
    """The imports whose failure leads to this one: those in the bodies of the `try`s in whose handlers it stands."""
    return [
        rung
        for condition in site.conditions
        if isinstance(condition, InHandler)
        for rung in condition.statement.imports
        if not rung.dynamic
    ]


def _has_fallback(site: ImportSite) -> bool:
    return any(isinstance(condition, InBody) and condition.statement.fallbacks for condition in site.conditions)
