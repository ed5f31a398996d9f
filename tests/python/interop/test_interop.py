# Guarantee (Tables of other engines): Tables that Hudi and hudi-rs wrote are read, and ours by them; Hudi can continue
#   ours. Also: test_golden_tables
"""Tables that our engine writes, read by the real Hudi and by hudi-rs, and written on by Hudi."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from places import TESTS
from pyspark.sql.functions import udf

from interop import hudi_rs
from interop.frames import Schema, frame_of
from interop.hudi_engine import META_COLUMNS, HudiEngine, HudiError
from interop.hudi_session import table_properties
from interop.merganser_engine import MerganserEngine
from interop.values import encode_arrow, encode_spark, sort_rows
from merganser import MerganserError, Table

pytestmark = pytest.mark.e2e

sys.path.append(str(TESTS / "golden"))

from stories import COW, MOR, STORIES  # noqa: E402
from test_golden_tables import EXPECTED, GOLDEN, as_stored, columns_of  # noqa: E402
from test_golden_tools import BEYOND_HUDI_RS  # noqa: E402

ITEM = "id int, name string, ts bigint"

#: Stories that need what our engine does not write.
NOT_TOLD = {
    "cow_replaced": "insert_overwrite of single partitions",
    "cow_timestamp_key": "keys that Hudi's bulk_insert forms in another way than its upsert",
    "cow_keyless": "keys with the instants of Hudi's writes; see test_keyless_tables",
    "mor_keyless": "the same",
    "mor_consistent_buckets": "a bucket that Hudi splits; see test_consistent_buckets",
    "mor_log_only": "an index that is not here",
    "cow_column_versions": "statements of Hudi's SQL; see test_column_versions",
    "mor_column_versions": "the same",
    "mor_dropped_columns": "created by Hudi's SQL; see test_dropped_columns",
    "cow_slashed_dates": "created by Hudi's SQL; see test_slashed_dates",
    "cow_virtual_keys": "Hudi reads no keys; see test_virtual_keys",
    "mor_virtual_keys": "the same",
    "mor_v6": "a new table of version 6",
    "mor_v8": "a new table of version 8",
}


#: Stories whose like is among the others, which run with MERGANSER_FULL=1: in the first four Hudi archives commits,
#: which changes nothing of ours; the key generators of the others are tried without Avro, or on other tables.
MORE = {
    "cow_archived",
    "cow_archived_v6",
    "mor_archived",
    "mor_archived_v6",
    "mor_complex_avro",
    "mor_global_delete_avro",
    "mor_nonpartitioned_avro",
}
FULL = bool(os.environ.get("MERGANSER_FULL"))
assert STORIES.keys() >= MORE


#: Hudi's settings for a table that several processes write.
SEVERAL_WRITERS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}


class Story:
    """A golden table's story, played by our engine."""

    def __init__(self, ours: MerganserEngine, path: Path) -> None:
        self.ours = ours
        self.path = path
        self.schema: Schema = ""
        self.options: dict[str, str] = {}

    def table(
        self, kind: str, schema: Schema, *, key: str, partition: str = "", ordering: str = "", **options: str
    ) -> None:
        self.schema = schema
        self.options = settings(self.path.name, kind, key, partition, ordering, **options)

    def write(self, operation: str, *rows: Sequence[Any], schema: Schema = "") -> None:
        self.ours.write(self.path, schema or self.schema, rows, operation=operation, options=self.options)

    def upsert(self, *rows: Sequence[Any]) -> None:
        self.write("upsert", *rows)

    def delete(self, schema: Schema, *rows: Sequence[Any]) -> None:
        self.write("delete", *rows, schema=schema)

    def compact(self, op: str = "scheduleAndExecute") -> None:
        self.ours.compact(self.path, op)

    def merge(self, schema: Schema, rows: Sequence[Sequence[Any]], clauses: str) -> None:
        spark = self.ours.spark
        frame_of(spark, schema, rows).createOrReplaceTempView("s")
        spark.sql(f"CREATE TABLE {self.path.name} USING merganser LOCATION '{self.path}'")
        spark.sql(f"MERGE INTO {self.path.name} t USING s {clauses}")
        spark.sql(f"DROP TABLE {self.path.name}")


