"""Tables whose columns change: by frames that bring more or wider ones, and by ALTER TABLE."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from frames import cases, frame, listing, load, refused, rows_of, save
from option_names import BUCKETS, COW, INDEX, KEY, MOR, ORDERING, PARTITION, TYPE
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from sql_steps import Sql, each_kind

from interop.hudi_engine import HudiEngine
from interop.hudi_session import table_properties
from interop.merganser_engine import MerganserEngine
from merganser import MissingColumns, Table, WriteOptions

pytestmark = pytest.mark.e2e

OPTIONS = {KEY: "id", ORDERING: "ts"}
NULLS = "hoodie.write.set.null.for.missing.columns"
EVOLVES = "spark.merganser.write.schemaEvolution"

OLD = "id int, ts int, n int, f float, s struct<a:int,b:string>, l array<struct<x:int>>, m map<string,int>"
NEW = (
    "id int, ts long, n double, f double, s struct<c:date,a:long,b:string>, l array<struct<y:string,x:long>>,"
    " m map<string,long>, added decimal(10,2)"
)


@pytest.fixture(params=[COW, MOR])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# --- frames


def test_stored_rows_are_read_merged_and_compacted_with_later_columns_and_types(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: kind}
    first = [(i, 10, i, 0.5, (i, "b"), [(i,), None], {"k": i}) for i in (1, 2, 3)]
    save(frame(spark, first, OLD), path, options)
    save(frame(spark, [(3, 11, None, None, None, None, None)], OLD), path, options)
    changes: list[Any] = [
        (1, 11, 1e12, 0.25, (None, 1 << 40, "n"), [("y", 1 << 40)], {"k": 1 << 40}, Decimal("1.25")),
        (2, 9, 0.0, 0.0, None, None, None, Decimal("9.00")),
        (4, 1 << 40, 4.5, 4.5, None, [], {}, None),
    ]
    save(frame(spark, changes, NEW), path, options)
    wanted: list[tuple[Any, ...]] = [
        (1, 11, 1e12, 0.25, (1 << 40, "n", None), [(1 << 40, "y")], {"k": 1 << 40}, Decimal("1.25")),
        (2, 10, 2.0, 0.5, (2, "b", None), [(2, None), None], {"k": 2}, None),
        (3, 11, None, None, None, None, None, None),
        (4, 1 << 40, 4.5, 4.5, None, [], {}, None),
    ]
    for _ in range(2 if kind == MOR else 1):
        read = load(spark, path)
        assert read.schema.simpleString() == (
            "struct<id:int,ts:bigint,n:double,f:double,s:struct<a:bigint,b:string,c:date>,"
            "l:array<struct<x:bigint,y:string>>,m:map<string,bigint>,added:decimal(10,2)>"
        )
        assert rows_of(read) == wanted
        # What is requested of the files is narrower than the columns, and must lose no row for it.
        assert rows_of(read.where("n > 1.5 and n < 1e9").select("id")) == [(2,), (4,)]
        assert rows_of(read.where("added is null").select("id")) == [(2,), (3,), (4,)]
        assert rows_of(read.where("s.a = 2L").select("id")) == [(2,)]
        assert rows_of(read.where("s is not null").select("id", "s.c")) == [(1, None), (2, None)]
        assert rows_of(read.where("id = 2").selectExpr("id", "l.y")) == [(2, [None, None])]
        if kind == MOR:
            Table.load(spark, str(path)).compact()


def test_older_deletes_are_compared_with_rows_of_a_wider_ordering_type(spark: SparkSession, tmp_path: Path) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: MOR}
    columns = "id int, ts {}, v string, _hoodie_is_deleted boolean"
    stored = [(i, 5, "a", False) for i in (1, 2, 3)]
    save(frame(spark, stored, columns.format("int")), path, options)
    save(frame(spark, [(i, 10, None, True) for i in (1, 2, 3)], columns.format("int")), path, options)
    later = [(1, 9, "late", False), (2, 11, "back", False), (3, 1 << 40, "back", False)]
    save(frame(spark, later, columns.format("long")), path, options)
    save(frame(spark, [(3, (1 << 40) - 1, None, True)], columns.format("long")), path, options)
    wanted = [(2, 11, "back", False), (3, 1 << 40, "back", False)]
    assert rows_of(load(spark, path)) == wanted
    Table.load(spark, str(path)).compact()
    assert rows_of(load(spark, path)) == wanted


def test_a_frame_of_narrower_types_is_widened_and_missing_struct_fields_are_null_on_request(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: kind}
    wide = "id long, ts long, v string, d double, s struct<a:long,b:string>"
    save(frame(spark, [(1, 1, "a", 1.5, (1, "b"))], wide), path, options)
    narrow = frame(spark, [(1, 2, 7, 2, (2,))], "id int, ts int, v int, d int, s struct<a:int>")
    refused(lambda: save(narrow, path, options), "COLUMN_MISSING", "'s.b'")
    save(narrow, path, {**options, NULLS: "true"})
    assert rows_of(load(spark, path)) == [(1, 2, "7", 2.0, (2, None))]
    keeps = {**options, "spark.merganser.write.missingColumns": "keep"}
    refused(lambda: save(narrow, path, keeps), "COLUMN_MISSING", "'s.b'", "leave out column 's' and set it to keep")
    save(narrow.drop("s"), path, keeps)
    assert rows_of(load(spark, path)) == [(1, 2, "7", 2.0, (2, None))]


REFUSED = {
    "a new column": ("*, 1 as extra", ["'extra'"]),
    "a wider type": ("id, ts, cast(n as long) as n", ["'n'", "bigint", "int"]),
}


@pytest.mark.parametrize("case", cases(REFUSED))
def test_a_write_with_evolution_disabled_refuses_other_columns(spark: SparkSession, tmp_path: Path, case: str) -> None:
    select, mentions = REFUSED[case]
    rows = frame(spark, [(1, 1, 1)], "id int, ts int, n int")
    save(rows, tmp_path / "t", OPTIONS)
    before = listing(tmp_path / "t")
    other = rows.selectExpr(*select.split(", "))
    refused(lambda: save(other, tmp_path / "t", {**OPTIONS, EVOLVES: "false"}), "SCHEMA_CONFLICT", *mentions)
    assert listing(tmp_path / "t") == before


def test_strings_for_a_number_column_are_refused_unless_the_option_makes_it_a_string(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    save(frame(spark, [("a", 9.5, 1)], "id string, amount double, ts int"), tmp_path / "t", {**OPTIONS, TYPE: kind})
    table = Table.load(spark, str(tmp_path / "t"))
    strings = frame(spark, [("a", "10.5", 2)], "id string, amount string, ts int")
    error = refused(lambda: table.upsert(strings), "COLUMN_WOULD_BECOME_STRING", "'amount'", "double", "string", "Cast")
    assert f"{EVOLVES}=toString" in str(error)
    assert rows_of(table.df()) == [("a", 9.5, 1)]
    cast = strings.selectExpr("id", "cast(amount as double) amount", "ts")
    assert table.upsert(cast).columns_widened == ()
    wider = table.upsert(frame(spark, [("b", 1.0, 1 << 40, 1)], "id string, amount double, ts long, amuont int"))
    assert (wider.columns_added, wider.columns_widened) == (("amuont",), ("ts: int -> bigint",))
    widened = table.upsert(strings, options=WriteOptions(hoodie={EVOLVES: "toString"}))
    assert widened.columns_widened == ("amount: double -> string",)
    assert rows_of(table.df()) == [("a", "10.5", 2, None), ("b", "1.0", 1 << 40, 1)]


# Guarantee (Writes): A job can keep writing without a column that was added later, by path, by name (Spark 4) and by
#   the stars of a `MERGE`; stored values stay. Also:
#   test_a_writer_by_name_may_omit_columns_added_later_but_no_others,
#   test_merge_stars_keep_columns_added_later_that_the_source_lacks
def test_a_writer_by_path_may_omit_columns_added_later(
    spark: SparkSession, sql: Sql, tmp_path: Path, kind: str
) -> None:
    save(frame(spark, [(1, "a", 1)], "id int, v string, ts int"), tmp_path / "t", {**OPTIONS, TYPE: kind})
    table = Table.load(spark, str(tmp_path / "t"))
    table.upsert(frame(spark, [(1, "a", 2, 7)], "id int, v string, ts int, x int"))
    sql.run(f"CREATE TABLE added_{kind} USING merganser LOCATION '{table.path}'")
    sql.run(f"ALTER TABLE added_{kind} ADD COLUMNS (y string)")
    old = "id int, v string, ts int"
    table.upsert(frame(spark, [(1, "b", 3), (2, "new", 1)], old))
    table.insert(frame(spark, [(3, "inserted", 1)], old))
    rows = [(1, "b", 3, 7, None), (2, "new", 1, None, None), (3, "inserted", 1, None, None)]
    assert rows_of(table.df()) == rows
    lacks = frame(spark, [(1, 4)], "id int, ts int")
    refused(lambda: table.upsert(lacks), "COLUMN_MISSING", "'v'")
    rejects = WriteOptions(missing_columns=MissingColumns.REJECT)
    refused(lambda: table.upsert(frame(spark, [(1, "c", 4)], old), options=rejects), "COLUMN_MISSING", "'x'")
    if kind == MOR:
        table.compact()
        assert rows_of(table.df()) == rows
    sql.run(f"DROP TABLE added_{kind}")


@pytest.mark.since("4.0")
@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
@pytest.mark.parametrize("kind", [COW, MOR])
def test_a_writer_by_name_may_omit_columns_added_later_but_no_others(
    spark: SparkSession, sql: Sql, kind: str, index: str
) -> None:
    table = sql.create(kind, "id int, ts int, v string", **{INDEX: index, BUCKETS: "2"})
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a')")
    sql.run(f"ALTER TABLE {table} ADD COLUMNS (x int, y string)")
    sql.run(f"UPDATE {table} SET x = 7, y = 'kept'")
    old = "id int, ts int, v string"
    frame(spark, [(1, 2, "b"), (2, 1, "new")], old).writeTo(table).append()
    rows = [(1, 2, "b", 7, "kept"), (2, 1, "new", None, None)]
    assert sql.rows(table) == rows
    by_name = frame(spark, [("c", 1, 3)], "v string, ID int, ts int").write.mode("append").format("merganser")
    by_name.saveAsTable(table)
    rows[0] = (1, 3, "c", 7, "kept")
    assert sql.rows(table) == rows
    # Null that the frame itself has is a value.
    frame(spark, [(1, 4, "d", None)], f"{old}, x int").writeTo(table).append()
    frame(spark, [(2, 4)], "id int, ts int").selectExpr("*", "'e' AS v", "NULL AS y").writeTo(table).append()
    rows = [(1, 4, "d", None, "kept"), (2, 4, "e", None, None)]
    assert sql.rows(table) == rows
    lacks = frame(spark, [(1, 9)], "id int, ts int")
    before = sql.commits(table)
    refused(lambda: lacks.writeTo(table).append(), "COLUMN_MISSING", "'v'")
    refused(lambda: lacks.writeTo(table).overwrite(F.lit(True)), "COLUMN_MISSING", "'v'")
    refused(lambda: lacks.writeTo(table).overwritePartitions(), "COLUMN_MISSING", "'v'")
    with sql.settings({"spark.merganser.write.missingColumns": "reject"}):
        refused(lambda: frame(spark, [(1, 9, "r")], old).writeTo(table).append(), "COLUMN_MISSING", "'x'")
    assert (sql.rows(table), sql.commits(table)) == (rows, before)
    frame(spark, [(3, 1, "all")], old).writeTo(table).overwrite(F.lit(True))
    assert sql.rows(table) == [(3, 1, "all", None, None)]
    frame(spark, [(4, 1, "partition")], old).writeTo(table).overwritePartitions()
    assert sql.rows(table) == [(4, 1, "partition", None, None)]


def test_the_catalog_shows_columns_that_an_upsert_adds(sql: Sql) -> None:
    table = sql.create("mor", "id int, ts bigint, v varchar(5) COMMENT 'a text'")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a')")
    Table.load(sql.spark, table).upsert(frame(sql.spark, [(2, 1, "b", 7)], "id int, ts long, v string, n int"))
    assert sql.rows(table) == [(1, 1, "a", None), (2, 1, "b", 7)]
    described = [row[:3] for row in sql.run(f"DESCRIBE {table}")[:4]]
    assert described == [
        ("id", "int", None), ("ts", "bigint", None), ("v", "varchar(5)", "a text"), ("n", "int", None),
    ]  # fmt: skip
    sql.run(f"UPDATE {table} SET n = 8 WHERE id = 1")
    assert sql.rows(table, "id, n") == [(1, 8), (2, 7)]


# --- ALTER TABLE


@each_kind
def test_alter_table_changes_columns_in_commits_that_write_no_rows(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, ts bigint, v string, n int NOT NULL, s struct<a:int>")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a', 1, named_struct('a', 1))")
    files = [f for f in listing(sql.folder(table)) if not f.startswith(".hoodie")]
    sql.run(f"ALTER TABLE {table} ADD COLUMNS (x int COMMENT 'an x' AFTER v, s.b string, first_one date FIRST)")
    sql.run(f"ALTER TABLE {table} ALTER COLUMN n TYPE bigint")
    sql.run(f"ALTER TABLE {table} ALTER COLUMN n DROP NOT NULL")
    sql.run(f"ALTER TABLE {table} ALTER COLUMN s.a TYPE double")
    sql.run(f"ALTER TABLE {table} ALTER COLUMN v COMMENT 'a v'")
    sql.run(f"ALTER TABLE {table} ALTER COLUMN n AFTER id")
    assert [f for f in listing(sql.folder(table)) if not f.startswith(".hoodie")] == files
    assert sql.commits(table) == [{"cow": "commit", "mor": "deltacommit"}[kind]] * 7
    assert [row[:3] for row in sql.run(f"DESCRIBE {table}")[:8]] == [
        ("first_one", "date", None), ("id", "int", None), ("n", "bigint", None), ("ts", "bigint", None),
        ("v", "string", "a v"), ("x", "int", "an x"), ("s", "struct<a:double,b:string>", None),
    ]  # fmt: skip
    sql.run(f"MERGE INTO {table} t USING (SELECT 1 id, 7 x) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET x = s.x")
    sql.run(f"INSERT INTO {table} VALUES (date'2024-01-02', 2, null, 5, 'b', null, named_struct('a', 0.5D, 'b', 'c'))")
    rows = [(1, 1, 7, (1.0, None), None), (2, None, None, (0.5, "c"), "2024-01-02")]
    assert sql.rows(table, "id, n, x, s, string(first_one)") == rows
    if kind == "mor":
        sql.run(f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}')")
        assert sql.rows(table, "id, n, x, s, string(first_one)") == rows
    path = sql.folder(table)
    first = min(file.name for file in (path / ".hoodie" / "timeline").glob("*commit")).split("_")[0]
    assert sql.run(f"SELECT n, x, s FROM {table} VERSION AS OF '{first}' WHERE n = 1") == [(1, None, (1.0, None))]
    # A table that is found by its folder alone has the comments too.
    again = sql.name()
    sql.run(f"CREATE TABLE {again} USING merganser LOCATION '{path}'")
    assert ("x", "int", "an x") in [row[:3] for row in sql.run(f"DESCRIBE {again}")]


ALTERATIONS = {
    "RENAME COLUMN v TO w": ["'v'", "'w'", "hoodie.schema.on.read.enable=true", "CREATE TABLE"],
    "DROP COLUMN v": ["'v'", "hoodie.schema.on.read.enable=true", "CREATE TABLE"],
    "ADD COLUMN x int NOT NULL": ["'x'", "NOT NULL"],
    "ALTER COLUMN ts TYPE double": ["'ts'", "double", "ordering"],
    "ALTER COLUMN id TYPE double": ["'id'", "double", "record key"],
    "ADD COLUMN `x-y` int": ["'x-y'"],
    "ADD COLUMN _Hoodie_record_key string": ["'_Hoodie_record_key'", "from the table itself"],
    "ADD COLUMN _hoodie_operation string": ["'_hoodie_operation'", "from the table itself"],
}


@pytest.mark.parametrize("change", ALTERATIONS)
def test_alterations_that_lose_or_change_stored_values_are_refused(sql: Sql, change: str) -> None:
    table = sql.create("cow", "id int, ts bigint, v string")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a')")
    message = sql.fails(f"ALTER TABLE {table} {change}")
    assert [text for text in ALTERATIONS[change] if text not in message] == []
    assert len(sql.commits(table)) == 1
    assert sql.run(f"SELECT * FROM {table}") == [(1, 1, "a")]


SETTING = "hoodie.schema.on.read.enable"
#: Changes of a table whose setting is on, and a part of the error that refuses each.
VERSIONED = {
    "RENAME COLUMN id TO key": ["'id'", "record key", "renamed"],
    "DROP COLUMN p": ["'p'", "partition", "dropped"],
    "DROP COLUMN ts": ["'ts'", "ordering"],
    "DROP COLUMN s.a": ["'s.a'", "one must remain"],
    "RENAME COLUMN v TO `w-x`": ["'w-x'"],
    "RENAME COLUMN m.key TO k": ["key"],
    "ADD COLUMN local timestamp_ntz": ["'local'", f"{SETTING}=false"],
}


def test_with_column_versions_alterations_that_break_the_table_are_refused(sql: Sql) -> None:
    columns = "id int, ts bigint, v string, s struct<a:int>, m map<string,int>, p int"
    table = sql.create("cow", columns, by="p", **{SETTING: "true"})
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a', named_struct('a', 1), map('k', 1), 7)")
    for change, texts in VERSIONED.items():
        message = sql.fails(f"ALTER TABLE {table} {change}")
        assert [text for text in texts if text not in message] == [], change
    assert len(sql.commits(table)) == 1
    sql.run(f"ALTER TABLE {table} DROP COLUMN v")
    assert sql.run(f"SELECT id, s.a, p FROM {table}") == [(1, 1, 7)]


@each_kind
def test_with_column_versions_columns_are_renamed_dropped_retyped_and_added_again(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, ts bigint, v varchar(9) COMMENT 'a v', n int, s struct<a:int,b:string>")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'one', 10, named_struct('a', 1, 'b', 'x')), (2, 1, 'two', 20, null)")
    with sql.settings({SETTING: "true"}):
        sql.run(f"ALTER TABLE {table} RENAME COLUMN v TO w")
        sql.run(f"ALTER TABLE {table} RENAME COLUMN s.a TO c")
        sql.run(f"ALTER TABLE {table} DROP COLUMN s.b")
        sql.run(f"ALTER TABLE {table} DROP COLUMN n")
    # A table with versions keeps them without the setting.
    sql.run(f"ALTER TABLE {table} ADD COLUMNS (n int AFTER id, v string)")
    sql.run(f"ALTER TABLE {table} ALTER COLUMN w FIRST")
    assert [row[:3] for row in sql.run(f"DESCRIBE {table}")[:6]] == [
        ("w", "varchar(9)", "a v"), ("id", "int", None), ("n", "int", None), ("ts", "bigint", None),
        ("s", "struct<c:int>", None), ("v", "string", None),
    ]  # fmt: skip
    assert sql.rows(table) == [("one", 1, None, 1, (1,), None), ("two", 2, None, 1, None, None)]
    sql.run(f"UPDATE {table} SET v = 'new', n = 5, ts = 2 WHERE w = 'two'")
    rows = [("one", 1, None, 1, (1,), None), ("two", 2, 5, 2, None, "new")]
    assert sql.rows(table) == rows
    # Swapped names are not mixed up by filters or statistics.
    sql.run(f"ALTER TABLE {table} RENAME COLUMN w TO x")
    sql.run(f"ALTER TABLE {table} RENAME COLUMN v TO w")
    sql.run(f"ALTER TABLE {table} RENAME COLUMN x TO v")
    assert sql.run(f"SELECT id FROM {table} WHERE v = 'one'") == [(1,)]
    assert sql.run(f"SELECT id FROM {table} WHERE w = 'new' AND n = 5") == [(2,)]
    sql.run(
        f"MERGE INTO {table} t USING (SELECT 'one' v) s ON t.v = s.v WHEN MATCHED THEN UPDATE SET w = 'met', ts = 3"
    )
    assert sql.run(f"SELECT v, w FROM {table} ORDER BY id") == [("one", "met"), ("two", "new")]
    if kind == "mor":
        sql.run(f"CALL run_compaction(op => 'schedule', table => '{table}')")
        sql.run(f"ALTER TABLE {table} RENAME COLUMN w TO z")
        # The compaction was planned before the change, and its files have the columns of then.
        sql.run(f"CALL run_compaction(op => 'run', table => '{table}')")
        assert sql.run(f"SELECT v, z FROM {table} ORDER BY id") == [("one", "met"), ("two", "new")]


def test_a_tables_property_enables_column_versions_in_a_catalog_of_folders(
    spark: SparkSession, sql: Sql, tmp_path: Path
) -> None:
    save(frame(spark, [(1, 10, "a")], "id int, ts int, v string"), tmp_path / "t", OPTIONS)
    table = f"merganser.`{tmp_path}/t`"
    sql.run(f"ALTER TABLE {table} SET TBLPROPERTIES ('{SETTING}' = 'true')")
    sql.run(f"ALTER TABLE {table} RENAME COLUMN v TO w")
    sql.run(f"ALTER TABLE {table} ADD COLUMN v string")
    assert sql.run(f"SELECT id, w, v FROM {table}") == [(1, "a", None)]
    save(frame(spark, [(2, 20, "b", "c")], "id int, ts int, w string, v string"), tmp_path / "t", OPTIONS)
    assert sql.rows(table, "id, w, v") == [(1, "a", None), (2, "b", "c")]


def test_key_and_partition_columns_are_widened_if_their_strings_stay_equal(sql: Sql) -> None:
    table = sql.create("cow", "id int, ts bigint, v string, p int", by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a', 7)")
    sql.run(f"ALTER TABLE {table} ALTER COLUMN id TYPE bigint")
    sql.run(f"ALTER TABLE {table} ALTER COLUMN p TYPE bigint")
    sql.run(
        f"MERGE INTO {table} t USING (SELECT 1L id, 2L ts, 'b' v, 7L p) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    )
    assert sql.run(f"SELECT * FROM {table} WHERE p = 7 AND id = 1L") == [(1, 2, "b", 7)]


# --- with Hudi


ITEM = "id int, name string, ts int, s struct<a:int>, l array<struct<x:int>>"
WIDER = "id int, name string, ts bigint, s struct<a:bigint,b:string>, l array<struct<x:int,y:string>>, n double"


def test_each_engine_reads_and_writes_a_table_whose_schema_the_other_evolved(
    spark: SparkSession, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    ours, table = MerganserEngine(spark), tmp_path / "evolved"
    options = {**OPTIONS, "hoodie.table.name": "evolved", TYPE: kind, PARTITION: ""}

    def all_read(*rows: list[Any]) -> None:
        assert ours.read(table).business == list(rows)
        assert hudi.read(table).business == list(rows)

    first = [[i, "first", 10, {"a": i}, [{"x": i}]] for i in (1, 2, 3)]
    ours.upsert(table, ITEM, first, **options)
    one = [1, "wider", 11, {"a": 1 << 40, "b": "b"}, [{"x": 1, "y": "y"}], 0.5]
    late = [2, "late", 9, None, None, 0.5]
    ours.upsert(table, WIDER, [one, late], **options)
    two, three = ([i, "first", 10, {"a": i, "b": None}, [{"x": i, "y": None}], None] for i in (2, 3))
    all_read(one, two, three)

    spark.sql(f"CREATE TABLE evolved_{kind} USING merganser LOCATION '{table}'")
    spark.sql(f"ALTER TABLE evolved_{kind} ADD COLUMNS (by_sql string COMMENT 'added', s.c int)")
    spark.sql(f"DROP TABLE evolved_{kind}")
    altered = WIDER.replace("b:string>", "b:string,c:int>") + ", by_sql string"
    one, two, three = ([*r[:3], {**r[3], "c": None}, *r[4:], None] for r in (one, two, three))
    all_read(one, two, three)

    two = [2, "by hudi", 12, {"a": 2, "b": "h", "c": 3}, [], 1.5, "x"]
    hudi.upsert(table, altered, [two])
    all_read(one, two, three)
    more = altered + ", of_hudi bigint"
    three = [*three, None]
    one, two = [*one, None], [2, "by hudi again", 13, None, None, None, None, 1 << 40]
    hudi.upsert(table, more, [two])
    all_read(one, two, three)
    four = [4, "ours", 1, None, [], None, None, 4]
    ours.upsert(table, more, [four], **options)
    all_read(one, two, three, four)
    if kind == MOR:
        hudi.compact(table)
        all_read(one, two, three, four)
    assert table_properties(table)["hoodie.table.version"] == "9"


#: Type, wider type, a stored value, a later one, and the stored value as it is read then.
WIDENINGS: list[tuple[str, str, Any, Any, Any]] = [
    ("int", "float", 7, 0.5, 7.0),
    ("int", "decimal(12,2)", 7, "8.50", "7.00"),
    ("int", "string", 7, "x", "7"),
    ("bigint", "double", 7, 0.5, 7.0),
    ("bigint", "decimal(20,0)", 7, "8", "7"),
    ("bigint", "string", 7, "x", "7"),
    ("float", "double", 0.5, 0.25, 0.5),
    ("float", "string", 0.5, "x", "0.5"),
    ("double", "string", 0.5, "x", "0.5"),
    ("date", "string", "2024-01-02", "x", "2024-01-02"),
    ("decimal(8,2)", "decimal(10,3)", "1.25", "2.125", "1.250"),
    ("decimal(8,2)", "string", "1.25", "x", "1.25"),
]


def test_hudi_reads_every_widened_type_from_base_files_and_logs(
    spark: SparkSession, hudi: HudiEngine, tmp_path: Path
) -> None:
    ours, table = MerganserEngine(spark), tmp_path / "widened"
    options = {**OPTIONS, "hoodie.table.name": "widened", TYPE: MOR}
    narrow, wide = (
        "id int, ts int, " + ", ".join(f"c{i} {types[at]}" for i, types in enumerate(WIDENINGS)) for at in (0, 1)
    )
    old, new, read = ([types[at] for types in WIDENINGS] for at in (2, 3, 4))
    ours.upsert(table, narrow, [[1, 1, *old], [2, 1, *old], [3, 1, *old]], **options)
    ours.upsert(table, narrow, [[1, 2, *old], [2, 2, *old]], **options)
    ours.upsert(table, wide, [[1, 1, *new], [2, 3, *new]], **options, **{EVOLVES: "toString"})
    rows = [[1, 2, *read], [2, 3, *new], [3, 1, *read]]
    assert ours.read(table).business == rows
    assert hudi.read(table).business == rows
    hudi.compact(table)
    assert hudi.read(table).business == rows
    assert ours.read(table).business == rows


def test_tuples_match_earlier_columns_after_another_writer_adds_some(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(
        f"CREATE TABLE parted (id STRING, n INT, day STRING) USING merganser PARTITIONED BY (day) "
        f"LOCATION '{tmp_path / 'p'}' TBLPROPERTIES (primaryKey = 'id')"
    )
    table = Table.load(spark, str(tmp_path / "p"))
    table.upsert([("a", 1, "mon")])
    spark.sql("ALTER TABLE parted ADD COLUMNS (channel STRING)")
    assert table.schema.names == ["id", "n", "channel", "day"]
    table.upsert([("b", 2, "web", "mon")])
    spark.sql("ALTER TABLE parted ADD COLUMNS (tip DOUBLE)")
    for rows in ([("a", 3, "mon"), ("c", 4, "tue")], [("d", 5, "pos", "tue")], [("e", 6, "pos", 0.5, "tue")]):
        table.upsert(rows)
    table.merge([("b", 7, "mon")]).when_matched_update({"n": "s.n"}).execute()
    assert sorted(tuple(row) for row in table.df().collect()) == [
        ("a", 3, None, None, "mon"),
        ("b", 7, "web", None, "mon"),
        ("c", 4, None, None, "tue"),
        ("d", 5, "pos", None, "tue"),
        ("e", 6, "pos", 0.5, "tue"),
    ]
    for wrong in ([("a", 3)], [("a", 3, "mon"), ("a", 3, "x", "mon")]):
        with pytest.raises(ValueError, match="a tuple has a value for each of the columns"):
            table.upsert(wrong)
    spark.sql("DROP TABLE parted")
