"""A standalone cluster of Spark: a master and workers, each in a process of its own, on loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from servers import SPARK_HOME, START_S, ServerError

MASTER = re.compile(r"Starting Spark master at (spark://[\d.]+:\d+)")
REGISTERED = re.compile(r"Successfully registered with master")

#: Spark runs a speculative attempt of a task on another host than the first one, so each worker is a host.
HOSTS = ("127.0.0.1", "127.0.0.2")

#: What Spark needs of the JVM from Java 17 on.
OPEN = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.lang.invoke", "java.io", "java.net", "java.nio", "java.util", "sun.nio.ch")
]


@contextmanager
def cluster(folder: Path, memory: str = "1g") -> Iterator[str]:
    """Run a master and two workers with one core each until the block ends.

    Args:
        folder: For logs and the workers' folders.
        memory: Of each worker, for its executors.

    Yields:
        The master's URL.
    """
    folder.mkdir(parents=True, exist_ok=True)
    processes: list[subprocess.Popen[bytes]] = []
    try:
        log = folder / "master.log"
        words = ["org.apache.spark.deploy.master.Master", "--host", HOSTS[0], "--port", "0", "--webui-port", "0"]
        processes.append(_start(HOSTS[0], words, log))
        url = _logged(processes[-1], log, MASTER)[1]
        logs = [folder / f"worker-{number}.log" for number in range(len(HOSTS))]
        for host, log in zip(HOSTS, logs):
            words = ["org.apache.spark.deploy.worker.Worker", "--host", host, "--port", "0", "--webui-port", "0"]
            words += ["--cores", "1", "--memory", memory, "--work-dir", str(log.with_suffix("")), url]
            processes.append(_start(host, words, log))
        for process, log in zip(processes[1:], logs):
            _logged(process, log, REGISTERED)
        yield url
    finally:
        for process in processes:
            _end(process)


def _start(host: str, words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    java = str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
    command = [java, "-Xmx256m", *OPEN, "-cp", f"{SPARK_HOME / 'jars'}/*", *words]
    # As Spark's own scripts set them.
    scala = next((SPARK_HOME / "jars").glob("spark-core_*.jar")).name.split("_")[1].split("-")[0]
    own = {"SPARK_HOME": str(SPARK_HOME), "SPARK_SCALA_VERSION": scala, "SPARK_LOCAL_IP": host}
    with log.open("wb") as out:
        return subprocess.Popen(
            command,
            env={**os.environ, **own},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a worker's executors end with it
        )


def _logged(process: subprocess.Popen[bytes], log: Path, wanted: re.Pattern[str]) -> re.Match[str]:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        found = wanted.search(log.read_text(errors="replace"))
        if found:
            return found
        time.sleep(0.1)
    raise ServerError(f"{process.args!r}\n{log.read_text(errors='replace')[-4000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
