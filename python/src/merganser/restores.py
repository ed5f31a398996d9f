"""Savepoints, restores and rollbacks of a table."""

from __future__ import annotations

from typing import Literal, overload

from merganser._arguments import HasInstant, Time, time_or_none
from merganser._shown import Results
from merganser._transport import Transport
from merganser.config import Options, merged_options
from merganser.dry_runs import ServiceDryRun
from merganser.service_results import RestoreResult, RollbackResult, Savepoint
from merganser.table_dry_runs import TableDryRuns


class TableRestores(TableDryRuns):
    """What :class:`merganser.Table` does with earlier states."""

    _transport: Transport

    @property
    def path(self) -> str:
        """Where the table is."""
        raise NotImplementedError

    @overload
    def create_savepoint(
        self, instant: Time | None = None, *, dry_run: Literal[True], options: Options | None = None
    ) -> ServiceDryRun: ...
    @overload
    def create_savepoint(
        self, instant: Time | None = None, *, user: str = "", comments: str = "", options: Options | None = None
    ) -> Savepoint: ...
    def create_savepoint(
        self,
        instant: Time | None = None,
        *,
        user: str = "",
        comments: str = "",
        dry_run: bool = False,
        options: Options | None = None,
    ) -> Savepoint | ServiceDryRun:
        """Retain the files of a write, until :meth:`delete_savepoint`: the table stays readable as of it.

        Args:
            instant: A completed write, or a time, as for :meth:`restore`; ``None`` is the newest write.
            user: Who creates it.
            comments: Why.
            dry_run: Change nothing, and return the files that would be retained.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            MerganserError: ``SAVEPOINT_INSTANT_UNKNOWN``: there was no such write; ``AS_OF_TOO_EARLY``: files of that
                time may have been cleaned.
        """
        if dry_run:
            return self.dry_run_service("savepoint", instant=instant, options=options)
        write, settings = time_or_none("instant", instant), merged_options({}, options)
        given = {"path": self.path, "commit_time": write, "user": user, "comments": comments}
        return Savepoint.from_wire(self._transport.one("create_savepoint", settings, **given))

    @overload
    def delete_savepoint(
        self, instant: str | HasInstant | None = None, *, dry_run: Literal[True], options: Options | None = None
    ) -> ServiceDryRun: ...
    @overload
    def delete_savepoint(self, instant: str | HasInstant | None = None, *, options: Options | None = None) -> None: ...
    def delete_savepoint(
        self, instant: str | HasInstant | None = None, *, dry_run: bool = False, options: Options | None = None
    ) -> ServiceDryRun | None:
        """Delete the savepoint of a write, or the newest one; the next clean may delete its files.

        Args:
            instant: The savepoint, or the requested time of its write; ``None`` is the newest savepoint.
            dry_run: Change nothing, and return the savepoint that would be deleted.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            MerganserError: ``SAVEPOINT_UNKNOWN``: there is no such savepoint; ``SAVEPOINT_NEEDED``: the writes around
                its own are archived, and that one must stay.
        """
        if dry_run:
            return self.dry_run_service("delete_savepoint", instant=instant, options=options)
        given = {"path": self.path, "instant_time": time_or_none("instant", instant)}
        self._transport.rows("delete_savepoint", merged_options({}, options), **given)
        return None

    def savepoints(self) -> Results[Savepoint]:
        """Return the completed savepoints, newest first."""
        return Results(
            Savepoint.from_wire(savepoint) for savepoint in self._transport.rows("show_savepoints", path=self.path)
        )

    @overload
    def restore(
        self,
        to: Time | None = None,
        *,
        savepoint: str | HasInstant | None = None,
        dry_run: Literal[True],
        options: Options | None = None,
    ) -> ServiceDryRun: ...
    @overload
    def restore(
        self, to: Time | None = None, *, savepoint: str | HasInstant | None = None, options: Options | None = None
    ) -> RestoreResult: ...
    def restore(
        self,
        to: Time | None = None,
        *,
        savepoint: str | HasInstant | None = None,
        dry_run: bool = False,
        options: Options | None = None,
    ) -> RestoreResult | ServiceDryRun:
        """Restore the table to a completed write: all later writes are taken back, and their files are deleted.

        Args:
            to: The write, or a time, for the last write that had completed by then. A write is an entry of
                :meth:`history`, the result that its call returned, or its instant; a time is what :meth:`df` takes as
                ``as_of``: a ``datetime``, a ``date`` (its start), or a string such as ``"2026-01-31 12:00:00"``.
                Without a time zone it is in the table's timeline zone.
            savepoint: Instead of ``to``, a savepoint, or the requested time of its write.
            dry_run: Change nothing, and return the write that the table would go back to, and what would be lost:
                writes, files, and rows as they are and become.
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
                "restore() takes a write or a time to go back to, such as table.restore('2026-01-31 12:00:00'), or "
                "savepoint=, and one of them"
            )
        write, saved = time_or_none("to", to), time_or_none("savepoint", savepoint)
        if dry_run:
            service = "restore_savepoint" if write is None else "restore"
            return self.dry_run_service(service, instant=saved if write is None else write, options=options)
        settings = merged_options({}, options)
        call, instant = ("rollback_to_savepoint", saved) if write is None else ("restore_to_instant", write)
        return RestoreResult.from_wire(self._transport.one(call, settings, path=self.path, instant_time=instant))

    @overload
    def rollback(
        self, instant: str | HasInstant | None = None, *, dry_run: Literal[True], options: Options | None = None
    ) -> ServiceDryRun: ...
    @overload
    def rollback(
        self, instant: str | HasInstant | None = None, *, options: Options | None = None
    ) -> RollbackResult: ...
    def rollback(
        self, instant: str | HasInstant | None = None, *, dry_run: bool = False, options: Options | None = None
    ) -> RollbackResult | ServiceDryRun:
        """Take back the newest completed write.

        Args:
            instant: Its result, its entry in the history, or its requested time; ``None`` is the newest, whichever it
                is.
            dry_run: Change nothing, and return what would be lost: writes, files, and rows as they are and become.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            MerganserError: ``ROLLBACK_NOT_NEWEST``: there is a later write; and what :meth:`restore` raises.
        """
        if dry_run:
            return self.dry_run_service("rollback", instant=instant, options=options)
        given = {"path": self.path, "instant_time": time_or_none("instant", instant)}
        return RollbackResult.from_wire(
            self._transport.one("rollback_to_instant", merged_options({}, options), **given)
        )
