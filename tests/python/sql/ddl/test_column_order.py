# Guarantee (SQL and sessions): Partition columns come last in tables that SQL or a name creates, so that a positional
#   `INSERT` gives each value to its column. Also: ColumnOrderSuite
"""The order of columns: those of the partitioning are last in every table that SQL or a name makes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import functions as F
from sql_steps import Sql

from merganser import Table

pytestmark = pytest.mark.e2e

KEY = "TBLPROPERTIES (primaryKey = 'k')"
ORDER = ["k", "label", "hour", "day"]
ROW = "SELECT 1 AS k, 'd1' AS day, 'a1' AS label, 7 AS hour"


def columns(sql: Sql, table: str) -> list[str]:
    return list(sql.spark.table(table).columns)


@pytest.fixture
def lake(sql: Sql, tmp_path: Path) -> str:
    """A catalog of folders of this test alone."""
    name = "order_" + sql.name()[2:]
    sql.spark.conf.set(f"spark.sql.catalog.{name}", "io.merganser.spark.MerganserLakeCatalog")
    sql.spark.conf.set(f"spark.sql.catalog.{name}.warehouse", str(tmp_path / "lake"))
    return name


@pytest.mark.parametrize(("place", "kind"), [("session", "cow"), ("folders", "mor")])
def test_a_declared_table_has_its_partition_columns_last_for_inserts_by_position(
    sql: Sql, lake: str, place: str, kind: str
) -> None:
    t = sql.name() if place == "session" else f"{lake}.declared"
    sql.run(
        f"CREATE TABLE {t} (k int, day string COMMENT 'of the ride', label varchar(5), hour int) USING merganser "
        f"PARTITIONED BY (hour, day) TBLPROPERTIES (primaryKey = 'k', type = '{kind}')"
    )
    assert columns(sql, t) == ORDER
    assert [r[:3] for r in sql.run(f"DESCRIBE {t}")[:4]] == [
        ("k", "int", None), ("label", "varchar(5)", None), ("hour", "int", None), ("day", "string", "of the ride"),
    ]  # fmt: skip
    sql.run(f"INSERT INTO {t} VALUES (1, 'a1', 7, 'd1')")
    sql.run(f"INSERT INTO {t} (k, day, label, hour) VALUES (2, 'd2', 'a2', 8)")
    assert sql.rows(t) == [(1, "a1", 7, "d1"), (2, "a2", 8, "d2")]
    assert sql.rows(t, "k, day, label") == [(1, "d1", "a1"), (2, "d2", "a2")]
    sql.run(f"INSERT OVERWRITE {t} PARTITION (hour = 7, day = 'd1') VALUES (3, 'a3')")
    sql.run(f"INSERT OVERWRITE {t} PARTITION (hour = 8, day) VALUES (4, 'a4', 'd4')")
    sql.spark.createDataFrame([(5, "a5", 9, "d5")]).write.insertInto(t)
    assert sql.rows(t) == [(3, "a3", 7, "d1"), (4, "a4", 8, "d4"), (5, "a5", 9, "d5")]


def test_insert_select_star_from_a_parquet_table_keeps_each_value_in_its_column(sql: Sql) -> None:
    plain, t = sql.name(), sql.name()
    declared = "(k int, day string, label string) USING {} PARTITIONED BY (day)"
    sql.run(f"CREATE TABLE {plain} {declared.format('parquet')}")
    sql.run(f"CREATE TABLE {t} {declared.format('merganser')} {KEY}")
    sql.run(f"INSERT INTO {plain} VALUES (1, 'a1', 'd1')")
    sql.run(f"INSERT INTO {t} SELECT * FROM {plain}")
    assert sql.rows(t, "k, day, label") == [(1, "d1", "a1")]


def test_tables_of_queries_and_frames_have_their_partition_columns_last(sql: Sql, lake: str) -> None:
    sql.run(f"CREATE NAMESPACE {lake}.n")
    by = "USING merganser PARTITIONED BY (hour, day) TBLPROPERTIES (primaryKey = 'k', type = 'mor')"
    made = {name: sql.name() for name in ("query", "replaced", "frame", "saved", "named", "like", "located")}
    made["folders"] = f"{lake}.n.t"
    for name in ("query", "folders"):
        sql.run(f"CREATE TABLE {made[name]} {by} AS {ROW}")
    sql.run(f"CREATE TABLE {made['replaced']} (k int, hour int, day string) {by}")
    sql.run(f"CREATE OR REPLACE TABLE {made['replaced']} {by} AS {ROW}")
    frame = sql.spark.sql(ROW)
    writer = frame.writeTo(made["frame"]).using("merganser").tableProperty("primaryKey", "k")
    writer.partitionedBy(F.col("hour"), F.col("day")).create()
    named = frame.write.format("merganser").option("primaryKey", "k").option("hoodie.table.type", "mor")
    named.option("hoodie.datasource.write.partitionpath.field", "hour,day").saveAsTable(made["saved"])
    table = Table.create_named(sql.spark, made["named"], frame.schema, record_key="k", partition_by=["hour", "day"])
    table.upsert(frame)
    sql.run(f"CREATE TABLE {made['like']} LIKE {made['query']}")
    frame.writeTo(made["like"]).append()
    path = sql.folder(made["query"])
    sql.run(f"CREATE TABLE {made['located']} USING merganser LOCATION '{path}'")
    for name, t in made.items():
        assert (columns(sql, t), sql.rows(t)) == (ORDER, [(1, "a1", 7, "d1")]), name
    sql.run(f"REPLACE TABLE {made['query']} (day string, v int, hour int, k int) {by}")
    assert columns(sql, made["query"]) == ["v", "k", "hour", "day"]


def test_columns_that_are_added_come_before_the_partition_columns(sql: Sql, lake: str) -> None:
    for t, kind in ((sql.name(), "cow"), (f"{lake}.added", "mor")):
        sql.run(
            f"CREATE TABLE {t} (k int, day string, s struct<a:int>) USING merganser PARTITIONED BY (day) "
            f"TBLPROPERTIES (primaryKey = 'k', type = '{kind}')"
        )
        sql.run(f"INSERT INTO {t} VALUES (1, named_struct('a', 1), 'd1')")
        sql.run(f"ALTER TABLE {t} ADD COLUMNS (x int, f int FIRST, y string AFTER k, s.b int)")
        assert columns(sql, t) == ["f", "k", "y", "s", "x", "day"]
        sql.run(f"INSERT INTO {t} VALUES (0, 2, 'y', named_struct('a', 2, 'b', 3), 5, 'd1')")
        assert sql.rows(t, "f, k, y, s.b, x, day") == [(0, 2, "y", 3, 5, "d1"), (None, 1, None, None, None, "d1")]
        sql.run(f"ALTER TABLE {t} ADD COLUMNS (z int AFTER day, last int)")
        assert columns(sql, t) == ["f", "k", "y", "s", "x", "day", "z", "last"]


def test_columns_that_rows_and_merges_bring_come_before_the_partition_columns(sql: Sql) -> None:
    t = sql.create("mor", "k int, day string, label string", key="k", ordering=None, by="day")
    frame = sql.spark.sql("SELECT 'd1' AS day, 1 AS k, 'a1' AS label, 5 AS x")
    Table.load(sql.spark, t).upsert(frame)
    with sql.settings({"spark.merganser.sql.schemaEvolution": "true"}):
        sql.run(
            f"MERGE INTO {t} t USING (SELECT 1 AS k, 'd1' AS day, 'm' AS label, 6 AS x, 'y' AS y) s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    assert columns(sql, t) == ["k", "label", "x", "y", "day"]
    sql.run(f"INSERT INTO {t} VALUES (2, 'a2', 7, 'z', 'd2')")
    assert sql.rows(t) == [(1, "m", 6, "y", "d1"), (2, "a2", 7, "z", "d2")]


def test_a_table_by_path_keeps_its_frames_column_order_under_a_name(sql: Sql, tmp_path: Path) -> None:
    path, named = str(tmp_path / "t"), sql.name()
    options = {"hoodie.datasource.write.recordkey.field": "k", "hoodie.datasource.write.partitionpath.field": "day"}
    sql.spark.sql("SELECT 1 AS k, 'd1' AS day, 'a1' AS label").write.format("merganser").options(**options).save(path)
    sql.run(f"CREATE TABLE {named} (label string, k int, day string) USING merganser LOCATION '{path}'")
    sql.run(f"ALTER TABLE {named} ADD COLUMNS (x int)")
    sql.run(f"ALTER TABLE {named} ADD COLUMNS (y int AFTER day)")
    for t in (named, f"merganser.`{path}`"):
        assert columns(sql, t) == ["k", "day", "y", "label", "x"]
    sql.run(f"INSERT INTO {named} VALUES (2, 'd2', 0, 'a2', 1)")
    assert sql.rows(named, "k, day, label") == [(1, "d1", "a1"), (2, "d2", "a2")]
    # A new table with its columns is one that SQL makes.
    like = sql.name()
    sql.run(f"CREATE TABLE {like} LIKE {named}")
    assert columns(sql, like) == ["k", "y", "label", "x", "day"]
