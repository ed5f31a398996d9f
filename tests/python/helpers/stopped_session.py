"""The session of a process that a test stops and kills."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import merganser
from interop.sessions import INTERPRETED


def start(name: str, folder: str) -> SparkSession:
    """Start the session, and print the id of its Java process, which is the one that writes files."""
    settings = {
        **INTERPRETED,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Dderby.system.home={folder}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(Path(folder) / "tables"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = merganser.session(name, master="local[1]", config=settings)
    print(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid(), flush=True)  # type: ignore[union-attr]
    return spark
