# Guarantee (Python): Each call does the same in a classic session and over Spark Connect.
"""A Spark Connect client: statements, data frames and the package's Table against a real server, without a JVM here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from change_events import PLACEHOLDER, order, postgres
from feeds import Feed, finish, options_of, stream, writer
from pasted import LINE, SERVERS, blocks, paste
from pipelines import run as run_pipeline
from pyspark.errors import PySparkException
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F
from servers import serving

# Every test of the Python API runs here too: `spark` is then the client of this module.
from test_program_values import *  # noqa: F403
from test_program_values import notes  # noqa: F401
from test_python_api import *  # noqa: F403
from test_python_api import content, path, rows  # noqa: F401
from test_python_statements import *  # noqa: F403
from test_python_statements import trips  # noqa: F401
from test_threads_and_sessions import (  # noqa: F401
    test_every_call_works_in_a_thread_without_an_active_session,
    test_frames_of_another_session_are_written_and_merged,
)

import merganser

pytestmark = [pytest.mark.e2e, pytest.mark.since("4.0", reason="PySpark ships a Connect server")]

ROW = ["inserted", "updated", "unchanged", "deleted", "late", "ties"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a Connect server of this module's own."""
    folder = tmp_path_factory.mktemp("connect")
    started = r"Spark Connect server started at: \S*:(\d+)"
    with serving("./dev connect", folder, started, "spark.connect.grpc.binding.port=0") as port:
        yield f"sc://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def spark(server: str) -> Iterator[SparkSession]:
    """A client; not made by SparkSession.builder, which wants no classic session in its process."""
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    session = RemoteSession.builder.remote(server).create()
    yield session
    session.stop()


