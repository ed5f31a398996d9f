"""What calls of services return. Sizes are in bytes, times in milliseconds, counts in rows, unless noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from merganser._shown import Shown
from merganser._wire import built, utc, wire

_Run = TypeVar("_Run", bound="_Planned")


class _Planned(Shown):
    """Services that run plans."""

    @classmethod
    def from_rows(cls: type[_Run], rows: Sequence[Mapping[str, Any]]) -> _Run | None:
        """Build one from the rows of the call, the first of which has the sums; ``None`` when nothing was done."""
        done = [row for row in rows if row["left_because"] is None]
        left = [f"{row['timestamp']}: {row['left_because']}" for row in rows if row["left_because"] is not None]
        return built(cls, {**done[0], "instants": [row["timestamp"] for row in done], "left": left}) if done else None


@dataclass(frozen=True)
class CompactionResult(_Planned):
    """The plan or the result of a compaction or log compaction. One that is only scheduled has written nothing yet."""

    instant: str = field(metadata=wire("timestamp"))
    files: int = field(metadata=wire("operation_size", empty=0))
    """Base files written; log files, by a log compaction."""
    rows_written: int = field(metadata=wire(empty=0))
    bytes_written: int = field(metadata=wire(empty=0))
    log_files_compacted: int = field(metadata=wire(empty=0))
    elapsed_ms: int = field(metadata=wire(empty=0))
    left: tuple[str, ...] = ()
    """Planned compactions that another process is running and that were skipped: instant and reason of each."""


@dataclass(frozen=True)
class ClusteringResult(_Planned):
    """The plan or the result of clusterings. One that is only scheduled has written nothing yet."""

    instants: tuple[str, ...]
    """Those run, or the one scheduled."""
    file_groups_replaced: int = field(metadata=wire("files_replaced", empty=0))
    """File groups whose rows are in other ones now."""
    files: int = field(metadata=wire("files_written", empty=0))
    """Base files written."""
    rows_written: int = field(metadata=wire(empty=0))
    bytes_written: int = field(metadata=wire(empty=0))
    elapsed_ms: int = field(metadata=wire(empty=0))
    left: tuple[str, ...] = ()
    """Planned clusterings that were not run, as another process runs them or their rows have changed: instant and
    reason of each."""


@dataclass(frozen=True)
class ServiceStatus(Shown):
    """The state of a service of a table in the background of the session."""

    service: str
    """``compaction``, ``log compaction``, ``clustering``, ``clean`` or ``archiving``."""
    state: str
    """``idle``, ``running``, ``waiting`` (for another process) or ``failed`` (the last run did; it is repeated)."""
    interval_seconds: int | None
    """Time between its runs; ``None`` if it runs after writes only."""
    runs: int
    failures: int
    """Runs that failed since the last one that succeeded."""
    last_run: datetime | None = field(metadata=wire(of=utc))
    """When its last run ended, in UTC."""
    last_instant: str | None
    """The newest instant that it completed."""
    waits_for: str | None
    """Why some of the work could not be done yet."""
    last_error: str | None
    """Of the last run that failed; it remains after a success."""


@dataclass(frozen=True)
class CleanResult(Shown):
    """What cleans deleted: pending cleans that were run first, and the new one."""

    instants: tuple[str, ...]
    """Of the cleans, oldest first; empty if there was nothing to clean."""
    files_deleted: int
    bytes_deleted: int
    partitions_deleted: tuple[str, ...]
    """Paths of the partitions whose folders were removed, as nothing was left in them."""
    earliest_retained: str | None
    """The oldest commit whose rows can be read as of; ``None`` where file versions are counted or nothing is due."""
    elapsed_ms: int

    @classmethod
    def from_rows(cls, wire: Sequence[Mapping[str, Any]]) -> CleanResult:
        """Build one from the rows of the call."""
        return cls(
            instants=tuple(clean["start_clean_time"] for clean in wire if clean["start_clean_time"] is not None),
            files_deleted=sum(clean["total_files_deleted"] for clean in wire),
            bytes_deleted=sum(clean["total_bytes_deleted"] for clean in wire),
            partitions_deleted=tuple(path for clean in wire for path in clean["partitions_deleted"]),
            earliest_retained=wire[-1]["earliest_commit_to_retain"] if wire else None,
            elapsed_ms=sum(clean["time_taken_in_millis"] or 0 for clean in wire),
        )


@dataclass(frozen=True)
class ArchiveResult(Shown):
    """What one archiving moved from the timeline to its history."""

    instants: int = field(metadata=wire("instants_archived"))
    """Instants moved, of writes and services."""
    first: str | None = field(metadata=wire("first_instant"))
    """The oldest of them."""
    last: str | None = field(metadata=wire("last_instant"))
    """The newest of them."""
    remaining: int = field(metadata=wire("commits_remaining"))
    """Completed writes on the timeline."""
    elapsed_ms: int


@dataclass(frozen=True)
class Savepoint(Shown):
    """A write whose files cleans retain, so that the table stays readable as of it."""

    instant: str = field(metadata=wire("savepoint_time"))
    """Requested time of the write."""
    created_by: str = field(metadata=wire("savepointed_by"))
    created_at: datetime = field(metadata=wire("savepointed_at", of=utc))
    """In UTC."""
    comments: str
    files: int
    """Base files and logs that it retains."""


@dataclass(frozen=True)
class TakenBack(Shown):
    """A write, or a planned compaction or clustering, that a restore or a rollback takes back."""

    instant: str
    """Its requested time."""
    action: str
    state: str
    """``COMPLETED``, or for what was only planned ``REQUESTED`` or ``INFLIGHT``."""
    operation: str | None
    """Such as ``UPSERT``; ``None`` for what was only planned."""
    rows_inserted: int
    """Rows of new keys, as the commit counts them per file; 0 for services, which change no row."""
    rows_updated: int
    rows_deleted: int


@dataclass(frozen=True)
class RestoredFile(Shown):
    """A data file that a restore or a rollback deletes."""

    path: str
    """Below the table's folder."""
    size_bytes: int = field(metadata=wire("size"))


