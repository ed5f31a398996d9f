"""Looks at reports in a browser, on a phone, a tablet and a screen, in light and dark: nothing is cut or unreadable.

By hand, for a page of its own: report_pictures.py BROWSER PAGE
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from browser import Page, browser

from merganser.history import HistoryEntry
from merganser.results import FileSlice, LogFile
from merganser.table import TableType

WIDTHS = (360, 820, 1280)

#: What is wrong with a page, as sentences: of its whole width, of its charts and of its text.
PROBLEMS = """(() => {
  const found = [], root = document.documentElement
  document.querySelectorAll('details').forEach(one => one.open = true)
  if (root.scrollWidth > innerWidth) found.push(`the page scrolls: ${root.scrollWidth} pixels`)
  const light = colour => {
    const parts = colour.match(/[0-9.]+/g).slice(0, 3).map(part => Number(part) / 255)
    const [r, g, b] = parts.map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const behind = one => {
    const colour = getComputedStyle(one).backgroundColor
    return one === root || colour !== 'rgba(0, 0, 0, 0)' ? colour : behind(one.parentElement)
  }
  for (const one of document.querySelectorAll('h1,h2,p,b,span,li,em,code,figcaption,summary,th,td,text')) {
    const style = getComputedStyle(one)
    const [a, b] = [light(one.tagName === 'text' ? style.fill : style.color), light(behind(one))]
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    if (contrast < 4.5) found.push(`unreadable, contrast ${contrast.toFixed(1)}: ${one.textContent.slice(0, 40)}`)
  }
  for (const chart of document.querySelectorAll('svg')) {
    const name = chart.getAttribute('aria-label'), frame = chart.getBoundingClientRect()
    if (frame.width < 0.95 * chart.viewBox.baseVal.width) found.push(`too small to read: ${name}`)
    const texts = [...chart.querySelectorAll('text')].map(one => [one.textContent, one.getBoundingClientRect()])
    texts.forEach(([text, box], place) => {
      if (box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom)
        found.push(`outside of ${name}: ${text}`)
      for (const [other, its] of texts.slice(place + 1))
        if (box.left < its.right && its.left < box.right && box.top + 2 < its.bottom && its.top + 2 < box.bottom)
          found.push(`on top of each other in ${name}: ${text}, ${other}`)
    })
  }
  return found
})()"""


def check_report(program: str, page: Path, folder: Path) -> None:
    """Look at a report and at a crowded one, and leave their pictures in a folder."""
    crowded = folder / "crowded.html"
    crowded.write_text(crowded_report(folder / "examples" / "report"), encoding="utf-8")
    look_at(program, [page, crowded], folder)


def look_at(program: str, pages: list[Path], folder: Path) -> None:
    # Processes of the browser may still write to its profile while they end.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, browser(program, profile) as shown:
        for page in pages:
            for width in WIDTHS:
                for dark in (False, True):
                    shown.open(page.resolve().as_uri(), width=width, height=900, dark=dark)
                    name = f"{page.stem}-{width}-{'dark' if dark else 'light'}"
                    (folder / f"{name}.png").write_bytes(shown.picture())
                    problems = found_problems(shown, dark=dark)
                    assert not problems, f"{name}: " + "; ".join(problems)


def found_problems(shown: Page, *, dark: bool) -> list[str]:
    problems: list[str] = shown.evaluate(PROBLEMS)
    card = "document.querySelector('.facts div').getBoundingClientRect()"
    x, y = shown.evaluate(f"(box => [box.x + 4, box.y + scrollY + 4])({card})")
    for what, place in (("page", (2, 2)), ("card", (x, y))):
        colour = shown.pixel(*place)
        is_right = max(colour) < 64 if dark else min(colour) > 200
        if not is_right:
            problems.append(f"the {what} is {colour}")
    return problems


def crowded_report(examples: Path) -> str:
    """A report of many commits over days, services, savepoints and restores, partitions, and a long path."""
    sys.path.insert(0, str(examples))
    from table_report import render

    blank: dict[str, Any] = dict.fromkeys(field.name for field in dataclasses.fields(HistoryEntry))
    history: list[HistoryEntry] = []

    def add(action: str, number: int, **values: Any) -> None:
        instant = f"202601{1 + number // 12:02d}{number * 2 % 24:02d}{number:02d}00{number % 1000:03d}"
        known = {**blank, "instant": instant, "action": action, "state": "COMPLETED", "archived": False}
        history.append(HistoryEntry(**{**known, **values}))

    for number in range(60):
        operation = "INSERT_OVERWRITE_TABLE" if number == 20 else "UPSERT"
        counts = {"inserted": 5_000 + 90 * number, "updated": 9_000, "deleted": 100, "late": number % 9 * 100}
        add("deltacommit", number, operation=operation, elapsed_ms=900, **counts)
        if number in (13, 14, 59):
            add("savepoint", number, comment="before the migration")
        if number in (14, 30):
            add("restore", number, comment="20260102060000000, 20260102080000000")
        if number % 10 == 9:
            add("commit", number, operation="COMPACT", inserted=1, updated=9, late=5)
    slices = [
        FileSlice(
            f"region={('eu', 'us', 'asia', 'africa')[number % 4]}/day=2026-01-0{number % 7}",
            f"file{number}", "1", "base", 5_000_000 + number * 100_000,
            tuple(LogFile(f"log{place}", 200_000) for place in range(number % 12)),
        )
        for number in range(40)
    ]  # fmt: skip
    table: Any = SimpleNamespace(
        name="trips",
        path="/lake/" + "a_very_long_name_of_a_folder_" * 5,
        table_type=TableType.MERGE_ON_READ,
        record_key=("id",),
        ordering_by=("ts",),
        merge_mode="EVENT_TIME_ORDERING",
    )
    return render(table, history[::-1], slices)


if __name__ == "__main__":
    look_at(sys.argv[1], [Path(sys.argv[2])], Path.cwd())
