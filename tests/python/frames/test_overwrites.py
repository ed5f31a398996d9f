"""What an overwrite replaces is decided in one place: options, the session's settings, operations and save modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from frames import frame, load, refused, rows_of, save
from option_names import COW, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from pyspark.sql import DataFrame, SparkSession
from sql_steps import Sql

import merganser

COLUMNS = "id int, ts bigint, p string"
OPTIONS = {KEY: "id", ORDERING: "ts", PARTITION: "p"}
HUDI_MODE = "hoodie.datasource.overwrite.mode"
SPARK_MODE = "spark.sql.sources.partitionOverwriteMode"
WRITER_MODE = "partitionOverwriteMode"
TO_DELETE = "hoodie.datasource.write.partitions.to.delete"
PATHS_TO_DELETE = "spark.merganser.write.partitionPathsToDelete"
ENCODED = "hoodie.datasource.write.partitionpath.urlencode"
STORED = [(1, 2, "x"), (2, 1, "y"), (3, 1, "z")]


def rows(spark: SparkSession, *values: tuple[Any, ...]) -> DataFrame:
    return frame(spark, values, COLUMNS)


def filled(spark: SparkSession, path: Path, kind: str = COW, **more: str) -> dict[str, str]:
    """A table with partitions x, y and z; its options."""
    options = {**OPTIONS, TYPE: kind, **more}
    save(rows(spark, (1, 1, "x"), (2, 1, "y"), (3, 1, "z")), path, options)
    save(rows(spark, (1, 2, "x")), path, options)
    return options


def stored(spark: SparkSession, path: Path) -> list[tuple[Any, ...]]:
    return rows_of(load(spark, path))


def last(spark: SparkSession, path: Path) -> tuple[str, str | None]:
    entry = next(entry for entry in merganser.Table.load(spark, str(path)).history() if entry.action != "clean")
    return entry.action, entry.operation


@pytest.mark.parametrize("kind", [COW, MOR])
def test_an_overwrite_of_a_path_follows_its_option_and_else_the_session(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "t"
    options = filled(spark, path, kind)
    new = rows(spark, (7, 1, "x"))

    def overwrite(**more: str) -> list[tuple[Any, ...]]:
        save(new, path, {**options, **more}, mode="overwrite")
        found = stored(spark, path)
        save(rows(spark, *STORED), path, options, mode="overwrite")
        return found

    only, others = [(7, 1, "x")], [(2, 1, "y"), (3, 1, "z"), (7, 1, "x")]
    assert overwrite(**{HUDI_MODE: "DYNAMIC"}) == others
    assert overwrite(**{WRITER_MODE: "dynamic"}) == others
    assert overwrite() == only
    with Sql(spark).settings({SPARK_MODE: "dynamic"}):
        assert overwrite(**{HUDI_MODE: "STATIC"}) == only
        save(new, path, options, mode="overwrite")
        assert stored(spark, path) == others
        assert last(spark, path) == ("replacecommit", "INSERT_OVERWRITE")
    with Sql(spark).settings({SPARK_MODE: "dynamic", HUDI_MODE: "STATIC"}):
        refused(lambda: save(new, path, options, mode="overwrite"), "OPTION_CONFLICT", HUDI_MODE, SPARK_MODE)
    save(new, path, options, mode="overwrite")
    assert stored(spark, path) == only
    assert last(spark, path) == ("replacecommit", "INSERT_OVERWRITE_TABLE")
    refused(
        lambda: save(new, path, {**options, HUDI_MODE: "STATIC", WRITER_MODE: "dynamic"}, mode="overwrite"),
        "OPTION_CONFLICT",
    )


def test_an_overwrite_of_a_named_table_follows_the_writers_option(sql: Sql) -> None:
    spark, table = sql.spark, sql.create("cow", COLUMNS, by="p")

    def refill() -> None:
        sql.run(f"INSERT OVERWRITE {table} VALUES (1, 2, 'x'), (2, 1, 'y'), (3, 1, 'z')")

    new, others = rows(spark, (7, 1, "x")), [(2, 1, "y"), (3, 1, "z"), (7, 1, "x")]
    refill()
    new.write.format("merganser").option(WRITER_MODE, "dynamic").insertInto(table, overwrite=True)
    assert sql.rows(table) == others
    refill()
    new.write.format("merganser").mode("overwrite").option(HUDI_MODE, "DYNAMIC").saveAsTable(table)
    assert sql.rows(table) == others
    assert sql.run(f"SHOW TBLPROPERTIES {table} ('primaryKey')")[0][1] == "id"
    with sql.settings({SPARK_MODE: "dynamic"}):
        new.write.format("merganser").option(HUDI_MODE, "STATIC").insertInto(table, overwrite=True)
        assert sql.rows(table) == [(7, 1, "x")]
        refill()
        # Spark plans it as an overwrite of the partitions of its rows, and there are none.
        sql.run(f"INSERT OVERWRITE {table} PARTITION (p = 'y') SELECT id, ts FROM {table} WHERE id < 0")
        assert sql.rows(table) == [(1, 2, "x"), (2, 1, "y"), (3, 1, "z")]
    with sql.settings({HUDI_MODE: "DYNAMIC"}):
        refill()
        sql.run(f"INSERT OVERWRITE {table} PARTITION (p = 'y') SELECT id, ts FROM {table} WHERE id < 0")
        assert sql.rows(table) == [(1, 2, "x"), (3, 1, "z")]
    refused(lambda: new.writeTo(table).option(HUDI_MODE, "STATIC").overwritePartitions(), "OPTION_CONFLICT")
    refused(
        lambda: new.writeTo(table).option(OPERATION, "delete").overwritePartitions(), "DELETE_NEEDS_APPEND", "delete"
    )
    refused(
        lambda: new.writeTo(table).option(OPERATION, "insert_overwrite_table").overwritePartitions(), "OPTION_CONFLICT"
    )
    assert sql.rows(table) == [(1, 2, "x"), (3, 1, "z")]


@pytest.mark.parametrize("kind", [COW, MOR])
def test_hudis_overwrite_operations_replace_rows_with_mode_append(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "t"
    options = filled(spark, path, kind)

    def write(operation: str, *new: tuple[Any, ...], mode: str = "append", **more: str) -> None:
        save(rows(spark, *new), path, {**options, OPERATION: operation, **more}, mode=mode)

    write("insert_overwrite", (7, 1, "x"), (8, 1, "w"))
    assert stored(spark, path) == [(2, 1, "y"), (3, 1, "z"), (7, 1, "x"), (8, 1, "w")]
    assert last(spark, path) == ("replacecommit", "INSERT_OVERWRITE")
    write("insert_overwrite", (9, 1, "w"), mode="overwrite")
    assert stored(spark, path) == [(2, 1, "y"), (3, 1, "z"), (7, 1, "x"), (9, 1, "w")]
    write("delete_partition", (0, 0, "x"))
    assert stored(spark, path) == [(2, 1, "y"), (3, 1, "z"), (9, 1, "w")]
    assert last(spark, path) == ("replacecommit", "DELETE_PARTITION")
    write("delete_partition", **{TO_DELETE: "y,none"})
    assert stored(spark, path) == [(3, 1, "z"), (9, 1, "w")]
    write("upsert", (1, 1, "2024-01"), (2, 1, "2024-02"), (4, 1, "2025-01"))
    write("delete_partition", **{TO_DELETE: "2024-*"})
    assert stored(spark, path) == [(3, 1, "z"), (4, 1, "2025-01"), (9, 1, "w")]
    write("insert_overwrite_table", (5, 1, "v"), (5, 2, "v"))
    assert stored(spark, path) == [(5, 1, "v"), (5, 2, "v")]
    assert last(spark, path) == ("replacecommit", "INSERT_OVERWRITE_TABLE")
    refused(lambda: write("upsert", **{TO_DELETE: "v"}), "OPTION_CONFLICT", TO_DELETE)
    refused(lambda: write("insert_overwrite_table", **{HUDI_MODE: "DYNAMIC"}), "OPTION_CONFLICT")
    assert stored(spark, path) == [(5, 1, "v"), (5, 2, "v")]


def test_rows_and_partitions_are_deleted_with_mode_append_alone(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = filled(spark, path)
    for operation in "delete", "delete_partition":
        for mode in "overwrite", "error", "ignore":
            refused(
                lambda operation=operation, mode=mode: save(
                    rows(spark, (1, 1, "x")), path, {**options, OPERATION: operation}, mode=mode
                ),
                "DELETE_NEEDS_APPEND",
                operation,
                "append",
            )
        refused(
            lambda operation=operation: save(
                rows(spark, (1, 1, "x")), tmp_path / "none", {**options, OPERATION: operation}
            ),
            "DELETE_FROM_NO_TABLE",
        )
    assert stored(spark, path) == STORED
    flat = {KEY: "id", ORDERING: "ts"}
    save(rows(spark, (1, 1, "x")), tmp_path / "flat", flat)
    refused(
        lambda: save(rows(spark, (1, 1, "x")), tmp_path / "flat", {**flat, OPERATION: "delete_partition"}),
        "TABLE_WITHOUT_PARTITIONS",
    )


def test_overwrite_operations_create_a_missing_table(spark: SparkSession, tmp_path: Path) -> None:
    for operation in "insert_overwrite", "insert_overwrite_table":
        save(rows(spark, *STORED), tmp_path / operation, {**OPTIONS, OPERATION: operation})
        assert stored(spark, tmp_path / operation) == STORED


def test_delete_partition_takes_exact_names_and_matches_only_explicit_patterns(
    spark: SparkSession, tmp_path: Path
) -> None:
    """`%2A` is the star of a value in an encoded path, spaces belong to a name, and Python's paths are names."""
    values = ["a*b", "axb", "*", "b", "b ", "x,y", "x"]
    path = tmp_path / "t"

    def left() -> list[str]:
        return [row[2] for row in stored(spark, path)]

    def refill(**more: str) -> dict[str, str]:
        options = {**OPTIONS, TYPE: COW, **more}
        save(rows(spark, *((i, 1, value) for i, value in enumerate(values))), path, options, mode="overwrite")
        return {**options, OPERATION: "delete_partition"}

    drop, none = refill(**{ENCODED: "true"}), rows(spark)
    save(none, path, {**drop, TO_DELETE: "a%2Ab"})
    assert left() == values[1:]
    save(none, path, {**drop, TO_DELETE: "b "})
    assert left() == ["axb", "*", "b", "x,y", "x"]
    save(none, path, {**drop, TO_DELETE: " x,%2A"})
    assert left() == ["axb", "b", "x,y", "x"]
    table = merganser.Table.load(spark, str(path))
    table.delete_partitions(["x,y", "*", "a?b"])
    assert left() == ["axb", "b", "x"]
    table.delete_partitions(matching=["a*b", "x"])
    assert left() == ["b"]

    path = tmp_path / "plain"
    drop = refill()
    save(none, path, {**drop, TO_DELETE: "a%2Ab"})
    assert left() == values
    save(none, path, {**drop, PATHS_TO_DELETE: '["a*b", "x,y"]'})
    assert left() == ["axb", "*", "b", "b ", "x"]
    merganser.Table.load(spark, str(path)).delete_partitions(["*", "b "])
    assert left() == ["axb", "b", "x"]
    refused(lambda: save(none, path, {**drop, PATHS_TO_DELETE: '["b"]', TO_DELETE: "x"}), "OPTION_CONFLICT", TO_DELETE)
    for wrong in "b", '{"a": "b"}', "[1]", '[""]', "[]":
        refused(lambda wrong=wrong: save(none, path, {**drop, PATHS_TO_DELETE: wrong}), "OPTION_VALUE_INVALID", "JSON")
    refused(lambda: save(none, path, {**drop, TO_DELETE: ",,"}), "OPTION_VALUE_INVALID", TO_DELETE)
    with Sql(spark).settings({TO_DELETE: "x"}):
        merganser.Table.load(spark, str(path)).delete_partitions(["b"])
    assert left() == ["axb", "x"]
