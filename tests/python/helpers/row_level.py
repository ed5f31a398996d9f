"""Short words for the tests of MERGE, UPDATE and DELETE that row_level_suites.json names."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pyspark
import pytest
from sql_steps import Sql

#: The running Spark line, such as (3, 5).
LINE = tuple(int(part) for part in pyspark.__version__.split(".")[:2])

KINDS = ["cow", "mor"]
each_kind = pytest.mark.parametrize("kind", KINDS)

UPDATE_ALL = "WHEN MATCHED THEN UPDATE SET *"
INSERT_ALL = "WHEN NOT MATCHED THEN INSERT *"


def plain(sql: Sql, kind: str, columns: str, *rows: str, key: str = "id", by: str = "") -> str:
    """A table with these rows and without ordering fields, in which a statement means what it means in plain SQL."""
    table = sql.create(kind, columns, key=key, ordering=None, by=by)
    if rows:
        sql.run(f"INSERT INTO {table} VALUES {', '.join(rows)}")
    return table


def values(columns: str, *rows: str) -> str:
    """An inline source `s` with these columns."""
    return f"(SELECT * FROM VALUES {', '.join(rows)} AS rows({columns})) s"


def merge(table: str, source: str, *clauses: str, on: str = "t.id = s.id") -> str:
    """MERGE into `table` as t."""
    return f"MERGE INTO {table} t USING {source} ON {on} " + " ".join(clauses)


@contextmanager
def settings(sql: Sql, **given: str) -> Iterator[None]:
    """The session with these settings of `spark.sql.`, dots written as underscores twice: `ansi__enabled`."""
    keys = {f"spark.sql.{name.replace('__', '.')}": value for name, value in given.items()}
    before = {key: sql.spark.conf.get(key, None) for key in keys}
    try:
        for key, value in keys.items():
            sql.spark.conf.set(key, value)
        yield
    finally:
        for key, value in before.items():
            if value is None:
                sql.spark.conf.unset(key)
            else:
                sql.spark.conf.set(key, value)


@contextmanager
def view(sql: Sql, query: str) -> Iterator[str]:
    """A temporary view of the query."""
    name = f"v_{uuid.uuid4().hex[:12]}"
    sql.run(f"CREATE TEMPORARY VIEW {name} AS {query}")
    try:
        yield name
    finally:
        sql.spark.catalog.dropTempView(name)


def fails_unchanged(sql: Sql, table: str, statement: str, *words: str) -> str:
    """The statement fails with an error that holds these words, and the table has no commit of it."""
    commits = sql.commits(table)
    message = sql.fails(statement)
    missing = [word for word in words if word.lower() not in message.lower()]
    assert not missing, f"{statement}\n  says nothing of {missing}:\n  {message[:1500]}"
    assert sql.commits(table) == commits
    return message
