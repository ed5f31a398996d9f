"""The typed rows of a batch of events, each with what is to be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from merganser.changes import _values as values
from merganser.changes._json import has_trailing, is_other_table
from merganser.changes._parsed import ABSENT, AFTER, BEFORE, CORRUPT, FRAME, KEY, KEYS, RAW, Parsed, Target
from merganser.changes._preset import DELETE, LOAD, REFUSED, SKIP, TRUNCATE, UPSERT
from merganser.changes._source import parsed
from merganser.changes._spec import Spec
from merganser.changes._sql import field_of, functions, name, quoted, text, type_text
from merganser.changes._target import ChangeTarget
from merganser.changes._values import Value

_EVOLUTION = "spark.merganser.write.schemaEvolution"
# Columns of a batch beside those of its rows.
EVENT, EVENT_KEY, KIND, DETAIL, OLD, SOURCE = (f"__{part}" for part in ("event", "key", "kind", "detail", "old", "of"))
LACKS, ARRIVAL = "__lacks", "__arrival"
_ROWLESS = "__rowless"


@dataclass(frozen=True)
class Batch:
    """Events with typed rows.

    Attributes:
        events: One row for each event: EVENT and EVENT_KEY (their text, where they are refused), KIND, DETAIL, OLD
            (the old key, where an update changed it), SOURCE (name of the source's table), LACKS (columns whose value
            the event does not have, if any), ARRIVAL (its number in the order of the frame), and the row's columns.
        columns: The row's columns that are written.
        places: The places of an event's values: see :class:`Parsed`.
    """

    events: DataFrame
    columns: tuple[str, ...]
    places: Mapping[str, T.StructType]


def read_batch(frame: DataFrame, target: ChangeTarget, spec: Spec) -> Batch:
    """Read and check the events of a frame; nothing is written."""
    types, only = types_of(frame, spec.types), _only(target, spec)
    known = Target(
        target.schema,
        types,
        only,
        _omitted(target, spec),
        spec.source_table,
        fixed=(*_required(target), *target.sequence),
        evolution=str(spec.options.get(_EVOLUTION) or frame.sparkSession.conf.get(_EVOLUTION, "true")).casefold(),
    )
    source = _with_conditions(frame, spec) if spec.is_rows else frame
    if spec.preset.loads is not None:
        source = source.withColumn(LOAD, functions(frame).expr(spec.preset.loads))
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
        for event in target.event_columns.values():
            row[event.name] = f"cast({event.sql.replace('{load}', self._load())} AS {event.type})"
        for field, column in zip(target.ordering[len(target.ordering) - len(target.sequence) :], target.sequence):
            row[field] = self._sequence(column)
        for field in (*target.keys, *target.ordering):  # of which these events have no value at all
            top = field.partition(".")[0]
            if field_of(schema_of(row), top) is None:
                row[top] = f"cast(NULL AS {_type_in(target.schema, top)})"
        if self._spec.preset.omits_nulls:
            row |= self._nulls(row)
        old = self._old_key()
        typed = typed.selectExpr(
            *(RAW, KEY, KIND),
            f"{AFTER} IS NULL AS {_ROWLESS}",
            f"{self._source()} AS {SOURCE}",
            f"{old} AS {OLD}",
            f"{self._lacks()} AS {LACKS}",
            *(f"{sql} AS {name(column)}" for column, sql in row.items()),
            *(f"{check} AS {name(self._checks()[check])}" for check in self._checks()),
        )
        typed = self._conditions(typed)
        typed = typed.withColumn(DETAIL, F.expr(self._detail())).withColumn(KIND, F.expr(self._refined()))
        shown = f"if({KIND} LIKE '{REFUSED}%' OR {LACKS} IS NOT NULL, {{}}, NULL)"
        events = typed.selectExpr(
            f"{shown.format(RAW)} AS {EVENT}",
            f"{shown.format(KEY)} AS {EVENT_KEY}",
            KIND,
            f"{shown.format(DETAIL)} AS {DETAIL}",
            f"if({KIND} IN ('{UPSERT}', '{DELETE}'), {OLD}, NULL) AS {OLD}",
            SOURCE,
            f"if({KIND} = '{UPSERT}', {LACKS}, NULL) AS {LACKS}",
            f"monotonically_increasing_id() AS {ARRIVAL}",
            *(name(column) for column in row),
        )
        return Batch(events, tuple(row), self._read.places)

    def _nulls(self, row: Mapping[str, str]) -> dict[str, str]:
        """Columns that no event of the batch has: null, and not what is stored."""
        only, omitted = _only(self._target, self._spec), _omitted(self._target, self._spec)
        there = {column.casefold() for column in row}
        return {
            field.name: f"cast(NULL AS {type_text(field.dataType)})"
            for field in self._target.schema
            if field.name.casefold() not in there and (only is None or field.name in only) and field.name not in omitted
        }

    def _kind(self) -> str:
        unreadable = f"if(json_object_keys({RAW}) IS NULL, '{REFUSED}JSON_MALFORMED', '{REFUSED}VALUE_MALFORMED')"
        is_refused = self._spec.preset.tombstones == "refuse"
        tombstone = f"{REFUSED}TOMBSTONE" if is_refused else f"{SKIP}tombstone"
        cases = [f"WHEN {ABSENT} THEN '{tombstone}'"]
        if self._read.is_json:  # the second event may be of the table, whatever the first one is of
            cases.append(f"WHEN {has_trailing()} THEN '{REFUSED}JSON_TRAILING'")
        if self._spec.source_table is not None and self._spec.preset.source_table is not None:
            is_other = is_other_table(self._spec.preset, self._spec.source_table)
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
        value = self._columns[column]
        new = self._of(AFTER, column, value)
        lacks = self._lacking(column, value)
        if lacks is not None:
            # The old row has the value that an update left alone, if the source sends old rows whole.
            kept = self._of(BEFORE, column, value) if self._has(BEFORE, column) else "NULL"
            is_lost = lacks.replace("{x}", f"{BEFORE}.{name(column)}")
            known = f"if({is_lost}, NULL, {kept})" if kept != "NULL" else "NULL"
            new = f"if({lacks.replace('{x}', f'{AFTER}.{name(column)}')}, {self._or_placeholder(known, new)}, {new})"
        if column not in self._needed():
            return f"if({KIND} = '{DELETE}', NULL, {new})"
        return f"if({KIND} = '{DELETE}', {self._any(column, value)}, {new})"

    def _or_placeholder(self, known: str, new: str) -> str:
        return known if self._target.nulls_are_missing else f"coalesce({known}, {new})"

    def _lacking(self, column: str, value: Value) -> str | None:
        """The condition under which the event does not have a value that the rule can take from another version."""
        placeholder = self._target.placeholder
        if placeholder is None or not (self._target.fills or self._target.nulls_are_missing):
            return None
        if self._target.nulls_are_missing:
            return values.unavailable(value, placeholder) or values.is_placeholder(value, placeholder)
        return None if values.unavailable(value, placeholder) else values.is_placeholder(value, placeholder)

    def _lacks(self) -> str:
        """The columns of which the event has neither the new nor the old value."""
        lacking = []
        for column, value in self._columns.items():
            condition = self._lacking(column, value)
            if condition is None or not self._has(AFTER, column):
                continue
            new, old = (condition.replace("{x}", f"{image}.{name(column)}") for image in (AFTER, BEFORE))
            if self._has(BEFORE, column):
                before = f"coalesce({BEFORE}.{name(column)} IS NOT NULL AND NOT coalesce({old}, false), false)"
                new = f"({new}) AND NOT {before}"
            lacking.append(f"if({new}, {text(column)}, NULL)")
        if not lacking:
            return "cast(NULL AS array<string>)"
        names = f"array_compact(array({', '.join(lacking)}))"
        return f"if(size({names}) = 0, NULL, {names})"

    def _sequence(self, column: str) -> str:
        """An ordering value that is a column; where a load has none, it is the smallest."""
        value = self._sequence_column(column)
        if column not in self._columns or not self._spec.preset.before_sequence:
            return value
        kind = self._columns[column].target
        smallest = {T.StringType: "''", T.DecimalType: "0", T.LongType: "0", T.IntegerType: "0"}.get(type(kind))
        if smallest is None:
            return value
        return f"if({self._load()}, coalesce({value}, cast({smallest} AS {type_text(kind)})), {value})"

    def _sequence_column(self, column: str) -> str:
        """A column of ``sequence_by``: of the frame, or of the rows."""
        if column in self._read.of_frame:
            return name(FRAME + column)
        if column in self._columns:
            return self._any(column, self._columns[column])
        raise ValueError(
            f"sequence_by names '{column}', which is not among the columns {', '.join(self._columns)}, nor a column of "
            "the frame beside the events"
        )

    def _load(self) -> str:
        """Whether a row is of a full load."""
        values_of = map(self._sequence_column, self._target.sequence)
        empty = " AND ".join(f"nullif(cast({value} AS string), '') IS NULL" for value in values_of) or "false"
        return f"coalesce(e.{LOAD}, nullif(e.Op, '') IS NULL OR (e.Op = 'I' AND {empty}))"

    def _any(self, column: str, value: Value) -> str:
        images = [self._of(image, column, value) for image in (AFTER, BEFORE, KEYS) if self._has(image, column)]
        return f"coalesce({', '.join(images)})" if images else f"cast(NULL AS {type_text(value.target)})"

    def _needed(self) -> set[str]:
        """Columns that a delete must have."""
        target = self._target
        fields = (*target.keys, *target.partitions, *target.ordering, *target.sequence)
        return {field_of(schema_of(self._columns), field.partition(".")[0]) or field for field in fields}

    def _of(self, image: str, column: str, value: Value) -> str:
        if not self._has(image, column):
            return f"cast(NULL AS {type_text(value.target)})"
        return f"cast({value.of(f'{image}.{name(column)}')} AS {type_text(value.target)})"

    def _has(self, image: str, column: str) -> bool:
        return column in self._images.get(image, ())

    def _old_key(self) -> str:
        """The key of the old row, where it differs from that of the new one."""
        keys = [field_of(schema_of(self._columns), key) for key in self._target.keys]
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
            if placeholder is not None and not self._target.nulls_are_missing:
                lacks = values.unavailable(value, placeholder)
                if lacks is None and not self._target.fills:
                    lacks = values.is_placeholder(value, placeholder)
            conditions = []
            if lacks is not None:
                conditions.append(f"WHEN {lacks.replace('{x}', given)} THEN 'VALUE_UNAVAILABLE'")
            if value.is_converted:
                is_ignored = placeholder is not None and self._target.nulls_are_missing
                ignored = values.unavailable(value, str(placeholder)) if is_ignored else None
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


def schema_of(columns: Any) -> T.StructType:
    return T.StructType([T.StructField(column, T.StringType()) for column in columns])


def _type_in(schema: T.StructType, column: str) -> str:
    found = field_of(schema, column)
    return "string" if found is None else type_text(schema[found].dataType)
