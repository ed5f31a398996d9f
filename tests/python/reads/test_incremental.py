"""Incremental queries: the rows that changed in a window, by every way to ask for them, whatever services did."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fold import COMMON, Batch, Rule, dated, history, together
from frames import frame, load, refusal, rows_of, save
from option_names import COW, KEY, MOR, OPERATION, TYPE
from places import ROOT
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from snippets import page_text, snippets
from sql_steps import Sql
from stored_rules import RULES

from merganser import MerganserError, Table, TableType

FULL = bool(os.environ.get("MERGANSER_FULL"))
FIRST_SEED = int(os.environ.get("MERGANSER_SEED", "0"))
QUERY = "hoodie.datasource.query.type"
BEGIN, END = "hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"
RECENT = "spark.merganser.write.recentRows.percent"
SCHEMA = "id string, v string, ts long"


def create(spark: SparkSession, path: Path, kind: str, **settings: Any) -> Table:
    return Table.create(
        spark, str(path), SCHEMA, record_key="id", ordering_by="ts", table_type=TableType(kind), **settings
    )


def upsert(table: Table, *rows: tuple[str, str, int]) -> str:
    return table.upsert(frame(table._spark, rows, SCHEMA)).instant


def found(rows: DataFrame) -> list[tuple[Any, ...]]:
    return rows_of(rows.select("id", "v"))


@pytest.mark.e2e
@pytest.mark.parametrize("kind", [COW, MOR])
def test_every_way_to_read_returns_the_rows_that_changed_in_the_window(sql: Sql, tmp_path: Path, kind: str) -> None:
    spark, path = sql.spark, str(tmp_path / "t")
    table = create(spark, tmp_path / "t", kind)
    first = upsert(table, ("a", "a1", 5), ("b", "b1", 5), ("c", "c1", 5), ("d", "d1", 5))
    second = upsert(table, ("a", "a2", 6), ("b", "late", 4), ("e", "e2", 6), ("f", "f2", 6))
    third = table.delete(frame(spark, [("c", "", 9), ("f", "", 9)], SCHEMA)).instant
    fourth = upsert(table, ("d", "d4", 7))

    every = [("a", "a2"), ("b", "b1"), ("d", "d4"), ("e", "e2")]
    windows: list[tuple[str | None, str | None, list[tuple[str, str]]]] = [
        (None, None, every),
        (first, None, [("a", "a2"), ("d", "d4"), ("e", "e2")]),
        (first, second, [("a", "a2"), ("e", "e2"), ("f", "f2")]),
        (second, third, []),
        (third, None, [("d", "d4")]),
        (None, first, [("a", "a1"), ("b", "b1"), ("c", "c1"), ("d", "d1")]),
        (fourth, None, []),
    ]
    spark.sql(f"CREATE TABLE changed_{kind} USING merganser LOCATION '{path}'")
    for since, until, expected in windows:
        begin = since or "earliest"
        assert found(table.changes(since, until=until)) == expected, (since, until)
        options = {QUERY: "incremental", BEGIN: begin, **({END: until} if until else {})}
        assert found(load(spark, path, **options)) == expected, (since, until)
        end = f", '{until}'" if until else ""
        for name in (path, f"changed_{kind}"):
            query = f"SELECT id, v FROM hudi_table_changes('{name}', 'latest_state', '{begin}'{end})"
            assert rows_of(spark.sql(query)) == expected, query
    assert found(spark.read.options(**{QUERY: "incremental", BEGIN: second}).table(f"changed_{kind}")) == [("d", "d4")]

    # Columns, conditions and commit times; a time instead of an instant.
    assert rows_of(table.changes(first, columns=["id", "_hoodie_commit_time"])) == [
        ("a", second),
        ("d", fourth),
        ("e", second),
    ]
    assert found(table.changes(first, where="ts > 6")) == found(table.changes(first, where=F.col("ts") > 6))
    assert rows_of(table.changes(first, where="id = 'a'", columns="v")) == [("a2",)]
    assert table.changes(first).count() == 3
    moment = datetime.strptime(third, "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)
    assert found(table.changes(moment + timedelta(milliseconds=-1), until=datetime.now(UTC))) == [("d", "d4")]
    stamp = (moment + timedelta(milliseconds=-1)).isoformat()
    ways = [f"TIMESTAMP'{stamp}'", f"'{stamp[:23]}Z'", ":begin"]
    for way in ways:
        named = f"SELECT id, v FROM hudi_table_changes('{path}', 'latest_state', {way})"
        assert rows_of(spark.sql(named, {"begin": third} if way == ":begin" else {})) == [("d", "d4")], way


@pytest.mark.e2e
def test_a_merge_reads_its_own_targets_changes_and_an_update_ignores_the_query_type(sql: Sql, tmp_path: Path) -> None:
    table = create(sql.spark, tmp_path / "t", MOR)
    first = upsert(table, ("a", "a1", 5), ("b", "b1", 5))
    upsert(table, ("b", "b2", 6))
    changes = f"hudi_table_changes('{table.path}', 'latest_state', '{first}')"
    sql.run(
        f"MERGE INTO merganser.`{table.path}` t USING (SELECT id, 'B3' AS v, ts + 1 AS ts FROM {changes}) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    )
    assert found(table.df()) == [("a", "a1"), ("b", "B3")]
    with sql.settings({QUERY: "incremental", BEGIN: first}):
        assert sql.run(f"SELECT id FROM merganser.`{table.path}`") == [("b",)]
        sql.run(f"UPDATE merganser.`{table.path}` SET v = 'all'")
    assert found(table.df()) == [("a", "all"), ("b", "all")]


# Guarantee (Change data): Only file groups to which the window's commits wrote are listed and opened. Also:
#   OperationCostSuite
def test_only_file_groups_and_partitions_with_changes_are_read(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    schema = "id int, part string, v string"
    settings = {"hoodie.parquet.small.file.limit": "0", "hoodie.clean.automatic": "false"}
    table = Table.create(
        spark, str(path), schema, record_key="id", partition_by="part", table_type=TableType.MERGE_ON_READ
    )
    every = [(i, f"p{i % 20}", "old") for i in range(100)]
    first = table.insert(frame(spark, every, schema), options=settings).instant
    table.upsert(frame(spark, [(3, "p3", "new"), (5, "p5", "new")], schema), options=settings)

    def plan(rows: DataFrame) -> str:
        return rows._jdf.queryExecution().executedPlan().toString()

    changed = table.changes(first)
    assert "slices: 2, log files: 2" in plan(changed)
    assert rows_of(changed.select("id", "v")) == [(3, "new"), (5, "new")]
    assert "slices: 1, log files: 1" in plan(table.changes(first, where="part = 'p3'"))
    # Files of other partitions are not even looked for.
    for file in path.glob("p1*/*.parquet"):
        file.unlink()
    assert rows_of(table.changes(first).select("id", "v")) == [(3, "new"), (5, "new")]
    assert len(table.changes(first, columns="id").schema) == 1


# --- whatever services do ----------------------------------------------------------------------------------------

#: One rule of each make on one type of table; these rules on both types with MERGANSER_FULL=1.
CHOSEN = {"event time by two fields": MOR, "OverwriteNonDefaults": COW, "PartialUpdate, version 6": MOR}
CASES = [
    pytest.param(rule, kind, id=f"{rule.name}, {'mor' if kind == MOR else 'cow'}")
    for rule in RULES
    for kind in (COW, MOR)
    if rule.name in CHOSEN and (FULL or CHOSEN[rule.name] == kind)
]
BATCHES = 5


def write(spark: SparkSession, path: Path, batch: Batch, rule: Rule, kind: str) -> None:
    columns = f"{COMMON}, {rule.columns}"
    for operation, erases in (("upsert", False), ("delete", True)):
        rows = [tuple(v.row[c.split()[0]] for c in columns.split(", ")) for v in batch if v.erases is erases]
        if rows:
            options = {KEY: "id", TYPE: kind, "hoodie.clean.automatic": "false", RECENT: "50", **rule.settings}
            save(frame(spark, rows, columns), path, {**options, OPERATION: operation})


def run_services(table: Table, rule: Rule, rng: random.Random) -> tuple[list[str], bool]:
    """Returns what ran, and whether logs became base files."""
    clustered = False

    def cluster() -> None:
        nonlocal clustered
        clustered = table.services.cluster(order_by="v", options=rule.for_readers) is not None or clustered

    def compact() -> None:
        nonlocal clustered
        table.compact(options={**rule.for_readers, RECENT: "100"})
        clustered = True

    def compact_logs() -> None:
        table.services.compact_logs(options={**rule.for_readers, "hoodie.log.compaction.blocks.threshold": "2"})

    def archive() -> None:
        table.services.archive(min_commits=2, max_commits=3, options={"hoodie.clean.commits.retained": "1"})

    def clean() -> None:
        table.clean(options={"hoodie.clean.commits.retained": "1"})

    choices: list[Callable[[], None]] = [cluster, archive, clean]
    if table.table_type == "MERGE_ON_READ":
        choices += [compact, compact_logs]
    ran = rng.sample(choices, rng.randint(1, 3))
    for service in ran:
        service()
    return [service.__name__ for service in ran], clustered


# Guarantee (Change data): An incremental query returns the rows whose last change was committed in its window, whole,
#   and no others, under each kind of rule, whatever services run between the writes; Hudi's query of the window returns
#   the same. Also: test_windows_of_a_table_written_by_both_engines_return_hudis_rows
@pytest.mark.parametrize(("rule", "kind"), CASES)
def test_a_window_returns_the_rows_that_the_fold_changed_last_in_it(
    spark: SparkSession, tmp_path: Path, rule: Rule, kind: str
) -> None:
    rng = random.Random(f"{rule.name} {kind} {FIRST_SEED}")
    seeds = range(FIRST_SEED, FIRST_SEED + (50 if FULL else 20))
    batches = together([history(rule, seed, BATCHES, erasing=True) for seed in seeds])
    path = tmp_path / "t"
    columns = [column.split()[0] for column in f"{COMMON}, {rule.columns}".split(", ")]
    instants: list[str] = []
    compacted: set[int] = set()
    ran: list[list[str]] = []

    def check(last: int, since: int | None, until: int | None) -> None:
        begin = {BEGIN: "000" if since is None else instants[since]}
        end = {} if until is None else {END: instants[until]}
        try:
            rows = load(spark, path, **{QUERY: "incremental"}, **begin, **end, **rule.for_readers).select(*columns)
        except Exception as failure:
            # After the last write come services alone, which take nothing of it.
            if until in (None, BATCHES - 1) or "clean" not in str(ran) or "CHANGES_CLEANED" not in str(failure):
                raise
            return
        actual = {row["id"]: row.asDict() for row in rows.collect()}
        known = dated(rule, batches[: last + 1], tombstones=kind == MOR, compacted=compacted)
        expected = {key: row for key, (row, batch) in known.items() if since is None or batch > since}
        wrong = {key: (actual.get(key), expected.get(key)) for key in actual.keys() | expected.keys()}
        wrong = {key: pair for key, pair in wrong.items() if pair[0] != pair[1]}
        assert not wrong, (
            f"({since}, {until}] after {ran}: {len(wrong)} keys; (found, expected) {list(wrong.items())[:3]}"
        )

    for i, batch in enumerate(batches):
        write(spark, path, batch, rule, kind)
        table = Table.load(spark, str(path))
        writes = [e.instant for e in table.history() if e.action in ("commit", "deltacommit", "replacecommit")]
        instants.append(writes[0])
        done, became_base = run_services(table, rule, rng)
        ran.append(done)
        if became_base:
            compacted.add(i)
        if i > 0:
            check(i, rng.randrange(i), None)
        if i == BATCHES - 1:
            check(i, None, i)
            check(i, i, None)
            check(i, i - 2, i)
            check(i - 1, 0, i - 1)


# --- what cannot be answered -------------------------------------------------------------------------------------


# Guarantee (Change data): A window that cannot be read in full is an error before the read, which names the setting or
#   the time to use. Also: CommitWindowSuite
def test_an_unreadable_window_is_refused_before_the_read(sql: Sql, tmp_path: Path) -> None:
    spark = sql.spark
    table = create(spark, tmp_path / "t", COW)
    instants = [upsert(table, ("a", f"a{i}", i), ("b", "b", 0)) for i in range(4)]

    def condition(read: Callable[[], object]) -> str:
        return refusal(read).condition

    def incremental(**options: str) -> Callable[[], object]:
        return lambda: load(spark, table.path, **{QUERY: "incremental"}, **options)

    assert condition(incremental()) == "CHANGES_BEGIN_MISSING"
    assert condition(lambda: table.changes("long ago")) == "CHANGES_TIME_INVALID"
    assert condition(lambda: table.changes(instants[2], until=instants[1])) == "CHANGES_BEGIN_AFTER_END"
    assert condition(lambda: table.changes("2999-01-01")) == "CHANGES_BEGIN_IN_FUTURE"
    assert condition(incremental(**{BEGIN: "000", "hoodie.datasource.query.incremental.format": "both"})) == (
        "OPTION_VALUE_INVALID"
    )
    assert condition(incremental(**{BEGIN: "000", "as.of.instant": instants[0]})) == "OPTION_CONFLICT"
    assert condition(lambda: load(spark, table.path, **{BEGIN: instants[0]})) == "OPTION_CONFLICT"
    with pytest.raises(TypeError, match="since is an instant or a time as a str"):
        table.changes(3)  # type: ignore[arg-type]
    function = f"SELECT * FROM hudi_table_changes('{table.path}', "
    assert condition(lambda: sql.run(f"{function}'latest_state')")) == "TABLE_CHANGES_ARGUMENTS"
    assert condition(lambda: sql.run(f"{function}'all', 'earliest')")) == "OPTION_VALUE_INVALID"
    for wrong in (
        "hudi_table_changes(trips, 'latest_state', 'earliest')",
        "hudi_table_changes('trips', 'latest_state', NULL)",
        "hudi_table_changes(table_or_path => 'trips', query => 'latest_state', begin => 'earliest')",
        "hudi_table_changes('trips', 'latest_state', (SELECT max(ts) FROM VALUES ('a') AS v(ts)))",
        "VALUES ('trips') AS names(name), LATERAL hudi_table_changes(name, 'latest_state', 'earliest')",
        "hudi_table_changes()",
    ):
        error = refusal(lambda wrong=wrong: sql.run(f"SELECT * FROM {wrong}"))
        assert error.condition == "TABLE_CHANGES_ARGUMENTS", error
        assert "Use hudi_table_changes(table_or_path, 'latest_state' or 'cdc', begin [, end])" in str(error)
    assert condition(lambda: sql.run("SELECT * FROM hudi_table_changes('nowhere', 'latest_state', '0')")) == (
        "TABLE_NOT_FOUND"
    )

    # An end whose files were cleaned; a begin before them is none of that kind.
    assert found(table.changes(None, until=instants[1])) == [("a", "a1"), ("b", "b")]
    table.clean(options={"hoodie.clean.commits.retained": "2"})
    gone = refusal(lambda: table.changes(None, until=instants[1]))
    assert gone.condition == "CHANGES_CLEANED"
    assert "hoodie.clean.commits.retained" in str(gone)
    assert found(table.changes(instants[0])) == [("a", "a3"), ("b", "b")]

    # A begin that a restore took back.
    table.savepoints.restore(instants[2])
    assert condition(lambda: table.changes(instants[3])) == "CHANGES_TAKEN_BACK"
    assert found(table.changes(instants[1])) == [("a", "a2"), ("b", "b")]


def test_changes_of_a_table_without_commit_times_are_refused_with_an_alternative(
    spark: SparkSession, tmp_path: Path
) -> None:
    options = {KEY: "id", "hoodie.populate.meta.fields": "false", OPERATION: "bulk_insert"}
    save(frame(spark, [("a", "a1", 5)], SCHEMA), tmp_path / "t", options)
    error = refusal(lambda: Table.load(spark, str(tmp_path / "t")).changes())
    assert error.condition == "CHANGES_WITHOUT_COMMIT_TIMES"
    assert "as.of.instant" in str(error)
    assert isinstance(error, MerganserError)


@pytest.mark.parametrize("kind", [COW, MOR])
def test_windows_return_overwrites_partial_rows_and_new_columns_also_after_services(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    table = create(spark, tmp_path / "t", kind, partition_by="v")
    first = upsert(table, ("a", "x", 5), ("b", "x", 5), ("c", "y", 5))
    overwritten = table.insert_overwrite(frame(spark, [("d", "x", 6)], SCHEMA)).instant
    assert found(table.changes(first)) == [("d", "x")]
    wider = "id string, v string, ts long, w string"
    table.upsert(frame(spark, [("c", "y", 7, "new")], wider))
    assert rows_of(table.changes(overwritten)) == [("c", "y", 7, "new")]
    assert rows_of(table.changes(first, until=overwritten)) == [("d", "x", 6, None)]
    columns = {"hoodie.datasource.read.schema.use.end.instanttime": "true", QUERY: "incremental"}
    assert load(spark, table.path, **columns, **{BEGIN: first, END: overwritten}).columns == ["id", "v", "ts"]
    partial = frame(spark, [("c", "y", 8)], SCHEMA)
    table.upsert(partial, options={"spark.merganser.write.missingColumns": "keep"})
    assert rows_of(table.changes(overwritten)) == [("c", "y", 8, "new")]

    if kind == MOR:
        table.compact()
    table.services.cluster(order_by="id")
    assert rows_of(table.changes(first, until=overwritten)) == [("d", "x", 6, None)]
    retained = {"hoodie.clean.commits.retained": "1"}
    table.clean(options=retained)
    assert table.services.archive(min_commits=2, max_commits=3, options=retained).instants > 0
    assert rows_of(table.changes(overwritten)) == [("c", "y", 8, "new")]
    assert rows_of(table.changes(first)) == [("c", "y", 8, "new"), ("d", "x", 6, None)]


def test_the_incremental_pages_snippets_run_and_its_conditions_exist(spark: SparkSession) -> None:
    page = "docs/reading-changes.md"
    names: dict[str, Any] = {}
    for code in snippets(page, "python", "Changed rows") + snippets(page, "python", "Windows"):
        exec(compile(code, page, "exec"), names)
    assert names["changed"].count() == 2
    conditions = set(re.findall(r"`(CHANGES_\w+)`", page_text(page)))
    # Those of reads; the module above has conditions of the events of other databases, which begin alike.
    of_reads = ROOT / "jvm" / "table" / "src" / "main" / "resources" / "io" / "merganser" / "table" / "conditions.json"
    assert conditions == set(re.findall(r"\bCHANGES_\w+", of_reads.read_text()))
