"""What statements must make of a table, in plain Python, from docs/sql.md and docs/merge-semantics.md.

Nothing is shared with what the tests hold against it. What the documents leave open is `Undecided`, not guessed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Union

from statements import (
    COLUMNS,
    Clause,
    Compact,
    Delete,
    Insert,
    Merge,
    Own,
    Row,
    Scope,
    Shape,
    Source,
    Statement,
)


class Refused(Exception):
    """The statement must fail with one of these conditions, and change nothing."""


class Undecided(Exception):
    """The documents do not define what the statement makes of the table."""


@dataclass(frozen=True)
class Version:
    """A row with all columns, an update of some columns (`partial`), or a delete (no values). `at`: its arrival.

    `order`: the ordering value of a delete; None if it is unconditional.
    """

    values: Row | None
    partial: bool = False
    at: int | None = None
    order: tuple[Any, ...] | None = None


#: Arrival of a delete by NOT MATCHED BY SOURCE.
LACKING = -1

Counts = dict[str, int]


class Table(dict[tuple[Any, ...], Row]):
    """Rows by what they are known by; `deleted` are the ordering values of deletes that a log may still have."""

    def __init__(
        self,
        rows: Mapping[tuple[Any, ...], Row] | None = None,
        deleted: Mapping[tuple[Any, ...], tuple[Any, ...]] | None = None,
    ) -> None:
        super().__init__(rows or {})
        self.deleted = dict(deleted or {})

    def add(self, shape: Shape, row: Row) -> None:
        """A row whose key is not stored.

        Raises:
            Undecided: It is late after a delete, which one type of table remembers and the other does not.
        """
        identity = shape.identity(row)
        assert identity not in self
        if identity in self.deleted and shape.order(row) < self.deleted.pop(identity):
            raise Undecided("a late row after a delete")
        self[identity] = row


def after(shape: Shape, table: Table, statement: Statement) -> tuple[Table, Counts | None]:
    """The table after the statement, and the counts of the statement; None where those are open.

    Raises:
        Refused: It must fail.
        Undecided: The documents leave open what it does.
    """
    if isinstance(statement, Compact):
        return table, None
    if isinstance(statement, Insert):
        return inserted(shape, table, statement), None
    versions: dict[tuple[Any, ...], list[Version]] = {}
    rows = list(table.values())
    if isinstance(statement, Merge):
        versions = merged(shape, table, statement)
    else:
        for identity, row in table.items():
            scope = Scope(row, None, rows)
            if statement.where is None or statement.where.value(scope) is True:
                if isinstance(statement, Delete):
                    made = Version(None)
                else:
                    made = updated(shape, row, {c: e.value(scope) for c, e in statement.values.items()})
                versions[identity] = [made]
    counts: Counts | None = dict.fromkeys(("inserted", "updated", "deleted", "late", "ties"), 0)
    result = Table(table, table.deleted)
    moved: list[Row] = []
    for identity, found in versions.items():
        stored = table.get(identity)
        row, order = folded(shape, stored, found)
        if counts is not None and len(found) == 1 and (found[0].partial or found[0].values is None or stored is None):
            count(shape, counts, stored, found[0], row)
        else:
            counts = None
        result.pop(identity, None)
        if row is not None:
            moved.append(row)
        elif order is not None:
            result.deleted[identity] = order
    for row in moved:
        result.add(shape, row)
    return result, counts


def count(shape: Shape, counts: Counts, stored: Row | None, version: Version, row: Row | None) -> None:
    if stored is None:
        counts["inserted"] += row is not None
    elif row is stored:
        counts["late"] += 1
    elif version.values is None:
        counts["deleted"] += 1
    else:
        counts["updated"] += 1
        counts["ties"] += bool(shape.ordering) and row is not None and shape.order(row) == shape.order(stored)


#: A row, or None and the ordering value of the delete that removed it, if it has one.
Folded = tuple[Union[Row, None], Union[tuple[Any, ...], None]]


def folded(shape: Shape, stored: Row | None, versions: Sequence[Version]) -> Folded:
    """The stored row and then each version in order of arrival; where that is not known, in every order.

    A delete of a row that the source lacks comes first: what the source inserts under its key is a new row.
    """
    if all(version.at is not None for version in versions):
        return fold(shape, stored, sorted(versions, key=lambda version: version.at or 0))
    first = [version for version in versions if version.at == LACKING]
    rest = [version for version in versions if version.at != LACKING]
    one, *others = [fold(shape, stored, [*first, *each]) for each in itertools.permutations(rest)]
    if any(other != one for other in others):
        raise Undecided("the order of versions")
    return one


def fold(shape: Shape, stored: Row | None, versions: Sequence[Version]) -> Folded:
    row, gone = stored, None
    if shape.fills and stored is not None and (len(versions) > 1 or (not versions[0].partial and versions[0].values)):
        raise Undecided("rows that fill others, in a statement")
    for version in versions:
        order = version.order if version.values is None else None
        if version.values is not None:
            if version.partial and row is None:
                raise Undecided("an update of a row that the statement has deleted")
            newer = {**row, **version.values} if version.partial and row is not None else version.values
            order = shape.order(newer)
        if order is not None and (
            (row is not None and order < shape.order(row)) or (gone is not None and order < gone)
        ):
            if shape.fills:
                raise Undecided("a late row that fills another, in a statement")
        elif version.values is None:
            row, gone = None, order
        else:
            row, gone = newer, None
    return row, gone


def updated(shape: Shape, row: Row, values: Row, at: int | None = None) -> Version:
    for column in shape.fixed:
        if column in values and values[column] != row[column]:
            raise Refused("KEY_COLUMN_CHANGED")
    return Version(values, partial=True, at=at)


def new_row(shape: Shape, values: Row) -> dict[str, Any]:
    row = {name: values.get(name) for name in COLUMNS}
    if all(row[name] is None for name in shape.key):
        raise Refused("NULL_RECORD_KEY")
    return row


def inserted(shape: Shape, table: Table, statement: Insert) -> Table:
    rows = [new_row(shape, row) for row in statement.source.rows]
    identities = [shape.identity(row) for row in rows]
    stored = [identity in table for identity in identities]
    if statement.policy == "fail" and any(stored):
        raise Refused("DUPLICATE_KEY")
    if statement.policy == "drop":
        rows = [row for row, known in zip(rows, stored) if not known]
    elif statement.operation != "upsert" and not shape.merging_inserts and any(stored):
        raise Undecided("a key stored twice")
    if statement.operation != "upsert" and len(set(identities)) < len(identities) and not shape.merging_inserts:
        raise Undecided("a key stored twice")
    result = Table(table, table.deleted)
    for row in rows:
        known = result.get(shape.identity(row))
        newer = known is None or shape.order(row) >= shape.order(known)
        winner, other = (row, known) if newer or known is None else (known, row)
        if shape.fills and other is not None:
            winner = {name: other[name] if value is None else value for name, value in winner.items()}
            if identities.count(shape.identity(row)) > 1:
                raise Undecided("rows of one batch that fill each other and the stored row")
        if known is None:
            result.add(shape, row)
        result[shape.identity(row)] = winner
    return result


def merged(shape: Shape, table: Table, merge: Merge) -> dict[tuple[Any, ...], list[Version]]:
    """The versions that the clauses make, by the row they are of."""
    rows = list(table.values())
    source = merge.source.of(rows)
    matches = {
        identity: [at for at, s in enumerate(source) if merge.on(Scope(row, s, rows))]
        for identity, row in table.items()
    }
    lone = sorted(set(range(len(source))) - {at for found in matches.values() for at in found})
    equated = {column for column, _, _ in merge.equal}
    by_key = equated.issuperset(shape.key)
    one_row = by_key and (not shape.partitioned or "p" in equated)
    fails = merge.settings.get("spark.merganser.sql.duplicates") == "fail"

    matched = merge.of("MATCHED")
    if (not by_key or fails) and any(len(found) > 1 for found in matches.values()):
        if not matched or (len(matched) == 1 and matched[0].then == "DELETE" and matched[0].condition is None):
            raise Undecided("a row matched twice by nothing, or by deletes")
        raise Refused("MERGE_CARDINALITY_VIOLATION")
    if by_key and not one_row and shape.whole_table and any(len(found) > 1 for found in matches.values()):
        raise Undecided("several source rows of a key of the whole table, in no partition")

    versions: dict[tuple[Any, ...], list[Version]] = {}

    def add(identity: tuple[Any, ...], version: Version) -> None:
        versions.setdefault(identity, []).append(version)

    ordered_deletes = orders_deletes(shape, merge)

    ordered = by_key and isinstance(merge.source, Source)
    for identity, found in matches.items():
        chosen = latest(shape, merge, source, found) if one_row else found
        for at in chosen:
            made = clause_row(shape, matched, Scope(table[identity], source[at], rows), at if ordered else None)
            if made is not None and made.values is None and ordered_deletes:
                made = replace(made, order=shape.order(source[at]))
            if made is not None:
                add(identity, made)
        if not found:
            made = clause_row(shape, merge.of("NOT MATCHED BY SOURCE"), Scope(table[identity], None, rows), None)
            if made is not None:
                add(identity, made if made.partial else Version(None, at=LACKING))

    def insert(chosen: Iterable[int]) -> list[tuple[tuple[Any, ...], Version]]:
        made = []
        for at in chosen:
            version = clause_row(shape, merge.of("NOT MATCHED"), Scope(None, source[at], rows), at if ordered else None)
            if version is not None and version.values is not None:
                identity = shape.identity(version.values)
                if identity in table and any(name not in version_columns(merge, source[at]) for name in shape.ordering):
                    raise Undecided("an insert without ordering column that meets a stored row")
                made.append((identity, version))
        return made

    chosen = lone
    if fails:
        keys = [tuple(source[at][name] for name in shape.key) for at in lone]
        if len(set(keys)) < len(keys):
            raise Undecided("several new source rows of a key, where duplicates fail")
    elif one_row and inserts_what_on_names(shape, merge):
        chosen, seen = [], {}
        for at in range(len(source)):
            named = [
                value
                for column, value, _ in merge.equal
                if column in shape.key or (shape.partitioned and column == "p")
            ]
            of = tuple(value.value(Scope(None, source[at], rows)) for value in named)
            seen.setdefault(of, []).append(at)
        for of, group in seen.items():
            new = [at for at in group if at in lone]
            if None in of and len(group) > 1:
                raise Undecided("several source rows with a null in the key")
            if new and len(new) < len(group) and insert(new):
                raise Undecided("source rows of one key of which only some are matched")
            chosen += latest(shape, merge, source, new)
    for identity, version in insert(chosen):
        add(identity, version)
    return versions


def inserts_what_on_names(shape: Shape, merge: Merge) -> bool:
    """Whether new rows get the keys by which ON looked for them: only then ON decides which of them are one row."""
    named = {column: value.sql for column, value, _ in merge.equal if column in (*shape.key, "p")}
    return all(
        (f"s.{column}" if clause.values is None else clause.values[column].sql if column in clause.values else None)
        == text
        for clause in merge.of("NOT MATCHED")
        for column, text in named.items()
    )


def version_columns(merge: Merge, source: Row) -> set[str]:
    names: set[str] = set()
    for clause in merge.of("NOT MATCHED"):
        names |= set(source if clause.values is None else clause.values)
    return names


def orders_deletes(shape: Shape, merge: Merge) -> bool:
    """Whether deletes have the source's ordering value: where the source has one for each ordering field."""
    if not shape.ordering or not any(clause.then == "DELETE" for clause in merge.of("MATCHED")):
        return False
    require_straight(shape, merge)
    return all(name in merge.source.columns for name in shape.ordering)


