"""What a table of the soak test must contain: a fold of its commits, in the order in which they completed.

Nothing of the product is used: commits are read from the names of the timeline's files and from the operation's id in
their contents, rows from what the writers noted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soak_driver import digest
from soak_tables import OVERWRITTEN, Row, SoakTable, first_rows

ACTIONS = ("commit", "deltacommit", "replacecommit", "restore")
COMPLETED = re.compile(rf"(\d+)_(\d+)\.({'|'.join(ACTIONS)})")
OPERATION = re.compile(rb"<([0-9]+-[0-9]+)>")

#: What a write may be refused with only because others write at the same time.
ORDINARY = (
    "COMMIT_CONFLICT",
    "COMPACTION_CONFLICT",
    "CLUSTERING_CONFLICT",
    "LOCK_TIMEOUT",
    "WRITE_COMMITTED_SERVICE_FAILED",
)

#: What a service may be refused with because others archive, clean or restore.
OF_SERVICES = (
    "PAUSED",
    "RESTORE_TOO_EARLY",
    "RESTORE_ARCHIVED",
    "RESTORE_OF_SAVEPOINT",
    "RESTORE_INSTANT_UNKNOWN",
    "SAVEPOINT_UNKNOWN",
    "SAVEPOINT_NEEDED",
)

State = dict[tuple[str, str], Row]
Note = dict[str, Any]


@dataclass(frozen=True)
class Commit:
    """A completed instant; `op` is empty for services and the first rows, `target` for all but restores."""

    requested: str
    completed: str
    op: str
    target: str = ""


Archived = tuple[str, str, str, bytes]
"""Requested time, completion time, action and content of an instant in the history."""


@dataclass
class Verdict:
    """What was found wrong, and how much was compared."""

    wrong: list[str] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)


def notes(root: Path) -> list[Note]:
    return [json.loads(line) for file in sorted(root.glob("*.jsonl")) for line in file.open()]


def commits(folder: Path, history: Iterable[Archived] = (), entries: Sequence[Note] = ()) -> list[Commit]:
    """In the order in which they completed: those of the timeline, of the history, and those that were taken back."""
    taken = folder.parent / f"taken-{folder.name}"
    files = [*(folder / ".hoodie" / "timeline").iterdir(), *(taken.iterdir() if taken.is_dir() else ())]
    named = [
        (name[1], name[2], name[3], file.read_bytes()) for file in files if (name := COMPLETED.fullmatch(file.name))
    ]
    targets = {note["instant"]: note["target"] for note in entries if note["kind"] == "restore" and "target" in note}
    found = set()
    for requested, completed, action, content in [*named, *history]:
        if action == "restore":
            found.add(Commit(requested, completed, "", targets.get(requested, "unknown")))
        elif action in ACTIONS:
            own = rb'"([0-9]+)":{"version":([0-9]+),"instant":"' + requested.encode() + b'"}'
            ops = set(OPERATION.findall(content)) | {b"-".join(each) for each in re.findall(own, content)}
            assert len(ops) <= 1, f"{requested} of {folder}: {ops}"
            found.add(Commit(requested, completed, ops.pop().decode() if ops else ""))
    return sorted(found, key=lambda commit: commit.completed)


def judge(
    table: SoakTable, folder: Path, entries: Sequence[Note], final: Iterable[Row], history: Iterable[Archived] = ()
) -> Verdict:
    """Compare a table, what its writers reported and what was read of it with the fold of its commits."""
    verdict = Verdict()
    done = commits(folder, history, entries)
    outcomes(table, done, entries, verdict)
    states = [dict(state) for state in fold(table, done, entries, verdict)]
    rows = sorted(final)
    twice = [key for key, count in Counter((r[0] if table.is_global else r[:2]) for r in rows).items() if count > 1]
    if twice:
        verdict.wrong.append(f"{table.name}: keys stored twice: {twice}")
    expected = sorted(states[-1].values())
    if rows != expected:
        lost = [row for row in expected if row not in rows]
        extra = [row for row in rows if row not in expected]
        verdict.wrong.append(f"{table.name}: lost {lost}, too many or old {extra}")
    verdict.counted["rows"] += len(rows)
    reads(table, done, states, entries, verdict)
    return verdict


def outcomes(table: SoakTable, done: Sequence[Commit], entries: Sequence[Note], verdict: Verdict) -> None:
    """Every reported success is one commit, and no reported failure is."""
    count = Counter(commit.op for commit in done if commit.op)
    verdict.wrong += [f"{table.name}: {op} is committed {n} times" for op, n in count.items() if n > 1]
    requested = {commit.op: commit.requested for commit in done}
    ended = {note["op"] for note in entries if note["op"] and note["outcome"] != "begun"}
    for note in entries:
        op, outcome = note["op"], note["outcome"]
        verdict.counted[f"{note['kind']}: {note.get('condition', outcome)}"] += outcome != "begun"
        verdict.counted["retries"] += note.get("counts", {}).get("retries", 0)
        allowed = ORDINARY if op else (*ORDINARY, *OF_SERVICES)
        if note["kind"] == "interrupted read":
            if not any(other["kind"] == "restore" and overlaps(other, note) for other in entries):
                verdict.wrong.append(f"{table.name}: a read failed beside no restore: {note['message']}")
        elif note.get("condition") == "PLANNED_SERVICE_FAILED" and "[COMPACTION_CONFLICT]" in note["message"]:
            verdict.counted[f"{note['kind']}: lost to a write"] += 1  # an overwrite replaced what it compacts
        elif outcome == "failed" or (outcome == "refused" and note["condition"] not in allowed):
            verdict.wrong.append(f"{table.name}: {note['kind']} {op} failed: {note['message']}")
        if not op:
            continue
        if table.is_non_blocking and outcome == "refused":
            verdict.wrong.append(f"{table.name}: a non-blocking write is refused: {note['message']}")
        if outcome == "begun" and op not in ended:
            verdict.wrong.append(f"{table.name}: {note['kind']} {op} has no outcome")
        if outcome == "done" and op not in count:
            verdict.wrong.append(f"{table.name}: {note['kind']} {op} was reported as done and is not committed")
        if outcome == "done" and note.get("instant", requested.get(op)) != requested.get(op):
            verdict.wrong.append(f"{table.name}: {op} is not commit {note['instant']}, but {requested.get(op)}")
        says_committed = note.get("condition") == "WRITE_COMMITTED_SERVICE_FAILED"
        if outcome in ("refused", "failed") and (op in count) != says_committed:
            verdict.wrong.append(f"{table.name}: {note['kind']} {op}: {note['message']}, committed: {op in count}")
    unknown = set(count) - {note["op"] for note in entries}
    if unknown:
        verdict.wrong.append(f"{table.name}: commits of nobody: {unknown}")


def overlaps(one: Note, other: Note) -> bool:
    return bool(one["begun"] <= other["ended"] and other["begun"] <= one["ended"])


def fold(table: SoakTable, done: Sequence[Commit], entries: Sequence[Note], verdict: Verdict) -> list[State]:
    """The state after each commit. A delete acts on the rows that were stored when it was requested."""
    by_op = {note["op"]: note for note in entries if note["op"] and note["outcome"] != "begun"}
    states: list[State] = []
    state: State = {}
    kept: list[tuple[Commit, State]] = []  # the writes that no restore has taken back, each with the rows that it knew
    for commit in done:
        if commit.target:
            if all(other.requested != commit.target for other in done):
                verdict.wrong.append(f"{table.name}: restore {commit.requested} is to no commit: {commit.target}")
            # All writes stay that were requested up to the target, also one that was completed after it.
            kept = [(other, known) for other, known in kept if other.requested <= commit.target]
            state = first()
            for other, known in kept:
                applied(table, state, by_op[other.op], known)
        elif commit.op:
            note = by_op[commit.op]
            found = [s for s, other in zip(states, done) if other.completed < commit.requested]
            kept.append((commit, found[-1] if found else {}))
            compare_counts(table, note, Counter(applied(table, state, note, kept[-1][1])), verdict)
        elif not states:
            state = first()
        states.append(dict(state))
    return states


def first() -> State:
    """The rows of a table's first commit."""
    return {(row[1], row[0]): row for row in first_rows()}


