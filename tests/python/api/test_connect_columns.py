"""Columns of a Spark Connect client as the text of statements. Neither a server nor its libraries are needed."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import types as T

from merganser._connect_columns import _text


class ColumnReference:
    """A node of the client's expressions: their class is known by its name."""

    def __init__(self, name: str) -> None:
        self._unparsed_identifier = name


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
def test_a_column_of_a_client_is_quoted_part_by_part(name: str, text: str) -> None:
    assert _text(ColumnReference(name)) == text


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (86_400_000_000, T.DayTimeIntervalType(), "INTERVAL '1 00:00:00.000000' DAY TO SECOND"),
        (-1, T.DayTimeIntervalType(), "INTERVAL '-0 00:00:00.000001' DAY TO SECOND"),
        (0, T.TimestampType(), "TIMESTAMP'1970-01-01 00:00:00+00:00'"),
        (0, T.TimestampNTZType(), "TIMESTAMP_NTZ'1970-01-01 00:00:00'"),
        (1, T.DateType(), "DATE'1970-01-02'"),
        ([1, 2], T.ArrayType(T.LongType()), "CAST(array(1, 2) AS array<bigint>)"),
        (None, T.LongType(), "CAST(NULL AS bigint)"),
        (1.5, T.DoubleType(), "1.5D"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_a_literal_of_a_client_keeps_its_type(value: Any, kind: T.DataType, text: str) -> None:
    assert _text(LiteralExpression(value, kind)) == text


def test_a_literal_of_a_client_whose_type_has_no_text_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"type interval year to month cannot be written"):
        _text(LiteralExpression(1, T.YearMonthIntervalType()))
