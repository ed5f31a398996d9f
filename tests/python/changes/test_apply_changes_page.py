"""docs/follow-a-database.md: its snippets run in their order, and print what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from change_events import postgres
from places import ROOT
from pyspark.sql import SparkSession
from snippets import page_text, snippets

from merganser import Table
from merganser.changes import presets

PAGE = "docs/follow-a-database.md"

#: The sections whose code runs here, one after the other; the others' is for a database.
SECTIONS = ["Events of Debezium", "A stream of events", "Rows with a key and a sequence", "AWS DMS"]


@pytest.mark.extensive
def test_the_change_pages_python_prints_what_the_page_shows(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    for section in SECTIONS:
        (snippet,) = snippets(PAGE, "python", section)
        exec(snippet, names)
    printed = re.search(r"It prints `([^`]+)` and the row", page_text(PAGE))
    assert printed is not None
    output = capsys.readouterr().out
    assert printed[1] in output
    assert "0 4 events: 3 upserts, 1 deletes" in output


def test_the_change_pages_sql_applies_one_event_and_quarantines_the_other(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    event = postgres("c", 1, {"id": 1, "status": "new"}, columns=None)
    (tmp_path / "landing" / "orders").write_text(f"{event}\n{{not an event\n")
    (block,) = snippets(PAGE, "sql", "SQL")
    for statement in block.split(";")[:-1]:
        spark.sql(re.sub("/(?=lake|landing)", f"{tmp_path}/", statement)).collect()
    assert [
        tuple(row) for row in Table.load(spark, f"{tmp_path}/lake/orders").df().select("id", "status").collect()
    ] == [(1, "new")]
    assert Table.load(spark, f"{tmp_path}/lake/orders_quarantine").df().count() == 1


def test_the_page_lists_every_preset() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]* \| [^|]* \|", page_text(PAGE, "Presets"), re.MULTILINE)
    file = ROOT / "jvm/spark/src/main/resources/io/merganser/spark/capture/presets.json"
    assert sorted(rows) == sorted(one["name"] for one in json.loads(file.read_text())) == list(presets.names())
