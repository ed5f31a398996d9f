"""MERGE, UPDATE and DELETE: their rows go through the table's rule, on both table types and both indexes."""

from __future__ import annotations

import pytest
from sql_steps import Sql, each_kind

import merganser

pytestmark = pytest.mark.e2e

BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
TABLES = [("cow", {}), ("mor", {}), ("cow", BUCKET), ("mor", BUCKET)]
each_table = pytest.mark.parametrize(
    ("kind", "index"), TABLES, ids=[f"{kind}-{'bucket' if index else 'simple'}" for kind, index in TABLES]
)


def source(*rows: str) -> str:
    """An inline source with columns id, ts, v."""
    return f"(SELECT * FROM VALUES {', '.join(rows)} AS rows(id, ts, v)) s"


def merge(table: str, rows: str, *clauses: str, on: str = "t.id = s.id") -> str:
    return f"MERGE INTO {table} t USING {rows} ON {on} " + " ".join(clauses)


UPDATE_ALL = "WHEN MATCHED THEN UPDATE SET *"
INSERT_ALL = "WHEN NOT MATCHED THEN INSERT *"


# --- MERGE -----------------------------------------------------------------------------------------------------


@each_table
def test_merge_updates_matched_rows_and_inserts_new_ones(sql: Sql, kind: str, index: dict[str, str]) -> None:
    table = sql.create(kind, "id int, ts bigint, v string, p string", by="p", **index)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a', 'x'), (2, 5, 'b', 'y'), (3, 5, 'c', 'y')")
    changes = "(SELECT * FROM VALUES (1, 6L, 'new', 'x'), (4, 1L, 'd', 'z') AS rows(id, ts, v, p)) s"
    sql.run(merge(table, changes, UPDATE_ALL, INSERT_ALL))
    assert sql.rows(table) == [(1, 6, "new", "x"), (2, 5, "b", "y"), (3, 5, "c", "y"), (4, 1, "d", "z")]


@each_table
def test_a_late_source_row_is_ignored_under_event_time_and_a_tie_wins(
    sql: Sql, kind: str, index: dict[str, str]
) -> None:
    table = sql.create(kind, **index)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b')")
    sql.run(merge(table, source("(1, 4L, 'late')", "(2, 5L, 'tie')"), UPDATE_ALL))
    assert sql.rows(table) == [(1, 5, "a"), (2, 5, "tie")]


