"""The arguments of ``apply_changes``, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import types as T

from merganser.changes import presets
from merganser.changes._preset import Preset
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


def spec_of(
    *,
    preset: str | Preset | None,
    keys: Any,
    sequence_by: Any,
    apply_as_deletes: Any,
    apply_as_truncates: Any,
    ignore_null_updates: bool | None,
    columns: Any,
    except_columns: Any,
    stored_as_scd_type: int | str,
    source_table: str | None,
    quarantine: str | None,
    options: WriteOptions | Options | None,
) -> Spec:
    """Check the arguments.

    Raises:
        TypeError: An argument has the wrong type; the message says what to give.
        ValueError: An argument has no such value, or a needed one is missing.
    """
    if str(stored_as_scd_type) == "2":
        raise ValueError(
            "stored_as_scd_type=2 keeps every version of a row as a row of its own, which a table with one row per "
            "key does not. Insert the events into a table whose record_key is the key and the sequence, or read "
            "earlier states of this table by df(as_of=...)"
        )
    if str(stored_as_scd_type) != "1":
        raise ValueError(f"stored_as_scd_type is 1, not {stored_as_scd_type!r}")
    if ignore_null_updates is not None and not isinstance(ignore_null_updates, bool):
        raise TypeError(f"ignore_null_updates is True, False or None, not {ignore_null_updates!r}")
    if columns is not None and except_columns is not None and not isinstance(columns, Mapping):
        raise ValueError("columns and except_columns exclude each other: give one of them")
    chosen = _preset(preset)
    only, types = _columns(columns)
    spec = Spec(
        preset=chosen,
        keys=_names("keys", keys),
        sequence_by=_names("sequence_by", sequence_by),
        apply_as_deletes=_condition("apply_as_deletes", apply_as_deletes),
        apply_as_truncates=_condition("apply_as_truncates", apply_as_truncates),
        ignore_null_updates=ignore_null_updates,
        only=only,
        types=types,
        except_columns=_names("except_columns", except_columns),
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


def _names(argument: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, Sequence) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise TypeError(
        f"{argument} is the name of a column or a list of names, not a {type(value).__name__}; an expression becomes a "
        "column by frame.withColumn(name, expression)"
    )


def _columns(value: Any) -> tuple[tuple[str, ...] | None, Mapping[str, str]]:
    if isinstance(value, T.StructType):
        return None, {one.name: one.dataType.simpleString() for one in value}
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) and isinstance(kind, str) for name, kind in value.items()):
            raise TypeError("columns with types are names and SQL types, such as {'fare': 'decimal(10,2)'}")
        return None, dict(value)
    return (None if value is None else _names("columns", value)), {}


def _condition(argument: str, value: Any) -> Any:
    if value is None or isinstance(value, str) or type(value).__name__ == "Column":
        return value
    raise TypeError(
        f"{argument} is a condition as SQL or as a Column, such as \"op = 'D'\", not a {type(value).__name__}"
    )


def _text(argument: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{argument} is a string, not a {type(value).__name__}")
