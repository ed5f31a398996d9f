"""One driver process of the soak test: four writers, a thread of services and a reader in a session each.

Run as a program, with the folder of the tables, the number of the process, the seconds and the seed. What a thread did
is written to `<number>-<thread>.jsonl`, a line for each operation; rows that were read, to the folder `reads`.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from soak_tables import (
    COLUMNS,
    COUNTERS,
    GROUPS,
    OVERWRITTEN,
    PARTITIONS,
    TABLES,
    Row,
    SoakTable,
    first_rows,
    group_rows,
)

import merganser
from merganser import MerganserError, Table

WRITERS = 4
SESSION = {
    "spark.driver.memory": "1500m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.session.timeZone": "UTC",
    "spark.scheduler.mode": "FAIR",
}
#: How a read fails that began before a restore.
TAKEN_BACK = ("READ_TAKEN_BACK", "SLICE_FILE_MISSING")
#: Options with this prefix are stored in the commit.
PREFIX = "soak."
PREFIX_OPTION = "hoodie.datasource.write.commitmeta.key.prefix"


def digest(rows: list[Row]) -> str:
    return hashlib.sha1(json.dumps(sorted(rows)).encode()).hexdigest()


class Clock:
    """Which table is worked on: each in turn, for the same time, in both processes."""

    def __init__(self, start: float, seconds: float, tables: list[SoakTable]) -> None:
        self._start = start
        self._seconds = seconds
        self._tables = tables
        # Each table once in a short run, and several times in a long one.
        self._slots = len(tables) * max(1, round(seconds / (12 * len(tables))))

    @property
    def elapsed(self) -> float:
        return time.time() - self._start

    @property
    def is_over(self) -> bool:
        return self.elapsed >= self._seconds

    @property
    def table(self) -> SoakTable:
        slot = int(min(self.elapsed, self._seconds - 0.001) * self._slots / self._seconds)
        return self._tables[slot % len(self._tables)]


class Worker(threading.Thread):
    """A thread with a session of its own, and a file of what it did."""

    def __init__(self, spark: SparkSession, root: Path, name: str, seed: int, clock: Clock) -> None:
        super().__init__(name=name)
        self.spark = spark.newSession()
        self.root = root
        self.rng = random.Random(f"{name} {seed}")
        self.clock = clock
        self.failure: str | None = None
        self.opened: dict[str, Table] = {}
        self._log = (root / f"{name}.jsonl").open("w")

    def run(self) -> None:
        try:
            while not self.clock.is_over:
                self.turn(self.clock.table)
        except BaseException:
            self.failure = traceback.format_exc()
        finally:
            self._log.close()

    def turn(self, table: SoakTable) -> None:
        """A step, unless a restore waits for the writers of the table, or runs."""
        busy = self.root / f"busy-{table.name}-{self.name}"
        busy.touch()  # first, so that a restore sees it, or this step sees the restore
        try:
            is_paused = (self.root / f"pause-{table.name}").exists()
            if not is_paused:
                self.step(table)
        finally:
            busy.unlink()
        if is_paused:
            time.sleep(0.02)

    def step(self, table: SoakTable) -> None:
        raise NotImplementedError

    def path(self, table: SoakTable) -> str:
        return str(self.root / table.name)

    def table(self, table: SoakTable) -> Table:
        if table.name not in self.opened:
            self.opened[table.name] = Table.load(self.spark, self.path(table))
        return self.opened[table.name]

    def note(self, **what: Any) -> None:
        self._log.write(json.dumps(what) + "\n")
        self._log.flush()


class Writer(Worker):
    """Upserts, inserts, deletes, MERGE statements and overwrites, some with retries after a conflict."""

    def __init__(self, spark: SparkSession, root: Path, name: str, seed: int, clock: Clock) -> None:
        super().__init__(spark, root, name, seed, clock)
        self._count = 0
        self._inserted: dict[str, list[list[Row]]] = {}

    def step(self, table: SoakTable) -> None:
        self._count += 1
        op = f"{self.name}-{self._count}"
        kinds = {
            "upsert": 5,
            "upsert own": 2,
            "upsert overwritten": 1,
            "insert": 2,
            "delete": 1,
            "delete own": 1,
            "merge": 3,
            "overwrite": 1,
        }
        if table.is_non_blocking:
            kinds = {kind: weight for kind, weight in kinds.items() if kind.split()[0] in ("upsert", "insert")}
        # The first operations of the writers are of different kinds, so that a short run has all of them.
        first = list(kinds)[(int(self.name[0]) * WRITERS + int(self.name[1:])) % len(kinds)]
        kind = first if self._count == 1 else self.rng.choices(list(kinds), list(kinds.values()))[0]
        rows = self.rows(kind, op, table)
        if not rows:
            return
        retries = self.rng.choice([0, 2, 4])
        options = {
            **table.settings,
            PREFIX_OPTION: PREFIX,
            f"{PREFIX}op": f"<{op}>",
            "hoodie.write.num.retries.on.conflict.failures": str(retries),
        }
        if table.kind == "MERGE_ON_READ" and self.rng.random() < 0.2:
            options["hoodie.compact.inline"] = "true"
            options["hoodie.compact.inline.max.delta.commits"] = "2"
            options["hoodie.fail.writes.on.inline.table.service.exception"] = "true"
        entry: dict[str, Any] = {"op": op, "table": table.name, "kind": kind, "rows": rows, "begun": time.time()}
        self.note(**entry, outcome="begun")
        try:
            entry.update(self.write(kind, rows, table, options), outcome="done")
            if kind == "insert":
                self._inserted.setdefault(table.name, []).append(rows)
        except MerganserError as error:
            entry.update(outcome="refused", condition=error.condition, message=str(error)[:2000])
        except Exception as error:
            entry.update(outcome="failed", condition=type(error).__name__, message=str(error)[:6000])
        self.note(**entry, ended=time.time())

    def rows(self, kind: str, op: str, table: SoakTable) -> list[Row]:
        now = 10 + int(self.clock.elapsed) + self.rng.randint(-3, 3)
        group = self.rng.randrange(GROUPS)
        moved = self.rng.randrange(PARTITIONS) if table.is_global else 0
        if kind in ("upsert", "delete"):
            return group_rows(op, group, now, moved)
        if kind == "upsert own":
            return [(f"{self.name}-{i}", f"w{self.name}", now, i, op) for i in range(3)]
        if kind in ("upsert overwritten", "overwrite"):
            return [(f"o-{i}", OVERWRITTEN, now, i, op) for i in range(3)]
        if kind == "insert":
            return [(f"{op}-{i}", f"p{(group + i) % PARTITIONS}", now, i, op) for i in range(3)]
        if kind == "delete own":
            mine = self._inserted.get(table.name, [])
            return mine.pop(self.rng.randrange(len(mine))) if mine else []
        counter = self.rng.randrange(COUNTERS)
        return [(f"c{counter}-{i}", f"p{i}", 0, 1, op) for i in range(2)] + [(f"{op}-m", f"p{group}", 0, 1, op)]

    def write(self, kind: str, rows: list[Row], table: SoakTable, options: dict[str, str]) -> dict[str, Any]:
        frame = self.spark.createDataFrame(rows, COLUMNS).coalesce(1)
        if kind == "merge":
            return self.merge(frame, table, options)
        target = self.table(table)
        if kind in ("delete", "delete own"):
            result = target.delete(frame.select("id", "part"), options=options)
        elif kind == "insert":
            txn = (self.name, self._count) if self.rng.random() < 0.3 else None
            result = target.insert(frame, options=options, txn=txn)
            if txn:
                again = target.insert(frame, options=options, txn=txn)
                assert again.is_repetition, f"{txn} was written twice: {result} {again}"
                assert again.instant == result.instant, f"{txn} was written twice: {result} {again}"
        elif kind == "overwrite":
            result = target.insert_overwrite(frame, options=options)
        else:
            result = target.upsert(frame, options=options)
        counts = ("inserted", "updated", "late", "ties", "deleted", "appended", "appended_deletes", "retries")
        return {"instant": result.instant, "counts": {name: getattr(result, name) for name in counts}}

    def merge(self, frame: DataFrame, table: SoakTable, options: dict[str, str]) -> dict[str, Any]:
        """A statement takes the session's settings; its transaction identifies it in the commit."""
        named = {key: value for key, value in options.items() if key.startswith("hoodie.") and PREFIX not in key}
        named.pop(PREFIX_OPTION, None)
        named |= {"spark.merganser.write.txnAppId": self.name, "spark.merganser.write.txnVersion": str(self._count)}
        frame.createOrReplaceTempView("changes")
        on = "t.id = s.id" if table.is_global else "t.id = s.id AND t.part = s.part"
        try:
            for key, value in named.items():
                self.spark.conf.set(key, value)
            counts = self.spark.sql(
                f"MERGE INTO merganser.`{self.path(table)}` t USING changes s ON {on} "
                "WHEN MATCHED THEN UPDATE SET v = t.v + s.v, op = s.op WHEN NOT MATCHED THEN INSERT *"
            ).first()
        finally:
            for key in named:
                self.spark.conf.unset(key)
        return {"counts": counts.asDict() if counts else {}}


