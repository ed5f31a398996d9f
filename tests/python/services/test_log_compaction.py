"""Log compactions: by Python, by SQL, inline after a write; docs/run-it-for-a-year.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from frames import frame, save
from option_names import COW, KEY, MOR, ORDERING, TYPE
from pyspark.sql import SparkSession

import merganser
from merganser import Table

COLUMNS = "id int, name string, ts bigint"
TWO = {"hoodie.log.compaction.blocks.threshold": "2"}


def upserted(spark: SparkSession, path: Path, times: range, **options: str) -> Table:
    for ts in times:
        save(
            frame(spark, [(1, f"v{ts}", ts), (2, f"w{ts}", 0)], COLUMNS),
            path,
            {KEY: "id", ORDERING: "ts", TYPE: MOR, **options},
        )
    return Table.load(spark, str(path))


def rows(table: Table) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in table.df().select("id", "name", "ts").collect())


@pytest.mark.e2e
def test_a_log_compaction_merges_logs_and_keeps_time_travel(spark: SparkSession, tmp_path: Path) -> None:
    table = upserted(spark, tmp_path / "t", range(4))
    assert table.services.compact_logs() is None, "five blocks are the least by default"
    before = rows(table)
    planned = table.services.compact_logs(schedule_only=True, options=TWO)
    assert planned is not None
    assert planned.files == 0
    assert rows(upserted(spark, tmp_path / "t", range(4, 5)))[0] == (1, "v4", 4)
    done = table.services.compact_logs(options=TWO)
    assert done is not None
    assert (done.instant, done.files, done.log_files_compacted) == (planned.instant, 1, 3)
    entries = {entry.instant: entry for entry in table.history()}
    assert (entries[done.instant].action, entries[done.instant].operation) == ("deltacommit", "LOG_COMPACT")
    assert rows(table) == [(1, "v4", 4), (2, "w4", 0)]
    # The plan had the logs before it: the last one is after it, and the two are merged now.
    again = table.services.compact_logs(options=TWO)
    assert again is not None
    assert again.log_files_compacted == 5
    assert table.services.compact_logs(options=TWO) is None
    assert rows(table) == [(1, "v4", 4), (2, "w4", 0)]
    writes = [entry.instant for entry in reversed(table.history()) if entry.operation == "UPSERT"]
    as_of = sorted(tuple(row) for row in table.df(as_of=writes[3]).select("id", "name", "ts").collect())
    assert as_of == before
    compacted = table.compact()
    assert compacted is not None
    assert rows(table) == [(1, "v4", 4), (2, "w4", 0)]


def test_a_write_compacts_logs_at_the_configured_number_of_blocks(spark: SparkSession, tmp_path: Path) -> None:
    inline = {"hoodie.log.compaction.inline": "true", "hoodie.log.compaction.blocks.threshold": "3"}
    table = upserted(spark, tmp_path / "t", range(5), **inline)
    operations = [entry.operation for entry in reversed(table.history()) if entry.state == "COMPLETED"]
    # The merged log is one block: two more make three again.
    assert operations == ["UPSERT"] * 4 + ["LOG_COMPACT", "UPSERT"]
    upserted(spark, tmp_path / "t", range(5, 6), **inline)
    assert [entry.operation for entry in table.history(2)] == ["LOG_COMPACT", "UPSERT"]
    assert rows(table) == [(1, "v5", 5), (2, "w5", 0)]


def test_a_plan_superseded_by_a_compaction_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    table = upserted(spark, tmp_path / "t", range(4))
    call = f"CALL run_log_compaction(path => '{table.path}', op => '{{}}', options => '{{}}')"
    two = ",".join(f"{key}={value}" for key, value in TWO.items())
    ((planned, *_),) = spark.sql(call.format("schedule", two)).collect()
    assert spark.sql(call.format("schedule", two)).collect() == []
    assert table.compact() is not None
    assert spark.sql(call.format("run", two)).collect() == []
    assert planned not in {entry.instant for entry in table.history()}
    assert rows(table) == [(1, "v3", 3), (2, "w3", 0)]


def test_a_log_compaction_of_a_copy_on_write_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    save(frame(spark, [(1, "a", 1)], COLUMNS), tmp_path / "t", {KEY: "id", ORDERING: "ts", TYPE: COW})
    with pytest.raises(merganser.MerganserError, match="COMPACTION_OF_COPY_ON_WRITE"):
        Table.load(spark, str(tmp_path / "t")).services.compact_logs()
    with pytest.raises(merganser.MerganserError, match=r"OPTION_VALUE_INVALID.*blocks\.threshold"):
        Table.load(spark, str(tmp_path / "t")).services.compact_logs(
            options={"hoodie.log.compaction.blocks.threshold": "1"}
        )
