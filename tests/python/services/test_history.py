"""What was done to a table: by Python, by SQL; docs/operating.md; tests/python/api runs it over Spark Connect too."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from snippets import page_text, snippets

import merganser
from merganser import HistoryEntry, TableType

PAGE, SECTION = "docs/operating.md", "History"
SCHEMA = "id string, n long, ts long, part string"
QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}

#: Columns of SQL whose field in Python has another name.
NAMES = {"instant_time": "instant", "completed_time": "completed", "files_written": "files"}


def test_the_history_snippets_print_what_the_page_shows(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    (python,), (sql,) = (snippets(PAGE, language, SECTION) for language in ("python", "sql"))
    names: dict[str, Any] = {}
    exec(compile(python, PAGE, "exec"), names)
    printed = re.search(r"The last line prints `([^`]*)`", page_text(PAGE, SECTION))
    assert printed is not None
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == printed[1]
    assert [line.split("  ")[1] for line in lines[-4:-1]] == ["savepoint", "UPSERT", "UPSERT"]
    three, late, recent = (
        spark.sql(statement).collect()
        for statement in sql.replace("{path}", names["path"]).split(";")
        if statement.strip()
    )
    assert [row.comment for row in three] == ["month end", None, None]
    assert [row.late for row in late] == [1]
    assert recent == three
    assert three[0].user == "ops"


def test_the_page_describes_every_column(spark: SparkSession) -> None:
    listed = re.findall(r"^\| (`.*?) \| (.*?) \| .* \|$", page_text(PAGE, SECTION), re.MULTILINE)
    described = [name for columns, _ in listed for name in re.findall(r"`(\w+)`", columns)]
    fields_described = [
        name
        for columns, theirs in listed
        for name in re.findall(r"`(\w+)`", columns if theirs == "the same" else theirs)
    ]
    shown = [
        row[0].split()[1] for row in spark.sql("CALL help(cmd => 'show_history')").collect() if "returns" in row[0]
    ]
    assert sorted(described) == sorted(shown)
    assert sorted(fields_described) == sorted(field.name for field in fields(HistoryEntry))


@pytest.mark.e2e
def test_every_kind_of_action_has_a_history_entry_with_its_counts(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    before = datetime.now(timezone.utc).replace(microsecond=0)
    table = merganser.Table.create(
        spark,
        path,
        SCHEMA,
        record_key="id",
        partition_by="part",
        ordering_by="ts",
        table_type=TableType.MERGE_ON_READ,
    )

    def upsert(*rows: tuple[Any, ...]) -> str:
        return table.upsert(spark.createDataFrame(list(rows), SCHEMA), options=QUIET).instant

    first = upsert(("a", 1, 5, "x"), ("b", 1, 5, "y"))
    table.savepoints.create(user="ops", comments="why")
    upsert(("a", 2, 6, "x"), ("b", 0, 4, "y"), ("b", 9, 9, "y"))
    table.compact(options=QUIET)
    removed = table.delete_partitions(["y"], options=QUIET)
    upsert(("a", 3, 7, "x"))
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    planned = table.compact(schedule_only=True)
    assert planned is not None
    history = table.history()
    assert [(entry.action, entry.operation, entry.state) for entry in history] == [
        ("compaction", None, "REQUESTED"),
        ("clean", None, "COMPLETED"),
        ("deltacommit", "UPSERT", "COMPLETED"),
        ("replacecommit", "DELETE_PARTITION", "COMPLETED"),
        ("commit", "COMPACT", "COMPLETED"),
        ("deltacommit", "UPSERT", "COMPLETED"),
        ("savepoint", None, "COMPLETED"),
        ("deltacommit", "UPSERT", "COMPLETED"),
    ]
    plan, clean, third, replaced, compacted, second, savepoint, oldest = history
    assert (plan.instant, plan.planned, plan.partitions, plan.completed_at) == (planned.instant, 1, 1, None)
    assert (replaced.instant, replaced.groups_replaced, replaced.partitions) == (removed.instant, 1, 1)
    assert (compacted.updated, compacted.files, compacted.partitions) == (2, 2, 2)
    assert (second.appended, second.duplicates, second.files) == (2, 1, 2)
    assert (savepoint.instant, savepoint.user, savepoint.comment) == (first, "ops", "why")
    assert (oldest.inserted, oldest.rows_written, oldest.partitions) == (2, 2, 2)
    for entry in history:
        assert entry.requested_at is not None
        assert before <= entry.requested_at <= datetime.now(timezone.utc)
        if entry.action not in ("compaction", "savepoint"):
            assert (entry.user, entry.application) == (clean.user, spark.sparkContext.applicationId)
            assert entry.engine == "Merganser 0.1.0"
            assert entry.completed_at is not None
            assert entry.completed_at >= entry.requested_at
    assert clean.user
    writes = [third, replaced, compacted, second, oldest]
    assert [entry.readable for entry in writes] == [can_read(table, entry) for entry in writes]
    assert third.readable
    assert oldest.readable

    shown = spark.sql(f"CALL show_history(path => '{path}')").collect()
    for row, entry in zip(shown, history, strict=True):
        for name, value in row.asDict().items():
            ours = getattr(entry, NAMES.get(name, name))
            assert (value.astimezone(timezone.utc) if isinstance(value, datetime) else value) == ours, name
    assert spark.sql(f"CALL show_history(path => '{path}', limit => 2)").collect() == shown[:2]
    assert table.history(2) == history[:2]

    done = table.services.archive(min_commits=1, max_commits=2, options={"hoodie.archive.beyond.savepoint": "true"})
    archiving, *left = table.history()
    assert (archiving.action, archiving.comment) == ("archive", f"{done.first} to {done.last}")
    assert (archiving.elapsed_ms, archiving.readable, archiving.archived) == (None, None, False)
    assert table.history(archived=True)[0] == archiving
    assert [(e.instant, e.action, e.archived) for e in table.history(archived=True)[1:]] == [
        (e.instant, e.action, e.instant not in {other.instant for other in left}) for e in history
    ]
    named = spark.sql(f"CALL show_history(path => '{path}', archived => true, filter => 'archived')").collect()
    assert named != []


def can_read(table: merganser.Table, entry: HistoryEntry) -> bool:
    try:
        table.df(as_of=entry.instant)
    except merganser.MerganserError as failed:
        return failed.condition != "AS_OF_TOO_EARLY"
    return True


# Guarantee (Counts, dry runs and explanations): A compaction counts each version that it removes from the logs once
#   ([how](how-merging-works.md#counts-of-a-commit)). Also:
#   test_compactions_count_each_appended_row_once, SpillSuite, TombstonesSuite
def test_a_compaction_counts_the_lateness_and_ties_of_the_versions_it_merges(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema, kind = "id int, at long", merganser.TableType.MERGE_ON_READ
    table = merganser.Table.create(
        spark, str(tmp_path / "t"), schema, record_key="id", ordering_by="at", table_type=kind, options=QUIET
    )
    table.upsert(spark.createDataFrame([(i, 100) for i in range(4)], schema))
    appended = table.upsert(spark.createDataFrame([(0, 99), (1, 1), (2, 100), (3, 101)], schema))
    table.compact()
    compacted = table.history(1)[0]
    assert (appended.late, appended.lateness) == (0, None)
    assert (compacted.late, compacted.updated, compacted.ties) == (2, 2, 1)
    assert compacted.lateness == {"under 10": 1, "under 100": 1}


#: Late rows of one key in one batch and in several, before and after its update; deletes, two without ordering values.
BATCHES = [
    [("a", 1, 10, False), ("b", 1, 10, False), ("c", 1, 10, False), ("d", 1, 10, False), ("e", 1, 10, False)],
    [("a", 2, 20, False), ("b", 2, 20, False), ("c", 2, 9, False), ("d", 2, 5, False)],
    [("a", 3, 5, False), ("a", 4, 6, False), ("b", 0, None, True), ("c", 3, 8, False), ("d", 3, 6, False)],
    [("a", 5, 7, False), ("e", 0, None, True), ("f", 1, 1, False), ("c", 0, 30, True)],
]
COUNTS = ("inserted", "updated", "late", "deleted", "duplicates")


def counted(
    spark: SparkSession, path: Path, kind: TableType, compacts_logs: bool = False
) -> tuple[list[HistoryEntry], dict[str, int], list[Any]]:
    """The history, newest first, the sums of its counts, and the rows, after the batches and a compaction."""
    schema = "id string, n int, ts long, _hoodie_is_deleted boolean"
    bucket = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    table = merganser.Table.create(
        spark, path, schema, record_key="id", ordering_by="ts", table_type=kind, options=bucket
    )
    for batch in BATCHES:
        table.upsert(spark.createDataFrame(batch, schema), options=QUIET)
    if compacts_logs:
        assert table.services.compact_logs(options={"hoodie.log.compaction.blocks.threshold": "2"})
    if kind == TableType.MERGE_ON_READ:
        table.compact(options=QUIET)
    history = table.history()
    sums = {name: sum(getattr(entry, name) or 0 for entry in history) for name in COUNTS}
    return history, sums, sorted(map(tuple, table.df(columns=["id", "n", "ts"]).collect()))


def test_compactions_count_each_appended_row_once(spark: SparkSession, tmp_path: Path) -> None:
    _, copied, rows = counted(spark, tmp_path / "cow", TableType.COPY_ON_WRITE)
    assert copied == {"inserted": 6, "updated": 2, "late": 8, "deleted": 1, "duplicates": 1}
    history, merged, same = counted(spark, tmp_path / "mor", TableType.MERGE_ON_READ)
    assert same == rows
    # In the logs, c's first late row and one of d's were replaced by later ones before the stored row was known.
    assert merged == {**copied, "late": 6, "duplicates": 3}
    compaction, *writes = history
    assert (compaction.late, compaction.duplicates, compaction.tombstones) == (6, 2, 0)
    assert compaction.lateness == {"no distance": 1, "under 10": 1}  # of e and d, against their stored rows
    assert sum(getattr(compaction, name) for name in COUNTS) == sum(entry.appended or 0 for entry in writes) == 12
    # A delete without an ordering value is a row of the log, and counts as a delete all the same.
    assert [entry.appended_deletes for entry in writes] == [2, 1, 0, 0]
    (compaction, logs, *_), parts, again = counted(
        spark, tmp_path / "logs", TableType.MERGE_ON_READ, compacts_logs=True
    )
    assert (parts, again) == (merged, rows)
    assert (logs.operation, logs.late, logs.duplicates) == ("LOG_COMPACT", 4, 2)
    assert (compaction.late, compaction.duplicates) == (2, 0)


def test_a_result_and_its_history_entry_count_late_rows_by_how_late_they_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = "id int, at timestamp"
    table = merganser.Table.create(spark, str(tmp_path / "t"), schema, record_key="id", ordering_by="at", options=QUIET)
    noon = datetime(2026, 1, 2, 12, tzinfo=timezone.utc)
    first = table.upsert(spark.createDataFrame([(i, noon) for i in range(4)], schema))
    behind = [timedelta(milliseconds=5), timedelta(minutes=30), timedelta(minutes=59), timedelta(days=40)]
    second = table.upsert(spark.createDataFrame([(i, noon - late) for i, late in enumerate(behind)], schema))
    assert (first.late, first.lateness) == (0, None)
    assert second.lateness == {"under 1 second": 1, "under 1 hour": 2, "30 days or more": 1}
    assert [entry.lateness for entry in table.history()] == [second.lateness, None]
    (shown,) = spark.sql(f"CALL show_history(path => '{tmp_path / 't'}', limit => 1)").collect()
    assert shown.lateness == '{"under 1 second":1,"under 1 hour":2,"30 days or more":1}'
