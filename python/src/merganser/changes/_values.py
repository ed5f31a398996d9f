"""How the values of events become the values of a table's columns."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

from merganser.changes._sql import let, text, type_text

#: How the time units of Debezium's types, and of presets, divide a second.
UNITS = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}

#: How binary values are written in JSON: ``binary.handling.mode`` of Debezium, and Canal's ISO-8859-1.
BINARIES = ("base64", "base64url", "hex", "latin1")

#: A column of the frames of events: a number for the ``schema`` of the event, null without one.
SCHEMA = "__schema"

_SAME = "{x}"
_TWO_64 = "18446744073709551616BD"


@dataclass(frozen=True)
class Value:
    """One column of a row image.

    Attributes:
        wire: Its type in the event: in JSON, or in the frame.
        target: Its type in the table.
        sql: The conversion, with ``{x}`` for the event's value; null where that cannot be converted.
        unavailable: A condition on ``{x}``: the event marks the value as absent. ``None`` if the converted
            value is such a mark itself, which the table's rule has.
    """

    wire: T.DataType
    target: T.DataType
    sql: str = _SAME
    unavailable: str | None = None

    @property
    def is_converted(self) -> bool:
        return self.sql != _SAME

    def of(self, value: str) -> str:
        return self.sql.replace("{x}", value)


def same(kind: T.DataType) -> Value:
    return Value(kind, kind)


def binary(placeholder: str | None, written: str = "base64") -> Value:
    """A string in JSON, bytes in the table: those of the placeholder stay what they are."""
    is_text = f"{{x}} = {text(placeholder)}" if placeholder else "false"
    bytes_of = {
        "base64": "try_to_binary({x}, 'base64')",
        "base64url": "try_to_binary(translate({x}, '-_', '+/'), 'base64')",
        "hex": "if({x} RLIKE '^([0-9A-Fa-f]{2})*$', unhex({x}), NULL)",
        # A character that the encoding lacks would become a question mark.
        "latin1": "if(decode(encode({x}, 'ISO-8859-1'), 'ISO-8859-1') = {x}, encode({x}, 'ISO-8859-1'), NULL)",
    }[written]
    return Value(T.StringType(), T.BinaryType(), f"if({is_text}, encode({{x}}, 'UTF-8'), {bytes_of})")


def decimal_of_base64(target: T.DecimalType, scale: int) -> Value:
    """Base64 of a big-endian two's complement integer, as Kafka Connect writes decimals."""
    return Value(T.StringType(), target, unscaled("try_to_binary({x}, 'base64')", target, scale))


def unscaled(binary: str, target: T.DecimalType, scale: int) -> str:
    """A decimal from the bytes of its unscaled integer: null for more than 16 bytes, or more digits than fit."""
    fill = "lpad(h, {n}, if(substr(h, 1, 1) >= '8', 'F', '0'))"
    short = f"cast(conv({fill.replace('{n}', '16')}, 16, -10) AS decimal(38,0))"
    full = fill.replace("{n}", "32")
    high = f"cast(conv(substr({full}, 1, 16), 16, -10) AS decimal(38,0))"
    low = f"cast(conv(substr({full}, 17, 16), 16, 10) AS decimal(38,0))"
    long = f"try_add(cast(try_multiply({high}, {_TWO_64}) AS decimal(38,0)), {low})"
    number = f"CASE WHEN length(h) BETWEEN 1 AND 16 THEN {short} WHEN length(h) BETWEEN 17 AND 32 THEN {long} END"
    return let("h", f"hex({binary})", let("n", number, shifted("n", target, scale)))


def shifted(number: str, target: T.DecimalType, scale: int) -> str:
    """An integer of ``decimal(38,0)`` divided by ten ``scale`` times, exactly."""
    if scale <= 0:
        return f"try_cast(concat(cast({number} AS string), '{'0' * -scale}') AS {type_text(target)})"
    written = f"cast({number} AS string)"
    digits = f"lpad(replace({written}, '-', ''), greatest({scale + 1}, length({written})), '0')"
    point = f"concat(if({number} < 0, '-', ''), left(d, length(d) - {scale}), '.', right(d, {scale}))"
    exact = f"try_cast({point} AS {type_text(target)})"
    if scale > target.scale:  # a cast rounds
        exact = f"if(replace(right(d, {scale - target.scale}), '0', '') = '', {exact}, NULL)"
    return let("d", digits, exact)


