"""What is different from database to database: a server, its SQL, and the connector of Debezium that reads its log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server import Connection, Server
from values import Values

PREFIX = "shop"  # of the topics, which are folders here
LARGE = 200  # characters or bytes, from which a comparison takes a hash


@dataclass(frozen=True)
class Column:
    """A column of the database: its name, its type there, and the type that its values have in the lake."""

    name: str
    type: str
    lake_type: str


class Database(ABC):
    """A kind of database.

    Attributes:
        name: As the command has it.
        title: As the page has it.
        log: Of the server, as the page has it, in which the engine reads the changes.
        order: The name of what orders the changes of a row.
        preset: Of ``apply_changes``.
        tables: Statements that create ``orders``, ``documents`` and ``marks``.
        new_columns: Statements that add a column, each with what changes the rows that are there. They are run again
            if the server crashes while they run.
        conflicts: States of a statement that another writer is in the way of.
        has_unchanged: Whether events leave out large values that a change has left as they were.
        written_again: Assignments for a change of the key of ``orders``, of values that its event would not have.
    """

    name: str
    title: str
    log: str
    order: str
    preset: str
    tables: Sequence[str]
    new_columns: Sequence[Sequence[str]]
    conflicts: Sequence[str]
    has_unchanged: bool = False
    written_again: str = ""

    # ---- The server

    @abstractmethod
    def server(self, *, fetched: bool = False) -> Server:
        """A server in a temporary folder, that is not started."""

    @abstractmethod
    def connect(self, port: int) -> Connection:
        """A connection to it."""

    # ---- The workload

    @abstractmethod
    def literal(self, value: object) -> str:
        """A value as a literal of SQL."""

    @abstractmethod
    def order_row(self, values: Values) -> dict[str, object]:
        """Random values of all columns of ``orders`` but its key."""

    @abstractmethod
    def on_conflict(self, keys: Sequence[str], update: Sequence[str]) -> str:
        """The end of an INSERT that sets these columns if the key is there; with none it leaves the row as it is."""

    # ---- The comparison

    @abstractmethod
    def columns_of(self, connection: Connection, table: str) -> list[Column]:
        """The columns of a table."""

    @abstractmethod
    def text_of(self, column: Column) -> str:
        """The value of a column as text without a loss, as ``comparison`` describes it, in SQL."""

    # ---- The engine

    @property
    @abstractmethod
    def jars(self) -> Path:
        """The list of the engine's jars."""

    @abstractmethod
    def connector(self, port: int, folder: Path) -> Mapping[str, object]:
        """The connector's own properties; ``folder`` is for its files."""

    @abstractmethod
    def topic(self, table: str) -> str:
        """The topic of a table."""

    @abstractmethod
    def has_snapshot(self, offsets: bytes) -> bool:
        """Whether these offsets are those after a complete snapshot."""

    def block_writes(self, tables: Sequence[str]) -> str | None:
        """Statements that block writes while the engine finds its place in the log; ``None``: it needs no block."""
        return None

    def has_place(self, connection: Connection) -> bool:
        """Whether the engine has found its place in the log."""
        return True

    @abstractmethod
    def position(self, source: Mapping[str, Any], operation: str) -> tuple[int, ...]:
        """The position of an event in the server's log, as the preset orders it."""


def names() -> list[str]:
    """Names of the databases."""
    return ["postgres", "mariadb"]


def named(name: str) -> Database:
    """The database of a name."""
    if name == "mariadb":
        from mariadb_database import MariaDbDatabase

        return MariaDbDatabase()
    from postgres_database import PostgresDatabase

    return PostgresDatabase()
