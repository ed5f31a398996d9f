"""The laws of rules, as users check them: docs/write-a-merger.md, tables of each make, and rules without a table."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from pyspark.sql import SparkSession
from snippets import page_text, snippets

import merganser
from merganser import Table
from merganser.rules import concat, when
from merganser.testing import assert_laws

PAGE, SECTION = "docs/write-a-merger.md", "Law checks"
COLUMNS = "id int, ts long, v string"
LAWS = ["never_null", "associative", "idempotent", "order_free", "deletes_keep_place", "partial_is_whole"]
LAWS += ["projection_safe", "retractions_undo"]


@pytest.fixture
def orders(spark: SparkSession, tmp_path: Path) -> Table:
    table = Table.create(spark, str(tmp_path / "orders"), COLUMNS, record_key="id", ordering_by="ts")
    table.upsert(spark.createDataFrame([(1, 10, "rare")], COLUMNS))
    return table


@pytest.mark.e2e
def test_the_law_pages_python_prints_its_output_and_its_sql_runs(spark: SparkSession, orders: Table) -> None:
    first, second = snippets(PAGE, "python", SECTION)
    (shown,) = snippets(PAGE, "text", SECTION)
    names: dict[str, object] = {}
    with redirect_stdout(StringIO()) as printed:
        exec(compile(first, PAGE, "exec"), names)
        exec(compile(second, PAGE, "exec"), names)
    assert printed.getvalue() == shown
    (statements,) = snippets(PAGE, "sql", SECTION)
    all_of_them, broken, of_columns = (
        spark.sql(one.format(path=orders.path)).collect() for one in statements.split(";") if one.strip()
    )
    assert [row.law for row in all_of_them] == [row.law for row in of_columns] == LAWS
    assert broken == []
    described = dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", page_text(PAGE, "Laws"), re.MULTILINE))
    assert {row.law: row.meaning for row in all_of_them} == {law: described[law] for law in LAWS}


def test_the_pages_scala_lines_are_in_a_scala_test() -> None:
    (shown,) = snippets(PAGE, "scala", SECTION)
    suite = (ROOT / "jvm/table/src/test/scala/io/merganser/testing/MergeLawsSuite.scala").read_text()
    assert {line for line in shown.splitlines() if line} <= {line.strip() for line in suite.splitlines()} | {
        "import io.merganser.testing.MergeLaws"  # the suite is in this package
    }


def test_an_event_time_table_keeps_all_laws_and_merges_rely_on_three(orders: Table) -> None:
    checked = orders.inspect.check_rule(cases=200)
    assert [law.name for law in checked] == LAWS
    about = [law for law in checked if law.name != "retractions_undo"]  # it has no sums
    assert all(law.holds and law.cases == 200 and law.counterexample is None for law in about)
    assert checked["retractions_undo"].holds is None
    assert [law.name for law in checked if law.relied_on] == ["associative", "idempotent", "order_free"]
    assert "<td>yes</td>" in checked._repr_html_()


def test_a_stored_check_is_shown_with_its_rule_and_dropped_when_the_rule_changes(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = Table.create(spark, str(tmp_path / "t"), COLUMNS + ", n int", record_key="id", rule={"n": "sum"})
    table.upsert(spark.createDataFrame([(1, 10, "rare", 3)], COLUMNS + ", n int"))
    table.inspect.check_rule(cases=50)
    assert not [one for one in table.inspect.merge_config() if one.setting == "merganser.rule.checked"]
    checked = table.inspect.check_rule(cases=50, store=True)
    (shown,) = [one for one in table.inspect.merge_config() if one.setting == "merganser.rule.checked"]
    stored = json.loads(shown.value or "")
    assert (stored["cases"], stored["records"], shown.conflict) == (50, 1, None)
    assert stored["refuted"] == [law.name for law in checked.broken]
    assert stored["held"] == [law.name for law in checked if law.holds]
    assert table.upsert(spark.createDataFrame([(1, 11, "rare", 4)], COLUMNS + ", n int")).updated == 1
    assert [row.n for row in table.df().collect()] == [7]
    table.services.change_rule({"n": "max"})
    assert not [one for one in table.inspect.merge_config() if one.setting == "merganser.rule.checked"]
    with pytest.raises(merganser.MerganserError, match="CALL_ARGUMENT_INVALID"):
        spark.sql("CALL check_rule(columns => 'id int', store => true)").collect()


def test_a_counterexample_of_a_table_has_values_of_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create(spark, str(tmp_path / "t"), "id int, big decimal(3,0)", record_key="id", rule={"big": "sum"})
    table.upsert(spark.sql("SELECT 1 id, CAST(999 AS DECIMAL(3,0)) big"))
    failed = table.inspect.check_rule()["never_null"]
    assert failed.holds is False
    assert "999" in (failed.counterexample or "")
    assert table.inspect.check_rule().to_dict() == table.inspect.check_rule().to_dict()


@pytest.mark.e2e
def test_the_counterexample_of_a_python_rule_shows_the_columns_it_reads(spark: SparkSession) -> None:
    @merganser.rule
    def tolls(old: Any, new: Any) -> dict[str, Any]:
        return {"paid": when(new.rate > old.rate, new.paid).otherwise(old.paid), "note": concat(old.note, new.note)}

    checked = tolls.check(spark, "id int, ts long, rate int, paid int, note string", "id", ordering_by="ts", cases=300)
    assert {law.name for law in checked.broken} >= {"idempotent", "order_free"}
    assert checked["never_null"].holds
    assert checked["projection_safe"].holds
    assert "note='a'" in (checked["idempotent"].counterexample or "")


def test_laws_are_asserted_by_name_and_the_error_shows_versions(spark: SparkSession) -> None:
    assert_laws(spark, COLUMNS, "id", ordering_by="ts", cases=100)
    with pytest.raises(
        AssertionError, match=r"order_free does not hold(.|\n)*a b c  row ts=null v='a'\n  a c b  row ts=null v=null"
    ):
        assert_laws(spark, COLUMNS, "id", merge_mode=merganser.MergeMode.COMMIT_TIME_ORDERING, laws=["order_free"])
    with pytest.raises(AssertionError, match="deletes_keep_place is not about this rule"):
        assert_laws(spark, COLUMNS, "id", laws=["deletes_keep_place"])
    with pytest.raises(KeyError, match="'commutative' is not a law; the laws are never_null, "):
        assert_laws(spark, COLUMNS, "id", laws=["commutative"], cases=1)


def test_wrong_arguments_are_refused_by_name(spark: SparkSession, orders: Table) -> None:
    with pytest.raises(merganser.MerganserError, match=r"CALL_ARGUMENT_INVALID.*cases"):
        orders.inspect.check_rule(cases=0)
    with pytest.raises(merganser.MerganserError, match=r"CALL_ARGUMENT_INVALID(.|\n)*columns"):
        spark.sql("CALL check_rule(columns => 'id of int')").collect()
    with pytest.raises(merganser.MerganserError, match="CALL_TABLE_OR_PATH"):
        spark.sql(f"CALL check_rule(columns => 'id int', path => '{orders.path}')").collect()
    with pytest.raises(merganser.ColumnMissingError):
        merganser.check_rule(spark, "a int", "id")
