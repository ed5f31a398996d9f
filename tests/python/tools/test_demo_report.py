"""The demo's report can be made from made-up numbers, needs no network, and shows its input."""

from __future__ import annotations

import dataclasses
import re
import sys
from datetime import datetime, timezone

import pytest
from html_page import read
from places import ROOT

sys.path.insert(0, str(ROOT / "examples" / "report"))
sys.path.insert(0, str(ROOT / "examples" / "flights"))

import charts
import report

from merganser._shown import size


def commit(number: int, *, late: int = 4) -> report.Commit:
    return report.Commit(f"2025010112{number:02d}30000", f"batch {number}", 100, 50, 20, 5, late, 15, 1.25)


def version(outcome: str, *, current: bool = False, reason: str = "because") -> report.StoryVersion:
    moment = datetime(2013, 5, 6, 7, 8, 9, tzinfo=timezone.utc)
    return report.StoryVersion(3, 1_234, ["instant-a", "instant-b"], moment, "departed", outcome, reason, current)


def made_up(*, differences: int = 0, title: str = "A report") -> report.Report:
    compaction = report.Commit("20250101120245000", "compaction", 0, 0, 0, 0, 0, 0, 0.5, is_compaction=True)
    cow = report.TableRun("cow", "SIMPLE", [commit(1), commit(2)], [("at the end", [])], 10, differences)
    slices = [report.Slice("2013-01", 1_500_000, [20_000, 30_000]), report.Slice("2013-02", 0, [7_000])]
    mor = report.TableRun("mor", "BUCKET", [commit(1), commit(2), compaction], [("at the end", slices)], 10, 0)
    return report.Report(
        title=title,
        intro="What it is.",
        facts=[("1,234", "messages")],
        tables=[cow, mor],
        late=[report.LateMessage(0.5, False), report.LateMessage(12.0, True), report.LateMessage(13.0, True)],
        stories=[report.Story("Flight 1", "Two messages.", [version("inserted", current=True), version("late")])],
    )


def test_the_report_is_one_file_that_loads_no_other() -> None:
    html = report.render(made_up())
    reader = read(html)
    assert not {tag for tag, _ in reader.found} & {"script", "link", "img", "iframe", "object", "image", "use"}
    assert not {name for _, attributes in reader.found for name in attributes} & {"src", "href", "srcset", "xlink:href"}
    assert "url(" not in html
    assert "@import" not in html


def test_no_chart_is_wider_than_1200_pixels() -> None:
    widths = [int(str(a["width"])) for tag, a in read(report.render(made_up())).found if tag == "svg"]
    assert len(widths) == 6  # two of commits, two of slices, one of lateness, one of the flight
    assert max(widths) <= 1200


def test_the_verdict_shows_whether_the_tables_equal_the_truth() -> None:
    assert "equals the truth" in report.render(made_up())
    wrong = report.render(made_up(differences=1_234))
    assert "1,234 rows, cells or counts differ from the truth" in wrong
    assert "equals the truth" not in wrong


def test_every_chart_labels_its_axes_with_units() -> None:
    text = " ".join(read(report.render(made_up())).text)
    for axis in (
        "lateness: days from the event to the receipt of its message",
        "messages",
        "size on disk",
        "file groups, by partition",
        "commits, with the date and time of their instants",
        "event time: the ordering value (date, UTC)",
    ):
        assert axis in text, axis


def test_a_commit_shows_each_of_its_counts_and_the_messages_without_effect() -> None:
    text = read(report.render(made_up())).text
    for tip in ("inserted: 50", "updated: 20", "deleted: 5", "late: 4", "duplicate: 15", "void: 6"):
        assert f"batch 1 2025-01-01 12:01:30 {tip}" in text
    assert "batch 1 2025-01-01 12:01:30 appended: 0" not in text  # bars of no height have no place
    assert commit(1).void == 6
    assert commit(1, late=40).void == 0
    logged = dataclasses.replace(commit(1), updated=0, deleted=0, late=0, appended=26, appended_deletes=4)
    assert logged.outcomes == {
        "inserted": 50,
        "updated": 0,
        "deleted": 0,
        "late": 0,
        "appended": 26,
        "appended delete": 4,
        "duplicate": 15,
        "void": 5,
    }
    assert list(logged.outcomes) == list(report.OUTCOMES)
    assert "compaction" in text


