"""A database server of our own: programs in a temporary folder, started on loopback, stopped as by a crash."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "project"))

START_S = 120

Row = tuple["str | None", ...]


class DatabaseError(RuntimeError):
    """A server could not be started, or refused a statement; ``state`` is its SQLSTATE, if it has one."""

    def __init__(self, message: str, state: str = "") -> None:
        super().__init__(message)
        self.state = state


class Connection(ABC):
    """A connection that sends one statement at a time; values come as the text that the server writes."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")
        try:
            self._log_in()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def query(self, statement: str) -> list[Row]:
        """Run a statement, and return its rows.

        Raises:
            DatabaseError: The server refused it.
            OSError: The connection is lost; whether the statement was committed is not known.
        """

    @abstractmethod
    def _log_in(self) -> None:
        """Greet the server."""

    def value(self, statement: str) -> str | None:
        """The first column of a statement's only row."""
        return self.query(statement)[0][0]

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _read(self, size: int) -> bytes:
        body = self._file.read(size)
        if len(body) < size:
            raise ConnectionError("the server has closed the connection")
        return body


class Server(ABC):
    """A server in a temporary folder: it runs between ``start`` and ``stop``, and ``close`` deletes it.

    As a context manager it is started and closed.

    Args:
        fetched: Whether its programs are those from Maven Central, also where a server is installed.
    """

    title: str
    #: Signals that end the server in order, and as by a crash, so that it recovers its log.
    in_order: signal.Signals = signal.SIGTERM
    as_by_crash: signal.Signals = signal.SIGKILL

    def __init__(self, *, fetched: bool = False) -> None:
        # Not in a folder of the caller's: servers refuse to run as root, and another user may have no access there.
        self.folder = Path(tempfile.mkdtemp(prefix="database-"))
        self.data = self.folder / "data"
        self.log = self.folder / "server.log"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._user = "nobody" if os.geteuid() == 0 else None
        try:
            if self._user:
                shutil.chown(self.folder, self._user)
            self.programs = self._find_programs(fetched)
            self._initialize()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def connect(self) -> Connection:
        """A new connection."""

    @property
    @abstractmethod
    def version(self) -> str:
        """Such as ``16.6``."""

    @abstractmethod
    def _find_programs(self, fetched: bool) -> Path:
        """The folder of the server's programs."""

    @abstractmethod
    def _initialize(self) -> None:
        """Create the data folder."""

    @abstractmethod
    def _command(self) -> Sequence[str | Path]:
        """The command that runs the server in the foreground."""

    def start(self) -> None:
        """Start the server, and return when it accepts connections."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                **self._identity,
            )
        end = time.monotonic() + START_S
        while True:
            try:
                self.connect().close()
                return
            except (OSError, DatabaseError) as error:
                if self._process.poll() is not None or time.monotonic() > end:
                    self.stop(crash=True)
                    raise DatabaseError(f"{self.title} did not start:\n{self._end_of_log()}") from error
                time.sleep(0.05)

    def stop(self, *, crash: bool = False) -> None:
        """Stop the server: connections end at once. With ``crash`` as after a crash, so that it recovers its log."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(self.as_by_crash if crash else self.in_order)
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                # A server may wait for replication clients to confirm all they were sent.
                self._process.send_signal(self.as_by_crash)
                self._process.wait()
        self._process = None

    def close(self) -> None:
        """Stop the server, and delete its folder."""
        self.stop(crash=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, command: Sequence[str | Path], statements: str = "") -> None:
        """Run one of the programs that create the data folder.

        Raises:
            DatabaseError: It failed.
        """
        done = subprocess.run(
            command,
            input=statements,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            **self._identity,
        )
        if done.returncode:
            raise DatabaseError(f"{Path(command[0]).name} failed:\n{done.stdout[-2000:]}")

    @property
    def _identity(self) -> dict[str, Any]:
        if not self._user:
            return {}
        import pwd

        user = pwd.getpwnam(self._user)
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "env": {"PATH": os.environ["PATH"]}}

    def _end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-2000:] if self.log.is_file() else "there is no log"


def free_port() -> int:
    """A port of loopback that is free now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
