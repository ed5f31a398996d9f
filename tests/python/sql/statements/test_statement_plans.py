"""What MERGE, UPDATE and DELETE cost and report: plans, counts, files that are not read, and the snapshot they see."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import BooleanType
from sql_steps import Sql, each_kind

from merganser import MerganserError

pytestmark = pytest.mark.e2e


#: Files and partitions of a large table; 300 with MERGANSER_FULL=1.
MANY = 300 if os.environ.get("MERGANSER_FULL") else 40

COUNTS = [
    "inserted",
    "updated",
    "unchanged",
    "deleted",
    "late",
    "ties",
    "appended",
    "file_groups_read",
    "file_groups_written",
    "file_groups_pruned",
    "instant",
]


def result(sql: Sql, statement: str) -> dict[str, int]:
    """The one row that a statement gives."""
    frame = sql.spark.sql(statement)
    assert frame.columns == COUNTS
    (row,) = frame.collect()
    return row.asDict()


def explained(sql: Sql, statement: str) -> str:
    return sql.run("EXPLAIN " + statement)[0][0]


def values(*rows: str, names: str = "id, ts, v") -> str:
    return f"(SELECT * FROM VALUES {', '.join(rows)} AS rows({names})) s"


def metrics_of_last_statement(spark: SparkSession) -> dict[str, str]:
    """Name and value of the metrics that the SQL tab shows for the last statement."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList()
    found: dict[str, str] = {}
    for at in range(max(0, executions.size() - 30), executions.size()):
        execution = executions.apply(at)
        known = store.executionMetrics(execution.executionId())
        for i in range(execution.metrics().size()):
            metric = execution.metrics().apply(i)
            value = known.get(metric.accumulatorId())
            if value.isDefined():
                found[metric.name()] = value.get()
    return found


# --- the plan ----------------------------------------------------------------------------------------------------


MERGE_BY_KEY = "MERGE INTO {table} t USING {source} ON {on} WHEN MATCHED AND s.v = 'd' THEN DELETE {more}"


@each_kind
@pytest.mark.parametrize(
    "on",
    [
        "t.id = s.id",
        "s.id <=> t.id AND t.p = s.p",
        "t.id = s.id AND t.p = s.p AND t.n > s.ts",
        "t.id = s.id AND t.p = 'x'",
        "t.id = s.id AND t.n > s.ts",
        "t.id = s.id AND t.p IN ('x', 'y')",
    ],
)
def test_merge_on_the_record_key_does_not_join_the_target(sql: Sql, kind: str, on: str) -> None:
    table = sql.create(kind, "id int, ts bigint, v string, n int, p string", by="p")
    source = "(SELECT * FROM VALUES (1, 6L, 'd', 3, 'x') AS rows(id, ts, v, n, p)) s"
    more = "WHEN MATCHED THEN UPDATE SET v = s.v, ts = s.ts WHEN NOT MATCHED THEN INSERT *"
    plan = explained(sql, MERGE_BY_KEY.format(table=table, source=source, on=on, more=more))
    assert "RowLevelCommandByKey MERGE" in plan
    assert "no join" in plan
    assert "Join " not in plan.replace("no join", "")
    assert "BatchScan" not in plan
    assert "WHEN MATCHED AND (s.v = 'd') THEN DELETE; WHEN MATCHED THEN UPDATE SET ts, v" in plan


