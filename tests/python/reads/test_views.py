"""Meta columns of a table behind temporary views of it, as in Hudi's quick start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sql_steps import Sql

from merganser import Table

pytestmark = pytest.mark.e2e

COLUMNS = "id string, day string, fare double, ts long"
VIEWS = ("plain", "chosen", "texts", "small", "grouped")


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """Two rows, and views: of the table, of some columns, by SQL, of some rows, of groups."""
    made = Table.create(
        spark,
        tmp_path_factory.mktemp("views") / "trips",
        COLUMNS,
        record_key="id",
        partition_by="day",
        ordering_by="ts",
    )
    made.insert([("a", "mon", 10.0, 1), ("b", "tue", 20.0, 5)])
    frame = spark.read.format("merganser").load(made.path)
    frame.createOrReplaceTempView("plain")
    frame.select("id", (F.col("fare") * 2).alias("twice")).createOrReplaceTempView("chosen")
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW texts AS SELECT * FROM {made.identifier}")
    frame.where("fare > 15").createOrReplaceTempView("small")
    frame.groupBy("day").count().createOrReplaceTempView("grouped")
    yield made
    for view in VIEWS:
        spark.catalog.dropTempView(view)


#: Queries and their rows.
QUERIES: dict[str, list[tuple[Any, ...]]] = {
    "SELECT _hoodie_record_key, _hoodie_partition_path, fare FROM plain WHERE fare > 1 ORDER BY id": [
        ("a", "mon", 10.0), ("b", "tue", 20.0),
    ],
    "SELECT * FROM plain WHERE _hoodie_record_key = 'b'": [("b", "tue", 20.0, 5)],
    "SELECT t.*, t._hoodie_record_key AS k FROM plain AS t ORDER BY t._hoodie_record_key DESC": [
        ("b", "tue", 20.0, 5, "b"), ("a", "mon", 10.0, 1, "a"),
    ],
    "SELECT id FROM plain ORDER BY _hoodie_record_key DESC": [("b",), ("a",)],
    "SELECT _hoodie_partition_path, count(*) FROM texts GROUP BY _hoodie_partition_path ORDER BY 1": [
        ("mon", 1), ("tue", 1),
    ],
    "SELECT _hoodie_record_key, twice FROM chosen ORDER BY 1": [("a", 20.0), ("b", 40.0)],
    "SELECT _HOODIE_RECORD_KEY FROM small": [("b",)],
    "SELECT x.id, y.twice FROM plain x JOIN chosen y ON x._hoodie_record_key = y._hoodie_record_key ORDER BY 1": [
        ("a", 20.0), ("b", 40.0),
    ],
    "SELECT x.id, y.id FROM plain x JOIN plain y ON x.id = y.id WHERE x._hoodie_record_key = 'a'": [("a", "a")],
    "SELECT id FROM plain WHERE id IN (SELECT _hoodie_record_key FROM small)": [("b",)],
    "WITH newest AS (SELECT max(_hoodie_commit_time) m FROM plain) "
    "SELECT count(*) FROM plain, newest WHERE _hoodie_commit_time = m": [(2,)],
    "SELECT * FROM plain ORDER BY id LIMIT 1": [("a", "mon", 10.0, 1)],
}  # fmt: skip


# Guarantee (Reads): Meta columns are found behind temporary views too, and no other query of a view changes. Also:
#   test_views_otherwise_show_no_meta_columns_and_unknown_names_stay_errors
@pytest.mark.parametrize("query", QUERIES)
def test_a_query_of_a_view_can_select_meta_columns(spark: SparkSession, table: Table, query: str) -> None:
    assert [tuple(row) for row in spark.sql(query).collect()] == QUERIES[query]


def test_views_otherwise_show_no_meta_columns_and_unknown_names_stay_errors(
    spark: SparkSession, table: Table, tmp_path: Path
) -> None:
    assert spark.table("plain").columns == ["id", "day", "fare", "ts"]
    assert [row[0] for row in spark.table("plain").select("_hoodie_record_key").sort("id").collect()] == ["a", "b"]
    with pytest.raises(AnalysisException, match="_hoodie_record_key"):
        spark.sql("SELECT _hoodie_record_key FROM grouped")
    with pytest.raises(AnalysisException, match="_hoodie_nothing"):
        spark.sql("SELECT _hoodie_nothing FROM plain")
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW grouped AS SELECT DISTINCT fare > 0 FROM plain")
    with pytest.raises(AnalysisException, match="_hoodie_record_key"):
        spark.sql("SELECT _hoodie_record_key FROM grouped")
    spark.range(1).createOrReplaceTempView("grouped")
    with pytest.raises(AnalysisException, match="_hoodie_record_key"):
        spark.sql("SELECT _hoodie_record_key FROM grouped")
    spark.table("plain").cache()
    try:
        assert spark.sql("SELECT max(_hoodie_record_key) FROM plain").collect()[0][0] == "b"
    finally:
        spark.table("plain").unpersist()


def test_views_of_a_table_with_char_columns_can_select_meta_columns(sql: Sql) -> None:
    table = sql.create("cow", "id int, c char(3), v varchar(3)", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 'a', 'b'), (2, 'c', 'd')")
    sql.spark.table(table).createOrReplaceTempView("padded")
    assert sql.run("SELECT _hoodie_record_key, c FROM padded ORDER BY 1") == [("1", "a  "), ("2", "c  ")]
    sql.run(f"CREATE OR REPLACE TEMPORARY VIEW padded AS SELECT id, c FROM {table} WHERE v = 'd'")
    assert sql.run("SELECT _hoodie_record_key, c FROM padded") == [("2", "c  ")]
    assert sql.run("SELECT * FROM padded") == [(2, "c  ")]
    sql.spark.catalog.dropTempView("padded")


def test_a_meta_column_name_of_another_table_in_the_query_is_not_taken_from_the_view(
    spark: SparkSession, table: Table
) -> None:
    """Functions are resolved after the names of columns: the name of the table's column is not resolved at first."""
    joined = f"{table.identifier} t JOIN small ON upper(t.id) = upper(small.id)"
    assert spark.sql(f"SELECT _hoodie_record_key FROM {joined}").collect() == [("b",)]
    assert spark.sql(f"SELECT t.id, small._hoodie_record_key FROM {joined}").collect() == [("b", "b")]
