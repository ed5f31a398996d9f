"""Hudi's own storage-based lock provider, in a process of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from s3_server import S3Server, s3a_jars
from servers import SPARK_HOME

SOURCE = Path(__file__).parent / "S3StorageLockClient.java"
PROGRAM = "org.apache.hudi.aws.transaction.lock.S3StorageLockClient"


@contextmanager
def hudi_lock(server: S3Server, table: str, folder: Path) -> Iterator[Callable[[str], str]]:
    """Run the provider for a table until the block ends.

    Yields:
        A function that lets it ``try`` (``held`` or ``refused``) or ``unlock`` (``released``).
    """
    home = Path(os.environ["JAVA_HOME"], "bin") if "JAVA_HOME" in os.environ else None
    javac, java = (str(home / name) if home else name for name in ("javac", "java"))
    jars = [os.environ["MERGANSER_HUDI_JAR"], *map(str, s3a_jars()), f"{SPARK_HOME / 'jars'}/*"]
    compiling = [javac, "-nowarn", "-d", str(folder / "classes"), "-cp", os.pathsep.join(jars), str(SOURCE)]
    subprocess.run(compiling, check=True, capture_output=True)
    command = [java, "-Xmx256m", "-cp", os.pathsep.join([str(folder / "classes"), *jars]), PROGRAM, server.url, table]
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
