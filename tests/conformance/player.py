"""Plays a case on our engine, step after step, and notes what came of each."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from conformance.cases import Case
from interop.values import decode, encode_spark
from merganser import Table

FORMAT = "merganser"

#: Given on every write, as when the cases were recorded. None of them may change a result.
NEUTRAL = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
}


@dataclass
class Rows:
    """What a read gave: columns with their types, and rows in JSON form."""

    columns: list[tuple[str, str]]
    cells: list[list[Any]]


@dataclass
class Outcome:
    """What came of one step. ``snapshot`` and ``read_optimized`` are None where there is no table or no such read."""

    error: str | None = None
    snapshot: Rows | None = None
    read_error: str | None = None
    read_optimized: Rows | None = None
    table_config: dict[str, str] | None = None


@dataclass
class Played:
    """A whole case. ``creation_error`` is what the CREATE TABLE said; then no step was run."""

    creation_error: str | None = None
    steps: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0


class Player:
    """Plays cases one after the other in a session of its own, which shares the application with others."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._types: dict[str, DataType] = {}

    def play(self, case: Case) -> Played:
        """The table's folder is deleted afterwards."""
        start = time.monotonic()
        story = _Story(self, case, self._folder / case.id)
        try:
            played = story.played()
        finally:
            story.close()
            shutil.rmtree(story.path, ignore_errors=True)
        played.seconds = time.monotonic() - start
        return played

    def frame(self, schema: Sequence[Sequence[str]], rows: Sequence[Sequence[Any]]) -> DataFrame:
        """One partition that holds the rows in their order."""
        kinds = [self._type(kind) for _, kind in schema]
        values = [tuple(decode(cell, kind) for cell, kind in zip(row, kinds)) for row in rows]
        columns = StructType([StructField(name, kind) for (name, _), kind in zip(schema, kinds)])
        return self._spark.createDataFrame(values, columns).coalesce(1)

    def _type(self, ddl: str) -> DataType:
        if ddl not in self._types:
            self._types[ddl] = self._spark.createDataFrame([], f"c {ddl}").schema[0].dataType
        return self._types[ddl]


