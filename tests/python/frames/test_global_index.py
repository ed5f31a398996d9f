"""Keys that are one in the whole table: statements find them in any partition, and may move their rows."""

from __future__ import annotations

import pytest
from sql_steps import Sql, each_kind

pytestmark = pytest.mark.e2e

GLOBAL = {"hoodie.index.type": "GLOBAL_SIMPLE"}
STAYS = {"hoodie.simple.index.update.partition.path": "false"}


def table(sql: Sql, kind: str, rows: str, **more: str) -> str:
    made = sql.create(kind, "id int, ts bigint, v string, p string", by="p", **GLOBAL, **more)
    sql.run(f"INSERT INTO {made} (id, ts, v, p) VALUES {rows}")
    return made


def rows(sql: Sql, made: str) -> list[tuple[object, ...]]:
    found = sql.rows(made, "id, ts, v, p, _hoodie_partition_path")
    assert all(path == f"p={p}" for *_, p, path in found)
    return [row[:-1] for row in found]


def counted(result: list[tuple[object, ...]]) -> dict[str, object]:
    names = ("inserted", "updated", "unchanged", "deleted", "late", "ties")
    return dict(zip(names, result[0], strict=False))


@each_kind
def test_update_of_the_partition_column_moves_the_row_there_and_back(sql: Sql, kind: str) -> None:
    made = table(sql, kind, "(1, 5, 'a', 'x'), (2, 5, 'b', 'x')")
    counts = counted(sql.run(f"UPDATE {made} SET p = 'y', v = 'moved' WHERE id = 1"))
    assert rows(sql, made) == [(1, 5, "moved", "y"), (2, 5, "b", "x")]
    assert (counts["inserted"], counts["updated"], counts["deleted"]) == (0, 1, 0)
    sql.run(f"UPDATE {made} SET p = 'x' WHERE id = 1")
    assert rows(sql, made) == [(1, 5, "moved", "x"), (2, 5, "b", "x")]


@each_kind
def test_merge_moves_a_newer_row_and_leaves_the_row_of_a_late_one(sql: Sql, kind: str) -> None:
    made = table(sql, kind, "(1, 5, 'a', 'x'), (2, 5, 'b', 'x'), (3, 5, 'c', 'x')")
    sql.run(
        f"MERGE INTO {made} t USING (SELECT * FROM VALUES (1, 6L, 'new', 'y'), (2, 4L, 'late', 'y'), (4, 1L, 'd', 'z') "
        "AS s(id, ts, v, p)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(sql, made) == [(1, 6, "new", "y"), (2, 5, "b", "x"), (3, 5, "c", "x"), (4, 1, "d", "z")]
    sql.run(
        f"MERGE INTO {made} t USING (SELECT 'c' AS v, 'w' AS to) s ON t.v = s.v WHEN MATCHED THEN UPDATE SET p = s.to"
    )
    assert rows(sql, made)[2] == (3, 5, "c", "w")


@each_kind
def test_a_statement_changes_only_the_matched_row_of_a_key_in_two_partitions(sql: Sql, kind: str) -> None:
    made = table(sql, kind, "(1, 5, 'a', 'x')")
    sql.run(f"INSERT INTO {made} (id, ts, v, p) VALUES (1, 5, 'b', 'y')")
    sql.run(f"UPDATE {made} SET v = 'c' WHERE p = 'y'")
    assert rows(sql, made) == [(1, 5, "a", "x"), (1, 5, "c", "y")]
    sql.run(f"UPDATE {made} SET p = 'z' WHERE p = 'y'")
    assert rows(sql, made) == [(1, 5, "a", "x"), (1, 5, "c", "z")]
    sql.run(f"DELETE FROM {made} WHERE p = 'x'")
    assert rows(sql, made) == [(1, 5, "c", "z")]


def test_an_insert_that_upserts_finds_the_key_in_another_partition(sql: Sql) -> None:
    made = table(sql, "cow", "(1, 5, 'a', 'x')")
    sql.spark.conf.set("hoodie.spark.sql.insert.into.operation", "upsert")
    try:
        sql.run(f"INSERT INTO {made} (id, ts, v, p) VALUES (1, 6, 'b', 'y')")
    finally:
        sql.spark.conf.unset("hoodie.spark.sql.insert.into.operation")
    assert rows(sql, made) == [(1, 6, "b", "y")]


@each_kind
def test_update_of_the_partition_column_is_refused_if_rows_do_not_move(sql: Sql, kind: str) -> None:
    made = table(sql, kind, "(1, 5, 'a', 'x')", **STAYS)
    message = sql.fails(f"UPDATE {made} SET p = 'y' WHERE id = 1")
    assert "KEY_COLUMN_CHANGED" in message
    assert "'p'" in message
    sql.run(f"UPDATE {made} SET v = 'b' WHERE id = 1")
    assert rows(sql, made) == [(1, 5, "b", "x")]
