"""Small files become larger ones with sorted rows: by Python, by SQL and after writes; docs/run-it-for-a-year.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from frames import frame, load, rows_of, save
from option_names import COW, KEY, MOR, ORDERING, PARTITION, TYPE
from pyspark.sql import SparkSession
from snippets import snippets

import merganser
from merganser import ClusteringResult, Table
from merganser._statements import Statements

COLUMNS = "id int, city string, fare double, day string, ts bigint"
APART = {"hoodie.parquet.small.file.limit": "0"}
ALLOW = {"hoodie.clustering.updates.strategy": "SparkAllowUpdateStrategy"}


def written(spark: SparkSession, path: Path, commits: int = 3, **options: str) -> Table:
    for ts in range(commits):
        rows = [(10 * ts + i, f"c{i % 3}", float(i * 7 % 5), f"2026-0{1 + i % 2}", ts) for i in range(10)]
        common = {KEY: "id", ORDERING: "ts", PARTITION: "day", **APART, **options}
        save(frame(spark, rows, COLUMNS), path, common)
    return Table.load(spark, str(path))


def rows(table: Table) -> list[tuple[object, ...]]:
    return rows_of(table.df().drop("_hoodie_file_name"))


@pytest.mark.e2e
@pytest.mark.parametrize("kind", [COW, MOR])
def test_a_clustering_sorts_and_combines_and_changes_no_row(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    table = written(spark, tmp_path / "t", **{TYPE: kind})
    table.upsert(frame(spark, [(3, "c9", 1.0, "2026-02", 9)], COLUMNS))
    before = rows(table)
    newest = table.history()[0].instant
    result = table.services.cluster(order_by=["city", "fare"])
    assert isinstance(result, ClusteringResult)
    assert (result.files, result.rows_written, result.left) == (2, 30, ())
    assert result.file_groups_replaced == 6
    assert result.bytes_written > 0
    assert rows(table) == before == rows_of(table.df(as_of=newest).drop("_hoodie_file_name"))
    slices = table.inspect.file_slices()
    assert [entry.log_files for entry in slices] == [(), ()]
    stored = load(spark, tmp_path / "t").where("day = '2026-02'").select("city", "fare").collect()
    assert stored == sorted(stored)
    done = table.history()[0]
    assert (done.action, done.operation, done.state) == ("replacecommit", "CLUSTER", "COMPLETED")
    assert done.instant == result.instants[0]
    for strategy in "z-order", "hilbert":
        assert table.services.cluster(order_by="city,fare", strategy=strategy) is not None
        assert rows(table) == before


def test_partitions_are_chosen_by_a_condition(spark: SparkSession, tmp_path: Path) -> None:
    table = written(spark, tmp_path / "t")
    result = table.services.cluster(where="day > '2026-01'")
    assert result is not None
    assert (result.files, result.file_groups_replaced) == (1, 3)
    assert table.services.cluster(where="day = 'never'") is None
    with pytest.raises(merganser.MerganserError, match=r"CLUSTERING_PREDICATE_UNSUPPORTED.*day"):
        table.services.cluster(where="fare > 1")
    with pytest.raises(merganser.MerganserError, match="CLUSTERING_PREDICATE_UNSUPPORTED"):
        table.services.cluster(where="day >")
    call = f"CALL run_clustering(path => '{table.path}', show_involved_partition => true, "
    (row,) = spark.sql(call + "selected_partitions => '2026-01')").collect()
    assert (row.input_group_size, row.state, row.involved_partitions) == (1, "COMPLETED", "2026-01")
    assert (row.files_replaced, row.files_written, row.rows_written) == (3, 1, 15)
    assert spark.sql(call + "partition_regex_pattern => 'no.*')").collect() == []
    with pytest.raises(Exception, match="selected_partitions"):
        spark.sql(call + "selected_partitions => '2025-01')").collect()


def test_a_plan_is_run_later_or_purged(spark: SparkSession, tmp_path: Path) -> None:
    table = written(spark, tmp_path / "t", **{TYPE: MOR})
    before = rows(table)
    planned = table.services.cluster(order_by="fare", strategy="hilbert", schedule_only=True)
    assert planned is not None
    assert (planned.files, planned.rows_written) == (0, 0)
    assert table.services.cluster(schedule_only=True) is None
    shown = spark.sql(f"CALL show_clustering(path => '{table.path}', show_involved_partition => true)").collect()
    assert [tuple(row) for row in shown] == [(planned.instants[0], 2, "REQUESTED", "2026-01,2026-02")]
    assert table.services.purge_clustering(planned.instants[0]) is None
    assert spark.sql(f"CALL show_clustering(path => '{table.path}')").collect() == []
    with pytest.raises(merganser.MerganserError, match=r"CALL_ARGUMENT_INVALID.*none"):
        table.services.purge_clustering(planned.instants[0])
    (again,) = spark.sql(f"CALL run_clustering(path => '{table.path}', op => 'schedule', order => 'fare')").collect()
    assert again.state == "REQUESTED"
    with pytest.raises(Exception, match="instants"):
        spark.sql(f"CALL run_clustering(path => '{table.path}', op => 'execute', instants => '1')").collect()
    (done,) = spark.sql(f"CALL run_clustering(path => '{table.path}', instants => '{again.timestamp}')").collect()
    assert (done.timestamp, done.state, done.files_written) == (again.timestamp, "COMPLETED", 2)
    shown = spark.sql(f"CALL show_clustering(path => '{table.path}')").collect()
    assert [tuple(row) for row in shown] == [(again.timestamp, 2, "COMPLETED", "*")]
    assert rows(table) == before
    for wrong in "op => 'cluster'", "op => 'purge_pending_instant'", "order_strategy => 'peano'":
        with pytest.raises(Exception, match="CALL_ARGUMENT_INVALID"):
            spark.sql(f"CALL run_clustering(path => '{table.path}', {wrong})").collect()


def test_an_update_beside_a_planned_clustering_conflicts_and_an_insert_works(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = written(spark, tmp_path / "t")
    changed = frame(spark, [(0, "new", 1.0, "2026-01", 10)], COLUMNS)
    planned = table.services.cluster(schedule_only=True)
    assert planned is not None
    with pytest.raises(merganser.CommitConflictError, match=planned.instants[0]):
        table.upsert(changed)
    table.insert(frame(spark, [(1000, "new", 1.0, "2026-01", 10)], COLUMNS))
    table.upsert(changed, options=merganser.WriteOptions(hoodie=ALLOW))
    assert spark.sql(f"CALL show_clustering(path => '{table.path}')").collect() == []
    assert table.df().where("city = 'new'").count() == 2
    assert table.df().count() == 31


def test_other_strategies_of_hudi_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = written(spark, tmp_path / "t", commits=1)
    package = "org.apache.hudi.client.clustering"
    for option, name in {
        "hoodie.clustering.plan.strategy.class": f"{package}.plan.strategy.SparkSingleFileSortPlanStrategy",
        "hoodie.clustering.execution.strategy.class": f"{package}.run.strategy.SparkSingleFileSortExecutionStrategy",
    }.items():
        with pytest.raises(merganser.OptionError, match=re.escape(option)):
            table.services.cluster(options={option: name})
    with pytest.raises(ValueError, match="linear, z-order"):
        table.services.cluster(strategy="peano")
    with pytest.raises(merganser.MerganserError, match=r"CLUSTERING_COLUMN_UNKNOWN.*nope"):
        table.services.cluster(order_by="nope")
    own = f"{package}.plan.strategy.SparkSizeBasedClusteringPlanStrategy"
    assert table.services.cluster(options={"hoodie.clustering.plan.strategy.class": own}) is not None


def test_clustering_over_connect_statements_returns_the_same_results(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    written(spark, path)
    table = merganser.Table(spark, Statements(spark), merganser.Table.load(spark, path)._info)
    planned = table.services.cluster(
        order_by="city,fare", strategy="hilbert", where="day > '2026-01'", schedule_only=True
    )
    assert planned is not None
    assert table.services.purge_clustering(planned.instants[0]) is None
    first = table.services.cluster(order_by="fare")
    assert first is not None
    assert (len(first.instants), first.files, first.rows_written, first.left) == (1, 2, 30, ())
    assert table.services.cluster(where="day = 'never'") is None


def test_the_clustering_snippets_of_the_page_run(spark: SparkSession, tmp_path: Path) -> None:
    page = "docs/run-it-for-a-year.md"
    table = written(spark, tmp_path / "t")
    (code,) = snippets(page, "python", "Clustering")
    exec(compile(code, page, "exec"), {"merganser": merganser, "spark": spark, "path": table.path})
    spark.sql(f"CREATE TABLE clustered_trips USING merganser LOCATION '{table.path}'")
    try:
        blocks = [snippets(page, "sql")[0], *snippets(page, "sql", "Clustering")]
        assert len(blocks) == 3
        for statement in ";".join(blocks).split(";"):
            text = statement.strip().replace("trips", "clustered_trips", 1)
            if "20260131120000000" in text:
                planned = table.services.cluster(schedule_only=True)
                assert planned is not None
                text = text.replace("20260131120000000", planned.instants[0])
            if text:
                spark.sql(text).collect()
    finally:
        spark.sql("DROP TABLE clustered_trips")
    assert table.df().count() == 30