class _Story:
    """One case while it is being played."""

    def __init__(self, player: Player, case: Case, path: Path) -> None:
        self._player = player
        self._spark = player._spark
        self._case = case
        self._table = case.table
        self.path = path
        self._name = "c_" + "".join(letter if letter.isalnum() else "_" for letter in case.id).lower()
        self._is_created = False

    def played(self) -> Played:
        played = Played()
        if self._case.is_sql:
            played.creation_error = _error_of(self._create)
            if played.creation_error is not None:
                return played
        for step in self._case.recorded["steps"]:
            played.steps.append(self._outcome(step))
        return played

    def close(self) -> None:
        if self._is_created:
            self._spark.sql(f"DROP TABLE IF EXISTS {self._name}")

    def _create(self) -> None:
        self._is_created = True
        given = {
            "primaryKey": ",".join(self._table["key"]),
            "type": self._table["type"],
            "orderingFields": ",".join(self._table["ordering"]),
        }
        properties = _given({**given, **self._table["options"]})
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
        columns = ", ".join(f"`{name}` {kind}" for name, kind in self._table["schema"])
        partitioned = ", ".join(self._table["partition"])
        by = f"PARTITIONED BY ({partitioned})" if partitioned else ""
        self._spark.sql(
            f"CREATE TABLE {self._name} ({columns}) USING {FORMAT} {by} TBLPROPERTIES ({listed}) LOCATION '{self.path}'"
        )

    def _outcome(self, step: Mapping[str, Any]) -> Outcome:
        act = {"write": self._write, "sql": self._sql, "compact": self._compact}[step["op"]]
        outcome = Outcome(error=_error_of(lambda: act(step)))
        if not (self.path / ".hoodie" / "hoodie.properties").exists():
            return outcome
        outcome.table_config = _properties(self.path)
        try:
            outcome.snapshot = self._read("snapshot")
        except Exception as failure:
            outcome.read_error = _said(failure)
        if self._case.is_merge_on_read and outcome.read_error is None:
            outcome.read_optimized = self._read("read_optimized")
        return outcome

    def _write(self, step: Mapping[str, Any]) -> None:
        given = {
            **NEUTRAL,
            "hoodie.table.name": self._name,
            "hoodie.datasource.write.recordkey.field": ",".join(self._table["key"]),
            "hoodie.datasource.write.partitionpath.field": ",".join(self._table["partition"]),
            "hoodie.table.ordering.fields": ",".join(self._table["ordering"]),
            "hoodie.datasource.write.table.type": self._table["type"],
            "hoodie.datasource.write.operation": step["operation"],
            **self._table["options"],
            **step.get("options", {}),
        }
        mode = "append" if (self.path / ".hoodie" / "hoodie.properties").exists() else "overwrite"
        rows = self._player.frame(step.get("schema", self._table["schema"]), step["rows"])
        rows.write.format(FORMAT).options(**_given(given)).mode(mode).save(str(self.path))

    def _sql(self, step: Mapping[str, Any]) -> None:
        text = step["sql"].replace("{table}", self._name)
        for source in step.get("sources", []):
            view = f"{self._name}_{source['name']}"
            self._player.frame(source["schema"], source["rows"]).createOrReplaceTempView(view)
            text = text.replace(f"{{{source['name']}}}", view)
        conf = step.get("conf", {})
        for key, value in conf.items():
            self._spark.conf.set(key, value)
        try:
            self._spark.sql(text).collect()
        finally:
            for key in conf:
                self._spark.conf.unset(key)
            for source in step.get("sources", []):
                self._spark.catalog.dropTempView(f"{self._name}_{source['name']}")

    def _compact(self, step: Mapping[str, Any]) -> None:
        options = _given({**self._table.get("read_options", {}), **step.get("options", {})})
        if self._case.is_sql:
            listed = ",".join(f"{key}={value}" for key, value in options.items())
            extra = f", options => '{listed}'" if listed else ""
            call = f"CALL run_compaction(op => 'scheduleAndExecute', table => '{self._name}'{extra})"
            self._spark.sql(call).collect()
        else:
            Table.load(self._spark, str(self.path)).compact(options=options)

    def _read(self, query: str) -> Rows:
        if self._case.is_sql and query == "snapshot":
            frame = self._spark.table(self._name)
        else:
            options = _given(self._table.get("read_options", {}))
            reader = self._spark.read.format(FORMAT).options(**options)
            frame = reader.option("hoodie.datasource.query.type", query).load(str(self.path))
        own = [name for name in frame.columns if not name.startswith("_hoodie_") or name == DELETED]
        frame = frame.select(*(f"`{name}`" for name in own))
        columns = [(column.name, column.dataType.simpleString()) for column in frame.schema]
        return Rows(columns, [[encode_spark(cell) for cell in row] for row in frame.collect()])


#: A column of users' own, though its name looks like those that every table has.
DELETED = "_hoodie_is_deleted"


def _given(options: Mapping[str, str]) -> dict[str, str]:
    """Those that are not unset."""
    return {key: text for key, text in options.items() if text not in ("", "$unset")}


def _error_of(action: Any) -> str | None:
    try:
        action()
    except Exception as failure:
        return _said(failure)
    return None


def _said(failure: BaseException) -> str:
    """Class and first lines of an error."""
    java = getattr(failure, "java_exception", None)
    text = f"{java.getClass().getName()}: {java.getMessage()}" if java is not None else str(failure)
    return f"{type(failure).__name__}: {text}"[:1200]


def _properties(path: Path) -> dict[str, str]:
    """Of hoodie.properties."""
    lines = (path / ".hoodie" / "hoodie.properties").read_text().splitlines()
    pairs = (line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    return {key: value.replace("\\:", ":").replace("\\=", "=") for key, value in pairs}
