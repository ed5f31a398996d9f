"""docs/delete-a-person.md: its code runs, and afterwards no byte of a table has the person's values."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from snippets import snippets

import merganser
from merganser import Table, TableType

PAGE = "docs/delete-a-person.md"
NAME, ANN = "person-1", "ann@example.org"
SCHEMA = "id string, mail string, ts long, _hoodie_is_deleted boolean"
BOTH = [(NAME, ANN, 1, False), ("person-2", "bob@example.org", 1, False)]
CODEC = "hoodie.parquet.compression.codec"
CHANGE_FILES = "hoodie.table.cdc.enabled"
RETAINED = "merganser.tombstones.retained.hours"


@pytest.fixture(autouse=True)
def readable_files(spark: SparkSession) -> Iterator[None]:
    """Values are in files as they are, not compressed."""
    spark.conf.set(CODEC, "uncompressed")
    yield
    spark.conf.unset(CODEC)


@pytest.fixture
def page(spark: SparkSession) -> dict[str, Any]:
    """The functions of the page, which its code has run on two tables of its own."""
    names: dict[str, Any] = {}
    for number, code in enumerate(snippets(PAGE, "python"), start=1):
        exec(compile(code, f"delete-a-person.md, block {number}", "exec"), names)
    return names


def holds(table: Table, value: str) -> set[str]:
    """The kinds of files of a table that have a value in their bytes or their path."""
    found = (file for file in Path(table.path).rglob("*") if file.is_file())
    return {
        "timeline" if "timeline" in file.parts else file.suffix if file.suffix in (".parquet", ".cdc") else "log"
        for file in found
        if value.encode() in file.read_bytes() or value in str(file)
        if file.suffix != ".crc"
    }


def people(spark: SparkSession, path: Path, kind: TableType = TableType.COPY_ON_WRITE, **more: Any) -> Table:
    settings = {"record_key": "id", "ordering_by": "ts", "table_type": kind} | more
    table = Table.create(spark, str(path), SCHEMA, **settings)
    table.upsert(BOTH)
    table.upsert([(NAME, ANN, 2, False)])
    assert holds(table, NAME) & holds(table, ANN) >= {".parquet"}
    return table


@pytest.mark.e2e
def test_the_pages_python_erases_every_byte_of_the_person(spark: SparkSession, page: dict[str, Any]) -> None:
    for table in (page["users"], page["orders"]):
        assert holds(table, "u1") == holds(table, "ann@") == set()
        assert holds(table, "u2") == {".parquet"}


@pytest.mark.e2e
@pytest.mark.parametrize("kind", TableType)
def test_deleted_rows_stay_in_older_files_until_the_pages_calls(
    spark: SparkSession, tmp_path: Path, page: dict[str, Any], kind: TableType
) -> None:
    table = people(spark, tmp_path / "t", kind)
    stored = {".parquet"} if kind == TableType.COPY_ON_WRITE else {".parquet", "log"}
    table.delete(f"id = '{NAME}'")
    if kind == TableType.MERGE_ON_READ:
        table.compact()
    month = page["MONTH"]
    table.clean(options=month)
    assert holds(table, ANN) == holds(table, NAME) == stored
    assert table.inspect.explain(NAME).found
    assert page["older_files"](table)
    page["erase"](table, "false")
    assert holds(table, ANN) == holds(table, NAME) == page["older_files"](table) == set()
    with pytest.raises(merganser.MerganserError, match="RESTORE_TOO_EARLY"):
        table.savepoints.restore(table.history()[-1])
    table.upsert(BOTH)
    assert table.count() == 2, "a late row brings the person back"


@pytest.mark.e2e
def test_the_pages_sql_erases_every_byte_of_the_person(spark: SparkSession, tmp_path: Path) -> None:
    table = people(spark, tmp_path / "t", TableType.MERGE_ON_READ)
    (block,) = snippets(PAGE, "sql")
    for statement in block.replace("{path}", table.path).replace("'u1'", f"'{NAME}'").split(";")[:-1]:
        spark.sql(statement).collect()
    assert table.count() == 1
    assert holds(table, ANN) == holds(table, NAME) == set()


@pytest.mark.e2e
def test_a_savepoint_keeps_the_data(spark: SparkSession, tmp_path: Path, page: dict[str, Any]) -> None:
    table = people(spark, tmp_path / "t")
    saved = table.savepoints.create()
    page["erase"](table, f"id = '{NAME}'")
    assert holds(table, ANN) == {".parquet"}
    assert page["older_files"](table)
    assert table.count(as_of=saved.instant) == 2
    table.savepoints.delete(saved.instant)
    table.clean(options=page["NEWEST"])
    assert holds(table, ANN) == page["older_files"](table) == set()


@pytest.mark.e2e
def test_a_savepoint_made_before_the_compaction_keeps_the_data(
    spark: SparkSession, tmp_path: Path, page: dict[str, Any]
) -> None:
    table = people(spark, tmp_path / "t", TableType.MERGE_ON_READ)
    table.delete(f"id = '{NAME}'")
    saved = table.savepoints.create()
    page["erase"](table, "false")
    assert table.count(as_of=saved.instant) == 1
    assert holds(table, ANN) == {".parquet", "log"}
    assert page["older_files"](table)


@pytest.mark.e2e
def test_the_pages_call_erases_the_person_from_a_quarantine(
    spark: SparkSession, tmp_path: Path, page: dict[str, Any]
) -> None:
    events = spark.createDataFrame([(f'{{"op": "?", "after": {{"id": "{NAME}"}}}}',)], "value string")
    path = tmp_path / "t"
    table = Table.create_for_changes(spark, str(path), "id string", preset="debezium_postgres", keys="id")
    table.apply_changes(events, preset="debezium_postgres", quarantine=True)
    quarantine = Table.load(spark, f"{path}_quarantine")
    assert holds(quarantine, NAME) == {".parquet"}
    page["erase"](quarantine, f"event LIKE '%{NAME}%'")
    assert quarantine.count() == 0
    assert holds(quarantine, NAME) == set()


@pytest.mark.e2e
def test_planned_services_keep_the_data_until_they_have_run(
    spark: SparkSession, tmp_path: Path, page: dict[str, Any]
) -> None:
    table = people(spark, tmp_path / "mor", TableType.MERGE_ON_READ)
    table.compact(schedule_only=True)
    table.delete(f"id = '{NAME}'")
    table.clean(options=page["NEWEST"])
    assert holds(table, ANN) == {".parquet", "log"}
    table.compact()
    table.clean(options=page["NEWEST"])
    assert holds(table, ANN) == {".parquet"}, "the planned compaction takes no later delete"
    page["erase"](table, "false")
    assert holds(table, ANN) == holds(table, NAME) == set()

    table = people(spark, tmp_path / "cow")
    table.services.cluster(schedule_only=True)
    with pytest.raises(merganser.CommitConflictError, match="purge_pending_instant"):
        table.delete(f"id = '{NAME}'")


@pytest.mark.e2e
@pytest.mark.parametrize(("mode", "image"), [("DATA_BEFORE_AFTER", {".cdc"}), ("OP_KEY_ONLY", set())])
def test_the_change_file_of_the_delete_stays_until_the_files_are_rewritten(
    spark: SparkSession, tmp_path: Path, page: dict[str, Any], mode: str, image: set[str]
) -> None:
    options = {CHANGE_FILES: "true", "hoodie.table.cdc.supplemental.logging.mode": mode}
    table = people(spark, tmp_path / "t", options=options)
    page["erase"](table, f"id = '{NAME}'")
    assert holds(table, ANN) == image
    assert holds(table, NAME) == {".cdc"}
    assert not table.inspect.explain(NAME).found
    assert page["older_files"](table)
    page["rewrite"](table)
    assert holds(table, ANN) == holds(table, NAME) == page["older_files"](table) == set()
    assert table.count() == 1


@pytest.mark.e2e
def test_in_a_bucket_table_an_upsert_without_changes_removes_the_change_file(
    spark: SparkSession, tmp_path: Path, page: dict[str, Any]
) -> None:
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    table = people(spark, tmp_path / "t", options={CHANGE_FILES: "true", **buckets})
    page["erase"](table, f"id = '{NAME}'")
    assert holds(table, ANN) == {".cdc"}
    with pytest.raises(merganser.MerganserError, match="CLUSTERING_OF_BUCKETS"):
        page["rewrite"](table)
    table.upsert(BOTH[1:])
    table.clean(options=page["NEWEST"])
    assert holds(table, ANN) == holds(table, NAME) == set()


@pytest.mark.e2e
@pytest.mark.parametrize("kind", TableType)
@pytest.mark.parametrize("way", ["keys", "rewrite"])
def test_a_retained_delete_keeps_the_key_in_the_files(
    spark: SparkSession, tmp_path: Path, page: dict[str, Any], kind: TableType, way: str
) -> None:
    table = people(spark, tmp_path / "t", kind, options={RETAINED: "24"})
    table.upsert([(NAME, None, 5, True)])
    page["erase"](table, f"id = '{NAME}'")
    assert holds(table, ANN) == set()
    assert holds(table, NAME) == {".parquet"}
    assert table.inspect.explain(NAME).found
    if way == "keys":
        table.delete(keys=[NAME])
        page["erase"](table, "false")
        assert RETAINED in table.properties
    else:
        page["rewrite"](table)
        assert RETAINED not in table.properties
    assert holds(table, NAME) == set()
    assert not table.inspect.explain(NAME).found


@pytest.mark.e2e
def test_files_of_failed_writes_keep_the_data_until_orphans_are_removed(
    spark: SparkSession, tmp_path: Path, page: dict[str, Any]
) -> None:
    table = people(spark, tmp_path / "t")
    older = next(Path(table.path).glob("*.parquet"))
    failed = str(int(table.history(1)[0].instant) + 1)
    file = older.with_name("_".join([older.name.split("_")[0], "0-99-99", failed]) + ".parquet")
    shutil.copy(older, file)
    page["erase"](table, f"id = '{NAME}'")
    assert not file.exists()
    assert holds(table, ANN) == {".parquet"}, "the next write has set it aside"
    assert page["older_files"](table) == {file.name}
    assert [problem.check for problem in table.inspect.verify().problems] == ["uncommitted_file"]
    assert not table.repairs.remove_orphan_files()
    table.repairs.remove_orphan_files(older_than=datetime.now() + timedelta(minutes=1))
    assert holds(table, ANN) == set()


@pytest.mark.e2e
def test_the_timeline_and_its_history_store_partition_names_but_no_rows(
    spark: SparkSession, tmp_path: Path, page: dict[str, Any]
) -> None:
    def archived(table: Table) -> str:
        options = {"hoodie.clean.commits.retained": "1"}
        assert table.services.archive(min_commits=2, max_commits=3, options=options).instants > 0
        files = f"{table.path}/.hoodie/timeline/history/*.parquet"
        return str(spark.read.parquet(files).collect())

    table = people(spark, tmp_path / "t")
    page["erase"](table, f"id = '{NAME}'")
    for ts in range(5):
        table.upsert([("person-2", "bob@example.org", ts, False)])
    history = archived(table)
    assert "UPSERT" in history
    assert NAME not in history
    assert ANN not in history

    by_mail = people(spark, tmp_path / "by mail", partition_by="mail")
    page["erase"](by_mail, f"id = '{NAME}'")
    assert holds(by_mail, NAME) == set()
    assert holds(by_mail, ANN) == {".parquet", "log", "timeline"}, "a file without rows, in its folder"
    by_mail.delete_partitions([ANN])
    by_mail.clean(options=page["NEWEST"])
    assert holds(by_mail, ANN) == {"timeline"}
    for ts in range(5):
        by_mail.upsert([("person-2", "bob@example.org", ts, False)])
    assert ANN in archived(by_mail)
