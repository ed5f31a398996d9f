"""MERGE as SQL defines it: which rows ON matches, and which clause is taken for each."""

from __future__ import annotations

import pytest
from row_level import INSERT_ALL, UPDATE_ALL, fails_unchanged, merge, plain, settings, values, view
from sql_steps import Sql, each_kind

pytestmark = pytest.mark.e2e

COLUMNS = "id int, n int, dep string"
DELETE = "WHEN MATCHED THEN DELETE"


def staff(sql: Sql, kind: str) -> str:
    """A table with rows 1 to 5."""
    rows = ["(1, 100, 'hr')", "(2, 200, 'eng')", "(3, 300, 'hr')", "(4, 400, 'hr')", "(5, 500, 'eng')"]
    return plain(sql, kind, COLUMNS, *rows)


def source(*rows: str) -> str:
    return values("id, n, dep", *rows)


def ids(*keys: int) -> str:
    return values("id", *(f"({key})" for key in keys))


# --- clauses ---------------------------------------------------------------------------------------------------


@each_kind
def test_merge_into_an_empty_table_inserts_the_rows_of_its_insert_clauses(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, COLUMNS)
    rows = source("(1, 100, 'hr')", "(2, 200, 'eng')", "(3, 300, 'hr')")
    sql.run(merge(table, rows, UPDATE_ALL, DELETE.replace("MATCHED", "NOT MATCHED BY SOURCE")))
    assert sql.rows(table) == []
    sql.run(merge(table, rows, "WHEN NOT MATCHED AND s.id >= 3 THEN INSERT *"))
    assert sql.rows(table) == [(3, 300, "hr")]
    first = "WHEN NOT MATCHED AND s.id = 2 THEN INSERT (dep, id, n) VALUES (concat(s.dep, '!'), s.id, -s.n)"
    sql.run(merge(table, rows, first, INSERT_ALL))
    assert sql.rows(table) == [(1, 100, "hr"), (2, -200, "eng!"), (3, 300, "hr")]


