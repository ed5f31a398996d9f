"""Values in columns of other types: of events without a schema, of frames, and of columns whose type has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import types as T

from merganser.changes._sql import let, text, type_text
from merganser.changes._values import (
    SCHEMA,
    Value,
    binary,
    days,
    decimal_of_base64,
    is_text,
    same,
    unavailable,
    unscaled,
    wall_clock,
)

_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_NUMBERS = (*_INTEGERS, T.FloatType, T.DoubleType, T.DecimalType, T.BooleanType)
_NESTED = (T.ArrayType, T.MapType, T.StructType)


def by_table(
    table: T.DataType, placeholder: str | None, unit: str, *, base64_decimals: bool, texts: bool, binaries: str
) -> Value:
    """A value of JSON without a schema, by the type of the table's column."""
    if isinstance(table, T.BinaryType):
        return binary(placeholder, binaries)
    if isinstance(table, T.DecimalType) and base64_decimals:
        value = decimal_of_base64(table, table.scale)
        return Value(value.wire, table, value.sql, is_text(placeholder))
    if isinstance(table, T.DateType):
        number = days().of("try_cast({x} AS int)")
        return _number_or_text(table, number, placeholder)
    if isinstance(table, (T.TimestampType, T.TimestampNTZType)):
        return _number_or_text(table, wall_clock(unit, table).of("try_cast({x} AS bigint)"), placeholder)
    if isinstance(table, T.DecimalType):
        if texts:
            return Value(T.StringType(), table, exact_decimal(table), is_text(placeholder))
        wire = T.DecimalType(38, 38 - (table.precision - table.scale))  # more digits than a cast may round away
        return Value(wire, table, f"if(cast({{x}} AS {type_text(table)}) = {{x}}, {{x}}, NULL)")
    if texts and isinstance(table, (T.IntegralType, T.FractionalType, T.BooleanType)):
        return Value(T.StringType(), table, f"try_cast({{x}} AS {type_text(table)})")
    return same(table)


def exact_decimal(kind: T.DecimalType) -> str:
    """A decimal from its text; null where a cast would round it."""
    wide = f"decimal(38,{38 - (kind.precision - kind.scale)})"
    own = f"try_cast({{x}} AS {type_text(kind)})"
    return own if kind.precision == 38 else f"if({own} = try_cast({{x}} AS {wide}), {own}, NULL)"


def _number_or_text(table: T.DataType, number: str, placeholder: str | None) -> Value:
    sql = f"if({{x}} RLIKE '^-?[0-9]+$', {number}, {_time_of_text(table)})"
    return Value(T.StringType(), table, sql, is_text(placeholder))


def _time_of_text(table: T.DataType) -> str:
    written = f"try_cast({{x}} AS {type_text(table)})"
    if isinstance(table, T.TimestampType):  # without a zone it is UTC, whatever the zone of the session
        is_local = "{x} RLIKE '^[0-9]+-[0-9]+-[0-9]+([ T][0-9:.]+)?$'"
        zone = "if(length({x}) > 10, 'Z', 'T00:00:00Z')"
        return f"if({is_local}, try_cast(concat({{x}}, {zone}) AS timestamp), {written})"
    return written


def by_types(wire: T.DataType, table: T.DataType | None, placeholder: str | None, unit: str) -> Value:
    """A value of a frame with types, for a column of the table (none: the column is new)."""
    integral = isinstance(wire, (T.ByteType, T.ShortType, T.IntegerType, T.LongType))
    if isinstance(table, T.DateType) and integral:
        return Value(wire, table, days().of("try_cast({x} AS int)"))
    if isinstance(table, (T.TimestampType, T.TimestampNTZType)) and integral:
        return Value(wire, table, wall_clock(unit, table).of("cast({x} AS bigint)"))
    if isinstance(table, T.DecimalType) and isinstance(wire, T.BinaryType):
        return Value(wire, table, unscaled("{x}", table, table.scale))
    if isinstance(wire, T.StringType) and table is not None and not isinstance(table, (T.StringType, T.BinaryType)):
        nested = isinstance(table, (T.StructType, T.ArrayType, T.MapType))
        if not nested:
            return fitted(same(wire), table, placeholder)
    return same(wire)


