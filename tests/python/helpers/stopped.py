"""A process of Spark that a test stops between two moments and kills, and copies of what it leaves behind."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from places import TESTS

START_S = 180


class Stopped:
    """The process of a file in this folder, which reads requests from its input, tabs between the words of each.

    Its first line is the id of its Java process, then it answers each request with its first word and ``done``.
    """

    def __init__(self, folder: Path, program: str) -> None:
        folder.mkdir(parents=True)
        self._log_file = folder / "log.txt"
        self._log = self._log_file.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / program), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
            start_new_session=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        self._java = int(self._answer())

    def request(self, *words: str) -> None:
        assert self._process.stdin
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()

    def do(self, *words: str) -> None:
        self.request(*words)
        assert self._answer() == f"{words[0]} done"

    def is_done(self) -> bool:
        """Whether the last request is; an error if the process has ended."""
        try:
            line = self._lines.get_nowait()
        except queue.Empty:
            return False
        assert line, f"the process ended: {self._log_file.read_text()[-3000:]}"
        return True

    def stopped(self, work: Callable[[], object]) -> None:
        """Do something while no thread of the Java process runs."""
        os.kill(self._java, signal.SIGSTOP)
        try:
            while not self._is_stopped():
                time.sleep(0.0002)
            work()
        finally:
            os.kill(self._java, signal.SIGCONT)

    def kill(self) -> None:
        """End it as the operating system does: at once, whatever it is doing."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)
        self._reading.join(30)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe and not pipe.closed:
                pipe.close()
        self._log.close()

    def _is_stopped(self) -> bool:
        stat = Path(f"/proc/{self._java}/stat")
        if not stat.exists():  # another system than Linux
            time.sleep(0.05)
            return True
        return stat.read_text().rpartition(")")[2].split()[0] == "T"

    def _answer(self) -> str:
        line = self._lines.get(timeout=START_S)
        assert line, f"the process ended: {self._log_file.read_text()[-3000:]}"
        return line

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put("")


def let_lease_pass(table: Path) -> None:
    """The lease of a table's lock passes, without waiting for it: the file has an earlier time of its last renewal.

    A file whose writer stopped in the middle of its content has none; the next writer waits for it.
    """
    lock = table / ".hoodie" / "lock"
    try:
        content = json.loads(lock.read_text())
    except (FileNotFoundError, ValueError):
        return
    content["renewedMs"] -= content["leaseMs"] + 1000
    lock.write_text(json.dumps(content))
    (lock.parent / ".lock.crc").unlink(missing_ok=True)


def names_in(path: Path) -> frozenset[str]:
    """Paths of all files and folders; those that vanish meanwhile may be missing."""
    found: list[str] = []
    pending = [str(path)]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.name.endswith(".crc"):
                        continue
                    found.append(entry.path)
                    if entry.is_dir():
                        pending.append(entry.path)
        except FileNotFoundError:
            continue
    return frozenset(found)


def copied(process: Stopped, folder: Path, request: tuple[str, ...], pause_s: float) -> list[Path]:
    """Run a request; copies of a folder that it changes, one for each change of the names in there."""
    copies: list[Path] = []
    last = names_in(folder)

    def copy() -> None:
        nonlocal last
        if names_in(folder) == last:
            return
        last = names_in(folder)
        copies.append(folder.parent / str(len(copies)))
        shutil.copytree(folder, copies[-1])

    process.request(*request)
    while not process.is_done():
        process.stopped(copy)
        time.sleep(pause_s)
    return copies
