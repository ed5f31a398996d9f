"""One batch of changes: read, checked, counted, and written as one upsert, in which the table's rule decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import types as T

from merganser.change_results import ApplyResult
from merganser.changes import _values as values
from merganser.changes._preset import DELETE, REFUSED, SKIP, TRUNCATE, UPSERT
from merganser.changes._quarantine import refuse, write_quarantine
from merganser.changes._source import ABSENT, AFTER, BEFORE, CORRUPT, KEY, KEYS, RAW, Parsed, Target, parsed
from merganser.changes._spec import Spec
from merganser.changes._sql import field_of, functions, name, quoted, text
from merganser.changes._target import ChangeTarget
from merganser.changes._values import Value

if TYPE_CHECKING:
    from merganser.table import Table

# Columns of a batch beside those of its rows.
EVENT, EVENT_KEY, KIND, DETAIL, OLD, SOURCE = (f"__{part}" for part in ("event", "key", "kind", "detail", "old", "of"))
_DELETED, _ROWLESS, _ARRIVAL = "_hoodie_is_deleted", "__rowless", "__arrival"


@dataclass(frozen=True)
class Batch:
    """Events with typed rows.

    Attributes:
        events: One row for each event: EVENT and EVENT_KEY (their text, where they are refused), KIND, DETAIL, OLD
            (the old key, where an update changed it), SOURCE (name of the source's table), and the row's columns.
        columns: The row's columns that are written.
    """

    events: DataFrame
    columns: tuple[str, ...]


def apply_batch(
    table: Table, target: ChangeTarget, frame: DataFrame, spec: Spec, txn: tuple[str, int] | None
) -> ApplyResult:
    """Apply the events of a frame."""
    F = functions(frame)
    batch = read_batch(frame, target, spec)
    events = batch.events.persist()
    try:
        top = F.max(F.struct(*[F.col(quoted(field)).alias(field) for field in target.ordering]))
        counted = (
            events.groupBy(KIND)
            .agg(
                F.count("*").alias("n"),
                F.count(OLD).alias("moved"),
                top.alias("top"),
                F.collect_set(SOURCE).alias("of"),
            )
            .collect()
        )
        found = {row[KIND]: row for row in counted}
        _require_one_source(counted, spec)
        refused = _named(found, REFUSED)
        if refused:
            rejected = events.where(F.col(KIND).startswith(REFUSED))
            if spec.quarantine is None:
                raise refuse(table.path, rejected, refused)
            write_quarantine(table, rejected, spec, txn)
        commit = None
        if any(kind in found for kind in (UPSERT, DELETE, TRUNCATE)):
            truncated = found[TRUNCATE]["top"] if TRUNCATE in found else None
            moved = any(row["moved"] for row in counted)
            rows = _rows(table, target, events, batch.columns, truncated, moved)
            commit = table.upsert(rows, options=_options(target, batch, spec), txn=txn)
    finally:
        events.unpersist()
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


def read_batch(frame: DataFrame, target: ChangeTarget, spec: Spec) -> Batch:
    """Read and check the events of a frame; nothing is written."""
    types, only = types_of(frame, spec.types), _only(target, spec)
    known = Target(target.schema, types, only, _omitted(target, spec), spec.source_table)
    source = _with_conditions(frame, spec) if spec.is_rows else frame
    read = parsed(source, spec.preset, target.keys, known)
    return _Reading(read, target, spec).batch()


class _Reading:
    """The SQL of one batch."""

    def __init__(self, read: Parsed, target: ChangeTarget, spec: Spec) -> None:
        self._read, self._target, self._spec = read, target, spec
        self._columns = read.columns
        self._images = {
            image: kind.dataType.fieldNames()
            for image in (AFTER, BEFORE, KEYS)
            if isinstance((kind := read.frame.schema[image]).dataType, T.StructType)
        }

    def batch(self) -> Batch:
        target, F = self._target, functions(self._read.frame)
        typed = self._read.frame.withColumn(KIND, F.expr(self._kind()))
        row = {column: self._value(column) for column in self._columns}
        row |= {column.name: f"cast({column.sql} AS {column.type})" for column in target.event_columns.values()}
        for field, column in zip(target.ordering, target.sequence):
            row[field] = self._sequence(column)
        for field in (*target.keys, *target.ordering):  # of which these events have no value at all
            top = field.partition(".")[0]
            if field_of(_schema_of(row), top) is None:
                row[top] = f"cast(NULL AS {_type_in(target.schema, top)})"
        if self._spec.preset.omits_nulls:
            row |= self._nulls(row)
        old = self._old_key()
        typed = typed.selectExpr(
            *(RAW, KEY, KIND),
            f"{AFTER} IS NULL AS {_ROWLESS}",
            f"{self._source()} AS {SOURCE}",
            f"{old} AS {OLD}",
            *(f"{sql} AS {name(column)}" for column, sql in row.items()),
            *(f"{check} AS {name(self._checks()[check])}" for check in self._checks()),
        )
        typed = self._conditions(typed)
        typed = typed.withColumn(DETAIL, F.expr(self._detail())).withColumn(KIND, F.expr(self._refined()))
        shown = f"if({KIND} LIKE '{REFUSED}%', {{}}, NULL)"
        events = typed.selectExpr(
            f"{shown.format(RAW)} AS {EVENT}",
            f"{shown.format(KEY)} AS {EVENT_KEY}",
            KIND,
            f"{shown.format(DETAIL)} AS {DETAIL}",
            f"if({KIND} = '{UPSERT}', {OLD}, NULL) AS {OLD}",
            SOURCE,
            *(name(column) for column in row),
        )
        return Batch(events, tuple(row))

    def _nulls(self, row: Mapping[str, str]) -> dict[str, str]:
        """Columns that no event of the batch has: null, and not what is stored."""
        only, omitted = _only(self._target, self._spec), _omitted(self._target, self._spec)
        there = {column.casefold() for column in row}
        return {
            field.name: f"cast(NULL AS {field.dataType.simpleString()})"
            for field in self._target.schema
            if field.name.casefold() not in there and (only is None or field.name in only) and field.name not in omitted
        }

    def _kind(self) -> str:
        unreadable = f"if(json_object_keys({RAW}) IS NULL, '{REFUSED}JSON_MALFORMED', '{REFUSED}VALUE_MALFORMED')"
        is_refused = self._spec.preset.tombstones == "refuse"
        tombstone = f"{REFUSED}TOMBSTONE" if is_refused else f"{SKIP}tombstone"
        cases = [f"WHEN {ABSENT} THEN '{tombstone}'"]
        if self._spec.source_table is not None and self._spec.preset.source_table is not None:
            is_other = f"nullif({self._spec.preset.source_table}, '') <> {text(self._spec.source_table)}"
            # Before its values are judged: those of other tables have other types.
            cases.append(f"WHEN {is_other} AND json_object_keys({RAW}) IS NOT NULL THEN '{SKIP}other_table'")
        cases.append(f"WHEN {CORRUPT} THEN {unreadable}")
        return f"CASE {' '.join(cases)} ELSE {self._spec.preset.kind} END"

    def _source(self) -> str:
        table = self._spec.preset.source_table
        kinds = f"'{UPSERT}', '{DELETE}', '{TRUNCATE}'"
        return "cast(NULL AS string)" if table is None else f"if({KIND} IN ({kinds}), {table}, NULL)"

    def _value(self, column: str) -> str:
        """The value of a column: of the new row or, in a delete, of whichever row or key has it."""
        value, target = self._columns[column], self._target
        new = self._of(AFTER, column, value)
        if self._is_missing(value):
            missing = values.unavailable(value, str(target.placeholder)) or values.is_placeholder(
                value, str(target.placeholder)
            )
            new = f"if({str(missing).replace('{x}', f'{AFTER}.{name(column)}')}, NULL, {new})" if missing else new
        if column not in self._needed():
            return f"if({KIND} = '{DELETE}', NULL, {new})"
        return f"if({KIND} = '{DELETE}', {self._any(column, value)}, {new})"

    def _sequence(self, column: str) -> str:
        """An ordering value that is a column of the rows."""
        if column in self._columns:
            return self._any(column, self._columns[column])
        raise ValueError(f"sequence_by names '{column}', which is not among the columns {', '.join(self._columns)}")

    def _any(self, column: str, value: Value) -> str:
        images = [self._of(image, column, value) for image in (AFTER, BEFORE, KEYS) if self._has(image, column)]
        return f"coalesce({', '.join(images)})" if images else f"cast(NULL AS {value.target.simpleString()})"

    def _needed(self) -> set[str]:
        """Columns that a delete must have."""
        target = self._target
        fields = (*target.keys, *target.partitions, *target.ordering, *target.sequence)
        return {field_of(_schema_of(self._columns), field.partition(".")[0]) or field for field in fields}

    def _of(self, image: str, column: str, value: Value) -> str:
        if not self._has(image, column):
            return f"cast(NULL AS {value.target.simpleString()})"
        return f"cast({value.of(f'{image}.{name(column)}')} AS {value.target.simpleString()})"

    def _has(self, image: str, column: str) -> bool:
        return column in self._images.get(image, ())

    def _is_missing(self, value: Value) -> bool:
        return self._target.nulls_are_missing and self._target.placeholder is not None

    def _old_key(self) -> str:
        """The key of the old row, where it differs from that of the new one."""
        keys = [field_of(_schema_of(self._columns), key) for key in self._target.keys]
        if not self._read.has_before or None in keys or not all(self._has(BEFORE, str(key)) for key in keys):
            return "cast(NULL AS string)"
        partial = self._spec.preset.before_is_partial
        old, changed = [], []
        for key in map(str, keys):
            before, after = (self._of(image, key, self._columns[key]) for image in (BEFORE, AFTER))
            old.append(f"{text(key)}, coalesce({before}, {after})" if partial else f"{text(key)}, {before}")
            changed.append(f"{before} <> {after}")
        complete = [] if partial else [f"{self._of(BEFORE, str(k), self._columns[str(k)])} IS NOT NULL" for k in keys]
        condition = " AND ".join([f"({' OR '.join(changed)})", *complete])
        return f"if({KIND} = '{UPSERT}' AND {condition}, named_struct({', '.join(old)}), NULL)"

    def _checks(self) -> Mapping[str, str]:
        """Conditions on the values of a row, with the names of the columns that hold their outcome."""
        checks = {}
        placeholder = self._target.placeholder
        for at, (column, value) in enumerate(self._columns.items()):
            if not self._has(AFTER, column):
                continue
            given = f"{AFTER}.{name(column)}"
            lacks = None
            if placeholder is not None and not self._is_missing(value):
                lacks = values.unavailable(value, placeholder)
                if lacks is None and not self._target.fills:
                    lacks = values.is_placeholder(value, placeholder)
            conditions = []
            if lacks is not None:
                conditions.append(f"WHEN {lacks.replace('{x}', given)} THEN 'VALUE_UNAVAILABLE'")
            if value.is_converted:
                ignored = values.unavailable(value, placeholder) if placeholder and self._is_missing(value) else None
                unless = f" AND NOT coalesce({ignored.replace('{x}', given)}, false)" if ignored else ""
                broken = f"{given} IS NOT NULL AND {value.of(given)} IS NULL{unless}"
                conditions.append(f"WHEN {broken} THEN 'VALUE_MALFORMED'")
            if conditions:
                checks[f"CASE WHEN {KIND} <> '{UPSERT}' THEN NULL {' '.join(conditions)} END"] = f"__check{at}"
        return checks

    def _detail(self) -> str:
        columns = list(self._columns)
        shown = [
            f"if({check} IS NULL, NULL, {text(columns[int(check.removeprefix('__check'))])})"
            for check in self._checks().values()
        ]
        return f"nullif(concat_ws(', ', {', '.join(shown)}), '')" if shown else "cast(NULL AS string)"

    def _conditions(self, typed: DataFrame) -> DataFrame:
        """Apply ``apply_as_deletes`` and ``apply_as_truncates`` to the rows of a tool's events."""
        spec, F = self._spec, functions(typed)
        for condition, kind in ((spec.apply_as_deletes, DELETE), (spec.apply_as_truncates, TRUNCATE)):
            if condition is not None and not spec.is_rows:
                holds = _column(condition, typed) & (F.col(KIND) == UPSERT)
                typed = typed.withColumn(KIND, F.when(holds, F.lit(kind)).otherwise(F.col(KIND)))
        return typed

    def _refined(self) -> str:
        target, spec = self._target, self._spec
        lost = [f"{quoted(key)} IS NULL" for key in target.keys]
        unordered = [f"{quoted(field)} IS NULL" for field in target.ordering]
        cases = [
            f"WHEN {KIND} = '{TRUNCATE}' AND ({' OR '.join(unordered)}) THEN '{REFUSED}ORDERING_MISSING'",
            f"WHEN {KIND} NOT IN ('{UPSERT}', '{DELETE}') THEN {KIND}",
        ]
        if spec.preset.after is not None or spec.preset.rows is not None:
            cases.append(f"WHEN {KIND} = '{UPSERT}' AND {_ROWLESS} THEN '{REFUSED}ROW_MISSING'")
        cases.append(f"WHEN {' OR '.join(lost)} THEN '{REFUSED}KEY_MISSING'")
        cases.append(f"WHEN {' OR '.join(unordered)} THEN '{REFUSED}ORDERING_MISSING'")
        checks = [name(check) for check in self._checks().values()]
        if checks:
            first = f"coalesce({', '.join(checks)})"
            cases.append(f"WHEN {KIND} = '{UPSERT}' AND {first} IS NOT NULL THEN concat('{REFUSED}', {first})")
        return f"CASE {' '.join(cases)} ELSE {KIND} END"


def _rows(
    table: Table,
    target: ChangeTarget,
    events: DataFrame,
    columns: tuple[str, ...],
    truncated: Row | None,
    moved: bool,
) -> DataFrame:
    """The rows that are written: the new ones, and deletes as rows that are marked."""
    F = functions(events)
    is_delete = F.col(KIND) == DELETE
    data = [F.col(name(column)) for column in columns]
    arrival = F.monotonically_increasing_id().alias(_ARRIVAL)
    rows = events.where(F.col(KIND).isin(UPSERT, DELETE)).select(*data, is_delete.alias(_DELETED), arrival)
    if moved:
        kept = {field.partition(".")[0] for field in target.ordering}
        old = {field_of(_schema_of(columns), key): key for key in target.keys}
        gone = [_old_value(events, column, old, kept) for column in columns]
        # Before the new rows: where one key is left and taken at the same point, it is taken.
        gone += [F.lit(True).alias(_DELETED), F.lit(-1).cast("bigint").alias(_ARRIVAL)]
        rows = events.where(F.col(OLD).isNotNull()).select(*gone).unionByName(rows)
    if truncated is not None:
        rows = _truncated(table, target, rows, truncated)
    if target.is_order_of_arrival_relevant:
        keys, order = ([F.col(quoted(field)) for field in fields] for fields in (target.keys, target.ordering))
        rows = rows.repartition(*keys).sortWithinPartitions(*order, F.col(_ARRIVAL))
    return rows.drop(_ARRIVAL)


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
    order = F.struct(*[F.col(name(field)) for field in target.ordering])
    point = {field: F.lit(at[field]).cast(rows.schema[field].dataType) for field in target.ordering}
    later = rows.where(order > F.struct(*[value.alias(field) for field, value in point.items()]))
    stored = {*target.keys, *target.partitions}
    gone = []
    for field in rows.schema:
        if field.name == _DELETED:
            gone.append(F.lit(True).alias(_DELETED))
        elif field.name in point:
            gone.append(point[field.name].alias(field.name))
        elif field.name in stored:
            gone.append(F.col(name(field.name)).cast(field.dataType).alias(field.name))
        else:
            gone.append(F.lit(None).cast(field.dataType).alias(field.name))
    return table.df().select(*gone).unionByName(later)


def _with_conditions(frame: DataFrame, spec: Spec) -> DataFrame:
    """Rows with the kind of each, from the conditions on them."""
    F = functions(frame)
    deletes = F.lit(False) if spec.apply_as_deletes is None else _column(spec.apply_as_deletes, frame)
    truncates = F.lit(False) if spec.apply_as_truncates is None else _column(spec.apply_as_truncates, frame)
    kind = F.when(truncates, TRUNCATE).when(deletes, DELETE).otherwise(UPSERT)
    return frame.withColumn("__merganser_kind", kind)


def _column(condition: Any, frame: DataFrame) -> Any:
    return functions(frame).expr(condition) if isinstance(condition, str) else condition


def types_of(frame: DataFrame, types: Mapping[str, str]) -> dict[str, T.DataType]:
    """SQL types as types."""
    if not types:
        return {}
    ddl = ", ".join(f"{name(column)} {kind}" for column, kind in types.items())
    schema = frame.sparkSession.createDataFrame([], ddl).schema  # type: ignore[type-var, unused-ignore]
    return {field.name: field.dataType for field in schema}


def _only(target: ChangeTarget, spec: Spec) -> tuple[str, ...] | None:
    return None if spec.only is None else (*spec.only, *_required(target))


def _omitted(target: ChangeTarget, spec: Spec) -> tuple[str, ...]:
    """Columns that are read and not written; the rule needs keys and ordering fields."""
    required = {*_required(target), *target.sequence}
    return tuple(column for column in spec.except_columns if column not in required)


def _required(target: ChangeTarget) -> tuple[str, ...]:
    return tuple(field.partition(".")[0] for field in (*target.keys, *target.partitions, *target.ordering))


def _options(target: ChangeTarget, batch: Batch, spec: Spec) -> dict[str, str]:
    """Columns that are not applied stay as they are stored; a row of a tool's event has all others."""
    excluded = spec.only is not None or bool(spec.except_columns)
    written = {column.casefold() for column in batch.columns}
    lacks = any(column.casefold() not in written for column in target.schema.fieldNames())
    policy = {"spark.merganser.write.missingColumns": "keep"} if lacks and (excluded or not spec.is_rows) else {}
    return {**policy, **spec.options}


def _require_one_source(counted: list[Row], spec: Spec) -> None:
    tables = sorted({table for row in counted for table in row["of"] if table})
    if spec.source_table is None and len(tables) > 1:
        raise ValueError(
            f"The events are of {len(tables)} tables: {', '.join(tables[:5])}. Choose one by "
            f"source_table={tables[0]!r}; the events of the others are then counted as skipped"
        )


def _schema_of(columns: Any) -> T.StructType:
    return T.StructType([T.StructField(column, T.StringType()) for column in columns])


def _type_in(schema: T.StructType, column: str) -> str:
    found = field_of(schema, column)
    return "string" if found is None else schema[found].dataType.simpleString()


def _named(found: Mapping[str, Row], prefix: str) -> dict[str, int]:
    return {kind.removeprefix(prefix): row["n"] for kind, row in sorted(found.items()) if kind.startswith(prefix)}


def _count(found: Mapping[str, Row], kind: str) -> int:
    return int(found[kind]["n"]) if kind in found else 0
