"""The benchmark measures what it reports, and fails when a table is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT
from pyspark.sql import SparkSession

sys.path.insert(0, str(ROOT / "benchmarks"))

import bench
import change_tables
import changes
import lineitem
import ratios
import services
import upsert_curve

pytestmark = pytest.mark.extensive

#: Of the curve of upserts, the merge-on-read table and a thousand upserts; all tables of changes, beside Hudi too.
FULL = bool(os.environ.get("MERGANSER_FULL"))


def test_a_tiny_run_measures_each_operation_on_each_table_and_checks_the_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    kinds = ["cow-simple", "mor-bucket"]
    settings = bench.Settings(scale=0.001, files=2, batches=1, repetitions=1, warm_ups=0, reads=1, variants=kinds)
    run = bench.Bench(spark, settings, tmp_path, print)

    samples = run.run()

    works = {kind: [sample.work for sample in samples if sample.variant == kind] for kind in kinds}
    all_tables = [
        "bulk load",
        "bytes on disk after it",
        "upsert of 5 %",
        "snapshot read, 3 columns",
        "snapshot read, all columns",
    ]
    after = ["compaction", "read after compaction, 3 columns", "read after compaction, all columns"]
    changes = ["SQL MERGE of 5 %", "upsert of 100 rows"]
    assert works == {"cow-simple": [*all_tables, *changes], "mor-bucket": [*all_tables, *after, *changes]}
    assert all(sample.ours > 0 and sample.plain > 0 for sample in samples)
    assert_costs(samples)
    assert run.data is not None
    rows, changed = run.data.loaded[0], spark.read.parquet(*run.data.batches)
    assert changed.count() > changed.select(lineitem.KEY).distinct().count(), "some rows come twice"
    assert changed.where("ts < 1000000").count() > 0, "some rows are late"
    assert run.data.merged[0] > rows, "some rows are new"
    with pytest.raises(bench.WrongResult, match="here: "):
        bench.require(_Holding(spark.read.parquet(run.data.table)), run.data.merged, "here")


def test_a_tiny_run_on_a_cluster_compares_workers_and_batches_and_checks_the_rows() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "scale.py"), "--scale", "0.001", "--repetitions", "1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "WRONG RESULT" not in done.stderr
    lines = [line.split("|")[1:3] for line in done.stdout.splitlines() if line.startswith("| ")]
    found = [tuple(cell.strip() for cell in line) for line in lines]
    both = ["bulk load", "upsert of 5 %", "snapshot read, all columns"]
    expected = {(work, kind) for work in both for kind in ("cow-simple", "mor-bucket")} | {("compaction", "mor-bucket")}
    assert expected <= set(found), done.stdout + done.stderr[-3000:]
    assert found.count(("upsert of 5 %", "cow-simple")) == 2


def test_a_run_on_a_partitioned_table_also_measures_an_upsert_into_one_partition(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = bench.Settings(
        scale=0.001, files=2, batches=1, repetitions=1, warm_ups=0, reads=1, partitions=3, variants=["cow-simple"]
    )
    samples = bench.Bench(spark, settings, tmp_path, print).run()

    assert samples[-1].work == "upsert of 5 % of one of 3 partitions"
    assert_costs(samples)


def test_each_service_is_measured_beside_code_that_moves_the_same_bytes(spark: SparkSession, tmp_path: Path) -> None:
    settings = services.Settings(groups=2, rows=400, commits=4, repetitions=1, warm_ups=0)

    clean, archive, compaction, clustering = services.Services(spark, settings, tmp_path, print).run()

    assert clean.work == "clean of 8 files"
    assert clean.plain_costs["delete"] == 8
    assert clean.our_costs["delete"] >= 8
    assert archive.work == "archiving of 9 files"
    assert (archive.plain_costs["open"], archive.plain_costs["delete"]) == (9, 9)
    assert archive.our_costs["create"] >= 1
    assert compaction.plain_costs["open"] >= 2
    assert clustering.work == "clustering of 2 files"
    assert clustering.plain_costs["open"] >= 2
    assert all(sample.ours > 0 and sample.plain > 0 for sample in (clean, archive, compaction, clustering))
    assert "archiving of 9 files" in ratios.markdown({}, ratios.summed_up([clean, archive, compaction]))


def test_change_reads_are_measured_beside_plain_spark_with_the_same_result(spark: SparkSession, tmp_path: Path) -> None:
    """With MERGANSER_FULL=1 all tables, and beside Hudi too."""
    tables = [*change_tables.READ, *change_tables.STREAMED] if FULL else ["mor", "mor-bucket"]
    settings = change_tables.Settings(
        rows=800, files=8, streamed=80, batch=20, repetitions=1, warm_ups=0, tables=tables
    )

    samples = changes.measure(spark, settings, tmp_path, print, with_hudi=FULL)

    reads = [(work.name, work.table) for work in change_tables.READS if work.table in tables]
    batches = [("micro-batch of 20 rows", table) for table in change_tables.STREAMED if table in tables]
    ours = samples.beside_plain["merganser"]
    assert [(sample.work, sample.variant) for sample in ours] == [*reads, *batches]
    for sample in samples.shares["merganser"]:
        if change_tables.NEAR in sample.work:
            assert sample.our_costs["open"] < sample.plain_costs["open"], "two of the eight files"
    costs = {(sample.work, sample.variant): sample.our_costs for sample in ours}
    assert all(costs[work]["create"] == 0 for work in reads)
    assert all(costs[batch]["create"] > 0 for batch in batches)
    page = changes.page({"rows": 800}, changes.summed_up(samples))
    assert "| merganser | incremental read of all | mor |" in page
    assert ("Beside Hudi" in page) == FULL


def test_a_missed_target_of_change_reads_is_listed_with_its_number() -> None:
    def sample(work: str, ours: float, opened: int = 1) -> ratios.Sample:
        counts = {"open": opened, "read bytes": opened}
        return ratios.Sample(work, "cow", "seconds", ours, 1.0, counts, {"open": 100, "read bytes": 100})

    shares = [sample(f"incremental read of {change_tables.NEAR}", 0.1, 5), sample("incremental read of all", 1.0, 111)]
    ours = [sample(f"change data of {change_tables.SPREAD}", 1.1), sample("micro-batch", 0.9)]
    samples = changes.Samples({"merganser": ours, "hudi": [sample("micro-batch", 1.0)]}, {"merganser": shares})

    missed = changes.missed(changes.summed_up(samples))

    assert [text.partition(":")[2] for text in missed] == [
        " open 1.11 of a whole read's, target 1.1",
        " read bytes 1.11 of a whole read's, target 1.1",
        " 1.10 of a join, target 1.0",
        " 0.90 of Hudi's, target 0.8",
    ]


@pytest.mark.parametrize("kind", list(upsert_curve.KINDS) if FULL else ["copy-on-write"])
def test_repeated_upserts_keep_a_small_table_small(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """With defaults; benchmarks/upsert_curve.py draws it."""
    points = upsert_curve.measure(spark, tmp_path / "t", kind, 1000 if FULL else 70, 10, reads=1)

    settled = [point for point in points if point.upserts >= 50]
    # Slices that cleans retain for ten commits and the newest one, and files of 30 writes with a clean after each. A
    # slice of 100 logs is compacted; the one before it is retained until the cleans have taken it.
    assert max(point.data_files for point in settled) <= (13 if kind == "copy-on-write" else 2 * 102)
    assert max(point.timeline_files for point in settled) <= 2 * 3 * 31
    half = len(settled) // 2
    for value in (lambda p: p.data_files, lambda p: p.data_bytes, lambda p: p.timeline_files):
        assert max(map(value, settled[half:])) <= 1.2 * max(map(value, settled[:half])), "it does not grow"
    # Ten files of a layer are merged into one of the next.
    assert max(point.history_files for point in settled) <= 80

    drawn = upsert_curve.picture({kind: points})
    assert drawn.count("<polyline") == 4
    assert f"| {kind} | {points[-1].upserts:,} |" in upsert_curve.numbers({kind: points}, 0.0)


def assert_costs(samples: list[ratios.Sample]) -> None:
    """What both sides of each operation have to do is counted: of tasks as well, which open and create the files."""
    operations = [sample for sample in samples if sample.unit == "seconds"]
    for sample in operations:
        is_read = "read" in sample.work
        for costs in (sample.our_costs, sample.plain_costs):
            assert costs["jobs"] > 0
            assert costs["list"] + costs["status"] > 0
            assert costs["open"] > 0
            assert (costs["create"] == 0) == is_read, sample
            assert (costs["shuffles"] > 0) == (costs["shuffle bytes"] > 0), sample
        assert sample.plain_costs["shuffles"] == 0, sample
    assert any(sample.our_costs["shuffles"] > 0 for sample in operations)
    table = ratios.markdown({}, ratios.summed_up(samples)).split("## What each operation costs")[1]
    printed = {tuple(cell.strip() for cell in line.split("|")[1:3]) for line in table.splitlines() if "(" in line}
    assert {(sample.work, sample.variant) for sample in operations} <= printed


class _Holding:
    """A table as far as `require` looks at it."""

    def __init__(self, rows: object) -> None:
        self._rows = rows

    def df(self) -> object:
        return self._rows


def test_ratios_are_computed_from_neighbouring_measurements() -> None:
    samples = [
        ratios.Sample("load", "cow", "seconds", ours, plain) for ours, plain in ((4.0, 2.0), (9.0, 3.0), (1.0, 1.0))
    ]

    (line,) = ratios.summed_up(samples)

    assert (line.low, line.median, line.high, line.samples) == (1.0, 2.0, 3.0, 3)
    assert (line.ours, line.plain) == (4.0, 2.0)
    assert "| load | cow   | 2.00 s | 4.00 s | 1.00 | 2.00   | 3.00 | 3 |" in ratios.markdown({"scale": 1}, [line])


def test_costs_are_printed_with_the_median_where_repetitions_differ() -> None:
    plain = {"jobs": 1, "open": 2, "shuffle bytes": 0}
    samples = [
        ratios.Sample("load", "cow", "seconds", 2.0, 1.0, {"jobs": 2, "open": opened, "shuffle bytes": 1234}, plain)
        for opened in (4, 7, 7)
    ]

    text = ratios.markdown({}, ratios.summed_up(samples))

    assert "| work | table | jobs  | open   | shuffle bytes |" in text
    assert "| load | cow   | 2 (1) | ~7 (2) | 1.2 kB (0)    |" in text
