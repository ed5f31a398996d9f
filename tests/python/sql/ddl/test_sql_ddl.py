"""TRUNCATE, partitions, ALTER TABLE on properties and names, what DESCRIBE and SHOW report, and time travel."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sql_steps import Sql, each_kind, properties

pytestmark = pytest.mark.e2e

COLUMNS = "id int, ts bigint, region string, day date"
ROWS = "(1, 1, 'eu', DATE'2024-01-01'), (2, 1, 'eu', DATE'2024-01-02'), (3, 1, 'us', DATE'2024-01-01')"


def filled(sql: Sql, kind: str) -> str:
    """A table with three partitions of two levels; merge-on-read has a log in the first."""
    table = sql.create(kind, COLUMNS, by="region, day")
    sql.run(f"INSERT INTO {table} VALUES {ROWS}")
    sql.run(f"UPDATE {table} SET ts = 2 WHERE id = 1")
    return table


def ids(sql: Sql, table: str) -> list[int]:
    return [row[0] for row in sql.rows(table, "id")]


# --- rows and partitions that go -----------------------------------------------------------------------------------


@each_kind
def test_truncate_removes_all_rows_in_one_replacecommit(sql: Sql, kind: str) -> None:
    table = filled(sql, kind)
    before = len(sql.commits(table))
    sql.run(f"TRUNCATE TABLE {table}")
    assert sql.rows(table) == []
    assert sql.commits(table)[before:] == ["replacecommit"]
    sql.run(f"INSERT INTO {table} VALUES {ROWS}")
    assert ids(sql, table) == [1, 2, 3]


@each_kind
def test_show_truncate_and_drop_partition_match_all_or_some_values(sql: Sql, kind: str) -> None:
    table = filled(sql, kind)
    assert sql.run(f"SHOW PARTITIONS {table}") == [
        ("region=eu/day=2024-01-01",),
        ("region=eu/day=2024-01-02",),
        ("region=us/day=2024-01-01",),
    ]
    assert sql.run(f"SHOW PARTITIONS {table} PARTITION (day = DATE'2024-01-02')") == [("region=eu/day=2024-01-02",)]
    before = len(sql.commits(table))
    sql.run(
        f"ALTER TABLE {table} DROP PARTITION (region = 'eu', day = '2024-01-01'), "
        "PARTITION (region = 'us', day = '2024-01-01')"
    )
    assert sql.commits(table)[before:] == ["replacecommit"]
    assert ids(sql, table) == [2]
    assert sql.run(f"SHOW PARTITIONS {table}") == [("region=eu/day=2024-01-02",)]
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'eu', DATE'2024-01-01'), (3, 1, 'us', DATE'2024-01-01')")
    sql.run(f"TRUNCATE TABLE {table} PARTITION (region = 'eu')")
    assert ids(sql, table) == [3]
    sql.run(f"TRUNCATE TABLE {table} PARTITION (region = 'us', day = '2024-01-01')")
    assert sql.rows(table) == []


def test_dropping_a_missing_partition_is_an_error_without_if_exists(sql: Sql) -> None:
    table = filled(sql, "cow")
    drop = f"ALTER TABLE {table} DROP {{}} PARTITION (region = 'asia', day = '2024-01-01')"
    assert "PARTITIONS_NOT_FOUND" in sql.fails(drop.format(""))
    sql.run(drop.format("IF EXISTS"))
    assert len(sql.commits(table)) == 2
    added = sql.fails(f"ALTER TABLE {table} ADD PARTITION (region = 'asia', day = '2024-01-01')")
    assert "PARTITION_WITHOUT_ROWS" in added
    plain = sql.create("cow")
    assert "partition" in sql.fails(f"SHOW PARTITIONS {plain}").lower()


# --- ALTER TABLE ----------------------------------------------------------------------------------------------------


@each_kind
def test_alter_table_stores_write_settings_and_custom_properties(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a')")
    operation = "hoodie.spark.sql.insert.into.operation"
    sql.run(f"ALTER TABLE {table} SET TBLPROPERTIES ('{operation}' = 'upsert', 'team' = 'birds')")
    assert properties(sql.folder(table))[operation] == "upsert"
    shown = dict(sql.run(f"SHOW TBLPROPERTIES {table}"))
    assert shown[operation] == "upsert"
    assert shown["team"] == "birds"
    assert sql.run(f"SHOW TBLPROPERTIES {table} ('team')") == [("team", "birds")]
    sql.run(f"INSERT INTO {table} VALUES (1, 2, 'b')")
    assert sql.rows(table) == [(1, 2, "b")]
    sql.run(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('{operation}', 'team')")
    assert operation not in properties(sql.folder(table))
    assert not {operation, "team"} & {row[0] for row in sql.run(f"SHOW TBLPROPERTIES {table}")}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("primaryKey", "v"),
        ("orderingFields", "id"),
        ("type", "mor"),
        ("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING"),
        ("hoodie.table.partial.update.mode", "IGNORE_DEFAULTS"),
        ("hoodie.table.version", "8"),
    ],
)
def test_alter_table_refuses_properties_that_stored_rows_depend_on(sql: Sql, key: str, value: str) -> None:
    table = sql.create("cow")
    before = properties(sql.folder(table))
    message = sql.fails(f"ALTER TABLE {table} SET TBLPROPERTIES ('{key}' = '{value}', 'team' = 'birds')")
    assert "PROPERTY_FIXED" in message
    assert key in message
    assert "PROPERTY_FIXED" in sql.fails(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('{key}')")
    assert properties(sql.folder(table)) == before
    assert "team" not in dict(sql.run(f"SHOW TBLPROPERTIES {table}"))


@each_kind
def test_a_replaced_table_has_the_columns_of_its_new_query(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, v int, p string", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 2, 'b')")
    sql.run(f"UPDATE {table} SET v = 3 WHERE id = 1")
    made = f"CREATE OR REPLACE TABLE {table} {{}} USING merganser TBLPROPERTIES (primaryKey = 'id', type = '{kind}')"
    sql.run(made.format("") + f" AS SELECT id, concat('v', v) AS v, true AS fresh FROM {table}")
    assert sql.rows(table) == [(1, "v3", True), (2, "v2", True)]
    sql.run(f"INSERT INTO {table} VALUES (3, 'new', false)")
    sql.run(f"DELETE FROM {table} WHERE v = 'v2'")
    assert sql.rows(table) == [(1, "v3", True), (3, "new", False)]
    sql.run(made.format("(id int, z date)"))
    sql.run(f"INSERT INTO {table} VALUES (1, date'2026-01-01')")
    assert sql.rows(table, "id, cast(z AS string)") == [(1, "2026-01-01")]
    assert [name for name, *_ in sql.run(f"SHOW COLUMNS IN {table}")] == ["id", "z"]


def test_unset_if_exists_ignores_a_missing_property(sql: Sql) -> None:
    table = sql.create("cow")
    before = sql.run(f"SHOW TBLPROPERTIES {table}")
    sql.run(f"ALTER TABLE {table} UNSET TBLPROPERTIES IF EXISTS ('time')")
    assert sql.run(f"SHOW TBLPROPERTIES {table}") == before


def test_alter_table_refuses_unknown_and_invalid_settings(sql: Sql) -> None:
    table = sql.create("cow")
    alter = f"ALTER TABLE {table} SET TBLPROPERTIES ('{{}}' = '{{}}')"
    assert "UNKNOWN_OPTION" in sql.fails(alter.format("hoodie.index.typ", "SIMPLE"))
    assert "OPTION_VALUE_INVALID" in sql.fails(alter.format("hoodie.spark.sql.insert.into.operation", "merge"))
    assert "PROPERTY_FIXED" in sql.fails(f"ALTER TABLE {table} SET LOCATION '/elsewhere'")
    sql.run(alter.format("primaryKey", "id"))  # what it is already


@each_kind
def test_a_renamed_table_keeps_its_rows_and_accepts_writes(sql: Sql, kind: str) -> None:
    table, other = sql.create(kind), sql.name()
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a')")
    sql.run(f"ALTER TABLE {table} RENAME TO {other}")
    assert sql.run(f"SHOW TABLES LIKE '{table}'") == []
    sql.run(f"MERGE INTO {other} t USING (SELECT 1 id, 2L ts, 'b' v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *")
    assert sql.rows(other) == [(1, 2, "b")]
    assert properties(sql.folder(other))["hoodie.table.name"] == other


def test_comments_are_set_and_removed(sql: Sql) -> None:
    table = sql.create("cow")

    def comment() -> str | None:
        return {r[0]: r[1] for r in sql.run(f"DESCRIBE TABLE EXTENDED {table}")}.get("Comment")

    sql.run(f"COMMENT ON TABLE {table} IS 'all ducks'")
    assert comment() == "all ducks"
    sql.run(f"ALTER TABLE {table} SET TBLPROPERTIES ('team' = 'birds')")
    assert comment() == "all ducks"
    sql.run(f"COMMENT ON TABLE {table} IS NULL")
    assert not comment()


# --- what is shown -------------------------------------------------------------------------------------------------


def test_describe_show_columns_and_show_create_table_return_the_declaration(sql: Sql) -> None:
    table = sql.name()
    sql.run(
        f"CREATE TABLE {table} (id int COMMENT 'the key', ts bigint, code varchar(3), p string) USING merganser "
        "PARTITIONED BY (p) COMMENT 'all ducks' "
        "TBLPROPERTIES (primaryKey = 'id', type = 'mor', orderingFields = 'ts', team = 'birds')"
    )
    assert [r[0] for r in sql.run(f"SHOW COLUMNS IN {table}")] == ["id", "ts", "code", "p"]
    details = {r[0]: r[1] for r in sql.run(f"DESCRIBE TABLE EXTENDED {table}")}
    assert details["Comment"] == "all ducks"
    assert details["Type"] == "MANAGED"
    assert details["code"] == "varchar(3)"
    (statement,) = sql.run(f"SHOW CREATE TABLE {table}")[0]
    assert "LOCATION" not in statement
    other = sql.name()
    sql.run(statement.replace(table, other))
    described = [sql.run(f"DESCRIBE TABLE {t}") for t in (table, other)]
    # Spark 4.2's statement names the collation that every string has.
    assert str(described[1]).replace(" collate UTF8_BINARY", "") == str(described[0])
    assert dict(sql.run(f"SHOW TBLPROPERTIES {other}"))["team"] == "birds"


def test_describe_of_a_partition_shows_its_location_and_size(sql: Sql) -> None:
    table = filled(sql, "mor")
    one = "PARTITION (region = 'eu', day = '2024-01-01')"
    assert [r[0] for r in sql.run(f"DESCRIBE TABLE {table} {one}")][:4] == ["id", "ts", "region", "day"]
    details = {r[0]: r[1] for r in sql.run(f"DESCRIBE TABLE EXTENDED {table} {one}")}
    assert details["Partition Values"] == "[region=eu, day=2024-01-01]"
    assert details["Location"].endswith("/region=eu/day=2024-01-01")
    assert details["File Groups"] == "1"
    message = sql.fails(f"DESCRIBE TABLE {table} PARTITION (region = 'asia', day = '2024-01-01')")
    assert "PARTITIONS_NOT_FOUND" in message or "PARTITION_NOT_FOUND" in message or "NoSuchPartition" in message


@each_kind
def test_timestamp_as_of_returns_the_rows_of_that_time(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a')")
    time.sleep(0.01)
    then = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    sql.run(f"UPDATE {table} SET v = 'b'")
    assert sql.run(f"SELECT v FROM {table} TIMESTAMP AS OF '{then}'") == [("a",)]
    assert "AS_OF_TOO_EARLY" in sql.fails(f"SELECT v FROM {table} TIMESTAMP AS OF '2020-01-01'")
    assert sql.rows(table, "v") == [("b",)]


# --- CREATE and REPLACE … AS SELECT -----------------------------------------------------------------------------------


@each_kind
def test_replace_as_select_keeps_partitions_and_location_and_may_read_its_own_table(
    sql: Sql, kind: str, tmp_path
) -> None:
    table = sql.name()
    shape = (
        f"TABLE {table} USING merganser PARTITIONED BY (p) LOCATION '{tmp_path}/t' "
        f"TBLPROPERTIES (primaryKey = 'id', type = '{kind}', orderingFields = 'ts')"
    )
    sql.run(f"CREATE {shape} AS SELECT 1 id, 1L ts, 'x' p UNION ALL SELECT 2, 1L, 'y'")
    assert (tmp_path / "t" / ".hoodie").is_dir()
    assert sorted(sql.run(f"SHOW PARTITIONS {table}")) == [("p=x",), ("p=y",)]
    sql.run(f"CREATE OR REPLACE {shape} AS SELECT id + 10 id, ts, p FROM {table} WHERE p = 'y'")
    assert sql.rows(table) == [(12, 1, "y")]
    sql.run(f"REPLACE {shape} AS SELECT * FROM {table}")
    assert sql.rows(table) == [(12, 1, "y")]
    assert sql.commits(table)[1:] == ["replacecommit", "replacecommit"]


@pytest.mark.parametrize("feature", ["hoodie.keygen.datetime.parser.class=a.Parser", "hoodie.some.new.feature=1"])
@pytest.mark.parametrize("catalog", ["spark_catalog", "lake"])
def test_alter_and_rename_of_an_unwritable_table_change_nothing(
    sql: Sql, tmp_path: Path, catalog: str, feature: str
) -> None:
    if catalog == "lake":
        name = sql.name()
        sql.spark.conf.set(f"spark.sql.catalog.lake_{name}", "io.merganser.spark.MerganserLakeCatalog")
        sql.spark.conf.set(f"spark.sql.catalog.lake_{name}.warehouse", str(tmp_path / "lake"))
        table, other, folder = f"lake_{name}.t", f"lake_{name}.u", tmp_path / "lake" / "t"
        sql.run(f"CREATE TABLE {table} (id int) USING merganser TBLPROPERTIES ('primaryKey' = 'id')")
    else:
        table, other = sql.create("cow", "id int", ordering=None), sql.name()
        folder = sql.folder(table)
    file = folder / ".hoodie" / "hoodie.properties"
    file.write_text(file.read_text() + feature + "\n")
    (file.parent / ".hoodie.properties.crc").unlink(missing_ok=True)
    before = file.read_bytes()
    condition = "TABLE_FEATURE_READ_ONLY" if "parser" in feature else "TABLE_PROPERTY_UNKNOWN"
    for change in (
        "SET TBLPROPERTIES ('hoodie.compact.inline' = 'true')",
        "UNSET TBLPROPERTIES ('hoodie.compact.inline')",
        f"RENAME TO {other.split('.')[-1]}",
    ):
        assert condition in sql.fails(f"ALTER TABLE {table} {change}"), change
    assert file.read_bytes() == before
    assert sql.rows(table) == []
    if "parser" not in feature:
        with sql.settings({"spark.merganser.write.allowUnknownProperties": "true"}):
            sql.run(f"ALTER TABLE {table} RENAME TO {other.split('.')[-1]}")
        assert sql.rows(other) == []


def test_a_rename_refused_by_the_catalog_keeps_the_stored_name(sql: Sql) -> None:
    table, taken = sql.create("cow"), sql.create("cow")
    file = sql.folder(table) / ".hoodie" / "hoodie.properties"
    sql.fails(f"ALTER TABLE {table} RENAME TO {taken}")
    assert f"hoodie.table.name={table}\n" in file.read_text()
    assert sql.rows(table) == []


def test_every_change_of_a_table_waits_for_the_sessions_lock(sql: Sql, tmp_path: Path) -> None:
    table, older = sql.create("mor", "id int, v string", ordering=None), tmp_path / "older"
    sql.run(f"INSERT INTO {table} VALUES (1, 'a')")
    sql.run(f"UPDATE {table} SET v = 'b'")
    frame = sql.spark.createDataFrame([(1, "a")], "id int, v string").write.format("merganser").mode("append")
    frame.options(**{"hoodie.datasource.write.recordkey.field": "id", "hoodie.write.table.version": "8"}).save(
        str(older)
    )
    folder, locks = sql.folder(table), tmp_path / "locks"
    changes = [
        f"INSERT INTO {table} VALUES (2, 'c')",
        f"ALTER TABLE {table} ADD COLUMNS (w int)",
        f"ALTER TABLE {table} SET TBLPROPERTIES ('hoodie.compact.inline' = 'false')",
        f"ALTER TABLE {table} UNSET TBLPROPERTIES ('hoodie.compact.inline')",
        f"ALTER TABLE {table} RENAME TO {sql.name()}",
        f"CALL run_compaction(op => 'schedule', table => '{table}')",
        f"CALL upgrade_table(path => '{older}')",
    ]

    def files() -> dict[str, bytes]:
        return {str(f): f.read_bytes() for root in (folder, older) for f in sorted(root.rglob("*")) if f.is_file()}

    locks.mkdir()
    (locks / "lock").touch()
    described = {
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
        "hoodie.write.lock.filesystem.path": str(locks),
        "hoodie.write.lock.wait_time_ms": "200",
    }
    before = files()
    with sql.settings(described):
        for change in changes:
            assert "LOCK_TIMEOUT" in sql.fails(change), change
        assert files() == before
        (locks / "lock").unlink()
        for change in changes[1:4] + changes[5:]:
            sql.run(change)
        sql.run(changes[4])
