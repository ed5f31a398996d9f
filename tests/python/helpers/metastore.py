"""A Hive metastore in a process of its own, of the jars that PySpark ships, and Hive's own client of it."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster import OPEN
from pyspark.sql import SparkSession
from servers import SPARK_HOME, START_S, ServerError


@contextmanager
def metastore(folder: Path) -> Iterator[str]:
    """Run a metastore with a database in memory until the block ends.

    Yields:
        Its address.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    java = str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
    settings = {
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.async.log.enabled": "false",  # its library is not among the jars
        "hive.metastore.warehouse.dir": str(folder / "warehouse"),
        "derby.system.home": str(folder),
    }
    command = [java, "-Xmx256m", *OPEN, *(f"-D{key}={value}" for key, value in settings.items())]
    command += ["-cp", f"{SPARK_HOME / 'jars'}/*", "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]
    log = folder / "metastore.log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + START_S
        while not _listens(port):
            if server.poll() is not None or time.monotonic() > end:
                raise ServerError(f"{command}\n{log.read_text(errors='replace')[-4000:]}")
            time.sleep(0.2)
        yield f"thrift://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@dataclass(frozen=True)
class HiveTable:
    """A table as Hive's client sees it."""

    columns: dict[str, str]
    partition_columns: dict[str, str]
    input_format: str
    location: str
    properties: dict[str, str]
    serde_properties: dict[str, str]
    kind: str


class HiveClient:
    """Hive's own client, in the JVM of a session."""

    def __init__(self, spark: SparkSession, uris: str) -> None:
        jvm: Any = spark._jvm
        conf = jvm.org.apache.hadoop.hive.conf.HiveConf()
        conf.set("hive.metastore.uris", uris)
        self._client: Any = jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(conf)

    def tables(self, database: str) -> set[str]:
        return set(self._client.getAllTables(database))

    def databases(self) -> set[str]:
        return set(self._client.getAllDatabases())

    def table(self, database: str, name: str) -> HiveTable:
        found = self._client.getTable(database, name)
        storage = found.getSd()
        return HiveTable(
            {column.getName(): column.getType() for column in storage.getCols()},
            {column.getName(): column.getType() for column in found.getPartitionKeys()},
            storage.getInputFormat(),
            storage.getLocation(),
            dict(found.getParameters()),
            dict(storage.getSerdeInfo().getParameters()),
            found.getTableType(),
        )

    def partitions(self, database: str, name: str) -> dict[tuple[str, ...], str]:
        """Locations by the values of the partition columns."""
        found = self._client.listPartitions(database, name, -1)
        return {tuple(each.getValues()): each.getSd().getLocation() for each in found}

    def partition_columns(self, database: str, name: str, values: list[str]) -> dict[str, str]:
        """The columns that a partition has."""
        found = self._client.getPartition(database, name, values)
        return {column.getName(): column.getType() for column in found.getSd().getCols()}

    def close(self) -> None:
        self._client.close()
