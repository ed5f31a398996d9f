"""Streams of changes: restarted after a failure, they apply nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from change_events import order, postgres
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from merganser import ApplyResult, Table


@pytest.mark.extensive
def test_a_stream_that_fails_after_a_commit_applies_nothing_twice_when_it_is_restarted(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    (folder / "1.json").write_text("\n".join([postgres("c", 1, order(1)), "{malformed"]))
    sample = spark.read.text(str(folder))
    path = str(tmp_path / "orders")
    table = Table.create_for_changes(spark, path, sample, preset="debezium_postgres", keys="id")
    results: list[ApplyResult] = []

    def run(*, fail: bool = False) -> None:
        def on_batch(number: int, result: ApplyResult) -> None:
            results.append(result)
            if fail:
                raise RuntimeError("the process ends here")

        query = table.apply_changes(
            spark.readStream.text(str(folder)),
            preset="debezium_postgres",
            quarantine=True,
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
            on_batch=on_batch,
        )
        query.awaitTermination(120)

    with pytest.raises(StreamingQueryException, match="the process ends here"):
        run(fail=True)
    (folder / "2.json").write_text(postgres("u", 2, order(1, "paid")))
    run()
    assert [(one.upserts, one.is_repetition, dict(one.quarantined)) for one in results] == [
        (1, False, {"JSON_MALFORMED": 1}),
        (1, True, {"JSON_MALFORMED": 1}),
        (1, False, {}),
    ]
    assert [row["status"] for row in table.df().collect()] == ["paid"]
    assert Table.load(spark, f"{path}_quarantine").df().count() == 1


def test_a_stream_needs_a_checkpoint_and_has_transactions_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create_for_changes(spark, str(tmp_path / "t"), "id int, seq bigint", keys="id", sequence_by="seq")
    stream = spark.readStream.format("rate").load().selectExpr("cast(value AS int) AS id", "value AS seq")
    with pytest.raises(ValueError, match="checkpoint=<folder>"):
        table.apply_changes(stream, sequence_by="seq")
    with pytest.raises(ValueError, match="txn belongs to one batch"):
        table.apply_changes(stream, sequence_by="seq", checkpoint="x", txn=("a", 1))
