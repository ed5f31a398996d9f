"""Services of a table: compaction, clustering, cleaning, archiving, savepoints, restores and repairs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Literal, overload

from pyspark.sql import SparkSession

from merganser._rule_options import Columns, rule_options
from merganser._shown import Results
from merganser._transport import Transport, transport_for
from merganser.config import Options, merged_options
from merganser.dry_runs import ServiceDryRun, TableDryRuns
from merganser.service_results import (
    ArchiveResult,
    CleanResult,
    ClusteringResult,
    CompactionResult,
    OrphanFile,
    PartitionRepair,
    PropertyChange,
    RepairResult,
    RestoreResult,
    RollbackResult,
    RuleChange,
    Savepoint,
    ServiceStatus,
)

_LAYOUTS = ("linear", "z-order", "zorder", "hilbert")


class TableServices(TableDryRuns):
    """What :class:`merganser.Table` does besides reading and writing."""

    _transport: Transport

    @property
    def path(self) -> str:
        """Where the table is."""
        raise NotImplementedError

    def change_rule(
        self,
        rule: Mapping[str, str] | None = None,
        *,
        rule_groups: Mapping[str, Mapping[str, Columns]] | None = None,
        rule_delete: str | None = None,
        rule_retract: Mapping[str, Columns] | None = None,
        dry_run: bool = False,
        options: Options | None = None,
    ) -> RuleChange:
        """Give the table another rule of columns, by which later versions of its rows merge.

        Rows stay as they are: what logs have is merged by the rule of before, in a compaction. What is not named stays
        as it is in the rule; ``last`` takes a function from a column.

        Args:
            rule: Functions of columns, as for :meth:`Table.create`.
            rule_groups: Parts of groups of columns.
            rule_delete: What a delete does.
            rule_retract: Which rows are subtracted from sums.
            dry_run: Only report what would be changed.
            options: Settings of the compaction, by their ``hoodie.*`` names.

        Raises:
            MerganserError: ``RULE_INVALID``: the rule is not possible. ``RULE_CHANGE_REFUSED``: a write is running, or
                the table is merged by a payload class or a merger.
        """
        named = rule_options(rule, rule_groups, rule_delete, rule_retract)
        wire = merged_options(named, options)
        return RuleChange.from_wire(self._transport.rows("change_rule", wire, path=self.path, dry_run=dry_run))

    @overload
    def compact(self, *, dry_run: Literal[True], options: Options | None = None) -> ServiceDryRun: ...
    @overload
    def compact(self, *, schedule_only: bool = False, options: Options | None = None) -> CompactionResult | None: ...
    def compact(
        self, *, schedule_only: bool = False, dry_run: bool = False, options: Options | None = None
    ) -> CompactionResult | ServiceDryRun | None:
        """Merge the logs of a merge-on-read table into its base files.

        Args:
            schedule_only: Write only the plan, to be run by a later compaction.
            dry_run: Change nothing, and return what would be compacted.
            options: Settings of this compaction alone, by their ``hoodie.*`` names.

        Returns:
            What was compacted or planned; ``None`` if there was nothing to compact, or if other processes are running
            all planned compactions, which Spark's log and ``CALL run_compaction`` report.
        """
        if dry_run:
            return self.dry_run_service("compaction", options=options)
        op = "schedule" if schedule_only else "scheduleandexecute"
        return CompactionResult.from_wire(self._transport.compact(self.path, op, merged_options({}, options)))

    @overload
    def compact_logs(self, *, dry_run: Literal[True], options: Options | None = None) -> ServiceDryRun: ...
    @overload
    def compact_logs(
        self, *, schedule_only: bool = False, options: Options | None = None
    ) -> CompactionResult | None: ...
    def compact_logs(
        self, *, schedule_only: bool = False, dry_run: bool = False, options: Options | None = None
    ) -> CompactionResult | ServiceDryRun | None:
        """Merge the log files of a merge-on-read table with each other, beside its base files.

        A file slice is taken that has at least ``hoodie.log.compaction.blocks.threshold`` (5) log blocks. Reads then
        merge one log file where they merged several; no row changes.

        Args:
            schedule_only: Write only the plan, to be run by a later log compaction.
            dry_run: Change nothing, and return what would be compacted.
            options: Settings of this log compaction alone, by their ``hoodie.*`` names.

        Returns:
            What was compacted or planned; ``None`` if no slice has enough log blocks, or if other processes are running
            all planned log compactions.

        Raises:
            MerganserError: ``COMPACTION_OF_COPY_ON_WRITE``: the table has no logs. ``COMPACTION_BLOCKED``: a write to a
                table of version 6 is running.
        """
        if dry_run:
            return self.dry_run_service("log_compaction", options=options)
        op = "schedule" if schedule_only else "scheduleandexecute"
        return CompactionResult.from_wire(self._transport.compact_logs(self.path, op, merged_options({}, options)))

    @overload
    def cluster(
        self,
        *,
        order_by: Columns | None = None,
        strategy: str | None = None,
        where: str | None = None,
        dry_run: Literal[True],
        options: Options | None = None,
    ) -> ServiceDryRun: ...
    @overload
    def cluster(
        self,
        *,
        order_by: Columns | None = None,
        strategy: str | None = None,
        where: str | None = None,
        schedule_only: bool = False,
        options: Options | None = None,
    ) -> ClusteringResult | None: ...
    def cluster(
        self,
        *,
        order_by: Columns | None = None,
        strategy: str | None = None,
        where: str | None = None,
        schedule_only: bool = False,
        dry_run: bool = False,
        options: Options | None = None,
    ) -> ClusteringResult | ServiceDryRun | None:
        """Rewrite small files as fewer ones with sorted rows, so that filters read fewer files. No row changes.

        Args:
            order_by: Columns to sort by; a field inside a struct is written ``meta.id``. ``None`` uses
                ``hoodie.clustering.plan.strategy.sort.columns``; without any, files are only combined.
            strategy: ``"linear"``, ``"z-order"`` (or ``"zorder"``) or ``"hilbert"``. ``None`` uses
                ``hoodie.layout.optimize.strategy``.
            where: Condition on partition columns: only their partitions are clustered.
            schedule_only: Write only the plan, to be run by a later clustering.
            dry_run: Change nothing, and return what would be clustered.
            options: Settings of this clustering alone, by their ``hoodie.*`` names.

        Returns:
            What was clustered or planned, pending plans of others too; ``None`` if there was nothing to cluster, or if
            other processes are running all planned clusterings.

        Raises:
            ValueError: ``strategy`` is none of these.
            MerganserError: ``CLUSTERING_COLUMN_UNKNOWN``, ``CLUSTERING_COLUMN_UNSUPPORTED``: of ``order_by``;
                ``CLUSTERING_PREDICATE_UNSUPPORTED``: ``where`` has other columns; ``CLUSTERING_OF_BUCKETS``: the
                table's index is BUCKET; ``CLUSTERING_CONFLICT``: another writer replaced the rows meanwhile.
        """
        if strategy is not None and strategy.lower() not in _LAYOUTS:
            raise ValueError(f"strategy is one of {', '.join(_LAYOUTS)}, not {strategy!r}")
        if dry_run:
            return self.dry_run_service(
                "clustering", order_by=order_by, strategy=strategy, where=where, options=options
            )
        columns = order_by if order_by is None or isinstance(order_by, str) else ",".join(order_by)
        op = "schedule" if schedule_only else "scheduleandexecute"
        wire = self._transport.cluster(self.path, op, columns, strategy, where, merged_options({}, options))
        return ClusteringResult.from_wire(wire)

    def purge_clustering(self, instant: str, *, options: Options | None = None) -> str | None:
        """Roll a planned clustering back, with what failed runs of it have written. No row changes.

        Returns:
            Why it was left alone, as a process is running it; ``None`` if it was rolled back.

        Raises:
            MerganserError: ``CALL_ARGUMENT_INVALID``: it is not a planned clustering.
        """
        left = self._transport.purge_clustering(self.path, instant, merged_options({}, options))["left"]
        return left[0] if left else None

    def clean(self, *, dry_run: bool = False, options: Options | None = None) -> CleanResult:
        """Delete files of older file slices that no read inside the retention needs.

        Writes do this after their commit, unless ``hoodie.clean.automatic`` is false.

        Args:
            dry_run: Change nothing, and return the files that would be deleted.
            options: Settings of this clean alone, by their ``hoodie.*`` names: ``hoodie.clean.policy``,
                ``hoodie.clean.commits.retained``, ``hoodie.clean.hours.retained``,
                ``hoodie.clean.fileversions.retained``. ``None`` uses the table's and the session's.
        """
        return CleanResult.from_wire(self._transport.clean(self.path, dry_run, merged_options({}, options)))

    @overload
    def archive(
        self,
        *,
        min_commits: int | None = None,
        max_commits: int | None = None,
        dry_run: Literal[True],
        options: Options | None = None,
    ) -> ServiceDryRun: ...
    @overload
    def archive(
        self, *, min_commits: int | None = None, max_commits: int | None = None, options: Options | None = None
    ) -> ArchiveResult: ...
    def archive(
        self,
        *,
        min_commits: int | None = None,
        max_commits: int | None = None,
        dry_run: bool = False,
        options: Options | None = None,
    ) -> ArchiveResult | ServiceDryRun:
        """Move old instants from the timeline to its history, as writes do by themselves.

        Args:
            min_commits: Completed writes that stay on the timeline.
            max_commits: Completed writes on the timeline above which others are moved.
            dry_run: Change nothing, and return the instants that would be moved.
            options: Further settings by their ``hoodie.*`` names.

        Raises:
            MerganserError: ``OPTION_CONFLICT``: ``max_commits`` is not greater than ``min_commits``.
        """
        if dry_run:
            return self.dry_run_service("archiving", min_commits=min_commits, max_commits=max_commits, options=options)
        settings = merged_options({}, options)
        return ArchiveResult.from_wire(self._transport.archive(self.path, min_commits, max_commits, settings))

    def start_services(
        self,
        services: Sequence[str] | None = None,
        *,
        interval_seconds: int | None = None,
        options: Options | None = None,
    ) -> Results[ServiceStatus]:
        """Run services of this table in the background of the session, beside its writers.

        They run periodically and after each write of this session, which leaves them its own: it schedules a
        compaction at most. They end with the session, or by :meth:`stop_services`; those started before are replaced.
        While a clustering runs, writes that change its file groups are refused with ``COMMIT_CONFLICT``, unless
        ``hoodie.clustering.updates.strategy`` allows them.

        Args:
            services: ``"compaction"``, ``"log compaction"``, ``"clustering"``, ``"clean"``, ``"archiving"``. ``None``
                is all that apply to the table but log compaction and clustering.
            interval_seconds: Time between their runs.
            options: Settings of the services by their ``hoodie.*`` names. ``None`` uses the table's and the session's.

        Raises:
            MerganserError: ``CALL_ARGUMENT_INVALID``: there is no such service; ``COMPACTION_OF_COPY_ON_WRITE``.
        """
        if isinstance(services, str):
            raise TypeError(f"services is a list of names, such as ['clean'], not {services!r}")
        names = None if services is None else ",".join(services)
        wire = self._transport.start_services(self.path, names, interval_seconds, merged_options({}, options))
        return Results(ServiceStatus.from_wire(status) for status in wire)

    def stop_services(self) -> None:
        """End the table's services in the background after the work that writes have requested, and wait for it."""
        self._transport.stop_services(self.path)

    def services(self) -> Results[ServiceStatus]:
        """Return the states of the table's services in the background of this session."""
        return Results(ServiceStatus.from_wire(status) for status in self._transport.services(self.path))

    def create_savepoint(
        self, instant: str | None = None, *, user: str = "", comments: str = "", options: Options | None = None
    ) -> Savepoint:
        """Retain the files of a write, until :meth:`delete_savepoint`: the table stays readable as of it.

        Args:
            instant: Requested time of a completed write on the timeline; ``None`` is the newest.
            user: Who creates it.
            comments: Why.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            MerganserError: ``SAVEPOINT_INSTANT_UNKNOWN``: there is no such write; ``AS_OF_TOO_EARLY``: files of that
                time may have been cleaned.
        """
        settings = merged_options({}, options)
        return Savepoint.from_wire(self._transport.create_savepoint(self.path, instant, user, comments, settings))

    def delete_savepoint(self, instant: str | None = None, *, options: Options | None = None) -> None:
        """Delete the savepoint of a write, or the newest one; the next clean may delete its files.

        Raises:
            MerganserError: ``SAVEPOINT_UNKNOWN``: there is no such savepoint; ``SAVEPOINT_NEEDED``: the writes around
                its own are archived, and that one must stay.
        """
        self._transport.delete_savepoint(self.path, instant, merged_options({}, options))

    def savepoints(self) -> Results[Savepoint]:
        """Return the completed savepoints, newest first."""
        return Results(Savepoint.from_wire(savepoint) for savepoint in self._transport.savepoints(self.path))

    def restore(
        self,
        to: str | None = None,
        *,
        savepoint: str | None = None,
        dry_run: bool = False,
        options: Options | None = None,
    ) -> RestoreResult:
        """Restore the table to a completed write: all later writes are taken back, and their files are deleted.

        Args:
            to: Requested time of the write, as :meth:`history` has it.
            savepoint: Instead of ``to``, the requested time of a savepoint's write.
            dry_run: Change nothing, and return what would be lost.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            TypeError: Both of ``to`` and ``savepoint`` are given, or none.
            MerganserError: ``RESTORE_INSTANT_UNKNOWN``, ``SAVEPOINT_UNKNOWN``: there is no such write or savepoint;
                ``RESTORE_TOO_EARLY``: files of that time were cleaned; ``RESTORE_ARCHIVED``: later writes were
                archived; ``RESTORE_OF_SAVEPOINT``: a later write has a savepoint; ``RESTORE_WHILE_WRITING``: another
                process is writing. Nothing is changed then.
        """
        settings = merged_options({}, options)
        if (to is None) == (savepoint is None):
            raise TypeError("restore() takes either the instant of a write, or savepoint=")
        if to is not None:
            return RestoreResult.from_wire(self._transport.restore(self.path, to, dry_run, settings))
        return RestoreResult.from_wire(self._transport.restore_savepoint(self.path, savepoint, dry_run, settings))

    def rollback(
        self, instant: str | None = None, *, dry_run: bool = False, options: Options | None = None
    ) -> RollbackResult:
        """Take back the newest completed write.

        Args:
            instant: Its requested time; ``None`` is the newest, whichever it is.
            dry_run: Change nothing, and return what would be lost.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Raises:
            MerganserError: ``ROLLBACK_NOT_NEWEST``: there is a later write; and what :meth:`restore` raises.
        """
        wire = self._transport.rollback(self.path, instant, dry_run, merged_options({}, options))
        return RollbackResult.from_wire(wire)

    def repair_duplicates(
        self, partition: str | None = None, *, dry_run: bool = False, limit: int = 100, options: Options | None = None
    ) -> RepairResult:
        """Merge the rows of keys that are stored more than once into one row each, by the table's rule, in one commit.

        Under a global index a key is one in the whole table, else in its partition. In a table with buckets each key
        is in its bucket afterwards, also one that is stored once.

        Args:
            partition: Path of the one partition to repair; ``None`` is all of them.
            dry_run: Change nothing, and return copies of duplicate keys and the rows that would win.
            limit: Most of them to return.
            options: Settings by their ``hoodie.*`` names, such as ``hoodie.index.type`` of a global index, or the
                number of buckets of a table that does not store it.

        Raises:
            MerganserError: ``DUPLICATES_WITHOUT_KEYS``: the table has no record key; ``PARTITIONS_NOT_FOUND``;
                ``CONFIG_CONFLICT``: the files are no buckets.
            CommitConflictError: Another writer changed the same file groups meanwhile.
        """
        arguments: dict[str, Any] = {"path": self.path, "dry_run": dry_run}
        if partition is not None:
            arguments["duplicated_partition_path"] = partition
        if dry_run:
            arguments["limit"] = limit
        (row,) = self._transport.rows("repair_deduplicate", merged_options({}, options), **arguments)
        return RepairResult.from_wire(row)

    def remove_orphan_files(
        self,
        *,
        older_than: datetime | None = None,
        dry_run: bool = False,
        backup_path: str | os.PathLike[str] | None = None,
        options: Options | None = None,
    ) -> Results[OrphanFile]:
        """Delete data files that no commit on the timeline or in the history names.

        Files of pending instants, running writes and savepoints stay, and so do files of which nothing is known.

        Args:
            older_than: Files modified later stay; a time without a zone is local. ``None``: those of three days.
            dry_run: Delete nothing.
            backup_path: Folder outside the table to which each file is copied first, at its path in the table.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Returns:
            The files, deleted or, for a dry run, to be deleted.
        """
        arguments: dict[str, Any] = {"path": self.path, "dry_run": dry_run}
        if older_than is not None:
            arguments["older_than"] = older_than.astimezone(timezone.utc).isoformat()
        if backup_path is not None:
            arguments["backup_path"] = os.fspath(backup_path)
        rows = self._transport.rows("remove_orphan_files", merged_options({}, options), **arguments)
        return Results(OrphanFile.from_wire(row) for row in rows)

    def repair_partitions(self, *, dry_run: bool = False, options: Options | None = None) -> Results[PartitionRepair]:
        """Add missing partition metadata files to folders of which a commit names data files."""
        arguments = {"path": self.path, "dry_run": dry_run}
        rows = self._transport.rows("repair_add_partition_meta", merged_options({}, options), **arguments)
        return Results(PartitionRepair.from_wire(row) for row in rows)

    @staticmethod
    def repair_properties(
        spark: SparkSession,
        path: str | os.PathLike[str],
        *,
        properties: Options | None = None,
        dry_run: bool = False,
    ) -> Results[PropertyChange]:
        """Restore the ``hoodie.properties`` of a table, lost or damaged, and set some of them.

        They come from the file if it is intact, else from ``hoodie.properties.backup``, else from the table's commits
        and what is named. They are checked against the table's files and rows before anything is written.

        Args:
            spark: The session.
            path: Of the table, which need not be readable.
            properties: By their ``hoodie.*`` names.
            dry_run: Change nothing.

        Raises:
            MerganserError: ``PROPERTIES_CONTRADICT_DATA``: with these properties rows would be missing, or keys stored
                twice; ``PROPERTY_REQUIRED``: a property must be named, since nothing shows its value.
        """
        arguments = {"path": os.fspath(path), "dry_run": dry_run}
        rows = transport_for(spark).rows("repair_properties", merged_options({}, properties), **arguments)
        return Results(PropertyChange.from_wire(row) for row in rows)
