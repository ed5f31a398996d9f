"""A stream in a process of its own, which a test stops and kills: `python stream_process.py FOLDER`.

It reads `NAME ARGUMENTS…` from its input, separated by tabs, and runs the function of that name here, which runs a
query until all of its input is read. Its first line is the id of its Java process, then one for each query that ended.
"""

from __future__ import annotations

import sys
from pathlib import Path

from feeds import commits_of, finish, options_of, stream, writer
from followers import Follower
from pyspark.sql import SparkSession
from stopped_session import start


def fill(spark: SparkSession, kind: str, feed: str, path: str, checkpoint: str) -> None:
    """From the files of a folder into a table."""
    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
    finish(writer(stream(spark, feed), checkpoint, options_of(kind, **inline)).start(path))


def copy(spark: SparkSession, kind: str, source: str, path: str, checkpoint: str) -> None:
    """From one table into another, a commit in each micro-batch."""
    finish(writer(commits_of(spark, source), checkpoint, options_of(kind)).start(path))


def follow(spark: SparkSession, source: str, folder: str) -> None:
    """What each commit of a table changed, into a folder for each micro-batch."""
    from merganser import Table

    changes = Table.load(spark, source).change_data_stream("2000-01-01", max_files=1)
    Follower(spark, Path(folder)).follow(changes)


def main(folder: str) -> None:
    spark = start("streams", folder)
    for line in sys.stdin:
        name, *arguments = line.rstrip("\n").split("\t")
        globals()[name](spark, *arguments)
        print(f"{name} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
