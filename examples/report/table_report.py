"""The page about one table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from advice import advice
from charts import Series, stacked_bars
from parts import (
    BASE,
    COMMITS_BELOW,
    LOG,
    MARKS,
    OUTCOMES,
    Commit,
    Mark,
    Slice,
    below,
    commit_chart,
    commit_table,
    legend,
    number,
    page,
    slice_chart,
)

from merganser._shown import size
from merganser.history import HistoryEntry
from merganser.results import FileSlice
from merganser.table import Table

#: Actions that change rows; the others are services.
_SERVICES = {"COMPACT": "compaction", "LOG_COMPACT": "log compaction", "CLUSTER": "clustering"}

#: What is marked between the bars of commits.
_MARKED = {
    "savepoint": "a line behind the commit that it keeps readable",
    "restore": "a line where later commits were taken back",
}

#: Bars of slices that fit beside each other; of more, the largest are shown.
_MOST_SLICES = 80


def report_of(table: Table, *, commits: int = 60) -> str:
    """Return a page of HTML about a table, which needs no other file. Only its timeline and file listings are read.

    Args:
        table: The table.
        commits: Newest actions of its timeline to show.
    """
    history = table.history(commits)
    return render(table, history, table.inspect.file_slices())


def render(table: Table, history: Sequence[HistoryEntry], slices: Sequence[FileSlice]) -> str:
    """Return the page for a history, newest first, and file slices."""
    shown = [found for entry in reversed(history) if (found := _commit(entry)) is not None]
    writes = [commit for commit in shown if not commit.is_compaction]
    done = [entry for entry in reversed(history) if entry.action in _MARKED and entry.state == "COMPLETED"]
    marks = [Mark(entry.action, entry.instant, entry.comment) for entry in done]
    kind = table.table_type.value.lower().replace("_", "-")
    ordering = f" by {', '.join(table.ordering_by)}" if table.ordering_by else ""
    key = f"Its key is {', '.join(table.record_key)}." if table.record_key else "It has no record key."
    intro = f"A {kind} table at {table.path}. {key} Merged by {table.merge_mode}{ordering}."
    largest = sorted(slices, key=lambda one: one.base_size_bytes + one.log_size_bytes, reverse=True)[:_MOST_SLICES]
    when = "now" if len(slices) <= _MOST_SLICES else f"now, the {_MOST_SLICES} largest of {number(len(slices))}"
    bars = [
        Slice(one.partition_path, one.base_size_bytes, [log.size_bytes for log in one.log_files]) for one in largest
    ]
    body = [
        f"<h1>{escape(table.name)}</h1><p class='intro'>{escape(intro)}</p>",
        f'<section class="facts">{_facts(shown, slices)}</section>{_of_logs(shown)}',
        "<h2>What to do next</h2>",
        _advice(table, history, slices),
    ]
    if writes:
        outcomes = [(name, *OUTCOMES[name]) for name in OUTCOMES if any(c.outcomes[name] for c in writes)]
        drawn = [name for name in _MARKED if any(mark.what == name for mark in marks)]
        body += [
            "<h2>Commits over time, by what became of each row</h2>",
            legend(outcomes, [(name, MARKS[name][0], _MARKED[name]) for name in drawn]),
            commit_chart(table.name, f"{len(writes)} commits", shown, marks),
            commit_table(table.name, shown),
            "<h2>Late rows</h2>",
            _late_chart(shown),
        ]
    if slices:
        body += [
            "<h2>File slices, by size and number of logs</h2>",
            legend([("base file", BASE, ""), ("log files", LOG, "the number above a bar counts them")]),
            slice_chart(table.name, when, bars, width=1156),
        ]
    return page(f"{table.name} - Merganser", "".join(body))


def _commit(entry: HistoryEntry) -> Commit | None:
    """A completed write or service that rewrites rows; ``None`` for other actions."""
    if entry.state != "COMPLETED" or entry.action not in ("commit", "deltacommit", "replacecommit"):
        return None
    service = _SERVICES.get(entry.operation or "")
    counts = [entry.inserted, entry.updated, entry.deleted, entry.late, entry.duplicates]
    inserted, updated, deleted, late, duplicates = (count or 0 for count in counts)
    appended_deletes = entry.appended_deletes or 0
    appended = (entry.appended or 0) - appended_deletes
    return Commit(
        instant=entry.instant,
        label=service or (entry.operation or entry.action).lower().replace("_", " "),
        messages=0 if service else inserted + updated + deleted + late + duplicates + appended + appended_deletes,
        inserted=inserted,
        updated=updated,
        deleted=deleted,
        late=late,
        duplicates=duplicates,
        seconds=(entry.elapsed_ms or 0) / 1000,
        appended=appended,
        appended_deletes=appended_deletes,
        is_compaction=service is not None,
    )


def _facts(shown: Sequence[Commit], slices: Sequence[FileSlice]) -> str:
    """Of writes and compactions: rows that were appended to a log are counted by the one that merges them."""
    logs = sum(one.log_size_bytes for one in slices)
    facts = [
        (number(sum(not commit.is_compaction for commit in shown)), "commits shown"),
        (number(sum(commit.inserted for commit in shown)), "rows inserted by them"),
        (number(sum(commit.updated for commit in shown)), "rows updated"),
        (number(sum(commit.late for commit in shown)), "late rows, which lost to an earlier one"),
        (number(len({one.partition_path for one in slices})), "partitions"),
        (number(len(slices)), "file slices"),
        (size(sum(one.base_size_bytes for one in slices) + logs), f"on disk, {size(logs)} of it logs"),
    ]
    return "".join(f"<div><b>{escape(value)}</b><span>{escape(what)}</span></div>" for value, what in facts)


def _of_logs(shown: Sequence[Commit]) -> str:
    appended = sum(commit.appended + commit.appended_deletes for commit in shown)
    if not appended:
        return ""
    return (
        f"<p>{number(appended)} rows were appended to logs. What became of them is among these numbers once a "
        "compaction has merged the logs. Rows that a later row of the logs replaced count as duplicates there, and are "
        "not compared with the stored row. Rows are not counted where a clustering merged them or an overwrite removed "
        "them. Rows of UPDATE, DELETE and MERGE may be counted twice, by the statement and by the compaction.</p>"
    )


def _advice(table: Table, history: Sequence[HistoryEntry], slices: Sequence[FileSlice]) -> str:
    found = advice(table.path, history, slices)
    if not found:
        return '<p class="verdict good">Nothing is due.</p>'
    items = "".join(f"<li>{escape(one.what)}<div><code>{escape(one.command)}</code></div></li>" for one in found)
    return f'<ol class="advice">{items}</ol>'


def _late_chart(shown: Sequence[Commit]) -> str:
    known = [commit for commit in shown if not commit.is_compaction or commit.late]
    late = [commit.late for commit in known]
    if not any(late):
        if any(commit.appended or commit.appended_deletes for commit in shown):
            return "<p>No row is known to have come late: rows in logs are compared when these are compacted.</p>"
        return "<p>No row came late: in no commit that is shown did a row lose to the stored one.</p>"
    chart = stacked_bars(
        [below(commit) for commit in known],
        [Series("late", LOG, late)],
        title="Late rows by commit",
        x_title=COMMITS_BELOW,
        y_title="late rows",
        text=number,
        width=1156,
        height=200,
    )
    caption = "Rows that lost to the stored one or to an earlier one of the logs, by commit"
    return f"<figure><figcaption>{caption}</figcaption>{chart}</figure>"
