"""Ctrl-C in a call of a table."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from merganser import Table


# Guarantee (Python): Ctrl-C in a write is a `KeyboardInterrupt`, and the write is rolled back.
def test_ctrl_c_ends_a_write_with_a_keyboard_interrupt(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create(spark, tmp_path / "t", "id string, n int, ts long", record_key="id")
    table.upsert([("a", 1, 1)])
    slow = F.expr("coalesce(reflect('java.lang.Thread', 'sleep', 100L), 'x')")
    rows = spark.range(0, 40, 1, 2).select(slow.alias("id"), F.lit(1).alias("n"), F.col("id").alias("ts"))

    def interrupt() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not tracker.getActiveStageIds():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        table.upsert(rows)
    assert signal.getsignal(signal.SIGINT) is before
    assert [entry.state for entry in table.history()] == ["COMPLETED"]
    assert table.upsert([("b", 1, 1)]).inserted == 1
    assert table.count() == 2
