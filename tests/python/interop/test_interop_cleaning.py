# Guarantee (Services): Either engine completes a clean of the other, and reads, writes and cleans on after it.
"""Cleans of both engines on one table: each reads, writes and cleans on after the other, in the middle of one too."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import Table

SCHEMA = "id int, name string, ts bigint, part string"
OFF = {"hoodie.clean.automatic": "false"}
FULL = bool(os.environ.get("MERGANSER_FULL"))
#: Type and version of a table; with MERGANSER_FULL=1 also a merge-on-read one of version 6.
TABLES = [("COPY_ON_WRITE", "9")] + ([("MERGE_ON_READ", "6")] if FULL else [])
ONE = {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1"}


def options_of(kind: str, version: str) -> dict[str, str]:
    return {
        "hoodie.table.name": "cleaned",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.table.version": version,
    }


def rows(ts: int) -> list[list[object]]:
    return [[1, f"v{ts}", ts, "a"], [2, f"v{ts}", ts, "b"]]


def data_files(path: Path) -> set[str]:
    return {file.name for file in path.glob("[ab]/*") if not file.name.startswith(".hoodie") and file.suffix != ".crc"}


def cleans(path: Path, state: str) -> list[Path]:
    return sorted(file for file in (path / ".hoodie").rglob(f"*.clean{state}") if ".crc" not in file.name)


@pytest.mark.parametrize(("kind", "version"), TABLES)
def test_each_engine_completes_the_cleans_of_the_other(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: str
) -> None:
    path = tmp_path / "t"
    options = options_of(kind, version)
    for ts in range(3):
        ours.upsert(path, SCHEMA, rows(ts), **options, **OFF)
        if kind == "MERGE_ON_READ":
            ours.compact(path)
    table = Table.load(ours.spark, str(path))
    planned = {Path(step.item).name for step in table.services.dry_run("clean", options=ONE)}
    assert planned
    result = table.clean(options=ONE)
    assert result.files_deleted == len(planned)
    assert planned.isdisjoint(data_files(path))

    # Hudi reads, shows, writes and cleans on after ours.
    assert hudi.read(path).business == rows(2)
    shown = hudi.sql(
        f"CREATE TABLE cleaned_{kind}{version} USING hudi LOCATION '{path}'",
        f"CALL show_cleans(table => 'cleaned_{kind}{version}')",
    )
    assert [(row[0], row[5]) for row in shown] == [(result.instants[0], len(planned))]
    plans = hudi.sql(f"CALL show_clean_plans(table => 'cleaned_{kind}{version}')")
    assert [row[0] for row in plans] == list(result.instants)
    parts = hudi.sql(f"CALL show_cleans_metadata(table => 'cleaned_{kind}{version}')")
    assert sorted(row[4] for row in parts) == ["a", "b"]
    for ts in (3, 4, 5):
        hudi.upsert(path, SCHEMA, rows(ts), **options, **ONE)
        if kind == "MERGE_ON_READ":
            hudi.compact(path)
    assert hudi.read(path).business == ours.read(path).business == rows(5)
    if kind == "COPY_ON_WRITE":
        assert len(cleans(path, "")) > 1

    # We complete a clean of Hudi that stopped when it was planned, or before it completed, and Hudi one of ours.
    for ts in (6, 7):
        hudi.upsert(path, SCHEMA, rows(ts), **options, **OFF)
        if kind == "MERGE_ON_READ":
            hudi.compact(path)
    for engine in ("hudi", "ours"):
        for inflight in (False, True) if FULL else (engine == "ours",):
            copied = tmp_path / f"{engine}-{inflight}"
            shutil.copytree(path, copied)
            named = f"{engine}_{inflight}_{kind}{version}"
            register = f"CREATE TABLE {named} USING hudi LOCATION '{copied}'"
            before = set(data_files(copied))
            if engine == "hudi":
                hudi.sql(register, f"CALL run_clean(table => '{named}', retain_commits => 1)")
            else:
                Table.load(ours.spark, str(copied)).clean(options=ONE)
            gone = before - data_files(copied)
            assert gone
            last = cleans(copied, "")[-1]
            last.unlink()
            last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
            if not inflight:
                cleans(copied, ".inflight")[-1].unlink()
            # As if it had stopped before it deleted a file.
            restored = sorted(gone)[0]
            place = next(path.glob(f"[ab]/{restored}"))
            shutil.copy(place, copied / place.relative_to(path))
            if engine == "hudi":
                done = Table.load(ours.spark, str(copied)).clean()
                assert len(done.instants) == 1
                assert done.files_deleted == 1
            else:
                hudi.sql(register, f"CALL run_clean(table => '{named}', retain_commits => 10)")
            assert data_files(copied) == before - gone
            assert len(cleans(copied, "")) == len(cleans(copied, ".requested"))
            assert hudi.read(copied).business == ours.read(copied).business == rows(7)
