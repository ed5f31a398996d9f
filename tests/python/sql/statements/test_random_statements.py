"""Random MERGE, UPDATE, DELETE and INSERT: tables of both kinds have the rows that the docs define, and so the same.

The oracle is `statement_meaning.py`, which shares nothing with what it checks; what the documents leave open is
not drawn. MERGANSER_FULL=1 makes more histories, and longer ones; MERGANSER_SEED is added to the seeds.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from random_statements import history
from sql_steps import Sql
from statement_meaning import Counts, Refused, Table, after
from statements import COLUMNS, Compact, Insert, Merge, Shape, Statement

FULL = bool(os.environ.get("MERGANSER_FULL"))
FIRST_SEED = int(os.environ.get("MERGANSER_SEED", "0"))
SEEDS = range(FIRST_SEED, FIRST_SEED + (20 if FULL else 1))
LENGTH = 10 if FULL else 5

BUCKET = (("hoodie.index.type", "BUCKET"), ("hoodie.bucket.index.num.buckets", "2"))
GLOBAL = (("hoodie.index.type", "GLOBAL_SIMPLE"),)
SHAPES = [
    Shape("commit time"),
    Shape("event time", ordering=("ts",)),
    Shape("commit time, partitioned", partitioned=True),
    Shape("two ordering fields, composite key, partitioned", ("a", "b"), ("ts", "seq"), partitioned=True),
    Shape("two ordering fields, composite key", ("a", "b"), ("ts", "seq")),
    Shape("event time, buckets", ("a", "b"), ("ts",), merging_inserts=True, properties=BUCKET),
    Shape("event time, global index", ordering=("ts",), partitioned=True, whole_table=True, properties=GLOBAL),
]
KINDS = ("cow", "mor")
REFUSALS = ("KEY_COLUMN_CHANGED", "MERGE_CARDINALITY_VIOLATION", "NULL_RECORD_KEY", "DUPLICATE_KEY")


def rows_of(table: Table) -> list[tuple[object, ...]]:
    return sorted((tuple(row[name] for name in COLUMNS) for row in table.values()), key=repr)


class Twins:
    """A table of each kind, on which the same statements run."""

    def __init__(self, sql: Sql, shape: Shape) -> None:
        self.sql, self.shape = sql, shape
        properties = dict(shape.properties)
        columns = ", ".join(f"{name} {type_name}" for name, type_name in COLUMNS.items())
        self.names = {
            kind: sql.create(
                kind,
                columns,
                key=",".join(shape.key),
                ordering=",".join(shape.ordering) or None,
                by="p" if shape.partitioned else "",
                **properties,
            )
            for kind in KINDS
        }

    def run(self, statement: Statement) -> dict[str, Counts | str]:
        """The result of each kind: its counts, or the message of an error."""

        def of(kind: str) -> Counts | str:
            try:
                frame = self.sql.spark.sql(statement.sql.replace("{t}", self.names[kind]))
                return {name: value for row in frame.collect() for name, value in row.asDict().items()}
            except (Py4JJavaError, PySparkException) as e:
                return str(e)

        kinds = ["mor"] if isinstance(statement, Compact) else KINDS
        with self.sql.settings(statement.settings), ThreadPoolExecutor(2) as both:
            return dict(zip(kinds, both.map(of, kinds)))

    def rows(self) -> dict[str, list[tuple[object, ...]]]:
        with ThreadPoolExecutor(2) as both:
            return dict(zip(KINDS, both.map(lambda kind: self.sql.rows(self.names[kind], ", ".join(COLUMNS)), KINDS)))


OUTCOMES = ("inserted", "updated", "deleted", "late")


def counted(counts: Counts) -> Counts:
    return {name: counts[name] for name in (*OUTCOMES, "ties")}


def agree(answer: Counts, expected: Counts, *, is_known: bool) -> bool:
    """Whether the counts are these; of rows that are `appended` to logs it is only known how many there are."""
    if is_known or not answer["appended"]:
        return counted(answer) == expected and not answer["appended"]
    rows = sum(answer[name] for name in OUTCOMES) + answer["appended"]
    return all(answer[name] <= expected[name] for name in expected) and rows == sum(expected[name] for name in OUTCOMES)


def check(twins: Twins, statements: list[Statement], where: str) -> None:
    table = Table()
    for at, statement in enumerate(statements):
        counts: Counts | None = None
        refused = False
        try:
            table, counts = after(twins.shape, table, statement)
        except Refused:
            refused = True
        context = "\n  ".join([where, *(f"{s.sql}  {dict(s.settings) or ''}" for s in statements[: at + 1])])
        for kind, answer in twins.run(statement).items():
            if refused:
                assert isinstance(answer, str), f"{kind} does not refuse\n  {context}"
                assert any(name in answer for name in REFUSALS), f"{kind} refuses with {answer[:1000]}\n  {context}"
                continue
            assert not isinstance(answer, str), f"{kind} fails with {answer[:1000]}\n  {context}"
            if counts is not None and not isinstance(statement, Insert):
                # Not known of rows in logs: under a rule that fills columns, and where a MERGE inserts a key unseen.
                is_known = kind == "cow" or not (twins.shape.fills or isinstance(statement, Merge))
                assert agree(answer, counts, is_known=is_known), f"{kind} counts {answer}, not {counts}\n  {context}"
        if refused or at % 2 or at == len(statements) - 1:
            expected = rows_of(table)
            for kind, rows in twins.rows().items():
                assert rows == expected, f"{kind} has other rows\n  {context}"


@pytest.mark.e2e
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_random_statements_give_the_documented_rows_on_both_table_types(sql: Sql, shape: Shape) -> None:
    for seed in SEEDS:
        check(Twins(sql, shape), [*history(shape, seed, LENGTH), Compact()], f"{shape.name}, seed {seed}")


def test_the_random_histories_contain_every_kind_of_statement_and_refusals() -> None:
    found: set[object] = set()
    for shape in SHAPES:
        for seed in range(10):
            table = Table()
            for statement in history(shape, seed, 8):
                found.add(type(statement).__name__)
                if isinstance(statement, Merge):
                    found |= {(clause.when, clause.then) for clause in statement.clauses}
                try:
                    table, _ = after(shape, table, statement)
                except Refused as refusal:
                    found.add(str(refusal))
    assert found >= {"Merge", "Update", "Delete", "Insert", "Compact"}
    assert found >= {("MATCHED", "UPDATE"), ("MATCHED", "DELETE"), ("NOT MATCHED", "INSERT")}
    assert found >= {("NOT MATCHED BY SOURCE", "UPDATE"), ("NOT MATCHED BY SOURCE", "DELETE")}
    assert found >= {"KEY_COLUMN_CHANGED", "MERGE_CARDINALITY_VIOLATION", "NULL_RECORD_KEY"}
