"""What the plan of a frame shows of its scan."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


def scan_node(rows: DataFrame) -> Any:
    """The plan's one scan of a table."""
    plan: Any = rows._jdf.queryExecution().executedPlan()
    while plan.nodeName() == "AdaptiveSparkPlan":
        plan = plan.executedPlan()
    nodes = [plan]
    while nodes:
        node = nodes.pop()
        if node.nodeName().startswith("BatchScan"):
            return node
        inner = [node.plan()] if node.nodeName().endswith("QueryStage") else []
        children = node.children()
        nodes += inner + [children.apply(i) for i in range(children.length())]
    raise AssertionError(plan.toString())


def metric(rows: DataFrame, name: str) -> int:
    """A metric of the plan's one scan of a table, once it has run."""
    return int(scan_node(rows).metrics().apply(name).value())
