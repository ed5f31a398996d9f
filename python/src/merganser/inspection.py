"""Questions about a table's rows and files, which change nothing."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from merganser._statements import call_of
from merganser._transport import Transport
from merganser._wire import built
from merganser.config import Options, merged_options
from merganser.explanations import RecordExplanation, RecordKey, key_argument
from merganser.rule_checks import RuleCheck, case_arguments
from merganser.table_checks import KeyCheck, MergeConfig, Setting
from merganser.verification import VerifyResult


class TableInspection:
    """What :class:`merganser.Table` shows of its rows and files."""

    _spark: SparkSession
    _transport: Transport

    @property
    def path(self) -> str:
        """Where the table is."""
        raise NotImplementedError

    def explain_record(
        self, key: RecordKey, *, partition: str | None = None, options: Options | None = None
    ) -> RecordExplanation:
        """Return the retained versions of one key, what became of each, and where its columns came from.

        Read are the file groups that can hold the key: by the partition, by its bucket, and by the ranges and Bloom
        filters of keys in the footers of base files. Versions that were cleaned are not known any more. A
        copy-on-write table has no version that lost.

        Args:
            key: The value of the one key column; a tuple of values in the order of the key columns; a dict of them,
                with the partition columns too where the search is to be limited to one partition; or the record key
                as the table stores it, such as ``"id:1,region:eu"``.
            partition: Path of the one partition to search; ``None`` is all, or the one that ``key`` determines.
            options: Settings by their ``hoodie.*`` names, such as those of the index.

        Returns:
            The versions; without any, what was searched.

        Raises:
            TypeError: ``key`` is no key.
            MerganserError: ``CALL_ARGUMENT_INVALID``: its columns are not those of the table's key.
            SliceFileMissingError: A clean removed a file meanwhile.
        """
        arguments = _explained(key, partition)
        rows = self._transport.rows("explain_record", merged_options({}, options), path=self.path, **arguments)
        return RecordExplanation.from_rows(rows)

    def explain_record_df(self, key: RecordKey, *, partition: str | None = None) -> DataFrame:
        """Return what :meth:`explain_record` returns as a data frame: a row for each version.

        Its columns are those of ``CALL explain_record``.
        """
        return self._spark.sql(*call_of("explain_record", {"path": self.path, **_explained(key, partition)}))

    def verify(
        self, sample: int | None = None, *, repair: bool = False, options: Options | None = None
    ) -> VerifyResult:
        """Look for what is wrong with the table; nothing is changed, unless ``repair`` is true.

        Files are compared with commits in the whole table. The rows of file groups are compared with their files,
        their folders, their buckets and the timeline; keys that are stored twice are searched among them; and their
        logs are merged on each path, whose rows must be the same. This is a Spark job; no rows but one key for each
        problem come to the driver.

        Args:
            sample: Most file groups whose rows are read; ``None`` is 1,000. The result has those that were.
            repair: Repair what needs no choice, partition metadata, keys in several places and uncommitted files, and
                return what is wrong then. ``detail`` of the result names what was repaired.
            options: Settings by their ``hoodie.*`` names, such as ``hoodie.index.type`` of a global index.

        Raises:
            MerganserError: ``CALL_ARGUMENT_INVALID``: ``sample`` is below 1.
        """
        arguments: dict[str, Any] = {"path": self.path}
        if repair:
            arguments["repair"] = True
        if sample is not None:
            arguments["sample"] = sample
        return VerifyResult.from_rows(self._transport.rows("verify_table", merged_options({}, options), **arguments))

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
                A law that is refuted is not relied on then, also if a merger of one's own states it.
            options: Settings by their ``hoodie.*`` names, such as the classes of mergers.

        Raises:
            MerganserError: ``CALL_ARGUMENT_INVALID``: ``cases`` is below 1; ``MERGER_UNAVAILABLE``: a class of the
                table's rule is not on the class path.
        """
        arguments: dict[str, Any] = {"path": self.path, **case_arguments(cases, seed)}
        if store:
            arguments["store"] = True
        return RuleCheck.from_rows(self._transport.rows("check_rule", merged_options({}, options), **arguments))

    def merge_config(self, *, options: Options | None = None) -> MergeConfig:
        """Return every setting that holds for writes of the table, where it is from, and what contradicts it.

        ::

            print(table.merge_config())  # what is not a default, contradictions first

        Args:
            options: Options of a write that is considered; ``None`` is a write without any.
        """
        rows = self._transport.rows("show_merge_config", merged_options({}, options), path=self.path)
        return MergeConfig(built(Setting, row) for row in rows)

    def check_keys(self, limit: int | None = None, *, options: Options | None = None) -> KeyCheck:
        """Count keys that are stored more than once, and rows without a key. Reads the key columns of all rows.

        :meth:`Table.repair_duplicates` merges the rows of such keys.

        Args:
            limit: Most of these keys to list; ``None`` is 20.
            options: Settings by their ``hoodie.*`` names, such as ``hoodie.index.type`` of a global index.

        Raises:
            MerganserError: ``DUPLICATES_WITHOUT_KEYS``: the table has no key columns.
        """
        arguments: dict[str, Any] = {"path": self.path} if limit is None else {"path": self.path, "limit": limit}
        (row,) = self._transport.rows("check_keys", merged_options({}, options), **arguments)
        return KeyCheck.from_wire(row)


def _explained(key: RecordKey, partition: str | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {"key": key_argument(key)}
    if partition is not None:
        arguments["partition"] = partition
    return arguments
