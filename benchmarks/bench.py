"""Times loads, changes, reads and compaction of TPC-H's lineitem beside plain Spark on the same Parquet files.

Run it with ``./dev bench``. Every measurement follows one of plain Spark in the same session, and what is reported is
their ratio, and what each side costs: jobs, shuffles and calls of the file system. Every table is compared with the
truth by count and checksum; one that differs fails the run.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import costs
import lineitem
import ratios
from costs import Measured
from lineitem import Lineitem, checksum
from pyspark.sql import DataFrame, SparkSession

import merganser
from merganser import IndexType, TableType, WriteOptions

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Variant:
    """A kind of table."""

    name: str
    table_type: TableType
    index: IndexType


VARIANTS = {
    f"{short}-{index.value.lower()}": Variant(f"{short}-{index.value.lower()}", table_type, index)
    for short, table_type in (("cow", TableType.COPY_ON_WRITE), ("mor", TableType.MERGE_ON_READ))
    for index in IndexType
}


@dataclass(frozen=True)
class Settings:
    """What is measured, and how often."""

    scale: float = 0.1
    files: int = 8
    batches: int = 3
    repetitions: int = 3
    warm_ups: int = 1
    reads: int = 3
    """Runs of each read, which is short; the middle one counts."""
    partitions: int = 0
    """Of the table; 0 is a table without partitions."""
    variants: list[str] = field(default_factory=lambda: list(VARIANTS))


class WrongResult(Exception):
    """A table does not hold what it has to."""


class Bench:
    """One run. Everything it makes lies in `folder`."""

    def __init__(self, spark: SparkSession, settings: Settings, folder: Path, say: Callable[[str], None]) -> None:
        self.spark = spark
        self.settings = settings
        self.folder = folder
        self.say = say
        self.counter = costs.Counter(spark)
        self.samples: list[ratios.Sample] = []
        self.data: Lineitem | None = None

    def run(self) -> list[ratios.Sample]:
        """Measure everything; the kinds of tables take turns in each repetition."""
        given = self.settings
        self.say(f"Making lineitem at scale {given.scale} and {given.batches} batches of changes ...")
        start = time.perf_counter()
        self.data = lineitem.generate(
            self.spark,
            self.folder / "data",
            scale=given.scale,
            files=given.files,
            batches=given.batches,
            partitions=given.partitions,
        )
        self.say(
            f"  {self.data.loaded[0]:,} rows, {self.data.size_bytes / 1e6:.1f} MB, {time.perf_counter() - start:.1f} s"
        )
        for repetition in range(given.warm_ups + given.repetitions):
            counted = repetition >= given.warm_ups
            name = f"repetition {repetition - given.warm_ups + 1}" if counted else "warm-up"
            for variant in given.variants:
                start = time.perf_counter()
                samples = list(self._measure(VARIANTS[variant], self.data))
                if counted:
                    self.samples += samples
                found = ", ".join(f"{sample.work} {sample.ratio:.2f}" for sample in samples)
                self.say(f"{name}, {variant}, {time.perf_counter() - start:.0f} s: {found}")
        return self.samples

    def _measure(self, variant: Variant, data: Lineitem) -> Iterator[ratios.Sample]:
        """Load a table, change it, read it, compact it, change it again, throw it away."""
        path = self.folder / "table"
        given = self.settings
        table = create(self.spark, costs.counted(path), data, variant, given.files, partitioned=given.partitions > 0)
        many = WriteOptions(hoodie={"hoodie.bulkinsert.shuffle.parallelism": str(self.settings.files)})

        def measured(
            work: str,
            ours: Callable[[], object],
            source: Callable[[], DataFrame] = lambda: self._parquet(data.table),
        ) -> ratios.Sample:
            """Measure plain Spark, which reads the source and writes it, then ours."""
            plain = self._rewrite(source)
            return sample(work, variant, self.counter.measure(ours), plain)

        yield measured("bulk load", lambda: table.bulk_insert(self._parquet(data.table), options=many))
        yield ratios.Sample("bytes on disk after it", variant.name, "bytes", lineitem.size_of(path), data.size_bytes)
        require(table, data.loaded, f"{variant.name} after the load")

        for batch in data.batches:
            yield measured("upsert of 5 %", partial(self._upsert, table, batch))
        yield from self._reads(table, data, "snapshot read", variant)
        require(table, data.merged, f"{variant.name} after {len(data.batches)} upserts")

        if variant.table_type is TableType.MERGE_ON_READ:
            yield measured("compaction", table.compact)
            yield from self._reads(table, data, "read after compaction", variant)
            require(table, data.merged, f"{variant.name} after compaction")

        yield measured("SQL MERGE of 5 %", partial(self._merge, table, data.statement.path))
        require(table, data.statement.result, f"{variant.name} after the SQL MERGE")
        few = data.few.path
        small = f"upsert of {lineitem.FEW} rows"
        yield measured(small, partial(self._upsert, table, few), partial(self._parquet, few))
        require(table, data.few.result, f"{variant.name} after the small upsert")
        if data.one_partition is not None:
            changes = data.one_partition.path
            yield measured(
                f"upsert of 5 % of one of {self.settings.partitions} partitions",
                partial(self._upsert, table, changes),
                lambda: self._parquet(data.table).where(f"{lineitem.PARTITION} = 0"),
            )
            require(table, data.one_partition.result, f"{variant.name} after the upsert into one partition")
        shutil.rmtree(path)

    def _upsert(self, table: merganser.Table, batch: str) -> None:
        table.upsert(self._parquet(batch))

    def _merge(self, table: merganser.Table, batch: str) -> None:
        """Merge a batch by a SQL statement."""
        self._parquet(batch).createOrReplaceTempView("changes")
        names = [*lineitem.KEY, *([lineitem.PARTITION] if self.settings.partitions else [])]
        on = " AND ".join(f"t.{name} = s.{name}" for name in names)
        self.spark.sql(
            f"MERGE INTO merganser.`{table.path}` t USING changes s ON {on} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        ).collect()

    def _reads(self, table: merganser.Table, data: Lineitem, name: str, variant: Variant) -> Iterator[ratios.Sample]:
        """Read by plain Spark and by us in turns."""
        for columns, what in (
            (lineitem.THREE_COLUMNS, "3 columns"),
            (data.schema.names, "all columns"),
        ):
            plain, ours = [], []
            for _ in range(self.settings.reads):
                plain.append(self.counter.measure(partial(consume, partial(self._parquet, data.table), columns)))
                ours.append(self.counter.measure(partial(consume, table.df, columns)))
            yield sample(f"{name}, {what}", variant, middle(ours), middle(plain))

    def _rewrite(self, source: Callable[[], DataFrame]) -> Measured:
        """Plain Spark reads the source's Parquet files and writes them."""
        target = self.folder / "plain"
        measured = self.counter.measure(lambda: source().write.parquet(costs.counted(target)))
        shutil.rmtree(target)
        return measured

    def _parquet(self, path: str) -> DataFrame:
        """Plain Spark's frame; its schema is given, so that no job runs to find it."""
        assert self.data is not None
        return self.spark.read.schema(self.data.schema).parquet(path)


