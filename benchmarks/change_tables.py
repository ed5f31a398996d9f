"""What `changes.py` measures, for one engine in one session: tables, reads of their changes, and micro-batches.

Every option is Hudi's, so that Hudi and Merganser run the same code; they differ in the name of the format.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import costs
import lineitem
from costs import Measured
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

SCHEMA = "id long, ts long, v long, amount double, text string, note string"
FIRST_ID = 1_000_000_000  # so that keys as strings are in the order of the numbers

#: Tables that are read; those with change files, which Hudi needs for a read of change data.
READ = {
    "cow": {"hoodie.datasource.write.table.type": "COPY_ON_WRITE"},
    "cow-cdc": {"hoodie.datasource.write.table.type": "COPY_ON_WRITE", "hoodie.table.cdc.enabled": "true"},
    "mor": {"hoodie.datasource.write.table.type": "MERGE_ON_READ", "hoodie.table.cdc.enabled": "true"},
}
BUCKETS = 8

#: Tables that streams write to.
STREAMED = {
    "cow-simple": {"hoodie.datasource.write.table.type": "COPY_ON_WRITE", "hoodie.index.type": "SIMPLE"},
    "mor-simple": {"hoodie.datasource.write.table.type": "MERGE_ON_READ", "hoodie.index.type": "SIMPLE"},
    "mor-bucket": {
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": str(BUCKETS),
    },
}
OPTIONS = {
    "hoodie.table.name": "changes",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.compact.inline": "false",
    "hoodie.datasource.write.streaming.disable.compaction": "true",
}
PARALLELISM = "8"

#: Hudi's defaults are made for larger tables than these; its metadata table would make each commit slower.
OF_HUDI = {
    "hoodie.metadata.enable": "false",
    "hoodie.upsert.shuffle.parallelism": PARALLELISM,
    "hoodie.simple.index.parallelism": PARALLELISM,
    "hoodie.bloom.index.parallelism": PARALLELISM,
}
INCREMENTAL = "hoodie.datasource.query.type"
SORT = ("spark.sql.shuffle.partitions", "spark.sql.adaptive.enabled")
CHANGED = "NOT (before.ts <=> after.ts AND before.v <=> after.v AND before.amount <=> after.amount AND "
CHANGED += "before.text <=> after.text AND before.note <=> after.note)"


@dataclass(frozen=True)
class Settings:
    """What is measured, and how often."""

    rows: int = 1_000_000
    """Rows of the tables that are read."""
    files: int = 100
    """Their file groups, each with a range of the keys; an upsert has as many rows as one of them."""
    streamed: int = 200_000
    """Rows of the tables that micro-batches are written to, in `BUCKETS` file groups."""
    batch: int = 10_000
    """Rows of a micro-batch: nine of ten have stored keys, at random."""
    repetitions: int = 5
    warm_ups: int = 1
    tables: list[str] = field(default_factory=lambda: [*READ, *STREAMED])

    @property
    def batches(self) -> int:
        return self.warm_ups + self.repetitions


@dataclass(frozen=True)
class Work:
    """One read, measured when so many upserts have been committed."""

    name: str
    query: str
    """`snapshot`, `rows` or `changes`."""
    commits: int
    table: str
    since: int | None = None
    """Position of the commit after which the window begins; None: from the first commit on."""


NEAR, SPREAD = "1 % in two files", "1 % in all files"
READS = [
    *(Work(f"incremental read of {NEAR}", "rows", 1, table, 0) for table in ("cow", "mor")),
    *(Work(f"change data of {NEAR}", "changes", 1, table, 0) for table in READ),
    *(Work(f"incremental read of {SPREAD}", "rows", 2, table, 1) for table in ("cow", "mor")),
    *(Work(f"change data of {SPREAD}", "changes", 2, table, 1) for table in READ),
    *(Work("incremental read of all", "rows", 2, table) for table in ("cow", "mor")),
    *(Work("snapshot read", "snapshot", 2, table) for table in ("cow", "mor")),
]


# ---- rows, the same for all


def loaded(spark: SparkSession, count: int, files: int) -> DataFrame:
    """The first rows, a range of keys in each partition."""
    return versions(spark.range(0, count, 1, files).selectExpr("id AS n"), 0)


def versions(numbers: DataFrame, commit: int) -> DataFrame:
    """Rows of some numbers `n` as a commit writes them."""
    return numbers.selectExpr(
        f"n + {FIRST_ID}L AS id",
        f"{commit}L AS ts",
        f"n + {commit}L * 1000000000L AS v",
        f"n * 0.25D + {commit} AS amount",
        "md5(string(n)) AS text",
        f"concat('note ', sha1(string(n + {commit}L))) AS note",
    )


def changed(spark: SparkSession, settings: Settings, commit: int) -> DataFrame:
    """The rows of the first upsert, with neighbouring keys, half of two files, or of the second one, of all files."""
    one = settings.rows // settings.files
    if commit == 1:
        first = settings.files // 2 * one - one // 2
        return versions(spark.range(first, first + one, 1, 2).selectExpr("id AS n"), 1)
    step = settings.files
    return versions(spark.range(step // 2, settings.rows, step, 2).selectExpr("id AS n"), 2)


def micro_batch(spark: SparkSession, settings: Settings, number: int) -> DataFrame:
    """Rows of one file: distinct stored keys at random, and new keys."""
    new = settings.batch // 10
    stored = spark.range(settings.streamed).selectExpr("id AS n", f"xxhash64(id, {number}) AS h")
    chosen = stored.orderBy("h").limit(settings.batch - new).select("n")
    more = spark.range(settings.streamed + number * new, settings.streamed + (number + 1) * new).selectExpr("id AS n")
    return versions(chosen.union(more), number + 1).coalesce(1)


def newest(rows: DataFrame) -> DataFrame:
    """Of each key the version with the largest ordering value, by plain Spark."""
    return rows.groupBy("id").agg(F.max_by(F.struct(*rows.columns), "ts").alias("row")).select("row.*")


# ---- one engine


class Engine:
    """An engine and plain Spark in one session.

    Args:
        name: Of the format, `merganser` or `hudi`.
        folder: Where tables and Parquet files are; all calls of the file system below `slow/` in it are counted.
        address: Of a path, on the file system that counts.
    """

    def __init__(
        self, spark: SparkSession, name: str, settings: Settings, folder: Path, address: Callable[[Path], str]
    ) -> None:
        self.spark = spark
        self.name = name
        self.settings = settings
        self.folder = folder
        self.tables = folder / "slow" / name
        self.files = folder / "slow" / "plain"
        self.address = address
        self.counter = costs.Counter(spark)
        self.options = {**OPTIONS, **(OF_HUDI if name == "hudi" else {})}
        self.times: dict[str, list[str]] = {}
        self.streams: dict[str, StreamingQuery] = {}

    # -- tables that are read

    def load(self, table: str) -> None:
        """Make a table with a file for each range of keys."""
        given = self.settings
        kind = {**READ[table], "hoodie.index.type": "SIMPLE", "hoodie.parquet.small.file.limit": "0"}
        self._load(table, loaded(self.spark, given.rows, given.files), kind, given.files)
        self.times[table] = completions(self.tables / table)

    def upsert(self, table: str, commit: int) -> None:
        options = {**self.options, **READ[table], "hoodie.index.type": "SIMPLE", "hoodie.parquet.small.file.limit": "0"}
        self._save(changed(self.spark, self.settings, commit), table, options)
        self.times[table] = completions(self.tables / table)

    def read(self, number: int) -> Measured:
        """Measure a read by this engine."""
        return self.counter.measure(lambda: consume(self._rows(READS[number])))

    def read_whole(self, number: int) -> Measured:
        """Measure a snapshot read of the same table."""
        whole = replace(READS[number], query="snapshot")
        return self.counter.measure(lambda: consume(self._rows(whole)))

    def read_plain(self, number: int) -> Measured:
        """Measure plain Spark's read of what the engine has to read."""
        return self.counter.measure(lambda: consume(self._plain_rows(READS[number])))

    def result(self, number: int) -> tuple[int, int]:
        """Checksum of a read; of changes, of their operation, the key, and a number before and after."""
        work = READS[number]
        return lineitem.checksum(summary(self._rows(work), work))

    def result_plain(self, number: int) -> tuple[int, int]:
        work = READS[number]
        return lineitem.checksum(summary(self._plain_rows(work), work))

    def _rows(self, work: Work) -> DataFrame:
        reader = self.spark.read.format(self.name).options(**(OF_HUDI if self.name == "hudi" else {}))
        if work.query != "snapshot":
            begin = "000" if work.since is None else self.times[work.table][work.since]
            reader = reader.option("hoodie.datasource.read.begin.instanttime", begin).option(INCREMENTAL, "incremental")
        if work.query == "changes":
            return reader.option("hoodie.datasource.query.incremental.format", "cdc").load(self._at(work.table))
        return reader.load(self._at(work.table)).select(*names())

    def _plain_rows(self, work: Work) -> DataFrame:
        """The rows from files that have them alone; changes by a join of the files before and after the commit."""
        if work.query == "snapshot" or work.since is None:
            return self._parquet("after-2")
        if work.query == "rows":
            return self._parquet(f"changed-{work.commits}")
        before, after = (self._parquet(f"{side}-{work.commits}").alias(side) for side in ("before", "after"))
        joined = before.join(after, F.expr("before.id = after.id"), "full_outer").where(CHANGED)
        images = (f"to_json(struct({side}.*), map('ignoreNullFields', 'false')) AS {side}" for side in IMAGES)
        op = "CASE WHEN before.id IS NULL THEN 'i' WHEN after.id IS NULL THEN 'd' ELSE 'u' END AS op"
        return joined.selectExpr(op, "'0' AS ts_ms", *images)

    # -- tables that streams write to

    def load_streamed(self, table: str) -> None:
        rows = loaded(self.spark, self.settings.streamed, BUCKETS)
        self._load(table, rows, STREAMED[table], BUCKETS)

    def start_streams(self, table: str) -> None:
        """Start a stream to a table, and one of plain Spark.

        Plain Spark writes the rows of micro-batches, as merge-on-read tables do; beside a copy-on-write table it also
        reads and writes the Parquet files of the table, as that does.
        """
        options = {**self.options, **STREAMED[table], "hoodie.datasource.write.operation": "upsert"}
        target = self.address(self.files / f"of-{self.name}-{table}")
        stored = self._parquet("streamed")

        def rewrite(rows: DataFrame, batch: int) -> None:
            stored.unionByName(rows).write.mode("overwrite").parquet(target)

        own = self._writer(f"{self.name}-{table}").format(self.name).options(**options).start(self._at(table))
        plain = self._writer(f"plain-{self.name}-{table}")
        if table.startswith("cow"):
            self.streams["plain"] = plain.foreachBatch(rewrite).start()
        else:
            self.streams["plain"] = plain.format("parquet").start(target)
        self.streams["own"] = own

    def stop_streams(self, table: str) -> None:
        for query in self.streams.values():
            query.stop()

    def stream(self, table: str, number: int) -> Measured:
        """Measure one micro-batch into a table of the engine."""
        return self._stream(f"{self.name}-{table}", number, self.streams["own"])

    def stream_plain(self, table: str, number: int) -> Measured:
        """Measure one micro-batch by plain Spark."""
        return self._stream(f"plain-{self.name}-{table}", number, self.streams["plain"])

    def result_streamed(self, table: str) -> tuple[int, int]:
        reader = self.spark.read.format(self.name).options(**(OF_HUDI if self.name == "hudi" else {}))
        return lineitem.checksum(reader.load(self._at(table)).select(*names()))

    def _writer(self, query: str) -> DataStreamWriter:
        """Of a stream from a folder of its own, which looks for files often enough and leaves the cores to others."""
        source = self.folder / "sources" / query
        source.mkdir(parents=True)
        rows = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
        writer = rows.writeStream.trigger(processingTime="500 milliseconds")
        return writer.option("checkpointLocation", str(self.folder / "checkpoints" / query))

    def _stream(self, query: str, number: int, running: StreamingQuery) -> Measured:
        """One micro-batch of one file. Seconds are those of its trigger."""
        source = self.folder / "sources" / query
        before = len(with_rows(running))

        def run() -> None:
            os.link(self.folder / "batches" / f"{number}.parquet", source / f"{number}.parquet")
            running.processAllAvailable()

        whole = self.counter.measure(run)
        (progress,) = with_rows(running)[before:]
        return Measured(progress["durationMs"]["triggerExecution"] / 1000, whole.costs)

    # -- common

    def _load(self, table: str, rows: DataFrame, kind: Mapping[str, str], files: int) -> None:
        """Make a table of some files, each with a range of the keys unless they are buckets."""
        bulk = {
            "hoodie.datasource.write.operation": "bulk_insert",
            "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT",
            "hoodie.bulkinsert.shuffle.parallelism": str(files),
        }
        # Hudi writes a file for each partition that Spark's sort has.
        usual = {name: self.spark.conf.get(name) for name in SORT}
        for name, value in zip(SORT, (str(files), "false"), strict=True):
            self.spark.conf.set(name, value)
        self._save(rows, table, {**self.options, **kind, **bulk})
        for name, value in usual.items():
            self.spark.conf.set(name, value)
        found = len(list((self.tables / table).rglob("*.parquet")))
        if found != files:
            raise WrongResult(f"the load of {self.name}'s {table} has made {found} files, {files} are right")

    def _save(self, rows: DataFrame, table: str, options: Mapping[str, str]) -> None:
        rows.write.format(self.name).options(**options).mode("append").save(self._at(table))

    def _at(self, table: str) -> str:
        return self.address(self.tables / table)

    def _parquet(self, name: str) -> DataFrame:
        """Plain Spark's frame; its schema is given, so that no job runs to find it."""
        return self.spark.read.schema(SCHEMA).parquet(self.address(self.files / name))


