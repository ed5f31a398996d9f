"""What data frames, statements and reads of a classic session raise; test_connect.py has those of a Connect client."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from test_python_api import Rows, content, create, path, rows  # noqa: F401

import merganser

pytestmark = pytest.mark.e2e


def test_frames_statements_and_reads_raise_the_class_of_their_condition_with_a_short_message(
    spark: SparkSession,
    rows: Rows,  # noqa: F811
    path: str,  # noqa: F811
) -> None:
    table = create(spark, path)
    writer = rows((1, "a", 1, 1.0)).write.format("merganser").mode("append")
    with pytest.raises(merganser.OptionError, match=r"^\[UNKNOWN_OPTION\]") as option:
        writer.option("hoodie.combine.before.upsrt", "true").save(path)
    with pytest.raises(merganser.MerganserError, match=r"^\[CALL_ARGUMENT_UNKNOWN\]") as statement:
        spark.sql("CALL show_commits(tabel => 'x')")
    with pytest.raises(merganser.TableNotFoundError, match=r"^\[PATH_IS_NO_TABLE\]") as read:
        spark.read.format("merganser").load(path + "/none").count()
    without_key = rows((1, "a", 1, 1.0), (None, "a", 1, 2.0)).write.format("merganser").mode("append")
    with pytest.raises(merganser.NullValueError, match=r"^\[NULL_RECORD_KEY\]") as task:
        without_key.save(path)
    for raised in (option, statement, read, task):
        assert isinstance(raised.value, PySparkException)
        assert len(str(raised.value)) < 600
        assert raised.value.condition == merganser.condition_of(raised.value) == raised.value.getErrorClass()
        assert raised.value.sql_state == raised.value.getSqlState()
        assert dict(raised.value.parameters) == raised.value.getMessageParameters()
        assert "io.merganser" in str(raised.value.__context__)  # the cause, with the stack of the JVM
    with pytest.raises(PySparkException) as sparks:
        spark.sql("SELECT nothing FROM nowhere")
    assert not isinstance(sparks.value, merganser.MerganserError)
    assert merganser.condition_of(sparks.value) is None
    assert content(table.df()) == []


def test_the_sql_tab_shows_the_counts_of_python_writes(
    spark: SparkSession,
    rows: Rows,  # noqa: F811
    path: str,  # noqa: F811
) -> None:
    table = create(spark, path, name="tabbed", merge_on_read=True)
    table.upsert(rows((1, "a", 1, 1.0), (2, "a", 1, 2.0)))
    table.upsert(rows((1, "a", 2, 1.5)))
    table.compact()
    found = [(plan, shown) for plan, shown in on_sql_tab(spark) if "tabbed" in plan and "bytes written" in shown]
    works = ("upsert into tabbed", "call run_compaction of tabbed")
    assert [next(work for work in works if work in plan) for plan, _ in found] == [works[0], works[0], works[1]]
    assert [(one.get("rows: inserted"), one.get("rows: appended"), one.get("files written")) for _, one in found] == [
        ("2", "0", "1"),
        ("0", "1", "1"),
        (None, None, None),
    ]
    assert found[-1][1]["operation size"] == "1"


def test_the_sql_tab_shows_the_counts_of_python_services(
    spark: SparkSession,
    rows: Rows,  # noqa: F811
    path: str,  # noqa: F811
) -> None:
    table = create(spark, path, name="served")
    quiet = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    for n in range(4):
        table.upsert(rows((1, "a", n, 1.0)), options=quiet)
    cleaned = table.clean(options={"hoodie.clean.commits.retained": "1"})
    moved = table.services.archive(min_commits=2, max_commits=3)
    table.upsert(rows((1, "a", 9, 1.0)), options=quiet)
    table.savepoints.rollback()
    table.repairs.merge_duplicates()
    shown = on_sql_tab(spark)
    by_work = {
        work: next(counts for plan, counts in shown if f"call {work} of served" in plan)
        for work in ("run_clean", "archive_commits", "rollback_to_instant", "repair_deduplicate")
    }
    assert by_work["run_clean"]["total files deleted"] == str(cleaned.files_deleted) != "0"
    assert by_work["archive_commits"]["instants archived"] == str(moved.instants)
    assert by_work["rollback_to_instant"]["commits lost"] == "1"
    assert by_work["repair_deduplicate"]["keys"] == "0"


def on_sql_tab(spark: SparkSession) -> list[tuple[str, dict[str, str]]]:
    """Plan and metrics of the last executions."""
    store = spark._jsparkSession.sharedState().statusStore()
    found = []
    for execution in as_list(store.executionsList().takeRight(30)):  # the store drops the oldest ones meanwhile
        values = store.executionMetrics(execution.executionId())
        metrics = {metric.name(): values.get(metric.accumulatorId()) for metric in as_list(execution.metrics())}
        shown = {name: value.get().strip() for name, value in metrics.items() if value.isDefined()}
        found.append((execution.physicalPlanDescription(), shown))
    return found


def as_list(values: Any) -> list[Any]:
    return [values.apply(at) for at in range(values.size())]
