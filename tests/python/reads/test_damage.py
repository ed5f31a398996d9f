"""Damaged files, and files that no commit names: an error with a name, and no rows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from sql_steps import Sql

from merganser import Table

pytestmark = pytest.mark.e2e


def only(folder: Path, pattern: str) -> Path:
    (found,) = [f for f in folder.glob(pattern) if not f.name.endswith(".crc")]
    return found


def damage(file: Path, content: bytes) -> None:
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    file.write_bytes(content)


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :]


def test_reads_and_compactions_of_a_truncated_file_fail_with_its_name_offset_and_commit(
    sql: Sql,
) -> None:
    table = sql.create("mor")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 1, 'b')")
    sql.run(f"UPDATE {table} SET v = 'c' WHERE id = 1")
    instant = Table.load(sql.spark, table).history()[0].instant
    log = only(sql.folder(table), "*.log.*")
    whole = log.read_bytes()
    for cut in (whole[:-10], b""):
        damage(log, cut)
        for statement in (
            f"SELECT * FROM {table}",
            f"CALL run_compaction(op => 'scheduleAndExecute', table => '{table}')",
        ):
            message = sql.fails(statement)
            wanted = ("LOG_BLOCK_UNREADABLE", log.name, "at byte 0", f"commit {instant}")
            assert all(part in message for part in wanted), message[:500]
    damage(log, whole)
    assert sql.rows(table, "id, v") == [(1, "c"), (2, "b")]
    base = only(sql.folder(table), "*.parquet")
    damage(base, base.read_bytes()[:-10])
    message = sql.fails(f"SELECT * FROM {table}")
    assert all(part in message for part in ("BASE_FILE_UNREADABLE", base.name)), message[:500]


def test_files_added_after_a_commit_are_not_read_and_commits_do_not_grow_with_the_logs(sql: Sql) -> None:
    table = sql.create("mor")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 1, 'b')")
    folder = sql.folder(table)
    base = only(folder, "*.parquet")
    stranger = "11111111" + base.name[8:]
    shutil.copy(base, folder / stranger)
    assert sql.rows(table, "id, v") == [(1, "a"), (2, "b")]
    with sql.settings({"hoodie.datasource.query.type": "read_optimized"}):
        assert sql.rows(table, "id, v") == [(1, "a"), (2, "b")]
    for value in "cdefgh":
        sql.run(f"UPDATE {table} SET v = '{value}' WHERE id = 1")
    commits = sorted((folder / ".hoodie" / "timeline").glob("*_*.deltacommit"))
    sizes = [commit.stat().st_size for commit in commits[1:]]
    assert len(sizes) == 6
    assert max(sizes) - min(sizes) < 20, sizes
    rows = sql.spark.createDataFrame([(2, 2, "z")], "id int, ts long, v string")
    Table.load(sql.spark, table).upsert(rows)
    assert sql.rows(table, "id, v") == [(1, "h"), (2, "z")]
    sql.run(f"CALL run_compaction(op => 'scheduleAndExecute', table => '{table}')")
    assert sql.rows(table, "id, v") == [(1, "h"), (2, "z")]


@pytest.mark.parametrize("kind", ["mor", "cow"])
def test_a_read_of_a_deleted_file_fails_with_its_name_and_commit(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 1, 'b')")
    for value in "cde":
        sql.run(f"UPDATE {table} SET v = '{value}' WHERE id = 1")
    instants = [commit.instant for commit in Table.load(sql.spark, table).history()]
    right = sql.rows(table, "id, v")
    assert right == [(1, "e"), (2, "b")]
    folder = sql.folder(table)
    files = [f for f in folder.iterdir() if f.is_file() and ("parquet" in f.name or ".log." in f.name)]
    files = [f for f in files if not f.name.endswith(".crc")]
    assert len(files) == 4
    for file in files:
        (instant,) = (i for i in instants if i in file.name)
        away = folder.parent / "away"
        file.rename(away)
        if kind == "mor" or instant == max(instants):
            message = sql.fails(f"SELECT * FROM {table}")
            wanted = ("SLICE_FILE_MISSING", file.name, "named by commit", "put the file back")
            assert all(part in message for part in wanted), message[:500]
        else:
            assert sql.rows(table, "id, v") == right
        away.rename(file)
    assert sql.rows(table, "id, v") == right


IGNORING = {"spark.sql.files.ignoreCorruptFiles": "true"}


def test_a_read_of_a_changed_byte_fails_with_the_file_or_returns_the_right_rows(
    sql: Sql,
) -> None:
    table = sql.create("mor", "id int, ts bigint, v string, w double")
    sql.run(f"INSERT INTO {table} SELECT id, 1, concat('v', id), id / 3 FROM range(2000)")
    sql.run(f"UPDATE {table} SET v = 'changed' WHERE id % 100 = 0")
    right = sql.rows(table)
    folder = sql.folder(table)
    base, log = only(folder, "*.parquet"), only(folder, "*.log.*")
    commit = max((folder / ".hoodie" / "timeline").glob("*_*.deltacommit"))
    errors = {}
    with sql.settings(IGNORING):
        for file, condition in (
            (base, "BASE_FILE_UNREADABLE"),
            (log, "LOG_BLOCK_UNREADABLE"),
            (commit, "TIMELINE_FILE_UNREADABLE"),
        ):
            whole = file.read_bytes()
            errors[condition] = 0
            for at in range(5, len(whole) - 1, len(whole) // 8):
                damage(file, flipped(whole, at))
                message = ""
                try:
                    found = sql.rows(table)
                except (Py4JJavaError, PySparkException) as error:
                    message = str(error)
                if message:
                    assert all(part in message for part in (condition, file.name)), (at, message[:500])
                    errors[condition] += 1
                else:
                    assert found == right, (file.name, at)
            damage(file, whole)
        # Unused bytes of a page's header or of a footer may change without an effect.
        assert errors["LOG_BLOCK_UNREADABLE"] >= 8, errors
        assert errors["TIMELINE_FILE_UNREADABLE"] >= 8, errors
        assert errors["BASE_FILE_UNREADABLE"] >= 5, errors
