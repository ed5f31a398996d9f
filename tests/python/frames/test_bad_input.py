"""Bad input is refused before anything is written, by an error that names the thing, the value and the remedy."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from frames import cases, frame, listing, load, refused, rows_of, save
from option_names import COW, INDEX, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from places import TESTS
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from merganser import Table
from merganser.errors import OrderingFieldMissingError

pytestmark = pytest.mark.e2e

COLUMNS = "id int, ts long, v string, city string"
OPTIONS = {KEY: "id", ORDERING: "ts", PARTITION: "city", "hoodie.table.name": "trips"}
ROWS = [(1, 1, "a", "x"), (2, 1, "b", "y")]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return frame(spark, ROWS, COLUMNS)


@pytest.fixture(scope="module")
def stored(spark: SparkSession, rows: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that every refused write leaves as it is."""
    path = tmp_path_factory.mktemp("bad") / "trips"
    save(rows, path, OPTIONS)
    return path


@pytest.fixture
def intact(stored: Path) -> Any:
    before = listing(stored)
    yield stored
    assert listing(stored) == before


def never(path: Path) -> None:
    """Nothing of a refused creation is left."""
    assert not path.exists() or listing(path) == []


# --- columns

MISSING: dict[str, tuple[list[str], str, list[str]]] = {
    "record key": (["ts", "v", "city"], "RECORD_KEY_COLUMN_MISSING", ["id", "ts, v, city"]),
    "ordering": (["id", "v", "city"], "ORDERING_FIELD_MISSING", ["ts", "id, v, city", "COMMIT_TIME_ORDERING"]),
    "partition": (["id", "ts", "v"], "PARTITION_COLUMN_MISSING", ["city", "id, ts, v"]),
}


@pytest.mark.parametrize("column", cases(MISSING))
def test_a_frame_without_a_key_ordering_or_partition_column_is_refused(
    rows: DataFrame, intact: Path, tmp_path: Path, column: str
) -> None:
    columns, condition, mentions = MISSING[column]
    refused(lambda: save(rows.select(*columns), intact, OPTIONS), condition, "trips", "Add the column", *mentions)
    refused(lambda: save(rows.select(*columns), tmp_path / "new", OPTIONS), condition, "trips", *mentions)
    never(tmp_path / "new")


def test_several_columns_of_one_name_are_refused_also_inside_structs(
    spark: SparkSession, rows: DataFrame, intact: Path, tmp_path: Path
) -> None:
    twice = rows.select("*", F.lit("other").alias("v"))
    refused(lambda: save(twice, intact, OPTIONS), "COLUMN_NAME_REPEATED", "'v'", "drop all but one")
    refused(lambda: save(twice, tmp_path / "new", OPTIONS), "COLUMN_NAME_REPEATED", "'v'")
    nested = rows.withColumn("s", F.expr("struct(1 AS a, 2 AS a)"))
    refused(lambda: Table.load(spark, intact).upsert(nested), "COLUMN_NAME_REPEATED", "'s.a'")
    never(tmp_path / "new")


def test_the_python_api_raises_the_class_of_the_condition(spark: SparkSession, rows: DataFrame, intact: Path) -> None:
    with pytest.raises(OrderingFieldMissingError) as raised:
        Table.load(spark, str(intact)).upsert(rows.drop("ts"))
    assert raised.value.parameters["field"] == "ts"
    assert raised.value.sql_state == "42703"


def test_a_frame_without_another_column_is_refused_unless_null_is_requested_for_it(
    spark: SparkSession, rows: DataFrame, intact: Path, tmp_path: Path
) -> None:
    remedy = "hoodie.write.set.null.for.missing.columns"
    refused(lambda: save(rows.drop("v"), intact, OPTIONS), "COLUMN_MISSING", "'v'", "string", remedy)
    save(rows, tmp_path / "t", OPTIONS)
    save(rows.drop("v").filter("id = 1"), tmp_path / "t", {**OPTIONS, remedy: "true"})
    assert rows_of(load(spark, tmp_path / "t")) == [(1, 1, None, "x"), (2, 1, "b", "y")]


