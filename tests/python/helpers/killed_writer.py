"""A writer in a process of its own, which a test stops and kills: `python killed_writer.py FOLDER`.

It reads `prepare ACTION PATH` and `run ACTION PATH` from its input, one a line, and answers each with a line when it is
done. Its first line is the id of its Java process, which is the one that writes files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

from option_names import BUCKETS, COW, INDEX, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from pyspark.sql import SparkSession
from stopped_session import start

VERSION = "hoodie.write.table.version"

#: Odd ids are in partition p2, the others in p1.
BATCH = "(1, 'changed', 20, 'p2'), (2, 'changed', 20, 'p1'), (7, 'added', 20, 'p2'), (8, 'added', 20, 'p1')"


class Action(NamedTuple):
    """What is run on a table of these options, which has two commits unless it is `new`."""

    options: Mapping[str, str]
    run: Callable[[SparkSession, str], object]
    new: bool = False
    of_services: bool = False


def save(spark: SparkSession, path: str, rows: str, options: Mapping[str, str]) -> None:
    frame = spark.sql(f"SELECT * FROM VALUES {rows} AS t(id, name, ts, part)").coalesce(1)
    frame = frame.selectExpr("id", "name", "CAST(ts AS BIGINT) ts", "part")
    frame.write.format("merganser").options(**options).mode("append").save(path)


def options_of(kind: str, **more: str) -> dict[str, str]:
    named = {"hoodie.table.name": "killed", KEY: "id", PARTITION: "part", ORDERING: "ts", TYPE: kind}
    return {**named, **more}


def writing(options: Mapping[str, str], rows: str = BATCH, **more: str) -> Callable[[SparkSession, str], object]:
    return lambda spark, path: save(spark, path, rows, {**options, **more})


def statement(text: str) -> Callable[[SparkSession, str], object]:
    return lambda spark, path: spark.sql(text.format(path)).collect()


_buckets = {INDEX: "BUCKET", BUCKETS: "2"}
_cow, _mor = options_of(COW), options_of(MOR, **_buckets)
_clustering = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
_inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}

ACTIONS: dict[str, Action] = {
    "first write": Action(_cow, writing(_cow), new=True),
    "upsert, copy on write": Action(_cow, writing(_cow)),
    "upsert, merge on read": Action(_mor, writing(_mor)),
    "delete": Action(_cow, writing(_cow, "(1, '', 20, 'p2'), (4, '', 20, 'p1')", **{OPERATION: "delete"})),
    "overwrite of partitions": Action(_mor, writing(_mor, "(8, 'added', 20, 'p1')", **{OPERATION: "insert_overwrite"})),
    "overwrite of the table": Action(_cow, writing(_cow, BATCH, **{OPERATION: "insert_overwrite_table"})),
    "upsert with clustering": Action(_cow, writing(_cow, BATCH, **_clustering)),
    "upsert with compaction": Action(_mor, writing(_mor, BATCH, **_inline)),
    "compaction": Action(_mor, statement("CALL run_compaction(op => 'scheduleandexecute', path => '{}')")),
    "ALTER TABLE of columns": Action(_cow, statement("ALTER TABLE merganser.`{}` ADD COLUMN extra STRING")),
    "ALTER TABLE of properties": Action(
        _mor, statement("ALTER TABLE merganser.`{}` SET TBLPROPERTIES ('hoodie.parquet.max.file.size' = '1000000')")
    ),
    "upgrade from version 6": Action(options_of(MOR, **{VERSION: "6"}), statement("CALL upgrade_table(path => '{}')")),
    "upgrade from version 8": Action(options_of(COW, **{VERSION: "8"}), statement("CALL upgrade_table(path => '{}')")),
}


def prepare(spark: SparkSession, name: str, path: str) -> None:
    action = ACTIONS[name]
    if not action.new:
        save(spark, path, ", ".join(f"({i}, 'first', 10, 'p{i % 2 + 1}')" for i in range(1, 7)), action.options)
        later = {key: value for key, value in action.options.items() if key != VERSION}
        save(spark, path, "(1, 'second', 11, 'p2'), (2, 'second', 11, 'p1')", later)


def main(folder: str) -> None:
    spark = start("killed", folder)
    for line in sys.stdin:
        request, name, path = line.rstrip("\n").split("\t")
        if request == "prepare":
            prepare(spark, name, path)
        else:
            ACTIONS[name].run(spark, path)
        print(f"{request} done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
