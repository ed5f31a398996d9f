"""Writes on a standalone cluster, of which tasks fail, executors are killed, and attempts run side by side."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cluster import cluster
from held import Held, Reached, held
from pyspark.sql import SparkSession
from session_process import SessionProcess

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine

FULL = bool(os.environ.get("MERGANSER_FULL"))
SCHEMA = "id int, value string, ts bigint, part string"
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}

KINDS = {
    "cow": {"hoodie.datasource.write.table.type": "COPY_ON_WRITE"},
    "mor": {"hoodie.datasource.write.table.type": "MERGE_ON_READ"},
    "buckets": {"hoodie.datasource.write.table.type": "MERGE_ON_READ", **BUCKETS},
}

OPTIONS = {
    "hoodie.table.name": "spread",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.table.ordering.fields": "ts",
    "hoodie.metadata.enable": "false",
}

FILE_GROUP = re.compile(r"\.?[\w-]{36,}?(?=_)")

#: Speculation begins only after this time: a test that kills or fails a task does so earlier.
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "2s",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.efficiency.enabled": "false",
}


# --- in the driver's process -----------------------------------------------------------------------------------------


def write(spark: SparkSession, path: str, rows: list[list[Any]], options: dict[str, str]) -> None:
    MerganserEngine(spark).upsert(path, SCHEMA, rows, **options)


def read(spark: SparkSession, path: str) -> list[list[Any]]:
    rows: list[list[Any]] = MerganserEngine(spark).read(path).business
    return rows


def run_service(spark: SparkSession, path: str, procedure: str) -> None:
    options = "hoodie.log.compaction.blocks.threshold=2"
    spark.sql(f"CALL {procedure}(op => 'scheduleAndExecute', path => '{path}', options => '{options}')").collect()


def executors(spark: SparkSession) -> int:
    """How many executors run: the driver is not one."""
    context: Any = spark.sparkContext._jsc.sc()
    return int(context.getExecutorMemoryStatus().size()) - 1


def running_attempts(spark: SparkSession) -> int:
    """How many attempts of tasks run: one that was killed counts until it has ended. Spark's status is behind that."""
    context: Any = spark.sparkContext._jsc.sc()
    counts = str(context.taskScheduler().runningTasksByExecutors().valuesIterator().mkString(" "))
    return sum(int(count) for count in counts.split())


# --- the tests -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Running:
    """The cluster's session, and what holds its tasks."""

    session: SessionProcess
    held: Held
    pool: ThreadPoolExecutor

    def wait_for_executors(self) -> None:
        wait_until(lambda: self.session.call(executors) == 2, "the cluster has two executors")

    def wait_for_attempts(self) -> None:
        wait_until(lambda: self.session.call(running_attempts) == 0, "all attempts of tasks have ended")


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, f"not within a minute: {what}"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("cluster")
    steered = held(folder / "held")
    settings = {
        **steered.settings,
        **SPECULATION,
        "spark.executor.memory": "640m",
        "spark.executor.cores": "1",
        "spark.default.parallelism": "2",
        "spark.sql.adaptive.enabled": "false",
    }
    with (
        ThreadPoolExecutor(1) as pool,
        cluster(folder) as master,
        SessionProcess(folder / "driver", master, settings) as session,
    ):
        yield Running(session, steered, pool)


@dataclass
class Spread:
    """A table that the cluster writes, and the rows that it must have."""

    running: Running
    folder: Path
    options: dict[str, str]
    rows: dict[int, list[Any]] = field(default_factory=dict)
    ts: int = 0

    @property
    def path(self) -> str:
        return f"held:{self.folder}"

    def upsert(self, count: int = 400, **options: str) -> set[Path]:
        """Write rows 0 to count, each with a new value, to four partitions; the new data files."""
        self.ts += 1
        rows: list[list[Any]] = [[i, f"{i} at {self.ts}", self.ts, f"p{i % 4}"] for i in range(count)]
        before = self.data_files()
        self.running.session.call(write, path=self.path, rows=rows, options={**self.options, **options})
        self.rows.update({row[0]: row for row in rows})
        return self.data_files() - before

    def compact(self) -> set[Path]:
        """Compact the table; the new data files."""
        return self.serve("run_compaction")

    def serve(self, procedure: str) -> set[Path]:
        """Run a service of the table; the new data files."""
        before = self.data_files()
        self.running.session.call(run_service, path=self.path, procedure=procedure)
        return self.data_files() - before

    def during(self, work: Callable[[], set[Path]], action: str, part: str) -> tuple[Reached, Future[set[Path]]]:
        """Start work of which one task is to ``hold``, ``fail`` or ``begin`` at a file with this part in its path."""
        name = f"{self.folder.parent.name}-{self.ts}-{action}"
        self.running.held.order(name, action, part)
        written = self.running.pool.submit(work)
        return self.running.held.reached(name), written

    def check(self) -> None:
        """The rows are there, each once."""
        assert sorted(self.running.session.call(read, path=self.path)) == sorted(self.rows.values())

    def data_files(self) -> set[Path]:
        files = {file.relative_to(self.folder) for file in self.folder.rglob("*") if file.is_file()}
        return {file for file in files if ".hoodie" not in file.parts and not file.name.startswith(".hoodie_partition")}

    def remains(self) -> set[str]:
        """Markers, and files that are not published yet."""
        return {str(file) for file in (self.folder / ".hoodie" / ".temp").rglob("*") if file.is_file()}


