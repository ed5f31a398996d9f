"""Tables that Hudi wrote, read and written on by our engine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from places import TESTS
from test_golden_tools import reading

from interop.hudi_engine import HudiEngine, HudiError, Rows
from interop.merganser_engine import MerganserEngine
from interop.values import sort_rows
from merganser import MerganserError

pytestmark = pytest.mark.e2e

GOLDEN = TESTS / "golden"
EXPECTED: dict[str, dict[str, Any]] = {
    file.parent.name: json.loads(file.read_text("utf-8")) for file in sorted(GOLDEN.glob("*/expected.json"))
}

#: Columns compared by number. Under the TIMESTAMP key generator Hudi gives the partition column the type of its
#: folder's name, string; the files hold numbers, and so do our rows.
TEXT_IN_HUDI = {
    "cow_timestamp_partition": ("ts", "bigint"),
    "cow_timestamp_seconds": ("at", "bigint"),
    "mor_timestamp_micros": ("at", "bigint"),
    "cow_timestamp_scalar": ("at", "int"),
}


@dataclass(frozen=True)
class Change:
    """What we do to a table: values of the first row's upsert and of a new row, and settings that no table stores."""

    update: Mapping[str, Any] = field(default_factory=lambda: {"name": "changed", "ts": 1000})
    insert: Mapping[str, Any] = field(default_factory=lambda: {"id": 1000, "name": "inserted"})
    options: Mapping[str, str] = field(default_factory=dict)


NEWER = "2030-01-01T00:00:00.000000"
CHANGES = {
    "cow_composite_key": Change(insert={"shop": "new", "nr": 9}),
    "cow_custom_partition": Change(
        update={"name": "changed"},
        options={
            "hoodie.keygen.timebased.timestamp.type": "SCALAR",
            "hoodie.keygen.timebased.timestamp.scalar.time.unit": "days",
            "hoodie.keygen.timebased.output.dateformat": "yyyyMMdd",
        },
    ),
    "cow_logical_timestamp_key": Change(insert={"price": "99.00"}),
    "cow_timestamp_key": Change(insert={"at": NEWER}),
    "mor_custom_avro": Change(
        options={
            "hoodie.keygen.timebased.timestamp.type": "UNIX_TIMESTAMP",
            "hoodie.keygen.timebased.output.dateformat": "yyyy",
        },
    ),
    "cow_key_texts": Change(update={"name": "changed"}, insert={"b": 99}),
    "cow_timestamp_partition": Change(update={"name": "changed", "ts": 1700000000002}),
    "mor_decimal_ordering": Change(update={"name": "changed", "rank": "99.00"}),
    "mor_nested_keys": Change(
        update={"name": "changed", "k": {"id": 1, "at": {"region": "a", "ts": 1000}}},
        insert={"k": {"id": 1000, "at": {"region": "a", "ts": 10}}},
    ),
    "mor_nested_timestamps": Change(update={"times": [NEWER], "ts": NEWER}, insert={"id": 1000}),
    "mor_nested_types": Change(
        update={"text": "changed", "lines": [{"sku": "new", "amount": "1.000"}], "ts": NEWER}, insert={"id": 1000}
    ),
}


def columns_of(name: str) -> list[tuple[str, str]]:
    """Names and types of the data columns, as they are stored."""
    stored = dict([TEXT_IN_HUDI[name]]) if name in TEXT_IN_HUDI else {}
    return [(column, stored.get(column, kind)) for column, kind in EXPECTED[name]["columns"]]


def as_stored(name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Rows of Hudi with their values as they are stored."""
    text, _ = TEXT_IN_HUDI.get(name, (None, None))
    return [[int(cell) if column == text else cell for column, cell in zip(columns, row)] for row in rows]


def assert_reads_as_recorded(name: str, read: Rows, kind: str = "") -> None:
    expected = EXPECTED[name]
    columns = columns_of(name)
    names = [column for column, _ in columns]
    assert read.business_columns == columns
    assert read.select(names) == sort_rows(as_stored(name, names, expected.get(f"rows{kind}", expected["rows"])))
    meta = expected.get(f"meta_rows{kind}", expected["meta_rows"])
    assert read.select(expected["meta_columns"]) == sort_rows(meta)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_golden_table_returns_the_rows_that_hudi_reads(ours: MerganserEngine, name: str) -> None:
    table = GOLDEN / name / "table"
    assert_reads_as_recorded(name, ours.read(table))
    assert_reads_as_recorded(name, ours.read(table, "read_optimized"), "_ro")


def test_a_table_of_hudi_whose_rule_is_not_built_in_is_refused_by_name(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table, columns, row = tmp_path / "ruled", "id int, name string, ts bigint", [[1, "one", 10]]
    options = {
        "hoodie.table.name": "ruled",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.table.ordering.fields": "ts",
    }
    hudi.write(table, columns, row, mode="overwrite", options=options)
    hudi.write(table, columns, row, options=options)  # into a log, where rows are merged
    properties = table / ".hoodie" / "hoodie.properties"
    stored = properties.read_text()
    (table / ".hoodie" / ".hoodie.properties.crc").unlink()
    for mode in ("KEEP_VALUES", "FILL_DEFAULTS"):  # these replace nothing in full rows; Hudi 1.2 no longer knows them
        properties.write_text(f"{stored}hoodie.table.partial.update.mode={mode}\n")
        row = [[1, mode, row[0][2] + 1]]
        ours.upsert(table, columns, row)
        assert ours.read(table).business == row
        with pytest.raises(HudiError, match=f"PartialUpdateMode.{mode}"):
            hudi.read(table)
    properties.write_text(f"{stored}hoodie.table.partial.update.mode=IGNORE_MARKERS\n")
    for attempt in (
        lambda: ours.read(table),
        lambda: ours.upsert(table, columns, row),
        lambda: ours.compact(table),
    ):
        with pytest.raises(MerganserError, match=r"MERGE_RULE_UNAVAILABLE.*EVENT_TIME_ORDERING.*IGNORE_MARKERS"):
            attempt()


@pytest.mark.sampled
@pytest.mark.parametrize("name", EXPECTED)
def test_both_engines_read_our_upsert_and_delete_in_a_table_of_hudi(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, name: str
) -> None:
    table = tmp_path / name
    shutil.copytree(GOLDEN / name / "table", table)
    change = CHANGES.get(name, Change())
    columns = columns_of(name)
    names = [column for column, _ in columns]
    stored = as_stored(name, names, EXPECTED[name]["rows"])
    first = dict(zip(names, stored[0]))
    updated = [{**first, **change.update}[column] for column in names]
    inserted = [{**first, **change.insert}[column] for column in names]
    deleted = stored[-1] if len(stored) > 1 else inserted

    identified = [updated, inserted], [deleted]
    if not EXPECTED[name]["table"]["record_key"]:  # rows are known by their generated keys, and new ones have none
        columns = [(meta, "string") for meta in EXPECTED[name]["meta_columns"][1:]] + columns
        first_key, *_, last_key = (row[1:] for row in EXPECTED[name]["meta_rows"])
        identified = [[*first_key, *updated], [None, first_key[1], *inserted]], [[*last_key, *deleted]]
    ours.upsert(table, columns, identified[0], **change.options)
    ours.delete(table, columns, identified[1], **change.options)

    wanted = [row for row in [updated, *stored[1:], inserted] if row != deleted]
    assert ours.read(table).business == sort_rows(wanted)
    assert sort_rows(as_stored(name, names, hudi.read(table, **reading(name)).select(names))) == sort_rows(wanted)
