"""Questions about Python source that both sides ask: what a statement binds, which module a relative import means."""

import ast
import warnings
from collections.abc import Iterable, Iterator

from atomstack.errors import UnreadableError


def parse(source: bytes, path: str) -> ast.Module:
    """Parse one file; raises UnreadableError with the line for anything that Python itself would refuse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, path)
    except SyntaxError as error:
        raise UnreadableError(path, f"line {error.lineno or 1}: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise UnreadableError(path, "nested too deep to parse") from None
    except ValueError as error:
        raise UnreadableError(path, str(error)) from None


def is_type_checking(test: ast.expr) -> bool:
    """Whether a condition is exactly `TYPE_CHECKING`, under any prefix."""
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def live_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that may run when a module (or class body) is executed, in order; compound ones come first.

    Arms under `if TYPE_CHECKING:` never run; of `if not TYPE_CHECKING:` the else arm.
    """
    for node in body:
        yield node
        match node:
            case ast.If():
                if not is_type_checking(node.test):
                    yield from live_statements(node.body)
                negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
                if not (negated and is_type_checking(node.test.operand)):  # type: ignore[attr-defined]
                    yield from live_statements(node.orelse)
            case ast.Try() | ast.TryStar():
                yield from live_statements(node.body)
                for handler in node.handlers:
                    yield from live_statements(handler.body)
                yield from live_statements(node.orelse)
                yield from live_statements(node.finalbody)
            case ast.With() | ast.AsyncWith():
                yield from live_statements(node.body)
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from live_statements(node.body)
                yield from live_statements(node.orelse)
            case ast.Match():
                for case in node.cases:
                    yield from live_statements(case.body)


def bound_names(node: ast.stmt) -> Iterator[str]:
    """The plain names that one statement itself binds (not those of the statements inside it)."""
    match node:
        case ast.Assign():
            for target in node.targets:
                yield from _target_names(target)
        case ast.AnnAssign():
            if node.value is not None:
                yield from _target_names(node.target)
        case ast.AugAssign():
            yield from _target_names(node.target)
        case ast.For() | ast.AsyncFor():
            yield from _target_names(node.target)
        case ast.With() | ast.AsyncWith():
            for item in node.items:
                if item.optional_vars is not None:
                    yield from _target_names(item.optional_vars)
        case ast.Match():
            for case in node.cases:
                for part in ast.walk(case.pattern):
                    if isinstance(part, ast.MatchAs | ast.MatchStar) and part.name:
                        yield part.name
        case ast.Try():
            for handler in node.handlers:
                if handler.name:
                    yield handler.name
        case _ if type(node).__name__ == "TypeAlias":  # Python 3.12
            yield node.name.id  # type: ignore[attr-defined]  # mypy checks for 3.11
    for expression in own_expressions(node):
        for part in ast.walk(expression):
            if isinstance(part, ast.NamedExpr):
                yield part.target.id


def _target_names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name():
            yield target.id
        case ast.Tuple() | ast.List():
            for item in target.elts:
                yield from _target_names(item)
        case ast.Starred():
            yield from _target_names(target.value)


def own_expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """The expressions that belong to a statement itself, not to the statements or scopes inside it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from node.decorator_list
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.withitem):
            yield child.context_expr


def absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:  # noqa: FBT001 - a fact about `module`
    """The dotted name that `from …x import` means inside `module`."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    keep = len(parts) - node.level + (1 if is_package else 0)
    return ".".join(parts[: max(keep, 0)] + ([node.module] if node.module else []))


def imported_module(node: ast.Import, name: str) -> str | None:
    """The dotted module that `name` stands for after `import a.b` (then `a`) or `import a.b as name`."""
    for alias in node.names:
        if alias.asname == name:
            return alias.name
        if alias.asname is None and alias.name.partition(".")[0] == name:
            return name
    return None


def assigned(node: ast.stmt, name: str) -> ast.expr | None:
    """The value that a statement assigns or adds to the plain name `name`."""
    match node:
        case ast.Assign(targets=targets, value=value) if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            return value
        case ast.AnnAssign(target=ast.Name(id=target)) | ast.AugAssign(target=ast.Name(id=target)) if target == name:
            return node.value
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=target), attr="extend" | "append"), args=[value])
        ):
            return value if target == name else None
    return None


def string_set(value: ast.expr) -> set[str] | None:
    """The strings of a literal list, tuple or set, sums of them included; None for anything else."""
    match value:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            found: set[str] = set()
            for item in items:
                inner = string_set(item.value) if isinstance(item, ast.Starred) else string_set(item)
                if inner is None:
                    return None
                found |= inner
            return found
        case ast.BinOp(left=left, op=ast.Add() | ast.BitOr(), right=right):
            first, second = string_set(left), string_set(right)
            return None if first is None or second is None else first | second
        case ast.Call(func=ast.Name(id="frozenset" | "set" | "list" | "tuple" | "sorted"), args=[inner_value]):
            return string_set(inner_value)
    return None


def dotted(node: ast.expr) -> list[str] | None:
    """`a.b.c` as its parts, or None when it does not start at a plain name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return parts[::-1]


def writes_namespace(node: ast.stmt) -> bool:
    """Whether a statement writes names into its module that no reader of the source can know.

    `globals()[…] = `, `globals().update(…)`, `sys.modules[…] = `, `setattr(sys.modules[__name__], …)`, `exec`.
    """
    for part in ast.walk(node):
        match part:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                continue
            case ast.Subscript(value=ast.Call(func=ast.Name(id="globals" | "vars" | "locals")), ctx=ast.Store()):
                return True
            case ast.Subscript(value=ast.Attribute(attr="modules"), ctx=ast.Store()):
                return True
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=ast.Name(id="globals" | "vars" | "locals")),
                    attr="update" | "setdefault",
                )
            ):
                return True
            case ast.Call(func=ast.Name(id="exec")):
                return True
            case ast.Call(func=ast.Name(id="setattr"), args=[ast.Subscript(value=ast.Attribute(attr="modules")), *_]):
                return True
    return False


def string(node: ast.expr | None) -> str | None:
    """The value of a string literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
