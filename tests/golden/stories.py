"""The golden tables, one function each: which commits Hudi makes, in order. ``make_golden.py`` runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from make_golden import Story

COW = "COPY_ON_WRITE"
MOR = "MERGE_ON_READ"

#: Name -> (the story, the kinds of log blocks that the finished table must hold).
STORIES: dict[str, tuple[Callable[[Story], None], set[str]]] = {}


def golden(*holds: str) -> Callable[[Callable[[Story], None]], Callable[[Story], None]]:
    def register(tell: Callable[[Story], None]) -> Callable[[Story], None]:
        STORIES[tell.__name__] = (tell, set(holds))
        return tell

    return register


ITEM = "id int, name string, price double, ts bigint"
MARKED = "id int, name string, price double, ts bigint, part string, _hoodie_is_deleted boolean"


@golden()
def cow_plain(t: Story) -> None:
    t.table(COW, ITEM, key="id", ordering="ts")
    t.upsert([1, "one", 1.5, 10], [2, "two", 2.5, 10], [3, "three", 3.5, 10], [4, "four", 4.5, 10])
    # newer, late, tied, new; 6 twice in one batch
    t.upsert(
        [1, "one+", 1.25, 11], [2, "late", 0.0, 9], [3, "tied", 3.75, 10],
        [5, None, None, 11], [6, "first", 6.0, 12], [6, "second", 6.5, 11],
    )  # fmt: skip
    t.delete(ITEM, [4, None, None, 10])
    t.upsert([2, "two+", 2.75, 12])


@golden("avro", "delete")
def mor_log_delete(t: Story) -> None:
    t.table(MOR, MARKED, key="id", partition="part", ordering="ts")
    t.upsert(
        [1, "one", 1.5, 10, "a", False], [2, "two", 2.5, 10, "a", False], [3, "three", 3.5, 10, "a", False],
        [4, "four", 4.5, 10, "a", False], [5, "five", 5.5, 10, "b", False], [6, "six", 6.5, 10, "b", False],
        [7, "seven", 7.5, 10, "b", False], [8, "untouched", 8.5, 10, "c", False],
    )  # fmt: skip
    t.upsert([1, "one+", 1.25, 12, "a", False], [2, "late", 0.0, 9, "a", False], [5, "five+", 5.25, 12, "b", None])
    # soft deletes: newer than the row, late, tied; one update between them
    t.upsert(
        [1, None, None, 13, "a", True], [2, None, None, 9, "a", True], [3, None, None, 10, "a", True],
        [5, "five++", 5.0, 13, "b", False],
    )  # fmt: skip
    t.delete("id int, ts bigint, part string", [4, 10, "a"], [6, 10, "b"], [7, 10, "b"])
    # a row older than the soft delete stays out, a newer one comes in, and so does one after the delete operation
    t.upsert(
        [1, "too old", 0.0, 12, "a", False],
        [3, "three again", 3.0, 14, "a", False],
        [6, "six again", 6.0, 20, "b", False],
    )


@golden("parquet", "delete")
def mor_parquet_log(t: Story) -> None:
    t.table(
        MOR, MARKED, key="id", partition="part", ordering="ts",
        **{"hoodie.logfile.data.block.format": "parquet"},
    )  # fmt: skip
    t.upsert([1, "one", 1.5, 10, "a", False], [2, "two", 2.5, 10, "a", False], [3, "three", 3.5, 10, "a", False])
    t.upsert([1, "one+", None, 11, "a", False], [2, "late", 0.0, 9, "a", False])
    t.upsert([1, "one++", 1.0, 12, "a", False], [3, None, None, 11, "a", True])


@golden()
def cow_partitioned_hive(t: Story) -> None:
    schema = "id int, name string, ts bigint, region string, day date"
    t.table(
        COW, schema, key="id", partition="region,day", ordering="ts",
        **{
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.datasource.write.partitionpath.urlencode": "true",
        },
    )  # fmt: skip
    t.upsert(
        [1, "plain", 10, "north", "2024-01-02"], [2, "escaped", 10, "a/b=c:d,e %", "2024-01-02"],
        [3, "null region", 10, None, "2024-01-03"], [4, "space", 10, "south east", "2024-01-03"],
    )  # fmt: skip
    # the same key in another partition is another row
    t.upsert(
        [1, "plain+", 11, "north", "2024-01-02"],
        [2, "escaped+", 11, "a/b=c:d,e %", "2024-01-02"],
        [1, "other", 1, "north", "2024-01-03"],
    )


@golden()
def cow_composite_key(t: Story) -> None:
    t.table(COW, "shop string, nr int, name string, ts bigint", key="shop,nr", ordering="ts")
    t.upsert(
        ["x", 1, "x1", 10], ["x", 2, "x2", 10], ["y:z,w", 1, "odd", 10],
        [None, 1, "null shop", 10], ["", 2, "empty shop", 10],
    )  # fmt: skip
    t.upsert(["x", 1, "x1+", 11], ["x", 2, "late", 9], [None, 1, "null shop+", 11], ["y", 2, "y2", 10])


@golden()
def cow_complex_single_key(t: Story) -> None:
    t.table(
        COW, "id int, name string, ts bigint, part string", key="id", partition="part", ordering="ts",
        **{"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator"},
    )  # fmt: skip
    t.upsert([1, "one", 10, "a"], [2, "two", 10, "b"])
    t.upsert([1, "one+", 11, "a"], [3, "three", 11, "b"])


@golden("avro", "delete")
def mor_nested_types(t: Story) -> None:
    schema = (
        "id bigint not null, flag boolean, b tinyint, s smallint, i int, f float, d double, text string, bin binary, "
        "price decimal(12,2), wide decimal(30,10), day date, at timestamp, "
        "who struct<name:string,home:struct<city:string,codes:array<int>>>, "
        "tags array<string>, lines array<struct<sku:string,amount:decimal(6,3)>>, "
        "counts map<string,bigint>, notes map<string,struct<day:date,note:string>>, ts timestamp"
    )
    # Hudi's base files hold lists of the old two-level form, which knows no null elements; its logs do know them
    full = [
        True, 7, 300, 70000, 1.5, 2.25, "grün ✓", "AAH/", "1234.50", "12345678901234567890.0123456789", "2024-02-29",
        "2024-01-02T03:04:05.678901", {"name": "Ann", "home": {"city": "Ulm", "codes": [1, 2, 3]}}, ["a", "", "ß"],
        [{"sku": "s1", "amount": "0.125"}, {"sku": None, "amount": None}],
        [["k", 1], ["l", None]], [["m", {"day": "1969-12-31", "note": None}]],
    ]  # fmt: skip
    gaps = [*full[:12], {"name": None, "home": {"city": None, "codes": [1, None]}}, [None, "a"], [None], *full[15:]]
    other = [
        False, -128, -32768, -2147483648, "-Infinity", "NaN", "", "", "-0.01", "-1.0000000000", "1900-01-01",
        "1905-06-07T08:09:10.000001", {"name": None, "home": None}, [], [], [], [],
    ]  # fmt: skip
    nothing = [None] * len(full)
    t.table(MOR, schema, key="id", ordering="ts")
    t.upsert(
        [1, *full, "2024-01-01T00:00:00.000001"], [2, *other, "2024-01-01T00:00:00"],
        [3, *nothing, "2024-01-01T00:00:00"], [4, *full, "2024-01-01T00:00:00"], [5, *full, "2024-01-01T00:00:00"],
    )  # fmt: skip
    # one microsecond newer, one older; values become nulls and nulls become values
    t.upsert(
        [1, *other, "2024-01-01T00:00:00.000002"], [2, *full, "2023-12-31T23:59:59.999999"],
        [3, *gaps, "2024-01-02T00:00:00"], [4, *nothing, "2024-01-02T00:00:00"],
    )  # fmt: skip
    t.delete(schema, [5, *nothing, "2024-01-03T00:00:00"])


@golden("avro", "delete")
def mor_nested_timestamps(t: Story) -> None:
    t.table(
        MOR,
        "id int, local timestamp_ntz, who struct<born:timestamp,local:timestamp_ntz>, times array<timestamp>, "
        "moments map<string,struct<at:timestamp,note:string>>, ts timestamp_ntz, _hoodie_is_deleted boolean",
        key="id", ordering="ts",
    )  # fmt: skip
    early, late = "1969-12-31T23:59:59.999999", "2024-03-31T02:30:00.123456"
    row = [early, {"born": late, "local": early}, [early, late], [["m", {"at": early, "note": "n"}]]]
    t.upsert(*([i, *row, "2024-01-01T00:00:00", False] for i in (1, 2, 3, 4)))
    other = [late, {"born": None, "local": late}, [late], [["m", None], ["n", {"at": late, "note": None}]]]
    t.upsert([1, *other, "2024-01-01T00:00:00.000001", False], [2, *other, "2023-12-31T00:00:00", False])
    t.upsert([3, *other, "2024-01-01T00:00:00.000001", True], [4, *other, "2023-12-31T23:59:59.999999", True])


@golden("avro", "delete")
def mor_compacted(t: Story) -> None:
    t.table(MOR, MARKED, key="id", partition="part", ordering="ts")
    t.upsert([1, "one", 1.5, 10, "a", False], [2, "two", 2.5, 10, "a", False], [3, "three", 3.5, 10, "b", False])
    t.upsert([1, "one+", 1.0, 12, "a", False], [2, None, None, 12, "a", True])
    t.upsert([3, "late", 0.0, 9, "b", False])
    t.compact()
    t.upsert([1, "one++", 0.5, 13, "a", False], [4, "four", 4.5, 10, "c", False])
    t.upsert([1, "late", 0.0, 11, "a", False], [4, "four+", 4.0, 11, "c", False])


@golden("avro")
def mor_pending_compaction(t: Story) -> None:
    t.table(MOR, ITEM, key="id", ordering="ts")
    t.upsert([1, "one", 1.5, 10], [2, "two", 2.5, 10], [3, "three", 3.5, 10])
    t.upsert([1, "one+", 1.0, 12], [2, "late", 0.0, 9])
    t.compact("schedule")
    t.upsert([1, "late", 0.0, 11], [2, "two+", 2.0, 11])
    t.upsert([3, "three+", 3.0, 11])


@golden("avro", "delete")
def mor_commit_time(t: Story) -> None:
    t.table(MOR, MARKED, key="id", partition="part")
    t.upsert([1, "one", 1.5, 10, "a", False], [2, "two", 2.5, 10, "a", False], [3, "three", 3.5, 10, "a", False])
    # the later commit wins, whatever ts says
    t.upsert([1, "one+", 1.0, 5, "a", False], [2, "two+", 2.0, None, "a", False])
    t.upsert([2, None, None, 1, "a", True])
    t.delete("id int, part string", [3, "a"])


@golden("avro", "delete")
def mor_bucket(t: Story) -> None:
    t.table(
        MOR, ITEM, key="id", ordering="ts",
        **{"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"},
    )  # fmt: skip
    t.write("bulk_insert", *([i, f"item {i}", i + 0.5, 10] for i in (1, 2, 5, 6)))
    # 3, 4 and 7 open buckets; 9 is new in a bucket that exists, so it goes to its log
    t.upsert(
        [1, "one+", 1.0, 11], [3, "three", 3.5, 10], [7, "seven", 7.5, 10], [4, "four", 4.5, 10], [9, "nine", 9.5, 10]
    )
    t.upsert([3, "three+", 3.0, 11], [5, "late", 0.0, 9])
    t.delete(ITEM, [6, None, None, 10], [7, None, None, 10])


@golden()
def cow_replaced(t: Story) -> None:
    t.table(COW, "id int, name string, ts bigint, part string", key="id", partition="part", ordering="ts")
    t.upsert([1, "one", 10, "a"], [2, "two", 10, "a"], [3, "three", 10, "b"])
    t.write("insert_overwrite", [1, "replaced", 5, "a"], [4, "four", 10, "a"])
    t.upsert([4, "four+", 11, "a"], [3, "three+", 11, "b"])


@golden("avro", "delete")
def mor_partial_merge(t: Story) -> None:
    t.table(MOR, ITEM, key="id", ordering="ts")
    t.upsert([1, "one", 1.5, 10], [2, "two", 2.5, 10], [3, "three", 3.5, 10], [4, "four", 4.5, 10])
    changed = "ON t.id = s.id WHEN MATCHED THEN UPDATE SET {} = s.{}, ts = s.ts"
    t.merge("id int, price double, ts bigint", [[1, 1.0, 11], [2, 0.0, 9]], changed.format("price", "price"))
    t.merge("id int, name string, ts bigint", [[1, "one+", 12], [3, None, 11]], changed.format("name", "name"))
    t.merge("id int, ts bigint", [[4, 11]], "ON t.id = s.id WHEN MATCHED THEN DELETE")


@golden("avro", "delete")
def mor_multi_ordering(t: Story) -> None:
    t.table(MOR, "id int, name string, ts bigint, nr int, _hoodie_is_deleted boolean", key="id", ordering="ts,nr")
    t.upsert(*([i, f"item {i}", 10, 5, False] for i in (1, 2, 3, 4, 5)))
    t.upsert([1, "higher nr", 10, 6, False], [2, "lower nr", 10, 4, False], [3, "higher ts", 11, 0, False])
    t.upsert([4, None, 10, 5, True], [5, None, 10, 4, True], [3, "lower ts", 10, 9, False])


@golden("avro", "delete")
def mor_decimal_ordering(t: Story) -> None:
    t.table(MOR, "id int, name string, rank decimal(12,2), _hoodie_is_deleted boolean", key="id", ordering="rank")
    t.upsert(*([i, f"item {i}", "9.50", False] for i in (1, 2, 3, 4)))
    t.upsert(
        [1, "higher", "10.00", False], [2, "lower", "9.49", False], [3, None, "9.50", True], [4, None, "9.49", True]
    )


RINGS = {
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.bucket.index.min.num.buckets": "2",
    "hoodie.bucket.index.max.num.buckets": "4",
}
CLUSTERING = "org.apache.hudi.client.clustering"
RESIZING = {
    "hoodie.clustering.plan.strategy.class": f"{CLUSTERING}.plan.strategy.SparkConsistentBucketClusteringPlanStrategy",
    "hoodie.clustering.execution.strategy.class": f"{CLUSTERING}.run.strategy"
    ".SparkConsistentBucketClusteringExecutionStrategy",
    "hoodie.clustering.updates.strategy": f"{CLUSTERING}.update.strategy.SparkConsistentBucketDuplicateUpdateStrategy",
    "hoodie.bucket.index.split.threshold": "0.00001",
    "hoodie.bucket.index.merge.threshold": "0.000001",
    "hoodie.parquet.max.file.size": "200000000",
}


@golden("avro")
def mor_consistent_buckets(t: Story) -> None:
    """A bucket is split; a row that is written meanwhile goes to the old bucket and to the new one."""
    t.table(MOR, ITEM, key="id", ordering="ts", **RINGS)
    t.write("bulk_insert", *([i, f"item {i}", i + 0.5, 10] for i in range(1, 9)))
    t.upsert([1, "one+", 1.0, 11], [9, "nine", 9.5, 11])
    t.cluster("schedule", **RESIZING)
    t.upsert([2, "two+", 2.0, 12], [3, "late", 0.0, 9], **RESIZING)
    t.cluster("execute", **RESIZING)
    t.upsert([4, "four+", 4.0, 13], [10, "ten", 10.5, 13])


@golden("avro", "delete")
def mor_log_only(t: Story) -> None:
    """Inserts into logs of groups without a base file, which one of two partitions gets later."""
    t.table(
        MOR, MARKED, key="id", partition="part", ordering="ts",
        **{"hoodie.index.type": "INMEMORY"},
    )  # fmt: skip
    t.upsert([1, "one", 1.5, 10, "a", False], [2, "two", 2.5, 10, "a", False])
    t.upsert([1, "one+", 1.0, 11, "a", False], [2, None, None, 11, "a", True])
    t.compact()
    t.upsert([3, "three", 3.5, 12, "a", False], [4, "four", 4.5, 12, "b", False], [5, "five", 5.5, 12, "b", False])
    t.upsert([5, None, None, 13, "b", True])


ARCHIVING = {
    "hoodie.archive.automatic": "true",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.clean.automatic": "true",
    "hoodie.clean.commits.retained": "1",
}


def archived(t: Story, kind: str, **options: str) -> None:
    t.table(kind, "id int, name string, ts bigint", key="id", ordering="ts", **ARCHIVING, **options)
    for step in range(5):
        t.upsert([step, f"new {step}", step], [1, f"step {step}", step])
    t.upsert([0, "late", -1], [2, "two+", 20])


@golden()
def cow_archived(t: Story) -> None:
    archived(t, COW)


@golden()
def cow_archived_v6(t: Story) -> None:
    archived(t, COW, **older("6"))


@golden("avro")
def mor_archived(t: Story) -> None:
    archived(t, MOR)


@golden("avro")
def mor_archived_v6(t: Story) -> None:
    archived(t, MOR, **older("6"))


@golden()
def cow_key_texts(t: Story) -> None:
    """A record key with a field of every type that Hudi turns into text."""
    t.table(
        COW,
        "b tinyint, l bigint, f float, d double, flag boolean, day date, price decimal(12,2), text string, "
        "at timestamp, local timestamp_ntz, name string",
        key="b,l,f,d,flag,day,price,text,at,local",
    )  # fmt: skip
    at = "2024-01-02T03:04:05.678901"
    t.upsert(
        [1, -2, 1.5, 1e10, True, "2024-01-02", "12.30", "a b", at, at, "plain"],
        [None, 0, -0.0, 1e-5, False, "1969-12-31", "0.00", "ü✓", "1969-12-31T23:59:59.999999", None, "edges"],
        [7, 9223372036854775807, 1e-10, 123456789.125, None, None, None, "", None, "2024-01-02T00:00:00", "nulls"],
    )  # fmt: skip
    t.upsert([1, -2, 1.5, 1e10, True, "2024-01-02", "12.30", "a b", at, at, "plain+"])


@golden()
def cow_timestamp_partition(t: Story) -> None:
    t.table(
        COW, "id int, name string, ts bigint", key="id", partition="ts", ordering="ts",
        **{
            "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
            "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
            "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
        },
    )  # fmt: skip
    t.upsert([1, "one", 1700000000000], [2, "two", 1700006399999], [3, "next day", 1700006400000])
    t.upsert([1, "one+", 1700000000001])


@golden()
def cow_custom_partition(t: Story) -> None:
    t.table(
        COW, "id int, name string, region string, ts bigint",
        key="id", partition="region:SIMPLE,ts:TIMESTAMP", ordering="ts",
        **{
            "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.CustomKeyGenerator",
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.keygen.timebased.timestamp.type": "SCALAR",
            "hoodie.keygen.timebased.timestamp.scalar.time.unit": "days",
            "hoodie.keygen.timebased.output.dateformat": "yyyyMMdd",
        },
    )  # fmt: skip
    t.upsert([1, "one", "north", 19724], [2, "two", "south", 19725])
    t.upsert([1, "one+", "north", 19724])


GENERATOR = "hoodie.datasource.write.keygenerator.class"
EVENT = "id int, nr int, name string, region string, at {}"


def generator(name: str, **timed: str) -> dict[str, str]:
    """Options of a key generator by its class, and of its times with the prefix of older releases."""
    old = {f"hoodie.deltastreamer.keygen.timebased.{key}": value for key, value in timed.items()}
    return {GENERATOR: f"org.apache.hudi.keygen.{name}", **old}


def events(t: Story, first: object, second: object) -> None:
    """Three rows, of which one is changed; ``at`` has one of two values."""
    t.upsert([1, 10, "one", "north", first], [2, 20, "two", "south", second])
    t.upsert([1, 10, "one+", "north", first], [3, 30, "three", "north", first])


@golden()
def cow_simple_avro(t: Story) -> None:
    escaped = {
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.partitionpath.urlencode": "true",
    }
    t.table(COW, EVENT.format("string"), key="id", partition="at", **generator("SimpleAvroKeyGenerator"), **escaped)
    events(t, "a=b/c", "%41")


@golden("avro")
def mor_complex_avro(t: Story) -> None:
    style = {"hoodie.datasource.write.hive_style_partitioning": "true"}
    by = generator("ComplexAvroKeyGenerator")
    t.table(MOR, EVENT.format("date"), key="nr,id", partition="region,at", **by, **style)
    events(t, "2024-01-02", "2024-01-03")


@golden("avro")
def mor_nonpartitioned_avro(t: Story) -> None:
    t.table(MOR, EVENT.format("bigint"), key="id", **generator("NonpartitionedAvroKeyGenerator"))
    events(t, 1, 2)


@golden()
def cow_global_delete(t: Story) -> None:
    """A key generator without partitions whose single key has its column's name too."""
    t.table(COW, EVENT.format("bigint"), key="id", **generator("GlobalDeleteKeyGenerator"))
    events(t, 1, 2)


