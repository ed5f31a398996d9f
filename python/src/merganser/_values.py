"""Values of numpy, pandas and Arrow as plain values of Python, and as PySpark wants them for a type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal
from math import isfinite
from typing import Any
from zoneinfo import ZoneInfo

from pyspark.sql import Row, SparkSession
from pyspark.sql import types as T

Zone = Callable[[], tzinfo]
"""Returns the session's time zone; called for naive times alone: not every zone of Java is known to Python."""

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")
_DECIMALS = Context(prec=400)  # every finite double has fewer digits before its point


def plain(value: Any) -> Any:
    """A value without classes of numpy and pandas; ``None`` for ``NaT`` and ``NA``. NaN remains NaN."""
    module = type(value).__module__.partition(".")[0]
    if module == "numpy":
        return _of_numpy(value)
    if module == "pandas":
        if type(value).__name__ in ("NaTType", "NAType"):
            return None
        if isinstance(value, datetime):
            return value.to_pydatetime(warn=False)  # type: ignore[attr-defined]
        if isinstance(value, timedelta):
            return value.to_pytimedelta()  # type: ignore[attr-defined]
    return value


def _of_numpy(value: Any) -> Any:
    kind = getattr(value, "dtype", None)
    if str(kind).endswith(("[ns]", "[ps]", "[fs]", "[as]")):
        value = value.astype(f"{kind.kind}8[us]")  # type: ignore[union-attr]  # Python's times have microseconds
    found = value.tolist() if hasattr(value, "tolist") else value  # of a scalar, the value; of an array, a list
    return [plain(one) for one in found] if isinstance(found, list) else found


def nested(value: Any, zone: Zone | None) -> Any:
    """A value whose type PySpark infers, plain at each level; naive times are of ``zone``, if there is one."""
    value = plain(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, Row) and not hasattr(value, "_fields"):
        return type(value)(nested(one, zone) for one in value)
    if isinstance(value, Mapping):
        return {nested(key, zone): nested(one, zone) for key, one in value.items()}
    return localized(value, zone) if isinstance(value, datetime) and zone is not None else value


def fitting(value: Any, kind: T.DataType, zone: Zone | None) -> Any:
    """A value as PySpark wants it for a type.

    Args:
        value: What a list or a frame has.
        kind: The type of its column.
        zone: Of values from frames, the session's time zone: naive times are times there. ``None`` leaves them to
            PySpark, which takes the zone of this process.
    """
    value = plain(value)
    if value is None:
        return None
    if isinstance(kind, T.ArrayType) and isinstance(value, (list, tuple)):
        return [fitting(one, kind.elementType, zone) for one in value]
    if isinstance(kind, T.MapType) and isinstance(value, (list, Mapping)):
        pairs = value.items() if isinstance(value, Mapping) else value  # Arrow has maps as lists of pairs
        return {fitting(key, kind.keyType, zone): fitting(one, kind.valueType, zone) for key, one in pairs}
    if isinstance(kind, T.StructType):
        return _struct(value, kind, zone)
    if isinstance(value, datetime):
        return _time(value, kind, zone)
    return _number(value, kind)


def _struct(value: Any, kind: T.StructType, zone: Zone | None) -> Any:
    if isinstance(value, Row) and hasattr(value, "__fields__"):
        value = value.asDict()
    if isinstance(value, Mapping):
        types = {field.name: field.dataType for field in kind.fields}
        return {name: fitting(one, types[name], zone) if name in types else one for name, one in value.items()}
    if isinstance(value, (list, tuple)) and len(value) == len(kind.fields):
        return tuple(fitting(one, field.dataType, zone) for one, field in zip(value, kind.fields))
    return value


def _number(value: Any, kind: T.DataType) -> Any:
    """Pandas has integers with missing values, and decimals, as floats."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        if isinstance(kind, T.IntegralType) and value.is_integer():
            return int(value)
        if isinstance(kind, T.DecimalType) and isfinite(value):
            digits = Decimal(1).scaleb(-kind.scale)
            return Decimal(repr(value)).quantize(digits, ROUND_HALF_UP, _DECIMALS)
    if isinstance(value, int) and isinstance(kind, T.FractionalType):
        return Decimal(value) if isinstance(kind, T.DecimalType) else float(value)
    return value


def _time(value: datetime, kind: T.DataType, zone: Zone | None) -> Any:
    if zone is not None and value.tzinfo is not None and isinstance(kind, (T.DateType, T.TimestampNTZType)):
        value = value.astimezone(zone()).replace(tzinfo=None)  # as a cast in the session
    if isinstance(kind, T.DateType):
        return value.date()
    return localized(value, zone) if zone is not None and isinstance(kind, T.TimestampType) else value


def localized(value: datetime, zone: Zone) -> datetime:
    """A naive time as one of a zone.

    A time that occurs twice is the later one, without daylight saving, as Spark has it of pandas; one that is skipped
    is moved on by the gap.
    """
    if value.tzinfo is not None:
        return value
    both = [value.replace(tzinfo=zone(), fold=fold) for fold in (0, 1)]
    chosen = min(both, key=lambda one: one.utcoffset() or timedelta())
    return chosen.astimezone(timezone.utc)


def session_zone(spark: SparkSession) -> tzinfo:
    """The session's time zone.

    Raises:
        zoneinfo.ZoneInfoNotFoundError: This Python does not know it.
    """
    name = str(spark.conf.get("spark.sql.session.timeZone"))
    if name in ("UTC", "GMT", "UT", "Z"):
        return timezone.utc
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return ZoneInfo(name)
    sign, *parts = offset.groups()
    hours, minutes, seconds = (int(part or 0) for part in parts)
    return timezone(timedelta(hours=hours, minutes=minutes, seconds=seconds) * (-1 if sign == "-" else 1))
