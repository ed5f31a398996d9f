# Guarantee (Tables of other engines): Keys and paths of each key generator are Hudi's, on its tables and ours, so that
#   no key is stored twice. Also: test_golden_tables
"""Key generators by the names that Hudi has for them, and forms of keys that no table stores.

The tables of each generator are golden stories: Hudi's are written by us, and ours by Hudi.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from frames import frame, load, properties, refused, save
from option_names import KEY
from pyspark.sql import SparkSession

from interop.hudi_engine import HudiEngine, HudiError
from interop.merganser_engine import MerganserEngine
from merganser import MerganserError, Table

PARTITION = "hoodie.datasource.write.partitionpath.field"
CLASS, TYPE = "hoodie.datasource.write.keygenerator.class", "hoodie.datasource.write.keygenerator.type"
LOGICAL = "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled"
SCHEMA = (
    "id int, nr int, name string, region string, hour bigint, text string, day date, price decimal(6,2), at timestamp"
)
AT = "2024-01-02T03:04:05.678901"


def row(key: int, name: str, region: str = "north", hour: int = 473000) -> list[Any]:
    return [key, key * 10, name, region, hour, "2024-01-31", "2024-01-02", f"{key}.30", AT.replace("05", f"0{key}")]


def test_a_key_generator_named_by_type_or_hudis_sql_class_makes_the_implied_keys(
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


def test_a_table_with_a_custom_key_generator_class_is_refused_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    path, rows = tmp_path / "t", frame(spark, [(1, "a")], "id int, v string")
    save(rows, path, {KEY: "id"})
    file = path / ".hoodie" / "hoodie.properties"
    text = file.read_text().replace("keygenerator.type=NON_PARTITION", "keygenerator.type=USER_PROVIDED")
    file.write_text(text + "hoodie.table.keygenerator.class=com.example.OwnKeys\n")
    (path / ".hoodie" / ".hoodie.properties.crc").unlink(missing_ok=True)
    assert load(spark, path).count() == 1
    refused(lambda: save(rows, path, {}), "KEY_GENERATOR_UNSUPPORTED", "com.example.OwnKeys")


@pytest.mark.parametrize("first", ["upsert", "bulk_insert"])
def test_timestamps_in_keys_keep_the_form_stored_by_hudi_and_another_form_is_refused(
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


#: Types of tables; all of them with MERGANSER_FULL=1.
KINDS = ["COPY_ON_WRITE", *(["MERGE_ON_READ"] if os.environ.get("MERGANSER_FULL") else [])]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_with_timestamp_keys_in_both_forms_is_read_and_gets_no_duplicates(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    table, name = tmp_path / "t", f"merganser.`{tmp_path / 't'}`"
    options = {"hoodie.table.name": "t", KEY: "id,at", "hoodie.datasource.write.table.type": kind}
    rows = [row(i, "bulk") for i in (1, 2, 5)]
    hudi.write(table, SCHEMA, rows, operation="bulk_insert", mode="overwrite", options=options)
    # The first and the last key of the file keep the form of the bulk insert.
    hudi.upsert(table, SCHEMA, [row(2, "upsert"), row(3, "upsert")], **options)
    doubled = [[1, "bulk"], [2, "bulk"], [2, "upsert"], [3, "upsert"], [5, "bulk"]]
    assert ours.read(table).select(["id", "name"]) == hudi.read(table).select(["id", "name"]) == doubled
    before = sorted(str(file) for file in table.rglob("*"))
    for operation in ("upsert", "delete"):
        with pytest.raises(MerganserError, match=r"KEY_FORMS_MIXED.*two forms.*id:\d,at:2024-01-02 .*id:\d,at:17"):
            ours.write(table, SCHEMA, [row(4, "ours")], operation=operation)
    for statement in (f"UPDATE {name} SET nr = 1 WHERE id = 5", f"DELETE FROM {name} WHERE id = 1"):
        refused(lambda s=statement: ours.spark.sql(s), "KEY_FORMS_MIXED", "id:")
    assert sorted(str(file) for file in table.rglob("*")) == before
    ours.write(table, SCHEMA, [row(4, "ours")], operation="insert")
    whole = f"SELECT id, nr, max_by(name, nr) AS name, at FROM {name} GROUP BY id, nr, at"
    copy = tmp_path / "copy"
    save(ours.spark.sql(whole), copy, {KEY: "id,at"})
    save(ours.spark.sql(whole), copy, {})
    assert [key for (key,) in ours.read(copy).select(["id"])] == [1, 2, 3, 4, 5]


VALIDATION, ENCODING = "hoodie.write.complex.keygen.validation.enable", "hoodie.write.complex.keygen.new.encoding"


def test_unnamed_single_keys_are_upgraded_by_neither_engine_and_not_duplicated_by_our_writes(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table, name, columns = tmp_path / "t", f"merganser.`{tmp_path / 't'}`", "id int, name string, part string"
    options = {
        "hoodie.table.name": "t",
        KEY: "id",
        PARTITION: "part",
        CLASS: "org.apache.hudi.keygen.ComplexKeyGenerator",
        "hoodie.write.table.version": "8",
        ENCODING: "true",
    }
    rows = [[1, "one", "x"], [2, "two", "x"]]
    hudi.write(table, columns, rows, mode="overwrite", options={**options, VALIDATION: "false"})
    assert ours.read(table).select(["_hoodie_record_key"]) == [["1"], ["2"]]
    ours.upsert(table, columns, [[1, "ours", "x"]])
    newest = {**options, "hoodie.write.table.version": "9"}
    with pytest.raises(HudiError, match="complex key generator with a single record key field"):
        hudi.write(table, columns, rows, options=newest)
    refused(lambda: ours.spark.sql(f"CALL upgrade_table(path => '{table}')"), "KEYS_WITHOUT_NAME", "'1'", "'id:1'")
    # What Hudi does where it is permitted: the upgraded table has each key of the write twice.
    hudi.write(table, columns, [[3, "three", "x"]], options={**newest, VALIDATION: "false"})
    assert properties(table)["hoodie.table.version"] == "9"
    assert ours.read(table).select(["_hoodie_record_key"]) == [["1"], ["2"], ["id:3"]]
    refused(lambda: ours.upsert(table, columns, [[1, "again", "x"]]), "KEYS_WITHOUT_NAME", "'1'")
    refused(lambda: ours.spark.sql(f"DELETE FROM {name} WHERE id = 1"), "KEYS_WITHOUT_NAME", "'1'")
    ours.spark.sql(f"INSERT OVERWRITE {name} SELECT id, name, part FROM {name}")
    hudi.write(table, columns, [[1, "hudi", "x"]], options=newest)
    ours.upsert(table, columns, [[2, "ours", "x"]])
    expected = [["id:1", "hudi"], ["id:2", "ours"], ["id:3", "three"]]
    both = ["_hoodie_record_key", "name"]
    assert ours.read(table).select(both) == hudi.read(table).select(both) == expected


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_both_engines_find_rows_in_timestamp_paths_of_hudis_statements(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    table, name = tmp_path / "t", f"merganser.`{tmp_path / 't'}`"
    by = f"times_{kind}"
    hudi.sql(
        f"CREATE TABLE {by} (id INT, v STRING, ts TIMESTAMP) USING hudi PARTITIONED BY (ts) LOCATION '{table}' "
        f"TBLPROPERTIES (primaryKey = 'id', type = '{kind}')",
        f"INSERT INTO {by} VALUES (1, 'a', TIMESTAMP '2024-01-05 18:00:00.789'), (2, 'n', NULL)",
        f"UPDATE {by} SET v = 'hudi' WHERE id = 1",
    )
    columns, at = "id int, v string, ts timestamp", "2024-01-05T18:00:00.789000"
    assert Table.load(ours.spark, str(table)).inspect.verify().ok
    ours.upsert(table, columns, [[1, "ours", at], [3, "new", at]])
    ours.spark.sql(f"UPDATE {name} SET v = 'updated' WHERE id = 3")
    ours.spark.sql(f"DELETE FROM {name} WHERE id = 2")
    hudi.sql(f"UPDATE {by} SET v = 'back' WHERE id = 1")
    expected = [[1, "back"], [3, "updated"]]
    assert ours.read(table).select(["id", "v"]) == hudi.read(table).select(["id", "v"]) == expected
    assert {path for (path,) in ours.read(table).select(["_hoodie_partition_path"])} == {"ts=2024-01-05 18%3A00%3A00"}
    assert Table.load(ours.spark, str(table)).inspect.verify().ok


@pytest.mark.parametrize(
    ("unit", "value"), [("EPOCHMILLISECONDS", 1700000000000), ("UNIX_TIMESTAMP", 1700000000), ("SCALAR", 1700000000)]
)
def test_a_time_based_column_that_hudi_made_a_string_is_written_and_verified(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, unit: str, value: int
) -> None:
    table, by = tmp_path / "t", f"timed_{unit.lower()}"
    options = {
        "hoodie.table.name": "t",
        KEY: "id",
        PARTITION: "at",
        CLASS: "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        "hoodie.keygen.timebased.timestamp.type": unit,
        "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd",
    }
    rows = [[1, "a", value], [2, "b", value]]
    hudi.write(table, "id int, v string, at bigint", rows, mode="overwrite", options=options)
    hudi.sql(f"CREATE TABLE {by} USING hudi LOCATION '{table}'", f"UPDATE {by} SET v = 'hudi' WHERE id = 1")
    assert dict(ours.read(table).business_columns)["at"] == "string"
    assert Table.load(ours.spark, str(table)).inspect.verify().ok
    ours.upsert(table, "id int, v string, at string", [[2, "ours", str(value)]])
    ours.spark.sql(f"UPDATE merganser.`{table}` SET v = 'sql' WHERE id = 1")
    expected = [[1, "sql"], [2, "ours"]]
    assert ours.read(table).select(["id", "v"]) == hudi.read(table).select(["id", "v"]) == expected
    assert Table.load(ours.spark, str(table)).inspect.verify().ok
