# Guarantee (Writes): Record key, partition and ordering fields may be inside structs, on every path and in SQL; a
#   change of the key is refused.
"""Record key, partition and ordering fields inside structs, on every path, with SQL and with Hudi on the other side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from frames import frame, load, properties, refused, save
from option_names import KEY, ORDERING, TYPE
from pyspark.sql import SparkSession
from sql_steps import Sql, each_kind

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import Table

TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}
PARTITION = "hoodie.datasource.write.partitionpath.field"
SCHEMA = "v string, k struct<id: int, at: struct<region: string, ts: bigint>, note: string>"
NAMES = ["v", "k"]


def row(key: int, v: str, ts: int, region: str = "north", note: str | None = "n") -> list[Any]:
    return [v, {"id": key, "at": {"region": region, "ts": ts}, "note": note}]


@each_kind
def test_both_engines_write_and_compact_a_table_whose_key_is_inside_a_struct(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    nested = {KEY: "k.id", PARTITION: "k.at.region", ORDERING: "k.at.ts", TYPE: TYPES[kind]}
    made: dict[str, Any] = {"ours": ours, "hudi": hudi}
    for first, other in (("ours", "hudi"), ("hudi", "ours")):
        path, options = tmp_path / first, {"hoodie.table.name": first, **nested}
        made[first].upsert(path, SCHEMA, [row(1, "one", 5), row(2, "two", 5), row(3, "three", 5, "south")], **options)
        assert [*ours.read(path).select(["_hoodie_record_key", "_hoodie_partition_path"])] == [
            ["1", "north"],
            ["2", "north"],
            ["3", "south"],
        ]
        made[other].upsert(path, SCHEMA, [row(1, "late", 4), row(2, "newer", 6), row(4, "four", 1, "south")], **options)
        made[first].upsert(path, SCHEMA, [row(2, "late", 5), row(4, "newest", 7, "south")], **options)
        made[other].delete(path, SCHEMA, [row(3, "", 6, "south")], **options)
        expected = [row(1, "one", 5), row(2, "newer", 6), row(4, "newest", 7, "south")]
        assert by_key(ours.read(path).select(NAMES)) == by_key(hudi.read(path).select(NAMES)) == expected
        if kind == "mor":
            made[other].compact(path)
            assert by_key(ours.read(path).select(NAMES)) == by_key(hudi.read(path).select(NAMES)) == expected
        one = load(ours.spark, path).where("k.id = 2 AND k.at.region = 'north'")
        assert [r["v"] for r in one.select("v").collect()] == ["newer"]
        assert load(ours.spark, path).where("k.at.region = 'south'").count() == 1


def by_key(rows: list[list[Any]]) -> list[list[Any]]:
    return sorted(rows, key=lambda found: found[1]["id"])


@pytest.mark.e2e
@each_kind
def test_statements_find_rows_by_a_key_inside_a_struct_and_refuse_to_change_it(sql: Sql, kind: str) -> None:
    table = sql.name()
    sql.run(
        f"CREATE TABLE {table} ({SCHEMA}) USING merganser PARTITIONED BY (k.at.region) "
        f"TBLPROPERTIES (primaryKey = 'k.id', preCombineField = 'k.at.ts', type = '{kind}')"
    )

    def made(key: int, ts: int, region: str = "north") -> str:
        at = f"named_struct('region', '{region}', 'ts', {ts}L)"
        return f"named_struct('id', {key}, 'at', {at}, 'note', 'n')"

    sql.run(f"INSERT INTO {table} VALUES ('a', {made(1, 5)}), ('b', {made(2, 5)}), ('c', {made(3, 5, 'south')})")
    found = "v, k.id, k.at.region, k.at.ts"
    assert "k.at.region=north" in {r[0] for r in sql.run(f"SELECT _hoodie_partition_path FROM {table}")}
    source = " UNION ALL ".join(
        f"SELECT '{v}' v, {made(*key)} k" for v, key in {"m": (1, 6), "late": (2, 4), "new": (4, 1)}.items()
    )
    merge = f"MERGE INTO {table} t USING ({source}) s ON t.k.id = s.k.id"
    keyed = f"{merge} AND t.k.at.region = s.k.at.region"
    star = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    assert "RowLevelCommandByKey" in sql.run(f"EXPLAIN FORMATTED {keyed} {star}")[0][0]
    (merged,) = sql.spark.sql(f"{keyed} {star}").collect()
    assert (merged["inserted"], merged["updated"], merged["late"]) == (1, 1, 1)
    rows = [("a", 1, "north", 5), ("b", 2, "north", 5), ("c", 3, "south", 5), ("new", 4, "north", 1)]
    rows[0] = ("m", 1, "north", 6)
    assert sql.rows(table, found) == sorted(rows, key=repr)
    # By the key alone, with values that are not in a struct; the key is looked up in all partitions.
    alone = f"MERGE INTO {table} t USING (SELECT 3 key, 'x' v UNION ALL SELECT 9, 'y') s ON t.k.id = s.key "
    clause = "WHEN MATCHED THEN UPDATE SET v = s.v"
    assert "RowLevelCommandByKey" in sql.run(f"EXPLAIN FORMATTED {alone} {clause}")[0][0]
    (merged,) = sql.spark.sql(f"{alone} {clause}").collect()
    assert (merged["inserted"], merged["updated"]) == (0, 1)
    rows[2] = ("x", 3, "south", 5)
    assert sql.rows(table, found) == sorted(rows, key=repr)
    sql.run(f"UPDATE {table} SET k.note = 'changed', v = 'u' WHERE k.id = 2")
    rows[1] = ("u", 2, "north", 5)
    assert sql.rows(table, found) == sorted(rows, key=repr)
    assert sql.run(f"SELECT k.note FROM {table} WHERE k.id = 2") == [("changed",)]
    for change in ("k.id = 7", f"k = {made(7, 9)}", "k.at.region = 'east'", "k = null"):
        assert "KEY_COLUMN_CHANGED" in sql.fails(f"UPDATE {table} SET {change} WHERE k.id = 2"), change
    moved = f"MERGE INTO {table} t USING (SELECT 2 key) s ON t.k.id = s.key WHEN MATCHED THEN UPDATE SET k.id = 8"
    assert "KEY_COLUMN_CHANGED" in sql.fails(moved)
    assert "NULL_RECORD_KEY" in sql.fails(f"INSERT INTO {table} VALUES ('z', null)")
    (deleted,) = sql.spark.sql(f"DELETE FROM {table} WHERE k.id = 1").collect()
    assert deleted["deleted"] == 1
    sql.run(f"MERGE INTO {table} t USING (SELECT 4 key) s ON t.k.id = s.key WHEN MATCHED THEN DELETE")
    if kind == "mor":
        sql.run(f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}')")
    assert sql.rows(table, found) == sorted(rows[1:3], key=repr)
    (shown,) = sql.run(f"SHOW CREATE TABLE {table}")
    assert "PARTITIONED BY (k.at.region)" in shown[0]
    assert ("k.at.region=south",) in sql.run(f"SHOW PARTITIONS {table}")
    sql.run(f"INSERT OVERWRITE {table} VALUES ('o', {made(1, 1)})")
    assert sql.rows(table, found) == [("o", 1, "north", 1)]


def test_a_composite_key_with_fields_of_structs_identifies_rows_on_every_path(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    options = {KEY: "K.at.region,v,k.ID", ORDERING: "k.at.ts"}
    rows = frame(spark, [("a", (1, ("x", 1), "n")), ("b", (1, ("x", 1), "n"))], SCHEMA)
    save(rows, path, options)
    assert properties(path)["hoodie.table.recordkey.fields"] == "k.at.region,v,k.id"
    table = Table.load(spark, str(path))
    assert (table.record_key, table.ordering_by) == (("k.at.region", "v", "k.id"), ("k.at.ts",))
    assert table.upsert(frame(spark, [("a", (1, ("x", 2), "m"))], SCHEMA)).updated == 1
    name = f"merganser.`{path}`"
    source = "SELECT 'b' v, named_struct('id', 1, 'at', named_struct('region', 'x', 'ts', 5L), 'note', 'sql') k"
    on = "t.v = s.v AND t.k.id = s.k.id AND s.k.at.region = t.k.at.region"
    merge = (
        f"MERGE INTO {name} t USING ({source}) s ON {on} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert "RowLevelCommandByKey" in spark.sql(f"EXPLAIN FORMATTED {merge}").collect()[0][0]
    (merged,) = spark.sql(merge).collect()
    assert (merged["updated"], merged["inserted"]) == (1, 0)
    keys = load(spark, path).select("_hoodie_record_key", "k.note").collect()
    assert sorted(map(tuple, keys)) == [("k.at.region:x,v:a,k.id:1", "m"), ("k.at.region:x,v:b,k.id:1", "sql")]
    assert table.delete(rows.select("v", "k").where("v = 'a'")).deleted == 1
    lacking = frame(spark, [("a", (1,))], "v string, k struct<id: int>")
    refused(lambda: table.delete(lacking), "RECORD_KEY_COLUMN_MISSING", "k.at.region")
    array = {KEY: "k.at"}
    refused(lambda: save(rows, tmp_path / "none", array), "KEY_TYPE_UNSUPPORTED", "k.at")
