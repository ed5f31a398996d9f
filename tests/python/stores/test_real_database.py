"""A database, Debezium's engine and Spark, each ended without notice while the others go on: `./dev cdc`.

By default the whole run is with PostgreSQL, and a smaller test has MariaDB and the engine on its log; what an engine
makes of MariaDB is applied in test_presets.py. With MERGANSER_FULL=1 the short run and the small tests are with each
database, and there are longer runs, with the servers of Maven Central, more restarts of each part and more rows: what
the short runs check, at more moments. They are on the newest Spark line as well.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from places import ROOT
from pyspark.sql import SparkSession
from snippets import snippets

import merganser

CDC = ROOT / "examples" / "cdc"
sys.path.insert(0, str(CDC))

import cdc_report  # noqa: E402
import comparison  # noqa: E402
import measure  # noqa: E402
from capture import Capture  # noqa: E402
from database import Column, named, names  # noqa: E402
from mariadb import MariaDb  # noqa: E402
from postgres import Postgres  # noqa: E402
from server import DatabaseError  # noqa: E402
from workload import KEYS, Workload  # noqa: E402

SEED = os.environ.get("MERGANSER_SEED", "0")
SHORT = ["--transactions", "300", "--rounds", "1", "--size", "150"]
LONG = ["--transactions", "20000", "--rounds", "4", "--size", "2000", "--fetched"]
FULL = bool(os.environ.get("MERGANSER_FULL"))
RUNS = [SHORT, pytest.param(LONG, marks=pytest.mark.e2e)] if FULL else [SHORT]
# Each test starts a server, and that of MariaDB takes 15 seconds.
ONE_OF_THEM = names() if FULL else ["postgres"]


# Guarantee (One result): The tables of a PostgreSQL (with `--full`, a MariaDB too) that Debezium follows equal it in
#   every row, value and type, after Debezium and Spark were killed and the server crashed during transactions.
@pytest.mark.parametrize("database", ONE_OF_THEM)
@pytest.mark.parametrize("arguments", RUNS)
def test_tables_equal_the_database_after_restarts_of_engine_spark_and_server(
    arguments: list[str], database: str, tmp_path: Path
) -> None:
    source = named(database)
    package = str(Path(merganser.__file__).parents[1])
    words = ["--database", database, "--out", str(tmp_path / "out"), "--seed", SEED, *arguments]
    done = subprocess.run(
        [sys.executable, str(CDC / "cdc.py"), *words],
        env={**os.environ, "PYTHONPATH": package},
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 differences" in done.stdout
    assert len(re.findall(r"all \d[\d,]* rows are right", done.stdout)) == 4
    rounds = int(arguments[arguments.index("--rounds") + 1])
    for what in ("the engine was killed", "the Spark application was killed", f"{source.title} crashed"):
        assert done.stdout.count(what) == rounds, done.stdout
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert well_formed(page)
    for shown in ("equals the database", "repeated after restarts", "Lag: from the commit", "Time of each batch"):
        assert shown in page
    folder = tmp_path / "out" / "engine" / "events"
    events = {table: measure.read_events(source, folder / source.topic(table), keys) for table, keys in KEYS.items()}
    operations = {event.operation for found in events.values() for event in found}
    assert operations == {"r", "c", "u", "d"}
    assert any(event.unchanged for event in events["orders"]) == source.has_unchanged
    assert any(event.outcome == "repeated" for found in events.values() for event in found), "no event came twice"


@pytest.mark.parametrize("database", ONE_OF_THEM)
def test_a_crashed_server_recovers_its_committed_rows(database: str) -> None:
    with named(database).server() as server:
        connection = server.connect()
        connection.query("CREATE TABLE t (a int, b text)")
        connection.query("INSERT INTO t VALUES (1, 'it''s'), (2, NULL)")
        connection.query("BEGIN")
        connection.query("INSERT INTO t VALUES (3, 'lost')")
        server.stop(crash=True)
        with pytest.raises(OSError):
            connection.query("COMMIT")
        server.start()
        with server.connect() as again:
            assert again.query("SELECT a, b FROM t ORDER BY a") == [("1", "it's"), ("2", None)]
            with pytest.raises(DatabaseError, match=r"SQLSTATE 42\w{3}") as refused:
                again.query("SELECT missing FROM t")
            assert refused.value.state.startswith("42")
            assert again.query("SELECT 1") == [("1",)], "a refused statement does not end the connection"
    assert not server.folder.exists()


def test_changes_without_whole_rows_stop_the_engine_and_are_not_written(tmp_path: Path) -> None:
    """With binlog_row_image=MINIMAL in one session: the server's own setting is FULL, which the engine has checked."""
    source = named("mariadb")
    with MariaDb() as server, server.connect() as connection:
        connection.query("CREATE TABLE t (id int PRIMARY KEY, a int, b text)")
        connection.query("INSERT INTO t VALUES (1, 1, 'one')")
        capture = Capture(source, tmp_path, server.port)
        capture.start()
        try:
            wait(capture.has_snapshot)
            connection.query("SET SESSION binlog_row_image = MINIMAL")
            connection.query("UPDATE t SET b = 'uno' WHERE id = 1")
            wait(lambda: capture.has_ended)
        finally:
            capture.stop()
    assert "internal schema size 3, but row size 1" in capture.log.read_text()
    assert [one.operation for one in measure.read_events(source, capture.folder_of("t"), ["id"])] == ["r"]


