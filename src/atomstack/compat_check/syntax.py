"""Questions about Python source that both sides ask: what a statement binds, what it means, whether it ever runs.

Nothing here recurses over expressions, so that a file of any shape is read: Python's parser bounds blocks to a hundred
levels, but neither `elif` chains nor expressions.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator

from atomstack.errors import UnreadableError

PARSE_LIMIT = 2 << 20
"""Bytes of one file that is parsed. The largest in vLLM, torch and transformers have 1.2 MB; a syntax tree takes up to
500 times its source, so this bounds memory to about a gigabyte."""
_DOTS = 10_000
_LONG_NAME = re.compile(rb"(?:\.[\s\\]*+[^\s\\.,;:()\[\]{}'\"#=+*/-]++[\s\\]*+){300}")


def parse(source: bytes, path: str) -> ast.Module:
    """The tree of one file; UnreadableError, with the line, for anything that Python itself would refuse.

    CPython's parser bounds its own recursion (100,000 levels of each construct, on 3.11 to 3.13): it raises.
    """
    if len(source) > PARSE_LIMIT:
        raise UnreadableError(path, f"{len(source):,} bytes, more than the {PARSE_LIMIT:,} that are parsed")
    # CPython puts `from a.b.c… import` together part by part: a hundred thousand of them take it eleven seconds.
    if source.count(b".") > _DOTS and _LONG_NAME.search(source):
        raise UnreadableError(path, "a dotted name of more than 300 parts")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, path)
    except SyntaxError as error:
        raise UnreadableError(path, f"line {error.lineno or 1}: {error.msg}") from None
    except (RecursionError, MemoryError):
        raise UnreadableError(path, "nested too deeply for Python's own parser") from None
    except (ValueError, LookupError, OverflowError, SystemError) as error:
        raise UnreadableError(path, str(error)) from None


def is_type_checking(test: ast.expr, aliases: frozenset[str] = frozenset()) -> bool:
    """Whether a condition is exactly `TYPE_CHECKING`, under any prefix or one of its aliases."""
    return (isinstance(test, ast.Name) and (test.id == "TYPE_CHECKING" or test.id in aliases)) or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def arms(test: ast.expr, aliases: frozenset[str] = frozenset()) -> tuple[bool, bool]:
    """Whether the body and the else arm of `if test:` can ever run: of `if TYPE_CHECKING:` only the latter."""
    turned = False
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, turned = test.operand, not turned
    body, other = _arms(test, aliases)
    return (other, body) if turned else (body, other)


def _arms(test: ast.expr, aliases: frozenset[str]) -> tuple[bool, bool]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return all(arms(part, aliases)[0] for part in test.values), True
    if isinstance(test, ast.BoolOp):
        return True, all(arms(part, aliases)[1] for part in test.values)
    if isinstance(test, ast.Constant):
        return bool(test.value), not test.value
    return not is_type_checking(test, aliases), True


def live_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that may run when a module (or class body) is executed, in order; compound ones come first."""
    pending = list(body)[::-1]
    while pending:
        node = pending.pop()
        yield node
        inner: list[ast.stmt] = []
        match node:
            case ast.If():
                runs, other = arms(node.test)
                inner = [*(node.body if runs else ()), *(node.orelse if other else ())]
            case ast.Try() | ast.TryStar():
                inner = [
                    *node.body,
                    *(statement for handler in node.handlers for statement in handler.body),
                    *node.orelse,
                    *node.finalbody,
                ]
            case ast.With() | ast.AsyncWith():
                inner = node.body
            case ast.For() | ast.AsyncFor() | ast.While():
                inner = [*node.body, *node.orelse]
            case ast.Match():
                inner = [statement for case in node.cases for statement in case.body]
        pending.extend(reversed(inner))


def bound_names(node: ast.stmt) -> Iterator[str]:
    """The plain names that one statement itself binds, walrus aside; not those of the statements inside it."""
    match node:
        case ast.Assign():
            for target in node.targets:
                yield from target_names(target)
        case ast.AnnAssign():
            if node.value is not None:
                yield from target_names(node.target)
        case ast.AugAssign() | ast.For() | ast.AsyncFor():
            yield from target_names(node.target)
        case ast.With() | ast.AsyncWith():
            for item in node.items:
                if item.optional_vars is not None:
                    yield from target_names(item.optional_vars)
        case ast.Match():
            for case in node.cases:
                for part in ast.walk(case.pattern):
                    name = getattr(part, "name", None) or getattr(part, "rest", None)
                    if isinstance(name, str):
                        yield name
        case _ if type(node).__name__ == "TypeAlias":  # Python 3.12
            yield node.name.id  # type: ignore[attr-defined]  # mypy checks for 3.11


def target_names(target: ast.expr) -> Iterator[str]:
    """The plain names in the target of an assignment."""
    pending = [target]
    while pending:
        match pending.pop():
            case ast.Name(id=name):
                yield name
            case ast.Tuple(elts=items) | ast.List(elts=items):
                pending.extend(items)
            case ast.Starred(value=inner):
                pending.append(inner)


def walrus_names(node: ast.stmt) -> Iterator[str]:
    """The names that `:=` binds in the expressions of one statement, those of inner functions aside."""
    pending: list[ast.AST] = list(own_expressions(node))
    while pending:
        part = pending.pop()
        if isinstance(part, ast.NamedExpr):
            yield part.target.id
        pending.extend(ast.iter_child_nodes(part.args if isinstance(part, ast.Lambda) else part))


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
            if child.optional_vars is not None:
                yield child.optional_vars


def absolute(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    """The dotted name that `from …x import` means inside `module`."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    keep = len(parts) - node.level + (1 if is_package else 0)
    return ".".join(parts[: max(keep, 0)] + ([node.module] if node.module else []))


def module_of(path: str) -> str:
    """The dotted name of a module, from its file: `vllm/config/__init__.py` is vllm.config."""
    folder, _, file = path.rpartition("/")
    stem = file.partition(".")[0]
    parts = [part for part in folder.split("/") if part] + ([] if stem == "__init__" else [stem])
    return ".".join(parts)


def dotted(node: ast.expr) -> tuple[str, ...] | None:
    """`a.b.c` as its parts, or None when it does not start at a plain name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return tuple(parts[::-1])


def string(node: ast.expr | None) -> str | None:
    """The value of a string literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
