"""Short words for tests that speak SQL: statements, rows, commits."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

KINDS = ["cow", "mor"]
each_kind = pytest.mark.parametrize("kind", KINDS)


class Sql:
    """A session and the tables that one test makes in it; they are dropped when it ends."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._names: list[str] = []

    def name(self) -> str:
        """A table's name that no other test has."""
        self._names.append(f"t_{uuid.uuid4().hex[:12]}")
        return self._names[-1]

    def create(
        self,
        kind: str,
        columns: str = "id int, ts bigint, v string",
        *,
        key: str = "id",
        ordering: str | None = "ts",
        by: str = "",
        **properties: str,
    ) -> str:
        """A new table of ours, empty."""
        name = self.name()
        options = {"primaryKey": key, "type": kind, **({"orderingFields": ordering} if ordering else {}), **properties}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        partitioned = f"PARTITIONED BY ({by})" if by else ""
        self.run(f"CREATE TABLE {name} ({columns}) USING merganser {partitioned} TBLPROPERTIES ({listed})")
        return name

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.spark.sql(statement).collect()]

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        """All rows, sorted."""
        return sorted(self.run(f"SELECT {columns} FROM {table}"), key=repr)

    def fails(self, statement: str) -> str:
        """The message of the error that the statement must end with."""
        with pytest.raises((Py4JJavaError, PySparkException)) as caught:
            self.spark.sql(statement).collect()
        return str(caught.value)

    @contextmanager
    def settings(self, options: Mapping[str, str]) -> Iterator[None]:
        """The session with these settings, taken back at the end."""
        for key, value in options.items():
            self.spark.conf.set(key, value)
        try:
            yield
        finally:
            for key in options:
                self.spark.conf.unset(key)

    def folder(self, table: str) -> Path:
        """Where the table's files are."""
        (place,) = [r[1] for r in self.run(f"DESCRIBE TABLE EXTENDED {table}") if r[0] == "Location"]
        return Path(place.removeprefix("file:"))

    def commits(self, table: str) -> list[str]:
        """Actions of the completed commits, oldest first."""
        timeline = self.folder(table) / ".hoodie" / "timeline"
        done = sorted(
            f.name for f in timeline.iterdir() if "_" in f.name and f.is_file() and not f.name.startswith(".")
        )
        return [name.split(".")[1] for name in done]

    def drop(self) -> None:
        for name in self._names:
            self.spark.sql(f"DROP TABLE IF EXISTS {name}")


def properties(folder: Path) -> dict[str, str]:
    """hoodie.properties of a table."""
    lines = (folder / ".hoodie" / "hoodie.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