def settings(name: str, kind: str, key: str, partition: str = "", ordering: str = "", **options: str) -> dict[str, str]:
    """Options of a table's first write, in the words of Hudi's jobs."""
    return {
        "hoodie.table.name": name,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": key,
        "hoodie.datasource.write.partitionpath.field": partition,
        **({"hoodie.table.ordering.fields": ordering} if ordering else {}),
        **options,
    }


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in STORIES if name not in NOT_TOLD and (FULL or name not in MORE)])
def test_our_replay_of_a_golden_tables_writes_gives_hudis_rows_in_every_reader(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, name: str
) -> None:
    story = Story(ours, tmp_path / name)
    STORIES[name][0](story)  # type: ignore[arg-type]
    expected = EXPECTED[name]
    columns = columns_of(name)
    names = [column for column, _ in columns]
    rows = sort_rows(as_stored(name, names, expected["rows"]))
    identity = ["_hoodie_record_key", "_hoodie_partition_path"]
    identities = sort_rows(row[1:] for row in expected["meta_rows"])
    read = hudi.read(story.path)
    assert as_stored(name, names, read.select(names)) == rows
    assert read.select(identity) == identities
    if name not in BEYOND_HUDI_RS:
        assert hudi_rs.read(story.path).select(names) == rows
    hudi.write(story.path, columns, rows, options=story.options)
    assert hudi.read(story.path).select(identity) == identities
    assert ours.read(story.path).select(names) == rows


# --- ordering values ----------------------------------------------------------------------------------------------

#: Ordering type, and three values of it in ascending order; the middle one is the stored row's. Not int 0 or the first
#: day of 1970 there: in a delete, Hudi takes that for no ordering value at all.
ORDERINGS = {
    "int": (-1, 10, 11),
    "bigint": (9, 10, 11),
    "double": (9.5, 10.0, 10.25),
    "string": ("10", "9", "a"),
    "date": ("1969-12-31", "1970-01-02", "2024-02-29"),
    "timestamp": ("1969-12-31T23:59:59.999999", "1970-01-01T00:00:00.000000", "2024-01-01T00:00:00.000001"),
    "decimal(20,4)": ("-0.0001", "0.0000", "12345678901234.5678"),
}


