"""What must come of changes, in plain Python: group by key, fold from the oldest version to the newest.

Every merge rule that tables can store is written down here a second time, from its documentation, as a value of `Rule`.
Nothing is shared with what the tests compare with it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

Row = Mapping[str, Any]

#: Columns that every rule's table has: two values, one of them often null, and Hudi's own mark of a delete.
COMMON = "id string, v string, w string, _hoodie_is_deleted boolean"


@dataclass(frozen=True)
class Version:
    """One change: a row, a delete with an ordering value, or (`erases`) a delete without.

    `missing` are columns that the change does not provide.
    """

    key: str
    row: Row
    deletes: bool = False
    erases: bool = False
    missing: frozenset[str] = frozenset()


#: What is known of a key: nothing, or its newest version, which is a delete where only that is remembered.
State = Version | None
Batch = Sequence[Version]


@dataclass(frozen=True)
class Rule:
    """A merge rule, and how a table is configured with it.

    Attributes:
        settings: Options of every write.
        columns: Those beside `COMMON`, as Spark's DDL; the ordering fields are among them.
        change: Random values of these columns.
        order: The ordering value of a row; None where the rule compares nothing.
        by_event: Whether a version with a lower ordering value loses against what is stored.
        batch: How versions of one batch are combined before they are merged with the rest: `fold` as any others,
            `greatest` is the whole row with the greatest ordering value, `columns` what the rule makes of them, deletes
            forgotten.
        deletes_win: Whether a delete removes what is stored whatever its ordering value.
        keeps: Whether a column of the winning row gives way to the other row's.
        fills_late: Whether the winner takes such values from a late-arriving row, when they are not of one batch.
        merge: The row of two, or None for a delete, where it is a user's own.
        by_column: The row of two rows, the older one first, and whether the newer one is late, where each column is
            merged on its own; for deletes the ordering decides, and what follows one is a new row.
        on_delete: What a delete with an ordering value makes of a row: the row itself, another one, or None where it is
            removed; without it, deletes remove rows unless they are late.
        takes_back: Whether a row is a retraction, which is no delete whatever its columns have.
        alone: What is stored of a row where nothing is.
        marks: Whether a row is a delete by its columns, `_hoodie_is_deleted` apart.
    """

    name: str
    settings: Mapping[str, str]
    columns: str
    change: Callable[[random.Random], dict[str, Any]]
    order: Callable[[Row], tuple[Any, ...]]
    by_event: bool = True
    batch: Literal["fold", "greatest", "columns"] = "fold"
    deletes_win: bool = False
    keeps: Callable[[Any], bool] | None = None
    fills_late: bool = True
    merge: Callable[[Row, Row], Row | None] | None = None
    by_column: Callable[[Row, Row, bool], Row] | None = None
    on_delete: Callable[[Row, Row, bool], Row | None] | None = None
    takes_back: Callable[[Row], bool] = field(default=lambda row: False)
    alone: Callable[[Row], Row] | None = None
    marks: Callable[[Row], bool] = field(default=lambda row: False)

    @property
    def for_readers(self) -> dict[str, str]:
        """Of the settings those that readers and compactions need too: the classes of users' mergers."""
        return {key: value for key, value in self.settings.items() if key.endswith("implementation.classes")}

    def newer_wins(self, newer: Row, older: Row, *, by_event: bool) -> bool:
        return not by_event or self.order(newer) >= self.order(older)

    def filled(self, winner: Row, other: Row) -> Row:
        if self.keeps is None:
            return winner
        return {name: other[name] if self.keeps(value) else value for name, value in winner.items()}


def step(rule: Rule, state: State, version: Version, *, by_event: bool, in_batch: bool = False) -> State:
    """The state after one more version; `in_batch` while only versions of one batch have been merged."""
    if version.erases:
        return None
    if rule.by_column is not None and state is not None and state.deletes:
        state = None  # what follows a delete is a new row
    if rule.on_delete is not None and state is not None and version.deletes:
        late = not rule.newer_wins(version.row, state.row, by_event=by_event)
        left = rule.on_delete(state.row, version.row, late)
        return version if left is None else Version(version.key, left)
    if rule.by_column is not None and state is not None and not version.deletes:
        kept = {name: state.row[name] for name in version.missing}
        newer = {**version.row, **kept}
        late = not rule.newer_wins(newer, state.row, by_event=by_event)
        return Version(version.key, {**rule.by_column(state.row, newer, late), **kept})
    if version.missing:
        if state is None or state.deletes:
            return state  # nothing is there to be changed
        provided = {name: value for name, value in version.row.items() if name not in version.missing}
        version = Version(version.key, {**state.row, **provided})
    if state is None:
        if rule.alone is None or version.deletes:
            return version
        return Version(version.key, rule.alone(version.row))
    if rule.merge is not None:
        if state.deletes or version.deletes:
            return version
        merged = rule.merge(state.row, version.row)
        return Version(version.key, version.row, deletes=True) if merged is None else Version(version.key, merged)
    newer_wins = rule.newer_wins(version.row, state.row, by_event=by_event)
    if rule.deletes_win and version.deletes and not in_batch:
        newer_wins = True
    winner, other = (version, state) if newer_wins else (state, version)
    if state.deletes or version.deletes or not (newer_wins or in_batch or rule.fills_late):
        return winner
    return Version(version.key, rule.filled(winner.row, other.row))