CONTRADICTIONS = {
    "a date for a number": ("id, current_date() as ts, v, city", ["'ts'", "date", "bigint"]),
    "a text for the order": ("id, cast(ts as string) as ts, v, city", ["'ts'", "string", "bigint"]),
    "a fraction for the key": ("cast(id as double) as id, ts, v, city", ["'id'", "double", "int"]),
    "a struct for a text": ("id, ts, struct(v) as v, city", ["'v'", "struct<v:string>"]),
    "bytes for a text": ("id, ts, cast(v as binary) as v, city", ["'v'", "binary", "string"]),
}


@pytest.mark.parametrize("case", cases(CONTRADICTIONS))
def test_a_schema_that_contradicts_the_table_is_refused(rows: DataFrame, intact: Path, case: str) -> None:
    select, mentions = CONTRADICTIONS[case]
    bad = rows.selectExpr(*select.split(", "))
    refused(lambda: save(bad, intact, OPTIONS), "SCHEMA_CONFLICT", "trips", "Cast or drop the column", *mentions)


# --- rows


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_the_error_for_rows_without_a_key_shows_at_most_ten_of_them(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path, options = tmp_path / "t", {KEY: "id", ORDERING: "ts", TYPE: table_type}
    columns = "id string, ts long, v string"
    bad = frame(
        spark,
        [("k", 1, "fine"), *((None, 1, f"null{i}") for i in range(9)), *(("", 1, f"empty{i}") for i in range(9))],
        columns,
        3,
    )
    refused(lambda: save(bad, path, options), "NULL_RECORD_KEY", "(id)", "null0", "Give every row a key")
    never(path)
    save(frame(spark, [("k", 1, "fine")], columns), path, options)
    before = listing(path)
    error = refused(lambda: save(bad, path, options), "NULL_RECORD_KEY", "(id)")
    assert error.parameters["rows"].count('"v"') == 10
    assert listing(path) == before


def test_a_composite_key_is_refused_only_if_all_its_parts_are_missing(spark: SparkSession, tmp_path: Path) -> None:
    options, columns = {KEY: "a,b", ORDERING: "ts"}, "a string, b int, ts long"
    save(frame(spark, [("x", None, 1), (None, 1, 1), ("", 2, 1)], columns), tmp_path / "t", options)
    keys = load(spark, tmp_path / "t").select("_hoodie_record_key")
    assert rows_of(keys) == [("a:__empty__,b:2",), ("a:__null__,b:1",), ("a:x,b:__null__",)]
    before = listing(tmp_path / "t")
    bad = frame(spark, [("", None, 77)], columns)
    refused(lambda: save(bad, tmp_path / "t", options), "NULL_RECORD_KEY", "(a,b)", "77")
    assert listing(tmp_path / "t") == before


def test_a_partition_value_that_leads_out_of_the_table_is_refused(rows: DataFrame, intact: Path) -> None:
    for city in ("../other", "a//b", ".hoodie", ".."):
        bad = rows.selectExpr("id", "ts", "v", f"'{city}' as city")
        refused(lambda bad=bad: save(bad, intact, OPTIONS), "PARTITION_PATH_INVALID", city, "urlencode")


# --- options

REFUSED_OPTIONS: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "unknown, near a known one": (
        {"hoodie.datasource.write.recordkey.feild": "id"},
        "UNKNOWN_OPTION",
        ["hoodie.datasource.write.recordkey.feild", "Did you mean 'hoodie.datasource.write.recordkey.field'?"],
    ),
    "unknown, near nothing": ({"hoodie.xyzzy": "1"}, "UNKNOWN_OPTION", ["hoodie.xyzzy", "docs/config.md"]),
    "unknown, of other formats": (
        {"mergeSchema": "true"},
        "OPTION_OF_OTHER_FORMAT",
        ["mergeSchema", "schemaEvolution"],
    ),
    "a value of the wrong kind": (
        {"hoodie.combine.before.upsert": "yes"},
        "OPTION_VALUE_INVALID",
        ["'yes'", "true or false"],
    ),
    "an operation that is none": (
        {OPERATION: "upsrt"},
        "OPTION_VALUE_INVALID",
        ["upsrt", "upsert, insert, bulk_insert, delete"],
    ),
    "an operation we do not do": (
        {OPERATION: "bootstrap"},
        "UNSUPPORTED_OPTION",
        ["bootstrap", "Give one of upsert"],
    ),
    "an index we do not have": (
        {INDEX: "RECORD_INDEX"},
        "UNSUPPORTED_OPTION",
        ["RECORD_INDEX", "Set it to GLOBAL_SIMPLE or"],
    ),
    "an inline deletion of old partitions": (
        {"hoodie.partition.ttl.inline": "true"},
        "UNSUPPORTED_OPTION",
        ["hoodie.partition.ttl.inline", "DROP PARTITION"],
    ),
    "hfile log blocks": (
        {"hoodie.logfile.data.block.format": "hfile"},
        "UNSUPPORTED_OPTION",
        ["hfile", "avro, parquet"],
    ),
    "two names, two values": (
        {"hoodie.datasource.write.precombine.field": "v"},
        "OPTION_CONFLICT",
        ["hoodie.datasource.write.precombine.field", "'v'", "'ts'"],
    ),
    "drop and fail": (
        {"hoodie.datasource.write.insert.drop.duplicates": "true", "hoodie.datasource.insert.dup.policy": "fail"},
        "OPTION_CONFLICT",
        ["hoodie.datasource.insert.dup.policy"],
    ),
}


