"""What calls return. Sizes are in bytes, times in milliseconds, counts in rows unless stated otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from merganser._shown import Shown, shown, size
from merganser._wire import built, measured, wire
from merganser.counts import CommitCounts, Outcomes
from merganser.dry_runs import DryRun


@dataclass(frozen=True)
class _Commit(Shown):
    _below = ("dry_run",)

    instant: str
    """When it was requested, ``yyyyMMddHHmmssSSS`` in the zone of the table's timeline; identifies the commit.

    Empty if there is no commit: nothing was written and ``hoodie.allow.empty.commit`` is false, or it is a dry run.
    """
    operation: str
    """``upsert``, ``insert``, ``update``, ``merge``, …"""

    def _commit(self) -> str:
        return f"{self.operation} {self.instant or 'nothing committed'}"


@dataclass(frozen=True)
class CommitResult(CommitCounts[int], _Commit):
    """What one write changed.

    A write to a merge-on-read table appends most versions to logs without reading the stored rows. Such a version
    counts as ``appended`` and as nothing else: whether it updates, deletes or is late is known when the logs are read,
    and counted by the compaction that merges them, in :meth:`merganser.Table.history`.
    """

    files: int = field(metadata=wire("files_written"))
    """Files written."""
    rows_written: int
    bytes_written: int
    elapsed_ms: int
    warnings: tuple[str, ...] = ()
    """Warnings about this write, each a sentence. They and the following fields are also in Spark's log."""
    ignored_options: tuple[str, ...] = ()
    """Names of options that were accepted without effect, although the job may rely on their effect."""
    columns_added: tuple[str, ...] = ()
    """Columns that this write added to the table."""
    columns_widened: tuple[str, ...] = ()
    """Columns whose type this write changed, each as ``amount: int -> bigint``."""
    service_failure: str | None = None
    """The errors of services after this write (compaction, clean, archiving, Hive registration); it is committed."""
    retries: int = 0
    """How often the write was run again after a conflict, see ``hoodie.write.num.retries.on.conflict.failures``."""
    is_repetition: bool = False
    """The write's ``txn`` was committed before: nothing was written, and this is the result of that commit."""
    dry_run: DryRun | None = field(default=None, metadata=wire(of=DryRun.from_wire))
    """Of a write with ``dry_run=True``, which was not committed: what it would have done to rows. The other fields are
    those that the commit would have reported; ``instant`` is empty."""
    lateness: Mapping[str, int] | None = field(default=None, metadata=wire(of=json.loads))
    """How far behind the stored row the late-arriving versions were: keys by ``under 1 hour``, ``under 100``, ….

    Distances are those of the first ordering field. ``None`` if no version was late, and where the rule decides when
    logs are read.
    """

    def __repr__(self) -> str:
        """Show every count, and the other fields that are not empty."""
        counts = {one.name: getattr(self, one.name) for one in fields(self) if one.default is MISSING}
        shown = (f"{name}={value!r}" for name, value in {**counts, **self._notes()}.items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def _line(self) -> str:
        amount = f"{self.files} file{'' if self.files == 1 else 's'}, {size(self.bytes_written)}"
        more = "".join(f"; {name}: {shown(name, value)}" for name, value in self._notes().items())
        time = f"{self.elapsed_ms / 1000:.1f} s"
        return f"{self._commit()}: {self._not_zero(CommitCounts)}; {amount}, {time}{more}"

    def _notes(self) -> dict[str, Any]:
        """What is to be known beside the counts."""
        notes = {one.name: getattr(self, one.name) for one in fields(self) if one.default is not MISSING}
        return {name: value for name, value in notes.items() if value}


@dataclass(frozen=True)
class StatementResult(Outcomes[int], _Commit):
    """What an UPDATE, a DELETE or a MERGE changed; the row that the statement returns.

    On a merge-on-read table rows that the statement appended to logs are ``appended``; their outcome is known when the
    logs are read.
    """

    appended: int
    """Versions written to log files, deletes among them."""
    file_groups_read: int
    file_groups_written: int
    file_groups_pruned: int
    """File groups that were ruled out by partition, statistics or key range."""
    is_repetition: bool = False
    """The ``txn`` of the call was committed before: nothing was changed, and this is the result of that commit."""
    dry_run: DryRun | None = field(default=None, metadata=wire(of=DryRun.from_wire))
    """Of a statement with ``dry_run=True``, which was not committed: what it would have done to rows. The counts of
    rows are the same; ``instant`` is empty, and nothing is appended or written."""

    def _line(self) -> str:
        if self.dry_run:
            return f"{self._commit()}: dry_run: {self.dry_run}"
        groups = f"{self.file_groups_written} of {self.file_groups_read + self.file_groups_pruned} file groups written"
        more = "; is_repetition: True" if self.is_repetition else ""
        return f"{self._commit()}: {self._not_zero(Outcomes, 'appended')}; {groups}{more}"

    @classmethod
    def of_dry_run(cls, operation: str, rows: Sequence[Mapping[str, Any]]) -> StatementResult:
        """Build one from the rows of ``CALL dry_run(statement => …)``."""
        nothing = dict.fromkeys(("appended", "file_groups_read", "file_groups_written", "file_groups_pruned"), 0)
        counts = measured(rows)
        return cls.of(operation, {"instant": "", **nothing, **counts, "dry_run": counts})

    @classmethod
    def of(cls, operation: str, wire: Mapping[str, Any]) -> StatementResult:
        """Build one from the row of a statement."""
        return cls.from_wire({"operation": operation, **wire})


@dataclass(frozen=True)
class LogFile(Shown):
    """One log file of a slice."""

    name: str
    size_bytes: int = field(metadata=wire("size"))


@dataclass(frozen=True)
class FileSlice(Shown):
    """One base file (or none yet) and the log files on top of it, in commit order."""

    partition_path: str = field(metadata=wire("partition"))
    """Empty in a table without partitions."""
    file_id: str
    base_instant: str
    base_file: str | None = field(metadata=wire("data_file"))
    base_size_bytes: int = field(metadata=wire("data_file_size", empty=0))
    """0 without a base file."""
    log_files: tuple[LogFile, ...] = field(metadata=wire("delta_files", of=LogFile.from_wire))

    @property
    def log_size_bytes(self) -> int:
        """Size of all log files together."""
        return sum(log.size_bytes for log in self.log_files)


@dataclass(frozen=True)
class TableInfo:
    """Properties that a table stores."""

    name: str
    path: str
    type: str
    version: int
    record_key: tuple[str, ...] = field(metadata=wire("record_key_fields"))
    partition_by: tuple[str, ...] = field(metadata=wire("partition_fields"))
    ordering_by: tuple[str, ...] = field(metadata=wire("ordering_fields"))
    merge_mode: str
    index: str | None
    schema_json: str = field(metadata=wire("schema"))
    rule_json: str | None = field(default=None, metadata=wire("merge_rule"))

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> TableInfo:
        """Build one from the jar's JSON."""
        return built(cls, wire)
