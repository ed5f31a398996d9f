"""PostgreSQL with logical decoding: its SQL, and Debezium's connector on a replication slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from database import LARGE, PREFIX, Column, Database
from postgres import DATABASE, USER, Postgres, PostgresConnection
from server import Connection
from values import Values

SLOT = "merganser"

#: Without a replica identity of its own, so that events of updates and deletes have the old key alone. Large values of
#: ``notes`` and ``photo`` are stored out of line (TOAST), and are not in an event that leaves them as they are.
ORDERS = """CREATE TABLE orders (
  id bigint PRIMARY KEY, customer text NOT NULL, amount numeric(12,2), weight double precision, ratio real,
  parcels smallint, pieces integer, paid boolean, placed timestamptz, pickup timestamp, due date, code uuid,
  details jsonb, tags text[], sizes integer[], photo bytea, notes text);
ALTER TABLE orders ALTER COLUMN notes SET STORAGE EXTERNAL, ALTER COLUMN photo SET STORAGE EXTERNAL"""

#: With the whole old row in events: its keys can change while ``body`` stays out of line.
DOCUMENTS = """CREATE TABLE documents (
  region text, number integer, title text, body text, score numeric(18,6), meta jsonb, updated timestamptz NOT NULL,
  PRIMARY KEY (region, number));
