"""CALL of procedures that describe tables, make them, write to them and clean up after failed writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sql_steps import Sql

pytestmark = pytest.mark.e2e


def call(sql: Sql, procedure: str, **arguments: Any) -> list[dict[str, Any]]:
    """The rows of a call, by column; arguments go as parameters of the statement."""
    listed = ", ".join(f"{name} => :{name}" for name in arguments)
    return [row.asDict(recursive=True) for row in sql.spark.sql(f"CALL {procedure}({listed})", arguments).collect()]


@pytest.fixture
def written(sql: Sql) -> str:
    """A merge-on-read table in two partitions: two rows inserted, one of them updated, one late-arriving."""
    table = sql.create("mor", "id int, ts bigint, v string, day string", by="day")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a', 'x'), (2, 5, 'b', 'y')")
    sql.run("SET hoodie.spark.sql.insert.into.operation = upsert")
    try:
        sql.run(f"INSERT INTO {table} VALUES (1, 6, 'c', 'x'), (2, 4, 'late', 'y')")
    finally:
        sql.run("RESET hoodie.spark.sql.insert.into.operation")
    return table


def test_show_commits_lists_each_write_newest_first_with_its_counts(sql: Sql, written: str) -> None:
    newest, oldest = call(sql, "show_commits", table=written)
    assert oldest["commit_time"] < oldest["state_transition_time"] < newest["commit_time"]
    assert [row["action"] for row in (newest, oldest)] == ["deltacommit", "deltacommit"]
    assert (oldest["operation"], oldest["inserted"], oldest["appended"]) == ("INSERT", 2, 0)
    assert (oldest["total_files_added"], oldest["total_files_updated"], oldest["total_partitions_written"]) == (2, 0, 2)
    assert (newest["operation"], newest["inserted"], newest["appended"]) == ("UPSERT", 0, 2)
    assert (newest["total_files_added"], newest["total_files_updated"], newest["total_records_written"]) == (0, 2, 2)
    assert newest["total_bytes_written"] > 0
    call(sql, "run_compaction", op="scheduleandexecute", table=written)
    compacted = call(sql, "show_commits", path=str(sql.folder(written)), limit=1)[0]
    assert (compacted["action"], compacted["operation"]) == ("commit", "COMPACT")
    assert (compacted["updated"], compacted["late"], compacted["ties"], compacted["deleted"]) == (1, 1, 0, 0)


def test_rows_of_a_result_can_be_filtered_and_limited(sql: Sql, written: str) -> None:
    assert [row["operation"] for row in call(sql, "show_commits", table=written, filter="inserted > 0")] == ["INSERT"]
    assert call(sql, "show_commits", table=written, filter="inserted > 0", limit=0) == []
    assert "no_such" in sql.fails(f"CALL show_commits(table => '{written}', filter => 'no_such = 1')")


def test_show_commit_partitions_and_files_list_those_of_one_write(sql: Sql, written: str) -> None:
    newest, oldest = (row["commit_time"] for row in call(sql, "show_commits", table=written))
    partitions = call(sql, "show_commit_partitions", table=written, instant_time=oldest)
    assert [(row["partition_path"], row["total_files_added"], row["total_records_inserted"]) for row in partitions] == [
        ("day=x", 1, 1),
        ("day=y", 1, 1),
    ]
    first = call(sql, "show_commit_files", table=written, instant_time=oldest)
    second = call(sql, "show_commit_files", table=written, instant_time=newest)
    assert [row["file_id"] for row in first] == [row["file_id"] for row in second]
    assert all(row["total_records_written"] == 1 and row["file_size"] > 0 for row in first + second)
    files = call(sql, "show_commits_metadata", table=written)
    assert [(row["commit_time"], row["partition"]) for row in files] == [
        (newest, "day=x"),
        (newest, "day=y"),
        (oldest, "day=x"),
        (oldest, "day=y"),
    ]
    assert {row["file_id"] for row in files} == {row["file_id"] for row in first}
    wrong = sql.fails(f"CALL show_commit_files(table => '{written}', instant_time => '20200101000000000')")
    assert "CALL_ARGUMENT_INVALID" in wrong
    assert "'instant_time'" in sql.fails(f"CALL show_commit_files(table => '{written}')")


def test_show_compaction_and_show_timeline_list_planned_and_completed_compactions(sql: Sql, written: str) -> None:
    assert call(sql, "show_compaction", table=written) == []
    ((instant, *_),) = sql.run(f"CALL run_compaction(op => 'schedule', table => '{written}')")
    planned = {"timestamp": instant, "operation_size": 2, "state": "REQUESTED"}
    assert call(sql, "show_compaction", table=written) == [planned]
    assert [(row["action"], row["state"]) for row in call(sql, "show_timeline", table=written)] == [
        ("compaction", "REQUESTED"),
        ("deltacommit", "COMPLETED"),
        ("deltacommit", "COMPLETED"),
    ]
    call(sql, "run_compaction", op="run", table=written)
    assert call(sql, "show_compaction", table=written) == [{**planned, "state": "COMPLETED"}]
    newest, *_, oldest = call(sql, "show_timeline", table=written)
    assert (newest["instant_time"], newest["action"], newest["operation"]) == (instant, "commit", "COMPACT")
    assert (newest["files_written"], newest["rows_written"], newest["late"]) == (2, 2, 1)
    assert newest["completed_time"] > newest["instant_time"]
    assert newest["elapsed_ms"] > 0
    assert call(sql, "show_timeline", table=written, endTime=oldest["instant_time"]) == [oldest]
    assert len(call(sql, "show_timeline", table=written, startTime=instant)) == 1


def test_show_fsview_latest_lists_slices_with_their_logs_as_of_an_instant(sql: Sql, written: str) -> None:
    x, y = call(sql, "show_fsview_latest", table=written)
    assert (x["partition"], y["partition"]) == ("day=x", "day=y")
    assert (x["num_delta_files"], [log["size"] for log in x["delta_files"]]) == (1, [x["total_delta_file_size"]])
    assert x["data_file"].startswith(x["file_id"])
    assert x["data_file_size"] == (sql.folder(written) / "day=x" / x["data_file"]).stat().st_size
    (then,) = call(
        sql, "show_fsview_latest", table=written, max_instant=x["base_instant"], partition_path="day=y", limit=5
    )
    assert (then["partition"], then["num_delta_files"], then["delta_files"]) == ("day=y", 0, [])


def test_describe_table_and_show_table_properties_return_the_stored_settings(sql: Sql, written: str) -> None:
    (details,) = call(sql, "describe_table", table=written)
    assert (details["type"], details["version"], details["merge_mode"]) == ("MERGE_ON_READ", 9, "EVENT_TIME_ORDERING")
    assert (details["record_key_fields"], details["partition_fields"]) == (["id"], ["day"])
    assert details["ordering_fields"] == ["ts"]
    assert [field["name"] for field in json.loads(details["schema"])["fields"]] == ["id", "ts", "v", "day"]
    listed = {row["key"]: row["value"] for row in call(sql, "show_table_properties", table=written, limit=1000)}
    assert listed["hoodie.table.recordkey.fields"] == "id"
    assert listed["hoodie.table.version"] == "9"
    assert len(call(sql, "show_table_properties", table=written)) == 10
    (one,) = call(sql, "show_table_properties", path=details["path"], filter="key = 'hoodie.table.type'")
    assert one["value"] == "MERGE_ON_READ"


def test_create_table_and_write_rows_make_a_table_at_a_path(sql: Sql, tmp_path: Path) -> None:
    path = (tmp_path / "fares").as_uri()
    made = sql.spark.sql(
        "CALL create_table(path => :path, columns => 'id string, fare double, ts bigint', "
        "options => map('hoodie.datasource.write.recordkey.field', 'id', 'hoodie.table.ordering.fields', 'ts'))",
        {"path": path},
    ).collect()
    assert (made[0]["name"], made[0]["record_key_fields"], made[0]["ordering_fields"]) == ("fares", ["id"], ["ts"])
    key = "options => 'hoodie.datasource.write.recordkey.field=id'"
    assert "TABLE_EXISTS" in sql.fails(f"CALL create_table(path => '{path}', columns => 'id string', {key})")
    assert "'columns'" in sql.fails(f"CALL create_table(path => '{path}2', columns => 'id strin g')")
    rows = sql.spark.createDataFrame([("a", 1.0, 5), ("b", 2.0, 5)], "id string, fare double, ts long")
    rows.createOrReplaceTempView("fares_of_today")
    try:
        (first,) = call(sql, "write_rows", source="fares_of_today", path=path, operation="upsert")
        (again,) = call(sql, "write_rows", source="fares_of_today", path=path, operation="upsert")
        (gone,) = call(sql, "write_rows", source="fares_of_today", path=path, operation="delete")
    finally:
        sql.spark.catalog.dropTempView("fares_of_today")
    assert (first["operation"], first["inserted"], first["rows_written"], first["files_written"]) == ("upsert", 2, 2, 1)
    assert (again["updated"], again["ties"], again["inserted"]) == (2, 2, 0)
    assert (gone["operation"], gone["deleted"]) == ("delete", 2)
    assert first["instant"] < again["instant"] < gone["instant"]


def test_rollback_failed_writes_removes_a_pending_write(sql: Sql, written: str) -> None:
    timeline = sql.folder(written) / ".hoodie" / "timeline"
    (timeline / "20991231235959999.deltacommit.requested").touch()
    assert call(sql, "rollback_failed_writes", table=written) == [
        {"instant": "20991231235959999", "action": "deltacommit", "state": "REQUESTED"}
    ]
    assert not list(timeline.glob("20991231*"))
    assert call(sql, "rollback_failed_writes", table=written) == []
    assert call(sql, "show_rollbacks", table=written) == []
    assert len(sql.rows(written)) == 2