@pytest.fixture
def other_session(server: str) -> Iterator[SparkSession]:
    """Another client of that server."""
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    session = RemoteSession.builder.remote(server).create()
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def functions_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """``pyspark.sql.functions`` are the client's, as they are once SparkSession.builder has made a client."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")


@pytest.fixture
def table(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """A table with two rows, dropped when the test ends."""
    name = f"t_{abs(hash(request.node.name))}"
    properties = "TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts')"
    spark.sql(f"CREATE TABLE {name} (id int, ts bigint, v string) USING merganser {properties}")
    spark.sql(f"INSERT INTO {name} VALUES (1, 5, 'a'), (2, 5, 'b')")
    yield name
    spark.sql(f"DROP TABLE {name}")


def all_rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(f"SELECT * FROM {table} ORDER BY id").collect()]


def test_the_session_is_a_spark_connect_client(spark: SparkSession) -> None:
    assert type(spark).__module__.startswith("pyspark.sql.connect")


def test_statements_change_a_table_and_return_their_counts(spark: SparkSession, table: str) -> None:
    merged = spark.sql(
        f"MERGE INTO {table} t USING (VALUES (1, 6L, 'c'), (2, 4L, 'late'), (3, 1L, 'd') AS s(id, ts, v)) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ).collect()
    assert [[row[name] for name in ROW] for row in merged] == [[1, 1, 0, 0, 1, 0]]
    assert all_rows(spark, table) == [(1, 6, "c"), (2, 5, "b"), (3, 1, "d")]
    (late,) = spark.sql(
        f"MERGE INTO {table} t USING (SELECT 1 AS id, 5L AS ts) s ON t.id = s.id WHEN MATCHED THEN DELETE"
    ).collect()
    assert (late["late"], late["deleted"]) == (1, 0)
    (updated,) = spark.sql(f"UPDATE {table} SET v = 'u' WHERE id = 2").collect()
    (deleted,) = spark.sql(f"DELETE FROM {table} WHERE id = 3").collect()
    assert (updated["updated"], deleted["deleted"]) == (1, 1)
    assert all_rows(spark, table) == [(1, 6, "c"), (2, 5, "u")]
    keys = spark.sql(f"SELECT _hoodie_record_key FROM {table} ORDER BY 1").collect()
    assert [row[0] for row in keys] == ["1", "2"]
    commits = spark.sql("CALL show_commits(table => :t, limit => :n)", {"t": table, "n": 3}).collect()
    assert [row["action"] for row in commits] == ["commit"] * 3


def test_data_frames_are_written_and_read_by_path_and_by_name(
    spark: SparkSession,
    table: str,
    path: str,  # noqa: F811
) -> None:
    key = {"hoodie.datasource.write.recordkey.field": "id", "hoodie.table.ordering.fields": "ts"}
    frame = spark.createDataFrame([(1, 5, "a"), (2, 5, "b")], "id int, ts long, v string")
    frame.write.format("merganser").options(**key).save(path)
    newer = spark.createDataFrame([(1, 6, "c"), (2, 4, "late")], frame.schema)
    newer.write.format("merganser").mode("append").save(path)
    assert sorted(map(tuple, spark.read.format("merganser").load(path).collect())) == [(1, 6, "c"), (2, 5, "b")]
    spark.createDataFrame([(3, 1, "d")], frame.schema).writeTo(table).append()
    spark.createDataFrame([(4, 1, "e")], frame.schema).write.mode("append").insertInto(table)
    assert all_rows(spark, table) == [(1, 5, "a"), (2, 5, "b"), (3, 1, "d"), (4, 1, "e")]
    assert spark.table(table).filter("id > 2").count() == 2


def test_a_write_delivers_the_observed_metrics_of_its_frame(
    spark: SparkSession,
    path: str,  # noqa: F811
) -> None:
    merganser.Table.create(spark, path, "id long, v string", record_key="id")
    observation = Observation("rows")
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id long, v string")
    observed = frame.observe(observation, F.count(F.lit(1)).alias("n"))
    observed.write.format("merganser").mode("append").save(path)
    assert observation.get == {"n": 2}


def test_a_merge_in_foreach_batch_changes_a_table_over_connect(
    spark: SparkSession,
    path: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    merganser.Table.create(spark, path, "id long, v string", record_key="id").insert([(1, "stored")])
    source = str(tmp_path / "source")
    spark.createDataFrame([(1, "a"), (2, "b")], "id long, v string").coalesce(1).write.parquet(source)

    def apply(batch: Any, _: int) -> None:
        from merganser import Table

        table = Table.load(batch.sparkSession, path)
        table.merge(batch).when_matched_update().when_not_matched_insert().execute()

    stream = spark.readStream.schema("id long, v string").parquet(source).writeStream.foreachBatch(apply)
    started = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    started.awaitTermination()
    stored = spark.read.format("merganser").load(path).collect()
    assert sorted(map(tuple, stored)) == [(1, "a"), (2, "b")]


def test_streams_write_into_tables_and_read_from_them(spark: SparkSession, table: str, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "feed")
    feed.add((1, 6, "c"), (2, 4, "late"))
    feed.add((3, 1, "d"))
    written = writer(stream(spark, feed.folder), tmp_path / "c1", {})
    finish(written.toTable(table))
    assert all_rows(spark, table) == [(1, 6, "c"), (2, 5, "b"), (3, 1, "d")]
    copied = writer(spark.readStream.table(table), tmp_path / "c2", options_of("COPY_ON_WRITE"))
    finish(copied.start(str(tmp_path / "copy")))
    found = spark.read.format("merganser").load(str(tmp_path / "copy")).select("id", "ts", "v")
    assert sorted(map(tuple, found.collect())) == all_rows(spark, table)
    inserted = merganser.Table.load(spark, table).change_data_stream().where("op = 'i'").select("after.*")
    finish(writer(inserted, tmp_path / "c3", options_of("MERGE_ON_READ")).start(str(tmp_path / "inserted")))
    found = spark.read.format("merganser").load(str(tmp_path / "inserted")).select("id", "ts", "v")
    assert sorted(map(tuple, found.collect())) == all_rows(spark, table)


def test_a_data_frame_is_merged_into_a_table(spark: SparkSession, table: str) -> None:
    from pyspark.sql.connect.functions import expr

    changes = spark.createDataFrame([(1, 6, "c"), (2, 9, "gone"), (3, 1, "d")], "id int, ts long, v string")
    merge = changes.alias("s").mergeInto(table, expr(f"{table}.id = s.id"))
    merge.whenMatched(expr("s.v = 'gone'")).delete().whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert all_rows(spark, table) == [(1, 6, "c"), (3, 1, "d")]
    late = spark.createDataFrame([(1, 5, "gone")], changes.schema).alias("s")
    late.mergeInto(table, expr(f"{table}.id = s.id")).whenMatched().delete().merge()
    assert all_rows(spark, table) == [(1, 6, "c"), (3, 1, "d")]


def test_an_error_arrives_with_its_condition_state_and_parameters(spark: SparkSession, table: str) -> None:
    with pytest.raises(PySparkException) as key:
        spark.sql(f"UPDATE {table} SET id = 7 WHERE id = 1").collect()
    assert key.value.getCondition() == "ASSIGNMENT_REFUSED"
    assert merganser.condition_of(key.value) == "ASSIGNMENT_REFUSED"
    without_key = spark.createDataFrame([(None, 5, "a")], "id int, ts long, v string")
    with pytest.raises(PySparkException) as task:
        without_key.writeTo(table).append()
    assert merganser.condition_of(task.value) == "NULL_RECORD_KEY"
    with pytest.raises(PySparkException) as sparks:
        spark.sql("SELECT nothing FROM nowhere").collect()
    assert merganser.condition_of(sparks.value) is None
    assert key.value.getSqlState() == "42000"
    assert key.value.getMessageParameters()["clause"] == "UPDATE SET id"
    assert "KEY_COLUMN_CHANGED" in str(key.value)
    assert "'id'" in str(key.value)
    with pytest.raises(PySparkException) as argument:
        spark.sql("CALL show_commits(tabel => 'x')").collect()
    assert argument.value.getCondition() == "CALL_ARGUMENT_UNKNOWN"
    assert argument.value.getMessageParameters()["argument"] == "tabel"
    with pytest.raises(merganser.TableNotFoundError) as missing:
        merganser.Table.load(spark, "nobody_has_it")
    assert str(missing.value).startswith("[TABLE_NOT_FOUND] There is no table 'nobody_has_it'")
    assert "stacktrace" not in str(missing.value)
    assert (missing.value.sql_state, dict(missing.value.parameters)) == ("42P01", {"table": "nobody_has_it"})


WITHOUT_PY4J = """
import sys


