"""Clusterings of both engines on one table: each reads, writes and cleans on after the other, and runs its plans."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import Table

SCHEMA = "id int, name string, ts bigint, part string"
OFF = {"hoodie.clean.automatic": "false", "hoodie.parquet.small.file.limit": "0"}
FULL = bool(os.environ.get("MERGANSER_FULL"))
#: Type and version of a table: each type, and both layouts of the timeline; with MERGANSER_FULL=1 all of them.
TABLES = [("COPY_ON_WRITE", "9"), ("MERGE_ON_READ", "6")] + (
    [("COPY_ON_WRITE", "6"), ("MERGE_ON_READ", "8"), ("MERGE_ON_READ", "9")] if FULL else []
)
ONE = {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1"}


def options_of(kind: str, version: str) -> dict[str, str]:
    return {
        "hoodie.table.name": "clustered",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.table.version": version,
    }


def row(number: int, ts: int) -> list[object]:
    return [number, f"v{9 - number}-{ts}", ts, "ab"[number % 2]]


def data_files(path: Path) -> set[str]:
    return {file.name for file in path.glob("[ab]/*") if not file.name.startswith(".hoodie") and file.suffix != ".crc"}


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "version"), TABLES)
def test_each_engine_runs_the_clustering_plans_of_the_other_and_writes_after_them(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: str
) -> None:
    path = tmp_path / "t"
    options = {**options_of(kind, version), **OFF}
    name = f"clustered_{kind}{version}"
    for number in range(4):
        ours.upsert(path, SCHEMA, [row(number, 1), row(number + 4, 1)], **options)
    ours.upsert(path, SCHEMA, [row(0, 2), row(5, 2)], **options)
    expected = sorted([row(n, 2 if n in (0, 5) else 1) for n in range(8)])
    table = Table.load(ours.spark, str(path))
    before = data_files(path)
    done = table.services.cluster(order_by="name", strategy="z-order")
    assert done is not None
    assert done.files == 2

    # Hudi reads, shows, writes and cleans on after ours.
    assert sorted(hudi.read(path).business) == sorted(ours.read(path).business) == expected
    hudi.sql(f"CREATE TABLE {name} USING hudi LOCATION '{path}'")
    shown = hudi.sql(f"CALL show_clustering(table => '{name}', show_involved_partition => true)")
    assert [shown_row[0] for shown_row in shown] == [done.instants[0]]
    assert set(shown[0][3].split(",")) == {"a", "b"}  # one for each file slice
    for ts in (3, 4, 5):
        hudi.upsert(path, SCHEMA, [row(n, ts) for n in range(8)], **{**options, **ONE})
    assert not (before & {file for file in data_files(path) if file.endswith(".parquet")})
    expected = sorted(row(n, 5) for n in range(8))
    assert sorted(hudi.read(path).business) == sorted(ours.read(path).business) == expected

    # Hudi runs a plan of ours.
    ours.upsert(path, SCHEMA, [row(8, 1)], **options)
    expected = sorted([*expected, row(8, 1)])
    planned = table.services.cluster(order_by="name", schedule_only=True)
    assert planned is not None
    hudi.sql(f"CALL run_clustering(table => '{name}', op => 'execute')")
    assert [entry.state for entry in table.history() if entry.instant == planned.instants[0]] == ["COMPLETED"]
    assert sorted(hudi.read(path).business) == sorted(ours.read(path).business) == expected
    assert all(not entry.log_files for entry in table.inspect.file_slices())
    assert len(table.inspect.file_slices()) == 2

    # We run a plan of Hudi's, and leave its groups alone while it is pending.
    hudi.upsert(path, SCHEMA, [row(9, 1), row(1, 6)], **options)
    expected = sorted([r for r in expected if r[0] != 1] + [row(9, 1), row(1, 6)])
    hudi.sql(f"CALL run_clustering(table => '{name}', op => 'schedule', order => 'name')")
    ours.upsert(path, SCHEMA, [row(11, 1)], **options)
    expected = sorted([*expected, row(11, 1)])
    (run,) = ours.spark.sql(f"CALL run_clustering(path => '{path}', op => 'execute')").collect()
    assert (run.state, run.left_because) == ("COMPLETED", None)
    assert sorted(hudi.read(path).business) == sorted(ours.read(path).business) == expected

    # We write after a clustering of Hudi.
    hudi.sql(f"CALL run_clustering(table => '{name}', order => 'name')")
    ours.upsert(path, SCHEMA, [row(1, 7), row(10, 1)], **options)
    expected = sorted([r for r in expected if r[0] != 1] + [row(1, 7), row(10, 1)])
    assert sorted(hudi.read(path).business) == sorted(ours.read(path).business) == expected


def test_hudi_does_not_roll_back_a_clustering_that_we_have_begun(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    """The inflight file of ours, which has content, does not confuse Hudi's rollbacks of failed writes."""
    for version in ("6", "9"):
        path = tmp_path / version
        options = {**options_of("COPY_ON_WRITE", version), **OFF}
        ours.upsert(path, SCHEMA, [row(0, 1), row(2, 1)], **options)
        table = Table.load(ours.spark, str(path))
        planned = table.services.cluster(order_by="name", schedule_only=True)
        assert planned is not None
        timeline = path / ".hoodie" / ("timeline" if version == "9" else "")
        action = "clustering" if version == "9" else "replacecommit"
        claim = '{"owner":"merganser","id":"x","number":7,"process":"p","host":"h","pid":"1","heartbeatMs":10}'
        (timeline / f"{planned.instants[0]}.{action}.inflight").write_text(claim)
        hudi.upsert(path, SCHEMA, [row(1, 1)], **options)
        entries = [(e.instant, e.state) for e in table.history() if e.state != "COMPLETED"]
        assert entries == [(planned.instants[0], "INFLIGHT")]
        assert table.services.cluster() is not None
        assert sorted(hudi.read(path).business) == [row(n, 1) for n in range(3)]
