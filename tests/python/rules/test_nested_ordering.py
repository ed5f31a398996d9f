"""An ordering field inside a struct, on every path and in SQL; and tables for event time without any field."""

from __future__ import annotations

from pathlib import Path

import pytest
from frames import frame, load, properties, refused, rows_of, save
from option_names import COW, KEY, MOR, ORDERING, TYPE
from pyspark.sql import SparkSession
from sql_steps import Sql, each_kind

from merganser import Table, TableType

NESTED = "id int, v string, meta struct<source: string, at: struct<ts: bigint>>, _hoodie_is_deleted boolean"
MODE = "hoodie.record.merge.mode"
each_type = pytest.mark.parametrize("table_type", [COW, MOR])


def row(key: int, v: str | None, ts: int | None, deleted: bool = False) -> tuple[object, ...]:
    return (key, v, (f"s{key}", None if ts is None else (ts,)), deleted)


# Guarantee (Merge rules): Rows are ordered by one or several fields, inside structs too, on every path and in SQL.
#   Also: test_statements_order_rows_by_a_field_inside_structs
@pytest.mark.e2e
@each_type
def test_rows_are_merged_by_an_ordering_field_inside_structs_on_every_path(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path, options = tmp_path / "t", {KEY: "id", ORDERING: "Meta.at.ts", TYPE: table_type}

    def upsert(*rows: tuple[object, ...], **more: str) -> None:
        save(frame(spark, rows, NESTED), path, {**options, **more})

    upsert(row(1, "a", 5), row(1, "late", 4), row(2, "a", 5), row(3, "a", 5), row(4, "a", 5), row(5, "a", None))
    options.pop(ORDERING)
    assert properties(path)[ORDERING] == "meta.at.ts"
    upsert(row(1, "late", 4), row(2, "b", 5), row(3, "gone", 4, deleted=True), row(4, "gone", 6, deleted=True))
    upsert(row(4, "late", 5), row(5, "b", None), row(5, "c", -1))
    expected = [(1, "a"), (2, "b"), (3, "a"), (5, "c")]
    if table_type == COW:
        expected.insert(3, (4, "late"))  # copy-on-write keeps no delete that a late-arriving row could lose to
    found = load(spark, path)
    assert rows_of(found.select("id", "v")) == expected
    assert rows_of(found.select("meta.source").where("id = 2")) == [("s2",)], "the order is read too"
    assert rows_of(found.where("meta.at.ts = -1").select("id")) == [(5,)]
    keep = {**options, "spark.merganser.write.missingColumns": "keep"}
    save(frame(spark, [(1, "kept")], "id int, v string"), path, keep)
    if table_type == MOR:
        Table.load(spark, str(path)).compact()
    assert rows_of(load(spark, path).where("id = 1").select("v", "meta.at.ts")) == [("kept", 5)]
    refused(lambda: upsert(row(1, "x", None), **{"spark.merganser.write.nullOrdering": "reject"}),
            "NULL_ORDERING_VALUE", "meta.at.ts")  # fmt: skip
    lacking = frame(spark, [(1, "x", ("s",), False)], NESTED.replace(", at: struct<ts: bigint>", ""))
    refused(lambda: save(lacking, path, options), "ORDERING_FIELD_MISSING", "meta.at.ts")


@each_kind
def test_statements_order_rows_by_a_field_inside_structs(sql: Sql, kind: str) -> None:
    columns = "id int, v string, meta struct<source: string, ts: bigint>"
    table = sql.create(kind, columns, ordering="meta.ts")

    def values(*rows: tuple[int, str, int]) -> str:
        return ", ".join(f"({key}, '{v}', named_struct('source', 's', 'ts', {ts}L))" for key, v, ts in rows)

    sql.run(f"INSERT INTO {table} VALUES {values((1, 'a', 5), (2, 'a', 5), (3, 'a', 5), (4, 'a', 5))}")
    changes = values((1, "late", 4), (2, "b", 6), (2, "b-late", 5), (9, "new", 1))
    (merged,) = sql.spark.sql(
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES {changes} AS s(id, v, meta)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ).collect()
    assert (merged["inserted"], merged["updated"], merged["late"], merged["appended"]) == (1, 1, 1, 0)
    (tied,) = sql.spark.sql(f"UPDATE {table} SET v = 'tie' WHERE id = 3").collect()
    assert (tied["updated"], tied["ties"]) == (1, 1)
    lowered = "meta = named_struct('source', 's', 'ts', 1L)"
    (late,) = sql.spark.sql(f"UPDATE {table} SET v = 'x', {lowered} WHERE id = 3").collect()
    assert late["late"] == 1
    with sql.settings({"spark.merganser.sql.deletes": "ordered"}):
        (deleted,) = sql.spark.sql(
            f"MERGE INTO {table} t USING (SELECT * FROM VALUES {values((3, '', 4), (4, '', 5))} AS s(id, v, meta)) s "
            "ON t.id = s.id WHEN MATCHED THEN DELETE"
        ).collect()
    assert (deleted["deleted"], deleted["late"]) == (1, 1)
    expected = [(1, "a", 5), (2, "b", 6), (3, "tie", 5), (9, "new", 1)]
    assert sql.rows(table, "id, v, meta.ts") == expected
    if kind == "mor":
        sql.run(f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}')")
        assert sql.rows(table, "id, v, meta.ts") == expected


# Guarantee (Merge rules): An event-time table without an ordering field merges by commit time, and each write warns
#   about it.
@each_type
def test_each_write_to_an_event_time_table_without_ordering_field_has_a_warning(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    path = tmp_path / "t"
    rows = spark.createDataFrame([(1, "a")], "id int, v string")
    table = Table.create(
        spark,
        str(path),
        rows.schema,
        record_key="id",
        table_type=TableType(table_type),
        options={MODE: "EVENT_TIME_ORDERING"},
    )
    assert properties(path)[MODE] == "EVENT_TIME_ORDERING"
    for field in ("v", None):
        # An ordering field of the write is not the table's: it has no effect, and is in the result.
        done = table.upsert(rows, options={} if field is None else {ORDERING: field})
        assert done.ignored_options == (() if field is None else (ORDERING,))
        (warning,) = done.warnings
        assert "Table 't' has merge mode EVENT_TIME_ORDERING and no ordering field, so the last write" in warning
    by_payload = tmp_path / "p"
    payload = {KEY: "id", "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.EventTimeAvroPayload"}
    save(rows, by_payload, payload)
    (warning,) = Table.load(spark, str(by_payload)).upsert(rows).warnings
    assert "payload class EventTimeAvroPayload" in warning


def test_a_sessions_defaults_for_new_tables_do_not_affect_writes_to_existing_ones(sql: Sql, tmp_path: Path) -> None:
    table = sql.create("cow")
    with sql.settings({"hoodie.payload.ordering.field": "id", MODE: "COMMIT_TIME_ORDERING"}):
        sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
        sql.run(f"UPDATE {table} SET v = 'late', ts = 4 WHERE id = 1")
        rows = sql.spark.sql("SELECT 1 AS id, 9L AS ts, 'b' AS v")
        path = tmp_path / "new"
        save(rows, path, {KEY: "id", ORDERING: "ts"})
        assert properties(path)[MODE] == "COMMIT_TIME_ORDERING"
        refused(lambda: save(rows, path, {MODE: "EVENT_TIME_ORDERING"}), "CONFIG_CONFLICT", MODE)
    assert sql.rows(table) == [(1, 5, "a")]
