"""Savepoints of both engines on one table: each lists, respects and deletes those of the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import Table

SCHEMA = "id int, name string, ts bigint, part string"
ONE = {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1"}


@pytest.mark.sampled
@pytest.mark.parametrize("version", ["6", "9"])
def test_each_engine_retains_and_deletes_the_savepoints_of_the_other(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, version: str
) -> None:
    path = tmp_path / "t"
    options = {
        "hoodie.table.name": "saved",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.table.version": version,
    }

    def rows(ts: int) -> list[list[object]]:
        return [[1, f"v{ts}", ts, "a"], [2, f"v{ts}", ts, "b"]]

    ours.upsert(path, SCHEMA, rows(0), **options)
    table = Table.load(ours.spark, str(path))
    first = table.savepoints.create(user="ours")
    named = f"saved_{version}"
    register = f"CREATE TABLE {named} USING hudi LOCATION '{path}'"
    hudi.upsert(path, SCHEMA, rows(1), **options, **ONE)
    (done,) = hudi.sql(register, f"CALL create_savepoint(table => '{named}', user => 'hudi')")
    assert done[0] is True
    second, again = table.savepoints.list()
    assert (second.created_by, second.files, again) == ("hudi", 2, first)
    for ts in range(2, 6):
        engine = hudi if ts % 2 else ours
        engine.upsert(path, SCHEMA, rows(ts), **options, **ONE)
    table.clean(options=ONE)
    assert hudi.read(path).business == ours.read(path).business == rows(5)
    for savepoint, ts in ((first, 0), (second, 1)):
        names = [row["name"] for row in table.df(as_of=savepoint.instant).collect()]
        assert names == [f"v{ts}"] * 2
    shown = hudi.sql(f"CALL show_savepoints(table => '{named}')")
    assert sorted(row[0] for row in shown) == [first.instant, second.instant]
    (done,) = hudi.sql(f"CALL delete_savepoint(table => '{named}', instant_time => '{first.instant}')")
    assert done[0] is True
    table.savepoints.delete(second.instant)
    assert table.savepoints.list() == []
    assert not hudi.sql(f"CALL show_savepoints(table => '{named}')")
