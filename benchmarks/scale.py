"""Times a table with one worker and with two, and upserts of which half of the rows have one key.

Run it with ``./dev bench scale``. Every table is compared with plain Spark's rows by count and checksum.

- Workers: a standalone cluster on this machine, whose workers have a core each. The same work runs with one worker and
  then with two; the ratio is the time of two to the time of one.
- Skew: the ratio is the time of an upsert of which half of the rows have one key to the time of one of as many rows
  with keys at random.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import bench
import lineitem
import ratios
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from merganser import Table, TableType, WriteOptions

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "python" / "helpers"))

from cluster import cluster

KINDS = ["cow-simple", "mor-bucket"]
LARGEST_SKEW = 1.5
FILES = 8


@dataclass(frozen=True)
class Time:
    """Of one work on one kind of table, in seconds, once in each repetition."""

    part: str
    work: str
    kind: str
    baseline: list[float]
    measured: list[float]

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return statistics.median(self.measured) / statistics.median(self.baseline)


class Scale:
    """One run. Everything it makes lies in `folder`."""

    def __init__(self, folder: Path, scale: float, repetitions: int, say: Callable[[str], None]) -> None:
        self.folder = folder
        self.scale = scale
        self.repetitions = repetitions
        self.say = say
        self.data: lineitem.Lineitem | None = None
        self.skewed: lineitem.Batch | None = None

    def run(self) -> list[Time]:
        """Measure everything."""
        with session("local[2]") as spark:
            self._generate(spark)
            skew = self._skew(spark)
        with cluster(self.folder / "cluster", memory="2g") as master:
            by_workers = []
            for workers in (1, 2):
                with session(master, {"spark.cores.max": str(workers), "spark.executor.memory": "2g"}) as spark:
                    by_workers.append(self._works(spark))
                self.say(f"Measured with {workers} of the workers.")
        one, two = by_workers
        return [Time("workers", work, kind, one[work, kind], two[work, kind]) for work, kind in one] + skew

    def _generate(self, spark: SparkSession) -> None:
        self.say(f"Making lineitem at scale {self.scale} ...")
        self.data = lineitem.generate(spark, self.folder / "data", scale=self.scale, files=FILES, batches=2)
        even = self._parquet(spark, self.data.batches[0])
        half = even.count() // 2
        stored = self._parquet(spark, self.data.table)
        one = stored.limit(1).crossJoin(spark.range(half)).withColumn(lineitem.ORDERING, F.col("id") + 2_000_000)
        path = str(self.folder / "data" / "skewed")
        others = even.sample(0.5, seed=1)
        others.unionByName(one.drop("id")).repartition(2, F.rand(1)).write.parquet(path)
        merged = lineitem.merged(spark.read.parquet(local(self.data.table), path))
        self.skewed = lineitem.Batch(path, lineitem.checksum(merged))

    def _works(self, spark: SparkSession) -> dict[tuple[str, str], list[float]]:
        """Seconds of each work and kind of table; a first repetition to warm up is not among them."""
        assert self.data is not None
        found: dict[tuple[str, str], list[float]] = {}
        for repetition in range(1 + self.repetitions):
            for kind in KINDS:
                table, load = self._loaded(spark, kind)
                times = [("bulk load", load)]
                for batch in self.data.batches:
                    times.append(("upsert of 5 %", timed(table.upsert, self._parquet(spark, batch))))
                names = self.data.schema.names
                times.append(("snapshot read, all columns", timed(bench.consume, table.df, names)))
                if bench.VARIANTS[kind].table_type is TableType.MERGE_ON_READ:
                    times.append(("compaction", timed(table.compact)))
                bench.require(table, self.data.merged, f"{kind}, {spark.sparkContext.master}")
                if repetition:
                    for work, seconds in times:
                        found.setdefault((work, kind), []).append(seconds)
        return found

    def _skew(self, spark: SparkSession) -> list[Time]:
        """Upserts into a copy of the same table, in turns."""
        assert self.data is not None
        assert self.skewed is not None
        found = []
        for kind in KINDS:
            even: list[float] = []
            skewed: list[float] = []
            for repetition in range(1 + self.repetitions):
                for batch, times in ((self.data.batches[0], even), (self.skewed.path, skewed)):
                    table, _ = self._loaded(spark, kind)
                    seconds = timed(table.upsert, self._parquet(spark, batch))
                    if batch == self.skewed.path:
                        bench.require(table, self.skewed.result, f"{kind} after the skewed upsert")
                    if repetition:
                        times.append(seconds)
            found.append(Time("skew", "upsert of 5 %", kind, even, skewed))
            self.say(f"{kind}: half of the rows have one key: {found[-1].ratio:.2f}")
        return found

    def _loaded(self, spark: SparkSession, kind: str) -> tuple[Table, float]:
        """A new table with the rows of lineitem, and the seconds of the load."""
        assert self.data is not None
        path = self.folder / "table"
        shutil.rmtree(path, ignore_errors=True)
        table = bench.create(spark, str(path), self.data, bench.VARIANTS[kind], FILES)
        many = WriteOptions(hoodie={"hoodie.bulkinsert.shuffle.parallelism": str(FILES)})
        source = self._parquet(spark, self.data.table)
        return table, timed(table.bulk_insert, source, options=many)

    def _parquet(self, spark: SparkSession, path: str) -> DataFrame:
        assert self.data is not None
        return spark.read.schema(self.data.schema).parquet(local(path))


def local(path: str) -> str:
    """A path without the scheme of the file system that counts."""
    return path.removeprefix("counted://")


@contextmanager
def session(master: str, more: dict[str, str] | None = None) -> Iterator[SparkSession]:
    """A session that ends with the block."""
    settings = {
        "spark.hadoop.fs.counted.impl": "io.merganser.bench.CountingFileSystem",  # to which lineitem is written
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        **(more or {}),
    }
    spark = bench.start_session(master, "2g", FILES, settings)
    try:
        yield spark
    finally:
        spark.stop()


def timed(work: Callable[..., object], *given: object, **named: object) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    work(*given, **named)
    return time.perf_counter() - start


def page(times: Sequence[Time], scale: float, repetitions: int) -> str:
    """The results as Markdown."""

    def rows(part: str) -> list[list[str]]:
        return [
            [
                each.work,
                each.kind,
                *(f"{statistics.median(some):.2f} s" for some in (each.baseline, each.measured)),
                f"{each.ratio:.2f}",
            ]
            for each in times
            if each.part == part
        ]

    lines = [
        "# Workers and skew",
        "",
        "    ./dev bench scale --write",
        "",
        f"TPC-H's lineitem at scale {scale:g} in {FILES} files or buckets; medians of {repetitions} repetitions after "
        "one to warm up;",
        f"{platform.platform()}, {os.cpu_count()} cores, which driver, master and workers share. Every table had",
        "the rows that plain Spark makes of the same files.",
        "",
        "## Two workers beside one",
        "",
        ratios.table(["work", "table", "one worker", "two workers", "ratio"], rows("workers")),
        "",
        "## Half of the rows have one key",
        "",
        f"The ratio is at most {LARGEST_SKEW}.",
        "",
        ratios.table(["work", "table", "keys at random", "half one key", "ratio"], rows("skew")),
    ]
    return "\n".join(lines) + "\n"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev bench scale", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=0.3, help="TPC-H scale factor; 1 is 6 million rows")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="keep the results in benchmarks/results/")
    given = parser.parse_args(words)
    folder = Path(tempfile.mkdtemp(prefix="merganser-scale-")).resolve()
    try:
        times = Scale(folder, given.scale, given.repetitions, lambda text: print(text, flush=True)).run()
    except bench.WrongResult as wrong:
        print(f"WRONG RESULT: {wrong}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = page(times, given.scale, given.repetitions)
    print("\n" + found, end="")
    if given.write:
        (bench.RESULTS / "workers-and-skew.md").write_text(found)
    return 0 if all(each.ratio <= LARGEST_SKEW for each in times if each.part == "skew") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
