"""Measures what Hudi's metadata table saves and costs: planning a read of a table of many file groups, and a commit.

    ./dev python benchmarks/listing.py [--partitions 1000] [--groups 100] [--call-ms 0 30] [--repetitions 3] [--write]

Needs Hudi's Spark bundle (``MERGANSER_HUDI_JAR``) and pyspark 3.5. The table is made of hard links to one base file;
its commits name all of them. Each engine runs in a process of its own, on copies of the same table, over a file system
whose calls take so many milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "results" / "metadata-table.md"
COMMITS = 10
SCHEMA = "id string, ts long, v string, part string"
OPTIONS = {
    "hoodie.table.name": "listed",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.simple.index.parallelism": "2",
}
#: The metadata table with its list of files alone: statistics of columns would be read of all files first.
WITH = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.index.partition.stats.enable": "false",
}
WITHOUT = {"hoodie.metadata.enable": "false"}


# ---- the table


def make(spark: Any, path: Path, partitions: int, groups: int) -> None:
    """A copy-on-write table of version 9; Merganser writes its first row and encodes its commits."""
    seed = path.parent / "seed"
    row = spark.createDataFrame([("seed", 1, "v", "p0000")], SCHEMA)
    quiet = {**OPTIONS, "hoodie.index.bloom.num_entries": "10"}
    row.write.format("merganser").options(**quiet).mode("append").save(str(seed))
    (content,) = (seed / "p0000").glob("*.parquet")
    (commit,) = (seed / ".hoodie" / "timeline").glob("*.commit")
    codec = spark._jvm.io.merganser.table.timeline.CommitMetadata
    schema = codec.decode(commit.read_bytes()).extra().get("schema").get()
    timeline = path / ".hoodie" / "timeline"
    shutil.copytree(seed / ".hoodie", path / ".hoodie")
    for file in timeline.iterdir():
        if file.is_file():
            file.unlink()
    start = datetime.now(timezone.utc) - timedelta(days=1)
    for number in range(COMMITS):
        instant = f"{start + timedelta(minutes=number):%Y%m%d%H%M%S}000"
        ended = f"{start + timedelta(minutes=number, seconds=1):%Y%m%d%H%M%S}000"
        original = path.parent / f"content-{number}.parquet"  # a file has a limited number of links
        shutil.copyfile(content, original)
        size = original.stat().st_size
        stats: dict[str, list[dict[str, object]]] = {}
        for partition in range(partitions):
            name = f"p{partition:04}"
            folder = path / name
            if number == 0:
                folder.mkdir()
                shutil.copyfile(seed / "p0000" / ".hoodie_partition_metadata", folder / ".hoodie_partition_metadata")
            for group in range(number, groups, COMMITS):
                file_id = f"{partition:08x}-{group:04x}-4000-8000-000000000000-0"
                file = f"{file_id}_0-0-0_{instant}.parquet"
                os.link(original, folder / file)
                stats.setdefault(name, []).append(
                    {
                        "fileId": file_id,
                        "path": f"{name}/{file}",
                        "prevCommit": "null",
                        "numWrites": 1,
                        "numInserts": 1,
                        "totalWriteBytes": size,
                        "partitionPath": name,
                        "fileSizeInBytes": size,
                    }
                )
        metadata = {
            "partitionToWriteStats": stats,
            "compacted": False,
            "extraMetadata": {"schema": schema},
            "operationType": "BULK_INSERT",
        }
        avro = codec.encodeAvro(codec.decode(bytearray(json.dumps(metadata).encode())), False)
        (timeline / f"{instant}.commit.requested").touch()
        (timeline / f"{instant}.inflight").touch()
        (timeline / f"{instant}_{ended}.commit").write_bytes(bytes(avro))


def copy(source: Path, target: Path) -> Path:
    """The table again, with links to its data files."""

    def link(file: str, to: str) -> None:
        os.link(file, to) if file.endswith(".parquet") else shutil.copyfile(file, to)

    shutil.copytree(source, target, copy_function=link)
    return target


# ---- the engines, each in a process of its own


class Engine:
    """Measures plans and upserts of one engine in this process."""

    def __init__(self, name: str, call_ms: int, repetitions: int) -> None:
        self.name = name
        self.repetitions = repetitions
        self.spark = session(name, call_ms)
        self.calls: Any = self.spark._jvm.io.merganser.bench.SlowFileSystem
        self.upserts = 0

    def plan(self, path: str, options: dict[str, str], where: str | None) -> dict[str, object]:
        """The seconds and calls of a plan of a read, by a reader that has read nothing of the table before."""

        def work() -> None:
            frame = self.spark.read.format(self.name).options(**options).load(path)
            chosen = frame.where(where) if where else frame
            assert chosen.rdd.getNumPartitions() > 0

        work()  # loads classes
        return self._measured([work] * self.repetitions)

    def upsert(self, path: str, options: dict[str, str], times: int) -> dict[str, object]:
        """The seconds of upserts of one new row, into a partition of many files."""

        def work() -> None:
            self.upserts += 1
            row = self.spark.createDataFrame([(f"{self.name}{self.upserts}", 1, "v", "p0001")], SCHEMA)
            written = {**OPTIONS, **options, "hoodie.datasource.write.operation": "upsert"}
            row.write.format(self.name).options(**written).mode("append").save(path)

        return self._measured([work] * times)

    def _measured(self, works: list[Callable[[], None]]) -> dict[str, object]:
        seconds, calls = [], []
        for work in works:
            before, start = dict(self.calls.calls()), time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
            calls.append({kind: count - before[kind] for kind, count in dict(self.calls.calls()).items()})
        return {"seconds": seconds, "calls": calls[-1]}


def session(engine: str, call_ms: int) -> Any:
    """A session of 16 tasks at a time, which mostly wait: on a cluster, as many would list at a time."""
    settings = {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.hadoop.fs.file.impl": "io.merganser.bench.SlowFileSystem",
        "spark.hadoop.merganser.bench.callMs": str(call_ms),
    }
    # Spark uses the file system before it loads other jars.
    settings["spark.driver.extraClassPath"] = str(ROOT / "benchmarks" / "jars" / "merganser-costs-spark-3.5.jar")
    if engine == "hudi":
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[16]").appName("listing")
        settings |= {
            "spark.jars": os.environ["MERGANSER_HUDI_JAR"],
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        }
        for key, value in settings.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
    else:
        import merganser

        spark = merganser.session("listing", master="local[16]", config=settings)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


ONE = "part = 'p0002'"


def steps(engine: Engine, path: str) -> Iterator[tuple[str, dict[str, object]]]:
    """What is measured by an engine on its copy of the table."""
    few = engine.repetitions
    if engine.name == "merganser":
        yield "plan of all partitions", engine.plan(path, {}, None)
        yield "plan of one partition", engine.plan(path, {}, ONE)
        engine.upsert(path, {}, 1)
        yield "upsert of a row", engine.upsert(path, {}, few)
    else:
        yield "without: plan of all partitions", engine.plan(path, WITHOUT, None)
        yield "without: plan of one partition", engine.plan(path, WITHOUT, ONE)
        engine.upsert(path, WITHOUT, 1)
        yield "without: upsert of a row", engine.upsert(path, WITHOUT, few)
        yield "with: first upsert, which builds it", engine.upsert(path, WITH, 1)
        yield "with: upsert of a row", engine.upsert(path, WITH, few)
        yield "with: plan of all partitions", engine.plan(path, WITH, None)
        yield "with: plan of one partition", engine.plan(path, WITH, ONE)


def child(words: list[str]) -> int:
    engine_name, path, call_ms, repetitions = words
    engine = Engine(engine_name, int(call_ms), int(repetitions))
    for what, found in steps(engine, path):
        print(
            "RESULT " + json.dumps({"engine": engine_name, "call_ms": int(call_ms), "what": what, **found}), flush=True
        )
    engine.spark.stop()
    return 0


def run(engine: str, path: Path, call_ms: int, repetitions: int) -> list[dict[str, Any]]:
    words = [sys.executable, __file__, "child", engine, str(path), str(call_ms), str(repetitions)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    found = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode != 0:
        print(f"{engine} failed at {call_ms} ms a call after {len(found)} results", file=sys.stderr)
    for result in found:
        print(f"{engine}, {call_ms} ms, {result['what']}: {statistics.median(result['seconds']):.2f} s", flush=True)
    return found


# ---- the page


def page(given: argparse.Namespace, results: list[dict[str, Any]]) -> str:
    load = os.getloadavg()[0]
    text = (
        "# What the metadata table saves and costs\n\n"
        "    ./dev python benchmarks/listing.py --write\n\n"
        f"A copy-on-write table of {given.partitions:,} partitions with {given.groups} file groups each "
        f"({given.partitions * given.groups:,}), {COMMITS} commits; Hudi 1.2.0 and Merganser on Spark 3.5, "
        f"`local[16]`, {os.cpu_count()} cores, load {load:.0f} at the end. Medians of {given.repetitions}, after one "
        "to warm up; calls are those of the last repetition. A call of the file system takes as many milliseconds as "
        "its column has, a listing as many for each thousand entries; reading an open file takes none.\n\n"
        "| engine | operation | ms a call | s | list | open | status | create, rename, delete, mkdirs |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    for result in results:
        calls = result["calls"]
        changes = sum(calls[kind] for kind in ("create", "rename", "delete", "mkdirs"))
        text += (
            f"| {result['engine']} | {result['what']} | {result['call_ms']} | "
            f"{statistics.median(result['seconds']):.2f} | {calls['list']:,} | {calls['open']:,} | "
            f"{calls['status']:,} | {changes:,} |\n"
        )
    return text


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--groups", type=int, default=100, help="file groups of each partition")
    parser.add_argument("--call-ms", type=int, nargs="+", default=[0, 30], help="what a call of the file system takes")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the tables go; a temporary folder unless given")
    parser.add_argument("--write", action="store_true", help=f"keep the results in {PAGE.relative_to(ROOT)}")
    given = parser.parse_args(words)
    folder = Path(tempfile.mkdtemp(prefix="merganser-listing-", dir=given.folder)).resolve()
    results: list[dict[str, Any]] = []
    try:
        table = folder / "table"
        made = subprocess.run([sys.executable, __file__, "make", str(table), str(given.partitions), str(given.groups)])
        if made.returncode != 0:
            return made.returncode
        for call_ms in given.call_ms:
            for engine in ("merganser", "hudi"):
                path = copy(table, folder / f"{engine}-{call_ms}" / "slow" / "table")
                results += run(engine, path, call_ms, given.repetitions)
                shutil.rmtree(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    text = page(given, results)
    print("\n" + text, end="")
    if given.write:
        notes = PAGE.read_text().partition("\n## ")[1:] if PAGE.exists() else ()
        PAGE.write_text(text + "".join(notes))
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        sys.exit(child(sys.argv[2:]))
    if sys.argv[1:2] == ["make"]:
        table = Path(sys.argv[2])
        table.mkdir(parents=True)
        make(session("merganser", 0), table, int(sys.argv[3]), int(sys.argv[4]))
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
