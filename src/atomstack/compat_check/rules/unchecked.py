"""`unchecked`: sites that the analysis could not decide, said plainly: one finding for all sites of a reason."""

from collections.abc import Iterator

from atomstack.compat_check.context import Context, Undecided
from atomstack.findings import Finding, Severity

CODE = "unchecked"
_NAMES = 5


def findings(context: Context) -> Iterator[Finding]:
    """One finding per module and reason, at the first of its sites."""
    for sites in _groups(context):
        first = sites[0]
        yield Finding(CODE, Severity.INFO, first.file, first.line, first.symbol, sentence(sites))


def sentences(context: Context) -> Iterator[str]:
    """What was not decided, in words, each group one sentence; then the imports whose guards go on without them."""
    for sites in _groups(context):
        yield f"{sentence(sites)} ({sites[0].file}:{sites[0].line}{', …' if len(sites) > 1 else ''})"
    for symbol, (file, line) in sorted(context.guarded.items()):
        yield f"{symbol} is absent and its import is guarded: whether {file}:{line} does without it was not checked"


def _groups(context: Context) -> list[list[Undecided]]:
    groups: dict[tuple[str, str], list[Undecided]] = {}
    for site in sorted(context.undecided, key=lambda site: (site.file, site.line, site.symbol)):
        groups.setdefault((site.about, site.reason), []).append(site)
    return list(groups.values())


def sentence(sites: list[Undecided]) -> str:
    """`vllm._C:ops and 3 more: vllm._C is a compiled extension`."""
    names = list(dict.fromkeys(site.symbol for site in sites))
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"{', '.join(names[:_NAMES])}{more}: {sites[0].reason}"
