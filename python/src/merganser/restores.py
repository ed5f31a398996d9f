"""Savepoints, restores and rollbacks of a table."""

from __future__ import annotations

from typing import Literal, overload

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
        self, instant: str | None = None, *, dry_run: Literal[True], options: Options | None = None
    ) -> ServiceDryRun: ...
    @overload
    def create_savepoint(
        self, instant: str | None = None, *, user: str = "", comments: str = "", options: Options | None = None
    ) -> Savepoint: ...
    def create_savepoint(
        self,
        instant: str | None = None,
        *,
        user: str = "",
        comments: str = "",
        dry_run: bool = False,
        options: Options | None = None,
    ) -> Savepoint | ServiceDryRun:
        """Retain the files of a write, until :meth:`delete_savepoint`: the table stays readable as of it.

        Args:
            instant: Requested time of a completed write on the timeline; ``None`` is the newest.
            user: Who creates it.
            comments: Why.
            dry_run: Change nothing, and return the files that would be retained.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            MerganserError: ``SAVEPOINT_INSTANT_UNKNOWN``: there is no such write; ``AS_OF_TOO_EARLY``: files of that
                time may have been cleaned.
        """
        if dry_run:
            return self.dry_run_service("savepoint", instant=instant, options=options)
        settings = merged_options({}, options)
        return Savepoint.from_wire(self._transport.create_savepoint(self.path, instant, user, comments, settings))

    @overload
    def delete_savepoint(
        self, instant: str | None = None, *, dry_run: Literal[True], options: Options | None = None
    ) -> ServiceDryRun: ...
    @overload
    def delete_savepoint(self, instant: str | None = None, *, options: Options | None = None) -> None: ...
    def delete_savepoint(
        self, instant: str | None = None, *, dry_run: bool = False, options: Options | None = None
    ) -> ServiceDryRun | None:
        """Delete the savepoint of a write, or the newest one; the next clean may delete its files.

        Args:
            instant: Requested time of the write; ``None`` is the newest savepoint.
            dry_run: Change nothing, and return the savepoint that would be deleted.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            MerganserError: ``SAVEPOINT_UNKNOWN``: there is no such savepoint; ``SAVEPOINT_NEEDED``: the writes around
                its own are archived, and that one must stay.
        """
        if dry_run:
            return self.dry_run_service("delete_savepoint", instant=instant, options=options)
        self._transport.delete_savepoint(self.path, instant, merged_options({}, options))
        return None

    def savepoints(self) -> Results[Savepoint]:
        """Return the completed savepoints, newest first."""
        return Results(Savepoint.from_wire(savepoint) for savepoint in self._transport.savepoints(self.path))

    @overload
    def restore(
        self,
        to: str | None = None,
        *,
        savepoint: str | None = None,
        dry_run: Literal[True],
        options: Options | None = None,
    ) -> ServiceDryRun: ...
    @overload
    def restore(
        self, to: str | None = None, *, savepoint: str | None = None, options: Options | None = None
    ) -> RestoreResult: ...
    def restore(
        self,
        to: str | None = None,
        *,
        savepoint: str | None = None,
        dry_run: bool = False,
        options: Options | None = None,
    ) -> RestoreResult | ServiceDryRun:
        """Restore the table to a completed write: all later writes are taken back, and their files are deleted.

        Args:
            to: Requested time of the write, as :meth:`history` has it.
            savepoint: Instead of ``to``, the requested time of a savepoint's write.
            dry_run: Change nothing, and return what would be lost: writes, files, and rows as they are and become.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            TypeError: Both of ``to`` and ``savepoint`` are given, or none.
            MerganserError: ``RESTORE_INSTANT_UNKNOWN``, ``SAVEPOINT_UNKNOWN``: there is no such write or savepoint;
                ``RESTORE_TOO_EARLY``: files of that time were cleaned; ``RESTORE_ARCHIVED``: later writes were
                archived; ``RESTORE_OF_SAVEPOINT``: a later write has a savepoint; ``RESTORE_WHILE_WRITING``: another
                process is writing. Nothing is changed then.
        """
        if (to is None) == (savepoint is None):
            raise TypeError("restore() takes either the instant of a write, or savepoint=")
        if dry_run:
            service = "restore_savepoint" if to is None else "restore"
            return self.dry_run_service(service, instant=savepoint if to is None else to, options=options)
        settings = merged_options({}, options)
        if to is not None:
            return RestoreResult.from_wire(self._transport.restore(self.path, to, settings))
        return RestoreResult.from_wire(self._transport.restore_savepoint(self.path, savepoint, settings))

    @overload
    def rollback(
        self, instant: str | None = None, *, dry_run: Literal[True], options: Options | None = None
    ) -> ServiceDryRun: ...
    @overload
    def rollback(self, instant: str | None = None, *, options: Options | None = None) -> RollbackResult: ...
    def rollback(
        self, instant: str | None = None, *, dry_run: bool = False, options: Options | None = None
    ) -> RollbackResult | ServiceDryRun:
        """Take back the newest completed write.

        Args:
            instant: Its requested time; ``None`` is the newest, whichever it is.
            dry_run: Change nothing, and return what would be lost: writes, files, and rows as they are and become.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            MerganserError: ``ROLLBACK_NOT_NEWEST``: there is a later write; and what :meth:`restore` raises.
        """
        if dry_run:
            return self.dry_run_service("rollback", instant=instant, options=options)
        wire = self._transport.rollback(self.path, instant, merged_options({}, options))
        return RollbackResult.from_wire(wire)
