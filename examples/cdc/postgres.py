"""A PostgreSQL of our own: started on loopback in a folder, with logical decoding, and reached without a library."""

from __future__ import annotations

import platform
import re
import shutil
import signal
import struct
import subprocess
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from server import Connection, DatabaseError, Row, Server

from dev.layout import CACHE
from dev.maven import Jar, JarError, fetch_all

USER = "postgres"
DATABASE = "postgres"
OLDEST_MAJOR = 12

#: The server's programs for platforms that Maven Central has them for, by machine.
BINARIES = {
    "x86_64": ("amd64", "7d62e5987bcb735ba5105abf91ec7b7110e0c4afcaa9af2d913cdc1dc163472d"),
    "aarch64": ("arm64v8", "ae75950418bec0786098f38fe7da056006e6d9aff48f9b23d6f8bab58f3cba61"),
}
VERSION = "16.6.0"


class Postgres(Server):
    """A PostgreSQL with logical decoding."""

    title = "PostgreSQL"
    in_order = signal.SIGINT  # connections end at once
    as_by_crash = signal.SIGQUIT

    def connect(self) -> PostgresConnection:
        return PostgresConnection("127.0.0.1", self.port)

    @property
    def version(self) -> str:
        return _version(self.programs) or "unknown"

    def _find_programs(self, fetched: bool) -> Path:
        return fetched_programs(self.folder) if fetched else find_programs(self.folder)

    def _command(self) -> Sequence[str | Path]:
        return [self.programs / "postgres", "-D", self.data]

    def _initialize(self) -> None:
        initdb = [self.programs / "initdb", "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync"]
        self._run([*initdb, "--locale=C"])
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


class PostgresConnection(Connection):
    """By PostgreSQL's simple query protocol: one statement at a time, or several in one string."""

    def _log_in(self) -> None:
        words = f"user\0{USER}\0database\0{DATABASE}\0client_encoding\0UTF8\0\0".encode()
        self._socket.sendall(struct.pack("!ii", len(words) + 8, 196608) + words)
        self._rows_until_ready()

    def query(self, statement: str) -> list[Row]:
        body = statement.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        return self._rows_until_ready()

    def _rows_until_ready(self) -> list[Row]:
        rows: list[Row] = []
        error: DatabaseError | None = None
        while True:
            kind, body = self._message()
            if kind == b"D":
                rows.append(_row(body))
            elif kind == b"E":
                fields = {field[:1]: field[1:].decode() for field in body.split(b"\0") if field}
                error = DatabaseError(f"{fields[b'M']} (SQLSTATE {fields[b'C']})", fields[b"C"])
                if fields[b"S"] in ("FATAL", "PANIC"):
                    raise error if not fields[b"C"].startswith("57P") else ConnectionError(str(error))
            elif kind == b"R" and body[:4] != b"\0\0\0\0":
                raise DatabaseError("the server asks for a password")
            elif kind == b"Z":
                if error:
                    raise error
                return rows

    def _message(self) -> tuple[bytes, bytes]:
        head = self._read(5)
        return head[:1], self._read(struct.unpack("!i", head[1:])[0] - 4)


def _row(body: bytes) -> Row:
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
        DatabaseError: There is none for this machine.
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
        DatabaseError: Maven Central has none for this machine, or they could not be fetched.
    """
    name, checksum = BINARIES.get(platform.machine(), (None, ""))
    if name is None or platform.system() != "Linux":
        raise DatabaseError(
            f"There is no PostgreSQL for {platform.system()} on {platform.machine()} in Maven Central, and none is "
            "installed: install a PostgreSQL server, and put its initdb on the PATH."
        )
    wanted = Jar("io.zonky.test.postgres", f"embedded-postgres-binaries-linux-{name}", VERSION, checksum)
    try:
        [jar] = fetch_all(CACHE, [wanted])
    except JarError as error:
        raise DatabaseError(f"{error}\nOr install a PostgreSQL server, and put its initdb on the PATH.") from error
    programs = folder / "programs"
    if not (programs / "bin" / "postgres").is_file():
        with zipfile.ZipFile(jar) as archive:
            packed = next(entry for entry in archive.namelist() if entry.endswith(".txz"))
            with archive.open(packed) as file, tarfile.open(fileobj=file, mode="r|xz") as tar:
                tar.extractall(programs)
    return programs / "bin"
