"""Repairs of a table: duplicate keys, orphan files, partition metadata, properties."""

from __future__ import annotations

import os
from datetime import datetime

from pyspark.sql import SparkSession

from merganser._arguments import utc_text
from merganser._open_table import OfTable
from merganser._shown import Results
from merganser._transport import transport_for
from merganser.config import Options
from merganser.service_results import OrphanFile, PartitionRepair, PropertyChange, RepairResult


class Repairs(OfTable):
    """Repairs of a table: ``table.repairs``. What a call would do is shown by ``table.services.dry_run``."""

    def merge_duplicates(self, partition: str | None = None, *, options: Options | None = None) -> RepairResult:
        """Merge the rows of keys that are stored more than once into one row each, by the table's rule, in one commit.

        Under a global index a key is unique in the whole table, otherwise in its partition. In a table with buckets
        each key is in its bucket afterwards, even if it was stored only once.

        Args:
            partition: Path of the one partition to repair; ``None`` is all of them.
            options: Settings by their ``hoodie.*`` names, such as ``hoodie.index.type`` of a global index, or the
                number of buckets of a table that does not store it.

        Raises:
            MerganserError: ``DUPLICATES_WITHOUT_KEYS``: the table has no record key; ``PARTITIONS_NOT_FOUND``;
                ``CONFIG_CONFLICT``: the files are not buckets.
            CommitConflictError: Another writer changed the same file groups meanwhile.
        """
        arguments = {"dry_run": False, "duplicated_partition_path": partition}
        return RepairResult.from_wire(self._table._row("repair_deduplicate", options, **arguments))

    def remove_orphan_files(
        self,
        *,
        older_than: datetime | None = None,
        backup_path: str | os.PathLike[str] | None = None,
        options: Options | None = None,
    ) -> Results[OrphanFile]:
        """Delete data files that no commit on the timeline or in the history names.

        Files of pending instants, running writes and savepoints stay, and so do files of unknown origin.

        Args:
            older_than: Files modified later stay; a time without a zone is local. ``None``: those of three days.
            backup_path: Folder outside the table to which each file is copied first, at its path in the table.
            options: Settings by their ``hoodie.*`` names, such as those of the lock.

        Returns:
            The deleted files.
        """
        folder = None if backup_path is None else os.fspath(backup_path)
        arguments = {"older_than": utc_text(older_than), "backup_path": folder}
        return Results(map(OrphanFile.from_wire, self._table._rows("remove_orphan_files", options, **arguments)))

    def add_partition_metadata(self, *, options: Options | None = None) -> Results[PartitionRepair]:
        """Add missing partition metadata files to folders of which a commit names data files.

        Args:
            options: Settings by their ``hoodie.*`` names.
        """
        rows = self._table._rows("repair_add_partition_meta", options, dry_run=False)
        return Results(map(PartitionRepair.from_wire, rows))


def repair_properties(
    spark: SparkSession,
    path: str | os.PathLike[str],
    *,
    properties: Options | None = None,
    dry_run: bool = False,
) -> Results[PropertyChange]:
    """Restore the ``hoodie.properties`` of a table, lost or damaged, and set some of them.

    They come from the file if it is intact, else from ``hoodie.properties.backup``, else from the table's commits
    and ``properties``. They are checked against the table's files and rows before anything is written.

    Args:
        spark: The session.
        path: Of the table, which need not be readable.
        properties: By their ``hoodie.*`` names.
        dry_run: Set nothing, and return what would be set.

    Returns:
        The properties, before and after.

    Raises:
        MerganserError: ``PROPERTIES_CONTRADICT_DATA``: with these properties rows would be missing, or keys stored
            twice; ``PROPERTY_REQUIRED``: a property must be given, because its value cannot be determined.
    """
    rows = transport_for(spark).rows("repair_properties", properties, path=os.fspath(path), dry_run=dry_run)
    return Results(map(PropertyChange.from_wire, rows))
