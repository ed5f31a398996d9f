"""Restores of both engines on one table: each reads, writes, cleans, archives and restores on after the other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import MerganserError, Table

SCHEMA = "id int, name string, ts bigint, part string"
OFF = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
SHORT = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.metadata.enable": "false",
}
#: Each type, and both layouts of the timeline; with MERGANSER_FULL=1 also a merge-on-read table of version 9.
TABLES = [("COPY_ON_WRITE", "9"), ("MERGE_ON_READ", "6")] + (
    [("MERGE_ON_READ", "9")] if os.environ.get("MERGANSER_FULL") else []
)


def rows(ts: int) -> list[list[object]]:
    return [[1, f"v{ts}", ts, "a"], [2, f"v{ts}", ts, "b"]]


# Guarantee (Tables of other engines): Each engine writes, cleans, archives and restores on after restores and rollbacks
#   of the other.
@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "version"), TABLES)
def test_each_engine_reads_and_writes_after_restores_and_rollbacks_of_the_other(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: str
) -> None:
    path = tmp_path / "t"
    options = {
        "hoodie.table.name": "restored",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.table.version": version,
    }
    named = f"restored_{kind}{version}"
    hudi_table = f"CREATE TABLE IF NOT EXISTS {named} USING hudi LOCATION '{path}'"

    def write(*times: int, **more: str) -> list[str]:
        for ts in times:
            (hudi if ts % 2 else ours).upsert(path, SCHEMA, rows(ts), **options, **(more or OFF))
        return commits()

    def commits() -> list[str]:
        return [e.instant for e in reversed(table.history()) if "commit" in e.action and e.state == "COMPLETED"]

    def both_read(ts: int) -> None:
        assert hudi.read(path).business == ours.read(path).business == rows(ts)

    ours.upsert(path, SCHEMA, rows(0), **options, **OFF)
    table = Table.load(ours.spark, str(path))
    writes = write(1, 2, 3, 4, 5)
    # Ours: Hudi reads, writes on, and rolls the new write back.
    done = table.savepoints.restore(writes[3])
    assert {taken.instant for taken in done.taken_back} == set(writes[4:])
    both_read(3)
    newest = write(7)[-1]
    both_read(7)
    hudi.sql(hudi_table)
    if version == "6":  # Hudi's own procedure looks for the timeline of version 8
        table.savepoints.rollback(newest)
    else:
        (rolled_back,) = hudi.sql(f"CALL rollback_to_instant(table => '{named}', instant_time => '{newest}')")
        assert rolled_back[0] is True
    both_read(3)
    with pytest.raises(MerganserError, match="AS_OF_TAKEN_BACK"):
        table.df(as_of=newest)
    # A rollback of ours, also of a write of Hudi.
    newest = write(6, 7)[-1]
    table.savepoints.rollback(newest)
    both_read(6)
    table.savepoints.rollback()
    both_read(3)
    # Hudi's restore to its savepoint, over ours; then ours to one of Hudi's.
    hudi.sql(f"CALL create_savepoint(table => '{named}', commit_time => '{writes[2]}')")
    write(8, 9)
    (restored,) = hudi.sql(f"CALL rollback_to_savepoint(table => '{named}', instant_time => '{writes[2]}')")
    assert restored[0] is True
    both_read(2)
    options.pop("hoodie.write.table.version")  # Hudi's call has upgraded a table of version 6
    write(10, 11)
    shown = ours.spark.sql(f"CALL show_restores(path => '{path}')").collect()
    assert len(shown) == 2
    assert table.savepoints.restore(savepoint=writes[2]).commits_lost == 2
    both_read(2)
    table.savepoints.delete(writes[2])
    # Hudi cleans and archives on, and so do we.
    for ts in range(12, 22):
        engine = hudi if ts % 3 else ours
        engine.upsert(path, SCHEMA, rows(ts), **options, **SHORT)
        if kind == "MERGE_ON_READ" and ts % 4 == 0:
            engine.compact(path)
        both_read(ts)
    table.services.archive(min_commits=2, max_commits=3)
    both_read(21)
    assert len(commits()) < 8
