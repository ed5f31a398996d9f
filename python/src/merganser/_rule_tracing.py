"""Calls a rule's function once, and refuses what columns without values cannot do: with the line, and a remedy."""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_stack, walk_tb
from types import CodeType, FrameType
from typing import Any, Callable, NoReturn

from merganser.errors import RuleNotTraceableError

_OWN_FOLDER = str(Path(__file__).parent)
_IDENTITY = re.compile(r"IS_OP|POP_JUMP\w*NONE")
"""Instructions of Python that compare with ``is``."""

_AND_OR = "Write (a) & (b) for 'and', (a) | (b) for 'or', ~(a) for 'not', and coalesce(a, b) for a default"
_WHEN = "Write when(condition, a).otherwise(b)"
_REMEDIES: dict[type[ast.AST], str] = {
    ast.If: _WHEN,
    ast.IfExp: _WHEN,
    ast.While: "Write the result as one expression: rules have no loops over values",
    ast.Assert: "Leave the check out: a rule merges what is stored",
    ast.comprehension: _WHEN,
    ast.BoolOp: _AND_OR,
    ast.UnaryOp: _AND_OR,
    ast.Compare: "Write (a < b) & (b < c) for a < b < c, and column.isin(a, b) for 'in'",
}
_CALLS = {
    "max": "Write greatest(a, b)",
    "min": "Write least(a, b)",
    "any": _AND_OR,
    "all": _AND_OR,
    "bool": "Write column.cast('boolean')",
    "sorted": "Write call('sort_array', column)",
}


def refuse(reason: str, remedy: str, function: Callable[..., Any] | None = None) -> NoReturn:
    """Raise the error for the line of the user's that is running, or for the first of the function."""
    if function is None:
        frame = _user_frame()
        raise _error(frame.f_code.co_filename, frame.f_lineno, reason, remedy)
    code = function.__code__
    raise _error(code.co_filename, code.co_firstlineno, reason, remedy)


def refuse_bool() -> NoReturn:
    """Refuse that a column is true or false: by an if, a loop, and, or, not, or a function that compares."""
    frame = _user_frame()
    found = dict.fromkeys(_remedy(node, frame.f_lineno) for node in _nodes(frame))
    remedies = list(filter(None, found)) or [_WHEN, _AND_OR]
    reason = "it asks whether a column is true, and a column has no value while the rule is traced"
    raise _error(frame.f_code.co_filename, frame.f_lineno, reason, "; ".join(remedies))


def traced(function: Callable[[Any, Any], Any], old: Any, new: Any, columns: tuple[type, ...]) -> Any:
    """What the function returns for columns without values.

    Args:
        function: The user's, of the older version and the newer one.
        old: The columns of the older version.
        new: Those of the newer version.
        columns: The classes of both, and of columns.
    """
    if not inspect.isfunction(function):
        raise TypeError(f"a rule is a function of the older and the newer version, not {type(function).__name__}")
    parameters = inspect.signature(function).parameters.values()
    if len(parameters) != 2 or any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters):
        refuse("it does not have two parameters", "Write def rule(old, new)", function)
    try:
        with _calls(columns) as of_columns:
            result = function(old, new)
    except RuleNotTraceableError:
        raise
    except Exception as error:
        steps = list(walk_tb(error.__traceback__))
        users = [(frame.f_code, line) for frame, line in steps if not _is_own(frame) and not _is_pysparks(frame)]
        code, line = users[-1] if users else (function.__code__, function.__code__.co_firstlineno)
        remedy = "Use columns of old and new, constants, operators and the functions of merganser.rules"
        if any(_is_pysparks(frame) for frame, _ in steps):
            remedy += ", also in place of pyspark.sql.functions, which are for data frames"
        raise _error(code.co_filename, line, f"it fails with {type(error).__name__}: {error}", remedy) from error
    for code, names in of_columns.items():
        _refuse_identity(code, names)
    return result


def _error(file: str, line: int, reason: str, remedy: str) -> RuleNotTraceableError:
    code = linecache.getline(file, line).strip()
    shown = f" ({code})" if code else ""
    return RuleNotTraceableError(
        f"[RULE_NOT_TRACEABLE] Cannot trace the rule: in line {line} of {Path(file).name}{shown} {reason}. {remedy}.",
        condition="RULE_NOT_TRACEABLE",
        sql_state="0A000",
        parameters={"file": file, "line": str(line), "reason": reason, "remedy": remedy},
    )


def _is_own(frame: FrameType) -> bool:
    return str(Path(frame.f_code.co_filename).parent) == _OWN_FOLDER


def _is_pysparks(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "pyspark"


def _user_frame() -> FrameType:
    return next(frame for frame, _ in walk_stack(sys._getframe(1)) if not _is_own(frame))


# --- what stands in the line


def _nodes(frame: FrameType) -> Iterator[ast.AST]:
    """All nodes of the frame's file; none without its source."""
    try:
        yield from ast.walk(ast.parse("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))))
    except (SyntaxError, ValueError):
        return


def _remedy(node: ast.AST, line: int) -> str | None:
    """For a part of the code that asks whether something in this line is true."""
    remedy = _REMEDIES.get(type(node))
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return None
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and not isinstance(node.ops[0], (ast.In, ast.NotIn)):
        return None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        remedy = _CALLS.get(node.func.id)
    if remedy is None:
        return None
    tests = getattr(node, "ifs", [getattr(node, "test", node)])
    return remedy if any(test.lineno <= line <= (test.end_lineno or test.lineno) for test in tests) else None


# --- `is`, which no column notices


@contextmanager
def _calls(columns: tuple[type, ...]) -> Iterator[dict[CodeType, set[str]]]:
    """The functions of the user that are called meanwhile, with the names that are columns in them."""
    found: dict[CodeType, set[str]] = {}

    def has_columns(value: Any) -> bool:
        values = value.values() if type(value) is dict else value if type(value) in (list, tuple) else (value,)
        return any(isinstance(one, columns) for one in values)

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event in ("call", "return") and not _is_own(frame):
            names = {name for name, value in frame.f_locals.items() if has_columns(value)}
            if names:
                found.setdefault(frame.f_code, set()).update(names)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


def _refuse_identity(code: CodeType, names: set[str]) -> None:
    """Refuse ``old.x is None``, which is false whatever the column; without source, any ``is``."""
    remedy = "Write column.isNull() or column.isNotNull()"
    if not any(_IDENTITY.fullmatch(step.opname) for step in dis.get_instructions(code)):
        return
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError):  # a lambda in the middle of an expression has no source of its own
        reason = "it uses 'is', and its source is not there to see on what"
        raise _error(code.co_filename, code.co_firstlineno, reason, remedy) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            compared = {inner for inner in ast.walk(node) if isinstance(inner, ast.Name)}
            if {name.id for name in compared} & names:
                line = code.co_firstlineno + node.lineno - 1
                raise _error(code.co_filename, line, "it uses 'is' on a column, which is not a value", remedy)
