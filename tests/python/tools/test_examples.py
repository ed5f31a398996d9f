"""The examples run, end in the rows they are about, and fit on a screen."""

from __future__ import annotations

import re
import runpy
from decimal import Decimal

import pytest
from places import ROOT
from pyspark.sql import SparkSession

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("name", ["quickstart.py", "quickstart.sql"])
def test_a_quickstart_is_shorter_than_a_screen(name: str) -> None:
    assert len((EXAMPLES / name).read_text().splitlines()) <= 50


@pytest.mark.e2e
def test_the_python_quickstart_ends_with_the_latest_reading(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(EXAMPLES / "quickstart.py"), run_name="__main__")

    printed = capsys.readouterr().out
    assert "log files folded in: 2" in printed
    assert "compaction changes no answer: True" in printed
    assert re.findall(r"^\| *([ab])\| *([\d.]+)\|", printed, re.MULTILINE) == [("a", "21.0")]


@pytest.mark.e2e
def test_the_sql_quickstart_ends_with_the_latest_state_of_each_order(spark: SparkSession) -> None:
    text = re.sub(r"--.*", "", (EXAMPLES / "quickstart.sql").read_text())
    rows = []
    try:
        for statement in filter(str.strip, text.split(";")):
            frame = spark.sql(statement)
            if statement.split()[0] == "SELECT":
                rows = [tuple(row) for row in frame.collect()]
    finally:
        spark.conf.unset("hoodie.spark.sql.insert.into.operation")
        spark.catalog.dropTempView("feed")
    assert rows == [(1, "shipped", Decimal("20.00")), (3, "placed", Decimal("8.25"))]
    assert not spark.catalog.tableExists("orders")