ALTER TABLE documents REPLICA IDENTITY FULL, ALTER COLUMN body SET STORAGE EXTERNAL"""

#: Type of a column in the lake, by that in the database, as ``format_type`` writes it.
TYPES = {
    "bigint": "bigint",
    "integer": "int",
    "smallint": "int",
    "real": "float",
    "double precision": "double",
    "boolean": "boolean",
    "text": "string",
    "uuid": "string",
    "jsonb": "string",
    "bytea": "binary",
    "date": "date",
    "timestamp with time zone": "timestamp",
    "timestamp without time zone": "timestamp_ntz",
    "text[]": "array<string>",
    "integer[]": "array<int>",
}


class Array(list):  # type: ignore[type-arg]
    """An array with the type of its items, which an empty one does not show."""

    def __init__(self, kind: str, items: Sequence[object]) -> None:
        super().__init__(items)
        self.kind = kind


class PostgresDatabase(Database):
    """PostgreSQL."""

    name = "postgres"
    title = "PostgreSQL"
    log = "a replication slot"
    order = "LSN"
    preset = "debezium_postgres"
    tables = (ORDERS, DOCUMENTS, "CREATE TABLE marks (id integer PRIMARY KEY)")
    new_columns = (
        ("ALTER TABLE orders ADD COLUMN IF NOT EXISTS channel text",),
        ("ALTER TABLE documents ADD COLUMN IF NOT EXISTS reviewed timestamptz",),
        (
            "ALTER TABLE orders ADD COLUMN IF NOT EXISTS discount numeric(5,2) DEFAULT 0.50",
            "UPDATE orders SET discount = 0.50",
        ),
    )
    conflicts = ("40P01", "40001", "23505")
    has_unchanged = True
    written_again = ", notes = notes || '', photo = photo || ''"

    def server(self, *, fetched: bool = False) -> Postgres:
        return Postgres(fetched=fetched)

    def connect(self, port: int) -> PostgresConnection:
        return PostgresConnection("127.0.0.1", port)

    def literal(self, value: object) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, int):
            return str(value)
        if isinstance(value, bytes):
            return f"'\\x{value.hex()}'::bytea"
        if isinstance(value, Array):
            return f"ARRAY[{', '.join(map(self.literal, value))}]::{value.kind}[]"
        return "'" + str(value).replace("'", "''") + "'"

    def order_row(self, values: Values) -> dict[str, object]:
        rng, maybe = values.rng, values.maybe
        large = rng.random() < 0.5
        return {
            "customer": values.text(),
            "amount": maybe(lambda: values.decimal(12, 2)),
            "weight": maybe(lambda: rng.choice((0.1, -2.5, 1e300, 5e-324, rng.random() * 1e6))),
            "ratio": maybe(lambda: rng.choice((0.1, 1.5, -3.25e-20, 16777216.0))),
            "parcels": maybe(lambda: rng.randint(-32768, 32767)),
            "pieces": maybe(lambda: rng.randint(0, 1000)),
            "paid": maybe(lambda: rng.random() < 0.5),
            "placed": maybe(values.instant),
            "pickup": maybe(lambda: values.instant().replace(tzinfo=None)),
            "due": maybe(lambda: values.instant().date()),
            "code": maybe(lambda: f"{rng.getrandbits(128):032x}"),
            "details": maybe(values.json),
            "tags": maybe(lambda: Array("text", [maybe(values.text) for _ in range(rng.randint(0, 3))])),
            "sizes": maybe(lambda: Array("integer", [rng.randint(-9, 9) for _ in range(rng.randint(0, 4))])),
            "photo": maybe(lambda: rng.randbytes(3000 if large else rng.randint(0, 20))),
            "notes": maybe(lambda: values.large() if large else values.text()),
        }

    def on_conflict(self, keys: Sequence[str], update: Sequence[str]) -> str:
        if not update:
            return "ON CONFLICT DO NOTHING"
        sets = ", ".join(f"{name} = excluded.{name}" for name in update)
        return f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sets}"

    def columns_of(self, connection: Connection, table: str) -> list[Column]:
        found = connection.query(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            f"WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        return [Column(str(name), str(kind), _lake_type(str(kind))) for name, kind in found]

    def text_of(self, column: Column) -> str:
        name, kind = column.name, column.type
        if kind.startswith("timestamp"):
            return f"(extract(epoch FROM {name}) * 1000000)::bigint::text"
        if kind == "date":
            return f"({name} - DATE '1970-01-01')::text"
        if kind == "bytea":
            return f"CASE WHEN length({name}) > {LARGE} THEN md5({name}) ELSE encode({name}, 'hex') END"
        if kind.endswith("[]"):
            return f"to_json({name})::text"
        text = f"{name}::text"
        if column.lake_type == "string":
            return f"CASE WHEN length({text}) > {LARGE} THEN md5({text}) ELSE {text} END"
        return text

    @property
    def jars(self) -> Path:
        return Path(__file__).with_name("postgres_jars.txt")

    def connector(self, port: int, folder: Path) -> Mapping[str, object]:
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": "127.0.0.1",
            "database.port": port,
            "database.user": USER,
            "database.password": "none",  # the server trusts connections from loopback
            "database.dbname": DATABASE,
            "schema.include.list": "public",
            "plugin.name": "pgoutput",
            "publication.name": SLOT,
            "slot.name": SLOT,
            "slot.max.retries": 30,
            "slot.retry.delay.ms": 500,  # after a kill, until the server notices that the old connection is gone
        }

    def topic(self, table: str) -> str:
        return f"{PREFIX}.public.{table}"

    def has_snapshot(self, offsets: bytes) -> bool:
        return b'"lsn"' in offsets and (b'"snapshot"' not in offsets or b'"last_snapshot_record":true' in offsets)

    def block_writes(self, tables: Sequence[str]) -> str:
        """Rows of the snapshot have the position of the slot as their LSN.

        A transaction that is in progress when the slot is created is not in the snapshot, and has events with smaller
        ones: these would lose to the rows of the snapshot.
        """
        return f"BEGIN; LOCK TABLE {', '.join(tables)} IN SHARE MODE"

    def has_place(self, connection: Connection) -> bool:
        created = "SELECT count(*) FROM pg_replication_slots WHERE confirmed_flush_lsn IS NOT NULL"
        return connection.value(created) == "1"

    def position(self, source: Mapping[str, Any], operation: str) -> tuple[int, ...]:
        return (source["lsn"] - (operation == "r"),)


def _lake_type(kind: str) -> str:
    return TYPES.get(kind) or kind.replace("numeric", "decimal")
