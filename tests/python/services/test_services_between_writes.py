"""Services that run between any two writes change no row, under every merge rule that a table can store.

The histories and the oracle are those of the four paths (`fold.py`). Between their writes run services, chosen at
random: `MERGANSER_SEED` is added to the seed, and a failure lists what ran.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from fold import COMMON, Batch, Row, Rule, fold, history, together
from frames import frame, load, save
from option_names import COW, KEY, MOR, OPERATION, TYPE
from pyspark.sql import SparkSession
from stored_rules import RULES

from merganser import Table

FULL = bool(os.environ.get("MERGANSER_FULL"))
FIRST_SEED = int(os.environ.get("MERGANSER_SEED", "0"))
BATCHES = 6
WRITES = ("commit", "deltacommit", "replacecommit")

# One rule of each make on one type of table; all rules on both types with MERGANSER_FULL=1.
CHOSEN = {
    "event time by two fields": MOR,
    "OverwriteNonDefaults": COW,
    "PartialUpdate, version 6": MOR,
    "PostgresDebezium": COW,
    "a user's merger": MOR,
}
assert {rule.name for rule in RULES} >= set(CHOSEN)
CASES = [
    pytest.param(rule, kind, id=f"{rule.name}, {'mor' if kind == MOR else 'cow'}")
    for rule in RULES
    for kind in (COW, MOR)
    if FULL or CHOSEN.get(rule.name) == kind
]


class Services:
    """Runs services on a table, and remembers which, and after which batches the logs became base files."""

    def __init__(self, table: Table, rule: Rule, rng: random.Random) -> None:
        self.table = table
        self.rule = rule
        self.rng = rng
        self.ran: list[str] = []
        self.compacted: set[int] = set()
        self.batch = 0
        self.planned: int | None = None

    def run_some(self, batch: int) -> None:
        self.batch = batch
        choices = [self.clean, self.archive, self.savepoint, self.cluster, self.repair]
        if self.table.table_type == "MERGE_ON_READ":
            choices += [self.compact, self.plan_compaction, self.compact_logs]
        for service in self.rng.sample(choices, self.rng.randint(1, 3)):
            self.ran.append(f"{batch}: {service.__name__}")
            service()

    def clean(self) -> None:
        retained = {"hoodie.clean.commits.retained": str(self.rng.randint(1, 2))}
        self.table.clean(options=retained)

    def archive(self) -> None:
        retained = {"hoodie.clean.commits.retained": "1"}
        self.table.services.archive(min_commits=2, max_commits=3, options=retained)

    def savepoint(self) -> None:
        if self.table.savepoints.list():
            self.table.savepoints.delete()
        else:
            self.table.savepoints.create()

    def plan_compaction(self) -> None:
        if self.planned is None and self.table.compact(schedule_only=True, options=self.rule.for_readers):
            self.planned = self.batch

    def cluster(self) -> None:
        # File groups of a planned compaction are left out.
        if self.planned is None and self.table.services.cluster(order_by="v", options=self.rule.for_readers):
            self.compacted.add(self.batch)

    def compact_logs(self) -> None:
        options = {**self.rule.for_readers, "hoodie.log.compaction.blocks.threshold": "2"}
        self.table.services.compact_logs(options=options)

    def repair(self) -> None:
        assert self.table.repairs.merge_duplicates(options=self.rule.for_readers).keys == 0
        assert self.table.repairs.remove_orphan_files() == []

    def newest_write(self) -> str:
        written = [e for e in self.table.history() if e.action in WRITES and e.state == "COMPLETED"]
        return max(entry.instant for entry in written)

    def compact(self) -> None:
        self.table.compact(options=self.rule.for_readers)
        self.compacted.add(self.batch if self.planned is None else self.planned)
        self.planned = None


def read(spark: SparkSession, path: Path, rule: Rule) -> dict[str, Row]:
    columns = [column.split()[0] for column in f"{COMMON}, {rule.columns}".split(", ")]
    found = [row.asDict() for row in load(spark, path, **rule.for_readers).select(*columns).collect()]
    by_key = {row["id"]: row for row in found}
    assert len(by_key) == len(found), "a key comes twice"
    return by_key


def groups(spark: SparkSession, path: Path, rule: Rule) -> dict[str, str]:
    """The file group of each row, by its key."""
    rows = load(spark, path, **rule.for_readers).select("id", "_hoodie_file_name").collect()
    return {row["id"]: group_of(row["_hoodie_file_name"]) for row in rows}


def group_of(file: str) -> str:
    return file.lstrip(".").split("_")[0]


def base_files(path: Path) -> dict[str, str]:
    return {file.name: group_of(file.name) for file in path.rglob("*.parquet")}


def write(spark: SparkSession, path: Path, batch: Batch, rule: Rule, kind: str) -> None:
    columns = f"{COMMON}, {rule.columns}"
    for operation, erases in (("upsert", False), ("delete", True)):
        rows = [tuple(v.row[c.split()[0]] for c in columns.split(", ")) for v in batch if v.erases is erases]
        if rows:
            save(frame(spark, rows, columns), path, {KEY: "id", TYPE: kind, **rule.settings, OPERATION: operation})


@pytest.mark.extensive
@pytest.mark.parametrize(("rule", "kind"), CASES)
def test_services_between_writes_change_no_row(spark: SparkSession, tmp_path: Path, rule: Rule, kind: str) -> None:
    rng = random.Random(f"{rule.name} {kind} {FIRST_SEED}")
    seeds = range(FIRST_SEED, FIRST_SEED + (50 if FULL else 20))
    batches = together([history(rule, seed, BATCHES, erasing=True) for seed in seeds])
    path = tmp_path / "t"
    services: Services | None = None
    restored = rng.randrange(1, BATCHES)
    merged: dict[int, set[str]] = {}
    for i, batch in enumerate(batches):
        if services and i >= restored and services.planned is None:
            # What is taken back is as if it had never been written.
            kept = services.newest_write()
            write(spark, path, batch, rule, kind)
            services.table.savepoints.restore(kept)
            services.ran.append(f"{i}: restore")
            restored = BATCHES
        before = (groups(spark, path, rule), base_files(path)) if services else ({}, {})
        write(spark, path, batch, rule, kind)
        # A write that puts new keys into a small base file merges the batch into it, deletes too.
        rewritten = {group for file, group in base_files(path).items() if file not in before[1]}
        merged[i] = {key for key, group in before[0].items() if group in rewritten}
        services = services or Services(Table.load(spark, str(path)), rule, rng)
        services.run_some(i)
    assert services is not None

    expected = fold(rule, batches, tombstones=kind == MOR, compacted=services.compacted, merged=merged)
    found = read(spark, path, rule)
    wrong = {key: (found.get(key), expected.get(key)) for key in found.keys() | expected.keys()}
    wrong = {key: pair for key, pair in wrong.items() if pair[0] != pair[1]}
    assert not wrong, f"after {services.ran}: {len(wrong)} keys; key: (found, expected) {list(wrong.items())[:3]}"
    if kind == MOR:
        services.compact()
        assert read(spark, path, rule) == expected, services.ran
