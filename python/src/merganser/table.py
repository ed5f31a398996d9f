"""A table: one row per record key, chosen by its merge rule."""

from __future__ import annotations

from html import escape

from pyspark.sql import DataFrame

from merganser._open_table import ALL
from merganser.apply_changes import TableChanges
from merganser.config import Options, TableType
from merganser.creation import TableCreation
from merganser.history import History, HistoryEntry
from merganser.inspection import Inspection
from merganser.reads import TableReads
from merganser.repairs import Repairs
from merganser.savepoints import Savepoints
from merganser.service_results import CleanResult, CompactionResult
from merganser.services import Services, operation
from merganser.writes import TableWrites


class Table(TableCreation, TableReads, TableWrites, TableChanges):
    """A table at a path. Use :meth:`create`, :meth:`load` or a related method.

    The session may be a classic one, or a client of a Spark Connect server that runs with the jar.
    """

    @property
    def name(self) -> str:
        """Name the table stores."""
        return self._info.name

    @property
    def table_type(self) -> TableType:
        """Copy-on-write or merge-on-read."""
        return TableType(self._info.type)

    @property
    def version(self) -> int:
        """Version of the table's layout."""
        return self._info.version

    @property
    def record_key(self) -> tuple[str, ...]:
        """Columns that identify a row; empty if each inserted row gets a generated key."""
        return self._info.record_key

    @property
    def partition_by(self) -> tuple[str, ...]:
        """Columns that choose the folder of a row; empty without partitions."""
        return self._info.partition_by

    @property
    def ordering_by(self) -> tuple[str, ...]:
        """Columns whose larger value wins; empty under commit-time ordering."""
        return self._info.ordering_by

    @property
    def merge_mode(self) -> str:
        """Merge mode the table stores; a string, as tables of other engines may have modes without an enum value."""
        return self._info.merge_mode

    @property
    def rule(self) -> dict[str, str]:
        """Functions by which columns are merged, by column; ``"*"`` is all others. Empty without a rule of its own."""
        functions: dict[str, str] = self.inspect.rule().get("rule", {})
        return functions

    @property
    def index(self) -> str | None:
        """Index the table stores, or ``None`` if each write chooses it."""
        return self._info.index

    @property
    def properties(self) -> dict[str, str]:
        """What the table stores in its ``hoodie.properties``, as it is now."""
        rows = self._rows("show_table_properties", limit=ALL)
        return {row["key"]: row["value"] for row in rows}

    @property
    def services(self) -> Services:
        """Clustering, log compaction, archiving, services in the background, and dry runs of all services."""
        return Services(self)

    @property
    def savepoints(self) -> Savepoints:
        """Savepoints, restores and rollbacks."""
        return Savepoints(self)

    @property
    def repairs(self) -> Repairs:
        """Repairs of keys that are stored twice, of files and of partitions."""
        return Repairs(self)

    @property
    def inspect(self) -> Inspection:
        """Versions of a record, checks of keys, files and rules, and the settings of writes."""
        return Inspection(self)

    def history(self, limit: int | None = None, *, archived: bool = False) -> History:
        """Return what was done to the table, newest first: writes, services, savepoints, and what is pending.

        Only the timeline files of the returned actions are read. Archiving is not an action itself; actions that it
        moved have ``archived``.

        Args:
            limit: Maximum number of actions to return; ``None`` returns all.
            archived: Whether actions that were moved from the timeline to its history follow.

        Raises:
            TypeError: ``limit`` is not a number.
            ValueError: ``limit`` is negative.
        """
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
            raise TypeError(f"limit is a number of actions, or None for all, not {limit!r}")
        if limit is not None and limit < 0:
            raise ValueError(
                f"limit is a number of actions from the newest one on, 0 or more, not {limit}: history(1) has the "
                "newest alone, and history()[-1] is the oldest"
            )
        rows = self._rows("show_history", limit=ALL if limit is None else limit, archived=archived)
        return History(map(HistoryEntry.from_wire, rows))

    def compact(self, *, schedule_only: bool = False, options: Options | None = None) -> CompactionResult | None:
        """Merge the logs of a merge-on-read table into its base files.

        Args:
            schedule_only: Write only the plan, to be run by a later compaction.
            options: Settings of this compaction alone, by their ``hoodie.*`` names.

        Returns:
            What was compacted or planned; ``None`` if there was nothing to compact, or if other processes are running
            all planned compactions, which Spark's log and ``CALL run_compaction`` report.
        """
        return CompactionResult.from_rows(self._rows("run_compaction", options, op=operation(schedule_only)))

    def clean(self, *, options: Options | None = None) -> CleanResult:
        """Delete files of older file slices that no read inside the retention needs.

        Writes do this after their commit, unless ``hoodie.clean.automatic`` is false.

        Args:
            options: Settings of this clean alone, by their ``hoodie.*`` names: ``hoodie.clean.policy``,
                ``hoodie.clean.commits.retained``, ``hoodie.clean.hours.retained``,
                ``hoodie.clean.fileversions.retained``. ``None`` uses the table's and the session's.
        """
        return CleanResult.from_rows(self._rows("run_clean", options))

    def call(self, procedure: str, **arguments: str | bool | int) -> DataFrame:
        """Return the rows of a procedure of this table as a frame: ``table.call("show_commits", limit=5)``.

        Args:
            procedure: Its name; ``docs/sql.md`` lists them.
            **arguments: Its arguments, without the table.
        """
        return self._frame(procedure, **arguments)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and (self._spark, self.path) == (other._spark, other.path)

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"Table(name={self.name!r}, path={self.path!r})"

    def _repr_html_(self) -> str:
        """What the table is, as a table."""
        shown = {
            "table": self.name,
            "path": self.path,
            "type": self.table_type.value,
            "record key": ", ".join(self.record_key),
            "partitions by": ", ".join(self.partition_by),
            "ordering by": ", ".join(self.ordering_by),
            "merge mode": self.merge_mode,
            "index": self.index or "",
            "columns": ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in self.schema),
        }
        rows = "".join(f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in shown.items() if value)
        return f"<table>{rows}</table>"
