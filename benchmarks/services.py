"""Times table services beside code that moves the same bytes: cleans, archivings, compactions and clusterings.

Run it with ``./dev bench services``. A service is measured right after its baseline in the same session:

- a clean deletes the files of superseded slices; the baseline deletes as many files of the same sizes, one after the
  other, by Hadoop's file system;
- an archiving moves instants to one file of the history; the baseline copies the same files of the timeline into one
  file and deletes them, likewise;
- a compaction merges logs with base files; the baseline is plain Spark, which reads the table's base files and writes
  them;
- a clustering sorts the rows of many files into one; the baseline is plain Spark, which does so with the same files.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bench
import costs
import ratios
from pyspark.sql import SparkSession

from merganser import Table, TableType

SCHEMA = "id long, v long, text string, ts long"
OFF = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}

#: The newest file slices alone.
NEWEST = {**OFF, "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}


@dataclass(frozen=True)
class Settings:
    """What is measured, and how often."""

    groups: int = 16
    """File groups of the tables."""
    rows: int = 200_000
    commits: int = 40
    """Upserts before a clean or an archiving; each rewrites all file groups."""
    repetitions: int = 3
    warm_ups: int = 1


class Services:
    """One run. Everything it makes lies in `folder`."""

    def __init__(self, spark: SparkSession, settings: Settings, folder: Path, say: Callable[[str], None]) -> None:
        self.spark = spark
        self.settings = settings
        self.folder = folder
        self.say = say
        self.counter = costs.Counter(spark)
        self.hadoop: Any = spark._jvm.org.apache.hadoop  # type: ignore[union-attr, unused-ignore]

    def run(self) -> list[ratios.Sample]:
        """Measure every service, in turns."""
        samples: list[ratios.Sample] = []
        for repetition in range(self.settings.warm_ups + self.settings.repetitions):
            for name, service in SERVICES.items():
                sample = service(self)
                if repetition >= self.settings.warm_ups:
                    samples.append(sample)
                self.say(
                    f"repetition {repetition}, {name}: {sample.ours:.2f} s, {sample.plain:.2f} s, {sample.ratio:.2f}"
                )
                shutil.rmtree(self.folder / "table")
        return samples

    def clean(self) -> ratios.Sample:
        """Of a copy-on-write table: all slices but the newest."""
        table, path = self._table(TableType.COPY_ON_WRITE, self.settings.commits, self.settings.groups)
        newest = {slice.base_file for slice in table.inspect.file_slices()}
        old = [file for file in path.glob("*.parquet") if file.name not in newest]
        plain = self._in_copies(old, self._delete)
        ours = self.counter.measure(lambda: table.clean(options=NEWEST))
        require(not [file for file in old if file.exists()], "the clean has deleted all old files")
        require(len(list(path.glob("*.parquet"))) == len(newest), "the clean has left the newest files")
        return ratios.Sample(
            f"clean of {len(old)} files", "cow-bucket", "seconds", ours.seconds, plain.seconds, ours.costs, plain.costs
        )

    def archive(self) -> ratios.Sample:
        """Of all instants but two."""
        table, path = self._table(TableType.COPY_ON_WRITE, self.settings.commits, 1)
        timeline = path / ".hoodie" / "timeline"
        before = sorted(file for file in timeline.iterdir() if file.is_file())
        moved = [file for file in before if file.name[:17] <= sorted({f.name[:17] for f in before})[-3]]
        plain = self._in_copies(moved, self._merge)
        ours = self.counter.measure(lambda: table.services.archive(min_commits=2, max_commits=3, options=OFF))
        require(not [file for file in moved if file.exists()], "the archiving has moved all instants but two")
        return ratios.Sample(
            f"archiving of {len(moved)} files",
            "cow-bucket",
            "seconds",
            ours.seconds,
            plain.seconds,
            ours.costs,
            plain.costs,
        )

    def compact(self) -> ratios.Sample:
        """Of three logs of each file group."""
        table, path = self._table(TableType.MERGE_ON_READ, 3, self.settings.groups)
        base = [str(file) for file in path.glob("*.parquet")]
        target = costs.counted(self.folder / "plain")
        frame = self.spark.read.parquet(*[costs.counted(Path(file)) for file in base])
        plain = self.counter.measure(lambda: frame.write.parquet(target))
        shutil.rmtree(self.folder / "plain")
        ours = self.counter.measure(lambda: table.compact(options=OFF))
        require(not any(slice.log_files for slice in table.inspect.file_slices()), "the compaction has left no log")
        require(table.df().where("v = 3").count() == self._changed(), "the compaction has the last upsert's rows")
        return ratios.Sample(
            "compaction", "mor-bucket", "seconds", ours.seconds, plain.seconds, ours.costs, plain.costs
        )

    def cluster(self) -> ratios.Sample:
        """Of a file for each file group into one that is sorted by another column than the key."""
        path, groups = self.folder / "table", self.settings.groups
        table = Table.create(self.spark, costs.counted(path), SCHEMA, record_key="id", ordering_by="ts")
        rows = self.spark.range(0, self.settings.rows, 1, groups)
        load = {
            "hoodie.datasource.write.operation": "bulk_insert",
            "hoodie.bulkinsert.shuffle.parallelism": str(groups),
        }
        loaded = rows.selectExpr("id", "0L v", "md5(string(id)) text", "0L ts")
        loaded.write.format("merganser").options(**OFF, **load).mode("append").save(costs.counted(path))
        base = list(path.glob("*.parquet"))
        require(len(base) == groups, f"the load has made a file for each of {groups} file groups")
        frame = self.spark.read.parquet(*[costs.counted(file) for file in base])
        target = costs.counted(self.folder / "plain")
        plain = self.counter.measure(lambda: frame.repartition(1).sortWithinPartitions("text").write.parquet(target))
        shutil.rmtree(self.folder / "plain")
        ours = self.counter.measure(lambda: table.services.cluster(order_by="text", options=OFF))
        require(len(table.inspect.file_slices()) == 1, "the clustering has left one file")
        require(table.df().count() == self.settings.rows, "the clustering has left all rows")
        return ratios.Sample(
            f"clustering of {groups} files",
            "cow-simple",
            "seconds",
            ours.seconds,
            plain.seconds,
            ours.costs,
            plain.costs,
        )

    # ---- tables

    def _table(self, table_type: TableType, upserts: int, groups: int) -> tuple[Table, Path]:
        """A table after a load and upserts of rows of all file groups."""
        path = self.folder / "table"
        options = {
            "hoodie.index.type": "BUCKET",
            "hoodie.bucket.index.num.buckets": str(groups),
        }
        table = Table.create(
            self.spark,
            costs.counted(path),
            SCHEMA,
            record_key="id",
            ordering_by="ts",
            table_type=table_type,
            options=options,
        )
        rows = self.settings.rows if table_type is TableType.MERGE_ON_READ else 10 * groups
        for number in range(upserts + 1):
            chosen = f"id % {rows // self._changed(rows)} = 0" if number else "true"
            frame = (
                self.spark.range(rows)
                .where(chosen)
                .selectExpr("id", f"{number}L v", "md5(string(id)) text", f"{number}L ts")
            )
            table.upsert(frame, options=OFF)
        return table, path

    def _changed(self, rows: int | None = None) -> int:
        """Rows of an upsert: a twentieth, but some of each file group."""
        rows = rows or self.settings.rows
        return max(rows // 20, min(rows, 10 * self.settings.groups))

    # ---- baselines

    def _in_copies(self, files: list[Path], work: Callable[[list[Path]], None]) -> costs.Measured:
        """Measure work on copies of files in a folder of their own."""
        folder = self.folder / "copies"
        folder.mkdir()
        copies = [Path(shutil.copyfile(file, folder / file.name)) for file in files]
        measured = self.counter.measure(lambda: work(copies))
        shutil.rmtree(folder)
        return measured

    def _delete(self, files: list[Path]) -> None:
        fs = self._file_system(files[0])
        for file in files:
            fs.delete(self._path(file), False)

    def _merge(self, files: list[Path]) -> None:
        """One file with the content of all, which are then deleted."""
        fs = self._file_system(files[0])
        out = fs.create(self._path(files[0].parent / "merged"), False)
        for file in files:
            found = fs.open(self._path(file))
            self.hadoop.io.IOUtils.copyBytes(found, out, 4096, False)
            found.close()
        out.close()
        self._delete(files)

    def _file_system(self, file: Path) -> Any:
        return self._path(file).getFileSystem(self.spark.sparkContext._jsc.hadoopConfiguration())  # type: ignore[union-attr]

    def _path(self, file: Path) -> Any:
        return self.hadoop.fs.Path(costs.counted(file))


#: In the order in which they take turns.
SERVICES: dict[str, Callable[[Services], ratios.Sample]] = {
    "clean": Services.clean,
    "archive": Services.archive,
    "compaction": Services.compact,
    "clustering": Services.cluster,
}


def require(holds: bool, what: str) -> None:
    """Check the result of a service.

    Raises:
        WrongResult: It is wrong.
    """
    if not holds:
        raise bench.WrongResult(f"not true: {what}")


def described(spark: SparkSession, settings: Settings) -> dict[str, object]:
    """What a reader of the numbers has to know."""
    return {
        "clean": f"copy-on-write table of {settings.groups} file groups after {settings.commits} upserts of all of "
        "them; beside deleting copies of the same files one after the other",
        "archiving": f"{settings.commits} commits of a file each; beside copying the same files into one and deleting "
        "them",
        "compaction": f"{settings.rows:,} rows in {settings.groups} file groups with three logs each; beside plain "
        "Spark, which reads and writes the base files",
        "clustering": f"{settings.rows:,} rows in {settings.groups} files into one, sorted by a text column; beside "
        "plain Spark, which does the same with these files",
        "repetitions": f"{settings.repetitions} after {settings.warm_ups} to warm up",
        "file system": "Hadoop's local one, without checksum files; its calls are counted",
        "Spark": f"{spark.version}, {spark.sparkContext.master}",
        "machine": f"{platform.platform()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end",
    }


def main(words: list[str]) -> int:
    usual = Settings()
    parser = argparse.ArgumentParser(prog="./dev bench services", description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=usual.groups, help="file groups of the tables")
    parser.add_argument("--rows", type=int, default=usual.rows, help="of the tables that are compacted and clustered")
    parser.add_argument("--commits", type=int, default=usual.commits, help="before a clean or an archiving")
    parser.add_argument("--repetitions", type=int, default=usual.repetitions)
    parser.add_argument("--warm-ups", type=int, default=usual.warm_ups)
    parser.add_argument("--write", action="store_true", help="keep the results in benchmarks/results/")
    given = parser.parse_args(words)
    settings = Settings(given.groups, given.rows, given.commits, given.repetitions, given.warm_ups)
    spark = bench.start_session("local[2]", "2g", 4)
    folder = Path(tempfile.mkdtemp(prefix="merganser-services-")).resolve()
    try:
        samples = Services(spark, settings, folder, lambda text: print(text, flush=True)).run()
        description = described(spark, settings)
    except bench.WrongResult as wrong:
        print(f"WRONG RESULT: {wrong}", file=sys.stderr)
        return 1
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print("\n" + ratios.markdown(description, ratios.summed_up(samples)), end="")
    if given.write:
        for file in ratios.write(bench.RESULTS, f"services-{bench.spark_line(description)}", description, samples):
            print(f"Wrote {file.relative_to(bench.RESULTS.parents[1])}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
