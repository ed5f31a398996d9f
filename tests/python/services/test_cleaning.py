"""Old file slices are deleted: after commits by default, by Python and by SQL, with a dry run first."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from frames import frame, load, save
from option_names import COW, KEY, MOR, ORDERING, TYPE
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from snippets import snippets

import merganser
from merganser import CleanResult, Table

COLUMNS = "id int, name string, ts bigint"
OFF = {"hoodie.clean.automatic": "false"}
ONE = {"hoodie.clean.commits.retained": "1"}


def data_files(path: Path) -> set[str]:
    return {
        file.relative_to(path).as_posix()
        for file in path.rglob("*")
        if file.is_file() and ".hoodie" not in file.as_posix() and file.suffix != ".crc"
    }


def upserted(spark: SparkSession, path: Path, times: int, **options: str) -> Table:
    for ts in range(times):
        save(frame(spark, [(1, f"v{ts}", ts)], COLUMNS), path, {KEY: "id", ORDERING: "ts", **options})
    return Table.load(spark, str(path))


@pytest.mark.extensive
@pytest.mark.e2e
@pytest.mark.parametrize("kind", [COW, MOR])
def test_forty_upserts_leave_the_files_of_the_retained_commits(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    compacting = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    commits = 40 if kind == COW else 20  # each followed by a compaction
    table = upserted(spark, path, commits, **{TYPE: kind, **(compacting if kind == MOR else {})})
    files = data_files(path)
    bases = {file for file in files if file.endswith(".parquet")}
    # The files of ten commits, the one before them, and no more.
    assert len(bases) == (11 if kind == COW else 6)
    assert len(files) <= 13
    assert table.df().collect()[0]["name"] == f"v{commits - 1}"
    cleans = [entry for entry in table.history() if entry.action == "clean"]
    assert {entry.state for entry in cleans} == {"COMPLETED"}
    assert sum(entry.files_deleted or 0 for entry in cleans) > commits - 15
    written = [entry.instant for entry in table.history() if entry.action in ("commit", "deltacommit")][::-1]
    assert table.df(as_of=written[-10]).count() == 1
    with pytest.raises(Exception, match="AS_OF_TOO_EARLY") as early:
        table.df(as_of=written[-12]).collect()
    assert written[-10] in str(early.value)
    assert "hoodie.clean.commits.retained" in str(early.value)


@pytest.mark.e2e
def test_a_clean_reports_deleted_files_and_its_dry_run_deletes_none(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = upserted(spark, path, 5, **OFF)
    before = data_files(path)
    assert len(before) == 5
    assert table.clean() == CleanResult((), 0, 0, (), None, 0)
    listed = table.services.dry_run("clean", options=ONE)
    sizes = {file: (path / file).stat().st_size for file in before}
    oldest = sorted(before, key=lambda file: file.rsplit("_", 1)[1])[:3]
    assert {step.item: step.bytes for step in listed} == {file: sizes[file] for file in oldest}
    assert (listed.counts, listed.files, listed.bytes) == ({"delete": 3}, 3, sum(map(sizes.__getitem__, oldest)))
    (row,) = spark.sql(f"CALL run_clean(path => '{path}', retain_commits => 3, dry_run => true)").collect()
    assert (row["total_files_deleted"], [file["path"] for file in row["files"]]) == (1, oldest[:1])
    assert data_files(path) == before
    assert not [entry for entry in table.history() if entry.action == "clean"]

    (done,) = spark.sql(f"CALL run_clean(path => '{path}', retain_commits => 3)").collect()
    written = [entry.instant for entry in reversed(table.history()) if entry.action == "commit"]
    assert (done["total_files_deleted"], done["earliest_commit_to_retain"], done["version"]) == (1, written[-3], 2)
    by_python = table.clean(options=ONE)
    assert (by_python.files_deleted, by_python.earliest_retained) == (2, written[-1])
    assert data_files(path) == before - set(oldest)
    assert dataclasses.is_dataclass(by_python)
    assert table.history()[0].files_deleted == 2

    newest, older = spark.sql(f"CALL show_cleans(path => '{path}')").collect()
    assert (newest["clean_time"], newest["total_files_deleted"]) == (by_python.instants[0], 2)
    assert older["start_clean_time"] == done["start_clean_time"]
    (part, _) = spark.sql(f"CALL show_cleans_metadata(path => '{path}')").collect()
    assert (part["partition_path"], part["policy"], part["success_delete_files"]) == ("", "KEEP_LATEST_COMMITS", 2)
    plans = spark.sql(f"CALL show_clean_plans(path => '{path}')").collect()
    assert [(plan["earliest_instant_to_retain"], plan["total_partitions_to_clean"]) for plan in plans] == [
        (written[-1], 1),
        (written[-3], 1),
    ]
    wrong = f"CALL run_clean(path => '{path}', clean_policy => 'KEEP_NOTHING')"
    with pytest.raises(PySparkException, match="OPTION_VALUE_INVALID"):
        spark.sql(wrong)
    (by_versions,) = spark.sql(
        f"CALL run_clean(path => '{path}', clean_policy => 'KEEP_LATEST_FILE_VERSIONS', file_versions_retained => 1)"
    ).collect()
    assert (by_versions["total_files_deleted"], len(data_files(path))) == (1, 1)
    assert spark.sql(f"CALL run_clean(path => '{path}', clean_policy => 'KEEP_LATEST_BY_HOURS')").collect() == []


def test_a_clean_reads_its_policy_from_the_table_and_from_older_names(spark: SparkSession, tmp_path: Path) -> None:
    upserted(spark, tmp_path / "a", 5, **{"hoodie.cleaner.commits.retained": "2"})
    assert len(data_files(tmp_path / "a")) == 3
    versions = {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "2"}
    upserted(spark, tmp_path / "b", 5, **versions)
    assert len(data_files(tmp_path / "b")) == 2
    hours = {"hoodie.clean.policy": "KEEP_LATEST_BY_HOURS", "hoodie.clean.hours.retained": "0"}
    upserted(spark, tmp_path / "c", 5, **hours)
    assert len(data_files(tmp_path / "c")) == 2
    every_third = {**ONE, "hoodie.clean.max.commits": "3", "hoodie.clean.trigger.strategy": "NUM_COMMITS"}
    table = upserted(spark, tmp_path / "d", 6, **every_third)
    assert [entry.files_deleted for entry in table.history() if entry.action == "clean"] == [3, 1]
    table = upserted(spark, tmp_path / "e", 5, **ONE, **{"hoodie.clean.incremental.enabled": "false"})
    assert len(data_files(tmp_path / "e")) == 2


# Guarantee (Services): A read that was planned before a clean, or goes back before it, finishes or names the setting to
#   raise. Also: test_a_read_of_logs_planned_before_a_clean_finishes_or_names_the_setting_to_raise,
#   CleanedWhileReadSuite
def test_a_read_planned_before_a_clean_finishes_or_names_the_setting_to_raise(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    table = upserted(spark, path, 2, **OFF)
    begun = load(spark, path)
    planned = begun.rdd.map(lambda row: row["name"])
    assert planned.getNumPartitions() > 0
    save(frame(spark, [(1, "newer", 9)], COLUMNS), path, {**ONE})
    assert planned.collect() == ["v1"], "its slice is that before the retained commit"
    save(frame(spark, [(1, "newest", 10)], COLUMNS), path, {**ONE})
    with pytest.raises(Exception, match="SLICE_FILE_MISSING") as gone:
        planned.collect()
    assert "hoodie.clean.commits.retained" in str(gone.value)
    assert table.df().collect()[0]["name"] == "newest"


def test_a_read_of_logs_planned_before_a_clean_finishes_or_names_the_setting_to_raise(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    table = upserted(spark, path, 2, **OFF, **{TYPE: MOR})
    begun = load(spark, path)
    planned = begun.rdd.map(lambda row: row["name"])
    assert planned.getNumPartitions() > 0
    table.compact()
    table.clean(options=ONE)
    assert planned.collect() == ["v1"], "what the compaction replaced is that before the retained commit"
    save(frame(spark, [(1, "newer", 9)], COLUMNS), path, {**OFF})
    table.clean(options=ONE)
    with pytest.raises(Exception, match="SLICE_FILE_MISSING") as gone:
        planned.collect()
    assert "hoodie.clean.commits.retained" in str(gone.value)
    assert table.df().collect()[0]["name"] == "newer"


def test_the_cleaning_snippets_of_the_page_run(spark: SparkSession, tmp_path: Path) -> None:
    page = "docs/run-it-for-a-year.md"
    path = str(tmp_path / "t")
    (code,), (statements,) = (snippets(page, language, "Cleaning") for language in ("python", "sql"))
    exec(compile(code, page, "exec"), {"merganser": merganser, "spark": spark, "path": path})
    calls = [statement.strip() for statement in statements.replace("{path}", path).split(";") if statement.strip()]
    assert len(calls) == 5
    for call in calls:
        spark.sql(call).collect()
