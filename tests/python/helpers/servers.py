"""Spark's own servers, each in a process of its own, as `./dev` starts them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pasted import LINE, ROOT, commands

SPARK_HOME = Path(pyspark.__file__).parent
START_S = 180


class ServerError(RuntimeError):
    """A server did not start; the message is the end of its output."""


@contextmanager
def serving(pasted: str, folder: Path, started: str, *settings: str) -> Iterator[int]:
    """Run a server until the block ends.

    Args:
        pasted: The command of the page that starts it, such as ``./dev connect``.
        folder: For its log, its warehouse and its metastore.
        started: Pattern of the line that it logs when it is there; group 1 is its port.
        settings: More of Spark's settings, as ``key=value``.

    Yields:
        The port.
    """
    quiet = ["spark.ui.enabled=false", "spark.sql.shuffle.partitions=2", "spark.sql.session.timeZone=UTC"]
    java = f"-Duser.timezone=UTC -Dderby.system.home={folder}"
    assert commands(pasted) == [pasted], "no page has such a command"
    program, *words = pasted.split()
    command = [sys.executable, str(ROOT / program), *words, "--spark", LINE]
    command += ["--master", "local[2]", "--driver-memory", "1g", "--driver-java-options", java]
    for setting in (*quiet, f"spark.sql.warehouse.dir={folder / 'tables'}", *settings):
        command += ["--conf", setting]
    variables = {name: value for name, value in os.environ.items() if name != "SPARK_REMOTE"}
    log = folder / "server.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env=variables,
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
