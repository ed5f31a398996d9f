"""Writes that an application numbers: a repetition changes nothing and returns the result of the first."""

from __future__ import annotations

from pathlib import Path

import pytest
from frames import commit_metadata
from pyspark.sql import SparkSession
from sql_steps import each_kind

import merganser
from merganser import CommitResult, MerganserError, Table, TableType

SCHEMA = "id int, ts bigint, v string"
APP, VERSION = "spark.merganser.write.txnAppId", "spark.merganser.write.txnVersion"


def counts(result: CommitResult) -> tuple[object, ...]:
    return result.instant, result.inserted, result.appended, result.files, result.rows_written, result.bytes_written


@pytest.mark.e2e
@each_kind
def test_a_write_that_is_repeated_with_its_transaction_changes_nothing_and_returns_the_first_result(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = str(tmp_path / "t")
    kinds = {"cow": TableType.COPY_ON_WRITE, "mor": TableType.MERGE_ON_READ}
    table = Table.create(spark, path, SCHEMA, record_key="id", ordering_by="ts", table_type=kinds[kind])
    rows = spark.createDataFrame([(1, 1, "a"), (2, 1, "b")], SCHEMA)
    first = table.insert(rows, txn=("job", 1))
    assert (first.inserted, first.is_repetition, first.warnings) == (2, False, ())

    # By Python, by a frame's options, and after commits without a transaction and of another application.
    again = table.insert(rows, txn=("job", 1))
    assert again.is_repetition
    assert counts(again) == counts(first)
    assert "transaction 'job' version 1 was committed before" in again.warnings[0]
    table.upsert(rows.limit(1))
    table.delete(rows.limit(1), txn=("other", 7))
    if kind == "mor":
        table.compact()
    commits = len(table.history())
    frame = rows.write.format("merganser").mode("append").option("hoodie.datasource.write.operation", "insert")
    frame.option("txnAppId", "job").option("txnVersion", "1").save(path)
    assert counts(table.insert(rows, txn=("job", 1))) == counts(first)
    assert len(table.history()) == commits
    assert table.df().count() == 1

    # SQL, with the session's settings; an earlier version counts as committed, a later one is a new write.
    spark.conf.set(APP, "job")
    try:
        spark.conf.set(VERSION, "0")
        spark.sql(f"INSERT INTO merganser.`{path}` VALUES (3, 1, 'c')")
        spark.sql(f"UPDATE merganser.`{path}` SET v = 'changed'")
        assert len(table.history()) == commits
        spark.conf.set(VERSION, "2")
        for _ in range(2):
            spark.sql(f"INSERT INTO merganser.`{path}` VALUES (3, 1, 'c')")
    finally:
        spark.conf.unset(APP)
        spark.conf.unset(VERSION)
    assert sorted(row.id for row in table.df().collect()) == [2, 3]
    newest = max((tmp_path / "t" / ".hoodie" / "timeline").glob("*commit"))
    listed = commit_metadata(spark, newest)["extraMetadata"]["merganser.transactions"]
    assert '"job":{"version":2' in listed
    assert '"other":{"version":7' in listed


def test_an_application_without_a_version_and_a_version_that_is_no_number_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table.create(spark, tmp_path / "t", SCHEMA, record_key="id", ordering_by="ts")
    rows = spark.createDataFrame([(1, 1, "a")], SCHEMA)
    with pytest.raises(MerganserError) as error:
        table.upsert(rows, options={"txnAppId": "job"})
    assert merganser.condition_of(error.value) == "TRANSACTION_INCOMPLETE"
    with pytest.raises(MerganserError) as error:
        table.upsert(rows, options={"txnAppId": "job", "txnVersion": "one"})
    assert merganser.condition_of(error.value) == "OPTION_VALUE_INVALID"
    with pytest.raises(TypeError, match=r"such as \('orders-job', 17\), not \('job',\)"):
        table.upsert(rows, txn=("job",))  # type: ignore[arg-type]
    assert table.df().count() == 0