def combined(rule: Rule, versions: Batch) -> list[Version]:
    """The versions of one key in one batch, combined before they are merged with anything older."""
    if rule.batch == "fold" or any(v.erases or v.missing for v in versions):
        return list(versions)
    state: State = None
    for version in versions:
        if state is None or rule.batch == "columns":
            state = step(rule, state, version, by_event=rule.by_event, in_batch=True)
        elif rule.newer_wins(version.row, state.row, by_event=True):
            state = version
    return [] if state is None else [state]


def fold(
    rule: Rule,
    batches: Sequence[Batch],
    *,
    tombstones: bool,
    compacted: Container[int] = (),
    merged: Mapping[int, Container[str]] = MappingProxyType({}),
) -> dict[str, Row]:
    """The rows that must be there after the batches, by key.

    Args:
        tombstones: Deletes are remembered beyond their batch, as a log does and a base file does not.
        compacted: Batches after which the logs became base files: deletes up to there are forgotten, and so are later
            ones of keys that are then not stored, as there is no file group to remember them in.
        merged: By batch, the keys whose changes were merged into a base file at once: their deletes are forgotten too.
    """
    rows = dated(rule, batches, tombstones=tombstones, compacted=compacted, merged=merged)
    return {key: row for key, (row, _) in rows.items()}


def dated(
    rule: Rule,
    batches: Sequence[Batch],
    *,
    tombstones: bool,
    compacted: Container[int] = (),
    merged: Mapping[int, Container[str]] = MappingProxyType({}),
) -> dict[str, tuple[Row, int]]:
    """The rows of :func:`fold`, each with the number of the batch that last changed it."""
    stored: dict[str, State] = {}
    changed: dict[str, int] = {}
    absent: set[str] = set()
    for i, batch in enumerate(batches):
        by_key: dict[str, list[Version]] = {}
        for version in batch:
            by_key.setdefault(version.key, []).append(version)
        for key, versions in by_key.items():
            for version in combined(rule, versions):
                before = stored.get(key)
                stored[key] = step(rule, before, version, by_event=rule.by_event)
                if changes(rule, before, version, stored[key]):
                    changed[key] = i
            state = stored.get(key)
            if state is not None and not state.deletes:
                absent.discard(key)
            elif key in absent or key in merged.get(i, ()):
                stored[key] = None
                absent.add(key)
        if not tombstones or i in compacted:
            stored = {key: None if state is None or state.deletes else state for key, state in stored.items()}
            absent = {key for key, state in stored.items() if state is None}
    live = {key: state.row for key, state in stored.items() if state is not None and not state.deletes}
    return {key: (row, changed[key]) for key, row in live.items()}


def changes(rule: Rule, before: State, version: Version, after: State) -> bool:
    """Whether a version changed what is stored: it won, or filled a column; a late one that did neither did not."""
    if after is None or before is None or before.deletes or after.deletes:
        return after is not None
    if rule.on_delete is not None and version.deletes:
        return after.row is not before.row
    return after.row != before.row or rule.newer_wins(version.row, before.row, by_event=rule.by_event)


# --- histories -------------------------------------------------------------------------------------------------


def history(rule: Rule, seed: int, batches: int, *, erasing: bool = False) -> list[list[Version]]:
    """Batches of changes; the first holds every key, so that later ones find it stored."""
    rng = random.Random(f"{rule.name} {seed}")
    keys = [f"{seed}-{i}" for i in range(rng.randint(2, 5))]
    numbers = iter(range(1_000_000))

    def change(key: str, *, live: bool = False, erases: bool = False) -> Version:
        row = {**rule.change(rng), "id": key, "v": f"{seed}.{next(numbers)}", "w": None}
        row["w"] = None if rng.random() < 0.5 else f"w{next(numbers)}"
        row["_hoodie_is_deleted"] = None
        if live:
            while rule.marks(row):
                row.update(rule.change(rng))
        elif not rule.marks(row) and not rule.takes_back(row) and rng.random() < 0.25:
            row["_hoodie_is_deleted"] = True
        return Version(key, row, deletes=rule.marks(row) or row["_hoodie_is_deleted"] is True, erases=erases)

    made = [[change(key, live=True) for key in keys]]
    for i in range(1, batches):
        if erasing and i == 2:
            made.append([change(key, live=True, erases=True) for key in rng.sample(keys, rng.randint(1, len(keys)))])
        else:
            made.append([change(rng.choice(keys)) for _ in range(rng.randint(0, len(keys) + 2))])
    return made


def together(histories: Sequence[Sequence[Batch]]) -> list[list[Version]]:
    """The histories side by side: their first batches as one, and so on."""
    return [[v for batches in histories for v in batches[i]] for i in range(len(histories[0]))]


def one_version_a_batch(batches: Sequence[Batch]) -> list[list[Version]]:
    """Every batch split, so that no key comes twice in one; deletes without a value stay by themselves."""
    single: list[list[Version]] = []
    for batch in batches:
        by_key: dict[str, list[Version]] = {}
        for version in batch:
            by_key.setdefault(version.key, []).append(version)
        longest = max((len(versions) for versions in by_key.values()), default=0)
        single += [[versions[i] for versions in by_key.values() if i < len(versions)] for i in range(longest)]
    return single