# ---- types that change


def column_type(
    kinds: Sequence[T.DataType], table: T.DataType | None, *, widens_to_string: bool, is_fixed: bool
) -> T.DataType:
    """The type of a column whose events have these types.

    Args:
        kinds: Of the events, at least one.
        table: Of the table's column; ``None`` if it is new.
        widens_to_string: Whether a number or a date in the table may become a string.
        is_fixed: Whether stored rows are found by the column: then integers widen, and nothing else.

    Returns:
        The table's type or the first one, widened by each other one as a write to the table allows it.
    """
    chosen = kinds[0] if table is None else table
    for kind in kinds:
        is_stable = isinstance(chosen, _INTEGERS) and isinstance(kind, T.LongType)
        if is_fixed and table is not None and not is_stable:
            continue
        if not fits(kind, chosen) and _promotes(chosen, kind, widens_to_string or table is None):
            chosen = _merged(chosen, kind)
    return chosen


def fits(own: T.DataType, kind: T.DataType) -> bool:
    """Whether every value of the first type is one of the second."""
    if own.simpleString() == kind.simpleString():
        return True
    if isinstance(own, _INTEGERS):
        digits = 20 if isinstance(own, T.LongType) else 10
        if isinstance(kind, T.DecimalType):
            return kind.precision - kind.scale >= digits
        ladder = (*_INTEGERS, T.DoubleType) if digits == 10 else _INTEGERS
        return isinstance(kind, ladder) and ladder.index(type(own)) < ladder.index(type(kind))
    if isinstance(own, T.DecimalType) and isinstance(kind, T.DecimalType):
        return own.scale <= kind.scale and own.precision - own.scale <= kind.precision - kind.scale
    if isinstance(own, T.ArrayType) and isinstance(kind, T.ArrayType):
        return fits(own.elementType, kind.elementType)
    return isinstance(own, T.FloatType) and isinstance(kind, T.DoubleType)


def _promotes(stored: T.DataType, kind: T.DataType, to_string: bool) -> bool:
    """Whether a write of the second type changes a column of the first to it."""
    if isinstance(kind, T.StringType):
        return to_string and isinstance(stored, (*_INTEGERS, T.FloatType, T.DoubleType, T.DecimalType, T.DateType))
    if isinstance(stored, _INTEGERS) and isinstance(kind, (T.FloatType, T.DoubleType)):
        return True
    if isinstance(stored, T.StructType) and isinstance(kind, T.StructType):
        shared = [field.name for field in kind if field.name in stored.fieldNames()]
        return all(fits(kind[name].dataType, stored[name].dataType) for name in shared)
    if isinstance(stored, T.DecimalType) and isinstance(kind, T.DecimalType):
        return _common(stored, kind).precision <= 38
    return fits(stored, kind)


def _merged(stored: T.DataType, kind: T.DataType) -> T.DataType:
    if isinstance(stored, T.StructType) and isinstance(kind, T.StructType):
        return T.StructType([*stored.fields, *(one for one in kind.fields if one.name not in stored.fieldNames())])
    if isinstance(stored, T.DecimalType) and isinstance(kind, T.DecimalType):
        return _common(stored, kind)
    return kind


def _common(one: T.DecimalType, other: T.DecimalType) -> T.DecimalType:
    scale = max(one.scale, other.scale)
    return T.DecimalType(max(one.precision - one.scale, other.precision - other.scale) + scale, scale)


