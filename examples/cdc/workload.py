"""A random workload on two tables of a database: the same statements for the same seed, from several connections."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from database import Database
from server import Connection, DatabaseError, Server
from values import Values

#: Record keys of the tables that are captured and compared. The last transaction inserts a row into a table ``marks``:
#: once its event is there, all events before it are.
KEYS = {"orders": ["id"], "documents": ["region", "number"]}

REGIONS = ("ap", "eu", "us")
RECONNECT_S = 60


class Workload:
    """Writers, each a thread with a connection, that go on until they have run their transactions.

    Args:
        database: Its kind.
        server: A running server. The writers wait while it is down.
        seed: Of the statements.
        transactions: Of all writers together.
        writers: How many connections.
        pause_s: After each transaction of a writer, on average.
        size: About how many rows each table has.
    """

    def __init__(
        self,
        database: Database,
        server: Server,
        *,
        seed: int,
        transactions: int,
        writers: int = 2,
        pause_s: float = 0.0,
        size: int = 400,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.done = 0
        self.transactions = transactions
        self._pause_s = pause_s
        self.limit = transactions  # the writers wait when they have run so many
        self._database = database
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
            for statement in self._database.tables:
                connection.query(statement)
            statements = Statements(self._database, random.Random(self._seed), self._size)
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
        statements = Statements(self._database, rng, self._size)
        share = self.transactions // self._writers
        new_columns = self._database.new_columns
        columns_at = {share * (at + 1) // (len(new_columns) + 1): each for at, each in enumerate(new_columns)}
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
                except DatabaseError as error:
                    if error.state not in self._database.conflicts:
                        raise
                    # Another writer is in the way: the transaction is rolled back, and left out.
                    connection.query("ROLLBACK")
                    if not adds_columns:
                        kind = "ended by conflicts"
                        break
                except OSError:
                    # Whether it was committed is not known; the database is what both sides are compared with.
                    connection = None
                    if not adds_columns:
                        kind = "cut off by restarts"
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
            except (OSError, DatabaseError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)


class Statements:
    """Random statements."""

    def __init__(self, database: Database, rng: random.Random, size: int) -> None:
        self._database = database
        self._values = Values(rng)
        self._rng = rng
        self._size = size

    def transaction(self) -> tuple[str, list[str]]:
        """What a transaction is, and its statements."""
        rng = self._rng
        kinds: Sequence[tuple[Callable[[], str | list[str]], int]] = [
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
        words: list[str] = []
        for _ in range(count):
            chosen = rng.choices(choices, weights)[0]()
            words += [chosen] if isinstance(chosen, str) else chosen
        words = words or ["SELECT 1"]
        if len(words) == 1:
            return "of one statement", words
        if 0.4 <= fate < 0.52:
            return "rolled back", ["BEGIN", *words, "ROLLBACK"]
        if 0.52 <= fate < 0.62:
            cut = rng.randint(1, len(words) - 1)
            partly = ["BEGIN", *words[:cut], "SAVEPOINT here", *words[cut:], "ROLLBACK TO SAVEPOINT here"]
            return "rolled back in part", [*partly, self.update_order(), "COMMIT"]
        return "of several statements", ["BEGIN", *words, "COMMIT"]

    def insert_order(self, number: int) -> str:
        row = self._database.order_row(self._values)
        return self._insert("orders", {"id": number, **row}, ["id"], list(row))

    def update_order(self) -> str:
        return f"UPDATE orders SET {self._some(self._database.order_row(self._values), 4)} WHERE id = {self._id()}"

    def update_orders(self) -> str:
        parts = self._rng.randint(10, 40)
        return f"UPDATE orders SET pieces = coalesce(pieces, 0) + 1 WHERE id % {parts} = {self._rng.randrange(parts)}"

    def delete_order(self) -> str:
        first = self._id()
        return f"DELETE FROM orders WHERE id BETWEEN {first} AND {first + self._rng.choice((0, 0, 0, 5))}"

    def change_order_key(self) -> str:
        free = f"NOT EXISTS (SELECT 1 FROM orders WHERE id = {(new := self._id())})"
        return f"UPDATE orders SET id = {new}{self._database.written_again} WHERE id = {self._id()} AND {free}"

    def insert_document(self, region: str, number: int) -> str:
        row = {"region": region, "number": number, **self._values.document()}
        return self._insert("documents", row, ["region", "number"], [])

    def update_document(self) -> str:
        return f"UPDATE documents SET {self._some(self._values.document(), 2)} WHERE {self._of(*self._place())}"

    def delete_document(self) -> str:
        return f"DELETE FROM documents WHERE {self._of(*self._place())}"

    def change_document_key(self) -> str:
        region, number = self._place()
        free = f"NOT EXISTS (SELECT 1 FROM documents WHERE {self._of(region, number)})"
        target = f"region = '{region}', number = {number}"
        return f"UPDATE documents SET {target} WHERE {self._of(*self._place())} AND {free}"

    def swap(self) -> list[str]:
        """Two documents exchange their numbers, by way of a number that is free before and after it."""
        region, one = self._place()
        other, spare = self._place()[1], -self._rng.randint(1, 1_000_000)
        moves = [(one, spare), (other, one), (spare, other)] if one != other else []
        return [f"UPDATE documents SET number = {to} WHERE {self._of(region, start)}" for start, to in moves]

    def _insert(self, table: str, row: Mapping[str, object], keys: Sequence[str], update: Sequence[str]) -> str:
        values = ", ".join(map(self._database.literal, row.values()))
        end = self._database.on_conflict(keys, update)
        return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values}) {end}"

    def _some(self, row: Mapping[str, object], most: int) -> str:
        chosen = self._rng.sample(sorted(row), self._rng.randint(1, most))
        return ", ".join(f"{name} = {self._database.literal(row[name])}" for name in chosen)

    def _of(self, region: str, number: int) -> str:
        return f"region = '{region}' AND number = {number}"

    def _id(self) -> int:
        return self._rng.randint(1, self._size)

    def _place(self) -> tuple[str, int]:
        return self._rng.choice(REGIONS), self._rng.randint(1, max(1, self._size // 3))
