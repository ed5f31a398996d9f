"""Options that a job brings along from elsewhere: reported, refused with a remedy, or known to have no effect."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from frames import frame, load, refusal, refused, rows_of, save
from option_names import KEY, ORDERING
from places import ROOT
from pyspark.sql import SparkSession
from servers import SPARK_HOME
from sql_steps import Sql

from merganser import Table, WriteOptions

OPTIONS = {KEY: "id", ORDERING: "ts"}
#: As a job on Hudi gives them, with what each means for this write.
OF_A_JOB = {
    "hoodie.datasource.hive_sync.enable": "true",
    "hoodie.archive.delete.parallelism": "5",
    "hoodie.cleaner.commits.retained": "2",
    "hoodie.clean.max.commits.to.clean": "3",
    "hoodie.metrics.on": "false",
    "hoodie.memory.merge.max.size": "1000000",
}
REPORTED = (
    "hoodie.archive.delete.parallelism",
    "hoodie.clean.max.commits.to.clean",
    "hoodie.datasource.hive_sync.enable",
)


@pytest.mark.extensive
def test_the_list_of_known_hudi_options_matches_hudis_jar() -> None:
    listed = ROOT / "jvm/table/src/main/resources/io/merganser/table/hudi-options.txt"
    known = [line for line in listed.read_text().splitlines() if not line.startswith("#")]
    source = ROOT / "tests/interop/HudiOptions.java"
    command = ["java", str(source), os.environ["MERGANSER_HUDI_JAR"], str(Path(SPARK_HOME) / "jars")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert known == sorted(printed)


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    save(frame(spark, [(1, 1, "a")], "id int, ts int, v string"), tmp_path / "t", OPTIONS)
    return Table.load(spark, str(tmp_path / "t"))


# Guarantee (Writes): An option that has an effect only in Hudi is reported by the write, once.
def test_a_write_and_a_statement_report_each_ignored_hudi_option_once(
    spark: SparkSession, sql: Sql, table: Table
) -> None:
    rows = frame(spark, [(1, 2, "b")], "id int, ts int, v string")
    assert table.upsert(rows, options=WriteOptions(hoodie=OF_A_JOB)).ignored_options == REPORTED
    assert table.upsert(rows).ignored_options == ()
    name = sql.create("cow")
    spark.conf.set("hoodie.metrics.on", "true")
    try:
        sql.run(f"INSERT INTO {name} VALUES (1, 1, 'a')")
        again = Table.load(spark, name).upsert(rows)
    finally:
        spark.conf.unset("hoodie.metrics.on")
    assert again.ignored_options == ("hoodie.metrics.on",)


def test_load_refuses_read_options_of_other_formats_and_the_suggested_ones_work(
    spark: SparkSession, table: Table
) -> None:
    first = table.history()[0].instant
    table.upsert(frame(spark, [(2, 1, "later")], "id int, ts int, v string"))

    def reads(option: str, value: str) -> Callable[[], object]:
        return lambda: spark.read.format("merganser").option(option, value).load(table.path)

    for option in ("readChangeFeed", "startingVersion"):
        error = refusal(reads(option, first))
        assert f"'{option}'" in str(error)
        assert "hoodie.datasource.query.type=incremental" in str(error)
    begin = "hoodie.datasource.read.begin.instanttime"
    refused(reads(begin, first), "OPTION_CONFLICT", begin, "hoodie.datasource.query.type")
    window = {"hoodie.datasource.query.type": "incremental", begin: first}
    assert rows_of(load(spark, table.path, **window)) == [(2, 1, "later")]
    refused(reads("hoodie.datasource.qery.type", "x"), "UNKNOWN_OPTION", "'hoodie.datasource.query.type'")
    refused(reads("versionAsOf", "1"), "OPTION_OF_OTHER_FORMAT", "as.of.instant")
    assert rows_of(load(spark, table.path, **{"as.of.instant": first})) == [(1, 1, "a")]


def test_several_paths_in_one_load_are_refused_by_name(spark: SparkSession, table: Table) -> None:
    reader = spark.read.format("merganser")
    refused(lambda: reader.load([table.path, table.path]), "PATHS_SEVERAL", table.path, "union")
    refused(lambda: reader.load(), "PATH_MISSING")
