"""Dataclasses from rows of calls, by the names of their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime, timezone
from typing import Any, TypeVar

_T = TypeVar("_T")


def wire(name: str | None = None, *, of: Callable[[Any], Any] | None = None, empty: Any = None) -> dict[str, Any]:
    """The metadata of a field that is not its namesake in the jar's JSON as it is.

    Args:
        name: Its name there; ``None`` if it is the same.
        of: Makes its value, or each item of a list, from what is there.
        empty: The value in place of null.
    """
    return {"name": name, "of": of, "empty": empty}


def built(kind: type[_T], answer: Mapping[str, Any]) -> _T:
    """Build a dataclass; lists become tuples.

    Raises:
        KeyError: The JSON lacks a field without a default.
    """
    values = {}
    for one in fields(kind):  # type: ignore[arg-type]
        name, of = one.metadata.get("name") or one.name, one.metadata.get("of")
        value = answer[name] if one.default is MISSING else answer.get(name, one.default)
        if value is None:
            values[one.name] = one.metadata.get("empty")
        elif isinstance(value, (list, tuple)):
            values[one.name] = tuple(value if of is None else map(of, value))
        else:
            values[one.name] = value if of is None else of(value)
    return kind(**values)


def measured(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rows of a dry run as one object: its measures by name, and the rows that it shows."""
    measures = {row["measure"]: row["value"] for row in rows if row["measure"] is not None}
    return {**measures, "rows": [row for row in rows if row["measure"] is None]}


def utc(milliseconds: int) -> datetime:
    """A time in UTC from milliseconds since 1970."""
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
