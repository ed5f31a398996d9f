"""Columns without values, which write down what is done to them as SQL."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Union

from merganser._expressions import literal, quoted
from merganser._rule_tracing import refuse, refuse_bool

Value = Union["RuleColumn", str, int, float, bool, Decimal, datetime.date, None]

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_TYPE = re.compile(r"[A-Za-z0-9_<>(),: ]+\Z")


def _name(name: str) -> str:
    return name if _PLAIN_NAME.match(name) else quoted(name)


def sql_of(value: Any) -> str:
    """The SQL of a column or a constant.

    Raises:
        TypeError: It is neither.
    """
    if isinstance(value, RuleColumn):
        return value._sql
    if value is None or isinstance(value, bool):
        return literal(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"CAST('{value}' AS DOUBLE)"
    if isinstance(value, (int, float)) or (isinstance(value, Decimal) and value.is_finite()):
        number = str(value) if isinstance(value, int) else literal(value)
        return number if value >= 0 else f"({number})"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise TypeError("a datetime needs a time zone")
        utc = value.astimezone(datetime.timezone.utc)
        return f"TIMESTAMP '{utc:%Y-%m-%d %H:%M:%S.%f}+00:00'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    raise TypeError(f"{type(value).__name__} is neither a column nor a constant")


def call(function: str, *values: Value) -> RuleColumn:
    """Call a function of rule expressions by its SQL name: ``call("array_union", old.tags, new.tags)``."""
    if not _PLAIN_NAME.match(function):
        refuse(f"{function!r} is not the name of a function", "Name one of the page on rule expressions")
    return RuleColumn(f"{function}({', '.join(operand(value) for value in values)})")


def operand(value: Any) -> str:
    """The same, and refuses what is neither."""
    try:
        return sql_of(value)
    except TypeError as error:
        refuse(str(error), "Use columns of old and new, and constants")


def _operator(symbol: str, is_swapped: bool = False) -> Any:
    def apply(self: RuleColumn, other: Any) -> RuleColumn:
        if symbol in ("=", "!=") and other is None:
            refuse("it compares a column with None, which is null", "Write column.isNull() or column.isNotNull()")
        if symbol == "+" and isinstance(other, str):
            refuse("it adds a string to a column", "Write concat(a, b)")
        left, right = (operand(other), self._sql) if is_swapped else (self._sql, operand(other))
        return RuleColumn(f"({left} {symbol} {right})")

    return apply


def _form(text: str) -> Callable[[RuleColumn], RuleColumn]:
    return lambda column: RuleColumn(text.format(column._sql))


def _refused(what: str, remedy: str) -> Any:
    def apply(*_: Any, **__: Any) -> Any:
        refuse(what, remedy)

    return apply


class RuleColumn:
    """A column of a version, or an expression over several. It has no value: operators make new expressions.

    The operators and methods are those of PySpark's columns, with SQL's nulls.
    """

    __slots__ = ("_sql",)
    _sql: str

    def __init__(self, sql: str) -> None:
        object.__setattr__(self, "_sql", sql)

    __add__, __radd__ = _operator("+"), _operator("+", True)
    __sub__, __rsub__ = _operator("-"), _operator("-", True)
    __mul__, __rmul__ = _operator("*"), _operator("*", True)
    __truediv__, __rtruediv__ = _operator("/"), _operator("/", True)
    __mod__, __rmod__ = _operator("%"), _operator("%", True)
    __and__, __rand__ = _operator("AND"), _operator("AND", True)
    __or__, __ror__ = _operator("OR"), _operator("OR", True)
    __eq__ = _operator("=")
    __ne__ = _operator("!=")
    __lt__, __le__, __gt__, __ge__ = _operator("<"), _operator("<="), _operator(">"), _operator(">=")

    __neg__, __invert__, __abs__ = _form("(-{})"), _form("(NOT {})"), _form("abs({})")
    isNull, isNotNull = _form("({} IS NULL)"), _form("({} IS NOT NULL)")

    def __round__(self, digits: int = 0) -> RuleColumn:
        return call("round", self, digits)

    def eqNullSafe(self, other: Value) -> RuleColumn:
        """Equal, or both null."""
        return RuleColumn(f"({self._sql} <=> {operand(other)})")

    def isin(self, *values: Value) -> RuleColumn:
        return RuleColumn(f"({self._sql} IN ({', '.join(operand(value) for value in values)}))")

    def between(self, low: Value, high: Value) -> RuleColumn:
        return RuleColumn(f"({self._sql} BETWEEN {operand(low)} AND {operand(high)})")

    def cast(self, to: str) -> RuleColumn:
        if not isinstance(to, str) or not _TYPE.match(to):
            refuse(f"{to!r} is not the name of a type", "Name an SQL type, such as 'bigint'")
        return RuleColumn(f"CAST({self._sql} AS {to})")

    def __getitem__(self, key: str | int | RuleColumn) -> RuleColumn:
        """A field of a struct by its name, an element of an array by its position from 0, or a value of a map."""
        if isinstance(key, slice):
            refuse("it slices a column", "Write call('slice', column, start, length), with start from 1")
        return RuleColumn(f"{self._sql}[{operand(key)}]")

    def __getattr__(self, field: str) -> RuleColumn:
        if field.startswith("__"):
            raise AttributeError(field)
        return RuleColumn(f"{self._sql}.{_name(field)}")

    def __repr__(self) -> str:
        return f"RuleColumn({self._sql})"

    def __bool__(self) -> bool:
        refuse_bool()

    __iter__ = _refused("it loops over a column, which has no value", "Write a function of arrays, such as "
                        "call('array_union', old.tags, new.tags)")  # fmt: skip
    __len__ = _refused("it takes the length of a column", "Write call('size', column) or call('length', column)")
    __contains__ = _refused("it uses 'in' on a column", "Write call('array_contains', column, value)")
    __hash__ = _refused("it looks a column up in a dict or a set", "Write when(column == key, value).otherwise(...)")
    __call__ = _refused("it calls a column, or a method that columns do not have", "Write call('function', column)")
    __int__ = __index__ = _refused("it makes an int of a column", "Write column.cast('bigint')")
    __float__ = _refused("it makes a float of a column", "Write column.cast('double'), and call('sqrt', …) for math's")
    __str__ = __format__ = _refused("it makes a string of a column",
                                    "Write column.cast('string'), and concat(a, b) for an f-string")  # fmt: skip
    __setattr__ = __delattr__ = __setitem__ = _refused("it assigns to a column", "Return the value in the dict")
    __pow__ = __rpow__ = _refused("it raises a column to a power", "Multiply: old.x * old.x")
    __floordiv__ = __rfloordiv__ = _refused("it uses //", "Write call('floor', a / b)")
    __floor__ = _refused("it rounds a column down", "Write call('floor', column)")
    __ceil__ = _refused("it rounds a column up", "Write call('ceil', column)")


class Version:
    """The columns of one of the two versions: ``old.qty`` or ``old["unit price"]``."""

    __slots__ = ("_version",)
    _version: str

    def __init__(self, version: str) -> None:
        object.__setattr__(self, "_version", version)

    def __getattr__(self, column: str) -> RuleColumn:
        if column.startswith("__"):
            raise AttributeError(column)
        return self[column]

    def __getitem__(self, column: str) -> RuleColumn:
        if not isinstance(column, str):
            refuse(f"it reads column {column!r}", "Name columns by strings")
        return RuleColumn(f"{self._version}.{_name(column)}")

    def __bool__(self) -> bool:
        refuse("it tests whether there is a version", "There are always two: the first version is stored as it is")

    __iter__ = __len__ = __contains__ = _refused("it loops over the columns of a version",
                                                 "Name the columns: for name in ('qty', 'total')")  # fmt: skip
    __setattr__ = __delattr__ = __setitem__ = _refused("it assigns to a column", "Return the value in the dict")
