"""Who wins, through frames and the Python API: both merge modes, deletes, nulls, duplicates, counts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from frames import frame, listing, load, properties, refused, rows_of, save
from option_names import COW, KEY, MOR, OPERATION, ORDERING, TYPE
from pyspark.sql import SparkSession
from pyspark.sql.types import _parse_datatype_string as parse

from merganser import CommitResult, MergeMode, Table, TableType, WriteOptions

pytestmark = pytest.mark.e2e

COLUMNS = "id int, ts int, v string"
NEW = Callable[..., Table]


@pytest.fixture(params=[COW, MOR])
def table_type(request: pytest.FixtureRequest) -> TableType:
    return TableType(request.param)


@pytest.fixture
def new(spark: SparkSession, tmp_path: Path, table_type: TableType) -> NEW:
    """Makes an empty table: `new("id int, v string", ordering_by=None)`."""

    def make(columns: str = COLUMNS, *, ordering_by: Any = "ts", type_: TableType = table_type, **more: Any) -> Table:
        path = str(tmp_path / f"t{len(list(tmp_path.iterdir()))}")
        return Table.create(
            spark, path, parse(columns), record_key="id", ordering_by=ordering_by, table_type=type_, **more
        )

    return make


def upsert(table: Table, *rows: tuple[Any, ...], columns: str = COLUMNS, **hoodie: str) -> CommitResult:
    spark = table.df().sparkSession
    return table.upsert(frame(spark, rows, columns), options=WriteOptions(hoodie=hoodie))


def delete(table: Table, *keys: int) -> CommitResult:
    return table.delete(frame(table.df().sparkSession, [(k,) for k in keys], "id int"))


def counts(result: CommitResult) -> dict[str, int]:
    names = ("inserted", "updated", "unchanged", "late", "ties", "deleted", "duplicates")
    return {name: getattr(result, name) for name in names if getattr(result, name)}


def values(table: Table) -> dict[int, Any]:
    found = [(row.id, row.v) for row in table.df().select("id", "v").collect()]
    assert len({key for key, _ in found}) == len(found), f"a key twice: {found}"
    return dict(found)


# --- versions with ordering values


def test_event_time_keeps_the_larger_ordering_value_and_on_a_tie_the_newer_row(new: NEW) -> None:
    table = new()
    assert counts(upsert(table, *((i, 10, "old") for i in range(1, 6)))) == {"inserted": 5}
    result = upsert(table, (1, 11, "newer"), (2, 10, "tie"), (3, 9, "late"), (4, -5, "very late"), (9, 0, "fresh"))
    assert values(table) == {1: "newer", 2: "tie", 3: "old", 4: "old", 5: "old", 9: "fresh"}
    assert counts(result) == {"inserted": 1, "updated": 2, "unchanged": 1, "late": 2, "ties": 1}
    last = table.history()[0]
    assert (last.inserted, last.updated, last.unchanged, last.late, last.ties, last.deleted) == (1, 2, 1, 2, 1, 0)


def test_a_row_that_loses_keeps_the_stored_row_with_its_commit_time(new: NEW) -> None:
    table = new()
    first = upsert(table, (1, 10, "a"), (2, 10, "b"))
    second = upsert(table, (1, 9, "late"), (2, 11, "new"))
    times = table.df().select("id", "_hoodie_commit_time")
    assert rows_of(times) == [(1, first.instant), (2, second.instant)]


def test_several_ordering_fields_are_compared_one_after_the_other(new: NEW) -> None:
    columns = "id int, day date, seq string, v string"
    table = new(columns, ordering_by=["day", "seq"])
    day = dt.date

    upsert(table, *((i, day(2024, 1, 2), "5", "old") for i in range(1, 6)), columns=columns)
    upsert(
        table,
        (1, day(2024, 1, 3), "1", "later day"),
        (2, day(2024, 1, 1), "9", "earlier day"),
        (3, day(2024, 1, 2), "6", "same day, later"),
        (4, day(2024, 1, 2), "10", "10 is less than 5 as text"),
        (5, day(2024, 1, 2), "5", "tie"),
        columns=columns,
    )
    assert values(table) == {1: "later day", 2: "old", 3: "same day, later", 4: "old", 5: "tie"}


def test_commit_time_keeps_the_last_version_whatever_its_ordering_value(new: NEW) -> None:
    table = new(merge_mode=MergeMode.COMMIT_TIME_ORDERING)
    upsert(table, (1, 10, "a"), (2, 10, "b"), (2, 5, "b2"), (2, 7, "b3"))
    assert values(table) == {1: "a", 2: "b3"}
    upsert(table, (1, 3, "late"), (2, 99, "high"), (2, None, "last"))
    assert values(table) == {1: "late", 2: "last"}
    delete(table, 1)
    upsert(table, (1, 0, "back"))
    assert values(table) == {1: "back", 2: "last"}


def test_duplicates_of_a_batch_are_combined_by_the_tables_rule(new: NEW) -> None:
    table = new()
    batch = [(1, 5, "a"), (1, 7, "b"), (1, 6, "c"), (2, 5, "d"), (2, 5, "e"), (3, 1, "f")]
    result = upsert(table, *batch)
    assert values(table) == {1: "b", 2: "e", 3: "f"}
    assert counts(result) == {"inserted": 3, "duplicates": 3}
    result = upsert(table, (1, 8, "g"), (1, 8, "h"), (2, 4, "late"), (2, 3, "later"))
    assert values(table) == {1: "h", 2: "e", 3: "f"}
    assert result.duplicates == 2


@pytest.mark.parametrize("type_name", ["int", "string", "date", "decimal(5,1)", "timestamp", "boolean"])
def test_a_null_ordering_value_is_the_smallest(spark: SparkSession, new: NEW, type_name: str) -> None:
    columns = f"id int, ts {type_name}, v string"
    low = {
        "int": "-5",
        "string": "''",
        "date": "'0001-01-01'",
        "decimal(5,1)": "-9.5",
        "timestamp": "'1950-01-01'",
        "boolean": "false",
    }
    value = f"cast({low[type_name]} as {type_name})"
    null = f"cast(null as {type_name})"

    def batch(*rows: tuple[int, str, str]) -> None:
        texts = [f"select {i} as id, {ts} as ts, '{v}' as v" for i, ts, v in rows]
        table.upsert(spark.sql(" union all ".join(texts)).coalesce(1))

    table = new(columns)
    batch((1, null, "a"), (2, null, "b"), (3, value, "c"), (4, null, "d1"), (4, value, "d2"), (4, null, "d3"))
    batch((1, value, "a2"), (2, null, "b2"), (3, null, "c2"))
    expected = {1: "a2", 2: "b2", 3: "c", 4: "d2"}
    assert values(table) == expected
    if table.table_type is TableType.MERGE_ON_READ:
        table.compact()
        assert values(table) == expected


def test_null_ordering_values_can_be_rejected_by_the_table_or_by_one_write(new: NEW) -> None:
    reject = {"spark.merganser.write.nullOrdering": "reject"}
    strict, lax = new(options=reject), new()
    assert properties(strict.path)["spark.merganser.write.nullOrdering"] == "reject"
    upsert(strict, (1, 1, "a"))
    upsert(lax, (1, None, "a"))
    before = listing(strict.path), listing(lax.path)
    many = [(100 + i, None, "x") for i in range(25)]
    error = refused(
        lambda: upsert(strict, (1, 2, "b"), *many), "NULL_ORDERING_VALUE", "ts", "nullOrdering=lowest", "100"
    )
    assert len(error.parameters["rows"].split(", ")) == 10
    refused(lambda: upsert(lax, (7, None, "b"), **reject), "NULL_ORDERING_VALUE", "ts", "7")
    assert (listing(strict.path), listing(lax.path)) == before
    delete(strict, 1)
    assert values(strict) == {}


# --- deletes


@pytest.mark.parametrize("stored", [True, False], ids=["flag stored", "flag only in the frame"])
def test_a_soft_delete_is_compared_by_its_ordering_value(new: NEW, stored: bool) -> None:
    flagged = COLUMNS + ", _hoodie_is_deleted boolean"
    table = new(flagged if stored else COLUMNS)
    upsert(table, *((i, 10, "a", None) for i in range(1, 7)), columns=flagged)
    result = upsert(
        table,
        (1, 11, None, True),
        (2, 10, "tie", True),
        (3, 9, "late", True),
        (4, 11, "no delete", False),
        (5, 11, "nor this", None),
        (9, 5, "unknown", True),
        columns=flagged,
    )
    expected = {3: "a", 4: "no delete", 5: "nor this", 6: "a"}
    assert values(table) == expected
    if table.table_type is TableType.COPY_ON_WRITE:
        assert counts(result) == {"deleted": 2, "updated": 2, "late": 1, "unchanged": 1}
    else:
        table.compact()
        assert values(table) == expected
    assert ("_hoodie_is_deleted" in table.df().columns) == stored


def test_a_false_delete_flag_fills_no_column_of_the_stored_row(spark: SparkSession, tmp_path: Path) -> None:
    flagged, payload = COLUMNS + ", _hoodie_is_deleted boolean", "hoodie.datasource.write.payload.class"
    options = {KEY: "id", ORDERING: "ts", payload: "org.apache.hudi.common.model.PartialUpdateAvroPayload"}
    save(frame(spark, [(1, 10, "a")], COLUMNS), tmp_path / "t", options)
    table = Table.load(spark, str(tmp_path / "t"))
    assert counts(upsert(table, (1, 9, "late", False), columns=flagged)) == {"late": 1}


def test_a_delete_that_loses_by_the_order_of_its_payload_class_counts_as_late(
    spark: SparkSession, tmp_path: Path
) -> None:
    columns, payload = "id int, _event_seq string, v string", "hoodie.datasource.write.payload.class"
    mysql = "org.apache.hudi.common.model.debezium.MySqlDebeziumAvroPayload"
    options = {KEY: "id", ORDERING: "_event_seq", payload: mysql, "hoodie.write.table.version": "8"}
    save(frame(spark, [(1, "10.5", "a")], columns), tmp_path / "t", options)
    table = Table.load(spark, str(tmp_path / "t"))
    late = frame(spark, [(1, "9.9", "", True)], columns + ", _hoodie_is_deleted boolean")
    previewed = table.upsert(late, dry_run=True).dry_run
    assert previewed is not None
    assert ([row.outcome for row in previewed.rows], previewed.late) == (["late"], 1)
    assert counts(table.upsert(late)) == {"late": 1}


def test_a_soft_delete_without_an_ordering_value_deletes_only_rows_without_one(new: NEW) -> None:
    table = new()
    upsert(table, (1, None, "a"), (2, 3, "b"))
    upsert(table, (1, None, "x", True), (2, None, "x", True), columns=COLUMNS + ", _hoodie_is_deleted boolean")
    assert values(table) == {2: "b"}
    if table.table_type is TableType.MERGE_ON_READ:
        table.compact()
        assert values(table) == {2: "b"}


@pytest.mark.parametrize(
    ("field", "marker", "others"), [("op string", "D", ["d", "I", None]), ("op int", "3", [30, 0, None])]
)
def test_a_delete_marker_is_stored_with_the_table_and_matched_exactly(
    new: NEW, field: str, marker: str, others: list[Any]
) -> None:
    columns = f"{COLUMNS}, {field}"
    mark = int(marker) if field.endswith("int") else marker
    table = new(columns, options={"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": marker})
    prefix = "hoodie.record.merge.property.hoodie.payload.delete"
    assert properties(table.path)[f"{prefix}.field"] == "op"
    assert properties(table.path)[f"{prefix}.marker"] == marker
    upsert(table, *((i, 10, "a", others[1]) for i in range(1, 7)), columns=columns)
    updates = [(i, 11, "b", other) for i, other in zip((3, 4, 5), others)]
    upsert(table, (1, 11, "x", mark), (2, 9, "late", mark), *updates, columns=columns)
    assert values(table) == {2: "a", 3: "b", 4: "b", 5: "b", 6: "a"}


def test_the_delete_operation_needs_only_the_key_and_removes_every_older_row(new: NEW) -> None:
    table = new()
    upsert(table, (1, 10, "a"), (2, 10, "b"), (3, 10, "c"))
    result = delete(table, 1, 99)
    assert result.deleted + result.appended_deletes == 1
    table.delete(frame(table.df().sparkSession, [(2, 0, "ordering is not looked at")], COLUMNS))
    assert values(table) == {3: "c"}
    upsert(table, (1, 1, "back"), (99, 1, "new"))
    assert values(table) == {1: "back", 3: "c", 99: "new"}


def test_a_late_row_after_a_soft_delete_is_inserted_if_no_tombstone_is_stored(new: NEW) -> None:
    table = new()
    flagged = COLUMNS + ", _hoodie_is_deleted boolean"
    upsert(table, (1, 10, "a"), (2, 10, "b"), (3, 10, "c"))
    upsert(table, (1, 12, None, True), (2, 12, None, True), columns=flagged)
    upsert(table, (1, 11, "late"), (2, 12, "tie revives"))
    # A copy-on-write table keeps no tombstone; a log keeps it until it is compacted.
    without_late = {2: "tie revives", 3: "c"}
    with_late = {1: "late", **without_late}
    assert values(table) == (with_late if table.table_type is TableType.COPY_ON_WRITE else without_late)
    if table.table_type is TableType.MERGE_ON_READ:
        table.compact()
        assert values(table) == without_late
        upsert(table, (1, 11, "late"))
        assert values(table) == with_late


def test_a_row_after_an_unconditional_delete_is_not_compared_with_the_deleted_one(new: NEW) -> None:
    table = new()
    upsert(table, (1, 10, "a"), (2, 10, "b"))
    delete(table, 1)
    upsert(table, (1, 5, "late"))
    assert values(table) == {1: "late", 2: "b"}
    upsert(table, (1, 4, "later still"))
    assert values(table) == {1: "late", 2: "b"}
    if table.table_type is TableType.MERGE_ON_READ:
        table.compact()
        assert values(table) == {1: "late", 2: "b"}


def test_a_delete_with_ordering_value_zero_is_compared_like_any_other(new: NEW) -> None:
    table = new()
    upsert(table, (1, 10, "a"), (2, 0, "b"), (3, -1, "c"))
    flagged = COLUMNS + ", _hoodie_is_deleted boolean"
    upsert(table, *((i, 0, "x", True) for i in (1, 2, 3)), columns=flagged)
    upsert(table, (2, -1, "late"), (3, -1, "late")) if table.table_type is TableType.MERGE_ON_READ else None
    assert values(table) == {1: "a"}


def test_a_batch_of_rows_and_deletes_gives_the_last_in_ordering(new: NEW) -> None:
    table = new()
    upsert(table, (1, 1, "a"), (2, 1, "b"), (3, 1, "c"))
    flagged = COLUMNS + ", _hoodie_is_deleted boolean"
    batch = [
        (1, 5, None, True),
        (1, 4, "before the delete", False),
        (2, 5, None, True),
        (2, 5, "tie", False),
        (3, 6, "after the delete", False),
        (3, 5, None, True),
        (4, 2, None, True),
        (4, 1, "x", False),
    ]
    upsert(table, *batch, columns=flagged)
    assert values(table) == {2: "tie", 3: "after the delete"}


# --- reads


def test_a_read_optimized_read_shows_base_files_alone(spark: SparkSession, new: NEW) -> None:
    table = new(type_=TableType.MERGE_ON_READ)
    upsert(table, (1, 1, "a"), (2, 1, "b"))
    upsert(table, (1, 2, "a2"))
    delete(table, 2)
    optimized = load(spark, table.path, **{"hoodie.datasource.query.type": "read_optimized"})
    assert rows_of(optimized) == [(1, 1, "a"), (2, 1, "b")] == rows_of(table.df(read_optimized=True))
    assert rows_of(table.df()) == [(1, 2, "a2")]
    table.compact()
    assert rows_of(table.df(read_optimized=True)) == [(1, 2, "a2")]


# --- insert and bulk_insert

DUPLICATES: dict[str, tuple[dict[str, str], list[str], list[str]]] = {
    # options -> what the first write keeps of key 1, and the second of keys 1 (stored) and 2 (new)
    "insert": ({}, ["1a", "1b"], ["1c", "1d", "2a", "2b"]),
    "insert, combined": ({"hoodie.combine.before.insert": "true"}, ["1b"], ["1d", "2b"]),
    "insert, drop duplicates": ({"hoodie.datasource.write.insert.drop.duplicates": "true"}, ["1b"], ["2b"]),
    "insert, policy drop": ({"hoodie.datasource.insert.dup.policy": "drop"}, ["1a", "1b"], ["2a", "2b"]),
    "insert, policy none": ({"hoodie.datasource.insert.dup.policy": "none"}, ["1a", "1b"], ["1c", "1d", "2a", "2b"]),
    "bulk_insert": ({OPERATION: "bulk_insert"}, ["1a", "1b"], ["1c", "1d", "2a", "2b"]),
    "bulk_insert, combined": (
        {OPERATION: "bulk_insert", "hoodie.combine.before.insert": "true"},
        ["1b"],
        ["1d", "2b"],
    ),
}


@pytest.mark.parametrize("case", [pytest.param(name, id=name) for name in DUPLICATES])
def test_inserts_duplicate_combine_or_drop_keys_as_their_options_set(
    spark: SparkSession, tmp_path: Path, table_type: TableType, case: str
) -> None:
    options, first, second = DUPLICATES[case]
    options = {KEY: "id", ORDERING: "ts", TYPE: table_type.value, OPERATION: "insert", **options}
    path = tmp_path / "t"
    save(frame(spark, [(1, 5, "1a"), (1, 6, "1b")], COLUMNS), path, options)
    assert [row[2] for row in rows_of(load(spark, path))] == first
    batch = [(1, 1, "1c"), (1, 2, "1d"), (2, 1, "2a"), (2, 2, "2b")]
    save(frame(spark, batch, COLUMNS), path, options)
    assert sorted(row[2] for row in rows_of(load(spark, path))) == sorted(first + second)


def test_an_insert_that_refuses_stored_keys_writes_nothing(new: NEW) -> None:
    table = new()
    upsert(table, (1, 1, "a"), (2, 1, "b"))
    before = listing(table.path)
    spark = table.df().sparkSession
    fail = WriteOptions(hoodie={"hoodie.datasource.insert.dup.policy": "fail"})
    batch = frame(spark, [(3, 1, "c"), (2, 2, "d")], COLUMNS)
    refused(lambda: table.insert(batch, options=fail), "DUPLICATE_KEY", "2", "Upsert")
    assert listing(table.path) == before
    delete(table, 2)
    table.insert(batch, options=fail)
    assert values(table) == {1: "a", 2: "d", 3: "c"}


def test_an_insert_without_duplicates_merges_rows_with_stored_ones(new: NEW) -> None:
    table = new()
    upsert(table, (1, 5, "a"), (2, 5, "b"))
    merge = WriteOptions(hoodie={"hoodie.merge.allow.duplicate.on.inserts": "false"})
    table.insert(frame(table.df().sparkSession, [(1, 6, "a2"), (2, 4, "late"), (3, 1, "c")], COLUMNS), options=merge)
    assert values(table) == {1: "a2", 2: "b", 3: "c"}


def test_an_upsert_without_combining_stores_all_rows_of_a_new_key_in_a_new_file_group(new: NEW) -> None:
    table = new()
    apart = {"hoodie.combine.before.upsert": "false"}
    upsert(table, (1, 6, "b"), (2, 1, "d"), (2, 2, "e"), **apart)
    assert sorted(row.v for row in table.df().collect()) == ["b", "d", "e"]
    # In an existing file group rows are merged with the stored ones, and so with each other.
    upsert(table, (1, 7, "c"), (1, 6, "late"), (3, 1, "f"), (3, 2, "g"), **apart)
    assert sorted(row.v for row in table.df().collect()) == ["c", "d", "e", "g"]


def test_an_upsert_and_a_delete_change_both_rows_of_a_duplicate_key(new: NEW) -> None:
    table = new()
    for _ in range(2):
        table.insert(
            frame(table.df().sparkSession, [(1, 5, "a")], COLUMNS),
            options=WriteOptions(hoodie={"hoodie.parquet.small.file.limit": "0"}),
        )
    assert [row.v for row in table.df().collect()] == ["a", "a"]
    upsert(table, (1, 6, "b"))
    assert [row.v for row in table.df().collect()] == ["b", "b"]
    delete(table, 1)
    assert table.df().count() == 0


def test_a_key_deleted_and_inserted_again_is_stored_once(new: NEW) -> None:
    table = new()
    upsert(table, (1, 5, "a"), (2, 5, "b"), (3, 5, "c"))
    delete(table, 1, 2)
    spark = table.df().sparkSession
    table.insert(frame(spark, [(1, 4, "again"), (2, 4, "again")], COLUMNS))
    upsert(table, (1, 6, "updated"), (2, 3, "late"), (3, 6, "c2"))
    assert values(table) == {1: "updated", 2: "again", 3: "c2"}
    delete(table, 1, 2)
    assert values(table) == {3: "c2"}
    upsert(table, (1, 1, "back"))
    assert values(table) == {1: "back", 3: "c2"}
    if table.table_type is TableType.MERGE_ON_READ:
        table.compact()
        assert values(table) == {1: "back", 3: "c2"}


def test_a_result_and_its_history_entry_have_equal_counts(new: NEW) -> None:
    table = new()
    result = upsert(table, (1, 1, "a"), (2, 1, "b"))
    entry = table.history()[0]
    assert (entry.instant, entry.state) == (result.instant, "COMPLETED")
    assert entry.action == ("deltacommit" if table.table_type is TableType.MERGE_ON_READ else "commit")
    assert (entry.files, entry.rows_written, entry.bytes_written) == (
        result.files,
        result.rows_written,
        result.bytes_written,
    )
    assert (result.files, result.rows_written, result.inserted, result.operation) == (1, 2, 2, "upsert")
    assert result.bytes_written > 0
    assert result.elapsed_ms > 0