@each_kind
@pytest.mark.parametrize(
    ("key", "source", "on"),
    [
        ("bigint", "SELECT 1 AS id, 6L AS ts, 'x' AS v", "t.id = s.id"),
        ("int", "SELECT 1L AS id, 6L AS ts, 'x' AS v", "t.id = s.id"),
        ("int", "SELECT 1L AS id, 6L AS ts, 'x' AS v", "t.id = CAST(s.id AS int)"),
        ("string", "SELECT 1 AS id, 6L AS ts, 'x' AS v", "t.id = CAST(s.id AS string)"),
    ],
)
def test_merge_looks_up_keys_of_another_type_without_a_join(
    sql: Sql, kind: str, key: str, source: str, on: str
) -> None:
    table = sql.create(kind, f"id {key}, ts bigint, v string")
    merge = (
        f"MERGE INTO {table} t USING ({source}) s ON {on} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert "no join" in explained(sql, merge)
    for _ in range(2):
        sql.run(merge)
    assert sql.rows(table, "CAST(id AS int), ts, v") == [(1, 6, "x")]


@each_kind
def test_merge_by_another_condition_or_with_not_matched_by_source_joins(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    update = "WHEN MATCHED THEN UPDATE SET v = s.v"
    source = values("(1, 6L, 'x')")
    by_value = explained(sql, f"MERGE INTO {table} t USING {source} ON t.v = s.v {update}")
    assert "RowLevelCommandByJoin MERGE" in by_value
    assert "files chosen by v of the source" in by_value
    lacking = explained(
        sql,
        f"MERGE INTO {table} t USING {values('(1, 6L, 1)')} ON t.id = s.id {update} "
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
    )
    assert "RowLevelCommandOverQuery MERGE" in lacking
    assert "Join" in lacking
    assert "BatchScan" in lacking


# --- what it reports ---------------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("index", [{}, {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}])
def test_merge_reports_equal_counts_in_its_result_commit_and_metrics(
    sql: Sql, kind: str, index: dict[str, str]
) -> None:
    table = sql.create(kind, **index)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b'), (3, 5, 'c'), (4, 5, 'd'), (5, 5, 'e')")
    source = values("(1, 6L, 'up')", "(2, 5L, 'tie')", "(3, 1L, 'late')", "(4, 9L, 'del')", "(9, 1L, 'new')")
    counts = result(
        sql,
        f"MERGE INTO {table} t USING {source} ON t.id = s.id WHEN MATCHED AND s.v = 'del' THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )
    expected = {"inserted": 1, "updated": 2, "deleted": 1, "late": 1, "ties": 1}
    assert {name: counts[name] for name in expected} == expected
    if kind == "cow":
        assert counts["unchanged"] == 1
    assert counts["file_groups_read"] == 1
    assert counts["file_groups_written"] == 1
    assert counts["file_groups_pruned"] == 0
    shown = metrics_of_last_statement(sql.spark)
    assert {name: shown[name] for name in expected} == {name: str(count) for name, count in expected.items()}
    (commit,) = sql.run(f"CALL show_commits(table => '{table}', limit => 1)")
    columns = sql.spark.sql(f"CALL show_commits(table => '{table}', limit => 1)").columns
    stored = dict(zip(columns, commit, strict=True))
    if kind == "cow":
        assert {name: stored[name] for name in expected} == expected
    assert sql.rows(table) == [(1, 6, "up"), (2, 5, "tie"), (3, 5, "c"), (5, 5, "e"), (9, 1, "new")]


@each_kind
def test_a_row_inserted_under_a_stored_key_is_counted_as_updated(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b')")
    source = values("(1, 6L, 'up')", "(3, 6L, 'new')")
    counts = result(sql, f"MERGE INTO {table} t USING {source} ON t.v = s.v WHEN NOT MATCHED THEN INSERT *")
    assert (counts["inserted"], counts["updated"], counts["appended"]) == (1, 1, 0)
    assert sql.rows(table) == [(1, 6, "up"), (2, 5, "b"), (3, 6, "new")]


@each_kind
def test_update_and_delete_return_their_counts(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b'), (3, 5, 'c')")
    updated = result(sql, f"UPDATE {table} SET v = 'z' WHERE id > 1")
    assert (updated["updated"], updated["ties"], updated["inserted"], updated["deleted"]) == (2, 2, 0, 0)
    late = result(sql, f"UPDATE {table} SET ts = 1 WHERE id = 1")
    assert (late["updated"], late["late"]) == (0, 1)
    deleted = result(sql, f"DELETE FROM {table} WHERE id = 3")
    assert (deleted["deleted"], deleted["file_groups_written"]) == (1, 1)
    nothing = result(sql, f"DELETE FROM {table} WHERE id = 33")
    assert (nothing["deleted"], nothing["file_groups_written"]) == (0, 0)


# --- which files are read ------------------------------------------------------------------------------------------


def many_files(sql: Sql, tmp_path: Path, kind: str, partitioned: bool) -> str:
    """A table of MANY file groups of ten keys each, loaded in key order, or of as many partitions."""
    place = tmp_path / "many"
    frame = sql.spark.range(MANY * 10, numPartitions=2).selectExpr(
        "id", "id AS ts", "concat('v', id) AS v", "cast(id div 10 AS int) AS p"
    )
    options = {
        "hoodie.table.name": "many",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE" if kind == "cow" else "MERGE_ON_READ",
        "hoodie.datasource.write.operation": "bulk_insert",
        "hoodie.bulkinsert.shuffle.parallelism": "2" if partitioned else str(MANY),
        "hoodie.parquet.small.file.limit": "0",
        **({"hoodie.datasource.write.partitionpath.field": "p"} if partitioned else {}),
    }
    frame.write.format("merganser").options(**options).save(str(place))
    return f"merganser.`{place}`"


FEW = values(
    "(15L, 9000L, 'v15')", f"({MANY * 7}L, 9000L, 'v{MANY * 7}')", f"({MANY * 10 - 1}L, 9000L, 'v{MANY * 10 - 1}')"
)


def test_the_sql_tab_shows_the_counts_of_service_calls(sql: Sql) -> None:
    table = sql.create("mor")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 1, 'b')")
    sql.run(f"UPDATE {table} SET v = 'c' WHERE id = 1")
    sql.run(f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}')")
    compacted = metrics_of_last_statement(sql.spark)
    assert (compacted["operation size"], compacted["rows written"], compacted["log files compacted"]) == ("1", "2", "1")
    rewritten = sql.create("cow")
    for ts in range(3):
        sql.run(f"INSERT INTO {rewritten} VALUES (1, {ts}, 'a')")
    sql.run(f"CALL run_clean(table => '{rewritten}', retain_commits => 1)")
    assert metrics_of_last_statement(sql.spark)["total files deleted"] == "1"
    sql.run(f"CALL run_clustering(table => '{rewritten}')")
    clustered = metrics_of_last_statement(sql.spark)
    assert (clustered["files replaced"], clustered["rows written"]) == ("1", "3")
    sql.run(f"CALL rollback_to_instant(table => '{rewritten}')")
    assert metrics_of_last_statement(sql.spark)["commits lost"] == "1"
    sql.run(f"CALL archive_commits(table => '{rewritten}', min_commits => 1, max_commits => 2, retain_commits => 0)")
    assert "instants archived" in metrics_of_last_statement(sql.spark)
    sql.run(f"CALL remove_orphan_files(table => '{rewritten}')")
    assert "size in bytes" in metrics_of_last_statement(sql.spark)


@each_kind
def test_merge_reads_only_files_whose_key_range_has_a_source_key(sql: Sql, tmp_path: Path, kind: str) -> None:
    table = many_files(sql, tmp_path, kind, partitioned=False)
    (count,) = sql.run(f"SELECT count(DISTINCT _hoodie_file_name) FROM {table}")[0]
    assert count == MANY
    # by key, then by a condition that is a join
    counts = result(sql, f"MERGE INTO {table} t USING {FEW} ON t.id = s.id WHEN MATCHED THEN UPDATE SET ts = s.ts")
    assert (counts["updated"], counts["file_groups_read"], counts["file_groups_pruned"]) == (3, 3, MANY - 3)
    if kind == "mor":
        sql.run(f"CALL run_compaction(op => 'scheduleandexecute', path => '{table[11:-1]}')")
    joined = f"MERGE INTO {table} t USING {FEW} ON t.id = s.id + 0 AND t.v <> 'x' WHEN MATCHED THEN UPDATE SET v = 'j' "
    counts = result(sql, joined + "WHEN NOT MATCHED AND s.id < 0 THEN INSERT (id, ts, v) VALUES (s.id + 1, s.ts, s.v)")
    assert (counts["updated"], counts["file_groups_read"], counts["file_groups_pruned"]) == (3, 3, MANY - 3)
    assert metrics_of_last_statement(sql.spark)["file groups read"] == "3"
    value = f"(SELECT 'v{MANY * 5 + 5}' v) s"
    counts = result(sql, f"MERGE INTO {table} t USING {value} ON t.v = s.v WHEN MATCHED AND t.ts < 0 THEN DELETE")
    # those to which the statement before assigned other values may hold any
    assert counts["file_groups_read"] <= 4
    assert sql.run(f"SELECT count(*), count_if(v = 'j') FROM {table}") == [(MANY * 10, 3)]


def test_merge_reads_only_files_whose_numeric_range_has_a_source_value(sql: Sql) -> None:
    columns = "id bigint, at timestamp, cost decimal(12, 2), share double"
    table = sql.create("cow", columns, ordering=None, **{"hoodie.parquet.small.file.limit": "0"})
    made = "id, timestamp_seconds(id) AS at, cast(id AS decimal(12, 2)) AS cost, id / 8D - 50 AS share"
    for first in range(0, 1200, 200):
        sql.run(f"INSERT INTO {table} SELECT {made} FROM range({first}, {first + 200})")
    source = f"(SELECT {made} FROM VALUES (5L), (150L), (1000L) AS rows(id)) s"
    for column in ("id", "at", "cost", "share"):
        counts = result(
            sql, f"MERGE INTO {table} t USING {source} ON t.{column} = s.{column} WHEN MATCHED AND t.id < 0 THEN DELETE"
        )
        assert (column, counts["file_groups_read"], counts["file_groups_pruned"]) == (column, 2, 4)


def test_merge_reads_only_the_partitions_of_its_source(sql: Sql, tmp_path: Path) -> None:
    table = many_files(sql, tmp_path, "cow", partitioned=True)
    # A partition at the seam of two tasks has two files.
    (files,) = sql.run(f"SELECT count(DISTINCT _hoodie_file_name) FROM {table}")[0]
    assert MANY <= files <= MANY + 1
    rows = values("(15L, 1000L, 1)", "(16L, 1000L, 1)", "(31L, 1000L, 3)", "(70L, 1000L, 7)", names="id, ts, p")
    keyed = f"MERGE INTO {table} t USING {rows} ON t.id = s.id AND t.p = s.p WHEN MATCHED THEN UPDATE SET ts = s.ts"
    counts = result(sql, keyed)
    # The other partitions are not listed, so their file groups are not counted.
    assert (counts["updated"], counts["file_groups_read"], counts["file_groups_pruned"]) == (4, 3, 0)
    source = f"(SELECT DISTINCT p FROM {rows}) s"
    joined = f"MERGE INTO {table} t USING {source} ON t.p = s.p WHEN MATCHED THEN UPDATE SET v = 'p'"
    counts = result(sql, joined)
    assert (counts["updated"], counts["file_groups_read"], counts["file_groups_pruned"]) == (30, 3, 0)


@each_kind
def test_an_update_logs_only_the_assigned_columns(sql: Sql, kind: str) -> None:
    if kind == "cow":
        table = sql.create(kind, "id int, ts bigint, v string, n int")
        sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a', 1)")
        assert result(sql, f"UPDATE {table} SET n = 2")["updated"] == 1
        assert not list(sql.folder(table).glob(".*.log.*"))
        return
    table = sql.create(kind, "id int, ts bigint, v string, n int, untouched string")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a', 1, 'u')")
    sql.run(f"MERGE INTO {table} t USING (SELECT 1 id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = t.n + 1")
    sql.run(f"UPDATE {table} SET n = n + 1")
    logs = [log.read_bytes() for log in sql.folder(table).glob(".*.log.*") if not log.name.endswith(".crc")]
    assert len(logs) == 2
    assert all(b'"n"' in log and b"untouched" not in log for log in logs)
    assert sql.rows(table) == [(1, 5, "a", 3, "u")]


# --- which rows win --------------------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("on", ["t.id = s.id", "t.id = s.id + 0"])
def test_the_duplicates_setting_refuses_several_source_rows_of_a_key(sql: Sql, kind: str, on: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b')")
    source = values("(1, 6L, 'one')", "(1, 7L, 'two')", "(2, 6L, 'x')")
    merge = f"MERGE INTO {table} t USING {source} ON {on} WHEN MATCHED THEN UPDATE SET v = s.v"
    sql.run("SET spark.merganser.sql.duplicates=fail")
    try:
        message = sql.fails(merge)
    finally:
        sql.run("RESET spark.merganser.sql.duplicates")
    assert "MERGE_CARDINALITY_VIOLATION" in message
    assert "one" in message
    assert "two" in message
    assert "s.v=x" not in message
    assert sql.rows(table) == [(1, 5, "a"), (2, 5, "b")]
    sql.run(merge)
    assert sql.rows(table) == [(1, 5, "two"), (2, 5, "x")]


@each_kind
def test_a_null_assigned_by_a_statement_is_stored_and_one_of_a_frame_is_ignored(sql: Sql, kind: str) -> None:
    table = sql.create(
        kind, **{"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.PartialUpdateAvroPayload"}
    )
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b'), (3, 5, 'c')")
    sql.run(f"UPDATE {table} SET v = NULL WHERE id = 1")
    sql.run(
        f"MERGE INTO {table} t USING (SELECT 2 id, 6L ts, CAST(NULL AS STRING) v) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET *"
    )
    frame = sql.spark.sql("SELECT 3 id, 6L ts, CAST(NULL AS STRING) v")
    frame.write.format("merganser").mode("append").save(str(sql.folder(table)))
    assert sql.rows(table) == [(1, 5, None), (2, 6, None), (3, 6, "c")]


# --- one snapshot ----------------------------------------------------------------------------------------------------


@pytest.fixture
def gate(sql: Sql, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A function `wait_here` that statements call: it signals that they run, and waits until they may go on."""
    started, go = tmp_path / "started", tmp_path / "go"
    begun, may = str(started), str(go)

    def wait_here(_: Any) -> bool:
        import pathlib
        import time

        pathlib.Path(begun).touch()
        for _ in range(600):
            if pathlib.Path(may).exists():
                return True
            time.sleep(0.1)
        raise TimeoutError("nobody let the statement go on")

    sql.spark.udf.register("wait_here", wait_here, BooleanType())
    sql.run("SET hoodie.clean.failed.writes.policy=LAZY")
    yield started, go
    sql.run("RESET hoodie.clean.failed.writes.policy")


def meanwhile(sql: Sql, gate: tuple[Path, Path], statement: str, other: str) -> None:
    """Runs `other` to its end while `statement` is under way; raises what `statement` raises."""
    started, go = gate
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(sql.run, statement)
        try:
            for _ in range(600):
                if started.exists() or running.done():
                    break
                time.sleep(0.1)
            sql.run(other)
        finally:
            go.touch()
        running.result()


@each_kind
@pytest.mark.parametrize("how", ["update", "merge"])
def test_a_statement_conflicts_with_rows_changed_by_another_writer_since_its_begin(
    sql: Sql, gate: tuple[Path, Path], kind: str, how: str
) -> None:
    table = sql.create(kind, "id int, n int", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 10), (2, 20)")
    statement = {
        "update": f"UPDATE {table} SET n = n + 1 WHERE wait_here(id)",
        "merge": f"MERGE INTO {table} t USING (SELECT id, n FROM {table} WHERE wait_here(id)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET n = s.n + 1",
    }[how]
    with pytest.raises(MerganserError, match="COMMIT_CONFLICT"):
        meanwhile(sql, gate, statement, f"UPDATE {table} SET n = 100 WHERE id = 1")
    assert sql.rows(table) == [(1, 100), (2, 20)]


@each_kind
def test_a_statement_does_not_read_rows_added_by_another_writer_since_its_begin(
    sql: Sql, gate: tuple[Path, Path], kind: str
) -> None:
    table = sql.create(kind, "id int, n int, p string", ordering=None, by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 10, 'a'), (2, 20, 'a')")
    statement = (
        f"MERGE INTO {table} t USING (SELECT 1 id, max(n) n, 'a' p FROM {table} WHERE wait_here(id)) s "
        "ON t.id = s.id AND t.p = s.p WHEN MATCHED THEN UPDATE SET n = s.n + (SELECT count(*) FROM {table})"
    ).replace("{table}", table)
    meanwhile(sql, gate, statement, f"INSERT INTO {table} VALUES (3, 1000, 'c')")
    assert sql.rows(table) == [(1, 22, "a"), (2, 20, "a"), (3, 1000, "c")]
