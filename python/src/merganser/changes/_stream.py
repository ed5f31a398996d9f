"""A stream of changes: each micro-batch is one application, under a transaction of the query."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from merganser._arguments import transaction_of
from merganser.change_results import ApplyResult

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

OnBatch = Callable[[int, ApplyResult], None]


def start(
    frame: DataFrame, path: str, given: Mapping[str, Any], options: Mapping[str, str], written: Mapping[str, Any]
) -> StreamingQuery:
    """Start a query that applies each micro-batch of a stream.

    Args:
        frame: The stream.
        path: Folder of the table.
        given: Arguments of the call for each micro-batch.
        options: Settings of each write.
        written: Arguments of ``apply_changes``, those for streams among them.

    Raises:
        ValueError: There is no checkpoint.
        TypeError: The trigger is not a mapping.
    """
    checkpoint, trigger, query_name = written["checkpoint"], written["trigger"], written["query_name"]
    if checkpoint is None:
        raise ValueError(
            "A stream of changes needs checkpoint=<folder>: what it has read and applied is kept there, so that a "
            "restart applies nothing twice"
        )
    if trigger is not None and not isinstance(trigger, Mapping):
        raise TypeError("trigger is the arguments of DataStreamWriter.trigger, such as {'availableNow': True}")
    folder = os.fspath(checkpoint)
    writer = frame.writeStream.option("checkpointLocation", folder).foreachBatch(
        _applied(path, given, options, folder, written["on_batch"])
    )
    if query_name is not None:
        writer = writer.queryName(query_name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    return writer.start()


def _applied(
    path: str, given: Mapping[str, Any], options: Mapping[str, str], checkpoint: str, on_batch: OnBatch | None
) -> Callable[[DataFrame, int], None]:
    def apply(batch: DataFrame, number: int) -> None:
        from merganser.table import Table  # with Spark Connect, this runs in a process of the server

        table = Table.load(batch.sparkSession, path)
        transaction = transaction_of((f"apply_changes/{_query_of(batch, checkpoint)}", number))
        result = table._apply(batch, given, {**options, **transaction})
        if on_batch is not None:
            on_batch(number, result)

    return apply


def _query_of(batch: DataFrame, checkpoint: str) -> str:
    """The id of the query, which Spark stores in the checkpoint: a new checkpoint counts its batches from 0 again."""
    rows = batch.sparkSession.read.text(os.path.join(checkpoint, "metadata")).collect()
    return "".join(row[0] for row in rows)
