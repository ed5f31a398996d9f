"""Events in JSON: parsed once their columns and the types of these are known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from merganser.changes import _fitting as fitting
from merganser.changes import _values as values
from merganser.changes._debezium_types import image_fields, value_of
from merganser.changes._mysql_types import mysql_type
from merganser.changes._parsed import (
    ABSENT,
    AFTER,
    ALL,
    BEFORE,
    CORRUPT,
    FRAME,
    HEADER,
    KEY,
    KEYS,
    RAW,
    WRAPPED,
    Parsed,
    Target,
)
from merganser.changes._preset import Preset
from merganser.changes._sql import functions, name, quoted, text
from merganser.changes._values import SCHEMA, Value

TEXTUAL = (T.StringType, T.BinaryType)
HEADER_TYPES = {"string": T.StringType(), "bigint": T.LongType(), "boolean": T.BooleanType()}
_INFERRED = ("boolean", "bigint", "double")
_END = "merganser.end"


def texts(frame: DataFrame, preset: Preset, more: Sequence[str] = ()) -> DataFrame:
    """The events of a frame as text, with what all later steps need to know of each, and more columns."""
    schema = frame.schema
    column = "value" if "value" in schema.fieldNames() else schema[0].name
    has_key = "key" in schema.fieldNames() and isinstance(schema["key"].dataType, TEXTUAL)
    key = "cast(`key` AS string)" if has_key else "cast(NULL AS string)"
    read = frame.selectExpr(f"cast({name(column)} AS string) AS {RAW}", f"{key} AS {KEY}", *more)
    wrapped = _is_wrapped(RAW) if preset.has_schema else "false"
    described = f"if({WRAPPED}, get_json_object({RAW}, '$.schema'), NULL)"
    read = read.selectExpr("*", f"{wrapped} AS {WRAPPED}").selectExpr("*", f"{described} AS _s")
    carried = (name(column) for column in read.columns if column.startswith(FRAME))
    return read.selectExpr(RAW, KEY, WRAPPED, f"if(_s IS NULL, NULL, xxhash64(_s)) AS {SCHEMA}", *carried)


def _is_wrapped(event: str) -> str:
    """Whether an event is in a ``payload``: Connect's converter writes these two fields and no others.

    A row may have a column of either name.
    """
    fields = f"json_object_keys({event})"
    wrapper = f"array_contains({fields}, 'payload') AND size(array_except({fields}, array('schema', 'payload'))) = 0"
    return f"coalesce({wrapper}, false)"


def has_trailing() -> str:
    """The condition under which something follows the event's object, such as a second one: parsers ignore it."""
    rest = f"get_json_object(concat('[', {RAW}, ',\"{_END}\"]'), '$[1]')"
    return f"json_object_keys({RAW}) IS NOT NULL AND NOT coalesce({rest} = '{_END}', false)"


def of_json(frame: DataFrame, preset: Preset, keys: tuple[str, ...], target: Target) -> Parsed:
    """Parse the events of :func:`texts`."""
    F = functions(frame)
    columns = _json_columns(frame, preset, target)
    image = T.StructType([T.StructField(column, value.wire) for column, value in columns.items()])
    event = _event_schema(preset, image)
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    corrupt = T.StructField(CORRUPT, T.StringType())

    def parse(*fields: T.StructField, when: str) -> Any:
        return F.when(F.expr(when), F.from_json(F.col(RAW), T.StructType([*fields, corrupt]), options))

    bare = "named_struct(" + ", ".join(f"{text(one.name)}, _b.{name(one.name)}" for one in event.fields) + ")"
    read = frame.withColumn("_b", parse(*event.fields, when=f"NOT {WRAPPED}"))
    if preset.has_schema:
        read = read.withColumn("_w", parse(T.StructField("payload", event), when=WRAPPED))
        read = read.withColumn(HEADER, F.expr(f"if({WRAPPED}, _w.payload, {bare})"))
        is_empty = f"({WRAPPED} AND _w.payload IS NULL AND _w IS NOT NULL AND _w.{CORRUPT} IS NULL)"
        is_corrupt = f"if({WRAPPED}, _w IS NULL OR _w.{CORRUPT} IS NOT NULL, _b IS NULL OR _b.{CORRUPT} IS NOT NULL)"
    else:
        read = read.withColumn(HEADER, F.expr(bare))
        is_empty, is_corrupt = "false", f"_b IS NULL OR _b.{CORRUPT} IS NOT NULL"
    known = T.StructType([field for field in image.fields if field.name.casefold() in map(str.casefold, keys)])
    key_schema = T.StructType([*known.fields, T.StructField("payload", known)])
    read = read.withColumn("_k", F.from_json(F.col(KEY), key_schema) if known.fields else F.lit(None))
    key_values = ", ".join(
        f"{text(one.name)}, coalesce(_k.payload.{name(one.name)}, _k.{name(one.name)})" for one in known.fields
    )
    read = read.withColumn(ABSENT, F.expr(f"{RAW} IS NULL OR trim({RAW}) = 'null' OR {is_empty}"))
    read = read.withColumn(CORRUPT, F.expr(f"{RAW} IS NOT NULL AND ({is_corrupt})"))
    read = read.withColumn(KEYS, F.expr(f"named_struct({key_values})" if key_values else "cast(NULL AS string)"))
    places = _places(event, preset)
    return Parsed(with_images(read, preset), columns, preset.before is not None, is_json=True, places=places)


