"""What the benchmark needs of a table format; a subclass for each of them is in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from pyspark.sql import DataFrame, SparkSession

from peers.data import KEY, ORDERING, SMALL_UPSERTS, TWO_COLUMNS, Change, Data, newest


class Engine:
    """A table of one engine, in a session of that engine.

    Args:
        kind: One of `kinds`.
        data: What the table is made of.
        folder: Where the tables of the session are.
        name: Of the table.
        files: Files or buckets of the table.
    """

    name: ClassVar[str]
    kinds: ClassVar[Mapping[str, Mapping[str, str]]]
    """Properties of the tables that are measured, by the kind: `cow…` rewrites files, `mor…` merges when it reads."""
    group: ClassVar[str] = ""
    """Of the jars' Maven coordinates; empty if a session has the engine already."""
    lacks: ClassVar[Mapping[tuple[str, str], str]] = {}
    """Changes that the engine refuses or computes wrongly, by type of table and name, and why."""
    decides: ClassVar[bool] = False
    """Whether the table decides which version of a row wins; if not, each statement does."""
    merges: ClassVar[bool] = True
    """Whether the table has the changes afterwards; plain Spark only moves the same bytes."""

    def __init__(self, spark: SparkSession, kind: str, data: Data, folder: Path, name: str, files: int) -> None:
        self.spark = spark
        self.kind = kind
        self.data = data
        self.path = folder / name
        self.name_of_table = name
        self.files = files

    @classmethod
    def settings(cls, folder: Path) -> dict[str, str]:
        """Settings of the session, whose tables are in a folder."""
        return {}

    @classmethod
    def session(cls, settings: Mapping[str, str], master: str) -> SparkSession:
        return SparkSession.builder.master(master).appName(cls.name).config(map=dict(settings)).getOrCreate()

    @property
    def table(self) -> str:
        """The table's name in statements."""
        raise NotImplementedError

    @property
    def compacts(self) -> bool:
        return self.kind.startswith("mor")

    def create(self) -> None:
        raise NotImplementedError

    def load(self, rows: DataFrame) -> None:
        raise NotImplementedError

    def upsert(self, rows: DataFrame) -> None:
        self.merge(rows)

    def rows(self) -> DataFrame:
        return self.spark.table(self.table)

    def compact(self) -> None:
        raise NotImplementedError

    def services(self) -> None:
        """What a table with many small changes needs from time to time."""
        if self.compacts:
            self.compact()

    def small_upsert(self, batch: Change, number: int) -> None:
        """Upsert a part of a batch: its number is one of `SMALL_UPSERTS`."""
        part = f"pmod(xxhash64({KEY}), {SMALL_UPSERTS}) = {number}"
        self.upsert(self.data.rows(self.spark, batch.name).where(part))

    def change(self, change: Change) -> None:
        if change.how in ("update", "delete"):
            getattr(self, change.how)(self.data.keys(change.name))
        else:
            getattr(self, change.how)(self.data.rows(self.spark, change.name))

    def merge(self, rows: DataFrame) -> None:
        """Upsert rows by a statement; one that has to decide which version wins gets one row for each key."""
        self._merge(rows if self.decides else newest(rows), KEY, "*", " WHEN NOT MATCHED THEN INSERT *")

    def merge_columns(self, rows: DataFrame) -> None:
        """Change two columns of stored rows, which the first column of the rows identifies."""
        assigned = ", ".join(f"{name} = s.{name}" for name in (ORDERING, *TWO_COLUMNS))
        self._merge(rows, rows.columns[0], assigned, "")

    def _merge(self, rows: DataFrame, key: str, assigned: str, rest: str) -> None:
        rows.createOrReplaceTempView("changes")
        wins = "" if self.decides else f" AND s.{ORDERING} >= t.{ORDERING}"
        self.spark.sql(
            f"MERGE INTO {self.table} t USING changes s ON t.{key} = s.{key} "
            f"WHEN MATCHED{wins} THEN UPDATE SET {assigned}{rest}"
        ).collect()

    def update(self, keys: str) -> None:
        self.spark.sql(f"UPDATE {self.table} SET quantity = quantity + 1 WHERE {KEY} IN ({keys})").collect()

    def delete(self, keys: str) -> None:
        self.spark.sql(f"DELETE FROM {self.table} WHERE {KEY} IN ({keys})").collect()


def properties(of: Mapping[str, str]) -> str:
    """The clause of a statement that creates a table."""
    return "TBLPROPERTIES (" + ", ".join(f"'{name}' = '{value}'" for name, value in of.items()) + ")"


def class_path(jars: Sequence[Path]) -> dict[str, str]:
    """Settings of a session that has jars, whose classes are of the same loader as Spark's."""
    return {"spark.driver.extraClassPath": ":".join(map(str, jars))} if jars else {}
