"""Frames that lack columns of the table: `spark.merganser.write.missingColumns`, on every kind of table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from frames import cases, frame, load, refused, rows_of, save
from option_names import BUCKETS, COW, INDEX, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from merganser import MissingColumns, Table, WriteOptions

pytestmark = pytest.mark.e2e

MISSING = "spark.merganser.write.missingColumns"
NULLS = "hoodie.write.set.null.for.missing.columns"
KEEP = {MISSING: "keep"}
WHOLE = "id int, ts long, a string, b string, p string, _hoodie_is_deleted boolean"

KINDS = {
    "copy on write, SIMPLE": {TYPE: COW, INDEX: "SIMPLE"},
    "copy on write, BUCKET": {TYPE: COW, INDEX: "BUCKET", BUCKETS: "2"},
    "merge on read, SIMPLE": {TYPE: MOR, INDEX: "SIMPLE"},
    "merge on read, BUCKET": {TYPE: MOR, INDEX: "BUCKET", BUCKETS: "2"},
}
EVERY_KIND = pytest.mark.parametrize("kind", cases(KINDS))
LOGGED = pytest.mark.parametrize("kind", cases([kind for kind in KINDS if kind.startswith("merge")]))
COLUMNS = ["id", "ts", "a", "b"]


class Written:
    """A table of (id, ts, a, b), two partitions, and writes to it in one line."""

    def __init__(self, spark: SparkSession, path: Path, kind: str, **options: str) -> None:
        self.spark = spark
        self.path = path
        self.options = {KEY: "id", PARTITION: "p", ORDERING: "ts", **KINDS[kind], **options}

    def whole(self, *rows: Sequence[Any], **options: str) -> None:
        """Rows of id, ts, a, b."""
        full = [(*row, f"p{row[0] % 2}", False) for row in rows]
        save(frame(self.spark, full, WHOLE), self.path, {**self.options, **options})

    def some(self, columns: str, *rows: Sequence[Any], **options: str) -> None:
        """Rows that begin with an id and have some columns only."""
        part = [(*row, f"p{row[0] % 2}") for row in rows]
        save(frame(self.spark, part, f"{columns}, p string"), self.path, {**self.options, **KEEP, **options})

    def delete_at(self, key: int, ts: int) -> None:
        """A delete that has an ordering value."""
        row = (key, ts, None, None, f"p{key % 2}", True)
        save(frame(self.spark, [row], WHOLE), self.path, self.options)

    def delete(self, key: int) -> None:
        """A delete by key, without an ordering value."""
        rows = frame(self.spark, [(key, f"p{key % 2}")], "id int, p string")
        save(rows, self.path, {**self.options, OPERATION: "delete"})

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return rows_of(load(self.spark, self.path).select(*COLUMNS))

    def holds(self, *rows: tuple[Any, ...]) -> None:
        """The table's rows are these, before a compaction and after."""
        expected = sorted(rows, key=repr)
        assert self.rows == expected
        assert rows_of(load(self.spark, self.path).select("b", "id")) == sorted(((r[3], r[0]) for r in rows), key=repr)
        if self.options[TYPE] == MOR:
            Table.load(self.spark, str(self.path)).compact()
            assert self.rows == expected


