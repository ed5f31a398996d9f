"""A PostgreSQL of our own: started on loopback in a folder, with logical decoding, and reached without a library."""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "project"))

from dev.layout import CACHE
from dev.maven import Jar, JarError, fetch_all

USER = "postgres"
DATABASE = "postgres"
START_S = 60
OLDEST_MAJOR = 12

#: The server's programs for platforms that Maven Central has them for, by machine.
BINARIES = {
    "x86_64": ("amd64", "7d62e5987bcb735ba5105abf91ec7b7110e0c4afcaa9af2d913cdc1dc163472d"),
    "aarch64": ("arm64v8", "ae75950418bec0786098f38fe7da056006e6d9aff48f9b23d6f8bab58f3cba61"),
}
VERSION = "16.6.0"


class PostgresError(RuntimeError):
    """The server could not be started, or refused a statement; ``state`` is its SQLSTATE, if it has one."""

    def __init__(self, message: str, state: str = "") -> None:
        super().__init__(message)
        self.state = state


class Postgres:
    """A server in a temporary folder: it runs between ``start`` and ``stop``, and ``close`` deletes it.

    As a context manager it is started and closed.

    Args:
        fetched: Whether its programs are those from Maven Central, also where a server is installed.
    """

    def __init__(self, *, fetched: bool = False) -> None:
        # Not in a folder of the caller's: initdb and the server refuse to run as root, and another user may have no
        # access to that one.
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        self.data = self.folder / "data"
        self.log = self.folder / "server.log"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._user = "nobody" if os.geteuid() == 0 else None
        try:
            if self._user:
                shutil.chown(self.folder, self._user)
            self.programs = fetched_programs(self.folder) if fetched else find_programs(self.folder)
            self._initialize()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Start the server, and return when it accepts connections."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.data],
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
            except (OSError, PostgresError) as error:
                if self._process.poll() is not None or time.monotonic() > end:
                    self.stop()
                    raise PostgresError(f"PostgreSQL did not start:\n{self._end_of_log()}") from error
                time.sleep(0.05)

    def stop(self, *, crash: bool = False) -> None:
        """Stop the server: connections end at once. With ``crash`` as after a crash, so that it recovers its log."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT if crash else signal.SIGINT)
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                # A server waits for replication clients to confirm all they were sent.
                self._process.send_signal(signal.SIGQUIT)
                self._process.wait()
        self._process = None

    def close(self) -> None:
        """Stop the server, and delete its folder."""
        self.stop(crash=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self) -> Connection:
        """A new connection."""
        return Connection("127.0.0.1", self.port)

    @property
    def version(self) -> str:
        """Such as ``16.6``."""
        return _version(self.programs) or "unknown"

    def __enter__(self) -> Postgres:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _identity(self) -> dict[str, object]:
        if not self._user:
            return {}
        import pwd

        user = pwd.getpwnam(self._user)
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "env": {"PATH": os.environ["PATH"]}}

    def _initialize(self) -> None:
        initdb = [self.programs / "initdb", "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync"]
        done = subprocess.run(
            [*initdb, "--locale=C"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            **self._identity,
        )
        if done.returncode:
            raise PostgresError(f"initdb failed:\n{done.stdout[-2000:]}")
        settings = {
            "listen_addresses": "'127.0.0.1'",
            "port": self.port,
            "unix_socket_directories": "''",
            "wal_level": "logical",
            "max_replication_slots": 4,
            "max_wal_senders": 4,
            "max_connections": 20,
            "shared_buffers": "'32MB'",
            "fsync": "off",  # it survives crashes of its processes, not those of the machine
            "timezone": "'UTC'",
            "lc_messages": "'C'",
        }
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())

    def _end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-2000:] if self.log.is_file() else "there is no log"


class Connection:
    """A connection that sends one statement, or several in one string, at a time; values come as PostgreSQL's text."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")
        words = f"user\0{USER}\0database\0{DATABASE}\0client_encoding\0UTF8\0\0".encode()
        self._socket.sendall(struct.pack("!ii", len(words) + 8, 196608) + words)
        self._rows_until_ready()

    def query(self, statement: str) -> list[tuple[str | None, ...]]:
        """Run a statement, and return its rows.

        Raises:
            PostgresError: The server refused it.
            OSError: The connection is lost; whether the statement was committed is not known.
        """
        body = statement.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        return self._rows_until_ready()

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

    def _rows_until_ready(self) -> list[tuple[str | None, ...]]:
        rows: list[tuple[str | None, ...]] = []
        error: PostgresError | None = None
        while True:
            kind, body = self._message()
            if kind == b"D":
                rows.append(_row(body))
            elif kind == b"E":
                fields = {field[:1]: field[1:].decode() for field in body.split(b"\0") if field}
                error = PostgresError(f"{fields[b'M']} (SQLSTATE {fields[b'C']})", fields[b"C"])
                if fields[b"S"] in ("FATAL", "PANIC"):
                    raise error if not fields[b"C"].startswith("57P") else ConnectionError(str(error))
            elif kind == b"R" and body[:4] != b"\0\0\0\0":
                raise PostgresError("the server asks for a password")
            elif kind == b"Z":
                if error:
                    raise error
                return rows

    def _message(self) -> tuple[bytes, bytes]:
        head = self._file.read(5)
        if len(head) < 5:
            raise ConnectionError("the server has closed the connection")
        size = struct.unpack("!i", head[1:])[0] - 4
        body = self._file.read(size)
        if len(body) < size:
            raise ConnectionError("the server has closed the connection")
        return head[:1], body


