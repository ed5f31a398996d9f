"""A merge rule as the options that declare it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Union

Columns = Union[str, Sequence[str]]


def rule_options(
    rule: Mapping[str, str] | None,
    groups: Mapping[str, Mapping[str, Columns]] | None = None,
    delete: str | None = None,
    retract: Mapping[str, Columns] | None = None,
) -> dict[str, Columns]:
    _require_text(rule)
    functions = {
        "merganser.rule.default" if column == "*" else f"merganser.rule.column.{column}": function
        for column, function in (rule or {}).items()
    }
    parts = {
        f"merganser.rule.group.{name}.{part}": columns
        for name, group in (groups or {}).items()
        for part, columns in group.items()
    }
    marks = {f"merganser.rule.retract.{part}": value for part, value in (retract or {}).items()}
    return {**functions, **parts, **marks, **({} if delete is None else {"merganser.rule.delete": delete})}


def _require_text(rule: object) -> None:
    """Refuse functions of Python: only :func:`merganser.rule` makes a rule of one.

    Raises:
        TypeError: ``rule``, or the function of a column, is not a string.
    """
    if rule is not None and not isinstance(rule, Mapping):
        raise TypeError(
            f"rule is a dict of columns, such as {{'n': 'sum'}}, not a {type(rule).__name__}. A Python function of two "
            "rows becomes one by merganser.rule: rule=merganser.rule(lambda old, new: {'n': old.n + new.n})"
        )
    for column, function in (rule or {}).items():
        if not isinstance(function, str):
            raise TypeError(
                f"rule[{column!r}] is a function by its name or as an expression, such as 'sum' or "
                f"\"expr('old.{column} + new.{column}')\", not a {type(function).__name__}. A Python function is one "
                f"of all columns: rule=merganser.rule(lambda old, new: {{{column!r}: old.{column} + new.{column}}})"
            )
