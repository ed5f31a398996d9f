"""Times in milliseconds that Hudi 0.15 to 1.0 labelled as microseconds: what is written to such a table."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from foreign_forms import FORMS
from foreign_tables import commits, make, rows_of
from frames import refused, save
from option_names import COW, KEY, MOR, ORDERING
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from merganser import Table

FORM = FORMS["times-milliseconds_labelled_micros"]


def labels(path: Path) -> list[set[str]]:
    """The types of times in the commits, oldest first."""
    names = "local-timestamp-millis", "timestamp-millis", "timestamp-micros"
    return [{name for name in names if name.encode() in commit.read_bytes()} for commit in commits(path)]


def test_a_table_in_milliseconds_keeps_its_unit_and_refuses_finer_times(spark: SparkSession, tmp_path: Path) -> None:
    table = make(spark, tmp_path / "t", FORM, "6", MOR)
    rows = rows_of(spark, FORM, (1, 3, "b"), (4, 3, "b"))
    table.upsert(rows)
    table.compact()
    table.services.cluster()
    table.services.upgrade()
    assert len(labels(tmp_path / "t")) == 5
    assert all(found == {"timestamp-millis"} for found in labels(tmp_path / "t"))
    fine = rows.withColumn("at", F.col("at") + timedelta(microseconds=1))
    refused(lambda: table.upsert(fine), "TIME_BEYOND_MILLISECONDS", "'at'", "1")


def test_a_new_table_of_rows_in_milliseconds_stores_microseconds(spark: SparkSession, tmp_path: Path) -> None:
    table = make(spark, tmp_path / "t", FORM, "9", COW)
    fine = table.df().withColumn("at", F.col("at") + timedelta(microseconds=1))
    save(fine, tmp_path / "copy", {KEY: "id", ORDERING: "ts"})
    assert labels(tmp_path / "copy") == [{"timestamp-micros"}]
    micros = Table.load(spark, str(tmp_path / "copy")).df().selectExpr("unix_micros(at)")
    assert {row[0] % 1000 for row in micros.collect()} == {1}
