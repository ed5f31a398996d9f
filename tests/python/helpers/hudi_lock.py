"""Hudi's own storage-based lock provider: alone in a process, and in a session with the whole of Hudi."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from s3_server import S3Server, s3a_jars
from servers import SPARK_HOME

SOURCE = Path(__file__).parent / "S3StorageLockClient.java"
SPARK_JARS = f"{SPARK_HOME / 'jars'}/*"
PROGRAM = "org.apache.hudi.aws.transaction.lock.S3StorageLockClient"


def hudi_on_s3(folder: Path) -> list[str]:
    """The class path of a Hudi that reaches S3 by ``s3a``; its lock's client of S3 is compiled into the folder."""
    jars = [os.environ["MERGANSER_HUDI_JAR"], *map(str, s3a_jars())]
    classes = folder / "classes"
    command = [_tool("javac"), "-nowarn", "-d", str(classes), "-cp", os.pathsep.join([*jars, SPARK_JARS]), str(SOURCE)]
    subprocess.run(command, check=True, capture_output=True)
    return [str(classes), *jars]


def hudi_settings(server: S3Server, folder: Path) -> dict[str, str]:
    """Of a session with Hudi and the server."""
    return {
        **server.settings,
        "spark.driver.extraClassPath": os.pathsep.join(hudi_on_s3(folder)),
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Ds3.url={server.url}",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": "1",
    }


def _tool(name: str) -> str:
    return str(Path(os.environ["JAVA_HOME"], "bin", name)) if "JAVA_HOME" in os.environ else name


@contextmanager
def hudi_lock(server: S3Server, table: str, folder: Path) -> Iterator[Callable[[str], str]]:
    """Run the provider for a table until the block ends.

    Yields:
        A function that lets it ``try`` (``held`` or ``refused``) or ``unlock`` (``released``).
    """
    paths = os.pathsep.join([*hudi_on_s3(folder), SPARK_JARS])
    command = [_tool("java"), "-Xmx256m", "-cp", paths, PROGRAM, server.url, table]
    log = folder / "lock.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder
        )

    def ask(line: str) -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        answers = ("held", "refused", "released")
        answer = next((each.strip() for each in process.stdout if each.strip() in answers), None)
        assert answer, log.read_text()[-4000:]
        return answer

    try:
        yield ask
    finally:
        process.kill()
        process.wait()
