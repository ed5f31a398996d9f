"""The events of a frame, in whatever form it has them: JSON, or the envelope's fields as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from merganser.changes import _fitting as fitting
from merganser.changes._json import TEXTUAL, is_row_column, key_fields, of_json, texts, with_images
from merganser.changes._parsed import ABSENT, CORRUPT, FRAME, HEADER, KEY, KEYS, RAW, Parsed, Target, alike
from merganser.changes._preset import Preset
from merganser.changes._sql import field_of, name, quoted, text
from merganser.changes._values import SCHEMA

#: Columns of Spark's source for Kafka, of which ``value`` has the event.
_KAFKA = {"key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"}


@contextmanager
def read_once(frame: DataFrame, preset: Preset, keys: tuple[str, ...], sequence: Sequence[str]) -> Iterator[DataFrame]:
    """The frame, from which :func:`parsed` can read several times: its source is read once.

    Columns and types of JSON are found in one pass and parsed in another. Frames with types need one.

    Args:
        frame: Events in any form.
        preset: How to read them.
        keys: The table's key columns.
        sequence: Columns that order the events: the frame's have these names behind FRAME, too, if it has them beside
            its events, as Kafka's has ``offset``.
    """
    beside = _beside(frame, preset, keys)
    own = {column: found for column in sequence if (found := field_of(beside, column)) is not None}
    carried = [f"{name(found)} AS {name(FRAME + column)}" for column, found in own.items()]
    if not is_json(frame, preset, keys):
        yield frame.selectExpr("*", *carried) if carried else frame
        return
    read = texts(frame, preset, carried).persist()
    try:
        yield read
    finally:
        read.unpersist()


def is_json(frame: DataFrame, preset: Preset, keys: tuple[str, ...]) -> bool:
    """Whether the events are JSON: a column ``value`` of strings or bytes, or one column of strings.

    A row may have a column of that name: then the frame has the fields of the envelope, or the key, beside it.
    """
    schema = frame.schema
    if not preset.name:
        return False
    if RAW in schema.fieldNames():
        return True
    if "value" not in schema.fieldNames():
        return len(schema) == 1 and isinstance(schema[0].dataType, TEXTUAL)
    if not isinstance(schema["value"].dataType, TEXTUAL):
        return False
    is_flat = preset.after is None and preset.rows is None
    others = {field for field in schema.fieldNames() if field not in _KAFKA}
    return not (is_flat and others.intersection((*preset.header, *keys)))


def _beside(frame: DataFrame, preset: Preset, keys: tuple[str, ...]) -> T.StructType:
    """The columns of a frame that are no part of its events."""
    schema, fields = frame.schema, set(frame.schema.fieldNames())
    if is_json(frame, preset, keys):
        events = {"value" if "value" in fields else schema[0].name, "key"}
    elif not preset.name:
        events = fields
    elif root := _unwrapped(schema, preset)[0]:
        events = {root.partition(".")[0], "key"}
    elif preset.after is None and preset.rows is None:
        events = fields
    else:
        paths = (*preset.header, preset.rows, preset.after, preset.before)
        events = {path.partition(".")[0] for path in paths if path is not None}
    return T.StructType([field for field in schema.fields if field.name not in events])


def parsed(frame: DataFrame, preset: Preset, keys: tuple[str, ...], target: Target) -> Parsed:
    """Read the events of a frame of :func:`read_once`.

    Raises:
        TypeError: The frame has neither JSON nor the preset's fields.
    """
    if preset.name and RAW in frame.columns:
        return of_json(frame, preset, keys, target)
    return _of_structs(frame, preset, keys, target)


def first_key_fields(frame: DataFrame, preset: Preset) -> tuple[str, ...]:
    """The key columns that the events name: the fields of their ``key``, or of the preset's field for them."""
    if RAW in frame.columns:
        return key_fields(frame, preset)
    key = frame.schema["key"].dataType if "key" in frame.schema.fieldNames() else None
    return tuple(key.fieldNames()) if isinstance(key, T.StructType) else ()


def _unwrapped(schema: T.StructType, preset: Preset) -> tuple[str, T.StructType]:
    """The path and the fields of the event: in Kafka's ``value``, in Connect's ``payload``, or the frame itself."""
    root = ""
    allowed = {"value": _KAFKA, "payload": {"schema", "payload"}} if preset.name else {}
    for wrapper, siblings in allowed.items():
        inner = schema[wrapper].dataType if wrapper in schema.fieldNames() else None
        is_envelope = preset.after is not None or preset.rows is not None
        is_wrapper = set(schema.fieldNames()) <= siblings or (is_envelope and not _has_image(schema, preset))
        if isinstance(inner, T.StructType) and is_wrapper:
            root, schema = f"{root}{wrapper}.", inner
    return root, schema


def _has_image(schema: T.StructType, preset: Preset) -> bool:
    return any(path is not None and _type_at(schema, path) is not None for path in (preset.rows, preset.after))


def _of_structs(frame: DataFrame, preset: Preset, keys: tuple[str, ...], target: Target) -> Parsed:
    own = [field for field in frame.schema.fields if not field.name.startswith(FRAME)]
    root, schema = _unwrapped(T.StructType(own), preset)
    _require_fields(schema, preset)
    after, before = (_image_type(schema, path, preset) for path in (preset.after, preset.before))
    image = schema if preset.after is None and preset.rows is None else after
    if preset.rows is not None:
        image = _image_type(schema, preset.rows, preset)
    wires = {field.name: field.dataType for one in (before, image) if one is not None for field in one.fields}
    spelled = {column.casefold(): column for column in wires}
    for column in wires:  # Spark finds neither of them
        if spelled[column.casefold()] != column:
            raise alike(column, spelled[column.casefold()])
    columns = {
        column: fitting.by_types(wires[column], target.type_of(column), preset.placeholder, preset.timestamp_unit)
        for column in target.applied(column for column in wires if is_row_column(column, preset))
    }
    leaves = {path: _leaf(schema, root, path, kind) for path, kind in preset.header.items()}
    for path in (preset.rows, preset.after, preset.before):
        if path is not None:
            leaves[path] = quoted(root + path) if _type_at(schema, path) is not None else "cast(NULL AS string)"
    if preset.after is None and preset.rows is None:
        leaves |= {column: quoted(root + column) for column in columns if column not in leaves}
    is_null = f"{quoted(root[:-1])} IS NULL" if root else "false"
    every = f"{quoted(root[:-1])}.*" if root else ", ".join(name(field.name) for field in own)
    raw = f"if({is_null}, NULL, to_json(struct({every})))"
    key = frame.schema["key"].dataType if "key" in frame.schema.fieldNames() and root else None
    has_keys = isinstance(key, T.StructType) and any(one in key.fieldNames() for one in keys)
    key_values = "`key`" if has_keys else "cast(NULL AS string)"
    key_text = "to_json(`key`)" if isinstance(key, T.StructType) else "cast(NULL AS string)"
    read = frame.selectExpr(
        f"{raw} AS {RAW}",
        f"{key_text} AS {KEY}",
        f"{is_null} AS {ABSENT}",
        f"false AS {CORRUPT}",
        f"cast(NULL AS bigint) AS {SCHEMA}",
        f"{_struct_of(leaves)} AS {HEADER}",
        f"{key_values} AS {KEYS}",
        *(name(column) for column in frame.columns if column.startswith(FRAME)),
    )
    return Parsed(with_images(read, preset), columns, before is not None)


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
