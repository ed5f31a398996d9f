"""The arguments of ``apply_changes``, checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import types as T

from merganser.changes import presets
from merganser.changes._preset import Preset
from merganser.changes._sql import type_text
from merganser.config import Options, WriteOptions, merged_options

#: Rows of a frame as they are, with ``keys`` and ``sequence_by``: the preset that is none.
ROWS = Preset(
    name="",
    header={"__merganser_kind": "string"},
    kind="e.__merganser_kind",
    after=None,
    before=None,
    row_prefixes=("__merganser_",),
)


@dataclass(frozen=True)
class Spec:
    """How changes are applied. Columns are names; conditions are SQL or a ``Column``."""

    preset: Preset
    keys: tuple[str, ...] = ()
    sequence_by: tuple[str, ...] = ()
    apply_as_deletes: Any = None
    apply_as_truncates: Any = None
    ignore_null_updates: bool | None = None
    nulls_ignored_in: tuple[str, ...] | None = None
    nulls_applied_in: tuple[str, ...] | None = None
    only: tuple[str, ...] | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    except_columns: tuple[str, ...] = ()
    source_table: str | None = None
    quarantine: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_rows(self) -> bool:
        """Whether the frame's rows are the table's rows, and not a tool's events."""
        return self.preset is ROWS or self.preset.name == ""

    def ignores_nulls(self, columns: Iterable[str]) -> bool | None:
        """Whether a null leaves the stored value of a table; ``None``: whatever the table does.

        Args:
            columns: Those that are neither keys nor ordering fields of the table.

        Raises:
            ValueError: In some columns only.
        """
        if self.nulls_ignored_in is None and self.nulls_applied_in is None:
            return self.ignore_null_updates
        ignored = {one.casefold() for one in self.nulls_ignored_in or ()}
        applied = {one.casefold() for one in self.nulls_applied_in or ()}
        names = list(columns)
        lists = self.nulls_ignored_in is not None
        kept = [one for one in names if (one.casefold() not in ignored if lists else one.casefold() in applied)]
        if kept and len(kept) < len(names):
            raise ValueError(
                f"A null would leave what is stored in some columns, and not in '{kept[0]}'. A table has one rule for "
                "its columns, which its readers apply too: name all of them, or give ignore_null_updates=True or False"
            )
        return not kept


def spec_of(
    *,
    preset: str | Preset | None,
    keys: Any,
    sequence_by: Any,
    apply_as_deletes: Any,
    apply_as_truncates: Any,
    ignore_null_updates: Any,
    columns: Any,
    except_columns: Any,
    stored_as_scd_type: int | str | None,
    source_table: str | None,
    quarantine: str | None,
    options: WriteOptions | Options | None,
    column_list: Any = None,
    except_column_list: Any = None,
    ignore_null_updates_column_list: Any = None,
    ignore_null_updates_except_column_list: Any = None,
) -> Spec:
    """Check the arguments.

    Raises:
        TypeError: An argument has the wrong type; the message names what to give.
        ValueError: An argument has no such value, or a needed one is missing.
    """
    if str(stored_as_scd_type) == "2":
        raise ValueError(
            "stored_as_scd_type=2 keeps every version of a row as a row of its own, which a table with one row per "
            "key does not. Insert the events into a table whose record_key is the key and the sequence, or read "
            "earlier states of this table by df(as_of=...)"
        )
    if stored_as_scd_type is not None and str(stored_as_scd_type) != "1":
        raise ValueError(f"stored_as_scd_type is 1, not {stored_as_scd_type!r}")
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
    chosen = _preset(preset)
    only, types = _columns(columns)
    spec = Spec(
        preset=chosen,
        keys=names_of("keys", keys),
        sequence_by=names_of("sequence_by", sequence_by),
        apply_as_deletes=_condition("apply_as_deletes", apply_as_deletes),
        apply_as_truncates=_condition("apply_as_truncates", apply_as_truncates),
        ignore_null_updates=ignore_null_updates,
        nulls_ignored_in=_some_names("ignore_null_updates_column_list", ignore_null_updates_column_list),
        nulls_applied_in=_some_names("ignore_null_updates_except_column_list", ignore_null_updates_except_column_list),
        only=only,
        types=types,
        except_columns=names_of("except_columns", except_columns),
        source_table=_text("source_table", source_table),
        quarantine=_text("quarantine", quarantine),
        options=options.to_options() if isinstance(options, WriteOptions) else merged_options({}, options),
    )
    if spec.is_rows and not spec.sequence_by:
        raise ValueError(
            "apply_changes needs the order of the changes: sequence_by, a column or columns that are larger in a later "
            f"change of a key, or a preset ({', '.join(presets.names())})"
        )
    if spec.is_rows and spec.source_table is not None:
        raise ValueError("source_table chooses events of a preset; filter a frame of rows with where()")
    return spec


def _preset(preset: object) -> Preset:
    if preset is None:
        return ROWS
    if isinstance(preset, Preset):
        return preset
    if isinstance(preset, str):
        return presets.named(preset)
    raise TypeError(f"preset is a name such as 'debezium_postgres', or a Preset, not a {type(preset).__name__}")


def _one_of(name: str, value: Any, other: str, same: Any) -> Any:
    """An argument that Spark's AUTO CDC has by another name."""
    if value is not None and same is not None:
        raise ValueError(f"{name} and {other} are the same: give one of them")
    return same if value is None else value


def _some_names(argument: str, value: Any) -> tuple[str, ...] | None:
    return None if value is None else names_of(argument, value)


def names_of(argument: str, value: Any) -> tuple[str, ...]:
    """The names of columns: of strings, of ``Column``s, or of lists of these."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    items = [value] if _is_column(value) else value
    if isinstance(items, Sequence) and all(isinstance(one, str) or _is_column(one) for one in items):
        return tuple(name for one in items for name in ((one,) if isinstance(one, str) else _of_column(argument, one)))
    raise TypeError(
        f"{argument} is the name of a column, a Column or a list of these, not a {type(value).__name__}; an expression "
        "becomes a column by frame.withColumn(name, expression)"
    )


def _is_column(value: Any) -> bool:
    return type(value).__name__ == "Column"


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


def _columns(value: Any) -> tuple[tuple[str, ...] | None, Mapping[str, str]]:
    if isinstance(value, T.StructType):
        return None, {one.name: type_text(one.dataType) for one in value}
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) and isinstance(kind, str) for name, kind in value.items()):
            raise TypeError("columns with types are names and SQL types, such as {'fare': 'decimal(10,2)'}")
        return None, dict(value)
    return (None if value is None else names_of("columns", value)), {}


def _condition(argument: str, value: Any) -> Any:
    if value is None or isinstance(value, str) or _is_column(value):
        return value
    raise TypeError(
        f"{argument} is a condition as SQL or as a Column, such as \"op = 'D'\", not a {type(value).__name__}"
    )


def _text(argument: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{argument} is a string, not a {type(value).__name__}")
