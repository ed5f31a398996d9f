"""The Spark application: it applies the events of each table to a copy-on-write and a merge-on-read table.

    python applier.py SETTINGS

The file SETTINGS (JSON) names the folders. The application runs until the file ``finish`` appears in its folder: then
it applies what is there, compares the tables with the database, and writes what it has found into ``checked.json``.
When it is killed, the next one goes on from its checkpoints.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import comparison
from database import Database, named
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery, StreamingQueryListener

import merganser

KINDS = {"cow": merganser.TableType.COPY_ON_WRITE, "mor": merganser.TableType.MERGE_ON_READ}
NAMES = {"cow": "copy-on-write", "mor": "merge-on-read"}

#: Buckets, so that every change of the merge-on-read tables goes to a log file.
INDEXES = {"cow": merganser.IndexType.SIMPLE, "mor": merganser.IndexType.BUCKET}
OPTIONS = {"cow": {}, "mor": {"hoodie.bucket.index.num.buckets": "2"}}


@dataclass(frozen=True)
class Settings:
    """Where things are; folders are absolute paths."""

    folder: str  # of tables, checkpoints and records
    events: dict[str, str]  # the folder of the events of each table
    keys: dict[str, list[str]]
    columns: dict[str, list[list[str]]]  # the columns of each table before the workload, with their types in the lake
    database: str  # its kind
    port: int  # of the server, which the tables are compared with
    master: str = "local[2]"
    trigger: str = "1 second"

    @property
    def source(self) -> Database:
        return named(self.database)

    def path(self, *parts: str) -> Path:
        return Path(self.folder, *parts)


@dataclass(frozen=True)
class Checked:
    """What the comparison of a table of the lake has found."""

    table: str
    kind: str
    rows: int
    columns: int
    differences: list[str]
    compaction: dict[str, Any] | None  # its counts


def main(file: str) -> None:
    """Run the application."""
    settings = Settings(**json.loads(Path(file).read_text()))
    spark = session(settings)
    spark.streams.addListener(Records(settings.path("records", "progress.jsonl")))
    queries = {}
    for table in settings.keys:
        for kind in KINDS:
            queries[table, kind] = start(spark, settings, table, kind)
    finish = settings.path("finish")
    while not finish.exists():
        for query in queries.values():
            raise_failure(query)
        time.sleep(0.1)
    for query in queries.values():
        query.processAllAvailable()
        query.stop()
    checked = [asdict(check(spark, settings, table, kind)) for table, kind in queries]
    time.sleep(0.2)  # the listener hears of the last batches a moment later
    target = settings.path("checked.json")
    target.with_suffix(".part").write_text(json.dumps(checked))
    target.with_suffix(".part").rename(target)
    spark.stop()


def session(settings: Settings) -> SparkSession:
    """A local session."""
    spark = merganser.session(
        "cdc",
        master=settings.master,
        config={
            "spark.driver.memory": "1g",
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.streaming.minBatchesToRetain": "10000",  # the report reads which files a batch had
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        },
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def start(spark: SparkSession, settings: Settings, table: str, kind: str) -> StreamingQuery:
    """Start the query that applies the events of a table to one of its two copies in the lake."""
    lake = opened(spark, settings, table, kind)
    events = spark.readStream.text(settings.events[table])
    return lake.apply_changes(
        events,
        preset=settings.source.preset,
        quarantine=True,  # for a repeated update that lacks a value, after its row was deleted
        checkpoint=str(settings.path("checkpoints", kind, table)),
        trigger={"processingTime": settings.trigger},
        query_name=f"{kind}/{table}",
        on_batch=recorder(settings.path("records", f"{kind}-{table}.jsonl")),
    )


def opened(spark: SparkSession, settings: Settings, table: str, kind: str) -> merganser.Table:
    """A table of the lake, which is created by the first application; columns that are added come with their events."""
    path = settings.path("tables", kind, table).as_uri()
    try:
        return merganser.Table.load(spark, path)
    except merganser.TableNotFoundError:
        schema = ", ".join(f"`{name}` {kind_of}" for name, kind_of in settings.columns[table])
        return merganser.Table.create_for_changes(
            spark,
            path,
            schema,
            preset=settings.source.preset,
            keys=settings.keys[table],
            table_type=KINDS[kind],
            index=INDEXES[kind],
            options=OPTIONS[kind],
            name=f"{table}_{kind}",
        )


def recorder(file: Path) -> Callable[[int, merganser.ApplyResult], None]:
    """Write a line for each batch that was applied, with its time and its counts."""

    def record(batch: int, result: merganser.ApplyResult) -> None:
        append(file, {"batch": batch, "at_ms": time.time() * 1000, **result.to_dict()})

    return record


class Records(StreamingQueryListener):
    """Writes a line for each batch, with the times that Spark measured."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        if event.progress.numInputRows:
            append(self._file, json.loads(event.progress.json))

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        pass


def check(spark: SparkSession, settings: Settings, table: str, kind: str) -> Checked:
    """Compare a table with the database; a merge-on-read one with its logs, and again after a compaction."""
    lake = merganser.Table.load(spark, settings.path("tables", kind, table).as_uri())
    compaction = None
    with settings.source.connect(settings.port) as connection:

        def found(frame: DataFrame) -> list[str]:
            return comparison.compare(settings.source, connection, table, settings.keys[table], frame)

        differences = found(lake.df())
        if kind == "mor":
            result = lake.compact()
            if result is not None:
                entry = next(one for one in lake.history() if one.instant == result.instant)
                names = ("inserted", "updated", "deleted", "late")
                compaction = {name: getattr(entry, name) for name in names} | {"elapsed_ms": result.elapsed_ms}
            differences += [f"after the compaction: {line}" for line in found(lake.df())]
        columns = settings.source.columns_of(connection, table)
        rows = connection.value(f"SELECT count(*) FROM {table}")
    return Checked(table, kind, int(rows or 0), len(columns), differences, compaction)


def append(file: Path, record: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as lines:
        lines.write(json.dumps(record, default=str) + "\n")


def raise_failure(query: StreamingQuery) -> None:
    failure = query.exception()
    if failure is not None:
        raise RuntimeError(f"The query {query.name} has failed: {failure}")
    if not query.isActive:
        raise RuntimeError(f"The query {query.name} has ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
