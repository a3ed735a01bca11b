"""The gate: consumer and host in, one result out."""

import time

from atomstack.compat_check import syntax
from atomstack.compat_check.context import Context
from atomstack.compat_check.host import Host
from atomstack.compat_check.resolve import Resolver
from atomstack.compat_check.rules import missing_attribute, missing_patch_target, unresolved_import
from atomstack.compat_check.usage import Usage, scan
from atomstack.errors import CannotCheckError, UnreadableError
from atomstack.findings import Finding, Input, Result, Severity
from atomstack.sources.tree import SourceTree

NOT_ESTABLISHED = (
    "A clean compat-check means nothing will fail to import. It does not establish that a patch installs (doctor), "
    "that the kernels are there (kernels audit), or that any number is right (the accuracy gate on real hardware)."
)
_RULES = (unresolved_import, missing_attribute, missing_patch_target)


def check(consumer: SourceTree, host: SourceTree) -> Result:
    """What of the host the consumer uses and this host lacks.

    Raises CannotCheckError when the consumer uses nothing of the host: a wrong pair must not look like a clean one.
    """
    started = time.perf_counter()
    usages, unreadable = _usages(consumer, host.package)
    sites = [site for usage in usages for site in usage.imports if not site.dynamic]
    if not sites and not any(usage.imports for usage in usages) and not unreadable:
        raise CannotCheckError(
            f"{consumer.origin}: no import of {host.package} found in package {consumer.package}; "
            f"is this the package that uses {host.package}, and is `--package` right?"
        )
    offered = Host(host)
    context = Context(tuple(usages), offered, Resolver(offered))
    found = [*unreadable, *(finding for rule in _RULES for finding in rule.findings(context))]
    found.sort(key=lambda f: (f.severity.rank, f.file, f.line, f.symbol))
    return Result(
        gate="compat-check",
        inputs=(_input("consumer", consumer), _input("host", host)),
        summary={
            "import_sites": len(sites),
            "distinct_symbols": len({site.symbol for site in sites}),
            "patch_sites": sum(_is_patch(context, usage) for usage in usages),
            "modules_parsed": len(usages) + offered.modules_parsed,
            "seconds": round(time.perf_counter() - started, 3),
        },
        findings=tuple(dict.fromkeys(found)),
        not_established=NOT_ESTABLISHED,
        not_checked=context.not_checked(),
    )


def _usages(consumer: SourceTree, host: str) -> tuple[list[Usage], list[Finding]]:
    usages: list[Usage] = []
    unreadable: list[Finding] = []
    for path in consumer.paths():
        if not path.endswith(".py"):
            continue
        try:
            source = consumer.read(path)
            if host.encode() not in source:
                continue
            tree = syntax.parse(source, path)
            usages.append(
                scan(
                    tree,
                    file=path,
                    module=path.removesuffix(".py").removesuffix("/__init__").replace("/", "."),
                    is_package=path.endswith("/__init__.py"),
                    host=host,
                )
            )
        except UnreadableError as error:
            unreadable.append(_unreadable(path, error.reason))
        except RecursionError:
            unreadable.append(_unreadable(path, "nested too deep to analyse"))
    return usages, unreadable


def _unreadable(path: str, reason: str) -> Finding:
    line = reason.removeprefix("line ").partition(":")[0]
    return Finding(
        "unreadable",
        Severity.ERROR,
        path,
        int(line) if line.isdigit() else 1,
        path,
        f"cannot be parsed: {reason}",
    )


def _is_patch(context: Context, usage: Usage) -> int:
    return sum(
        (found := context.resolver.lookup(site.names, site.scope)) is not None and found.name == site.names[-1]
        for site in usage.patches
    )


def _input(role: str, tree: SourceTree) -> Input:
    return Input(role, tree.distribution or tree.package, tree.version, tree.kind, tree.content_hash())
