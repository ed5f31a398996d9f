"""The remedies in messages exist: options, statements, procedures and Python names; the important ones are run."""

from __future__ import annotations

import json
import re
from typing import Any

from frames import frame, rows_of
from places import PYTESTS, ROOT
from pyspark.sql import DataFrameWriterV2, SparkSession
from sql_steps import Sql

from merganser import Table
from merganser.errors import CALLS
from merganser.savepoints import Savepoints
from merganser.services import Services

HERE = "test_remedies.py::test_remedies_named_in_messages_work"
#: What messages name as a way on, and the test that runs it.
RUN = {
    "INSERT": "test_sql_inserts.py::test_insert_into_a_partition_adds_rows_to_it",
    "UPDATE": "test_statement_results.py::test_update_changes_the_rows_that_match_its_condition",
    "MERGE": "test_statement_results.py::test_merge_updates_matched_rows_and_inserts_new_ones",
    "UPDATE SET": "test_statement_results.py::test_merge_updates_matched_rows_and_inserts_new_ones",
    "ALTER TABLE … DROP PARTITION": HERE,
    "CREATE TABLE … AS SELECT": HERE,
    "CREATE OR REPLACE TABLE … AS SELECT": HERE,
    "CREATE TABLE … USING merganser LOCATION": HERE,
    "DROP TABLE": HERE,
    "SHOW PARTITIONS": HERE,
    "VERSION AS OF": HERE,
    "TIMESTAMP AS OF": "test_sql_ddl.py::test_timestamp_as_of_returns_the_rows_of_that_time",
    "CALL dry_run": "test_dry_runs.py::test_a_dry_run_of_a_statement_has_its_counts_and_rows",
    "CALL dry_run_service": "test_dry_runs.py::test_a_dry_run_of_each_service_lists_its_steps_and_changes_nothing",
    "CALL run_statement": "test_transactions.py::"
    "test_python_statements_and_run_statement_accept_options_and_a_transaction",
    "CALL run_clustering": "test_clustering.py::test_a_plan_is_run_later_or_purged",
    "CALL show_clustering": "test_clustering.py::test_a_plan_is_run_later_or_purged",
    "CALL run_compaction": HERE,
    "CALL run_clean": "test_cleaning.py::test_a_clean_reports_deleted_files_and_its_dry_run_deletes_none",
    "CALL start_services": "test_background_services.py::"
    "test_background_services_run_beside_writes_until_they_are_stopped",
    "CALL restore_to_instant": "test_restores.py::test_a_table_is_restored_to_a_write_and_to_a_savepoint",
    "CALL repair_add_partition_meta": "test_verify.py::test_verify_finds_uncommitted_missing_and_unreadable_files",
    "Table.repairs.add_partition_metadata()": "test_repair.py::test_partition_metadata_is_added_and_migrated",
    "CALL repair_properties": "test_repair.py::test_lost_properties_are_recreated_and_wrong_ones_refused",
    "CALL show_commits": "test_sql_procedures.py::test_show_commits_lists_each_write_newest_first_with_its_counts",
    "CALL show_savepoints": "test_savepoints.py::test_a_table_stays_readable_as_of_a_savepoint_until_it_is_deleted",
    "CALL show_timeline": HERE,
    "Table.history()": HERE,
    ".overwrite(condition)": "test_sql_inserts.py::"
    "test_write_to_appends_overwrites_partitions_and_overwrites_by_condition",
    ".overwritePartitions()": HERE,
    ".createOrReplace()": HERE,
    "Table.changes()": "test_incremental.py::test_every_way_to_read_returns_the_rows_that_changed_in_the_window",
    "Table.change_data()": "test_change_data.py::test_each_commit_has_its_changes_with_the_rows_before_and_after",
    "_hoodie_commit_time <=": HERE,
}
#: Settings of Spark and of Hadoop's clients that messages name.
OF_OTHERS = {
    "spark.jars",
    "spark.executor.memory",
    "spark.local.dir",
    "spark.sql.catalog.spark_catalog",
    "spark.sql.sources.partitionOverwriteMode",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.streaming.disabledV2MicroBatchReaders",
    "fs.s3a.attempts.maximum",
    "fs.s3a.create.conditional.enabled",
}
STATEMENT = re.compile(
    r"(?:CALL [a-z_]+|ALTER TABLE … DROP PARTITION"
    r"|CREATE (?:OR REPLACE )?TABLE … (?:AS SELECT|USING merganser LOCATION)"
    r"|DROP TABLE|SHOW PARTITIONS|(?:VERSION|TIMESTAMP) AS OF|UPDATE SET|\b(?:INSERT|UPDATE|MERGE)\b"
    r"|\bTable\.\w+\(\)|\.overwrite\(condition\)|\.(?:overwritePartitions|createOrReplace)\(\)"
    r"|_hoodie_commit_time [<>]=?)"
)
OPTION = re.compile(r"(?<![\w.])(?:hoodie|spark)(?:\.[A-Za-z0-9_{}]+)+(?:\.\*)?|\bas\.of\.instant\b|\bfs\.s3a\.[a-z.]+")


