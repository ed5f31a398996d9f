"""Stops or fails one task at a file: orders to ``HeldFileSystem.java``, on the paths of ``held:``."""

from __future__ import annotations

import os
import subprocess
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from servers import SPARK_HOME

SOURCE = Path(__file__).parent / "HeldFileSystem.java"
REACHED_S = 60


@dataclass(frozen=True)
class Reached:
    """A task that took an order: its process, and the file that it writes, or is about to create."""

    order: str
    pid: int
    file: Path


@dataclass(frozen=True)
class Held:
    """The file system's jar, and the folder of its orders."""

    jar: Path
    orders: Path

    @property
    def settings(self) -> dict[str, str]:
        """What a session needs for paths such as ``held:///tmp/table``."""
        return {
            "spark.driver.extraClassPath": str(self.jar),
            "spark.executor.extraClassPath": str(self.jar),
            "spark.hadoop.fs.held.impl": "HeldFileSystem",
            "spark.hadoop.held.folder": str(self.orders),
        }

    def order(self, name: str, action: str, part: str) -> None:
        """Let the first task that writes to a path with this part ``fail`` or ``hold``, or hold before ``begin``."""
        new = self.orders / f"{name}.new"
        new.write_text(f"{action}\n{part}\n")
        new.rename(self.orders / name)

    def reached(self, name: str) -> Reached:
        """Wait for the task that takes the order."""
        file = self.orders / f"{name}.reached"
        end = time.monotonic() + REACHED_S
        while not file.exists():
            assert time.monotonic() < end, f"no task has taken the order '{name}'"
            time.sleep(0.005)
        pid, path = file.read_text().split("\n")
        return Reached(name, int(pid), Path(path.removeprefix("held:")))

    def go(self, task: Reached) -> None:
        """Let a task continue that holds."""
        (self.orders / f"{task.order}.go").touch()


def held(folder: Path) -> Held:
    """Compile the file system into a folder."""
    orders, classes = folder / "orders", folder / "classes"
    orders.mkdir(parents=True)
    javac = str(Path(os.environ["JAVA_HOME"], "bin", "javac")) if "JAVA_HOME" in os.environ else "javac"
    command = [javac, "-nowarn", "-d", str(classes), "-cp", f"{SPARK_HOME / 'jars'}/*", str(SOURCE)]
    subprocess.run(command, check=True, capture_output=True)
    jar = folder / "held.jar"
    with zipfile.ZipFile(jar, "w") as packed:
        for file in sorted(classes.rglob("*.class")):
            packed.write(file, file.relative_to(classes))
    return Held(jar, orders)
