"""Values as the text of statements. No session is needed."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy
import pandas
import pytest

from merganser._expressions import Parts, literal, value_text

LITERALS = [
    (None, "NULL"),
    (True, "true"),
    (7, "7"),
    (2**40, "1099511627776L"),
    (-(2**63), "-9223372036854775808L"),
    (2**63, "9223372036854775808BD"),
    (1.5, "1.5D"),
    (float("inf"), "double('inf')"),
    (float("nan"), "double('nan')"),
    (Decimal("1.50"), "1.50BD"),
    ('-- :paid? /*"*/', "'-- :paid? /*\"*/'"),
    ("it's", "CAST(X'69742773' AS STRING)"),
    ("${env:HOME}", "CAST(X'247b656e763a484f4d457d' AS STRING)"),
    (b"\x01\xff", "X'01ff'"),
    (datetime.date(2026, 1, 31), "DATE'2026-01-31'"),
    (datetime.datetime(2026, 1, 31, 12, 30), "TIMESTAMP'2026-01-31 12:30:00'"),
    (datetime.timedelta(days=1), "make_dt_interval(1, 0, 0, 0.000000BD)"),
    (-datetime.timedelta(hours=25, microseconds=5), "make_dt_interval(-2, 0, 0, 82799.999995BD)"),
    ([1, None], "array(1, NULL)"),
    (numpy.float64(1.5), "1.5D"),
    (numpy.float32(1.5), "1.5D"),
    (numpy.float64("-inf"), "double('-inf')"),
    (numpy.float64("nan"), "double('nan')"),
    (numpy.int64(7), "7"),
    (numpy.bool_(True), "true"),
    (numpy.datetime64("2026-01-31T12:30:00.000000000"), "TIMESTAMP'2026-01-31 12:30:00'"),
    (numpy.datetime64("2026-01-31"), "DATE'2026-01-31'"),
    (numpy.datetime64("NaT", "ns"), "NULL"),
    (numpy.array([1.5, 2.0]), "array(1.5D, 2.0D)"),
    (pandas.NaT, "NULL"),
    (pandas.NA, "NULL"),
    (pandas.Timestamp("2026-01-31 12:30:00.123456789"), "TIMESTAMP'2026-01-31 12:30:00.123456'"),
    (pandas.Timedelta("1 days"), "make_dt_interval(1, 0, 0, 0.000000BD)"),
]


@pytest.mark.parametrize(("value", "text"), LITERALS, ids=lambda one: repr(one)[:40])
def test_a_value_becomes_its_sql_literal(value: Any, text: str) -> None:
    assert literal(value) == text


@pytest.mark.parametrize("value", [object(), Decimal("NaN")], ids=repr)
def test_a_value_without_a_literal_is_refused_by_its_columns_name(value: Any) -> None:
    with pytest.raises(TypeError, match="Column 'fare' is assigned a "):
        value_text("fare", value, Parts())