@golden("avro")
def mor_global_delete_avro(t: Story) -> None:
    t.table(MOR, EVENT.format("bigint"), key="nr,id", **generator("GlobalAvroDeleteKeyGenerator"))
    events(t, 1, 2)


def timed(t: Story, kind: str, column: str, values: tuple[object, object], **options: str) -> None:
    """A time-based partition, with the property names of older releases."""
    name = "TimestampBasedAvroKeyGenerator" if kind == MOR else "TimestampBasedKeyGenerator"
    t.table(kind, EVENT.format(column), key="id", partition="at", **generator(name, **options))
    events(t, *values)


@golden()
def cow_timestamp_seconds(t: Story) -> None:
    options = {"timestamp.type": "UNIX_TIMESTAMP", "output.dateformat": "yyyy-MM-dd HH", "output.timezone": "GMT+8:00"}
    timed(t, COW, "bigint", (1700000000, 1700006400), **options)


@golden("avro")
def mor_timestamp_micros(t: Story) -> None:
    options = {"timestamp.type": "EPOCHMICROSECONDS", "output.dateformat": "yyyyMMdd"}
    timed(t, MOR, "bigint", (1700000000000000, 1700006400000000), **options)


@golden()
def cow_timestamp_scalar(t: Story) -> None:
    unit = {"timestamp.scalar.time.unit": "HOURS"}
    timed(t, COW, "int", (473000, 473024), **{"timestamp.type": "SCALAR", "output.dateformat": "yyyy/MM/dd", **unit})


