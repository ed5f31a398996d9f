"""Times changes of few rows or columns of one base file beside plain Spark, which reads and writes the file.

    ./dev python benchmarks/touched.py [--rows 1000000] [--row-groups 8] [--repetitions 5]

Columns and row groups without a change are copied as bytes, so that a change should cost what it touches. Every result
is compared with the rows that are right.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ratios
from pyspark.sql import DataFrame, SparkSession

import merganser
from merganser import Table, TableType, WriteOptions

#: Sixteen columns: numbers, amounts, dates, few and many strings.
COLUMNS = [
    "concat('order-', lpad(cast(n AS string), 12, '0')) AS id",
    "cast({ts} AS long) AS ts",
    "cast(pmod(hash(n, {salt}, 1), 100000) AS int) AS quantity",
    "pmod(xxhash64(n, {salt}, 2), 1000000000) AS customer",
    "pmod(xxhash64(n, {salt}, 3), 2000000) AS part",
    "cast(pmod(hash(n, {salt}, 4), 1000000) / 100 AS double) AS price",
    "cast(pmod(hash(n, {salt}, 5), 10) / 100 AS decimal(12, 2)) AS discount",
    "cast(pmod(hash(n, {salt}, 6), 10000) / 100 AS decimal(12, 2)) AS tax",
    "date_add(date'2020-01-01', pmod(hash(n, {salt}, 7), 2000)) AS shipped",
    "timestamp_micros(1600000000000000 + pmod(xxhash64(n, {salt}, 8), 100000000000000)) AS at",
    "concat('status ', pmod(hash(n, {salt}, 9), 5)) AS status",
    "concat('mode ', pmod(hash(n, {salt}, 10), 7)) AS mode",
    "md5(cast(n + {salt} AS string)) AS token",
    "concat_ws(' ', hex(hash(n, {salt}, 11)), hex(hash(n, {salt}, 12)), hex(hash(n, {salt}, 13))) AS note",
    "pmod(hash(n, {salt}, 14), 2) = 0 AS open",
    "array(pmod(hash(n, {salt}, 15), 100), pmod(hash(n, {salt}, 16), 100)) AS marks",
]


@dataclass(frozen=True)
class Settings:
    """What is measured, and how often."""

    rows: int = 1_000_000
    row_groups: int = 1
    repetitions: int = 5
    warm_ups: int = 1


def versions(numbers: DataFrame, commit: int) -> DataFrame:
    """Rows of some numbers `n` as a commit writes them."""
    return numbers.selectExpr(*(column.format(ts=commit, salt=commit) for column in COLUMNS))


def checksum(rows: DataFrame) -> tuple[int, int]:
    """Number of the rows, and a sum of hashes of all values."""
    found = rows.selectExpr("count(*) AS c", f"sum(cast(xxhash64({', '.join(sorted(rows.columns))}) AS decimal(38))) s")
    row = found.first()
    assert row is not None
    return int(row.c), int(row.s or 0)


class Bench:
    """One run. Everything that it makes is in `folder`."""

    def __init__(self, spark: SparkSession, settings: Settings, folder: Path) -> None:
        self.spark = spark
        self.settings = settings
        self.folder = folder
        self.plain = str(folder / "plain")
        self.numbers = spark.range(0, settings.rows, 1, 1).selectExpr("id AS n")
        versions(self.numbers, 0).write.parquet(self.plain)
        self.loaded = {kind: self._load(kind) for kind in TableType}
        self.count = 0
        self.right: dict[str, tuple[int, int]] = {}

    def run(self, say: Callable[[str], None]) -> list[ratios.Sample]:
        """Measure each work on a new table, in turns."""
        samples = []
        for repetition in range(self.settings.warm_ups + self.settings.repetitions):
            found = list(self._works())
            if repetition >= self.settings.warm_ups:
                samples += found
            say(", ".join(f"{sample.work} {sample.ratio:.2f}" for sample in found))
        return samples

    def _works(self) -> Iterator[ratios.Sample]:
        rows = self.settings.rows
        middle = self._source("range", self.numbers.where(f"n >= {rows // 2} AND n < {rows // 2 + rows // 100}"))
        few = self._source("few", self.numbers.where("pmod(xxhash64(n), 1000) = 0"))
        some = self._source("some", self.numbers.where("pmod(xxhash64(n), 20) = 0"))
        yield self._measured(
            "upsert inside 1 % of the keys", lambda table: table.upsert(middle), middle, middle.columns
        )
        yield self._measured(
            "two columns of 5 % at random", lambda table: self._merge(table, some), some, ["price", "status"]
        )
        yield self._measured("upsert of 0.1 % at random", lambda table: table.upsert(few), few, few.columns)
        yield self._measured("upsert of 5 % at random", lambda table: table.upsert(some), some, some.columns)
        yield self._compacted(
            "compaction of 1 % of the keys", lambda table: table.upsert(middle), middle, middle.columns
        )
        yield self._compacted(
            "compaction of two columns of 5 %", lambda table: self._merge(table, some), some, ["price", "status"]
        )

    def _source(self, name: str, numbers: DataFrame) -> DataFrame:
        path = self.folder / name
        if not path.exists():
            versions(numbers, 1).write.parquet(str(path))
        return self.spark.read.parquet(str(path))

    def _merge(self, table: Table, rows: DataFrame) -> None:
        rows.createOrReplaceTempView("changes")
        self.spark.sql(
            f"MERGE INTO merganser.`{table.path}` t USING changes s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET price = s.price, status = s.status"
        ).collect()

    def _compacted(
        self, work: str, change: Callable[[Table], object], changes: DataFrame, columns: Sequence[str]
    ) -> ratios.Sample:
        """The compaction of a merge-on-read table that was changed."""
        return self._measured(work, lambda table: table.compact(), changes, columns, change)

    def _measured(
        self,
        work: str,
        change: Callable[[Table], object],
        changes: DataFrame,
        columns: Sequence[str],
        before_compaction: Callable[[Table], object] | None = None,
    ) -> ratios.Sample:
        """Plain Spark rewrites the rows, then ours changes a new table with them.

        Raises:
            AssertionError: The table has other rows than it should.
        """
        before = self.spark.read.parquet(self.plain)
        self.count += 1
        kind = TableType.MERGE_ON_READ if before_compaction else TableType.COPY_ON_WRITE
        table = Table.load(self.spark, shutil.copytree(self.loaded[kind].path, self.folder / f"table{self.count}"))
        if before_compaction:
            before_compaction(table)
        start = time.perf_counter()
        before.write.parquet(str(self.folder / "rewritten"))
        plain = time.perf_counter() - start
        shutil.rmtree(self.folder / "rewritten")
        start = time.perf_counter()
        change(table)
        ours = time.perf_counter() - start
        if work not in self.right:
            self.right[work] = checksum(self._changed(before, changes, columns))
        assert checksum(table.df()) == self.right[work], work
        shutil.rmtree(table.path)
        return ratios.Sample(work, f"{self.settings.row_groups} row groups", "seconds", ours, plain)

    def _changed(self, before: DataFrame, changes: DataFrame, columns: Sequence[str]) -> DataFrame:
        """The rows that are right, by plain Spark."""
        kept = [name for name in before.columns if name not in columns and name != "id"]
        new = changes.select("id", *(name for name in columns if name != "id"))
        return before.join(changes.select("id"), "id", "left_anti").unionByName(
            before.select("id", *kept).join(new, "id")
        )

    def _load(self, kind: TableType) -> Table:
        rows = self.spark.read.parquet(self.plain)
        table = Table.create(
            self.spark,
            self.folder / kind.name.lower(),
            rows.schema,
            record_key="id",
            ordering_by="ts",
            table_type=kind,
        )
        if self.settings.row_groups > 1:  # for the changes too
            size = sum(file.stat().st_size for file in Path(self.plain).glob("*.parquet"))
            self.spark.conf.set("hoodie.parquet.block.size", int(size * 1.2 / self.settings.row_groups))
        table.bulk_insert(rows, options=WriteOptions(hoodie={"hoodie.bulkinsert.shuffle.parallelism": "1"}))
        return table


def main(words: Sequence[str]) -> int:
    usual = Settings()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=usual.rows)
    parser.add_argument("--row-groups", type=int, default=usual.row_groups, help="of the file")
    parser.add_argument("--repetitions", type=int, default=usual.repetitions)
    parser.add_argument("--warm-ups", type=int, default=usual.warm_ups)
    given = parser.parse_args(words)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "3g",
    }
    spark = merganser.session("touched", master="local[2]", config=settings)
    spark.sparkContext.setLogLevel("ERROR")
    folder = Path(tempfile.mkdtemp(prefix="merganser-touched-")).resolve()
    try:
        run = Bench(spark, Settings(given.rows, given.row_groups, given.repetitions, given.warm_ups), folder)
        samples = run.run(lambda text: print(text, flush=True))
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print(ratios.table_of_ratios(ratios.summed_up(samples)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
