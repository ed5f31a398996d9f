"""The examples by which payload classes are documented: a stored row, an incoming row, and what is there afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from frames import COW, KEY, MOR, ORDERING, TYPE, frame, load, rows_of, save
from pyspark.sql import SparkSession
from stored_rules import payload

from merganser import Table

pytestmark = pytest.mark.e2e

COLUMNS = "id string, ts long, name string, price string"

#: The payload class; then the stored and the incoming row and their result, for each example.
EXAMPLES: dict[str, list[tuple[tuple[Any, ...], ...]]] = {
    "OverwriteWithLatestAvroPayload": [((2, "name_2", "price_2"), (1, "name_1", "price_1"), (1, "name_1", "price_1"))],
    "DefaultHoodieRecordPayload": [((2, "name_2", "price_2"), (1, "name_1", "price_1"), (2, "name_2", "price_2"))],
    "EventTimeAvroPayload": [((2, "name_2", "price_2"), (1, "name_1", "price_1"), (2, "name_2", "price_2"))],
    "OverwriteNonDefaultsWithLatestAvroPayload": [
        ((2, "name_2", "price_2"), (1, None, "price_1"), (1, "name_2", "price_1")),
    ],
    "PartialUpdateAvroPayload": [
        ((1, "name_1", "price_1"), (2, None, "price_2"), (2, "name_1", "price_2")),
        ((2, "name_1", None), (1, None, "price_1"), (2, "name_1", "price_1")),
    ],
}


@pytest.mark.parametrize(("table_type", "version"), [(COW, 6), (MOR, 8), (MOR, 9)])
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_payload_class_does_what_its_example_says(
    spark: SparkSession, tmp_path: Path, name: str, table_type: str, version: int
) -> None:
    options = {KEY: "id", ORDERING: "ts", TYPE: table_type, **payload(name, version)}
    stored, incoming, expected = (
        [(str(i), *example[step]) for i, example in enumerate(EXAMPLES[name])] for step in range(3)
    )
    save(frame(spark, stored, COLUMNS), tmp_path / "t", options)
    save(frame(spark, incoming, COLUMNS), tmp_path / "t", options)
    assert rows_of(load(spark, tmp_path / "t").select("id", "ts", "name", "price")) == expected
    if table_type == MOR:
        Table.load(spark, str(tmp_path / "t")).compact()
        assert rows_of(load(spark, tmp_path / "t").select("id", "ts", "name", "price")) == expected
    assert rows_of(load(spark, tmp_path / "t").select("price")) == sorted((row[3],) for row in expected)
