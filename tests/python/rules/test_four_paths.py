"""The same changes give the same table, whatever path they take, under every merge rule that a table can store.

Fifty random histories a rule, each a handful of keys, live side by side in one table a path. The oracle is the fold of
`fold.py`, which shares nothing with what it checks. `MERGANSER_SEED` is added to the seeds; a failure names them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fold import COMMON, Batch, Row, Rule, fold, history, one_version_a_batch, together
from frames import frame, load, save
from option_names import COW, KEY, MOR, OPERATION, TYPE
from pyspark.sql import SparkSession
from stored_rules import RULES

from merganser import Table

FULL = bool(os.environ.get("MERGANSER_FULL"))
FIRST_SEED = int(os.environ.get("MERGANSER_SEED", "0"))
SEEDS = range(FIRST_SEED, FIRST_SEED + 50)
BATCHES = 4

CHANGE_DATA = {
    "hoodie.datasource.query.type": "incremental",
    "hoodie.datasource.query.incremental.format": "cdc",
    "hoodie.datasource.read.begin.instanttime": "earliest",
    "spark.merganser.read.changeImages": "struct",
}
EVENT_TIME = next(rule for rule in RULES if rule.name == "event time")

# Rules differ in nothing that a Spark line could change: other lines run one of each make; all with MERGANSER_FULL=1.
ON_EACH_LINE = {"event time by two fields", "OverwriteNonDefaults", "PartialUpdate", "MySqlDebezium", "a user's merger",
                "functions of columns"}  # fmt: skip
assert {rule.name for rule in RULES} >= ON_EACH_LINE
# Versions 6 and 8 have one rule for a payload class: half of the classes run on each; all with MERGANSER_FULL=1.
PAYLOADS = sorted({rule.name.split(", version ")[0] for rule in RULES if ", version " in rule.name})
LEFT_OUT = {f"{name}, version {(8, 6)[i % 2]}" for i, name in enumerate(PAYLOADS)}
assert {rule.name for rule in RULES} >= LEFT_OUT
CHOSEN = [rule for rule in RULES if FULL or rule.name not in LEFT_OUT]
each_rule = pytest.mark.parametrize(
    "rule",
    [pytest.param(r, id=r.name, marks=[pytest.mark.e2e] if FULL or r.name in ON_EACH_LINE else []) for r in CHOSEN],
)


def histories(rule: Rule, *, erasing: bool = False) -> list[list[list[Any]]]:
    return [history(rule, seed, BATCHES, erasing=erasing) for seed in SEEDS]


def result(
    spark: SparkSession,
    path: Path,
    batches: Sequence[Batch],
    rule: Rule,
    table_type: str,
    *,
    compacting: bool = False,
    recording: bool = True,
) -> dict[str, Row]:
    """Write the batches, one commit each, and read the table."""
    options = {KEY: "id", TYPE: table_type, "hoodie.table.cdc.enabled": str(recording).lower(), **rule.settings}
    for batch in batches:
        upserts, erasures = ([v.row for v in batch if v.erases is erases] for erases in (False, True))
        for rows, operation in ((upserts, "upsert"), (erasures, "delete")):
            if rows:
                values = [tuple(row[name] for name in names(rule)) for row in rows]
                save(frame(spark, values, f"{COMMON}, {rule.columns}"), path, {**options, OPERATION: operation})
        if compacting:
            Table.load(spark, str(path)).compact(options=rule.for_readers)
    return read(spark, path, rule)


def folded_changes(spark: SparkSession, path: Path, rule: Rule) -> dict[str, Row]:
    """The rows that the changes of all commits give, each checked against the rows before it."""
    reader = spark.read.format("merganser").options(**rule.for_readers, **CHANGE_DATA)
    image = [f"{side}.{name} {side}_{name}" for side in ("before", "after") for name in names(rule)]
    found = reader.load(str(path)).selectExpr("op", "completion_time", *image).collect()
    rows: dict[str, Row] = {}
    for change in sorted(found, key=lambda row: (row.completion_time, row.op)):
        old, new = ({name: change[f"{side}_{name}"] for name in names(rule)} for side in ("before", "after"))
        if change.op != "i":
            assert rows.pop(old["id"]) == old, f"{path.name}: {change}"
        if change.op != "d":
            assert new["id"] not in rows, f"{path.name}: {change}"
            rows[new["id"]] = new
    return rows


def names(rule: Rule) -> list[str]:
    return [column.split()[0] for column in f"{COMMON}, {rule.columns}".split(", ")]


def read(spark: SparkSession, path: Path, rule: Rule) -> dict[str, Row]:
    found = [row.asDict() for row in load(spark, path, **rule.for_readers).select(*names(rule)).collect()]
    by_key = {row["id"]: row for row in found}
    assert len(by_key) == len(found), "a key comes twice"
    return by_key


def agree(found: Mapping[str, Row], expected: Mapping[str, Row], path: str) -> None:
    wrong = sorted(key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
    seeds = sorted({int(key.rsplit("-", 1)[0]) for key in wrong})
    shown = {key: (found.get(key), expected.get(key)) for key in wrong[:3]}
    assert not wrong, f"{path}: seeds {seeds}; key: (found, expected) {shown}"


# Guarantee (One result): The same changes give the same rows, whether they are combined in a batch, merged on write,
#   compacted or merged when read, under every rule and on both types of tables (exceptions: [below](#not-promised)).
#   Also: HistoriesSuite, WholePathSuite
# Guarantee (One result): The changes of a window, applied to the rows before it, give the rows after it, under every
#   rule; rows that a write left unchanged are not among them. Also:
#   test_change_data_without_change_files_gives_the_rows_of_the_fold, GroupChangesSuite
# Guarantee (Merge rules): Under column rules, late-arriving and partial rows, deletes and moves between partitions give
#   the same row on every path, to the last bit. Also: HistoriesSuite, WritesSuite, ColumnFunctionSuite,
#   test_a_read_of_one_column_returns_its_merged_value,
#   test_a_row_that_moves_to_another_partition_keeps_its_sum
# Guarantee (Merge rules): A delete has the same effect on column groups and on the row on every path, also if it is
#   late for some groups only; SQL `DELETE` removes the row. Also: HistoriesSuite, WritesSuite, DeletesSuite,
#   test_unconditional_deletes_remove_the_row_under_every_delete_policy
# Guarantee (Merge rules): A row and its retraction add nothing to a sum, in either order, on every path; a rule that
#   cannot undo a retraction is refused. Also: RuleCheckSuite,
#   test_a_rule_with_a_function_that_cannot_subtract_is_refused_with_its_column
@pytest.mark.sampled
@each_rule
def test_every_path_gives_the_rows_of_the_fold(spark: SparkSession, tmp_path: Path, rule: Rule) -> None:
    batches = together(histories(rule))
    whole = [[version for batch in batches for version in batch]]
    single = one_version_a_batch(batches)

    def check(name: str, batches: Sequence[Batch], table_type: str, *, tombstones: bool, compacting: bool) -> None:
        # Tombstones are what the paths differ in, as documented: a log keeps them, a base file does not.
        found = result(spark, tmp_path / name.replace(" ", "-"), batches, rule, table_type, compacting=compacting)
        agree(found, fold(rule, batches, tombstones=tombstones), name)

    def changes(name: str) -> None:
        path = tmp_path / name.replace(" ", "-")
        agree(folded_changes(spark, path, rule), read(spark, path, rule), f"changes of {name}")

    check("combined in one batch", whole, COW, tombstones=False, compacting=False)
    check("merged at write", batches, COW, tombstones=False, compacting=False)
    check("merged at read", batches, MOR, tombstones=True, compacting=False)
    check("one version a batch and merged at read", single, MOR, tombstones=True, compacting=False)
    check("compacted after each batch", batches, MOR, tombstones=False, compacting=True)
    if FULL or rule.name in ON_EACH_LINE:
        # Recorded where a base file was replaced, compared elsewhere.
        changes("merged at write")
        changes("merged at read")
    if FULL:
        changes("compacted after each batch")


@pytest.mark.parametrize("kind", [COW, MOR])
def test_change_data_without_change_files_gives_the_rows_of_the_fold(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    batches = together(histories(EVENT_TIME))
    expected = result(spark, tmp_path / "t", batches, EVENT_TIME, kind, recording=False)
    agree(folded_changes(spark, tmp_path / "t", EVENT_TIME), expected, "changes by comparison")


@pytest.mark.extensive
@pytest.mark.sampled
@each_rule
def test_compactions_of_logs_and_slices_change_no_row(spark: SparkSession, tmp_path: Path, rule: Rule) -> None:
    batches = together(histories(rule, erasing=True))
    expected = fold(rule, batches, tombstones=True)
    agree(result(spark, tmp_path / "t", batches, rule, MOR), expected, "merged at read")
    settings = {**rule.for_readers, "hoodie.log.compaction.blocks.threshold": "2"}
    merged = Table.load(spark, str(tmp_path / "t")).services.compact_logs(options=settings)
    assert merged is not None
    agree(read(spark, tmp_path / "t", rule), expected, "logs compacted")
    Table.load(spark, str(tmp_path / "t")).compact(options=rule.for_readers)
    agree(read(spark, tmp_path / "t", rule), expected, "compacted")


@pytest.mark.e2e
def test_deletes_without_ordering_value_end_a_history_on_every_path(spark: SparkSession, tmp_path: Path) -> None:
    batches = [
        [version for version in batch if version.erases or not version.deletes]
        for batch in together(histories(EVENT_TIME, erasing=True))
    ]
    expected = fold(EVENT_TIME, batches, tombstones=True)
    assert expected == fold(EVENT_TIME, batches, tombstones=False)
    agree(result(spark, tmp_path / "cow", batches, EVENT_TIME, COW), expected, "merged at write")
    agree(result(spark, tmp_path / "mor", batches, EVENT_TIME, MOR), expected, "merged at read")


@each_rule
def test_the_random_histories_contain_deletes_and_late_rows(rule: Rule) -> None:
    batches = together(histories(rule))
    is_same = fold(rule, batches, tombstones=True) == fold(rule, batches, tombstones=False)
    assert is_same is (not rule.by_event or rule.by_column is not None)
    versions = [v for one in histories(rule, erasing=True) for batch in one for v in batch]
    assert any(v.erases for v in versions)
    assert any(v.deletes for v in versions)
