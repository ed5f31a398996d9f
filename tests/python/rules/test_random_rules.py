"""Rules drawn at random as Python functions, on frames and on tables. Those of one more are on all paths elsewhere."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from frames import frame, rows_of
from pyspark.sql import SparkSession
from random_rules import RandomRule
from stored_rules import by_ts, some_values

import merganser
from merganser import Table, TableType

pytestmark = pytest.mark.e2e

SEED = int(os.environ.get("MERGANSER_SEED", "0"))
COUNT = 20 if os.environ.get("MERGANSER_FULL") == "1" else 4
COLUMNS = "id int, ts bigint, n bigint, low int, high string, origin string, seen boolean"
NAMES = ("id", "ts", "n", "low", "high", "origin", "seen")


@pytest.mark.parametrize("number", range(COUNT))
def test_a_random_traced_rule_merges_rows_like_its_python_function(
    spark: SparkSession, tmp_path: Path, number: int
) -> None:
    seed = SEED * 1000 + number + 1
    drawn, rng = RandomRule(seed), random.Random(seed)
    expected: dict[int, dict[str, object]] = {}
    batches = [[{"id": rng.randint(1, 6), **some_values(rng)} for _ in range(12)] for _ in range(3)]
    for row in (row for batch in batches for row in batch):
        older = expected.get(row["id"])
        late = older is not None and by_ts(row) < by_ts(older)
        expected[row["id"]] = row if older is None else drawn.by_column(older, row, late)
    wanted = sorted((tuple(row[name] for name in NAMES) for row in expected.values()), key=repr)
    frames = [frame(spark, [tuple(row[name] for name in NAMES) for row in batch], COLUMNS) for batch in batches]
    kind = TableType.MERGE_ON_READ if number % 2 else TableType.COPY_ON_WRITE
    table = Table.create(
        spark, tmp_path / "t", COLUMNS, record_key="id", ordering_by="ts", table_type=kind, rule=drawn.rule
    )
    for rows in frames:
        table.upsert(rows)
    context = f"seed {SEED}, rule {drawn.rule}"
    assert sorted(rows_of(table.df()), key=repr) == wanted, context
    for name in ("n", "low", "high", "seen"):
        found = rows_of(table.df().select("id", name))
        assert sorted(found) == sorted((row[0], row[NAMES.index(name)]) for row in wanted), f"{name}: {context}"
    merged = merganser.combine(frames[0].unionAll(frames[1]).unionAll(frames[2]), "id", drawn.rule, ordering_by="ts")
    assert sorted(rows_of(merged), key=repr) == wanted, context
