"""Scans: what goes down to the files, what must not, and when logs are folded in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from frames import frame, load, refused, rows_of, save
from option_names import BUCKETS, COW, INDEX, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from plans import metric, scan_node
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import spark_partition_id

from merganser import Table, WriteOptions

pytestmark = pytest.mark.e2e

COLUMNS = "id int, ts long, v int, city string"
OPTIONS = {KEY: "id", ORDERING: "ts", TYPE: MOR}


def scan(rows: DataFrame) -> str:
    """The line of the plan that reads the table."""
    plan = rows._jdf.queryExecution().executedPlan().toString()
    (line,) = [line for line in plan.splitlines() if "BatchScan" in line]
    return str(line)


@pytest.fixture(scope="module")
def changed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten rows with v = 1; in logs: an update, a delete, one of each that is late-arriving, and an update back."""
    path = tmp_path_factory.mktemp("scan") / "t"
    flagged = COLUMNS + ", _hoodie_is_deleted boolean"
    save(frame(spark, [(i, 10, 1, "x") for i in range(10)], COLUMNS), path, OPTIONS)
    save(
        frame(
            spark,
            [(0, 11, 100, "z", None), (1, 9, 100, "z", None), (2, 11, 1, "x", True), (3, 9, 1, "x", True)],
            flagged,
        ),
        path,
        OPTIONS,
    )
    save(frame(spark, [(0, 12, 1, "x"), (4, 11, 50, "w")], COLUMNS), path, OPTIONS)
    assert sum(len(s.log_files) for s in Table.load(spark, str(path)).inspect.file_slices()) == 2
    return path


FILTERS = [
    "v = 100",
    "v = 1",
    "v > 1",
    "v < 50",
    "v <> 1",
    "v in (50, 100)",
    "v is null",
    "not (v = 1)",
    "city = 'z'",
    "city = 'x'",
    "city like 'w%'",
    "ts = 9",
    "ts < 10",
    "ts >= 11",
    "ts = 12 and v = 1",
    "ts = 11 or v = 100",
    "id = 0",
    "id = 2",
    "id in (1, 3)",
    "id > 3 and v = 50",
    "id = 4 and v = 1",
    "_hoodie_record_key = '0'",
    "v + 1 = 2",
    "id = 1 or city = 'w'",
]


def test_no_filter_changes_the_version_of_a_row_that_is_read(spark: SparkSession, changed: Path) -> None:
    live = {i: (i, 10, 1, "x") for i in range(10) if i != 2}
    live |= {0: (0, 12, 1, "x"), 4: (4, 11, 50, "w")}
    assert rows_of(load(spark, changed)) == sorted(live.values())
    truth = frame(spark, list(live.values()), COLUMNS).selectExpr("*", "cast(id as string) as _hoodie_record_key")
    parts = [
        (
            text,
            load(spark, changed).filter(text).selectExpr("id", "v", f"{i} as n"),
            truth.filter(text).selectExpr("id", "v", f"{i} as n"),
        )
        for i, text in enumerate(FILTERS)
    ]
    read, expected = parts[0][1], parts[0][2]
    for _, one, other in parts[1:]:
        read, expected = read.union(one), expected.union(other)
    wrong = sorted(set(rows_of(read)) ^ set(rows_of(expected)))
    assert not wrong, {FILTERS[n]: (key, v) for key, v, n in wrong}


def test_a_scan_returns_the_projected_columns_alone(spark: SparkSession, changed: Path) -> None:
    projected = load(spark, changed).select("v")
    line = scan(projected)
    assert "v#" in line
    assert "city#" not in line
    assert "ts#" not in line
    assert sorted(row.v for row in projected.collect()) == [1] * 8 + [50]
    assert load(spark, changed).count() == 9
    assert rows_of(load(spark, changed).filter("city = 'w'").select("_hoodie_record_key", "id")) == [("4", 4)]


