"""Spark's own servers, each in a process of its own, with Merganser's jar and two settings in it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from merganser.session import CATALOG, EXTENSIONS, jar_for

SPARK_HOME = Path(pyspark.__file__).parent
START_S = 180


class ServerError(RuntimeError):
    """A server did not start; the message is the end of what it said."""


@contextmanager
def serving(main_class: str, folder: Path, started: str, *settings: str) -> Iterator[int]:
    """Run a server until the block ends.

    Args:
        main_class: What `spark-submit` is to run.
        folder: For its log, its warehouse and its metastore.
        started: Pattern of the line that it logs when it is there; group 1 is its port.
        settings: More of Spark's settings, as ``key=value``.

    Yields:
        The port.
    """
    both = [f"spark.sql.extensions={EXTENSIONS}", f"spark.sql.catalog.spark_catalog={CATALOG}"]
    quiet = ["spark.ui.enabled=false", "spark.sql.shuffle.partitions=2", "spark.sql.session.timeZone=UTC"]
    places = [f"spark.jars={jar_for(pyspark.__version__)}", f"spark.sql.warehouse.dir={folder / 'tables'}"]
    java = f"-Duser.timezone=UTC -Dderby.system.home={folder} -XX:TieredStopAtLevel=1"
    command = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "1g"]
    command += ["--class", main_class, "--driver-java-options", java]
    for setting in (*both, *quiet, *places, *settings):
        command += ["--conf", setting]
    foreign = ("PYTHONPATH", "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE")
    variables = {name: value for name, value in os.environ.items() if name not in foreign}
    log = folder / "server.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [*command, "spark-internal"],
            cwd=folder,
            env={**variables, "SPARK_LOCAL_IP": "127.0.0.1"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # the shell script and its Java end together
        )
        try:
            yield _port(server, log, started)
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()


def _port(server: subprocess.Popen[bytes], log: Path, started: str) -> int:
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        found = re.search(started, log.read_text(errors="replace"))
        if found:
            return int(found[1])
        time.sleep(0.2)
    raise ServerError(f"{server.args}\n{log.read_text(errors='replace')[-4000:]}")
