"""The events of a frame in one form: header, new row, old row and key, whatever form the frame has."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from merganser.changes import _values as values
from merganser.changes._debezium_types import image_fields, value_of
from merganser.changes._mysql_types import mysql_type
from merganser.changes._preset import Preset
from merganser.changes._sql import field_of, functions, name, quoted, text
from merganser.changes._values import Value

#: Columns of the frames here: the event and its key as text, whether it is null, whether it does not parse, and the
#: structs with the header, the new row, the old one, and the key.
RAW, KEY, ABSENT, CORRUPT = "__raw", "__raw_key", "__absent", "__corrupt"
HEADER, AFTER, BEFORE, KEYS = "e", "a", "b", "k"

_TEXTUAL = (T.StringType, T.BinaryType)
_HEADER_TYPES = {"string": T.StringType(), "bigint": T.LongType(), "boolean": T.BooleanType()}
_INFERRED = ("boolean", "bigint", "double")


@dataclass(frozen=True)
class Target:
    """What the table, or the caller, knows of the columns that events fill.

    Attributes:
        schema: Columns of the table; empty if it is created by these events.
        types: Types that the caller gave by column.
        only: The columns that are applied; ``None``: all.
        omitted: Columns that are not applied.
        source_table: The source's table whose events are applied; ``None``: all.
    """

    schema: T.StructType
    types: Mapping[str, T.DataType]
    only: tuple[str, ...] | None
    omitted: tuple[str, ...]
    source_table: str | None = None

    def type_of(self, column: str) -> T.DataType | None:
        if column in self.types:
            return self.types[column]
        found = field_of(self.schema, column)
        return None if found is None else self.schema[found].dataType

    def applies(self, column: str) -> bool:
        return (self.only is None or column in self.only) and column not in self.omitted


@dataclass(frozen=True)
class Parsed:
    """Events with typed header and rows.

    Attributes:
        frame: With the columns RAW, KEY, ABSENT, CORRUPT, HEADER, AFTER, BEFORE and KEYS.
        columns: Every column of the rows that is applied, with its conversion.
        has_before: Whether events can have old rows.
    """

    frame: DataFrame
    columns: Mapping[str, Value]
    has_before: bool


def is_json(frame: DataFrame) -> bool:
    """Whether the events are JSON: a column ``value`` of strings or bytes, or one column of strings."""
    schema = frame.schema
    if "value" in schema.fieldNames():
        return isinstance(schema["value"].dataType, _TEXTUAL)
    return len(schema) == 1 and isinstance(schema[0].dataType, _TEXTUAL)


def parsed(frame: DataFrame, preset: Preset, keys: tuple[str, ...], target: Target) -> Parsed:
    """Read the events of a frame.

    Raises:
        TypeError: The frame has neither JSON nor the preset's fields.
    """
    if preset.name and is_json(frame):
        return _of_json(_texts(frame), preset, keys, target)
    return _of_structs(frame, preset, keys, target)


# ---- JSON


def _texts(frame: DataFrame) -> DataFrame:
    schema = frame.schema
    column = "value" if "value" in schema.fieldNames() else schema[0].name
    has_key = "key" in schema.fieldNames() and isinstance(schema["key"].dataType, _TEXTUAL)
    key = "cast(`key` AS string)" if has_key else "cast(NULL AS string)"
    return frame.selectExpr(f"cast({name(column)} AS string) AS {RAW}", f"{key} AS {KEY}")


def _of_json(frame: DataFrame, preset: Preset, keys: tuple[str, ...], target: Target) -> Parsed:
    F = functions(frame)
    columns = _json_columns(frame, preset, target)
    image = T.StructType([T.StructField(column, value.wire) for column, value in columns.items()])
    event = _event_schema(preset, image)
    fields = list(event.fields)
    if preset.has_schema:
        fields.append(T.StructField("payload", event))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    whole = T.StructType([*fields, T.StructField(CORRUPT, T.StringType())])
    read = frame.withColumn("_p", F.from_json(F.col(RAW), whole, options))
    inner = "if(_p.payload IS NOT NULL, _p.payload, _without)" if preset.has_schema else "_without"
    bare = "named_struct(" + ", ".join(f"{text(one.name)}, _p.{name(one.name)}" for one in event.fields) + ")"
    known = T.StructType([field for field in image.fields if field.name in keys])
    key_schema = T.StructType([*known.fields, T.StructField("payload", known)])
    read = read.withColumn("_without", F.expr(bare)).withColumn("e", F.expr(inner))
    read = read.withColumn("_k", F.from_json(F.col(KEY), key_schema) if known.fields else F.lit(None))
    key_values = ", ".join(
        f"{text(one.name)}, coalesce(_k.{name(one.name)}, _k.payload.{name(one.name)})" for one in known.fields
    )
    is_corrupt = f"_p IS NULL OR _p.{CORRUPT} IS NOT NULL"
    read = read.withColumn(CORRUPT, F.expr(f"{RAW} IS NOT NULL AND ({is_corrupt})"))
    read = read.withColumn(ABSENT, F.expr(f"{RAW} IS NULL"))
    read = read.withColumn(KEYS, F.expr(f"named_struct({key_values})" if key_values else "cast(NULL AS string)"))
    return Parsed(_images(read, preset), columns, preset.before is not None)


def _images(read: DataFrame, preset: Preset) -> DataFrame:
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
    return exploded.select(RAW, KEY, ABSENT, CORRUPT, HEADER, AFTER, BEFORE, KEYS)


def _event_schema(preset: Preset, image: T.StructType) -> T.StructType:
    leaves: dict[str, T.DataType] = {path: _HEADER_TYPES[kind] for path, kind in preset.header.items()}
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
    frame = _of_table(frame, preset, target.source_table)
    schema = f"get_json_object({RAW}, '$.schema')" if preset.has_schema else "cast(NULL AS string)"
    images = [_image_text(path, preset) for path in _image_paths(preset)]  # a delete may have the old row alone
    fields = "flatten(array_compact(array(" + ", ".join(f"json_object_keys({image})" for image in images) + ")))"
    found = (
        frame.selectExpr(f"{schema} AS s", f"if({schema} IS NULL, {fields}, NULL) AS f")
        .groupBy("s")
        .agg(functions(frame).expr("sort_array(array_distinct(flatten(collect_set(f))))").alias("f"))
        .collect()
    )
    described = image_fields(sorted(row["s"] for row in found if row["s"] is not None))
    bare = sorted({field for row in found for field in row["f"] or ()})
    columns = {
        column: value_of(column, kinds, target.type_of(column), preset.placeholder)
        for column, kinds in described.items()
        if _is_row_column(column, preset) and target.applies(column)
    }
    rest = [c for c in bare if c not in columns and _is_row_column(c, preset) and target.applies(c)]
    named = _named_types(frame, preset, rest)
    known = [
        (column, kind)
        for column in _in_table_order(rest, target.schema)
        if (kind := target.type_of(column) or named.get(column)) is not None
    ]
    for column, kind in known:
        columns[column] = values.by_table(
            kind,
            preset.placeholder,
            preset.timestamp_unit,
            base64_decimals=preset.decimals == "base64",
            texts=preset.texts,
        )
    columns.update(_inferred(frame, preset, [column for column in rest if column not in dict(known)]))
    return columns


def _of_table(frame: DataFrame, preset: Preset, table: str | None) -> DataFrame:
    """The events of one of the source's tables, and those that do not tell theirs: others have other columns."""
    if table is None or preset.source_table is None:
        return frame
    F = functions(frame)
    header = T.StructType(_nested({path: _HEADER_TYPES[kind] for path, kind in preset.header.items()}))
    inner = F.from_json(F.col(RAW), header)
    if preset.has_schema:
        inner = F.coalesce(F.from_json(F.get_json_object(F.col(RAW), "$.payload"), header), inner)
    is_other = f"coalesce(nullif({preset.source_table}, '') <> {text(table)}, false)"
    return frame.withColumn("e", inner).where(f"NOT {is_other}").drop("e")


