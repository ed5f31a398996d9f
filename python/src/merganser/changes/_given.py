"""The arguments of ``apply_changes`` and ``create_for_changes`` as those of the jar's calls."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import types as T

from merganser._arguments import is_column
from merganser._expressions import quoted, type_text
from merganser.changes import presets
from merganser.changes.presets import Preset


def given(
    *,
    preset: Any,
    keys: Any,
    sequence_by: Any,
    ignore_null_updates: Any,
    columns: Any,
    except_columns: Any,
    column_list: Any,
    except_column_list: Any,
    ignore_null_updates_column_list: Any,
    ignore_null_updates_except_column_list: Any,
) -> dict[str, Any]:
    """Arguments of a call by their names.

    Raises:
        TypeError: An argument has the wrong type; the message names what to give.
        ValueError: An argument has no such value, or two contradict each other.
    """
    columns = _one_of("columns", columns, "column_list", column_list)
    except_columns = _one_of("except_columns", except_columns, "except_column_list", except_column_list)
    if ignore_null_updates is not None and not isinstance(ignore_null_updates, bool):
        if isinstance(ignore_null_updates, (str, int, Mapping)):
            raise TypeError(f"ignore_null_updates is True, False, None or columns, not {ignore_null_updates!r}")
        ignore_null_updates_column_list, ignore_null_updates = ignore_null_updates, None
    of_nulls = (ignore_null_updates, ignore_null_updates_column_list, ignore_null_updates_except_column_list)
    if sum(one is not None for one in of_nulls) > 1:
        raise ValueError(
            "Give one of ignore_null_updates, ignore_null_updates_column_list and "
            "ignore_null_updates_except_column_list"
        )
    if columns is not None and except_columns is not None and not isinstance(columns, Mapping):
        raise ValueError("columns and except_columns exclude each other: give one of them")
    types = _types(columns)
    arguments = {
        "preset": _preset(preset),
        "keys": names_text("keys", keys),
        "sequence_by": names_text("sequence_by", sequence_by),
        "ignore_null_updates": ignore_null_updates,
        "columns": None if types else names_text("columns", columns),
        "column_types": types,
        "except_columns": names_text("except_columns", except_columns),
        "ignore_null_updates_columns": names_text("ignore_null_updates_column_list", ignore_null_updates_column_list),
        "ignore_null_updates_except_columns": names_text(
            "ignore_null_updates_except_column_list", ignore_null_updates_except_column_list
        ),
    }
    return {name: value for name, value in arguments.items() if value is not None}


def _preset(preset: object) -> str | None:
    if preset is None:
        return None
    if isinstance(preset, str):
        preset = presets.named(preset)
    if isinstance(preset, Preset):
        return preset._wire()
    raise TypeError(f"preset is a name such as 'debezium_postgres', or a Preset, not a {type(preset).__name__}")


def _one_of(name: str, value: Any, other: str, same: Any) -> Any:
    """An argument that Spark's AUTO CDC has by another name."""
    if value is not None and same is not None:
        raise ValueError(f"{name} and {other} are the same: give one of them")
    return same if value is None else value


def names_text(argument: str, value: Any) -> str | None:
    """Names as an argument of a call: they may have any characters."""
    return None if value is None else json.dumps(names_of(argument, value))


def names_of(argument: str, value: Any) -> tuple[str, ...]:
    """The names of columns: of strings, of ``Column``s, or of lists of these."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    items = [value] if is_column(value) else value
    if isinstance(items, Sequence) and all(isinstance(one, str) or is_column(one) for one in items):
        return tuple(name for one in items for name in ((one,) if isinstance(one, str) else _of_column(argument, one)))
    raise TypeError(
        f"{argument} is the name of a column, a Column or a list of these, not a {type(value).__name__}; an expression "
        "becomes a column by frame.withColumn(name, expression)"
    )


def _of_column(argument: str, column: Any) -> tuple[str, ...]:
    """The name of a ``col("seq")``, or the names of a ``struct("day", "seq")``."""
    written = str(column).removeprefix("Column<'").removesuffix("'>")
    members = re.fullmatch(r"struct\((.*)\)", written)
    names = tuple(one.strip() for one in (members[1].split(",") if members else [written]))
    if all(re.fullmatch(r"[^\s()]+", name) for name in names):
        return tuple(name.replace("`", "") for name in names)
    raise TypeError(
        f"{argument} is a column, not the expression {written}: the table stores its values. Add it to the frame by "
        "withColumn(name, expression), and give the name"
    )


def _types(columns: Any) -> str | None:
    """Columns with types as in CREATE TABLE."""
    if isinstance(columns, T.StructType):
        columns = {one.name: type_text(one.dataType) for one in columns}
    if not isinstance(columns, Mapping):
        return None
    if not all(isinstance(name, str) and isinstance(kind, str) for name, kind in columns.items()):
        raise TypeError("columns with types are names and SQL types, such as {'fare': 'decimal(10,2)'}")
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())


def condition(argument: str, value: Any) -> Any:
    """A condition as SQL or as a ``Column``.

    Raises:
        TypeError: It is neither.
    """
    if value is None or isinstance(value, str) or is_column(value):
        return value
    raise TypeError(
        f"{argument} is a condition as SQL or as a Column, such as \"op = 'D'\", not a {type(value).__name__}"
    )


def text(argument: str, value: Any) -> str | None:
    """A string.

    Raises:
        TypeError: It is none.
    """
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{argument} is a string, not a {type(value).__name__}")