@pytest.mark.parametrize("kind", [kind for kind in ORDERINGS if FULL or kind not in ("bigint", "double", "timestamp")])
def test_every_reader_orders_updates_and_deletes_of_each_ordering_type_the_same(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    low, mid, high = ORDERINGS[kind]
    table = tmp_path / "ordered"
    schema = f"id int, name string, seq {kind}, _hoodie_is_deleted boolean"
    options = settings("ordered", MOR, "id", ordering="seq")
    ours.upsert(table, schema, [[i, f"row {i}", mid, False] for i in range(1, 9)], **options)
    ours.upsert(
        table,
        schema,
        [
            [1, "newer", high, False], [2, "late", low, False], [3, "tied", mid, False],
            [4, None, high, True], [5, None, low, True], [6, None, mid, True], [7, "newer", high, False],
        ],
        **options,
    )  # fmt: skip
    ours.delete(table, "id int", [[7], [8]], **options)
    ours.upsert(table, schema, [[4, "late after a delete", mid, False], [1, None, mid, True]], **options)
    rows = [
        [1, "newer", high, False], [2, "row 2", mid, False], [3, "tied", mid, False], [5, "row 5", mid, False],
    ]  # fmt: skip
    assert_all_read(ours, hudi, table, rows)


def test_an_unstored_soft_delete_without_ordering_value_is_ignored_for_rows_that_have_one(
    ours: MerganserEngine, tmp_path: Path
) -> None:
    table = tmp_path / "unflagged"
    options = settings("unflagged", MOR, "id", ordering="ts")
    ours.upsert(table, ITEM, [[1, "has one", 10], [2, "has none", None], [3, "older", 10]], **options)
    deletes = [[1, None, None, True], [2, None, None, True], [3, None, 11, True]]
    ours.upsert(table, f"{ITEM}, _hoodie_is_deleted boolean", deletes, **options)
    assert ours.read(table).business == [[1, "has one", 10]]
    ours.compact(table)
    assert ours.read(table).business == [[1, "has one", 10]]


def test_every_reader_and_hudis_compaction_keep_null_elements_of_our_lists(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = tmp_path / "lists"
    schema = "id int, tags array<string>, deep array<struct<codes:array<int>>>, counts map<string,int>, ts bigint"
    stays, changes = [1, [None, "a"], [None, {"codes": [1, None]}], [["k", None]], 10], [2, ["x"], [], [], 10]
    ours.upsert(table, schema, [stays, changes], **settings("lists", MOR, "id", ordering="ts"))
    assert_all_read(ours, hudi, table, [stays, changes])
    changed = [2, ["y"], [{"codes": [2]}], [], 11]
    hudi.upsert(table, schema, [changed])
    hudi.compact(table)
    assert_all_read(ours, hudi, table, [stays, changed])


def test_decimals_with_and_without_dictionaries_come_through_in_every_reader_and_in_a_compaction_of_hudi(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = tmp_path / "decimals"
    schema = "id int, small decimal(9,2), middle decimal(15,2), large decimal(38,10), many decimal(18,2), ts bigint"

    def row(number: int, ts: int = 10) -> list[Any]:
        large = None if number % 3 == 0 else f"{number % 4 + 1}.0000000001"
        return [number, f"{number % 5}.25", f"-{number % 7 + 1}.50", large, f"{number * 10**13 + 7}.01", ts]

    rows = [row(number) for number in range(1, 201)]
    ours.upsert(table, schema, rows, **settings("decimals", MOR, "id", ordering="ts"))
    (file,) = table.glob("*.parquet")
    columns = [pq.ParquetFile(file).metadata.row_group(0).column(i) for i in range(5, 11)]
    has_dictionary = {column.path_in_schema: column.has_dictionary_page for column in columns}
    assert [name for name, has in has_dictionary.items() if has and name != "ts"] == ["small", "middle", "large"]
    known = {"PLAIN", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED"}
    assert {name for column in columns for name in column.encodings} <= known
    plain = ours.spark.read.parquet(str(file)).drop(*META_COLUMNS).collect()
    assert sort_rows([encode_spark(value) for value in row] for row in plain) == sort_rows(rows)
    filtered = ours.spark.read.parquet(str(file)).where("small = 4.25 AND large IS NOT NULL").count()
    assert filtered == sum(1 for row in rows if row[1] == "4.25" and row[3] is not None)
    arrow = pq.read_table(file).drop_columns(list(META_COLUMNS)).to_pylist()
    assert sort_rows([encode_arrow(value) for value in row.values()] for row in arrow) == sort_rows(rows)
    assert_all_read(ours, hudi, table, rows)
    changed = [[2, "9.99", "8.88", "7.0000000007", "6.66", 11]]
    hudi.upsert(table, schema, changed)
    hudi.compact(table)
    assert_all_read(ours, hudi, table, [row for row in rows if row[0] != 2] + changed)


def assert_all_read(ours: MerganserEngine, hudi: HudiEngine, table: Path, rows: list[list[Any]]) -> None:
    """Three readers see these rows."""
    wanted = sort_rows(rows)
    assert ours.read(table).business == wanted
    assert hudi.read(table).business == wanted
    assert hudi_rs.read(table).business == wanted


# --- compaction ---------------------------------------------------------------------------------------------------


def test_each_engine_runs_a_compaction_scheduled_by_the_other_and_keeps_later_logs(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = tmp_path / "shared"
    schema = ITEM + ", part string"
    options = settings("shared", MOR, "id", "part", "ts")
    ours.upsert(table, schema, [[1, "a", 10, "x"], [2, "b", 10, "x"], [3, "c", 10, "y"], [4, "d", 10, "y"]], **options)
    ours.upsert(table, schema, [[1, "a+", 11, "x"], [3, "late", 9, "y"]], **options)
    ours.delete(table, "id int, part string", [[4, "y"]], **options)

    ours.compact(table, "schedule")
    ours.upsert(table, schema, [[2, "b+", 11, "x"]], **options)
    hudi.upsert(table, schema, [[1, "a++", 12, "x"], [5, "e", 10, "x"]])
    rows = [[1, "a++", 12, "x"], [2, "b+", 11, "x"], [3, "c", 10, "y"], [5, "e", 10, "x"]]
    assert_all_read(ours, hudi, table, rows)
    # A run of ours that lives is left alone by both; one that died is taken over.
    (planned,) = (table / ".hoodie" / "timeline").glob("*.compaction.requested")
    claim = {"owner": "merganser", "id": "x", "number": 7, "process": "p", "host": "h", "pid": "1"}
    planned.with_suffix(".inflight").write_text(json.dumps({**claim, "heartbeatMs": 60000}))
    beat = table / ".hoodie" / ".heartbeat" / planned.name.split(".")[0]
    beat.parent.mkdir(exist_ok=True)
    beat.touch()
    with pytest.raises(HudiError, match="heartbeat"):
        hudi.compact(table, "run", **SEVERAL_WRITERS)
    ours.compact(table, "run")
    assert beat.exists()
    beat.unlink()
    hudi.compact(table, "run")
    assert_all_read(ours, hudi, table, rows)
    assert hudi.read(table, "read_optimized").business == ours.read(table, "read_optimized").business

    hudi.compact(table, "schedule")
    hudi.upsert(table, schema, [[3, "c+", 11, "y"]])
    ours.upsert(table, schema, [[2, "late", 1, "x"], [5, "e+", 11, "x"]], **options)
    rows = [[1, "a++", 12, "x"], [2, "b+", 11, "x"], [3, "c+", 11, "y"], [5, "e+", 11, "x"]]
    assert_all_read(ours, hudi, table, rows)
    ours.compact(table, "run")
    assert_all_read(ours, hudi, table, rows)
    ours.compact(table)
    assert ours.read(table, "read_optimized").business == rows
    assert hudi.read(table, "read_optimized").business == rows
    hudi.delete(table, schema, [[2, None, 0, "x"]])
    assert_all_read(ours, hudi, table, [rows[0], *rows[2:]])


@pytest.mark.parametrize("name", ["mor_v6", "mor_v8"])
def test_writes_and_compactions_keep_the_layout_of_an_older_table_version(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, name: str
) -> None:
    table = tmp_path / name
    shutil.copytree(GOLDEN / name / "table", table)
    schema, version = columns_of(name), table_properties(table)["hoodie.table.version"]
    stays = {"hoodie.write.table.version": version, "hoodie.write.auto.upgrade": "false"}
    new = [[10, "ten", 1.0, 10, "b", False], [11, "eleven", 1.0, 10, "b", False], [12, "twelve", 1.0, 10, "b", False]]
    ours.upsert(table, schema, new)
    ours.upsert(table, schema, [[10, "ten+", 1.0, 11, "b", False], [11, "late", 1.0, 9, "b", False]])
    ours.compact(table, "schedule")
    ours.upsert(table, schema, [[11, "eleven+", 1.0, 12, "b", False], [10, "late", 1.0, 9, "b", False]])
    ours.delete(table, schema, [new[2]])
    one, three = [1, "one+", 1.0, 12, "a", False], [3, "three++", 3.25, 12, "b", False]
    rows = [one, [10, "ten+", 1.0, 11, "b", False], [11, "eleven+", 1.0, 12, "b", False], three]
    assert hudi.read(table).business == rows
    assert ours.read(table).business == rows
    ours.compact(table, "run")
    hudi.upsert(table, schema, [[10, "ten++", 1.0, 12, "b", False]], **stays)
    ours.upsert(table, schema, [[11, "eleven++", 1.0, 13, "b", False]])
    rows = [one, [10, "ten++", 1.0, 12, "b", False], [11, "eleven++", 1.0, 13, "b", False], three]
    assert hudi.read(table).business == rows
    assert ours.read(table).business == rows
    assert table_properties(table)["hoodie.table.version"] == version


@pytest.mark.parametrize("version", ["6", "9"])
def test_a_key_that_hudi_writes_between_the_plan_of_a_compaction_and_its_run_is_stored_once(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, version: str
) -> None:
    table = tmp_path / "shared"
    schema = ITEM + ", part string"
    options = settings("shared", MOR, "id", "part", "ts") | {"hoodie.write.table.version": version}
    ours.upsert(table, schema, [[1, "a", 10, "x"], [2, "b", 10, "x"]], **options)
    ours.delete(table, "id int, part string", [[1, "x"]], **options)
    ours.compact(table, "schedule")
    hudi.upsert(table, schema, [[1, "back", 11, "x"]], **{"hoodie.write.table.version": version})
    ours.compact(table, "run")
    assert_all_read(ours, hudi, table, [[1, "back", 11, "x"], [2, "b", 10, "x"]])
    ours.upsert(table, schema, [[1, "again", 12, "x"]], **options)
    assert_all_read(ours, hudi, table, [[1, "again", 12, "x"], [2, "b", 10, "x"]])


# --- other writers' ways ------------------------------------------------------------------------------------------


def test_our_commit_drops_hudis_metadata_table_and_hudi_rebuilds_it(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = tmp_path / "listed"
    options = settings("listed", MOR, "id", ordering="ts")
    keeps = {"hoodie.metadata.enable": "true"}
    ours.upsert(table, ITEM, [[1, "a", 10], [2, "b", 10]], **options)
    hudi.upsert(table, ITEM, [[1, "a+", 11], [3, "c", 10]], **keeps)
    assert "files" in table_properties(table)["hoodie.table.metadata.partitions"]
    ours.upsert(table, ITEM, [[2, "b+", 11], [4, "d", 10]], **options)
    assert "hoodie.table.metadata.partitions" not in table_properties(table)
    assert not (table / ".hoodie" / "metadata").exists()
    rows = [[1, "a+", 11], [2, "b+", 11], [3, "c", 10], [4, "d", 10]]
    assert_all_read(ours, hudi, table, rows)
    assert hudi.read(table, **keeps).business == rows
    hudi.upsert(table, ITEM, [[4, "d+", 11]], **keeps)
    assert_all_read(ours, hudi, table, [*rows[:3], [4, "d+", 11]])
    assert hudi.read(table, **keeps).business == [*rows[:3], [4, "d+", 11]]


@pytest.mark.parametrize("kind", [COW, MOR])
def test_hudis_next_write_removes_our_write_that_died_before_its_commit(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    table, died = tmp_path / "alive", tmp_path / "died"
    options = settings("alive", kind, "id", "part", "ts")
    schema = ITEM + ", part string"
    ours.upsert(table, schema, [[1, "a", 10, "x"], [2, "b", 10, "x"]], **options)
    before = data_files(table)
    copy_before_commit(ours, table, died, schema, [[1, "never", 11, "x"], [3, "seen", 10, "y"]], options)
    assert len(data_files(died)) > len(before)
    assert_all_read(ours, hudi, died, [[1, "a", 10, "x"], [2, "b", 10, "x"]])

    hudi.upsert(died, schema, [[2, "b+", 11, "x"]])
    remaining = {file for file in data_files(died) if file.parent.name == "y"}
    assert not remaining, "the file of the new partition is of the dead write"
    hudi.upsert(died, schema, [[1, "a+", 12, "x"]])
    assert_all_read(ours, hudi, died, [[1, "a+", 12, "x"], [2, "b+", 11, "x"]])


def copy_before_commit(
    ours: MerganserEngine, table: Path, to: Path, schema: str, rows: Sequence[Sequence[Any]], options: dict[str, str]
) -> None:
    """Copies the table as it is when a write has put down its files and waits for the lock under which it commits."""
    lock, before = table / ".hoodie" / "lock", data_files(table)

    def take_lock(value: int) -> int:
        # Rows are evaluated once the write has begun. What another engine locked, ours waits for.
        if not lock.exists():
            lock.write_text("another engine")
        return value

    frame = frame_of(ours.spark, schema, rows).withColumn("id", udf(take_lock, "int").asNondeterministic()("id"))
    write = frame.write.format("merganser").options(**options).mode("append")
    writing = threading.Thread(target=write.save, args=(str(table),))
    writing.start()
    try:
        deadline = time.monotonic() + 60
        while len(data_files(table)) < len(before) + 2:
            assert writing.is_alive(), "the write ended although the table was locked"
            assert time.monotonic() < deadline, "the write did not come to its commit"
            time.sleep(0.05)
        shutil.copytree(table, to)
    finally:
        lock.unlink()
        writing.join(60)
    (to / ".hoodie" / "lock").unlink()


def data_files(table: Path) -> set[Path]:
    """Base and log files, relative to the table."""
    files = {file.relative_to(table) for pattern in ("*.parquet", ".*.log.*") for file in table.rglob(pattern)}
    return {file for file in files if file.parts[0] != ".hoodie" and file.suffix != ".crc"}


@pytest.mark.parametrize("kind", [COW, MOR])
def test_every_reader_returns_the_same_rows_after_an_overwrite_and_sql_changes(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    table, sql = tmp_path / "changed", ours.spark.sql
    options = settings("changed", kind, "id", "part", "ts")
    schema = ITEM + ", part string"
    ours.upsert(table, schema, [[1, "old", 99, "x"], [9, "gone", 99, "z"]], **options)
    ours.write(
        table, schema, [[1, "a", 10, "x"], [2, "b", 10, "x"], [3, "c", 10, "y"]], mode="overwrite", options=options
    )
    assert_all_read(ours, hudi, table, [[1, "a", 10, "x"], [2, "b", 10, "x"], [3, "c", 10, "y"]])

    sql(f"CREATE TABLE changed USING merganser LOCATION '{table}'")
    try:
        sql("UPDATE changed SET name = 'b+', ts = 11 WHERE id = 2")
        sql("DELETE FROM changed WHERE id = 3")
        sql("INSERT INTO changed VALUES (4, 'd', 10, 'y'), (5, 'e', 10, 'x')")
        sql(
            "MERGE INTO changed t USING "
            "(SELECT * FROM VALUES (1, 'a+', 11L, 'x'), (4, 'x', 11L, 'y'), (6, 'f', 1L, 'y') "
            "AS v(id, name, ts, part)) s ON t.id = s.id AND t.part = s.part "
            "WHEN MATCHED AND s.name = 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    finally:
        sql("DROP TABLE changed")
    rows = [[1, "a+", 11, "x"], [2, "b+", 11, "x"], [5, "e", 10, "x"], [6, "f", 1, "y"]]
    assert_all_read(ours, hudi, table, rows)
    hudi.upsert(table, schema, [[1, "late", 2, "x"], [5, "e+", 11, "x"], [6, "f+", 2, "y"], [4, "again", 20, "y"]])
    rows = [[1, "a+", 11, "x"], [2, "b+", 11, "x"], [4, "again", 20, "y"], [5, "e+", 11, "x"], [6, "f+", 2, "y"]]
    assert_all_read(ours, hudi, table, rows)


@pytest.mark.parametrize("kind", [COW, MOR])
def test_both_engines_ignore_a_late_delete_of_merge_and_insert_a_row_after_a_delete(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    table, sql = tmp_path / "deleted", ours.spark.sql
    ours.upsert(
        table, ITEM, [[1, "a", 10], [2, "b", 10], [3, "c", 10]], **settings("deleted", kind, "id", ordering="ts")
    )
    sql(f"CREATE TABLE deleted USING merganser LOCATION '{table}'")
    try:
        (row,) = sql(
            "MERGE INTO deleted t USING (SELECT * FROM VALUES (1, 9L), (2, 10L), (3, 11L) AS v(id, ts)) s "
            "ON t.id = s.id WHEN MATCHED THEN DELETE"
        ).collect()
    finally:
        sql("DROP TABLE deleted")
    assert (row["late"], row["deleted"]) == (1, 2)
    assert_all_read(ours, hudi, table, [[1, "a", 10]])
    hudi.upsert(table, ITEM, [[1, "late", 9], [2, "again", 10], [3, "newer", 12]])
    assert_all_read(ours, hudi, table, [[1, "a", 10], [2, "again", 10], [3, "newer", 12]])


# --- time travel --------------------------------------------------------------------------------------------------


def test_time_travel_before_hudis_clean_is_an_error_and_later_instants_read_the_same(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    table = tmp_path / "cleaned"
    options = settings("cleaned", COW, "id", ordering="ts", **{"hoodie.clean.automatic": "true"})
    options["hoodie.clean.commits.retained"] = "2"
    for ts in range(1, 7):
        hudi.upsert(table, ITEM, [[1, f"v{ts}", ts]], **options)
    assert list((table / ".hoodie" / "timeline").glob("*.clean"))
    history = Table.load(ours.spark, str(table)).history()
    instants = [entry.instant for entry in reversed(history) if entry.action == "commit"]
    assert len(instants) == 6
    as_of = {ts: {"as.of.instant": instant} for ts, instant in enumerate(instants, 1)}
    with pytest.raises(HudiError, match="Cleaner cleaned up"):
        hudi.read(table, **as_of[2])
    with pytest.raises(MerganserError, match="AS_OF_TOO_EARLY") as early:
        ours.read(table, **as_of[2])
    oldest = next(ts for ts in range(3, 7) if instants[ts - 1] in str(early.value))
    assert oldest < 6
    for ts in range(3, 7):
        if ts >= oldest:
            rows = [[1, f"v{ts}", ts]]
            assert hudi.read(table, **as_of[ts]).business == ours.read(table, **as_of[ts]).business == rows
        else:
            with pytest.raises(HudiError):
                hudi.read(table, **as_of[ts])
    by_version = {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"}
    hudi.upsert(table, ITEM, [[1, "v7", 7]], **options, **by_version)
    last = next(e.instant for e in Table.load(ours.spark, str(table)).history() if e.action == "commit")
    with pytest.raises(MerganserError, match=f"AS_OF_TOO_EARLY.*{last}"):
        ours.read(table, **as_of[6])
    assert ours.read(table, **{"as.of.instant": last}).business == [[1, "v7", 7]]