def _named_types(frame: DataFrame, preset: Preset, columns: list[str]) -> dict[str, T.DataType]:
    """Types of columns that the events name in a field of the preset."""
    if preset.types is None or not columns:
        return {}
    rows = frame.selectExpr(f"get_json_object({RAW}, '$.{preset.types}') AS t").where("t IS NOT NULL").distinct()
    named: dict[str, T.DataType] = {}
    for row in rows.collect():
        types = json.loads(row["t"])
        named |= {column: mysql_type(str(kind)) for column, kind in types.items()} if isinstance(types, dict) else {}
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


def _image_text(path: str, preset: Preset) -> str:
    whole = "$" if not path else f"$.{path}"
    plain = f"get_json_object({RAW}, '{whole}')"
    if not preset.has_schema:
        return plain
    return f"coalesce(get_json_object({RAW}, '$.payload{whole[1:]}'), {plain})"


def _is_row_column(column: str, preset: Preset) -> bool:
    if preset.after is not None or preset.rows is not None:
        return True
    return column not in preset.header and not column.startswith(preset.row_prefixes or ("\0",))


def _inferred(frame: DataFrame, preset: Preset, new: list[str]) -> dict[str, Value]:
    """Types of columns of which nothing is known: the narrowest that all values of these events have, else text."""
    if not new:
        return {}
    image = f"coalesce({', '.join(_image_text(path, preset) for path in _image_paths(preset))})"
    checks = []
    for at, column in enumerate(new):
        exists = f"from_json(i, {text(f'{name(column)} string')}).{name(column)} IS NOT NULL"
        checks.append(f"max({exists}) AS n{at}")
        for kind in _INFERRED:
            fits = f"from_json(i, {text(f'{name(column)} {kind}')}).{name(column)} IS NOT NULL"
            checks.append(f"min(if({exists}, {fits}, NULL)) AS {kind}{at}")
    (row,) = frame.selectExpr(f"{image} AS i").selectExpr(*checks).collect()
    types: dict[str, T.DataType] = {"boolean": T.BooleanType(), "bigint": T.LongType(), "double": T.DoubleType()}
    columns = {}
    for at, column in enumerate(new):
        if row[f"n{at}"]:  # a column that is null everywhere is added when it has a value
            fitting = next((types[kind] for kind in _INFERRED if row[f"{kind}{at}"]), T.StringType())
            columns[column] = values.same(fitting)
    return columns