def _places(event: T.StructType, preset: Preset) -> dict[str, T.StructType]:
    """Each value of an event by its place: that of a new row by its column, others by the path; and how it is read."""
    new = {preset.rows and f"{preset.rows}[]", preset.after} - {None}
    found = {}
    for path, kind in _values_in(event):
        head, _, rest = path.partition(".")
        found[rest if head in new and rest else path] = T.StructType(kind.fields)
    return found


def _values_in(struct: T.StructType) -> Iterator[tuple[str, T.StructType]]:
    """The paths of the values in a struct, each with the struct that has it alone."""
    for field in struct.fields:
        kind = field.dataType
        inner = kind.elementType if isinstance(kind, T.ArrayType) else kind
        if not isinstance(inner, T.StructType):
            yield field.name, T.StructType([field])
            continue
        own = f"{field.name}[]" if inner is not kind else field.name
        for path, below in _values_in(inner):
            alone = T.ArrayType(below) if inner is not kind else below
            yield f"{own}.{path}", T.StructType([T.StructField(field.name, alone)])


def malformed_places(frame: DataFrame, event: str, places: Mapping[str, T.StructType], preset: Preset) -> Any:
    """A column with the places of the values that make an event's text malformed; null if there are none.

    Args:
        frame: A frame of few events: each value is parsed by itself.
        event: Its column with the text of an event.
        places: Those of :attr:`Parsed.places`.
        preset: How the events are read.
    """
    F = functions(frame)
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    corrupt = T.StructField(CORRUPT, T.StringType())
    found = []
    for place, alone in places.items():
        read = F.from_json(F.col(event), T.StructType([*alone.fields, corrupt]), options)[CORRUPT]
        if preset.has_schema:
            inner = T.StructType([T.StructField("payload", alone), corrupt])
            wrapped = F.from_json(F.col(event), inner, options)[CORRUPT]
            read = F.when(F.expr(_is_wrapped(event)), wrapped).otherwise(read)
        found.append(F.when(read.isNotNull(), F.lit(place)))
    return F.nullif(F.concat_ws(", ", *found), F.lit("")) if found else F.lit(None)


def with_images(read: DataFrame, preset: Preset) -> DataFrame:
    """Add the new and the old row; an event with several rows becomes several."""
    F = functions(read)
    if preset.rows is not None:
        before = "cast(NULL AS string)" if preset.before is None else f"get(e.{quoted(preset.before)}, _i)"
        exploded = read.selectExpr("*", f"posexplode_outer(e.{quoted(preset.rows)}) AS (_i, {AFTER})").withColumn(
            BEFORE, F.expr(before)
        )
    else:
        after = "e" if preset.after is None else f"e.{quoted(preset.after)}"
        before = "cast(NULL AS string)" if preset.before is None else f"e.{quoted(preset.before)}"
        exploded = read.withColumn(AFTER, F.expr(after)).withColumn(BEFORE, F.expr(before))
    return exploded.select(*ALL, *(name(column) for column in exploded.columns if column.startswith(FRAME)))