def days() -> Value:
    sql = "if({x} BETWEEN -719162 AND 2932896, date_add(DATE'1970-01-01', {x}), NULL)"
    return Value(T.IntegerType(), T.DateType(), sql)


def time_of_day(unit: str, wire: T.DataType) -> Value:
    """Time since midnight as text, ``HH:mm:ss.SSSSSS``: Spark has no such type on all lines."""
    micros = _micros(unit)
    parts = "n div 3600000000, (n div 60000000) % 60, (n div 1000000) % 60, n % 1000000"
    size = "abs(greatest(m, -9223372036854775807L))"  # a time of MySQL may be negative
    shown = let("n", size, f"concat(if(m < 0, '-', ''), format_string('%02d:%02d:%02d.%06d', {parts}))")
    return Value(wire, T.StringType(), let("m", micros, f"if(m IS NULL, NULL, {shown})"))


def wall_clock(unit: str, table: T.DataType | None, wire: T.DataType | None = None) -> Value:
    """Time since 1970 without a zone: a ``timestamp_ntz``, or in a column of type ``timestamp`` as if it were UTC."""
    kind = wire or T.LongType()
    if isinstance(table, T.TimestampType):
        return Value(kind, table, instant_sql(unit))
    seconds = f"cast(cast({_micros(unit)} AS decimal(20,0)) * 0.000001BD AS decimal(18,6))"
    epoch = f"TIMESTAMP_NTZ'1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, {seconds})"
    return Value(kind, T.TimestampNTZType(), in_years(_micros(unit), epoch))


def instant_sql(unit: str) -> str:
    return in_years(_micros(unit), f"timestamp_micros({_micros(unit)})")


def in_years(micros: str, sql: str) -> str:
    """Null outside the years 1 to 9999: sources use such numbers for infinity."""
    return f"if({micros} BETWEEN -62135596800000000L AND 253402300799999999L, {sql}, NULL)"


def _micros(unit: str) -> str:
    nanos = "({x} div 1000L - if({x} % 1000L < 0, 1L, 0L))"  # div alone rounds times before 1970 up
    return {"millis": "try_multiply(cast({x} AS bigint), 1000L)", "micros": "{x}", "nanos": nanos}[unit]


def is_text(placeholder: str | None) -> str | None:
    """The condition under which a string of the event is the placeholder."""
    return f"{{x}} = {text(placeholder)}" if placeholder else None


def unavailable(value: Value, placeholder: str) -> str | None:
    """The condition under which a value is a placeholder that its column cannot store; ``None``: never."""
    if value.unavailable is not None:
        return value.unavailable
    if isinstance(value.wire, T.ArrayType) and isinstance(value.wire.elementType, T.StringType):
        return f"array_contains({{x}}, {text(placeholder)})"
    if isinstance(value.wire, T.ArrayType) and isinstance(value.wire.elementType, (T.IntegerType, T.LongType)):
        codes = ", ".join(map(str, placeholder.encode()))  # Debezium sends its bytes as the items
        return f"{{x}} = cast(array({codes}) AS {type_text(value.wire)})"
    if isinstance(value.wire, T.MapType) and isinstance(value.wire.keyType, T.StringType):
        return f"array_contains(map_keys({{x}}), {text(placeholder)})"
    return None


def is_placeholder(value: Value, placeholder: str) -> str | None:
    """The condition under which a string or binary value is the placeholder, which the table's rule may fill."""
    if isinstance(value.target, T.StringType) and isinstance(value.wire, T.StringType):
        return f"{value.sql} = {text(placeholder)}"
    if isinstance(value.target, T.BinaryType):
        return f"{value.sql} = encode({text(placeholder)}, 'UTF-8')"
    return None
