"""docs/merge-semantics.md#retained-deletes runs, and what it says is what happens."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from snippets import snippets

import merganser

PAGE, SECTION = "docs/merge-semantics.md", "Retained deletes"


@pytest.mark.e2e
def test_the_page_shows_that_a_late_row_stays_deleted(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    (python,) = snippets(PAGE, "python", SECTION)
    names: dict[str, Any] = {}
    exec(compile(python, PAGE, "exec"), names)
    *_, third, count = capsys.readouterr().out.splitlines()
    assert "late=1" in third
    assert count == "0"
    why = names["table"].inspect.explain("a")
    assert not why.rows
    assert [(version.decision, version.ordering) for version in why.versions[-1:]] == [("deleted", {"ts": 20})]
    assert "retains the delete" in why.versions[-1].reason
    (sql,) = snippets(PAGE, "sql", SECTION)
    try:
        for statement in filter(str.strip, sql.split(";")):
            spark.sql(statement)
        assert "merganser.tombstones.retained.hours" not in merganser.Table.load(spark, "visits").properties
    finally:
        spark.sql("DROP TABLE IF EXISTS visits")
