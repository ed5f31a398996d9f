"""Streams into a table: each micro-batch is one commit under the table's rule, written once whatever is repeated."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from feeds import SCHEMA, Feed, drop_last_commit, finish, options_of, stream, timeline, writer
from frames import commit_metadata, load, rows_of
from option_names import COW, MOR
from pyspark.sql import SparkSession
from snippets import page_text, snippets
from sql_steps import each_kind

import merganser

KINDS = {"cow": COW, "mor": MOR}
RETRIES = "hoodie.datasource.write.streaming.retry.count"
PAUSE = "hoodie.datasource.write.streaming.retry.interval.ms"


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    """Three batches: new rows, a later and a late one, and a tie with a new row."""
    feed = Feed(tmp_path / "feed")
    feed.add((1, 5, "a"), (2, 5, "b"), (1, 6, "a2"))
    feed.add((1, 7, "a3"), (2, 4, "late"), (3, 1, "c"))
    feed.add((2, 5, "tie"), (4, 1, "d"))
    return feed


def newest_metadata(spark: SparkSession, path: Path) -> dict[str, Any]:
    return commit_metadata(spark, path / ".hoodie" / "timeline" / timeline(path)[-1])["extraMetadata"]


# Guarantee (Streams): Each micro-batch is one commit under the table's rule; a repeated one writes nothing, also after
#   its commit was archived. Also: test_a_repeated_micro_batch_is_recognized_after_its_commit_is_archived,
#   test_update_mode_writes_the_changed_groups_and_complete_mode_replaces_the_table
@pytest.mark.e2e
@each_kind
def test_micro_batches_are_merged_by_the_tables_rule_and_a_repeated_one_is_ignored(
    spark: SparkSession, tmp_path: Path, feed: Feed, kind: str
) -> None:
    path, checkpoint = tmp_path / "t", tmp_path / "checkpoint"
    options = options_of(KINDS[kind], **{"hoodie.datasource.write.streaming.checkpoint.identifier": "orders"})
    query = writer(stream(spark, feed.folder), checkpoint, options).queryName("orders").start(str(path))
    finish(query)
    assert rows_of(load(spark, path).select("id", "ts", "v")) == feed.folded()
    commits = timeline(path)
    assert len(commits) == 3
    metadata = newest_metadata(spark, path)
    assert f'"stream-{query.id}":{{"version":2' in metadata["merganser.transactions"]
    assert metadata["_hudi_streaming_sink_checkpoint"] == '{"orders":"2"}'

    # The last micro-batch is done in the table, and its checkpoint does not know it: as after a kill in between.
    assert drop_last_commit(checkpoint) == 2
    finish(writer(stream(spark, feed.folder), checkpoint, options).start(str(path)))
    assert timeline(path) == commits
    feed.add((1, 8, "a4"))
    finish(writer(stream(spark, feed.folder), checkpoint, options).start(str(path)))
    assert len(timeline(path)) == 4
    assert rows_of(load(spark, path).select("id", "ts", "v")) == feed.folded()


@each_kind
def test_micro_batches_are_merged_by_column_functions(
    spark: SparkSession, tmp_path: Path, feed: Feed, kind: str
) -> None:
    options = options_of(KINDS[kind], **{"merganser.rule.column.v": "concat('+')"})
    finish(writer(stream(spark, feed.folder), tmp_path / "checkpoint", options).start(str(tmp_path / "t")))
    expected: dict[int, tuple[int, int, str]] = {}
    for key, ts, v in (row for batch in feed.batches for row in batch):
        _, older_ts, older_v = expected.get(key, (key, ts, ""))
        expected[key] = (key, max(ts, older_ts), f"{older_v}+{v}".lstrip("+"))
    assert rows_of(load(spark, tmp_path / "t").select("id", "ts", "v")) == sorted(expected.values())


@each_kind
def test_a_micro_batch_with_an_ambiguous_key_is_refused(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    feed = Feed(tmp_path / "feed")
    feed.add((1, 5, "a"))
    feed.add((1, 6, "__null__"), (2, 6, "b"))
    options = options_of(KINDS[kind], **{"hoodie.datasource.write.recordkey.field": "id,v"})
    query = writer(stream(spark, feed.folder), tmp_path / "checkpoint", options).start(str(tmp_path / "t"))
    with pytest.raises(merganser.MerganserError, match="KEY_AMBIGUOUS"):
        finish(query)
    assert rows_of(load(spark, tmp_path / "t").select("id", "ts", "v")) == [(1, 5, "a")]


def test_a_repeated_micro_batch_is_recognized_after_its_commit_is_archived(
    spark: SparkSession, tmp_path: Path, feed: Feed
) -> None:
    path, checkpoint = tmp_path / "t", tmp_path / "checkpoint"
    options = options_of(COW, **{"hoodie.datasource.write.operation": "insert"})
    finish(writer(stream(spark, feed.folder), checkpoint, options).start(str(path)))
    table = merganser.Table.load(spark, str(path))
    ours = timeline(path)
    for i in range(3):
        table.insert(spark.createDataFrame([(100 + i, 1, "other")], SCHEMA))
    retained = {"hoodie.clean.commits.retained": "1"}
    table.clean(options=retained)
    table.services.archive(min_commits=2, max_commits=3, options=retained)
    assert not set(ours) & set(timeline(path))
    before = table.df().count()
    drop_last_commit(checkpoint)
    finish(writer(stream(spark, feed.folder), checkpoint, options).start(str(path)))
    assert table.df().count() == before


def test_update_mode_writes_the_changed_groups_and_complete_mode_replaces_the_table(
    spark: SparkSession, tmp_path: Path, feed: Feed
) -> None:
    expected = Counter(ts for batch in feed.batches for _, ts, _ in batch)
    keyed = {"hoodie.datasource.write.recordkey.field": "ts"}
    for mode in ("update", "complete"):
        path, checkpoint = tmp_path / mode, tmp_path / f"checkpoint-{mode}"
        for _ in range(2):
            counts = stream(spark, feed.folder).groupBy("ts").count()
            finish(writer(counts, checkpoint, keyed, mode).start(str(path)))
            assert dict(rows_of(load(spark, path).select("ts", "count"))) == expected
            # The state of a repeated micro-batch is computed again: the next one needs it.
            drop_last_commit(checkpoint)
            feed.add((9, 5, "more"))
            expected[5] += 1
    actions = {name.rpartition(".")[2] for name in timeline(tmp_path / "complete")[1:]}
    assert actions == {"replacecommit"}
    with pytest.raises(merganser.MerganserError, match="STREAM_UPDATE_WITHOUT_KEY"):
        finish(
            writer(stream(spark, feed.folder).groupBy("ts").count(), tmp_path / "c", {}, "update").start(
                str(tmp_path / "keyless")
            )
        )


def test_complete_mode_replaces_all_partitions_despite_dynamic_overwrites(
    spark: SparkSession, tmp_path: Path, feed: Feed
) -> None:
    keyed = {"hoodie.datasource.write.recordkey.field": "id"}
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        # The rows of key 1 move to another partition with each micro-batch.
        newest = stream(spark, feed.folder).groupBy("id").agg({"v": "max"}).withColumnRenamed("max(v)", "v")
        writing = writer(newest, tmp_path / "c", keyed, "complete").partitionBy("v")
        finish(writing.start(str(tmp_path / "t")))
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert rows_of(load(spark, tmp_path / "t").select("id")) == [(1,), (2,), (3,), (4,)]


@pytest.mark.e2e
def test_to_table_writes_catalog_tables_and_creates_them_with_the_streams_options(
    spark: SparkSession, tmp_path: Path, feed: Feed
) -> None:
    name = f"s_{uuid.uuid4().hex}"
    properties = "TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts', type = 'mor')"
    spark.sql(f"CREATE TABLE {name} (id INT, ts BIGINT, v STRING) USING merganser {properties}")
    try:
        finish(writer(stream(spark, feed.folder), tmp_path / "c1", {}).toTable(name))
        assert rows_of(spark.table(name)) == feed.folded()
        made = f"{name}_made"
        options = options_of(COW)
        finish(writer(stream(spark, feed.folder), tmp_path / "c2", options).partitionBy("id").toTable(made))
        assert rows_of(spark.table(made).select("id", "ts", "v")) == feed.folded()
        assert merganser.Table.load(spark, made).record_key == ("id",)
        again = f"merganser.`{tmp_path / 'p'}`"
        spark.table(made).write.format("merganser").options(**options).save(str(tmp_path / "p"))
        finish(writer(stream(spark, feed.folder), tmp_path / "c3", {}).toTable(again))
        assert rows_of(spark.table(again).select("id", "ts", "v")) == feed.folded()
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        spark.sql(f"DROP TABLE IF EXISTS {name}_made")


def test_options_of_a_stream_are_checked_when_it_starts(spark: SparkSession, tmp_path: Path, feed: Feed) -> None:
    def start(**options: str) -> None:
        writer(stream(spark, feed.folder), tmp_path / "c", options).start(str(tmp_path / "t"))

    for options, condition in (
        ({"txnAppId": "mine"}, "STREAM_NUMBERS_ITS_WRITES"),
        ({RETRIES: "often"}, "OPTION_VALUE_INVALID"),
        ({"hoodie.datasource.write.recordkey": "id"}, "UNKNOWN_OPTION"),
        ({"hoodie.datasource.write.streaming.ignore.failed.batch": "true"}, "UNSUPPORTED_OPTION"),
    ):
        with pytest.raises(Exception, match=condition):
            start(**options)
    assert not (tmp_path / "t").exists()


def test_a_failed_micro_batch_stops_the_query_and_is_written_after_a_restart(
    spark: SparkSession, tmp_path: Path, feed: Feed
) -> None:
    path, checkpoint = tmp_path / "t", tmp_path / "c"
    feed.add((5, 1, "e"))
    null_key = "CASE WHEN v = 'd' THEN NULL ELSE id END AS id"
    options = options_of(COW)
    bad = stream(spark, feed.folder).selectExpr(null_key, "ts", "v")
    with pytest.raises(merganser.MerganserError, match="NULL_RECORD_KEY"):
        finish(writer(bad, checkpoint, options).start(str(path)))
    assert rows_of(load(spark, path).select("id", "ts", "v")) == feed.folded(2)
    finish(writer(stream(spark, feed.folder), checkpoint, options).start(str(path)))
    assert rows_of(load(spark, path).select("id", "ts", "v")) == feed.folded()


def test_services_follow_micro_batches_inline_or_in_the_background(
    spark: SparkSession, tmp_path: Path, feed: Feed
) -> None:
    logs = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
    due = {**logs, "hoodie.compact.inline.max.delta.commits": "1"}
    without = {"hoodie.datasource.write.streaming.disable.compaction": "true"}
    variants = {
        "inline": {**due, "hoodie.compact.inline": "true"},
        "beside": due,
        "none": {**due, **without},
    }
    for name, options in variants.items():
        path = tmp_path / name
        finish(writer(stream(spark, feed.folder), tmp_path / f"c-{name}", options_of(MOR, **options)).start(str(path)))
        if name == "beside":
            spark.sql(f"CALL stop_services(path => '{path}')").collect()
        assert rows_of(load(spark, path).select("id", "ts", "v")) == feed.folded()
        compactions = list((path / ".hoodie" / "timeline").glob("*_*.commit"))
        assert bool(compactions) == (name != "none"), name


def test_a_micro_batch_is_retried_the_configured_number_of_times(
    spark: SparkSession, tmp_path: Path, feed: Feed
) -> None:
    path, checkpoint = tmp_path / "t", tmp_path / "c"
    merganser.Table.create(spark, str(path), SCHEMA, record_key="id", ordering_by="ts")
    lock = path / ".hoodie" / "lock"
    lock.write_text("of another engine")
    options = {**options_of(COW), "hoodie.write.lock.wait_time_ms": "100", RETRIES: "2", PAUSE: "200"}
    with pytest.raises(merganser.MerganserError, match="LOCK_TIMEOUT"):
        finish(writer(stream(spark, feed.folder), checkpoint, options).start(str(path)))
    query = writer(stream(spark, feed.folder), checkpoint, {**options, RETRIES: "100"}).start(str(path))
    assert not query.awaitTermination(2)
    lock.unlink()
    finish(query)
    assert rows_of(load(spark, path).select("id", "ts", "v")) == feed.folded()


@pytest.mark.e2e
def test_the_streaming_snippets_print_what_the_page_shows(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    page = "docs/reading-changes.md"
    promised = re.findall(r"`(\[[^`]*\])`", page_text(page))
    names: dict[str, Any] = {}

    def run(code: str) -> None:
        exec(compile(code, page, "exec"), names)

    run(snippets(page, "python", "Changed rows")[0])
    for code in snippets(page, "python", "Streams from a table"):
        run(code)
    into, by_hand = snippets(page, "python", "Streams into a table")
    run(into)
    run(by_hand)
    commits = len(names["table"].history())
    drop_last_commit(Path(names["place"]) / "checkpoint-by-hand")
    run(by_hand)
    assert len(names["table"].history()) == commits
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("[")] == promised
