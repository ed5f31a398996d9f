"""`combine` and `merge_frames`: what a table would have, without a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path

import pytest
from fold import COMMON, Batch, Row, Rule, fold, history, together
from frames import frame, refusal, save
from option_names import KEY
from pyspark.sql import DataFrame, SparkSession
from stored_rules import RULES

import merganser
from merganser import MergeMode, Table

# One of each make: the rules are the same objects as in tables.
SOME = ["event time by two fields", "commit time", "OverwriteNonDefaults", "PartialUpdate", "a user's merger"]
ORDERS = "id int, ts bigint, status string"


def rows(found: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in found.collect())


# Guarantee (Python): DataFrames merged without a table give the rows that a table would have. Also:
#   test_merged_frames_can_be_queried_and_written_like_any_frame
@pytest.mark.e2e
@pytest.mark.parametrize("rule", [r for r in RULES if r.name in SOME], ids=lambda rule: rule.name)
def test_frames_merged_batch_by_batch_or_combined_give_the_rows_of_the_fold(spark: SparkSession, rule: Rule) -> None:
    names = [column.split()[0] for column in f"{COMMON}, {rule.columns}".split(", ")]
    batches = together([history(rule, seed, 4) for seed in range(20)])

    def changes(batch: Batch) -> DataFrame:
        return frame(spark, [tuple(v.row[name] for name in names) for v in batch], f"{COMMON}, {rule.columns}")

    def found(merged: DataFrame) -> dict[str, Row]:
        return {row["id"]: {**row.asDict(), "_hoodie_is_deleted": None} for row in merged.collect()}

    def expected(batches: Sequence[Batch]) -> dict[str, Row]:
        folded = fold(rule, batches, tombstones=False)
        return {key: {**row, "_hoodie_is_deleted": None} for key, row in folded.items()}

    stored = merganser.combine(changes(batches[0]), "id", options=rule.settings)
    merged = reduce(
        lambda old, batch: merganser.merge_frames(old, changes(batch), "id", options=rule.settings), batches[1:], stored
    )
    assert found(merged) == expected(batches)
    whole = [version for batch in batches for version in batch]
    assert found(merganser.combine(changes(whole), "id", options=rule.settings)) == expected([whole])


@pytest.mark.e2e
def test_merged_frames_can_be_queried_and_written_like_any_frame(spark: SparkSession, tmp_path: Path) -> None:
    stored = spark.createDataFrame([(1, 5, "new"), (2, 5, "new"), (3, 9, "paid")], ORDERS)
    late = [
        (1, 4, "late", False),
        (2, 7, "paid", False),
        (3, 10, None, True),
        (4, 1, "new", False),
        (4, 2, "up", False),
    ]
    changes = spark.createDataFrame(late, f"{ORDERS}, _hoodie_is_deleted boolean")
    merged = merganser.merge_frames(stored, changes, ["id"], ordering_by="ts")

    after = [(1, 5, "new"), (2, 7, "paid"), (4, 2, "up")]
    assert merged.columns == ["id", "ts", "status"]
    assert rows(merged) == after
    assert rows(merged.alias("a").join(merged.alias("b"), "id").select("id", "a.ts", "b.status")) == after
    assert rows(merged.where("ts > 2").groupBy().count()) == [(2,)]
    assert rows(merganser.combine(changes, "id", ordering_by="ts", merge_mode=MergeMode.COMMIT_TIME_ORDERING)) == [
        (1, 4, "late"),
        (2, 7, "paid"),
        (4, 2, "up"),
    ]
    amounts = spark.createDataFrame([(1, 2), (1, 3), (2, 4)], "id int, amount int")
    assert rows(merganser.combine(amounts, "id", {"amount": "sum"})) == [(1, 5), (2, 4)]
    # A table's rows are merged as they are read, without its meta columns; and a table gives the same.
    save(stored, tmp_path / "t", {KEY: "id", "hoodie.table.ordering.fields": "ts"})
    table = Table.load(spark, str(tmp_path / "t"))
    before = spark.read.format("merganser").load(table.path)
    assert rows(merganser.merge_frames(before, changes, "id", ordering_by="ts")) == after
    table.upsert(changes)
    assert rows(table.df().select("id", "ts", "status")) == after


def test_missing_columns_of_changes_keep_the_stored_values(spark: SparkSession) -> None:
    stored = spark.createDataFrame([(1, 5, "new"), (2, 5, "new")], ORDERS)
    changes = spark.createDataFrame([(1, 6), (3, 6)], "id int, ts bigint")
    keep = {"spark.merganser.write.missingColumns": "keep"}
    merged = merganser.merge_frames(stored, changes, "id", ordering_by="ts", options=keep)
    assert sorted(map(tuple, merged.collect())) == [(1, 6, "new"), (2, 5, "new"), (3, 6, None)]


def test_the_sql_functions_merge_and_combine_views(spark: SparkSession) -> None:
    spark.sql("SELECT 1 id, 5 ts, 'new' status").createOrReplaceTempView("merged_stored")
    spark.sql("SELECT 1 id, 6 ts, 'paid' status").createOrReplaceTempView("merged_changes")
    options = "map('hoodie.datasource.write.recordkey.field', 'id', 'hoodie.table.ordering.fields', 'ts')"
    assert rows(spark.sql(f"SELECT * FROM merganser_merge('merged_stored', 'merged_changes', {options})")) == [
        (1, 6, "paid")
    ]
    assert rows(spark.sql(f"SELECT status FROM merganser_combine('merged_changes', {options})")) == [("paid",)]


def test_a_merge_of_unsuitable_frames_is_refused_with_the_condition(spark: SparkSession) -> None:
    orders = spark.createDataFrame([(1, 5, "new")], ORDERS)

    def condition(act: Callable[[], object]) -> str:
        return refusal(act).condition

    assert condition(lambda: merganser.combine(orders, "key")) == "RECORD_KEY_COLUMN_MISSING"
    assert condition(lambda: merganser.combine(orders, "id", ordering_by="time")) == "ORDERING_FIELD_MISSING"
    other = orders.withColumnRenamed("status", "state")
    assert condition(lambda: merganser.merge_frames(orders, other, "id")) == "COLUMN_MISSING"
    by = {"hoodie.datasource.write.partitionpath.field": "status"}
    assert condition(lambda: merganser.combine(orders, "id", options=by)) == "FRAMES_HAVE_NO_PARTITIONS"
    stream = spark.readStream.format("rate").load()
    assert condition(lambda: merganser.combine(stream, "value")) == "STREAM_CANNOT_BE_MERGED"
    call = "SELECT * FROM merganser_combine"
    assert condition(lambda: spark.sql(f"{call}('orders')")) == "MERGE_FUNCTION_ARGUMENTS"
    assert condition(lambda: spark.sql(f"{call}(1, map('a', 'b'))")) == "MERGE_FUNCTION_ARGUMENTS"
    assert condition(lambda: spark.sql(f"{call}('orders', 'id')")) == "MERGE_FUNCTION_ARGUMENTS"
    with pytest.raises(TypeError, match="takes a Spark DataFrame"):
        merganser.combine([(1, 5)], "id")  # type: ignore[arg-type]
    nameless = spark.createDataFrame([(None, 5, "new")], ORDERS)
    assert condition(lambda: merganser.combine(nameless, "id").collect()) == "NULL_RECORD_KEY"
