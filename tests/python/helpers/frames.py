"""Short hands for tests that write and read frames: one line a write, rows as plain tuples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from merganser._bridge import translated
from merganser.errors import MerganserError


def frame(spark: SparkSession, rows: Sequence[Any], schema: Any, parts: int = 1) -> DataFrame:
    """A frame whose partitions hold the rows in their order."""
    if parts == 1:
        return spark.createDataFrame(list(rows), schema).coalesce(1)
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, parts), schema)


def save(rows: DataFrame, path: Any, options: Mapping[str, str], *, mode: str | None = "append") -> None:
    writer = rows.write.format("merganser").options(**options)
    (writer if mode is None else writer.mode(mode)).save(str(path))


def load(spark: SparkSession, path: Any, **options: str) -> DataFrame:
    return spark.read.format("merganser").options(**options).load(str(path))


def rows_of(rows: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in rows.collect()), key=repr)


def listing(path: Any) -> list[str]:
    """Every file below a folder; checksum files of the local file system left out."""
    folder = Path(path)
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file() and not f.name.endswith(".crc"))


def properties(path: Any) -> dict[str, str]:
    lines = (Path(path) / ".hoodie" / "hoodie.properties").read_text().splitlines()
    pairs = (line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    return {key: value.replace("\\:", ":").replace("\\=", "=") for key, value in pairs}


def commit_metadata(spark: SparkSession, commit: Path) -> dict[str, Any]:
    """What the file of a completed commit holds: JSON below version 8, else Avro."""
    if not commit.read_bytes().startswith(b"Obj"):
        return json.loads(commit.read_text())
    java: Any = spark._jvm
    avro = java.org.apache.avro
    file = avro.file.DataFileReader(java.java.io.File(str(commit)), avro.generic.GenericDatumReader())
    try:
        return json.loads(file.next().toString())
    finally:
        file.close()


def refusal(action: Callable[[], object]) -> MerganserError:
    """The error of ours that the action ends in."""
    try:
        action()
    except MerganserError as error:
        return error
    except Exception as failure:
        error = translated(failure)
        if error is not None:
            return error
        raise
    raise AssertionError("nothing was refused")


def refused(action: Callable[[], object], condition: str, *mentions: str) -> MerganserError:
    """The action is refused by that condition, and the message mentions all of these."""
    error = refusal(action)
    assert error.condition == condition, str(error)
    missing = [text for text in mentions if text not in str(error)]
    assert not missing, f"{missing} not in: {error}"
    return error


def cases(names: Iterable[str]) -> Any:
    """Parameters that are their own names."""
    return [pytest.param(name, id=name) for name in names]
