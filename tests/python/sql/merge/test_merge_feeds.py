"""A change feed that MERGE applies in random batches: updates, deletes and inserts, in any order.

Every key is stored before its changes arrive, and is deleted at most once: a DELETE clause is about stored rows, so a
delete of a key without a row leaves nothing. MERGANSER_FULL=1 applies more feeds; MERGANSER_SEED is added to the seeds.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from row_level import INSERT_ALL, UPDATE_ALL, merge, values
from sql_steps import Sql

FULL = bool(os.environ.get("MERGANSER_FULL"))
FIRST_SEED = int(os.environ.get("MERGANSER_SEED", "0"))
SEEDS = range(FIRST_SEED, FIRST_SEED + (20 if FULL else 2))

RETAINED = {"merganser.tombstones.retained.hours": "24"}
BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
CLAUSES = (
    "WHEN MATCHED AND s.op = 'd' THEN DELETE",
    UPDATE_ALL,
    INSERT_ALL.replace("MATCHED", "MATCHED AND s.op = 'u'"),
)
KEYS = range(1, 5)


class Change(NamedTuple):
    id: int
    ts: int
    v: str
    op: str

    @property
    def sql(self) -> str:
        return f"({self.id}, {self.ts}L, '{self.v}', '{self.op}')"


def feed(rng: random.Random) -> list[Change]:
    """Changes of each key, with different ordering values, in the order in which they happened."""
    changes = []
    for key in KEYS:
        times = sorted(rng.sample(range(1, 20), 4))
        gone = rng.choice([*times, None])
        changes += [Change(key, ts, f"v{ts}", "d" if ts == gone else "u") for ts in times]
    return sorted(changes, key=lambda change: change.ts)


def batches(rng: random.Random, changes: Sequence[Change]) -> list[list[Change]]:
    """The changes in any order, some of them twice."""
    arriving = [*changes, *rng.sample(changes, 3)]
    rng.shuffle(arriving)
    made = []
    while arriving:
        size = rng.randint(1, 6)
        made.append(arriving[:size])
        arriving = arriving[size:]
    return made


def latest(changes: Sequence[Change]) -> list[tuple[object, ...]]:
    """The fold by event time: of each key the change with the greatest ordering value."""
    newest = {change.id: change for change in sorted(changes, key=lambda change: change.ts)}
    return sorted((change.id, change.ts, change.v) for change in newest.values() if change.op == "u")


def forgetting(applied: Sequence[Sequence[Change]]) -> list[tuple[object, ...]]:
    """The same of a table that keeps no tombstone: batch by batch, and what follows an applied delete is a new row."""
    rows: dict[int, Change] = {key: Change(key, 0, "v0", "u") for key in KEYS}
    for batch in applied:
        for newest in {change.id: change for change in sorted(batch, key=lambda change: change.ts)}.values():
            if newest.id not in rows and newest.op == "u":
                rows[newest.id] = newest
            elif newest.id in rows and newest.ts >= rows[newest.id].ts:
                if newest.op == "d":
                    del rows[newest.id]
                else:
                    rows[newest.id] = newest
    return sorted((row.id, row.ts, row.v) for row in rows.values())


def applied(sql: Sql, table: str, arriving: Sequence[Sequence[Change]]) -> list[tuple[object, ...]]:
    sql.run(f"INSERT INTO {table} SELECT id, 0, 'v0' FROM VALUES {', '.join(f'({key})' for key in KEYS)} AS keys(id)")
    for batch in arriving:
        sql.run(merge(table, values("id, ts, v, op", *[change.sql for change in batch]), *CLAUSES))
    return sql.rows(table)


TABLES = {
    "mor": ("mor", {}),
    "mor, buckets": ("mor", BUCKET),
    "mor, retained": ("mor", RETAINED),
    "cow, retained": ("cow", RETAINED),
    "cow, buckets, retained": ("cow", {**BUCKET, **RETAINED}),
}


# Guarantee (Merge rules): Changes that `MERGE` applies to stored rows give the fold by event time, in any order and
#   batches.
@pytest.mark.sampled
@pytest.mark.parametrize("name", TABLES)
def test_a_feed_in_any_order_and_batches_gives_the_fold_by_event_time(sql: Sql, name: str) -> None:
    kind, properties = TABLES[name]
    for seed in SEEDS:
        rng = random.Random(f"{name} {seed}")
        changes = feed(rng)
        arriving = batches(rng, changes)
        table = sql.create(kind, **properties)
        assert applied(sql, table, arriving) == latest(changes), (name, seed, arriving)
        if "retained" in name and kind == "mor":
            sql.run(f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}')")
            late = [Change(change.id, change.ts, change.v, "u") for change in changes if change.op == "d"]
            late = [change._replace(ts=change.ts - 1, v="late") for change in late]
            if late:
                sql.run(merge(table, values("id, ts, v, op", *[change.sql for change in late]), *CLAUSES))
            assert sql.rows(table) == latest([*changes, *late]), (name, seed, arriving)


def test_copy_on_write_without_retained_deletes_inserts_a_late_row_after_a_delete(sql: Sql) -> None:
    differing = 0
    for seed in SEEDS:
        rng = random.Random(f"forgetting {seed}")
        changes = feed(rng)
        arriving = batches(rng, changes)
        expected = forgetting(arriving)
        assert applied(sql, sql.create("cow"), arriving) == expected, (seed, arriving)
        differing += expected != latest(changes)
    late = [[Change(1, 9, "x", "d")], [Change(1, 8, "late", "u")]]
    assert applied(sql, sql.create("cow"), late)[0] == (1, 8, "late")
    assert forgetting(late)[0] == (1, 8, "late")


def test_the_random_feeds_contain_late_deletes_and_rows_after_deletes() -> None:
    late = after = 0
    for seed in range(FIRST_SEED, FIRST_SEED + 20):
        rng = random.Random(f"mor {seed}")
        changes = feed(rng)
        arriving = [change for batch in batches(rng, changes) for change in batch]
        for at, change in enumerate(arriving):
            if change.op == "d":
                late += any(other.id == change.id and other.ts > change.ts for other in arriving[:at])
                after += any(other.id == change.id and other.ts < change.ts for other in arriving[at:])
    assert late > 5
    assert after > 5
