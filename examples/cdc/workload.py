"""A random workload on two tables of PostgreSQL: the same statements for the same seed, from several connections."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from postgres import Connection, Postgres, PostgresError, literal

#: Without a replica identity of its own, so that events of updates and deletes have the old key alone. Large values of
#: ``notes`` and ``photo`` are stored out of line (TOAST), and are not in an event that leaves them as they are.
ORDERS = """CREATE TABLE orders (
  id bigint PRIMARY KEY, customer text NOT NULL, amount numeric(12,2), weight double precision, ratio real,
  parcels smallint, lines integer, paid boolean, placed timestamptz, pickup timestamp, due date, code uuid,
  details jsonb, tags text[], sizes integer[], photo bytea, notes text);
ALTER TABLE orders ALTER COLUMN notes SET STORAGE EXTERNAL, ALTER COLUMN photo SET STORAGE EXTERNAL"""

#: With the whole old row in events: its keys can change while ``body`` stays out of line.
DOCUMENTS = """CREATE TABLE documents (
  region text, number integer, title text, body text, score numeric(18,6), meta jsonb, updated timestamptz NOT NULL,
  PRIMARY KEY (region, number));
ALTER TABLE documents REPLICA IDENTITY FULL, ALTER COLUMN body SET STORAGE EXTERNAL"""

#: The last transaction inserts a row here: once its event is there, all events before it are.
MARKS = "CREATE TABLE marks (id integer PRIMARY KEY)"

#: Added while the workload runs, each in a transaction of its own. Existing rows have no event for a new column, also
#: if it has a default, until something updates them.
NEW_COLUMNS = [
    ("ALTER TABLE orders ADD COLUMN channel text",),
    ("ALTER TABLE documents ADD COLUMN reviewed timestamptz",),
    ("ALTER TABLE orders ADD COLUMN discount numeric(5,2) DEFAULT 0.50; UPDATE orders SET discount = 0.50",),
]

#: Record keys of the tables that are captured and compared.
KEYS = {"orders": ["id"], "documents": ["region", "number"]}

REGIONS = ("ap", "eu", "us")
WORDS = (
    "",
    "a",
    "Zürich",
    "naïve ☂",
    "it's",
    'say "hi"',
    "back\\slash",
    "line\nbreak",
    "\ttab",
    "null",
    "{}",
    "💾 disk",
)
RECONNECT_S = 60


class Workload:
    """Writers, each a thread with a connection, that go on until they have run their transactions.

    Args:
        server: A running server. The writers wait while it is down.
        seed: Of the statements.
        transactions: Of all writers together.
        writers: How many connections.
        pause_s: After each transaction of a writer, on average.
        size: About how many rows each table has.
    """

    def __init__(
        self, server: Postgres, *, seed: int, transactions: int, writers: int = 2, pause_s: float = 0.0, size: int = 400
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.done = 0
        self.transactions = transactions
        self._pause_s = pause_s
        self.limit = transactions  # the writers wait when they have run so many
        self._server = server
        self._seed = seed
        self._writers = writers
        self._size = size
        self._lock = threading.Lock()
        self._failure: BaseException | None = None
        self._threads: list[threading.Thread] = []

    def create_tables(self) -> None:
        """Create the tables, with a first half of their rows."""
        with self._server.connect() as connection:
            for statement in (ORDERS, DOCUMENTS, MARKS):
                connection.query(statement)
            statements = Statements(random.Random(self._seed), self._size)
            connection.query("BEGIN")
            for number in range(1, self._size // 2 + 1):
                connection.query(statements.insert_order(number))
            for number in range(1, self._size // 6 + 1):
                for region in REGIONS:
                    connection.query(statements.insert_document(region, number))
            connection.query("COMMIT")

    def start(self) -> None:
        """Start the writers."""
        for number in range(self._writers):
            thread = threading.Thread(target=self._guarded, args=(number,), daemon=True)
            thread.start()
            self._threads.append(thread)

    @property
    def is_running(self) -> bool:
        """Whether a writer has transactions to run."""
        return any(thread.is_alive() for thread in self._threads)

    def raise_failure(self) -> None:
        """Raise what has ended a writer, if something has."""
        if self._failure:
            raise self._failure

    def finish(self) -> None:
        """Wait for the writers, and insert the mark that comes after all that they wrote."""
        for thread in self._threads:
            thread.join()
        self.raise_failure()
        with self._server.connect() as connection:
            connection.query("INSERT INTO marks VALUES (1)")

    def _guarded(self, writer: int) -> None:
        try:
            self._write(writer)
        except BaseException as failure:
            self._failure = failure

    def _write(self, writer: int) -> None:
        rng = random.Random(f"{self._seed}/{writer}")
        statements = Statements(rng, self._size)
        share = self.transactions // self._writers
        columns_at = {share * (at + 1) // (len(NEW_COLUMNS) + 1): each for at, each in enumerate(NEW_COLUMNS)}
        connection: Connection | None = None
        for number in range(share):
            while self.done >= self.limit:
                time.sleep(0.02)
            adds_columns = writer == 0 and number in columns_at
            kind, words = ("columns added", columns_at[number]) if adds_columns else statements.transaction()
            while True:
                try:
                    connection = connection or self._connected()
                    for word in words:
                        connection.query(word)
                    break
                except PostgresError as error:
                    if error.state not in ("40P01", "40001"):
                        raise
                    # A deadlock with another writer: the transaction is rolled back, and left out.
                    connection.query("ROLLBACK")
                    if adds_columns:
                        continue
                    kind = "ended by deadlocks"
                    break
                except OSError:
                    # Whether it was committed is not known; the database is what both sides are compared with.
                    connection, kind = None, "cut off by restarts"
                    if not adds_columns or self._has_run(words):
                        break
            with self._lock:
                self.counts[kind] += 1
                self.counts["statements"] += len(words)
                self.done += 1
            time.sleep(self._pause_s * rng.uniform(0.5, 1.5))
        if connection:
            connection.close()

    def _connected(self) -> Connection:
        end = time.monotonic() + RECONNECT_S
        while True:
            try:
                return self._server.connect()
            except (OSError, PostgresError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def _has_run(self, words: Sequence[str]) -> bool:
        _, _, table, *_, column, _ = words[0].split(maxsplit=6)
        found = f"SELECT count(*) FROM information_schema.columns WHERE table_name = '{table}'"
        with self._connected() as connection:
            return connection.value(f"{found} AND column_name = '{column}'") == "1"


class Statements:
    """Random statements."""

    def __init__(self, rng: random.Random, size: int) -> None:
        self._rng = rng
        self._size = size

    def transaction(self) -> tuple[str, list[str]]:
        """What a transaction is, and its statements."""
        rng = self._rng
        kinds: Sequence[tuple[Callable[[], str], int]] = [
            (lambda: self.insert_order(self._id()), 6),
            (self.update_order, 8),
            (self.update_orders, 2),
            (self.delete_order, 3),
            (self.change_order_key, 2),
            (lambda: self.insert_document(*self._place()), 3),
            (self.update_document, 5),
            (self.delete_document, 2),
            (self.change_document_key, 3),
            (self.swap, 1),
        ]
        choices, weights = zip(*kinds)
        fate = rng.random()
        count = 1 if fate < 0.4 else rng.randint(2, 8)
        words = [rng.choices(choices, weights)[0]() for _ in range(count)]
        if count == 1:
            return "of one statement", words
        if fate < 0.52:
            return "rolled back", ["BEGIN", *words, "ROLLBACK"]
        if fate < 0.62:
            cut = rng.randint(1, count - 1)
            partly = ["BEGIN", *words[:cut], "SAVEPOINT here", *words[cut:], "ROLLBACK TO SAVEPOINT here"]
            return "rolled back in part", [*partly, self.update_order(), "COMMIT"]
        return "of several statements", ["BEGIN", *words, "COMMIT"]

    def insert_order(self, number: int) -> str:
        row = {"id": number, **self._order()}
        values = ", ".join(map(sql, row.values()))
        update = ", ".join(f"{name} = excluded.{name}" for name in row if name != "id")
        return f"INSERT INTO orders ({', '.join(row)}) VALUES ({values}) ON CONFLICT (id) DO UPDATE SET {update}"

    def update_order(self) -> str:
        row = self._order()
        chosen = self._rng.sample(sorted(row), self._rng.randint(1, 4))
        return f"UPDATE orders SET {', '.join(f'{name} = {sql(row[name])}' for name in chosen)} WHERE id = {self._id()}"

    def update_orders(self) -> str:
        parts = self._rng.randint(10, 40)
        return f"UPDATE orders SET lines = coalesce(lines, 0) + 1 WHERE id % {parts} = {self._rng.randrange(parts)}"

    def delete_order(self) -> str:
        first = self._id()
        return f"DELETE FROM orders WHERE id BETWEEN {first} AND {first + self._rng.choice((0, 0, 0, 5))}"

    def change_order_key(self) -> str:
        """The large values are written too: an event with a new key would not have them otherwise."""
        same = "notes = notes || '', photo = photo || ''"
        free = f"NOT EXISTS (SELECT 1 FROM orders WHERE id = {(new := self._id())})"
        return f"UPDATE orders SET id = {new}, {same} WHERE id = {self._id()} AND {free}"

    def insert_document(self, region: str, number: int) -> str:
        row = {"region": region, "number": number, **self._document()}
        values = ", ".join(map(sql, row.values()))
        return f"INSERT INTO documents ({', '.join(row)}) VALUES ({values}) ON CONFLICT DO NOTHING"

    def update_document(self) -> str:
        row = self._document()
        chosen = self._rng.sample(sorted(row), self._rng.randint(1, 2))
        values = ", ".join(f"{name} = {sql(row[name])}" for name in chosen)
        return f"UPDATE documents SET {values} WHERE {self._of(*self._place())}"

    def delete_document(self) -> str:
        return f"DELETE FROM documents WHERE {self._of(*self._place())}"

    def change_document_key(self) -> str:
        region, number = self._place()
        free = f"NOT EXISTS (SELECT 1 FROM documents WHERE {self._of(region, number)})"
        target = f"region = '{region}', number = {number}"
        return f"UPDATE documents SET {target} WHERE {self._of(*self._place())} AND {free}"

    def swap(self) -> str:
        """Two documents exchange their numbers, by way of a number that is free before and after it."""
        region, one = self._place()
        other, spare = self._place()[1], -self._rng.randint(1, 1_000_000)
        moves = [(one, spare), (other, one), (spare, other)]
        updates = [f"UPDATE documents SET number = {to} WHERE {self._of(region, start)}" for start, to in moves]
        return "; ".join(updates if one != other else ["SELECT 1"])

    def _of(self, region: str, number: int) -> str:
        return f"region = '{region}' AND number = {number}"

    def _id(self) -> int:
        return self._rng.randint(1, self._size)

    def _place(self) -> tuple[str, int]:
        return self._rng.choice(REGIONS), self._rng.randint(1, max(1, self._size // 3))

    def _order(self) -> dict[str, object]:
        rng = self._rng
        large = rng.random() < 0.5
        return {
            "customer": self._text(),
            "amount": self._maybe(lambda: Decimal(rng.randint(-(10**12) + 1, 10**12 - 1)).scaleb(-2)),
            "weight": self._maybe(lambda: rng.choice((0.1, -2.5, 1e300, 5e-324, rng.random() * 1e6))),
            "ratio": self._maybe(lambda: rng.choice((0.1, 1.5, -3.25e-20, 16777216.0))),
            "parcels": self._maybe(lambda: rng.randint(-32768, 32767)),
            "lines": self._maybe(lambda: rng.randint(0, 1000)),
            "paid": self._maybe(lambda: rng.random() < 0.5),
            "placed": self._maybe(self._instant),
            "pickup": self._maybe(lambda: self._instant().replace(tzinfo=None)),
            "due": self._maybe(lambda: self._instant().date()),
            "code": self._maybe(lambda: f"{rng.getrandbits(128):032x}"),
            "details": self._maybe(self._json),
            "tags": self._maybe(lambda: Array("text", [self._maybe(self._text) for _ in range(rng.randint(0, 3))])),
            "sizes": self._maybe(lambda: Array("integer", [rng.randint(-9, 9) for _ in range(rng.randint(0, 4))])),
            "photo": self._maybe(lambda: rng.randbytes(3000 if large else rng.randint(0, 20))),
            "notes": self._maybe(lambda: self._large() if large else self._text()),
        }

    def _document(self) -> dict[str, object]:
        rng = self._rng
        return {
            "title": self._maybe(self._text),
            "body": self._maybe(self._large),
            "score": self._maybe(lambda: Decimal(rng.randint(-(10**17), 10**17)).scaleb(-6)),
            "meta": self._maybe(self._json),
            "updated": self._instant(),
        }

    def _maybe(self, value: Callable[[], object]) -> object:
        return None if self._rng.random() < 0.12 else value()

    def _text(self) -> str:
        return " ".join(self._rng.choice(WORDS) for _ in range(self._rng.randint(1, 4)))

    def _large(self) -> str:
        return f"{self._rng.getrandbits(64):x}-" * self._rng.randint(160, 300) + self._text()

    def _json(self) -> Json:
        rng = self._rng
        values = {"b": rng.randint(0, 9), "a": [1.50, None, self._text()], "nested": {"x": rng.random() < 0.5}}
        return Json(json.dumps(dict(rng.sample(sorted(values.items()), rng.randint(0, 3)))))

    def _instant(self) -> datetime:
        if self._rng.random() < 0.1:
            return datetime(self._rng.choice((1890, 1969, 2199)), 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc)
        since = timedelta(microseconds=self._rng.randrange(10**15))
        return datetime(2000, 1, 1, tzinfo=timezone.utc) + since


class Array(list):  # type: ignore[type-arg]
    """An array with the type of its items, which an empty one does not show."""

    def __init__(self, kind: str, items: Sequence[object]) -> None:
        super().__init__(items)
        self.kind = kind


class Json(str):
    """A document of jsonb."""


def sql(value: object) -> str:
    """A value of these rows as a literal."""
    if isinstance(value, Array):
        return f"ARRAY[{', '.join(map(literal, value))}]::{value.kind}[]"
    return literal(value)