@golden("avro")
def mor_timestamp_string(t: Story) -> None:
    options = {
        "timestamp.type": "DATE_STRING",
        "input.dateformat": "yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd",
        "input.timezone": "UTC",
        "output.dateformat": "yyyy/MM",
    }
    timed(t, MOR, "string", ("2024-01-31T23:30:00-0100", "2024-03-04"), **options)


@golden()
def cow_timestamp_mixed(t: Story) -> None:
    options = {"timestamp.type": "MIXED", "input.dateformat": "yyyy-MM-dd", "output.dateformat": "yyyyMMdd"}
    timed(t, COW, "string", ("2024-01-31", "2024-03-04"), **options)


@golden("avro")
def mor_custom_avro(t: Story) -> None:
    """Two keys; partitions of both kinds, of which no table stores the settings."""
    settings = generator("CustomAvroKeyGenerator", **{"timestamp.type": "UNIX_TIMESTAMP", "output.dateformat": "yyyy"})
    by = "region:simple,at:timestamp,nr:SIMPLE"
    t.table(MOR, EVENT.format("bigint"), key="nr,id", partition=by, **settings)
    events(t, 1700000000, 1600000000)


@golden()
def cow_custom_plain(t: Story) -> None:
    t.table(COW, EVENT.format("bigint"), key="id", **generator("CustomKeyGenerator"))
    events(t, 1, 2)


