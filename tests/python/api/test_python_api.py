"""The Python API through the jar: tables are made, written, read, compacted and described; errors have their class."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from change_events import order, postgres
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import merganser
from merganser import CommitResult, IndexType, MergeMode, Table, TableType, WriteOptions

pytestmark = pytest.mark.e2e

SCHEMA = StructType.fromJson(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in [("id", "long"), ("day", "string"), ("ts", "long"), ("fare", "double")]
        ],
    }
)
Row = tuple[object, ...]
Rows = Callable[..., DataFrame]


@pytest.fixture
def rows(spark: SparkSession) -> Rows:
    """Frames of one partition from rows of (id, day, ts, fare)."""
    return lambda *values: spark.createDataFrame(list(values), SCHEMA).coalesce(1)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return (tmp_path / "trips").as_uri()


def create(spark: SparkSession, path: str, *, merge_on_read: bool = False, **more: object) -> Table:
    kind = TableType.MERGE_ON_READ if merge_on_read else TableType.COPY_ON_WRITE
    options = {"record_key": "id", "partition_by": "day", "ordering_by": "ts", "table_type": kind, **more}
    return Table.create(spark, path, SCHEMA, **options)  # type: ignore[arg-type]


def content(frame: DataFrame) -> list[Row]:
    return sorted(tuple(row) for row in frame.select("id", "day", "ts", "fare").collect())


def counts(result: CommitResult) -> dict[str, int]:
    """The counts that are not 0."""
    names = (
        "inserted",
        "updated",
        "unchanged",
        "late",
        "ties",
        "deleted",
        "duplicates",
        "appended",
        "appended_deletes",
    )
    return {name: getattr(result, name) for name in names if getattr(result, name)}


# ---- tables


def test_a_loaded_table_has_the_settings_of_its_creation(spark: SparkSession, path: str) -> None:
    made = create(
        spark,
        path,
        merge_on_read=True,
        record_key=["id", "day"],
        index=IndexType.BUCKET,
        merge_mode=MergeMode.EVENT_TIME_ORDERING,
        name="trips_of_a_day",
        options={"hoodie.bucket.index.num.buckets": "2"},
    )
    table = Table.load(spark, path)
    for one in (made, table):
        assert (one.name, one.table_type, one.version) == ("trips_of_a_day", TableType.MERGE_ON_READ, 9)
        assert (one.record_key, one.partition_by, one.ordering_by) == (("id", "day"), ("day",), ("ts",))
        assert (one.merge_mode, one.index) == ("EVENT_TIME_ORDERING", "BUCKET")
        assert one.schema == SCHEMA
    assert table.path.rstrip("/").endswith("/trips")
    assert content(table.df()) == []
    assert table.history() == []
    assert table.inspect.file_slices() == []


def test_a_table_is_loaded_by_its_name_in_the_catalog(spark: SparkSession, rows: Rows, path: str) -> None:
    create(spark, path).upsert(rows((1, "a", 1, 1.0)))
    spark.sql(f"CREATE TABLE trips_by_name USING merganser LOCATION '{path}'")
    try:
        assert content(Table.load(spark, "trips_by_name").df()) == [(1, "a", 1, 1.0)]
    finally:
        spark.sql("DROP TABLE trips_by_name")


# ---- writes


def test_an_upsert_counts_the_outcome_of_every_row(spark: SparkSession, rows: Rows, path: str) -> None:
    table = create(spark, path)
    first = table.upsert(rows((1, "a", 5, 1.0), (2, "a", 5, 2.0), (3, "a", 5, 3.0), (4, "a", 5, 4.0)))
    assert counts(first) == {"inserted": 4}
    assert (first.operation, first.files, first.rows_written) == ("upsert", 1, 4)
    assert first.bytes_written > 0
    assert first.elapsed_ms > 0
    second = table.upsert(
        rows((1, "a", 6, 1.5), (2, "a", 4, 0.0), (3, "a", 5, 3.5), (5, "a", 1, 5.0), (5, "a", 2, 5.5))
    )
    assert counts(second) == {"inserted": 1, "updated": 2, "ties": 1, "late": 1, "unchanged": 1, "duplicates": 1}
    assert content(table.df()) == [
        (1, "a", 6, 1.5),
        (2, "a", 5, 2.0),
        (3, "a", 5, 3.5),
        (4, "a", 5, 4.0),
        (5, "a", 2, 5.5),
    ]


def test_a_delete_removes_stored_keys_and_ignores_others(spark: SparkSession, rows: Rows, path: str) -> None:
    table = create(spark, path)
    table.upsert(rows((1, "a", 5, 1.0), (2, "a", 5, 2.0)))
    keys = rows((1, "a", None, None), (9, "a", None, None)).select("id", "day")
    result = table.delete(keys)
    assert counts(result) == {"deleted": 1, "unchanged": 1}
    assert result.operation == "delete"
    assert content(table.df()) == [(2, "a", 5, 2.0)]


def test_an_insert_adds_drops_or_refuses_a_stored_key_as_its_option_sets(
    spark: SparkSession, rows: Rows, path: str
) -> None:
    table = create(spark, path)
    table.upsert(rows((1, "a", 5, 1.0)))
    left_out = WriteOptions(hoodie={"hoodie.datasource.insert.dup.policy": "drop"})
    table.insert(rows((1, "a", 6, 1.5), (2, "a", 6, 2.0)), options=left_out)
    assert content(table.df()) == [(1, "a", 5, 1.0), (2, "a", 6, 2.0)]
    failing = WriteOptions(hoodie={"hoodie.datasource.insert.dup.policy": "fail"})
    with pytest.raises(merganser.DuplicateKeyError, match="'1'"):
        table.insert(rows((1, "a", 7, 1.7)), options=failing)
    table.insert(rows((1, "a", 4, 0.5)))
    assert content(table.df()) == [(1, "a", 4, 0.5), (1, "a", 5, 1.0), (2, "a", 6, 2.0)]


def test_a_bulk_insert_loads_every_row(spark: SparkSession, rows: Rows, path: str) -> None:
    result = (table := create(spark, path)).bulk_insert(rows((1, "a", 1, 1.0), (2, "b", 1, 2.0)))
    assert (result.operation, counts(result), result.files) == ("bulk_insert", {"inserted": 2}, 2)
    assert content(table.df()) == [(1, "a", 1, 1.0), (2, "b", 1, 2.0)]


@pytest.mark.parametrize("merge_on_read", [False, True])
def test_each_overwrite_and_each_delete_of_partitions_is_one_commit(
    spark: SparkSession, rows: Rows, path: str, merge_on_read: bool
) -> None:
    table = create(spark, path, merge_on_read=merge_on_read)
    table.upsert(rows((1, "a", 5, 1.0), (2, "b", 5, 2.0), (3, "c", 5, 3.0)))
    table.upsert(rows((1, "a", 6, 1.5), (2, "b", 6, 2.5)))
    partly = table.insert_overwrite(rows((4, "a", 1, 4.0), (5, "d", 1, 5.0)))
    assert (partly.operation, partly.inserted) == ("insert_overwrite", 2)
    after = [(2, "b", 6, 2.5), (3, "c", 5, 3.0), (4, "a", 1, 4.0), (5, "d", 1, 5.0)]
    assert content(table.df()) == after
    removed = table.delete_partitions(["b", "none", "d", "*"])
    assert removed.operation == "delete_partition"
    assert content(table.df()) == [after[1], after[2]]
    whole = table.overwrite(table.df().where("id = 4"))
    assert whole.operation == "insert_overwrite_table"
    assert content(table.df()) == [after[2]]
    assert [entry.action for entry in table.history(3)] == ["replacecommit"] * 3
    to_delete = {"hoodie.datasource.write.partitions.to.delete": "a"}
    with pytest.raises(merganser.ConfigurationConflictError):
        table.delete_partitions(["b"], options=to_delete)
    with pytest.raises(merganser.ConfigurationConflictError):
        table.delete_partitions(matching=["b"], options=to_delete)
    with pytest.raises(TypeError, match="a list of partition paths, not a str"):
        table.delete_partitions("a")
    with pytest.raises(TypeError, match="as strings, not a int"):
        table.delete_partitions([1])  # type: ignore[list-item]
    for wrong in {}, {"paths": ["a"], "matching": ["b"]}:
        with pytest.raises(ValueError, match="paths or patterns"):
            table.delete_partitions(**wrong)
    for wrong in {"paths": [""]}, {"matching": ["a,b"]}:
        with pytest.raises(ValueError, match="patterns without commas"):
            table.delete_partitions(**wrong)
    assert content(table.df()) == [after[2]]


def test_delete_partitions_is_refused_for_a_table_without_partitions(
    spark: SparkSession, rows: Rows, tmp_path: Path
) -> None:
    table = Table.create(spark, tmp_path / "flat", SCHEMA, record_key="id")
    table.upsert(rows((1, "a", 1, 1.0)))
    with pytest.raises(merganser.MerganserError) as refused:
        table.delete_partitions(["a"])
    assert refused.value.condition == "TABLE_WITHOUT_PARTITIONS"
    table.insert_overwrite(rows((2, "b", 1, 2.0)))
    assert content(table.df()) == [(2, "b", 1, 2.0)]


# ---- merge-on-read


def test_logged_rows_count_as_appended_and_their_compaction_counts_updates_and_deletes(
    spark: SparkSession, rows: Rows, path: str
) -> None:
    table = create(spark, path, merge_on_read=True)
    assert counts(table.upsert(rows((1, "a", 5, 1.0), (2, "a", 5, 2.0), (3, "a", 5, 3.0)))) == {"inserted": 3}
    logged = table.upsert(rows((1, "a", 6, 1.5), (2, "a", 4, 0.0), (2, "a", 3, 0.0)))
    assert counts(logged) == {"appended": 2, "duplicates": 1}
    assert counts(table.delete(rows((3, "a", None, None)).select("id", "day"))) == {
        "appended": 1,
        "appended_deletes": 1,
    }
    after = [(1, "a", 6, 1.5), (2, "a", 5, 2.0)]
    assert content(table.df()) == after
    assert content(table.df(read_optimized=True)) == [(1, "a", 5, 1.0), (2, "a", 5, 2.0), (3, "a", 5, 3.0)]
    (before,) = table.inspect.file_slices()
    assert (before.partition_path, len(before.log_files)) == ("a", 2)
    assert before.log_size_bytes == sum(log.size_bytes for log in before.log_files) > 0

    compacted = table.compact()
    assert compacted is not None
    assert (compacted.files, compacted.rows_written, compacted.log_files_compacted) == (1, 2, 2)
    entry = next(one for one in table.history() if one.instant == compacted.instant)
    assert (entry.action, entry.operation, entry.state) == ("commit", "COMPACT", "COMPLETED")
    assert (entry.inserted, entry.updated, entry.late, entry.deleted) == (0, 1, 1, 1)
    (now,) = table.inspect.file_slices()
    assert (now.file_id, now.log_files, now.base_size_bytes > 0) == (before.file_id, (), True)
    assert content(table.df()) == content(table.df(read_optimized=True)) == after
    assert table.compact() is None


def test_a_compaction_can_be_scheduled_now_and_run_later(spark: SparkSession, rows: Rows, path: str) -> None:
    table = create(spark, path, merge_on_read=True)
    table.upsert(rows((1, "a", 5, 1.0)))
    table.upsert(rows((1, "a", 6, 1.5)))
    planned = table.compact(schedule_only=True)
    assert planned is not None
    assert (planned.files, planned.log_files_compacted) == (0, 0)
    assert [(one.action, one.state) for one in table.history() if one.instant == planned.instant] == [
        ("compaction", "REQUESTED")
    ]
    table.upsert(rows((1, "a", 7, 1.7)))
    done = table.compact()
    assert done is not None
    assert content(table.df()) == [(1, "a", 7, 1.7)]


# ---- history


def test_history_has_every_commit_newest_first_with_its_counts(spark: SparkSession, rows: Rows, path: str) -> None:
    table = create(spark, path)
    results = [table.upsert(rows((1, "a", 5, 1.0))), table.upsert(rows((1, "a", 4, 0.0), (2, "a", 1, 2.0)))]
    newest_first = table.history()
    entries = newest_first[::-1]
    assert [entry.instant for entry in entries] == [result.instant for result in results]
    assert [(e.action, e.operation, e.state) for e in entries] == [("commit", "UPSERT", "COMPLETED")] * 2
    assert [(e.inserted, e.updated, e.late, e.files, e.rows_written) for e in entries] == [
        (1, 0, 0, 1, 1),
        (1, 0, 1, 1, 2),
    ]
    assert all(entry.completed is not None and entry.completed >= entry.instant for entry in entries)
    assert all(0 <= (entry.elapsed_ms or 0) <= result.elapsed_ms for entry, result in zip(entries, results))
    for entry in entries:
        assert entry.requested_at is not None
        assert entry.completed_at is not None
        now = datetime.now(timezone.utc)
        assert now - timedelta(minutes=10) < entry.requested_at <= entry.completed_at <= now + timedelta(seconds=1)
        assert entry.user
        assert entry.application
        assert (entry.engine, entry.readable, entry.archived) == ("Merganser 0.1.0", True, False)
    assert table.history(1) == newest_first[:1]
    assert table.history(0) == []
    assert table.history(archived=True) == newest_first
    with pytest.raises(ValueError, match="limit"):
        table.history(-1)
    with pytest.raises(TypeError, match="limit is a number of actions"):
        table.history("2")  # type: ignore[arg-type]


def test_a_table_is_read_as_of_an_instant(spark: SparkSession, rows: Rows, path: str) -> None:
    table = create(spark, path)
    first = table.upsert(rows((1, "a", 5, 1.0)))
    table.upsert(rows((1, "a", 6, 1.5), (2, "a", 6, 2.0)))
    assert content(table.df(as_of=first.instant)) == [(1, "a", 5, 1.0)]
    assert content(table.df()) == [(1, "a", 6, 1.5), (2, "a", 6, 2.0)]


# ---- errors


def test_loading_a_path_without_a_table_or_an_unknown_name_raises_table_not_found(
    spark: SparkSession, path: str
) -> None:
    with pytest.raises(merganser.TableNotFoundError, match="trips") as by_path:
        Table.load(spark, path)
    assert by_path.value.condition == "PATH_IS_NO_TABLE"
    assert by_path.value.sql_state is not None
    with pytest.raises(merganser.TableNotFoundError, match="nobody_has_it"):
        Table.load(spark, "nobody_has_it")


def test_a_second_table_at_a_path_is_refused(spark: SparkSession, path: str) -> None:
    create(spark, path)
    with pytest.raises(merganser.TableExistsError, match="trips"):
        create(spark, path)


def test_columns_that_a_write_needs_are_named_when_they_are_missing(spark: SparkSession, rows: Rows, path: str) -> None:
    table = create(spark, path)
    row = rows((1, "a", 1, 1.0))
    with pytest.raises(merganser.OrderingFieldMissingError, match="'ts'") as raised:
        table.upsert(row.drop("ts"))
    assert raised.value.condition == "ORDERING_FIELD_MISSING"
    assert raised.value.parameters["field"] == "ts"
    assert raised.value.__cause__ is not None
    for column in ("id", "day", "fare"):
        with pytest.raises(merganser.ColumnMissingError, match=f"'{column}'"):
            table.upsert(row.drop(column))
    assert table.history() == []


def test_a_row_without_a_key_fails_the_write_and_nothing_is_committed(
    spark: SparkSession, rows: Rows, path: str
) -> None:
    table = create(spark, path)
    with pytest.raises(merganser.NullValueError, match="record key") as raised:
        table.upsert(rows((1, "a", 1, 1.0), (None, "a", 1, 2.0)))
    assert raised.value.condition == "NULL_RECORD_KEY"
    assert content(table.df()) == []
    assert not [entry for entry in table.history() if entry.state == "COMPLETED" and entry.action == "commit"]


def test_a_column_of_an_incompatible_type_is_a_schema_conflict(spark: SparkSession, rows: Rows, path: str) -> None:
    table = create(spark, path)
    row = rows((1, "a", 1, 1.0))
    with pytest.raises(merganser.SchemaConflictError, match="fare"):
        table.upsert(row.withColumn("fare", row["ts"] > 0))  # a string would make it a string column


def test_an_unknown_option_is_refused_with_the_nearest_name(spark: SparkSession, rows: Rows, path: str) -> None:
    table = create(spark, path)
    with pytest.raises(merganser.OptionError, match=r"hoodie\.combine\.before\.upsert") as raised:
        table.upsert(rows((1, "a", 1, 1.0)), options=WriteOptions(hoodie={"hoodie.combine.before.upsrt": "true"}))
    assert raised.value.condition == "UNKNOWN_OPTION"


def test_an_option_that_contradicts_the_table_is_a_configuration_conflict(
    spark: SparkSession, rows: Rows, path: str
) -> None:
    table = create(spark, path)
    wrong = WriteOptions(hoodie={"hoodie.datasource.write.recordkey.field": "fare"})
    with pytest.raises(merganser.ConfigurationConflictError, match="'fare'") as raised:
        table.upsert(rows((1, "a", 1, 1.0)), options=wrong)
    assert raised.value.condition == "CONFIG_CONFLICT"


def test_the_error_for_a_wrong_argument_names_the_right_one(spark: SparkSession, rows: Rows, tmp_path: Path) -> None:
    table = Table.create(spark, tmp_path / "trips", "id long, day string, ts long, fare double", record_key="id")
    assert table.schema == SCHEMA
    row = rows((1, "a", 1, 1.0))
    assert table.upsert(row, options={"hoodie.combine.before.upsert": "true"}).inserted == 1
    with pytest.raises(merganser.OptionError):
        table.upsert(row, options={"hoodie.combine.before.upsrt": "true"})
    mistakes: list[tuple[Callable[[], object], str]] = [
        (
            lambda: Table.create(spark, "/x", ["id"], record_key="id"),  # type: ignore[arg-type]
            "a string such as 'id string, ts long', or a Spark DataFrame, not a list",
        ),
        (lambda: Table.load("/x", spark), "session comes first"),  # type: ignore[arg-type]
        (lambda: Table.load(spark, 7), "path or name, not by a int"),  # type: ignore[arg-type]
    ]
    for mistake, answer in mistakes:
        with pytest.raises(TypeError, match=answer):
            mistake()


# Guarantee (SQL and sessions): A folder with other contents becomes no table unless it is named explicitly. Also:
#   test_create_table_uses_a_leftover_folder_only_if_location_names_it
def test_no_call_makes_a_table_of_a_folder_with_other_files(spark: SparkSession, rows: Rows, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    frame = rows((1, "a", 1, 1.0))
    frame.write.partitionBy("day").parquet(str(folder))
    key = {"hoodie.datasource.write.recordkey.field": "id"}
    ways: list[Callable[[], object]] = [
        lambda: Table.create(spark, folder, SCHEMA, record_key="id"),
        lambda: frame.write.format("merganser").options(**key).mode("append").save(str(folder)),
        lambda: frame.write.format("merganser").options(**key).mode("overwrite").save(str(folder)),
        lambda: spark.sql(
            f"CREATE TABLE plain (id int) USING merganser LOCATION '{folder}' TBLPROPERTIES (primaryKey = 'id')"
        ),
    ]
    for way in ways:
        with pytest.raises(PySparkException, match=r"plain'.*'day=a/part-.*parquet'") as raised:
            way()
        assert merganser.condition_of(raised.value) == "FOLDER_NOT_EMPTY"
    assert not (folder / ".hoodie").exists()
    assert spark.read.parquet(str(folder)).count() == 1
    empty = tmp_path / "empty"
    (empty / "day=a").mkdir(parents=True)
    (empty / ".DS_Store").touch()
    frame.write.format("merganser").options(**key).mode("overwrite").save(str(empty))
    assert Table.load(spark, empty).df().count() == 1


# ---- progress


def test_nothing_is_printed_where_there_is_no_terminal(
    spark: SparkSession, rows: Rows, path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    table = create(spark, path)
    table.upsert(rows((1, "a", 1, 1.0)))
    table.df().collect()
    assert capfd.readouterr() == ("", "")


# ---- changes of other databases


def test_change_events_are_applied_and_malformed_ones_go_to_the_quarantine(spark: SparkSession, path: str) -> None:
    events = [postgres("c", 10, order(1)), postgres("u", 20, order(1, "paid")), postgres("c", 15, order(2)), "{broken"]
    frame = spark.createDataFrame([(event,) for event in events], "value string")
    table = Table.create_for_changes(spark, path, frame, preset="debezium_postgres", keys="id")
    done = table.apply_changes(frame, preset="debezium_postgres", quarantine=True)
    assert (done.upserts, done.inserted, done.duplicates, dict(done.quarantined)) == (3, 2, 1, {"JSON_MALFORMED": 1})
    removed = spark.createDataFrame([(postgres("d", 30, None, order(2)),)], "value string")
    assert table.apply_changes(removed, preset="debezium_postgres").deleted == 1
    assert [tuple(row) for row in table.df().select("id", "status").collect()] == [(1, "paid")]


# ---- changes


def test_changes_since_a_commit_are_rows_of_a_frame(spark: SparkSession, path: str, rows: Rows) -> None:
    table = create(spark, path, merge_on_read=True)
    first = table.insert(rows((1, "a", 1, 1.0), (2, "a", 1, 2.0), (3, "b", 1, 3.0))).instant
    table.upsert(rows((1, "a", 2, 1.5), (3, "b", 2, 3.5), (2, "a", 0, 9.0)))
    assert content(table.changes(first)) == [(1, "a", 2, 1.5), (3, "b", 2, 3.5)]
    assert content(table.changes(until=first)) == [(1, "a", 1, 1.0), (2, "a", 1, 2.0), (3, "b", 1, 3.0)]
    assert [tuple(row) for row in table.changes(first, columns=["id"], where="day = 'b'").collect()] == [(3,)]
    function = f"SELECT id FROM hudi_table_changes('{path}', 'latest_state', '{first}') ORDER BY id"
    assert [row[0] for row in spark.sql(function).collect()] == [1, 3]
    with pytest.raises((merganser.MerganserError, PySparkException), match="CHANGES_TIME_INVALID"):
        table.changes("long ago").collect()


# ---- services


def test_service_methods_return_results_and_leave_the_rows_unchanged(
    spark: SparkSession, path: str, rows: Rows
) -> None:
    table = create(spark, path, merge_on_read=True)
    first = table.insert(rows((1, "a", 1, 1.0), (2, "a", 1, 2.0), (3, "b", 1, 3.0))).instant
    saved = table.savepoints.create(first, user="ops", comments="before")
    for ts in (2, 3):
        table.upsert(rows((1, "a", ts, 1.0 + ts)))
    expected = content(table.df())
    merged = table.services.compact_logs(options={"hoodie.log.compaction.blocks.threshold": "2"})
    assert merged is not None
    compacted = table.compact()
    assert compacted is not None
    clustered = table.services.cluster(order_by="fare")
    assert clustered is not None
    assert clustered.instants
    assert table.services.dry_run("clean").files >= 0
    assert table.services.archive().remaining > 0
    assert (table.repairs.merge_duplicates().keys, len(table.services.dry_run("remove_orphans"))) == (0, 0)
    assert not table.services.dry_run("repair_partitions")
    properties = merganser.repair_properties(spark, table.path, dry_run=True)
    assert all(one.before == one.after for one in properties)
    assert content(table.df()) == expected
    newest = table.upsert(rows((3, "b", 9, 9.0))).instant
    assert table.services.dry_run("rollback").steps[0].item == newest
    assert table.savepoints.rollback(newest).instant is not None
    assert content(table.df()) == expected
    assert [one.instant for one in table.savepoints.list()] == [saved.instant]
    back = table.savepoints.restore(savepoint=saved.instant)
    assert (back.newest_commit, content(table.df())[0]) == (first, (1, "a", 1, 1.0))
    table.savepoints.delete(saved.instant)
    assert {"restore", "savepoint", "commit"} & {entry.action for entry in table.history()} >= {"restore"}


def test_explain_returns_the_versions_of_a_key_and_verify_finds_no_problem(
    spark: SparkSession, path: str, rows: Rows
) -> None:
    table = create(spark, path, merge_on_read=True)
    table.upsert(rows((1, "x", 5, 1.5)))
    table.upsert(rows((1, "x", 4, 2.5)))
    why = table.inspect.explain({"id": 1, "day": "x"})
    assert [(version.decision, version.in_log) for version in why.versions] == [("won", False), ("lost", True)]
    assert why.rows == [{"id": 1, "day": "x", "ts": 5, "fare": 1.5}]
    assert (why.searched.partitions, why.searched.base_files, why.searched.log_files) == (1, 1, 1)
    assert table.inspect.explain_df(1, partition="x").select("decision").collect() == [("won",), ("lost",)]
    result = table.inspect.verify()
    assert result.ok, result.to_string()
    assert result.file_groups_examined == result.file_groups == 1
