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