@golden()
def cow_logical_timestamp_key(t: Story) -> None:
    """Timestamps in keys as strings, by an option that no table stores."""
    logical = {"hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled": "true"}
    t.table(COW, "id int, name string, day date, price decimal(6,2), at timestamp", key="price,at,day", **logical)
    t.upsert([1, "one", "2024-01-02", "12.30", "2024-01-02T03:04:05.678901"])
    t.upsert([1, "one+", "2024-01-02", "12.30", "2024-01-02T03:04:05.678901"])


@golden()
def cow_timestamp_key(t: Story) -> None:
    """A key that bulk_insert made: timestamps as strings, though no option says so."""
    t.table(COW, "id int, name string, at timestamp", key="at")
    t.write("bulk_insert", [1, "one", "2024-01-02T03:04:05.678901"], [2, "two", "2024-01-03T00:00:00"])


@golden("avro", "delete")
def mor_nested_keys(t: Story) -> None:
    """Record key, partition and ordering fields inside structs."""
    schema = "name string, k struct<id:int,at:struct<region:string,ts:bigint>>"

    def row(key: int, name: str | None, region: str, ts: int) -> list[object]:
        return [name, {"id": key, "at": {"region": region, "ts": ts}}]

    t.table(MOR, schema, key="k.id", partition="k.at.region", ordering="k.at.ts")
    t.upsert(row(1, "one", "a", 10), row(2, "two", "a", 10), row(3, "three", "b", 10))
    t.upsert(row(1, "one+", "a", 11), row(2, "late", "a", 9))
    t.delete(schema, row(3, None, "b", 11))