def create(
    spark: SparkSession, path: str, data: Lineitem, variant: Variant, buckets: int, *, partitioned: bool = False
) -> merganser.Table:
    """An empty table for lineitem."""
    return merganser.Table.create(
        spark,
        path,
        data.schema,
        record_key=lineitem.KEY,
        partition_by=lineitem.PARTITION if partitioned else None,
        ordering_by=lineitem.ORDERING,
        table_type=variant.table_type,
        index=variant.index,
        options={"hoodie.bucket.index.num.buckets": str(buckets)} if variant.index is IndexType.BUCKET else None,
    )


def sample(work: str, variant: Variant, ours: Measured, plain: Measured) -> ratios.Sample:
    return ratios.Sample(work, variant.name, "seconds", ours.seconds, plain.seconds, ours.costs, plain.costs)


def middle(runs: Sequence[Measured]) -> Measured:
    """The run that took the median time."""
    return sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]


def consume(rows: Callable[[], DataFrame], columns: list[str]) -> None:
    """Read every value of the columns and drop it."""
    rows().select(columns).write.format("noop").mode("overwrite").save()


def require(table: merganser.Table, expected: tuple[int, int], where: str) -> None:
    """Compare a table with the truth.

    Raises:
        WrongResult: They differ.
    """
    found = checksum(table.df())
    if found != expected:
        raise WrongResult(f"{where}: {found[0]:,} rows, checksum {found[1]}; right are {expected[0]:,}, {expected[1]}.")


