"""Tables for changes: the columns of the events, those that order them, and the rule that the preset wants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from merganser.changes._parsed import Target
from merganser.changes._reading import types_of
from merganser.changes._source import first_key_fields, parsed, read_once
from merganser.changes._spec import Spec
from merganser.changes._sql import field_of, name
from merganser.changes._target import data_columns
from merganser.config import IndexType

#: For how many hours a new table retains deletes.
RETAINED_HOURS = "48"

_IGNORES_NULLS = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
_PAYLOAD = "hoodie.datasource.write.payload.class"


@dataclass(frozen=True)
class NewTable:
    """What a table for changes is created with."""

    schema: T.StructType
    record_key: tuple[str, ...]
    ordering_by: tuple[str, ...]
    index: IndexType | None
    options: dict[str, str]
    moves_rows: bool
    """Whether a change may move a row to another partition; a delete may not name any then."""


def new_table(
    rows: DataFrame | T.StructType, spec: Spec, partitions: Sequence[str], index: IndexType | None
) -> NewTable:
    """Plan a table.

    Args:
        rows: Events of which the columns are taken, or the columns.
        spec: How changes will be applied.
        partitions: Partition columns.
        index: The index, if one was given.

    Raises:
        ValueError: There is no key, no ordering, or no row in the events.
    """
    keys = spec.keys
    if isinstance(rows, T.StructType):
        columns = rows
    else:
        with read_once(rows, spec.preset, keys, spec.sequence_by) as events:
            keys = keys or first_key_fields(events, spec.preset)
            needed = (*keys, *(column.partition(":")[0] for column in partitions), *spec.sequence_by)
            only = None if spec.only is None else (*spec.only, *needed)
            omitted = tuple(column for column in spec.except_columns if column not in needed)
            known = Target(T.StructType(), types_of(rows, spec.types), only, omitted)
            found = parsed(events, spec.preset, keys, known)
            types = {**{column: value.target for column, value in found.columns.items()}, **found.of_frame}
        columns = T.StructType([T.StructField(column, kind) for column, kind in types.items()])
    if not keys:
        raise ValueError("The events do not name their key; give the record key columns by keys=...")
    missing = [key for key in (*keys, *spec.sequence_by) if field_of(columns, key.partition(".")[0]) is None]
    if missing:
        have = ", ".join(columns.fieldNames()) or "none: there is no event with a row"
        raise ValueError(f"Column '{missing[0]}' is not among the columns of the events ({have})")
    extra = [column for column in spec.preset.stored if column.name not in spec.except_columns]
    ordering = spec.sequence_by
    if ordering:
        ordering = (*(column.name for column in spec.preset.before_sequence), *ordering)
        extra = [*spec.preset.before_sequence, *extra]
    else:
        ordering = tuple(column.name for column in spec.preset.ordering)
        extra = [*spec.preset.ordering, *extra]
    if not ordering:
        raise ValueError(f"Preset '{spec.preset.name}' has no order of its own; give the column by sequence_by=...")
    taken = [column.name for column in extra if field_of(columns, column.name) is not None]
    extra = [column for column in extra if column.name not in taken]
    moves = any(column.partition(":")[0] not in keys for column in partitions)
    sample = ", ".join(f"{name(column.name)} {column.type}" for column in extra)
    return NewTable(
        schema=T.StructType([*columns.fields, *_fields(sample)]),
        record_key=keys,
        ordering_by=ordering,
        index=index or (IndexType.GLOBAL_SIMPLE if moves else None),  # its key must be found in all partitions
        moves_rows=moves,
        options=_options(spec, spec.ignores_nulls(data_columns(columns, (*keys, *ordering), spec))),
    )


def _fields(ddl: str) -> list[T.StructField]:
    types = {"string": T.StringType(), "bigint": T.LongType(), "int": T.IntegerType()}
    parts = [part.rpartition(" ") for part in ddl.split(", ")] if ddl else []
    return [T.StructField(column.strip("`"), types[kind]) for column, _, kind in parts]


def _options(spec: Spec, ignores_nulls: bool | None) -> dict[str, str]:
    if ignores_nulls:
        return {_PAYLOAD: _IGNORES_NULLS}
    prescribed = dict(spec.preset.options)
    return {} if spec.sequence_by else prescribed
