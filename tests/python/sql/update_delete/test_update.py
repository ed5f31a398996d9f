"""UPDATE as SQL defines it: which rows its condition takes, what it assigns, and what it refuses."""

from __future__ import annotations

import pytest
from row_level import CONDITIONS, GROUP, fails_unchanged, groups, plain, settings, sub_queries, view
from sql_steps import Sql, each_kind

pytestmark = pytest.mark.e2e


def assert_updated(sql: Sql, kind: str, conditions: dict[str, tuple[str, list[int]]]) -> None:
    """Runs an UPDATE for each condition, each on a group of its own, and compares the ids that were changed."""
    table = groups(sql, kind, conditions)
    for name, (condition, _) in conditions.items():
        sql.run(f"UPDATE {table} AS t SET mark = 'x' WHERE t.g = '{name}' AND ({condition})")
    changed = sql.rows(table, "g, id, mark")
    assert len(changed) == len(conditions) * len(GROUP)
    found = {name: [key for group, key, mark in changed if group == name and mark == "x"] for name in conditions}
    assert found == {name: ids for name, (_, ids) in conditions.items()}


# --- conditions ------------------------------------------------------------------------------------------------


def test_update_changes_the_rows_for_which_its_condition_is_true_and_not_null(sql: Sql) -> None:
    assert_updated(sql, "mor", CONDITIONS)


def test_update_accepts_in_exists_and_scalar_sub_queries_in_its_condition(sql: Sql) -> None:
    with sub_queries(sql) as conditions:
        assert_updated(sql, "cow", conditions)


@each_kind
def test_update_without_a_condition_changes_every_row(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int, dep string")
    sql.run(f"UPDATE {table} SET n = -1 WHERE n <= 1")
    sql.run(f"UPDATE {table} SET n = -1")
    assert sql.rows(table) == []
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'hr'), (2, NULL, NULL)")
    sql.run(f"UPDATE {table} SET n = -1")
    assert sql.rows(table) == [(1, -1, "hr"), (2, -1, None)]
    sql.run(f"UPDATE {table} SET n = -2 WHERE true")
    sql.run(f"UPDATE {table} SET n = -3 WHERE false")
    assert sql.rows(table) == [(1, -2, "hr"), (2, -2, None)]


