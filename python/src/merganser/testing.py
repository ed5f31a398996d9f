"""Assertions for the tests of those who write merge rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from merganser.config import MergeMode, Options
from merganser.laws import check_rule


def assert_laws(
    spark: SparkSession,
    schema: StructType | str,
    keys: str | Sequence[str],
    rule: Mapping[str, str] | None = None,
    *,
    laws: Collection[str] | None = None,
    ordering_by: str | Sequence[str] | None = None,
    merge_mode: MergeMode | None = None,
    options: Options | None = None,
    cases: int | None = None,
    seed: int | None = None,
) -> None:
    """Fail unless a merge rule keeps these laws.

    Args:
        laws: Names of laws, such as ``"associative"``; ``None`` is all that apply to the rule.
        spark: As for :func:`merganser.laws.check_rule`, and so are all others.

    Raises:
        AssertionError: With versions of a row that break a law, and what they give.
        KeyError: ``laws`` has a name that no law has.
        MerganserError: As :func:`merganser.laws.check_rule`.
    """
    settings: dict[str, Any] = {"ordering_by": ordering_by, "merge_mode": merge_mode, "options": options}
    done = check_rule(spark, schema, keys, rule, cases=cases, seed=seed, **settings)
    wanted = done.laws if laws is None else tuple(done[name] for name in laws)
    broken = [law for law in wanted if law.holds is False or (laws is not None and law.holds is None)]
    if broken:
        raise AssertionError("\n".join(law.to_string() for law in broken))
