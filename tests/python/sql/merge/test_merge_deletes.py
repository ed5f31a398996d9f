"""DELETE clauses of MERGE: they carry the source's ordering value, and a late one loses, as an UPDATE of it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from row_level import INSERT_ALL, UPDATE_ALL, fails_unchanged, merge, settings, values, view
from sql_steps import Sql, each_kind

from merganser import Table, dry_run

pytestmark = pytest.mark.e2e

DELETES = "spark.merganser.sql.deletes"
DELETE = "WHEN MATCHED THEN DELETE"


def stored(sql: Sql, kind: str, columns: str = "id int, ts bigint, v string", **how: str) -> str:
    """A table with rows 1 to 4, all of ordering value 5."""
    table = sql.create(kind, columns, **how)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b'), (3, 5, 'c'), (4, 5, 'd')")
    return table


def source(*rows: str, names: str = "id, ts, v") -> str:
    return values(names, *rows)


def counts(sql: Sql, statement: str) -> dict[str, int]:
    """How many rows of a statement had which outcome; without zeros."""
    (row,) = sql.spark.sql(statement).collect()
    return {name: row[name] for name in ("inserted", "updated", "deleted", "late", "appended") if row[name]}


def ids(sql: Sql, table: str) -> list[int]:
    return [row[0] for row in sql.rows(table, "id")]


def compact(sql: Sql, kind: str, table: str) -> None:
    if kind == "mor":
        sql.run(f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}')")


LATE, TIE, NEWER = "(1, 4L, 'a')", "(2, 5L, 'b')", "(3, 6L, 'c')"


# Guarantee (Merge rules): A `DELETE` clause of `MERGE` whose source row is older than the stored row is late; without
#   the ordering fields it is unconditional. Also:
#   test_a_delete_clause_without_all_ordering_columns_is_unconditional,
#   test_a_delete_is_compared_by_an_ordering_field_inside_structs,
#   test_random_statements_give_the_documented_rows_on_both_table_types
@pytest.mark.sampled
@each_kind
@pytest.mark.parametrize(
    ("on", "more"),
    [
        ("t.id = s.id", ""),
        ("t.id = s.id AND s.ts > 0", ""),
        ("t.id = s.id + 0", ""),
        ("t.v = s.v", ""),
        ("t.id = s.id", "WHEN NOT MATCHED BY SOURCE AND t.id = 9 THEN DELETE"),
        ("t.id = s.id", "WHEN NOT MATCHED AND s.id < 0 THEN INSERT *"),
        ("t.id = s.id", "WHEN NOT MATCHED AND s.id < 0 THEN INSERT (id, ts) VALUES (s.id, (SELECT 9L))"),
    ],
    ids=[
        "by key",
        "by key and more",
        "by a join",
        "by another column",
        "and lacking rows",
        "and new rows",
        "in a plan",
    ],
)
def test_a_late_delete_is_ignored_and_a_tie_deletes(sql: Sql, kind: str, on: str, more: str) -> None:
    table = stored(sql, kind)
    statement = merge(table, source(LATE, TIE, NEWER), DELETE, more, on=on)
    previewed = dry_run(sql.spark, statement)
    assert (previewed.deleted, previewed.late) == (2, 1)
    assert {row.key: row.outcome for row in previewed.rows} == {"1": "late", "2": "deleted", "3": "deleted"}
    assert counts(sql, statement) == {"deleted": 2, "late": 1}
    assert sql.rows(table) == [(1, 5, "a"), (4, 5, "d")]
    compact(sql, kind, table)
    assert sql.rows(table) == [(1, 5, "a"), (4, 5, "d")]


@each_kind
def test_an_update_and_a_late_delete_give_the_same_row_in_either_order(sql: Sql, kind: str) -> None:
    clauses = ["WHEN MATCHED AND s.v = 'gone' THEN DELETE", UPDATE_ALL, INSERT_ALL]
    update, delete = source("(1, 100L, 'new')"), source("(1, 99L, 'gone')")
    for batches in ([update, delete], [delete, update], [source("(1, 100L, 'new')", "(1, 99L, 'gone')")]):
        table = stored(sql, kind)
        for batch in batches:
            sql.run(merge(table, batch, *clauses))
        assert sql.rows(table) == [(1, 100, "new"), (2, 5, "b"), (3, 5, "c"), (4, 5, "d")], batches


@each_kind
def test_a_late_delete_is_ignored_beside_update_and_insert_clauses(sql: Sql, kind: str) -> None:
    table = stored(sql, kind)
    rows = source("(1, 4L, 'd')", "(2, 9L, 'd')", "(3, 4L, 'u')", "(4, 9L, 'u')", "(9, 1L, 'u')")
    clauses = ["WHEN MATCHED AND s.v = 'd' AND t.ts > 0 THEN DELETE", "WHEN MATCHED THEN UPDATE SET v = s.v, ts = s.ts"]
    found = counts(sql, merge(table, rows, *clauses, INSERT_ALL))
    assert found == {"inserted": 1, "updated": 1, "deleted": 1, "late": 2}
    assert sql.rows(table) == [(1, 5, "a"), (3, 5, "c"), (4, 9, "u"), (9, 1, "u")]


@each_kind
def test_a_late_delete_is_ignored_for_queries_views_and_tables_as_source(sql: Sql, kind: str) -> None:
    late = "SELECT 1 AS ID, 4L AS Ts"
    with view(sql, late) as name:
        other = sql.create("cow", "id int, TS bigint", ordering=None)
        sql.run(f"INSERT INTO {other} VALUES (1, 4)")
        for rows in (
            f"{name} s",
            f"(WITH w AS ({late}) SELECT * FROM w) s",
            f"{other} AS s",
            f"(SELECT * FROM {name}) s",
        ):
            table = stored(sql, kind)
            assert counts(sql, merge(table, rows, DELETE)) == {"late": 1}, rows
        table = stored(sql, kind)
        own = f"(SELECT id, ts - 1 AS ts FROM {table}) s"
        assert counts(sql, merge(table, own, "WHEN MATCHED AND s.id > 2 THEN DELETE")) == {"late": 2}
        with settings(sql, caseSensitive="true"):
            assert counts(sql, merge(table, f"(SELECT ID AS id, Ts FROM {name}) s", DELETE)) == {"deleted": 1}


@each_kind
def test_a_delete_clause_without_all_ordering_columns_is_unconditional(sql: Sql, kind: str) -> None:
    table = stored(sql, kind)
    assert counts(sql, merge(table, "(SELECT 1 AS id, 'x' AS v) s", DELETE)) == {"deleted": 1}
    several = sql.create(kind, "id int, ts bigint, seq int, v string", ordering="ts,seq")
    sql.run(f"INSERT INTO {several} VALUES (1, 5, 5, 'a'), (2, 5, 5, 'b'), (3, 5, 5, 'c'), (4, 5, 5, 'd')")
    assert counts(sql, merge(several, source("(1, 4L)", names="id, ts"), DELETE)) == {"deleted": 1}
    rows = source("(2, 5L, 4)", "(3, 5L, 5)", "(4, 4L, 9)", names="id, ts, seq")
    assert counts(sql, merge(several, rows, DELETE)) == {"deleted": 1, "late": 2}
    assert ids(sql, several) == [2, 4]
    lacking = "WHEN NOT MATCHED BY SOURCE AND t.id = 4 THEN DELETE"
    found = counts(sql, merge(several, source("(2, 1L, 1)", names="id, ts, seq"), DELETE, lacking))
    assert found == {"deleted": 1, "late": 1}
    assert ids(sql, several) == [2]


@each_kind
def test_a_delete_is_compared_by_the_value_that_a_clause_assigns_to_the_ordering_column(sql: Sql, kind: str) -> None:
    table = stored(sql, kind)
    rows = source("(1, 4L, 'd')", "(2, 9L, 'd')", "(3, 4L, 'u')", "(9, 1L, 'u')", names="key, at, op")
    found = counts(
        sql,
        merge(
            table,
            rows,
            "WHEN MATCHED AND s.op = 'd' THEN DELETE",
            "WHEN MATCHED THEN UPDATE SET ts = s.at, v = s.op",
            "WHEN NOT MATCHED THEN INSERT (id, ts, v) VALUES (s.key, s.at, s.op)",
            on="t.id = s.key",
        ),
    )
    assert found == {"inserted": 1, "deleted": 1, "late": 2}
    differing = [
        "WHEN MATCHED AND s.op = 'a' THEN UPDATE SET ts = s.a_at",
        "WHEN MATCHED AND s.op = 'b' THEN UPDATE SET ts = s.b_at",
    ]
    one = source("(9, 'd', NULL, 0L)", names="id, op, a_at, b_at").replace("NULL", "CAST(NULL AS bigint)")
    assert counts(sql, merge(table, one, *differing, DELETE)) == {"deleted": 1}
    constant = "WHEN MATCHED AND s.op <> 'd' THEN UPDATE SET ts = 99, v = s.op"
    assert counts(sql, merge(table, source("(1, 'd')", names="id, op"), constant, DELETE)) == {"deleted": 1}
    assert ids(sql, table) == [3, 4]


@each_kind
def test_a_delete_is_compared_by_an_ordering_field_inside_structs(sql: Sql, kind: str) -> None:
    columns = "id int, v string, meta struct<source: string, at: struct<zone: string, ts: bigint>>"
    table = sql.create(kind, columns, ordering="meta.at.ts")
    made = "named_struct('source', 's', 'at', named_struct('zone', 'z', 'ts', 5L))"
    sql.run(f"INSERT INTO {table} SELECT id, 'a', {made} FROM VALUES (1), (2), (3), (4) AS rows(id)")

    def rows(*found: tuple[int, int]) -> str:
        other = "named_struct('AT', named_struct('ts', {}L, 'more', 1, 'zone', 'z'))"
        return source(*[f"({key}, {other.format(ts)})" for key, ts in found], names="id, META")

    assert counts(sql, merge(table, rows((1, 4), (2, 5), (3, 6)), DELETE)) == {"deleted": 2, "late": 1}
    assert ids(sql, table) == [1, 4]
    assert sql.rows(table, "meta.source, meta.at.zone, meta.at.ts") == [("s", "z", 5), ("s", "z", 5)]
    several = "named_struct('at', named_struct('ts', {}L, 'zone', '{}'))"
    two = source(
        f"(4, 'newer', {several.format(9, 'a')})", f"(4, 'older', {several.format(8, 'z')})", names="id, v, meta"
    )
    assert counts(sql, merge(table, two, "WHEN MATCHED THEN UPDATE SET v = s.v")) == {"updated": 1}
    assert sql.rows(table, "id, v") == [(1, "a"), (4, "newer")]
    null = "(SELECT 1 AS id, CAST(NULL AS struct<at: struct<ts: bigint>>) AS meta) s"
    assert counts(sql, merge(table, null, DELETE)) == {"late": 1}
    assigned = ["WHEN MATCHED AND s.ts < 9 THEN DELETE", "WHEN MATCHED THEN UPDATE SET meta.at.ts = s.ts"]
    assert counts(sql, merge(table, "(SELECT 1 AS id, 4L AS ts) s", *assigned)) == {"late": 1}
    without = "(SELECT 1 AS id, named_struct('source', 's') AS meta) s"
    assert counts(sql, merge(table, without, DELETE)) == {"deleted": 1}
    compact(sql, kind, table)
    assert ids(sql, table) == [4]


@each_kind
def test_a_delete_is_compared_if_key_or_partition_shares_the_ordering_column(sql: Sql, kind: str) -> None:
    inside = sql.create(kind, "k struct<id: int, ts: bigint>, v string", key="k.id", ordering="k.ts")
    made = "named_struct('id', {}, 'ts', {}L)"
    sql.run(f"INSERT INTO {inside} VALUES ({made.format(1, 5)}, 'a'), ({made.format(2, 5)}, 'b')")
    rows = source(f"({made.format(1, 4)}, 1, 'x')", f"({made.format(2, 6)}, 2, 'x')", names="k, id, v")
    assert counts(sql, merge(inside, rows, DELETE, on="t.k.id = s.id")) == {"deleted": 1, "late": 1}
    assert sql.rows(inside, "k.id, k.ts, v") == [(1, 5, "a")]
    for index in ({}, {"hoodie.index.type": "GLOBAL_SIMPLE"}):
        table = sql.create(kind, "id int, v string, day bigint", ordering="day", by="day", **index)
        sql.run(f"INSERT INTO {table} VALUES (1, 'a', 5), (2, 'b', 5), (3, 'c', 5)")
        rows = source("(1, 4L)", "(2, 5L)", "(3, 6L)", names="id, day")
        assert counts(sql, merge(table, rows, DELETE)) == {"deleted": 2, "late": 1}, index
        compact(sql, kind, table)
        assert sql.rows(table, "id, v, day") == [(1, "a", 5)]
    also = sql.create(kind, "id int, v string, ts bigint", ordering="ts,id")
    sql.run(f"INSERT INTO {also} VALUES (1, 'a', 5), (2, 'a', 5)")
    assert counts(sql, merge(also, source("(9, 'a', 5L)", names="id, v, ts"), DELETE, on="t.v = s.v")) == {"deleted": 2}


@each_kind
def test_a_delete_is_compared_in_the_type_of_the_ordering_field(sql: Sql, kind: str) -> None:
    table = stored(sql, kind)
    assert counts(sql, merge(table, "(SELECT 1 AS id, 4 AS ts) s", DELETE)) == {"late": 1}
    assert counts(sql, merge(table, "(SELECT 1 AS id, '10' AS ts) s", DELETE)) == {"deleted": 1}
    fails_unchanged(sql, table, merge(table, "(SELECT 2 AS id, 'x' AS ts) s", DELETE), "CLAUSE_FAILED", "'ts'")
    unlike = "(SELECT 2 AS id, array(1) AS ts) s"
    fails_unchanged(sql, table, merge(table, unlike, DELETE), "DELETE_ORDER_UNDEFINED", "ARRAY<INT>", "BIGINT")
    twice = "(SELECT a.*, b.* FROM (SELECT 2 AS id, 1L AS ts) a JOIN (SELECT 9L AS ts) b) s"
    fails_unchanged(sql, table, merge(table, twice, DELETE), "DELETE_ORDER_UNDEFINED", DELETES)
    with sql.settings({DELETES: "unconditional"}):
        assert counts(sql, merge(table, twice, DELETE)) == {"deleted": 1}
    by_date = sql.create(kind, "id int, at timestamp, v string", ordering="at")
    sql.run(f"INSERT INTO {by_date} VALUES (1, timestamp'2026-01-02 00:00:00', 'a'), (2, timestamp'2026-01-02', 'b')")
    rows = source("(1, date'2026-01-01')", "(2, date'2026-01-03')", names="id, at")
    assert counts(sql, merge(by_date, rows, DELETE)) == {"deleted": 1, "late": 1}


@each_kind
def test_a_delete_with_a_null_ordering_value_removes_only_rows_with_null(sql: Sql, kind: str) -> None:
    table = stored(sql, kind)
    sql.run(f"UPDATE {table} SET ts = NULL WHERE id > 9")
    sql.run(merge(table, "(SELECT 8 AS id, CAST(NULL AS bigint) AS ts, 'n' AS v) s", INSERT_ALL))
    rows = "(SELECT id, CAST(NULL AS bigint) AS ts FROM VALUES (1), (8) AS rows(id)) s"
    assert counts(sql, merge(table, rows, DELETE)) == {"deleted": 1, "late": 1}
    assert ids(sql, table) == [1, 2, 3, 4]
    compact(sql, kind, table)
    assert ids(sql, table) == [1, 2, 3, 4]
    with sql.settings({"spark.merganser.write.nullOrdering": "reject"}):
        fails_unchanged(sql, table, merge(table, rows, DELETE), "NULL_ORDERING_VALUE", "ts")


@each_kind
def test_of_several_deletes_of_a_row_the_latest_is_compared(sql: Sql, kind: str) -> None:
    for on in ("t.id = s.id", "t.v = s.v"):
        table = stored(sql, kind)
        sql.run(
            merge(
                table,
                source("(1, 4L, 'a')", "(1, 6L, 'a')", "(1, 1L, 'a')", "(2, 4L, 'b')", "(2, 3L, 'b')"),
                DELETE,
                on=on,
            )
        )
        assert ids(sql, table) == [2, 3, 4], on


@each_kind
def test_a_partially_updated_row_outlives_a_late_delete(sql: Sql, kind: str) -> None:
    table = stored(sql, kind)
    part = "WHEN MATCHED AND s.v <> 'd' THEN UPDATE SET ts = s.ts"
    assert counts(sql, merge(table, source("(1, 9L, 'u')", "(2, 4L, 'd')"), part, DELETE)) == {"updated": 1, "late": 1}
    assert counts(sql, merge(table, source("(1, 8L, 'd')", "(2, 6L, 'd')"), part, DELETE)) == {"deleted": 1, "late": 1}
    assert sql.rows(table) == [(1, 9, "a"), (3, 5, "c"), (4, 5, "d")]


# --- the setting -------------------------------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize(
    ("value", "merged", "later"),
    [
        (None, {"late": 1}, True),
        ("source", {"late": 1}, True),
        ("ordered", {"late": 1}, False),
        ("unconditional", {"deleted": 1}, True),
        ("always", {"deleted": 1}, True),
    ],
)
def test_the_deletes_setting_chooses_which_deletes_are_compared(
    sql: Sql, kind: str, value: str | None, merged: dict[str, int], later: bool
) -> None:
    """`later`: a late row after a DELETE is inserted, since the DELETE has no ordering value."""
    table = stored(sql, kind, **{"merganser.tombstones.retained.hours": "24"})
    with sql.settings({} if value is None else {DELETES: value}):
        assert counts(sql, merge(table, source(LATE), DELETE)) == merged
        lacking = "WHEN NOT MATCHED BY SOURCE AND t.id = 2 THEN DELETE"
        assert counts(sql, merge(table, source("(3, 4L, 'c')", "(4, 4L, 'd')", "(1, 4L, 'a')"), lacking)) == {
            "deleted": 1
        }
        assert counts(sql, merge(table, "(SELECT 3 AS id) s", DELETE)) == {"deleted": 1}
        assert counts(sql, f"DELETE FROM {table} WHERE id = 4") == {"deleted": 1}
        sql.run(merge(table, source("(2, 4L, 'l')", "(3, 4L, 'l')", "(4, 4L, 'l')"), INSERT_ALL))
    kept = [1] if "late" in merged else []
    assert ids(sql, table) == kept + ([2, 3, 4] if later else [])


def test_a_table_with_unconditional_deletes_applies_a_late_delete(sql: Sql) -> None:
    table = stored(sql, "cow", **{DELETES: "unconditional"})
    assert counts(sql, merge(table, source(LATE), DELETE)) == {"deleted": 1}


# --- what shows it -----------------------------------------------------------------------------------------------


def test_explain_and_history_report_a_late_delete_in_a_log(sql: Sql) -> None:
    table = stored(sql, "mor")
    sql.run(merge(table, source(LATE, NEWER), DELETE))
    late, newer = (Table.load(sql.spark, table).inspect.explain(key).versions[-1] for key in (1, 3))
    assert (late.version, late.decision, newer.version, newer.decision) == ("delete", "lost", "delete", "deleted")
    assert "ts" in late.reason
    entry = Table.load(sql.spark, table).history()[0]
    assert (entry.late, entry.deleted) == (1, 1)


def test_a_late_delete_is_ignored_in_the_builder_and_in_micro_batches(sql: Sql, tmp_path: Path) -> None:
    name = stored(sql, "mor")
    changes = sql.spark.createDataFrame([(1, 4, "a"), (3, 6, "c")], "id int, ts long, v string")
    merging = Table.load(sql.spark, name).merge(changes).when_matched_delete()
    previewed, done = merging.execute(dry_run=True), merging.execute()
    assert (previewed.deleted, previewed.late) == (done.deleted, done.late) == (1, 1)
    feed = str(tmp_path / "feed")
    sql.spark.createDataFrame([(1, 4, "a"), (2, 4, "b")], changes.schema).write.parquet(feed)
    late: list[int] = []

    def write(batch: DataFrame, _: int) -> None:
        late.append(Table.load(batch.sparkSession, name).merge(batch).when_matched_delete().execute().late)

    stream = sql.spark.readStream.schema(changes.schema).parquet(feed).writeStream.foreachBatch(write)
    stream.trigger(availableNow=True).start().awaitTermination()
    assert sum(late) == 2
    assert ids(sql, name) == [1, 2, 4]
