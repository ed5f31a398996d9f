"""Merge rules that users write: on every path, by frames, SQL and Python; and the errors when they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from frames import frame, listing, load, properties, refused, rows_of, save
from option_names import COW, KEY, MOR, OPERATION, ORDERING, TYPE
from pyspark.sql import SparkSession
from sql_steps import Sql

from merganser import Table

pytestmark = pytest.mark.e2e

CLASSES = "hoodie.write.record.merge.custom.implementation.classes"
OLD_CLASSES = "hoodie.datasource.write.record.merger.impls"
STRATEGY = "hoodie.write.record.merge.strategy.id"
OLD_STRATEGY = "hoodie.datasource.write.record.merger.strategy"
MODE = "hoodie.write.record.merge.mode"

PRICES = "id int, name string, price double, ts long"
MAX_PRICE = ("io.merganser.conformance.MaxPrice", "841577c6-50de-4f2d-9c31-526c356219a4")
KEEP_FIRST = ("io.merganser.conformance.KeepFirst", "2da6ba2d-6b9e-4a8c-b948-54daf8ca5a10")
DELETE_NEGATIVE = ("io.merganser.conformance.DeleteNegative", "7b5c8535-4d27-41eb-9c08-b90398da7d17")
NEWER_PARTS = ("io.merganser.conformance.NewerParts", "5a6ad8d4-1f4e-4d0b-9d5c-0d9f1f0b6f11")
COALESCE = ("io.merganser.conformance.CoalesceFields", "32d52b80-9055-481c-be0e-e308b5eb1f34")


def custom(merger: tuple[str, str], table_type: str = COW, **more: str) -> dict[str, str]:
    return {KEY: "id", TYPE: table_type, MODE: "CUSTOM", STRATEGY: merger[1], CLASSES: merger[0], **more}


def write(spark: SparkSession, path: Path, options: dict[str, str], *rows: tuple[object, ...]) -> None:
    save(frame(spark, rows, PRICES), path, options)


@pytest.fixture(params=[COW, MOR])
def table_type(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def session_class(spark: SparkSession) -> Iterator[SparkSession]:
    """The session names the merger, for statements that take no options."""
    spark.conf.set(CLASSES, MAX_PRICE[0])
    yield spark
    spark.conf.unset(CLASSES)


def test_a_merger_is_applied_in_a_batch_to_stored_rows_in_reads_and_in_compactions(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path, options = tmp_path / "t", custom(MAX_PRICE, table_type)
    write(spark, path, options, (1, "a", 5.0, 1), (1, "b", 7.0, 2), (1, "c", 6.0, 3), (2, "a", 5.0, 1))
    assert rows_of(load(spark, path, **{CLASSES: MAX_PRICE[0]}).select("id", "name")) == [(1, "b"), (2, "a")]
    write(spark, path, options, (1, "d", 6.5, 4), (2, "b", 5.0, 2), (2, "c", 4.0, 3))
    expected = [(1, "b"), (2, "b")]
    assert rows_of(load(spark, path, **{CLASSES: MAX_PRICE[0]}).select("id", "name")) == expected
    if table_type == MOR:
        Table.load(spark, str(path)).compact(options={CLASSES: MAX_PRICE[0]})
        assert rows_of(load(spark, path).select("id", "name")) == expected


def test_strategy_and_mode_are_stored_and_the_class_is_not(spark: SparkSession, tmp_path: Path) -> None:
    write(spark, tmp_path / "t", custom(MAX_PRICE), (1, "a", 5.0, 1))
    stored = properties(tmp_path / "t")
    assert stored["hoodie.record.merge.mode"] == "CUSTOM"
    assert stored["hoodie.record.merge.strategy.id"] == MAX_PRICE[1]
    assert MAX_PRICE[0] not in str(stored)


def test_deprecated_keys_set_the_strategy_and_the_merger_class(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = {KEY: "id", TYPE: MOR, OLD_STRATEGY: KEEP_FIRST[1], OLD_CLASSES: KEEP_FIRST[0]}
    write(spark, path, options, (1, "a", 5.0, 1))
    write(spark, path, options, (1, "b", 9.0, 2))
    assert rows_of(load(spark, path, **{OLD_CLASSES: KEEP_FIRST[0]}).select("name")) == [("a",)]


def test_the_first_class_with_the_tables_strategy_is_used_and_others_are_ignored(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    classes = f"no.such.Merger,{KEEP_FIRST[0]},{MAX_PRICE[0]}"
    options = {**custom(MAX_PRICE), CLASSES: classes}
    write(spark, path, options, (1, "a", 5.0, 1), (1, "b", 7.0, 2))
    assert rows_of(load(spark, path).select("name")) == [("b",)]


@pytest.mark.parametrize("version", ["6", "8", "9"])
def test_tables_of_every_version_keep_their_merger(spark: SparkSession, tmp_path: Path, version: str) -> None:
    path = tmp_path / "t"
    options = custom(COALESCE, MOR, **{ORDERING: "ts", "hoodie.write.table.version": version})
    write(spark, path, options, (1, "a", 5.0, 2))
    write(spark, path, options, (1, None, 6.0, 3))
    write(spark, path, options, (1, "late", None, 1))
    assert rows_of(load(spark, path, **{CLASSES: COALESCE[0]}).select("name", "price", "ts")) == [("a", 6.0, 3)]
    assert properties(path)["hoodie.record.merge.strategy.id"] == COALESCE[1]


def test_a_merger_restores_no_old_column_after_a_delete(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    path = tmp_path / "t"
    options = custom(COALESCE, table_type, **{ORDERING: "ts"})
    write(spark, path, options, (1, "a", 5.0, 5))
    write(spark, path, {**options, OPERATION: "delete"}, (1, None, None, 1))
    write(spark, path, options, (1, None, 6.0, 2))
    assert rows_of(load(spark, path, **{CLASSES: COALESCE[0]}).select("name", "price", "ts")) == [(None, 6.0, 2)]


def test_a_read_without_the_class_fails_with_table_strategy_and_option(spark: SparkSession, tmp_path: Path) -> None:
    path, options = tmp_path / "prices", custom(MAX_PRICE, MOR)
    write(spark, path, options, (1, "a", 5.0, 1))
    assert rows_of(load(spark, path).select("name")) == [("a",)], "where no versions are merged, no class is needed"
    write(spark, path, options, (1, "b", 7.0, 2))
    refused(
        lambda: load(spark, path).collect(),
        "MERGER_UNAVAILABLE",
        "'prices'",
        MAX_PRICE[1],
        "no class was named",
        CLASSES,
    )
    refused(
        lambda: load(spark, path, **{CLASSES: f"no.such.Merger,{KEEP_FIRST[0]}"}).collect(),
        "MERGER_UNAVAILABLE",
        "no.such.Merger is not on the class path",
        f"{KEEP_FIRST[0]} has strategy id {KEEP_FIRST[1]}",
    )
    read_optimized = load(spark, path, **{"hoodie.datasource.query.type": "read_optimized"})
    assert rows_of(read_optimized.select("name")) == [("a",)], "base files alone need no class"


def test_a_dry_run_of_a_rollback_lists_rows_only_with_the_class(spark: SparkSession, tmp_path: Path) -> None:
    path, options = tmp_path / "t", custom(MAX_PRICE, MOR)
    write(spark, path, options, (1, "a", 5.0, 1))
    write(spark, path, options, (1, "b", 7.0, 2))
    table = Table.load(spark, str(path))
    (row,) = table.services.dry_run("rollback", options={CLASSES: MAX_PRICE[0]}).rows
    assert (row.action, row.before["name"], row.after["name"]) == ("update", "b", "a")
    without = table.services.dry_run("rollback")
    assert [step.item for step in without if step.action == "roll back"]
    assert (without.rows, without.rows_before) == ((), None)
    assert "MERGER_UNAVAILABLE" in without.to_string()
    assert (without.row_counts, "rows are not compared" in str(without)) == ({}, True)


def test_a_write_and_a_compaction_without_the_class_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path, options = tmp_path / "t", custom(MAX_PRICE, MOR)
    write(spark, path, options, (1, "a", 5.0, 1))
    write(spark, path, options, (1, "b", 7.0, 2))
    before = listing(path)
    without = {key: value for key, value in options.items() if key != CLASSES}
    refused(lambda: write(spark, path, without, (1, "c", 8.0, 3)), "MERGER_UNAVAILABLE", MAX_PRICE[1], CLASSES)
    refused(lambda: Table.load(spark, str(path)).compact(), "MERGER_UNAVAILABLE", MAX_PRICE[1], CLASSES)
    assert listing(path) == before


def test_the_first_write_without_a_matching_class_makes_no_table(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = {**custom(KEEP_FIRST), CLASSES: MAX_PRICE[0]}
    refused(lambda: write(spark, path, options, (1, "a", 5.0, 1)), "MERGER_UNAVAILABLE", KEEP_FIRST[1], MAX_PRICE[0])
    assert listing(path) == []


def test_an_exception_in_a_merger_names_key_versions_class_and_file_group_and_commits_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, options = tmp_path / "t", custom(DELETE_NEGATIVE)
    columns = "id int, name string, price string, ts long"  # the merger takes the price for a double
    save(frame(spark, [(1, "a", "5", 1)], columns), path, options)
    files = [file for file in listing(path) if file.endswith(".parquet")]
    error = refused(
        lambda: save(frame(spark, [(1, "b", "7", 2)], columns), path, options),
        "MERGER_FAILED",
        DELETE_NEGATIVE[0],
        "ClassCastException",
    )
    assert error.parameters["key"] == "1"
    assert error.parameters["older"] == "{id=1, name=a, price=5, ts=1}"
    assert error.parameters["newer"] == "{id=1, name=b, price=7, ts=2}"
    assert error.parameters["fileGroup"] == files[0].split("_")[0]
    assert [file for file in listing(path) if file.endswith(".parquet")] == files
    assert rows_of(load(spark, path).select("name")) == [("a",)]


def test_an_exception_in_a_merger_fails_reads_and_compactions_of_the_log_and_leaves_the_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, options = tmp_path / "t", custom(DELETE_NEGATIVE, MOR)
    columns = "id int, name string, price string, ts long"  # the merger takes the price for a double
    for name in "ab":
        save(frame(spark, [(1, name, "5", 1)], columns), path, options)
    classes = {CLASSES: DELETE_NEGATIVE[0]}
    bases = [file for file in listing(path) if file.endswith(".parquet")]
    mentions = (DELETE_NEGATIVE[0], "record key '1'", "name=a", "name=b", bases[0].split("_")[0], "ClassCastException")
    refused(lambda: load(spark, path, **classes).collect(), "MERGER_FAILED", *mentions)
    refused(lambda: Table.load(spark, str(path)).compact(options=classes), "MERGER_FAILED", *mentions)
    assert [file for file in listing(path) if file.endswith(".parquet")] == bases
    read_optimized = load(spark, path, **{"hoodie.datasource.query.type": "read_optimized"})
    assert rows_of(read_optimized.select("name")) == [("a",)]


def test_sql_merges_by_the_class_that_the_session_names(session_class: SparkSession, sql: Sql) -> None:
    more = {"recordMergeMode": "CUSTOM", "recordMergeStrategyId": MAX_PRICE[1]}
    table = sql.create("mor", "id int, name string, price double", ordering=None, **more)
    sql.run("SET hoodie.spark.sql.insert.into.operation=upsert")
    try:
        sql.run(f"INSERT INTO {table} VALUES (1, 'a', 5.0D), (2, 'a', 5.0D)")
        sql.run(f"INSERT INTO {table} VALUES (1, 'b', 7.0D), (2, 'b', 3.0D)")
        expected = [(1, "b", 7.0), (2, "a", 5.0)]
        assert sql.rows(table) == expected
        sql.run(f"UPDATE {table} SET price = 6.0D, name = 'c' WHERE id = 2")
        sql.run(f"UPDATE {table} SET price = 1.0D, name = 'd' WHERE id = 1")
        expected = [(1, "b", 7.0), (2, "c", 6.0)]
        assert sql.rows(table) == expected
        sql.run(f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}')")
        assert sql.rows(table) == expected
    finally:
        sql.run("RESET hoodie.spark.sql.insert.into.operation")


def test_a_missing_ordering_field_has_no_value_for_the_merger_on_every_path(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    """To a merger a value that is not provided is none, whether it is merged with the row at once or from a log."""
    path, options = tmp_path / "t", custom(NEWER_PARTS, table_type, **{ORDERING: "ts"})
    keep = {**options, "spark.merganser.write.missingColumns": "keep"}
    write(spark, path, options, (1, "a", 1.0, 5), (2, "b", 1.0, 5))
    save(frame(spark, [(1, 2.0)], "id int, price double"), path, keep)
    save(frame(spark, [(2, 3.0, 6)], "id int, price double, ts long"), path, keep)
    expected = [(1, "a", 1.0, 5), (2, "b", 3.0, 6)]
    assert rows_of(load(spark, path, **{CLASSES: NEWER_PARTS[0]})) == expected
    if table_type == MOR:
        Table.load(spark, str(path)).compact(options={CLASSES: NEWER_PARTS[0]})
        assert rows_of(load(spark, path)) == expected


def test_partial_rows_for_a_custom_merger_are_refused_in_version_6(spark: SparkSession, tmp_path: Path) -> None:
    """Logs of version 6 hold whole rows: the merger would be called at the write, and again at the read."""
    keep = {"spark.merganser.write.missingColumns": "keep", "hoodie.write.table.version": "6"}
    path, options = tmp_path / "t", custom(KEEP_FIRST, MOR, **{"hoodie.write.table.version": "6"})
    write(spark, path, options, (1, "a", 1.0, 5))
    some = frame(spark, [(1, 2.0, 6)], "id int, price double, ts long")
    refused(lambda: save(some, path, {**options, **keep}), "KEEP_NEEDS_VERSION", "name", "version 6", "missingColumns")
    assert rows_of(load(spark, path, **{CLASSES: KEEP_FIRST[0]})) == [(1, "a", 1.0, 5)]


def test_a_payload_class_that_is_unknown_is_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    for payload, reason in {
        "no.such.Payload": "is not on the class path",
        "java.lang.String": "does not implement io.merganser.table.avro.RecordPayload",
        "org.apache.spark.sql.hudi.command.payload.ExpressionPayload": "need no payload class",
    }.items():
        options = {KEY: "id", ORDERING: "ts", "hoodie.datasource.write.payload.class": payload}
        refused(
            lambda options=options: write(spark, path, options, (1, "a", 5.0, 1)),
            "PAYLOAD_UNAVAILABLE",
            payload,
            reason,
        )
        assert listing(path) == []


@pytest.mark.parametrize("version", ["6", "8", "9"])
def test_a_custom_payload_runs_on_tables_of_every_version(
    spark: SparkSession, tmp_path: Path, table_type: str, version: str
) -> None:
    path = tmp_path / "t"
    options = {
        KEY: "id",
        ORDERING: "ts",
        TYPE: table_type,
        "hoodie.datasource.write.payload.class": "io.merganser.conformance.SummingPayload",
        "hoodie.write.table.version": version,
    }
    write(spark, path, options, (1, "a", 5.0, 1), (2, "a", 1.0, 1), (2, "b", 2.0, 2))
    write(spark, path, options, (1, "b", 7.0, 2))
    write(spark, path, options, (1, "c", 1.0, 1), (2, "gone", 0.0, 3))
    expected = [(1, "c", 13.0, 2)]
    assert rows_of(load(spark, path).select("id", "name", "price", "ts")) == expected
    if table_type == MOR:
        Table.load(spark, str(path)).compact()
        assert rows_of(load(spark, path).select("id", "name", "price", "ts")) == expected
