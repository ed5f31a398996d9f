"""Tables whose base files do not store the partition columns, written by Apache Hudi and by us in turn."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import MerganserError, Table

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
DROP = {"hoodie.datasource.write.drop.partition.columns": "true"}
SCHEMA = "id int, day date, region string, amount int, ts bigint"
SINGLE = "id int, day int, amount int, ts bigint"


def options(kind: str, version: int, partitions: str, **more: str) -> dict[str, str]:
    return {
        **DROP,
        "hoodie.table.name": "dropped",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.write.table.version": str(version),
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": partitions,
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.complex.keygen.validation.enable": "false",
        **more,
    }


def columns_of_base_files(path: Path) -> set[str]:
    return {name for file in path.rglob("*.parquet") for name in pq.read_schema(file).names if name[0] != "_"}


def same(ours: MerganserEngine, hudi: HudiEngine, path: Path) -> list[list[object]]:
    """The rows, which both engines read with the same columns."""
    mine, theirs = ours.read(path), hudi.read(path)
    assert mine.business_columns == theirs.business_columns
    assert mine.business == theirs.business
    keys = ["_hoodie_record_key", "_hoodie_partition_path"]
    assert mine.select(keys) == theirs.select(keys)
    return mine.business


# Guarantee (Tables of other engines): Tables whose base files lack the partition columns or the keys are read and
#   written by both engines in turn. Also:
#   test_hudi_reads_and_writes_our_table_without_partition_columns_in_files, DerivedColumnsSuite,
#   test_each_engine_finds_the_others_keys_in_hudis_table_without_stored_keys,
#   test_hudi_reads_and_writes_our_table_without_stored_keys
def test_both_engines_read_and_write_hudis_table_without_partition_columns_in_files(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path = tmp_path / "dropped"
    escaped = {
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.partitionpath.urlencode": "true",
    }
    chosen, region = options(COW, 6, "day,region", **escaped), "a=b/c %"
    hudi.upsert(path, SCHEMA, [[1, "2024-01-02", region, 11, 2], [2, "2024-01-03", None, 20, 1]], **chosen)
    assert same(ours, hudi, path) == [[1, 11, 2, "2024-01-02", region], [2, 20, 1, "2024-01-03", None]]
    ours.upsert(path, SCHEMA, [[1, "2024-01-02", region, 12, 3], [3, "2024-01-03", "south", 30, 1]])
    table = f"merganser.`{path}`"
    ours.spark.sql(f"UPDATE {table} SET amount = amount + 1 WHERE day = '2024-01-02'")
    ours.spark.sql(
        f"MERGE INTO {table} t USING (SELECT 3 id, 4L ts UNION ALL SELECT 4, 1L) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET amount = 33, ts = s.ts "
        "WHEN NOT MATCHED THEN INSERT (id, amount, ts, day, region) VALUES (s.id, 40, s.ts, '2024-01-04', 'east')"
    )
    rows = [
        [1, 13, 3, "2024-01-02", region],
        [2, 20, 1, "2024-01-03", None],
        [3, 33, 4, "2024-01-03", "south"],
        [4, 40, 1, "2024-01-04", "east"],
    ]
    assert same(ours, hudi, path) == rows
    hudi.upsert(path, SCHEMA, [[4, "2024-01-04", "east", 44, 5], [3, "2024-01-03", "south", 0, 1]], **chosen)
    ours.spark.sql(f"DELETE FROM {table} WHERE region IS NULL")
    assert same(ours, hudi, path) == [rows[0], rows[2], [4, 44, 5, "2024-01-04", "east"]]
    assert columns_of_base_files(path) == {"id", "amount", "ts"}
    day = ours.spark.read.format("merganser").load(str(path)).where("day >= '2024-01-04'").select("day", "region")
    assert [list(row) for row in day.collect()] == [["2024-01-04", "east"]]
    assert "[slices: 1," in day._jdf.queryExecution().executedPlan().toString()
    shown = ours.spark.sql(f"SHOW PARTITIONS {table}").collect()
    assert [row.partition for row in shown] == [
        "day=2024-01-02/region=a%3Db%2Fc %25",
        "day=2024-01-03/region=null",
        "day=2024-01-03/region=south",
        "day=2024-01-04/region=east",
    ]


def test_hudi_reads_and_writes_our_table_without_partition_columns_in_files(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path = tmp_path / "created"
    chosen = options(COW, 8, "day")
    ours.upsert(path, SINGLE, [[1, 20240102, 11, 2], [2, 5, 20, 1]], **chosen)
    assert same(ours, hudi, path) == [[1, 11, 2, "20240102"], [2, 20, 1, "5"]]
    hudi.upsert(path, SINGLE, [[1, 20240102, 12, 3], [3, 5, 30, 1]], **chosen)
    ours.upsert(path, f"{SINGLE}, note string", [[3, 5, 33, 2, "x"]], **chosen)
    rows = [[1, 12, 3, None, "20240102"], [2, 20, 1, None, "5"], [3, 33, 2, "x", "5"]]
    assert same(ours, hudi, path) == rows
    Table.load(ours.spark, str(path)).delete(ours.spark.createDataFrame([(2, 5)], "id int, day int"))
    hudi.upsert(path, f"{SINGLE}, note string", [[1, 20240102, 14, 4, "y"]], **chosen)
    assert same(ours, hudi, path) == [[1, 14, 4, "y", "20240102"], rows[2]]
    assert columns_of_base_files(path) == {"id", "amount", "ts", "note"}
    first = ours.spark.sql(f"CALL show_commits(path => '{path}')").collect()[-1][0]
    assert ours.read(path, **{"as.of.instant": first}).business == [
        [1, 11, 2, None, "20240102"],
        [2, 20, 1, None, "5"],
    ]


def test_a_sql_table_without_partition_columns_in_files_keeps_their_types(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path, spark = tmp_path / "typed", ours.spark
    spark.sql(
        "CREATE TABLE dropped_typed USING merganser PARTITIONED BY (day) TBLPROPERTIES (primaryKey='id', "
        f"preCombineField='ts', 'hoodie.datasource.write.drop.partition.columns'='true') LOCATION '{path}' "
        "AS SELECT 1 id, 11 amount, 2L ts, date'2024-01-02' day"
    )
    spark.sql("INSERT INTO dropped_typed VALUES (2, 20, 1, date'2024-01-03')")
    spark.sql("UPDATE dropped_typed SET amount = 12 WHERE day = date'2024-01-02'")
    assert spark.table("dropped_typed").schema["day"].dataType.simpleString() == "date"
    assert same(ours, hudi, path) == [[1, 12, 2, "2024-01-02"], [2, 20, 1, "2024-01-03"]]
    assert columns_of_base_files(path) == {"id", "amount", "ts"}
    ours.upsert(path, "id int, day date, amount int, ts bigint", [[2, "2024-01-03", 21, 2]])
    assert same(ours, hudi, path) == [[1, 12, 2, "2024-01-02"], [2, 21, 2, "2024-01-03"]]
    # The commits of Hudi's copy-on-write tables do not have the column, which is a string from then on.
    chosen = options(COW, 9, "day", **{"hoodie.table.name": "dropped_typed"})
    chosen["hoodie.datasource.write.hive_style_partitioning"] = "true"
    hudi.upsert(path, "id int, amount int, ts bigint, day date", [[1, 13, 3, "2024-01-02"]], **chosen)
    spark.sql("UPDATE dropped_typed SET amount = amount + 1 WHERE day = '2024-01-03'")
    assert same(ours, hudi, path) == [[1, 13, 3, "2024-01-02"], [2, 22, 2, "2024-01-03"]]
    spark.sql("DROP TABLE dropped_typed")


def test_both_engines_write_and_compact_a_merge_on_read_table_without_partition_columns(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path = tmp_path / "logs"
    hudi.sql(
        f"CREATE TABLE dropped_logs (id int, amount int, ts bigint, day date) USING hudi PARTITIONED BY (day) "
        "TBLPROPERTIES (primaryKey='id', type='mor', preCombineField='ts', "
        f"'hoodie.datasource.write.drop.partition.columns'='true') LOCATION '{path}'",
        "INSERT INTO dropped_logs VALUES (1, 11, 2, date'2024-01-02'), (2, 20, 1, date'2024-01-03')",
        "UPDATE dropped_logs SET amount = 12 WHERE id = 1",
    )
    assert same(ours, hudi, path) == [[1, 12, 2, "2024-01-02"], [2, 20, 1, "2024-01-03"]]
    schema = "id int, amount int, ts bigint, day string"
    ours.upsert(path, schema, [[1, 13, 3, "2024-01-02"], [2, 0, 0, "2024-01-03"], [3, 30, 1, "2024-01-03"]])
    ours.spark.sql(f"UPDATE merganser.`{path}` SET amount = 21 WHERE id = 2")
    rows = [[1, 13, 3, "2024-01-02"], [2, 21, 1, "2024-01-03"], [3, 30, 1, "2024-01-03"]]
    assert same(ours, hudi, path) == rows
    ours.compact(path)
    assert same(ours, hudi, path) == rows
    assert columns_of_base_files(path) == {"id", "amount", "ts"}
    hudi.sql("UPDATE dropped_logs SET amount = 14 WHERE id = 1", "DELETE FROM dropped_logs WHERE id = 3")
    assert same(ours, hudi, path) == [[1, 14, 3, "2024-01-02"], rows[1]]
    ours.upsert(path, schema, [[2, 22, 5, "2024-01-03"]])
    # Hudi's compaction stores the column that its logs have.
    hudi.compact(path)
    assert same(ours, hudi, path) == [[1, 14, 3, "2024-01-02"], [2, 22, 5, "2024-01-03"]]
    hudi.sql("DROP TABLE dropped_logs")


def test_a_dropped_time_format_column_is_read_as_a_string_and_writes_are_refused(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path = tmp_path / "times"
    times = {
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
        "hoodie.keygen.timebased.timezone": "UTC",
    }
    chosen = options(COW, 9, "day", **times)
    schema, row = "id int, day bigint, amount int, ts bigint", [1, 1704164645000, 11, 2]
    hudi.upsert(path, schema, [row], **chosen)
    assert same(ours, hudi, path) == [[1, 11, 2, "2024/01/02"]]
    with pytest.raises(MerganserError, match=r"TABLE_FEATURE_READ_ONLY.*drop.partition.columns"):
        ours.upsert(path, schema, [row])
    with pytest.raises(MerganserError, match=r"OPTION_CONFLICT.*drop.partition.columns.*TIMESTAMP"):
        ours.upsert(tmp_path / "new", schema, [row], **chosen)
    assert not (tmp_path / "new").exists()
