"""Non-blocking writers of ours and Hudi's, which append to the same buckets at the same time."""

from __future__ import annotations

import threading
from pathlib import Path

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine

SCHEMA = "id int, name string, ts bigint, part string"

OPTIONS = {
    "hoodie.table.name": "shared",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "1",
    "hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.metadata.enable": "false",
}


def test_non_blocking_writers_of_both_engines_share_buckets_and_lose_no_row(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = tmp_path / "shared"
    ours.upsert(table, SCHEMA, [[0, "first", 1, "x"]], **OPTIONS)
    failures: list[BaseException] = []
    start = threading.Barrier(2)

    def write() -> None:
        try:
            start.wait(60)
            for i in range(1, 7):
                ours.upsert(table, SCHEMA, [[0, f"ours {i}", 10 * i, "x"], [i, "ours", 1, "y"]], **OPTIONS)
        except BaseException as failure:
            failures.append(failure)

    writing = threading.Thread(target=write)
    writing.start()
    start.wait(60)
    for i in range(1, 4):
        hudi.upsert(table, SCHEMA, [[0, f"theirs {i}", 25 * i, "x"], [100 + i, "theirs", 1, "y"]], **OPTIONS)
    writing.join(120)
    assert not failures
    assert not writing.is_alive()
    rows = [[0, "theirs 3", 75, "x"], *([i, "ours", 1, "y"] for i in range(1, 7))]
    rows += [[100 + i, "theirs", 1, "y"] for i in range(1, 4)]
    logs = {file.name.split("_")[0] for file in table.glob("*/.0*.log.*")}
    assert logs == {".00000000-0000-0000-0000-000000000000-0"}, "each bucket is one file group, of both engines' logs"
    assert len(list(table.glob("*/.0*.log.*"))) == 1 + 2 * 6 + 2 * 3
    assert not list(table.glob("*/*.parquet"))
    assert sorted(ours.read(table).business) == rows
    assert sorted(hudi.read(table).business) == rows
    ours.compact(table)
    assert len(list(table.glob("*/*.parquet"))) == 2
    hudi.upsert(table, SCHEMA, [[0, "late", 2, "x"], [1, "theirs", 2, "y"]], **OPTIONS)
    ours.upsert(table, SCHEMA, [[0, "late", 3, "x"], [2, "ours again", 2, "y"]], **OPTIONS)
    rows[1:3] = [[1, "theirs", 2, "y"], [2, "ours again", 2, "y"]]
    assert sorted(ours.read(table).business) == rows
    assert sorted(hudi.read(table).business) == rows
