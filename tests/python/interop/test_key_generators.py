"""Each key generator of Hudi: tables that we create, on which Hudi goes on. Golden tables are the other direction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from frames import frame, load, properties, refused, save
from option_names import KEY, ORDERING
from pyspark.sql import SparkSession

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine

PARTITION = "hoodie.datasource.write.partitionpath.field"
CLASS, TYPE = "hoodie.datasource.write.keygenerator.class", "hoodie.datasource.write.keygenerator.type"
HIVE, ENCODED = (f"hoodie.datasource.write.{n}" for n in ("hive_style_partitioning", "partitionpath.urlencode"))
LOGICAL = "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled"
SCHEMA = (
    "id int, nr int, name string, region string, hour bigint, text string, day date, price decimal(6,2), at timestamp"
)
AT = "2024-01-02T03:04:05.678901"


def row(key: int, name: str, region: str = "north", hour: int = 473000) -> list[Any]:
    return [key, key * 10, name, region, hour, "2024-01-31", "2024-01-02", f"{key}.30", AT.replace("05", f"0{key}")]


def timed(prefix: str = "hoodie.keygen", **options: str) -> dict[str, str]:
    return {f"{prefix}.timebased.{name}": value for name, value in options.items()}


HOURS = {"timestamp.type": "SCALAR", "timestamp.scalar.time.unit": "HOURS"}
OLD = "hoodie.deltastreamer.keygen"

#: The options of a table, with the key and the path of its first row.
GENERATORS: dict[str, tuple[dict[str, str], str, str]] = {
    "SimpleKeyGenerator": ({KEY: "id", PARTITION: "region", HIVE: "true"}, "1", "region=north"),
    "SimpleAvroKeyGenerator": ({KEY: "price", PARTITION: "day"}, "1.30", "2024-01-02"),
    "ComplexKeyGenerator": ({KEY: "id", PARTITION: "region"}, "id:1", "north"),
    "ComplexAvroKeyGenerator": (
        {KEY: "nr,id", PARTITION: "region,text", HIVE: "true"},
        "nr:10,id:1",
        "region=north/text=2024-01-31",
    ),
    "NonpartitionedKeyGenerator": ({KEY: "id,name"}, "id:1,name:one", ""),
    "NonpartitionedAvroKeyGenerator": (
        {KEY: "day,at,id", LOGICAL: "true"},
        "day:2024-01-02,at:2024-01-02 03:04:01.678,id:1",
        "",
    ),
    "GlobalDeleteKeyGenerator": ({KEY: "id"}, "id:1", ""),
    "GlobalAvroDeleteKeyGenerator": ({KEY: "nr,id"}, "nr:10,id:1", ""),
    "TimestampBasedKeyGenerator": (
        {KEY: "id", PARTITION: "hour", **timed(OLD, **HOURS, **{"output.dateformat": "yyyy/MM/dd"})},
        "1",
        "2023/12/17",
    ),
    "TimestampBasedAvroKeyGenerator": (
        {
            KEY: "id",
            PARTITION: "text",
            HIVE: "true",
            **timed(
                **{"timestamp.type": "DATE_STRING", "input.dateformat": "yyyy-MM-dd", "output.dateformat": "yyyyMM"}
            ),
        },
        "1",
        "text=202401",
    ),
    "CustomKeyGenerator": (
        {
            KEY: "nr,id",
            PARTITION: "region:SIMPLE,hour:TIMESTAMP",
            **timed(**HOURS, **{"output.dateformat": "yyyyMMdd"}),
        },
        "nr:10,id:1",
        "north/20231217",
    ),
    "CustomAvroKeyGenerator": ({KEY: "id", PARTITION: "text:simple", ENCODED: "true"}, "1", "2024-01-31"),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_a_table_of_ours_by_each_key_generator_is_upserted_by_hudi_and_by_us_without_a_key_stored_twice(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, name: str
) -> None:
    own, key, path = GENERATORS[name]
    table, kind = tmp_path / "t", "MERGE_ON_READ" if "Avro" in name else "COPY_ON_WRITE"
    options = {"hoodie.table.name": "t", "hoodie.datasource.write.table.type": kind, ORDERING: "hour", **own}
    options[CLASS] = f"org.apache.hudi.keygen.{name}"
    ours.upsert(table, SCHEMA, [row(1, "one"), row(2, "two", "south")], **options)
    assert ours.read(table).select(["_hoodie_record_key", "_hoodie_partition_path"])[0] == [key, path]
    hudi.upsert(table, SCHEMA, [row(2, "hudi", "south"), row(3, "three")], **options)
    ours.upsert(table, SCHEMA, [row(3, "ours"), row(4, "four")])
    names = ["one", "hudi", "ours", "four"] if "name" not in own[KEY] else None
    columns = ["id", "name", "region"]
    expected = [[1, "one", "north"], [2, "hudi", "south"], [3, "ours", "north"], [4, "four", "north"]]
    if names is None:  # the name is in the key, so that each version is a row
        expected[1:3] = [[2, "hudi", "south"], [2, "two", "south"], [3, "ours", "north"], [3, "three", "north"]]
    assert ours.read(table).select(columns) == hudi.read(table).select(columns) == expected


def test_a_key_generator_by_type_or_by_a_name_of_hudis_statements_is_the_one_that_the_columns_imply(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = frame(spark, [(1, "a", "x")], "id int, v string, part string")
    cases = {
        "COMPLEX_AVRO": ({TYPE: "complex_avro", KEY: "id", PARTITION: "part"}, "COMPLEX", "id:1"),
        "GLOBAL_DELETE": ({TYPE: "GLOBAL_DELETE", KEY: "id"}, "GLOBAL_DELETE", "id:1"),
        "sql": (
            {CLASS: "org.apache.spark.sql.hudi.command.SqlKeyGenerator", KEY: "id", PARTITION: "part"},
            "SIMPLE",
            "1",
        ),
        "SPARK_SQL": ({TYPE: "SPARK_SQL", KEY: "id,v", PARTITION: "part"}, "COMPLEX", "id:1,v:a"),
    }
    for name, (options, stored, key) in cases.items():
        save(rows, tmp_path / name, options)
        save(rows, tmp_path / name, options)
        assert properties(tmp_path / name)["hoodie.table.keygenerator.type"] == stored
        assert [r[0] for r in load(spark, tmp_path / name).select("_hoodie_record_key").collect()] == [key]
    generated = {CLASS: "org.apache.hudi.keygen.AutoRecordGenWrapperKeyGenerator", PARTITION: "part"}
    save(rows, tmp_path / "auto", generated)
    save(rows, tmp_path / "auto", generated)
    assert load(spark, tmp_path / "auto").count() == 2
    refusals: list[tuple[dict[str, str], str, str]] = [
        ({**generated, KEY: "id"}, "KEY_GENERATOR_MISMATCH", "generates a key for each row"),
        ({CLASS: "com.example.OwnKeys", KEY: "id"}, "KEY_GENERATOR_UNSUPPORTED", "com.example.OwnKeys"),
        ({TYPE: "USER_PROVIDED", KEY: "id"}, "KEY_GENERATOR_UNSUPPORTED", "compute the key in a column of its own"),
        ({TYPE: "SIMPLE", KEY: "id,v", PARTITION: "part"}, "KEY_GENERATOR_MISMATCH", "one record key column"),
        ({TYPE: "GLOBAL_DELETE", KEY: "id", PARTITION: "part"}, "KEY_GENERATOR_MISMATCH", "partitioned by part"),
    ]
    for options, condition, mention in refusals:
        refused(lambda o=options: save(rows, tmp_path / "none", o), condition, mention)


def test_a_table_of_hudi_by_a_users_own_key_generator_is_refused_by_the_name_of_its_class(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, rows = tmp_path / "t", frame(spark, [(1, "a")], "id int, v string")
    save(rows, path, {KEY: "id"})
    file = path / ".hoodie" / "hoodie.properties"
    text = file.read_text().replace("keygenerator.type=NON_PARTITION", "keygenerator.type=USER_PROVIDED")
    file.write_text(text + "hoodie.table.keygenerator.class=com.example.OwnKeys\n")
    (path / ".hoodie" / ".hoodie.properties.crc").unlink(missing_ok=True)
    assert load(spark, path).count() == 1
    refused(lambda: save(rows, path, {}), "KEY_GENERATOR_UNSUPPORTED", "com.example.OwnKeys")


@pytest.mark.parametrize("first", ["upsert", "bulk_insert"])
def test_timestamps_in_keys_are_written_as_hudi_has_stored_them_and_another_form_is_refused(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, first: str
) -> None:
    table = tmp_path / "t"
    options = {"hoodie.table.name": "t", KEY: "id,at"}
    hudi.write(table, SCHEMA, [row(1, "one"), row(2, "two")], operation=first, mode="overwrite", options=options)
    stored = str(first == "bulk_insert").lower()
    ours.upsert(table, SCHEMA, [row(1, "ours"), row(3, "three")])
    ours.spark.sql(f"UPDATE merganser.`{table}` SET name = 'sql' WHERE id = 2")
    keyed = "ON t.id = s.id AND t.at = s.at WHEN MATCHED THEN UPDATE SET name = s.name"
    source = f"SELECT 3 id, TIMESTAMP '{AT.replace('05', '03')}Z' at, 'merged' name"
    ours.spark.sql(f"MERGE INTO merganser.`{table}` t USING ({source}) s {keyed}")
    expected = [[1, "ours"], [2, "sql"], [3, "merged"]]
    assert ours.read(table).select(["id", "name"]) == hudi.read(table).select(["id", "name"]) == expected
    other = {LOGICAL: "false" if stored == "true" else "true"}
    rows = frame(ours.spark, [], SCHEMA)
    refused(lambda: save(rows, table, other), "CONFIG_CONFLICT", LOGICAL, f"'{stored}'", "stored key")
    hudi.upsert(table, SCHEMA, [row(3, "hudi")], **{LOGICAL: stored})
    expected[2][1] = "hudi"
    assert ours.read(table).select(["id", "name"]) == expected
