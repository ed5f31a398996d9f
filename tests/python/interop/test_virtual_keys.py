"""Tables that do not store their record keys, written by Apache Hudi and by us in turn."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from interop.hudi_engine import META_COLUMNS, HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import MerganserError, Table

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SCHEMA = "id int, day string, amount int, ts bigint"


def options(kind: str, version: int = 9, **more: str) -> dict[str, str]:
    return {
        "hoodie.populate.meta.fields": "false",
        "hoodie.table.name": "virtual",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.write.table.version": str(version),
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "day",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.index.type": "SIMPLE",
        **more,
    }


def same(ours: MerganserEngine, hudi: HudiEngine, path: Path) -> list[list[object]]:
    """The rows, which both engines read."""
    rows = ours.read(path).business
    assert rows == hudi.read(path).business
    return rows


def stored_keys(path: Path) -> set[str | None]:
    """Keys and commit times in all base files."""
    columns = list(META_COLUMNS[:4])
    return {
        value
        for file in path.rglob("*.parquet")
        for row in pq.read_table(file, columns=columns).to_pylist()
        for value in row.values()
    }


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "version"), [(COW, 6), (MOR, 9)])
def test_each_engine_finds_the_others_keys_in_hudis_table_without_stored_keys(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: int
) -> None:
    path, chosen = tmp_path / "virtual", options(kind, version)
    hudi.upsert(path, SCHEMA, [[1, "a", 11, 2], [2, "b", 20, 1], [3, "a", 30, 1], [4, "a", 40, 1]], **chosen)
    hudi.upsert(path, SCHEMA, [[1, "a", 12, 3], [5, "b", 50, 1]], **chosen)
    hudi.delete(path, SCHEMA, [[3, "a", 0, 5]], **chosen)
    rows = [[1, "a", 12, 3], [2, "b", 20, 1], [4, "a", 40, 1], [5, "b", 50, 1]]
    assert same(ours, hudi, path) == rows
    ours.upsert(path, SCHEMA, [[1, "a", 13, 4], [2, "b", 0, 0], [6, "a", 60, 1]])
    ours.delete(path, SCHEMA, [[5, "b", 0, 9]])
    table = f"merganser.`{path}`"
    ours.spark.sql(
        f"MERGE INTO {table} t USING (SELECT 4 id, 'a' day, 41 amount, 5L ts UNION ALL SELECT 7, 'c', 70, 1L) s "
        "ON t.id = s.id AND t.day = s.day WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    ours.spark.sql(f"UPDATE {table} SET amount = amount + 1 WHERE id = 2")
    ours.spark.sql(f"DELETE FROM {table} WHERE id = 6")
    rows = [[1, "a", 13, 4], [2, "b", 21, 1], [4, "a", 41, 5], [7, "c", 70, 1]]
    assert same(ours, hudi, path) == rows
    if kind == MOR:
        ours.compact(path)
        assert same(ours, hudi, path) == rows
    hudi.upsert(path, SCHEMA, [[4, "a", 42, 6], [7, "c", 0, 0], [2, "b", 22, 2]], **chosen)
    rows = [[1, "a", 13, 4], [2, "b", 22, 2], [4, "a", 42, 6], [7, "c", 70, 1]]
    assert same(ours, hudi, path) == rows
    ours.upsert(path, SCHEMA, [[1, "a", 14, 7]])
    if kind == MOR:
        hudi.compact(path)
    assert same(ours, hudi, path) == [[1, "a", 14, 7], *rows[1:]]
    assert ours.read(path).select(["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_commit_time"]) == [
        ["1", "a", None],
        ["2", "b", None],
        ["4", "a", None],
        ["7", "c", None],
    ]
    assert stored_keys(path) == {None}


@pytest.mark.parametrize(
    ("kind", "index", "more"),
    [
        (COW, "SIMPLE", {"hoodie.datasource.write.recordkey.field": "id,day"}),
        (MOR, "BUCKET", {"hoodie.bucket.index.num.buckets": "2", "hoodie.write.table.version": "8"}),
        (
            MOR,
            "GLOBAL_SIMPLE",
            {"hoodie.simple.index.update.partition.path": "true", "hoodie.write.table.version": "6"},
        ),
    ],
)
def test_hudi_reads_and_writes_our_table_without_stored_keys(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, index: str, more: dict[str, str]
) -> None:
    path = tmp_path / "created"
    chosen = options(kind, **{"hoodie.index.type": index, **more})
    ours.upsert(path, SCHEMA, [[1, "a", 11, 2], [2, "b", 20, 1], [3, "b", 30, 1]], **chosen)
    ours.upsert(path, SCHEMA, [[1, "a", 12, 3], [3, "b", 0, 0]], **chosen)
    assert same(ours, hudi, path) == [[1, "a", 12, 3], [2, "b", 20, 1], [3, "b", 30, 1]]
    hudi.upsert(path, SCHEMA, [[1, "a", 13, 4], [2, "b", 0, 0], [4, "b", 40, 1]], **chosen)
    moved = "a" if index == "GLOBAL_SIMPLE" else "b"
    ours.upsert(path, SCHEMA, [[4, moved, 44, 2]], **chosen)
    Table.load(ours.spark, str(path)).delete(ours.spark.createDataFrame([(3, "b")], "id int, day string"))
    rows = [[1, "a", 13, 4], [2, "b", 20, 1], [4, moved, 44, 2]]
    assert same(ours, hudi, path) == rows
    if kind == MOR:
        ours.compact(path)
        assert same(ours, hudi, path) == rows
    assert stored_keys(path) == {None}


def test_a_read_of_one_column_without_stored_keys_reads_no_key_column(ours: MerganserEngine, tmp_path: Path) -> None:
    path = tmp_path / "columns"
    ours.upsert(path, SCHEMA, [[1, "a", 11, 2], [2, "b", 20, 1]], **options(COW))
    read = ours.spark.read.format("merganser").load(str(path)).select("amount")
    assert [column.name() for column in read._jdf.queryExecution().executedPlan().schema().fields()] == ["amount"]
    assert sorted(row.amount for row in read.collect()) == [11, 20]
    by_key = ours.spark.read.format("merganser").load(str(path)).where("_hoodie_record_key = '2'").select("amount")
    assert [row.amount for row in by_key.collect()] == [20]


@pytest.mark.parametrize(
    "other",
    [
        {"hoodie.index.type": "BLOOM"},
        {
            "hoodie.datasource.write.keygenerator.type": "CUSTOM",
            "hoodie.datasource.write.partitionpath.field": "day:SIMPLE",
        },
    ],
)
def test_omitting_stored_keys_is_refused_with_an_index_or_key_generator_that_needs_them(
    ours: MerganserEngine, tmp_path: Path, other: dict[str, str]
) -> None:
    path = tmp_path / "none"
    with pytest.raises(MerganserError, match=r"OPTION_CONFLICT.*populate.meta.fields"):
        ours.upsert(path, SCHEMA, [[1, "a", 1, 1]], **options(COW, **other))
    assert not path.exists()