class Servant(Worker):
    """Runs services on the table: its own plans, and those of the other process."""

    def step(self, table: SoakTable) -> None:
        entry: dict[str, Any] = {"op": "", "kind": self.kind(table), "table": table.name, "begun": time.time()}
        try:
            entry.update(self.serve(entry["kind"], self.table(table), table.settings), outcome="done")
        except MerganserError as error:
            entry.update(outcome="refused", condition=error.condition, message=str(error)[:2000])
        except FileExistsError:
            entry.update(outcome="refused", condition="PAUSED", message="the other process restores the table")
        except Exception as error:
            entry.update(outcome="failed", condition=type(error).__name__, message=str(error)[:6000])
        self.note(**entry, ended=time.time())
        time.sleep(self.rng.random())

    def kind(self, table: SoakTable) -> str:
        kinds = {"clean": 1, "savepoint": 1, "archiving": 1, "restore": 1}
        if table.kind == "MERGE_ON_READ":
            kinds |= {"compaction": 6, "log compaction": 2}
        if "BUCKET" not in table.options.values():
            kinds |= {"clustering": 2}
        return self.rng.choices(list(kinds), list(kinds.values()))[0]

    def serve(self, kind: str, table: Table, settings: dict[str, str]) -> dict[str, Any]:
        if kind == "clean":
            return {"files": table.clean(options=settings).files_deleted}
        if kind == "savepoint":
            if table.savepoints.list():
                table.savepoints.delete(options=settings)
            else:
                table.savepoints.create(options=settings)
            return {}
        if kind == "archiving":
            return {"instants": table.services.archive(min_commits=4, max_commits=6, options=settings).instants}
        if kind == "restore":
            return self.restore(table, settings)
        if kind == "clustering":
            clustered = table.services.cluster(order_by="v", options=settings)
            return {"files": clustered.files if clustered else 0}
        if kind == "log compaction":
            few = {**settings, "hoodie.log.compaction.blocks.threshold": "2"}
            done = table.services.compact_logs(options=few)
        else:
            done = table.compact(schedule_only=self.rng.random() < 0.3, options=settings)
        return {"files": done.files if done else 0, "instant": done.instant if done else ""}

    def restore(self, table: Table, settings: dict[str, str]) -> dict[str, Any]:
        """Take back what the writers do for a second. They pause while the target is chosen, and for the restore."""
        with self.alone(table):
            for savepoint in table.savepoints.list():
                table.savepoints.delete(savepoint.instant, options=settings)
            target = table.savepoints.create(options=settings).instant
        time.sleep(1)
        with self.alone(table):
            for savepoint in table.savepoints.list():
                if savepoint.instant > target:
                    table.savepoints.delete(savepoint.instant, options=settings)
            # The commits that are taken back, for the judge: nobody writes now.
            copy = self.root / f"taken-{Path(table.path).name}"
            copy.mkdir(exist_ok=True)
            for file in (Path(table.path) / ".hoodie" / "timeline").glob("*commit"):
                shutil.copyfile(file, copy / file.name)
            done = table.savepoints.restore(target, options=settings)
            return {"target": target, "instant": done.instant or ""}

    @contextmanager
    def alone(self, table: Table) -> Iterator[None]:
        """While no other thread of both processes writes to the table."""
        name = Path(table.path).name
        pause = self.root / f"pause-{name}"
        pause.touch(exist_ok=False)
        try:
            own, end = f"busy-{name}-{self.name}", time.monotonic() + 60
            while others := [file for file in self.root.glob(f"busy-{name}-*") if file.name != own]:
                assert time.monotonic() < end, f"a restore waits too long for {others}"
                time.sleep(0.01)
            yield
        finally:
            pause.unlink()


