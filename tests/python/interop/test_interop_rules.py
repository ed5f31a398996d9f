"""Rules and indexes that live in a table's properties, as the real Hudi finds them there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_interop import COW, MOR, assert_all_read, settings

from interop.hudi_engine import HudiEngine, Rows
from interop.merganser_engine import MerganserEngine

pytestmark = pytest.mark.e2e

ITEM = "id int, name string, ts bigint"
NESTED = "id int, name string, meta struct<source: string, at: struct<ts: bigint>>"
BUCKETS = 4
#: What keeps Hudi's services small; nothing of an index.
QUIET = "hoodie.compact.inline.max.delta.commits=1,hoodie.metadata.enable=false,hoodie.clean.automatic=false"


def bucket_of(key: str) -> int:
    """As Hudi hashes the key of one column: Java's hash of a list with its text."""
    text = 0
    for character in key:
        text = (31 * text + ord(character)) & 0xFFFFFFFF
    return ((31 + text) & 0x7FFFFFFF) % BUCKETS


def assert_in_buckets(rows: Rows) -> None:
    found = rows.select(["_hoodie_record_key", "_hoodie_file_name"])
    assert len({key for key, _ in found}) == len(found), "a key is there twice"
    assert {key: int(file[:8]) for key, file in found} == {key: bucket_of(key) for key, _ in found}


@pytest.mark.parametrize("made", ["now", "by an earlier release"])
def test_hudi_compacts_and_writes_our_bucket_table_without_options_of_the_index(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, made: str
) -> None:
    table = tmp_path / "shared"
    index = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": str(BUCKETS)}
    options = settings("shared", MOR, "id", ordering="ts", **index)
    ours.upsert(table, ITEM, [[i, "a", 1] for i in range(1, 9)], **options)
    if made == "by an earlier release":  # which did not store the record key under this name
        file = table / ".hoodie" / "hoodie.properties"
        lines = file.read_text().splitlines(keepends=True)
        file.write_text(
            "".join(line for line in lines if not line.startswith("hoodie.datasource.write.recordkey.field"))
        )
        assert len(file.read_text().splitlines()) == len(lines) - 1
    ours.upsert(table, ITEM, [[i, "b", 2] for i in range(1, 5)])
    hudi.sql(f"CALL run_compaction(op => 'scheduleandexecute', path => '{table}', options => '{QUIET}')")
    rows = [[i, "b" if i < 5 else "a", 2 if i < 5 else 1] for i in range(1, 9)]
    assert hudi.read(table, "read_optimized").business == rows

    hudi.upsert(table, ITEM, [[i, "hudi", 3] for i in range(3, 20)])
    rows = [*rows[:2], *([i, "hudi", 3] for i in range(3, 20))]
    assert_all_read(ours, hudi, table, rows)
    assert_in_buckets(hudi.read(table))

    ours.upsert(table, ITEM, [[i, "ours", 4] for i in range(2, 25)])
    rows = [rows[0], *([i, "ours", 4] for i in range(2, 25))]
    assert_all_read(ours, hudi, table, rows)
    assert_in_buckets(hudi.read(table))


def versions(*rows: tuple[int, str, int | None]) -> list[list[Any]]:
    """Rows of `NESTED`; without an ordering value the inner struct is null."""
    return [[key, name, {"source": "s", "at": None if ts is None else {"ts": ts}}] for key, name, ts in rows]


@pytest.mark.parametrize("kind", [COW, MOR])
def test_both_engines_order_rows_by_a_field_inside_structs_the_same(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    ours_first, hudi_first = tmp_path / "ours", tmp_path / "hudi"
    for table, engine in ((ours_first, ours), (hudi_first, hudi)):
        options = settings(table.name, kind, "id", ordering="meta.at.ts")
        engine.write(table, NESTED, versions((1, "a", 5), (2, "a", 5), (3, "a", 5), (3, "late", 4)), mode="overwrite",
                     options=options)  # fmt: skip
        for writer, change in ((hudi, "hudi"), (ours, "ours")):
            writer.upsert(table, NESTED, versions((1, f"{change} late", 4), (2, change, 6 if writer is hudi else 7)))
        expected = versions((1, "a", 5), (2, "ours", 7), (3, "a", 5))
        assert ours.read(table).business == hudi.read(table).business == expected
        if kind == MOR:
            (hudi if engine is ours else ours).compact(table)
            assert ours.read(table).business == hudi.read(table).business == expected