@each_kind
def test_update_finds_null_partitions_only_by_null_safe_conditions(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int, p string", "(1, 1, NULL)", "(2, 2, 'a')", "(3, 3, 'b')", by="p")
    sql.run(f"UPDATE {table} SET n = -1 WHERE p = NULL")
    assert sql.rows(table) == [(1, 1, None), (2, 2, "a"), (3, 3, "b")]
    sql.run(f"UPDATE {table} SET n = -1 WHERE p <=> NULL OR p IN ('b')")
    assert sql.rows(table) == [(1, -1, None), (2, 2, "a"), (3, -1, "b")]


@each_kind
def test_update_reads_its_own_table_before_any_row_is_changed(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int", "(1, 10)", "(2, 20)", "(3, 30)")
    sql.run(f"UPDATE {table} SET n = n + (SELECT max(n) FROM {table}) WHERE id IN (SELECT id + 1 FROM {table})")
    assert sql.rows(table) == [(1, 10), (2, 50), (3, 60)]
    sql.run(
        f"WITH big AS (SELECT id FROM {table} WHERE n > 50) UPDATE {table} SET n = 0 WHERE id IN (SELECT id FROM big)"
    )
    assert sql.rows(table) == [(1, 10), (2, 50), (3, 0)]
    with view(sql, f"SELECT id FROM {table} WHERE n = 0") as none:
        sql.run(f"UPDATE {table} SET n = 5 WHERE id IN (SELECT id FROM {none})")
    assert sql.rows(table) == [(1, 10), (2, 50), (3, 5)]


@pytest.mark.since("4.1", reason="WITH RECURSIVE came with Spark 4.1")
@each_kind
def test_update_takes_a_recursive_cte(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int", "(1, 1)", "(2, 9)", "(3, 8)", "(4, 4)")
    numbers = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 5)"
    sql.run(f"{numbers} UPDATE {table} SET n = n + 1 WHERE n IN (SELECT n FROM s)")
    assert sql.rows(table) == [(1, 2), (2, 9), (3, 8), (4, 5)]


# --- what is assigned ------------------------------------------------------------------------------------------


@each_kind
def test_update_assigns_from_the_old_row_in_any_order_of_assignments(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, a int, b int, v string", "(1, 11, 111, 'x')", "(2, 22, 222, 'y')")
    sql.run(f"UPDATE {table} SET `b` = a, a = `b` - 1 WHERE id <=> 1")
    assert sql.rows(table) == [(1, 110, 11, "x"), (2, 22, 222, "y")]
    sql.run(f"UPDATE {table} AS t SET t.v = 'new', T.A = -1 WHERE t.id = 2 OR T.V = 'none'")
    assert sql.rows(table) == [(1, 110, 11, "x"), (2, -1, 222, "new")]
    sql.run(f"UPDATE {table} AS t SET v = (SELECT concat('of ', max(o.b)) FROM {table} o WHERE o.id <= t.id)")
    assert sql.rows(table, "id, v") == [(1, "of 11"), (2, "of 222")]


@each_kind
def test_update_evaluates_a_random_value_once_per_row(sql: Sql, kind: str) -> None:
    wide = ", ".join(f"c{n} int" for n in range(100))
    nulls = ", ".join(["NULL"] * 100)
    table = plain(sql, kind, f"id int, x double, y double, {wide}", *(f"({n}, 2.0, 2.0, {nulls})" for n in range(1, 4)))
    sql.run(f"UPDATE {table} SET x = rand(), y = rand() WHERE id <= 2")
    rows = sql.rows(table, "id, x < 1, y < 1, x")
    assert [row[:3] for row in rows] == [(1, True, True), (2, True, True), (3, False, False)]
    assert sql.rows(table, "id, x < 1, y < 1, x") == rows


@each_kind
def test_update_assigns_fields_of_structs_and_whole_structs_arrays_and_maps(sql: Sql, kind: str) -> None:
    columns = "id int, s struct<c1: int, c2: struct<a: array<int>, m: map<string, string>>>, v string"
    row = "(1, named_struct('c1', 2, 'c2', named_struct('a', array(1, 2), 'm', map('a', 'b'))), 'v')"
    table = plain(sql, kind, columns, row, row.replace("(1,", "(2,", 1))
    sql.run(f"UPDATE {table} SET s.c1 = -1, s.c2.m = map('k', 'v'), s.c2.a = array(-1) WHERE id = 1")
    untouched = (2, (2, ([1, 2], {"a": "b"})), "v")
    assert sql.rows(table) == [(1, (-1, ([-1], {"k": "v"})), "v"), untouched]
    sql.run(f"UPDATE {table} SET s.c1 = NULL, s.c2 = NULL WHERE id = 1")
    assert sql.rows(table) == [(1, (None, None), "v"), untouched]
    sql.run(f"UPDATE {table} SET s = named_struct('c1', 1, 'c2', named_struct('a', array(1), 'm', NULL)) WHERE id = 1")
    assert sql.rows(table) == [(1, (1, ([1], None)), "v"), untouched]
    by_name = "named_struct('c2', named_struct('m', map('x', 'y'), 'a', array(s.c1)), 'c1', s.c1 + 1)"
    sql.run(f"UPDATE {table} SET s = {by_name} WHERE s.c2.a[0] = 1 AND id = 1")
    assert sql.rows(table) == [(1, (2, ([1], {"x": "y"})), "v"), untouched]
    sql.run(f"UPDATE {table} SET s = NULL WHERE id = 1")
    assert sql.rows(table) == [(1, None, "v"), untouched]
    sql.run(f"UPDATE {table} SET s.c1 = 7 WHERE id = 1")
    assert sql.rows(table) == [(1, (7, None), "v"), untouched]


@each_kind
def test_update_pads_chars_and_refuses_strings_longer_than_the_column(sql: Sql, kind: str) -> None:
    columns = "id int, c char(3), v varchar(5), s struct<c: char(3), v: varchar(5)>"
    table = plain(sql, kind, columns, "(1, 'a', 'b', named_struct('c', 'c', 'v', 'd'))")
    sql.run(f"UPDATE {table} SET c = 'x', v = 'y ', s.c = 'zz', s.v = 'w' WHERE id = 1")
    assert sql.rows(table) == [(1, "x  ", "y ", ("zz ", "w"))]
    sql.run(f"UPDATE {table} SET v = 'abcde   ', s = named_struct('v', 3, 'c', 4) WHERE c = 'x'")
    assert sql.rows(table) == [(1, "x  ", "abcde", ("4  ", "3"))]
    for assigned in ["c = 'long'", "v = 'longer'", "s.c = 'long'", "s.v = 'longer'"]:
        fails_unchanged(sql, table, f"UPDATE {table} SET {assigned}", "LIMIT_LENGTH")


@each_kind
def test_update_refuses_null_where_a_column_or_a_field_must_not_be_null(sql: Sql, kind: str) -> None:
    columns = "id int, n int NOT NULL, s struct<a: int NOT NULL, b: bigint>, o struct<d: struct<e: int NOT NULL>>"
    row = "(1, 1, named_struct('a', 1, 'b', 1L), named_struct('d', named_struct('e', 1)))"
    table = plain(sql, kind, columns, row)
    for assigned, column in [
        ("n = NULL", "n"),
        ("n = CAST(NULL AS int)", "n"),
        ("n = nullif(n, 1)", "n"),
        ("s.a = NULL", "a"),
        ("s = named_struct('a', NULL, 'b', 2L)", "a"),
        ("o.d.e = NULL", "e"),
        ("o.d = named_struct('e', NULL)", "e"),
    ]:
        fails_unchanged(sql, table, f"UPDATE {table} SET {assigned} WHERE id = 1", column, "null")
    sql.run(f"UPDATE {table} SET s = NULL, o = NULL, n = 2")
    assert sql.rows(table) == [(1, 2, None, None)]


@each_kind
def test_update_casts_assigned_values_by_ansi_store_assignment(sql: Sql, kind: str) -> None:
    columns = "id int, i int, l bigint, t string, d date, at timestamp, x decimal(5,2), s struct<a: int, b: bigint>"
    table = plain(sql, kind, columns, "(1, 1, 1, '', NULL, NULL, 0, named_struct('a', 1, 'b', 1L))")
    day, time = "DATE'2024-02-29'", "TIMESTAMP'2024-02-29 10:11:12.345678'"
    sql.run(f"UPDATE {table} SET i = 2L, l = 3Y, t = 4.50, d = {time}, at = {day}, x = 1.005D, s.a = 5L")
    query = "id, i, l, t, cast(d AS string), cast(at AS string), cast(x AS string), s"
    assert sql.rows(table, query) == [(1, 2, 3, "4.50", "2024-02-29", "2024-02-29 00:00:00", "1.01", (5, 1))]
    for assigned, column in [
        ("i = '5'", "i"),
        ("s.a = 'text'", "a"),
        ("s = named_struct('a', 'text', 'b', 1L)", "a"),
        ("i = true", "i"),
        ("d = 5", "d"),
        ("i = array(1)", "i"),
    ]:
        fails_unchanged(sql, table, f"UPDATE {table} SET {assigned}", "cannot safely cast", f"`{column}`")
    for assigned, word in [
        ("i = 3000000000L", "overflow"),
        ("x = 1000.00", "overflow"),
        ("s.a = -3000000000L", "overflow"),
    ]:
        fails_unchanged(sql, table, f"UPDATE {table} SET {assigned} WHERE id = 1", word)


def test_update_under_the_strict_policy_refuses_narrowing_and_under_the_legacy_policy_everything(sql: Sql) -> None:
    table = plain(sql, "mor", "id int, i int, l bigint, s struct<a: int NOT NULL>", "(1, 1, 1, named_struct('a', 1))")
    with settings(sql, storeAssignmentPolicy="STRICT"):
        fails_unchanged(sql, table, f"UPDATE {table} SET i = 1L", "cannot safely cast", "`i`")
        fails_unchanged(sql, table, f"UPDATE {table} SET i = '1'", "cannot safely cast", "`i`")
        fails_unchanged(sql, table, f"UPDATE {table} SET s = named_struct('a', 'x')", "cannot safely cast")
        fails_unchanged(sql, table, f"UPDATE {table} SET s.a = CAST(NULL AS int)", "null")
        sql.run(f"UPDATE {table} SET l = 7, i = 8")
    with settings(sql, storeAssignmentPolicy="LEGACY"):
        fails_unchanged(sql, table, f"UPDATE {table} SET l = 9", "LEGACY")
    assert sql.rows(table) == [(1, 8, 7, (1,))]


@each_kind
def test_update_sets_null_for_default_in_a_column_without_one(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int, m int NOT NULL", "(1, 1, 1)", "(2, 2, 2)")
    sql.run(f"UPDATE {table} SET n = DEFAULT WHERE id = 1")
    assert sql.rows(table) == [(1, None, 1), (2, 2, 2)]
    fails_unchanged(sql, table, f"UPDATE {table} SET m = DEFAULT WHERE id = 1", "null")


def test_a_column_with_a_default_value_is_refused_by_name(sql: Sql) -> None:
    properties = "TBLPROPERTIES (primaryKey = 'id')"
    for column in [
        "n int DEFAULT 42",
        "at timestamp DEFAULT current_timestamp()",
        "s struct<a: int> DEFAULT struct(1)",
    ]:
        message = sql.fails(f"CREATE TABLE {sql.name()} (id int, {column}) USING merganser {properties}")
        assert f"'{column.split()[0]}'" in message
        assert "default" in message.lower()


# --- what is refused -------------------------------------------------------------------------------------------


def test_update_of_an_unknown_column_is_refused_and_changes_nothing(sql: Sql) -> None:
    table = plain(sql, "cow", "id int, n int, s struct<a: int>, l array<struct<a: int>>", "(1, 1, NULL, NULL)")
    fails_unchanged(sql, table, f"UPDATE {table} SET nowhere = 1", "`nowhere`")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = nowhere + 1", "`nowhere`")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = 1 WHERE nowhere = 1", "`nowhere`")
    fails_unchanged(sql, table, f"UPDATE {table} t SET n = 1 WHERE x.n = 1", "`x`")
    fails_unchanged(sql, table, f"UPDATE {table} SET s.nowhere = 1", "nowhere")
    fails_unchanged(sql, table, f"UPDATE {table} SET l.a = 1", "l", "array")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = 1 WHERE n IN (SELECT nowhere FROM {table})", "`nowhere`")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = 1 WHERE n = (SELECT id, n FROM {table})")
    assert sql.rows(table, "id, n") == [(1, 1)]


def test_update_refuses_contradicting_assignments(sql: Sql) -> None:
    table = plain(sql, "cow", "id int, n int, s struct<a: int, d: struct<e: int, f: int>>", "(1, 1, NULL)")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = 1, id = id, n = -1", "multiple assignments", "'n'")
    fails_unchanged(sql, table, f"UPDATE {table} SET s.a = 1, s.d = NULL, s.a = -1", "multiple assignments", "'s.a'")
    whole = "s.d = named_struct('e', 1, 'f', 1)"
    fails_unchanged(sql, table, f"UPDATE {table} SET s.d.e = 1, {whole}", "conflicting assignments", "'s.d'")
    fails_unchanged(sql, table, f"UPDATE {table} SET s.d = named_struct('e', 1)", "`s`.`d`.`f`")


def test_update_refuses_random_aggregate_window_and_generator_expressions(sql: Sql) -> None:
    table = plain(sql, "cow", "id int, n int", "(1, 1)", "(2, 2)")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = 0 WHERE n <= 1 AND rand() > 0.5", "deterministic")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = 0 WHERE max(n) = 2", "max(n)")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = 0 WHERE row_number() OVER (ORDER BY n) = 1", "window")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = max(n)", "max(n)")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = explode(array(1, 2))")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = 0 WHERE n", "boolean")
    assert sql.rows(table) == [(1, 1), (2, 2)]