def one_of_each_group(files: set[Path]) -> bool:
    """Whether no two of the files of one write are of the same file group, as those of two attempts would be."""
    groups = {FILE_GROUP.match(file.name)[0] for file in files}  # type: ignore[index]
    return len(groups) == len(files) > 0


# Guarantee (Failures): On a cluster each row is there once, and no file of a lost attempt, if a task fails, an executor
#   is killed or a speculative attempt runs. Also:
#   test_other_attempts_complete_a_compaction_whose_executor_is_killed
#: Tasks that write logs are the same with each index; with buckets they may also write to a file group that is new.
#: Merge-on-read tables without buckets run with MERGANSER_FULL=1, and in the next test.
@pytest.mark.sampled
@pytest.mark.parametrize("kind", [kind for kind in KINDS if FULL or kind != "mor"])
def test_a_write_with_failed_killed_or_speculative_attempts_stores_each_row_once(
    running: Running, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    table = Spread(running, tmp_path / "table", {**OPTIONS, **KINDS[kind]})
    part = ".parquet" if kind == "cow" else ".log."
    running.wait_for_executors()
    assert one_of_each_group(table.upsert())
    table.check()

    failed, written = table.during(table.upsert, "fail", part)
    assert one_of_each_group(written.result(60))
    assert not failed.file.exists()
    table.check()

    lost, written = table.during(table.upsert, "hold", part)
    assert lost.file.exists(), "the task is in the middle of its file"
    os.kill(lost.pid, signal.SIGKILL)
    assert one_of_each_group(written.result(60))
    assert not lost.file.exists()
    table.check()
    assert not table.remains()

    running.wait_for_executors()
    late, written = table.during(table.upsert, "hold", part)
    assert one_of_each_group(written.result(60)), "a speculative attempt on the other executor has written them"
    running.held.go(late)
    table.check()
    wait_until(lambda: not late.file.exists(), "the late attempt removes its file")
    assert one_of_each_group(table.upsert())
    table.check()
    assert not table.remains()
    assert sorted(hudi.read(table.folder).business) == sorted(table.rows.values())


@pytest.mark.parametrize("kind", ["mor", "buckets"] if FULL else ["mor"])
def test_other_attempts_complete_a_compaction_whose_executor_is_killed(
    running: Running, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    table = Spread(running, tmp_path / "table", {**OPTIONS, **KINDS[kind]})
    running.wait_for_executors()
    table.upsert()
    table.upsert()
    before = table.data_files()
    lost, written = table.during(table.compact, "hold", ".parquet")
    os.kill(lost.pid, signal.SIGKILL)
    assert written.result(60)
    running.wait_for_attempts()  # a speculative one that is late removes its file
    assert one_of_each_group(table.data_files() - before)
    assert not lost.file.exists()
    assert not table.remains()
    table.check()
    inline = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    files = table.upsert(200, **inline)
    assert {file.suffix for file in files} >= {".parquet"}, "an inline compaction has written base files"
    table.check()
    assert not table.remains()
    assert sorted(hudi.read(table.folder).business) == sorted(table.rows.values())


#: Of each kind of job that writes files: the kind of table, the job, and a part of the markers' paths.
JOBS: dict[str, tuple[str, Callable[[Spread], set[Path]], str]] = {
    "upsert to base files": ("cow", Spread.upsert, ".parquet.marker"),
    "upsert to logs": ("mor", Spread.upsert, ".log."),
    "compaction": ("mor", Spread.compact, ".parquet.marker"),
    "log compaction": ("mor", lambda table: table.serve("run_log_compaction"), ".log."),
    "clustering": ("cow", lambda table: table.serve("run_clustering"), ".parquet.marker"),
}


@pytest.mark.parametrize("job", JOBS)
def test_an_attempt_that_begins_its_file_after_the_commit_leaves_no_file_or_marker(
    running: Running, tmp_path: Path, job: str
) -> None:
    kind, work, part = JOBS[job]
    table = Spread(running, tmp_path / "table", {**OPTIONS, **KINDS[kind]})
    running.wait_for_executors()
    for _ in range(3):
        table.upsert()
    before = table.data_files()
    late, written = table.during(lambda: work(table), "begin", part)
    assert not late.file.exists(), "the marker is to be created"
    assert one_of_each_group(written.result(60)), "a speculative attempt on the other executor has written them"
    assert not table.remains()
    running.held.go(late)
    running.wait_for_attempts()
    assert not table.remains()
    assert one_of_each_group(table.data_files() - before)
    table.check()
