"""A real JDBC client at Spark's thrift server: each kind of statement, its result, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jdbc import Jdbc, JdbcError
from pasted import LINE, commands, paste
from servers import serving

pytestmark = [pytest.mark.e2e, pytest.mark.extensive]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """Port and folder of a thrift server of this module's own."""
    folder = tmp_path_factory.mktemp("thrift")
    any_port = ("spark.hadoop.hive.server2.thrift.port=0", "spark.hadoop.hive.server2.thrift.bind.host=127.0.0.1")
    started = r"Starting ThriftBinaryCLIService on port (\d+)"
    with serving("./dev thrift", folder, started, *any_port) as port:
        yield port, folder


@pytest.fixture(scope="module")
def jdbc(server: tuple[int, Path]) -> Iterator[Jdbc]:
    port, folder = server
    with Jdbc(f"jdbc:hive2://127.0.0.1:{port}/", folder / "client.log") as connection:
        yield connection


@pytest.fixture
def table(jdbc: Jdbc, request: pytest.FixtureRequest) -> Iterator[str]:
    """A merge-on-read table with two rows, made by statements and dropped when the test ends."""
    name = f"t_{abs(hash(request.node.name))}"
    jdbc.run(
        f"CREATE TABLE {name} (id INT, ts BIGINT, v STRING, day STRING) USING merganser PARTITIONED BY (day) "
        "TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts', type = 'mor')"
    )
    jdbc.run(f"INSERT INTO {name} VALUES (1, 5, 'a', 'x'), (2, 5, 'b', 'y')")
    yield name
    jdbc.run(f"DROP TABLE {name}")


def rows(jdbc: Jdbc, table: str) -> list[tuple[str, ...]]:
    return jdbc.run(f"SELECT id, ts, v FROM {table} ORDER BY id").rows


def test_a_query_returns_rows_with_their_column_types(jdbc: Jdbc, table: str) -> None:
    answer = jdbc.run(f"SELECT * FROM {table} ORDER BY id")
    assert answer.columns == ["id:int", "ts:bigint", "v:string", "day:string"]
    assert answer.rows == [("1", "5", "a", "x"), ("2", "5", "b", "y")]


def test_a_merge_changes_the_table_and_returns_its_counts(jdbc: Jdbc, table: str) -> None:
    answer = jdbc.run(
        f"MERGE INTO {table} t USING (SELECT 1 AS id, 6L AS ts, 'c' AS v, 'x' AS day "
        "UNION ALL SELECT 2, 4L, 'late', 'y' UNION ALL SELECT 3, 1L, 'd', 'x') s ON t.id = s.id AND t.day = s.day "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert answer.columns[:6] == [
        f"{name}:bigint" for name in ("inserted", "updated", "unchanged", "deleted", "late", "ties")
    ]
    (done,) = answer.records()
    assert (done["inserted"], done["updated"], done["late"], done["deleted"]) == ("1", "1", "1", "0")
    assert rows(jdbc, table) == [("1", "6", "c"), ("2", "5", "b"), ("3", "1", "d")]


def test_an_update_and_a_delete_return_their_counts(jdbc: Jdbc, table: str) -> None:
    (updated,) = jdbc.run(f"UPDATE {table} SET v = 'u' WHERE id = 2").records()
    (deleted,) = jdbc.run(f"DELETE FROM {table} WHERE id = 1").records()
    assert (updated["updated"], deleted["deleted"]) == ("1", "1")
    assert rows(jdbc, table) == [("2", "5", "u")]


def test_procedures_list_commits_and_compact_the_table(jdbc: Jdbc, table: str) -> None:
    jdbc.run(f"UPDATE {table} SET v = 'u', ts = 9 WHERE id = 2")
    assert "show_commits" in [row[0] for row in jdbc.run("CALL help()").rows]
    _, oldest = jdbc.run(f"CALL show_commits(table => '{table}')").records()
    assert (oldest["operation"], oldest["inserted"]) == ("INSERT", "2")
    (compacted,) = jdbc.run(f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}')").records()
    assert (compacted["state"], compacted["operation_size"]) == ("COMPLETED", "1")
    assert rows(jdbc, table) == [("1", "5", "a"), ("2", "9", "u")]


def test_statements_list_describe_and_create_tables(jdbc: Jdbc, table: str) -> None:
    assert table in [row[1] for row in jdbc.run("SHOW TABLES").rows]
    assert [row[:2] for row in jdbc.run(f"DESCRIBE {table}").rows[:2]] == [("id", "int"), ("ts", "bigint")]
    assert ("primaryKey", "id") in jdbc.run(f"SHOW TBLPROPERTIES {table}").rows
    jdbc.run(
        f"CREATE TABLE {table}_copy USING merganser TBLPROPERTIES (primaryKey = 'id') AS SELECT id, v FROM {table}"
    )
    assert jdbc.run(f"SELECT * FROM {table}_copy ORDER BY id").rows == [("1", "a"), ("2", "b")]
    jdbc.run(f"DROP TABLE {table}_copy")


@pytest.mark.parametrize(
    ("statement", "sql_state", "words"),
    [
        ("UPDATE {table} SET id = 7 WHERE v = 'a'", "42000", ["UPDATE SET id", "KEY_COLUMN_CHANGED", "'id'"]),
        ("CALL run_compaction(op => 'scedule', table => '{table}')", "22023", ["CALL_ARGUMENT_INVALID", "'op'"]),
        ("INSERT INTO {table} VALUES (NULL, 1, 'n', 'x')", "23502", ["NULL_RECORD_KEY", "(id)"]),
        ("SELECT nope FROM {table}", "42703", ["UNRESOLVED_COLUMN", "`nope`"]),
    ],
    ids=lambda value: value.split(" ")[0] if isinstance(value, str) else None,
)
def test_an_error_has_its_sql_state_and_message(
    jdbc: Jdbc, table: str, statement: str, sql_state: str, words: list[str]
) -> None:
    with pytest.raises(JdbcError) as raised:
        jdbc.run(statement.format(table=table))
    assert raised.value.sql_state == sql_state
    assert all(word in str(raised.value) for word in words)
    assert rows(jdbc, table) == [("1", "5", "a"), ("2", "5", "b")]


def test_a_refused_assignment_is_reported_with_its_clause_and_column(jdbc: Jdbc, table: str) -> None:
    with pytest.raises(JdbcError) as raised:
        jdbc.run(
            f"MERGE INTO {table} t USING (SELECT 1 AS id, true AS flag) s ON t.id = s.id "
            "WHEN MATCHED AND s.id = 1 THEN UPDATE SET ts = s.flag"
        )
    assert all(word in str(raised.value) for word in ("ASSIGNMENT_REFUSED", "WHEN MATCHED", "`ts`")), str(raised.value)


def test_the_pages_beeline_command_creates_a_table_and_shows_its_commit(server: tuple[int, Path]) -> None:
    port, folder = server
    (command,) = commands("./dev beeline")
    command = command.replace("./dev beeline", f"./dev beeline --spark {LINE}").replace(
        "localhost:10000", f"localhost:{port}"
    )
    ran = paste(command, folder=folder)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert "INSERT" in ran.stdout, ran.stdout[-2000:]