def test_nested_columns_are_read_by_field(spark: SparkSession, tmp_path: Path) -> None:
    columns = "id int, ts long, s struct<a:int,b:struct<c:string,d:array<int>>>"
    save(frame(spark, [(1, 1, (1, ("x", [1]))), (2, 1, None)], columns), tmp_path / "t", OPTIONS)
    save(frame(spark, [(1, 2, (2, ("y", [2, 3])))], columns), tmp_path / "t", OPTIONS)
    fields = load(spark, tmp_path / "t").selectExpr("id", "s.b.c", "s.b.d[1]", "s.a")
    assert rows_of(fields) == [(1, "y", 3, 2), (2, None, None, None)]


def test_a_snapshot_read_merges_inside_the_scan(spark: SparkSession, changed: Path) -> None:
    rows = load(spark, changed)
    plan = rows._jdf.queryExecution().executedPlan().toString()
    assert "merged in task: true" in plan
    assert "log files: 2" in plan
    for operator in ("Union", "Window", "Aggregate", "Exchange", "Sort", "Join"):
        assert operator not in plan
    optimized = scan(load(spark, changed, **{"hoodie.datasource.query.type": "read_optimized"}))
    assert "merged in task: false" in optimized
    assert "log files: 0" in optimized


@pytest.mark.parametrize("hive_style", ["true", "false"])
def test_filters_on_partition_columns_leave_partitions_out(
    spark: SparkSession, tmp_path: Path, hive_style: str
) -> None:
    options = {**OPTIONS, PARTITION: "city,day", "hoodie.datasource.write.hive_style_partitioning": hive_style}
    places = [(city, f"2024-01-0{day}") for city in ("x", "y", None) for day in (1, 2, 3)]
    rows = frame(
        spark, [(i, 1, i, *place) for i, place in enumerate(places)], "id int, ts long, v int, city string, day string"
    )
    save(rows.withColumn("day", rows.day.cast("date")), tmp_path / "t", options)
    table = load(spark, tmp_path / "t")
    # The default partition has nulls and empty strings, without a distinction, so it is read.
    expected = {
        "city = 'x'": (3 + 3, [0, 1, 2]),
        "city in ('x', 'y') and day >= '2024-01-03'": (2 + 1, [2, 5]),
        "day = date'2024-01-02'": (3, [1, 4, 7]),
        "city = 'nowhere'": (0 + 3, []),
        "city = 'nowhere' and day > '2024-02-01'": (0, []),
        "city = 'x' or v = 5": (9, [0, 1, 2, 5]),
        "v = 5": (9, [5]),
        "city is null": (3, [6, 7, 8]),
    }
    for text, (slices, ids) in expected.items():
        found = table.filter(text)
        assert f"[slices: {slices}," in scan(found), text
        assert sorted(row.id for row in found.select("id").collect()) == ids, text


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
def test_a_write_compacts_after_the_configured_number_of_delta_commits(
    spark: SparkSession, tmp_path: Path, index: str
) -> None:
    path = tmp_path / "t"
    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}
    options = {**OPTIONS, INDEX: index, BUCKETS: "1", **inline}
    actions = []
    for i in range(4):
        save(frame(spark, [(1, i, i, "x"), (2, -i, i, "x")], COLUMNS), path, options)
        actions.append([entry.action for entry in reversed(Table.load(spark, str(path)).history())])
    assert [len(a) for a in actions] == [1, 2, 4, 5]
    assert actions[-1][3] == "commit", "a compaction is a commit on the timeline"
    table = Table.load(spark, str(path))
    assert [len(s.log_files) for s in table.inspect.file_slices()] == [1]
    assert rows_of(table.df().select("id", "v")) == [(1, 3), (2, 0)]


