"""Tables that Hudi and we write in turn, each with another index."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from interop.hudi_engine import HudiEngine, HudiError, Rows
from interop.merganser_engine import MerganserEngine
from interop.values import sort_rows

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SCHEMA = "id int, day string, amount int, ts bigint"
INDEX = "hoodie.index.type"
BY_PARTITION = "hoodie.datasource.write.partitionpath.field"
BUCKETS = {INDEX: "BUCKET", "hoodie.bucket.index.num.buckets": "3"}
SIMPLE = {INDEX: "SIMPLE"}
MEMORY = {INDEX: "INMEMORY"}
BLOOM = {INDEX: "BLOOM"}
GLOBAL = {INDEX: "GLOBAL_SIMPLE"}
RECORDS = {
    INDEX: "RECORD_INDEX",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
}
DROP = {"spark.merganser.write.dropIndexes": "true"}


@dataclass(frozen=True)
class Pair:
    """The writers of a table, in turn: Hudi or we, with the options of an index."""

    kind: str
    version: int
    first: tuple[str, dict[str, str]]
    second: tuple[str, dict[str, str]]
    #: Ours, which follow both.
    ours: dict[str, str] = field(default_factory=dict)
    #: What Hudi refuses its second write for, if it does.
    hudi_refuses: str = ""
    #: With which Hudi writes at the end; None: as at the beginning.
    last: dict[str, str] | None = None


STORED = "Config conflict"
PAIRS = {
    "hudi bucket, ours": Pair(MOR, 9, ("hudi", BUCKETS), ("ours", {})),
    "hudi bucket cow, ours": Pair(COW, 6, ("hudi", BUCKETS), ("ours", {})),
    # Our tables store their index, and Hudi keeps to it.
    "ours, hudi bloom": Pair(COW, 9, ("ours", SIMPLE), ("hudi", BLOOM), hudi_refuses=STORED),
    "ours, hudi bucket": Pair(MOR, 6, ("ours", SIMPLE), ("hudi", BUCKETS), hudi_refuses=STORED),
    "ours bucket, hudi simple": Pair(MOR, 8, ("ours", BUCKETS), ("hudi", SIMPLE), hudi_refuses=STORED),
    "hudi simple, hudi bloom": Pair(COW, 9, ("hudi", SIMPLE), ("hudi", BLOOM)),
    "hudi simple, hudi global": Pair(MOR, 8, ("hudi", SIMPLE), ("hudi", {INDEX: "GLOBAL_SIMPLE"})),
    "hudi simple, hudi in memory": Pair(MOR, 9, ("hudi", SIMPLE), ("hudi", MEMORY)),
    "hudi simple, hudi in memory, v6": Pair(MOR, 6, ("hudi", SIMPLE), ("hudi", MEMORY)),
    "hudi in memory, ours global": Pair(MOR, 9, ("hudi", MEMORY), ("ours", GLOBAL), GLOBAL),
    "hudi simple, hudi bucket": Pair(MOR, 9, ("hudi", SIMPLE), ("hudi", BUCKETS), hudi_refuses="NumberFormat"),
    # Hudi puts new keys into any bucket, and then finds them with SIMPLE alone.
    "hudi bucket, hudi simple": Pair(MOR, 9, ("hudi", BUCKETS), ("hudi", SIMPLE), last=SIMPLE),
    "hudi bucket cow, hudi simple": Pair(COW, 8, ("hudi", BUCKETS), ("hudi", SIMPLE), SIMPLE, last=SIMPLE),
    "hudi bucket, hudi in memory": Pair(MOR, 9, ("hudi", BUCKETS), ("hudi", MEMORY), last=SIMPLE),
    "hudi record index, ours": Pair(MOR, 9, ("hudi", RECORDS), ("ours", DROP), DROP),
}


def options(name: str, pair: Pair) -> dict[str, str]:
    return {
        "hoodie.table.name": name,
        "hoodie.datasource.write.table.type": pair.kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "day",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.table.version": str(pair.version),
    }


def keys(read: Rows) -> list[list[Any]]:
    return read.select(["day", "id"])


#: Pairs whose like is among the others: they run with MERGANSER_FULL=1.
MORE = {
    "hudi bucket cow, hudi simple",
    "hudi bucket, hudi in memory",
    "hudi bucket cow, ours",
    "ours, hudi bloom",
    "ours, hudi bucket",
    "hudi simple, hudi bloom",
    "hudi simple, hudi in memory",
    "hudi simple, hudi in memory, v6",
}
FULL = bool(os.environ.get("MERGANSER_FULL"))


# Guarantee (Tables of other engines): A table that engines write with different indexes, or only to logs, loses no row
#   and gets no second row of a key from our writes. Also:
#   test_a_key_that_hudi_stored_outside_its_bucket_is_updated_in_place,
#   test_upserts_and_merges_find_keys_that_hudi_inserted_into_logs
@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in PAIRS if FULL or name not in MORE])
def test_writes_with_different_indexes_keep_one_row_of_each_key(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, name: str
) -> None:
    pair, path = PAIRS[name], tmp_path / "t"
    engines: dict[str, Any] = {"hudi": hudi, "ours": ours}
    settings = options("t", pair)

    def write(by: tuple[str, dict[str, str]], rows: list[list[Any]]) -> None:
        engine, index = by
        engines[engine].upsert(path, SCHEMA, rows, **settings, **index)

    def rows(ids: Any, ts: int) -> list[list[Any]]:
        return [[i, f"d{i % 2}", ts, ts] for i in ids]

    write(pair.first, rows(range(6), 1))
    # Updates, and keys of its own: in file groups, or logs, where the first engine does not put them.
    if pair.hudi_refuses:
        with pytest.raises(HudiError, match=pair.hudi_refuses):
            write(pair.second, rows(range(3, 9), 2))
    else:
        # An index in memory does not know what another one has stored: Hudi would store those keys twice.
        write(pair.second, rows(range(6 if pair.second[1] == MEMORY else 3, 9), 2))
        write(pair.second, rows(range(9, 12), 3))
    before = keys(hudi.read(path))
    assert keys(ours.read(path)) == before
    write(("ours", pair.ours), rows(range(14), 4))
    # Where Hudi itself has stored a key twice, both rows are updated; no key gets another row.
    expected = sort_rows(before + [[f"d{i % 2}", i] for i in range(14) if [f"d{i % 2}", i] not in before])
    assert keys(ours.read(path)) == keys(hudi.read(path)) == expected
    assert {row[3] for row in ours.read(path).business} == {row[3] for row in hudi.read(path).business} == {4}
    table = f"merganser.`{path}`"
    ours.spark.sql(
        f"MERGE INTO {table} t USING (SELECT id, concat('d', id % 2) day, 5 amount, 5L ts "
        "FROM VALUES (1), (4), (7), (10), (13), (14) AS v(id)) s ON t.id = s.id AND t.day = s.day "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    ours.spark.sql(f"DELETE FROM {table} WHERE id IN (0, 5, 11)")
    left = sort_rows([key for key in expected if key[1] not in (0, 5, 11)] + [["d0", 14], ["d1", 15]])
    new = [[1, "d1", 6, 6], [12, "d0", 6, 6], [15, "d1", 6, 6]]
    drops = {"hoodie.datasource.insert.dup.policy": "drop"}
    ours.write(path, SCHEMA, new, operation="insert", options={**settings, **pair.ours, **drops})
    assert keys(ours.read(path)) == keys(hudi.read(path)) == left
    rows_of_d0 = f"SELECT id, amount, ts FROM {table} WHERE day = 'd0'"
    ours.spark.sql(f"INSERT OVERWRITE {table} PARTITION (day = 'd0') {rows_of_d0}")
    if pair.kind == MOR:
        ours.compact(path)
    assert keys(ours.read(path)) == left
    assert ours.read(path).business == hudi.read(path).business
    # All keys are in base files now, where Hudi's index looks for them.
    if pair.first[0] == "hudi" and pair.first[1] != MEMORY:
        write(("hudi", pair.first[1] if pair.last is None else pair.last), rows(range(1, 5), 7))
        assert keys(ours.read(path)) == keys(hudi.read(path)) == left
        assert ours.read(path).business == hudi.read(path).business


@pytest.mark.parametrize("kind", [COW, MOR] if FULL else [MOR])
def test_a_key_that_hudi_stored_outside_its_bucket_is_updated_in_place(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    path, schema = tmp_path / "t", "id string, amount int, ts bigint"
    settings = {**options("t", Pair(kind, 9, ("hudi", {}), ("hudi", {}))), BY_PARTITION: ""}
    buckets = {**BUCKETS, "hoodie.bucket.index.num.buckets": "2"}

    def write(engine: Any, ids: list[int], amount: int, index: dict[str, str]) -> None:
        engine.upsert(path, schema, [[f"k{i:02}", amount, amount] for i in ids], **settings, **index)

    edges, inner = [*range(8), *range(92, 100)], list(range(40, 48))
    write(hudi, edges, 1, buckets)
    # Into one file, whose first and last keys are those of its bucket.
    write(hudi, inner, 2, SIMPLE)
    write(ours, [*edges, *inner, *range(50, 58)], 3, {})
    expected = [[f"k{i:02}", 3, 3] for i in sorted([*edges, *inner, *range(50, 58)])]
    assert ours.read(path).business == hudi.read(path).business == expected
    ours.spark.sql(f"UPDATE merganser.`{path}` SET amount = 4, ts = 4 WHERE id >= 'k40' AND id < 'k60'")
    ours.spark.sql(f"DELETE FROM merganser.`{path}` WHERE id IN ('k41', 'k50', 'k00')")
    changed = [[key, 4 if "k40" <= key < "k60" else 3] for key, _, _ in expected if key not in ("k41", "k50", "k00")]
    assert ours.read(path).select(["id", "amount"]) == hudi.read(path).select(["id", "amount"]) == changed
    # Hudi finds with its first index what is in its own bucket: all but the keys that it has put elsewhere.
    write(hudi, [*edges[1:], *range(51, 58)], 5, buckets)
    assert ours.read(path).select(["id"]) == [[key] for key, _ in changed]