def keyless(t: Story, kind: str) -> None:
    """No key columns: Hudi gives each inserted row a key of its own. SQL changes rows by other columns."""
    t.table(kind, "id int, name string, ts bigint, part string", partition="part")
    t.write("insert", [1, "one", 10, "a"], [2, "two", 10, "a"], [2, "two", 10, "a"], [3, "three", 10, "b"])
    t.write("bulk_insert", [4, "four", 10, "b"])
    everything = "WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *"
    rows = [[2, "two+", 11, "a"], [5, "five", 11, "b"]]
    t.merge("id int, name string, ts bigint, part string", rows, f"ON t.id = s.id {everything}")
    t.merge("id int", [[3]], "ON t.id = s.id WHEN MATCHED THEN DELETE")


@golden()
def cow_keyless(t: Story) -> None:
    keyless(t, COW)


@golden("avro", "delete")
def mor_keyless(t: Story) -> None:
    keyless(t, MOR)


COLUMNS = "id int, amount int, note string, who struct<name:string,age:int>, ts bigint"
#: What becomes of these columns: one is renamed and retyped, one dropped and added again, a field in a struct renamed.
CHANGES = [
    "RENAME COLUMN amount TO total",
    "ALTER COLUMN total TYPE string",
    "DROP COLUMN note",
    "ADD COLUMNS (note string COMMENT 'another one' AFTER id)",
    "RENAME COLUMN who.age TO years",
]