class Reader(Worker):
    """Reads the whole table again and again."""

    def turn(self, table: SoakTable) -> None:
        """Also during a restore."""
        self.step(table)

    def step(self, table: SoakTable) -> None:
        begun = time.time()
        try:
            frame = self.spark.read.format("merganser").load(self.path(table)).select("id", "part", "ts", "v", "op")
            rows = [tuple(row) for row in frame.collect()]
        except Exception as error:
            what = next((name for name in TAKEN_BACK if name in str(error)), None)
            if what is None:
                raise
            note = {"op": "", "kind": "interrupted read", "table": table.name, "condition": what}
            self.note(**note, outcome="refused", message=str(error)[:2000], begun=begun, ended=time.time())
            return
        ended = time.time()
        name = digest(rows)
        file = self.root / "reads" / f"{table.name}-{name}.json"
        if not file.exists():
            file.write_text(json.dumps(sorted(rows)))
        self.note(op="", kind="read", table=table.name, begun=begun, ended=ended, digest=name, outcome="done")
        time.sleep(0.05)


def warmed_up(spark: SparkSession, folder: Path) -> None:
    """Every kind of operation once, so that the time is spent on writes and not on loading classes."""
    mine = SoakTable("warm", "MERGE_ON_READ", TABLES[1].options)
    create(spark, folder, mine)
    clock = Clock(time.time(), 1000, [mine])
    writer = Writer(spark, folder, "warm", 0, clock)
    for kind in ("upsert", "insert", "delete", "merge", "overwrite"):
        writer.write(kind, writer.rows(kind, f"warm-{kind}", mine), mine, mine.settings)
    servant = Servant(spark, folder, "warm-servant", 0, clock)
    for kind in ("compaction", "log compaction", "clustering", "clean", "savepoint", "archiving", "restore"):
        servant.serve(kind, servant.table(mine), mine.settings)
    Reader(spark, folder, "warm-reader", 0, clock).step(mine)


