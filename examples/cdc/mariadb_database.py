"""MariaDB with a binlog of rows: its SQL, and Debezium's connector for MySQL in the form for MariaDB."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from database import LARGE, PREFIX, Column, Database
from mariadb import DATABASE, PASSWORD, USER, MariaDb, MariaDbConnection
from server import Connection
from values import Values

ORDERS = """CREATE TABLE orders (
  id bigint PRIMARY KEY, customer varchar(200) NOT NULL, amount decimal(12,2), weight double, ratio float,
  parcels smallint, pieces integer, paid boolean, placed timestamp(6) NULL, pickup datetime(6), due date,
  code binary(16), details json, state enum('new', 'paid', 'sent'), labels set('a', 'b', 'c'), opens time(6),
  built year, photo longblob, notes longtext)"""

DOCUMENTS = """CREATE TABLE documents (
  region varchar(10), number integer, title text, body longtext, score decimal(18,6), meta json,
  updated timestamp(6) NOT NULL DEFAULT '2000-01-01', PRIMARY KEY (region, number))"""

#: Type of a column in the lake, by that in the database without its length.
TYPES = {
    "bigint": "bigint",
    "int": "int",
    "smallint": "int",
    "tinyint": "int",
    "year": "int",
    "float": "float",
    "double": "double",
    "varchar": "string",
    "text": "string",
    "longtext": "string",
    "enum": "string",
    "set": "string",
    "time": "string",
    "binary": "binary",
    "longblob": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "datetime": "timestamp_ntz",
}


class MariaDbDatabase(Database):
    """MariaDB."""

    name = "mariadb"
    title = "MariaDB"
    log = "its binlog"
    order = "position"
    preset = "debezium_mysql"
    tables = (ORDERS, DOCUMENTS, "CREATE TABLE marks (id integer PRIMARY KEY)")
    new_columns = (
        ("ALTER TABLE orders ADD COLUMN IF NOT EXISTS channel varchar(50)",),
        ("ALTER TABLE documents ADD COLUMN IF NOT EXISTS reviewed timestamp(6) NULL",),
        (
            "ALTER TABLE orders ADD COLUMN IF NOT EXISTS discount decimal(5,2) DEFAULT 0.50",
            # Rows that have the default already are no change, and have no event: first they get another value.
            "UPDATE orders SET discount = 0.25",
            "UPDATE orders SET discount = 0.50",
        ),
    )
    conflicts = ("40001", "23000", "HY000")  # a deadlock, a key that is there by now, a lock that is not free in time

    def server(self, *, fetched: bool = False) -> MariaDb:
        return MariaDb(fetched=fetched)

    def connect(self, port: int) -> MariaDbConnection:
        return MariaDbConnection("127.0.0.1", port)

    def literal(self, value: object) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, (bool, int)):
            return str(int(value))
        if isinstance(value, float):
            return repr(value)
        if isinstance(value, bytes):
            return f"X'{value.hex()}'"
        if isinstance(value, datetime):
            value = value.replace(tzinfo=None)
        return "'" + str(value).replace("\\", "\\\\").replace("'", "''") + "'"

    def order_row(self, values: Values) -> dict[str, object]:
        rng, maybe = values.rng, values.maybe
        large = rng.random() < 0.5
        return {
            "customer": values.text(),
            "amount": maybe(lambda: values.decimal(12, 2)),
            "weight": maybe(lambda: rng.choice((0.1, -2.5, 1e300, 2.5e-308, rng.random() * 1e6))),
            # The server writes a float as text with six digits, and so the engine's snapshot has no more of it.
            "ratio": maybe(lambda: rng.choice((0.1, 1.5, -3.25e-20, 65536.0))),
            "parcels": maybe(lambda: rng.randint(-32768, 32767)),
            "pieces": maybe(lambda: rng.randint(0, 1000)),
            "paid": maybe(lambda: rng.random() < 0.5),
            "placed": maybe(lambda: values.instant((1970, 2037))),
            "pickup": maybe(values.instant),
            "due": maybe(lambda: values.instant().date()),
            "code": maybe(lambda: rng.randbytes(16)),
            "details": maybe(values.json),
            "state": maybe(lambda: rng.choice(("new", "paid", "sent"))),
            "labels": maybe(lambda: ",".join(name for name in "abc" if rng.random() < 0.5)),
            "opens": maybe(lambda: values.instant().time().isoformat("microseconds")),
            "built": maybe(lambda: rng.randint(1901, 2155)),
            "photo": maybe(lambda: rng.randbytes(3000 if large else rng.randint(0, 20))),
            "notes": maybe(lambda: values.large() if large else values.text()),
        }

    def on_conflict(self, keys: Sequence[str], update: Sequence[str]) -> str:
        sets = [f"{name} = VALUES({name})" for name in update] or [f"{keys[0]} = {keys[0]}"]
        return f"ON DUPLICATE KEY UPDATE {', '.join(sets)}"

    def columns_of(self, connection: Connection, table: str) -> list[Column]:
        found = connection.query(
            "SELECT column_name, column_type FROM information_schema.columns "
            f"WHERE table_schema = database() AND table_name = '{table}' ORDER BY ordinal_position"
        )
        return [Column(str(name), str(kind), _lake_type(str(kind))) for name, kind in found]

    def text_of(self, column: Column) -> str:
        name, kind = column.name, column.lake_type
        if kind in ("timestamp", "timestamp_ntz"):
            return f"timestampdiff(MICROSECOND, '1970-01-01', {name})"
        if kind == "date":
            return f"datediff({name}, '1970-01-01')"
        if kind == "binary":
            return f"if(length({name}) > {LARGE}, md5({name}), lower(hex({name})))"
        if kind == "float":
            return f"cast({name} AS double)"
        if column.type.startswith("time("):
            return name
        if kind == "string":
            return f"if(char_length({name}) > {LARGE}, md5({name}), {name})"
        return name

    @property
    def jars(self) -> Path:
        return Path(__file__).with_name("mariadb_jars.txt")

    def connector(self, port: int, folder: Path) -> Mapping[str, object]:
        return {
            "connector.class": "io.debezium.connector.mysql.MySqlConnector",
            "connector.adapter": "mariadb",
            "database.protocol": "jdbc:mariadb",
            "database.jdbc.driver": "org.mariadb.jdbc.Driver",
            "database.ssl.mode": "disabled",
            "database.hostname": "127.0.0.1",
            "database.port": port,
            "database.user": USER,
            "database.password": PASSWORD,
            "database.server.id": 5400,  # of the engine, as a replica
            "database.include.list": DATABASE,
            # Columns change while the engine runs: it stores what the tables looked like at each place of the binlog.
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": folder / "schema-history.dat",
            "include.schema.changes": "false",
        }

    def topic(self, table: str) -> str:
        return f"{PREFIX}.{DATABASE}.{table}"

    def has_snapshot(self, offsets: bytes) -> bool:
        return b'"pos"' in offsets and b'"snapshot"' not in offsets

    def position(self, source: Mapping[str, Any], operation: str) -> tuple[int, ...]:
        return int(re.sub(r".*\.", "", source["file"])), source["pos"], source["row"] or 0


def _lake_type(kind: str) -> str:
    return TYPES.get(re.split(r"[( ]", kind)[0]) or kind