def test_a_slice_shows_its_sizes_and_counts_its_logs() -> None:
    text = read(report.render(made_up())).text
    for shown in ("2013-01"[-5:] + " base file: 1.5 MB", "13-01 log files: 50 kB", "13-02 log files: 7 kB", "2", "1"):
        assert shown in text
    assert " at the end: 2 slices, 3 logs, 1.56 MB" in text


def test_late_messages_are_counted_in_bins_of_days() -> None:
    text = read(report.render(made_up())).text
    assert "0–5 days, overtaken inside its batch: 1" in text
    assert "10–15 days, overtaken by an earlier batch: 2" in text


def test_a_flight_shows_every_version_with_ordering_value_commit_outcome_and_reason() -> None:
    reader = read(report.render(made_up()))
    text = reader.text
    assert text.count("2013-05-06 07:08:09") == 2
    assert text.count("1,234") >= 2
    assert text.count("instant-a") == text.count("instant-b") == 2
    assert [attributes.get("class") for tag, attributes in reader.found if tag == "tr"].count("current") == 1
    assert sum(part.startswith("because") for part in text) == 2
    assert "In the tables." in text


def test_the_report_escapes_markup_in_its_values() -> None:
    html = report.render(made_up(title="<script>alert('x')</script> & co"))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_report_without_messages_stories_or_slices_is_rendered() -> None:
    full = made_up()
    empty = report.Report(full.title, full.intro, [], [], [], [])
    assert "<h1>A report</h1>" in report.render(empty)


def test_bars_are_as_tall_as_their_values() -> None:
    svg = charts.stacked_bars(
        ["a", "b"],
        [charts.Series("x", "#000", [50, 100]), charts.Series("y", "#111", [0, 100])],
        title="t",
        x_title="x",
        y_title="y",
        text=report.number,
    )
    heights = [float(str(a["height"])) for tag, a in read(svg).found if tag == "rect"]
    assert len(heights) == 3
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.02)
    assert heights[2] == pytest.approx(heights[1], abs=0.02)


@pytest.mark.parametrize(
    ("largest", "ticks"),
    [(0, [0, 1]), (7, [0, 2, 4, 6, 8]), (100, [0, 20, 40, 60, 80, 100]), (99_769, [0, 2e4, 4e4, 6e4, 8e4, 1e5])],
)
def test_axes_have_round_numbers_that_reach_the_largest_value(largest: float, ticks: list[float]) -> None:
    assert charts.nice_ticks(largest) == pytest.approx(ticks)


def test_overlapping_names_below_bars_are_omitted_and_stay_in_the_tips() -> None:
    names = [f"upsert\n2025-01-01\n12:{number:02d}:00" for number in range(30)]
    svg = charts.stacked_bars(
        names, [charts.Series("x", "#000", [1] * 30)], title="t", x_title="x", y_title="y", text=report.number
    )
    drawn = [float(x) for x in re.findall(r'<text x="([\d.]+)"[^>]*>2025-01-01<', svg)]
    assert 3 < len(drawn) < 10
    assert min(later - earlier for earlier, later in zip(drawn, drawn[1:])) > 10 * 5.5
    assert all(f"<title>{name.replace(chr(10), ' ')} x: 1</title>" in svg for name in names)


def test_a_single_bar_is_at_most_80_pixels_wide() -> None:
    svg = charts.stacked_bars(["a"], [charts.Series("x", "#000", [1])], title="t", x_title="x", y_title="y", text=str)
    (bar,) = (a for tag, a in read(svg).found if tag == "rect")
    assert float(str(bar["width"])) <= 80


def test_an_axis_shows_no_number_twice() -> None:
    one = [charts.Series("x", "#000", [1, 0])]
    svg = charts.stacked_bars(["a", "b"], one, title="t", x_title="x", y_title="y", text=report.number)
    assert re.findall(r">([\d.]+)</text>", svg) == ["0", "1"]


@pytest.mark.parametrize(
    ("bytes_", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_500, "1.5 kB"),
        (999_700, "1 MB"),
        (2_500_000, "2.5 MB"),
        (4_000_000_000_000, "4 TB"),
    ],
)
def test_sizes_are_written_with_their_unit(bytes_: int, text: str) -> None:
    assert size(bytes_) == text
