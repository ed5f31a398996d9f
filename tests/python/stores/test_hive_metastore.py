# Guarantee (Writes): After every commit and `ALTER TABLE` a plain Hive client sees the table; a failed registration
#   leaves the commit, and the next one catches up. Also: test_hive_sync_statements
"""Tables that a write registers in a Hive metastore, as a plain Hive client sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hive_lake import COW, MOR, SYNC, Lake
from snippets import snippets

from merganser import MerganserError, Table, WriteOptions

EXTRACTOR = "org.apache.hudi.hive."
META = {
    "_hoodie_commit_time": "string",
    "_hoodie_commit_seqno": "string",
    "_hoodie_record_key": "string",
    "_hoodie_partition_path": "string",
    "_hoodie_file_name": "string",
}
PARQUET = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
REALTIME = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"


def names(spark_properties: dict[str, str]) -> list[str]:
    """Columns in the properties by which Spark reads a data source."""
    parts = int(spark_properties["spark.sql.sources.schema.numParts"])
    text = "".join(spark_properties[f"spark.sql.sources.schema.part.{part}"] for part in range(parts))
    return [field["name"] for field in json.loads(text)["fields"]]


def test_a_hive_client_sees_the_table_its_columns_and_its_partitions_after_each_commit(
    lake: Lake, tmp_path: Path
) -> None:
    path, db = tmp_path / "t", {f"{SYNC}database": "Sales"}
    lake.write(path, lake.rows("(1, 'a', 1L, 'x'), (2, 'b', 1L, 'y')"), **COW, **db)
    assert "sales" in lake.client.databases()
    assert lake.client.tables("sales") == {"orders"}
    table = lake.client.table("sales", "orders")
    assert table.columns == {**META, "id": "int", "value": "string", "ts": "bigint"}
    assert table.partition_columns == {"part": "string"}
    assert (table.input_format, table.kind) == (PARQUET, "EXTERNAL_TABLE")
    assert table.location == f"file:{path}"
    assert table.properties["EXTERNAL"] == "TRUE"
    assert table.properties["spark.sql.sources.provider"] == "hudi"
    assert names(table.properties) == [*META, "id", "value", "ts", "part"]
    assert table.properties["spark.sql.sources.schema.partCol.0"] == "part"
    assert (table.serde_properties["path"], table.serde_properties["hoodie.query.as.ro.table"]) == (
        f"file:{path}",
        "false",
    )
    assert lake.is_current(path, "sales", "orders")
    assert lake.client.partitions("sales", "orders") == {("x",): f"file:{path}/x", ("y",): f"file:{path}/y"}

    wider = lake.rows("(3, 'c', 1L, 'z'), (1, 'd', 2L, 'x')").selectExpr("*", "double(id) AS price")
    lake.write(path, wider, **COW, **db)
    assert lake.client.table("sales", "orders").columns["price"] == "double"
    assert lake.client.partition_columns("sales", "orders", ["y"])["price"] == "double"
    assert set(lake.client.partitions("sales", "orders")) == {("x",), ("y",), ("z",)}

    lake.write(
        path, wider, operation="delete_partition", **COW, **db, **{"hoodie.datasource.write.partitions.to.delete": "y"}
    )
    assert set(lake.client.partitions("sales", "orders")) == {("x",), ("z",)}
    assert lake.is_current(path, "sales", "orders")


def test_the_next_registration_adds_the_partitions_of_an_unregistered_commit(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "t"
    other = {f"{SYNC}table": "later"}
    lake.write(path, lake.rows("(1, 'a', 1L, 'x')"), **COW, **other)
    lake.write(path, lake.rows("(2, 'a', 1L, 'y')"), **COW, **{f"{SYNC}enable": "false"})
    assert set(lake.client.partitions("default", "later")) == {("x",)}
    meta = {f"{SYNC}enable": "", "hoodie.datasource.meta.sync.enable": "true"}
    lake.write(path, lake.rows("(3, 'a', 1L, 'z')"), **COW, **other, **meta)
    assert set(lake.client.partitions("default", "later")) == {("x",), ("y",), ("z",)}


@pytest.mark.parametrize(
    ("options", "inputs"),
    [
        ({}, {"m": REALTIME, "m_ro": PARQUET, "m_rt": REALTIME}),
        ({f"{SYNC}skip_ro_suffix": "true"}, {"m": PARQUET, "m_rt": REALTIME}),
        ({"hoodie.meta.sync.sync_snapshot_with_table_name": "false"}, {"m_ro": PARQUET, "m_rt": REALTIME}),
        ({f"{SYNC}table.strategy": "RO"}, {"m": PARQUET}),
        ({f"{SYNC}table.strategy": "RT"}, {"m": REALTIME}),
    ],
    ids=["all", "skip_ro_suffix", "suffixes", "RO", "RT"],
)
def test_a_merge_on_read_table_is_registered_with_and_without_its_logs(
    lake: Lake, tmp_path: Path, options: dict[str, str], inputs: dict[str, str]
) -> None:
    database = tmp_path.name.lower().replace("-", "_")
    lake.write(
        tmp_path / "t",
        lake.rows("(1, 'a', 1L, 'x')"),
        **MOR,
        **{f"{SYNC}table": "m", f"{SYNC}database": database, **options},
    )
    tables = {name: lake.client.table(database, name) for name in lake.client.tables(database)}
    assert {name: table.input_format for name, table in tables.items()} == inputs
    optimized = {name for name, table in tables.items() if table.serde_properties["hoodie.query.as.ro.table"] == "true"}
    assert optimized == {name for name, kind in inputs.items() if kind == PARQUET}
    assert all(set(lake.client.partitions(database, name)) == {("x",)} for name in inputs)


def test_sync_options_change_the_registered_columns_properties_and_partitions(lake: Lake, tmp_path: Path) -> None:
    rows = lake.spark.sql("SELECT 1 AS id, 'a' AS value, TIMESTAMP '2024-01-02 03:04:05' AS ts, '2024/01/02' AS part")
    lake.write(tmp_path / "plain", rows, **COW, **{f"{SYNC}table": "plain"})
    assert lake.client.table("default", "plain").columns["ts"] == "bigint"
    assert set(lake.client.partitions("default", "plain")) == {("2024/01/02",)}
    changed = {
        f"{SYNC}table": "changed",
        f"{SYNC}support_timestamp": "true",
        f"{SYNC}omit_metadata_fields": "true",
        f"{SYNC}sync_as_datasource": "false",
        f"{SYNC}table_properties": "owner=me\nteam=a=b",
        f"{SYNC}serde_properties": "k=v",
        f"{SYNC}partition_fields": "day",
        f"{SYNC}partition_extractor_class": f"{EXTRACTOR}SlashEncodedDayPartitionValueExtractor",
        f"{SYNC}use_jdbc": "true",
    }
    lake.write(tmp_path / "changed", rows, **COW, **changed)
    table = lake.client.table("default", "changed")
    assert table.columns == {"id": "int", "value": "string", "ts": "timestamp", "part": "string"}
    assert table.partition_columns == {"day": "string"}
    assert (table.properties["owner"], table.properties["team"]) == ("me", "a=b")
    assert table.serde_properties == {"serialization.format": "1", "k": "v"}
    assert not [key for key in table.properties if key.startswith("spark.")]
    assert set(lake.client.partitions("default", "changed")) == {("2024-01-02",)}
    with pytest.raises(MerganserError, match=r"UNSUPPORTED_OPTION(.|\n)*MultiPartKeysValueExtractor"):
        lake.write(tmp_path / "none", rows, **COW, **{f"{SYNC}partition_extractor_class": "com.example.Mine"})
    assert not (tmp_path / "none").exists()


def test_a_failed_registration_leaves_the_write_committed_and_is_reported(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "t"
    missing = {f"{SYNC}database": "nowhere", f"{SYNC}auto_create_database": "false", f"{SYNC}table": "failing"}
    with pytest.raises(MerganserError, match=r"nowhere") as failed:
        lake.write(path, lake.rows("(1, 'a', 1L, 'x')"), **COW, **missing)
    assert failed.value.condition == "WRITE_COMMITTED_SYNC_FAILED"
    table = Table.load(lake.spark, str(path))
    assert len(table.history()) == 1
    options: dict[str, Any] = {f"{SYNC}enable": "true", f"{SYNC}metastore.uris": "thrift://127.0.0.1:1", **missing}
    quiet = WriteOptions(hoodie={**options, f"{SYNC}ignore_exceptions": "true"})
    result = table.upsert(lake.rows("(2, 'a', 1L, 'y')"), options=quiet)
    assert "thrift://127.0.0.1:1" in (result.service_failure or "")
    assert len(table.history()) == 2
    lake.write(path, lake.rows("(3, 'a', 1L, 'z')"), **COW, **{f"{SYNC}table": "failing"})
    assert set(lake.client.partitions("default", "failing")) == {("x",), ("y",), ("z",)}

    with pytest.raises(MerganserError, match=r"registered under this name is at"):
        lake.write(tmp_path / "other", lake.rows("(1, 'a', 1L, 'x')"), **COW, **{f"{SYNC}table": "failing"})


def test_the_snippets_of_the_page_register_their_tables(lake: Lake, tmp_path: Path) -> None:
    def of_the_page(language: str) -> str:
        (code,) = snippets("docs/operating.md", language, "Hive metastore")
        code = code.replace("thrift://metastore:9083", lake.uris).replace("/lake/", f"{tmp_path}/")
        return code.replace("sales", "shop")  # another test has a table of the same name there

    rows = lake.spark.sql("SELECT 1 AS id, 2.0D AS amount, DATE'2026-01-31' AS day")
    Table.create(lake.spark, tmp_path / "orders", rows.schema, record_key="id", name="by_frame")
    database = f"{SYNC}database"
    try:
        exec(of_the_page("python"), {"rows": rows})
        for statement in filter(str.strip, of_the_page("sql").split(";")):
            lake.spark.sql(statement)
        lake.spark.sql("INSERT INTO orders VALUES (1, 2.0, DATE'2026-01-31')")
        assert {"by_frame", "orders"} <= lake.client.tables("shop")
        assert list(lake.client.partitions("shop", "orders")) == [("2026-01-31",)]
    finally:
        lake.spark.conf.unset(database)
        lake.spark.sql("DROP TABLE IF EXISTS orders")