# ---- frames with types


def _of_structs(frame: DataFrame, preset: Preset, keys: tuple[str, ...], target: Target) -> Parsed:
    root, schema = "", frame.schema
    for wrapper in ("value", "payload") if preset.name else ():
        inner = schema[wrapper].dataType if wrapper in schema.fieldNames() else None
        if isinstance(inner, T.StructType):
            root, schema = f"{root}{wrapper}.", inner
    _require_fields(schema, preset)
    after, before = (_image_type(schema, path, preset) for path in (preset.after, preset.before))
    image = schema if preset.after is None and preset.rows is None else after
    if preset.rows is not None:
        image = _image_type(schema, preset.rows, preset)
    wires = {field.name: field.dataType for one in (before, image) if one is not None for field in one.fields}
    columns = {
        column: values.by_types(kind, target.type_of(column), preset.placeholder, preset.timestamp_unit)
        for column, kind in wires.items()
        if _is_row_column(column, preset) and target.applies(column)
    }
    leaves = {path: _leaf(schema, root, path, kind) for path, kind in preset.header.items()}
    for path in (preset.rows, preset.after, preset.before):
        if path is not None:
            leaves[path] = quoted(root + path) if _type_at(schema, path) is not None else "cast(NULL AS string)"
    if preset.after is None and preset.rows is None:
        leaves |= {column: quoted(root + column) for column in columns if column not in leaves}
    is_null = f"{quoted(root[:-1])} IS NULL" if root else "false"
    raw = f"if({is_null}, NULL, to_json(struct({quoted(root[:-1]) + '.*' if root else '*'})))"
    key = frame.schema["key"].dataType if "key" in frame.schema.fieldNames() and root else None
    has_keys = isinstance(key, T.StructType) and any(one in key.fieldNames() for one in keys)
    key_values = "`key`" if has_keys else "cast(NULL AS string)"
    key_text = "to_json(`key`)" if isinstance(key, T.StructType) else "cast(NULL AS string)"
    read = frame.selectExpr(
        f"{raw} AS {RAW}",
        f"{key_text} AS {KEY}",
        f"{is_null} AS {ABSENT}",
        f"false AS {CORRUPT}",
        f"{_struct_of(leaves)} AS {HEADER}",
        f"{key_values} AS {KEYS}",
    )
    return Parsed(_images(read, preset), columns, before is not None)


