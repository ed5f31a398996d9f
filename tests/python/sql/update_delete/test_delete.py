"""DELETE as SQL defines it: which rows its condition takes, and what it refuses."""

from __future__ import annotations

import pytest
from row_level import CONDITIONS, GROUP, fails_unchanged, groups, plain, sub_queries, view
from sql_steps import Sql, each_kind

pytestmark = pytest.mark.e2e


def assert_deleted(sql: Sql, kind: str, conditions: dict[str, tuple[str, list[int]]]) -> None:
    """Runs a DELETE for each condition, each on rows of its own, and compares the ids that are gone."""
    table = groups(sql, kind, conditions)
    for name, (condition, _) in conditions.items():
        sql.run(f"DELETE FROM {table} AS t WHERE t.g = '{name}' AND ({condition})")
    left = sql.rows(table, "g, id")
    found = {name: [key for key, _, _ in GROUP if (name, key) not in left] for name in conditions}
    assert found == {name: ids for name, (_, ids) in conditions.items()}


@pytest.fixture
def three(sql: Sql, kind: str) -> str:
    """A table with rows 1 to 3."""
    return plain(sql, kind, "id int, n int, dep string", "(1, 1, 'hr')", "(2, 2, 'eng')", "(3, 3, 'hr')")


# --- conditions ------------------------------------------------------------------------------------------------


def test_delete_removes_the_rows_for_which_its_condition_is_true_and_not_null(sql: Sql) -> None:
    assert_deleted(sql, "cow", CONDITIONS)


def test_delete_accepts_in_exists_and_scalar_sub_queries(sql: Sql) -> None:
    with sub_queries(sql) as conditions:
        assert_deleted(sql, "mor", conditions)


@each_kind
def test_delete_without_a_condition_or_by_true_removes_every_row(sql: Sql, kind: str, three: str) -> None:
    sql.run(f"DELETE FROM {three} WHERE false")
    assert len(sql.rows(three)) == 3
    sql.run(f"DELETE FROM {three}")
    assert sql.rows(three) == []
    sql.run(f"DELETE FROM {three} WHERE n <= 1")
    sql.run(f"DELETE FROM {three}")
    assert sql.rows(three) == []
    sql.run(f"INSERT INTO {three} VALUES (1, 7, 'back'), (4, 8, 'new')")
    assert sql.rows(three) == [(1, 7, "back"), (4, 8, "new")]
    sql.run(f"DELETE FROM {three} WHERE true")
    assert sql.rows(three) == []


@each_kind
def test_delete_removes_partitions_and_rows_by_null_conditions_on_their_column(sql: Sql, kind: str) -> None:
    rows = ["(1, 1, NULL)", "(2, 2, 'a')", "(3, 3, 'a')", "(4, 4, 'b')"]
    table = plain(sql, kind, "id int, n int, p string", *rows, by="p")
    sql.run(f"DELETE FROM {table} WHERE p = NULL")
    assert len(sql.rows(table)) == 4
    sql.run(f"DELETE FROM {table} WHERE p = 'a' AND n > 2 OR p IN ('b', 'c')")
    assert sql.rows(table) == [(1, 1, None), (2, 2, "a")]
    sql.run(f"DELETE FROM {table} WHERE p = 'a'")
    assert sql.rows(table) == [(1, 1, None)]
    sql.run(f"DELETE FROM {table} WHERE p IS NULL")
    assert sql.rows(table) == []


@each_kind
def test_delete_reads_its_own_table_before_any_row_is_removed(sql: Sql, kind: str, three: str) -> None:
    sql.run(f"DELETE FROM {three} WHERE n = (SELECT max(n) FROM {three}) OR id NOT IN (SELECT id + 1 FROM {three})")
    assert sql.rows(three) == [(2, 2, "eng")]
    sql.run(f"INSERT INTO {three} VALUES (4, 4, 'hr'), (5, 5, 'hr')")
    some = f"WITH some AS (SELECT max(id) AS id FROM {three} GROUP BY dep)"
    sql.run(f"{some} DELETE FROM {three} WHERE id IN (SELECT id FROM some)")
    assert sql.rows(three) == [(4, 4, "hr")]
    with view(sql, f"SELECT id FROM {three} WHERE n > 3") as late:
        sql.run(f"DELETE FROM {three} t WHERE EXISTS (SELECT 1 FROM {late} v WHERE v.id = t.id)")
    assert sql.rows(three) == []


@pytest.mark.since("4.1", reason="WITH RECURSIVE came with Spark 4.1")
@each_kind
def test_delete_takes_a_recursive_cte(sql: Sql, kind: str, three: str) -> None:
    numbers = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 2)"
    sql.run(f"{numbers} DELETE FROM {three} WHERE n IN (SELECT n FROM s)")
    assert sql.rows(three) == [(3, 3, "hr")]


# --- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cow"])
def test_delete_by_an_unknown_column_is_refused_and_deletes_nothing(sql: Sql, kind: str, three: str) -> None:
    fails_unchanged(sql, three, f"DELETE FROM {three} WHERE nowhere = 1", "`nowhere`")
    fails_unchanged(sql, three, f"DELETE FROM {three} AS t WHERE x.n = 1", "`x`")
    fails_unchanged(sql, three, f"DELETE FROM {three} WHERE n IN (SELECT nowhere FROM {three})", "`nowhere`")
    fails_unchanged(sql, three, f"DELETE FROM {three} WHERE n IN (SELECT id, n FROM {three})")
    assert len(sql.rows(three)) == 3


@pytest.mark.parametrize("kind", ["mor"])
def test_delete_refuses_random_aggregate_and_window_conditions(sql: Sql, kind: str, three: str) -> None:
    fails_unchanged(sql, three, f"DELETE FROM {three} WHERE n <= 1 AND rand() > 0.5", "deterministic")
    fails_unchanged(sql, three, f"DELETE FROM {three} WHERE max(n) = 2", "max(n)")
    fails_unchanged(sql, three, f"DELETE FROM {three} WHERE row_number() OVER (ORDER BY n) = 1", "window")
    fails_unchanged(sql, three, f"DELETE FROM {three} WHERE n", "boolean")
    refusing = "assert_true(n < 0, 'as asked') IS NULL"
    fails_unchanged(sql, three, f"DELETE FROM {three} WHERE n > 0 AND {refusing}", "as asked")
    assert len(sql.rows(three)) == 3


def test_a_column_without_a_type_is_refused_by_name(sql: Sql) -> None:
    message = sql.fails(f"CREATE TABLE {sql.name()} (id int, v void) USING merganser TBLPROPERTIES (primaryKey = 'id')")
    assert "'v'" in message
    assert "void" in message.lower()


@pytest.mark.since("4.1", reason="CHECK constraints came with Spark 4.1")
def test_check_constraints_are_refused(sql: Sql) -> None:
    table = sql.name()
    columns = "(id int, n int, CONSTRAINT positive CHECK (n > 0))"
    assert (
        "constraint"
        in sql.fails(f"CREATE TABLE {table} {columns} USING merganser TBLPROPERTIES (primaryKey = 'id')").lower()
    )
    other = plain(sql, "cow", "id int, n int", "(1, 1)")
    assert "constraint" in sql.fails(f"ALTER TABLE {other} ADD CONSTRAINT positive CHECK (n > 0)").lower()
