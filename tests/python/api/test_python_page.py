"""docs/python.md and docs/compared.md: the snippets run in their order, and the calls they name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import ROOT
from pyspark.sql import SparkSession
from snippets import page_text

import merganser

PAGE = (ROOT / "docs" / "python.md").read_text()
COMPARED = page_text("docs/compared.md", "Names of calls")


def test_the_python_pages_snippets_print_what_the_page_shows(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {"spark": spark, "path": str(tmp_path / "trips")}
    try:
        for snippet in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
            exec(snippet, names)
    finally:
        spark.sql("DROP TABLE IF EXISTS rides")
    printed = capsys.readouterr().out
    for line in ("inserted=3; 2 files", "WHEN NOT MATCHED BY SOURCE AND t.day = 'tue' THEN UPDATE SET", "[ASSIGNMENT_"):
        assert line in printed


def test_every_call_named_on_the_pages_exists() -> None:
    ours = [row.split("|")[-2] for row in COMPARED.splitlines() if row.startswith("| ")]
    named = set(re.findall(r"`(?:Table\.)?(\w+)\(", " ".join(ours))) | set(re.findall(r"`Table\.(\w+)", PAGE))
    classes = (merganser.Table, merganser.Merge, merganser)
    missing = {name for name in named if not any(hasattr(one, name) for one in classes)}
    assert missing == set()
