"""What is measured on one table, in a process of its own: a load, changes, reads and a compaction.

As a program it is given a task as JSON. It takes all steps on a small table first, so that Java has compiled what they
need, and then writes a line of JSON for each measurement of the large one.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lineitem import checksum
from pyspark.sql import DataFrame, SparkSession

from peers.data import CHANGES, KEY, MORE, OPTIONAL, RANDOM, SMALL_UPSERTS, THREE_COLUMNS, Change, Data
from peers.engine import Engine, class_path
from peers.engines import ENGINES

PEAK = "peak memory of the process"
PEAK_HEAP = "peak heap"
READ_AFTER = {1: "after 1 upsert", 3: "after 3 upserts"}
READ_LAST = f"after {MORE} more upserts"
FIRST_SMALL, LAST_SMALL = "read after 1 small upsert", f"read after {SMALL_UPSERTS} small upserts"
SERVICES_AFTER = 10  # small upserts


class WrongResult(Exception):
    """A table does not hold what it has to."""


@dataclass(frozen=True)
class Found:
    """A measurement, in seconds or bytes."""

    work: str
    unit: str
    amount: float


@dataclass(frozen=True)
class Task:
    """One table of one engine, for a process; folders and jars are paths."""

    engine: str
    kind: str
    jars: list[str]
    warm_up: str
    data: str
    folder: str
    out: str
    reads: int
    files: int
    cores: int
    memory: str
    small: bool
    """Whether to take the steps of small upserts, in place of the others."""


class Steps:
    """All steps on one table.

    Args:
        reads: Runs of each read, of which the median counts.
    """

    def __init__(self, engine: Engine, data: Data, reads: int) -> None:
        self.engine = engine
        self.data = data
        self.reads = reads

    def run(self) -> Iterator[Found]:
        """Measure everything; the table is compared with what it has to hold after each change.

        Raises:
            WrongResult: They differ.
        """
        engine = self.engine
        yield from self._load()
        yield self._size("bytes on disk after the load")
        random = [change for change in CHANGES if change.work == RANDOM]
        for count, change in enumerate(random, 1):
            yield from self._change(change)
            if count in READ_AFTER:
                yield from self._reads(READ_AFTER[count])
        yield self._size(f"bytes on disk {READ_AFTER[len(random)]}")
        if engine.compacts:
            yield from self._step("compaction", engine.compact)
            self._require(random[-1].name, "the compaction")
            yield from self._reads("after the compaction")
        for change in CHANGES[len(random) :]:
            yield from self._change(change)
        yield from self._reads(READ_LAST)
        for change in OPTIONAL:
            if (engine.kind[:3], change.name) not in engine.lacks:
                yield from self._change(change)

    def run_small(self) -> Iterator[Found]:
        """Read all columns after a small upsert, and again after many of them and the services that they need.

        The upserts are parts of one batch.

        Raises:
            WrongResult: The table does not hold the whole batch afterwards.
        """
        yield from self._load()
        batch = next(change for change in CHANGES if change.work == RANDOM)
        for number in range(SMALL_UPSERTS):
            self.engine.small_upsert(batch, number)
            if number % SERVICES_AFTER == SERVICES_AFTER - 1:
                self.engine.services()
            if number in (0, SMALL_UPSERTS - 1):
                yield self._read(FIRST_SMALL if number == 0 else LAST_SMALL, consume)
        self._require(batch.name, f"{SMALL_UPSERTS} small upserts")

    def _load(self) -> Iterator[Found]:
        self.engine.create()
        yield from self._step("bulk load", lambda: self.engine.load(self.data.rows(self.engine.spark)))
        self._require("loaded", "the load")

    def _change(self, change: Change) -> Iterator[Found]:
        yield from self._step(change.work, lambda: self.engine.change(change))
        self._require(change.name, f"the {change.work} ({change.name})")

    def _step(self, work: str, do: Callable[[], object]) -> Iterator[Found]:
        """The time of a step, and the peak of the JVM's heap during it."""
        pools = heap_pools(self.engine.spark)
        for pool in pools:
            pool.resetPeakUsage()
        yield timed(work, do)
        yield Found(f"{PEAK_HEAP}, {work}", "bytes", sum(pool.getPeakUsage().getUsed() for pool in pools))

    def _reads(self, when: str) -> Iterator[Found]:
        one = self.data.facts.keys["one"][0]
        reads: dict[str, Callable[[DataFrame], object]] = {
            "all columns": consume,
            "3 columns": lambda rows: consume(rows.select(THREE_COLUMNS)),
            "count": lambda rows: rows.count(),
            "one key": lambda rows: consume(rows.where(rows[KEY] == one)),
        }
        for name, read in reads.items():
            yield self._read(f"read {when}, {name}", read)

    def _read(self, work: str, read: Callable[[DataFrame], object]) -> Found:
        runs = [timed(work, lambda: read(self._rows())).amount for _ in range(self.reads)]
        return Found(work, "seconds", statistics.median(runs))

    def _rows(self) -> DataFrame:
        return self.engine.rows().select(self.data.schema.names)

    def _size(self, work: str) -> Found:
        if not self.engine.merges:
            return Found(work, "bytes", self.data.facts.size_bytes)
        files = (file for file in self.engine.path.rglob("*") if file.is_file() and file.suffix != ".crc")
        return Found(work, "bytes", sum(file.stat().st_size for file in files))

    def _require(self, name: str, after: str) -> None:
        if not self.engine.merges:
            return
        found, right = checksum(self._rows()), tuple(self.data.facts.results[name])
        if found != right:
            raise WrongResult(f"after {after}: rows and checksum are {found}, {right} would be right")