@each_kind
def test_merge_applies_conditional_clauses_to_matched_rows(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    rows = source("(1, 101, 'new')", "(2, 202, 'new')", "(3, 303, 'new')", "(9, 909, 'new')")
    sql.run(merge(table, rows, "WHEN MATCHED AND s.id = 2 THEN UPDATE SET *"))
    sql.run(merge(table, rows, "WHEN MATCHED AND t.n = 300 THEN DELETE"))
    sql.run(merge(table, rows, "WHEN MATCHED AND t.n + 2 = s.n THEN DELETE"))
    assert sql.rows(table) == [(1, 100, "hr"), (2, 202, "new"), (4, 400, "hr"), (5, 500, "eng")]
    sql.run(
        merge(
            table,
            rows,
            "WHEN MATCHED AND t.id = 1 THEN UPDATE SET n = t.n + 5",
            "WHEN MATCHED AND t.n = 100 THEN UPDATE SET n = t.n + 2",
            "WHEN MATCHED AND t.n = 202 THEN DELETE",
            "WHEN MATCHED THEN UPDATE SET *",
        )
    )
    assert sql.rows(table) == [(1, 105, "hr"), (4, 400, "hr"), (5, 500, "eng")]


@each_kind
def test_merge_applies_all_kinds_of_clauses_in_one_statement(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    sql.run(
        merge(
            table,
            ids(3, 4, 5, 6, 7),
            "WHEN MATCHED AND t.id = 4 THEN UPDATE SET t.n = t.n + 1",
            "WHEN MATCHED AND t.id = 5 THEN DELETE",
            "WHEN NOT MATCHED AND s.id = 6 THEN INSERT (id, n, dep) VALUES (s.id, 0, 'new')",
            "WHEN NOT MATCHED BY SOURCE AND n = 100 THEN DELETE",
        )
    )
    assert sql.rows(table) == [(2, 200, "eng"), (3, 300, "hr"), (4, 401, "hr"), (6, 0, "new")]
    sql.run(
        merge(
            table,
            source("(3, 301, 'x')", "(7, 701, 'x')", "(8, 801, 'x')"),
            UPDATE_ALL,
            "WHEN NOT MATCHED AND s.id = 8 THEN INSERT *",
            "WHEN NOT MATCHED BY SOURCE AND t.id = t.n / 100 THEN DELETE",
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET t.n = t.n + 1, dep = concat(t.dep, '+')",
        )
    )
    assert sql.rows(table) == [(3, 301, "x"), (4, 402, "hr+"), (6, 1, "new+"), (8, 801, "x")]


@each_kind
def test_merge_applies_not_matched_by_source_clauses(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    sql.run(merge(table, ids(1, 2, 3, 4, 9), "WHEN NOT MATCHED BY SOURCE THEN DELETE"))
    assert sql.rows(table, "id") == [(1,), (2,), (3,), (4,)]
    sql.run(merge(table, ids(1), "WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN DELETE"))
    sql.run(
        merge(
            table,
            ids(1, 8),
            "WHEN MATCHED THEN UPDATE SET n = 1",
            "WHEN NOT MATCHED BY SOURCE AND t.id = 2 THEN UPDATE SET n = n - 1",
            "WHEN NOT MATCHED BY SOURCE AND t.n = 200 THEN DELETE",
            "WHEN NOT MATCHED BY SOURCE AND t.n = 400 THEN UPDATE SET dep = 'alone'",
        )
    )
    assert sql.rows(table) == [(1, 1, "hr"), (2, 199, "eng"), (4, 400, "alone")]
    inserting = "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, 0)"
    sql.run(merge(table, ids(2, 8), inserting, "WHEN NOT MATCHED BY SOURCE AND t.dep = 'alone' THEN DELETE"))
    assert sql.rows(table) == [(1, 1, "hr"), (2, 199, "eng"), (8, 0, None)]
    sql.run(merge(table, f"(SELECT * FROM {ids(1)} WHERE false) s", "WHEN NOT MATCHED BY SOURCE THEN DELETE"))
    assert sql.rows(table) == []


@each_kind
def test_merge_applies_a_clause_with_a_null_condition_to_no_row(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, COLUMNS, "(1, 100, 'hr')", "(2, NULL, 'eng')")
    null = "AND CAST(NULL AS boolean) THEN"
    clauses = [
        f"WHEN MATCHED {null} UPDATE SET n = s.n",
        f"WHEN NOT MATCHED {null} INSERT *",
        f"WHEN NOT MATCHED BY SOURCE {null} DELETE",
    ]
    sql.run(merge(table, source("(1, 101, 'x')", "(3, 301, 'x')"), *clauses))
    assert sql.rows(table) == [(1, 100, "hr"), (2, None, "eng")]
    sql.run(merge(table, ids(1, 2), "WHEN MATCHED AND t.n > 0 THEN DELETE", "WHEN MATCHED THEN UPDATE SET n = 0"))
    assert sql.rows(table) == [(2, 0, "eng")]


# --- ON --------------------------------------------------------------------------------------------------------


@each_kind
def test_merge_on_another_column_matches_no_nulls(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, ref int, n int", "(1, NULL, 100)", "(2, 2, 200)", "(3, 3, 300)", "(4, 2, 400)")
    rows = values("id, ref, n", "(5, NULL, 501)", "(6, 6, 601)", "(7, 2, 701)")
    sql.run(merge(table, rows, "WHEN MATCHED THEN UPDATE SET n = t.n + s.n", INSERT_ALL, on="t.ref = s.ref"))
    found = [(1, None, 100), (2, 2, 901), (3, 3, 300), (4, 2, 1101), (5, None, 501), (6, 6, 601)]
    assert sql.rows(table) == found
    rows = values("ref, n", "(CAST(NULL AS int), -1)", "(3, -3)")
    sql.run(merge(table, rows, "WHEN MATCHED AND t.ref < 3 THEN DELETE", on="t.ref = s.ref AND t.ref < 3"))
    assert sql.rows(table) == found
    updating = "WHEN MATCHED THEN UPDATE SET n = s.n"
    sql.run(merge(table, rows, updating, "WHEN NOT MATCHED BY SOURCE THEN DELETE", on="t.ref <=> s.ref"))
    assert sql.rows(table) == [(1, None, -1), (3, 3, -3), (5, None, -1)]


@each_kind
def test_merge_accepts_false_true_null_and_inequality_as_its_condition(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    before = sql.rows(table)
    one = values("id, n", "(9, 999)")
    null = "t.id = s.id AND CAST(NULL AS boolean)"
    sql.run(merge(table, one, "WHEN MATCHED THEN UPDATE SET n = -1", on="false"))
    sql.run(merge(table, ids(1, 2), "WHEN MATCHED THEN UPDATE SET n = -1", on=null))
    sql.run(merge(table, one, "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (9, s.n)", on=f"{null} OR false"))
    assert sql.rows(table) == [*before, (9, 999, None)]
    sql.run(merge(table, one, "WHEN MATCHED THEN UPDATE SET dep = concat('of ', s.n)", on="true"))
    assert sql.rows(table, "id, dep") == [(key, "of 999") for key in [1, 2, 3, 4, 5, 9]]
    ranges = values("low, high, name", "(100, 250, 'a')", "(250, 450, 'b')", "(2000, 3000, 'c')")
    inserting = "WHEN NOT MATCHED THEN INSERT (id, n, dep) VALUES (10, s.low, s.name)"
    alone = "WHEN NOT MATCHED BY SOURCE THEN DELETE"
    within = "t.n >= s.low AND t.n < s.high"
    sql.run(merge(table, ranges, "WHEN MATCHED THEN UPDATE SET dep = s.name", inserting, alone, on=within))
    assert sql.rows(table) == [(1, 100, "a"), (10, 2000, "c"), (2, 200, "a"), (3, 300, "b"), (4, 400, "b")]


@each_kind
def test_merge_finds_rows_by_equivalent_forms_of_the_key_condition(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    for rows, on in [
        ("(SELECT 1L AS key) s", "t.id = s.key"),
        ("(SELECT '2' AS id) s", "s.ID = T.Id"),
        ("(SELECT 2 AS id) s", "t.id = s.id + 1"),
        ("(SELECT 4 AS id) s", "t.id <=> s.id"),
        ("(SELECT array(5) AS id) s", "array_contains(s.id, t.id)"),
    ]:
        sql.run(merge(table, rows, "WHEN MATCHED THEN UPDATE SET n = t.n + 1", on=on))
    assert sql.rows(table, "id, n") == [(1, 101), (2, 201), (3, 301), (4, 401), (5, 501)]
    sql.run(merge(table, ids(1, 2, 3), "WHEN MATCHED THEN DELETE", on="t.id = s.id AND t.dep = 'hr' AND s.id < 3"))
    assert sql.rows(table, "id") == [(2,), (3,), (4,), (5,)]


@each_kind
def test_merge_that_inserts_a_stored_key_merges_it_by_the_tables_rule(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, COLUMNS, "(1, 100, 'hr')", "(2, 200, 'eng')")
    rows = source("(1, 101, 'new')", "(2, 201, 'new')", "(3, 301, 'new')")
    sql.run(merge(table, rows, "WHEN MATCHED THEN DELETE", INSERT_ALL, on="t.id = s.id AND t.dep = 'hr'"))
    assert sql.rows(table) == [(2, 201, "new"), (3, 301, "new")]
    sql.run(merge(table, source("(3, 302, 'only')"), INSERT_ALL, on="false"))
    assert sql.rows(table) == [(2, 201, "new"), (3, 302, "only")]
    ordered = sql.create(kind, "id int, n int, dep string", ordering="n")
    sql.run(f"INSERT INTO {ordered} VALUES (1, 100, 'hr'), (2, 200, 'eng')")
    late = source("(1, 99, 'late')", "(2, 200, 'tie')", "(3, 1, 'new')")
    sql.run(merge(ordered, late, UPDATE_ALL, INSERT_ALL, on="t.id = s.id AND t.n > 1000"))
    assert sql.rows(ordered) == [(1, 100, "hr"), (2, 200, "tie"), (3, 1, "new")]


# --- several source rows for one stored row ---------------------------------------------------------------------


@each_kind
def test_merge_fails_where_a_stored_row_has_several_source_rows_and_on_is_not_the_key(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    twice = values("dep, n", "('eng', 1)", "('eng', 2)", "('none', 3)")
    for clauses in [
        ["WHEN MATCHED THEN UPDATE SET n = s.n"],
        ["WHEN MATCHED THEN UPDATE SET n = s.n", "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (9, s.n)"],
        ["WHEN MATCHED AND s.n = 1 THEN DELETE"],
        ["WHEN MATCHED AND s.n = 1 THEN DELETE", "WHEN MATCHED THEN UPDATE SET n = 0"],
    ]:
        fails_unchanged(
            sql, table, merge(table, twice, *clauses, on="t.dep = s.dep"), "MERGE_CARDINALITY_VIOLATION", "2"
        )
    fails_unchanged(sql, table, merge(table, ids(*range(1, 4)), "WHEN MATCHED THEN UPDATE SET n = 0", on="t.id > s.id"))
    sql.run(merge(table, twice, "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (9, s.n)", on="t.dep = s.dep"))
    sql.run(merge(table, twice, "WHEN MATCHED THEN DELETE", on="t.dep = s.dep"))
    assert sql.rows(table) == [(1, 100, "hr"), (3, 300, "hr"), (4, 400, "hr"), (9, 3, None)]


@each_kind
def test_merge_on_the_key_combines_the_source_rows_of_a_key_by_the_tables_rule(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    twice = source("(1, 101, 'a')", "(2, 201, 'a')", "(1, 102, 'b')", "(9, 901, 'a')", "(9, 902, 'b')")
    sql.run(merge(table, twice, INSERT_ALL))
    assert sql.rows(table, "id, n") == [(1, 100), (2, 200), (3, 300), (4, 400), (5, 500), (9, 902)]
    sql.run(merge(table, twice, "WHEN MATCHED AND s.id = 9 THEN DELETE", UPDATE_ALL))
    assert sql.rows(table, "id, n, dep")[:2] == [(1, 102, "b"), (2, 201, "a")]
    sql.run(merge(table, twice, DELETE))
    assert sql.rows(table, "id") == [(3,), (4,), (5,)]


@each_kind
def test_merge_on_the_key_evaluates_clauses_on_the_combined_source_row(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    twice = source("(1, 101, 'a')", "(1, 102, 'b')")
    sql.run(merge(table, twice, "WHEN MATCHED AND s.n = 101 THEN DELETE"))
    assert sql.rows(table, "id") == [(1,), (2,), (3,), (4,), (5,)]


def test_merge_gives_the_same_rows_under_every_join_strategy(sql: Sql) -> None:
    for options in [
        {"autoBroadcastJoinThreshold": str(2**40)},
        {"autoBroadcastJoinThreshold": "-1"},
        {"autoBroadcastJoinThreshold": "-1", "join__preferSortMergeJoin": "false"},
        {"adaptive__enabled": "false"},
    ]:
        with settings(sql, **options):
            table = plain(sql, "cow", COLUMNS, "(1, 100, 'hr')", "(2, 200, 'eng')", "(3, 0, 'none')")
            many = "(SELECT id % 999 + 2 AS ref, id AS v FROM range(1000)) s"
            clauses = ["WHEN MATCHED THEN UPDATE SET n = s.v", "WHEN NOT MATCHED BY SOURCE THEN DELETE"]
            assert sql.rows(table, "id") == [(1,), (2,), (3,)]
            fails_unchanged(
                sql, table, merge(table, many, *clauses, on="t.n % 100 + t.id = s.ref"), "MERGE_CARDINALITY_VIOLATION"
            )
            few = many.replace("1000", "999")
            sql.run(merge(table, few, *clauses, on="t.n % 100 + t.id = s.ref"))
            assert sql.rows(table) == [(2, 0, "eng"), (3, 1, "none")]


# --- sources ---------------------------------------------------------------------------------------------------


@each_kind
def test_merge_reads_its_source_from_ctes_sub_queries_views_and_tables(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    with view(sql, "SELECT * FROM VALUES (0, 1, 'a'), (6, 7, 'b') AS rows(id, n, dep)") as changes:
        using = f"MERGE INTO {table} AS t USING more AS s ON t.id = s.id {UPDATE_ALL}"
        sql.run(f"WITH more AS (SELECT id + 1 AS id, n, dep FROM {changes}) {using}")
        union = f"(SELECT * FROM {changes} WHERE id = 6 UNION ALL (SELECT id, n, dep FROM {table} WHERE id > 4)) s"
        sql.run(merge(table, union, "WHEN MATCHED THEN UPDATE SET n = -s.n", INSERT_ALL))
        assert sql.rows(table) == [
            (1, 1, "a"),
            (2, 200, "eng"),
            (3, 300, "hr"),
            (4, 400, "hr"),
            (5, -500, "eng"),
            (6, 7, "b"),
        ]
        joined = f"SELECT c.id, c.n, o.dep FROM {changes} c LEFT JOIN (SELECT * FROM {table} WHERE id < 9) o USING (id)"
        with view(sql, joined) as both, view(sql, f"SELECT * FROM {both}") as nested:
            sql.run(f"CACHE TABLE {changes}")
            clause = "WHEN NOT MATCHED THEN INSERT (id, n, dep) VALUES (s.id, s.n, 'pending')"
            sql.run(merge(table, f"{nested} s", "WHEN MATCHED THEN UPDATE SET n = s.n + 1, dep = s.dep", clause))
            sql.run(f"UNCACHE TABLE {changes}")
    assert sql.rows(table)[:2] == [(0, 1, "pending"), (1, 1, "a")]
    assert sql.rows(table)[-1] == (6, 8, "b")
    other = sql.name()
    sql.run(f"CREATE TABLE {other} USING parquet AS SELECT 3 AS id, 33 AS n")
    sql.run(f"MERGE INTO {table} USING {other} ON {table}.id = {other}.id WHEN MATCHED THEN UPDATE SET n = {other}.n")
    assert sql.rows(table)[3] == (3, 33, "hr")


@each_kind
def test_merge_from_the_table_itself_reads_the_rows_of_the_statements_begin(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    sql.run(merge(table, f"{table} s", "WHEN MATCHED AND t.n = 100 THEN UPDATE SET n = s.n + 1", INSERT_ALL))
    assert sql.rows(table, "id, n")[:2] == [(1, 101), (2, 200)]
    some = f"(SELECT r.id FROM {table} r JOIN {ids(1, 9)} ON r.id = s.id) s"
    fresh = "WHEN NOT MATCHED THEN INSERT (dep, n, id) VALUES ('new', 300, 1)"
    sql.run(merge(table, some, "WHEN MATCHED AND t.n = 101 THEN UPDATE SET n = t.n + 1", fresh))
    assert sql.rows(table)[:2] == [(1, 102, "hr"), (2, 200, "eng")]
    moved = f"(SELECT id + 1 AS id, n, dep FROM {table} WHERE id > 3) s"
    sql.run(merge(table, moved, UPDATE_ALL, INSERT_ALL, "WHEN NOT MATCHED BY SOURCE AND t.id < 3 THEN DELETE"))
    assert sql.rows(table) == [(3, 300, "hr"), (4, 400, "hr"), (5, 400, "hr"), (6, 500, "eng")]
    sql.run(merge(table, f"(SELECT * FROM {table} WHERE dep = 'hr') s", "WHEN NOT MATCHED BY SOURCE THEN DELETE"))
    assert sql.rows(table, "id") == [(3,), (4,), (5,)]


@each_kind
def test_merge_from_an_empty_source_applies_only_not_matched_by_source(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    before = sql.rows(table)
    with view(sql, "SELECT 1 AS id, 2 AS n, 'x' AS dep WHERE false") as empty:
        sql.run(merge(table, f"{empty} s", "WHEN MATCHED THEN UPDATE SET n = -1"))
        sql.run(merge(table, f"{empty} s", UPDATE_ALL, INSERT_ALL))
        sql.run(merge(table, f"{empty} s", DELETE, on="t.dep = s.dep"))
        assert sql.rows(table) == before
        sql.run(merge(table, f"{empty} s", DELETE, "WHEN NOT MATCHED BY SOURCE AND t.n < 400 THEN UPDATE SET n = 0"))
    assert sql.rows(table, "id, n") == [(1, 0), (2, 0), (3, 0), (4, 400), (5, 500)]


@pytest.mark.since("4.1", reason="WITH RECURSIVE came with Spark 4.1")
@each_kind
def test_merge_takes_a_recursive_cte_as_source(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int", "(1, 1)", "(9, 9)", "(4, 4)")
    numbers = "WITH RECURSIVE s(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM s WHERE id < 5)"
    alone = "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = t.n + 1"
    fresh = "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, -s.id)"
    sql.run(f"{numbers} {merge(table, 's', 'WHEN MATCHED THEN UPDATE SET n = t.n - 1', fresh, alone)}")
    assert sql.rows(table) == [(1, 0), (2, -2), (3, -3), (4, 3), (5, -5), (9, 10)]


# --- what it touches and counts --------------------------------------------------------------------------------


@each_kind
def test_merge_changes_unmatched_rows_in_partitions_that_the_source_lacks(sql: Sql, kind: str) -> None:
    rows = ["(1, 1, 'a')", "(2, 2, 'a')", "(3, 3, 'b')", "(4, 4, 'c')", "(5, 5, NULL)"]
    table = plain(sql, kind, "id int, n int, p string", *rows, by="p")
    alone = "WHEN NOT MATCHED BY SOURCE AND t.n > 3 THEN DELETE"
    on = "t.id = s.id AND T.P IN ('a', 'b') AND t.n != -1"
    changes = values("id, p", "(1, 'a')", "(3, 'b')", "(6, 'c')")
    fresh = "WHEN NOT MATCHED THEN INSERT (id, n, p) VALUES (s.id, 0, s.p)"
    sql.run(merge(table, changes, "WHEN MATCHED THEN UPDATE SET n = t.n + 10", fresh, on=on))
    found = [(1, 11, "a"), (2, 2, "a"), (3, 13, "b"), (4, 4, "c"), (5, 5, None), (6, 0, "c")]
    assert sql.rows(table) == found
    sql.run(merge(table, changes, "WHEN MATCHED THEN UPDATE SET n = -t.n", alone, on=on))
    assert sql.rows(table) == [(1, -11, "a"), (2, 2, "a"), (3, -13, "b"), (6, 0, "c")]


@each_kind
def test_statements_write_only_the_file_groups_that_hold_a_changed_row(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, n int, p string", *(f"({n}, {n}, 'p{n}')" for n in range(1, 6)), by="p")

    def files() -> dict[str, set[str]]:
        root = sql.folder(table)
        return {
            folder.name: {f.name for f in folder.iterdir() if ".parquet" in f.name or ".log." in f.name}
            for folder in root.iterdir()
            if folder.name.startswith("p=")
        }

    matched = "WHEN MATCHED THEN UPDATE SET n = 0"
    some = values("id, p", "(4, 'p4')", "(1, 'p4')")
    for statement, touched in [
        (f"UPDATE {table} SET n = 0 WHERE id IN (SELECT 1 AS id)", {"p=p1"}),
        (f"UPDATE {table} SET n = 0 WHERE p = 'p2' AND id > 0", {"p=p2"}),
        (f"DELETE FROM {table} WHERE id = (SELECT 3)", {"p=p3"}),
        (merge(table, some, matched, on="t.id = s.id AND t.p = s.p"), {"p=p4"}),
        (merge(table, values("n", "(5)"), matched, on="t.n = s.n"), {"p=p5"}),
        (f"UPDATE {table} SET n = 0 WHERE id > 100", set()),
    ]:
        before = files()
        sql.run(statement)
        after = files()
        assert {name for name in after if not after[name] <= before[name]} == touched, statement
    assert sql.rows(table, "id, n") == [(1, 0), (2, 0), (4, 0), (5, 0)]


@each_kind
def test_merge_reads_meta_columns_and_gives_new_rows_their_own(sql: Sql, kind: str) -> None:
    table = staff(sql, kind)
    meta = "_hoodie_record_key, _hoodie_commit_time"
    before = sql.rows(table, meta)
    sql.run(
        merge(
            table,
            ids(3, 4, 6),
            "WHEN MATCHED AND t._hoodie_record_key = '3' THEN UPDATE SET dep = t._hoodie_record_key",
            "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, 0)",
            "WHEN NOT MATCHED BY SOURCE AND t._hoodie_record_key = '1' THEN DELETE",
            on="t._hoodie_record_key = CAST(s.id AS string)",
        )
    )
    assert sql.rows(table) == [(2, 200, "eng"), (3, 300, "3"), (4, 400, "hr"), (5, 500, "eng"), (6, 0, None)]
    after = dict(sql.rows(table, meta))
    for key, time in before:
        assert key == "1" or (after[key] > time if key == "3" else after[key] == time)
    assert after["6"] == after["3"]