def key_fields(frame: DataFrame, preset: Preset) -> tuple[str, ...]:
    """The key columns that the events of :func:`texts` name: in their ``key``, or in the preset's field for them."""
    sample = f"get_json_object({RAW}, '$.{preset.record_key}')" if preset.record_key else KEY
    rows = frame.selectExpr(f"{sample} AS k").where("k IS NOT NULL").limit(1).collect()
    if not rows:
        return ()
    try:
        found = json.loads(rows[0]["k"])
    except ValueError:
        return ()
    if isinstance(found, dict):
        inner = found["payload"] if "payload" in found and set(found) <= {"schema", "payload"} else found
        return tuple(inner) if isinstance(inner, dict) else ()
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _event_schema(preset: Preset, image: T.StructType) -> T.StructType:
    leaves: dict[str, T.DataType] = {path: HEADER_TYPES[kind] for path, kind in preset.header.items()}
    if preset.rows is not None:
        leaves[preset.rows] = T.ArrayType(image)
        if preset.before is not None:
            leaves[preset.before] = T.ArrayType(image)
    else:
        for path in (preset.after, preset.before):
            if path is not None:
                leaves[path] = image
    fields = _nested(leaves)
    if preset.after is None:
        fields = [*fields, *(field for field in image.fields if field.name not in leaves)]
    return T.StructType(fields)


def _nested(leaves: Mapping[str, T.DataType]) -> list[T.StructField]:
    groups: dict[str, dict[str, T.DataType]] = {}
    for path, kind in leaves.items():
        head, _, rest = path.partition(".")
        groups.setdefault(head, {})[rest] = kind
    return [
        T.StructField(head, inner[""] if "" in inner else T.StructType(_nested(inner)))
        for head, inner in groups.items()
    ]


def _json_columns(frame: DataFrame, preset: Preset, target: Target) -> dict[str, Value]:
    """The columns of the events: of their schemas, else of the rows' own fields."""
    F = functions(frame)
    frame = _of_table(frame, preset, target.source_table)
    found = (
        frame.selectExpr(
            SCHEMA, f"if({SCHEMA} IS NULL, NULL, {RAW}) AS s", f"if({SCHEMA} IS NULL, {_names(preset)}, NULL) AS f"
        )
        .groupBy(SCHEMA)
        .agg(F.first("s").alias("s"), F.expr("sort_array(array_distinct(flatten(collect_set(f))))").alias("f"))
        .collect()
    )
    schemas = {row[SCHEMA]: schema for row in found if isinstance(schema := _schema(row["s"]), dict)}
    described = image_fields(schemas, preset.header if preset.after is None else None)
    bare = sorted({field for row in found for field in row["f"] or ()})
    applied = target.applied(c for c in dict.fromkeys((*described, *bare)) if is_row_column(c, preset))
    columns = {column: value_of(column, described[column], target, preset) for column in applied if column in described}
    rest = [column for column in applied if column not in described]
    named = _named_types(frame, preset, rest)
    known = [
        (column, kind)
        for column in _in_table_order(rest, target.schema)
        if (kind := target.type_of(column) or named.get(column)) is not None
    ]
    for column, kind in known:
        columns[column] = fitting.by_table(
            kind,
            preset.placeholder,
            preset.timestamp_unit,
            base64_decimals=preset.decimals == "base64",
            texts=preset.texts,
            binaries=preset.binaries,
        )
    columns.update(_inferred(frame, preset, [column for column in rest if column not in dict(known)]))
    return columns


def _schema(event: str | None) -> object:
    try:
        return json.loads(event)["schema"] if event is not None else None
    except (ValueError, TypeError, KeyError):
        return None


def _names(preset: Preset) -> str:
    """The names of the fields of an event's rows; a delete may have the old row alone."""
    images = [_image_text(path) for path in _image_paths(preset)]
    fields = "flatten(array_compact(array(" + ", ".join(f"json_object_keys({image})" for image in images) + ")))"
    if preset.after is None and preset.rows is None and preset.row_prefixes:  # what is no row has other fields
        header = ", ".join(map(text, preset.header))
        return f"if(arrays_overlap({fields}, array({header})), {fields}, NULL)"
    return fields


