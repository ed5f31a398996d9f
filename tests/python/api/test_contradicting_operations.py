# Guarantee (Python): An option that contradicts the call's operation, or is not an operation, is an error.
"""An operation among the options of a call that is another operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from merganser import MerganserError, Table

OPERATION = "hoodie.datasource.write.operation"
ROW = [{"id": 1, "v": "new"}]

#: Calls with options, and the operation that each of them is.
CALLS: dict[str, tuple[str, Callable[[Table, Mapping[str, str]], Any]]] = {
    "upsert": ("upsert", lambda t, options: t.upsert(ROW, options=options)),
    "insert": ("insert", lambda t, options: t.insert(ROW, options=options)),
    "bulk_insert": ("bulk_insert", lambda t, options: t.bulk_insert(ROW, options=options)),
    "overwrite": ("insert_overwrite_table", lambda t, options: t.overwrite(ROW, options=options)),
    "insert_overwrite": ("insert_overwrite", lambda t, options: t.insert_overwrite(ROW, options=options)),
    "delete": ("delete", lambda t, options: t.delete([1], options=options)),
    "delete where": ("delete", lambda t, options: t.delete(where="id = 1", options=options)),
    "update": ("upsert", lambda t, options: t.update({"v": "'new'"}, options=options)),
    "merge": (
        "upsert",
        lambda t, options: t.merge(ROW).when_matched_update().execute(options=options),
    ),
    "dry run": ("upsert", lambda t, options: t.upsert(ROW, options=options, dry_run=True)),
}


@pytest.mark.extensive
def test_a_call_with_the_option_of_another_operation_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create(spark, tmp_path / "t", "id int, v string", record_key="id")
    table.insert([{"id": 1, "v": "old"}])
    before = len(table.history())
    for name, (own, call) in CALLS.items():
        other = "delete" if own != "delete" else "insert"
        with pytest.raises(MerganserError) as caught:
            call(table, {OPERATION: other})
        assert caught.value.condition == "OPTION_CONFLICT", name
        assert [text for text in (OPERATION, other) if text not in str(caught.value)] == [], name
        with pytest.raises(MerganserError) as caught:
            call(table, {OPERATION: "upsrt"})
        assert caught.value.condition == "OPTION_VALUE_INVALID", name
        assert "upsrt" in str(caught.value)
    assert len(table.history()) == before
    for own, call in CALLS.values():
        call(table, {OPERATION: own.upper()})


def test_procedures_refuse_the_option_of_another_operation_and_calls_ignore_the_sessions(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table.create(spark, tmp_path / "t", "id int, v string", record_key="id")
    table.insert([{"id": 1, "v": "old"}])
    spark.sql("SELECT 1 AS id, 'new' AS v").createOrReplaceTempView("contradicting")
    for call in (
        f"write_rows(source => 'contradicting', path => '{table.path}', operation => 'upsert', "
        f"options => '{OPERATION}=delete')",
        f"dry_run(source => 'contradicting', path => '{table.path}', operation => 'upsert', "
        f"options => '{OPERATION}=delete')",
        f"run_statement(statement => \"UPDATE merganser.`{table.path}` SET v = 'new'\", "
        f"options => '{OPERATION}=delete')",
    ):
        with pytest.raises(Exception, match="OPTION_CONFLICT"):
            spark.sql(f"CALL {call}").collect()
    spark.conf.set(OPERATION, "delete")
    try:
        table.upsert(ROW)
        table.update({"v": "concat(v, '!')"})
    finally:
        spark.conf.unset(OPERATION)
    assert [tuple(row) for row in table.df().collect()] == [(1, "new!")]
