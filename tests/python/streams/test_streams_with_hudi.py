"""Hudi's sink continues a stream of ours with its checkpoint, and ours goes on after it.

Runs with MERGANSER_FULL=1 alone: a session of Hudi's own takes fifteen seconds to start.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from feeds import Feed, drop_last_commit, finish, options_of, stream, timeline, writer
from frames import load, rows_of
from option_names import COW
from pyspark.sql import SparkSession
from session_process import SessionProcess

FULL = os.environ.get("MERGANSER_FULL") == "1"

HUDI = {
    "spark.jars": os.environ.get("MERGANSER_HUDI_JAR", ""),
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
}


def fill_by_hudi(spark: SparkSession, feed: str, path: str, checkpoint: str, options: dict[str, str]) -> None:
    writing = stream(spark, feed).writeStream.format("hudi").options(**options)
    writing = writing.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    finish(writing.start(path))


@pytest.mark.skipif(not (FULL and HUDI["spark.jars"]), reason="starts a session of Hudi's own")
def test_both_engines_continue_one_stream_in_turns_and_write_each_micro_batch_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Feed(tmp_path / "feed")
    feed.add((1, 5, "a"), (2, 5, "b"))
    feed.add((1, 6, "a2"), (3, 1, "c"))
    path, checkpoint = tmp_path / "t", tmp_path / "checkpoint"
    options = options_of(COW, **{"hoodie.table.name": "turns"})
    finish(writer(stream(spark, feed.folder), checkpoint, options).start(str(path)))
    drop_last_commit(checkpoint)
    feed.add((2, 7, "b2"))
    arguments = {"feed": str(feed.folder), "path": str(path), "checkpoint": str(checkpoint), "options": options}
    with SessionProcess(tmp_path / "hudi", "local[2]", HUDI, plain=True) as session:
        session.call(fill_by_hudi, **arguments)
    assert len(timeline(path)) == 3
    assert rows_of(load(spark, path).select("id", "ts", "v")) == feed.folded()
    feed.add((4, 1, "d"))
    finish(writer(stream(spark, feed.folder), checkpoint, options).start(str(path)))
    assert len(timeline(path)) == 4
    assert rows_of(load(spark, path).select("id", "ts", "v")) == feed.folded()
