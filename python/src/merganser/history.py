"""The history of a table: what was done to it, action by action, newest first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Optional

from merganser._shown import Results, Shown, html_table
from merganser._wire import utc, wire
from merganser.counts import OF_ROWS, CommitCounts


@dataclass(frozen=True)
class _Action(Shown):
    instant: str = field(metadata=wire("instant_time"))
    """Requested time in the zone of the table's timeline; identifies the action."""
    requested_at: datetime | None = field(metadata=wire(of=utc))
    """The same in UTC; ``None`` for instants that are not times."""
    completed: str | None = field(metadata=wire("completed_time"))
    """When it was completed, in the format of ``instant``; ``None`` while it is pending, and in version 6."""
    completed_at: datetime | None = field(metadata=wire(of=utc))
    """When it was completed, in UTC; in version 6 by the modification time of its file. ``None`` while pending."""
    elapsed_ms: int | None
    """From its request to its completion; ``None`` for a savepoint and an archiving."""
    action: str
    """``commit``, ``deltacommit``, ``replacecommit``, ``clean``, ``archive``, ...; pending: ``compaction``, ..."""
    operation: str | None
    """Of a write: ``UPSERT``, ``COMPACT``, ``DELETE_PARTITION``, ..."""
    state: str
    """``REQUESTED``, ``INFLIGHT`` or ``COMPLETED``."""
    user: str | None
    """User of the Spark application; of a savepoint, who created it. ``None`` where another engine wrote."""
    application: str | None
    """Id of the Spark application."""
    engine: str | None
    """Name and version; ``None`` where another engine wrote, as these do not store theirs."""


@dataclass(frozen=True)
class HistoryEntry(CommitCounts[Optional[int]], _Action):
    """One action on a table. Counts are ``None`` where the timeline does not have them.

    A compaction counts each version of the logs once: ``late`` are those that lost to the stored row or to an earlier
    version of the logs, and ``duplicates`` those that a later one replaced, which were not compared with the stored
    row. A log compaction counts those that it leaves out in the same way, and a clustering counts nothing. For commits
    of other engines, ``inserted``, ``updated`` and ``deleted`` are what these count for each file.
    """

    files: int | None = field(metadata=wire("files_written"))
    """Base and log files written."""
    rows_written: int | None
    bytes_written: int | None
    groups_replaced: int | None
    """File groups that a write removed from the table: overwrites, deletes of partitions, clusterings."""
    files_deleted: int | None
    """Of a clean, rollback or restore."""
    bytes_deleted: int | None
    """Of a clean by Merganser."""
    partitions: int | None
    """Number of partitions in which it wrote, replaced or deleted files; of a savepoint, with files that it retains."""
    planned: int | None
    """Pending: file groups that a compaction or clustering will rewrite, files that a clean or rollback will delete."""
    comment: str | None
    """Of a savepoint; of a rollback or restore, the instants that it removed; of an archiving, the first and the last
    instant that it moved."""
    readable: bool | None
    """Of a completed write: whether the table can be read as of it. ``None`` if only a listing of files shows it."""
    archived: bool
    """Whether it was moved from the timeline to the history."""
    lateness: Mapping[str, int] | None = field(default=None, metadata=wire(of=json.loads))
    """How far behind the stored row the late-arriving versions of a write were, as in its result."""

    def _line(self) -> str:
        when = self.instant if self.requested_at is None else f"{self.requested_at:%Y-%m-%d %H:%M:%S} {self.instant}"
        parts = [when, self.operation or self.action, "" if self.state == "COMPLETED" else self.state.lower()]
        amounts = ((_AMOUNTS.get(name) or name.replace("_", " "), getattr(self, name)) for name in _COUNTS)
        parts += [f"{count} {name}" for name, count in amounts if count]
        time = "" if self.elapsed_ms is None else f"{self.elapsed_ms / 1000:.1f} s"
        ends = (time, f"by {self.user}" if self.user else "", f"({self.comment})" if self.comment else "")
        return "  ".join(filter(None, (*parts, *ends)))


class History(Results[HistoryEntry]):
    """The actions on a table, newest first. Notebooks show it as a table, ``print`` as a line for each action."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no actions"

    def _repr_html_(self) -> str:
        first = ("instant", "requested_at", "elapsed_ms", "action", "operation", "state", "user")
        return html_table((*first, *_COUNTS, "partitions", "readable", "comment"), self)


_COUNTS = (*OF_ROWS, "files", "bytes_written", "groups_replaced", "files_deleted", "bytes_deleted", "planned")
_AMOUNTS = {"files": "files written", "groups_replaced": "file groups replaced"}
