"""Services of a table: clustering, log compaction, archiving, upgrades, rules, and those in the background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from merganser._arguments import Columns, Time, time_or_none, utc_text
from merganser._open_table import OfTable
from merganser._rule_options import rule_options
from merganser._shown import Results
from merganser.config import Options, merged_options
from merganser.dry_runs import ServiceDryRun, ServiceStep
from merganser.service_results import ArchiveResult, ClusteringResult, CompactionResult, RuleChange, ServiceStatus

_LAYOUTS = ("linear", "z-order", "zorder", "hilbert")


class Services(OfTable):
    """Services of a table: ``table.services``. Compaction and cleaning are methods of the table."""

    def dry_run(
        self,
        service: str,
        *,
        instant: Time | None = None,
        partition: str | None = None,
        min_commits: int | None = None,
        max_commits: int | None = None,
        order_by: Columns | None = None,
        strategy: str | None = None,
        where: str | None = None,
        rows: int | None = None,
        older_than: datetime | None = None,
        options: Options | None = None,
    ) -> ServiceDryRun:
        """Return what a service, a restore or a repair would do now. Nothing is changed, and no lock is taken.

        Args:
            service: ``compaction``, ``log_compaction``, ``clustering``, ``clean``, ``archiving``, ``savepoint``,
                ``delete_savepoint``, ``restore``, ``restore_savepoint``, ``rollback``, ``rollback_failed_writes``,
                ``upgrade``, ``repair_duplicates``, ``repair_partitions``, ``repair_properties`` or
                ``remove_orphans``.
            instant: Of a savepoint, a restore or a rollback: as its own method takes it.
            partition: Of ``repair_duplicates``: path of the one partition.
            min_commits: As for :meth:`archive`, and so is ``max_commits``.
            order_by: As for :meth:`cluster`, and so are ``strategy`` and ``where``.
            rows: Of restores, rollbacks, ``repair_duplicates`` and ``upgrade``: maximum number of rows to show (20).
            older_than: Of ``remove_orphans``: files modified later stay; a time without a zone is local.
            options: Settings of the service alone, by their ``hoodie.*`` names.

        Raises:
            MerganserError: ``CALL_ARGUMENT_INVALID``: it is not a service, or has no such argument; and what the
                service raises before it changes anything.
        """
        steps = self._table._rows(
            "dry_run_service",
            options,
            service=service,
            instant=time_or_none("instant", instant),
            partition=partition,
            min_commits=min_commits,
            max_commits=max_commits,
            order=_joined(order_by),
            order_strategy=strategy,
            predicate=where,
            rows=rows,
            older_than=utc_text(older_than),
        )
        return ServiceDryRun(service, tuple(map(ServiceStep.from_wire, steps)))

    def compact_logs(self, *, schedule_only: bool = False, options: Options | None = None) -> CompactionResult | None:
        """Merge the log files of a merge-on-read table with each other, beside its base files.

        It takes file slices with at least ``hoodie.log.compaction.blocks.threshold`` (5) log blocks. Reads then merge
        one log file instead of several; no row changes.

        Args:
            schedule_only: Write only the plan, to be run by a later log compaction.
            options: Settings of this log compaction alone, by their ``hoodie.*`` names.

        Returns:
            What was compacted or planned; ``None`` if no slice has enough log blocks, or if other processes are running
            all planned log compactions.

        Raises:
            MerganserError: ``COMPACTION_OF_COPY_ON_WRITE``: the table has no logs. ``COMPACTION_BLOCKED``: a write to a
                table of version 6 is running.
        """
        return CompactionResult.from_rows(self._table._rows("run_log_compaction", options, op=operation(schedule_only)))

    def cluster(
        self,
        *,
        order_by: Columns | None = None,
        strategy: str | None = None,
        where: str | None = None,
        schedule_only: bool = False,
        options: Options | None = None,
    ) -> ClusteringResult | None:
        """Rewrite small files as fewer ones with sorted rows, so that filters read fewer files. No row changes.

        Args:
            order_by: Columns to sort by; a field inside a struct is written ``meta.id``. ``None`` uses
                ``hoodie.clustering.plan.strategy.sort.columns``; without any, files are only combined.
            strategy: ``"linear"``, ``"z-order"`` (or ``"zorder"``) or ``"hilbert"``. ``None`` uses
                ``hoodie.layout.optimize.strategy``.
            where: Condition on partition columns: only their partitions are clustered.
            schedule_only: Write only the plan, to be run by a later clustering.
            options: Settings of this clustering alone, by their ``hoodie.*`` names.

        Returns:
            What was clustered or planned, pending plans of others too; ``None`` if there was nothing to cluster, or if
            other processes are running all planned clusterings.

        Raises:
            ValueError: ``strategy`` is not one of these.
            MerganserError: ``CLUSTERING_COLUMN_UNKNOWN``, ``CLUSTERING_COLUMN_UNSUPPORTED``: of ``order_by``;
                ``CLUSTERING_PREDICATE_UNSUPPORTED``: ``where`` has other columns; ``CLUSTERING_OF_BUCKETS``: the
                table's index is BUCKET; ``CLUSTERING_CONFLICT``: another writer replaced the rows meanwhile.
        """
        if strategy is not None and strategy.lower() not in _LAYOUTS:
            raise ValueError(f"strategy is one of {', '.join(_LAYOUTS)}, not {strategy!r}")
        sorting = {"order": _joined(order_by), "order_strategy": strategy, "predicate": where}
        rows = self._table._rows("run_clustering", options, op=operation(schedule_only), **sorting)
        return ClusteringResult.from_rows(rows)

    def purge_clustering(self, instant: str, *, options: Options | None = None) -> str | None:
        """Roll a planned clustering back, with what failed runs of it have written. No row changes.

        Returns:
            Why it was left alone (a process is running it); ``None`` if it was rolled back.

        Raises:
            MerganserError: ``CALL_ARGUMENT_INVALID``: it is not a planned clustering.
        """
        row = self._table._row("run_clustering", options, op="purge_pending_instant", instants=instant)
        left: str | None = row["left_because"]
        return left

    def archive(
        self, *, min_commits: int | None = None, max_commits: int | None = None, options: Options | None = None
    ) -> ArchiveResult:
        """Move old instants from the timeline to its history, as writes do by themselves.

        Args:
            min_commits: Completed writes that stay on the timeline.
            max_commits: Completed writes on the timeline above which others are moved.
            options: Further settings by their ``hoodie.*`` names.

        Raises:
            MerganserError: ``OPTION_CONFLICT``: ``max_commits`` is not greater than ``min_commits``.
        """
        limits = {"min_commits": min_commits, "max_commits": max_commits, "retain_commits": 0}
        return ArchiveResult.from_wire(self._table._row("archive_commits", options, **limits))

    def upgrade(self) -> None:
        """Upgrade a table of version 6 or 8 to version 9: failed writes are rolled back, and logs are compacted first.

        ``dry_run("upgrade")`` shows the new properties, including the merge mode that replaces a payload class, and
        rows that the rule would then merge differently; it is not refused if pending logs are compacted first.

        Raises:
            MerganserError: ``UPGRADE_REFUSED``.
        """
        self._table._rows("upgrade_table")

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
        """Change the column rules by which later versions of the table's rows merge.

        Stored rows do not change: a compaction merges the logs by the previous rule first. Parts of the rule that are
        not named do not change either; ``last`` removes a column's function.

        Args:
            rule: As for :meth:`Table.create`, and so are ``rule_groups``, ``rule_delete`` and ``rule_retract``.
            dry_run: Only report what would be changed.
            options: Settings of the compaction, by their ``hoodie.*`` names.

        Raises:
            MerganserError: ``RULE_INVALID``: the rule is not possible. ``RULE_CHANGE_REFUSED``: a write is running, or
                the table is merged by a payload class or a merger.
        """
        named = rule_options(rule, rule_groups, rule_delete, rule_retract)
        wire = merged_options(named, options)
        change = RuleChange.from_rows(self._table._rows("change_rule", wire, dry_run=dry_run))
        self._table.refresh()
        return change

    def start(
        self,
        services: Sequence[str] | None = None,
        *,
        interval_seconds: int | None = None,
        options: Options | None = None,
    ) -> Results[ServiceStatus]:
        """Run services of this table in the background of the session, beside its writers.

        They run periodically and after each write of this session, which leaves its own services to them: it
        schedules a compaction at most. They end with the session or with :meth:`stop`, and replace those started
        before. While a clustering runs, writes that change its file groups are refused with ``COMMIT_CONFLICT``, unless
        ``hoodie.clustering.updates.strategy`` allows them.

        Args:
            services: ``"compaction"``, ``"log compaction"``, ``"clustering"``, ``"clean"``, ``"archiving"``. ``None``
                is all that apply to the table, except log compaction and clustering.
            interval_seconds: Time between their runs.
            options: Settings of the services by their ``hoodie.*`` names. ``None`` uses the table's and the session's.

        Raises:
            MerganserError: ``CALL_ARGUMENT_INVALID``: there is no such service; ``COMPACTION_OF_COPY_ON_WRITE``.
        """
        if isinstance(services, str):
            raise TypeError(f"services is a list of names, such as ['clean'], not {services!r}")
        names = None if services is None else ",".join(services)
        rows = self._table._rows("start_services", options, services=names, interval_seconds=interval_seconds)
        return Results(map(ServiceStatus.from_wire, rows))

    def stop(self) -> None:
        """End the table's services in the background after the work that writes have requested, and wait for it."""
        self._table._rows("stop_services")

    def status(self) -> Results[ServiceStatus]:
        """Return the states of the table's services in the background of this session."""
        return Results(map(ServiceStatus.from_wire, self._table._rows("show_services")))


def operation(schedule_only: bool) -> str:
    """What a planned service does: write a plan alone, or run it too."""
    return "schedule" if schedule_only else "scheduleandexecute"


def _joined(columns: Columns | None) -> str | None:
    return columns if columns is None or isinstance(columns, str) else ",".join(columns)
