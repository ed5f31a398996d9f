"""Parts of a report about tables: commits and file slices as charts, of plain values. No engine is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from charts import INK, Line, Series, stacked_bars

from merganser._shown import size

# In the order of the stack, which is the same everywhere: it distinguishes them without colours too.
OUTCOMES = {
    "inserted": ("#0072b2", "new row"),
    "updated": ("#009e73", "replaced the stored row"),
    "deleted": ("#d1495b", "removed the stored row"),
    "late": ("#d98e04", "lost to the stored row, or in logs to an earlier one"),
    "appended": ("#56b4e9", "a row written to a log: its outcome is known when the log is merged"),
    "appended delete": ("#f2a5b3", "a delete written to a log"),
    "duplicate": ("#7b8794", "lost to another message of its batch, or in logs to a later one"),
    "void": ("#a0569a", "a delete without a row to delete"),
}
BASE, LOG, GREY = "#0072b2", "#d98e04", "#7b8794"

#: What is a line between the bars of commits: its colour, and whether it is dashed.
MARKS = {"savepoint": ("var(--savepoint)", False), "restore": ("var(--restore)", False), "service": (INK, True)}


@dataclass(frozen=True)
class Commit:
    """One write, or one service such as a compaction."""

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
        """Messages that match no row and result in none: deletes of keys that are not stored."""
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
class Mark:
    """A savepoint or a restore, in the history of commits."""

    what: str
    instant: str  # of a savepoint, the commit's that it keeps
    comment: str | None = None


@dataclass(frozen=True)
class Slice:
    """One file slice; sizes in bytes."""

    partition: str
    base_bytes: int
    log_bytes: Sequence[int]


def number(value: float) -> str:
    """Write a whole number with commas."""
    return f"{value:,.0f}"


def legend(entries: Sequence[tuple[str, str, str]], lines: Sequence[tuple[str, str, str]] = ()) -> str:
    """Return a legend of colours, of bars and of lines: name, colour and explanation of each."""
    items = "".join(
        f'<li><i{kind} style="background:{colour}"></i>{escape(name)}{f"<em>{escape(what)}</em>" if what else ""}</li>'
        for kind, of_kind in (("", entries), (' class="line"', lines))
        for name, colour, what in of_kind
    )
    return f'<ul class="legend">{items}</ul>'


def commit_chart(name: str, description: str, commits: Sequence[Commit], marks: Sequence[Mark] = ()) -> str:
    """Return commits as bars of what became of their rows, and services, savepoints and restores as lines."""
    writes = [commit for commit in commits if not commit.is_compaction]
    lines: dict[tuple[int, str], list[str]] = {}
    for mark in marks:
        before = sum(commit.instant <= mark.instant for commit in writes)
        comment = f" ({mark.comment})" if mark.comment else ""
        lines.setdefault((before, mark.what), []).append(date_and_time(mark.instant) + comment)
    done = 0
    for commit in commits:
        if commit.is_compaction:
            lines.setdefault((done, commit.label), []).append(date_and_time(commit.instant))
        else:
            done += 1
    chart = stacked_bars(
        [below(c) for c in writes],
        [Series(name, OUTCOMES[name][0], [c.outcomes[name] for c in writes]) for name in OUTCOMES],
        title=f"Commits to {name} by outcome",
        x_title=COMMITS_BELOW,
        y_title="messages",
        text=number,
        lines=[
            Line(place, what, f"{what} {', '.join(times)}", *MARKS.get(what, MARKS["service"]))
            for (place, what), times in lines.items()
        ],
        width=1156,
        height=270,
    )
    return f"<figure><figcaption><b>{escape(name)}</b> {escape(description)}</figcaption>{chart}</figure>"


COMMITS_BELOW = "commits, with the date and time of their instants"


def below(commit: Commit) -> str:
    """The text below the bar of a commit."""
    return "\n".join([commit.label, *date_and_time(commit.instant).split()])


def date_and_time(instant: str) -> str:
    """The date and the time of day in an instant, yyyyMMddHHmmss and milliseconds."""
    day = f"{instant[:4]}-{instant[4:6]}-{instant[6:8]}"
    return f"{day} {instant[8:10]}:{instant[10:12]}:{instant[12:14]}"


def commit_table(name: str, commits: Sequence[Commit]) -> str:
    """Return the counts of commits as a table that is folded at first."""
    names = ["commit", "instant", "messages", *OUTCOMES, "seconds"]
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = []
    for c in commits:
        counts = ["" if c.is_compaction else number(c.messages), *map(number, c.outcomes.values())]
        cells = "".join(f"<td>{count}</td>" for count in [*counts, f"{c.seconds:.2f}"])
        rows.append(f"<tr><td>{escape(c.label)}</td><td>{escape(c.instant)}</td>{cells}</tr>")
    summary = f"Every commit to {escape(name)}, in numbers"
    return (
        f"<details><summary>{summary}</summary><table class='numbers'><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></details>"
    )


def slice_chart(name: str, when: str, slices: Sequence[Slice], *, width: int = 570) -> str:
    """Return the file slices of a table as bars of their sizes, by partition."""
    ordered = sorted(slices, key=lambda one: (one.partition, -one.base_bytes))
    labels = [
        one.partition[-5:] if place == 0 or ordered[place - 1].partition != one.partition else ""
        for place, one in enumerate(ordered)
    ]
    logs = [len(one.log_bytes) for one in ordered]
    chart = stacked_bars(
        labels,
        [
            Series("base file", BASE, [one.base_bytes for one in ordered]),
            Series("log files", LOG, [sum(one.log_bytes) for one in ordered]),
        ],
        title=f"File slices of {name}, {when}",
        x_title="file groups, by partition",
        y_title="size on disk",
        text=size,
        on_top=[str(count) if count else "" for count in logs],
        width=width,
    )
    total = sum(one.base_bytes + sum(one.log_bytes) for one in slices)
    caption = f"<b>{escape(name)}</b> {escape(when)}: {len(slices)} slices, {sum(logs)} logs, {size(total)}"
    return f"<figure><figcaption>{caption}</figcaption>{chart}</figure>"


def page(title: str, body: str) -> str:
    """Return a whole page, which needs no other file."""
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f"{meta}<title>{escape(title)}</title><style>{STYLE}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


#: The page is light or dark as the reader's system is, and light on paper. Wide charts and tables scroll on their own.
STYLE = """
:root{color-scheme:light;--ink:#1f2933;--pale:#5a6675;--grid:#e3e8ee;--path:#b6c0cc;--back:#f5f7fa;--card:#fff;
 --head:#eef2f6;--link:#0b4f7d;--good:#0b5e45;--good-back:#dff3ea;--bad:#8f1d2f;--bad-back:#fbe3e6;--current:#eef7f3;
 --savepoint:#5b3fc4;--restore:#b32d42}
@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;--ink:#e4e9ef;--pale:#a3b0be;--grid:#323c48;
 --path:#5f6c7b;--back:#12171d;--card:#1b222b;--head:#252e39;--link:#7cc0ee;--good:#8fe0bf;--good-back:#123528;
 --bad:#f5a9b5;--bad-back:#42171f;--current:#17302a;--savepoint:#b9a3f7;--restore:#f58a9b}}
*{box-sizing:border-box}
body{font:14px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;color:var(--ink);background:var(--back);
 max-width:1240px;margin:0 auto;padding:28px 20px 60px;overflow-wrap:anywhere}
h1{font-size:26px;line-height:1.25;margin:0 0 6px}h2{font-size:18px;margin:38px 0 8px}
p{margin:4px 0 10px;max-width:900px}.intro{color:var(--pale)}
.verdict{padding:10px 14px;border-radius:6px;font-weight:600;max-width:none}
.good{background:var(--good-back);color:var(--good)}.bad{background:var(--bad-back);color:var(--bad)}
.facts{display:flex;gap:12px;flex-wrap:wrap}
.facts div{flex:1 1 150px;background:var(--card);border:1px solid var(--grid);border-radius:6px;padding:10px 14px}
.facts b{display:block;font-size:20px}.facts span{color:var(--pale);font-size:12px}
.column,.pair{display:grid;grid-template-columns:minmax(0,1fr);gap:12px}
figure{margin:0;background:var(--card);border:1px solid var(--grid);border-radius:6px;padding:10px 12px;overflow-x:auto}
figcaption{color:var(--pale);font-size:13px}figcaption b{color:var(--ink)}
svg{display:block;font-family:inherit}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:6px 20px;margin:0 0 10px;padding:0}
.legend i,.badge i{display:inline-block;width:12px;height:12px;border-radius:2px;margin-right:6px;vertical-align:-1px}
.legend .line{width:3px;height:14px;margin:0 8px 0 3px;vertical-align:-2px}
.over text{paint-order:stroke;stroke:var(--card);stroke-width:3px}
.legend em{font-style:normal;color:var(--pale);margin-left:6px}
details{margin-top:10px}summary{cursor:pointer;color:var(--link)}
table{border-collapse:collapse;width:100%;background:var(--card);border:1px solid var(--grid);margin-top:10px;
 font-size:13px;overflow-wrap:normal}
th{background:var(--head);text-align:left;font-weight:600}th,td{padding:6px 9px;border-bottom:1px solid var(--grid)}
td{font-variant-numeric:tabular-nums;vertical-align:top}
.numbers th:nth-child(n+3),.numbers td:nth-child(n+3){text-align:right}
.current{background:var(--current)}.badge,td:nth-child(n+4):nth-child(-n+6){white-space:nowrap}
.advice li{margin:0 0 10px}.advice code{background:var(--head);padding:2px 6px;border-radius:4px}
@media(min-width:1240px){.pair{grid-template-columns:repeat(2,minmax(0,1fr))}svg{max-width:100%;height:auto}}
@media(max-width:1239px){table{display:block;overflow-x:auto}}
@media(max-width:600px){body{padding:18px 12px 40px}.facts div{flex-basis:120px}}
@media print{body{background:#fff}details{display:block}svg{max-width:100%;height:auto}}
"""
