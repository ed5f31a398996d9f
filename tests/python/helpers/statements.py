"""Statements as values: each as SQL text, and as what its conditions and expressions are of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

Row = Mapping[str, Any]

#: Every table has these columns; those of its shape are key, ordering and partition.
COLUMNS = {"a": "int", "b": "string", "ts": "bigint", "seq": "int", "n": "int", "v": "string", "p": "string"}


@dataclass(frozen=True)
class Shape:
    """A table: what its rows are known by, and which of two versions stays.

    Attributes:
        ordering: The ordering fields of event time; empty is commit time.
        whole_table: A key is one row in the whole table (a global index), not one in each partition.
        merging_inserts: Plain inserts merge, as buckets do.
        fills: Nulls of rows that are written take the stored row's values (`IGNORE_DEFAULTS`).
    """

    name: str
    key: tuple[str, ...] = ("a",)
    ordering: tuple[str, ...] = ()
    partitioned: bool = False
    whole_table: bool = False
    merging_inserts: bool = False
    fills: bool = False
    properties: tuple[tuple[str, str], ...] = ()

    @property
    def fixed(self) -> tuple[str, ...]:
        """Columns that a statement may not assign another value."""
        return (*self.key, "p") if self.partitioned and not self.whole_table else self.key

    def identity(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.fixed)

    def order(self, row: Row, names: Iterable[str] | None = None) -> tuple[Any, ...]:
        """The ordering value of a row: null is the smallest."""
        values = (row[name] for name in (self.ordering if names is None else names))
        return tuple((value is not None, 0 if value is None else value) for value in values)


@dataclass(frozen=True)
class Scope:
    """What an expression may name: the stored row `t`, the source row `s`, and the table as the statement began."""

    t: Row | None
    s: Row | None
    table: Sequence[Row] = ()


@dataclass(frozen=True)
class Expr:
    """An expression as text, in which `{t}` is the table's name, and as a function."""

    sql: str
    value: Callable[[Scope], Any]


# --- statements --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """Rows that a statement brings, in order of arrival."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def sql(self) -> str:
        rows = ", ".join(
            "(" + ", ".join(literal(row[c], COLUMNS.get(c, "string")) for c in self.columns) + ")" for row in self.rows
        )
        return f"(SELECT * FROM VALUES {rows} AS rows({', '.join(self.columns)}))"

    def of(self, table: Sequence[Row]) -> Sequence[Row]:
        return self.rows


@dataclass(frozen=True)
class Own:
    """The table itself as a source: its rows, with other keys and ordering values, in an unspecified order."""

    step: int
    columns: tuple[str, ...] = (*COLUMNS, "op")

    @property
    def sql(self) -> str:
        return f"(SELECT a + {self.step} AS a, b, ts + 1 AS ts, seq, n, concat(v, '*') AS v, p, 'u' AS op FROM {{t}})"

    def of(self, table: Sequence[Row]) -> Sequence[Row]:
        later = {"ts": 1, "a": self.step, "v": "*"}
        return [
            {**{c: v if v is None or c not in later else v + later[c] for c, v in row.items()}, "op": "u"}
            for row in table
        ]


def literal(value: Any, type_name: str) -> str:
    if value is None:
        return f"CAST(NULL AS {type_name})"
    if isinstance(value, str):
        return f"'{value}'"
    return f"{value}L" if type_name == "bigint" else str(value)


@dataclass(frozen=True)
class Clause:
    """A WHEN clause. `values` are what an UPDATE or INSERT assigns; None is the star."""

    when: Literal["MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"]
    then: Literal["UPDATE", "INSERT", "DELETE"]
    condition: Expr | None = None
    values: Mapping[str, Expr] | None = None

    @property
    def sql(self) -> str:
        head = f"WHEN {self.when}" + (f" AND {self.condition.sql}" if self.condition else "") + f" THEN {self.then}"
        if self.then == "DELETE":
            return head
        if self.values is None:
            return head + (" SET *" if self.then == "UPDATE" else " *")
        if self.then == "UPDATE":
            return f"{head} SET " + ", ".join(f"{name} = {value.sql}" for name, value in self.values.items())
        return f"{head} ({', '.join(self.values)}) VALUES ({', '.join(value.sql for value in self.values.values())})"

    def applies(self, scope: Scope) -> bool:
        return self.condition is None or self.condition.value(scope) is True

    def assigned(self, scope: Scope) -> dict[str, Any]:
        if self.values is not None:
            return {name: value.value(scope) for name, value in self.values.items()}
        assert scope.s is not None
        return {name: scope.s[name] for name in COLUMNS if name in scope.s}


@dataclass(frozen=True)
class Merge:
    """`equal` is the part of ON that equates columns of the table (null-safe or not), `more` the rest."""

    equal: tuple[tuple[str, Expr, bool], ...]
    more: Expr | None
    source: Source | Own
    clauses: tuple[Clause, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def sql(self) -> str:
        parts = [f"t.{column} {'<=>' if safe else '='} {value.sql}" for column, value, safe in self.equal]
        on = " AND ".join(parts + ([self.more.sql] if self.more else []))
        return f"MERGE INTO {{t}} t USING {self.source.sql} s ON {on} " + " ".join(c.sql for c in self.clauses)

    def on(self, scope: Scope) -> bool:
        assert scope.t is not None
        for column, value, safe in self.equal:
            left, right = scope.t[column], value.value(scope)
            if left != right or (left is None and not safe):
                return False
        return self.more is None or self.more.value(scope) is True

    def of(self, when: str) -> list[Clause]:
        return [clause for clause in self.clauses if clause.when == when]


@dataclass(frozen=True)
class Update:
    values: Mapping[str, Expr]
    where: Expr | None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def sql(self) -> str:
        sets = ", ".join(f"{name} = {value.sql}" for name, value in self.values.items())
        return f"UPDATE {{t}} AS t SET {sets}" + (f" WHERE {self.where.sql}" if self.where else "")


@dataclass(frozen=True)
class Delete:
    where: Expr | None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def sql(self) -> str:
        return "DELETE FROM {t} AS t" + (f" WHERE {self.where.sql}" if self.where else "")


@dataclass(frozen=True)
class Insert:
    source: Source
    operation: Literal["insert", "bulk_insert", "upsert"]
    policy: Literal["none", "drop", "fail"] = "none"

    @property
    def settings(self) -> Mapping[str, str]:
        options = {"hoodie.spark.sql.insert.into.operation": self.operation}
        return options if self.policy == "none" else {**options, "hoodie.datasource.insert.dup.policy": self.policy}

    @property
    def sql(self) -> str:
        return f"INSERT INTO {{t}} ({', '.join(self.source.columns)}) {self.source.sql[1:-1]}"


@dataclass(frozen=True)
class Compact:
    """Of a merge-on-read table; a copy-on-write one has nothing to compact."""

    settings: Mapping[str, str] = field(default_factory=dict)
    sql: str = "CALL run_compaction(op => 'scheduleandexecute', table => '{t}')"


Statement = Union[Merge, Update, Delete, Insert, Compact]