def create(spark: SparkSession, root: Path, table: SoakTable) -> None:
    (root / "reads").mkdir(exist_ok=True)
    made = Table.create(
        spark,
        root / table.name,
        COLUMNS,
        record_key="id",
        partition_by="part",
        ordering_by="ts",
        options={"hoodie.datasource.write.table.type": table.kind, **table.options},
    )
    made.upsert(spark.createDataFrame(first_rows(), COLUMNS), options=table.settings)


def main(root: Path, number: int, seconds: float, seed: int) -> None:
    spark = merganser.session(f"soak {number}", master="local[4]", config=SESSION)
    spark.sparkContext.setLogLevel("ERROR")
    warm = root / f"warm-{number}"
    warm.mkdir()
    warmed_up(spark, warm)
    (root / f"ready-{number}").touch()
    while not (root / "go").exists():
        time.sleep(0.05)
    clock = Clock(float((root / "go").read_text()), seconds, TABLES)
    workers: list[Worker] = [Writer(spark, root, f"{number}{i}", seed, clock) for i in range(WRITERS)]
    workers.append(Servant(spark, root, f"{number}-servant", seed, clock))
    workers.append(Reader(spark, root, f"{number}-reader", seed, clock))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    failures = [worker.failure for worker in workers if worker.failure]
    spark.stop()
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