def fitted(value: Value, kind: T.DataType, placeholder: str | None, binaries: str = "base64") -> Value:
    """A value in a column of another type: null where the column cannot store it as it is."""
    own = value.target
    if own.simpleString() == kind.simpleString():
        return value
    if isinstance(own, T.StructType) and isinstance(kind, T.StructType):
        return value  # the write adds fields, and refuses others by name
    if isinstance(own, T.StringType) and isinstance(kind, T.BinaryType) and not value.is_converted:
        return binary(placeholder, binaries)
    marker = value.unavailable
    if placeholder and marker is None and isinstance(value.wire, T.StringType) and not isinstance(kind, T.StringType):
        marker = is_text(placeholder) if not value.is_converted else unavailable(value, placeholder)
    return Value(value.wire, kind, let("v", value.sql, _cast(own, kind)), marker)


def _cast(own: T.DataType, kind: T.DataType) -> str:
    """``v`` of one type in another one; null where that would change it."""
    name, lost = type_text(kind), f"cast(NULL AS {type_text(kind)})"
    if fits(own, kind):
        return f"cast(v AS {name})"
    if isinstance(own, _NESTED) or isinstance(kind, _NESTED) or isinstance(own, T.BinaryType):
        return lost
    if isinstance(own, T.StringType):
        if isinstance(kind, T.DecimalType):
            return exact_decimal(kind).replace("{x}", "v")
        return _time_of_text(kind).replace("{x}", "v")
    if isinstance(own, _NUMBERS) and isinstance(kind, _NUMBERS):
        there = f"try_cast(v AS {name})"
        return f"if(try_cast({there} AS {type_text(own)}) = v, {there}, NULL)"
    local = "v"
    if isinstance(own, T.TimestampType):  # as the wall clock of UTC, whatever the zone of the session
        local = wall_clock("micros", None).of("unix_micros(v)")
    if isinstance(kind, T.StringType):
        return f"concat(cast({local} AS string), 'Z')" if local != "v" else "cast(v AS string)"
    is_time = isinstance(own, (T.TimestampType, T.TimestampNTZType))
    if isinstance(kind, T.TimestampNTZType) and (is_time or isinstance(own, T.DateType)):
        return f"cast({local} AS timestamp_ntz)"
    if isinstance(kind, T.TimestampType) and (is_time or isinstance(own, T.DateType)):
        zone = "T00:00:00Z" if isinstance(own, T.DateType) else "Z"
        return f"try_cast(concat(cast(v AS string), '{zone}') AS timestamp)"
    if isinstance(kind, T.DateType) and is_time:
        return let("w", local, "if(cast(cast(w AS date) AS timestamp_ntz) = w, cast(w AS date), NULL)")
    return lost


def mixed(options: Mapping[int, Value], kind: T.DataType, placeholder: str | None, binaries: str) -> Value:
    """The values of a column that events describe by several types, by the number of each event's schema."""
    cases, lacks = [], []
    for number, option in options.items():
        one = fitted(option, kind, placeholder, binaries)
        wire = type_text(option.wire)
        given = "{x}"
        if isinstance(option.wire, _NESTED):
            given = f"from_json(concat('{{\"c\":', {{x}}, '}}'), {text('c ' + wire)}).c"
        elif not isinstance(option.wire, T.StringType):
            given = f"try_cast({{x}} AS {wire})"
        cases.append(f"WHEN {number}L THEN cast({one.of(given)} AS {type_text(kind)})")
        marker = unavailable(one, placeholder) if placeholder else None
        if marker is not None:
            lacks.append(f"WHEN {number}L THEN {marker.replace('{x}', given)}")
    bare = fitted(same(T.StringType()), kind, placeholder, binaries)
    cases.append(f"ELSE cast({bare.sql} AS {type_text(kind)})")
    is_lacking = f"coalesce(CASE {SCHEMA} {' '.join(lacks)} ELSE false END, false)" if lacks else None
    return Value(T.StringType(), kind, f"CASE {SCHEMA} {' '.join(cases)} END", is_lacking)
