"""Runs Spark's declarative pipelines from a test: definitions are a function, in place of files and a specification."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def run(spark: Any, define: Callable[[], None], storage: Path, *, full_refresh: bool = False) -> None:
    """Run a pipeline once, until all that is there is processed.

    Args:
        spark: A client of Spark Connect.
        define: Calls ``pyspark.pipelines``.
        storage: Folder of the checkpoints.
        full_refresh: Whether tables are computed again from the start.
    """
    from pyspark.pipelines.add_pipeline_analysis_context import add_pipeline_analysis_context
    from pyspark.pipelines.graph_element_registry import graph_element_registration_context
    from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
    from pyspark.pipelines.spark_connect_pipeline import (
        create_dataflow_graph,
        handle_pipeline_events,
        start_run,
    )

    graph = create_dataflow_graph(spark, default_catalog=None, default_database=None, sql_conf={})
    with (
        graph_element_registration_context(SparkConnectGraphElementRegistry(spark, graph)),
        add_pipeline_analysis_context(spark=spark, dataflow_graph_id=graph, flow_name=None),
    ):
        define()
    events = start_run(
        spark,
        graph,
        full_refresh=[],
        full_refresh_all=full_refresh,
        refresh=[],
        dry=False,
        storage=storage.as_uri(),
    )
    handle_pipeline_events(events)