class WrongResult(Exception):
    """A table or a read does not have the rows that it has to."""


IMAGES = ("before", "after")


def names() -> list[str]:
    return [column.split()[0] for column in SCHEMA.split(", ")]


def consume(rows: DataFrame) -> None:
    """Compute every value and drop it."""
    rows.write.format("noop").mode("overwrite").save()


def with_rows(running: StreamingQuery) -> list[Mapping[str, Any]]:
    """The progress of micro-batches that had rows."""
    return [progress for progress in running.recentProgress if progress["numInputRows"]]


def summary(rows: DataFrame, work: Work) -> DataFrame:
    """What has to be equal in all engines; they print numbers in images in different forms."""
    if work.query != "changes":
        return rows
    fields = [
        f"CAST(get_json_object({side}, '$.{name}') AS LONG) AS {side}_{name}" for side in IMAGES for name in ("id", "v")
    ]
    return rows.selectExpr("op", *fields)


def completions(table: Path) -> list[str]:
    """When the commits of a table completed."""
    files = (table / ".hoodie" / "timeline").glob("*_*.*commit")
    return sorted(file.name.split(".")[0].split("_")[1] for file in files)


def write_files(spark: SparkSession, settings: Settings, folder: Path) -> None:
    """The Parquet files that plain Spark reads, and those of the micro-batches."""
    files = folder / "slow" / "plain"

    def save(name: str, rows: DataFrame) -> DataFrame:
        rows.write.parquet(str(files / name))
        return spark.read.schema(SCHEMA).parquet(str(files / name))

    one = settings.rows // settings.files
    first = save("loaded", loaded(spark, settings.rows, settings.files))
    near = save("changed-1", changed(spark, settings, 1).coalesce(1))
    spread = save("changed-2", changed(spark, settings, 2))

    def in_files(rows: DataFrame, count: int = settings.files) -> DataFrame:
        return rows.repartitionByRange(count, "id").sortWithinPartitions("id")

    middle = FIRST_ID + settings.files // 2 * one
    two_files = f"id >= {middle - one} AND id < {middle + one}"
    save("before-1", in_files(first.where(two_files), 2))
    before = save("before-2", in_files(newest(first.union(near))))
    save("after-1", in_files(before.where(two_files), 2))
    save("after-2", in_files(newest(before.union(spread))))
    shutil.rmtree(files / "loaded")
    save("streamed", loaded(spark, settings.streamed, BUCKETS))
    batches = folder / "batches"
    batches.mkdir()
    for number in range(settings.batches):
        micro_batch(spark, settings, number).write.parquet(str(batches / "written"))
        (written,) = (batches / "written").glob("*.parquet")
        written.rename(batches / f"{number}.parquet")
        shutil.rmtree(batches / "written")


def streamed_result(spark: SparkSession, folder: Path) -> tuple[int, int]:
    """Checksum of the table that has all micro-batches."""
    stored = spark.read.schema(SCHEMA).parquet(str(folder / "slow" / "plain" / "streamed"))
    sent = spark.read.schema(SCHEMA).parquet(str(folder / "batches"))
    return lineitem.checksum(newest(stored.union(sent)))
