"""What MERGE assigns and inserts, how it casts, and what it refuses with which words."""

from __future__ import annotations

import pytest
from row_level import INSERT_ALL, UPDATE_ALL, fails_unchanged, merge, plain, settings, values, view
from sql_steps import Sql, each_kind

import merganser

pytestmark = pytest.mark.e2e

MATCHED = "WHEN MATCHED THEN UPDATE SET"
ALONE = "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET"
ONE = values("id", "(1)")


# --- stars and names -------------------------------------------------------------------------------------------


@each_kind
def test_merge_stars_align_columns_by_name_in_any_order_and_case(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int, dep string", "(1, 100, 'hr')", "(2, 200, 'eng')", "(5, 500, 'old')")
    rows = values("DEP, extra, Id, N", "('new', 'x', 1, 101)", "('new', 'y', 3, 301)")
    sql.run(merge(table, rows, UPDATE_ALL, INSERT_ALL))
    assert sql.rows(table) == [(1, 101, "new"), (2, 200, "eng"), (3, 301, "new"), (5, 500, "old")]
    sql.run(
        merge(
            table,
            values("id, extra, n, dep", "(1, 'x', 11, 'a')", "(2, 'y', 21, 'b')", "(4, 'z', 41, 'd')"),
            "WHEN MATCHED THEN UPDATE SET n = s.n + 1, dep = concat(t.dep, s.extra)",
            "WHEN NOT MATCHED THEN INSERT (n, dep, id) VALUES (n, extra, id)",
            "WHEN NOT MATCHED BY SOURCE AND n > 400 THEN DELETE",
        )
    )
    assert sql.rows(table) == [(1, 12, "newx"), (2, 22, "engy"), (3, 301, "new"), (4, 41, "z")]


@each_kind
def test_merge_stars_need_every_column_of_the_table_in_the_source(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int, dep string", "(1, 100, 'hr')")
    lacking = values("id, n", "(1, 101)", "(2, 201)")
    fails_unchanged(sql, table, merge(table, lacking, UPDATE_ALL), "`dep`")
    fails_unchanged(sql, table, merge(table, lacking, INSERT_ALL), "`dep`")
    sql.run(merge(table, lacking, f"{MATCHED} n = s.n", "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"))
    assert sql.rows(table) == [(1, 101, "hr"), (2, 201, None)]


@each_kind
def test_merge_stars_keep_columns_added_later_that_the_source_lacks(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int, dep string", "(1, 100, 'hr')")
    sql.run(f"ALTER TABLE {table} ADD COLUMNS (x int, y string)")
    sql.run(f"UPDATE {table} SET x = 7, y = 'kept'")
    source = values("dep, ID, n", "('a', 1, 101)", "('b', 2, 201)")
    sql.run(merge(table, source, "WHEN MATCHED AND s.n = 101 THEN UPDATE SET *", INSERT_ALL))
    assert sql.rows(table) == [(1, 101, "a", 7, "kept"), (2, 201, "b", None, None)]
    some = values("id, n, dep, y", "(1, 102, 'c', 'new')", "(3, 301, 'd', 'first')")
    sql.run(merge(table, some, UPDATE_ALL, INSERT_ALL, on="t.n = s.n - 1 OR t.n = s.n"))
    assert sql.rows(table) == [(1, 102, "c", 7, "new"), (2, 201, "b", None, None), (3, 301, "d", None, "first")]
    lacking = values("id, n, x, y", "(1, 0, 0, 'z')")
    fails_unchanged(sql, table, merge(table, lacking, UPDATE_ALL), "`dep`")
    fails_unchanged(sql, table, merge(table, lacking, INSERT_ALL), "`dep`")
    with sql.settings({"spark.merganser.write.missingColumns": "reject"}):
        fails_unchanged(sql, table, merge(table, source, UPDATE_ALL), "`x`")


@each_kind
def test_merge_swaps_columns_and_reads_both_rows_on_the_right_hand_side(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, a int, b int", "(1, 10, 20)", "(2, 30, 40)")
    rows = values("id, a, b", "(1, 1, 2)", "(3, 5, 6)")
    fresh = "WHEN NOT MATCHED THEN INSERT (id, a, b) VALUES (s.id, s.b, s.a)"
    sql.run(merge(table, rows, f"{MATCHED} a = t.b + s.a, b = t.a - s.b", f"{fresh}", f"{ALONE} t.a = b, b = a"))
    assert sql.rows(table) == [(1, 21, 8), (2, 40, 30), (3, 6, 5)]
    both = "t.a > s.a AND s.b < 3"
    sql.run(merge(table, rows, f"WHEN MATCHED AND {both} THEN UPDATE SET b = s.a - t.a"))
    assert sql.rows(table) == [(1, 21, -20), (2, 40, 30), (3, 6, 5)]


# --- nested values ---------------------------------------------------------------------------------------------

NESTED = "id int, s struct<c1: int, c2: struct<a: array<int>, m: map<string, string>>>, v string"


def nested(key: int) -> str:
    return f"({key}, named_struct('c1', 2, 'c2', named_struct('a', array(1, 2), 'm', map('a', 'b'))), 'v')"


@each_kind
def test_merge_assigns_fields_of_structs_in_matched_and_in_unmatched_rows(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, NESTED, nested(1), nested(2))
    source = "(SELECT 1 AS id, named_struct('x', array(-1)) AS r) r"

    def both(matched: str, alone: str) -> list[tuple[object, ...]]:
        sql.run(merge(table, source, f"{MATCHED} {matched}", f"{ALONE} {alone}", on="t.id = r.id"))
        return [value for _, value in sql.rows(table, "id, s")]

    fields = "s.c1 = -1, s.c2.m = map('k', 'v'), s.c2.a ="
    changed = (-1, ([-1], {"k": "v"}))
    assert both(f"{fields} r.r.x", f"{fields} array(-1)") == [changed, changed]
    assert both("s.c1 = NULL, s.c2 = NULL", "s.c1 = NULL, t.s.c2 = NULL") == [(None, None)] * 2
    whole = "s = named_struct('c2', named_struct('m', NULL, 'a', array(1)), 'c1', 1L)"
    assert both(whole, whole) == [(1, ([1], None))] * 2
    assert both("s = NULL", "v = 'w'") == [None, (1, ([1], None))]
    assert both("s.c2.a = array(t.s.c1, 5)", "s.c1 = s.c1 + 1") == [(None, ([None, 5], None)), (2, ([1], None))]


@each_kind
def test_merge_aligns_nested_fields_by_name_in_inserts_and_stars(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, NESTED, nested(1))
    inserting = "INSERT (id, s) VALUES (2, named_struct('c2', named_struct('m', NULL, 'a', NULL), 'c1', 3))"
    sql.run(merge(table, values("id", "(2)"), f"WHEN NOT MATCHED THEN {inserting}"))
    turned = "named_struct('c2', named_struct('m', map('x', 'y'), 'a', array(7)), 'c1', id)"
    sql.run(
        merge(table, f"(SELECT id * 2 - 1 AS id, {turned} AS s, 'new' AS v FROM {table}) s", UPDATE_ALL, INSERT_ALL)
    )
    row = ([7], {"x": "y"})
    assert sql.rows(table) == [(1, (1, row), "new"), (2, (3, (None, None)), None), (3, (2, row), "new")]
    lacking = "(SELECT 1 AS id, named_struct('c1', 1) AS s, 'v' AS v) s"
    fails_unchanged(sql, table, merge(table, lacking, UPDATE_ALL), "`s`.`c2`")


# --- char and varchar, null, casts -----------------------------------------------------------------------------


@each_kind
def test_merge_pads_chars_and_refuses_strings_longer_than_the_column(sql: Sql, kind: str) -> None:
    columns = "id int, c char(3), s struct<c: char(3), v: varchar(5)>"
    table = plain(sql, kind, columns, "(1, 'a', named_struct('c', 'a', 'v', 'a'))", "(2, 'b', NULL)")
    fresh = "WHEN NOT MATCHED THEN INSERT (id, c, s) VALUES (s.id, 'n', named_struct('v', 4, 'c', 'n'))"
    source = values("id", "(1)", "(3)")
    sql.run(merge(table, source, f"{MATCHED} c = 'x', t.s.c = 'x1', t.s.v = 'x2'", fresh, f"{ALONE} c = 'y1'"))
    assert sql.rows(table) == [(1, "x  ", ("x1 ", "x2")), (2, "y1 ", None), (3, "n  ", ("n  ", "4"))]
    for clause in [
        f"{MATCHED} c = 'long'",
        f"{MATCHED} t.s.v = 'longer'",
        f"{ALONE} t.s.c = 'long'",
        fresh.replace("'n',", "'long',").replace("THEN", "AND s.id = 1 THEN"),
    ]:
        on = "t.id = s.id" if "NOT MATCHED THEN" not in clause and "AND" not in clause else "false"
        fails_unchanged(sql, table, merge(table, source, clause, on=on), "LIMIT_LENGTH")


@each_kind
def test_merge_accepts_a_source_with_varchar_and_upper_case_names(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int, dep string")
    source = plain(sql, "cow", "ID int, N int, DEP varchar(10)", "(1, 100, 'a')", "(2, 200, 'b')", key="ID")
    sql.run(merge(table, f"{source} s", "WHEN NOT MATCHED AND s.id >= 2 THEN INSERT *"))
    sql.run(merge(table, f"{source} s", UPDATE_ALL, "WHEN NOT MATCHED AND s.dep = 'a' THEN INSERT *"))
    assert sql.rows(table) == [(1, 100, "a"), (2, 200, "b")]


@each_kind
def test_merge_refuses_null_where_a_column_or_a_field_must_not_be_null(sql: Sql, kind: str) -> None:
    columns = "id int, n int NOT NULL, s struct<a: int NOT NULL, b: bigint>"
    table = plain(sql, kind, columns, "(1, 1, named_struct('a', 1, 'b', 11L))", "(2, 2, NULL)")
    bad = "named_struct('a', NULL, 'b', -1L)"
    for clause, column in [
        (f"{MATCHED} n = NULL", "n"),
        (f"{MATCHED} t.s = {bad}", "a"),
        (f"{MATCHED} t.s.a = nullif(s.id, 1)", "a"),
        (f"{ALONE} n = CAST(NULL AS int)", "n"),
        (f"{ALONE} t.s = {bad}", "a"),
        ("WHEN NOT MATCHED BY SOURCE AND t.id = 2 THEN UPDATE SET n = nullif(n, 2)", "n"),
    ]:
        fails_unchanged(sql, table, merge(table, ONE, clause), "null", column)
    for inserted in [f"(id, n, s) VALUES (3, 3, {bad})", "(id, n) VALUES (3, NULL)"]:
        fails_unchanged(
            sql, table, merge(table, values("id", "(3)"), f"WHEN NOT MATCHED THEN INSERT {inserted}"), "null"
        )
    fails_unchanged(
        sql, table, merge(table, values("id", "(3)"), "WHEN NOT MATCHED THEN INSERT (id) VALUES (3)"), "'n'"
    )
    fails_unchanged(sql, table, merge(table, values("id", "(3)"), "WHEN NOT MATCHED THEN INSERT (n) VALUES (3)"), "id")
    assert sql.rows(table) == [(1, 1, (1, 11)), (2, 2, None)]


@each_kind
def test_merge_casts_assigned_and_inserted_values_by_ansi_store_assignment(sql: Sql, kind: str) -> None:
    columns = "id int, i int, l bigint, t string, d date, x decimal(5,2)"
    table = plain(sql, kind, columns, "(1, 1, 1, '', NULL, 0)", "(2, 2, 2, '', NULL, 0)")
    assigned = "i = 3L, l = 4Y, t = 4.50, d = TIMESTAMP'2024-02-29 10:11:12', x = 1.005D"
    inserted = "(id, i, l, t, d, x) VALUES (s.id, 3L, 4Y, 4.50, TIMESTAMP'2024-02-29 10:11:12', 1.005D)"
    source = values("id", "(1)", "(3)")
    sql.run(
        merge(table, source, f"{MATCHED} {assigned}", f"WHEN NOT MATCHED THEN INSERT {inserted}", f"{ALONE} {assigned}")
    )
    found = sql.rows(table, "i, l, t, cast(d AS string), cast(x AS string)")
    assert found == [(3, 4, "4.50", "2024-02-29", "1.01")] * 3
    for value in ["'5'", "true", "array(1)", "DATE'2024-01-01'"]:
        words = ["cannot safely cast", "`i`"]
        fails_unchanged(sql, table, merge(table, ONE, f"{MATCHED} i = {value}"), *words)
        fails_unchanged(sql, table, merge(table, ONE, f"{ALONE} i = {value}"), *words)
        fresh = f"WHEN NOT MATCHED THEN INSERT (id, i) VALUES (s.id, {value})"
        fails_unchanged(sql, table, merge(table, ONE, fresh), *words)
    text = "(SELECT 1 AS id, '5' AS i, 1L AS l, 't' AS t, NULL AS d, NULL AS x) s"
    fails_unchanged(sql, table, merge(table, text, UPDATE_ALL), "cannot safely cast", "`i`")
    fails_unchanged(sql, table, merge(table, ONE, f"{MATCHED} i = 3000000000L"), "overflow")
    fails_unchanged(sql, table, merge(table, ONE, f"{ALONE} x = 1000.00"), "overflow")
    sql.run(merge(table, "(SELECT 3 AS id, 3.5D AS i, 1 AS l, 7 AS t, NULL AS d, 2 AS x) s", UPDATE_ALL))
    assert sql.rows(table, "id, i, l, t, cast(d AS string), cast(x AS string)")[2] == (3, 3, 1, "7", None, "2.00")


def test_merge_under_the_strict_policy_refuses_narrowing_and_under_the_legacy_policy_everything(sql: Sql) -> None:
    table = plain(sql, "cow", "id int, i int, l bigint, s struct<a: int NOT NULL>", "(1, 1, 1, named_struct('a', 1))")
    with settings(sql, storeAssignmentPolicy="STRICT"):
        for start in [MATCHED, ALONE]:
            fails_unchanged(sql, table, merge(table, ONE, f"{start} i = 1L"), "cannot safely cast", "`i`")
            fails_unchanged(sql, table, merge(table, ONE, f"{start} i = '1'"), "cannot safely cast", "`i`")
            wrong = "t.s = named_struct('a', 'x')"
            fails_unchanged(sql, table, merge(table, ONE, f"{start} {wrong}"), "cannot safely cast")
        fails_unchanged(sql, table, merge(table, ONE, f"{MATCHED} t.s.a = CAST(NULL AS int)"), "null")
        sql.run(merge(table, ONE, f"{MATCHED} l = 7, i = s.id + 7"))
    with settings(sql, storeAssignmentPolicy="LEGACY"):
        fails_unchanged(sql, table, merge(table, ONE, f"{MATCHED} i = 1L"), "LEGACY")
    assert sql.rows(table) == [(1, 8, 7, (1,))]


@each_kind
def test_merge_sets_null_for_default_in_a_column_without_one(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int, dep string", "(1, 1, 'hr')", "(2, 2, 'eng')")
    fresh = "WHEN NOT MATCHED THEN INSERT (id, n, dep) VALUES (s.id, DEFAULT, 'new')"
    sql.run(merge(table, values("id", "(1)", "(3)"), f"{MATCHED} n = DEFAULT", fresh, f"{ALONE} dep = DEFAULT"))
    assert sql.rows(table) == [(1, None, "hr"), (2, 2, None), (3, None, "new")]


# --- what is refused -------------------------------------------------------------------------------------------


def test_merge_refuses_contradicting_assignments(sql: Sql) -> None:
    table = plain(sql, "cow", "id int, n int, s struct<a: int, d: struct<e: int, f: int>>", "(1, 1, NULL)")
    whole = "t.s.d = named_struct('e', 1, 'f', 1)"
    for start in [MATCHED, ALONE]:
        for assigned, words in [
            ("t.n = 1, t.n = 2", ["multiple assignments", "'n'"]),
            ("t.s.a = 1, t.s.d = NULL, t.s.a = -1", ["multiple assignments", "'s.a'"]),
            (f"t.s.d.e = 1, {whole}", ["conflicting assignments", "'s.d'"]),
            ("t.s.d = named_struct('e', 1)", ["`s`.`d`.`f`"]),
        ]:
            fails_unchanged(sql, table, merge(table, ONE, f"{start} {assigned}"), *words)
    for inserted, words in [
        ("(id, n, n) VALUES (1, 2, 3)", ["n"]),
        ("(id, s.a) VALUES (1, 2)", ["insert", "nested"]),
        ("(id, n) VALUES (1)", []),
    ]:
        fails_unchanged(sql, table, merge(table, ONE, f"WHEN NOT MATCHED THEN INSERT {inserted}"), *words)


def test_merge_refuses_unknown_and_ambiguous_columns(sql: Sql) -> None:
    table = plain(sql, "cow", "id int, n int, l array<struct<a: int>>", "(1, 1, NULL)")
    source = values("id, n", "(1, 2)")
    for clause, word in [
        (f"{MATCHED} n = s.nowhere", "`nowhere`"),
        (f"{MATCHED} nowhere = 1", "`nowhere`"),
        (f"{MATCHED} n = n", "`n`"),
        ("WHEN MATCHED AND n = 1 THEN DELETE", "`n`"),
        ("WHEN MATCHED AND s.nowhere = 1 THEN DELETE", "`nowhere`"),
        ("WHEN NOT MATCHED AND t.n = 1 THEN INSERT (id, n) VALUES (1, 2)", "`n`"),
        ("WHEN NOT MATCHED THEN INSERT (id, nowhere) VALUES (1, 2)", "`nowhere`"),
        ("WHEN NOT MATCHED THEN INSERT (id, n) VALUES (1, t.n)", "`n`"),
        ("WHEN NOT MATCHED BY SOURCE AND s.n = 1 THEN DELETE", "`n`"),
        (f"{ALONE} n = s.n", "`n`"),
        (f"{MATCHED} l.a = 1", "array"),
    ]:
        fails_unchanged(sql, table, merge(table, source, clause), word)
    fails_unchanged(sql, table, merge(table, source, "WHEN MATCHED THEN DELETE", on="id = 1"), "`id`")
    fails_unchanged(sql, table, merge(table, source, "WHEN MATCHED THEN DELETE", on="t.nowhere = 1"), "`nowhere`")
    fails_unchanged(sql, table, merge(table, "nowhere s", "WHEN MATCHED THEN DELETE"), "`nowhere`")


def test_merge_refuses_an_unreachable_clause_and_a_statement_without_clauses(sql: Sql) -> None:
    table = plain(sql, "cow", "id int, n int", "(1, 1)")
    for clauses, word in [
        (["WHEN MATCHED THEN DELETE", "WHEN MATCHED AND s.id = 1 THEN DELETE"], "MATCHED"),
        ([INSERT_ALL, INSERT_ALL], "NOT MATCHED"),
        (["WHEN NOT MATCHED BY SOURCE THEN DELETE", f"{ALONE} n = 1"], "NOT MATCHED BY SOURCE"),
        ([], "WHEN"),
    ]:
        fails_unchanged(sql, table, merge(table, values("id, n", "(1, 1)"), *clauses), word)


def test_merge_refuses_random_aggregate_and_sub_query_conditions_per_clause(sql: Sql) -> None:
    table = plain(sql, "cow", "id int, n int", "(1, 1)")
    rows = values("id, n", "(1, 1)")
    for template, reason in [
        ("{}.id < rand()", "deterministic"),
        ("max({}.id) < 10", "aggregate"),
        (f"{{}}.id IN (SELECT id FROM {table})", "sub-query"),
    ]:
        of_source, of_table = template.format("s"), template.format("t")
        for clause, action in [
            (f"WHEN MATCHED AND {of_source}", "UPDATE SET *"),
            (f"WHEN MATCHED AND {of_source}", "DELETE"),
            (f"WHEN NOT MATCHED AND {of_source}", "INSERT *"),
            (f"WHEN NOT MATCHED BY SOURCE AND {of_table}", "UPDATE SET t.n = -1"),
            (f"WHEN NOT MATCHED BY SOURCE AND {of_table}", "DELETE"),
        ]:
            named = [clause.split(" AND")[0], action.split()[0], reason, "CLAUSE_CONDITION_UNSUPPORTED"]
            fails_unchanged(sql, table, merge(table, rows, f"{clause} THEN {action}"), *named)
        for condition in [of_source, of_table]:
            on = f"t.id = s.id AND {condition}"
            named = ["'ON'", reason, "CLAUSE_CONDITION_UNSUPPORTED"]
            fails_unchanged(sql, table, merge(table, rows, UPDATE_ALL, on=on), *named)
            fails_unchanged(sql, table, merge(table, rows, INSERT_ALL, on=on), *named)


@each_kind
def test_merge_refuses_to_change_a_key_or_partition_column_in_every_clause(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int, p string", "(1, 1, 'a')", "(2, 2, 'b')", by="p")
    rows = values("id, ref, p", "(9, 1, 'a')")
    for clause, column in [
        (f"{MATCHED} t.id = -1", "'id'"),
        (f"{MATCHED} id = s.id", "'id'"),
        (f"{MATCHED} p = 'z'", "'p'"),
        (f"{ALONE} t.id = -1", "'id'"),
        (f"{ALONE} p = concat(t.p, '!')", "'p'"),
    ]:
        fails_unchanged(sql, table, merge(table, rows, clause, on="t.id = s.ref"), "KEY_COLUMN_CHANGED", column)
    sql.run(
        merge(table, rows, f"{MATCHED} n = 10, t.id = s.ref, p = s.p", f"{ALONE} n = 20, p = t.p", on="t.id = s.ref")
    )
    assert sql.rows(table) == [(1, 10, "a"), (2, 20, "b")]


# --- around the statement --------------------------------------------------------------------------------------


@each_kind
def test_merge_counts_the_rows_of_each_kind_of_clause(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int", *(f"({n}, {n})" for n in range(1, 9)))

    def last() -> tuple[int, int, int]:
        history = merganser.Table.load(sql.spark, str(sql.folder(table))).history()
        entry = max(history, key=lambda each: each.instant)
        return entry.inserted, entry.updated, entry.deleted

    rows = values("id", "(1)", "(2)", "(3)", "(11)", "(12)")
    updating = "WHEN MATCHED AND t.id = 1 THEN UPDATE SET n = 1000"
    fresh = "WHEN NOT MATCHED AND s.id > 11 THEN INSERT (id, n) VALUES (s.id, 0)"
    sql.run(merge(table, rows, updating))
    assert last() == (0, 1, 0)
    sql.run(merge(table, rows, "WHEN MATCHED AND t.id = 9 THEN UPDATE SET n = 9", fresh))
    assert last() == (1, 0, 0)
    sql.run(merge(table, rows, updating, "WHEN NOT MATCHED BY SOURCE AND t.id > 6 THEN UPDATE SET n = -n"))
    assert last() == (0, 3, 0)
    alone = "WHEN NOT MATCHED BY SOURCE AND t.id IN (7, 8) THEN DELETE"
    sql.run(merge(table, rows, "WHEN MATCHED AND t.id = 3 THEN DELETE", updating, fresh.replace("> 11", "= 11"), alone))
    assert last() == (1, 1, 3)
    assert sql.rows(table, "id") == [(1,), (11,), (12,), (2,), (4,), (5,), (6,)]


def test_a_statement_that_fails_while_it_runs_leaves_the_table_as_it_was(sql: Sql) -> None:
    table = plain(sql, "mor", "id int, n int NOT NULL", "(1, 1)", "(2, 2)")
    breaking = "assert_true(n < 2, 'as asked') IS NULL"
    fails_unchanged(sql, table, f"UPDATE {table} SET n = nullif(n, 2)", "null")
    fails_unchanged(sql, table, f"UPDATE {table} SET n = 0 WHERE {breaking}", "as asked")
    fails_unchanged(sql, table, f"DELETE FROM {table} WHERE {breaking}", "as asked")
    fails_unchanged(sql, table, merge(table, ONE, f"{ALONE} n = nullif(n, 2)"), "null")
    assert sql.rows(table) == [(1, 1), (2, 2)]
    sql.run(f"UPDATE {table} SET n = n + 1")
    assert sql.rows(table) == [(1, 2), (2, 3)]


@pytest.mark.since("4.1", reason="the TIME type came with Spark 4.1")
def test_a_column_of_type_time_is_refused_by_name(sql: Sql) -> None:
    made = f"CREATE TABLE {sql.name()} (id int, at time) USING merganser TBLPROPERTIES (primaryKey = 'id')"
    with settings(sql, timeType__enabled="true"):
        message = sql.fails(made)
    assert "'at'" in message
    assert "time" in message.lower()


@each_kind
def test_statements_assign_compare_and_insert_dates_and_timestamps(sql: Sql, kind: str) -> None:
    columns = "id int, d date, at timestamp, local timestamp_ntz"
    row = "(1, DATE'2024-01-31', TIMESTAMP'2024-01-31 01:02:03.000004', TIMESTAMP_NTZ'2024-01-31 01:02:03.000004')"
    table = plain(sql, kind, columns, row)
    sql.run(
        f"UPDATE {table} SET d = add_months(d, 1), at = at + INTERVAL 1 DAY, local = local - INTERVAL 1 MICROSECOND"
    )
    text = "id, cast(d AS string), cast(at AS string), cast(local AS string)"
    changed = (1, "2024-02-29", "2024-02-01 01:02:03.000004", "2024-01-31 01:02:03.000003")
    assert sql.rows(table, text) == [changed]
    early = "(SELECT 2 AS id, DATE'0001-01-01' AS d, TIMESTAMP'1960-01-01 00:00:00.000001' AS at, NULL AS local) s"
    sql.run(merge(table, early, INSERT_ALL, on="t.d = s.d AND t.at = s.at"))
    assert sql.rows(table, text) == [changed, (2, "0001-01-01", "1960-01-01 00:00:00.000001", None)]
    sql.run(f"DELETE FROM {table} WHERE at < TIMESTAMP'1970-01-01 00:00:00' AND d = '0001-01-01'")
    sql.run(f"DELETE FROM {table} WHERE local = TIMESTAMP_NTZ'2024-01-31 01:02:03.000004'")
    assert sql.rows(table, text) == [changed]


def test_merge_refreshes_caches_of_its_target_and_rereads_a_cached_source(sql: Sql) -> None:
    table = plain(sql, "cow", "id int, n int", "(1, 100)", "(2, 100)")
    source = plain(sql, "mor", "id int, n int", "(1, 101)")
    with view(sql, f"SELECT * FROM {table} WHERE n = 100") as cached:
        sql.run(f"CACHE TABLE {cached}")
        sql.run(f"CACHE TABLE {source}")
        sql.run(f"INSERT INTO {source} VALUES (3, 100)")
        sql.run(merge(table, f"{source} s", UPDATE_ALL, INSERT_ALL))
        assert sql.rows(cached) == [(2, 100), (3, 100)]
        sql.run(f"UNCACHE TABLE {source}")
    assert sql.rows(table) == [(1, 101), (2, 100), (3, 100)]