@pytest.mark.e2e
def test_the_pages_snippets_apply_changes_and_block_other_writes(spark: SparkSession, tmp_path: Path) -> None:
    (code,) = snippets("docs/follow-a-database.md", "python", "A run with a real database")
    events = tmp_path / "events"
    events.mkdir()
    rows = [("r", 1, 101), ("c", 2, 110), ("u", 1, 120), ("d", 2, 130)]
    write_events(events / "one.json", [row for row in rows if row[0] != "u"])
    names: dict[str, object] = {"merganser": merganser, "spark": spark, "path": str(tmp_path / "orders")}
    names |= {"folder_of_events": str(events), "folder_of_checkpoint": str(tmp_path / "checkpoint")}
    exec(compile(code, "follow-a-database.md", "exec"), names)
    table, query = names["table"], names["query"]
    assert isinstance(table, merganser.Table)
    try:
        query.processAllAvailable()
        write_events(events / "two.json", [("u", 1, 120)])
        query.processAllAvailable()
    finally:
        query.stop()
    assert [tuple(row) for row in table.df().select("id", "notes", "_event_lsn").collect()] == [(1, "text", 120)]

    (statements,) = snippets("docs/follow-a-database.md", "sql", "PostgreSQL")
    with Postgres() as server, server.connect() as connection, server.connect() as writer:
        connection.query("CREATE TABLE orders (id int); CREATE TABLE documents (id int)")
        lines = [line.split("--")[0].strip() for line in statements.splitlines()]
        *block, commit = filter(None, lines)
        connection.query(" ".join(block))
        writer.query("SET lock_timeout = '50ms'")
        with pytest.raises(DatabaseError, match="lock timeout"):
            writer.query("INSERT INTO orders VALUES (1)")
        connection.query(commit)
        writer.query("INSERT INTO orders VALUES (1)")


@pytest.mark.parametrize("database", ONE_OF_THEM)
def test_a_workload_makes_every_kind_of_change_and_repeats_for_a_seed(database: str) -> None:
    source = named(database)
    contents = []
    for _ in range(2):
        with source.server() as server:
            workload = Workload(source, server, seed=7, transactions=150, writers=1, size=60)
            workload.create_tables()
            workload.start()
            workload.finish()
            with server.connect() as connection:
                columns = {table: source.columns_of(connection, table) for table in KEYS}
                contents.append(
                    {
                        table: sorted(comparison.database_rows(source, connection, table, columns[table]), key=str)
                        for table in KEYS
                    }
                )
    assert contents[0] == contents[1]
    assert [column.name for column in columns["orders"]][-2:] == ["channel", "discount"]
    assert (columns["documents"][-1].name, columns["documents"][-1].lake_type) == ("reviewed", "timestamp")
    kinds = ("of one statement", "of several statements", "rolled back", "rolled back in part", "columns added")
    assert all(workload.counts[kind] > 0 for kind in kinds), workload.counts


COLUMNS = [
    Column("id", "bigint", "bigint"),
    Column("weight", "double precision", "double"),
    Column("tags", "text[]", "array<string>"),
]


