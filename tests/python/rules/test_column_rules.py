"""Rules that are declared column by column, by SQL, options and Python, and read without a class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from frames import frame, listing, load, properties, refused, rows_of, save
from option_names import COW, KEY, MOR, OPERATION, ORDERING, TYPE
from pyspark.sql import SparkSession
from sql_steps import Sql, each_kind

from merganser import Table, TableType

pytestmark = pytest.mark.e2e

COLUMN = "merganser.rule.column."
DEFAULT = "merganser.rule.default"
ITEMS = "id int, ts bigint, name string, qty bigint, best int, origin string"
RULE = {"qty": "sum", "best": "max", "origin": "first"}
OPTIONS = {KEY: "id", ORDERING: "ts", **{COLUMN + name: function for name, function in RULE.items()}}


def write(spark: SparkSession, path: Path, options: dict[str, str], *rows: tuple[Any, ...]) -> None:
    save(frame(spark, rows, ITEMS), path, options)


@pytest.fixture(params=[COW, MOR])
def table_type(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_each_column_is_merged_by_its_function_and_the_rule_is_stored_as_data(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: table_type}
    write(spark, path, options, (1, 5, "a", 10, 3, "web"), (2, 5, "b", 1, 1, None))
    write(spark, path, options, (1, 7, "c", 5, 2, "app"), (1, 6, "late", 1, 9, "app"), (2, 4, "late", None, 0, "app"))
    expected = [(1, 7, "c", 16, 9, "web"), (2, 5, "b", 1, 1, None)]
    assert rows_of(load(spark, path)) == expected
    stored = properties(path)
    assert stored["hoodie.record.merge.mode"] == "CUSTOM"
    assert json.loads(stored["merganser.rule"]) == {"version": 1, "default": "last", "columns": RULE}
    assert len(stored["hoodie.record.merge.strategy.id"]) == 36
    if table_type == MOR:
        Table.load(spark, str(path)).compact()
        assert rows_of(load(spark, path)) == expected


def test_a_read_of_one_column_returns_its_merged_value(spark: SparkSession, tmp_path: Path) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: MOR}
    write(spark, path, options, (1, 5, "a", 10, 3, "web"))
    write(spark, path, options, (1, 4, "late", 5, 9, "app"))
    for column, value in (("qty", 15), ("best", 9), ("origin", "web"), ("name", "a"), ("ts", 5)):
        assert rows_of(load(spark, path).select(column)) == [(value,)], column
    assert load(spark, path).where("qty = 15").count() == 1
    assert load(spark, path).where("qty = 10").count() == 0


def test_a_late_row_that_changes_no_column_keeps_the_commit_of_the_stored_row(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: table_type}
    write(spark, path, options, (1, 5, "a", 10, 3, "web"), (2, 5, "a", 10, 3, "web"))
    (first,) = {row[0] for row in load(spark, path).select("_hoodie_commit_time").collect()}
    write(spark, path, options, (1, 4, "late", None, 2, "app"), (2, 4, "late", None, 4, "app"))
    times = {row[0]: row[1] for row in load(spark, path).select("id", "_hoodie_commit_time").collect()}
    assert times[1] == first < times[2]
    changed = Table.load(spark, str(path)).change_data(reason=True).where("op = 'u'")
    assert rows_of(changed.select("after.id", "reason")) == [(2, "merged")]


def test_a_rule_declared_in_python_merges_rows_and_is_shown(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create(
        spark,
        tmp_path / "t",
        ITEMS,
        record_key="id",
        ordering_by="ts",
        table_type=TableType.MERGE_ON_READ,
        rule={"Qty": "SUM", "best": "max", "*": "last_non_null"},
    )
    assert table.rule == {"qty": "sum", "best": "max", "*": "last_non_null"}
    assert table.merge_mode == "CUSTOM"
    table.upsert(frame(spark, [(1, 5, "a", 10, 3, None)], ITEMS))
    table.upsert(frame(spark, [(1, 4, "late", 1, 4, "app"), (1, 6, None, 1, 1, "web")], ITEMS))
    assert rows_of(table.df()) == [(1, 6, "a", 12, 4, "web")]
    table.delete(frame(spark, [(1,)], "id int"))
    table.upsert(frame(spark, [(1, 1, "new", 1, 0, None)], ITEMS))
    assert rows_of(table.df()) == [(1, 1, "new", 1, 0, None)], "nothing of before a delete comes back"
    plain = Table.create(spark, tmp_path / "plain", ITEMS, record_key="id", ordering_by="ts", rule={"name": "last"})
    assert plain.rule == {}
    assert plain.merge_mode == "EVENT_TIME_ORDERING"


def test_two_groups_with_their_own_ordering_fields_merge_into_one_row(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    columns = "id int, price int, priced_at bigint, stock int, counted_at bigint"
    table = Table.create(
        spark,
        tmp_path / "t",
        columns,
        record_key="id",
        table_type=TableType(table_type),
        rule_groups={
            "prices": {"columns": "price", "ordering": "priced_at"},
            "stocks": {"columns": ["stock"], "ordering": ["counted_at"]},
        },
    )
    keep = {"spark.merganser.write.missingColumns": "keep"}
    table.upsert(frame(spark, [(1, 10, 5)], "id int, price int, priced_at bigint"), options=keep)
    table.upsert(frame(spark, [(1, 70, 9)], "id int, stock int, counted_at bigint"), options=keep)
    table.upsert(frame(spark, [(1, 11, 6), (2, 20, 1)], "id int, price int, priced_at bigint"), options=keep)
    table.upsert(frame(spark, [(1, 60, 8)], "id int, stock int, counted_at bigint"), options=keep)
    table.upsert(frame(spark, [(1, 9, 4, 71, 9)], columns))
    expected = [(1, 11, 6, 71, 9), (2, 20, 1, None, None)]
    assert rows_of(table.df()) == expected
    assert rows_of(table.df().select("price")) == [(11,), (20,)], "which needs priced_at"
    again = {"merganser.rule.group.prices.columns": "stock", "merganser.rule.group.prices.ordering": "priced_at"}
    refused(lambda: table.upsert(frame(spark, [(1, 9, 4, 71, 9)], columns), options=again), "CONFIG_CONFLICT", "prices")


def test_partial_rows_are_merged_only_into_the_columns_they_provide(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: table_type}
    write(spark, path, options, (1, 5, "a", 10, 3, "web"))
    keep = {**options, "spark.merganser.write.missingColumns": "keep"}
    save(frame(spark, [(1, 2), (3, 7)], "id int, qty bigint"), path, keep)
    save(frame(spark, [(1, 4, 9)], "id int, ts bigint, best int"), path, keep)
    assert rows_of(load(spark, path)) == [(1, 5, "a", 12, 9, "web"), (3, None, None, 7, None, None)]


@each_kind
def test_merge_adds_assigned_values_to_sums_and_update_of_a_sum_is_refused(sql: Sql, kind: str) -> None:
    table = sql.create(kind, ITEMS, **{COLUMN + name: function for name, function in RULE.items()})
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a', 10, 3, 'web'), (2, 5, 'b', 10, 3, 'web')")
    sql.run(
        f"MERGE INTO {table} t USING (SELECT 1 id, 6L ts, 4L qty UNION ALL SELECT 3, 6L, 1L) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET ts = s.ts, qty = s.qty "
        "WHEN NOT MATCHED THEN INSERT (id, ts, qty) VALUES (s.id, s.ts, s.qty)"
    )
    sql.run(f"UPDATE {table} SET name = 'c' WHERE id = 2")
    sql.run(f"DELETE FROM {table} WHERE id = 3")
    expected = [(1, 6, "a", 14, 3, "web"), (2, 5, "c", 10, 3, "web")]
    assert sql.rows(table) == expected
    error = sql.fails(f"UPDATE {table} SET qty = 0 WHERE id = 1")
    assert "RULE_ASSIGNMENT_UNSUPPORTED" in error
    assert "'qty'" in error
    assert "'sum'" in error
    error = sql.fails(
        f"MERGE INTO {table} t USING (SELECT 1 id, 1L qty) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET qty = t.qty + s.qty"
    )
    assert "RULE_ASSIGNMENT_UNSUPPORTED" in error
    assert "twice" in error
    assert sql.rows(table) == expected
    if kind == "mor":
        sql.run(f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}')")
        assert sql.rows(table) == expected


def test_the_output_of_show_create_table_declares_the_same_rule(sql: Sql) -> None:
    table = sql.create("mor", ITEMS, **{COLUMN + "qty": "sum", DEFAULT: "first"})
    ((shown,),) = sql.run(f"SHOW CREATE TABLE {table}")
    again = sql.name()
    sql.run(shown.replace(table, again, 1).replace("\\'", "'"))
    names = ("merganser.rule", "hoodie.record.merge.strategy.id")
    before, after = (properties(sql.folder(name)) for name in (table, again))
    assert [before[name] for name in names] == [after[name] for name in names]


def test_a_later_write_may_repeat_the_rule_but_not_contradict_it(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark, path, OPTIONS, (1, 5, "a", 10, 3, "web"))
    write(spark, path, {KEY: "id", COLUMN + "QTY": "sum", DEFAULT: "last"}, (1, 6, "b", 1, 3, "web"))
    before = listing(path)
    for other in ({COLUMN + "qty": "max"}, {COLUMN + "name": "first"}, {DEFAULT: "first"}):
        ((key, value),) = other.items()
        refused(lambda o=other: write(spark, path, o, (1, 7, "b", 1, 3, "web")), "CONFIG_CONFLICT", key, value)
    refused(
        lambda: write(spark, path, {"hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"}, (1, 7, "b", 1, 3, "x")),
        "CONFIG_CONFLICT",
    )
    assert listing(path) == before
    plain = tmp_path / "plain"
    write(spark, plain, {KEY: "id", ORDERING: "ts"}, (1, 5, "a", 10, 3, "web"))
    write(spark, plain, {COLUMN + "qty": "last"}, (1, 6, "a", 10, 3, "web"))
    refused(lambda: write(spark, plain, {COLUMN + "qty": "sum"}, (1, 7, "a", 1, 3, "x")), "CONFIG_CONFLICT", "last")


@pytest.mark.parametrize(
    ("options", "condition", "mentions"),
    [
        ({COLUMN + "qty": "median"}, "RULE_INVALID", ("'median'", "'qty'", "last_non_null")),
        ({COLUMN + "amount": "sum"}, "RULE_INVALID", ("'amount'", "qty")),
        ({COLUMN + "name": "sum"}, "RULE_INVALID", ("'name'", "string", "'sum'", "bigint, float, double, decimal")),
        ({COLUMN + "id": "max"}, "RULE_INVALID", ("'id'", "'max'")),
        ({COLUMN + "ts": "max"}, "RULE_INVALID", ("'ts'", "orders")),
        ({"merganser.rule.group.g.columns": "qty"}, "RULE_INVALID", ("'g'", "ordering")),
        (
            {"merganser.rule.group.g.columns": "qty,best", "merganser.rule.group.g.ordering": "best"},
            "RULE_INVALID",
            ("'best'", "twice"),
        ),
        (
            {"merganser.rule.group.g.columns": "qty", "merganser.rule.group.g.ordering": "ts"},
            "RULE_INVALID",
            ("'ts'", "'g'"),
        ),
        ({"merganser.rule": "sum"}, "RULE_INVALID", ("JSON",)),
        ({DEFAULT: "sum"}, "OPTION_VALUE_INVALID", ("first_non_null",)),
        ({COLUMN + "qty": "sum", "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"}, "OPTION_CONFLICT", ()),
        ({COLUMN + "qty": "sum", "hoodie.write.table.version": "8"}, "OPTION_CONFLICT", ("version",)),
    ],
)
def test_an_invalid_rule_is_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], condition: str, mentions: tuple[str, ...]
) -> None:
    path = tmp_path / "t"
    refused(lambda: write(spark, path, {KEY: "id", ORDERING: "ts", **options}, (1, 5, "a", 10, 3, "web")), condition,
            *mentions)  # fmt: skip
    assert listing(path) == []


def test_two_functions_of_one_column_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    rule = {"qty": "sum", "QTY": "max"}
    refused(
        lambda: Table.create(spark, tmp_path / "t", ITEMS, record_key="id", rule=rule),
        "RULE_INVALID", "two functions", "'QTY' and 'qty'",
    )  # fmt: skip


def test_a_column_with_a_function_refuses_a_new_name_and_an_unsuitable_type(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    write(spark, path, OPTIONS, (1, 5, "a", 10, 3, "web"))
    spark.conf.set("hoodie.schema.on.read.enable", "true")
    try:
        rename = f"ALTER TABLE merganser.`{path}` RENAME COLUMN qty TO amount"
        refused(lambda: spark.sql(rename), "SCHEMA_CONFLICT", "'qty'", "'sum'")
    finally:
        spark.conf.unset("hoodie.schema.on.read.enable")
    text = frame(spark, [(1, 6, "a", "1", 3, "web")], ITEMS.replace("qty bigint", "qty string"))
    to_string = {"spark.merganser.write.schemaEvolution": "toString"}
    refused(lambda: save(text, path, to_string), "SCHEMA_CONFLICT", "'qty'", "string", "'sum'")
    wider = ITEMS.replace("best int", "best bigint") + ", note string"
    save(frame(spark, [(1, 6, "b", 1, 4, "app", "added")], wider), path, {})
    assert rows_of(load(spark, path)) == [(1, 6, "b", 11, 4, "web", "added")]


def test_an_overflowing_sum_fails_with_its_column_and_key_and_commits_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    write(spark, path, OPTIONS, (1, 5, "a", 2**63 - 1, 3, "web"))
    files = [file for file in listing(path) if file.endswith(".parquet")]
    refused(lambda: write(spark, path, OPTIONS, (1, 6, "b", 1, 3, "web")), "MERGER_FAILED", "'qty'", "'sum'", "'1'")
    assert [file for file in listing(path) if file.endswith(".parquet")] == files


def test_a_row_that_moves_to_another_partition_keeps_its_sum(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path = tmp_path / "t"
    options = {
        **OPTIONS,
        TYPE: table_type,
        "hoodie.datasource.write.partitionpath.field": "name",
        "hoodie.index.type": "GLOBAL_SIMPLE",
    }
    write(spark, path, options, (1, 5, "p", 10, 3, "web"), (2, 5, "p", 10, 3, "web"))
    write(spark, path, options, (1, 6, "q", 1, 4, "app"), (2, 4, "q", 1, 4, "app"))
    write(spark, path, options, (1, 7, "q", 1, 4, "app"), (2, 7, "p", 1, 4, "app"))
    assert rows_of(load(spark, path)) == [(1, 7, "q", 12, 4, "web"), (2, 7, "p", 12, 4, "web")]


def test_a_combining_bulk_insert_applies_the_rule(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    bulk = {**OPTIONS, OPERATION: "bulk_insert", "hoodie.combine.before.insert": "true"}
    write(spark, path, bulk, (1, 5, "a", 10, 3, "web"), (1, 5, "b", 1, 4, "app"))
    assert rows_of(load(spark, path)) == [(1, 5, "b", 11, 4, "web")]


def test_a_stored_rule_that_does_not_match_its_strategy_id_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark, path, {**OPTIONS, TYPE: MOR}, (1, 5, "a", 10, 3, "web"))
    write(spark, path, {}, (1, 6, "a", 10, 3, "web"))
    file = path / ".hoodie" / "hoodie.properties"
    file.write_text(file.read_text().replace("sum", "max"))
    refused(lambda: load(spark, path).collect(), "TABLE_PROPERTIES_INVALID", "strategy id")


def test_maps_are_united_by_key_and_the_winners_value_is_taken_for_an_equal_key(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path, columns = tmp_path / "t", "id int, ts bigint, tags map<string,int>, seen array<struct<a:int,b:int>>"
    rule = {COLUMN + "tags": "union", COLUMN + "seen": "union"}
    options = {KEY: "id", ORDERING: "ts", TYPE: table_type, **rule}
    save(frame(spark, [(1, 5, {"a": 1, "b": 2}, [(1, 1)])], columns), path, options)
    save(frame(spark, [(1, 7, {"b": 3, "c": 4}, [(1, 2)])], columns), path, {})
    save(frame(spark, [(1, 6, {"a": 9, "c": 9, "d": 5}, [(1, 1)])], columns), path, {})
    (row,) = load(spark, path).select("tags", "seen").collect()
    assert row.tags == {"a": 1, "b": 3, "c": 4, "d": 5}
    assert [tuple(element) for element in row.seen] == [(1, 1), (1, 2)]
    assert load(spark, path).select("seen.a").collect()[0][0] == [1, 1]
    assert rows_of(load(spark, path).selectExpr("tags['c']")) == [(4,)]
