"""The demo's report: one HTML file that needs nothing else.

It is made from the plain values below, so it can be made without an engine.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "report"))

from charts import Point, Series, scatter, stacked_bars
from parts import (
    BASE,
    GREY,
    LOG,
    OUTCOMES,
    Commit,
    Slice,
    commit_chart,
    commit_table,
    legend,
    number,
    page,
    slice_chart,
)


@dataclass(frozen=True)
class TableRun:
    """What happened to one table."""

    name: str
    description: str
    commits: Sequence[Commit]
    slices: Sequence[tuple[str, Sequence[Slice]]]  # when, and the slices then
    rows: int
    differences: int  # rows, cells and commits' counts that are not as in the truth


@dataclass(frozen=True)
class LateMessage:
    """One message that came after a later one."""

    days: float  # from the event to its receipt
    against_stored: bool  # the later one came with an earlier batch, not with the same


@dataclass(frozen=True)
class StoryVersion:
    """One version of one flight, in the order received."""

    batch: int
    position: int  # in its batch
    commits: Sequence[str]  # instants, one for each table
    ordering: datetime
    what: str
    outcome: str  # a key of OUTCOMES
    reason: str
    current: bool


@dataclass(frozen=True)
class Story:
    """Everything that was ever said about one flight."""

    title: str
    summary: str
    versions: Sequence[StoryVersion]


@dataclass(frozen=True)
class Report:
    """All of the report."""

    title: str
    intro: str
    facts: Sequence[tuple[str, str]]  # value, what it is
    tables: Sequence[TableRun]
    late: Sequence[LateMessage]
    stories: Sequence[Story]


def render(report: Report) -> str:
    """Return the report as HTML."""
    wrong = sum(table.differences for table in report.tables)
    verdict = (
        '<p class="verdict good">Every row, every column and every count equals the truth.</p>'
        if wrong == 0
        else f'<p class="verdict bad">{number(wrong)} rows, cells or counts differ from the truth.</p>'
    )
    facts = "".join(f"<div><b>{escape(value)}</b><span>{escape(what)}</span></div>" for value, what in report.facts)
    commits = "".join(commit_chart(table.name, table.description, table.commits) for table in report.tables)
    slices = "".join(slice_chart(table.name, when, found) for table in report.tables for when, found in table.slices)
    body = [
        f"<h1>{escape(report.title)}</h1><p class='intro'>{escape(report.intro)}</p>{verdict}",
        f'<section class="facts">{facts}</section>',
        "<h2>Commits over time, by what became of each message</h2>",
        legend([(name, colour, what) for name, (colour, what) in OUTCOMES.items()]),
        f'<section class="column">{commits}</section>',
        "".join(commit_table(table.name, table.commits) for table in report.tables),
        "<h2>File slices, by size and number of logs</h2>",
        legend([("base file", BASE, ""), ("log files", LOG, "the number above a bar counts them")]),
        f'<section class="pair">{slices}</section>',
        "<h2>How late the late messages were</h2>",
        legend([("overtaken by an earlier batch", LOG, ""), ("overtaken inside its batch", GREY, "")]),
        f"<figure>{_lateness_chart(report.late)}</figure>",
        "".join(_story(story, [table.name for table in report.tables]) for story in report.stories),
    ]
    return page(report.title, "".join(body))


def _lateness_chart(late: Sequence[LateMessage], *, bin_days: int = 5) -> str:
    bins = int(max((one.days for one in late), default=0) // bin_days) + 1
    stored, inside = [0] * bins, [0] * bins
    for one in late:
        (stored if one.against_stored else inside)[int(one.days // bin_days)] += 1
    return stacked_bars(
        [str(place * bin_days) for place in range(bins + 1)],
        [
            Series("days, overtaken by an earlier batch", LOG, stored),
            Series("days, overtaken inside its batch", GREY, inside),
        ],
        title="Histogram of lateness in days",
        x_title="lateness: days from the event to the receipt of its message",
        y_title="messages",
        text=number,
        width=1156,
        edges=True,
        on_top=[number(count) if count else "" for count in map(sum, zip(stored, inside))],
    )


def _story(story: Story, tables: Sequence[str]) -> str:
    rows = []
    for place, one in enumerate(story.versions, start=1):
        colour, _ = OUTCOMES[one.outcome]
        commits = "".join(f"<td>{escape(instant)}</td>" for instant in one.commits)
        kept = " <b>In the tables.</b>" if one.current else ""
        rows.append(
            f"<tr{' class=current' if one.current else ''}><td>{place}</td><td>{one.batch}</td>"
            f"<td>{number(one.position)}</td>{commits}<td>{one.ordering:%Y-%m-%d %H:%M:%S}</td>"
            f"<td>{escape(one.what)}</td>"
            f"<td class='badge'><i style='background:{colour}'></i>{escape(one.outcome)}</td>"
            f"<td>{escape(one.reason)}{kept}</td></tr>"
        )
    heads = [f"commit to {escape(name)}" for name in tables]
    names = ["#", "batch", "row", *heads, "event time (ordering value)", "message", "outcome", "why"]
    head = "".join(f"<th>{name}</th>" for name in names)
    return (
        f"<h2>{escape(story.title)}</h2><p>{escape(story.summary)}</p><figure>{_story_chart(story)}</figure>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _story_chart(story: Story) -> str:
    times = [one.ordering.timestamp() for one in story.versions]
    low, high = min(times), max(times)
    margin = max((high - low) * 0.04, 3_600.0)
    low, high = low - margin, high + margin
    x_ticks = [(low + (high - low) * part / 6, "") for part in range(7)]
    zone = story.versions[0].ordering.tzinfo
    x_ticks = [(value, f"{datetime.fromtimestamp(value, zone):%Y-%m-%d}") for value, _ in x_ticks]
    batches = sorted({one.batch for one in story.versions})
    y_ticks = [(float(n), f"batch {n}") for n in range(batches[0], batches[-1] + 1)]
    points = [
        Point(
            x=time,
            y=float(one.batch),
            colour=OUTCOMES[one.outcome][0],
            ring=one.current,
            tip=f"{one.what} {one.outcome}: {one.reason}",
        )
        for time, one in zip(times, story.versions)
    ]
    return scatter(
        points,
        title=f"Versions of {story.title}, by ordering value and batch",
        x_title="event time: the ordering value (date, UTC); the ring marks the row in the tables",
        y_title="received",
        x_ticks=x_ticks,
        y_ticks=y_ticks,
        height=110 + 34 * len(y_ticks),
    )