@pytest.mark.parametrize(
    ("found", "lines"),
    [
        ([("1", "0.1", '["a", null]'), ("2", None, "[]")], []),
        ([("1", "1.0E-1", '["a",null]'), ("2", None, "[]")], []),  # another text of the same values
        ([("1", "0.1", '["a",null]')], ["('2',): missing"]),
        ([("1", "0.1", '["a",null]'), ("2", None, "[]"), ("3", None, None)], ["('3',): not in the database"]),
        ([("1", "0.1", '["a",null]'), ("2", None, "[]"), ("2", None, "[]")], ["('2',): stored twice"]),
        ([("1", "0.1", '["a",null]'), ("2", None, None)], ["('2',): tags is None, in the database '[]'"]),
        (
            [("1", "0.1", '["null"]'), ("2", None, "[]")],
            ["""('1',): tags is '["null"]', in the database '["a", null]'"""],
        ),
    ],
)
def test_a_comparison_lists_every_differing_row_and_value(
    found: list[tuple[str | None, ...]], lines: list[str]
) -> None:
    expected = [("1", "0.1", '["a",null]'), ("2", None, "[]")]
    both = [[comparison.normal(row, COLUMNS) for row in rows] for rows in (expected, found)]
    assert comparison.differences(["id"], COLUMNS, *both) == lines


def test_an_event_with_a_lower_lsn_is_late_and_with_the_same_lsn_repeated(tmp_path: Path) -> None:
    events = [("r", 1, 101), ("c", 2, 110), ("u", 1, 120), ("u", 1, 115), ("d", 1, 130), ("u", 1, 120), ("d", 3, 140)]
    write_events(tmp_path / "one.json", events)
    (tmp_path / ".two.json").write_text('{"payload": {"before": nul')
    found = measure.read_events(named("postgres"), tmp_path, ["id"])
    outcomes = ["inserted", "inserted", "updated", "late", "deleted", "repeated", "without a row"]
    assert [event.outcome for event in found] == outcomes
    assert found[2].unchanged == ("notes",)
    assert "notes unchanged" in found[2].reason
    assert measure.most_telling(found)[0].key == (1,)


@pytest.mark.parametrize("differences", [[], ["('1',): <missing> & gone"]])
def test_the_page_shows_whether_tables_equal_the_database_and_escapes_values(
    tmp_path: Path, differences: list[str]
) -> None:
    write_events(tmp_path / "one.json", [("c", 1, 110), ("u", 1, 120), ("u", 1, 120)])
    events = measure.read_events(named("postgres"), tmp_path, ["id"])
    counts = {"inserted": 1, "duplicates": 2, "commit": {"elapsed_ms": 1500}}
    batch = measure.Batch(0, 5_000.0, events, 2.0, counts, False)
    checked = SimpleNamespace(rows=1, columns=2, differences=differences, compaction=None)
    page = cdc_report.Report(
        database=named("postgres"),
        version="16.6",
        seed=0,
        seconds=12.0,
        workload={"of one statement": 3, "statements": 3},
        restarts=[cdc_report.Restart(4_000.0, "the engine was killed", 1.5)],
        copies=[cdc_report.Copy("orders", "copy-on-write", [batch, replace(batch, number=1, events=[])], checked)],
        stories=[cdc_report.Story("orders", events)],
    )
    html = cdc_report.render(page)
    assert well_formed(html)
    assert ("equals the database" in html) == (not differences)
    assert "<missing>" not in html
    assert page.copies[0].outcomes == {"inserted": 1, "updated": 1, "repeated": 1}
    assert batch.lags == [4.0, 4.0, 4.0]


def wait(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def write_events(file: Path, events: list[tuple[str, int, int]]) -> None:
    lines = []
    for operation, key, lsn in events:
        notes = measure.UNAVAILABLE if operation == "u" else "text"
        row = f'{{"id": {key}, "notes": "{notes}"}}'
        images = f'"before": {row}, "after": null' if operation == "d" else f'"before": null, "after": {row}'
        lines.append(f'{{"payload": {{{images}, "op": "{operation}", "source": {{"lsn": {lsn}, "ts_ms": 1000}}}}}}\n')
    file.write_text("".join(lines))


def well_formed(html: str) -> bool:
    """Whether every element is closed where it should be, and nothing is loaded from elsewhere."""
    open_: list[str] = []
    seen: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.add(tag)
            if tag != "meta":
                open_.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert open_.pop() == tag, f"</{tag}> closes something else"

    Reader().feed(html)
    return not open_ and not seen & {"script", "link", "img", "iframe"}
