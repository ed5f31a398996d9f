"""Times in milliseconds under the label of microseconds, as Hudi 0.15 to 1.0 wrote them, read and written by both."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import Table

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
COLUMNS = "id int, at timestamp, s struct<at: timestamp>"
#: 1,700,000,000,000 milliseconds since 1970, and as microseconds.
TIME, LABELLED = "2023-11-14T22:13:20.%03d000", "1970-01-20T16:13:20.000%03d"


def options(kind: str, version: int) -> dict[str, str]:
    return {
        "hoodie.table.name": "times",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.write.table.version": str(version),
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.table.ordering.fields": "at",
        "hoodie.datasource.write.precombine.field": "at",
    }


def rows(form: str, *found: tuple[int, int]) -> list[list[object]]:
    """Rows of (id, milliseconds after the time)."""
    return [[key, form % after, {"at": form % after}] for key, after in found]


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "version"), [(COW, 6), (MOR, 6), (COW, 9), (MOR, 9)])
def test_both_engines_read_the_same_times_before_and_after_our_writes_and_services(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: int
) -> None:
    path, chosen = tmp_path / "times", options(kind, version)
    hudi.upsert(path, COLUMNS, rows(LABELLED, (1, 0), (2, 0), (3, 0), (4, 0)), **chosen)
    hudi.upsert(path, COLUMNS, rows(LABELLED, (2, 5)), **chosen)
    for commit in [*(path / ".hoodie").rglob("*commit"), path / ".hoodie" / "hoodie.properties"]:
        if commit.is_file():
            commit.write_bytes(commit.read_bytes().replace(b"timestamp-micros", b"timestamp-millis"))
            commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)

    def both() -> list[list[object]]:
        found = ours.read(path).business
        assert hudi.read(path).business == found
        return found

    assert both() == rows(TIME, (1, 0), (2, 5), (3, 0), (4, 0))
    ours.upsert(path, COLUMNS, rows(TIME, (1, 7), (5, 1)))
    assert both() == rows(TIME, (1, 7), (2, 5), (3, 0), (4, 0), (5, 1))
    flagged = f"{COLUMNS}, _hoodie_is_deleted boolean"
    ours.upsert(path, flagged, [[*row, True] for row in rows(TIME, (1, 6), (3, 1))])
    assert both() == rows(TIME, (1, 7), (2, 5), (4, 0), (5, 1))
    hudi.delete(path, COLUMNS, rows(TIME, (4, 9)), **chosen)
    assert both() == rows(TIME, (1, 7), (2, 5), (5, 1))
    table = Table.load(ours.spark, str(path))
    if kind == MOR:
        table.compact()
    table.services.cluster()
    assert both() == rows(TIME, (1, 7), (2, 5), (5, 1))
    assert table.inspect.verify().ok
