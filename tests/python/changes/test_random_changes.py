"""Random histories of a source's table: in whatever order and batches, they make the table that a fold makes."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from change_events import PLACEHOLDER, order, postgres
from pyspark.sql import SparkSession

from merganser import Table, TableType


class Change(NamedTuple):
    """One event of the source: the value of ``note`` is unavailable where it is the placeholder."""

    op: str
    lsn: int
    id: int
    status: str | None = None
    note: str | None = None

    def json(self) -> str:
        row = order(self.id, self.status, note=self.note)
        return postgres(self.op, self.lsn, *((None, order(self.id, None)) if self.op == "d" else (row,)))


def history(chance: random.Random, keys: range, events: int, *, deletes: bool) -> list[Change]:
    """What a source does to some of its rows: as it must be, a row is inserted before it is updated."""
    stored: set[int] = set()
    changes = []
    for lsn in range(100, 100 + events):
        id = chance.choice(keys)
        value = chance.choice([None, "a", "b", f"v{lsn}"])
        if id not in stored:
            changes.append(Change("c", lsn, id, value, value))
            stored.add(id)
        elif deletes and chance.random() < 0.25:
            changes.append(Change("d", lsn, id))
            stored.remove(id)
        else:
            changes.append(Change("u", lsn, id, value, PLACEHOLDER if deletes and chance.random() < 0.5 else value))
    return changes


def folded(changes: list[Change]) -> list[tuple[Any, ...]]:
    rows: dict[int, tuple[Any, ...]] = {}
    for change in sorted(changes, key=lambda one: one.lsn):
        if change.op == "d":
            rows.pop(change.id, None)
        else:
            note = rows[change.id][2] if change.note == PLACEHOLDER else change.note
            rows[change.id] = (change.id, change.status, note, change.lsn)
    return sorted(rows.values())


# Guarantee (Change events): Change events in any order, repeated and in any batches make the table that a fold of the
#   source's history makes, with deletes, changed keys and unavailable values; what cannot be applied is an error, or in
#   a quarantine with its reason. Also: test_events_of_each_tool_in_any_order_give_the_source_tables_rows,
#   test_a_stream_that_fails_after_a_commit_applies_nothing_twice_when_it_is_restarted,
#   test_malformed_events_are_refused_or_quarantined_with_their_reasons
@pytest.mark.extensive
@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_shuffled_repeated_and_batched_changes_give_the_rows_of_the_fold(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    seed = f"{os.environ.get('MERGANSER_SEED', '0')} {kind}"
    chance = random.Random(seed)
    # What comes after a delete of its key in a later batch has to be newer, and what fills a value too.
    ordered = history(chance, range(10), 90, deletes=True)
    shuffled = history(chance, range(100, 110), 90, deletes=False)
    changes = ordered + shuffled
    chance.shuffle(shuffled)
    shuffled += chance.sample(shuffled, 20)
    cuts = sorted(chance.sample(range(1, 89), 3))
    windows = [ordered[start:end] for start, end in zip([0, *cuts], [*cuts, 90])]
    batches = [window + chance.sample(window, len(window) // 3) for window in windows]
    for change in shuffled:
        chance.choice(batches).append(change)
    merge_on_read = kind == "mor"
    table = Table.create_for_changes(
        spark,
        str(tmp_path / "orders"),
        spark.createDataFrame([(changes[0].json(),)], "value string"),
        preset="debezium_postgres",
        keys="id",
        table_type=TableType.MERGE_ON_READ if merge_on_read else TableType.COPY_ON_WRITE,
    )
    for batch in batches:
        chance.shuffle(batch)
        frame = spark.createDataFrame([(change.json(),) for change in batch], "value string").repartition(3)
        done = table.apply_changes(frame, preset="debezium_postgres")
        assert done.events == len(batch) == done.applied
    for read in (lambda: None, table.compact) if merge_on_read else (lambda: None,):
        read()
        stored = sorted(tuple(row) for row in table.df().select("id", "status", "note", "_event_lsn").collect())
        assert stored == folded(changes), f"seed {seed}"