def applied(table: SoakTable, state: State, note: Note, known: State) -> list[str]:
    """Apply an operation to the state; what became of each of its rows."""
    kind, changes = note["kind"], []
    rows: list[Row] = [tuple(row) for row in note["rows"]]
    if kind == "overwrite":
        for key in [key for key in state if key[0] == OVERWRITTEN]:
            del state[key]
    for row in rows:
        key = row[1], row[0]
        if table.is_global:
            key = next((other for other in state if other[1] == row[0]), key)
        stored = state.get(key)
        if kind in ("delete", "delete own"):
            is_known = any(other[1] == row[0] for other in known) if table.is_global else key in known
            if stored and is_known:
                del state[key]
                changes.append("deleted")
        elif stored is None:
            state[key] = row
            changes.append("inserted")
        elif kind == "merge":
            state[key] = (stored[0], stored[1], stored[2], stored[3] + row[3], row[4])
            changes.append("updated")
        elif row[2] >= stored[2]:
            del state[key]
            state[row[1], row[0]] = row
            changes.append("updated")
        else:
            changes.append("late")
    return changes


def compare_counts(table: SoakTable, note: Note, changed: Counter[str], verdict: Verdict) -> None:
    """A copy-on-write table's counts are exact. Versions in logs are only counted as appended."""
    counts = note.get("counts", {})
    if note["outcome"] != "done" or note["kind"] == "merge":
        return
    verdict.counted["counts"] += 1
    found = {name: counts[name] for name in ("inserted", "updated", "late", "deleted") if counts[name]}
    is_exact = counts["appended"] == 0
    reported = sum(found.values()) + counts["appended"]
    if found != dict(changed) if is_exact else reported < sum(changed.values()):
        verdict.wrong.append(f"{table.name}: {note['kind']} {note['op']} reports {counts}, and changed {changed}")


def reads(
    table: SoakTable, done: Sequence[Commit], states: Sequence[State], entries: Sequence[Note], verdict: Verdict
) -> None:
    """Every read is the state after some commit, not older than the read before it and what was reported before it."""
    digests = [digest(list(state.values())) for state in states]
    position = {commit.op: i for i, commit in enumerate(done)}
    reported = [
        (note["ended"], position[note["op"]])
        for note in entries
        if note["op"] and note["outcome"] == "done" and note["op"] in position
    ]
    restored = {commit.requested: i for i, commit in enumerate(done) if commit.target}
    reported += [
        (note["ended"], restored[note["instant"]])
        for note in entries
        if note["kind"] == "restore" and note.get("instant") in restored
    ]
    latest = -1
    last_begun = 0.0
    for note in entries:
        if note["kind"] != "read":
            continue
        verdict.counted["reads compared"] += 1
        if note["begun"] < last_begun:
            latest = -1  # another reader's
        last_begun = note["begun"]
        least = max([latest, *(at for ended, at in reported if ended < note["begun"])], default=0)
        at = next((i for i in range(max(0, least), len(digests)) if digests[i] == note["digest"]), None)
        if at is None:
            older = note["digest"] in digests
            verdict.wrong.append(
                f"{table.name}: the read of {note['begun']}, {note['digest']}, is "
                + (f"older than commit {done[least].requested}" if older else "the state after no commit")
            )
        else:
            latest = at