def timed(work: str, do: Callable[[], object]) -> Found:
    start = time.perf_counter()
    do()
    return Found(work, "seconds", time.perf_counter() - start)


def consume(rows: DataFrame) -> None:
    """Compute every value and drop it."""
    rows.write.format("noop").mode("overwrite").save()


def heap_pools(spark: SparkSession) -> list[Any]:
    """The memory pools of the JVM's heap, whose peaks may be at different times: their sum is an upper bound."""
    beans = spark._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()  # type: ignore[union-attr]
    return [pool for pool in beans if pool.getType().name() == "HEAP"]


def peak(spark: SparkSession) -> Iterator[Found]:
    """The most memory that the session's JVM had, on Linux; it is the process that Python has started."""
    status = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/status")  # type: ignore[union-attr]
    if status.exists():
        (kilobytes,) = re.findall(r"VmHWM:\s*(\d+) kB", status.read_text())
        yield Found(PEAK, "bytes", int(kilobytes) * 1024)


def start_session(task: Task) -> SparkSession:
    engine, folder = ENGINES[task.engine], Path(task.folder)
    settings = {
        "spark.driver.memory": task.memory,
        "spark.sql.shuffle.partitions": str(task.files),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **class_path([Path(jar) for jar in task.jars]),
        **engine.settings(folder),
    }
    spark = engine.session(settings, f"local[{task.cores}]")
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main(text: str) -> int:
    task = Task(**json.loads(text))
    spark = start_session(task)
    with open(task.out, "w") as out:

        def write(line: dict[str, object]) -> None:
            out.write(json.dumps(line) + "\n")
            out.flush()

        try:
            for name, data in (("small", Data(Path(task.warm_up))), ("large", Data(Path(task.data)))):
                engine = ENGINES[task.engine](spark, task.kind, data, Path(task.folder), name, task.files)
                steps = Steps(engine, data, task.reads)
                for found in steps.run_small() if task.small else steps.run():
                    if name == "large":
                        write(asdict(found))
            for found in peak(spark):
                write(asdict(found))
        except Exception as error:
            write({"failed": f"{type(error).__name__}: {str(error)[:500]}"})
            raise
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