def _row(body: bytes) -> tuple[str | None, ...]:
    values: list[str | None] = []
    at = 2
    for _ in range(struct.unpack("!h", body[:2])[0]):
        size = struct.unpack("!i", body[at : at + 4])[0]
        at += 4
        values.append(None if size < 0 else body[at : at + size].decode())
        at += max(size, 0)
    return tuple(values)


def find_programs(folder: Path) -> Path:
    """The folder of ``initdb`` and ``postgres``: of an installed server, else of one from Maven Central.

    Raises:
        PostgresError: There is none for this machine.
    """
    return installed_programs() or fetched_programs(folder)


def installed_programs() -> Path | None:
    """The folder of the programs of the newest installed server, if it has logical decoding with ``pgoutput``."""
    found = [Path(initdb).resolve().parent for initdb in [shutil.which("initdb")] if initdb]
    found += [initdb.parent for initdb in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    versions = {}
    for programs in found:
        if (programs / "postgres").is_file():
            major = int((_version(programs) or "0").split(".")[0])
            if major >= OLDEST_MAJOR:
                versions[major] = programs
    return versions[max(versions)] if versions else None


def _version(programs: Path) -> str | None:
    output = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True).stdout
    found = re.search(r"PostgreSQL\) ([\d.]+)", output)
    return found.group(1) if found else None


def fetched_programs(folder: Path) -> Path:
    """The folder of the programs from Maven Central, unpacked below ``folder``: the server's user can read it there.

    Raises:
        PostgresError: Maven Central has none for this machine, or they could not be fetched.
    """
    name, checksum = BINARIES.get(platform.machine(), (None, ""))
    if name is None or platform.system() != "Linux":
        raise PostgresError(
            f"There is no PostgreSQL for {platform.system()} on {platform.machine()} in Maven Central, and none is "
            "installed: install a PostgreSQL server, and put its initdb on the PATH."
        )
    wanted = Jar("io.zonky.test.postgres", f"embedded-postgres-binaries-linux-{name}", VERSION, checksum)
    try:
        [jar] = fetch_all(CACHE, [wanted])
    except JarError as error:
        raise PostgresError(f"{error}\nOr install a PostgreSQL server, and put its initdb on the PATH.") from error
    programs = folder / "programs"
    if not (programs / "bin" / "postgres").is_file():
        with zipfile.ZipFile(jar) as archive:
            packed = next(entry for entry in archive.namelist() if entry.endswith(".txz"))
            with archive.open(packed) as file, tarfile.open(fileobj=file, mode="r|xz") as tar:
                tar.extractall(programs)
    return programs / "bin"


def free_port() -> int:
    """A port of loopback that is free now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def literal(value: object) -> str:
    """A value as a literal of SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, bytes):
        return f"'\\x{value.hex()}'::bytea"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"ARRAY[{', '.join(map(literal, value))}]"
    return "'" + str(value).replace("'", "''") + "'"
