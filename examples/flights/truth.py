"""What the tables must hold, worked out by pandas alone. Nothing here knows the engine that is checked.

The rule, in words: of all messages about one flight the one with the latest ``event_time`` counts, of equal ones
the one received last, and when that one is a delete the flight is not in the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class BatchOutcome:
    """What one batch does to the table. Every received message is counted exactly once."""

    batch: int
    inserted: int  # rows of flights the table did not hold
    updated: int  # rows replaced by a newer version, ties included
    late: int  # messages that lost to the stored row
    deleted: int  # stored rows removed
    duplicates: int  # messages that lost to another message of the same batch
    void: int  # deletes of flights the table did not hold


@dataclass(frozen=True)
class Version:
    """One message about one flight, and what became of it."""

    batch: int
    position: int  # in its batch, from 0
    ordering: pd.Timestamp
    values: Mapping[str, Any]  # the whole row
    outcome: str  # inserted, updated, deleted, late, duplicate or void, as counted in BatchOutcome
    reason: str  # why it won or lost, a sentence
    current: bool  # the row that the table holds at the end


def latest(messages: pd.DataFrame, *, key: Sequence[str], ordering: str, deleted: str) -> pd.DataFrame:
    """Return the rows the table must hold: the latest message of each key, unless that is a delete.

    Args:
        messages: Every message, in the order received.
        key: Columns that name a row.
        ordering: Column whose larger value wins; among equal values the message received last.
        deleted: Boolean column that marks a delete.
    """
    in_order = messages.sort_values(ordering, kind="stable")
    last = in_order.drop_duplicates(list(key), keep="last")
    return last[~last[deleted].astype(bool)].reset_index(drop=True)


def replay(
    batches: Iterable[pd.DataFrame], *, key: Sequence[str], ordering: str, deleted: str
) -> tuple[pd.DataFrame, list[BatchOutcome]]:
    """Merge batch by batch into a table that forgets a delete once it is applied, as copy-on-write does.

    The rows equal those of :func:`latest` unless a message with a lower ordering value comes in with a later batch
    than the delete of its key; that message is inserted here.

    Returns:
        The rows at the end, and the outcome of every batch.
    """
    names = list(key)
    stored: pd.DataFrame | None = None
    outcomes = []
    for number, batch in enumerate(batches, start=1):
        winners = batch.sort_values(ordering, kind="stable").drop_duplicates(names, keep="last")
        if stored is None:
            stored = winners.iloc[:0]
        before = winners[names].merge(stored[[*names, ordering]], on=names, how="left")[ordering]
        before.index = winners.index
        known = before.notna()
        wins = ~known | (winners[ordering] >= before)
        gone = winners[deleted].astype(bool)
        outcomes.append(
            BatchOutcome(
                batch=number,
                inserted=int((~known & ~gone).sum()),
                updated=int((known & wins & ~gone).sum()),
                late=int((~wins).sum()),
                deleted=int((known & wins & gone).sum()),
                duplicates=len(batch) - len(winners),
                void=int((~known & gone).sum()),
            )
        )
        merged = pd.concat([stored, winners[wins]]).drop_duplicates(names, keep="last")
        stored = merged[~merged[deleted].astype(bool)]
    if stored is None:
        raise ValueError("no batch to replay")
    return stored.reset_index(drop=True), outcomes


def differences(expected: pd.DataFrame, actual: pd.DataFrame, *, key: Sequence[str]) -> pd.DataFrame:
    """Return one row for each cell or row that is not the same in both frames; empty when they are equal.

    The columns are the key, ``column`` (empty when the whole row is on one side only, or there twice), ``expected``
    and ``actual``. Two nulls are equal. All columns of ``expected`` are compared.

    Raises:
        ValueError: The frames do not have the same columns.
    """
    names = list(key)
    if set(expected.columns) != set(actual.columns):
        odd = sorted(set(expected.columns) ^ set(actual.columns))
        raise ValueError(f"the tables have different columns: {', '.join(map(str, odd))} on one side only")
    found: list[pd.DataFrame] = []

    def note(rows: pd.DataFrame, column: str, want: Any, have: Any) -> None:
        if len(rows):
            found.append(rows[names].assign(column=column, expected=want, actual=have).astype(object))

    twice = actual.duplicated(names)
    note(actual[twice], "", "one row", "one more row")
    both = expected.merge(actual[~twice], on=names, how="outer", suffixes=("", "__actual"), indicator="__side")
    note(both[both["__side"] == "left_only"], "", "a row", "no row")
    note(both[both["__side"] == "right_only"], "", "no row", "a row")
    both = both[both["__side"] == "both"]
    for column in expected.columns:
        if column in names:
            continue
        want, have = both[column], both[f"{column}__actual"]
        same = (want == have).fillna(False).astype(bool) | (want.isna() & have.isna())
        note(both[~same], column, want[~same].astype(object), have[~same].astype(object))
    if not found:
        return pd.DataFrame(columns=[*names, "column", "expected", "actual"])
    return pd.concat(found, ignore_index=True)


def lateness(batches: Iterable[pd.DataFrame], *, key: Sequence[str], ordering: str, received: str) -> pd.DataFrame:
    """Return one row for each message that came in after a later one about the same flight.

    Copies do not count as late. The columns are the key, ``days`` (from the event to its receipt) and
    ``against_stored`` (whether an earlier batch had brought the later message; else both came in the same batch).
    """
    names = list(key)
    columns = [*names, ordering, received]
    parts = [batch[columns].assign(batch=number) for number, batch in enumerate(batches, start=1)]
    messages = pd.concat(parts, ignore_index=True)
    messages["newest"] = messages.groupby(names)[ordering].cummax()
    late = messages[messages["newest"] > messages[ordering]]
    # What earlier batches brought: the newest of each flight and batch, as of its last message there.
    ends = messages.drop_duplicates([*names, "batch"], keep="last")[[*names, "batch", "newest"]]
    pairs = late.reset_index().merge(ends, on=names, suffixes=("", "_end"))
    stored = pairs[(pairs["batch_end"] < pairs["batch"]) & (pairs["newest_end"] > pairs[ordering])]["index"]
    days = (late[received] - late[ordering]).dt.total_seconds() / 86_400
    return late[names].assign(days=days, against_stored=late.index.isin(stored)).reset_index(drop=True)


def explain(batches: Iterable[pd.DataFrame], one: Mapping[str, Any], *, ordering: str, deleted: str) -> list[Version]:
    """Tell the story of one key: every message about it in the order received, and why it won or lost.

    Args:
        batches: Every batch, in order.
        one: The key, by column.
        ordering: Column whose larger value wins; among equal values the message received last.
        deleted: Boolean column that marks a delete.
    """
    versions: list[Version] = []
    stored: int | None = None  # index in versions
    for number, batch in enumerate(batches, start=1):
        mine = pd.Series(True, index=batch.index)
        for column, value in one.items():
            mine &= batch[column] == value
        if not mine.any():
            continue
        positions = mine.to_numpy().nonzero()[0]
        rows = [{str(name): value for name, value in batch.iloc[position].items()} for position in positions]
        best = max(range(len(rows)), key=lambda i: (rows[i][ordering], i))
        before = versions[stored] if stored is not None else None
        for i, (position, row) in enumerate(zip(positions, rows)):
            if i != best:
                outcome, reason = "duplicate", _lost_in_batch(row[ordering], rows[best][ordering])
            else:
                outcome, reason = _against_stored(row[ordering], bool(row[deleted]), before)
            if i == best and outcome in ("inserted", "updated"):
                stored = len(versions)
            elif i == best and outcome == "deleted":
                stored = None
            versions.append(Version(number, int(position), row[ordering], row, outcome, reason, current=False))
    return [
        Version(v.batch, v.position, v.ordering, v.values, v.outcome, v.reason, current=index == stored)
        for index, v in enumerate(versions)
    ]


def _lost_in_batch(mine: pd.Timestamp, best: pd.Timestamp) -> str:
    if mine == best:
        return "Lost to a copy of itself that stands later in the same batch."
    return f"Lost inside its batch to the message of {_text(best)}."


def _against_stored(mine: pd.Timestamp, gone: bool, before: Version | None) -> tuple[str, str]:
    if before is None:
        if gone:
            return "void", "Won its batch, but there was no stored row to delete."
        return "inserted", "Won: the table held no row for this key."
    if mine < before.ordering:
        return "late", f"Lost: the stored row is from {_text(before.ordering)}, which is later."
    what = "deleted" if gone else "updated"
    if mine == before.ordering:
        return what, "Won a tie: equal to the stored row, and of equal versions the newer one is kept."
    return what, f"Won: later than the stored row, which was from {_text(before.ordering)}."


def _text(moment: pd.Timestamp) -> str:
    return str(moment.strftime("%Y-%m-%d %H:%M:%S"))
