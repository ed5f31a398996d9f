"""Tables whose keys are placed by consistent hashing, as ranges of hashes that are stored for each partition."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from interop.hudi_engine import HudiEngine, Rows
from interop.merganser_engine import MerganserEngine
from interop.values import sort_rows
from merganser import MerganserError

SCHEMA = "id int, day string, amount int, ts bigint"
RINGS = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.bucket.index.min.num.buckets": "2",
    "hoodie.bucket.index.max.num.buckets": "8",
}
STRATEGIES = "org.apache.hudi.client.clustering"
RESIZING = {
    "hoodie.clustering.plan.strategy.class": f"{STRATEGIES}.plan.strategy.SparkConsistentBucketClusteringPlanStrategy",
    "hoodie.clustering.execution.strategy.class": f"{STRATEGIES}.run.strategy"
    ".SparkConsistentBucketClusteringExecutionStrategy",
    "hoodie.clustering.updates.strategy": f"{STRATEGIES}.update.strategy.SparkConsistentBucketDuplicateUpdateStrategy",
    "hoodie.bucket.index.split.threshold": "0.00001",
    "hoodie.bucket.index.merge.threshold": "0.000001",
    "hoodie.parquet.max.file.size": "200000000",
}


def options(name: str, version: int, **more: str) -> dict[str, str]:
    return {
        "hoodie.table.name": name,
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "day",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.table.version": str(version),
        **RINGS,
        **more,
    }


def rows(ids: Any, day: str, amount: int, ts: int) -> list[list[Any]]:
    return [[i, day, amount, ts] for i in ids]


def resize(hudi: HudiEngine, path: Path, op: str) -> None:
    settings = {**RINGS, **RESIZING, "hoodie.datasource.write.recordkey.field": "id", "hoodie.metadata.enable": "false"}
    text = ",".join(f"{key}={value}" for key, value in settings.items())
    hudi.sql(f"CALL run_clustering(op => '{op}', path => '{path}', options => '{text}')")


def places(read: Rows) -> dict[tuple[str, str], str]:
    """The file group of each row."""
    found = read.select(["_hoodie_partition_path", "_hoodie_record_key", "_hoodie_file_name"])
    assert len({(day, key) for day, key, _ in found}) == len(found)
    return {(day, key): file.split("_")[0] for day, key, file in found}


def rings(path: Path, partition: str) -> list[dict[str, Any]]:
    folder = path / ".hoodie" / ".bucket_index" / "consistent_hashing_metadata" / partition
    return [json.loads(file.read_text()) for file in sorted(folder.glob("*.hashing_meta"))]


#: Versions of the tables of which Hudi splits a bucket, and of those that we create; all with MERGANSER_FULL=1.
FULL = bool(os.environ.get("MERGANSER_FULL"))
SPLIT = [9, 6] if FULL else [9]
CREATED = [9, 8, 6] if FULL else [8, 6]


# Guarantee (Tables of other engines): Both engines find each other's keys in consistent-hashing, partition-level and
#   plain buckets, also after splits and overwrites; Hudi needs no options of the index. Also:
#   test_hudi_continues_our_table_with_consistent_buckets_after_overwrites_and_drops,
#   test_each_partition_has_the_bucket_count_of_hudis_partition_rule,
#   test_hudi_compacts_and_writes_our_bucket_table_without_options_of_the_index
@pytest.mark.parametrize("version", SPLIT)
def test_both_engines_find_keys_of_consistent_buckets_before_and_after_a_split(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, version: int
) -> None:
    path, theirs = tmp_path / "t", options(f"rings{version}", version)
    table = f"merganser.`{path}`"
    hudi.upsert(path, SCHEMA, rows(range(10), "a", 1, 1) + rows(range(4), "b", 1, 1), **theirs)
    before = places(hudi.read(path))

    # Stored keys, a new key of a stored partition, and a new partition; without any option of the index.
    ours.upsert(path, SCHEMA, rows([0, 1, 10], "a", 2, 2) + rows(range(10), "c", 2, 2))
    ours.spark.sql(
        f"MERGE INTO {table} t USING (SELECT 2 id, 'a' day, 3 amount, 3L ts UNION ALL SELECT 9, 'b', 3, 3L) s "
        "ON t.id = s.id AND t.day = s.day WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    ours.spark.sql(f"DELETE FROM {table} WHERE id = 3 AND day = 'a'")
    expected = sort_rows(
        rows([0, 1, 10], "a", 2, 2)
        + rows([2], "a", 3, 3)
        + rows(range(4, 10), "a", 1, 1)
        + rows(range(4), "b", 1, 1)
        + rows([9], "b", 3, 3)
        + rows(range(10), "c", 2, 2)
    )
    assert ours.read(path).business == hudi.read(path).business == expected
    after = places(ours.read(path))
    assert {key: after[key] for key in before if key in after} == {k: v for k, v in before.items() if k in after}

    # The partition that we added has the metadata that Hudi would have written, and Hudi finds each key.
    assert len(rings(path, "c")) == 1
    hudi.upsert(path, SCHEMA, rows(range(12), "c", 4, 4), **theirs)
    assert {k: v for k, v in places(hudi.read(path)).items() if k in after} == after

    ours.compact(path)
    ours.upsert(path, SCHEMA, rows(range(10), "a", 5, 5))
    assert {k: v for k, v in places(ours.read(path)).items() if k in after} == after

    # Hudi splits the buckets: rows that it writes meanwhile go to the old bucket and to the new one.
    resize(hudi, path, "schedule")
    hudi.upsert(path, SCHEMA, rows(range(3), "a", 6, 6), **theirs, **RESIZING)
    assert ours.read(path).business == hudi.read(path).business
    with pytest.raises(MerganserError, match=r"TABLE_FEATURE_READ_ONLY.*split or merged"):
        ours.upsert(path, SCHEMA, rows([1], "a", 7, 7))
    resize(hudi, path, "execute")
    assert len(rings(path, "a")) == 2
    assert ours.read(path).business == hudi.read(path).business
    split = places(hudi.read(path))
    assert {split[key] for key in split if key[0] == "a"}.isdisjoint(after.values())

    ours.upsert(path, SCHEMA, rows(range(11), "a", 8, 8) + rows(range(10), "c", 8, 8))
    assert {k: v for k, v in places(ours.read(path)).items() if k in split} == split
    hudi.upsert(path, SCHEMA, rows(range(11), "a", 9, 9), **theirs)
    ours.compact(path)
    both = [row for row in hudi.read(path).business if row[1] == "a"]
    assert both == [row for row in ours.read(path).business if row[1] == "a"] == sort_rows(rows(range(11), "a", 9, 9))


@pytest.mark.parametrize("version", CREATED)
def test_hudi_continues_our_table_with_consistent_buckets_after_overwrites_and_drops(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, version: int
) -> None:
    path, settings = tmp_path / "t", options(f"created{version}", version)
    table = f"merganser.`{path}`"
    ours.upsert(path, SCHEMA, rows(range(8), "a", 1, 1) + rows(range(8), "b", 1, 1), **settings)
    created = places(ours.read(path))
    hudi.upsert(path, SCHEMA, rows(range(12), "a", 2, 2) + rows(range(3), "n", 2, 2), **settings)
    assert {k: v for k, v in places(hudi.read(path)).items() if k in created} == created
    ours.upsert(path, SCHEMA, rows(range(12), "a", 3, 3) + rows(range(3), "n", 3, 3))

    # Overwritten and dropped partitions get new file groups, which Hudi then uses.
    ours.spark.sql(f"INSERT OVERWRITE {table} PARTITION (day = 'a') VALUES (1, 4, 4L), (2, 4, 4L)")
    ours.spark.sql(f"ALTER TABLE {table} DROP PARTITION (day = 'b')")
    ours.spark.sql(f"INSERT OVERWRITE {table} PARTITION (day = 'o') VALUES (1, 4, 4L), (2, 4, 4L)")
    hudi.upsert(
        path, SCHEMA, rows(range(1, 7), "a", 5, 5) + rows([1, 2], "b", 5, 5) + rows(range(2, 9), "o", 5, 5), **settings
    )
    new = rows(range(2, 9), "o", 5, 5) + rows([1], "o", 4, 4)
    expected = rows(range(1, 7), "a", 5, 5) + rows([1, 2], "b", 5, 5) + rows(range(3), "n", 3, 3) + new
    assert ours.read(path).business == hudi.read(path).business == sort_rows(expected)
    ours.upsert(path, SCHEMA, rows(range(7), "a", 6, 6) + rows(range(3), "b", 6, 6))
    ours.compact(path)
    expected = rows(range(7), "a", 6, 6) + rows(range(3), "b", 6, 6) + rows(range(3), "n", 3, 3) + new
    assert ours.read(path).business == hudi.read(path).business == sort_rows(expected)


@pytest.mark.parametrize("remedy", ["overwrite", "repair"])
def test_a_write_to_a_partition_that_hudi_overwrote_outside_its_buckets_is_refused_until_repaired(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, remedy: str
) -> None:
    path, settings = tmp_path / "t", options("outside", 9)
    table = f"merganser.`{path}`"
    hudi.upsert(path, SCHEMA, rows(range(6), "a", 1, 1) + rows(range(6), "b", 1, 1), **settings)
    # Hudi puts the rows into file groups where its own next upsert does not look for them.
    hudi.write(path, SCHEMA, rows(range(3), "a", 2, 2), operation="insert_overwrite", options=settings)
    assert ours.read(path).business == hudi.read(path).business
    with pytest.raises(MerganserError, match=r"TABLE_FEATURE_READ_ONLY.*does not belong to any of its buckets"):
        ours.upsert(path, SCHEMA, rows(range(4), "a", 3, 3))
    ours.upsert(path, SCHEMA, rows(range(4), "b", 3, 3))
    if remedy == "repair":
        ours.spark.sql(f"CALL repair_deduplicate(path => '{path}', dry_run => false)").collect()
    else:
        rewritten = f"SELECT id, amount, ts FROM {table} WHERE day = 'a'"
        ours.spark.sql(f"INSERT OVERWRITE {table} PARTITION (day = 'a') {rewritten}")
    assert ours.read(path).business == hudi.read(path).business
    ours.upsert(path, SCHEMA, rows(range(4), "a", 3, 3))
    hudi.upsert(path, SCHEMA, rows(range(5), "a", 4, 4), **settings)
    expected = rows(range(5), "a", 4, 4) + rows(range(4), "b", 3, 3) + rows([4, 5], "b", 1, 1)
    assert ours.read(path).business == hudi.read(path).business == sort_rows(expected)


def test_several_hash_fields_give_hudis_buckets_in_a_table_without_partitions(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    settings = options("composite", 9, **{"hoodie.bucket.index.num.buckets": "8"})
    settings["hoodie.datasource.write.recordkey.field"] = settings["hoodie.bucket.index.hash.field"] = "id,name"
    settings["hoodie.datasource.write.partitionpath.field"] = ""
    schema = "id int, name string, ts bigint"
    written = [[i, name, 1] for i in range(3) for name in ("a", "ü", None, "x:y", "", "one,two", "a long name " * 3)]
    hudi.upsert(path, schema, written, **settings)
    before = places(hudi.read(path))
    assert len(before) == len(written)
    assert len(set(before.values())) > 3
    ours.upsert(path, schema, [[i, name, 2] for i, name, _ in written], **{"hoodie.index.type": "BUCKET"})
    assert places(hudi.read(path)) == before
    assert {row[2] for row in hudi.read(path).business} == {2}


def test_buckets_of_another_engine_or_table_type_are_refused(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    cow = options("cow", 9, **{"hoodie.datasource.write.table.type": "COPY_ON_WRITE"})
    with pytest.raises(MerganserError, match=r"OPTION_CONFLICT.*CONSISTENT_HASHING"):
        ours.upsert(tmp_path / "cow", SCHEMA, rows([1], "a", 1, 1), **cow)
    path = tmp_path / "t"
    hudi.upsert(path, SCHEMA, rows(range(3), "a", 1, 1), **options("conflict", 9))
    for wrong in (
        {"hoodie.index.type": "SIMPLE"},
        {"hoodie.index.type": "BUCKET", "hoodie.index.bucket.engine": "SIMPLE"},
    ):
        with pytest.raises(MerganserError, match="CONFIG_CONFLICT"):
            ours.upsert(path, SCHEMA, rows([1], "a", 2, 2), **wrong)


@pytest.mark.parametrize(("version", "kind"), [(9, "COPY_ON_WRITE"), (6, "MERGE_ON_READ")])
def test_each_partition_has_the_bucket_count_of_hudis_partition_rule(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, version: int, kind: str
) -> None:
    rule = {
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": "2",
        "hoodie.bucket.index.partition.expressions": "2024-01-0[12],3;2024-0.*,4;2024,5",
        "hoodie.bucket.index.partition.rule.type": "regex",
    }
    settings = {key: value for key, value in options("rule", version).items() if key not in RINGS} | {
        "hoodie.datasource.write.table.type": kind,
        **rule,
    }
    days = {"2024-01-01": 3, "2024-01-03": 4, "2025-01-01": 2}
    everything = [row for day in days for row in rows(range(30), day, 1, 1)]
    # Hudi's data frame writer stores nothing of the rule: each write repeats it.
    foreign, created = tmp_path / "foreign", tmp_path / "created"
    hudi.upsert(foreign, SCHEMA, everything, **settings)
    ours.upsert(created, SCHEMA, everything, **settings)
    for path in (foreign, created):
        before = places(hudi.read(path))
        assert {day: len({v for (d, _), v in before.items() if d == day}) for day in days} == days
        ours.upsert(path, SCHEMA, [[i, day, 2, 2] for i, day, _, _ in everything[:60]], **settings)
        assert places(ours.read(path)) == before
    assert places(hudi.read(foreign)).keys() == places(hudi.read(created)).keys()
    # A table of ours stores the rule, for other writers too.
    hudi.upsert(created, SCHEMA, everything, **{k: v for k, v in settings.items() if "expressions" not in k})
    ours.upsert(created, SCHEMA, [[i, day, 3, 3] for i, day, _, _ in everything])
    assert places(hudi.read(created)) == before
    with pytest.raises(MerganserError, match=r"BUCKET_COUNT_UNKNOWN|CONFIG_CONFLICT"):
        ours.upsert(foreign, SCHEMA, everything)
