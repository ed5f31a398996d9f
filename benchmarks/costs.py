"""Counts what an operation costs: Spark jobs, shuffles and their bytes, and calls of the file system by kind.

They are counted by the jar of `costs/`, which `./dev` builds. Its file system is the local disk under a scheme of its
own; both sides of a comparison use it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Measured:
    """Seconds that an operation took, and what it cost, by kind."""

    seconds: float
    costs: dict[str, int]


class Counter:
    """Counts the costs of one session's operations."""

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext
        self._costs: Any = context._jvm.io.merganser.bench.Costs(context._jsc.sc())

    def measure(self, work: Callable[[], object]) -> Measured:
        """Run an operation. Its counts are read when it has been timed."""
        before = self._totals()
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        return Measured(seconds, {kind: total - before[kind] for kind, total in self._totals().items()})

    def _totals(self) -> dict[str, int]:
        return dict(self._costs.totals())


def jar() -> Path:
    """The jar with the counters, for `spark.jars`."""
    line = ".".join(pyspark.__version__.split(".")[:2])
    return Path(__file__).resolve().parent / "jars" / f"merganser-costs-spark-{line}.jar"


def counted(path: Path) -> str:
    """Address of a local path on the counting file system."""
    return f"counted://{path}"
