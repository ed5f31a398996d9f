"""Tables that Apache Hudi made with features that are not here: read right, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sql_steps import each_kind

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import MerganserError, Table

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SCHEMA = "id int, day string, amount int, ts bigint"
ROWS = [[1, "2024-01-02", 11, 2], [2, "2024-01-03", 20, 1]]

UNREADABLE = "TABLE_FEATURE_UNREADABLE"

#: Table type, options and version of a table that can be neither read nor written.
FEATURES: dict[str, tuple[str, dict[str, str], int]] = {
    "several_formats": (COW, {"hoodie.table.multiple.base.file.formats.enable": "true"}, 9),
}


def options(name: str, kind: str, **more: str) -> dict[str, str]:
    return {
        "hoodie.table.name": name,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "day",
        "hoodie.table.ordering.fields": "ts",
        **more,
    }


def condition(act: Callable[[], Any]) -> str:
    """The name of the condition that an act is refused for."""
    with pytest.raises(MerganserError) as refused:
        act()
    text = str(refused.value)
    return text[text.index("[") + 1 : text.index("]")]


def ways_to_write(ours: MerganserEngine, path: Path) -> dict[str, Callable[[], Any]]:
    spark, table = ours.spark, f"merganser.`{path}`"
    frame = spark.createDataFrame([tuple(ROWS[0])], SCHEMA)
    return {
        "upsert": lambda: ours.upsert(path, SCHEMA, ROWS),
        "overwrite": lambda: frame.write.format("merganser").mode("overwrite").save(str(path)),
        "python": lambda: Table.load(spark, str(path)).upsert(frame),
        "insert": lambda: spark.sql(f"INSERT INTO {table} VALUES (3, '2024-01-02', 1, 1)"),
        "merge": lambda: spark.sql(
            f"MERGE INTO {table} t USING (SELECT 1 id, 5 amount) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET amount = 5"
        ),
        "delete": lambda: spark.sql(f"DELETE FROM {table} WHERE id = 1"),
        "alter": lambda: spark.sql(f"ALTER TABLE {table} ADD COLUMN note string"),
        "set": lambda: spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('hoodie.compact.inline' = 'true')"),
        "unset": lambda: spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('hoodie.compact.inline')"),
        "describe": lambda: spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('team' = 'birds')"),
        "compaction": lambda: spark.sql(f"CALL run_compaction(op => 'schedule', path => '{path}')"),
        "upgrade": lambda: spark.sql(f"CALL upgrade_table(path => '{path}')"),
    }


# Guarantee (Tables of other engines): Every property of Hudi 1.2.0 is handled, harmless or refused by name; an unknown
#   one refuses writing. Also:
#   test_every_read_and_write_refuses_a_table_with_an_unsupported_feature
def test_every_property_folder_and_action_of_hudi_is_handled(spark: SparkSession, hudi: HudiEngine) -> None:
    names = hudi.format_names()
    jvm: Any = spark._jvm
    properties = jvm.io.merganser.table.properties.TableProperties
    features = jvm.io.merganser.table.commit.TableFeatures
    assert len(names["properties"]) > 50
    assert len(names["folders"]) > 8
    assert len(names["actions"]) > 11
    assert [name for name in names["properties"] if properties.of(name).isEmpty()] == []
    assert [name for name in names["folders"] if not features.folders().contains(name)] == []
    assert [name for name in names["actions"] if not features.actions().contains(name)] == []


@pytest.mark.parametrize("name", FEATURES)
def test_every_read_and_write_refuses_a_table_with_an_unsupported_feature(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, name: str
) -> None:
    kind, feature, version = FEATURES[name]
    path = tmp_path / name
    hudi.upsert(path, SCHEMA, ROWS, **options(name, kind, **feature), **{"hoodie.write.table.version": str(version)})
    before = files(path)
    assert condition(lambda: ours.read(path)) == UNREADABLE
    for way, write in ways_to_write(ours, path).items():
        assert condition(write) == UNREADABLE, way
    assert files(path) == before


@each_kind
def test_a_column_renamed_by_hudi_keeps_its_id_even_if_the_newest_commit_has_no_versions(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / kind
    name = f"renamed_{kind}"
    hudi.sql(
        "SET hoodie.schema.on.read.enable=true",
        "SET hoodie.datasource.write.schema.allow.auto.evolution.column.drop=true",
        f"CREATE TABLE {name} (id int, day string, amount int, ts bigint) USING hudi PARTITIONED BY (day) "
        f"TBLPROPERTIES (primaryKey='id', type='{kind}', preCombineField='ts') LOCATION '{path}'",
        f"INSERT INTO {name} VALUES (1, 1, 1, 'a')",
        f"ALTER TABLE {name} ADD COLUMNS (note string AFTER amount)",
    )
    assert ours.read(path).select(["id", "day", "amount", "note", "ts"]) == [[1, "a", 1, None, 1]]
    hudi.sql(
        "SET hoodie.schema.on.read.enable=true",
        "SET hoodie.datasource.write.schema.allow.auto.evolution.column.drop=true",
        f"ALTER TABLE {name} RENAME COLUMN amount TO total",
    )
    columns = ["id", "day", "total", "note", "ts"]
    assert ours.read(path).select(columns) == [[1, "a", 1, None, 1]]
    # A writer that is not aware of the versions hides them from the newest commit.
    hudi.sql(f"INSERT INTO {name} VALUES (2, 2, 'x', 1, 'b')", f"DROP TABLE {name}")
    assert ours.read(path).select(columns) == [[1, "a", 1, None, 1], [2, "b", 2, "x", 1]]
    ours.upsert(path, "id int, total int, ts bigint, note string, day string", [[2, 22, 2, "y", "b"]])
    rows = [[1, "a", 1, None, 1], [2, "b", 22, "y", 2]]
    assert ours.read(path).select(columns) == rows
    # Our commit refers to them again.
    assert hudi.read(path, **{"hoodie.schema.on.read.enable": "true"}).select(columns) == rows


def test_upserts_and_merges_find_keys_that_hudi_inserted_into_logs(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path = tmp_path / "logs"
    memory = options("logs", MOR, **{"hoodie.index.type": "INMEMORY"})
    hudi.upsert(path, SCHEMA, ROWS, **memory)
    assert not list(path.glob("*/*.parquet"))
    ours.upsert(path, SCHEMA, [[1, "2024-01-02", 12, 3]])
    assert ours.read(path).business == hudi.read(path).business == [[1, "2024-01-02", 12, 3], ROWS[1]]
    hudi.compact(path)
    # The same group has a base file now, and Hudi inserts into its log.
    hudi.upsert(path, SCHEMA, [[3, "2024-01-02", 30, 1]], **memory)
    assert list(path.glob("2024-01-02/.*.log.*"))
    ours.upsert(path, SCHEMA, [[3, "2024-01-02", 31, 2], [2, "2024-01-03", 21, 2]])
    table = f"merganser.`{path}`"
    ours.spark.sql(
        f"MERGE INTO {table} t USING (SELECT 3 id, '2024-01-02' day, 32 amount, 4L ts) s "
        "ON t.id = s.id AND t.day = s.day "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    rows = [[1, "2024-01-02", 12, 3], [2, "2024-01-03", 21, 2], [3, "2024-01-02", 32, 4]]
    assert ours.read(path).business == hudi.read(path).business == rows


def test_a_write_to_a_table_with_a_record_index_is_refused_unless_it_may_drop_the_index(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path = tmp_path / "indexed"
    indexed = options(
        "indexed",
        COW,
        **{
            "hoodie.metadata.enable": "true",
            "hoodie.metadata.record.index.enable": "true",
            "hoodie.metadata.global.record.level.index.enable": "true",
            "hoodie.index.type": "RECORD_INDEX",
        },
    )
    hudi.upsert(path, SCHEMA, ROWS, **indexed)
    spark, table, drop = ours.spark, f"merganser.`{path}`", "spark.merganser.write.dropIndexes"
    row = [[1, "2024-01-02", 12, 3]]
    assert condition(lambda: ours.upsert(path, SCHEMA, row)) == "METADATA_INDEX_PRESENT"
    keep = {drop: "true", "spark.merganser.write.dropMetadataTable": "false"}
    assert condition(lambda: ours.upsert(path, SCHEMA, row, **keep)) == "METADATA_TABLE_PRESENT"
    spark.conf.set(drop, "true")
    try:
        spark.sql(f"UPDATE {table} SET amount = 12, ts = 3 WHERE id = 1")
    finally:
        spark.conf.unset(drop)
    assert hudi.read(path).business == ours.read(path).business == [row[0], ROWS[1]]
    hudi.upsert(path, SCHEMA, [[2, "2024-01-03", 22, 4]], **indexed)
    ours.upsert(path, SCHEMA, [[1, "2024-01-02", 13, 5]], **{drop: "true"})
    assert hudi.read(path).business == [[1, "2024-01-02", 13, 5], [2, "2024-01-03", 22, 4]]


def test_every_write_to_a_table_with_an_unknown_property_is_refused_unless_allowed(
    ours: MerganserEngine, tmp_path: Path
) -> None:
    path = tmp_path / "unknown"
    allow = "spark.merganser.write.allowUnknownProperties"
    ours.upsert(path, SCHEMA, ROWS, **options("unknown", MOR))
    file = path / ".hoodie" / "hoodie.properties"
    file.write_text(file.read_text() + "hoodie.table.future=on\n")
    (path / ".hoodie" / ".hoodie.properties.crc").unlink(missing_ok=True)
    assert ours.read(path).business == ROWS
    ways = ways_to_write(ours, path)
    del ways["upgrade"]
    for way, write in ways.items():
        assert condition(write) == "TABLE_PROPERTY_UNKNOWN", way
    ours.spark.conf.set(allow, "true")
    try:
        for write in ways.values():
            write()
    finally:
        ours.spark.conf.unset(allow)
    assert "hoodie.table.future=on" in file.read_text()
    ours.upsert(path, f"{SCHEMA}, note string", [[9, "2024-01-09", 9, 9, None]], **{allow: "true"})
    with pytest.raises(MerganserError, match="TABLE_PROPERTY_UNKNOWN"):
        Table.load(ours.spark, str(path)).compact()


def files(path: Path) -> set[str]:
    """Files of a table, without checksums and lock files."""
    return {
        str(file.relative_to(path))
        for file in path.rglob("*")
        if file.is_file() and file.suffix != ".crc" and file.name != "lock"
    }
