"""Dry runs of services, and comparisons of rules, as methods of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from merganser._arguments import Time, time_or_none
from merganser._transport import Transport
from merganser.config import MergeMode, Options, merged_options
from merganser.dry_runs import RuleComparison, ServiceDryRun, ServiceStep


class TableDryRuns:
    """The dry runs of :class:`merganser.Table`."""

    _transport: Transport

    @property
    def path(self) -> str:
        """Where the table is."""
        raise NotImplementedError

    def dry_run_service(
        self,
        service: str,
        *,
        instant: Time | None = None,
        partition: str | None = None,
        min_commits: int | None = None,
        max_commits: int | None = None,
        order_by: str | Sequence[str] | None = None,
        strategy: str | None = None,
        where: str | None = None,
        rows: int | None = None,
        older_than: datetime | None = None,
        options: Options | None = None,
    ) -> ServiceDryRun:
        """Return what a service would do now. Nothing is changed, and no lock is taken.

        Args:
            service: ``compaction``, ``log_compaction``, ``clustering``, ``clean``, ``archiving``, ``savepoint``,
                ``delete_savepoint``, ``restore``, ``restore_savepoint``, ``rollback``, ``rollback_failed_writes``,
                ``upgrade``, ``repair_duplicates``, ``repair_partitions``, ``repair_properties`` or
                ``remove_orphans``.
            instant: Of a savepoint, a restore or a rollback: as its own method takes it.
            partition: Of ``repair_duplicates``: path of the one partition.
            min_commits: Of ``archiving``: completed writes that stay.
            max_commits: Of ``archiving``: completed writes above which others are moved.
            order_by: Of ``clustering``: columns to sort by.
            strategy: Of ``clustering``: ``linear``, ``z-order`` or ``hilbert``.
            where: Of ``clustering``: condition on partition columns.
            rows: Of restores, rollbacks, ``repair_duplicates`` and ``upgrade``: most rows to show; 20 by default.
            older_than: Of ``remove_orphans``: files modified later stay; a time without a zone is local.
            options: Settings of the service alone, by their ``hoodie.*`` names.

        Raises:
            MerganserError: ``CALL_ARGUMENT_INVALID``: it is no service, or has no such argument; and what the service
                raises before it changes anything.
        """
        columns = order_by if order_by is None or isinstance(order_by, str) else ",".join(order_by)
        given = {
            "instant": time_or_none("instant", instant),
            "partition": partition,
            "min_commits": min_commits,
            "max_commits": max_commits,
            "order": columns,
            "order_strategy": strategy,
            "predicate": where,
            "rows": rows,
            "older_than": None if older_than is None else older_than.astimezone(timezone.utc).isoformat(),
        }
        named = {name: value for name, value in given.items() if value is not None}
        steps = self._transport.rows(
            "dry_run_service", merged_options({}, options), path=self.path, service=service, **named
        )
        return ServiceDryRun(service, tuple(map(ServiceStep.from_wire, steps)))

    def upgrade(self, *, dry_run: bool = False) -> ServiceDryRun | None:
        """Upgrade a table of version 6 or 8 to version 9: failed writes are rolled back, and logs are compacted first.

        Args:
            dry_run: Change nothing, and return what would be done: the properties as they become, among them the
                merge mode of a payload class, and rows that the rule merges otherwise then.

        Raises:
            MerganserError: ``UPGRADE_REFUSED``; for a dry run not, where what is pending is compacted first.
        """
        if dry_run:
            return self.dry_run_service("upgrade")
        self._transport.rows("upgrade_table", path=self.path)
        return None

    def compare_rule(
        self,
        rule: Mapping[str, str] | None = None,
        *,
        ordering_by: str | Sequence[str] | None = None,
        merge_mode: MergeMode | None = None,
        settings: Options | None = None,
        rows: int = 20,
        options: Options | None = None,
    ) -> RuleComparison:
        """Return the rows that another merge rule would have made of the versions that the table retains.

        Args:
            rule: How each column of two versions becomes one value, as for :meth:`Table.create`; also a rule that is
                written in Python.
            ordering_by: Column or columns whose larger value wins; ``None``: those of the table.
            merge_mode: Which of two versions wins; by default it follows from the other arguments.
            settings: Further settings of a table with the rule, such as a payload class or a merger class.
            rows: Most rows to return.
            options: Settings of the call, such as ``hoodie.write.record.merge.custom.implementation.classes`` for the
                table's own rule.

        Raises:
            MerganserError: What the creation of a table with the rule raises.
        """
        from merganser.frames import rule_settings

        own = rule_settings((), rule, ordering_by, merge_mode, settings)
        own.pop("hoodie.datasource.write.recordkey.field", None)
        return RuleComparison.from_rows(
            self._transport.rows("compare_rule", merged_options({}, options), path=self.path, rule=own, rows=rows)
        )
