"""The table that changes are applied to: what its rule needs from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import types as T

from merganser.changes._preset import EventColumn
from merganser.changes._spec import Spec
from merganser.errors import ConfigurationConflictError, MerganserError
from merganser.results import TableInfo

_UPDATE_MODE = "hoodie.table.partial.update.mode"
_PLACEHOLDER = "hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value"


@dataclass(frozen=True)
class ChangeTarget:
    """A table, as the application of changes sees it.

    Attributes:
        path: Folder of the table.
        keys: Record key columns.
        partitions: Partition columns.
        ordering: Ordering fields.
        schema: Columns of the table.
        event_columns: Columns that are filled from the envelope, by their name in the table.
        sequence: Columns of the rows that fill the last ordering fields, in their order; empty if the envelope does.
        fills: Whether a stored value stays where the new one is the placeholder.
        nulls_are_missing: Whether a stored value stays where the new one is null.
        placeholder: That placeholder.
    """

    path: str
    keys: tuple[str, ...]
    partitions: tuple[str, ...]
    ordering: tuple[str, ...]
    schema: T.StructType
    event_columns: Mapping[str, EventColumn]
    sequence: tuple[str, ...]
    fills: bool
    nulls_are_missing: bool
    placeholder: str | None

    @property
    def is_order_of_arrival_relevant(self) -> bool:
        """Whether the rule is exact only if versions come in their order: it takes values from several of them."""
        return self.fills or self.nulls_are_missing


def target_of(info: TableInfo, schema: T.StructType, properties: Mapping[str, str], spec: Spec) -> ChangeTarget:
    """Compare the arguments with what the table stores.

    Raises:
        ConfigurationConflictError: They contradict it.
        MerganserError: ``CHANGES_NEED_ORDERING``, ``CHANGES_NEED_KEYS``, ``CHANGES_NEED_GLOBAL_INDEX``: the table
            cannot take changes.
    """
    mode = properties.get(_UPDATE_MODE, "").upper()
    if not info.record_key:
        raise _unsuited("CHANGES_NEED_KEYS", info, "it has no record key", "record_key=...")
    if spec.keys and set(spec.keys) != set(info.record_key):
        raise _conflict(info, "keys", spec.keys, info.record_key)
    if not info.ordering_by or info.merge_mode == "COMMIT_TIME_ORDERING":
        remedy = "ordering_by=..., or by Table.create_for_changes(...)"
        raise _unsuited("CHANGES_NEED_ORDERING", info, "its rows have no order except that of commits", remedy)
    ignores = mode == "IGNORE_DEFAULTS"
    wanted = spec.ignores_nulls(data_columns(schema, (*info.record_key, *info.ordering_by), spec))
    if wanted is not None and wanted != ignores:
        raise _conflict(info, "ignore_null_updates", (str(wanted),), (str(ignores),))
    moves = [column for column in info.partition_by if column.partition(":")[0] not in info.record_key]
    if moves and not (info.index or "").startswith("GLOBAL"):
        why = f"its partition column '{moves[0]}' is not part of the key: a change may move or delete a row elsewhere"
        raise _unsuited("CHANGES_NEED_GLOBAL_INDEX", info, why, "index=IndexType.GLOBAL_SIMPLE")
    offered = {column.name: column for column in spec.preset.columns}
    names = schema.fieldNames()
    first = tuple(column.name for column in spec.preset.before_sequence) if spec.sequence_by else ()
    ordering = (*first, *spec.sequence_by)
    if spec.sequence_by and (len(ordering) != len(info.ordering_by) or info.ordering_by[: len(first)] != first):
        raise _conflict(info, "sequence_by", ordering, info.ordering_by)
    filled = {name: column for name, column in offered.items() if name in names or name in info.ordering_by}
    if spec.sequence_by:
        filled = {name: column for name, column in filled.items() if name in first or name not in info.ordering_by}
    return ChangeTarget(
        path=info.path,
        keys=info.record_key,
        partitions=tuple(column.partition(":")[0] for column in info.partition_by),
        ordering=info.ordering_by,
        schema=schema,
        event_columns=filled,
        sequence=spec.sequence_by,
        fills=mode == "FILL_UNAVAILABLE",
        nulls_are_missing=ignores,
        placeholder=properties.get(_PLACEHOLDER) or spec.preset.placeholder,
    )


def data_columns(schema: T.StructType, required: Sequence[str], spec: Spec) -> list[str]:
    """The columns that are neither keys, nor ordering fields, nor of the envelope."""
    others = {one.partition(".")[0] for one in (*required, *(column.name for column in spec.preset.columns))}
    return [name for name in schema.fieldNames() if name not in others]


def _unsuited(condition: str, info: TableInfo, why: str, remedy: str) -> MerganserError:
    return MerganserError(
        f"Cannot apply changes to '{info.name}': {why}. Create the table with {remedy}.",
        condition=condition,
        parameters={"table": info.name},
    )


def _conflict(info: TableInfo, argument: str, given: tuple[str, ...], stored: tuple[str, ...]) -> MerganserError:
    return ConfigurationConflictError(
        f"Cannot apply changes to '{info.name}': {argument} is {', '.join(given)}, but the table was created for "
        f"{', '.join(stored)}. Remove the argument, or create a table for it by Table.create_for_changes(...).",
        condition="CHANGES_CONFLICT",
        parameters={"table": info.name, "argument": argument},
    )
