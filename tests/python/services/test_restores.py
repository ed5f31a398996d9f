"""Restores and rollbacks of completed writes: by Python, by SQL and over Spark Connect; docs/undo-yesterday.md."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from frames import frame, save
from option_names import COW, KEY, MOR, ORDERING, TYPE
from pyspark.sql import DataFrame, SparkSession

import merganser
from merganser import Table

COLUMNS = "id int, name string, ts bigint"


def upserted(spark: SparkSession, path: Path, times: range, **options: str) -> Table:
    """Updates the row 1 at each time; at even ones a row is new."""
    for ts in times:
        rows = [(1, f"v{ts}", ts)] + [(10 + ts, "new", ts)] * (ts % 2 == 0)
        save(frame(spark, rows, COLUMNS), path, {KEY: "id", ORDERING: "ts", **options})
    return Table.load(spark, str(path))


def rows_by_key(frame: DataFrame) -> dict[str, dict[str, object]]:
    return {str(row.id): {"id": row.id, "name": row["name"], "ts": row.ts} for row in frame.collect()}


def names(table: Table, **read: str) -> list[str]:
    return sorted(row["name"] for row in table.df(**read).collect())


# Guarantee (Counts, dry runs and explanations): A dry run of a restore, rollback or repair counts all rows, shows those
#   that differ, before and after, and changes nothing. Also:
#   test_only_the_newest_write_is_rolled_back_and_its_rollback_is_shown,
#   test_a_repaired_row_made_of_several_duplicates_is_written_in_the_place_of_the_newest
@pytest.mark.e2e
@pytest.mark.parametrize("kind", [COW, MOR])
def test_a_table_is_restored_to_a_write_and_to_a_savepoint(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    table = upserted(spark, path, range(5), **{TYPE: kind})
    writes = [entry.instant for entry in reversed(table.history())]
    if kind == MOR:
        table.compact()
    before = names(table, as_of=writes[2])
    shown = table.services.dry_run("restore", instant=writes[2])
    (row,) = spark.sql(
        f"CALL restore_to_instant(path => '{path}', instant_time => '{writes[2]}', dry_run => true)"
    ).collect()
    assert (row.restore_result, row.instant, row.newest_commit) == (True, None, writes[2])
    files = [(step.item, step.bytes) for step in shown if step.files]
    lost = [step.item for step in shown if step.action == "roll back"]
    assert (row.commits_lost, row.rows_inserted, row.rows_updated) == (len(lost), 1, 2)
    assert [(file.path, file.size) for file in row.files] == files
    assert len(lost) == (2 if kind == COW else 3)
    assert all((path / file).stat().st_size == size for file, size in files)
    changed = {step.item: (step.action, step.before, step.after) for step in shown.rows}
    now, then = rows_by_key(table.df()), rows_by_key(table.df(as_of=writes[2]))
    differing = {key for key in now.keys() | then.keys() if now.get(key) != then.get(key)}
    assert changed.keys() == differing
    assert all((changed[key][1], changed[key][2]) == (now.get(key), then.get(key)) for key in differing)
    assert (shown.rows_before, shown.rows_after) == (len(differing & now.keys()), len(differing & then.keys()))
    assert shown.row_counts == Counter(action for action, _, _ in changed.values())
    assert names(table)[-1] == "v4"
    done = table.savepoints.restore(writes[2])
    assert [taken.instant for taken in done.taken_back] == lost
    assert [(file.path, file.size_bytes) for file in done.files] == files
    assert done.newest_commit == writes[2]
    assert done.bytes_deleted == shown.bytes == row.total_bytes_deleted
    assert not any((path / file.path).exists() for file in done.files)
    assert names(table) == names(table, as_of=writes[2]) == before
    assert table.history()[0].action == "restore"
    (restore,) = spark.sql(f"CALL show_restores(path => '{path}')").collect()
    assert (restore.instant, set(restore.restored_instants)) == (
        done.instant,
        {taken.instant for taken in done.taken_back},
    )
    with pytest.raises(merganser.MerganserError, match="AS_OF_TAKEN_BACK"):
        table.df(as_of=writes[3])
    with pytest.raises(merganser.MerganserError, match="RESTORE_INSTANT_UNKNOWN"):
        table.savepoints.restore(writes[3])

    saved = table.savepoints.create(writes[1])
    with pytest.raises(merganser.MerganserError, match=f"RESTORE_OF_SAVEPOINT.*{saved.instant}"):
        table.savepoints.restore(writes[0])
    upserted(spark, path, range(7, 8))
    assert spark.sql(f"CALL rollback_to_savepoint(path => '{path}')").first()[0] is True
    assert names(table) == names(table, as_of=saved.instant) == ["new", "v1"]
    with pytest.raises(merganser.MerganserError, match="SAVEPOINT_UNKNOWN"):
        table.savepoints.restore(savepoint="20200101000000000")
    with pytest.raises(TypeError):
        table.savepoints.restore()


def test_only_the_newest_write_is_rolled_back_and_its_rollback_is_shown(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = upserted(spark, path, range(3))
    writes = [entry.instant for entry in reversed(table.history())]
    with pytest.raises(merganser.MerganserError, match=f"ROLLBACK_NOT_NEWEST.*{writes[2]}.*{writes[0]}"):
        table.savepoints.rollback(writes[1])
    shown = table.services.dry_run("rollback")
    assert (shown.steps[0].action, shown.steps[0].item) == ("roll back", writes[2])
    assert [step.after["name"] for step in shown.rows if step.after] == ["v1"]
    # The rows that are shown are a sample, the counts are not.
    few = table.services.dry_run("rollback", rows=1)
    assert len(few.rows) == 1
    assert few.row_counts == shown.row_counts == {"update": 1, "delete": 1}
    assert few.counts == {"roll back": 1, "delete": 1}
    assert str(few).startswith("rollback: roll back=1, delete=1; rows: update=1, delete=1; 1 files, ")
    (row,) = spark.sql(f"CALL rollback_to_instant(path => '{path}', instant_time => '{writes[2]}')").collect()
    assert (row.rollback_result, row.newest_commit, row.commits_lost) == (True, writes[1], 1)
    assert names(table) == ["new", "v1"]
    (shown,) = spark.sql(f"CALL show_rollbacks(path => '{path}')").collect()
    assert (shown.instant, shown.rollback_instant) == (row.instant, writes[2])
    detail = spark.sql(f"CALL show_rollback_detail(path => '{path}', instant_time => '{row.instant}')").collect()
    assert [Path(file.deleted_file).name for file in detail] == [Path(file.path).name for file in row.files]
    assert all(file.succeeded for file in detail)
    done = table.savepoints.rollback()
    assert isinstance(done, merganser.RollbackResult)
    assert done.newest_commit == writes[0]
    upserted(spark, path, range(9, 10))
    assert names(table) == ["new", "v9"]


def test_a_dry_run_of_a_restore_shows_only_rows_of_the_restored_writes(spark: SparkSession, tmp_path: Path) -> None:
    """A write that began first and completed last stays, and one that differs by a microsecond differs."""
    path = tmp_path / "t"
    table = Table.create(spark, path, "id int, at timestamp", record_key="id", partition_by="id")
    noon = datetime(2026, 1, 1, 12)
    for key in (0, 1, 2):
        table.upsert([{"id": key, "at": noon}])
    table.upsert([{"id": 2, "at": noon + timedelta(microseconds=1)}])
    first, began, second, last = [entry.instant for entry in reversed(table.history())]
    (timeline,) = path.glob(".hoodie/timeline")
    (done,) = timeline.glob(f"{began}_*.commit")
    done.rename(timeline / f"{began}_{int(last) + 60_000}.commit")

    def shown(instant: str) -> list[tuple[str, str, object, object]]:
        steps = Table.load(spark, path).services.dry_run("restore", instant=instant).rows
        return [(step.action, step.item, step.before, step.after) for step in steps]

    times = ["2026-01-01 12:00:00.000000", "2026-01-01 12:00:00.000001"]
    before, after = ({"id": 2, "at": at} for at in times)
    assert shown(second) == [("update", "2", after, before)]
    assert shown(began) == [("delete", "2", after, None)]
    assert shown(first) == [("delete", "1", {"id": 1, "at": times[0]}, None), ("delete", "2", after, None)]
    with pytest.raises(merganser.MerganserError, match=r"CALL_ARGUMENT_INVALID.*rows.*-1"):
        spark.sql(f"CALL dry_run_service(service => 'restore', path => '{path}', instant => '{second}', rows => -1)")


@pytest.mark.e2e
def test_a_restore_accepts_a_time_a_result_or_a_history_entry(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create(spark, tmp_path / "t", "id int, n int", record_key="id")
    _, first, second, _ = (table.upsert([(1, n)], options={"hoodie.clean.automatic": "false"}) for n in range(4))
    entry = table.history()[1]
    assert entry.completed is not None
    completed = datetime.strptime(f"{entry.completed}000", "%Y%m%d%H%M%S%f")
    saved = table.savepoints.create(completed - timedelta(milliseconds=1))
    assert saved.instant == first.instant
    table.savepoints.delete(saved)
    table.clean(options={"hoodie.clean.commits.retained": "2"})
    clean = table.history()[0]
    assert (clean.action, entry.instant) == ("clean", second.instant)
    table.upsert([(1, 9)], options={"hoodie.clean.automatic": "false"})
    for time in (second, entry, second.instant, completed, str(completed.isoformat(sep=" ", timespec="milliseconds"))):
        shown = table.services.dry_run("restore", instant=time)
        assert (shown.steps[0].action, shown.steps[0].item) == ("restore", second.instant)
        assert str(shown).startswith(f"restore: to {second.instant} (UPSERT, completed {entry.completed}); roll back=2")
    assert table.services.dry_run("restore", instant=clean).counts["roll back"] == 1
    assert not table.services.dry_run("restore", instant=date.today() + timedelta(days=2))
    saved = table.savepoints.create(second)
    assert table.services.dry_run("restore_savepoint", instant=saved).steps[0].item == second.instant
    with pytest.raises(merganser.MerganserError, match=r"ROLLBACK_NOT_NEWEST.*Table\.savepoints\.restore\("):
        table.savepoints.rollback(second)
    assert table.savepoints.restore(completed).newest_commit == second.instant
    assert [row.n for row in table.df().collect()] == [2]
    for wrong in ("yesterday", date(2020, 1, 1)):
        with pytest.raises(merganser.MerganserError, match=r"RESTORE_INSTANT_UNKNOWN.*Table\.history\(\)") as refused:
            table.savepoints.restore(wrong)
        assert "CALL" not in str(refused.value)
    with pytest.raises(TypeError, match="not int"):
        table.savepoints.restore(5)  # type: ignore[arg-type]
