"""docs/tombstones.md runs, and what it says is what happens."""

from __future__ import annotations

import re
from typing import Any

import pytest
from places import ROOT
from pyspark.sql import SparkSession

import merganser

PAGE = (ROOT / "docs" / "tombstones.md").read_text()


@pytest.mark.e2e
def test_the_page_shows_that_a_late_row_stays_deleted(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    (python,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(python, "tombstones.md", "exec"), names)
    *_, third, count = capsys.readouterr().out.splitlines()
    assert "late=1" in third
    assert count == "0"
    why = names["table"].inspect.explain("a")
    assert not why.rows
    assert [(version.decision, version.ordering) for version in why.versions[-1:]] == [("deleted", {"ts": 20})]
    assert "retains the delete" in why.versions[-1].reason
    (sql,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    try:
        for statement in filter(str.strip, sql.split(";")):
            spark.sql(statement)
        assert "merganser.tombstones.retained.hours" not in merganser.Table.load(spark, "visits").properties
    finally:
        spark.sql("DROP TABLE IF EXISTS visits")
