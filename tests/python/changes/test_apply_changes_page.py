"""docs/apply-changes.md: its snippets run in their order, and print what it says."""

from __future__ import annotations

import re

import pytest
from places import ROOT
from pyspark.sql import SparkSession

from merganser.changes import presets
from merganser.changes._quarantine import REASONS

PAGE = (ROOT / "docs" / "apply-changes.md").read_text()


def test_the_snippets_of_the_page_on_changes_run(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for snippet in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        exec(snippet, names)
    printed = re.search(r"It prints `([^`]+)` and the row", PAGE)
    assert printed is not None
    output = capsys.readouterr().out
    assert printed[1] in output
    assert "0 4 events: 3 upserts, 1 deletes" in output


def test_the_page_has_every_preset_its_ordering_fields_and_every_reason() -> None:
    rows = {row[0]: row[2] for row in re.findall(r"^\| `(\w+)` \| ([^|]*) \| ([^|]*) \|", PAGE, re.MULTILINE)}
    assert set(rows) == set(presets.names())
    for name, ordering in rows.items():
        fields = {column.name for column in presets.named(name).ordering}
        assert fields <= set(re.findall(r"`(\w+)`", ordering))
    assert all(f"`{reason}`" in PAGE for reason in REASONS)
