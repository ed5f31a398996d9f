"""Services of a table: compaction, clustering, cleaning, archiving, and those in the background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, overload

from merganser._rule_options import Columns, rule_options
from merganser._shown import Results
from merganser._transport import Transport
from merganser.config import Options, merged_options
from merganser.dry_runs import ServiceDryRun
from merganser.repairs import TableRepairs
from merganser.restores import TableRestores
from merganser.service_results import (
    ArchiveResult,
    CleanResult,
    ClusteringResult,
    CompactionResult,
    RuleChange,
    ServiceStatus,
)

_LAYOUTS = ("linear", "z-order", "zorder", "hilbert")


class TableServices(TableRestores, TableRepairs):
    """What :class:`merganser.Table` does besides reading and writing."""

    _transport: Transport

    @property
    def path(self) -> str:
        """Where the table is."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Read the table's description again."""
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
        change = RuleChange.from_rows(self._transport.rows("change_rule", wire, path=self.path, dry_run=dry_run))
        self.refresh()
        return change

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
        return CompactionResult.from_rows(
            self._transport.rows("run_compaction", merged_options({}, options), path=self.path, op=op)
        )

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
        return CompactionResult.from_rows(
            self._transport.rows("run_log_compaction", merged_options({}, options), path=self.path, op=op)
        )

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
        given = {"order": columns, "order_strategy": strategy, "predicate": where}
        rows = self._transport.rows("run_clustering", merged_options({}, options), path=self.path, op=op, **given)
        return ClusteringResult.from_rows(rows)

    def purge_clustering(self, instant: str, *, options: Options | None = None) -> str | None:
        """Roll a planned clustering back, with what failed runs of it have written. No row changes.

        Returns:
            Why it was left alone, as a process is running it; ``None`` if it was rolled back.

        Raises:
            MerganserError: ``CALL_ARGUMENT_INVALID``: it is not a planned clustering.
        """
        given = {"path": self.path, "op": "purge_pending_instant", "instants": instant}
        row = self._transport.one("run_clustering", merged_options({}, options), **given)
        left: str | None = row["left_because"]
        return left

    @overload
    def clean(self, *, dry_run: Literal[True], options: Options | None = None) -> ServiceDryRun: ...
    @overload
    def clean(self, *, options: Options | None = None) -> CleanResult: ...
    def clean(self, *, dry_run: bool = False, options: Options | None = None) -> CleanResult | ServiceDryRun:
        """Delete files of older file slices that no read inside the retention needs.

        Writes do this after their commit, unless ``hoodie.clean.automatic`` is false.

        Args:
            dry_run: Change nothing, and return the files that would be deleted.
            options: Settings of this clean alone, by their ``hoodie.*`` names: ``hoodie.clean.policy``,
                ``hoodie.clean.commits.retained``, ``hoodie.clean.hours.retained``,
                ``hoodie.clean.fileversions.retained``. ``None`` uses the table's and the session's.
        """
        if dry_run:
            return self.dry_run_service("clean", options=options)
        return CleanResult.from_rows(self._transport.rows("run_clean", merged_options({}, options), path=self.path))

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
        limits = {"min_commits": min_commits, "max_commits": max_commits, "retain_commits": 0}
        return ArchiveResult.from_wire(self._transport.one("archive_commits", settings, path=self.path, **limits))

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
        wire = self._transport.rows(
            "start_services",
            merged_options({}, options),
            path=self.path,
            services=names,
            interval_seconds=interval_seconds,
        )
        return Results(ServiceStatus.from_wire(status) for status in wire)

    def stop_services(self) -> None:
        """End the table's services in the background after the work that writes have requested, and wait for it."""
        self._transport.rows("stop_services", path=self.path)

    def services(self) -> Results[ServiceStatus]:
        """Return the states of the table's services in the background of this session."""
        return Results(
            ServiceStatus.from_wire(status) for status in self._transport.rows("show_services", path=self.path)
        )
