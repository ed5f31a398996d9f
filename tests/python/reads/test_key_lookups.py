"""Reads of few record keys: the rows that a read of all has, out of few pages of the files."""

from __future__ import annotations

from pathlib import Path

import pytest
from frames import load, save
from option_names import COW, INDEX, KEY, MOR, OPERATION, ORDERING, TYPE
from plans import metric
from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.e2e

ROWS = 60_000
PAGES = {"hoodie.parquet.page.size": "4096"}
GENERATOR = "hoodie.table.keygenerator.type"

#: Key columns, further options, and the key columns as SQL of the number `n`, by semicolons.
KEYS = {
    "long": ("id", {}, "n AS id"),
    "int": ("id", {}, "cast(n AS int) AS id"),
    "string": ("id", {}, "concat('k', n) AS id"),
    "string with separators": ("id", {}, "IF(n % 2 = 0, concat('a,b:', n, 'ü'), concat('id:', n)) AS id"),
    "named": ("id", {GENERATOR: "COMPLEX"}, "n AS id"),
    "two columns": ("id,place", {GENERATOR: "COMPLEX"}, "n AS id; IF(n % 3 = 0, '', concat('p', n % 7)) AS place"),
    "date": ("id", {}, "date_add(date'1970-01-01', cast(n AS int)) AS id"),
    "decimal": ("id", {}, "cast(n AS decimal(12, 2)) AS id"),
    "timestamp": ("id", {}, "timestamp_seconds(n) AS id"),
    "double": ("id", {}, "cast(n AS double) AS id"),
}


def rows(spark: SparkSession, numbers: str, key: str, ts: int) -> DataFrame:
    return (
        spark.range(0, 2 * ROWS, 1, 1)
        .selectExpr("id AS n")
        .where(numbers)
        .selectExpr(
            *key.split("; "),
            "n",
            f"{ts}L AS ts",
            f"sha(cast(n * {ts} AS string)) AS word",
            "n % 3 = 0 AS _hoodie_is_deleted",
        )
    )


def made(spark: SparkSession, path: Path, kind: str, options: dict[str, str]) -> None:
    """A table of even numbers, and an upsert of some, with deletes, late-arriving rows and new keys."""
    columns, more, key = KEYS[kind]
    options = {KEY: columns, ORDERING: "ts", **PAGES, **more, **options}
    loaded = rows(spark, f"n < {ROWS} AND n % 2 = 0", key, 10).drop("_hoodie_is_deleted")
    save(loaded, path, {OPERATION: "insert", **options})
    save(rows(spark, "n % 700 = 0 OR n % 1100 = 1", key, 11), path, options)
    save(rows(spark, "n % 500 = 0", key, 9), path, options)


@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("kind", KEYS)
def test_a_read_of_few_keys_has_the_rows_that_a_read_of_all_has(
    spark: SparkSession, tmp_path: Path, kind: str, table_type: str
) -> None:
    made(spark, tmp_path / "t", kind, {TYPE: table_type})
    found = load(spark, tmp_path / "t")
    everything = {row.n: row for row in found.collect()}
    wanted = [4, 500, 700, 701, 1101, 7000, 9999, 59_998, 77_000, 119_999]
    key = spark.range(1).selectExpr("0 AS n").selectExpr(*KEYS[kind][2].split("; ")).columns
    named = {
        row.n: " AND ".join(f"{name} = {row[f'sql_{name}']}" for name in key)
        for row in spark.createDataFrame([(n,) for n in wanted], "n long")
        .selectExpr("n", *KEYS[kind][2].split("; "))
        .selectExpr("n", *(f"concat('cast(\"', {name}, '\" AS ', typeof({name}), ')') AS sql_{name}" for name in key))
        .collect()
    }
    for n, condition in named.items():
        read = found.where(condition)
        assert read.collect() == ([everything[n]] if n in everything else []), condition
        assert read.select("word").collect() == ([(everything[n].word,)] if n in everything else []), condition
        assert read.where("ts = 11").count() == (n in everything and everything[n].ts == 11)
    either = found.where(" OR ".join(f"({condition})" for condition in named.values()))
    assert {row.n for row in either.collect()} == set(wanted) & set(everything)


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_lists_of_keys_and_other_conditions_have_the_rows_that_a_read_of_all_has(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    made(spark, tmp_path / "t", "two columns", {TYPE: table_type})
    found = load(spark, tmp_path / "t")
    found.createOrReplaceTempView("looked_up")
    everything = found.select("*", "_hoodie_record_key").localCheckpoint()
    everything.createOrReplaceTempView("everything")
    many = ", ".join(str(n) for n in range(0, 3000, 14))
    for condition in (
        "id IN (4, NULL, 700, 7000) AND place IN ('', 'p0', 'p4')",
        "id <=> 700 AND place <=> 'p0'",
        "id IN (4, 700) AND id IN (700, 7000) AND place = 'p0'",
        f"id IN ({many}) AND place = 'p0'",
        "id = 700",
        "id = 700 AND place > 'o'",
        "id = 700 AND place = 'p0' AND word LIKE '%a%'",
        "NOT (id = 700 AND place = 'p0') AND id < 1000",
        "id = 700 AND place IS NULL",
        "id IN (5) AND place = 'p5'",
        "_hoodie_record_key = 'id:700,place:p0'",
    ):
        query = "SELECT n, ts, word FROM {} WHERE " + condition + " ORDER BY n"
        assert spark.sql(query.format("looked_up")).collect() == spark.sql(query.format("everything")).collect()


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_read_of_one_key_decodes_a_page_of_each_file_and_not_the_others(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    made(spark, tmp_path / "t", "long", {TYPE: table_type, INDEX: "SIMPLE"})
    for condition, most in (("id = 700", 1500), ("id IN (700, 30002)", 3000)):
        found = load(spark, tmp_path / "t").where(condition).select("id", "word")
        assert 0 < len(found.collect()) <= metric(found, "numOutputRows") <= most, condition
    found = load(spark, tmp_path / "t").where("id >= 700")
    assert len(found.collect()) > 20_000
