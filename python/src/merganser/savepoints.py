"""Savepoints, restores and rollbacks of a table."""

from __future__ import annotations

from merganser._arguments import HasInstant, Time, time_or_none
from merganser._open_table import OfTable
from merganser._shown import Results
from merganser.config import Options
from merganser.service_results import RestoreResult, RollbackResult, Savepoint


class Savepoints(OfTable):
    """Earlier states of a table: ``table.savepoints``. What a call would do is shown by ``table.services.dry_run``."""

    def create(
        self, instant: Time | None = None, *, user: str = "", comments: str = "", options: Options | None = None
    ) -> Savepoint:
        """Retain the files of a write, until :meth:`delete`: the table stays readable as of it.

        Args:
            instant: A completed write, or a time, as for :meth:`restore`; ``None`` is the newest write.
            user: Who creates it.
            comments: Why.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            MerganserError: ``SAVEPOINT_INSTANT_UNKNOWN``: there was no such write; ``AS_OF_TOO_EARLY``: files of that
                time may have been cleaned.
        """
        write = time_or_none("instant", instant)
        row = self._table._row("create_savepoint", options, commit_time=write, user=user, comments=comments)
        return Savepoint.from_wire(row)

    def delete(self, instant: str | HasInstant | None = None, *, options: Options | None = None) -> None:
        """Delete the savepoint of a write, or the newest one; the next clean may delete its files.

        Args:
            instant: The savepoint, or the requested time of its write; ``None`` is the newest savepoint.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            MerganserError: ``SAVEPOINT_UNKNOWN``: there is no such savepoint; ``SAVEPOINT_NEEDED``: the writes around
                its own are archived, and that one must stay.
        """
        self._table._rows("delete_savepoint", options, instant_time=time_or_none("instant", instant))

    def list(self) -> Results[Savepoint]:
        """Return the completed savepoints, newest first."""
        return Results(map(Savepoint.from_wire, self._table._rows("show_savepoints")))

    def restore(
        self, to: Time | None = None, *, savepoint: str | HasInstant | None = None, options: Options | None = None
    ) -> RestoreResult:
        """Restore the table to a completed write: all later writes are taken back, and their files are deleted.

        Args:
            to: The write, or a time, for the last write that had completed by then. A write is an entry of
                :meth:`merganser.Table.history`, the result that its call returned, or its instant; a time is what
                :meth:`merganser.Table.df` takes as ``as_of``, such as ``"2026-01-31 12:00:00"``.
            savepoint: Instead of ``to``, a savepoint, or the requested time of its write.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            TypeError: Both of ``to`` and ``savepoint`` are given, or none.
            MerganserError: ``RESTORE_INSTANT_UNKNOWN``, ``SAVEPOINT_UNKNOWN``: there was no such write or savepoint;
                ``RESTORE_TOO_EARLY``: files of that time were cleaned; ``RESTORE_ARCHIVED``: later writes were
                archived; ``RESTORE_OF_SAVEPOINT``: a later write has a savepoint; ``RESTORE_WHILE_WRITING``: another
                process is writing. Nothing is changed then.
        """
        if (to is None) == (savepoint is None):
            raise TypeError(
                "restore() takes a write or a time to go back to, such as restore('2026-01-31 12:00:00'), or "
                "savepoint=, and one of them"
            )
        write, saved = time_or_none("to", to), time_or_none("savepoint", savepoint)
        call, instant = ("rollback_to_savepoint", saved) if write is None else ("restore_to_instant", write)
        return RestoreResult.from_wire(self._table._row(call, options, instant_time=instant))

    def rollback(self, instant: str | HasInstant | None = None, *, options: Options | None = None) -> RollbackResult:
        """Take back the newest completed write.

        Args:
            instant: Its result, its entry in the history, or its requested time; ``None`` is the newest, whichever it
                is.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            MerganserError: ``ROLLBACK_NOT_NEWEST``: there is a later write; and what :meth:`restore` raises.
        """
        write = time_or_none("instant", instant)
        return RollbackResult.from_wire(self._table._row("rollback_to_instant", options, instant_time=write))