def test_compaction_on_demand_merges_the_logs_and_leaves_nothing_to_compact(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    save(frame(spark, [(i, 1, 1, "x") for i in range(6)], COLUMNS), path, {**OPTIONS, PARTITION: "city"})
    table = Table.load(spark, str(path))
    assert table.compact() is None
    first = table.upsert(frame(spark, [(0, 2, 2, "x"), (1, 0, 2, "x")], COLUMNS))
    table.delete(frame(spark, [(5, "x")], "id int, city string"))
    before = rows_of(table.df().select("_hoodie_commit_time", "*"))
    assert {row[0] for row in before if row[1] == 0} == {first.instant}
    result = table.compact()
    assert result is not None
    assert (result.files, result.rows_written, result.log_files_compacted) == (1, 5, 2)
    assert rows_of(table.df().select("_hoodie_commit_time", "*")) == before
    assert [s.log_files for s in table.inspect.file_slices()] == [()]
    assert table.compact() is None


def test_a_scheduled_compaction_leaves_later_changes_in_the_logs_of_its_slice(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    save(frame(spark, [(1, 1, 1, "x"), (2, 1, 1, "x")], COLUMNS), path, OPTIONS)
    table = Table.load(spark, str(path))
    table.upsert(frame(spark, [(1, 2, 2, "x")], COLUMNS))
    planned = table.compact(schedule_only=True)
    assert planned is not None
    table.upsert(frame(spark, [(1, 3, 3, "x"), (2, 3, 3, "x")], COLUMNS))
    assert rows_of(table.df().select("id", "v")) == [(1, 3), (2, 3)]
    done = table.compact()
    assert done is not None
    assert done.instant >= planned.instant
    assert rows_of(table.df().select("id", "v")) == [(1, 3), (2, 3)]
    table.upsert(frame(spark, [(1, 2, 9, "x")], COLUMNS), options=WriteOptions(compact_inline=False))
    assert rows_of(table.df().select("id", "v")) == [(1, 3), (2, 3)]


def test_a_copy_on_write_table_has_nothing_to_compact(spark: SparkSession, tmp_path: Path) -> None:
    save(frame(spark, [(1, 1, 1, "x")], COLUMNS), tmp_path / "t", {**OPTIONS, TYPE: COW})
    refused(lambda: Table.load(spark, str(tmp_path / "t")).compact(), "COMPACTION_OF_COPY_ON_WRITE", "COPY_ON_WRITE")
    assert "merged in task: false" in scan(load(spark, tmp_path / "t"))


def test_a_read_as_of_an_instant_returns_the_rows_of_that_commit(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(frame(spark, [(1, 1, 1, "x")], COLUMNS), path, OPTIONS)
    save(frame(spark, [(1, 2, 2, "x")], COLUMNS), path, OPTIONS)
    save(frame(spark, [(1, None, None, None)], COLUMNS), path, {**OPTIONS, OPERATION: "delete"})
    table = Table.load(spark, str(path))
    instants = [entry.instant for entry in reversed(table.history())]
    assert [rows_of(table.df(as_of=instant).select("v")) for instant in instants] == [[(1,)], [(2,)], []]


def test_a_compaction_keeps_the_bloom_filters_of_a_bloom_table(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = {KEY: "id", ORDERING: "ts", TYPE: MOR, INDEX: "BLOOM"}
    save(frame(spark, [(1, 1, "a"), (2, 1, "b")], "id int, ts long, v string"), path, options)
    save(frame(spark, [(1, 2, "c")], "id int, ts long, v string"), path, options)
    assert Table.load(spark, str(path)).compact() is not None
    files = sorted(path.glob("*.parquet"))
    assert len(files) == 2
    for file in files:
        assert b"org.apache.hudi.bloomfilter" in pq.read_metadata(file).metadata


def test_a_filled_row_has_the_same_commit_time_whatever_columns_are_projected(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    payload = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
    options = {KEY: "id", ORDERING: "ts", TYPE: MOR, "hoodie.datasource.write.payload.class": payload}
    columns = "id int, ts long, a string, b string"
    save(frame(spark, [(1, 5, None, "b"), (2, 5, "a", "b")], columns), path, options)
    save(frame(spark, [(1, 3, "late", "x"), (2, 3, "late", "x")], columns), path, options)
    rows = load(spark, path)
    whole = {row.id: row["_hoodie_commit_time"] for row in rows.select("*", "_hoodie_commit_time").collect()}
    assert whole[1] > whole[2]
    assert sorted(row[0] for row in rows.select("_hoodie_commit_time").collect()) == sorted(whole.values())
    assert rows.where(f"_hoodie_commit_time > '{whole[2]}'").count() == 1


# Guarantee (Size): A join prunes partitions by its other side, equal scans share an exchange, and the estimated size of
#   a scan counts logs and the columns read. Also: test_two_equal_scans_of_one_query_share_an_exchange, ScanSizeSuite
def test_a_join_with_one_day_reads_the_partition_of_that_day_alone(spark: SparkSession, tmp_path: Path) -> None:
    day_ms = 86_400_000
    options = {KEY: "id", ORDERING: "ts", "hoodie.datasource.write.keygenerator.type": "TIMESTAMP", PARTITION: "ms"}
    options |= {
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
    }
    rows = [(i, 1, i % 8 * day_ms + 5) for i in range(16)]
    save(frame(spark, rows, "id int, ts long, ms long"), tmp_path / "t", options)
    load(spark, tmp_path / "t").createOrReplaceTempView("by_day")
    frame(spark, [(3 * day_ms + 5, "x"), (9, "y")], "ms long, name string").createOrReplaceTempView("days")

    filtered = spark.table("by_day").filter(f"ms >= {6 * day_ms}")
    assert sorted(row.id for row in filtered.collect()) == [6, 7, 14, 15]
    assert metric(filtered, "partitionFoldersPruned") == 6

    joined = spark.sql("SELECT /*+ BROADCAST(days) */ id FROM by_day JOIN days ON by_day.ms = days.ms WHERE name = 'x'")
    assert sorted(row.id for row in joined.collect()) == [3, 11]
    assert (metric(joined, "fileGroupsRead"), metric(joined, "fileGroupsPruned")) == (1, 7)


def test_a_scan_of_logs_counts_the_outcomes_of_its_merge(spark: SparkSession, tmp_path: Path) -> None:
    columns = "id int, ts long, v string, _hoodie_is_deleted boolean"
    options = {KEY: "id", ORDERING: "ts", TYPE: MOR, INDEX: "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    save(frame(spark, [(i, 5, "a", False) for i in range(1, 6)], columns), tmp_path / "t", options)
    first = [(1, 6, "won", False), (2, 5, "tie", False), (3, 4, "late", False), (4, 6, None, True), (9, 1, "b", False)]
    save(frame(spark, [*first, (10, 1, None, True)], columns), tmp_path / "t", options)
    save(frame(spark, [(1, 7, "won", False)], columns), tmp_path / "t", options)
    rows = load(spark, tmp_path / "t")
    assert sorted(row.id for row in rows.collect()) == [1, 2, 3, 5, 9]
    names = ("logVersions", "versionsCombined", "rowsWon", "ties", "rowsLate", "rowsDeleted", "rowsInserted")
    assert [metric(rows, name) for name in names] == [7, 1, 2, 1, 1, 1, 1]
    assert [metric(rows, name) for name in ("tombstones", "rowsFilled", "noOps")] == [1, 0, 0]
    plain = load(spark, tmp_path / "t", **{"hoodie.datasource.query.type": "read_optimized"})
    assert plain.count() == 5
    assert not scan_node(plain).metrics().contains("rowsWon")


def test_two_equal_scans_of_one_query_share_an_exchange(spark: SparkSession, changed: Path) -> None:
    load(spark, changed).createOrReplaceTempView("changed_rows")
    half = "SELECT /*+ REPARTITION(id) */ id, v FROM changed_rows"
    both = spark.sql(f"SELECT a.id FROM ({half}) a JOIN ({half}) b ON a.id = b.id + 1")
    assert len(both.collect()) == 7
    assert "ReusedExchange" in both._jdf.queryExecution().executedPlan().toString()


@pytest.fixture
def small_splits(spark: SparkSession) -> Iterator[None]:
    """Tasks of a read have at most 200 KiB of a file."""
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(200 << 10))
    yield
    spark.conf.set("spark.sql.files.maxPartitionBytes", before)


def test_a_base_file_larger_than_a_read_split_is_read_by_several_tasks(
    spark: SparkSession, tmp_path: Path, small_splits: None
) -> None:
    blocks = {"hoodie.parquet.block.size": str(64 << 10), KEY: "id", OPERATION: "insert"}
    save(spark.range(40_000).selectExpr("id", "cast(rand(1) as string) as v").coalesce(1), tmp_path / "t", blocks)
    assert len(Table.load(spark, str(tmp_path / "t")).inspect.file_slices()) == 1
    rows = load(spark, tmp_path / "t")
    assert rows.rdd.getNumPartitions() > 2
    assert rows.selectExpr("count(*)", "count(distinct id)", "sum(id)").first() == (40_000, 40_000, 799_980_000)


META = [f"_hoodie_{name}" for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")]

MERGES = {
    "event time": {ORDERING: "ts"},
    "commit time": {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"},
    "filled rows": {
        ORDERING: "ts",
        "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.PartialUpdateAvroPayload",
    },
}


def logged(spark: SparkSession, path: Path, options: dict[str, str]) -> str:
    """Make a slice of 40,000 rows and two logs: updates, late rows, deletes, and new keys everywhere between them.

    Returns:
        The instant of the stored rows.
    """
    options = options | {
        TYPE: MOR,
        INDEX: "BUCKET",
        BUCKETS: "1",
        KEY: "id",
        "hoodie.parquet.block.size": str(64 << 10),
    }
    key = "concat('k', lpad(cast(n AS string), 6, '0')) AS id"
    stored = spark.range(40_000).selectExpr("2 * id + 5000 AS n", "cast(rand(1) AS string) AS v")
    stored = stored.selectExpr(key, "10L AS ts", "v", "'stored' AS w", "false AS _hoodie_is_deleted")
    save(stored.coalesce(1), path, {OPERATION: "insert"} | options)
    first = str(load(spark, path).selectExpr("max(_hoodie_commit_time)").first()[0])
    for commit in (1, 2):
        changed = (
            spark.range(commit * 1000, 90_000, 41)
            .selectExpr("id AS n")
            .selectExpr(
                key,
                "IF(n % 3 = 0, 5L, 20L) AS ts",
                f"IF(n % 2 = 0, NULL, 'v{commit}') AS v",
                f"'w{commit}' AS w",
                "n % 5 = 0 AS _hoodie_is_deleted",
            )
        )
        save(changed, path, options)
    (slice_,) = Table.load(spark, str(path)).inspect.file_slices()
    assert len(slice_.log_files) == 2
    return first


@pytest.mark.parametrize("rule", MERGES)
def test_a_slice_is_merged_by_several_tasks(spark: SparkSession, tmp_path: Path, small_splits: None, rule: str) -> None:
    first = logged(spark, tmp_path / "t", MERGES[rule])
    since = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.read.begin.instanttime": first}
    for options in ({}, since):
        rows = load(spark, tmp_path / "t", **options)
        tasks = rows.groupBy(spark_partition_id()).count().collect()
        assert len(tasks) > 5
        merged = sorted(rows.drop(*META).collect())
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(128 << 20))
        whole = load(spark, tmp_path / "t", **options)
        assert whole.rdd.getNumPartitions() == 1
        assert merged == sorted(whole.drop(*META).collect())
        spark.conf.set("spark.sql.files.maxPartitionBytes", str(200 << 10))
    assert load(spark, tmp_path / "t").where("id = 'k004141' OR id >= 'k085000'").count() > 50
