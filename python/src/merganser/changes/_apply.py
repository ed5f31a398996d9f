"""One batch of changes: read, checked, counted, and written as one upsert, in which the table's rule decides."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Row

from merganser.change_results import ApplyResult
from merganser.changes._json import malformed_places
from merganser.changes._parsed import DELETED
from merganser.changes._preset import DELETE, REFUSED, SKIP, TRUNCATE, UPSERT
from merganser.changes._quarantine import refuse, write_quarantine
from merganser.changes._reading import (
    ARRIVAL,
    DETAIL,
    EVENT,
    KIND,
    LACKS,
    OLD,
    SOURCE,
    Batch,
    read_batch,
    schema_of,
)
from merganser.changes._source import read_once
from merganser.changes._spec import Spec
from merganser.changes._sql import field_of, functions, name, quoted
from merganser.changes._target import ChangeTarget
from merganser.changes._unavailable import Unavailable

if TYPE_CHECKING:
    from merganser.table import Table


def apply_batch(
    table: Table, target: ChangeTarget, frame: DataFrame, spec: Spec, txn: tuple[str, int] | None
) -> ApplyResult:
    """Apply the events of a frame."""
    with ExitStack() as persisted:
        with read_once(frame, spec.preset, target.keys, target.sequence) as source:
            batch = read_batch(source, target, spec)
            events = batch.events.persist()
            persisted.callback(events.unpersist)
            counted = _counts(events, target)
        lacking = sorted({column for row in counted for column in row["lacking"]})
        if lacking:
            events = Unavailable(table, target, lacking).resolved(events, persisted).persist()
            persisted.callback(events.unpersist)
            counted = _counts(events, target)
        found = {row[KIND]: row for row in counted}
        _require_one_source(counted)
        refused = _named(found, REFUSED)
        if refused:
            rejected = _rejected(events, batch, spec)
            if spec.quarantine is None:
                raise refuse(table.path, rejected, refused)
            write_quarantine(table, rejected, spec, txn)
        commit = None
        if any(kind in found for kind in (UPSERT, DELETE, TRUNCATE)):
            truncated = found[TRUNCATE]["top"] if TRUNCATE in found else None
            moved = any(row["moved"] for row in counted)
            rows = _rows(table, target, events, batch.columns, truncated, moved)
            commit = table.upsert(rows, options=_options(target, batch, spec), txn=txn)
    return ApplyResult(
        preset=spec.preset.name or None,
        events=sum(row["n"] for row in counted),
        upserts=_count(found, UPSERT),
        deletes=_count(found, DELETE),
        truncates=_count(found, TRUNCATE),
        key_changes=sum(row["moved"] for row in counted),
        skipped=_named(found, SKIP),
        quarantined=refused,
        quarantine=spec.quarantine if refused else None,
        commit=commit,
    )


def _rejected(events: DataFrame, batch: Batch, spec: Spec) -> DataFrame:
    """The events that are refused, with the places of malformed values."""
    F = functions(events)
    rejected = events.where(F.col(KIND).startswith(REFUSED))
    is_unnamed = (F.col(KIND) == f"{REFUSED}VALUE_MALFORMED") & F.col(DETAIL).isNull()
    if not batch.places or not rejected.where(is_unnamed).limit(1).collect():
        return rejected
    places = malformed_places(rejected, EVENT, batch.places, spec.preset)
    return rejected.withColumn(DETAIL, F.when(is_unnamed, places).otherwise(F.col(DETAIL)))


def _counts(events: DataFrame, target: ChangeTarget) -> list[Row]:
    """The events of each kind: their number, how many changed a key, the last position, and what they have."""
    F = functions(events)
    last = F.max(F.struct(*[F.col(quoted(field)).alias(field) for field in target.ordering], ARRIVAL))
    lacking = F.array_distinct(F.flatten(F.collect_set(LACKS)))
    counts = [
        F.count("*").alias("n"),
        F.count(OLD).alias("moved"),
        last.alias("top"),
        F.collect_set(SOURCE).alias("of"),
    ]
    rows: list[Row] = events.groupBy(KIND).agg(*counts, lacking.alias("lacking")).collect()
    return rows


def _rows(
    table: Table,
    target: ChangeTarget,
    events: DataFrame,
    columns: tuple[str, ...],
    truncated: Row | None,
    moved: bool,
) -> DataFrame:
    """The rows that are written: the new ones, and deletes as rows that are marked, in the order of the events."""
    F = functions(events)
    rows = events.where(F.col(KIND).isin(UPSERT, DELETE))
    data = [F.col(name(column)).alias(column) for column in columns]
    own = [*data, (F.col(KIND) == DELETE).alias(DELETED), (F.col(ARRIVAL) * 2 + 1).alias(ARRIVAL)]
    if moved:
        # The old row is deleted just before the new one is written: at equal positions the order of arrival decides.
        kept = {field.partition(".")[0] for field in target.ordering}
        old = {field_of(schema_of(columns), key): key for key in target.keys}
        gone = [_old_value(events, column, old, kept) for column in columns]
        gone += [F.lit(True).alias(DELETED), (F.col(ARRIVAL) * 2).alias(ARRIVAL)]
        each = F.when(F.col(OLD).isNull(), F.array(F.struct(*own))).otherwise(F.array(F.struct(*gone), F.struct(*own)))
        rows = rows.select(F.explode(each).alias("row")).select("row.*")
    else:
        rows = rows.select(*own)
    if truncated is not None:
        rows = _truncated(table, target, rows, truncated)
    if target.is_order_of_arrival_relevant:
        keys, order = ([F.col(quoted(field)) for field in fields] for fields in (target.keys, target.ordering))
        rows = rows.repartition(*keys).sortWithinPartitions(*order, F.col(ARRIVAL))
    return rows.drop(ARRIVAL)


def _old_value(events: DataFrame, column: str, old: Mapping[str | None, str], kept: set[str]) -> Any:
    F = functions(events)
    if column in old:
        return F.col(f"{OLD}.{name(column)}").alias(column)
    if column in kept:
        return F.col(name(column))
    return F.lit(None).cast(events.schema[column].dataType).alias(column)


def _truncated(table: Table, target: ChangeTarget, rows: DataFrame, at: Row) -> DataFrame:
    """Leave the rows after a truncate, and delete what is stored as of it: the rule keeps what is newer."""
    F = functions(rows)
    order = F.struct(*[F.col(name(field)) for field in target.ordering], F.expr(f"{ARRIVAL} div 2 AS {ARRIVAL}"))
    point = {field: F.lit(at[field]).cast(rows.schema[field].dataType) for field in target.ordering}
    # At equal positions the order of arrival decides: Canal has many events of one second.
    last = [value.alias(field) for field, value in point.items()]
    later = rows.where(order > F.struct(*last, F.lit(at[ARRIVAL]).cast("bigint").alias(ARRIVAL)))
    stored = {*target.keys, *target.partitions}
    gone = []
    for field in rows.schema:
        if field.name == DELETED:
            gone.append(F.lit(True).alias(DELETED))
        elif field.name in point:
            gone.append(point[field.name].alias(field.name))
        elif field.name in stored:
            gone.append(F.col(name(field.name)).cast(field.dataType).alias(field.name))
        else:
            gone.append(F.lit(None).cast(field.dataType).alias(field.name))
    return table.df().select(*gone).unionByName(later)


def _options(target: ChangeTarget, batch: Batch, spec: Spec) -> dict[str, str]:
    """Columns that are not applied stay as they are stored; a row of a tool's event has all others."""
    excluded = spec.only is not None or bool(spec.except_columns)
    written = {column.casefold() for column in batch.columns}
    lacks = any(column.casefold() not in written for column in target.schema.fieldNames())
    policy = {"spark.merganser.write.missingColumns": "keep"} if lacks and (excluded or not spec.is_rows) else {}
    return {**policy, **spec.options}


def _require_one_source(counted: list[Row]) -> None:
    tables = sorted({table for row in counted for table in row["of"] if table})
    if len(tables) > 1:
        raise ValueError(
            f"The events are of {len(tables)} tables: {', '.join(tables[:5])}. Choose one by "
            f"source_table={tables[0]!r}; the events of the others are then counted as skipped"
        )


def _named(found: Mapping[str, Row], prefix: str) -> dict[str, int]:
    return {kind.removeprefix(prefix): row["n"] for kind, row in sorted(found.items()) if kind.startswith(prefix)}


def _count(found: Mapping[str, Row], kind: str) -> int:
    return int(found[kind]["n"]) if kind in found else 0
