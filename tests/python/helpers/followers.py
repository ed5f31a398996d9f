"""A query that follows the change data of a table, and what its images make of an empty copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from feeds import finish
from pyspark.sql import DataFrame, SparkSession

#: Completion time, operation, row before and row after.
Change = tuple[Any, ...]


class Follower:
    """A query that stores each micro-batch under its number: one that is repeated replaces itself."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder

    def follow(self, frame: DataFrame) -> None:
        out = str(self.folder / "out")
        writing = frame.writeStream.foreachBatch(lambda batch, n: batch.write.mode("overwrite").parquet(f"{out}/{n}"))
        writing = writing.option("checkpointLocation", str(self.folder / "checkpoint"))
        finish(writing.trigger(availableNow=True).start())

    def batches(self) -> list[list[Change]]:
        """The changes by micro-batch."""
        found = []
        while (self.folder / "out" / str(len(found))).exists():
            batch = self.spark.read.parquet(str(self.folder / "out" / str(len(found)))).collect()
            shown = [(r.completion_time, r.op, r.before and tuple(r.before), r.after and tuple(r.after)) for r in batch]
            found.append(sorted(shown, key=str))
        return found

    def copy(self) -> list[Any]:
        """What the changes make of an empty copy; each has to match what is there."""
        rows: dict[int, Any] = {}
        for batch in self.batches():
            for _, op, before, after in sorted(batch, key=lambda change: (change[0], change[1] != "d")):
                key = (before or after)[0]
                assert rows.pop(key, None) == before, (op, before, after)
                if after:
                    rows[key] = after
        return sorted(rows.values())