class NoPy4j:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "py4j":
            raise ImportError(f"{name} was imported")


sys.meta_path.insert(0, NoPy4j())
from pyspark.sql import SparkSession
import merganser

spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
frame = spark.createDataFrame([("a", 1.0, 5)], "id string, fare double, ts long")
table = merganser.Table.create(spark, sys.argv[2], frame.schema, record_key="id", ordering_by="ts")
print(table.upsert(frame).inserted, len(table.history()), table.df().count(), "py4j" in sys.modules)
spark.stop()
"""


def test_a_client_needs_no_py4j(server: str, path: str) -> None:  # noqa: F811
    # With this variable PySpark takes itself for the client alone, which is shipped without py4j.
    alone = {"SPARK_SKIP_CONNECT_COMPAT_TESTS": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_PY4J, server, path],
        env={**os.environ, **alone, "PYTHONPATH": str(Path(merganser.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.split() == ["1", "1", "1", "False"]


def test_the_pages_client_program_upserts_two_rows(server: str, tmp_path: Path) -> None:
    (client,) = blocks("python", SERVERS)
    typed = client.replace("sc://localhost:15002", server)
    ran = paste("./dev python", "--spark", LINE, "-", typed=typed, folder=tmp_path)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert "inserted=2" in ran.stdout


def test_a_failed_inline_compaction_leaves_the_write_committed_and_is_reported(
    spark: SparkSession,
) -> None:
    keyed = "TBLPROPERTIES (primaryKey = 'id', type = 'mor')"
    spark.sql(f"CREATE TABLE uncompactable (id int, v string) USING merganser {keyed}")
    spark.sql("INSERT INTO uncompactable VALUES (1, 'old'), (2, 'old'), (3, 'old')")
    # A codec whose library nobody has fails the compaction of logs, and nothing before.
    codec = {"hoodie.parquet.compression.codec": "brotli"}
    inline = {**codec, "hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    as_error = "hoodie.fail.writes.on.inline.table.service.exception"
    table = merganser.Table.load(spark, "uncompactable")
    result = table.upsert(spark.createDataFrame([(1, "a")], "id int, v string"), options=inline)
    assert "The write is committed" in str(result.service_failure)
    more = spark.createDataFrame([(2, "b")], "id int, v string")
    with pytest.raises(merganser.MerganserError) as failed:
        table.upsert(more, options={**inline, as_error: "true"})
    assert failed.value.condition == "WRITE_COMMITTED_SERVICE_FAILED"
    for key, value in {**inline, as_error: "true"}.items():
        spark.conf.set(key, value)
    with pytest.raises(PySparkException, match="WRITE_COMMITTED_SERVICE_FAILED"):
        spark.sql("UPDATE uncompactable SET v = 'c' WHERE id = 3").collect()
    for key in (*inline, as_error):
        spark.conf.unset(key)
    assert [tuple(row) for row in spark.sql("SELECT * FROM uncompactable ORDER BY id").collect()] == [
        (1, "a"),
        (2, "b"),
        (3, "c"),
    ]
    spark.sql("DROP TABLE uncompactable")


def test_a_stream_of_changes_is_applied_by_the_server(spark: SparkSession, path: str, tmp_path: Path) -> None:  # noqa: F811
    folder = tmp_path / "events"
    folder.mkdir()
    update = postgres("u", 2, order(1, "paid", note=PLACEHOLDER))
    (folder / "1.json").write_text("\n".join([postgres("c", 1, order(1, note="{}")), update]))
    sample = spark.read.text(str(folder))
    table = merganser.Table.create_for_changes(spark, path, sample, preset="debezium_postgres", keys="id")
    query = table.apply_changes(
        spark.readStream.text(str(folder)),
        preset="debezium_postgres",
        checkpoint=tmp_path / "checkpoint",
        trigger={"availableNow": True},
    )
    assert query.awaitTermination(120)
    assert [(row["status"], row["note"]) for row in table.df().collect()] == [("paid", "{}")]


def test_a_rule_traced_on_the_client_merges_rows_on_the_server(spark: SparkSession, path: str) -> None:  # noqa: F811
    traced = merganser.rule(lambda old, new: {"v": merganser.rules.concat_ws("'", old.v, new.v)})
    columns = "id int, ts long, v string"
    table = merganser.Table.create(spark, path, columns, record_key="id", ordering_by="ts", rule=traced)
    for version in ((1, 5, "a"), (1, 4, "b")):
        table.upsert(spark.createDataFrame([version], columns))
    assert [tuple(row) for row in table.df().select("id", "ts", "v").collect()] == [(1, 5, "a'b")]
    assert table.rule == {**traced, "*": "last"}
    with pytest.raises(merganser.MerganserError) as refused:
        merganser.Table.create(spark, path + "2", columns, record_key="id",
                               rule=merganser.rule(lambda old, new: {"v": new.w}))  # fmt: skip
    assert refused.value.condition == "RULE_INVALID"


def test_a_dry_run_on_the_server_returns_counts_and_rows_to_the_client(spark: SparkSession, table: str) -> None:
    before = all_rows(spark, table)
    ours = merganser.Table.load(spark, table)
    result = ours.upsert(spark.createDataFrame([(1, 9, "x"), (9, 1, "n")], "id int, ts long, v string"), dry_run=True)
    assert (result.instant, result.operation, result.inserted, result.updated) == ("", "upsert", 1, 1)
    assert result.dry_run is not None
    assert [row.after for row in result.dry_run.rows][1] == {"id": 9, "ts": 1, "v": "n"}
    assert merganser.dry_run(spark, f"DELETE FROM {table} WHERE id = 1").deleted == 1
    assert ours.inspect.compare_rule(merge_mode=merganser.MergeMode.COMMIT_TIME_ORDERING).differing == 0
    assert all_rows(spark, table) == before


def test_each_read_of_merged_frames_returns_the_merged_rows(spark: SparkSession) -> None:
    stored = spark.createDataFrame([(1, 5, "it's"), (2, 5, "new")], "id int, ts int, v string")
    changes = spark.createDataFrame([(1, 4, "late"), (2, 6, "paid")], "id int, ts int, v string")
    merged = merganser.merge_frames(stored, merganser.combine(changes, "id", ordering_by="ts"), "id", ordering_by="ts")
    for _ in range(2):
        assert sorted(tuple(row) for row in merged.collect()) == [(1, 5, "it's"), (2, 6, "paid")]
    with pytest.raises(merganser.MerganserError) as failed:
        merganser.combine(changes, "key")
    assert failed.value.condition == "RECORD_KEY_COLUMN_MISSING"


@pytest.fixture
def changes(spark: SparkSession) -> Iterator[str]:
    """A table of change events, which pipelines read as a stream."""
    spark.sql("CREATE TABLE changes (id int, v string, seq bigint, op string) USING parquet")
    spark.sql("INSERT INTO changes VALUES (1,'a',1,'I'), (2,'b',1,'I'), (1,'a2',3,'U'), (3,'x',1,'I'), (3,null,2,'D')")
    yield "changes"
    for name in ("changes", "derived", "followed", "applied", "__spark_autocdc_aux_state_applied"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


# Guarantee (Streams): Spark's declarative pipelines write into tables repeatedly, and AUTO CDC flows apply changes and
#   deletes in order. Also: test_an_auto_cdc_flow_applies_changes_and_deletes_in_their_order
@pytest.mark.since("4.2", reason="pipelines in one process")
def test_a_pipeline_run_again_refreshes_its_view_and_continues_its_stream(
    spark: SparkSession, changes: str, tmp_path: Path
) -> None:
    from pyspark import pipelines

    stored = {"primaryKey": "id", "orderingFields": "seq"}

    def define() -> None:
        @pipelines.materialized_view(name="derived", format="merganser", table_properties=stored)
        def derived() -> Any:
            return spark.table(changes).where("op <> 'D' AND v <> 'x'").drop("op")

        @pipelines.table(name="followed", format="merganser", table_properties=stored)
        def followed() -> Any:
            return spark.readStream.table(changes).drop("op")

    run_pipeline(spark, define, tmp_path)
    assert all_rows(spark, "derived") == [(1, "a2", 3), (2, "b", 1)]
    assert all_rows(spark, "followed") == [(1, "a2", 3), (2, "b", 1), (3, None, 2)]
    spark.sql(f"INSERT INTO {changes} VALUES (1, 'late', 2, 'U'), (4, 'new', 1, 'I')")
    for full_refresh in (False, True):
        run_pipeline(spark, define, tmp_path, full_refresh=full_refresh)
        assert all_rows(spark, "derived") == [(1, "a2", 3), (2, "b", 1), (4, "new", 1)]
        assert all_rows(spark, "followed") == [(1, "a2", 3), (2, "b", 1), (3, None, 2), (4, "new", 1)]


@pytest.mark.since("4.2", reason="AUTO CDC")
def test_an_auto_cdc_flow_applies_changes_and_deletes_in_their_order(
    spark: SparkSession, changes: str, tmp_path: Path
) -> None:
    from pyspark import pipelines

    def define() -> None:
        @pipelines.temporary_view(name="captured")
        def captured() -> Any:
            return spark.readStream.table(changes)

        pipelines.create_streaming_table("applied", format="merganser", table_properties={"primaryKey": "id"})
        pipelines.create_auto_cdc_flow(
            target="applied",
            source="captured",
            keys=["id"],
            sequence_by="seq",
            apply_as_deletes="op = 'D'",
            except_column_list=["op"],
        )

    run_pipeline(spark, define, tmp_path)
    assert [row[:3] for row in all_rows(spark, "applied")] == [(1, "a2", 3), (2, "b", 1)]
    spark.sql(
        f"INSERT INTO {changes} VALUES (1,'late',2,'U'), (2,null,5,'D'), (3,'before its delete',1,'U'), (4,'n',9,'I')"
    )
    run_pipeline(spark, define, tmp_path)
    assert [row[:3] for row in all_rows(spark, "applied")] == [(1, "a2", 3), (4, "n", 9)]
    # The statements that Spark would rewrite for a table with the interface of row-level operations are still ours.
    changed = spark.sql("UPDATE applied SET v = 'updated' WHERE id = 4").collect()
    assert changed[0]["updated"] == 1
    spark.sql("DELETE FROM applied WHERE id = 1").collect()
    assert [row[:3] for row in all_rows(spark, "applied")] == [(4, "updated", 9)]
