"""Tables by path, in a catalog of their own, in a Hive metastore, and beside tables of other formats."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import __version__ as pyspark_version
from sql_steps import Sql, each_kind, properties

import merganser
from merganser.session import jar_for

pytestmark = pytest.mark.e2e


# --- by path -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "scheme"), [("cow", ""), ("mor", "file:")])
def test_every_statement_accepts_a_table_by_its_path(sql: Sql, tmp_path: Path, kind: str, scheme: str) -> None:
    place = tmp_path / "by path"
    options = {"hoodie.datasource.write.recordkey.field": "id", "hoodie.datasource.write.partitionpath.field": "p"}
    frame = sql.spark.createDataFrame([(1, 1, "x"), (2, 1, "y")], "id int, ts bigint, p string")
    frame.write.format("merganser").options(**options, **{"hoodie.table.type": kind, "orderingFields": "ts"}).save(
        str(place)
    )
    t = f"merganser.`{scheme}{place}`"
    assert sql.rows(t) == [(1, 1, "x"), (2, 1, "y")]
    sql.run(f"INSERT INTO {t} VALUES (3, 1, 'x')")
    sql.run(f"INSERT INTO {t} (p, id) VALUES ('w', 4)")
    sql.run(f"MERGE INTO {t} t USING (SELECT 1 id, 2L ts, 'x' p) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *")
    sql.run(f"UPDATE {t} SET ts = 5 WHERE id = 2")
    sql.run(f"DELETE FROM {t} WHERE id = 3")
    assert sql.rows(t) == [(1, 2, "x"), (2, 5, "y"), (4, None, "w")]
    assert [r[:2] for r in sql.run(f"DESCRIBE TABLE {t}")[:3]] == [("id", "int"), ("ts", "bigint"), ("p", "string")]
    assert len(sql.run(f"SHOW PARTITIONS {t}")) == 3
    sql.run(f"INSERT OVERWRITE {t} PARTITION (p = 'x') VALUES (9, 9)")
    assert sql.rows(t) == [(2, 5, "y"), (4, None, "w"), (9, 9, "x")]
    frame.writeTo(t).append()
    assert (1, 1, "x") in sql.rows(t)
    sql.run(f"TRUNCATE TABLE {t}")
    assert sql.spark.table(t).count() == 0


def test_a_statement_on_a_path_without_a_table_is_an_error_that_names_the_path(sql: Sql, tmp_path: Path) -> None:
    for statement in ("SELECT * FROM {}", "INSERT INTO {} VALUES (1)", "DELETE FROM {}", "DESCRIBE TABLE {}"):
        message = sql.fails(statement.format(f"merganser.`{tmp_path}/none`"))
        assert "PATH_IS_NO_TABLE" in message
        assert f"{tmp_path}/none" in message
    assert not (tmp_path / "none").exists()


# --- a catalog of their own ----------------------------------------------------------------------------------


@pytest.fixture
def lake(sql: Sql, tmp_path: Path) -> Iterator[str]:
    """A catalog of folders of this test alone."""
    name = "lake_" + sql.name()[2:]
    sql.spark.conf.set(f"spark.sql.catalog.{name}", "io.merganser.spark.MerganserLakeCatalog")
    sql.spark.conf.set(f"spark.sql.catalog.{name}.warehouse", str(tmp_path / "lake"))
    yield name
    sql.run("USE spark_catalog.default")


@each_kind
def test_a_catalog_of_folders_creates_and_lists_namespaces_and_tables(
    sql: Sql, lake: str, tmp_path: Path, kind: str
) -> None:
    sql.run(f"CREATE NAMESPACE {lake}.birds COMMENT 'with wings'")
    sql.run(f"CREATE NAMESPACE {lake}.birds.wild")
    t = f"{lake}.birds.ducks"
    sql.run(
        f"CREATE TABLE {t} (id int COMMENT 'the key', ts bigint, code varchar(3), p string) PARTITIONED BY (p) "
        "COMMENT 'all ducks' "
        f"TBLPROPERTIES (primaryKey = 'id', type = '{kind}', orderingFields = 'ts', team = 'birds')"
    )
    assert (tmp_path / "lake" / "birds" / "ducks" / ".hoodie").is_dir()
    sql.run(f"INSERT INTO {t} VALUES (1, 1, 'a', 'x'), (2, 1, 'b', 'y')")
    sql.run(f"INSERT INTO {t} (id, p) VALUES (3, 'x')")
    sql.run(f"INSERT OVERWRITE {t} PARTITION (p = 'y') VALUES (4, 1, 'd')")
    sql.run(
        f"MERGE INTO {t} t USING (SELECT 1 id, 2L ts, 'new' code, 'x' p) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET *"
    )
    sql.run(f"UPDATE {t} SET code = 'u' WHERE id = 4")
    sql.run(f"DELETE FROM {t} WHERE id = 3")
    assert sql.rows(t) == [(1, 2, "new", "x"), (4, 1, "u", "y")]
    assert "EXCEED_LIMIT_LENGTH" in sql.fails(f"INSERT INTO {t} VALUES (5, 1, 'long', 'x')")
    described = sql.run(f"DESCRIBE TABLE EXTENDED {t}")
    assert described[0] == ("id", "int", "the key")
    assert described[2][1] == "varchar(3)"
    details = {r[0]: r[1] for r in described}
    assert details["Comment"] == "all ducks"
    assert dict(sql.run(f"SHOW TBLPROPERTIES {t}"))["team"] == "birds"
    assert [r[1] for r in sql.run(f"SHOW TABLES IN {lake}.birds")] == ["ducks"]
    assert sql.run(f"SHOW NAMESPACES IN {lake}") == [("birds",)]
    assert sql.run(f"SHOW NAMESPACES IN {lake}.birds") == [("birds.wild",)]
    assert "with wings" in str(sql.run(f"DESCRIBE NAMESPACE {lake}.birds"))
    sql.run(f"ALTER TABLE {t} SET TBLPROPERTIES ('hoodie.spark.sql.insert.into.operation' = 'upsert', 'team' = 'all')")
    sql.run(f"INSERT INTO {t} VALUES (1, 3, 'ups', 'x')")
    assert sql.rows(t) == [(1, 3, "ups", "x"), (4, 1, "u", "y")]
    sql.run(f"ALTER TABLE {t} ADD COLUMNS (note string COMMENT 'free')")
    sql.run(f"UPDATE {t} SET note = 'n' WHERE id = 4")
    assert sql.run(f"DESCRIBE TABLE {t}")[2:5] == [
        ("code", "varchar(3)", None),
        ("note", "string", "free"),
        ("p", "string", None),
    ]
    sql.run(f"ALTER TABLE {t} RENAME TO birds.wild.geese")
    t = f"{lake}.birds.wild.geese"
    sql.run(f"DELETE FROM {t} WHERE id = 1")
    assert sql.rows(t) == [(4, 1, "u", "n", "y")]
    assert dict(sql.run(f"SHOW TBLPROPERTIES {t}"))["team"] == "all"
    assert "SCHEMA_NOT_EMPTY" in sql.fails(f"DROP NAMESPACE {lake}.birds")
    sql.run(f"DROP TABLE {t}")
    sql.run(f"DROP NAMESPACE {lake}.birds CASCADE")
    assert sql.run(f"SHOW NAMESPACES IN {lake}") == []


def test_a_catalog_of_folders_creates_tables_from_queries_and_frames(sql: Sql, lake: str, tmp_path: Path) -> None:
    keyed = "TBLPROPERTIES (primaryKey = 'id')"
    sql.run(f"USE {lake}")
    sql.run(f"CREATE TABLE made {keyed} AS SELECT 1 id, 'a' v")
    sql.run("INSERT INTO made (v, id) VALUES ('b', 2)")
    sql.run(f"CREATE OR REPLACE TABLE made {keyed} AS SELECT id + 1 id, v FROM made")
    sql.run(f"CREATE TABLE {lake}.placed (id int) USING merganser LOCATION '{tmp_path}/elsewhere' {keyed}")
    sql.run("INSERT INTO placed VALUES (7)")
    frame = sql.spark.createDataFrame([(1, "a")], "id int, v string")
    frame.writeTo(f"{lake}.written").using("merganser").tableProperty("primaryKey", "id").create()
    frame.write.mode("append").saveAsTable(f"{lake}.written")
    assert sql.rows("made") == [(2, "a"), (3, "b")]
    assert sql.rows(f"{lake}.placed") == [(7,)]
    assert sql.rows("written") == [(1, "a")]
    assert properties(tmp_path / "elsewhere")["hoodie.table.name"] == "placed"
    assert sorted(r[1] for r in sql.run("SHOW TABLES")) == ["made", "placed", "written"]
    assert merganser.Table.load(sql.spark, "written").record_key == ("id",)
    assert merganser.Table.load(sql.spark, f"{lake}.placed").path.endswith("/elsewhere")
    assert len(sql.run(f"CALL {lake}.system.show_commits(table => '{lake}.placed')")) == 1
    sql.run("DROP TABLE placed")
    assert (tmp_path / "elsewhere" / ".hoodie").is_dir()
    assert "TABLE_OR_VIEW_ALREADY_EXISTS" in sql.fails(f"CREATE TABLE made (id int) {keyed}")
    assert "CATALOG_OF_ONE_FORMAT" in sql.fails("CREATE TABLE other (id int) USING parquet")
    assert "SCHEMA_NOT_FOUND" in sql.fails(f"CREATE TABLE nowhere.t (id int) {keyed}")
    assert "CATALOG_NAME_INVALID" in sql.fails(f"CREATE TABLE `a/b` (id int) {keyed}")
    assert "TABLE_OR_VIEW_NOT_FOUND" in sql.fails("SELECT * FROM placed")


def test_a_replaced_table_in_a_catalog_of_folders_has_its_new_types_and_comment(sql: Sql, lake: str) -> None:
    made = "USING merganser TBLPROPERTIES (primaryKey = 'id')"
    sql.run(f"CREATE NAMESPACE {lake}.ns")
    sql.run(f"CREATE TABLE {lake}.ns.t (id int, c varchar(3), n tinyint) {made}")
    sql.run(f"CREATE OR REPLACE TABLE {lake}.ns.t {made} COMMENT 'new' AS SELECT 1 id, 'longer' c, 300 n")
    sql.run(f"INSERT INTO {lake}.ns.t VALUES (2, 'longest', 3000)")
    assert sql.rows(f"{lake}.ns.t") == [(1, "longer", 300), (2, "longest", 3000)]
    assert ("Comment", "new", "") in sql.run(f"DESCRIBE TABLE EXTENDED {lake}.ns.t")


def test_dropping_a_namespace_with_other_files_is_refused(sql: Sql, lake: str, tmp_path: Path) -> None:
    raw = tmp_path / "lake" / "raw"
    sql.spark.range(1).write.parquet(str(raw))
    assert "SCHEMA_NOT_EMPTY" in sql.fails(f"DROP NAMESPACE {lake}.raw CASCADE")
    assert list(raw.glob("*.parquet"))


def test_a_catalog_without_a_warehouse_is_refused_with_the_missing_setting(sql: Sql) -> None:
    sql.spark.conf.set("spark.sql.catalog.nowhere", "io.merganser.spark.MerganserLakeCatalog")
    message = sql.fails("SHOW TABLES IN nowhere")
    assert "CATALOG_WAREHOUSE_MISSING" in message
    assert "spark.sql.catalog.nowhere.warehouse" in message


# --- beside another format -----------------------------------------------------------------------------------


@each_kind
def test_tables_of_other_formats_are_sources_and_targets_of_merges_and_inserts(sql: Sql, kind: str) -> None:
    ours, theirs = sql.create(kind), sql.name()
    sql.run(f"CREATE TABLE {theirs} (id int, ts bigint, v string) USING parquet")
    sql.run(f"INSERT INTO {theirs} VALUES (1, 5, 'a'), (2, 5, 'b')")
    merge = (
        f"MERGE INTO {ours} t USING {theirs} s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    sql.run(merge)
    sql.run(f"INSERT OVERWRITE {theirs} VALUES (1, 4, 'late'), (3, 1, 'c')")
    sql.run(merge)
    assert sql.rows(ours) == [(1, 5, "a"), (2, 5, "b"), (3, 1, "c")]
    sql.run(f"INSERT OVERWRITE {theirs} SELECT * FROM {ours}")
    sql.run(f"DELETE FROM {ours} WHERE id IN (SELECT id FROM {theirs} WHERE id > 1)")
    assert sql.rows(theirs) == [(1, 5, "a"), (2, 5, "b"), (3, 1, "c")]
    assert sql.rows(ours) == [(1, 5, "a")]
    sql.spark.table(ours).write.format("parquet").mode("overwrite").saveAsTable(theirs)
    assert sql.rows(theirs) == [(1, 5, "a")]


def test_a_table_like_another_one_has_its_columns_and_settings_in_every_catalog(sql: Sql, lake: str) -> None:
    table = sql.create(
        "mor", "id int COMMENT 'the key', ts bigint, n int, p string", by="p", **{"merganser.rule.column.n": "sum"}
    )
    sql.run(f"CREATE NAMESPACE {lake}.birds")
    there = f"{lake}.birds.ducks"
    unnamed = {"hoodie.table.name", "hoodie.database.name", "hoodie.table.checksum", "hoodie.table.create.schema"}
    stored = {k: v for k, v in properties(sql.folder(table)).items() if k not in unnamed}
    for name, like in ((sql.name(), table), (there, table), (f"spark_catalog.default.{sql.name()}", there)):
        sql.run(f"CREATE TABLE {name} LIKE {like}")
        assert stored.items() <= properties(sql.folder(name)).items()
        assert sql.run(f"DESCRIBE TABLE {name}") == sql.run(f"DESCRIBE TABLE {table}")
        assert sql.rows(name) == []
        with sql.settings({"hoodie.spark.sql.insert.into.operation": "upsert"}):
            sql.run(f"INSERT INTO {name} VALUES (1, 1, 2, 'x')")
            sql.run(f"INSERT INTO {name} VALUES (1, 2, 3, 'x')")
        assert sql.rows(name) == [(1, 2, 5, "x")]
        assert "ALREADY_EXISTS" in sql.fails(f"CREATE TABLE {name} LIKE {like}")
        sql.run(f"CREATE TABLE IF NOT EXISTS {name} LIKE {like}")
    assert sql.rows(table) == []
    other = sql.name()
    sql.run(f"CREATE TABLE {other} LIKE {table} TBLPROPERTIES (type = 'cow', 'merganser.rule.default' = 'first')")
    made = properties(sql.folder(other))
    assert made["hoodie.table.type"] == "COPY_ON_WRITE"
    assert "sum" not in made["merganser.rule"]
    none = sql.name()
    assert "UNKNOWN_OPTION" in sql.fails(f"CREATE TABLE {none} LIKE {table} TBLPROPERTIES (primaryKeys = 'n')")
    assert "HUDI_NOT_LOADED" in sql.fails(f"CREATE TABLE {none} LIKE {table} USING hudi")
    assert sql.run(f"SHOW TABLES LIKE '{none}'") == []
    files, view = sql.name(), sql.name()
    sql.run(f"CREATE TABLE {files} LIKE {there} USING parquet")
    assert sql.spark.table(files).columns == sql.spark.table(table).columns
    assert sql.run(f"SHOW PARTITIONS {files}") == []
    sql.run(f"CREATE TEMPORARY VIEW {view} AS SELECT id FROM {table}")
    sql.run(f"CREATE TABLE {none} LIKE {view}")
    assert {r[0]: r[1] for r in sql.run(f"DESCRIBE TABLE EXTENDED {none}")}["Provider"] == "parquet"


# --- Hive's metastore ----------------------------------------------------------------------------------------

HIVE = """
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", {jar!r})
        .config("spark.sql.extensions", "io.merganser.spark.MerganserExtensions")
        .config("spark.sql.catalog.spark_catalog", "io.merganser.spark.MerganserCatalog")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", "-Dderby.system.home={folder}/derby")
        .config("spark.sql.warehouse.dir", "{folder}/tables")
        .config("spark.sql.shuffle.partitions", "1")
        .enableHiveSupport()
        .getOrCreate()
    )
    assert spark.conf.get("spark.sql.catalogImplementation") == "hive"

    def rows(query):
        return sorted(map(tuple, spark.sql(query).collect()))

    spark.sql("CREATE DATABASE birds")
    for kind in ("cow", "mor"):
        t = f"birds.t_{{kind}}"
        spark.sql(
            f"CREATE TABLE {{t}} (id int COMMENT 'the key', ts bigint, code varchar(3), c varchar(2), p string) "
            "USING merganser PARTITIONED BY (p) "
            f"TBLPROPERTIES (primaryKey = 'id', type = '{{kind}}', orderingFields = 'ts')"
        )
        spark.sql(f"INSERT INTO {{t}} VALUES (1, 5, 'abc', 'x', 'a'), (2, 5, 'b', 'y', 'b'), (3, 5, 'c', 'z', 'b')")
        spark.sql(
            f"MERGE INTO {{t}} t USING (SELECT 1 id, 6L ts, 'new' code, 'n' c, 'a' p "
            "UNION ALL SELECT 4, 1L, 'd', 'd', 'c') s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        spark.sql(f"UPDATE {{t}} SET ts = 7 WHERE id = 2")
        spark.sql(f"DELETE FROM {{t}} WHERE id = 3")
        spark.sql(f"INSERT OVERWRITE {{t}} PARTITION (p = 'c') VALUES (5, 1, 'e', 'e')")
        expected = [(1, 6, "new", "n", "a"), (2, 7, "b", "y", "b"), (5, 1, "e", "e", "c")]
        assert rows(f"SELECT * FROM {{t}}") == expected, rows(f"SELECT * FROM {{t}}")
        columns = [tuple(r)[:2] for r in spark.sql(f"DESCRIBE TABLE {{t}}").collect()][:5]
        types = " ".join(t for _, t in columns)
        assert types == "int bigint varchar(3) varchar(2) string", columns
        assert len(rows(f"SHOW PARTITIONS {{t}}")) == 3
        try:
            spark.sql(f"INSERT INTO {{t}} VALUES (9, 1, 'long', 'x', 'a')")
            raise SystemExit("too long a text was taken")
        except Exception as error:
            assert "EXCEED_LIMIT_LENGTH" in str(error), error
        spark.sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('team' = 'birds')")
        spark.sql(f"ALTER TABLE {{t}} RENAME TO birds.u_{{kind}}")
        t = f"birds.u_{{kind}}"
        assert ("team", "birds") in rows(f"SHOW TBLPROPERTIES {{t}}")
        assert rows(f"SELECT * FROM {{t}}") == expected
        keyed = f"TBLPROPERTIES (primaryKey = 'id', type = '{{kind}}')"
        spark.sql(f"CREATE TABLE birds.c_{{kind}} USING merganser {{keyed}} AS SELECT * FROM {{t}}")
        frame = spark.table(t).write.format("merganser").option("hoodie.datasource.write.recordkey.field", "id")
        frame.saveAsTable(f"birds.s_{{kind}}")
        for made in (f"birds.c_{{kind}}", f"birds.s_{{kind}}"):
            assert rows(f"SELECT id FROM {{made}}") == [(1,), (2,), (5,)]
        spark.sql(f"DROP TABLE {{t}}")
        assert [r[1] for r in rows(f"SHOW TABLES IN birds LIKE '*_{{kind}}'")] == [f"c_{{kind}}", f"s_{{kind}}"]
    spark.sql("CREATE TABLE padded (id int, c char(2)) USING merganser TBLPROPERTIES (primaryKey = 'id')")
    spark.sql("INSERT INTO padded VALUES (1, 'x')")
    assert rows("SELECT * FROM padded WHERE c = 'x'") == [(1, "x ")]
    assert tuple(spark.sql("DESCRIBE TABLE padded").collect()[1])[:2] == ("c", "char(2)")
    spark.sql("CREATE TABLE liked LIKE padded")
    spark.sql("INSERT INTO liked VALUES (2, 'y')")
    assert rows("SELECT * FROM liked") == [(2, "y ")] and rows("SELECT * FROM padded") == [(1, "x ")]
    made = "USING merganser TBLPROPERTIES (primaryKey = 'id')"
    spark.sql(f"CREATE OR REPLACE TABLE padded {{made}} COMMENT 'new' AS SELECT 1 id, 'longer' d")
    spark.sql("INSERT INTO padded VALUES (2, 'longest')")
    assert rows("SELECT * FROM padded") == [(1, "longer"), (2, "longest")]
    assert ("Comment", "new") in [r[:2] for r in rows("DESCRIBE TABLE EXTENDED padded")]
    print("HIVE DONE")
    spark.stop()
"""


@pytest.mark.extensive
def test_a_hive_metastore_stores_tables(tmp_path: Path) -> None:
    program = tmp_path / "hive.py"
    program.write_text(textwrap.dedent(HIVE.format(jar=str(jar_for(pyspark_version)), folder=tmp_path)))
    environment = {**os.environ, "PYTHONPATH": "", "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr[-6000:]
    assert "HIVE DONE" in done.stdout
