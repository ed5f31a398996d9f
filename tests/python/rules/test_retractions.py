"""Rows that are subtracted from sums; random histories of them are on all paths elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from frames import frame, listing, refused, rows_of
from option_names import COW, MOR
from pyspark.sql import SparkSession

import merganser
from merganser import Table, TableType

COLUMNS = "customer string, ts bigint, name string, amount decimal(12,2), orders int, op string"
RULE = {"amount": "sum", "orders": "sum", "name": "last_non_null"}
RETRACT = {"column": "op", "values": ["update_before", "delete"]}


@pytest.fixture(params=[COW, MOR])
def table(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Table:
    return Table.create(
        spark,
        tmp_path / "t",
        COLUMNS,
        record_key="customer",
        ordering_by="ts",
        rule=RULE,
        rule_retract=RETRACT,
        table_type=TableType(request.param),
    )


def orders(spark: SparkSession, *rows: tuple[Any, ...]) -> Any:
    return frame(spark, rows, COLUMNS.replace("decimal(12,2)", "int")).selectExpr(
        "customer", "ts", "name", "CAST(amount AS DECIMAL(12,2)) AS amount", "orders", "op"
    )


def totals(table: Table) -> list[tuple[Any, ...]]:
    return rows_of(table.df().selectExpr("customer", "ts", "name", "CAST(amount AS INT)", "orders", "op"))


def test_an_update_before_row_is_subtracted_from_the_sums(spark: SparkSession, table: Table) -> None:
    table.upsert(orders(spark, ("a", 1, "Ann", 10, 1, "create"), ("a", 2, "Ann", 5, 1, "create")))
    moved = [("a", 3, "Ann", 5, 1, "update_before"), ("b", 3, "Bob", 5, 1, "update_after")]
    table.upsert(orders(spark, *moved))
    assert totals(table) == [("a", 2, "Ann", 10, 1, "create"), ("b", 3, "Bob", 5, 1, "update_after")]
    table.upsert(orders(spark, ("a", 9, "?", 10, 1, "delete"), ("b", 1, None, 2, 1, "update_after")))
    expected = [("a", 2, "Ann", 0, 0, "create"), ("b", 3, "Bob", 7, 2, "update_after")]
    assert totals(table) == expected
    if table.table_type is TableType.MERGE_ON_READ:
        assert rows_of(table.df().select("orders").orderBy("customer")) == [(0,), (2,)]
        table.compact()
        assert totals(table) == expected


def test_a_retraction_before_its_row_is_counted_and_sets_no_other_column(spark: SparkSession, table: Table) -> None:
    table.upsert(orders(spark, ("a", 9, "Ann", 5, 1, "update_before")))
    assert totals(table) == [("a", None, None, -5, -1, None)]
    table.upsert(orders(spark, ("a", 2, "Ann", 5, 1, "create"), ("a", 3, "Ann", 4, 1, "update_after")))
    assert totals(table) == [("a", 3, "Ann", 4, 1, "update_after")]


def test_merge_into_writes_retractions_too(spark: SparkSession, table: Table) -> None:
    table.upsert(orders(spark, ("a", 1, "Ann", 10, 1, "create")))
    orders(spark, ("a", 2, "x", 4, 1, "update_before"), ("b", 2, "Bob", 4, 1, "create")).createOrReplaceTempView("o")
    spark.sql(
        f"MERGE INTO merganser.`{table.path}` t USING o ON t.customer = o.customer "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert totals(table) == [("a", 1, "Ann", 6, 0, "create"), ("b", 2, "Bob", 4, 1, "create")]


def test_merged_frames_subtract_retractions_and_the_law_holds(spark: SparkSession) -> None:
    options = {"merganser.rule.retract.column": "op"}
    columns = "id string, ts int, n int, op string"
    rows = frame(spark, [("a", 1, 10, "c"), ("a", 2, 4, "-U"), ("b", 1, 4, "-U")], columns)
    merged = merganser.combine(rows, "id", {"n": "sum"}, ordering_by="ts", options=options)
    assert rows_of(merged) == [("a", 1, 6, "c"), ("b", None, -4, None)]
    checked = merganser.check_rule(spark, columns, "id", {"n": "sum"}, ordering_by="ts", options=options)
    assert checked["retractions_undo"].holds
    assert merganser.check_rule(spark, "id int, n int", "id", {"n": "sum"})["retractions_undo"].holds is None


@pytest.mark.parametrize(
    ("rule", "retract", "mentions"),
    [
        ({"orders": "sum", "amount": "max"}, RETRACT, ("'amount'", "'max'", "retraction")),
        ({"orders": "sum", "name": "expr('new.name')"}, RETRACT, ("'name'", "expr")),
        ({"orders": "sum", "*": "first"}, RETRACT, ("'first'",)),
        ({"name": "last_non_null"}, RETRACT, ("no sum",)),
        ({"orders": "sum"}, {"column": "kind"}, ("'kind'",)),
        ({"orders": "sum"}, {"column": "ts"}, ("'ts'", "bigint")),
        ({"orders": "sum"}, {"values": ["-U"]}, ("merganser.rule.retract.column",)),
    ],
)
def test_a_rule_with_a_function_that_cannot_subtract_is_refused_with_its_column(
    spark: SparkSession, tmp_path: Path, rule: dict[str, str], retract: Any, mentions: tuple[str, ...]
) -> None:
    path = tmp_path / "t"
    refused(
        lambda: Table.create(spark, path, COLUMNS, record_key="customer", ordering_by="ts", rule=rule,
                             rule_retract=retract),
        "RULE_INVALID", *mentions,
    )  # fmt: skip
    assert not path.exists() or listing(path) == []
