"""What makes small statements cheap in every session of the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark import SparkContext
from pyspark.serializers import AutoBatchedSerializer, BatchedSerializer

#: Without generated code, whose compilation is a fifth of the time of a small statement. For sessions whose results
#: other tests have with and without it: of Hudi, and of processes that are killed or write to a store.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

#: A broadcast of a small task in blocks of 4 MB, and a list of all that has run, are a twentieth of the time of a small
#: statement.
SMALL = {
    "spark.broadcast.blockSize": "128k",
    "spark.broadcast.compress": "false",
    "spark.appStateStore.asyncTracking.enable": "false",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "50",
    "spark.sql.ui.retainedExecutions": "50",
}


def read_rows_as_pickled() -> None:
    """In this process, from now on, frames of Python rows start no Python workers.

    The driver pickles the rows of ``createDataFrame`` in batches of one size. PySpark takes batches of one size and of
    several for two formats, and has workers read the first and write the second in each task that evaluates the frame.
    The JVM reads both alike.
    """
    if not hasattr(SparkContext.parallelize, "original"):
        SparkContext.parallelize = _in_batches_of_any_size(SparkContext.parallelize)  # type: ignore[method-assign]


def _in_batches_of_any_size(parallelize: Callable[..., Any]) -> Any:
    def parallelized(self: SparkContext, c: Any, numSlices: Any = None) -> Any:
        made = parallelize(self, c, numSlices)
        if type(made._jrdd_deserializer) is BatchedSerializer:
            made._jrdd_deserializer = AutoBatchedSerializer(made._jrdd_deserializer.serializer)
        return made

    parallelized.original = parallelize  # type: ignore[attr-defined]
    return parallelized