def test_update_delete_and_merge_refuse_views_and_tables_of_other_formats(sql: Sql) -> None:
    table = plain(sql, "cow", "id int, n int", "(1, 1)")
    other = sql.name()
    sql.run(f"CREATE TABLE {other} (id int, n int) USING parquet")
    with view(sql, f"SELECT * FROM {table}") as target:
        for refused in [target, other]:
            assert "update" in sql.fails(f"UPDATE {refused} SET n = 2").lower()
            assert "delete" in sql.fails(f"DELETE FROM {refused} WHERE n = 1").lower()
            merging = f"MERGE INTO {refused} t USING {table} s ON t.id = s.id WHEN MATCHED THEN DELETE"
            assert "merge" in sql.fails(merging).lower()
    for statement in [f"UPDATE {other}_ SET n = 2", f"DELETE FROM {other}_"]:
        assert "TABLE_OR_VIEW_NOT_FOUND" in sql.fails(statement)
    assert sql.rows(table) == [(1, 1)]


# --- around the statement --------------------------------------------------------------------------------------


@each_kind
def test_update_refreshes_caches_of_the_table(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int", "(1, 100)", "(2, 100)", "(3, 200)")
    with view(sql, f"SELECT * FROM {table} WHERE n = 100") as cached:
        sql.run(f"CACHE TABLE {cached}")
        assert sql.rows(cached) == [(1, 100), (2, 100)]
        sql.run(f"UPDATE {table} SET n = 100 WHERE id = 3")
        assert sql.rows(cached) == [(1, 100), (2, 100), (3, 100)]
        sql.run(f"DELETE FROM {table} WHERE id = 1")
        assert sql.rows(cached) == [(2, 100), (3, 100)]
        sql.run(f"MERGE INTO {table} t USING (SELECT 2 id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 0")
        assert sql.rows(cached) == [(3, 100)]


def test_explain_of_a_statement_changes_nothing(sql: Sql) -> None:
    table = plain(sql, "cow", "id int, n int", "(1, 1)")
    for statement in [
        f"UPDATE {table} SET n = 2 WHERE id = 1",
        f"DELETE FROM {table} WHERE id <= 10",
        f"DELETE FROM {table}",
        f"MERGE INTO {table} t USING {table} s ON t.id = s.id WHEN MATCHED THEN DELETE",
    ]:
        for how in ["", "EXTENDED", "FORMATTED"]:
            (plan,) = sql.run(f"EXPLAIN {how} {statement}")[0]
            assert table in plan, f"{how} {statement}: {plan}"
    assert sql.rows(table) == [(1, 1)]
    assert len(sql.commits(table)) == 1


@each_kind
def test_update_and_delete_keep_the_meta_columns_of_other_rows(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int", "(1, 1)", "(2, 2)", "(3, 3)", "(4, 4)")
    meta = "_hoodie_record_key, _hoodie_commit_time, n"
    before = sql.rows(table, meta)
    first = before[0][1]
    sql.run(f"UPDATE {table} SET n = 0 WHERE _hoodie_record_key = '2' AND id IN (SELECT id FROM {table})")
    sql.run(f"DELETE FROM {table} WHERE _hoodie_commit_time > '{first}' OR (_hoodie_record_key = '4' AND n = 4)")
    assert sql.rows(table, meta) == [before[0], before[2]]
    sql.run(f"UPDATE {table} SET n = n + 10 WHERE id = 3")
    one, three = sql.rows(table, meta)
    assert one == before[0]
    assert three[0] == "3"
    assert three[1] > first
    assert three[2] == 13
