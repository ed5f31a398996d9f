"""What happened to the change events: which batch had them, how late they were, and which version of a row won.

It reads what the run has left behind: the files of events, Spark's checkpoints, and the records of the application.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from capture import UNAVAILABLE
from database import Database

UNAVAILABLE_BYTES = base64.b64encode(UNAVAILABLE.encode()).decode()
OUTCOMES = ("inserted", "updated", "deleted", "late", "repeated", "without a row")


@dataclass(frozen=True)
class Event:
    """A change event, in the order in which the engine wrote them."""

    file: str
    key: tuple[Any, ...]
    operation: str  # r, c, u or d
    position: tuple[int, ...]  # in the server's log: the ordering values
    committed_ms: int  # in the database, since 1970
    unchanged: tuple[str, ...]  # columns whose value is not in the event
    outcome: str  # one of OUTCOMES: what became of it, applied in this order
    reason: str


@dataclass(frozen=True)
class Batch:
    """A micro-batch, as it was applied to one table."""

    number: int
    applied_ms: float
    events: Sequence[Event]
    seconds: float | None  # None: the application was killed before Spark had reported it
    counts: dict[str, Any]  # of the application's result
    was_repeated: bool  # applied by one application and, after its end, offered again by the next

    @property
    def lags(self) -> list[float]:
        """Seconds from the commit in the database to the commit in the lake, of each event, in ascending order."""
        return sorted((self.applied_ms - event.committed_ms) / 1000 for event in self.events)

    @property
    def outcomes(self) -> Counter[str]:
        return Counter(event.outcome for event in self.events)


@dataclass
class _Stored:
    position: tuple[int, ...]
    exists: bool
    seen: set[tuple[tuple[int, ...], str]] = field(default_factory=set)


def read_events(database: Database, folder: Path, keys: Sequence[str]) -> list[Event]:
    """The events of a table, with what becomes of each one if the event with the larger position wins."""
    stored: dict[tuple[Any, ...], _Stored] = {}
    events = []
    for file in sorted(folder.glob("[!.]*.json")):  # a file with a dot was being written when the engine was killed
        for line in file.read_text(encoding="utf-8").splitlines():
            whole = json.loads(line)
            event = whole.get("payload", whole)
            row, source = event["after"] or event["before"], event["source"]
            key = tuple(row[name] for name in keys)
            operation, position = event["op"], database.position(source, event["op"])
            outcome, reason = _outcome(stored, key, operation, position, database.order)
            unchanged = tuple(name for name, value in row.items() if _is_unavailable(value))
            if unchanged and outcome == "updated":
                reason += f"; {', '.join(unchanged)} unchanged: the stored value stays"
            events.append(Event(file.name, key, operation, position, source["ts_ms"], unchanged, outcome, reason))
    return events


def shown(position: tuple[int, ...]) -> str:
    """A position as text."""
    return ":".join(map(str, position))


def _outcome(
    stored: dict[tuple[Any, ...], _Stored], key: tuple[Any, ...], operation: str, position: tuple[int, ...], order: str
) -> tuple[str, str]:
    row = stored.setdefault(key, _Stored((), False))
    if (position, operation) in row.seen:
        return "repeated", f"the same change was there before: its {order} is not larger, and its row is the same"
    row.seen.add((position, operation))
    if position < row.position:
        return "late", f"{order} {shown(position)} is smaller than {shown(row.position)}"
    existed, before = row.exists, shown(row.position)
    row.position, row.exists = position, operation != "d"
    larger = f"{order} {shown(position)} is larger than {before}"
    if operation == "d":
        return ("deleted", larger) if existed else ("without a row", "no row to delete")
    return ("updated", larger) if existed else ("inserted", "no row with this key")


def _is_unavailable(value: Any) -> bool:
    return value in (UNAVAILABLE, UNAVAILABLE_BYTES)


def batches(checkpoint: Path, records: Path, progress: Path, query: str, events: Iterable[Event]) -> list[Batch]:
    """The micro-batches of one query, in their order.

    Args:
        checkpoint: Its checkpoint.
        records: What the application wrote when it had applied a batch.
        progress: What Spark reported of all queries.
        query: Its name.
        events: Those of its source.
    """
    by_file: dict[str, list[Event]] = {}
    for event in events:
        by_file.setdefault(event.file, []).append(event)
    seconds = {
        line["batchId"]: line["durationMs"]["triggerExecution"] / 1000
        for line in _lines(progress)
        if line["name"] == query
    }
    applied: dict[int, list[dict[str, Any]]] = {}
    for line in _lines(records):
        applied.setdefault(line["batch"], []).append(line)
    files = _files_of_batches(checkpoint)
    found = []
    for number, lines in sorted(applied.items()):
        wrote = next((line for line in lines if not line["is_repetition"]), lines[0])
        own = [event for file in files.get(number, ()) for event in by_file.get(file, ())]
        repeated = any(line["is_repetition"] for line in lines)
        found.append(Batch(number, lines[0]["at_ms"], own, seconds.get(number), wrote, repeated))
    return found


def _files_of_batches(checkpoint: Path) -> dict[int, list[str]]:
    """The names of the files of each batch: the file source numbers its listings, and a batch names the last one."""
    listings: dict[int, set[str]] = {}
    for log in (checkpoint / "sources" / "0").glob("[0-9]*"):
        for line in log.read_text().splitlines()[1:]:
            entry = json.loads(line)
            listings.setdefault(entry["batchId"], set()).add(entry["path"].rsplit("/", 1)[-1])
    found, last = {}, -1
    offsets = sorted((int(file.name), file) for file in (checkpoint / "offsets").glob("[0-9]*"))
    for number, file in offsets:
        end = json.loads(file.read_text().splitlines()[-1])["logOffset"]
        found[number] = sorted(name for at in range(last + 1, end + 1) for name in listings.get(at, ()))
        last = end
    return found


def _lines(file: Path) -> list[Any]:
    """Records of a file; the last line may be cut off, by a kill."""
    found = []
    for line in file.read_text().splitlines() if file.is_file() else ():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def most_telling(events: Sequence[Event]) -> list[Event]:
    """The events of the key to which the most different things happened."""
    by_key: dict[tuple[Any, ...], list[Event]] = {}
    for event in events:
        by_key.setdefault(event.key, []).append(event)

    def score(own: list[Event]) -> tuple[int, int, int]:
        return len({one.outcome for one in own}), any(one.unchanged for one in own), -abs(len(own) - 10)

    return max(by_key.values(), key=score, default=[])
