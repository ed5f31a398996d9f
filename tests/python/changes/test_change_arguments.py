"""Rows with keys and a sequence, in the words of AUTO CDC; and arguments that are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from change_events import postgres
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import merganser
from merganser import MergeMode, Table
from merganser.changes import presets

SCHEMA = "id int, name string, city string, op string, seq bigint"


def frame(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(rows), SCHEMA).coalesce(1)


def content(table: Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in table.df().collect())


def test_rows_are_applied_by_keys_sequence_and_conditions(spark: SparkSession, tmp_path: Path) -> None:
    given: dict[str, Any] = {"keys": ["id"], "sequence_by": "seq", "except_columns": ["op", "seq"]}
    table = Table.create_for_changes(spark, str(tmp_path / "t"), frame(spark), **given)
    changes = frame(
        spark,
        (1, "new", "x", "U", 5),
        (1, "old", "x", "I", 3),
        (2, None, None, "D", 4),
        (2, "gone", "x", "I", 2),
        (3, None, None, "T", 1),
    )
    done = table.apply_changes(changes, **given, apply_as_deletes="op = 'D'", apply_as_truncates=F.expr("op = 'T'"))
    assert (done.upserts, done.deletes, done.truncates, done.preset) == (3, 1, 1, None)
    assert content(table) == [(1, "new", "x", 5)]
    assert table.schema.fieldNames() == ["id", "name", "city", "seq"]
    one = table.apply_changes(frame(spark, (1, None, "y", "U", 6)), sequence_by="seq", columns=["city"])
    assert one.updated == 1
    assert content(table) == [(1, "new", "y", 6)]
    with pytest.raises(merganser.EventsRefusedError, match="ORDERING_MISSING"):
        table.apply_changes(frame(spark, (1, "n", "y", "U", None)), **given)
    assert "<th>updated</th><td>1</td>" in one._repr_html_()
    assert one.to_dict()["updated"] == 1


def test_apply_changes_takes_the_arguments_of_auto_cdc(spark: SparkSession, tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "keys": [F.col("id")],
        "sequence_by": F.struct("city", "seq"),
        "except_column_list": [F.col("op")],
        "stored_as_scd_type": "1",
    }
    made = {name: value for name, value in given.items() if name != "stored_as_scd_type"}
    table = Table.create_for_changes(
        spark, str(tmp_path / "t"), frame(spark), **made, ignore_null_updates_column_list=["name"]
    )
    assert (table.record_key, table.ordering_by) == (("id",), ("city", "seq"))
    rows = frame(spark, (1, "a", "y", "U", 1), (1, "b", "x", "U", 9), (1, None, "y", "U", 2), (2, "c", "x", "D", 1))
    table.apply_changes(rows, **given, apply_as_deletes=F.col("op") == "D", ignore_null_updates=[F.col("name")])
    assert content(table) == [(1, "a", "y", 2)]
    done = table.apply_changes(rows, keys="id", sequence_by=["city", "seq"], column_list=[F.col("name")])
    assert done.upserts == 4
    assert content(table) == [(1, "a", "y", 2), (2, "c", "x", 1)]


def test_null_leaves_the_stored_value_in_a_table_that_ignores_nulls(spark: SparkSession, tmp_path: Path) -> None:
    given: dict[str, Any] = {"sequence_by": "seq", "except_columns": "op"}
    table = Table.create_for_changes(
        spark, str(tmp_path / "t"), frame(spark), keys="id", ignore_null_updates=True, **given
    )
    rows = frame(spark, (1, None, "y", "U", 3), (1, "b", None, "U", 2), (1, "a", "x", "I", 1))
    table.apply_changes(rows, ignore_null_updates=True, **given)
    assert content(table) == [(1, "b", "y", 3)]
    with pytest.raises(merganser.ConfigurationConflictError, match="ignore_null_updates is False"):
        table.apply_changes(rows, ignore_null_updates=False, **given)


def test_the_error_for_wrong_arguments_of_apply_changes_names_the_right_ones(
    spark: SparkSession, tmp_path: Path
) -> None:
    def table(name: str, **more: Any) -> Table:
        return Table.create(spark, str(tmp_path / name), SCHEMA, record_key="id", **more)

    good, rows = table("good", ordering_by="seq"), frame(spark)
    wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (ValueError, "needs the order of the changes. Give sequence_by", {}),
        (ValueError, "There is no preset 'debezium'. Use one of aws_dms, ", {"preset": "debezium"}),
        (TypeError, "preset is a name such as", {"preset": 3}),
        (ValueError, r"stored_as_scd_type=2 .* df\(as_of=", {"sequence_by": "seq", "stored_as_scd_type": 2}),
        (TypeError, "keys is the name of a column, a Column or a list", {"sequence_by": "seq", "keys": {"id": 1}}),
        (TypeError, "apply_as_deletes is a condition", {"sequence_by": "seq", "apply_as_deletes": True}),
        (TypeError, "ignore_null_updates is True, False", {"sequence_by": "seq", "ignore_null_updates": 1}),
        (ValueError, "but not in 'name'", {"sequence_by": "seq", "ignore_null_updates": ["city", "op"]}),
        (
            ValueError,
            "columns and column_list are the same",
            {"sequence_by": "seq", "columns": "a", "column_list": "b"},
        ),
        (TypeError, r"not the expression \(seq \+ 1\)", {"sequence_by": F.expr("seq + 1")}),
        (TypeError, "takes a frame with a column value", {"preset": "debezium_postgres"}),
        (ValueError, "sequence_by names 'when'", {"sequence_by": "when"}),
        (merganser.ConfigurationConflictError, "keys is name", {"sequence_by": "seq", "keys": "name"}),
    ]
    for kind, message, arguments in wrong:
        with pytest.raises(kind, match=message):
            good.apply_changes(rows, **arguments)
    with pytest.raises(TypeError, match="takes a Spark DataFrame or a streaming one, not a list"):
        good.apply_changes([], sequence_by="seq")  # type: ignore[arg-type]
    unsuited = {
        "CHANGES_NEED_ORDERING": {"merge_mode": MergeMode.COMMIT_TIME_ORDERING},
        "CHANGES_NEED_GLOBAL_INDEX": {"ordering_by": "seq", "partition_by": "city"},
    }
    for condition, settings in unsuited.items():
        with pytest.raises(merganser.MerganserError, match=r"Create the table with") as raised:
            table(condition, **settings).apply_changes(rows, sequence_by="seq")
        assert raised.value.condition == condition
    two = spark.createDataFrame(
        [(postgres("c", 1, {"id": 1}, columns=None, table=name),) for name in ("a", "b")], "value string"
    )
    orders = Table.create_for_changes(spark, str(tmp_path / "o"), "id int", preset="debezium_postgres", keys="id")
    with pytest.raises(ValueError, match=r"events belong to 2 tables: shop\.public\.a, shop\.public\.b"):
        orders.apply_changes(two, preset="debezium_postgres")
    done = orders.apply_changes(two, preset="debezium_postgres", source_table="shop.public.b")
    assert (done.upserts, dict(done.skipped)) == (1, {"other_table": 1})
    with pytest.raises(ValueError, match="A preset has no setting 'unit'"):
        presets.named("maxwell").configured(unit="ms")
