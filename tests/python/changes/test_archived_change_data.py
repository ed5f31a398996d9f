"""Change data beside archiving: a window has the same changes whether its commits, or those before it, are archived."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from option_names import COW, MOR
from pyspark.sql import SparkSession

from merganser import Table, TableType

COLUMNS = "id string, s int, ts bigint, part string"
KEEPS = {"hoodie.clean.automatic": "false", "hoodie.keep.min.commits": "50", "hoodie.keep.max.commits": "60"}

#: What the third commit does to partition x, whose rows a bulk load and an upsert have made.
OPERATIONS: dict[str, Callable[[Table], Any]] = {
    "upsert": lambda t: t.upsert([("k1", 4, 30, "x"), ("k9", 1, 30, "x")]),
    "delete": lambda t: t.delete(keys=[{"id": "k1", "part": "x"}, {"id": "k5", "part": "x"}]),
    "overwrite partition": lambda t: t.insert_overwrite([("k1", 7, 40, "x")]),
    "delete partition": lambda t: t.delete_partitions(["x"]),
    "overwrite table": lambda t: t.overwrite([("k1", 7, 40, "x"), ("e0", 1, 1, "y")]),
    "compaction": lambda t: t.compact(),
    "clustering": lambda t: t.services.cluster(),
}

TABLES = [(COW, "SIMPLE", 9), (MOR, "SIMPLE", 9), (MOR, "BUCKET", 9), (MOR, "SIMPLE", 8), (MOR, "SIMPLE", 6)]


def history(spark: SparkSession, path: Path, kind: str, index: str, version: int, operation: str) -> Table:
    options = {"hoodie.index.type": index, "hoodie.write.table.version": str(version), **KEEPS}
    if index == "BUCKET":
        options["hoodie.bucket.index.num.buckets"] = "1"
    table = Table.create(
        spark,
        path,
        COLUMNS,
        record_key="id",
        ordering_by="ts",
        partition_by="part",
        table_type=TableType(kind),
        rule={"s": "sum"} if version >= 9 else None,
        options=options,
    )
    table.bulk_insert([("k1", -2, 27, "x"), ("k2", 5, 27, "x"), ("e0", 0, 1, "y")])
    # k5 is in a log alone where the index places new keys in logs, and k2 is deleted in one.
    table.upsert([("k1", -1, 24, "x"), ("k5", 3, 24, "x")])
    table.delete(keys=[{"id": "k2", "part": "x"}])
    OPERATIONS[operation](table)
    for i in range(6):
        table.upsert([("e0", 1, i + 2, "y")])
    return table


def changes(table: Table, since: str, until: str) -> list[Any]:
    rows = table.change_data(since=since, until=until).collect()
    return sorted(((r.op, r.before and tuple(r.before), r.after and tuple(r.after)) for r in rows), key=str)


CASES = [
    (kind, index, version, operation)
    for kind, index, version in TABLES
    for operation in OPERATIONS
    if (operation != "compaction" or kind == MOR) and (operation != "clustering" or index != "BUCKET")
]


# Guarantee (Change data): Archiving changes no answer of a window whose files are retained, in every version, around
#   savepoints and where writes overlap. Also: ArchivedWindowsSuite, ArchivedHistoriesSuite
@pytest.mark.extensive
@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "index", "version", "operation"), CASES)
def test_archiving_does_not_alter_the_change_data_of_a_window(
    spark: SparkSession, tmp_path: Path, kind: str, index: str, version: int, operation: str
) -> None:
    table = history(spark, tmp_path / "t", kind, index, version, operation)
    instants = sorted(action.instant for action in table.history())
    third = instants[3]
    windows = [(since, until) for since in ["earliest", *instants[:5]] for until in (third, instants[-1])]
    windows = [(since, until) for since, until in windows if since == "earliest" or since < until]
    before = {window: changes(table, *window) for window in windows}
    assert before[("earliest", third)]
    for least in (6, 2):
        table.services.archive(min_commits=least, max_commits=least + 1)
        assert {window: changes(table, *window) for window in windows} == before