def messages() -> dict[str, str]:
    """Every text with a remedy, by where it stands."""
    found = {}
    for module in ("merge", "table", "spark"):
        conditions = ROOT / f"jvm/{module}/src/main/resources/io/merganser/{module}/conditions.json"
        if conditions.is_file():
            found.update({name: entry["message"] for name, entry in json.loads(conditions.read_text()).items()})
    # The page has the options' own remedies, in the last column of its tables.
    for line in (ROOT / "docs/config.md").read_text().splitlines():
        if line.startswith("| `"):
            found[line.split("|")[1].strip()] = line.split("|")[-2]
    assert len(found) > 150
    return found


def known_options() -> set[str]:
    page = (ROOT / "docs/config.md").read_text()
    own = set(re.findall(r"^- \*\*`([^`]+)`\*\*", page, re.MULTILINE))
    others = re.findall(r"Also: ([^\n]+)\.$", page, re.MULTILINE)
    return own | {name for line in others for name in re.findall(r"`([^`]+)`", line)}


# Guarantee (SQL and sessions): An error has a condition, the cause and a remedy, and the options and statements that it
#   names exist. Also: test_every_statement_or_call_named_in_a_message_is_run_by_a_test,
#   test_frames_statements_and_reads_raise_the_class_of_their_condition_with_a_short_message
def test_every_option_named_in_a_message_exists() -> None:
    known = known_options() | OF_OTHERS
    unknown = []
    for where, text in messages().items():
        for name in OPTION.findall(text):
            wanted = name.removesuffix(".*").rstrip(".")
            if (
                "{" not in wanted
                and wanted != "hoodie.properties"
                and not any(k == wanted or k.startswith(wanted + ".") for k in known)
            ):
                unknown.append((where, name))
    assert unknown == []


def test_every_statement_or_call_named_in_a_message_is_run_by_a_test() -> None:
    named = {found for text in messages().values() for found in STATEMENT.findall(text)}
    assert sorted(named - RUN.keys()) == []
    for place in RUN.values():
        file, test = place.split("::")
        assert f"def {test}(" in PYTESTS[file].read_text(), place
    assert hasattr(Table, "history")
    assert all(hasattr(DataFrameWriterV2, name) for name in ("overwrite", "overwritePartitions", "createOrReplace"))


def test_python_methods_named_in_messages_exist() -> None:
    page = (ROOT / "docs/sql.md").read_text()
    for procedure, method in CALLS.items():
        *holder, name = method.removeprefix("Table.").partition("(")[0].split(".")
        assert hasattr({"services": Services, "savepoints": Savepoints}[holder[0]] if holder else Table, name), method
        assert f"| `{procedure.removeprefix('CALL ').partition('(')[0]}` |" in page, procedure


def test_remedies_named_in_messages_work(spark: SparkSession, sql: Sql) -> None:
    table = sql.create("mor", "id int, ts int, v string, p string", by="p")
    columns = "id int, ts int, v string, p string"

    def rows(query: str) -> list[tuple[Any, ...]]:
        return sorted(sql.run(query))

    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a', 'x'), (2, 1, 'b', 'y')")
    first = sql.run(f"CALL show_timeline(table => '{table}')")[0]
    instant = Table.load(spark, table).history()[0].instant
    assert instant in first
    sql.run(f"UPDATE {table} SET v = 'c' WHERE id = 1")
    at = spark.table(table).filter(f"_hoodie_commit_time <= '{instant}'")
    assert rows_of(at.select("id")) == [(2,)]
    assert rows(f"SELECT id, v FROM {table} VERSION AS OF '{instant}'") == [(1, "a"), (2, "b")]
    sql.run(f"CALL run_compaction(op => 'schedule', table => '{table}')")
    sql.run(f"CALL run_compaction(op => 'run', table => '{table}')")
    frame(spark, [(3, 1, "d", "y")], columns).writeTo(table).overwritePartitions()
    assert rows(f"SELECT id, p FROM {table}") == [(1, "x"), (3, "y")]
    sql.run(f"ALTER TABLE {table} DROP PARTITION (p = 'y')")
    assert [row[0] for row in sql.run(f"SHOW PARTITIONS {table}")] == ["p=x"]
    copy, again = sql.name(), sql.name()
    keyed = "USING merganser TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts')"
    sql.run(f"CREATE TABLE {copy} {keyed} AS SELECT id, ts, v AS w FROM {table}")
    assert rows(f"SELECT id, w FROM {copy}") == [(1, "c")]
    sql.run(f"CREATE OR REPLACE TABLE {copy} {keyed} AS SELECT 7 AS id, 1 AS ts")
    assert rows(f"SELECT * FROM {copy}") == [(7, 1)]
    frame(spark, [(8, 1, 2)], "id int, ts int, n int").writeTo(copy).using("merganser").tableProperty(
        "primaryKey", "id"
    ).createOrReplace()
    assert rows(f"SELECT id, n FROM {copy}") == [(8, 2)]
    sql.run(f"CREATE TABLE {again} USING merganser LOCATION '{sql.folder(table)}'")
    assert rows(f"SELECT id FROM {again}") == [(1,)]
    sql.run(f"DROP TABLE {again}")