def require_straight(shape: Shape, merge: Merge) -> None:
    """The ordering values of source rows are the columns of these names."""
    for clause in merge.clauses:
        for name in shape.ordering:
            assigned = (clause.values or {}).get(name)
            if assigned is not None and assigned.sql not in (f"s.{name}", f"t.{name}"):
                raise Undecided("source rows whose ordering value is computed")


def latest(shape: Shape, merge: Merge, source: Sequence[Row], found: Sequence[int]) -> list[int]:
    """Of several source rows the one that the rule leaves: the greatest by the ordering columns, then the last."""
    if len(found) < 2:
        return list(found)
    if shape.fills:
        raise Undecided("source rows that fill each other")
    require_straight(shape, merge)
    names = [name for name in shape.ordering if name in merge.source.columns]
    if names and len(names) < len(shape.ordering):
        raise Undecided("a source with some of the ordering columns")
    orders = [shape.order(source[at], names) for at in found]
    if isinstance(merge.source, Own) and orders.count(max(orders)) > 1:
        raise Undecided("source rows that tie, and whose order is unspecified")
    return [max(found, key=lambda at: (shape.order(source[at], names), at))]


def clause_row(shape: Shape, clauses: Sequence[Clause], scope: Scope, at: int | None) -> Version | None:
    """What the first clause that applies makes of the rows; None if there is none."""
    for clause in clauses:
        if clause.applies(scope):
            if clause.then == "DELETE":
                return Version(None, at=at)
            if clause.then == "INSERT":
                return Version(new_row(shape, clause.assigned(scope)), at=at)
            assert scope.t is not None
            return updated(shape, scope.t, clause.assigned(scope), at)
    return None
