"""Short words for the tests of MERGE, UPDATE and DELETE that row_level_answers.json names."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pyspark
from sql_steps import Sql

#: The running Spark line, such as (3, 5).
LINE = tuple(int(part) for part in pyspark.__version__.split(".")[:2])

UPDATE_ALL = "WHEN MATCHED THEN UPDATE SET *"
INSERT_ALL = "WHEN NOT MATCHED THEN INSERT *"


def plain(sql: Sql, kind: str, columns: str, *rows: str, key: str = "id", by: str = "") -> str:
    """A table with these rows and without ordering fields, in which a statement means what it means in plain SQL."""
    table = sql.create(kind, columns, key=key, ordering=None, by=by)
    if rows:
        sql.run(f"INSERT INTO {table} VALUES {', '.join(rows)}")
    return table


#: Rows of one group: id, n, dep.
GROUP = [(1, "1", "'hr'"), (2, "2", "'eng'"), (3, "NULL", "'hr'"), (4, "4", "NULL")]

#: Conditions on the rows of a group, by name, with the ids for which they are true.
CONDITIONS = {
    "comparison": ("n <= 1", [1]),
    "or, by alias": ("t.n >= 4 OR t.dep = 'hr'", [1, 3, 4]),
    "nothing": ("n > 1000", []),
    "false": ("false", []),
    "true": ("true", [1, 2, 3, 4]),
    "null": ("CAST(NULL AS boolean)", []),
    "key equal to null": ("id = NULL", []),
    "equal to null": ("n = NULL", []),
    "null-safe": ("n <=> NULL", [3]),
    "null-safe, a string": ("dep <=> NULL", [4]),
    "in with null": ("n IN (1, NULL)", [1]),
    "not in with null": ("n NOT IN (1, NULL)", []),
    "not in": ("n NOT IN (1, 10)", [2, 4]),
    "nested": ("st.a = n + 198 AND t.st.b = 'eng'", [2]),
    "another case": ("T.N > 1 AND Dep = 'eng'", [2]),
    "functions": ("length(dep) + n > 4 AND upper(dep) LIKE 'E%'", [2]),
}


@contextmanager
def sub_queries(sql: Sql) -> Iterator[dict[str, tuple[str, list[int]]]]:
    """The same for conditions with sub-queries, of a view that is dropped at the end."""
    with view(sql, "SELECT * FROM VALUES (1, 'hr'), (2, 'hr'), (NULL, 'eng') AS d(n, dep)") as d:
        yield {
            "in": (f"n IN (SELECT n FROM {d})", [1, 2]),
            "in, and": (f"n IN (SELECT n + 1 FROM {d}) AND dep IN (SELECT dep FROM {d})", [2]),
            "in, or": (f"n IS NULL OR n IN (SELECT n + 2 FROM {d})", [3, 4]),
            "two columns": (f"(n, dep) IN (SELECT n, dep FROM {d})", [1]),
            "not in, a null": (f"n NOT IN (SELECT n FROM {d})", []),
            "not in": (f"n NOT IN (SELECT n FROM {d} WHERE n IS NOT NULL)", [4]),
            "not in, none": (f"n NOT IN (SELECT n FROM {d} WHERE false)", [1, 2, 3, 4]),
            "exists": (f"EXISTS (SELECT 1 FROM {d} d WHERE d.n = t.n)", [1, 2]),
            "exists, or": (f"EXISTS (SELECT 1 FROM {d} d WHERE d.n = t.n + 1) OR t.dep IS NULL", [1, 4]),
            "not exists": (f"NOT EXISTS (SELECT 1 FROM {d} d WHERE d.n = t.n)", [3, 4]),
            "scalar": (f"n <= (SELECT min(n) FROM {d})", [1]),
            "correlated, less": (f"n < (SELECT max(d.n) FROM {d} d WHERE d.dep = t.dep)", [1]),
            "correlated, equal": (f"n = (SELECT max(d.n) FROM {d} d WHERE d.dep = t.dep)", []),
        }


def groups(sql: Sql, kind: str, names: Iterable[str]) -> str:
    """A table with the rows of GROUP once for each name, which is in column g, and an empty column `mark`."""
    rows = [
        f"('{name}', {key}, {n}, {dep}, named_struct('a', {key * 100}, 'b', {dep}), '')"
        for name in names
        for key, n, dep in GROUP
    ]
    columns = "g string, id int, n int, dep string, st struct<a: int, b: string>, mark string"
    return plain(sql, kind, columns, *rows, key="g,id")


def values(columns: str, *rows: str) -> str:
    """An inline source `s` with these columns."""
    return f"(SELECT * FROM VALUES {', '.join(rows)} AS rows({columns})) s"


def merge(table: str, source: str, *clauses: str, on: str = "t.id = s.id") -> str:
    """MERGE into `table` as t."""
    return f"MERGE INTO {table} t USING {source} ON {on} " + " ".join(clauses)


@contextmanager
def settings(sql: Sql, **options: str) -> Iterator[None]:
    """The session with these settings of `spark.sql.`, dots written as underscores twice: `ansi__enabled`."""
    keys = {f"spark.sql.{name.replace('__', '.')}": value for name, value in options.items()}
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
    assert not missing, f"{statement}\n  does not mention {missing}:\n  {message[:1500]}"
    assert sql.commits(table) == commits
    return message
