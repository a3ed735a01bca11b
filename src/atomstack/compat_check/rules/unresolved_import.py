"""`unresolved-import`: no rung of the import resolves in this host."""

from collections.abc import Iterator

from atomstack.compat_check.context import Context
from atomstack.compat_check.host import Presence
from atomstack.compat_check.relocate import moved_to
from atomstack.compat_check.usage import ImportSite, InBody, InHandler
from atomstack.findings import Finding, Severity

CODE = "unresolved-import"


def findings(context: Context) -> Iterator[Finding]:
    """One finding per import, or per `try`/`except ImportError` ladder, that this host does not satisfy."""
    for usage in context.usages:
        for site in usage.imports:
            presence = context.resolver.presence(site)
            if presence is Presence.PRESENT:
                continue
            state = context.resolver.state(site.conditions)
            if state.live is False:
                continue  # another rung, or another arm, is what runs in this host
            if presence is Presence.UNKNOWN:
                found = context.host.find_module(site.module)
                name = "" if found is Presence.UNKNOWN else site.name or ""
                context.note(site.module, context.host.why(site.module, name), site.symbol, site.file, site.line)
            elif state.live is None:
                context.note("", f"runs only {state.why}", site.symbol, site.file, site.line)
            else:
                yield from _judge(context, site)


def _judge(context: Context, site: ImportSite) -> Iterator[Finding]:
    resolver = context.resolver
    if resolver.guard(site.conditions, *resolver.import_errors(site)) is not None:
        if not _has_fallback(site):
            context.note_guarded(site.symbol, site.file, site.line)
        return  # what the handler imports instead is judged there
    rungs = _rungs_above(site)
    first = rungs[0] if rungs else site
    if resolver.module_is_missing(site):
        what = f"{context.host_name} has no module {site.module}"
    else:
        what = f"{site.module} of {context.host_name} has no {site.name}"
    if rungs:
        what += ", and no other rung resolves: " + ", ".join(f"{rung.symbol} (line {rung.line})" for rung in rungs)
    moved = moved_to(context.host, site.module, site.name)
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