def _require_fields(schema: T.StructType, preset: Preset) -> None:
    image = preset.rows or preset.after
    if image is None or _type_at(schema, image) is not None:
        return
    needed = sorted({path.partition(".")[0] for path in (*preset.header, image)})
    raise TypeError(
        f"Preset {preset.name!r} takes a frame with the column value (JSON as string or binary, and key if there is "
        f"one), or with the fields of the envelope ({', '.join(needed)}) as columns; this frame has "
        f"{', '.join(schema.fieldNames())}"
    )


def _image_type(schema: T.StructType, path: str | None, preset: Preset) -> T.StructType | None:
    kind = None if path is None else _type_at(schema, path)
    if isinstance(kind, T.ArrayType):
        kind = kind.elementType
    if kind is None or isinstance(kind, T.StructType):
        return kind
    raise TypeError(f"Preset {preset.name!r} takes structs in field {path!r}, not {kind.simpleString()}")


def _type_at(schema: T.StructType, path: str) -> T.DataType | None:
    kind: T.DataType = schema
    for part in path.split("."):
        if not isinstance(kind, T.StructType) or part not in kind.fieldNames():
            return None
        kind = kind[part].dataType
    return kind


def _leaf(schema: T.StructType, root: str, path: str, kind: str) -> str:
    found = _type_at(schema, path)
    if found is None:
        return f"cast(NULL AS {kind})"
    if isinstance(found, (T.StructType, T.ArrayType, T.MapType)) and kind == "string":
        return f"to_json({quoted(root + path)})"
    return f"cast({quoted(root + path)} AS {kind})"


def _struct_of(leaves: Mapping[str, str]) -> str:
    groups: dict[str, dict[str, str]] = {}
    for path, sql in leaves.items():
        head, _, rest = path.partition(".")
        groups.setdefault(head, {})[rest] = sql
    members = (f"{text(head)}, {inner[''] if '' in inner else _struct_of(inner)}" for head, inner in groups.items())
    return f"named_struct({', '.join(members)})"


def first_key_fields(frame: DataFrame, preset: Preset) -> tuple[str, ...]:
    """The key columns that the events name: the fields of their ``key``, or of the preset's field for them."""
    if not is_json(frame):
        key = frame.schema["key"].dataType if "key" in frame.schema.fieldNames() else None
        return tuple(key.fieldNames()) if isinstance(key, T.StructType) else ()
    sample = f"get_json_object({RAW}, '$.{preset.record_key}')" if preset.record_key else KEY
    rows = _texts(frame).selectExpr(f"{sample} AS k").where("k IS NOT NULL").limit(1).collect()
    if not rows:
        return ()
    try:
        found = json.loads(rows[0]["k"])
    except ValueError:
        return ()
    if isinstance(found, dict):
        inner = found.get("payload", found)
        return tuple(inner) if isinstance(inner, dict) else ()
    return tuple(map(str, found)) if isinstance(found, list) else ()
