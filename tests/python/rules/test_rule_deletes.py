"""What a delete does to the columns of a row and of its groups; random histories of it are on all paths elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from frames import frame, listing, load, properties, refused, rows_of, save
from option_names import COW, MOR
from pyspark.sql import SparkSession

from merganser import Table, TableType

COLUMNS = "id int, name string, price int, priced_at int, stock bigint, counted_at int, _hoodie_is_deleted boolean"
GROUPS = {
    "prices": {"columns": "price", "ordering": "priced_at", "delete": "reset_group"},
    "stocks": {"columns": "stock", "ordering": "counted_at", "delete": "remove_row"},
}


@pytest.fixture(params=[COW, MOR])
def table(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Table:
    table = Table.create(
        spark,
        tmp_path / "t",
        COLUMNS,
        record_key="id",
        rule={"stock": "sum"},
        rule_groups=GROUPS,
        rule_delete="ignore",
        table_type=TableType(request.param),
    )
    upsert(spark, table, (1, "a", 10, 5, 7, 5, None), (2, "b", 10, 5, 7, 5, None), (3, "c", 10, 5, 7, 5, None))
    return table


def upsert(spark: SparkSession, table: Table, *rows: tuple[Any, ...]) -> None:
    table.upsert(frame(spark, rows, COLUMNS))


def test_a_delete_resets_a_group_removes_the_row_or_is_ignored_as_each_group_declares(
    spark: SparkSession, table: Table
) -> None:
    upsert(
        spark,
        table,
        (1, None, None, 6, None, None, True),
        (2, None, None, None, None, 6, True),
        (3, "x", 1, None, 1, None, True),
        (4, "new", 1, 1, 1, 1, True),
    )
    expected = [(1, "a", None, 6, 7, 5, None), (3, "c", 10, 5, 7, 5, None)]
    assert rows_of(table.df()) == expected
    upsert(spark, table, (1, "a", 99, 5, 1, 6, None), (3, "c", 99, 4, 1, 4, None))
    expected = [(1, "a", None, 6, 8, 6, None), (3, "c", 10, 5, 8, 5, None)]
    assert rows_of(table.df()) == expected
    for name, at in (("name", 1), ("price", 2), ("stock", 4)):
        assert rows_of(table.df().select("id", name)) == [(row[0], row[at]) for row in expected], name
    if table.table_type is TableType.MERGE_ON_READ:
        table.services.compact_logs()
        assert rows_of(table.df()) == expected
        table.compact()
        assert rows_of(table.df()) == expected
        upsert(spark, table, (1, None, None, 7, None, None, True), (3, None, None, 4, None, None, True))
        reset, ignored = (table.inspect.explain(key).versions[-1] for key in (1, 3))
        assert (reset.version, reset.decision, ignored.decision) == ("delete", "won", "ignored")
        assert 'group prices {"priced_at":7} against {"priced_at":6}' in reset.reason
        assert ignored.reason.startswith("the row before stays, because the delete does not change it: group prices")
        keep = {"spark.merganser.write.missingColumns": "keep"}
        table.upsert(frame(spark, [(3, 1, 2)], "id int, price int, priced_at int"), options=keep)
        late = table.inspect.explain(3).versions[-1]
        assert (late.version, late.decision, late.is_current) == ("partial row", "lost", False)


def test_unconditional_deletes_remove_the_row_under_every_delete_policy(spark: SparkSession, table: Table) -> None:
    spark.sql(f"DELETE FROM merganser.`{table.path}` WHERE id = 1")
    table.delete(frame(spark, [(2,)], "id int"))
    spark.sql(f"MERGE INTO merganser.`{table.path}` t USING (SELECT 3 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert rows_of(table.df()) == []
    upsert(spark, table, (1, "again", 1, 1, 1, 1, None))
    assert rows_of(table.df()) == [(1, "again", 1, 1, 1, 1, None)]


def test_a_delete_by_merge_is_compared_unless_the_rule_ignores_deletes(spark: SparkSession, tmp_path: Path) -> None:
    columns, rows = "id int, n int, ts int", [(1, 1, 5), (2, 1, 5), (3, 1, 5)]
    late = "(SELECT * FROM VALUES (1, 4), (2, 6) AS rows(id, ts)) s"
    for kind in (COW, MOR):
        for policy, left in (("remove_row", [1, 3]), ("ignore", [3])):
            table = Table.create(
                spark,
                tmp_path / f"{kind} {policy}",
                columns,
                record_key="id",
                ordering_by="ts",
                rule={"n": "sum"},
                rule_delete=policy,
                table_type=TableType(kind),
            )
            table.upsert(frame(spark, rows, columns))
            spark.sql(f"MERGE INTO {table.identifier} t USING {late} ON t.id = s.id WHEN MATCHED THEN DELETE")
            assert [row[0] for row in rows_of(table.df())] == left, (kind, policy)
            if kind == MOR:
                table.compact()
                assert [row[0] for row in rows_of(table.df())] == left, policy


def test_python_and_sql_declare_the_same_delete_policies(spark: SparkSession, table: Table, tmp_path: Path) -> None:
    stored = json.loads(properties(Path(table.path))["merganser.rule"])
    assert stored["delete"] == "ignore"
    assert stored["groups"]["prices"]["delete"] == "reset_group"
    rule = table.inspect.rule()
    assert rule.keys() == {"rule", "rule_groups", "rule_delete"}
    assert (rule["rule"], rule["rule_delete"], set(rule["rule_groups"])) == (table.rule, "ignore", set(GROUPS))
    assert rule["rule_groups"]["prices"] == {"ordering": ["priced_at"], "columns": ["price"], "delete": "reset_group"}
    same = Table.create(
        spark, tmp_path / "same", table.schema, record_key=table.record_key, ordering_by=table.ordering_by, **rule
    )
    assert same.inspect.rule() == rule
    path, columns = tmp_path / "sql", "id int, ts bigint, n int, _hoodie_is_deleted boolean"
    spark.sql(
        f"CREATE TABLE resetting ({columns}) USING merganser LOCATION '{path}' TBLPROPERTIES "
        "(primaryKey = 'id', orderingFields = 'ts', type = 'mor', 'merganser.rule.delete' = 'reset_group')"
    )
    spark.sql("DROP TABLE resetting")
    save(frame(spark, [(1, 5, 7, None)], columns), path, {})
    save(frame(spark, [(1, 6, 9, True)], columns), path, {})
    assert rows_of(load(spark, path)) == [(1, 6, None, None)]
    before = listing(path)
    refused(
        lambda: save(frame(spark, [(1, 6, 9, True)], columns), path, {"merganser.rule.delete": "ignore"}),
        "CONFIG_CONFLICT", "merganser.rule.delete", "reset_group",
    )  # fmt: skip
    assert listing(path) == before


def test_an_invalid_delete_policy_is_refused_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    def create(**how: Any) -> Table:
        return Table.create(spark, tmp_path / "t", COLUMNS, record_key="id", **how)

    refused(lambda: create(rule_groups=GROUPS), "RULE_INVALID", "'prices'", "merganser.rule.delete")
    wrong = {"prices": {**GROUPS["prices"], "delete": "hide"}}
    refused(lambda: create(rule_groups=wrong, rule_delete="ignore"), "RULE_INVALID", "'hide'", "reset_group")
    refused(lambda: create(rule_delete="hide"), "OPTION_VALUE_INVALID", "hide")
    assert not (tmp_path / "t").exists() or listing(tmp_path / "t") == []
    table = Table.create(spark, tmp_path / "u", "id int, n int", record_key="id", rule_delete="ignore")
    rows = frame(spark, [(1, 2, True)], "id int, n int, _hoodie_is_deleted boolean")
    refused(lambda: table.upsert(rows), "RULE_DELETES_NOT_STORED", "_hoodie_is_deleted")
