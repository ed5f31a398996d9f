"""Questions about a table's rows and files, which change nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from merganser._open_table import ALL, OfTable
from merganser._shown import Results
from merganser.config import MergeMode, Options
from merganser.creation import settings_of
from merganser.dry_runs import RuleComparison
from merganser.explanations import RecordExplanation, RecordKey, key_argument
from merganser.results import FileSlice
from merganser.rule_checks import RuleCheck
from merganser.table_checks import KeyCheck, MergeConfig, Setting
from merganser.verification import VerifyResult


class Inspection(OfTable):
    """Questions about a table: ``table.inspect``."""

    def rule(self) -> dict[str, Any]:
        """Return the rule as the arguments of :meth:`merganser.Table.create` that give another table the same rule.

        They are ``rule``, ``rule_groups``, ``rule_delete`` and ``rule_retract``; those are absent that are as without
        them, and all of them for a table without a rule of columns.
        """
        text = self._table._info.rule_json
        if text is None:
            return {}
        stored = json.loads(text)
        parts = {f"rule_{part}": stored[part] for part in ("groups", "delete", "retract") if stored.get(part)}
        return {"rule": {**stored["columns"], "*": stored["default"]}, **parts}

    def file_slices(self) -> Results[FileSlice]:
        """Return the latest file slice of every file group."""
        return Results(map(FileSlice.from_wire, self._table._rows("show_fsview_latest", limit=ALL)))

    def partitions(self) -> list[str]:
        """Return the paths of the partitions that have files, such as ``day=2026-01-31``; none without partitions."""
        return sorted({one.partition_path for one in self.file_slices()} - {""})

    def explain(
        self, key: RecordKey, *, partition: str | None = None, options: Options | None = None
    ) -> RecordExplanation:
        """Return the retained versions of one key, what happened to each, and where its columns came from.

        It reads only the file groups that can contain the key, by its partition, its bucket, and the key ranges and
        Bloom filters in the footers of base files. Versions that were cleaned are no longer known. A copy-on-write
        table has no version that lost.

        Args:
            key: The value of the one key column; a tuple of values in the order of the key columns; a dict of them,
                with the partition columns too, to limit the search to one partition; or the record key
                as the table stores it, such as ``"id:1,region:eu"``.
            partition: Path of the one partition to search; ``None`` is all, or the one that ``key`` determines.
            options: Settings by their ``hoodie.*`` names, such as those of the index.

        Returns:
            The versions; without any, what was searched.

        Raises:
            TypeError: ``key`` is not a key.
            MerganserError: ``CALL_ARGUMENT_INVALID``: its columns are not those of the table's key.
            SliceFileMissingError: A clean removed a file meanwhile.
        """
        rows = self._table._rows("explain_record", options, key=key_argument(key), partition=partition)
        return RecordExplanation.from_rows(rows)

    def explain_df(self, key: RecordKey, *, partition: str | None = None) -> DataFrame:
        """Return what :meth:`explain` returns as a data frame: a row for each version.

        Its columns are those of ``CALL explain_record``.
        """
        where = {} if partition is None else {"partition": partition}
        return self._table._frame("explain_record", key=key_argument(key), **where)

    def verify(
        self, sample: int | None = None, *, repair: bool = False, options: Options | None = None
    ) -> VerifyResult:
        """Look for what is wrong with the table; nothing is changed, unless ``repair`` is true.

        Files are compared with commits in the whole table. The rows of file groups are compared with their files,
        their folders, their buckets and the timeline; keys that are stored twice are searched among them; and their
        logs are merged on each path, whose rows must be the same. This is a Spark job; no rows but one key for each
        problem come to the driver.

        Args:
            sample: Maximum number of file groups whose rows are read; ``None`` is 1,000. The result counts them.
            repair: Repair what needs no choice, partition metadata, keys in several places and uncommitted files, and
                return what is wrong then. ``detail`` of the result names what was repaired.
            options: Settings by their ``hoodie.*`` names, such as ``hoodie.index.type`` of a global index.

        Raises:
            MerganserError: ``CALL_ARGUMENT_INVALID``: ``sample`` is below 1.
        """
        rows = self._table._rows("verify_table", options, sample=sample, repair=repair or None)
        return VerifyResult.from_rows(rows)

    def check_rule(
        self,
        *,
        cases: int | None = None,
        seed: int | None = None,
        store: bool = False,
        options: Options | None = None,
    ) -> RuleCheck:
        """Check the laws of the table's merge rule on random versions of a row. Rows stay as they are.

        Half of the values are those of up to 200 rows of the table, which come to the driver.

        Args:
            cases: How many cases to try for each law; ``None`` is 1,000.
            seed: The same cases are tried for the same seed and rows; ``None`` is 0.
            store: Keep what is found beside the rule, in the table's properties, where :meth:`merge_config` shows it.
                A refuted law is then not relied on, even if a user's merger states it.
            options: Settings by their ``hoodie.*`` names, such as the classes of mergers.

        Raises:
            MerganserError: ``CALL_ARGUMENT_INVALID``: ``cases`` is below 1; ``MERGER_UNAVAILABLE``: a class of the
                table's rule is not on the class path.
        """
        rows = self._table._rows("check_rule", options, cases=cases, seed=seed, store=store or None)
        return RuleCheck.from_rows(rows)

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
            rule: As for :meth:`merganser.Table.create`.
            ordering_by: Column or columns whose larger value wins; ``None``: those of the table.
            merge_mode: Which of two versions wins; by default it follows from the other arguments.
            settings: Further settings of a table with the rule, such as a payload class or a merger class.
            rows: Maximum number of rows to return.
            options: Settings of the call, such as ``hoodie.write.record.merge.custom.implementation.classes`` for the
                table's own rule.

        Raises:
            MerganserError: What the creation of a table with the rule raises.
        """
        own = settings_of(settings, rule=rule, ordering_by=ordering_by, merge_mode=merge_mode)
        return RuleComparison.from_rows(self._table._rows("compare_rule", options, rule=own, rows=rows))

    def merge_config(self, *, options: Options | None = None) -> MergeConfig:
        """Return every setting for writes of the table, where it comes from, and what contradicts it.

        ::

            print(table.inspect.merge_config())  # what is not a default, contradictions first

        Args:
            options: Options of the write to consider; ``None`` is a write without options.
        """
        rows = self._table._rows("show_merge_config", options)
        return MergeConfig(map(Setting.from_wire, rows))

    def check_keys(self, limit: int | None = None, *, options: Options | None = None) -> KeyCheck:
        """Count keys that are stored more than once, and rows without a key. Reads the key columns of all rows.

        :meth:`merganser.repairs.Repairs.merge_duplicates` merges the rows of such keys.

        Args:
            limit: Maximum number of such keys to list; ``None`` is 20.
            options: Settings by their ``hoodie.*`` names, such as ``hoodie.index.type`` of a global index.

        Raises:
            MerganserError: ``DUPLICATES_WITHOUT_KEYS``: the table has no key columns.
        """
        return KeyCheck.from_wire(self._table._row("check_keys", options, limit=limit))
