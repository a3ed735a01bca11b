"""`missing-patch-target`: the monkeypatch has nothing to patch."""

import ast
import re
from collections.abc import Iterator

from atomstack.compat_check import syntax
from atomstack.compat_check.context import Context
from atomstack.compat_check.host import Presence
from atomstack.compat_check.relocate import moved_to
from atomstack.compat_check.resolve import Lookup
from atomstack.compat_check.usage import PatchSite, Tested
from atomstack.findings import Finding, Severity

CODE = "missing-patch-target"


def findings(context: Context) -> Iterator[Finding]:
    """One finding per patch of a name that the host's module or class does not have.

    *silent* where a guard makes the patch stand down without a word; else error. A name that the consumer reads
    itself is its own addition, and no patch.
    """
    for usage in context.usages:
        for site in usage.patches:
            found = context.resolver.lookup(site.names, site.scope)
            if found is None:
                yield from _without_module(context, site)
            elif found.name == site.names[-1] and found.presence is Presence.MISSING:
                yield from _judge(context, site, found)


def _judge(context: Context, site: PatchSite, found: Lookup) -> Iterator[Finding]:
    resolver = context.resolver
    state = resolver.state(site.conditions)
    if found.name.startswith("__") or (state.live is not False and _adds(context, site, found)):
        return
    if state.live is None:
        context.note("", f"runs only {state.why}", found.symbol, site.file, site.line)
        return
    if state.live is False and (not _tests_it(context, site, found) or context.adds(found.symbol, site.scope)):
        return  # another arm is what runs in this host
    handler = resolver.guard(site.conditions, "AttributeError")
    guard = (
        state.why
        if state.live is False
        else handler.text
        if handler is not None
        else _soft_original(context, site, found)
    )
    if guard is None and _may_be_addition(context, site, found):
        reason = "the consumer adds it, or patches what is gone: the host nowhere speaks of it"
        context.note(found.owner.symbol, reason, found.symbol, site.file, site.line)
        return
    happens = (
        f"stands down without a word (`{guard}`)" if guard else "replaces nothing: the host never looks at that name"
    )
    yield Finding(
        CODE,
        Severity.SILENT if guard else Severity.ERROR,
        site.file,
        site.line,
        found.symbol,
        f"{found.owner.symbol} of {context.host_name} has no {found.name}: the patch {happens}",
        guard=guard,
        moved_to=moved_to(context.host, found.owner.module, found.name) if found.owner.kind == "module" else (),
    )


def _without_module(context: Context, site: PatchSite) -> Iterator[Finding]:
    """A patch of a module or class that is gone, where a guard swallows the failing import."""
    resolver = context.resolver
    reference = resolver.reference(site.names[0], site.scope)
    if reference is None or resolver.find(reference.module, reference.name or None) is not Presence.MISSING:
        return
    if resolver.state(site.conditions).live is None:
        return
    errors = ("ImportError",) if context.host.has_module(reference.module) else ("ImportError", "ModuleNotFoundError")
    bindings = [binding for binding in site.scope.lookup(site.names[0]) if binding.reference == reference]
    guards = [resolver.guard(binding.conditions, *errors) for binding in bindings]
    if not guards or None in guards or any(resolver.state(binding.conditions).live is not True for binding in bindings):
        return  # an unguarded import is reported where it stands
    guard = guards[0].text if guards[0] is not None else ""
    target = f"{reference.module}:{reference.name}" if reference.name else reference.module
    rest = ".".join(site.names[1:])
    yield Finding(
        CODE,
        Severity.SILENT,
        site.file,
        site.line,
        f"{target}{'.' if reference.name else ':'}{rest}",
        f"{context.host_name} has no {target}: the patch stands down without a word (`{guard}`)",
        guard=guard,
        moved_to=moved_to(context.host, reference.module, reference.name or (rest if "." not in rest else None)),
    )


def _adds(context: Context, site: PatchSite, found: Lookup) -> bool:
    """Whether the assignment adds a name of the consumer's own to the host."""
    if isinstance(site.value, ast.Constant) and isinstance(site.value.value, bool) and found.name.startswith("_"):
        return True  # a mark that the patch was made
    if context.resolver.state(site.conditions).live and _tests_it(context, site, found):
        return True  # it runs because the name is not there
    if any(imported.symbol == found.symbol for usage in context.usages for imported in usage.imports):
        return True  # if that import fails, it is reported as such
    for usage in context.usages:
        if any(use.names == site.names and use.scope is site.scope and not use.optional for use in usage.attributes):
            return False  # the original is kept: a patch all the same
    return context.reads_anywhere(found.name)


def _may_be_addition(context: Context, site: PatchSite, found: Lookup) -> bool:
    """Whether `Class.name = name` puts a helper, or `mod.Name = Name` a class, where the host never had one.

    Plugins do both, and call it by its plain name. That the host still speaks of the name tells a patch from them.
    """
    own = _own_name(site.value)
    if own is None or own.strip("_") != found.name.strip("_"):
        return False
    word = re.compile(rb"\b" + re.escape(found.name.encode()) + rb"\b")
    if found.owner.kind == "class":
        module = context.host.module(found.owner.module)
        return module is None or not word.search(module.source)
    return own[:1].isupper() and not any(word.search(s) for _, s in context.host.sources_with(found.name.encode()))


def _own_name(value: ast.expr | None) -> str | None:
    """The plain name that is assigned, `staticmethod(name)` included."""
    match value:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="staticmethod" | "classmethod" | "property"), args=[ast.Name(id=name)]):
            return name
    return None


def _tests_it(context: Context, site: PatchSite, found: Lookup) -> bool:
    """Whether one of the site's conditions asks for this very name."""
    return any(
        isinstance(condition, Tested) and _asks_for(context, condition.test, condition, found)
        for condition in site.conditions
    )


def _asks_for(context: Context, test: ast.expr, condition: Tested, found: Lookup, depth: int = 0) -> bool:
    for part in ast.walk(test):
        match part:
            case ast.Call(func=ast.Name(id="hasattr" | "getattr"), args=[_, name, *_]) if (
                syntax.string(name) == found.name
            ):
                return True
            case ast.Name(id=name) if depth < 3:
                for binding in condition.scope.lookup(name):
                    if binding.expression is not None and _asks_for(
                        context, binding.expression, condition, found, depth + 1
                    ):
                        return True
    return False


def _soft_original(context: Context, site: PatchSite, found: Lookup) -> str | None:
    """`getattr(mod, "name", None)` beside the patch: it was made for a host without the name."""
    for usage in context.usages:
        if usage.file == site.file:
            for use in usage.attributes:
                if use.optional and use.names == site.names and use.scope is site.scope:
                    return f"getattr(…, {found.name!r}, …)"
    return None
