"""Old instants are moved to the history: by writes, by CALL and from Python; docs/run-it-for-a-year.md shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from snippets import page_text, snippets

import merganser
from merganser import MerganserError

PAGE = "docs/run-it-for-a-year.md"
OFF = {"hoodie.archive.automatic": "false"}


def timeline(path: Path) -> list[str]:
    return sorted(f.name for f in (path / ".hoodie" / "timeline").iterdir() if f.is_file() and f.name[0].isdigit())


def create(spark: SparkSession, path: Path, **more: str) -> merganser.Table:
    return merganser.Table.create(spark, path, "id string, n long", record_key="id", options=more)


def upsert(spark: SparkSession, table: merganser.Table, n: int, **options: str) -> merganser.CommitResult:
    """Without a clean after it, by default: what a clean retains stays on the timeline, with instants of its own."""
    without = {"hoodie.clean.automatic": "false", **options}
    return table.upsert(spark.createDataFrame([("a", n)], "id string, n long"), options=without)


# Guarantee (Services): By default the timeline and the files stay bounded, however long a table is written; nothing is
#   archived that a savepoint, a pending instant or the schema needs, and no commit is lost if a file-system operation
#   of it fails. Also: ArchiveFaultsSuite, ArchivingSuite, test_forty_upserts_leave_the_files_of_the_retained_commits,
#   test_a_clean_reports_deleted_files_and_its_dry_run_deletes_none
@pytest.mark.extensive
def test_forty_upserts_of_a_row_leave_a_bounded_timeline_and_every_commit_is_found(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    table = create(spark, path)
    cleaned = {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "15"}
    instants = [upsert(spark, table, n, **cleaned).instant for n in range(40)]
    # Three files of each write and of the clean after it.
    assert len(timeline(path)) <= 2 * 3 * 30
    active = [entry.instant for entry in reversed(table.history()) if entry.action == "commit"]
    assert 20 <= len(active) <= 30
    shown = spark.sql(f"CALL show_archived_commits(path => '{path}', limit => 100)").collect()
    archived = [row.commit_time for row in shown]
    assert archived[::-1] + active == instants
    assert {row.total_update_records_written for row in shown[:-1]} == {1}
    assert table.df().collect() == [("a", 39)]
    assert table.df(as_of=instants[30]).collect() == [("a", 30)]
    with pytest.raises(MerganserError, match="AS_OF_TOO_EARLY"):
        table.df(as_of=instants[4])


@pytest.mark.extensive
def test_python_and_sql_archive_down_to_their_limits_and_later_writes_work(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create(spark, path)
    instants = [upsert(spark, table, n, **OFF).instant for n in range(8)]
    done = table.services.archive(min_commits=4, max_commits=5)
    assert (done.instants, done.first, done.last, done.remaining) == (4, instants[0], instants[3], 4)
    assert table.services.archive(min_commits=4, max_commits=5).instants == 0
    assert table.df(as_of=instants[1]).collect() == [("a", 1)]
    call = f"CALL archive_commits(path => '{path}', min_commits => 2, max_commits => 3, retain_commits => 0)"
    (row,) = spark.sql(call).collect()
    assert (row.result, row.instants_archived, row.last_instant, row.commits_remaining) == (0, 2, instants[5], 2)
    limits = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    later = [upsert(spark, table, n, **limits).instant for n in (8, 9)]
    assert [entry.instant for entry in table.history() if entry.action != "archive"] == later[::-1]
    assert table.df().collect() == [("a", 9)]


def test_limits_that_contradict_each_other_are_an_error_before_anything_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = create(spark, tmp_path / "t")
    with pytest.raises(MerganserError, match=r"hoodie.keep.max.commits.*hoodie.keep.min.commits"):
        upsert(spark, table, 1, **{"hoodie.keep.min.commits": "30"})
    assert timeline(tmp_path / "t") == []
    with pytest.raises(MerganserError, match="OPTION_CONFLICT"):
        table.services.archive(min_commits=3, max_commits=3)


def test_a_write_whose_archiving_fails_is_committed_and_the_next_one_archives(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    table = create(spark, path)
    limits = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    for n in range(3):
        upsert(spark, table, n)
    history = path / ".hoodie" / "timeline" / "history"
    history.mkdir(exist_ok=True)
    (history / "_version_").write_text("damaged")
    result = upsert(spark, table, 3, **limits)
    assert result.service_failure is not None
    assert "archiving" in result.service_failure
    assert table.df().collect() == [("a", 3)]
    (history / "_version_").unlink()
    assert upsert(spark, table, 4, **limits).service_failure is None
    assert len(timeline(path)) == 6


def test_the_archiving_snippets_print_what_the_page_shows(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    (python,), (sql,) = (snippets(PAGE, language, "Archiving") for language in ("python", "sql"))
    exec(compile(python, PAGE, "exec"), names)
    printed = re.search(r"It prints `([^`]*)`", page_text(PAGE, "Archiving"))
    assert printed is not None
    assert printed[1] in capsys.readouterr().out
    statements = sql.replace("{path}", str(names["path"])).split(";")
    archived, shown = (spark.sql(s).collect() for s in statements if s.strip())
    assert archived[0].result == 0
    assert len(shown) == 3