def _of_table(frame: DataFrame, preset: Preset, table: str | None) -> DataFrame:
    """The events of one of the source's tables, and those that do not name theirs: others have other columns."""
    if table is None or preset.source_table is None:
        return frame
    F = functions(frame)
    header = T.StructType(_nested({path: HEADER_TYPES[kind] for path, kind in preset.header.items()}))
    inner = F.from_json(F.col(RAW), header)
    if preset.has_schema:
        payload = F.from_json(F.col(RAW), T.StructType([T.StructField("payload", header)]))["payload"]
        inner = F.when(F.col(WRAPPED), payload).otherwise(inner)
    return frame.withColumn("e", inner).where(f"NOT coalesce({is_other_table(preset, table)}, false)").drop("e")


def is_other_table(preset: Preset, table: str) -> str:
    """The condition under which an event is of another table; a name may be given by its last parts."""
    own, given = f"nullif({preset.source_table}, '')", text(table)
    return f"({own} <> {given} AND NOT endswith({own}, concat('.', {given})))"


def _named_types(frame: DataFrame, preset: Preset, columns: list[str]) -> dict[str, T.DataType]:
    """Types of columns that the events name in a field of the preset."""
    if preset.types is None or not columns:
        return {}
    rows = frame.selectExpr(f"get_json_object({RAW}, '$.{preset.types}') AS t").where("t IS NOT NULL").distinct()
    named: dict[str, T.DataType] = {}
    for row in rows.collect():
        types = json.loads(row["t"])
        for column, kind in types.items() if isinstance(types, dict) else ():
            own = mysql_type(str(kind))
            both = [named.get(column, own), own]
            named[column] = fitting.column_type(both, None, widens_to_string=True, is_fixed=False)
    return named


def _in_table_order(columns: Iterable[str], schema: T.StructType) -> list[str]:
    order = {field: at for at, field in enumerate(schema.fieldNames())}
    return sorted(columns, key=lambda column: (order.get(column, len(order)), column))


def _image_paths(preset: Preset) -> list[str]:
    if preset.rows is not None:
        return [f"{preset.rows}[0]"]
    if preset.after is None:
        return [""]
    return [preset.after, *([preset.before] if preset.before is not None else [])]


def _image_text(path: str) -> str:
    below = f".{path}" if path else ""
    return f"if({WRAPPED}, get_json_object({RAW}, '$.payload{below}'), get_json_object({RAW}, '${below}'))"


def is_row_column(column: str, preset: Preset) -> bool:
    """Whether a field of an event's row is a column: of a flat event, some belong to the envelope."""
    if preset.after is not None or preset.rows is not None:
        return True
    return column not in preset.header and not column.startswith(preset.row_prefixes or ("\0",))


def _inferred(frame: DataFrame, preset: Preset, new: list[str]) -> dict[str, Value]:
    """Types of columns of which nothing is known: the narrowest that all values of these events have, else text."""
    if not new:
        return {}
    image = f"coalesce({', '.join(_image_text(path) for path in _image_paths(preset))})"
    # A value that is not of a type is null, whatever the others of its row are: each type reads a row once.
    reads = {kind: ", ".join(f"{name(column)} {kind}" for column in new) for kind in ("string", *_INFERRED)}
    rows = frame.selectExpr(f"{image} AS i")
    rows = rows.selectExpr(*(f"from_json(i, {text(columns)}) AS _{kind}" for kind, columns in reads.items()))
    checks = []
    for at, column in enumerate(map(name, new)):
        exists = f"_string.{column} IS NOT NULL"
        checks.append(f"max({exists}) AS n{at}")
        checks.append(f"min(if({exists}, _string.{column} RLIKE '^-?[0-9]+$', NULL)) AS integer{at}")
        checks += [f"min(if({exists}, _{kind}.{column} IS NOT NULL, NULL)) AS {kind}{at}" for kind in _INFERRED]
    (row,) = rows.selectExpr(*checks).collect()
    types: dict[str, T.DataType] = {"boolean": T.BooleanType(), "bigint": T.LongType(), "double": T.DoubleType()}
    columns = {}
    for at, column in enumerate(new):
        if row[f"n{at}"]:  # a column that is null everywhere is added when it has a value
            fitting = next((types[kind] for kind in _INFERRED if row[f"{kind}{at}"]), T.StringType())
            if isinstance(fitting, T.DoubleType) and row[f"integer{at}"]:  # a double does not have all their digits
                fitting = T.StringType()
            columns[column] = values.same(fitting)
    return columns