@pytest.mark.parametrize("case", cases(REFUSED_OPTIONS))
def test_an_unknown_invalid_or_unsupported_option_is_refused(
    rows: DataFrame, intact: Path, tmp_path: Path, case: str
) -> None:
    more, condition, mentions = REFUSED_OPTIONS[case]
    refused(lambda: save(rows, intact, {**OPTIONS, **more}), condition, *mentions)
    refused(lambda: save(rows, tmp_path / "new", {**OPTIONS, **more}), condition, *mentions)
    never(tmp_path / "new")


def test_options_that_cannot_change_rows_are_accepted(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    harmless = {
        "hoodie.upsert.shuffle.parallelism": "2",
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.metrics.on": "true",
        "hoodie.metadata.enable": "true",
        "hoodie.cleaner.commits.retained": "3",
        "hoodie.keep.min.commits": "20",
        "hoodie.embed.timeline.server": "false",
        "hoodie.table.cdc.enabled": "false",
        "hoodie.write.markers.type": "DIRECT",
    }
    save(rows, tmp_path / "t", {**OPTIONS, **harmless})
    save(rows, tmp_path / "t", {**OPTIONS, **harmless})
    assert rows_of(load(spark, tmp_path / "t", **{"hoodie.metadata.enable": "true"})) == ROWS


CONTRADICTING: dict[str, tuple[dict[str, str], list[str]]] = {
    "key": ({KEY: "v"}, [KEY, "'v'", "'id'"]),
    "ordering": ({ORDERING: "v"}, [ORDERING, "'v'", "'ts'"]),
    "partition": ({PARTITION: "v"}, [PARTITION, "'v'", "'city'"]),
    "type": ({TYPE: MOR}, [TYPE, MOR, COW]),
    "merge mode": (
        {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
        ["COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING"],
    ),
    "merge strategy": (
        {"hoodie.write.record.merge.strategy.id": "ce9acb64-bde0-424c-9b91-f6ebba25356d"},
        ["ce9acb64-bde0-424c-9b91-f6ebba25356d"],
    ),
    "payload class": (
        {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"},
        ["OverwriteWithLatestAvroPayload", "EVENT_TIME_ORDERING"],
    ),
    "index": ({INDEX: "BUCKET"}, [INDEX, "BUCKET", "SIMPLE"]),
    "hive style": (
        {"hoodie.datasource.write.hive_style_partitioning": "true"},
        ["hive_style_partitioning", "'true'", "'false'"],
    ),
    "key generator": ({"hoodie.datasource.write.keygenerator.type": "COMPLEX"}, ["COMPLEX", "SIMPLE"]),
    "name": ({"hoodie.table.name": "other"}, ["'other'", "'trips'"]),
    "version": ({"hoodie.write.table.version": "8"}, ["'8'", "'9'"]),
    "delete marker": (
        {"hoodie.payload.delete.field": "v", "hoodie.payload.delete.marker": "D"},
        ["hoodie.payload.delete", "none"],
    ),
}


@pytest.mark.parametrize("case", cases(CONTRADICTING))
def test_an_option_that_contradicts_the_tables_properties_is_refused(rows: DataFrame, intact: Path, case: str) -> None:
    more, mentions = CONTRADICTING[case]
    refused(lambda: save(rows, intact, {**OPTIONS, **more}), "CONFIG_CONFLICT", "trips", "Remove the option", *mentions)


NO_TABLE: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "no record key": ({KEY: ""}, "RECORD_KEY_REQUIRED", [KEY, "primaryKey"]),
    "a marker without its field": (
        {"hoodie.payload.delete.marker": "D"},
        "DELETE_MARKER_INCOMPLETE",
        ["'D'", "Give both or neither"],
    ),
    "modes that contradict": (
        {
            "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING",
            "hoodie.write.record.merge.strategy.id": "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
        },
        "MERGE_SETTINGS_CONFLICT",
        ["COMMIT_TIME_ORDERING", "eeb8d96f"],
    ),
    "a mode that is none": (
        {"hoodie.write.record.merge.mode": "NEWEST"},
        "OPTION_VALUE_INVALID",
        ["NEWEST", "EVENT_TIME_ORDERING"],
    ),
    "a user's rule": (
        {
            "hoodie.write.record.merge.mode": "CUSTOM",
            "hoodie.write.record.merge.strategy.id": "00000000-1111-2222-3333-444444444444",
        },
        "MERGER_UNAVAILABLE",
        ["00000000-1111-2222-3333-444444444444", "hoodie.write.record.merge.custom.implementation.classes"],
    ),
    "a generator that does not fit": (
        {"hoodie.datasource.write.keygenerator.type": "NON_PARTITION"},
        "KEY_GENERATOR_MISMATCH",
        ["NON_PARTITION", "city"],
    ),
    "a generator we do not have": (
        {"hoodie.datasource.write.keygenerator.class": "com.example.Mine"},
        "KEY_GENERATOR_UNSUPPORTED",
        ["com.example.Mine"],
    ),
    "a time format left out": (
        {PARTITION: "ts", "hoodie.datasource.write.keygenerator.type": "TIMESTAMP"},
        "TIMESTAMP_FORMAT_MISSING",
        ["'ts'", "timestamp.type"],
    ),
    "buckets by no key": (
        {INDEX: "BUCKET", "hoodie.bucket.index.hash.field": "v"},
        "BUCKET_HASH_FIELD_UNKNOWN",
        ["'v'", "(id)"],
    ),
    "a delete": ({OPERATION: "delete"}, "DELETE_FROM_NO_TABLE", ["new"]),
}


@pytest.mark.parametrize("case", cases(NO_TABLE))
def test_invalid_or_incomplete_table_options_create_no_table(rows: DataFrame, tmp_path: Path, case: str) -> None:
    more, condition, mentions = NO_TABLE[case]
    refused(lambda: save(rows, tmp_path / "new", {**OPTIONS, **more}), condition, *mentions)
    never(tmp_path / "new")


def test_a_partition_by_that_contradicts_the_option_is_refused(rows: DataFrame, tmp_path: Path) -> None:
    writer = rows.write.format("merganser").options(**OPTIONS).partitionBy("v")
    refused(lambda: writer.save(str(tmp_path / "new")), "OPTION_CONFLICT", "partitionBy", "'v'", "'city'")
    never(tmp_path / "new")


# --- tables that cannot be opened


def test_a_read_of_a_path_without_a_table_is_an_error_that_names_the_path(spark: SparkSession, tmp_path: Path) -> None:
    attempts: list[Callable[[], Any]] = [
        lambda: load(spark, tmp_path / "nothing").collect(),
        lambda: Table.load(spark, str(tmp_path / "nothing")),
    ]
    for attempt in attempts:
        refused(attempt, "PATH_IS_NO_TABLE", str(tmp_path / "nothing"), "hoodie.properties")
    refused(lambda: spark.read.format("merganser").load(), "PATH_MISSING", "load(path)")
    refused(lambda: load(spark, tmp_path, **{"hoodie.datasource.query.tpye": "snapshot"}).collect(), "PATH_IS_NO_TABLE")


def test_an_unknown_option_of_a_read_is_refused(spark: SparkSession, stored: Path) -> None:
    wrong = {"hoodie.datasource.query.tpye": "snapshot"}
    refused(
        lambda: load(spark, stored, **wrong).collect(), "UNKNOWN_OPTION", "Did you mean 'hoodie.datasource.query.type'?"
    )
    incremental = {"hoodie.datasource.query.type": "incremental"}
    refused(lambda: load(spark, stored, **incremental), "CHANGES_BEGIN_MISSING", "'earliest'")


@pytest.mark.parametrize(
    ("key", "value", "condition"),
    [
        ("hoodie.table.version", "7", "TABLE_VERSION_UNKNOWN"),
        ("hoodie.table.version", "10", "TABLE_VERSION_UNKNOWN"),
        ("hoodie.table.base.file.format", "ORC", "BASE_FORMAT_UNSUPPORTED"),
        ("hoodie.bootstrap.base.path", "elsewhere", "BOOTSTRAP_TABLE"),
    ],
)
def test_an_unsupported_table_is_refused_for_reads_and_writes(
    spark: SparkSession, rows: DataFrame, stored: Path, tmp_path: Path, key: str, value: str, condition: str
) -> None:
    path = tmp_path / "t"
    shutil.copytree(stored, path)
    file = path / ".hoodie" / "hoodie.properties"
    lines = [line for line in file.read_text().splitlines() if not line.startswith(f"{key}=")]
    file.write_text("\n".join([*lines, f"{key}={value}", ""]))
    (path / ".hoodie" / ".hoodie.properties.crc").unlink(missing_ok=True)
    before = listing(path)
    refused(lambda: load(spark, path).collect(), condition, str(path), value)
    refused(lambda: save(rows, path, OPTIONS), condition, str(path), value)
    assert listing(path) == before


def test_a_log_block_of_unknown_type_is_an_error_for_reads_and_compactions(spark: SparkSession, tmp_path: Path) -> None:
    path, options = tmp_path / "t", {KEY: "id", ORDERING: "ts", TYPE: MOR}
    save(frame(spark, [(1, 1, "a", "x")], COLUMNS), path, options)
    save(frame(spark, [(1, 2, "b", "x")], COLUMNS), path, options)
    (log,) = [path / name for name in listing(path) if ".log." in name]
    content = bytearray(log.read_bytes())
    # magic of six bytes, block size of eight, version of four, then the block's type
    content[18:22] = (99).to_bytes(4, "big")
    log.write_bytes(content)
    (path / f".{log.name}.crc").unlink(missing_ok=True)
    refused(lambda: load(spark, path).collect(), "LOG_BLOCK_UNREADABLE", log.name, "99")
    before = listing(path)
    refused(lambda: Table.load(spark, str(path)).compact(), "LOG_BLOCK_UNREADABLE", log.name)
    assert [name for name in listing(path) if name.endswith(".parquet")] == [
        n for n in before if n.endswith(".parquet")
    ]


def test_a_read_of_a_deleted_base_file_is_an_error_that_names_it(
    spark: SparkSession, stored: Path, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    shutil.copytree(stored, path)
    planned = load(spark, path)
    plan = planned._jdf.queryExecution().executedPlan()  # slices are listed when the query is planned
    assert plan.toString()
    (file,) = [path / name for name in listing(path) if name.startswith("x/") and name.endswith(".parquet")]
    file.unlink()
    refused(lambda: planned.collect(), "SLICE_FILE_MISSING", file.name, "Run the query again")


# --- tables of other writers whose buckets nobody wrote down


def buckets(spark: SparkSession, path: Path, keys: range, count: int) -> dict[str, str]:
    """A BUCKET table whose properties do not record it, as other writers make it."""
    options = {KEY: "id", ORDERING: "ts", INDEX: "BUCKET", "hoodie.bucket.index.num.buckets": str(count)}
    save(frame(spark, [(i, 1, "a", "x") for i in keys], COLUMNS), path, options)
    file = path / ".hoodie" / "hoodie.properties"
    lines = [line for line in file.read_text().splitlines() if not line.startswith(("hoodie.index.", "hoodie.bucket."))]
    file.write_text("\n".join([*lines, ""]))
    (path / ".hoodie" / ".hoodie.properties.crc").unlink(missing_ok=True)
    return {KEY: "id", ORDERING: "ts"}


def test_a_write_keeps_the_bucket_count_of_another_engines_table(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = buckets(spark, path, range(40), 4)
    assert Table.load(spark, str(path)).index == "BUCKET"
    save(frame(spark, [(i, 2, "b", "x") for i in range(0, 50, 2)], COLUMNS), path, options)
    groups = [s.file_id for s in Table.load(spark, str(path)).inspect.file_slices()]
    assert sorted(group[:8] for group in groups) == ["00000000", "00000001", "00000002", "00000003"]
    expected = {i: "b" if i % 2 == 0 else "a" for i in [*range(40), *range(40, 50, 2)]}
    assert {row.id: row.v for row in load(spark, path).collect()} == expected
    assert load(spark, path).count() == len(expected)


def test_a_bucket_table_that_hudi_wrote_is_upserted_into_its_buckets(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    shutil.copytree(TESTS / "golden" / "mor_bucket" / "table", path)
    before, groups = rows_of(load(spark, path)), {s.file_id for s in Table.load(spark, str(path)).inspect.file_slices()}
    assert len(groups) == 4
    save(load(spark, path), path, {})
    assert rows_of(load(spark, path)) == before
    assert {s.file_id for s in Table.load(spark, str(path)).inspect.file_slices()} == groups


def test_a_write_to_a_bucket_table_without_a_stored_bucket_count_requires_the_option(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, count = tmp_path / "t", "hoodie.bucket.index.num.buckets"
    options = buckets(spark, path, range(1, 3), 64)
    more = frame(spark, [(i, 2, "b", "x") for i in range(5)], COLUMNS)
    before = listing(path)
    refused(lambda: save(more, path, options), "BUCKET_COUNT_UNKNOWN", count)
    refused(lambda: save(more, path, {**options, count: "3"}), "CONFIG_CONFLICT", count, "'3'")
    refused(lambda: save(more, path, {**options, INDEX: "SIMPLE"}), "CONFIG_CONFLICT", INDEX, "BUCKET")
    assert listing(path) == before
    save(more, path, {**options, count: "64"})
    assert {row.id: row.v for row in load(spark, path).collect()} == dict.fromkeys(range(5), "b")
