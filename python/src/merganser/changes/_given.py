"""The arguments of ``apply_changes`` and ``create_for_changes`` as those of the jar's calls."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import types as T

from merganser._arguments import condition_of, is_column
from merganser._expressions import quoted, type_text
from merganser._open_table import OpenTable
from merganser.changes import presets
from merganser.changes.presets import Preset


def given(written: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Arguments of a call.

    Args:
        written: The arguments of the method by their names, also those that are none of the call.
        path: Of the table that changes are applied to.

    Raises:
        TypeError: An argument has the wrong type; the message names what to give.
        ValueError: An argument has no such value, or two contradict each other.
    """
    columns = _one_of(written, "columns", "column_list")
    except_columns = _one_of(written, "except_columns", "except_column_list")
    if columns is not None and except_columns is not None and not isinstance(columns, Mapping):
        raise ValueError("columns and except_columns exclude each other: give one of them")
    types = _types(columns)
    names = {
        "keys": written["keys"],
        "sequence_by": written["sequence_by"],
        "columns": None if types else columns,
        "except_columns": except_columns,
    }
    arguments = {
        "preset": _preset(written["preset"]),
        **{name: names_text(name, value) for name, value in names.items()},
        "column_types": types,
        **_ignored_nulls(written),
        **{name: read(name, written[name]) for name, read in _OF_BATCHES.items() if written.get(name) is not None},
        "quarantine": _place(written.get("quarantine"), path),
    }
    return {name: value for name, value in arguments.items() if value is not None}


def _ignored_nulls(written: Mapping[str, Any]) -> dict[str, Any]:
    """In which columns null leaves the stored value."""
    ignores, listed, others = (
        "ignore_null_updates",
        "ignore_null_updates_column_list",
        "ignore_null_updates_except_column_list",
    )
    found = {name: written[name] for name in (ignores, listed, others) if written[name] is not None}
    if len(found) > 1:
        raise ValueError(f"Give one of {ignores}, {listed} and {others}")
    value = found.get(ignores)
    if isinstance(value, bool):
        return found
    if isinstance(value, (str, int, Mapping)):
        raise TypeError(f"{ignores} is True, False, None or columns, not {value!r}")
    return {
        f"{ignores}_columns": names_text(listed, found.get(ignores, found.get(listed))),
        f"{ignores}_except_columns": names_text(others, found.get(others)),
    }


def _preset(preset: object) -> str | None:
    if isinstance(preset, str):
        preset = presets.named(preset)
    if preset is None or isinstance(preset, Preset):
        return None if preset is None else preset._wire()
    raise TypeError(f"preset is a name such as 'debezium_postgres', or a Preset, not a {type(preset).__name__}")


def _one_of(written: Mapping[str, Any], name: str, other: str) -> Any:
    """An argument that Spark's AUTO CDC has by another name."""
    if written[name] is not None and written[other] is not None:
        raise ValueError(f"{name} and {other} are the same: give one of them")
    return written[other] if written[name] is None else written[name]


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


def _text(argument: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"{argument} is a string, not a {type(value).__name__}")


def _only_one_row(argument: str, value: Any) -> None:
    """The type of a slowly changing dimension, which is no argument of the call."""
    if str(value) == "2":
        raise ValueError(
            f"{argument}=2 keeps every version of a row as a row of its own, which a table with one row per key does "
            "not. Insert the events into a table whose record_key is the key and the sequence, or read earlier states "
            "of this table by df(as_of=...)"
        )
    if str(value) != "1":
        raise ValueError(f"{argument} is 1, not {value!r}")


def _place(quarantine: Any, path: str) -> str | None:
    if quarantine is None or quarantine is False:
        return None
    if quarantine is True:
        return f"{path.rstrip('/')}_quarantine"
    if isinstance(quarantine, OpenTable):
        return quarantine.path
    if isinstance(quarantine, (str, os.PathLike)):
        return os.fspath(quarantine)
    raise TypeError(f"quarantine is True, a table or the path of one, not a {type(quarantine).__name__}")


#: How arguments of ``apply_changes`` alone are read.
_OF_BATCHES: dict[str, Callable[[str, Any], Any]] = {
    "apply_as_deletes": condition_of,
    "apply_as_truncates": condition_of,
    "source_table": _text,
    "stored_as_scd_type": _only_one_row,
}
