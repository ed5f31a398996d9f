"""Apache Hudi for `changes.py`: a Spark session in a process of its own, which answers one request after the other.

A request is a JSON line with the name of a method of `change_tables.Engine` and its arguments; so is the answer.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import costs
from change_tables import Engine, Settings
from costs import Measured
from pyspark.sql import SparkSession

JAR = "MERGANSER_HUDI_JAR"
VERSION = "1.2.0"


class HudiFailed(RuntimeError):
    """Hudi's process failed; the message ends with its log."""


class HudiProcess:
    """Calls methods of an `Engine` in Hudi's process. A context manager, which ends the process."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._log = (folder / "hudi.log").open("w+b")
        words = [sys.executable, __file__, json.dumps(dataclasses.asdict(settings)), str(folder)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, cwd=folder
        )
        self._answer("start")

    def __call__(self, do: str, *arguments: Any) -> Any:
        """What the method returns.

        Raises:
            HudiFailed: It failed.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([do, *arguments]) + "\n")
        self._process.stdin.flush()
        answer = self._answer(do)
        if isinstance(answer, dict):
            return Measured(**answer)
        return tuple(answer) if isinstance(answer, list) else answer

    def _answer(self, do: str) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            self._log.seek(0)
            log = self._log.read().decode(errors="replace")
            raise HudiFailed(f"Hudi failed to {do}. Its log ends with:\n{log[-5000:]}")
        return json.loads(line)

    def __enter__(self) -> HudiProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._log.close()


def start_session() -> SparkSession:
    """As `bench.start_session`, with Hudi. The file system is that of `file:`, as Hudi accepts no other scheme."""
    settings = {
        "spark.jars": os.environ[JAR],
        # Spark uses the file system before it loads other jars.
        "spark.driver.extraClassPath": str(costs.jar()),
        "spark.hadoop.fs.file.impl": "io.merganser.bench.SlowFileSystem",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    }
    builder = SparkSession.builder.master("local[2]").appName("hudi")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main(settings: str, folder: str) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the JVM prints goes to the log, not between the answers

    def say(answer: object) -> None:
        answers.write(json.dumps(answer, default=dataclasses.asdict) + "\n")
        answers.flush()

    spark = start_session()
    engine = Engine(spark, "hudi", Settings(**json.loads(settings)), Path(folder), str)
    say(spark.version)
    for line in sys.stdin:
        do, *arguments = json.loads(line)
        say(getattr(engine, do)(*arguments))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
