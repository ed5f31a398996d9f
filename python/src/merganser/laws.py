"""Checks of a merge rule's laws, without a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from merganser._arguments import columns_of
from merganser._transport import transport_for
from merganser.config import MergeMode, Options
from merganser.frames import rule_settings
from merganser.rule_checks import RuleCheck


def check_rule(
    spark: SparkSession,
    schema: StructType | str,
    keys: str | Sequence[str],
    rule: Mapping[str, str] | None = None,
    *,
    ordering_by: str | Sequence[str] | None = None,
    merge_mode: MergeMode | None = None,
    options: Options | None = None,
    cases: int | None = None,
    seed: int | None = None,
) -> RuleCheck:
    """Check the laws of a merge rule on random versions of a row; there is no table.

    Args:
        spark: A session with the jar.
        schema: Columns of the rows.
        keys: Column or columns that identify a row.
        rule: How each column of two versions becomes one value, as for :meth:`Table.create`.
        ordering_by: Column or columns whose larger value wins, compared in this order.
        merge_mode: Which of two versions wins; by default it follows from ``ordering_by``.
        options: Further settings of a table by their ``hoodie.*`` names, such as a merger class or a payload class.
        cases: How many cases to try for each law; ``None`` is 1,000.
        seed: The same cases are tried for the same seed; ``None`` is 0.

    Raises:
        MerganserError: What the creation of such a table raises; ``CALL_ARGUMENT_INVALID``: ``cases`` is below 1.
    """
    settings = rule_settings(keys, rule, ordering_by, merge_mode, options)
    columns = columns_of(spark, schema).json()
    rows = transport_for(spark).rows("check_rule", settings, columns=columns, cases=cases, seed=seed)
    return RuleCheck.from_rows(rows)
