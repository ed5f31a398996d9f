"""Data frames merged by a table's rule, without a table."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from merganser._arguments import is_frame, kind
from merganser._conditions import error_of
from merganser._expressions import string
from merganser._transport import Transport, transport_for
from merganser.config import MergeMode, Options
from merganser.creation import settings_of


def combine(
    rows: DataFrame,
    keys: str | Sequence[str],
    rule: Mapping[str, str] | None = None,
    *,
    ordering_by: str | Sequence[str] | None = None,
    merge_mode: MergeMode | None = None,
    options: Options | None = None,
) -> DataFrame:
    """Return one row for each key: what a new table would have after an upsert of these rows.

    A key whose last change is a delete has no row. Nothing runs until the returned frame does.

    Args:
        rows: One or more versions of each row, in the order of their arrival. A column ``_hoodie_is_deleted`` marks
            deletes; the result does not contain it.
        keys: Column or columns that identify a row.
        rule: As for :meth:`Table.create`, and so are ``ordering_by`` and ``merge_mode``.
        options: Further settings of a table by their ``hoodie.*`` names, such as a payload class or a delete marker.

    Raises:
        MerganserError: What an upsert into such a table raises: a column is missing, settings contradict each other.
            A row without a key is an error of the query that reads the result.
    """
    settings = settings_of(options, record_key=keys, rule=rule, ordering_by=ordering_by, merge_mode=merge_mode)
    return _merged("merganser_combine", [rows], settings)


def merge_frames(
    stored: DataFrame,
    changes: DataFrame,
    keys: str | Sequence[str],
    rule: Mapping[str, str] | None = None,
    *,
    ordering_by: str | Sequence[str] | None = None,
    merge_mode: MergeMode | None = None,
    options: Options | None = None,
) -> DataFrame:
    """Return the rows of ``stored`` after an upsert of ``changes``, as a table with these settings would have them.

    Args:
        stored: One row for each key, with the columns of the result. If a key occurs twice, both rows are changed.
        changes: One or more versions of each row, in the order of their arrival, with the same columns. To omit some,
            set ``spark.merganser.write.missingColumns`` as for an upsert. A column ``_hoodie_is_deleted`` marks
            deletes.
        keys: As for :func:`combine`, and so are all others.

    Raises:
        MerganserError: As :func:`combine`.
    """
    settings = settings_of(options, record_key=keys, rule=rule, ordering_by=ordering_by, merge_mode=merge_mode)
    return _merged("merganser_merge", [stored, changes], settings)


def _merged(function: str, frames: list[DataFrame], options: dict[str, str]) -> DataFrame:
    for frame in frames:
        if not is_frame(frame):
            raise TypeError(
                f"{function} takes a Spark DataFrame, not a {kind(frame)}: spark.createDataFrame(...) creates one, "
                "spark.sql(...) runs a query"
            )
    spark = frames[0].sparkSession
    transport = transport_for(spark)
    names = [transport.add_view(frame) for frame in frames]
    settings = ", ".join(f"{string(key)}, {string(value)}" for key, value in options.items())
    arguments = ", ".join([*(string(name) for name in names), f"map({settings})"])
    try:
        result = spark.sql(f"SELECT * FROM {function}({arguments})")
        result.schema  # noqa: B018  a client of Spark Connect resolves the query here, and reports its errors
    except Exception as error:
        _drop(transport, names)
        ours = error_of(error)
        if ours is None or ours is error:
            raise
        raise ours from error
    # A client of Spark Connect resolves the views again with each query of the frame.
    weakref.finalize(result, _drop, transport, names)
    return result


def _drop(transport: Transport, views: list[str]) -> None:
    try:
        for view in views:
            transport.drop_view(view)
    except Exception:  # the session has ended, and its views with it
        pass
