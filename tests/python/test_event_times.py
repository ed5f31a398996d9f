"""The event times that commits keep: least and greatest of each file written, in milliseconds since 1970."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from frames import COW, KEY, MOR, ORDERING, TYPE, frame, load, refused, rows_of, save
from pyspark.sql import SparkSession

from merganser import Table

pytestmark = pytest.mark.e2e

FIELD = "hoodie.payload.event.time.field"
PAYLOAD = "hoodie.datasource.write.payload.class"
EVENT_TIME = "org.apache.hudi.common.model.EventTimeAvroPayload"
DAY_MS = 86_400_000


def options(kind: str, field: str = "ts", **more: str) -> dict[str, str]:
    return {KEY: "id", ORDERING: "ts", TYPE: kind, PAYLOAD: EVENT_TIME, FIELD: field, **more}


def event_times(spark: SparkSession, path: Path) -> list[tuple[Any, Any]]:
    """Of the newest commit: the least and the greatest event time over its files."""
    instants = [f for f in (path / ".hoodie" / "timeline").iterdir() if f.name.split(".")[-1] in ("commit", "deltacommit")]
    newest = max((f for f in instants if not f.name.startswith(".")), key=lambda f: f.name)
    stats = [stat for stats in stats_of(spark, newest).values() for stat in stats]
    assert stats
    return [(stat.get("minEventTime"), stat.get("maxEventTime")) for stat in stats]


def stats_of(spark: SparkSession, commit: Path) -> dict[str, list[dict[str, Any]]]:
    content = commit.read_bytes()
    if content.startswith(b"Obj"):  # Avro, as of version 8
        metadata = spark.read.format("binaryFile").load(str(commit))
        assert metadata.count() == 1
        return avro_stats(spark, commit)
    return json.loads(content)["partitionToWriteStats"]


def avro_stats(spark: SparkSession, commit: Path) -> dict[str, list[dict[str, Any]]]:
    """With the Avro that Spark brings."""
    jvm = spark._jvm
    file = jvm.org.apache.avro.file.DataFileReader(
        jvm.java.io.File(str(commit)), jvm.org.apache.avro.generic.GenericDatumReader()
    )
    try:
        return json.loads(file.next().get("partitionToWriteStats").toString())
    finally:
        file.close()
