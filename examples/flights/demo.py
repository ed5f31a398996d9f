"""The whole job on real data: a faulty airline feed becomes one right table, twice, and the truth is checked.

Run it with ``./dev demo``, or::

    python examples/flights/demo.py --out demo-out

It writes the feed's batches, the two tables and ``report.html`` below ``--out``, prints what every commit did, and
ends with an exit code other than 0 when any row or column is not as pandas alone works it out.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import feed
import pandas as pd
import report
import truth
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import merganser

COMPACT_AFTER = 6  # batches, of twelve
RULE: dict[str, Any] = {"key": feed.KEY, "ordering": feed.ORDERING, "deleted": feed.DELETED}


@dataclass(frozen=True)
class Plan:
    """One of the two tables."""

    name: str
    folder: str
    table_type: merganser.TableType
    index: merganser.IndexType
    options: Mapping[str, str]

    @property
    def description(self) -> str:
        return f"{self.index.value} index, partitioned by {feed.PARTITION}"


PLANS = [
    Plan("copy-on-write", "cow", merganser.TableType.COPY_ON_WRITE, merganser.IndexType.SIMPLE, {}),
    Plan(
        "merge-on-read",
        "mor",
        merganser.TableType.MERGE_ON_READ,
        merganser.IndexType.BUCKET,
        {"hoodie.bucket.index.num.buckets": "2"},
    ),
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; return 0 when both tables are right."""
    parser = argparse.ArgumentParser(description="Merge an airline feed into two tables and check every row.")
    parser.add_argument("--out", type=Path, default=Path("demo-out"), help="folder to write to (demo-out)")
    parser.add_argument("--flights", type=int, help="how many flights, picked at random (all 336,776)")
    parser.add_argument("--master", default="local[*]", help="where Spark runs (local[*])")
    asked = parser.parse_args(arguments)
    started = time.monotonic()
    for folder in ("feed", "tables", "checked"):
        shutil.rmtree(asked.out / folder, ignore_errors=True)

    flights = feed.load_flights(asked.flights)
    messages = feed.make_messages(flights)
    files = feed.write_batches(messages, asked.out / "feed")
    print(f"Feed: {len(messages):,} messages about {len(flights):,} flights in {len(files)} batches, {_since(started)}")
    received = [_read(file) for file in files]
    batches = [batch.drop(columns=[feed.RECEIVED]) for batch in received]
    expected, outcomes = truth.replay(batches, **RULE)
    if len(truth.differences(truth.latest(pd.concat(batches), **RULE), expected, key=feed.KEY)):
        raise AssertionError("the two ways to find the truth disagree: the feed breaks its promise about deletes")
    print(f"Truth: {len(expected):,} rows, by pandas alone")

    spark = merganser.session(
        "flights",
        master=asked.master,
        config={
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",  # Merganser shows its own, and on a terminal only
            "spark.driver.memory": "2g",
        },
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        runs = [_run(spark, plan, asked.out, files, batches, expected, outcomes) for plan in PLANS]
    finally:
        spark.stop()

    wrong = sum(run.differences for run in runs)
    late = truth.lateness(received, key=feed.KEY, ordering=feed.ORDERING, received=feed.RECEIVED)
    page = report.Report(
        title="A faulty airline feed becomes one right table",
        intro="Flights that left New York City in 2013, told by the messages an airline would send: some late, some "
        "twice, some out of order, some cancelled. Each table took twelve batches of them and was then compared with "
        "what pandas alone makes of the same messages, row by row and column by column.",
        facts=[
            (f"{len(flights):,}", "flights"),
            (f"{len(messages):,}", "messages"),
            (f"{sum(outcome.late for outcome in outcomes):,}", "late for the stored row"),
            (f"{sum(outcome.deleted for outcome in outcomes):,}", "rows deleted"),
            (f"{len(expected) * len(expected.columns) * len(runs):,}", "cells compared"),
            (f"{wrong:,}", "differences"),
            (f"{sum(commit.seconds for run in runs for commit in run.commits):.0f} s", "in writes and compaction"),
        ],
        tables=runs,
        late=[report.LateMessage(days, stored) for days, stored in zip(late["days"], late["against_stored"])],
        stories=_stories(batches, late, runs),
    )
    target = asked.out / "report.html"
    target.write_text(report.render(page), encoding="utf-8")
    print(f"\nReport: {target}\nDone in {_since(started)}: {wrong:,} differences")
    return 1 if wrong else 0


def _run(
    spark: SparkSession,
    plan: Plan,
    out: Path,
    files: Sequence[Path],
    batches: Sequence[pd.DataFrame],
    expected: pd.DataFrame,
    outcomes: Sequence[truth.BatchOutcome],
) -> report.TableRun:
    """Write every batch to a new table; compare the counts of each commit and the table with the truth."""
    print(f"\n{plan.name}, {plan.description}")
    if plan.table_type is merganser.TableType.MERGE_ON_READ:
        print("  what becomes of rows and deletes in logs shows when the logs are merged")
    print(_HEAD)
    path = (out / "tables" / plan.folder).resolve().as_uri()
    schema = _messages(spark, files[0]).schema
    table = merganser.Table.create(
        spark,
        path,
        schema,
        record_key=feed.KEY,
        partition_by=feed.PARTITION,
        ordering_by=feed.ORDERING,
        table_type=plan.table_type,
        index=plan.index,
        name=f"flights_{plan.folder}",
        options=plan.options,
    )
    merge_on_read = plan.table_type is merganser.TableType.MERGE_ON_READ
    commits: list[report.Commit] = []
    slices: list[tuple[str, list[report.Slice]]] = []
    miscounted = 0
    for number, (file, batch, outcome) in enumerate(zip(files, batches, outcomes), start=1):
        result = table.upsert(_messages(spark, file))
        commits.append(_commit(number, len(batch), result))
        print(_line(commits[-1]))
        if not _counts_are_right(commits[-1], outcome, merge_on_read):
            print(f"  WRONG: pandas counts {outcome}")
            miscounted += 1
        if merge_on_read and number == COMPACT_AFTER:
            slices.append(("before the compaction", _slices(table)))
            compacted = table.compact()
            if compacted is None:
                raise AssertionError(f"there was nothing to compact after {number} batches")
            commits.append(_compaction(table, compacted))
            print(_line(commits[-1]))
            slices.append(("right after it", _slices(table)))
    slices.append(("at the end", _slices(table)))
    found = truth.differences(expected, _content(table, schema, out / "checked" / plan.folder), key=feed.KEY)
    if len(found):
        print(f"  WRONG in {len(found):,} rows or cells, such as:\n{found.head(10).to_string(index=False)}")
    else:
        print(f"  all {len(expected):,} rows and {len(expected.columns)} columns are right")
    return report.TableRun(plan.name, plan.description, commits, slices, len(expected), len(found) + miscounted)


def _counts_are_right(commit: report.Commit, outcome: truth.BatchOutcome, merge_on_read: bool) -> bool:
    """Compare with pandas what the write told; of what went into logs, a write knows only how much it was."""
    told = dict(commit.outcomes)
    into_logs = told.pop("appended") + told.pop("appended delete")
    truly = {name: getattr(outcome, "duplicates" if name == "duplicate" else name) for name in told}
    if merge_on_read:
        total = outcome.inserted + outcome.updated + outcome.late + outcome.deleted + outcome.void
        return told["duplicate"] == truly["duplicate"] and told["inserted"] + told["void"] + into_logs == total
    return told == truly and into_logs == 0


def _messages(spark: SparkSession, file: Path) -> DataFrame:
    return spark.read.parquet(file.resolve().as_uri()).drop(feed.RECEIVED)


def _read(path: Path) -> pd.DataFrame:
    frame = pd.read_parquet(path, dtype_backend="numpy_nullable")  # whole numbers stay whole beside nulls
    frame["flight_date"] = pd.to_datetime(frame["flight_date"])  # objects otherwise, which are slow
    return frame


def _content(table: merganser.Table, schema: StructType, folder: Path) -> pd.DataFrame:
    """Read the table with Spark, and hand its rows to pandas as Parquet: values come through unchanged."""
    rows = table.df().select(*schema.names)
    types = [field.dataType for field in rows.schema]
    if types != [field.dataType for field in schema]:
        raise AssertionError(f"the table gives its columns other types than it was given: {rows.schema.simpleString()}")
    rows.write.parquet(folder.resolve().as_uri())
    return _read(folder)


def _commit(number: int, size: int, result: merganser.CommitResult) -> report.Commit:
    return report.Commit(
        instant=result.instant,
        label=f"batch {number}",
        messages=size,
        inserted=result.inserted,
        updated=result.updated,
        deleted=result.deleted,
        late=result.late,
        duplicates=result.duplicates,
        seconds=result.elapsed_ms / 1000,
        appended=result.appended - result.appended_deletes,
        appended_deletes=result.appended_deletes,
    )


def _compaction(table: merganser.Table, result: merganser.CompactionResult) -> report.Commit:
    """What the logs came to, which only the compaction found out."""
    counts = next(entry for entry in table.history() if entry.instant == result.instant)
    return report.Commit(
        instant=result.instant,
        label="compaction",
        messages=0,
        inserted=counts.inserted or 0,
        updated=counts.updated or 0,
        deleted=counts.deleted or 0,
        late=counts.late or 0,
        duplicates=counts.duplicates or 0,
        seconds=result.elapsed_ms / 1000,
        is_compaction=True,
    )


_HEAD = "    commit  messages  inserted   updated    late  duplicates  deletes  in logs  seconds"


def _line(one: report.Commit) -> str:
    return (
        f"{one.label:>10}{one.messages:>10,}{one.inserted:>10,}{one.updated:>10,}{one.late:>8,}{one.duplicates:>12,}"
        f"{one.deleted:>9,}{one.appended + one.appended_deletes:>9,}{one.seconds:>9.2f}"
    )


def _slices(table: merganser.Table) -> list[report.Slice]:
    return [
        report.Slice(one.partition_path, one.base_size_bytes, [log.size_bytes for log in one.log_files])
        for one in table.inspect.file_slices()
    ]


def _stories(
    batches: Sequence[pd.DataFrame], late: pd.DataFrame, runs: Sequence[report.TableRun]
) -> list[report.Story]:
    """The flight whose messages had the most different fates, and the cancelled one likewise."""
    all_messages = pd.concat(batches)
    score = all_messages.groupby(feed.KEY).agg(
        said=("status", "size"), kinds=("status", "nunique"), gone=(feed.DELETED, "any")
    )
    score["late"] = late.groupby(feed.KEY)["against_stored"].sum()
    ranked = score.fillna(0).sort_values(["said", "late", "kinds"], ascending=False, kind="stable")
    stories = []
    for gone in (False, True):
        candidates = [
            truth.explain(batches, dict(zip(feed.KEY, key)), ordering=feed.ORDERING, deleted=feed.DELETED)
            for key in ranked.index[ranked["gone"] == gone][:40]
        ]
        if candidates:
            stories.append(_story(max(candidates, key=lambda told: len({one.outcome for one in told})), runs))
    return stories


def _story(told: Sequence[truth.Version], runs: Sequence[report.TableRun]) -> report.Story:
    one = told[0].values
    writes = [[commit.instant for commit in run.commits if not commit.is_compaction] for run in runs]
    versions = [
        report.StoryVersion(
            batch=version.batch,
            position=version.position,
            commits=[instants[version.batch - 1] for instants in writes],
            ordering=version.ordering.to_pydatetime(),
            what=_what(version.values),
            outcome=version.outcome,
            reason=version.reason,
            current=version.current,
        )
        for version in told
    ]
    final = "is in the tables" if any(version.current for version in told) else "is not in the tables: it was cancelled"
    return report.Story(
        title=f"Flight {one['carrier']} {one['flight']} from {one['origin']} on {one['flight_date']:%Y-%m-%d}",
        summary=f"{len(told)} messages came in about this flight. It {final}.",
        versions=versions,
    )


def _what(row: Mapping[str, Any]) -> str:
    """Say in words what a message said."""
    delays = [
        f"{int(row[column]):+d} min {what}"
        for column, what in (("dep_delay", "at departure"), ("arr_delay", "at arrival"))
        if not pd.isna(row[column])
    ]
    return ", ".join([str(row["status"]), *delays])


def _since(started: float) -> str:
    return f"{time.monotonic() - started:.1f} s"


if __name__ == "__main__":
    sys.exit(main())
