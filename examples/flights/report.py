"""The demo's report: one HTML file that needs nothing else.

It is made from the plain values below, so it can be made without an engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from charts import Point, Series, scatter, stacked_bars

# In the order of the stack. Told apart without seeing colour too: the order is the same everywhere.
OUTCOMES = {
    "inserted": ("#0072b2", "new row"),
    "updated": ("#009e73", "replaced the stored row"),
    "deleted": ("#d1495b", "removed the stored row"),
    "late": ("#d98e04", "lost to the stored row"),
    "appended": ("#56b4e9", "a row written to a log: what it comes to shows when the log is merged"),
    "appended delete": ("#f2a5b3", "a delete written to a log"),
    "duplicate": ("#7b8794", "lost to another message of its batch"),
    "void": ("#a0569a", "a delete without a row to delete"),
}
_BASE, _LOG, _GREY = "#0072b2", "#d98e04", "#7b8794"


@dataclass(frozen=True)
class Commit:
    """One write, or one compaction."""

    instant: str
    label: str  # the batch, or what else it was
    messages: int  # rows written in; 0 for a compaction, whose outcomes are those of the logs
    inserted: int
    updated: int
    deleted: int
    late: int
    duplicates: int
    seconds: float
    appended: int = 0  # rows written to logs
    appended_deletes: int = 0
    is_compaction: bool = False

    @property
    def void(self) -> int:
        """Messages that met no row and left none."""
        known = self.inserted + self.updated + self.deleted + self.late + self.duplicates
        return max(self.messages - known - self.appended - self.appended_deletes, 0)

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of messages by what became of them, in the order of OUTCOMES."""
        return {
            "inserted": self.inserted,
            "updated": self.updated,
            "deleted": self.deleted,
            "late": self.late,
            "appended": self.appended,
            "appended delete": self.appended_deletes,
            "duplicate": self.duplicates,
            "void": self.void,
        }


@dataclass(frozen=True)
class Slice:
    """One file slice; sizes in bytes."""

    partition: str
    base_bytes: int
    log_bytes: Sequence[int]


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
    body = [
        f"<h1>{escape(report.title)}</h1><p class='intro'>{escape(report.intro)}</p>{verdict}",
        f'<section class="facts">{facts}</section>',
        "<h2>Commits over time, by what became of each message</h2>",
        legend([(name, colour, what) for name, (colour, what) in OUTCOMES.items()]),
        f'<section class="column">{"".join(_commit_chart(table) for table in report.tables)}</section>',
        "".join(_commit_table(table) for table in report.tables),
        "<h2>File slices, by size and number of logs</h2>",
        legend([("base file", _BASE, ""), ("log files", _LOG, "the number above a bar counts them")]),
        f'<section class="pair">{"".join(_slice_charts(table) for table in report.tables)}</section>',
        "<h2>How late the late messages were</h2>",
        legend([("overtaken by an earlier batch", _LOG, ""), ("overtaken inside its batch", _GREY, "")]),
        f"<figure>{_lateness_chart(report.late)}</figure>",
        "".join(_story(story, [table.name for table in report.tables]) for story in report.stories),
    ]
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"{meta}<title>{escape(report.title)}</title><style>{STYLE}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def number(value: float) -> str:
    """Write a whole number with commas."""
    return f"{value:,.0f}"


def size(value: float) -> str:
    """Write a size in bytes with its unit, in powers of ten."""
    for unit, bytes_ in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= bytes_:
            return f"{value / bytes_:.3g} {unit}"
    return f"{value:.0f} B"


def legend(entries: Sequence[tuple[str, str, str]]) -> str:
    """Return a legend of colours: name, colour and explanation of each."""
    items = "".join(
        f'<li><i style="background:{colour}"></i>{escape(name)}{f"<em>{escape(what)}</em>" if what else ""}</li>'
        for name, colour, what in entries
    )
    return f'<ul class="legend">{items}</ul>'


def _commit_chart(table: TableRun) -> str:
    writes = [commit for commit in table.commits if not commit.is_compaction]
    lines, done = [], 0
    for commit in table.commits:
        if commit.is_compaction:
            lines.append((done, "compaction"))
        else:
            done += 1
    chart = stacked_bars(
        [f"{c.label}\n{_clock(c.instant)}" for c in writes],
        [Series(name, OUTCOMES[name][0], [c.outcomes[name] for c in writes]) for name in OUTCOMES],
        title=f"Commits to {table.name} by outcome",
        x_title="commits, with the time of their instants (hours:minutes:seconds)",
        y_title="messages",
        text=number,
        lines=lines,
        width=1156,
        height=260,
    )
    return f"<figure><figcaption><b>{escape(table.name)}</b> {escape(table.description)}</figcaption>{chart}</figure>"


