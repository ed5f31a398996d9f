"""Statements from Python, reads, and rows that are no frame of Spark; test_connect.py runs these over Spark Connect."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from test_python_api import Rows, content, create, path, rows  # noqa: F401

import merganser
from merganser import CommitResult, Table, TableType, WhenMatchedDelete, WhenMatchedUpdate, WhenNotMatchedInsert
from merganser.options import SQL_EVOLUTION

pytestmark = pytest.mark.e2e

COLUMNS = "id long, day string, ts long, fare double"


@pytest.fixture
def trips(spark: SparkSession, rows: Rows, path: str) -> Table:  # noqa: F811
    """Rows 1 to 4, of which 4 is of another partition."""
    made = create(spark, path)
    made.upsert(rows((1, "a", 5, 1.0), (2, "a", 5, 2.0), (3, "a", 5, 3.0), (4, "b", 5, 4.0)))
    return made


# ---- merge


# Guarantee (Python): A merge has every clause of SQL, with strings and columns, and shows the statement that runs.
#   Also: test_the_statement_that_a_merge_shows_runs_unchanged
def test_merge_runs_each_sql_clause_with_strings_and_columns(trips: Table, rows: Rows) -> None:  # noqa: F811
    changes = rows((1, "a", 6, 1.5), (2, "a", 6, -1.0), (5, "a", 1, 5.0), (6, "a", 1, -6.0))
    merge = (
        trips.merge(changes, "t.id = s.id AND t.day = s.day")
        .when_matched_delete("s.fare < 0")
        .when_matched_update({"fare": F.col("s.fare") * 2, "ts": "s.ts"}, F.col("s.fare") > 0)
        .when_not_matched_insert(condition=F.col("s.fare").isNotNull() & (F.col("s.fare") > 0))
        .when_not_matched_by_source_update({"fare": "t.fare + 10"}, F.col("t.day") == "b")
        .when_not_matched_by_source_delete("t.id = 3")
    )
    assert content(trips.df()) == [(1, "a", 5, 1.0), (2, "a", 5, 2.0), (3, "a", 5, 3.0), (4, "b", 5, 4.0)]
    done = merge.execute()
    assert content(trips.df()) == [(1, "a", 6, 3.0), (4, "b", 5, 14.0), (5, "a", 1, 5.0)]
    assert (done.operation, done.inserted, done.updated, done.deleted) == ("merge", 1, 2, 2)
    assert done.instant == trips.history(1)[0].instant
    assert str(done).startswith(f"merge {done.instant}: inserted=1, updated=2, ties=1, deleted=2; 2 of 2 file groups")


def test_a_merge_leaves_its_source_cached(trips: Table, rows: Rows) -> None:  # noqa: F811
    changes = rows((1, "a", 6, 1.5), (5, "a", 1, 5.0)).cache()
    changes.count()
    done = trips.merge(changes).when_matched_update().when_not_matched_insert().execute()
    assert (done.inserted, done.updated) == (1, 1)
    assert changes.storageLevel.useMemory
    changes.unpersist()


def test_dry_runs_of_statements_return_counts_and_rows_and_change_nothing(
    trips: Table,
    rows: Rows,  # noqa: F811
) -> None:
    before, commits = content(trips.df()), len(trips.history())
    changes = rows((1, "a", 6, 1.5), (5, "a", 1, 5.0))
    merge = trips.merge(changes).when_matched_update().when_not_matched_insert()
    shown = merge.dry_run()
    assert (shown.inserted, shown.updated) == (1, 1)
    tried = merge.execute(dry_run=True)
    assert (tried.instant, tried.inserted, tried.updated, tried.dry_run) == ("", 1, 1, shown)
    assert str(tried) == f"merge nothing committed: dry_run: {shown}"
    assert [(row.outcome, row.before, row.after and row.after["fare"]) for row in shown.rows if row.key == "5"] == [
        ("inserted", None, 5.0)
    ]
    updated = trips.update({"fare": "fare + 1", "ts": "ts + 1"}, "id <= 2", dry_run=True)
    assert updated.updated == 2
    assert updated.dry_run is not None
    assert {row.after and row.after["fare"] for row in updated.dry_run.rows} == {2.0, 3.0}
    assert trips.delete(where="id = 3", dry_run=True).deleted == 1
    assert trips.delete(rows((3, "a", 5, 3.0)), dry_run=True).dry_run.deleted == 1
    assert content(trips.df()) == before
    assert len(trips.history()) == commits
    done = merge.execute()
    assert (done.inserted, done.updated) == (1, 1)


def test_the_statement_that_a_merge_shows_runs_unchanged(
    spark: SparkSession,
    trips: Table,
    rows: Rows,  # noqa: F811
) -> None:
    changes = rows((1, "a", 6, 1.5), (5, "b", 1, 5.0))
    merge = trips.merge(changes).when_matched_update(except_="fare").when_not_matched_insert(except_=["fare"])
    assert merge.sql().splitlines() == [
        f"MERGE INTO merganser.`{trips.path}` AS `t`",
        "USING {source} AS `s`",
        "ON `t`.`id` = `s`.`id`",
        "WHEN MATCHED THEN UPDATE SET `id` = `s`.`id`, `day` = `s`.`day`, `ts` = `s`.`ts`",
        "WHEN NOT MATCHED THEN INSERT (`id`, `day`, `ts`) VALUES (`s`.`id`, `s`.`day`, `s`.`ts`)",
    ]
    (row,) = spark.sql(merge.sql(), source=changes).collect()
    assert (row["inserted"], row["updated"]) == (1, 1)
    assert content(trips.df(where="id IN (1, 5)")) == [(1, "a", 6, 1.0), (5, "b", 1, None)]
    by_view = trips.merge("SELECT 2L AS id, '{x}' AS note", "id").when_matched_delete("s.note = '{x}'")
    assert by_view.sql().splitlines()[1] == "USING (SELECT 2L AS id, '{x}' AS note) AS `s`"
    assert by_view.execute().deleted == 1


def test_several_merges_share_one_list_of_clauses(trips: Table, rows: Rows) -> None:  # noqa: F811
    cdc = [WhenMatchedDelete("s.fare < 0"), WhenMatchedUpdate(), WhenNotMatchedInsert(condition="s.fare >= 0")]
    first = trips.merge(rows((1, "a", 6, -1.0), (2, "a", 6, 2.5)), clauses=cdc)
    assert first.clauses == tuple(cdc)
    assert first.execute().deleted == 1
    assert trips.merge([{"id": 7, "day": "a", "ts": 1, "fare": 7.0}], "id", cdc).execute().inserted == 1
    assert content(trips.df(where="id <> 3")) == [(2, "a", 6, 2.5), (4, "b", 5, 4.0), (7, "a", 1, 7.0)]


def test_a_merge_adds_columns_only_with_schema_evolution(spark: SparkSession, trips: Table) -> None:
    wider = spark.createDataFrame([(1, "a", 6, 1.5, "late")], COLUMNS + ", note string")
    trips.merge(wider).when_matched_update().execute()
    assert "note" not in trips.schema.names
    trips.merge(wider).with_schema_evolution().when_matched_update().execute()
    assert trips.schema.names == ["id", "day", "ts", "fare", "note"]
    assert [row["note"] for row in trips.df(where="id = 1").collect()] == ["late"]
    assert spark.conf.get(SQL_EVOLUTION, "") == ""
    trips.merge(wider.withColumn("other", F.lit(1))).when_matched_update().execute()
    assert "other" not in trips.schema.names


# ---- update and delete


def test_an_update_assigns_sql_columns_and_values(spark: SparkSession, path: str) -> None:  # noqa: F811
    columns = "id long, n int, d decimal(9,2), day date, at timestamp, ok boolean, s string"
    table = Table.create(spark, path, columns, record_key="id")
    table.upsert([{"id": key, "n": 0, "d": None, "day": None, "at": None, "ok": None, "s": "it's"} for key in (1, 2)])
    day, at = datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 12, 30, 0, 250000)
    done = table.update(
        {"n": F.when(F.col("id") > 5, 1).otherwise(F.col("n") + 7), "d": Decimal("1.50"), "day": day, "at": at,
         "ok": True, "s": F.concat(F.col("s"), F.lit(" \\ 'quoted'"))},
        F.col("s").like("it%") & F.col("id").isin(1, 3) & ~F.col("s").isNull(),
    )  # fmt: skip
    assert (done.updated, done.operation) == (1, "update")
    assert tuple(table.df(where="id = 1").collect()[0]) == (1, 7, Decimal("1.50"), day, at, True, "it's \\ 'quoted'")
    assert table.update({"s": None, "n": "n + 1"}).updated == 2
    assert [(row["n"], row["s"]) for row in table.df().orderBy("id").collect()] == [(8, None), (1, None)]


def test_rows_are_deleted_by_condition_and_by_key(trips: Table, rows: Rows) -> None:  # noqa: F811
    assert trips.delete("id = 1").deleted == 1
    assert trips.delete(where=F.col("fare") == 2).deleted == 1
    assert trips.delete(keys=rows((3, "a", None, None)).select("id", "day")).deleted == 1
    assert trips.delete(keys=[4, 99]).deleted == 1  # in whichever partition
    assert trips.count() == 0
    trips.upsert([(1, "a", 1, 1.0), (2, "b", 1, 2.0), (3, "b", 1, 3.0)])
    assert trips.delete([{"id": 1, "day": "a"}]).deleted == 1
    assert trips.delete(2).deleted == 1
    assert trips.delete(where=True).deleted == 1


def test_deletes_by_key_return_commits_whether_their_partition_is_given_or_not(trips: Table, rows: Rows) -> None:  # noqa: F811
    given, absent = rows((1, "a", None, None)).select("id", "day"), trips.df(where="id = 4").select("id")
    for keys in (given, absent, [{"id": 1, "day": "a"}], [4], 4):
        tried = trips.delete(keys, dry_run=True)
        assert isinstance(tried, CommitResult)
        assert tried.dry_run is not None
        assert (tried.deleted, tried.dry_run.deleted) == (1, 1)
    options = {"hoodie.parquet.compression.codec": "gzip"}
    done = [trips.delete(keys, options=options, txn=(str(keys), 1)) for keys in (given, [4], given, [4])]
    assert [(type(one), one.deleted, one.is_repetition) for one in done] == [
        (CommitResult, 1, False), (CommitResult, 1, False), (CommitResult, 1, True), (CommitResult, 1, True)
    ]  # fmt: skip
    with pytest.raises(merganser.ColumnMissingError):
        trips.delete(absent.withColumnRenamed("id", "other"))
    assert content(trips.df()) == [(2, "a", 5, 2.0), (3, "a", 5, 3.0)]


def test_rows_of_a_partitioned_table_without_key_columns_are_deleted_by_their_meta_columns(
    spark: SparkSession, path: str  # noqa: F811
) -> None:  # fmt: skip
    table = Table.create(spark, path, COLUMNS, partition_by="day")
    table.insert([(1, "a", 1, 1.0), (2, "a", 1, 2.0), (3, "b", 1, 3.0)])
    keys = table.df(columns=["_hoodie_record_key", "_hoodie_partition_path"], where="id <> 2")
    assert table.delete(keys).deleted == 2
    assert content(table.df()) == [(2, "a", 1, 2.0)]


# ---- rows that are no frame of Spark


def test_rows_are_frames_of_pandas_and_arrow_and_lists(spark: SparkSession, trips: Table) -> None:
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"id": [1, 10], "day": ["a", "b"], "ts": [6.0, 1.0], "fare": [1.5, None]})
    assert (trips.upsert(frame).inserted, trips.upsert(frame).ties) == (1, 2)
    assert trips.upsert(pyarrow.table({"id": [11], "day": ["b"], "ts": [1], "fare": [1]})).inserted == 1
    assert trips.upsert([{"id": 12, "day": "b", "ts": 1, "fare": 2}]).inserted == 1
    assert trips.upsert([(13, "b", 1, 2.0), (14, "b", 1, None)]).inserted == 2
    assert content(trips.df(where="id > 9 OR id = 1")) == [
        (1, "a", 6, 1.5), (10, "b", 1, None), (11, "b", 1, 1.0), (12, "b", 1, 2.0), (13, "b", 1, 2.0),
        (14, "b", 1, None),
    ]  # fmt: skip
    wider = pandas.DataFrame({"id": [15], "day": ["b"], "ts": [1], "fare": [1], "tip": [0.5]})
    assert trips.upsert(wider).columns_added == ("tip",)
    assert [field.dataType for field in trips.schema][:4] == [
        T.LongType(),
        T.StringType(),
        T.LongType(),
        T.DoubleType(),
    ]


# ---- reads


def test_reads_choose_rows_columns_and_times_and_return_frames_of_pandas_and_arrow(trips: Table) -> None:
    before = trips.history(1)[0]
    after = trips.update({"fare": "fare + 100", "ts": "ts + 1"}, "day = 'a'")
    assert (trips.count(), trips.count("fare > 50"), trips.count(F.col("fare") > 50, as_of=before)) == (4, 3, 0)
    chosen = trips.df(columns=["id", F.col("fare").alias("price")], where=F.col("id") < 3, as_of=after)
    assert sorted(map(tuple, chosen.collect())) == [(1, 101.0), (2, 102.0)]
    assert [row[0] for row in trips.df(columns="_hoodie_record_key", where="id = 4").collect()] == ["4"]
    assert sorted(trips.to_pandas(columns=["id", "fare"], as_of=before)["fare"]) == [1.0, 2.0, 3.0, 4.0]
    arrow = trips.to_arrow(where="id = 1")
    assert (arrow.num_rows, arrow.column_names) == (1, ["id", "day", "ts", "fare"])
    assert trips.to_arrow(where="id = 77").num_rows == 0
    assert trips.changes(before, columns="id").count() == 3
    assert trips.inspect.partitions() == ["a", "b"]


def test_a_loaded_tables_schema_follows_an_alter_table(spark: SparkSession, trips: Table) -> None:
    spark.sql(f"ALTER TABLE {trips.identifier} ADD COLUMNS (tip DOUBLE)")
    assert trips.schema.names == ["id", "day", "ts", "fare", "tip"]
    assert Table.load(spark, trips.path) == trips
    assert "tip double" in trips._repr_html_()


# ---- tables


# Guarantee (Writes): Where Python opens a table instead of creating it, the table has the settings and columns of the
#   call, or more and wider ones, or the call is refused. Also: SchemaEvolutionSuite
def test_create_or_load_creates_once_and_then_finds_the_table_by_path_or_name(
    spark: SparkSession, rows: Rows, path: str, tmp_path: Path  # noqa: F811
) -> None:  # fmt: skip
    assert not Table.exists(spark, path)
    settings = {"record_key": "id", "ordering_by": "ts"}
    Table.create_or_load(spark, path, rows((1, "a", 1, 1.0)), **settings).insert([(1, "a", 1, 1.0)])
    again = Table.create_or_load(spark, path, COLUMNS, **settings)
    assert (again.count(), Table.exists(spark, path), Table.load(spark, path)) == (1, True, again)
    with pytest.raises(merganser.ConfigurationConflictError, match="'day'"):
        Table.create_or_load(spark, path, COLUMNS, record_key="day")
    for columns, contradicts in (
        (f"{COLUMNS}, note string, tip double", "the table lacks 'note' and 'tip'"),
        ("id long, day string, ts long, fare string", "'fare' is string, the table has double"),
        ("id long, day int, ts long", "'day' is int, the table has string"),
    ):
        with pytest.raises(merganser.ConfigurationConflictError, match=contradicts):
            Table.create_or_load(spark, path, columns, **settings)
    # A job that was written before a column was added or widened opens the table as before.
    assert Table.create_or_load(spark, path, "day string, id int, ts int NOT NULL", **settings) == again
    name = f"named_{abs(hash(path))}"
    named = Table.create_named(
        spark,
        name,
        COLUMNS,
        path=tmp_path / "named",
        partition_by="day",
        table_type=TableType.MERGE_ON_READ,
        **settings,
    )
    try:
        assert (named.partition_by, named.table_type, named.ordering_by) == (("day",), TableType.MERGE_ON_READ, ("ts",))
        assert Table.exists(spark, name)
        assert Table.load(spark, f"default.{name}") == Table.load(spark, f"`{name}`") == named
        assert Table.create_named(spark, name, COLUMNS, if_not_exists=True, partition_by="day", **settings) == named
        with pytest.raises(merganser.ConfigurationConflictError, match="lacks 'note'"):
            Table.create_named(spark, name, f"{COLUMNS}, note string", if_not_exists=True)
        with pytest.raises(merganser.ConfigurationConflictError, match="'fare'"):
            Table.create_named(spark, name, COLUMNS, if_not_exists=True, ordering_by="fare")
        with pytest.raises(merganser.TableNotFoundError):
            Table.load(spark, f"./{name}")
    finally:
        spark.sql(f"DROP TABLE {name}")
    spark.sql(f"CREATE TABLE {name} (id int) USING parquet")
    try:
        assert not Table.exists(spark, name)
    finally:
        spark.sql(f"DROP TABLE {name}")


# ---- settings and keys


def test_merge_config_lists_each_settings_source_and_conflict(spark: SparkSession, trips: Table) -> None:
    spark.conf.set("hoodie.index.type", "BUCKET")
    spark.conf.set("hoodie.combine.before.insert", "true")
    try:
        config = trips.inspect.merge_config(options={"hoodie.datasource.write.recordkey.field": "fare"})
    finally:
        spark.conf.unset("hoodie.index.type")
        spark.conf.unset("hoodie.combine.before.insert")
    found = {one.setting: (one.value, one.source) for one in config}
    assert found["hoodie.table.ordering.fields"] == ("ts", "table")
    assert found["hoodie.write.record.merge.mode"] == ("EVENT_TIME_ORDERING", "table")
    assert found["hoodie.combine.before.insert"] == ("true", "session")
    assert found["hoodie.combine.before.upsert"] == ("true", "default")
    assert config["hoodie.datasource.write.recordkey.field"] == "id"
    wrong = {one.setting: one.conflict for one in config.conflicts}
    assert "'fare'" in wrong["hoodie.datasource.write.recordkey.field"]
    assert "hoodie.combine.before.insert = true (session)" in str(config)
    assert not trips.inspect.merge_config().conflicts
    assert config["hoodie.datasource.write.partitionpath.urlencode"] == "false"  # no secret, for the "url" in its name


def test_duplicate_keys_are_counted_and_listed(
    spark: SparkSession, trips: Table, rows: Rows, tmp_path: Path  # noqa: F811
) -> None:  # fmt: skip
    assert trips.inspect.check_keys()
    trips.insert(rows((1, "a", 9, 1.0), (4, "a", 9, 1.0)))
    found = trips.inspect.check_keys()
    assert (found.rows, found.keys, found.duplicate_keys, found.duplicate_rows, found.null_keys) == (6, 4, 1, 2, 0)
    assert (found.keys_in_several_partitions, [one.key for one in found.duplicates]) == (1, ["1"])
    assert str(found) == "6 rows, 4 keys: 1 keys have 2 rows (such as '1')"
    trips.repairs.merge_duplicates()
    assert trips.inspect.check_keys().ok
    settings = {"record_key": "id", "partition_by": "day", "index": merganser.IndexType.GLOBAL_SIMPLE}
    in_table = Table.create(spark, tmp_path / "in_table", COLUMNS, **settings)
    in_table.insert(rows((1, "a", 1, 1.0), (1, "b", 1, 1.0), (2, "b", 1, 2.0)))
    assert [(one.key, one.rows, one.partitions) for one in in_table.inspect.check_keys().duplicates] == [
        ("1", 2, ("a", "b"))
    ]


# ---- mistakes


def test_the_error_for_an_ambiguous_argument_names_the_right_one(trips: Table, spark: SparkSession) -> None:
    mistakes: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: trips.delete(), TypeError, "either keys, or a condition"),
        (lambda: trips.delete("id = 1", where="id = 2"), TypeError, "not two conditions"),  # type: ignore[call-overload]
        (lambda: trips.delete(keys="true"), TypeError, r"keys=\['true'\].*where='true'"),
        (lambda: trips.delete(keys=True), TypeError, r"keys=\[True\]"),  # type: ignore[call-overload]
        (lambda: trips.delete(keys=F.col("id") == 1), TypeError, r"where="),  # type: ignore[call-overload]
        (lambda: trips.delete(where=""), ValueError, "where=True"),
        (lambda: trips.delete(where={"id": 1}), TypeError, "as SQL, such as"),  # type: ignore[call-overload]
        (lambda: trips.update("fare = 1"), TypeError, "a dict of expressions"),  # type: ignore[arg-type]
        (lambda: trips.update({}), ValueError, "set is empty"),
        (lambda: trips.update({"fare": object()}), TypeError, "'fare' is assigned a object"),  # type: ignore[dict-item]
        (lambda: trips.merge("s").execute(), ValueError, "has no clause"),
        (lambda: trips.merge("s", clauses=["UPDATE"]), TypeError, "WhenMatchedUpdate"),  # type: ignore[list-item]
        (lambda: trips.merge(7), TypeError, "merge takes rows"),  # type: ignore[arg-type]
        (lambda: trips.upsert("SELECT 1"), TypeError, r"spark\.sql"),
        (lambda: trips.upsert([{"id": 1}, {"day": "a"}]), ValueError, "row 1 has"),
        (lambda: trips.upsert([(1, "a")]), ValueError, r"columns \(id, day, ts, fare\)"),
        (lambda: trips.upsert([1, 2]), TypeError, "dicts or tuples, not of int"),  # type: ignore[list-item]
        (lambda: trips.upsert([], options="x=y"), TypeError, "a dict of settings"),  # type: ignore[arg-type]
        (lambda: trips.df(as_of=1), TypeError, "a datetime, a date"),  # type: ignore[arg-type]
        (lambda: trips.df(where=1), TypeError, "as SQL"),  # type: ignore[arg-type]
        (lambda: trips.df(columns=[1]), TypeError, "columns is a name"),  # type: ignore[list-item]
        (lambda: Table.create(spark, "/x", 7), TypeError, "or a Spark DataFrame, not a int"),  # type: ignore[arg-type]
    ]
    for mistake, kind, answer in mistakes:
        with pytest.raises(kind, match=answer):
            mistake()
    merge = trips.merge([{"id": 1}], "id").when_matched_update(except_="fear")
    with pytest.raises(ValueError, match=r"\['fear'\], but the table's columns are \['id', 'day', 'ts', 'fare'\]"):
        merge.sql()
    unknown = F.udf(lambda value: value > 1, "boolean")(F.col("fare"))
    with pytest.raises((TypeError, merganser.MerganserError), match=r"Give the condition|give it as SQL"):
        trips.delete(where=unknown)
    assert trips.count() == 4


# Guarantee (Python): Our errors have their class, condition and a short message in statements, writers and reads, also
#   over Connect. Also: test_frames_statements_and_reads_raise_the_class_of_their_condition_with_a_short_message
def test_statements_and_writers_raise_merganser_errors_with_a_short_message(
    spark: SparkSession, trips: Table, rows: Rows  # noqa: F811
) -> None:  # fmt: skip
    raises: list[tuple[Callable[[], object], str]] = [
        (lambda: trips.update({"id": 7}), "ASSIGNMENT_REFUSED"),
        (lambda: spark.sql(f"UPDATE {trips.identifier} SET id = 7").collect(), "ASSIGNMENT_REFUSED"),
        (
            lambda: rows((None, "a", 1, 1.0)).write.format("merganser").mode("append").save(trips.path),
            "NULL_RECORD_KEY",
        ),
        (lambda: spark.read.format("merganser").load(trips.path + "/none").count(), "PATH_IS_NO_TABLE"),
    ]
    for failing, condition in raises:
        with pytest.raises(merganser.MerganserError, match=rf"^\[{condition}\]") as raised:
            failing()
        assert raised.value.condition == merganser.condition_of(raised.value) == condition
        assert len(str(raised.value)) < 700
    with pytest.raises(PySparkException) as sparks:
        trips.update({"day": "monday"})
    assert merganser.condition_of(sparks.value) is None
    assert "lit('paid')" in "".join(getattr(sparks.value, "__notes__", ["lit('paid')"]))  # from Python 3.11 on


def test_a_result_prints_as_a_line_a_table_and_a_dict(trips: Table, rows: Rows) -> None:  # noqa: F811
    done = trips.upsert(rows((1, "a", 6, 1.5), (2, "a", 4, 0.0)))
    assert str(done).startswith(f"upsert {done.instant}: updated=1, late=1, unchanged=1; 1 file, ")
    assert "\n" not in str(done)
    assert done.to_dict()["updated"] == 1
    assert "<th>updated</th><td>1</td>" in done._repr_html_()
    slices = trips.inspect.file_slices()
    assert slices.to_dicts()[0]["log_files"] == []
    assert len(str(slices).splitlines()) == len(slices) == 2
    assert "<th>partition path</th>" in slices._repr_html_()
    frame: DataFrame = trips.call("show_commits", limit=1)
    assert [row["operation"] for row in frame.collect()] == ["UPSERT"]
    assert trips.properties["hoodie.table.name"] == trips.name
