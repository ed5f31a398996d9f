"""CALL: procedures by unqualified name, on every Spark line."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from types import FunctionType

import pytest
from places import ROOT
from sql_steps import Sql

from merganser import Table

pytestmark = pytest.mark.e2e

DOCS = (ROOT / "docs" / "sql.md").read_text()


def logged(sql: Sql, **properties: str) -> str:
    """A merge-on-read table with one base file and one log file; its rows."""
    table = sql.create("mor", **properties)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b')")
    sql.run(f"UPDATE {table} SET v = 'c', ts = 6 WHERE id = 1")
    return table


ROWS = [(1, 6, "c"), (2, 5, "b")]


def test_schedule_then_run_compacts_the_planned_file_groups(sql: Sql) -> None:
    table = logged(sql)
    ((instant, _size, state, *_),) = sql.run(f"CALL run_compaction(op => 'schedule', table => '{table}')")
    assert state == "REQUESTED"
    assert sql.rows(table) == ROWS
    sql.run(f"UPDATE {table} SET v = 'between', ts = 6 WHERE id = 2")
    (row,) = sql.run(f"CALL run_compaction(op => 'run', table => '{table}')")
    ran, files, done, rows, size, logs, elapsed, left = row
    assert (ran, files, done, rows, logs, left) == (instant, 1, "COMPLETED", 2, 1, None)
    assert size > 0
    assert elapsed > 0
    assert sql.rows(table) == [(1, 6, "c"), (2, 6, "between")]
    assert sql.commits(table).count("commit") == 1


INLINE = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "1",
}


def begin_write(timeline: Path) -> None:
    """A write that goes on, for an hour: version 6 compacts nothing beside it."""
    (timeline / ".heartbeat").mkdir(exist_ok=True)
    beat = timeline / ".heartbeat" / "20240101000000000"
    beat.touch()
    os.utime(beat, times=(time.time() + 3600,) * 2)
    (timeline / "20240101000000000.deltacommit.requested").touch()


def test_a_statement_with_a_failed_inline_compaction_is_committed_and_reports_it_on_request(sql: Sql) -> None:
    table = sql.create("mor", **{"hoodie.write.table.version": "6"})
    begin_write(sql.folder(table) / ".hoodie")
    with sql.settings(INLINE):
        sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b'), (3, 5, 'c')")
        source = "(SELECT 1 id, 6L ts, 'm' v)"
        sql.run(f"MERGE INTO {table} t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *")
        sql.run(f"UPDATE {table} SET v = 'u', ts = 7 WHERE id = 2")
        sql.run(f"DELETE FROM {table} WHERE id = 3")
        rows = sql.spark.createDataFrame([(4, 5, "d")], "id int, ts long, v string")
        result = Table.load(sql.spark, str(sql.folder(table))).upsert(rows)
        assert result.service_failure is not None
        assert "COMPACTION_BLOCKED" in result.service_failure
        with sql.settings({"hoodie.fail.writes.on.inline.table.service.exception": "true"}):
            error = sql.fails(f"INSERT INTO {table} VALUES (5, 5, 'e')")
        assert "WRITE_COMMITTED_SERVICE_FAILED" in error
        assert "run the write again" not in error
        assert sql.rows(table) == [(1, 6, "m"), (2, 7, "u"), (4, 5, "d"), (5, 5, "e")]
        sql.run(f"INSERT OVERWRITE {table} VALUES (6, 5, 'f')")
        assert sql.rows(table) == [(6, 5, "f")]
        with sql.settings({"hoodie.fail.writes.on.inline.table.service.exception": "true"}):
            error = sql.fails(f"INSERT OVERWRITE {table} VALUES (7, 5, 'g')")
    assert "WRITE_COMMITTED_SERVICE_FAILED" in error
    assert sql.rows(table) == [(7, 5, "g")]


@pytest.mark.parametrize("statement", ["CREATE OR REPLACE TABLE", "saveAsTable"])
def test_a_replaced_table_with_a_failed_inline_compaction_has_the_new_rows(sql: Sql, statement: str) -> None:
    table = sql.create("mor", "id int, v string", ordering=None, **{"hoodie.write.table.version": "6"})
    sql.run(f"INSERT INTO {table} VALUES (1, 'a')")
    begin_write(sql.folder(table) / ".hoodie")

    def replace(value: str) -> None:
        if statement == "saveAsTable":
            frame = sql.spark.createDataFrame([(1, value)], "id int, w string").write.format("merganser")
            frame.options(primaryKey="id", type="mor").mode("overwrite").saveAsTable(table)
        else:
            keyed = "USING merganser TBLPROPERTIES (primaryKey = 'id', type = 'mor')"
            sql.run(f"{statement} {table} {keyed} AS SELECT 1 id, '{value}' w")

    with sql.settings(INLINE):
        replace("b")
        assert sql.rows(table, "id, w") == [(1, "b")]
        with sql.settings({"hoodie.fail.writes.on.inline.table.service.exception": "true"}):
            with pytest.raises(Exception, match="WRITE_COMMITTED_SERVICE_FAILED") as failed:
                replace("c")
            assert "is committed" in str(failed.value)
    assert sql.rows(table, "id, w") == [(1, "c")]


def test_a_new_table_with_a_failed_inline_compaction_has_its_rows(sql: Sql, tmp_path: Path) -> None:
    # Spark's Python workers cannot import this module: what the function calls goes with it.
    begin = FunctionType(begin_write.__code__, {"os": os, "time": time})
    sql.spark.udf.register("another_write_begins", lambda folder: begin(Path(folder) / ".hoodie") or "a")
    keyed = "TBLPROPERTIES (primaryKey = 'id', type = 'mor', 'hoodie.write.table.version' = '6')"

    def make(name: str) -> str:
        folder = tmp_path / name
        return (
            f"CREATE TABLE {name} USING merganser {keyed} LOCATION '{folder}' "
            f"AS SELECT 1 id, another_write_begins('{folder}') v"
        )

    quiet, loud = sql.name(), sql.name()
    with sql.settings(INLINE):
        sql.run(make(quiet))
        with sql.settings({"hoodie.fail.writes.on.inline.table.service.exception": "true"}):
            error = sql.fails(make(loud))
    assert "WRITE_COMMITTED_SERVICE_FAILED" in error
    assert "COMPACTION_BLOCKED" in error
    assert sql.rows(quiet) == sql.rows(loud) == [(1, "a")]


@pytest.mark.parametrize("op", ["scheduleandexecute", "scheduleAndExecute", "SCHEDULEANDEXECUTE"])
def test_schedule_and_execute_compacts_a_table_by_path_in_any_case(sql: Sql, op: str) -> None:
    table = logged(sql)
    call = f"call RUN_COMPACTION ( path => '{sql.folder(table)}' , op => '{op}' ) ;"
    ((_, files, state, *_),) = sql.run(call)
    assert (files, state) == (1, "COMPLETED")
    assert sql.rows(table) == ROWS
    assert sql.run(call) == []


def test_execute_compacts_like_run_and_the_table_may_have_its_database(sql: Sql) -> None:
    table = logged(sql)
    sql.run(f"CALL run_compaction(op => 'schedule', table => 'default.{table}')")
    assert len(sql.run(f"CALL run_compaction(op => 'execute', table => 'spark_catalog.default.{table}')")) == 1
    assert sql.run(f"CALL run_compaction(op => 'run', table => '{table}')") == []
    assert sql.rows(table) == ROWS


def test_options_of_the_call_change_the_compacted_file(sql: Sql) -> None:
    table = logged(sql)
    sql.run(
        f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}', "
        "options => 'hoodie.parquet.compression.codec=gzip, hoodie.parquet.max.file.size=1048576')"
    )
    assert sql.rows(table) == ROWS
    newest = max(sql.folder(table).glob("*.parquet"), key=lambda f: f.name.split("_")[2])
    codec = sql.spark.sparkContext._jvm.org.apache.parquet.hadoop.ParquetFileReader.open(  # type: ignore[union-attr]
        sql.spark.sparkContext._jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(  # type: ignore[union-attr]
            sql.spark.sparkContext._jvm.org.apache.hadoop.fs.Path(str(newest)),  # type: ignore[union-attr]
            sql.spark._jsparkSession.sessionState().newHadoopConf(),
        )
    ).getFooter()
    assert "GZIP" in codec.getBlocks().toString()


def test_a_table_without_logs_has_nothing_to_compact(sql: Sql) -> None:
    table = sql.create("mor")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    for op in ("schedule", "run", "scheduleandexecute"):
        assert sql.run(f"CALL run_compaction(op => '{op}', table => '{table}')") == []
    assert len(sql.commits(table)) == 1


def test_a_wrong_call_is_refused_with_its_argument_and_the_remedy(sql: Sql, tmp_path: Path) -> None:
    table = sql.create("mor")
    copy = sql.create("cow")

    def refused(arguments: str) -> str:
        return sql.fails(f"CALL run_compaction({arguments})")

    op = "op => 'schedule'"
    assert "CALL_TABLE_OR_PATH" in refused(op)
    assert "CALL_TABLE_OR_PATH" in refused(f"{op}, table => '{table}', path => '/x/y'")
    missing = refused(f"table => '{table}'")
    assert "CALL_ARGUMENT_MISSING" in missing
    assert "'op'" in missing
    wrong = refused(f"op => 'scedule', table => '{table}'")
    assert "CALL_ARGUMENT_INVALID" in wrong
    assert "scheduleandexecute" in wrong
    unknown = refused(f"{op}, tabel => '{table}'")
    assert "CALL_ARGUMENT_UNKNOWN" in unknown
    assert "tabel" in unknown
    assert "table" in unknown
    assert "CALL_ARGUMENT_TWICE" in refused(f"{op}, op => 'run', table => '{table}'")
    number = refused(f"op => 1, table => '{table}'")
    assert all(word in number for word in ("CALL_ARGUMENT_TYPE", "'op'", "INT", "STRING"))
    assert "CALL_SYNTAX" in refused(f"{op} table => '{table}'")
    assert "CALL_OPTION_SYNTAX" in refused(f"{op}, table => '{table}', options => 'nothing'")
    option = refused(f"{op}, table => '{table}', options => 'hoodie.parquet.max.file.sise=1'")
    assert "UNKNOWN_OPTION" in option
    assert "hoodie.parquet.max.file.size" in option
    assert "TABLE_NOT_FOUND" in refused(f"{op}, table => 'no_such_table'")
    assert "PATH_IS_NO_TABLE" in refused(f"{op}, path => '{tmp_path}'")
    assert "COMPACTION_OF_COPY_ON_WRITE" in refused(f"{op}, table => '{copy}'")


def test_arguments_may_be_given_by_position(sql: Sql) -> None:
    table = logged(sql)
    ((_, files, state, *_),) = sql.run(f"CALL run_compaction('scheduleandexecute', '{table}')")
    assert (files, state) == (1, "COMPLETED")


def test_run_takes_instants_and_a_limit_of_plans(sql: Sql) -> None:
    table = logged(sql)
    ((instant, *_),) = sql.run(f"CALL run_compaction(op => 'schedule', table => '{table}')")
    assert sql.run(f"CALL run_compaction(op => 'run', table => '{table}', limit => 0)") == []
    wrong = sql.fails(f"CALL run_compaction(op => 'run', table => '{table}', instants => '20200101000000000')")
    assert all(word in wrong for word in ("CALL_ARGUMENT_INVALID", "'instants'", instant))
    ((ran, *_),) = sql.run(f"CALL run_compaction(op => 'run', table => '{table}', timestamp => {instant})")
    assert ran == instant


def test_help_lists_procedures_and_the_parameters_and_columns_of_one(sql: Sql) -> None:
    listed = [row[0] for row in sql.run("CALL help()")]
    assert listed == sorted(listed)
    documented = re.findall(r"^\| `(\w+)` \|", DOCS.split("## CALL")[1].split("\n## ")[0], re.MULTILINE)
    assert sorted(documented) == listed
    shown = "\n".join(row[0] for row in sql.run("CALL help(cmd => 'run_compaction')"))
    assert all(
        word in shown for word in ("op STRING", "(required)", "table", "path", "options", "returns state STRING")
    )
    described = {row[0] for row in sql.run("CALL help('show_commits')")}
    assert "limit INT: maximum number of rows to return (default 10)" in described
    unknown = sql.fails("CALL help(cmd => 'run_compactoin')")
    assert "PROCEDURE_UNKNOWN" in unknown
    assert "Did you mean 'run_compaction'?" in unknown


@pytest.mark.parametrize("name", ["run_compactoin", "system.run_compactoin", "spark_catalog.system.run_compactoin"])
def test_an_unknown_procedure_is_refused_with_the_known_ones(sql: Sql, name: str) -> None:
    message = sql.fails(f"CALL {name}(op => 'run')")
    assert "PROCEDURE_UNKNOWN" in message
    assert name in message
    assert "run_compaction," in message


def test_a_procedure_of_another_catalog_is_left_to_that_catalog(sql: Sql) -> None:
    message = sql.fails("CALL other.system.run_compaction(op => 'run')")
    assert "PROCEDURE_UNKNOWN" not in message


def test_a_call_accepts_comments_line_breaks_a_catalog_and_computed_values(sql: Sql) -> None:
    table = logged(sql)
    rows = sql.run(
        f"""-- what was written
        CALL spark_catalog.system . `show_commits` ( /* the table's
          name */ table => concat('{table[:3]}', '{table[3:]}'),
          limit => 3 - 2 -- one, and a ' that opens nothing
        );
        """
    )
    assert len(rows) == 1
    assert "'limit' is '-1'" in sql.fails(f"CALL show_commits(table => '{table}', limit => -1)")


def test_a_call_takes_the_parameters_of_its_statement(sql: Sql) -> None:
    table = logged(sql)
    named = sql.spark.sql("CALL show_commits(table => :t, limit => :n)", {"t": table, "n": 1}).collect()
    placed = sql.spark.sql("CALL show_commits(table => ?, limit => ?)", [table, 1]).collect()
    assert len(named) == 1
    assert named == placed
    assert sql.spark.sql("CALL help(cmd => :c)", {"c": "help"}).collect() == [
        ("cmd STRING: name of a procedure",),
        ("returns result STRING",),
    ]


@pytest.mark.since("4.0", reason="Spark has a CALL of its own, and variables")
def test_execute_immediate_and_variables_run_a_call(sql: Sql) -> None:
    table = logged(sql)
    call = "EXECUTE IMMEDIATE 'CALL show_commits(table => :t, limit => :n)' USING"
    assert len(sql.run(f"{call} '{table}' AS t, 1 AS n")) == 1
    sql.run(f"DECLARE OR REPLACE VARIABLE of_table STRING DEFAULT '{table}'")
    try:
        assert len(sql.run("CALL show_commits(table => of_table)")) == 2
    finally:
        sql.run("DROP TEMPORARY VARIABLE of_table")


def test_a_query_with_parameters_runs_with_the_extension(sql: Sql) -> None:
    table = logged(sql)
    chosen = sql.spark.sql(f"SELECT v FROM {table} WHERE id = :id", {"id": 2}).collect()
    assert [row.v for row in chosen] == ["b"]
