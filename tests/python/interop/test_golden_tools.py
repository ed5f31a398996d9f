"""The tools with which other tests read and write by Hudi and hudi-rs, proved on the golden tables."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from places import TESTS

if str(TESTS) not in sys.path:
    sys.path.insert(0, str(TESTS))

from interop import hudi_rs
from interop.hudi_engine import HudiEngine, HudiError, HudiMissingError, Rows
from interop.values import sort_rows

GOLDEN = TESTS / "golden"
NAMES = sorted(file.parent.name for file in GOLDEN.glob("*/expected.json"))
#: What hudi-rs 0.5.0 does not read, or not as Hudi does.
BEYOND_HUDI_RS = {
    "mor_multi_ordering": "knows one ordering field only",
    "mor_nested_timestamps": "knows no timestamp_ntz",
    "cow_key_texts": "knows no timestamp_ntz",
    "cow_custom_partition": "takes 'region:SIMPLE' for the name of a column",
    "mor_custom_avro": "takes 'region:simple' for the name of a column",
    "mor_nested_keys": "knows no partition field inside a struct",
    "cow_column_versions": "knows no versions of columns",
    "mor_column_versions": "knows no versions of columns",
    "cow_dropped_columns": "refuses drop.partition.columns",
    "mor_dropped_columns": "refuses drop.partition.columns",
    "cow_timestamp_partition": "returns the partition column as stored, a number; Hudi turns it into a string",
    "cow_timestamp_seconds": "the same",
    "cow_timestamp_scalar": "the same",
    "mor_timestamp_micros": "the same",
}


#: What Hudi's frames read only without its vectorized reader, as test_column_versions does by SQL.
BEYOND_HUDIS_FRAMES = {
    "cow_column_versions": "renamed fields of structs",
    "mor_column_versions": "renamed fields of structs",
}


def reading(name: str) -> dict[str, str]:
    """Hudi's settings to read a table with: by default it reads the versions of columns by their names."""
    return {"hoodie.schema.on.read.enable": "true"} if name.endswith("column_versions") else {}


def expected(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GOLDEN / name / "expected.json").read_text("utf-8"))
    return content


def assert_rows(read: Rows, wanted: dict[str, Any], kind: str = "") -> None:
    names = [column for column, _ in wanted["columns"]]
    assert read.select(names) == sort_rows(wanted.get(f"rows{kind}", wanted["rows"]))
    assert read.select(wanted["meta_columns"]) == sort_rows(wanted.get(f"meta_rows{kind}", wanted["meta_rows"]))


#: Hudi's release and these tables stay as they are, and so does what it reads: some of each type, version and form of
#: the files in the default run, all tables with MERGANSER_FULL=1.
READ_BY_HUDI = [
    "cow_archived_v6",
    "cow_dropped_columns",
    "cow_key_texts",
    "cow_keyless",
    "cow_plain",
    "cow_slashed_dates",
    "cow_timestamp_partition",
    "cow_virtual_keys",
    "mor_archived",
    "mor_bucket",
    "mor_consistent_buckets",
    "mor_log_delete",
    "mor_nested_types",
    "mor_parquet_log",
    "mor_partial_merge",
    "mor_pending_compaction",
    "mor_v6",
    "mor_v8",
]
if os.environ.get("MERGANSER_FULL"):
    READ_BY_HUDI = [name for name in NAMES if name not in BEYOND_HUDIS_FRAMES]


@pytest.mark.parametrize("name", READ_BY_HUDI)
def test_hudi_reads_the_recorded_rows_of_a_golden_table(hudi: HudiEngine, name: str) -> None:
    wanted = expected(name)
    assert_rows(hudi.read(GOLDEN / name / "table"), wanted)
    assert_rows(hudi.read(GOLDEN / name / "table", "read_optimized"), wanted, "_ro")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BEYOND_HUDI_RS])
def test_hudi_rs_reads_the_rows_that_hudi_reads(name: str) -> None:
    assert_rows(hudi_rs.read(GOLDEN / name / "table"), expected(name))


def test_hudi_upserts_deletes_and_compacts_a_copied_table(hudi: HudiEngine, tmp_path: Path) -> None:
    table = tmp_path / "table"
    shutil.copytree(GOLDEN / "mor_compacted" / "table", table)
    columns = expected("mor_compacted")["columns"]
    hudi.upsert(table, columns, [[1, "again", 0.25, 14, "a", False], [9, "nine", 9.5, 1, "b", False]])
    hudi.delete(table, "id int, ts bigint, part string", [[3, 10, "b"]])
    rows = [[1, "again", 0.25, 14, "a", False], [4, "four+", 4.0, 11, "c", False], [9, "nine", 9.5, 1, "b", False]]
    assert hudi.read(table).business == rows
    hudi.compact(table)
    assert hudi.read(table, "read_optimized").business == rows
    assert hudi_rs.read(table).business == rows


def test_a_failure_of_hudi_is_raised_with_its_causes_and_the_engine_keeps_running(
    hudi: HudiEngine, tmp_path: Path
) -> None:
    with pytest.raises(HudiError) as failure:
        hudi.read(tmp_path)
    assert "TableNotFoundException" in " ".join(failure.value.causes)
    assert hudi.read(GOLDEN / "cow_plain" / "table").rows


def test_a_missing_bundle_is_an_error_that_names_the_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MERGANSER_HUDI_JAR", raising=False)
    with pytest.raises(HudiMissingError, match="MERGANSER_HUDI_JAR"):
        HudiEngine()
    monkeypatch.setenv("MERGANSER_HUDI_JAR", str(tmp_path / "absent.jar"))
    with pytest.raises(HudiMissingError, match=r"absent\.jar"):
        HudiEngine()
