"""Writes that an application numbers: a repetition changes nothing and returns the result of the first."""

from __future__ import annotations

from pathlib import Path

import pytest
from frames import commit_metadata
from pyspark.sql import SparkSession
from sql_steps import Sql, each_kind

import merganser
from merganser import CommitResult, MerganserError, Table, TableType

SCHEMA = "id int, ts bigint, v string"
APP, VERSION = "spark.merganser.write.txnAppId", "spark.merganser.write.txnVersion"


def counts(result: CommitResult) -> tuple[object, ...]:
    return result.instant, result.inserted, result.appended, result.files, result.rows_written, result.bytes_written


@pytest.mark.e2e
@each_kind
def test_a_write_repeated_with_its_transaction_returns_the_first_result_and_changes_nothing(
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


#: Statements by which a write is repeated; each would change the table again.
STATEMENTS = {
    "MERGE by key": "MERGE INTO {t} t USING (SELECT 1 id) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = concat(v, '+'), ts = ts + 1",
    "MERGE by join": "MERGE INTO {t} t USING (SELECT 'a' v) s ON t.v LIKE concat(s.v, '%') "
    "WHEN MATCHED THEN UPDATE SET v = concat(t.v, '+'), ts = ts + 1",
    "UPDATE": "UPDATE {t} SET v = concat(v, '+'), ts = ts + 1",
    "DELETE": "DELETE FROM {t} WHERE id > 1",
    "INSERT OVERWRITE": "INSERT OVERWRITE {t} SELECT id, ts, concat(v, '+') FROM {t} WHERE id = 1",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_repeated_with_its_transaction_returns_the_first_counts_and_changes_nothing(
    sql: Sql, name: str
) -> None:
    table = sql.create("cow")
    statement = STATEMENTS[name].format(t=table)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 1, 'ab')")
    with sql.settings({APP: "job", VERSION: "1"}):
        first = sql.run(statement)
    sql.run(f"INSERT INTO {table} VALUES (3, 1, 'ac')")
    rows, commits = sql.rows(table), sql.commits(table)
    with sql.settings({APP: "job", VERSION: "1"}):
        again = sql.run(statement)
    rows_changed = slice(0, 7)  # without the file groups that were read
    assert [row[rows_changed] for row in again] == [row[rows_changed] for row in first]
    assert sql.rows(table) == rows
    assert sql.commits(table) == commits


# Guarantee (SQL and sessions): Options and the transaction of a statement hold for it alone; a misspelt option is
#   refused.
def test_python_statements_and_run_statement_accept_options_and_a_transaction(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table.create(spark, tmp_path / "t", SCHEMA, record_key="id", ordering_by="ts")
    table.insert([(1, 1, "a"), (2, 1, "b"), (3, 1, "c"), (4, 1, "d")])
    longer = {"v": "concat(v, '+')", "ts": "ts + 1"}
    for number, run in enumerate(
        (
            lambda txn: table.update(longer, "id = 1", txn=txn),
            lambda txn: table.merge([(1, 9, "")]).when_matched_update(longer_of("t")).execute(txn=txn),
            lambda txn: table.merge([(1, 9, "")], "t.ts < s.ts").when_matched_update(longer_of("t")).execute(txn=txn),
            lambda txn: table.delete("id = 2", txn=txn),
            lambda txn: table.delete(keys=[3], txn=txn),
        )
    ):
        first, again = run(("job", number)), run(("job", number))
        assert (first.is_repetition, again.is_repetition) == (False, True)
        assert (again.instant, again.updated, again.deleted) == (first.instant, first.updated, first.deleted)
    assert sorted(map(tuple, table.df().collect())) == [(1, 4, "a+++"), (4, 2, "d+")]
    assert spark.conf.get(APP, None) is None

    commits = len(table.history())
    note = {"_note": "by hand", "hoodie.datasource.write.commitmeta.key.prefix": "_"}
    table.update({"v": "'z'"}, "id = 4", options=note)
    newest = max((tmp_path / "t" / ".hoodie" / "timeline").glob("*commit"))
    assert commit_metadata(spark, newest)["extraMetadata"]["_note"] == "by hand"
    assert table.update({"v": "'y'"}, options={"hoodie.combine.before.upsert": "true"}, dry_run=True).updated == 2
    assert len(table.history()) == commits + 1
    with pytest.raises(MerganserError, match=r"Did you mean 'hoodie\.index\.type'") as error:
        table.merge([(1, 9, "")]).when_matched_delete().execute(options={"hoodie.index.typ": "BLOOM"})
    assert error.value.condition == "UNKNOWN_OPTION"
    with pytest.raises(MerganserError, match="it begins with INSERT") as error:
        spark.sql(f"CALL run_statement(statement => 'INSERT INTO {table.identifier} VALUES (9, 1, \\'x\\')')")
    assert error.value.condition == "RUN_STATEMENT"
    assert len(table.history()) == commits + 1


def test_a_statement_of_a_call_is_run_in_the_current_catalog(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.catalog.elsewhere", "io.merganser.spark.MerganserLakeCatalog")
    spark.conf.set("spark.sql.catalog.elsewhere.warehouse", str(tmp_path))
    spark.sql("CREATE NAMESPACE elsewhere.db")
    spark.sql("CREATE TABLE elsewhere.db.t (id INT, v STRING) USING merganser TBLPROPERTIES (primaryKey = 'id')")
    spark.sql("INSERT INTO elsewhere.db.t VALUES (1, 'a'), (2, 'b')")
    spark.sql("USE elsewhere.db")
    try:
        counts = spark.sql("CALL run_statement(statement => 'UPDATE t SET v = id')").first()
        dry = spark.sql("CALL dry_run(statement => 'DELETE FROM t WHERE id = 1')").collect()
        here = spark.sql("SELECT current_catalog(), current_database()").first()
    finally:
        spark.sql("USE spark_catalog.default")
    assert counts is not None
    assert counts.updated == 2
    assert {row.measure: row.value for row in dry}["deleted"] == 1
    assert here == ("elsewhere", "db")
    assert spark.table("elsewhere.db.t").where("v = id").count() == 2


def longer_of(target: str) -> dict[str, str]:
    return {"v": f"concat({target}.v, '+')", "ts": f"{target}.ts + 1"}


def test_a_repeated_write_without_rows_or_with_table_creation_is_recognized(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    rows = spark.createDataFrame([(1, 1, "a")], SCHEMA)
    creates = rows.write.format("merganser").option("hoodie.datasource.write.recordkey.field", "id")
    creates = creates.option("hoodie.datasource.write.operation", "insert")
    creates.option("txnAppId", "job").option("txnVersion", "1").save(path)
    creates.option("txnAppId", "job").option("txnVersion", "1").save(path)  # mode errorifexists
    with pytest.raises(MerganserError) as error:
        creates.option("txnAppId", "job").option("txnVersion", "2").save(path)
    assert merganser.condition_of(error.value) == "TABLE_EXISTS"
    table = Table.load(spark, path)
    assert table.df().count() == 1

    no_empty_commits = {"hoodie.allow.empty.commit": "false"}
    first = table.delete(rows.where("id > 1"), options=no_empty_commits, txn=("job", 2))
    table.insert(spark.createDataFrame([(2, 1, "b")], SCHEMA))
    again = table.delete(table.df().select("id", "ts", "v"), options=no_empty_commits, txn=("job", 2))
    assert again.is_repetition
    assert again.instant == first.instant
    assert sorted(row.id for row in table.df().collect()) == [1, 2]


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
