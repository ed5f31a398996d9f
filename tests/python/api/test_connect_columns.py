"""Columns of a Spark Connect client as the text of statements. Neither a server nor its libraries are needed."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import types as T

from merganser._connect_columns import sql_of


class ColumnReference:
    """A node of the client's expressions: their class is known by its name."""

    def __init__(self, name: str) -> None:
        self._unparsed_identifier = name


class Column:
    def __init__(self, expression: Any) -> None:
        self._expr = expression


def text_of(expression: Any) -> str:
    return sql_of(Column(expression))


class LiteralExpression:
    def __init__(self, value: Any, kind: T.DataType) -> None:
        self._value, self._dataType = value, kind


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("id", "`id`"),
        ("s.order-id", "`s`.`order-id`"),
        ("order id", "`order id`"),
        ("null", "`null`"),
        ("s.`a.b`.c", "`s`.`a.b`.`c`"),
        ("`a``b`", "`a``b`"),
    ],
)
def test_each_part_of_a_connect_column_is_quoted(name: str, text: str) -> None:
    assert text_of(ColumnReference(name)) == text


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (86_400_000_000, T.DayTimeIntervalType(), "make_dt_interval(1, 0, 0, 0.000000BD)"),
        (-1, T.DayTimeIntervalType(), "make_dt_interval(-1, 0, 0, 86399.999999BD)"),
        (0, T.TimestampType(), "TIMESTAMP'1970-01-01 00:00:00+00:00'"),
        (0, T.TimestampNTZType(), "TIMESTAMP_NTZ'1970-01-01 00:00:00'"),
        (1, T.DateType(), "DATE'1970-01-02'"),
        ([1, 2], T.ArrayType(T.LongType()), "CAST(array(1, 2) AS array<bigint>)"),
        (None, T.LongType(), "CAST(NULL AS bigint)"),
        (1.5, T.DoubleType(), "1.5D"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_a_connect_literal_keeps_its_type(value: Any, kind: T.DataType, text: str) -> None:
    assert text_of(LiteralExpression(value, kind)) == text


def test_a_connect_literal_whose_type_sql_cannot_write_is_refused() -> None:
    with pytest.raises(TypeError, match=r"type interval year to month cannot be written"):
        text_of(LiteralExpression(1, T.YearMonthIntervalType()))


def test_a_connect_column_named_like_a_variable_becomes_a_placeholder() -> None:
    names: list[str] = []
    assert sql_of(Column(ColumnReference("`${env:HOME}`")), lambda name: names.append(name) or "word") == "word"  # type: ignore[func-returns-value]
    assert names == ["`${env:HOME}`"]
