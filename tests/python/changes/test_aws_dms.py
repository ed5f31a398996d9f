"""AWS DMS: a full load and the changes beside it, in S3 and in Kinesis, in the form in which DMS writes them."""

from __future__ import annotations

from typing import Any

import pytest
from places import ROOT
from pyspark.sql import DataFrame, SparkSession

import merganser
from merganser import Table
from merganser.changes import presets

RECORDED = ROOT / "tests" / "recorded" / "aws_dms"
LOAD = "committed string, order_id int, customer string, country string, seq string"
CHANGES = f"Op string, {LOAD}"

#: Changes were committed before the load had the time that it has: by the source's clock, and in the load or not.
EXPECTED = [(10248, "France"), (10249, "Austria"), (19998, "Portugal")]


def load(spark: SparkSession) -> DataFrame:
    return spark.read.schema(LOAD).csv(str(RECORDED / "LOAD00000001.csv"))


def load_with_operations(spark: SparkSession) -> DataFrame:
    return spark.read.schema(CHANGES).csv(str(RECORDED / "LOAD00000001-op.csv"))


def changes(spark: SparkSession) -> DataFrame:
    return spark.read.schema(CHANGES).csv(str(RECORDED / "20240528-202150.csv"))


def content(table: Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in table.df().select("order_id", "country").collect())


# Guarantee (Change events): A full load of AWS DMS loses to every change, whatever the two clocks. Also:
#   test_records_of_kinesis_are_applied_in_the_order_of_their_commits_and_after_the_load
@pytest.mark.parametrize(
    ("has_operation", "sequence_by"), [(False, "seq"), (False, ["committed", "seq"]), (True, "seq")]
)
def test_dms_changes_win_over_the_load_and_apply_in_transaction_order(
    spark: SparkSession, tmp_path: Any, has_operation: bool, sequence_by: Any
) -> None:
    given: dict[str, Any] = {"preset": "aws_dms_s3", "sequence_by": sequence_by}
    rows = load_with_operations(spark) if has_operation else load(spark)
    table = Table.create_for_changes(spark, str(tmp_path / "t"), rows, keys="order_id", **given)
    order = ("seq",) if sequence_by == "seq" else ("committed", "seq")
    assert table.ordering_by == ("_event_is_change", *order)
    done = table.apply_changes(changes(spark).orderBy("seq", ascending=False).coalesce(1), **given)
    assert (done.upserts, done.deletes) == (6, 2)
    # After its changes: the load comes again as a whole, also the rows that are newer by now. What was deleted comes
    # back from it, as in every order in which an event older than a delete comes in a later frame.
    table.apply_changes(rows.where("order_id <> 10250"), **given)
    assert content(table) == EXPECTED


def test_a_condition_on_the_file_name_separates_loads_from_inserts(spark: SparkSession, tmp_path: Any) -> None:
    named = [
        frame.selectExpr("*", "_metadata.file_name AS file") for frame in (load_with_operations(spark), changes(spark))
    ]
    files = named[0].unionByName(named[1])
    preset = presets.named("aws_dms_s3").configured(loads="file LIKE 'LOAD%'")
    given: dict[str, Any] = {"preset": preset, "sequence_by": "committed", "except_columns": ["file", "seq"]}
    earlier = files.where("seq IS NULL OR order_id <> 19998")  # of one transaction: their time is the same
    table = Table.create_for_changes(spark, str(tmp_path / "t"), earlier, keys="order_id", **given)
    table.apply_changes(earlier, **given)
    assert content(table) == EXPECTED[:2]
    stored = {tuple(row) for row in table.df().select("order_id", "_event_is_change").collect()}
    assert stored == {(10248, 0), (10249, 1)}


def test_a_table_whose_ordering_lacks_the_load_flag_is_refused(spark: SparkSession, tmp_path: Any) -> None:
    table = Table.create(spark, str(tmp_path / "t"), LOAD, record_key="order_id", ordering_by="seq")
    given: dict[str, Any] = {"sequence_by": "seq"}
    with pytest.raises(merganser.ConfigurationConflictError, match="sequence_by is _event_is_change, seq"):
        table.apply_changes(changes(spark), preset="aws_dms_s3", **given)
    preset = presets.named("aws_dms_s3").configured(before_sequence=())
    with pytest.raises(merganser.EventsRefusedError, match="ORDERING_MISSING"):
        table.apply_changes(load(spark), preset=preset, **given)


def test_records_of_kinesis_are_applied_in_the_order_of_their_commits_and_after_the_load(
    spark: SparkSession, tmp_path: Any
) -> None:
    records = (RECORDED / "kinesis.jsonl").read_text().splitlines()
    types = {"id": "int", "name": "string", "age": "int", "attributes": "string"}
    events = spark.createDataFrame([(one,) for one in reversed(records)], "value string").coalesce(1)
    table = Table.create_for_changes(spark, str(tmp_path / "t"), events, preset="aws_dms", keys="id", columns=types)
    done = table.apply_changes(events, preset="aws_dms", source_table="public.demo")
    assert (done.upserts, done.deletes, done.key_changes, dict(done.skipped)) == (8, 1, 1, {"schema_change": 1})
    stored = sorted(tuple(row) for row in table.df().select("id", "name", "age").collect())
    assert stored == [(394, "Changed", 5), (396, "Newest", 3), (397, "Test", 4)]