@golden()
def cow_column_versions(t: Story) -> None:
    t.table(COW, COLUMNS, key="id", ordering="ts")
    t.upsert(*([i, i * 10, f"old {i}", {"name": f"n{i}", "age": i}, 10] for i in (1, 2, 3)))
    t.alter(*CHANGES)
    # new rows are in a file of their own, the others stay in one from before the changes
    t.run(f"INSERT INTO {t.name} VALUES (4, 'new 4', 'forty', named_struct('name', 'n4', 'years', 4), 11)")


@golden("avro", "delete")
def mor_column_versions(t: Story) -> None:
    t.table(MOR, COLUMNS, key="id", ordering="ts")
    t.upsert(*([i, i * 10, f"old {i}", {"name": f"n{i}", "age": i}, 10] for i in (1, 2, 3, 4)))
    # log blocks from before and after the changes
    t.upsert([2, 22, "old 2+", {"name": "n2", "age": 2}, 11])
    t.delete("id int, ts bigint", [4, 11])
    t.alter(*CHANGES)
    t.run(f"UPDATE {t.name} SET total = 'thirty', note = 'new 3', ts = 12 WHERE id = 3")


def older(version: str) -> dict[str, str]:
    return {"hoodie.write.table.version": version, "hoodie.write.auto.upgrade": "false"}