def _clock(instant: str) -> str:
    """The time of day in an instant, yyyyMMddHHmmss and milliseconds."""
    return f"{instant[8:10]}:{instant[10:12]}:{instant[12:14]}"


def _commit_table(table: TableRun) -> str:
    names = ["commit", "instant", "messages", *OUTCOMES, "seconds"]
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = []
    for c in table.commits:
        counts = ["" if c.is_compaction else number(c.messages), *map(number, c.outcomes.values())]
        cells = "".join(f"<td>{count}</td>" for count in [*counts, f"{c.seconds:.2f}"])
        rows.append(f"<tr><td>{escape(c.label)}</td><td>{escape(c.instant)}</td>{cells}</tr>")
    summary = f"Every commit to {escape(table.name)}, in numbers"
    return (
        f"<details><summary>{summary}</summary><table class='numbers'><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></details>"
    )


def _slice_charts(table: TableRun) -> str:
    figures = []
    for when, slices in table.slices:
        ordered = sorted(slices, key=lambda one: (one.partition, -one.base_bytes))
        labels = [
            one.partition[-5:] if place == 0 or ordered[place - 1].partition != one.partition else ""
            for place, one in enumerate(ordered)
        ]
        logs = [len(one.log_bytes) for one in ordered]
        chart = stacked_bars(
            labels,
            [
                Series("base file", _BASE, [one.base_bytes for one in ordered]),
                Series("log files", _LOG, [sum(one.log_bytes) for one in ordered]),
            ],
            title=f"File slices of {table.name}, {when}",
            x_title="file groups, by partition",
            y_title="size on disk",
            text=size,
            on_top=[str(count) if count else "" for count in logs],
        )
        total = sum(one.base_bytes + sum(one.log_bytes) for one in slices)
        caption = f"<b>{escape(table.name)}</b> {escape(when)}: {len(slices)} slices, {sum(logs)} logs, {size(total)}"
        figures.append(f"<figure><figcaption>{caption}</figcaption>{chart}</figure>")
    return "".join(figures)


def _lateness_chart(late: Sequence[LateMessage], *, bin_days: int = 5) -> str:
    bins = int(max((one.days for one in late), default=0) // bin_days) + 1
    stored, inside = [0] * bins, [0] * bins
    for one in late:
        (stored if one.against_stored else inside)[int(one.days // bin_days)] += 1
    return stacked_bars(
        [str(place * bin_days) for place in range(bins + 1)],
        [
            Series("days, overtaken by an earlier batch", _LOG, stored),
            Series("days, overtaken inside its batch", _GREY, inside),
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


STYLE = """
*{box-sizing:border-box}
body{font:14px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;color:#1f2933;background:#f5f7fa;
 max-width:1240px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:26px;margin:0 0 6px}h2{font-size:18px;margin:38px 0 8px}
p{margin:4px 0 10px;max-width:900px}.intro{color:#5f6c7b}
.verdict{padding:10px 14px;border-radius:6px;font-weight:600;max-width:none}
.good{background:#dff3ea;color:#0b5e45}.bad{background:#fbe3e6;color:#8f1d2f}
.facts{display:flex;gap:12px;flex-wrap:wrap}
.facts div{flex:1 1 150px;background:#fff;border:1px solid #e3e8ee;border-radius:6px;padding:10px 14px}
.facts b{display:block;font-size:20px}.facts span{color:#5f6c7b;font-size:12px}
.column{display:grid;gap:12px}.pair{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:12px}
figure{margin:0;background:#fff;border:1px solid #e3e8ee;border-radius:6px;padding:10px 12px}
figcaption{color:#5f6c7b;font-size:13px}figcaption b{color:#1f2933}
svg{display:block;max-width:100%;height:auto;font-family:inherit}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:6px 20px;margin:0 0 10px;padding:0}
.legend i,.badge i{display:inline-block;width:12px;height:12px;border-radius:2px;margin-right:6px;vertical-align:-1px}
.legend em{font-style:normal;color:#5f6c7b;margin-left:6px}
details{margin-top:10px}summary{cursor:pointer;color:#0b4f7d}
table{border-collapse:collapse;width:100%;background:#fff;border:1px solid #e3e8ee;margin-top:10px;font-size:13px}
th{background:#eef2f6;text-align:left;font-weight:600}th,td{padding:6px 9px;border-bottom:1px solid #e3e8ee}
td{font-variant-numeric:tabular-nums;vertical-align:top}
.numbers th:nth-child(n+3),.numbers td:nth-child(n+3){text-align:right}
.current{background:#eef7f3}.badge,td:nth-child(n+4):nth-child(-n+6){white-space:nowrap}
@media print{body{background:#fff}details{display:block}}
"""
