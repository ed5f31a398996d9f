"""Repairs of a table: duplicate keys, orphan files, partition metadata, properties."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import Any, Literal, overload

from pyspark.sql import SparkSession

from merganser._shown import Results
from merganser._transport import Transport, transport_for
from merganser.config import Options, merged_options
from merganser.dry_runs import ServiceDryRun, ServiceStep
from merganser.service_results import OrphanFile, PartitionRepair, PropertyChange, RepairResult
from merganser.table_dry_runs import TableDryRuns


class TableRepairs(TableDryRuns):
    """What :class:`merganser.Table` repairs."""

    _transport: Transport

    @property
    def path(self) -> str:
        """Where the table is."""
        raise NotImplementedError

    @overload
    def repair_duplicates(
        self, partition: str | None = None, *, dry_run: Literal[True], rows: int = 20, options: Options | None = None
    ) -> ServiceDryRun: ...
    @overload
    def repair_duplicates(self, partition: str | None = None, *, options: Options | None = None) -> RepairResult: ...
    def repair_duplicates(
        self, partition: str | None = None, *, dry_run: bool = False, rows: int = 20, options: Options | None = None
    ) -> RepairResult | ServiceDryRun:
        """Merge the rows of keys that are stored more than once into one row each, by the table's rule, in one commit.

        Under a global index a key is one in the whole table, else in its partition. In a table with buckets each key
        is in its bucket afterwards, also one that is stored once.

        Args:
            partition: Path of the one partition to repair; ``None`` is all of them.
            dry_run: Change nothing, and return copies of duplicate keys and the rows that would win.
            rows: Most of them to return.
            options: Settings by their ``hoodie.*`` names, such as ``hoodie.index.type`` of a global index, or the
                number of buckets of a table that does not store it.

        Raises:
            MerganserError: ``DUPLICATES_WITHOUT_KEYS``: the table has no record key; ``PARTITIONS_NOT_FOUND``;
                ``CONFIG_CONFLICT``: the files are no buckets.
            CommitConflictError: Another writer changed the same file groups meanwhile.
        """
        if dry_run:
            return self.dry_run_service("repair_duplicates", partition=partition, rows=rows, options=options)
        arguments: dict[str, Any] = {"path": self.path, "dry_run": False}
        if partition is not None:
            arguments["duplicated_partition_path"] = partition
        (row,) = self._transport.rows("repair_deduplicate", merged_options({}, options), **arguments)
        return RepairResult.from_wire(row)

    @overload
    def remove_orphan_files(
        self, *, older_than: datetime | None = None, dry_run: Literal[True], options: Options | None = None
    ) -> ServiceDryRun: ...
    @overload
    def remove_orphan_files(
        self,
        *,
        older_than: datetime | None = None,
        backup_path: str | os.PathLike[str] | None = None,
        options: Options | None = None,
    ) -> Results[OrphanFile]: ...
    def remove_orphan_files(
        self,
        *,
        older_than: datetime | None = None,
        dry_run: bool = False,
        backup_path: str | os.PathLike[str] | None = None,
        options: Options | None = None,
    ) -> Results[OrphanFile] | ServiceDryRun:
        """Delete data files that no commit on the timeline or in the history names.

        Files of pending instants, running writes and savepoints stay, and so do files of which nothing is known.

        Args:
            older_than: Files modified later stay; a time without a zone is local. ``None``: those of three days.
            dry_run: Delete nothing, and return the files that would be deleted.
            backup_path: Folder outside the table to which each file is copied first, at its path in the table.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Returns:
            The deleted files.
        """
        if dry_run:
            return self.dry_run_service("remove_orphans", older_than=older_than, options=options)
        arguments: dict[str, Any] = {"path": self.path}
        if older_than is not None:
            arguments["older_than"] = older_than.astimezone(timezone.utc).isoformat()
        if backup_path is not None:
            arguments["backup_path"] = os.fspath(backup_path)
        rows = self._transport.rows("remove_orphan_files", merged_options({}, options), **arguments)
        return Results(OrphanFile.from_wire(row) for row in rows)

    @overload
    def repair_partitions(self, *, dry_run: Literal[True], options: Options | None = None) -> ServiceDryRun: ...
    @overload
    def repair_partitions(self, *, options: Options | None = None) -> Results[PartitionRepair]: ...
    def repair_partitions(
        self, *, dry_run: bool = False, options: Options | None = None
    ) -> Results[PartitionRepair] | ServiceDryRun:
        """Add missing partition metadata files to folders of which a commit names data files.

        Args:
            dry_run: Change nothing, and return the files that would be added.
            options: Settings by their ``hoodie.*`` names.
        """
        if dry_run:
            return self.dry_run_service("repair_partitions", options=options)
        arguments = {"path": self.path, "dry_run": False}
        rows = self._transport.rows("repair_add_partition_meta", merged_options({}, options), **arguments)
        return Results(PartitionRepair.from_wire(row) for row in rows)

    @overload
    @staticmethod
    def repair_properties(
        spark: SparkSession,
        path: str | os.PathLike[str],
        *,
        properties: Options | None = None,
        dry_run: Literal[True],
    ) -> ServiceDryRun: ...
    @overload
    @staticmethod
    def repair_properties(
        spark: SparkSession, path: str | os.PathLike[str], *, properties: Options | None = None
    ) -> Results[PropertyChange]: ...
    @staticmethod
    def repair_properties(
        spark: SparkSession,
        path: str | os.PathLike[str],
        *,
        properties: Options | None = None,
        dry_run: bool = False,
    ) -> Results[PropertyChange] | ServiceDryRun:
        """Restore the ``hoodie.properties`` of a table, lost or damaged, and set some of them.

        They come from the file if it is intact, else from ``hoodie.properties.backup``, else from the table's commits
        and what is named. They are checked against the table's files and rows before anything is written.

        Args:
            spark: The session.
            path: Of the table, which need not be readable.
            properties: By their ``hoodie.*`` names.
            dry_run: Change nothing, and return the properties that would be set.

        Raises:
            MerganserError: ``PROPERTIES_CONTRADICT_DATA``: with these properties rows would be missing, or keys stored
                twice; ``PROPERTY_REQUIRED``: a property must be named, since nothing shows its value.
        """
        arguments = {"path": os.fspath(path), "dry_run": dry_run}
        rows = transport_for(spark).rows("repair_properties", merged_options({}, properties), **arguments)
        changes = Results(PropertyChange.from_wire(row) for row in rows)
        if not dry_run:
            return changes
        steps = (ServiceStep("set", change.key, None, 0, 0, "", change.before, change.after) for change in changes)
        return ServiceDryRun("repair_properties", tuple(step for step in steps if step.before != step.after))
