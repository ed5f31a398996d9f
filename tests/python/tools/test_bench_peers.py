"""The benchmark beside other formats: each change has its truth, and the report has each measurement."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from places import ROOT
from pyspark.sql import SparkSession

from interop.hudi_jar import HUDI

sys.path.insert(0, str(ROOT / "benchmarks"))

import ratios
from peers import data, engines, report, steps
from peers import engine as tables
from peers.data import CHANGES, OPTIONAL, Data

READS = ("all columns", "3 columns", "count", "one key")


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Data:
    """A table of 20,000 rows, and its batches."""
    return data.make(spark, tmp_path_factory.mktemp("peers"), "narrow", 0.01, 2)


@pytest.mark.extensive
@pytest.mark.parametrize("kind", ["cow-simple", "mor-bucket"])
def test_every_step_of_a_peer_is_measured_and_leaves_plain_sparks_rows(
    spark: SparkSession, tmp_path: Path, made: Data, kind: str
) -> None:
    """A step that leaves other rows raises; plain Spark takes the same steps."""

    def found(name: str, kind: str) -> list[steps.Found]:
        engine = engines.ENGINES[name](spark, kind, made, tmp_path, name, 2)
        return list(steps.Steps(engine, made, reads=1).run())

    plain, ours = found("plain", "parquet"), found("merganser", kind)

    compacted = ["after the compaction"] if kind == "mor-bucket" else []
    after = ["after 1 upsert", "after 3 upserts", *compacted, "after 10 more upserts"]
    reads = [f"read {when}, {name}" for when in after for name in READS]
    works = [each.work for each in ours]
    assert [work for work in works if work.startswith("read ")] == reads
    changes = [each.work for each in (*CHANGES, *OPTIONAL)]
    assert [work for work in works if work in changes] == changes
    assert ("compaction" in works) == (kind == "mor-bucket")
    assert set(works) <= {each.work for each in plain}
    assert all(each.amount > 0 for each in (*plain, *ours))


@pytest.mark.extensive
def test_many_small_upserts_and_their_compactions_result_in_the_whole_batch(
    spark: SparkSession, tmp_path: Path, made: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "SMALL_UPSERTS", 3)
    monkeypatch.setattr(tables, "SMALL_UPSERTS", 3)
    monkeypatch.setattr(steps, "SERVICES_AFTER", 2)
    engine = engines.ENGINES["merganser"](spark, "mor-bucket", made, tmp_path, "small", 2)

    works = [each.work for each in steps.Steps(engine, made, reads=1).run_small()]

    assert works == ["bulk load", "peak heap, bulk load", steps.FIRST_SMALL, steps.LAST_SMALL]


@pytest.mark.extensive
def test_batches_contain_late_duplicate_and_new_rows_and_wrong_rows_are_detected(
    spark: SparkSession, tmp_path: Path, made: Data
) -> None:
    batch = made.rows(spark, "random-1")
    assert batch.count() > batch.select(data.KEY).distinct().count()
    assert batch.where(f"ts < {data.STORED}").count() > 0
    assert made.facts.results["random-3"][0] > made.facts.rows == made.facts.results["loaded"][0]
    assert made.facts.results["deleted"][0] == made.facts.results["updated"][0] - 100

    engine = engines.ENGINES["merganser"](spark, "cow-simple", made, tmp_path, "table", 2)
    engine.create()
    engine.load(batch.limit(10))
    with pytest.raises(steps.WrongResult, match="after here: "):
        steps.Steps(engine, made, reads=1)._require("loaded", "here")


def test_the_report_has_a_table_per_type_and_lists_failed_and_unmeasured_steps() -> None:
    samples = [
        ratios.Sample("bulk load", variant, "seconds", seconds, 2.0)
        for variant, seconds in (("merganser cow-simple", 4.0), ("delta cow", 5.0), ("delta mor", 1.0))
    ]
    lines = ratios.summed_up([*samples, ratios.Sample("compaction", "delta mor", "seconds", 3.0, 2.0)])

    page = report.page("Peers", {"rounds": 1}, lines, ["paimon mor, round 1: no"])

    assert page.startswith("# Peers\n")
    assert "| bulk load | 2.00 s      | 2.00                 | 2.50      |" in page
    assert "| compaction | 2.00 s      | 1.50      |" in page
    assert "\n## Failures\n\n- paimon mor, round 1: no\n" in page
    assert "\n- hudi cow: SQL MERGE of 2 columns of 5 % on another column: " in page
    assert report.picture(lines).count("<title>") == 4
    assert "## Stability" not in page
    assert report.growth({1_000_000: lines}) == ""
    assert "| compaction | delta mor            | 3.00 s         | 1.50 s         |" in report.growth(
        {1_000_000: lines, 2_000_000: lines}
    )


def test_the_report_divides_the_read_after_many_small_upserts_by_the_one_after_the_first() -> None:
    reads = ((steps.FIRST_SMALL, 2.0), (steps.LAST_SMALL, 3.0))
    lines = ratios.summed_up([ratios.Sample(work, "delta mor", "seconds", seconds, 1.0) for work, seconds in reads])

    page = report.page("Peers", {}, lines, [])

    assert "## Stability" in page
    assert "| delta mor | 1.50 " in page


def test_the_default_line_has_the_jars_of_all_engines_and_later_lines_of_some() -> None:
    jars = engines.jars_of("3.5")
    later = {line: list(engines.jars_of(line)) for line in ("4.0", "4.1", "4.2")}

    assert list(jars) == list(engines.ENGINES)
    assert jars["hudi"] == [HUDI]
    assert jars["plain"] == jars["merganser"] == []
    assert later["4.0"] == later["4.1"] == ["plain", "merganser", "delta", "iceberg"]
    assert later["4.2"] == ["plain", "merganser", "delta"]