@dataclass(frozen=True)
class RestoreResult(Shown):
    """What a restore took back."""

    instant: str | None
    """Requested time of the restore; ``None`` if there was nothing to take back."""
    newest_commit: str | None
    """Requested time of the newest write that stays; ``None`` if none does."""
    taken_back: tuple[TakenBack, ...] = field(metadata=wire(of=TakenBack.from_wire))
    """The newest first."""
    files: tuple[RestoredFile, ...] = field(metadata=wire(of=RestoredFile.from_wire))
    """The data files that are deleted."""
    file_groups_visible: tuple[str, ...]
    """File groups that overwrites had replaced and that are visible again: partition path and file id."""
    elapsed_ms: int = field(metadata=wire("time_taken_in_millis"))

    @property
    def bytes_deleted(self) -> int:
        """Size of the deleted files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def commits_lost(self) -> int:
        """Completed writes and services that are taken back."""
        return sum(taken.operation is not None for taken in self.taken_back)


@dataclass(frozen=True)
class RollbackResult(RestoreResult):
    """What a rollback of the newest write took back."""


@dataclass(frozen=True)
class RuleChange(Shown):
    """What a change of the merge rule changed, or what a dry run would change."""

    options: dict[str, tuple[str | None, str | None]]
    """Options of the rule that differ, each with its value before and after; ``None`` where it has none."""
    file_slices_compacted: int
    """Those whose logs were merged by the previous rule."""

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> RuleChange:
        """Build one from the rows of the call."""
        compacted = rows[0]["file_slices_compacted"] if rows else 0
        return cls({row["option"]: (row["before"], row["after"]) for row in rows}, compacted)


@dataclass(frozen=True)
class RepairResult(Shown):
    """What a repair of duplicates changed."""

    instant: str | None
    """The commit; ``None`` if no key was stored more than once."""
    keys: int
    """Keys that were stored more than once, or outside of their bucket."""
    rows: int
    """Rows of these keys; all but one of each key are gone."""
    files_written: int = field(metadata=wire(empty=0))
    bytes_written: int = field(metadata=wire(empty=0))
    elapsed_ms: int = field(metadata=wire(empty=0))


@dataclass(frozen=True)
class OrphanFile(Shown):
    """A data file that no commit names."""

    path: str = field(metadata=wire("orphan_file_location"))
    """Whole."""
    size_bytes: int = field(metadata=wire("size_in_bytes"))
    modified_at: datetime = field(metadata=wire("last_modified", of=utc))
    """In UTC."""
    instant: str
    """In its name."""
    reason: str


@dataclass(frozen=True)
class PartitionRepair(Shown):
    """A folder with data files or partition metadata."""

    path: str = field(metadata=wire("partition_path"))
    """Below the table's folder."""
    has_metadata: bool = field(metadata=wire("metadata_is_present", of="Yes".__eq__))
    """Whether it had ``.hoodie_partition_metadata``; without it the folder is not a partition."""
    repaired: bool = field(metadata=wire("action", of="Repaired".__eq__))
    """Whether it got one."""


@dataclass(frozen=True)
class PropertyChange(Shown):
    """A property of a table before and after a repair; ``None`` where it is not there."""

    key: str = field(metadata=wire("property"))
    before: str | None = field(metadata=wire("old_value"))
    after: str | None = field(metadata=wire("new_value"))