@EVERY_KIND
def test_stored_rows_keep_their_values_and_new_keys_get_nulls(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"), (2, 10, "a2", "b2"), (3, 10, "a3", None))
    table.some("id int, ts long, a string", (1, 11, "new"), (3, 11, None), (4, 11, "fresh"))
    table.holds((1, 11, "new", "b1"), (2, 10, "a2", "b2"), (3, 11, None, None), (4, 11, "fresh", None))


@EVERY_KIND
def test_updates_of_different_columns_are_all_applied_to_the_row(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"), (2, 10, "a2", "b2"))
    table.some("id int, ts long, a string", (1, 11, "a11"), (3, 11, "a3"))
    table.some("id int, ts long, b string", (1, 12, "b12"), (3, 12, "b3"))
    table.some("id int, ts long, a string", (2, 12, None))
    table.holds((1, 12, "a11", "b12"), (2, 12, None, "b2"), (3, 12, "a3", "b3"))


@EVERY_KIND
def test_a_late_row_of_some_columns_loses_as_a_whole_and_a_tie_wins(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"), (2, 10, "a2", "b2"))
    table.some("id int, ts long, a string", (1, 9, "late"), (2, 10, "tie"))
    table.some("id int, ts long, b string", (1, 11, "b11"))
    table.holds((1, 11, "a1", "b11"), (2, 10, "tie", "b2"))


@EVERY_KIND
def test_a_row_without_the_ordering_field_wins_and_keeps_the_stored_ordering_value(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"))
    table.some("id int, a string", (1, "new"), (2, "fresh"))
    table.whole((1, 9, "late", "late"), (2, 0, "any", "wins"))
    table.holds((1, 10, "new", "b1"), (2, 0, "any", "wins"))


@EVERY_KIND
def test_partial_rows_of_one_batch_are_merged_in_ordering(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"))
    table.some(
        "id int, ts long, a string", (1, 12, "later"), (1, 11, "late"), (2, 5, "x"), (2, 6, None), (2, 4, "late")
    )
    table.some("id int, ts long, b string", (2, 6, "y"), (3, 1, "z"), (3, 2, "w"))
    table.holds((1, 12, "later", "b1"), (2, 6, None, "y"), (3, 2, None, "w"))


@EVERY_KIND
def test_after_a_delete_by_key_the_row_is_inserted_with_nulls(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"), (2, 10, "a2", "b2"))
    table.delete(1)
    table.some("id int, ts long, a string", (1, 3, "back"), (2, 11, "new"))
    table.holds((1, 3, "back", None), (2, 11, "new", "b2"))


@EVERY_KIND
def test_a_partial_row_after_a_delete_restores_no_old_column(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"), (2, 10, "a2", "b2"))
    table.delete_at(1, 11)
    table.some("id int, ts long, a string", (1, 12, "back"))
    table.holds((1, 12, "back", None), (2, 10, "a2", "b2"))


@EVERY_KIND
@pytest.mark.parametrize("columns", ["all", "some"])
def test_a_late_row_after_a_delete_is_inserted_unless_a_log_has_the_delete(
    spark: SparkSession, tmp_path: Path, kind: str, columns: str
) -> None:
    """Base files keep no tombstones; a log keeps a delete with an ordering value until it is compacted."""

    def late(key: int) -> None:
        if columns == "all":
            table.whole((key, 11, "late", None))
        else:
            table.some("id int, ts long, a string", (key, 11, "late"))

    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"), (2, 10, "a2", "b2"))
    table.delete_at(1, 12)
    late(1)
    remembered = [] if kind.startswith("merge") else [(1, 11, "late", None)]
    table.holds(*remembered, (2, 10, "a2", "b2"))
    table.delete_at(2, 12)
    table.holds(*remembered)
    late(2)
    table.holds(*remembered, (2, 11, "late", None))


@EVERY_KIND
def test_a_delete_and_a_partial_row_of_one_batch_are_both_compared_with_the_stored_row(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """Whether the delete wins depends on the stored row."""
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"), (2, 20, "a2", "b2"))
    changes = [
        (key, ts, a, f"p{key % 2}", gone) for key in (1, 2) for ts, a, gone in ((11, None, True), (21, "new", False))
    ]
    rows = frame(spark, changes, "id int, ts long, a string, p string, _hoodie_is_deleted boolean")
    save(rows, table.path, {**table.options, **KEEP})
    table.holds((1, 21, "new", None), (2, 21, "new", "b2"))


@EVERY_KIND
def test_a_delete_that_lacks_the_ordering_field_always_deletes(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"), (2, 20, "a2", "b2"))
    rows = frame(spark, [(1, "p1", True)], "id int, p string, _hoodie_is_deleted boolean")
    save(rows, table.path, {**table.options, **KEEP})
    table.whole((1, 3, "again", "b"))
    table.holds((1, 3, "again", "b"), (2, 20, "a2", "b2"))


@EVERY_KIND
def test_under_commit_time_each_partial_row_overwrites_its_columns(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    table = Written(spark, tmp_path / "t", kind, **{"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"})
    table.whole((1, 10, "a1", "b1"))
    table.some("id int, ts long, a string", (1, 9, "older"))
    table.some("id int, b string", (1, "b2"), (2, "b3"), (2, None))
    table.holds((1, 9, "older", "b2"), (2, None, None, None))


@EVERY_KIND
def test_missing_columns_keep_stored_values_under_a_payload_that_ignores_nulls(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    payload = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
    table = Written(spark, tmp_path / "t", kind, **{"hoodie.datasource.write.payload.class": payload})
    table.whole((1, 10, "a1", "b1"), (2, 10, "a2", "b2"), (3, 10, "a3", None))
    table.some("id int, ts long, a string", (1, 11, "kept"), (3, 9, "late"))
    table.some("id int, ts long, b string", (2, 11, None), (3, 8, "fills"))
    table.some("id int, ts long, a string", (2, 12, "null"), (4, 1, "fresh"), **{MISSING: "null"})
    table.holds((1, 11, "kept", "b1"), (2, 12, "null", "b2"), (3, 10, "a3", "fills"), (4, 1, "fresh", None))


@EVERY_KIND
def test_missing_columns_are_refused_or_written_as_null_as_the_option_sets(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"), (2, 10, "a2", "b2"))
    for setting in ({MISSING: "reject"}, {MISSING: "", NULLS: "false"}, {MISSING: ""}):
        write = partial(table.some, "id int, ts long, a string", (1, 11, "x"), **setting)
        refused(write, "COLUMN_MISSING", "'b'", MISSING)
    table.some("id int, ts long, a string", (1, 11, "x"), **{MISSING: "null"})
    table.some("id int, ts long, a string", (2, 11, "x"), **{MISSING: "", NULLS: "true"})
    table.holds((1, 11, "x", None), (2, 11, "x", None))


def test_a_frame_without_key_or_partition_columns_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = Written(spark, tmp_path / "t", "merge on read, SIMPLE")
    table.whole((1, 10, "a1", "b1"))
    no_key = frame(spark, [(11, "x", "p1")], "ts long, a string, p string")
    refused(lambda: save(no_key, table.path, {**table.options, **KEEP}), "RECORD_KEY_COLUMN_MISSING", "'id'")
    no_path = frame(spark, [(1, 11, "x")], "id int, ts long, a string")
    refused(lambda: save(no_path, table.path, {**table.options, **KEEP}), "PARTITION_COLUMN_MISSING", "'p'")


def test_a_frame_without_the_ordering_field_is_refused_if_null_ordering_is_rejected(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A new key would have none."""
    table = Written(spark, tmp_path / "t", "copy on write, SIMPLE", **{"spark.merganser.write.nullOrdering": "reject"})
    table.whole((1, 10, "a1", "b1"))
    refused(lambda: table.some("id int, a string", (1, "x")), "ORDERING_FIELD_MISSING", "'ts'")
    refused(lambda: table.some("id int, ts long, a string", (1, None, "x")), "NULL_ORDERING_VALUE", "ts")
    table.some("id int, ts long, a string", (1, 11, "x"))
    table.holds((1, 11, "x", "b1"))


def test_contradicting_options_for_missing_columns_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = Written(spark, tmp_path / "t", "copy on write, SIMPLE")
    table.whole((1, 10, "a1", "b1"))
    refused(lambda: table.some("id int, ts long", (1, 11), **{NULLS: "true"}), "OPTION_CONFLICT", MISSING, NULLS)


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_operations_that_read_no_stored_rows_refuse_to_keep_missing_columns(
    spark: SparkSession, tmp_path: Path, operation: str
) -> None:
    table = Written(spark, tmp_path / "t", "copy on write, SIMPLE")
    table.whole((1, 10, "a1", "b1"))
    refused(
        lambda: table.some("id int, ts long", (2, 11), **{OPERATION: operation}), "KEEP_NEEDS_UPSERT", operation, "a, b"
    )
    table.whole((2, 11, "a2", "b2"), **{OPERATION: operation, **KEEP})
    table.holds((1, 10, "a1", "b1"), (2, 11, "a2", "b2"))


def test_a_missing_required_column_becomes_nullable(spark: SparkSession, tmp_path: Path) -> None:
    required = [StructField("id", IntegerType(), False), StructField("b", StringType(), False)]
    table = Table.create(spark, str(tmp_path / "t"), StructType(required), record_key="id")
    assert not table.schema["b"].nullable
    table.upsert(frame(spark, [(1,)], "id int"), options=WriteOptions(missing_columns=MissingColumns.KEEP))
    assert Table.load(spark, str(tmp_path / "t")).schema["b"].nullable
    assert rows_of(load(spark, tmp_path / "t").select("id", "b")) == [(1, None)]


@EVERY_KIND
def test_an_upsert_in_python_keeps_missing_columns_as_its_option_sets(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "b1"))
    rows = frame(spark, [(1, 11, "new", "p1")], "id int, ts long, a string, p string")
    Table.load(spark, str(table.path)).upsert(rows, options=WriteOptions(missing_columns=MissingColumns.KEEP))
    table.holds((1, 11, "new", "b1"))


def test_logs_of_version_6_store_partial_rows_as_whole_ones(spark: SparkSession, tmp_path: Path) -> None:
    table = Written(spark, tmp_path / "t", "merge on read, BUCKET", **{"hoodie.write.table.version": "6"})
    table.whole((1, 10, "a1", "b1"), (2, 10, "a2", "b2"))
    table.some("id int, ts long, a string", (1, 11, "new"), (1, 12, "newer"), (2, 9, "late"), (3, 1, "fresh"))
    table.some("id int, b string", (1, "b11"), (4, "b4"))
    assert not any(b'"name":"a"' not in log.read_bytes() for log in logs(tmp_path / "t"))
    table.holds((1, 12, "newer", "b11"), (2, 10, "a2", "b2"), (3, 1, "fresh", None), (4, None, None, "b4"))


def logs(path: Path) -> list[Path]:
    return [file for file in path.glob("p*/.*.log.*") if file.suffix != ".crc"]


@LOGGED
def test_only_the_columns_of_the_frame_are_written_to_a_log(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table = Written(spark, tmp_path / "t", kind)
    table.whole((1, 10, "a1", "x" * 10_000))
    table.some("id int, ts long, a string", (1, 11, "new"))
    (log,) = logs(tmp_path / "t")
    assert log.stat().st_size < 5_000
    table.holds((1, 11, "new", "x" * 10_000))