def older_version(t: Story, version: str) -> None:
    t.table(MOR, MARKED, key="id", partition="part", ordering="ts", **older(version))
    t.upsert([1, "one", 1.5, 10, "a", False], [2, "two", 2.5, 10, "a", False], [3, "three", 3.5, 10, "b", False])
    t.upsert([1, "one+", 1.0, 12, "a", False], [2, None, None, 11, "a", True])
    t.compact()
    t.upsert([1, "late", 0.0, 11, "a", False], [3, "three+", 3.0, 11, "b", False])
    t.upsert([3, "three++", 3.25, 12, "b", False])


@golden("avro", "delete")
def mor_v8(t: Story) -> None:
    older_version(t, "8")


@golden("avro", "delete")
def mor_v6(t: Story) -> None:
    older_version(t, "6")


@golden()
def cow_dropped_columns(t: Story) -> None:
    t.table(
        COW, "id int, name string, ts bigint, region string, day date", key="id", partition="region,day", ordering="ts",
        **{
            "hoodie.datasource.write.drop.partition.columns": "true",
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.datasource.write.partitionpath.urlencode": "true",
        },
    )  # fmt: skip
    t.upsert([1, "plain", 10, "north", "2024-01-02"], [2, "escaped", 10, "a/b=c %", "2024-01-02"])
    t.upsert([1, "plain+", 11, "north", "2024-01-02"], [3, "null region", 10, None, "2024-01-03"])


