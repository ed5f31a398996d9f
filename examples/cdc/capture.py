"""Debezium's embedded engine on the log of a server, in a process of its own that can be killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "project"))

from database import PREFIX, Database

from dev.layout import CACHE
from dev.maven import fetch_all, listed

HERE = Path(__file__).resolve().parent
UNAVAILABLE = "__debezium_unavailable_value"  # Debezium's own: stands for a value that the event does not have

#: Of the engine's own Java, which has little to do.
JAVA = ["-Xmx256m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
LOG = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true"]


class CaptureError(RuntimeError):
    """The engine could not be compiled, or ended by itself."""


class Capture:
    """The engine for all tables; ``start`` it again after ``stop`` or ``kill``.

    Args:
        database: Its kind.
        folder: For the events (``events/<topic>/<file>.json``), the offsets and the log.
        port: Of the server.
    """

    def __init__(self, database: Database, folder: Path, port: int) -> None:
        self._database = database
        self.events = folder / "events"
        self.log = folder / "engine.log"
        self._offsets = folder / "offsets.dat"
        self._properties = folder / "engine.properties"
        self._classes = folder / "engine"
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self._jars = fetch_all(CACHE, listed(database.jars))
        self._compile()
        properties = {**self._engine_properties(), **database.connector(port, folder)}
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))

    def folder_of(self, table: str) -> Path:
        """The folder with the events of a table."""
        return self.events / self._database.topic(table)

    def start(self) -> None:
        """Start the engine; it takes a snapshot of the tables first if it has no offsets."""
        class_path = os.pathsep.join(map(str, [self._classes, *self._jars]))
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [_java("java"), *JAVA, *LOG, "-cp", class_path, "Capture", str(self._properties), str(self.events)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def has_snapshot(self) -> bool:
        """Whether the offsets are those after a complete snapshot: only then a kill makes events come again.

        An engine without offsets takes a snapshot, which has no event for rows that were deleted before it.
        """
        offsets = self._offsets.read_bytes() if self._offsets.is_file() else b""
        return self._database.has_snapshot(offsets)

    def restart_if_ended(self) -> bool:
        """Start the engine again if it has ended by itself, as it may when the server stops; whether it had."""
        ended = self.has_ended
        if ended:
            self.start()
        return ended

    @property
    def has_ended(self) -> bool:
        """Whether the engine was started, and has ended by itself."""
        return self._process is not None and self._process.poll() is not None

    def kill(self) -> None:
        """End the engine without giving it a chance to store its offsets."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the engine in order."""
        self._end(signal.SIGTERM)

    def _end(self, kind: signal.Signals) -> None:
        if self._process:
            self._process.send_signal(kind)
            try:
                self._process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process = None

    def _compile(self) -> None:
        command = [_java("javac"), "-d", self._classes, "-cp", os.pathsep.join(map(str, self._jars))]
        done = subprocess.run([*command, HERE / "Capture.java"], capture_output=True, text=True)
        if done.returncode:
            raise CaptureError(f"Capture.java does not compile:\n{done.stderr[-2000:]}")

    def _engine_properties(self) -> dict[str, object]:
        return {
            "name": "capture",
            "topic.prefix": PREFIX,
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": self._offsets,
            "offset.flush.interval.ms": 2000,
            "poll.interval.ms": 100,
            "tombstones.on.delete": "false",  # for logs that are compacted by key, which files are not
            "converter.schemas.enable": "true",  # types of columns are in the events, also of added ones
            "errors.retry.delay.initial.ms": 300,
            "errors.retry.delay.max.ms": 1000,
        }


def _java(program: str) -> str:
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", program)) if home else shutil.which(program)
    if found is None:
        raise CaptureError(f"There is no '{program}' on the PATH: install a JDK 17.")
    return found
