"""Checks of a merge rule's laws, without a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from merganser._arguments import columns_of
from merganser._transport import transport_for
from merganser.config import MergeMode, Options
from merganser.creation import settings_of
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
        keys: As for :func:`merganser.combine`, and so are ``rule``, ``ordering_by``, ``merge_mode`` and ``options``.
        cases: How many cases to try for each law; ``None`` is 1,000.
        seed: The same cases are tried for the same seed; ``None`` is 0.

    Raises:
        MerganserError: What the creation of such a table raises; ``CALL_ARGUMENT_INVALID``: ``cases`` is below 1.
    """
    settings = settings_of(options, record_key=keys, rule=rule, ordering_by=ordering_by, merge_mode=merge_mode)
    columns = columns_of(spark, schema).json()
    rows = transport_for(spark).rows("check_rule", settings, columns=columns, cases=cases, seed=seed)
    return RuleCheck.from_rows(rows)
