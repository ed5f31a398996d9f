"""The demo's feed is as documented, and its truth gives the right answer on histories worked out by hand."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pandas as pd
import pytest
from places import ROOT

FLIGHTS = ROOT / "examples" / "flights"
sys.path.insert(0, str(FLIGHTS))

import feed  # noqa: E402
import truth  # noqa: E402

pytestmark = pytest.mark.extensive

RULE = {"key": ["k"], "ordering": "t", "deleted": "gone"}
FEED = {"key": feed.KEY, "ordering": feed.ORDERING, "deleted": feed.DELETED}


def batch(*versions: str) -> pd.DataFrame:
    """Rows from text: ``k1@10=a`` is key, ordering value and column, ``k1@10!`` a delete."""
    rows = []
    for text in versions:
        key, rest = text.split("@")
        gone = rest.endswith("!")
        time, value = (rest[:-1], None) if gone else rest.split("=")
        moment = pd.Timestamp("2013-01-01", tz="UTC") + pd.Timedelta(days=int(time))
        rows.append((key, moment, value, gone))
    return pd.DataFrame(rows, columns=["k", "t", "v", "gone"])


def rows(frame: pd.DataFrame) -> dict[str, str]:
    assert not frame["k"].duplicated().any()
    return dict(sorted(zip(frame["k"], frame["v"])))


@pytest.fixture(scope="module")
def messages() -> pd.DataFrame:
    return feed.make_messages(feed.load_flights(3_000))


COUNT = 9_227
CHECKSUM = "ad93156666cd9e43e4a3fa82370b91089231775b1193f0b4e0be5e1fbd7b8890"

HISTORIES = {
    "the later of two batches wins": ([["a@1=x"], ["a@2=y"]], {"a": "y"}),
    "a late message loses": ([["a@2=y"], ["a@1=x"]], {"a": "y"}),
    "a tie goes to the newer message": ([["a@1=x"], ["a@1=y"]], {"a": "y"}),
    "a tie inside a batch goes to the one that stands later": ([["a@1=x", "a@1=y"]], {"a": "y"}),
    "inside a batch the largest ordering value wins, wherever it stands": ([["a@3=z", "a@1=x"]], {"a": "z"}),
    "a delete removes the row": ([["a@1=x", "b@1=q"], ["a@2!"]], {"b": "q"}),
    "a late delete loses": ([["a@2=x"], ["a@1!"]], {"a": "x"}),
    "a delete wins a tie against an older row": ([["a@2=x"], ["a@2!"]], {}),
    "a delete before everything else of its key, in one batch": ([["a@5!", "a@1=x", "a@2=y"]], {}),
    "a copy of a delete changes nothing": ([["a@1=x"], ["a@2!"], ["a@2!"]], {}),
    "a later message brings a deleted key back": ([["a@1=x"], ["a@2!"], ["a@3=z"]], {"a": "z"}),
}


@pytest.mark.parametrize(("history", "expected"), HISTORIES.values(), ids=HISTORIES.keys())
def test_latest_and_replay_give_the_expected_rows(history: list[list[str]], expected: dict[str, str]) -> None:
    batches = [batch(*versions) for versions in history]
    assert rows(truth.latest(pd.concat(batches, ignore_index=True), **RULE)) == expected
    assert rows(truth.replay(batches, **RULE)[0]) == expected


def test_latest_and_replay_differ_for_a_late_message_after_a_delete() -> None:
    batches = [batch("a@1=x"), batch("a@5!"), batch("a@2=y")]
    assert rows(truth.latest(pd.concat(batches, ignore_index=True), **RULE)) == {}
    assert rows(truth.replay(batches, **RULE)[0]) == {"a": "y"}


def test_replay_counts_every_message_of_a_batch_once() -> None:
    first = batch("a@1=x", "b@5=p", "c@1=r", "d@9!")
    second = batch("a@2=y", "a@1=x", "b@4=o", "c@2!", "e@1=n")
    outcomes = truth.replay([first, second], **RULE)[1]
    assert outcomes == [
        truth.BatchOutcome(batch=1, inserted=3, updated=0, late=0, deleted=0, duplicates=0, void=1),
        truth.BatchOutcome(batch=2, inserted=1, updated=1, late=1, deleted=1, duplicates=1, void=0),
    ]


def test_differences_lists_every_wrong_cell_and_row_and_treats_nulls_as_equal() -> None:
    expected = pd.DataFrame({"k": [1, 2, 3, 4], "v": ["a", None, "c", "d"], "w": [1.0, None, 3.0, 4.0]})
    actual = pd.DataFrame({"k": [1, 2, 3, 5, 5], "v": ["a", None, "X", "e", "e"], "w": [1.0, None, None, 5.0, 5.0]})
    found = truth.differences(expected, actual, key=["k"])
    reported = sorted((row.k, row.column) for row in found.itertuples())
    assert reported == [(3, "v"), (3, "w"), (4, ""), (5, ""), (5, "")]
    assert truth.differences(expected, expected.copy(), key=["k"]).empty


def test_differences_refuses_tables_whose_columns_differ() -> None:
    with pytest.raises(ValueError, match="w"):
        truth.differences(pd.DataFrame({"k": [1], "w": [1]}), pd.DataFrame({"k": [1]}), key=["k"])


def test_explain_gives_the_outcome_of_each_version() -> None:
    batches = [batch("b@1=q", "a@2=x", "a@1=w"), batch("a@1=w"), batch("a@2=x"), batch("a@3!"), batch("a@3!")]
    story = truth.explain(batches, {"k": "a"}, ordering="t", deleted="gone")
    assert [(v.batch, v.position, v.outcome, v.current) for v in story] == [
        (1, 1, "inserted", False),
        (1, 2, "duplicate", False),
        (2, 0, "late", False),
        (3, 0, "updated", False),
        (4, 0, "deleted", False),
        (5, 0, "void", False),
    ]
    assert "2013-01-03 00:00:00" in story[1].reason
    assert "tie" in story[3].reason


def test_explain_marks_the_stored_version() -> None:
    story = truth.explain([batch("a@2=x"), batch("a@1=w")], {"k": "a"}, ordering="t", deleted="gone")
    assert [v.current for v in story] == [True, False]


def test_lateness_finds_messages_received_after_a_newer_one() -> None:
    first, second = batch("a@2=x", "a@1=w", "b@1=p"), batch("a@1=w", "a@2=x", "b@2=q")
    for frame in (first, second):
        frame["received"] = frame["t"] + pd.Timedelta(days=3)
    late = truth.lateness([first, second], key=["k"], ordering="t", received="received")
    assert late["days"].tolist() == [3.0, 3.0]
    assert late["against_stored"].tolist() == [False, True]


def test_the_truth_imports_pandas_and_the_standard_library_only() -> None:
    tree = ast.parse((FLIGHTS / "truth.py").read_text())
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names == {"__future__", "collections.abc", "dataclasses", "typing", "pandas"}


def test_the_feed_is_the_same_on_every_machine(messages: pd.DataFrame) -> None:
    assert len(messages) == COUNT
    assert feed.checksum(messages) == CHECKSUM


def test_the_whole_feed_has_about_three_messages_a_flight() -> None:
    flights = feed.load_flights()
    assert len(flights) == 336_776
    messages = feed.make_messages(flights)
    assert len(messages) == 1_034_964
    final = truth.latest(messages, **FEED)
    assert len(final) == int(flights["dep_time"].notna().sum())


def test_the_feed_contains_late_duplicate_deleted_and_void_messages(messages: pd.DataFrame) -> None:
    batches = [part for _, part in messages.groupby("batch")]
    assert len(batches) == 12
    outcomes = truth.replay(batches, **FEED)[1]
    for count in ("inserted", "late", "duplicates"):
        assert all(getattr(outcome, count) > 0 for outcome in outcomes[1:]), count
    assert sum(outcome.deleted for outcome in outcomes) > 0
    assert sum(outcome.void for outcome in outcomes) > 0
    assert messages.duplicated("message_id").sum() > 0
    first_messages = messages.drop_duplicates(feed.KEY)
    assert (first_messages["status"] == "cancelled").any()


def test_messages_of_a_flight_with_equal_times_have_equal_content(messages: pd.DataFrame) -> None:
    content = [name for name in feed.SCHEMA.names if name != feed.RECEIVED]
    distinct = messages.drop_duplicates(content)
    assert not distinct.duplicated([*feed.KEY, feed.ORDERING]).any()


def test_no_message_arrives_in_a_later_batch_than_its_flights_cancellation(messages: pd.DataFrame) -> None:
    gone = messages[feed.DELETED]
    cancelled = messages[gone].groupby(feed.KEY)["batch"].min().rename("cancelled_in")
    others = messages[~gone].join(cancelled, on=feed.KEY, how="inner")
    assert len(others) > 0
    assert (others["batch"] <= others["cancelled_in"]).all()
    latest = messages[gone].groupby(feed.KEY)[feed.ORDERING].max().rename("cancelled_at")
    assert (others.join(latest, on=feed.KEY)[feed.ORDERING] < others.join(latest, on=feed.KEY)["cancelled_at"]).all()


def test_the_latest_rows_of_the_feed_equal_the_data_set(messages: pd.DataFrame) -> None:
    flights = feed.load_flights(3_000)
    columns = ["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time", "distance", "dest", "tailnum"]
    flown = flights[flights["dep_time"].notna()][[*feed.KEY, *columns]]
    final = truth.latest(messages, **FEED)[[*feed.KEY, *columns]]
    for frame in (flown, final):
        frame[columns[:6]] = frame[columns[:6]].astype("Int64")
        frame["flight"] = frame["flight"].astype("int64")
    assert truth.differences(flown, final, key=feed.KEY).empty


def test_batches_read_from_parquet_equal_the_written_ones(messages: pd.DataFrame, tmp_path: Path) -> None:
    files = feed.write_batches(messages, tmp_path)
    assert [file.name for file in files] == [f"batch-{number:02d}.parquet" for number in range(1, 13)]
    again = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    again["flight_date"] = pd.to_datetime(again["flight_date"])
    assert feed.checksum(again, feed.SCHEMA.names) == feed.checksum(messages, feed.SCHEMA.names)


def test_more_flights_than_the_data_set_has_are_refused() -> None:
    with pytest.raises(ValueError, match="336776"):
        feed.load_flights(400_000)