@golden("avro")
def mor_dropped_columns(t: Story) -> None:
    t.declare(
        MOR, "id int, name string, ts bigint, day date", key="id", partition="day", ordering="ts",
        **{"hoodie.datasource.write.drop.partition.columns": "true"},
    )  # fmt: skip
    t.upsert([1, "one", 10, "2024-01-02"], [2, "two", 10, "2024-01-03"])
    t.upsert([1, "one+", 11, "2024-01-02"])


@golden()
def cow_slashed_dates(t: Story) -> None:
    t.declare(
        COW, "id int, name string, ts bigint, day string", key="id", partition="day", ordering="ts",
        **{"hoodie.datasource.write.slash.separated.date.partitioning": "true"},
    )  # fmt: skip
    t.upsert([1, "one", 10, "2024-01-02"], [2, "two", 10, "2024-01-03"])
    t.upsert([1, "one+", 11, "2024-01-02"], [3, "three", 10, "2024-02-01"])


@golden()
def cow_virtual_keys(t: Story) -> None:
    t.table(
        COW, "id int, name string, ts bigint, part string", key="id", partition="part", ordering="ts",
        **{"hoodie.populate.meta.fields": "false"},
    )  # fmt: skip
    t.upsert([3, "three", 10, "a"], [1, "one", 10, "a"], [2, "two", 10, "b"])
    t.upsert([1, "one+", 11, "a"], [2, "late", 9, "b"])


@golden("avro", "delete")
def mor_virtual_keys(t: Story) -> None:
    t.table(
        MOR, "id int, name string, ts bigint, part string", key="id", partition="part", ordering="ts",
        **{"hoodie.populate.meta.fields": "false"},
    )  # fmt: skip
    t.upsert([3, "three", 10, "a"], [1, "one", 10, "a"], [2, "two", 10, "b"], [4, "four", 10, "b"])
    t.upsert([1, "one+", 11, "a"], [2, "late", 9, "b"])
    t.delete("id int, ts bigint, part string", [3, 12, "a"])
