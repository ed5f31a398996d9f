"""Tables that our engine writes, read by the real Hudi and by hudi-rs, and written on by Hudi."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from interop import hudi_rs
from interop.frames import Schema, frame_of
from interop.hudi_engine import HudiEngine
from interop.hudi_session import table_properties
from interop.merganser_engine import MerganserEngine
from interop.values import sort_rows
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

pytestmark = pytest.mark.e2e

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
sys.path.append(str(GOLDEN))

from stories import COW, MOR, STORIES  # noqa: E402
from test_golden_tools import BEYOND_HUDI_RS  # noqa: E402

ITEM = "id int, name string, ts bigint"

#: Stories that ask for what our engine does not write.
NOT_TOLD = {
    "cow_replaced": "insert_overwrite of single partitions",
    "mor_v6": "a new table of version 6",
    "mor_v8": "a new table of version 8",
}


@pytest.fixture(scope="module")
def ours(spark: SparkSession) -> MerganserEngine:
    return MerganserEngine(spark)


class Story:
    """A golden table's story, told to our engine."""

    def __init__(self, ours: MerganserEngine, path: Path) -> None:
        self.ours = ours
        self.path = path
        self.schema: Schema = ""
        self.options: dict[str, str] = {}

    def table(
        self, kind: str, schema: Schema, *, key: str, partition: str = "", ordering: str = "", **options: str
    ) -> None:
        self.schema = schema
        self.options = settings(self.path.name, kind, key, partition, ordering, **options)

    def write(self, operation: str, *rows: Sequence[Any], schema: Schema = "") -> None:
        self.ours.write(self.path, schema or self.schema, rows, operation=operation, options=self.options)

    def upsert(self, *rows: Sequence[Any]) -> None:
        self.write("upsert", *rows)

    def delete(self, schema: Schema, *rows: Sequence[Any]) -> None:
        self.write("delete", *rows, schema=schema)

    def compact(self, op: str = "scheduleAndExecute") -> None:
        self.ours.compact(self.path, op)

    def merge(self, schema: Schema, rows: Sequence[Sequence[Any]], clauses: str) -> None:
        spark = self.ours.spark
        frame_of(spark, schema, rows).createOrReplaceTempView("s")
        spark.sql(f"CREATE TABLE {self.path.name} USING merganser LOCATION '{self.path}'")
        spark.sql(f"MERGE INTO {self.path.name} t USING s {clauses}")
        spark.sql(f"DROP TABLE {self.path.name}")


def settings(
    name: str, kind: str, key: str, partition: str = "", ordering: str = "", **options: str
) -> dict[str, str]:
    """Options of a table's first write, in the words of Hudi's jobs."""
    return {
        "hoodie.table.name": name,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": key,
        "hoodie.datasource.write.partitionpath.field": partition,
        **({"hoodie.table.ordering.fields": ordering} if ordering else {}),
        **options,
    }


def expected_of(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GOLDEN / name / "expected.json").read_text("utf-8"))
    return content


@pytest.mark.parametrize("name", [name for name in STORIES if name not in NOT_TOLD])
def test_a_golden_story_told_to_our_engine_ends_in_the_rows_that_hudi_recorded_for_every_reader(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, name: str
) -> None:
    story = Story(ours, tmp_path / name)
    STORIES[name][0](story)  # type: ignore[arg-type]
    expected = expected_of(name)
    columns = [column for column, _ in expected["columns"]]
    identity = ["_hoodie_record_key", "_hoodie_partition_path"]
    identities = sort_rows(row[1:] for row in expected["meta_rows"])
    read = hudi.read(story.path)
    assert read.select(columns) == sort_rows(expected["rows"])
    assert read.select(identity) == identities
    if name not in BEYOND_HUDI_RS:
        assert hudi_rs.read(story.path).select(columns) == sort_rows(expected["rows"])
    hudi.write(story.path, expected["columns"], expected["rows"], options=story.options)
    assert hudi.read(story.path).select(identity) == identities
    assert ours.read(story.path).select(columns) == sort_rows(expected["rows"])
