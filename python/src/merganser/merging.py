"""MERGE, clause by clause: as methods of a builder, or as values."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Union, cast, get_args

from pyspark.sql import DataFrame

from merganser._arguments import AnyOptions, Columns, Transaction, is_name, kind, names_of, write_options
from merganser._expressions import (
    Assignments,
    Condition,
    Parts,
    ShownParts,
    assignments_of,
    condition_text,
    name_text,
    quoted,
)
from merganser._transport import Transport
from merganser.dry_runs import DryRun
from merganser.options import SQL_EVOLUTION
from merganser.results import StatementResult


@dataclass(frozen=True, eq=False)
class WhenMatchedUpdate:
    """``WHEN MATCHED [AND condition] THEN UPDATE``, as :meth:`Merge.when_matched_update` adds it."""

    set: Assignments | None = None
    condition: Condition | None = None
    except_: Columns = ()


@dataclass(frozen=True, eq=False)
class WhenMatchedDelete:
    """``WHEN MATCHED [AND condition] THEN DELETE``."""

    condition: Condition | None = None


@dataclass(frozen=True, eq=False)
class WhenNotMatchedInsert:
    """``WHEN NOT MATCHED [AND condition] THEN INSERT``, as :meth:`Merge.when_not_matched_insert` adds it."""

    values: Assignments | None = None
    condition: Condition | None = None
    except_: Columns = ()


@dataclass(frozen=True, eq=False)
class WhenNotMatchedBySourceUpdate:
    """``WHEN NOT MATCHED BY SOURCE [AND condition] THEN UPDATE``, of a stored row that no row of the source matches."""

    set: Assignments
    """Expressions by column."""
    condition: Condition | None = None


@dataclass(frozen=True, eq=False)
class WhenNotMatchedBySourceDelete:
    """``WHEN NOT MATCHED BY SOURCE [AND condition] THEN DELETE``."""

    condition: Condition | None = None


Clause = Union[
    WhenMatchedUpdate,
    WhenMatchedDelete,
    WhenNotMatchedInsert,
    WhenNotMatchedBySourceUpdate,
    WhenNotMatchedBySourceDelete,
]


@dataclass(frozen=True, eq=False)
class Merge:
    """A MERGE that has not run: :meth:`merganser.Table.merge` begins one, :meth:`execute` runs it.

    Each method returns a new one with a further clause. Of the clauses that apply to a row the first is used.
    Conditions and expressions are SQL or columns, in which the table's columns are ``t.name`` and the source's
    ``s.name``.
    """

    target: str
    """The table as SQL."""
    source: DataFrame | str
    """A frame, or a table, view or query as SQL."""
    on: Condition | tuple[str, ...]
    """When a row of the source matches a stored one: a condition, or the columns that are equal."""
    clauses: tuple[Clause, ...] = ()
    target_alias: str = "t"
    source_alias: str = "s"
    evolves_schema: bool = False
    table: Callable[[], list[str]] = field(default=list, repr=False)
    """Returns the table's columns."""
    transport: Transport | None = field(default=None, repr=False)

    def when_matched_update(
        self,
        set: Assignments | None = None,
        condition: Condition | None = None,
        *,
        except_: Columns = (),
    ) -> Merge:
        """Update the stored row.

        Args:
            set: Expressions by column. ``None`` assigns every column from the source's column of its name, as
                ``UPDATE SET *`` does.
            condition: For which of the matched rows.
            except_: Columns not to assign if ``set`` is ``None``.
        """
        return self.with_clauses(WhenMatchedUpdate(set, condition, except_))

    def when_matched_delete(self, condition: Condition | None = None) -> Merge:
        """Delete the stored row.

        Under event-time ordering it stays if the source's row has the ordering fields and is older: the delete is late.

        Args:
            condition: For which of the matched rows.
        """
        return self.with_clauses(WhenMatchedDelete(condition))

    def when_not_matched_insert(
        self,
        values: Assignments | None = None,
        condition: Condition | None = None,
        *,
        except_: Columns = (),
    ) -> Merge:
        """Insert a row.

        Args:
            values: Expressions by column; other columns become null. ``None`` takes every column from the source's
                column of its name, as ``INSERT *`` does.
            condition: For which of the source's rows.
            except_: Columns to leave null if ``values`` is ``None``.
        """
        return self.with_clauses(WhenNotMatchedInsert(values, condition, except_))

    def when_not_matched_by_source_update(self, set: Assignments, condition: Condition | None = None) -> Merge:
        """Update stored rows that no row of the source matches."""
        return self.with_clauses(WhenNotMatchedBySourceUpdate(set, condition))

    def when_not_matched_by_source_delete(self, condition: Condition | None = None) -> Merge:
        """Delete stored rows that no row of the source matches."""
        return self.with_clauses(WhenNotMatchedBySourceDelete(condition))

    def with_schema_evolution(self) -> Merge:
        """Let the statement add columns that the table lacks, and widen types."""
        return replace(self, evolves_schema=True)

    def sql(self) -> str:
        """Return the statement.

        A frame as the source is written ``{source}``: ``spark.sql(merge.sql(), source=frame)`` runs the statement.

        Columns are written as SQL, with strings that no parser setting changes; :meth:`execute` does not need that.

        Raises:
            TypeError: A condition or an expression is neither SQL nor a column.
            ValueError: There is no clause, or ``except_`` names a column that the table lacks.
        """
        shown = ShownParts(self._transport().sql_of)
        if isinstance(self.source, str):
            return self._text(_source_text(self.source), shown)
        mark = f"source_{uuid.uuid4().hex}"
        return self._text(mark, shown).replace("{", "{{").replace("}", "}}").replace(mark, "{source}")

    def execute(
        self, *, dry_run: bool = False, options: AnyOptions | None = None, txn: Transaction | None = None
    ) -> StatementResult:
        """Run the statement, in one commit.

        Args:
            dry_run: Change nothing; ``dry_run`` of the result shows what would be changed, like :meth:`dry_run`.
            options: As for :meth:`merganser.Table.upsert`, and so is ``txn``.

        Returns:
            What became of the rows.

        Raises:
            CommitConflictError: Another writer changed the same file groups since the statement began.
            MerganserError: The statement is refused; the condition is the reason.
        """
        if dry_run:
            return StatementResult.of_dry_run("merge", self._dry_rows(None, options, txn))
        parts = self._transport().parts()
        with self._statement(parts) as text:
            row = self._transport().statement("merge", text, self._options(options, txn), parts)
            return StatementResult.of("merge", row)

    def dry_run(self, rows: int = 20, *, options: AnyOptions | None = None, txn: Transaction | None = None) -> DryRun:
        """Return what :meth:`execute` would do: counts, and rows before and after. Nothing is changed.

        Args:
            rows: Maximum number of rows to return.
            options: As for :meth:`execute`, and so is ``txn``.

        Raises:
            MerganserError: What the statement raises.
        """
        return DryRun.of_statement(self._dry_rows(rows, options, txn))

    def _dry_rows(self, most: int | None, options: object, txn: object) -> list[dict[str, Any]]:
        settings, parts = self._options(options, txn), self._transport().parts()
        with self._statement(parts) as text:
            return self._transport().rows("dry_run", settings, statement=text, rows=most, parts=parts)

    def _options(self, options: object, txn: object) -> dict[str, str]:
        """Settings of the statement; on lines whose MERGE has no clause for it, among them that columns are added."""
        by_setting = self.evolves_schema and not self._transport().has_evolution_clause
        return {**write_options(options, txn), **({SQL_EVOLUTION: "true"} if by_setting else {})}

    @contextmanager
    def _statement(self, parts: Parts) -> Iterator[str]:
        """The statement, for as long as the view of its source is there."""
        if isinstance(self.source, str):
            yield self._text(_source_text(self.source), parts)
            return
        with self._transport().view(self.source) as view:
            yield self._text(view, parts)

    def with_clauses(self, *clauses: Clause) -> Merge:
        """Add clauses that are values.

        Raises:
            TypeError: One of them is not a clause.
        """
        for clause in clauses:
            if not isinstance(clause, get_args(Clause)):
                names = ", ".join(f"merganser.{one.__name__}" for one in get_args(Clause))
                raise TypeError(f"A clause is a {names}, not a {kind(clause)}")
        return replace(self, clauses=(*self.clauses, *clauses))

    def _transport(self) -> Transport:
        if self.transport is None:
            raise ValueError("This merge has no session: Table.merge begins one that has")
        return self.transport

    def _text(self, source: str, parts: Parts) -> str:
        if not self.clauses:
            raise ValueError("The merge has no clause: add one, such as .when_matched_update()")
        evolves = "WITH SCHEMA EVOLUTION " if self.evolves_schema and self._transport().has_evolution_clause else ""
        lines = [
            f"MERGE {evolves}INTO {parts.name(self.target)} AS {quoted(self.target_alias)}",
            f"USING {source} AS {quoted(self.source_alias)}",
            f"ON {self._on(parts)}",
        ]
        return "\n".join(lines + [self._clause(clause, parts) for clause in self.clauses])

    def _on(self, parts: Parts) -> str:
        if not isinstance(self.on, tuple):
            return condition_text("on", self.on, parts)
        names = [parts.name(name_text(column)) for column in self.on]
        target, source = quoted(self.target_alias), quoted(self.source_alias)
        return " AND ".join(f"{target}.{name} = {source}.{name}" for name in names)

    def _clause(self, clause: Clause, parts: Parts) -> str:
        when = "NOT MATCHED BY SOURCE" if isinstance(clause, _BY_SOURCE) else "MATCHED"
        if isinstance(clause, WhenNotMatchedInsert):
            when = "NOT MATCHED"
        condition = clause.condition
        also = "" if condition is None else f" AND {condition_text('condition', condition, parts)}"
        return f"WHEN {when}{also} THEN {self._action(clause, parts)}"

    def _action(self, clause: Clause, parts: Parts) -> str:
        if isinstance(clause, (WhenMatchedDelete, WhenNotMatchedBySourceDelete)):
            return "DELETE"
        if isinstance(clause, WhenNotMatchedInsert):
            given = self._assigned("values", clause.values, clause.except_, parts)
            if given is None:
                return "INSERT *"
            names, values = zip(*given)
            return f"INSERT ({', '.join(names)}) VALUES ({', '.join(values)})"
        except_ = clause.except_ if isinstance(clause, WhenMatchedUpdate) else ()
        given = self._assigned("set", clause.set, except_, parts)
        return "UPDATE SET *" if given is None else f"UPDATE SET {', '.join(f'{n} = {v}' for n, v in given)}"

    def _assigned(
        self, argument: str, assignments: Assignments | None, except_: Columns, parts: Parts
    ) -> list[tuple[str, str]] | None:
        """``None`` for all columns."""
        omitted = names_of("except_", except_)
        if assignments is not None:
            if omitted:
                raise ValueError(f"except_ is for clauses without {argument}, which names its columns")
            return assignments_of(argument, assignments, parts)
        if not omitted:
            return None
        known = self.table()
        columns = self._shared_columns(known)
        unknown = [name for name in omitted if name.lower() not in map(str.lower, known)]
        if unknown:
            raise ValueError(f"except_ has {unknown}, but the table's columns are {known}")
        left = {name.lower() for name in omitted}
        return [
            (parts.name(quoted(name)), f"{quoted(self.source_alias)}.{parts.name(quoted(name))}")
            for name in columns
            if name.lower() not in left
        ]

    def _shared_columns(self, table: list[str]) -> list[str]:
        """What a star assigns: columns of the source that the table has, or also the others where columns are added."""
        source = self.source
        found = source.columns if not isinstance(source, str) else self._transport().columns(_source_text(source))
        known = set(map(str.lower, table))
        return [name for name in found if self.evolves_schema or name.lower() in known]


_BY_SOURCE = (WhenNotMatchedBySourceUpdate, WhenNotMatchedBySourceDelete)


def on_columns(on: object, keys: Sequence[str]) -> Condition | tuple[str, ...]:
    """When rows of a merge match: a condition, or the columns that are equal, by default those of the record key."""
    if on is None:
        if not keys:
            raise ValueError("The table has no record key columns: on names the columns, or is a condition")
        return tuple(keys)
    if isinstance(on, str) and is_name(on) and on.lower() not in ("true", "false"):
        return (on,)
    if isinstance(on, (list, tuple)):
        if not on:
            raise ValueError("on is empty: it names the columns that are equal, or is a condition")
        return tuple(names_of("on", on))
    condition_text("on", on, Parts())
    return cast(Condition, on)


def _source_text(source: str) -> str:
    """A table or view by its name, or a query in parentheses."""
    text = source.strip().rstrip(";")
    first = text.split(None, 1)[0].upper() if text else ""
    if first in ("SELECT", "WITH", "VALUES", "FROM", "TABLE"):
        return f"({text})"
    return text
