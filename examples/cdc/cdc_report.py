"""The page at the end of a run: one HTML file that needs nothing else."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from database import Database
from measure import OUTCOMES, Batch, Event, shown

sys.path.append(str(Path(__file__).resolve().parents[1] / "report"))

from charts import PATH, Line, Series, stacked_bars
from parts import legend, number, page

if TYPE_CHECKING:
    from applier import Checked

COLOURS = {
    "inserted": ("#0072b2", "no row with this key was there"),
    "updated": ("#009e73", "larger {order} than the stored row: won"),
    "deleted": ("#d1495b", "larger {order} than the stored row: removed it"),
    "late": ("#d98e04", "smaller {order} than another event of its key: lost"),
    "repeated": ("#7b8794", "came again after a restart: changes nothing"),
    "without a row": ("#a0569a", "a delete without a row to delete"),
}
APPLYING, OTHER = "#0072b2", PATH
MEDIAN, OLDEST = "#0072b2", PATH
COUNTS = ("inserted", "updated", "deleted", "late", "duplicates", "appended")


@dataclass(frozen=True)
class Restart:
    """A part that was ended without notice, and started again."""

    at_ms: float
    what: str
    seconds: float  # until it went on with its work


@dataclass(frozen=True)
class Copy:
    """A table of the lake."""

    table: str
    kind: str
    batches: Sequence[Batch]
    checked: Checked

    @property
    def outcomes(self) -> Counter[str]:
        return sum((batch.outcomes for batch in self.batches), Counter())

    @property
    def events(self) -> int:
        return sum(len(batch.events) for batch in self.batches)

    @property
    def lags(self) -> list[float]:
        return sorted(lag for batch in self.batches for lag in batch.lags)

    @property
    def summary(self) -> str:
        """One line."""
        outcomes = self.outcomes
        counts = ", ".join(f"{outcomes[name]:,} {name}" for name in OUTCOMES if outcomes[name])
        lag = f"lag {median(self.lags):.1f} s, at most {self.lags[-1]:.1f} s; " if self.lags else ""
        wrong = len(self.checked.differences)
        verdict = f"{wrong:,} differences" if wrong else f"all {self.checked.rows:,} rows are right"
        name = f"{self.table}, {self.kind}"
        return f"{name}: {self.events:,} events in {len(self.batches)} batches ({counts}); {lag}{verdict}"


@dataclass(frozen=True)
class Story:
    """Every event of one row."""

    table: str
    events: Sequence[Event]


@dataclass(frozen=True)
class Report:
    """All of the page."""

    database: Database
    version: str  # of the server
    seed: int
    seconds: float
    workload: Mapping[str, int]
    restarts: Sequence[Restart]
    copies: Sequence[Copy]
    stories: Sequence[Story]

    @property
    def differences(self) -> int:
        return sum(len(copy.checked.differences) for copy in self.copies)


def render(report: Report) -> str:
    """Return the page as HTML."""
    title = f"A {report.database.title} and its tables in the lake, through restarts of each part"
    wrong, order = report.differences, report.database.order
    cells = sum(copy.checked.rows * copy.checked.columns for copy in report.copies)
    verdict = (
        '<p class="verdict good">Every row, every column and every type equals the database.</p>'
        if wrong == 0
        else f'<p class="verdict bad">{number(wrong)} rows or values differ from the database.</p>'
    )
    lags = sorted(lag for copy in report.copies for lag in copy.lags)
    per_table = [copy for copy in report.copies if copy.kind == report.copies[0].kind]  # each event once
    outcomes = sum((copy.outcomes for copy in per_table), Counter())
    facts = [
        (number(sum(count for name, count in report.workload.items() if name != "statements")), "transactions"),
        (number(sum(copy.events for copy in per_table)), "change events"),
        (number(outcomes["repeated"]), "repeated after restarts"),
        (number(outcomes["late"]), "late for their row"),
        (number(len(report.restarts)), "restarts without notice"),
        (f"{median(lags):.1f} s" if lags else "–", "median lag"),
        (number(cells), "cells compared"),
        (number(wrong), "differences"),
    ]
    shown = "".join(f"<div><b>{escape(value)}</b><span>{escape(what)}</span></div>" for value, what in facts)
    intro = (
        f"{report.database.title} {report.version} under a random workload (seed {report.seed}), Debezium's embedded "
        f"engine on {report.database.log}, and a Spark application that applies the events of two tables to a "
        f"copy-on-write and a merge-on-read table each. After {report.seconds:.0f} s everything was compared with it."
    )
    body = [
        f"<h1>{escape(title)}</h1><p class='intro'>{escape(intro)}</p>{verdict}",
        f'<section class="facts">{shown}</section>',
        _differences(report),
        "<h2>What became of the events, by batch</h2>",
        legend([(name, colour, what.format(order=order)) for name, (colour, what) in COLOURS.items()]),
        _figures(report, _outcome_chart),
        "<h2>Lag: from the commit in the database to the commit in the lake</h2>",
        legend([("median of the batch", MEDIAN, ""), ("its oldest event", OLDEST, "on top of the median")]),
        _figures(report, _lag_chart),
        "<h2>Time of each batch</h2>",
        legend([("reading, merging and writing", APPLYING, ""), ("Spark's records of the stream", OTHER, "")]),
        _figures(report, _time_chart),
        "<h2>What the merges counted</h2>",
        _count_table(report),
        "".join(_batch_table(copy) for copy in report.copies),
        "<h2>Restarts, and the workload</h2>",
        _restart_table(report),
        _workload_table(report),
        "".join(_story(story, order) for story in report.stories),
    ]
    return page(title, "".join(body))


def _figures(report: Report, chart: Callable[[Copy, Sequence[Line]], str]) -> str:
    figures = [
        f"<figure><figcaption><b>{escape(copy.table)}</b> {escape(copy.kind)}</figcaption>"
        f"{chart(copy, _lines(copy, report.restarts))}</figure>"
        for copy in report.copies
    ]
    return f'<section class="pair">{"".join(figures)}</section>'


def _lines(copy: Copy, restarts: Sequence[Restart]) -> list[Line]:
    """A line in front of the first batch that was applied after a restart."""
    return [Line(sum(batch.applied_ms < restart.at_ms for batch in copy.batches)) for restart in restarts]


def _labels(copy: Copy) -> list[str]:
    every = max(1, len(copy.batches) // 12)
    return [str(batch.number) if at % every == 0 else "" for at, batch in enumerate(copy.batches)]


def _outcome_chart(copy: Copy, lines: Sequence[Line]) -> str:
    return stacked_bars(
        _labels(copy),
        [Series(name, COLOURS[name][0], [batch.outcomes[name] for batch in copy.batches]) for name in OUTCOMES],
        title=f"Events of {copy.table}, {copy.kind}, by batch and outcome",
        x_title="batch; dashed: a part was restarted",
        y_title="events",
        text=number,
        lines=lines,
    )


def _lag_chart(copy: Copy, lines: Sequence[Line]) -> str:
    lags = [batch.lags or [0.0] for batch in copy.batches]
    return stacked_bars(
        _labels(copy),
        [
            Series("median", MEDIAN, [max(median(one), 0.0) for one in lags]),
            Series("oldest, beyond the median", OLDEST, [max(one[-1] - median(one), 0.0) for one in lags]),
        ],
        title=f"Lag of {copy.table}, {copy.kind}, by batch",
        x_title="batch",
        y_title="lag in seconds",
        text=_seconds,
        lines=lines,
    )


def _time_chart(copy: Copy, lines: Sequence[Line]) -> str:
    applying = [(batch.counts.get("commit") or {}).get("elapsed_ms", 0) / 1000 for batch in copy.batches]
    whole = [batch.seconds if batch.seconds is not None else done for batch, done in zip(copy.batches, applying)]
    return stacked_bars(
        _labels(copy),
        [
            Series("upsert", APPLYING, applying),
            Series("reading events, and Spark's records", OTHER, [max(a - b, 0) for a, b in zip(whole, applying)]),
        ],
        title=f"Seconds of each batch of {copy.table}, {copy.kind}",
        x_title="batch",
        y_title="seconds",
        text=_seconds,
        lines=lines,
    )


def _seconds(value: float) -> str:
    return f"{value:.3g} s"


def _differences(report: Report) -> str:
    lines = [f"{copy.table}, {copy.kind}: {line}" for copy in report.copies for line in copy.checked.differences[:20]]
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>" if lines else ""


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]], kind: str = "") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table class='{kind}'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _count_table(report: Report) -> str:
    rows: list[Sequence[object]] = []
    for copy in report.copies:
        sums = [number(sum(batch.counts.get(name) or 0 for batch in copy.batches)) for name in COUNTS]
        rows.append([copy.table, copy.kind, *sums])
        compaction = copy.checked.compaction
        if compaction:
            found = [number(compaction[name] or 0) if name in compaction else "" for name in COUNTS]
            rows.append([copy.table, "its logs, in the compaction at the end", *found])
    note = (
        "<p>Rows, not events: of several events of a key in one batch the one with the largest "
        f"{report.database.order} is merged with the stored row, and the others are duplicates. What is appended to a "
        "log is counted when the log is merged.</p>"
    )
    return note + _table(["table", "copy", *COUNTS], rows, "numbers")


def _batch_table(copy: Copy) -> str:
    heads = ["batch", "applied (UTC)", "events", *OUTCOMES, *(f"rows {name}" for name in COUNTS), "lag", "seconds"]
    rows = []
    for batch in copy.batches:
        at = datetime.fromtimestamp(batch.applied_ms / 1000, timezone.utc)
        again = "; offered again after a kill, and left out" if batch.was_repeated else ""
        lag = f"{median(batch.lags):.1f} s" if batch.lags else ""
        rows.append(
            [
                f"{batch.number}{again}",
                f"{at:%H:%M:%S}",
                number(len(batch.events)),
                *(number(batch.outcomes[name]) for name in OUTCOMES),
                *(number(batch.counts.get(name) or 0) for name in COUNTS),
                lag,
                "" if batch.seconds is None else f"{batch.seconds:.2f}",
            ]
        )
    summary = f"Every batch of {escape(copy.table)}, {escape(copy.kind)}, in numbers"
    return f"<details><summary>{summary}</summary>{_table(heads, rows, 'numbers')}</details>"


def _restart_table(report: Report) -> str:
    rows = [
        [f"{datetime.fromtimestamp(one.at_ms / 1000, timezone.utc):%H:%M:%S}", one.what, f"{one.seconds:.1f} s"]
        for one in report.restarts
    ]
    return _table(["at (UTC)", "what", "until it went on"], rows)


def _workload_table(report: Report) -> str:
    rows = [[name, number(count)] for name, count in report.workload.items() if name != "statements"]
    return _table(
        ["transactions", "how many"], [*rows, ["statements in all of them", number(report.workload["statements"])]]
    )


def _story(story: Story, order: str) -> str:
    rows = []
    for event in story.events:
        colour, _ = COLOURS[event.outcome]
        rows.append(
            f"<tr><td>{shown(event.position)}</td><td>{escape(event.operation)}</td>"
            f"<td class='badge'><i style='background:{colour}'></i>{escape(event.outcome)}</td>"
            f"<td>{escape(event.reason)}</td></tr>"
        )
    key = ", ".join(map(str, story.events[0].key))
    head = "".join(f"<th>{name}</th>" for name in (f"{order} (ordering value)", "op", "outcome", "why"))
    return (
        f"<h2>The row {escape(key)} of {escape(story.table)}</h2><p>All of its events, in the order in which they were "
        f"written.</p><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