@each_kind
def test_the_later_statement_wins_under_commit_time(sql: Sql, kind: str) -> None:
    table = sql.create(kind, ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    sql.run(merge(table, source("(1, 4L, 'b')"), UPDATE_ALL))
    assert sql.rows(table) == [(1, 4, "b")]


@each_kind
def test_an_update_without_an_ordering_value_wins_and_keeps_the_stored_one(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    sql.run(merge(table, "(SELECT 1 id, 'b' v) s", "WHEN MATCHED THEN UPDATE SET v = s.v"))
    assert sql.rows(table) == [(1, 5, "b")]


@each_kind
def test_merge_applies_the_first_matching_clause(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b'), (3, 5, 'c'), (4, 5, 'd')")
    sql.run(
        merge(
            table,
            source(
                "(1, 6L, 'drop')",
                "(2, 6L, 'keep')",
                "(3, 6L, 'up')",
                "(4, 6L, 'drop')",
                "(5, 1L, 'in')",
                "(6, 1L, 'out')",
            ),
            "WHEN MATCHED AND s.v = 'drop' THEN DELETE",
            "WHEN MATCHED AND s.v = 'up' THEN UPDATE SET v = concat(t.v, '+', s.v), ts = s.ts",
            "WHEN MATCHED AND s.v = 'drop' THEN UPDATE SET *",
            "WHEN NOT MATCHED AND s.v = 'in' THEN INSERT (id, ts, v) VALUES (s.id, s.ts * 10, upper(s.v))",
        )
    )
    assert sql.rows(table) == [(2, 5, "b"), (3, 6, "c+up"), (5, 10, "IN")]


@each_kind
def test_a_late_row_after_a_delete_clause_without_an_ordering_value_is_inserted(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b')")
    sql.run(merge(table, "(SELECT 1 id, 'x' v) s", "WHEN MATCHED THEN DELETE"))
    assert sql.rows(table) == [(2, 5, "b")]
    sql.run(merge(table, source("(1, 1L, 'again')"), UPDATE_ALL, INSERT_ALL))
    assert sql.rows(table) == [(1, 1, "again"), (2, 5, "b")]


@each_kind
def test_of_source_rows_of_one_key_the_greatest_ordering_value_wins(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b')")
    rows = source(
        "(1, 7L, 'x')",
        "(1, 9L, 'y')",
        "(1, 8L, 'z')",
        "(2, 1L, 'late')",
        "(2, 2L, 'late')",
        "(3, 2L, 'n')",
        "(3, 1L, 'm')",
    )
    sql.run(merge(table, rows, UPDATE_ALL, INSERT_ALL))
    assert sql.rows(table) == [(1, 9, "y"), (2, 5, "b"), (3, 2, "n")]


@each_kind
def test_of_source_rows_that_tie_the_later_one_wins(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    rows = source("(1, 7L, 'x')", "(2, 7L, 'p')", "(1, 7L, 'y')", "(2, 7L, 'q')", "(1, 7L, 'z')")
    sql.run(merge(table, rows, UPDATE_ALL, INSERT_ALL))
    assert sql.rows(table) == [(1, 7, "z"), (2, 7, "q")]
    unordered = sql.create(kind, ordering=None)
    sql.run(f"INSERT INTO {unordered} VALUES (1, 5, 'a')")
    sql.run(merge(unordered, rows.replace("7L, 'z'", "1L, 'z'"), UPDATE_ALL, INSERT_ALL))
    assert sql.rows(unordered) == [(1, 1, "z"), (2, 7, "q")]


@each_kind
def test_an_insert_clause_stores_null_in_columns_it_does_not_list(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(merge(table, source("(1, 2L, 'x')"), "WHEN NOT MATCHED THEN INSERT (id, ts) VALUES (s.id, s.ts)"))
    assert sql.rows(table) == [(1, 2, None)]


@each_kind
def test_merge_casts_source_values_to_the_tables_types(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id bigint, ts bigint, v string")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    sql.run(
        merge(
            table,
            "(SELECT 1 key, 6 at, 7 n) s",
            "WHEN MATCHED THEN UPDATE SET ts = s.at, v = s.n",
            on="t.id = s.key",
        )
    )
    assert sql.rows(table) == [(1, 6, "7")]


@each_kind
def test_merge_over_a_composite_key_finds_rows_by_all_its_columns(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "a int, b string, ts bigint, v string", key="a,b")
    sql.run(f"INSERT INTO {table} VALUES (1, 'x', 5, 'one'), (1, 'y', 5, 'two')")
    rows = "(SELECT * FROM VALUES (1, 'y', 6L, 'new'), (2, 'x', 1L, 'more') AS rows(a, b, ts, v)) s"
    sql.run(merge(table, rows, UPDATE_ALL, INSERT_ALL, on="t.a = s.a AND t.b = s.b"))
    assert sql.rows(table, "_hoodie_record_key, ts, v") == [
        ("a:1,b:x", 5, "one"),
        ("a:1,b:y", 6, "new"),
        ("a:2,b:x", 1, "more"),
    ]


@each_kind
def test_merge_that_only_inserts_leaves_stored_rows_alone(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    sql.run(merge(table, source("(1, 9L, 'no')", "(2, 1L, 'b')", "(2, 3L, 'c')"), INSERT_ALL))
    assert sql.rows(table) == [(1, 5, "a"), (2, 3, "c")]


@each_kind
def test_merge_changes_rows_found_by_another_column_than_the_key(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'a'), (3, 5, 'b')")
    sql.run(merge(table, "(SELECT 'a' old, 'z' new) s", "WHEN MATCHED THEN UPDATE SET v = s.new", on="t.v = s.old"))
    assert sql.rows(table) == [(1, 5, "z"), (2, 5, "z"), (3, 5, "b")]
    ambiguous = "(SELECT 'b' old, 'x' new UNION ALL SELECT 'b', 'y') s"
    assert "MERGE_CARDINALITY_VIOLATION" in sql.fails(
        merge(table, ambiguous, "WHEN MATCHED THEN UPDATE SET v = s.new", on="t.v = s.old")
    )


# --- UPDATE ----------------------------------------------------------------------------------------------------


@each_table
def test_update_changes_the_rows_that_match_its_condition(sql: Sql, kind: str, index: dict[str, str]) -> None:
    table = sql.create(kind, "id int, ts bigint, v string, p string", by="p", **index)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a', 'x'), (2, 5, 'b', 'y'), (3, 5, NULL, 'y')")
    sql.run(f"UPDATE {table} SET v = concat('new ', v), ts = ts + 1 WHERE p = 'y' AND v IS NOT NULL")
    assert sql.rows(table) == [(1, 5, "a", "x"), (2, 6, "new b", "y"), (3, 5, None, "y")]
    sql.run(f"UPDATE {table} SET v = 'all'")
    assert sql.rows(table, "id, v") == [(1, "all"), (2, "all"), (3, "all")]
    sql.run(f"UPDATE {table} SET v = 'none' WHERE id = 99")
    assert sql.rows(table, "id, v") == [(1, "all"), (2, "all"), (3, "all")]


@each_table
def test_update_that_lowers_the_ordering_value_changes_nothing(sql: Sql, kind: str, index: dict[str, str]) -> None:
    table = sql.create(kind, **index)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    sql.run(f"UPDATE {table} SET v = 'b', ts = 4 WHERE id = 1")
    assert sql.rows(table) == [(1, 5, "a")]
    sql.run(f"UPDATE {table} SET v = 'c', ts = NULL WHERE id = 1")
    assert sql.rows(table) == [(1, 5, "a")]


@each_kind
def test_update_of_a_key_or_partition_column_is_refused_and_changes_nothing(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, ts bigint, p string", by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'x')")
    message = sql.fails(f"UPDATE {table} SET id = 2 WHERE id = 1")
    assert "KEY_COLUMN_CHANGED" in message
    assert "'id'" in message
    assert "1 to 2" in message
    assert "KEY_COLUMN_CHANGED" in sql.fails(f"UPDATE {table} SET id = NULL WHERE id = 1")
    assert "KEY_COLUMN_CHANGED" in sql.fails(f"UPDATE {table} SET p = 'y' WHERE id = 1")
    sql.run(f"UPDATE {table} SET id = id, p = p, ts = 6 WHERE id = 1")
    assert sql.rows(table) == [(1, 6, "x")]


@each_kind
def test_update_and_delete_accept_sub_queries(sql: Sql, kind: str) -> None:
    table, other = sql.create(kind), sql.create("cow")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b'), (3, 5, 'c')")
    sql.run(f"INSERT INTO {other} VALUES (1, 1, 'x'), (3, 1, 'x')")
    sql.run(f"UPDATE {table} SET v = 'in' WHERE id IN (SELECT id FROM {other})")
    assert sql.rows(table, "id, v") == [(1, "in"), (2, "b"), (3, "in")]
    sql.run(f"DELETE FROM {table} WHERE id = (SELECT max(id) FROM {other})")
    assert sql.rows(table, "id, v") == [(1, "in"), (2, "b")]


@each_kind
def test_update_changes_both_rows_of_a_duplicate_key(sql: Sql, kind: str) -> None:
    table = sql.create(kind, **{"hoodie.parquet.small.file.limit": "0"})
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'b')")
    sql.run(f"UPDATE {table} SET v = 'c' WHERE id = 1")
    assert sql.rows(table) == [(1, 5, "c"), (1, 5, "c")]
    sql.run(f"DELETE FROM {table} WHERE id = 1")
    assert sql.rows(table) == []


@each_kind
def test_update_of_nested_and_many_typed_rows_keeps_the_other_columns(sql: Sql, kind: str) -> None:
    columns = (
        "id int, ts timestamp, b boolean, y tinyint, s smallint, f float, d double, n decimal(20,3), "
        "t string, x binary, day date, st struct<a: int, b: array<string>>, m map<string, int>"
    )
    table = sql.create(kind, columns)
    values = (
        "1, TIMESTAMP'2024-01-01 00:00:00', true, 1Y, 2S, 1.5F, 2.5D, 12345678901234567.125, 'text', X'0A', "
        "DATE'2024-01-01', named_struct('a', 1, 'b', array('x', null)), map('k', null)"
    )
    sql.run(f"INSERT INTO {table} VALUES ({values})")
    before = sql.rows(table)
    sql.run(f"UPDATE {table} SET b = false WHERE st.a = 1")
    after = sql.rows(table)
    assert [(*row[:2], None, *row[3:]) for row in before] == [(*row[:2], None, *row[3:]) for row in after]
    assert after[0][2] is False


# --- DELETE ----------------------------------------------------------------------------------------------------


@each_table
def test_delete_removes_rows_unconditionally_and_a_deleted_key_can_be_inserted_again(
    sql: Sql, kind: str, index: dict[str, str]
) -> None:
    table = sql.create(kind, "id int, ts bigint, v string, p string", by="p", **index)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a', 'x'), (2, 5, 'b', 'y'), (3, 5, 'c', 'y')")
    sql.run(f"DELETE FROM {table} WHERE id = 1 OR v = 'c'")
    assert sql.rows(table) == [(2, 5, "b", "y")]
    sql.run(f"DELETE FROM {table} WHERE id = 1")
    assert sql.rows(table) == [(2, 5, "b", "y")]
    back = "(SELECT 1 id, 1L ts, 'back' v, 'x' p) s"
    sql.run(merge(table, back, UPDATE_ALL, INSERT_ALL))
    assert sql.rows(table) == [(1, 1, "back", "x"), (2, 5, "b", "y")]
    sql.run(f"DELETE FROM {table} WHERE p = 'y'")
    sql.run(f"DELETE FROM {table}")
    assert sql.rows(table) == []


@each_kind
def test_delete_removes_rows_of_a_table_without_ordering_fields(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id string, v string", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES ('a', 'x'), ('b', 'y')")
    sql.run(f"DELETE FROM {table} WHERE v = 'x'")
    assert sql.rows(table) == [("b", "y")]


@each_kind
def test_update_and_delete_find_rows_by_meta_columns(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b')")
    sql.run(f"DELETE FROM {table} WHERE _hoodie_record_key = '2'")
    sql.run(f"UPDATE {table} SET v = _hoodie_record_key")
    assert sql.rows(table) == [(1, 5, "1")]


@pytest.mark.parametrize("index", [{}, BUCKET], ids=["simple", "bucket"])
def test_statements_write_logs_on_merge_on_read_and_compaction_keeps_the_rows(sql: Sql, index: dict[str, str]) -> None:
    table = sql.create("mor", **index)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b'), (3, 5, 'c'), (4, 5, 'd')")
    sql.run(f"UPDATE {table} SET v = 'up', ts = 6 WHERE id = 1")
    sql.run(f"DELETE FROM {table} WHERE id = 2")
    sql.run(merge(table, source("(3, 4L, 'late')", "(4, 7L, 'new')"), UPDATE_ALL))
    assert list(sql.folder(table).glob(".*.log.*"))
    expected = [(1, 6, "up"), (3, 5, "c"), (4, 7, "new")]
    assert sql.rows(table) == expected
    optimized = sql.spark.read.format("merganser").option("hoodie.datasource.query.type", "read_optimized")
    assert optimized.load(str(sql.folder(table))).count() == 4
    sql.run(f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}')")
    assert sql.rows(table) == expected
    assert optimized.load(str(sql.folder(table))).count() == 3


def test_a_tables_history_has_the_counts_of_its_statements(sql: Sql) -> None:
    table = sql.create("cow")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b'), (3, 5, 'c')")
    sql.run(merge(table, source("(1, 6L, 'up')", "(2, 4L, 'late')", "(4, 1L, 'new')"), UPDATE_ALL, INSERT_ALL))
    sql.run(f"DELETE FROM {table} WHERE id = 3")
    history = sorted(merganser.Table.load(sql.spark, str(sql.folder(table))).history(), key=lambda entry: entry.instant)
    assert [(entry.inserted, entry.updated, entry.late, entry.deleted) for entry in history] == [
        (3, 0, 0, 0),
        (1, 1, 1, 0),
        (0, 0, 0, 1),
    ]
