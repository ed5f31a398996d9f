"""A folder of files that a stream reads one by one, each a micro-batch, and the fold of what was fed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

SCHEMA = "id int, ts bigint, v string"
Row = tuple[int, int, str]


class Feed:
    """Files of rows ``(id, ts, v)``; each is one micro-batch of a stream that reads the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.batches: list[list[Row]] = []

    def add(self, *rows: Row) -> None:
        number = len(self.batches)
        self.batches.append(list(rows))
        text = "\n".join(json.dumps(dict(zip(("id", "ts", "v"), row, strict=True))) for row in rows)
        hidden = self.folder / f".{number}"
        hidden.write_text(text + "\n")
        at = 1_700_000_000 + number  # files are read in the order of their times
        os.utime(hidden, (at, at))
        hidden.rename(self.folder / f"{number:04}.json")

    def folded(self, batches: int | None = None) -> list[Row]:
        """The table's rows after so many batches: of each key that of the largest ``ts``, the newer one on a tie."""
        return folded(row for batch in self.batches[:batches] for row in batch)


def folded(rows: Iterable[Row]) -> list[Row]:
    found: dict[int, Row] = {}
    for row in rows:
        if row[0] not in found or row[1] >= found[row[0]][1]:
            found[row[0]] = row
    return sorted(found.values())


def stream(spark: SparkSession, folder: Path | str) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").json(str(folder))


def commits_of(spark: SparkSession, table: Path | str) -> DataFrame:
    """The commits of a table from its first one on, each a micro-batch."""
    options = {"maxFilesPerTrigger": "1", "hoodie.datasource.streaming.startOffset": "2000-01-01"}
    return spark.readStream.format("merganser").options(**options).load(str(table))


def writer(frame: DataFrame, checkpoint: Path | str, options: dict[str, str], mode: str = "append") -> DataStreamWriter:
    writing = frame.writeStream.format("merganser").options(**options).outputMode(mode)
    return writing.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)


def finish(query: StreamingQuery, seconds: int = 180) -> None:
    """Wait for the end of a query; its error is raised."""
    assert query.awaitTermination(seconds)


def timeline(path: Path) -> list[str]:
    """Files of the completed writes of a table of version 9, oldest first."""
    found = (path / ".hoodie" / "timeline").glob("*_*.*commit")
    return sorted(file.name for file in found)


def drop_last_commit(checkpoint: Path) -> int:
    """Take back that a checkpoint knows its last micro-batch as done; its number."""
    commits = checkpoint / "commits"
    last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    for name in (str(last), f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)
    return last


def options_of(kind: str, **more: str) -> dict[str, Any]:
    named = {"hoodie.datasource.write.recordkey.field": "id", "hoodie.table.ordering.fields": "ts"}
    return {**named, "hoodie.datasource.write.table.type": kind, **more}
