"""Tables made and written by data frames: save modes, settings, partitions, keys and column types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from frames import cases, frame, listing, load, properties, refused, rows_of, save
from option_names import BUCKETS, COW, INDEX, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

import merganser

pytestmark = pytest.mark.e2e

TRIPS = "id int, ts long, v string, city string"
OPTIONS = {KEY: "id", ORDERING: "ts"}


def trips(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    return frame(spark, rows, TRIPS)


# --- save modes


@pytest.mark.parametrize("mode", [None, "error", "ignore", "append", "overwrite"])
def test_every_save_mode_creates_a_missing_table(spark: SparkSession, tmp_path: Path, mode: str | None) -> None:
    save(trips(spark, (1, 1, "a", "x")), tmp_path / "t", OPTIONS, mode=mode)
    assert rows_of(load(spark, tmp_path / "t")) == [(1, 1, "a", "x")]
    assert properties(tmp_path / "t")["hoodie.table.name"] == "t"


def test_save_modes_other_than_append_and_overwrite_leave_an_existing_table_unchanged(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    save(trips(spark, (1, 1, "a", "x"), (2, 1, "b", "x")), path, OPTIONS)
    before, more = listing(path), trips(spark, (2, 2, "c", "x"), (3, 1, "d", "x"))
    for mode in (None, "error", "errorifexists"):
        refused(lambda mode=mode: save(more, path, OPTIONS, mode=mode), "TABLE_EXISTS", str(path))
    save(more, path, OPTIONS, mode="ignore")
    assert listing(path) == before
    save(more, path, OPTIONS)
    assert rows_of(load(spark, path)) == [(1, 1, "a", "x"), (2, 2, "c", "x"), (3, 1, "d", "x")]


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_an_overwrite_with_the_same_settings_is_one_replacecommit(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: table_type}
    save(trips(spark, (1, 5, "a", "x"), (2, 5, "b", "x")), path, options)
    save(trips(spark, (1, 6, "a2", "x")), path, options)
    table = merganser.Table.load(spark, str(path))
    earlier = [entry.instant for entry in table.history()]
    save(trips(spark, (2, 1, "new", "x"), (3, 1, "c", "x")), path, options, mode="overwrite")
    history = table.history()
    assert [entry.instant for entry in history[1:]] == earlier
    assert (history[0].action, history[0].state) == ("replacecommit", "COMPLETED")
    assert rows_of(load(spark, path)) == [(2, 1, "new", "x"), (3, 1, "c", "x")]
    save(trips(spark, (2, 0, "late", "x"), (3, 2, "c2", "x")), path, options)
    assert rows_of(load(spark, path)) == [(2, 1, "new", "x"), (3, 2, "c2", "x")]


@pytest.mark.parametrize(
    ("other", "value"),
    [
        (KEY, "v"),
        (ORDERING, "v"),
        (TYPE, MOR),
        (PARTITION, "city"),
        ("hoodie.write.record.merge.mode", "COMMIT_TIME_ORDERING"),
    ],
)
def test_an_overwrite_with_other_settings_is_refused_and_names_drop_table(
    spark: SparkSession, tmp_path: Path, other: str, value: str
) -> None:
    path = tmp_path / "t"
    save(trips(spark, (1, 1, "a", "x")), path, OPTIONS)
    before = listing(path)
    refused(
        lambda: save(trips(spark, (2, 1, "b", "x")), path, {**OPTIONS, other: value}, mode="overwrite"),
        "OVERWRITE_WITH_OTHER_SETTINGS",
        "DROP TABLE",
        other,
        value,
    )
    assert listing(path) == before


# --- table types, indexes, partitions


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_both_table_types_apply_changes_under_both_indexes(
    spark: SparkSession, tmp_path: Path, table_type: str, index: str
) -> None:
    path = tmp_path / "t"
    options = {**OPTIONS, TYPE: table_type, INDEX: index, BUCKETS: "3", PARTITION: "city"}
    save(trips(spark, *((i, 1, f"v{i}", "xy"[i % 2]) for i in range(10))), path, options)
    save(
        trips(spark, (1, 2, "new", "y"), (2, 0, "late", "x"), (3, 1, "tie", "y"), (77, 1, "other", "z")), path, options
    )
    save(trips(spark, (4, 0, None, "x"), (88, 0, None, "x")), path, {**options, OPERATION: "delete"})
    expected = {i: (i, 1, f"v{i}", "xy"[i % 2]) for i in range(10) if i != 4}
    expected |= {1: (1, 2, "new", "y"), 3: (3, 1, "tie", "y"), 77: (77, 1, "other", "z")}
    assert rows_of(load(spark, path)) == sorted(expected.values(), key=repr)
    table = merganser.Table.load(spark, str(path))
    assert (table.table_type.value, table.index) == (table_type, index)
    groups = [(s.partition_path, s.file_id) for s in table.inspect.file_slices()]
    assert {p for p, _ in groups} == {"x", "y", "z"}
    assert len(groups) == len(set(groups))
    if index == "BUCKET":
        assert {int(file_id[:8]) for _, file_id in groups} <= {0, 1, 2}
    assert any(s.log_files for s in table.inspect.file_slices()) == (table_type == MOR)


@pytest.mark.parametrize(
    ("partitions", "more", "folders"),
    [
        ([], {}, {""}),
        (["city"], {}, {"x:y", "__HIVE_DEFAULT_PARTITION__"}),
        (
            ["city"],
            {"hoodie.datasource.write.hive_style_partitioning": "true"},
            {"city=x:y", "city=__HIVE_DEFAULT_PARTITION__"},
        ),
        (
            ["city"],
            {"hoodie.datasource.write.partitionpath.urlencode": "true"},
            {"x%3Ay", "__HIVE_DEFAULT_PARTITION__"},
        ),
        (
            ["city", "id"],
            {
                "hoodie.datasource.write.hive_style_partitioning": "true",
                "hoodie.datasource.write.partitionpath.urlencode": "true",
            },
            {"city=x%3Ay/id=1", "city=__HIVE_DEFAULT_PARTITION__/id=2"},
        ),
    ],
    ids=["none", "one", "hive", "encoded", "two-hive-encoded"],
)
def test_partitions_are_stored_in_the_configured_folders(
    spark: SparkSession, tmp_path: Path, partitions: list[str], more: dict[str, str], folders: set[str]
) -> None:
    path = tmp_path / "t"
    rows = trips(spark, (1, 1, "a", "x:y"), (2, 1, "b", None))
    writer = rows.write.format("merganser").options(**OPTIONS, **more)
    (writer.partitionBy(*partitions) if partitions else writer).save(str(path))
    save(
        trips(spark, (1, 2, "a2", "x:y"), (2, 2, "b2", None)),
        path,
        {**OPTIONS, **more, PARTITION: ",".join(partitions)},
    )
    expected = [(1, 2, "a2", "x:y"), (2, 2, "b2", None)]
    assert rows_of(load(spark, path)) == expected
    assert rows_of(load(spark, path).filter("city = 'x:y'")) == expected[:1]
    assert rows_of(load(spark, path).filter("city is null")) == expected[1:]
    base_files = [Path(f) for f in listing(path) if f.endswith(".parquet")]
    assert {str(f.parent).replace(".", "", 1) if str(f.parent) == "." else str(f.parent) for f in base_files} == folders
    assert all((path / folder / ".hoodie_partition_metadata").exists() for folder in folders)


GENERATORS: dict[str, tuple[dict[str, str], str, list[tuple[str, str]]]] = {
    "SIMPLE": ({KEY: "id", PARTITION: "city"}, "Simple", [("1", "x"), ("2", "y")]),
    "COMPLEX": (
        {KEY: "id,v", PARTITION: "city,ts"},
        "Complex",
        [("id:1,v:a", "x/86400"), ("id:2,v:__null__", "y/172800")],
    ),
    "NON_PARTITION": ({KEY: "id"}, "Nonpartitioned", [("1", ""), ("2", "")]),
    "TIMESTAMP": (
        {
            KEY: "id",
            PARTITION: "ts",
            "hoodie.keygen.timebased.timestamp.type": "UNIX_TIMESTAMP",
            "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
        },
        "TimestampBased",
        [("1", "1970/01/02"), ("2", "1970/01/03")],
    ),
    "CUSTOM": (
        {
            KEY: "id",
            PARTITION: "city:SIMPLE,ts:TIMESTAMP",
            "hoodie.keygen.timebased.timestamp.type": "UNIX_TIMESTAMP",
            "hoodie.keygen.timebased.output.dateformat": "yyyyMMdd",
        },
        "Custom",
        [("1", "x/19700102"), ("2", "y/19700103")],
    ),
}


@pytest.mark.parametrize("generator", cases(GENERATORS))
def test_a_key_generator_named_by_type_or_class_makes_the_same_keys(
    spark: SparkSession, tmp_path: Path, generator: str
) -> None:
    options, class_name, expected = GENERATORS[generator]
    by_type = {**options, ORDERING: "ts", "hoodie.datasource.write.keygenerator.type": generator}
    by_class = {
        **options,
        ORDERING: "ts",
        "hoodie.datasource.write.keygenerator.class": f"org.apache.hudi.keygen.{class_name}KeyGenerator",
    }
    save(trips(spark, (1, 86400, "a", "x")), tmp_path / "t", by_type)
    save(trips(spark, (2, 172800, None, "y")), tmp_path / "t", by_class)
    assert properties(tmp_path / "t")["hoodie.table.keygenerator.type"] == generator
    keys = load(spark, tmp_path / "t").select("_hoodie_record_key", "_hoodie_partition_path")
    assert rows_of(keys) == expected
    save(trips(spark, (2, 172800, None, "y")), tmp_path / "u", by_class)
    assert properties(tmp_path / "u")["hoodie.table.keygenerator.type"] == generator


def test_a_new_table_stores_its_settings_in_hoodie_properties(spark: SparkSession, tmp_path: Path) -> None:
    options = {
        KEY: "id,v",
        ORDERING: "ts",
        PARTITION: "city",
        TYPE: MOR,
        INDEX: "BUCKET",
        BUCKETS: "2",
        "hoodie.table.name": "rides",
        "hoodie.database.name": "city_db",
    }
    save(trips(spark, (1, 1, "a", "x")), tmp_path / "t", options)
    stored = properties(tmp_path / "t")
    expected = {
        "hoodie.table.name": "rides",
        "hoodie.database.name": "city_db",
        "hoodie.table.type": MOR,
        "hoodie.table.version": "9",
        "hoodie.table.initial.version": "9",
        "hoodie.timeline.layout.version": "2",
        "hoodie.timeline.path": "timeline",
        "hoodie.timeline.history.path": "history",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.populate.meta.fields": "true",
        "hoodie.table.recordkey.fields": "id,v",
        "hoodie.table.partition.fields": "city",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.table.keygenerator.type": "COMPLEX",
        "hoodie.datasource.write.hive_style_partitioning": "false",
        "hoodie.datasource.write.partitionpath.urlencode": "false",
        "hoodie.datasource.write.drop.partition.columns": "false",
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": "2",
        "hoodie.bucket.index.hash.field": "id,v",
    }
    assert {key: stored.get(key) for key in expected} == expected
    assert "hoodie.table.checksum" in stored


# --- meta columns


def test_meta_columns_are_hidden_and_selectable_by_name(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(trips(spark, (1, 1, "a", "x"), (2, 1, "b", "x")), path, {**OPTIONS, PARTITION: "city"})
    save(trips(spark, (2, 2, "b2", "x")), path, {**OPTIONS, PARTITION: "city"})
    table = load(spark, path)
    assert table.columns == ["id", "ts", "v", "city"]
    assert len(table.select("*").first()) == 4
    second, first = (entry.instant for entry in merganser.Table.load(spark, str(path)).history())
    meta = table.select("_hoodie_commit_time", "_hoodie_record_key", "_hoodie_partition_path", "id")
    assert rows_of(meta) == [(first, "1", "x", 1), (second, "2", "x", 2)]
    names = {row[0] for row in table.select("_hoodie_file_name").collect()}
    assert {f"x/{name}" for name in names} <= set(listing(path))
    numbers = [row[0] for row in table.select("_hoodie_commit_seqno").collect()]
    assert len(set(numbers)) == 2
    assert {n.split("_")[0] for n in numbers} == {first, second}


def test_meta_columns_of_incoming_rows_are_ignored(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(trips(spark, (1, 1, "a", "x")), path, OPTIONS)
    meta = [
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
    ]
    with_meta = load(spark, path).select(*meta, "*")
    changed = with_meta.withColumn("_hoodie_record_key", F.lit("stray")).withColumn("ts", F.lit(2).cast("long"))
    save(changed, path, OPTIONS)
    save(changed, tmp_path / "new", OPTIONS)
    for folder in (path, tmp_path / "new"):
        assert rows_of(load(spark, folder).select("_hoodie_record_key", "*")) == [("1", 1, 2, "a", "x")]
        assert load(spark, folder).columns == ["id", "ts", "v", "city"]


# --- types

EVERY_TYPE = T.StructType(
    [
        T.StructField("id", T.IntegerType()),
        T.StructField("ts", T.LongType()),
        T.StructField("flag", T.BooleanType()),
        T.StructField("tiny", T.ByteType()),
        T.StructField("small", T.ShortType()),
        T.StructField("whole", T.IntegerType()),
        T.StructField("big", T.LongType()),
        T.StructField("single", T.FloatType()),
        T.StructField("double", T.DoubleType()),
        T.StructField("money", T.DecimalType(9, 2)),
        T.StructField("wide_money", T.DecimalType(38, 10)),
        T.StructField("text", T.StringType()),
        T.StructField("bytes", T.BinaryType()),
        T.StructField("day", T.DateType()),
        T.StructField("at", T.TimestampType()),
        T.StructField("local_at", T.TimestampNTZType()),
        T.StructField(
            "inner",
            T.StructType(
                [
                    T.StructField("a", T.IntegerType()),
                    T.StructField(
                        "deep",
                        T.StructType(
                            [T.StructField("at", T.TimestampType()), T.StructField("d", T.DecimalType(20, 3))]
                        ),
                    ),
                ]
            ),
        ),
        T.StructField("list", T.ArrayType(T.StringType())),
        T.StructField(
            "list_of_structs",
            T.ArrayType(T.StructType([T.StructField("x", T.LongType()), T.StructField("y", T.DateType())])),
        ),
        T.StructField("lists", T.ArrayType(T.ArrayType(T.IntegerType()))),
        T.StructField("map", T.MapType(T.StringType(), T.DoubleType())),
        T.StructField("map_of_lists", T.MapType(T.StringType(), T.ArrayType(T.TimestampNTZType()))),
    ]
)


def full_row(key: int, ts: int) -> tuple[Any, ...]:
    return (
        key, ts, ts % 2 == 0, -128, 32767, -(2**31), 2**63 - ts, float("inf"), 1e-300 * ts, Decimal("-1234567.89"),
        Decimal("9999999999999999999999999999.0123456789"), f"ä€𝄞\u0000{ts}", bytes([0, 255, ts % 256]),
        dt.date(1, 1, 1),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 2, 29, 12, 0, 0, ts % 1000),
        (ts, (dt.datetime(2001, 1, 1), Decimal("0.001"))),
        ["a", None, ""], [(1, dt.date(9999, 12, 31)), None, (None, None)], [[1, None], None, []], {"k": 1.5, "": None},
        {"a": [dt.datetime(1960, 1, 1, 0, 0, 0, 1), None], "b": None, "c": []},
    )  # fmt: skip


def sparse_row(key: int, ts: int) -> tuple[Any, ...]:
    return (key, ts, *[None] * (len(EVERY_TYPE) - 2))


def test_base_files_return_values_of_every_type(spark: SparkSession, tmp_path: Path) -> None:
    written = frame(spark, [full_row(1, 1), sparse_row(2, 1), full_row(3, 1)], EVERY_TYPE)
    save(written, tmp_path / "t", OPTIONS)
    assert rows_of(load(spark, tmp_path / "t")) == rows_of(written)
    changed = frame(spark, [sparse_row(1, 2), full_row(2, 2)], EVERY_TYPE)
    save(changed, tmp_path / "t", OPTIONS)
    assert rows_of(load(spark, tmp_path / "t")) == rows_of(changed.union(written.filter("id = 3")))
    stored = {f.name: f.dataType.simpleString() for f in load(spark, tmp_path / "t").schema}
    declared = {f.name: f.dataType.simpleString() for f in EVERY_TYPE}
    assert stored == {**declared, "tiny": "int", "small": "int"}


@pytest.mark.parametrize("block", ["avro", "parquet"])
def test_log_blocks_and_their_compaction_return_values_of_every_type(
    spark: SparkSession, tmp_path: Path, block: str
) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: MOR, "hoodie.logfile.data.block.format": block}
    first = frame(spark, [full_row(1, 1), sparse_row(2, 1), full_row(3, 1)], EVERY_TYPE)
    save(first, path, options)
    changed = frame(spark, [sparse_row(1, 2), full_row(2, 2)], EVERY_TYPE)
    save(changed, path, options)
    table = merganser.Table.load(spark, str(path))
    (file_slice,) = table.inspect.file_slices()
    (log,) = file_slice.log_files
    assert (b"PAR1" in (path / log.name).read_bytes()) == (block == "parquet")
    expected = rows_of(changed.union(first.filter("id = 3")))
    assert rows_of(table.df()) == expected
    assert table.compact() is not None
    assert not table.inspect.file_slices()[0].log_files
    assert rows_of(table.df()) == expected


def test_char_and_varchar_are_stored_as_strings(spark: SparkSession, tmp_path: Path) -> None:
    columns = T.StructType(
        [T.StructField("id", T.CharType(3)), T.StructField("ts", T.LongType()), T.StructField("v", T.VarcharType(5))]
    )
    table = merganser.Table.create(
        spark,
        str(tmp_path / "t"),
        columns,
        record_key="id",
        ordering_by="ts",
        table_type=merganser.TableType.MERGE_ON_READ,
    )
    text = "id string, ts long, v string"
    table.upsert(frame(spark, [("a  ", 1, "x"), ("b  ", 1, None)], text))
    table.upsert(frame(spark, [("a  ", 2, "xyz")], text))
    assert rows_of(table.df()) == [("a  ", 2, "xyz"), ("b  ", 1, None)]
    assert table.df().schema.simpleString() == "struct<id:string,ts:bigint,v:string>"


REFUSED_TYPES = {
    "map with int keys": ("map(1, 'a') as odd", "UNSUPPORTED_TYPE", "odd"),
    "nested map with date keys": (
        "struct(array(map(date'2024-01-01', 1)) as m) as s",
        "UNSUPPORTED_TYPE",
        "s.m.element",
    ),
    "day-time interval": ("interval '1' day as odd", "UNSUPPORTED_TYPE", "odd"),
    "year-month interval": ("interval '1' month as odd", "UNSUPPORTED_TYPE", "odd"),
    "void": ("null as odd", "UNSUPPORTED_TYPE", "odd"),
    "a name with a space": ("1 as `a b`", "UNSUPPORTED_COLUMN_NAME", "a b"),
    "a nested name with a dash": ("struct(1 as `a-b`) as s", "UNSUPPORTED_COLUMN_NAME", "s.a-b"),
    "a name that begins with a digit": ("1 as `1st`", "UNSUPPORTED_COLUMN_NAME", "1st"),
}


@pytest.mark.parametrize("column", cases(REFUSED_TYPES))
def test_a_column_of_an_unsupported_type_is_refused_at_creation(
    spark: SparkSession, tmp_path: Path, column: str
) -> None:
    select, condition, name = REFUSED_TYPES[column]
    rows = spark.sql(f"select 1 as id, 1L as ts, {select}")
    path = tmp_path / "t"
    refused(
        lambda: merganser.Table.create(spark, str(path), rows.schema, record_key="id", ordering_by="ts"),
        condition,
        name,
    )
    if "interval" not in column:  # Spark itself refuses to write intervals
        refused(lambda: save(rows, path, OPTIONS), condition, name)
    assert not path.exists() or listing(path) == []


def test_variant_is_refused_at_creation_where_spark_has_it(spark: SparkSession, tmp_path: Path) -> None:
    if int(spark.version.split(".")[0]) >= 4:
        rows = spark.sql("select 1 as id, 1L as ts, parse_json('1') as odd")
        refused(lambda: save(rows, tmp_path / "t", OPTIONS), "UNSUPPORTED_TYPE", "odd", "variant")


@pytest.mark.parametrize("type_name", ["array<int>", "struct<a:int>", "map<string,int>"])
def test_an_ordering_field_without_an_order_is_refused_at_creation(
    spark: SparkSession, tmp_path: Path, type_name: str
) -> None:
    rows = spark.sql(f"select 1 as id, cast(null as {type_name}) as seen")
    refused(
        lambda: save(rows, tmp_path / "t", {KEY: "id", ORDERING: "seen"}), "ORDERING_TYPE_UNORDERED", "seen", type_name
    )
    assert listing(tmp_path / "t") == []


def test_columns_are_matched_by_name_and_widened_without_loss(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    stored = (
        "id int, ts long, d double, m decimal(10,2), s struct<a:string,n:long>, l array<long>, q map<string,double>"
    )
    save(frame(spark, [(1, 1, 1.5, Decimal("1.25"), ("x", 5), [1], {"k": 1.0})], stored), path, OPTIONS)
    narrow = (
        "S struct<N:int,A:string>, q map<string,float>, l array<int>, m decimal(5,1), d float, TS short, ID tinyint"
    )
    save(frame(spark, [((7, "y"), {"k": 0.5}, [2, None], Decimal("3.5"), 2.5, 300, 1)], narrow), path, OPTIONS)
    expected = [(1, 300, 2.5, Decimal("3.50"), ("y", 7), [2, None], {"k": 0.5})]
    assert [tuple(row) for row in load(spark, path).collect()] == expected
    assert load(spark, path).schema.simpleString().startswith("struct<id:int,ts:bigint,d:double,m:decimal(10,2)")


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_column_declared_without_nulls_accepts_null_later(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: table_type}
    strict = T.StructType([T.StructField("id", T.IntegerType(), False), T.StructField("ts", T.LongType(), False),
                           T.StructField("v", T.ArrayType(T.StringType(), False), False)])  # fmt: skip
    save(frame(spark, [(1, 1, ["a"]), (2, 1, ["b"])], strict), path, options)
    save(frame(spark, [(1, 2, None), (2, 2, ["c", None])], "id int, ts long, v array<string>"), path, options)
    assert rows_of(load(spark, path)) == [(1, 2, None), (2, 2, ["c", None])]
