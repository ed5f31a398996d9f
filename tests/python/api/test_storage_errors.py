"""What a user can do wrong about the place of a table is one sentence with a remedy, whatever touches it first."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from frames import frame, load, refused, rows_of, save
from option_names import KEY, ORDERING, PARTITION
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sql_steps import Sql

from merganser import Table

OPTIONS = {KEY: "id", ORDERING: "ts", "hoodie.table.name": "t"}
COLUMNS = "id int, ts long, p string"
ROWS = [(1, 1, "a")]


def ways(spark: SparkSession, path: str) -> dict[str, Callable[[], Any]]:
    """What opens or creates a table at a path."""
    rows = frame(spark, ROWS, COLUMNS)
    return {
        "write": lambda: save(rows, path, OPTIONS),
        "read": lambda: load(spark, path),
        "load": lambda: Table.load(spark, path),
        "create": lambda: Table.create(spark, path, "id int, ts long, p string", record_key="id"),
        "CREATE TABLE": lambda: spark.sql(
            f"CREATE TABLE nowhere (id INT) USING merganser TBLPROPERTIES (primaryKey = 'id') LOCATION '{path}'"
        ),
        "SELECT": lambda: spark.sql(f"SELECT * FROM merganser.`{path}`"),
    }


@pytest.mark.parametrize(
    ("scheme", "remedy"),
    [
        ("s3a", "hadoop-aws:"),
        ("foo", "spark.hadoop.fs.foo.impl set to its class"),
        ("http", "Copy the files to a disk or an object store"),
    ],
)
def test_a_path_with_a_missing_file_system_is_refused_with_the_remedy(
    spark: SparkSession, scheme: str, remedy: str
) -> None:
    path = f"{scheme}://bucket/t"
    for way in ways(spark, path).values():
        refused(way, "FILE_SYSTEM_UNAVAILABLE", path, remedy)


def test_a_missing_file_system_is_found_once_its_class_is_set(spark: SparkSession, tmp_path: Path) -> None:
    path = f"foo://{tmp_path}/t"
    refused(lambda: load(spark, path), "FILE_SYSTEM_UNAVAILABLE", "spark.hadoop.fs.foo.impl set to its class")
    settings: Any = spark._jsc.hadoopConfiguration()  # type: ignore[attr-defined]  # spark.hadoop.* at the start
    settings.set("fs.foo.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystem")
    try:
        with pytest.raises(Exception) as found:  # it is there, and has no mounts
            load(spark, path)
        assert "fs.foo.impl" not in str(found.value)
    finally:
        settings.unset("fs.foo.impl")


def test_a_table_below_a_file_is_refused_and_created_below_a_folder(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for way in ways(spark, f"{tmp_path}/file/t").values():
        refused(way, "STORAGE_REFUSED", "file/t", "Correct the path")
    path = tmp_path / "folder" / "t"
    save(frame(spark, ROWS, COLUMNS), path, OPTIONS)
    assert rows_of(load(spark, path)) == ROWS


def test_a_partition_value_that_cannot_name_a_folder_is_refused(spark: SparkSession, tmp_path: Path, sql: Sql) -> None:
    options = {**OPTIONS, PARTITION: "p"}
    odd = frame(spark, [(1, 1, "x\0y")], COLUMNS)
    refused(lambda: save(odd, tmp_path / "t", options), "PARTITION_PATH_NUL", "x\\0y", "replace(column, chr(0), '')")
    save(odd.withColumn("p", F.expr("replace(p, chr(0), '')")), tmp_path / "t", options)
    assert rows_of(load(spark, tmp_path / "t")) == [(1, 1, "xy")]
    table = sql.create("cow", "id int, ts int, p string", by="p")
    assert "PARTITION_PATH_NUL" in sql.fails(f"INSERT INTO {table} SELECT 1, 1, concat('x', chr(0))")
    long = frame(spark, [(2, 1, "z" * 300)], COLUMNS)
    refused(lambda: save(long, tmp_path / "t", options), "STORAGE_REFUSED", "File name too long", "Shorten")
    save(long.withColumn("p", F.substring("p", 1, 100)), tmp_path / "t", options)
    assert rows_of(load(spark, tmp_path / "t")) == [(1, 1, "xy"), (2, 1, "z" * 100)]


def test_a_folder_named_like_the_properties_is_an_error_until_the_file_is_restored(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    save(frame(spark, ROWS, COLUMNS), path, OPTIONS)
    file = path / ".hoodie" / "hoodie.properties"
    kept = file.read_bytes()
    file.unlink()
    file.mkdir()
    opened = ways(spark, str(path))
    for name in ("write", "read", "load"):
        refused(opened[name], "TABLE_PROPERTIES_INVALID", str(file), "it is a folder. Restore the file")
    shutil.rmtree(file)
    file.write_bytes(kept)
    assert rows_of(load(spark, path)) == ROWS
