"""The worked examples of Hudi's documentation, on both table types and all versions of tables.

One row is stored, one comes in. The columns are the documentation's: id, ts, name, price; ts is the ordering field.
Payload classes: https://hudi.apache.org/docs/record_payload. Merge modes: https://hudi.apache.org/docs/record_merger.
"""

from __future__ import annotations

from pathlib import Path
from typing import Optional

import pytest
from frames import frame, load, rows_of, save
from option_names import COW, KEY, MOR, ORDERING, TYPE
from pyspark.sql import SparkSession

from merganser import Table

pytestmark = pytest.mark.e2e

Row = tuple[str, int, Optional[str], Optional[str]]
SCHEMA = "id string, ts bigint, name string, price string"
MODELS = "org.apache.hudi.common.model."
PAYLOAD = "hoodie.datasource.write.payload.class"
MODE = "hoodie.write.record.merge.mode"
VERSION = "hoodie.write.table.version"

#: Settings, the row in storage, the incoming one, and the result by the documentation.
EXAMPLES: dict[str, tuple[dict[str, str], Row, Row, Row]] = {
    "OverwriteWithLatest takes the latest write": (
        {PAYLOAD: MODELS + "OverwriteWithLatestAvroPayload"},
        ("1", 2, "name_2", "price_2"),
        ("1", 1, "name_1", "price_1"),
        ("1", 1, "name_1", "price_1"),
    ),
    "Default keeps the greater ordering value": (
        {PAYLOAD: MODELS + "DefaultHoodieRecordPayload"},
        ("1", 2, "name_2", "price_2"),
        ("1", 1, "name_1", "price_1"),
        ("1", 2, "name_2", "price_2"),
    ),
    "EventTime keeps the later event": (
        {PAYLOAD: MODELS + "EventTimeAvroPayload", "hoodie.payload.event.time.field": "ts"},
        ("1", 2, "name_2", "price_2"),
        ("1", 1, "name_1", "price_1"),
        ("1", 2, "name_2", "price_2"),
    ),
    "OverwriteNonDefaults keeps the stored value where the incoming one is the default": (
        {PAYLOAD: MODELS + "OverwriteNonDefaultsWithLatestAvroPayload"},
        ("1", 2, "name_2", "price_2"),
        ("1", 1, None, "price_1"),
        ("1", 1, "name_2", "price_1"),
    ),
    "PartialUpdate fills the greater one's nulls from the other": (
        {PAYLOAD: MODELS + "PartialUpdateAvroPayload"},
        ("1", 2, "name_1", None),
        ("1", 1, None, "price_1"),
        ("1", 2, "name_1", "price_1"),
    ),
    "PartialUpdate fills its own nulls from what is stored": (
        {PAYLOAD: MODELS + "PartialUpdateAvroPayload"},
        ("1", 1, "name_1", "price_1"),
        ("1", 2, None, "price_2"),
        ("1", 2, "name_1", "price_2"),
    ),
    "commit time takes the latest write": (
        {MODE: "COMMIT_TIME_ORDERING"},
        ("1", 2, "name_2", "price_2"),
        ("1", 1, "name_1", "price_1"),
        ("1", 1, "name_1", "price_1"),
    ),
    "event time keeps the later event": (
        {MODE: "EVENT_TIME_ORDERING"},
        ("1", 2, "name_2", "price_2"),
        ("1", 1, "name_1", "price_1"),
        ("1", 2, "name_2", "price_2"),
    ),
}


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "version"), [(COW, "9"), (MOR, "9"), (COW, "8"), (MOR, "8"), (MOR, "6")])
@pytest.mark.parametrize("name", EXAMPLES)
def test_each_worked_example_of_hudis_documentation_gives_the_documented_row(
    spark: SparkSession, tmp_path: Path, name: str, version: str, kind: str
) -> None:
    settings, stored, incoming, left = EXAMPLES[name]
    options = {KEY: "id", ORDERING: "ts", TYPE: kind, VERSION: version, **settings}
    path = tmp_path / "table"
    save(frame(spark, [stored], SCHEMA), path, options)
    save(frame(spark, [incoming], SCHEMA), path, options)
    assert rows_of(load(spark, path)) == [left]
    if kind == MOR:
        Table.load(spark, str(path)).compact()
        assert rows_of(load(spark, path)) == [left]
        assert rows_of(load(spark, path, **{"hoodie.datasource.query.type": "read_optimized"})) == [left]


@pytest.mark.parametrize("kind", [COW, MOR])
@pytest.mark.parametrize("version", ["9", "8"])
def test_overwrite_with_latest_picks_the_greatest_ordering_value_of_one_batch(
    spark: SparkSession, tmp_path: Path, version: str, kind: str
) -> None:
    """The documentation's first sentence about it: precombining picks the greatest value."""
    options = {
        KEY: "id",
        ORDERING: "ts",
        TYPE: kind,
        VERSION: version,
        PAYLOAD: MODELS + "OverwriteWithLatestAvroPayload",
    }
    older, newer = ("1", 1, "name_1", "price_1"), ("1", 2, "name_2", "price_2")
    save(frame(spark, [("1", 9, "name_9", "price_9")], SCHEMA), tmp_path / "table", options)
    save(frame(spark, [newer, older], SCHEMA), tmp_path / "table", options)
    assert rows_of(load(spark, tmp_path / "table")) == [newer]
