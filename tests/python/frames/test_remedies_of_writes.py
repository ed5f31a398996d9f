# Guarantee (Writes): A write, statement or call that is refused names what to write instead, and that works. Also:
#   test_a_frame_of_narrower_types_is_widened_and_missing_struct_fields_are_null_on_request, test_statement_remedies,
#   test_mistakes
"""A write that is refused says what to do, and that works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from frames import frame, load, refused, rows_of, save
from option_names import INDEX, KEY, OPERATION, ORDERING, PARTITION, TYPE
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from merganser import Table

OPTIONS = {KEY: "id", ORDERING: "ts", "hoodie.table.name": "t"}
COLUMNS = "id int, ts long, v string"
PAYLOAD = "hoodie.datasource.write.payload.class"


@pytest.mark.parametrize("name", [PAYLOAD, "hoodie.compaction.payload.class"])
def test_a_deleting_payload_class_is_refused_with_the_delete_operation_as_remedy(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "t"
    save(frame(spark, [(1, 1, "a"), (2, 1, "b")], COLUMNS), path, OPTIONS)
    gone = frame(spark, [(1, 2, "a")], COLUMNS)
    empty = {**OPTIONS, name: "org.apache.hudi.common.model.EmptyHoodieRecordPayload"}
    refused(lambda: save(gone, path, empty), "PAYLOAD_CLASS_REFUSED", name, f"set {OPERATION} to delete", "Remove")
    save(gone, path, {**OPTIONS, OPERATION: "delete"})
    assert rows_of(load(spark, path)) == [(2, 1, "b")]


def test_the_indexes_suggested_for_hudis_record_index_move_rows_between_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    columns = f"{COLUMNS}, p string"
    options = {**OPTIONS, PARTITION: "p"}
    first = frame(spark, [(1, 1, "a", "x")], columns)
    refused(lambda: save(first, path, {**options, INDEX: "RECORD_INDEX"}), "UNSUPPORTED_OPTION", "GLOBAL_SIMPLE or")
    for index in ("GLOBAL_SIMPLE", "GLOBAL_BLOOM"):
        save(first, path / index, {**options, INDEX: index})
        save(frame(spark, [(1, 2, "b", "y")], columns), path / index, {**options, INDEX: index})
        assert rows_of(load(spark, path / index)) == [(1, 2, "b", "y")]


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_untyped_nulls_and_empty_lists_get_the_columns_type(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    columns = "id int, ts long, v string, a array<string>, m map<string,int>, s struct<x:int,y:array<int>>"
    options = {**OPTIONS, TYPE: kind}
    save(frame(spark, [(1, 1, "a", ["b"], {"c": 1}, (1, [2]))], columns), path, options)
    empty: dict[str, Any] = {
        "v": F.lit(None),
        "a": F.array(),
        "m": F.create_map(),
        "s": F.struct(F.lit(None).alias("x"), F.array().alias("y")),
    }
    rows = spark.range(1, 2).selectExpr("cast(id AS int) id", "2L ts").withColumns(empty)
    save(rows, path, options)
    assert rows_of(load(spark, path)) == [(1, 2, None, [], {}, (None, []))]
    Table.load(spark, str(path)).upsert(rows.withColumn("ts", F.lit(3).cast("long")))
    assert rows_of(load(spark, path)) == [(1, 3, None, [], {}, (None, []))]


def test_a_new_column_without_a_type_is_refused_until_it_is_cast(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = frame(spark, [(1, 1, "a")], COLUMNS)
    untyped = rows.withColumn("w", F.lit(None))
    refused(lambda: save(untyped, path, OPTIONS), "UNSUPPORTED_TYPE", "'w'", "no values that show its type", "Cast")
    save(rows, path, OPTIONS)
    refused(lambda: save(untyped, path, OPTIONS), "UNSUPPORTED_TYPE", "'w'", "Cast or drop the column")
    save(rows.withColumn("w", F.lit(None).cast("int")), path, OPTIONS)
    assert rows_of(load(spark, path)) == [(1, 1, "a", None)]