def described(spark: SparkSession, settings: Settings, data: Lineitem) -> dict[str, object]:
    """What a reader of the numbers has to know."""
    java: Any = spark.sparkContext._jvm
    megabytes = data.size_bytes / 1e6
    conf = spark.sparkContext.getConf()
    return {
        "scale": f"{settings.scale} ({data.loaded[0]:,} rows, {megabytes:.1f} MB in {settings.files} files)",
        "batches": f"{settings.batches}, each {lineitem.CHANGED:.0%} of the keys at random: {lineitem.LATE:.0%} late, "
        f"{lineitem.DOUBLED:.0%} doubled, {lineitem.NEW:.0%} new",
        "repetitions": f"{settings.repetitions} after {settings.warm_ups} to warm up",
        "tables": f"key {', '.join(lineitem.KEY)}; ordering {lineitem.ORDERING}; {settings.files} files or buckets"
        + (f"; {settings.partitions} partitions" if settings.partitions else ""),
        "file system": "Hadoop's local one, without checksum files; its calls are counted",
        "Spark": f"{spark.version}, {conf.get('spark.master')}, {conf.get('spark.driver.memory', 'default')} memory, "
        f"{spark.conf.get('spark.sql.shuffle.partitions')} shuffle partitions",
        "Java": java.System.getProperty("java.version"),
        "machine": f"{platform.platform()}, {os.cpu_count()} cores",
    }


def start_session(master: str, memory: str, files: int, more: Mapping[str, str] | None = None) -> SparkSession:
    settings = {
        "spark.jars": str(costs.jar()),
        "spark.driver.memory": memory,
        "spark.sql.shuffle.partitions": str(files),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = merganser.session("bench", master=master, config={**settings, **(more or {})})
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def arguments(words: list[str]) -> argparse.Namespace:
    usual = Settings()
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=usual.scale, help="TPC-H scale factor; 1 is 6 million rows")
    parser.add_argument("--files", type=int, default=usual.files, help="files of the table, and its buckets")
    parser.add_argument("--batches", type=int, default=usual.batches, help="upserts")
    parser.add_argument("--partitions", type=int, default=usual.partitions, help="of the table; 0: not partitioned")
    parser.add_argument("--repetitions", type=int, default=usual.repetitions)
    parser.add_argument("--warm-ups", type=int, default=usual.warm_ups)
    parser.add_argument("--only", nargs="+", choices=list(VARIANTS), default=usual.variants, help="kinds of tables")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="3g", help="of the JVM")
    parser.add_argument("--folder", type=Path, help="where data and tables go; a temporary folder unless given")
    parser.add_argument(
        "--write", action="store_true", help=f"keep the results in {RESULTS.parent.name}/{RESULTS.name}/"
    )
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    given = arguments(words)
    settings = Settings(
        given.scale,
        given.files,
        given.batches,
        given.repetitions,
        given.warm_ups,
        variants=given.only,
        partitions=given.partitions,
    )
    spark = start_session(f"local[{given.cores}]", given.memory, given.files)
    folder = Path(tempfile.mkdtemp(prefix="merganser-bench-", dir=given.folder)).resolve()
    bench = Bench(spark, settings, folder, lambda text: print(text, flush=True))
    try:
        samples = bench.run()
        assert bench.data is not None
        description = described(spark, settings, bench.data)
    except WrongResult as wrong:
        print(f"WRONG RESULT: {wrong}", file=sys.stderr)
        return 1
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print("\n" + ratios.markdown(description, ratios.summed_up(samples)), end="")
    if given.write:
        for file in ratios.write(
            RESULTS, f"spark-{spark_line(description)}-scale-{settings.scale:g}", description, samples
        ):
            print(f"Wrote {file.relative_to(RESULTS.parents[1])}")
    return 0


def spark_line(description: dict[str, object]) -> str:
    """The Spark line of a run, such as 3.5."""
    return ".".join(str(description["Spark"]).split(",")[0].split(".")[:2])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
