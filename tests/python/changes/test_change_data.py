"""Change data: what each commit changed, with the rows before and after, of both types of tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from frames import frame, load, refusal, refused, save
from option_names import COW, INDEX, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from plans import metric, scan_node
from pyspark.sql import SparkSession
from snippets import page_text, snippets
from sql_steps import Sql

from merganser import Table

PAGE = "docs/reading-changes.md"

COLUMNS = "id string, v int, note string, ts bigint"
OPTIONS = {KEY: "id", ORDERING: "ts"}
RECORDED = {"hoodie.table.cdc.enabled": "true"}
FILLING = "org.apache.hudi.common.model.OverwriteNonDefaultsWithLatestAvroPayload"
each_type = pytest.mark.parametrize("kind", [COW, MOR])
each_source = pytest.mark.parametrize("recorded", [{}, RECORDED], ids=["compared", "recorded"])


def upsert(spark: SparkSession, path: Path, rows: list[Any], **options: str) -> None:
    save(frame(spark, rows, COLUMNS), path, {**OPTIONS, **options})


def changes(spark: SparkSession, path: Path, since: str = "earliest", **more: Any) -> list[tuple[Any, ...]]:
    """Number of the commit, operation, row before and row after, in the order of the commits."""
    found = Table.load(spark, str(path)).change_data(since=since, **more).collect()
    instants = sorted({row.instant for row in found})
    shown = [
        (instants.index(r.instant), r.op, r.before and tuple(r.before), r.after and tuple(r.after), *r[5:])
        for r in found
    ]
    return sorted(shown, key=str)


@pytest.mark.e2e
@each_type
@each_source
def test_each_commit_has_its_changes_with_the_rows_before_and_after(
    spark: SparkSession, tmp_path: Path, kind: str, recorded: dict[str, str]
) -> None:
    path, options = tmp_path / "t", {TYPE: kind, **recorded}
    upsert(spark, path, [("a", 1, "x", 1), ("b", 2, None, 5)], **options)
    upsert(spark, path, [("a", 3, "y", 2), ("b", 9, "late", 4), ("c", 4, None, 1)], **options)
    if kind == MOR:
        Table.load(spark, str(path)).compact()
    upsert(spark, path, [("a", 3, "y", 2), ("b", 5, None, 5)], **options)
    upsert(spark, path, [("c", None, None, None)], **options, **{OPERATION: "delete"})
    assert changes(spark, path, reason=True) == [
        (0, "i", None, ("a", 1, "x", 1), "won"),
        (0, "i", None, ("b", 2, None, 5), "won"),
        (1, "i", None, ("c", 4, None, 1), "won"),
        (1, "u", ("a", 1, "x", 1), ("a", 3, "y", 2), "won"),
        (2, "u", ("b", 2, None, 5), ("b", 5, None, 5), "tie"),
        (3, "d", ("c", 4, None, 1), None, "deleted"),
    ]
    third = Table.load(spark, str(path)).change_data(since="earliest").selectExpr("max(completion_time)").first()
    assert third is not None
    assert changes(spark, path, since=third[0]) == []
    columns = Table.load(spark, str(path)).change_data(since="earliest", json=True).filter("op = 'd'").collect()
    assert [row.asDict().keys() for row in columns] == [{"op", "ts_ms", "before", "after"}]
    assert json.loads(columns[0].before) == {"id": "c", "v": 4, "note": None, "ts": 1}
    assert columns[0].after is None


@each_type
def test_a_table_of_version_6_has_change_data(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    path, options = tmp_path / "t", {TYPE: kind, "hoodie.write.table.version": "6"}
    upsert(spark, path, [("a", 1, "x", 1), ("b", 2, None, 5)], **options)
    upsert(spark, path, [("a", 3, "y", 2)], **options)
    upsert(spark, path, [("b", 5, None, 6)], **options)
    assert changes(spark, path) == [
        (0, "i", None, ("a", 1, "x", 1)),
        (0, "i", None, ("b", 2, None, 5)),
        (1, "u", ("a", 1, "x", 1), ("a", 3, "y", 2)),
        (2, "u", ("b", 2, None, 5), ("b", 5, None, 6)),
    ]


@each_source
def test_an_overwrite_deletes_replaced_rows_and_a_moved_row_is_deleted_and_inserted(
    spark: SparkSession, tmp_path: Path, recorded: dict[str, str]
) -> None:
    path = tmp_path / "t"
    options = {PARTITION: "note", INDEX: "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true"}
    upsert(spark, path, [("a", 1, "x", 1), ("b", 2, "x", 1)], **options, **recorded)
    upsert(spark, path, [("a", 1, "y", 2)], **options)
    upsert(spark, path, [("c", 3, "x", 3)], **options, **{OPERATION: "insert_overwrite"})
    assert changes(spark, path)[2:] == [
        (1, "d", ("a", 1, "x", 1), None),
        (1, "i", None, ("a", 1, "y", 2)),
        (2, "d", ("b", 2, "x", 1), None),
        (2, "i", None, ("c", 3, "x", 3)),
    ]


@each_type
def test_services_add_no_change_data_and_a_filled_column_has_its_reason(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path, options = tmp_path / "t", {TYPE: kind, "hoodie.datasource.write.payload.class": FILLING}
    upsert(spark, path, [("a", None, "x", 5), ("b", 1, "x", 1)], **options)
    upsert(spark, path, [("a", 7, None, 5)], **options)
    table = Table.load(spark, str(path))
    before = changes(spark, path, reason=True)
    assert before[2:] == [(1, "u", ("a", None, "x", 5), ("a", 7, "x", 5), "filled")]
    if kind == MOR:
        table.compact()
    table.services.cluster()
    assert changes(spark, path, reason=True) == before


@pytest.mark.e2e
def test_sql_and_frames_read_change_data_as_hudi_names_it(spark: SparkSession, sql: Sql, tmp_path: Path) -> None:
    path = tmp_path / "t"
    upsert(spark, path, [("a", 1, None, 1)], **RECORDED)
    upsert(spark, path, [("a", 2, None, 2)], **RECORDED)
    found = spark.sql(f"SELECT op, before, after FROM hudi_table_changes('{path}', 'cdc', 'earliest')").collect()
    images = [(r.op, r.before and json.loads(r.before)["v"], r.after and json.loads(r.after)["v"]) for r in found]
    assert sorted(images, key=str) == [("i", None, 1), ("u", 1, 2)]
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.query.incremental.format": "cdc",
        "hoodie.datasource.read.begin.instanttime": "earliest",
    }
    read = load(spark, path, **options)
    assert read.columns == ["op", "ts_ms", "before", "after"]
    assert read.groupBy("op").count().orderBy("op").collect() == [("i", 1), ("u", 1)]
    declared = spark.read.format("merganser").schema("id string, v int").options(**options)
    error = refusal(lambda: declared.load(str(path)).collect())
    assert error.condition == "CHANGE_DATA_COLUMNS"
    assert "hoodie.datasource.query.incremental.format=cdc" in str(error)
    assert "Table.change_data()" in str(error)


@pytest.mark.sampled
@each_type
@each_source
def test_filters_on_images_skip_file_groups_of_other_partitions_and_lose_no_change(
    spark: SparkSession, tmp_path: Path, kind: str, recorded: dict[str, str]
) -> None:
    path, options = tmp_path / "t", {TYPE: kind, PARTITION: "note", **recorded}
    upsert(spark, path, [(f"{note}{i}", i, note, 1) for note in "xyz" for i in range(3)], **options)
    upsert(spark, path, [("x0", 7, "x", 2), ("y0", 7, "y", 2)], **options)
    upsert(spark, path, [("x1", None, "x", None)], **options, **{OPERATION: "delete"})
    every = Table.load(spark, str(path)).change_data().select("op", "before", "after")
    # What Spark finds of all changes, without a scan that knows the filter.
    found = spark.createDataFrame(every.collect(), every.schema)
    for condition, groups in {
        "after.note = 'x'": 3,
        "before.note = 'x' OR after.note = 'x'": 3,
        "after.note IN ('y', 'z') AND after.v > 1": 3,
        "before.note > 'w' AND before.note < 'y'": 3,
        "NOT after.note = 'x'": 3,
        "after.note IS NULL": 6,
        "NOT (after.note <=> 'x')": 6,
        "op = 'd' OR after.note = 'y'": 6,
        "after.id = 'x0' OR before.id = 'x0'": 6,
        "before.id = 'x1'": 6,
    }.items():
        rows = every.where(condition)
        assert sorted(map(str, rows.collect())) == sorted(map(str, found.where(condition).collect())), condition
        assert (condition, metric(rows, "fileGroupsRead")) == (condition, groups)


@each_type
@each_source
def test_a_query_of_some_image_columns_reads_these_columns_alone(
    spark: SparkSession, tmp_path: Path, kind: str, recorded: dict[str, str]
) -> None:
    path = tmp_path / "t"
    upsert(spark, path, [("a", 1, "x", 1), ("b", 2, None, 5)], **{TYPE: kind}, **recorded)
    upsert(spark, path, [("a", 1, "y", 2)], **{TYPE: kind})
    upsert(spark, path, [("c", 3, "z", 3)], **{TYPE: kind, OPERATION: "insert_overwrite_table"})
    table = Table.load(spark, str(path))
    some = table.change_data(reason=True).selectExpr("op", "after.v", "before.note", "reason")
    read = scan_node(some).scan().readSchema().simpleString()
    assert read == "struct<op:string,before:struct<note:string>,after:struct<v:int>,reason:string>"
    assert sorted(map(tuple, some.collect()), key=str) == [
        ("d", None, "y", "deleted"),
        ("d", None, None, "deleted"),
        ("i", 1, None, "won"),
        ("i", 2, None, "won"),
        ("i", 3, None, "won"),
        ("u", 1, "x", "won"),
    ]
    assert table.change_data().groupBy("op").count().orderBy("op").collect() == [("d", 2), ("i", 3), ("u", 1)]
    assert table.change_data().count() == 6


@each_type
def test_archived_commits_have_change_data_while_their_files_exist(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path, options = tmp_path / "t", {TYPE: kind, "hoodie.clean.automatic": "false"}
    upsert(spark, path, [("a", 0, None, 0), ("b", 0, None, 0)], **options)
    for i in range(1, 6):
        upsert(spark, path, [("a", i, None, i)], **options)
    table = Table.load(spark, str(path))
    commits = sorted({row.instant for row in table.change_data().collect()})
    expected = changes(spark, path)
    assert len(commits) == 6
    assert len(expected) == 7
    assert table.services.archive(min_commits=2, max_commits=3).instants
    assert changes(spark, path) == expected
    for i in range(5):
        update = ("u", ("a", i, None, i), ("a", i + 1, None, i + 1))
        assert changes(spark, path, since=commits[i])[0] == (0, *update)


def test_change_data_of_cleaned_files_is_an_error_that_names_the_setting(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    for i in range(5):
        upsert(spark, path, [("a", i, None, i)], **{"hoodie.clean.automatic": "false"})
    Table.load(spark, str(path)).clean(options={"hoodie.clean.commits.retained": "1"})
    refused(lambda: changes(spark, path), "CHANGE_DATA_CLEANED", "hoodie.clean.commits.retained")
    commits = [action.instant for action in Table.load(spark, str(path)).history() if action.action == "commit"]
    assert changes(spark, path, since=commits[1]) == [(0, "u", ("a", 3, None, 3), ("a", 4, None, 4))]


def test_a_window_that_ends_at_a_rolled_back_commit_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    for ts in range(3):
        upsert(spark, path, [("a", ts, None, ts)])
    table = Table.load(spark, str(path))
    commits = sorted(action.instant for action in table.history() if action.action == "commit")
    assert len(changes(spark, path, until=commits[2])) == 3
    table.savepoints.rollback()
    refused(lambda: changes(spark, path, until=commits[2]), "CHANGES_TAKEN_BACK", commits[2], "until")
    assert len(changes(spark, path, until=commits[1])) == 2


def test_the_change_data_snippets_print_what_the_page_shows(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    page = page_text(PAGE, "Change data")
    names: dict[str, Any] = {}
    for code in [snippets(PAGE, "python", "Changed rows")[0], *snippets(PAGE, "python", "Change data")]:
        exec(compile(code, PAGE, "exec"), names)
    shown = re.findall(r"^\| *(\w) *\| *(\S+) *\| *(\S+) *\| *(\w+) *\|$", capsys.readouterr().out, re.M)
    assert sorted(shown) == [("i", "NULL", "7.0", "won"), ("u", "10.0", "12.5", "won")]
    for statement in snippets(PAGE, "sql", "Change data"):
        rows = spark.sql(statement.replace("{path}", names["table"].path).rstrip(";\n")).collect()
        assert sorted(row.op for row in rows) == ["i", "i", "i", "u"]
    assert names["changes"].columns == re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]*) \|", page, re.M)[:4]))
