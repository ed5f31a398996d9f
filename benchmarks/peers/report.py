"""The page, the raw results and the picture of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import ratios
from ratios import Line

from peers.data import OPTIONAL
from peers.engines import ENGINES
from peers.steps import FIRST_SMALL, LAST_SMALL

#: By the beginning of the kinds of tables.
TYPES = {"cow": "Tables that rewrite files", "mor": "Tables that merge when they are read"}
INTRODUCTION = """\
Ratios to plain Spark, which reads the Parquet files of the loaded table for a read, and reads and writes them for a
change or a compaction; for an upsert of new keys alone it reads and writes the new rows. Below 1 is faster, or smaller.
"""


def page(title: str, settings: Mapping[str, object], lines: list[Line], failures: Sequence[str]) -> str:
    """The run as Markdown: its settings, a table of ratios for each type of table, and all measurements."""
    text = f"# {title}\n\n{INTRODUCTION}\n" + "".join(f"- {name}: {value}\n" for name, value in settings.items())
    for beginning, heading in TYPES.items():
        found = [line for line in lines if kind_of(line).startswith(beginning)]
        if found:
            text += f"\n## {heading}\n\n{_overview(found)}\n"
    text += _stability(lines)
    works = {change.name: change.work for change in OPTIONAL}
    refused = [
        f"{name} {kind}: {works[change]}: {why}"
        for name, each in ENGINES.items()
        for (kind, change), why in each.lacks.items()
    ]
    text += _listed("Not measured", refused)
    text += "\n## All measurements\n\nMedians, and the smallest, median and largest ratio of the rounds.\n\n"
    text += f"{ratios.table_of_ratios(lines, 'measured')}\n"
    return text + _listed("Failures", failures)


def _stability(lines: list[Line]) -> str:
    """How many times as long a read takes after many small upserts, if that was measured."""
    first, last = (
        {line.variant: line.ours for line in lines if line.work == work} for work in (FIRST_SMALL, LAST_SMALL)
    )
    if not last:
        return ""
    rows = [(variant, f"{seconds / first[variant]:.2f}") for variant, seconds in last.items()]
    return f"\n## Stability\n\n{ratios.table(('table', f'{LAST_SMALL} ÷ {FIRST_SMALL}'), rows)}\n"


def growth(by_rows: Mapping[int, list[Line]]) -> str:
    """Seconds or megabytes per million rows, by the rows of the table; empty for a single size."""
    if len(by_rows) < 2:
        return ""
    amounts: dict[tuple[str, str], list[str]] = {}
    for rows, lines in by_rows.items():
        for line in lines:
            amounts.setdefault((line.work, line.variant), []).append(ratios.amount(line.ours * 1e6 / rows, line.unit))
    head = ("work", "table", *(f"{rows:,} rows" for rows in by_rows))
    complete = [(*place, *found) for place, found in amounts.items() if len(found) == len(by_rows)]
    return f"\n## Per million rows\n\n{ratios.table(head, complete)}\n"


def _listed(heading: str, texts: Sequence[str]) -> str:
    return f"\n## {heading}\n\n" + "".join(f"- {text}\n" for text in texts) if texts else ""


def kind_of(line: Line) -> str:
    return line.variant.split()[1]


def _overview(lines: list[Line]) -> str:
    """Median ratios: a row for each work, a column for each kind of table; `-` where there is none."""
    variants = list(dict.fromkeys(line.variant for line in lines))
    by_place = {(line.work, line.variant): f"{line.median:.2f}" for line in lines}
    plain = {line.work: ratios.amount(line.plain, line.unit) for line in lines}
    rows = [
        (work, of_plain, *(by_place.get((work, variant), "-") for variant in variants))
        for work, of_plain in plain.items()
    ]
    return ratios.table(("work", "plain Spark", *variants), rows)


# ---- the picture

LEFT, TOP, WIDTH, STEP = 330, 40, 560, 22
COLORS = {"merganser": "#1f6fb4", "hudi": "#c25e00", "delta": "#2a8a3e", "iceberg": "#8a4fb0", "paimon": "#a08a00"}


def picture(lines: list[Line]) -> str:
    """An SVG with a row for each work and a dot for each kind of table, filled if it merges when it is read."""
    works = list(dict.fromkeys(line.work for line in lines))
    low = math.floor(math.log2(min(line.median for line in lines)))
    high = max(math.ceil(math.log2(max(line.median for line in lines))), low + 1)
    bottom = TOP + STEP * len(works)

    def x(power: float) -> str:
        return f"{LEFT + WIDTH * (power - low) / (high - low):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 30} {bottom + 40}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{LEFT + WIDTH + 30}" height="{bottom + 40}" fill="white"/>',
    ]
    for power in range(low, high + 1):
        stroke = "#888" if power == 0 else "#ddd"
        parts.append(f'<path d="M{x(power)} {TOP - 12}V{bottom - 8}" stroke="{stroke}"/>')
        parts.append(f'<text x="{x(power)}" y="{TOP - 18}" text-anchor="middle">{2.0**power:g}</text>')
    for number, work in enumerate(works):
        y = TOP + STEP * number
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{work}</text>')
        for line in lines:
            if line.work == work:
                color = COLORS[line.variant.split()[0]]
                fill = color if kind_of(line).startswith("mor") else "white"
                title = f"<title>{line.variant}: {line.median:.2f}</title>"
                at = f'cx="{x(math.log2(line.median))}" cy="{y}"'
                parts.append(f'<circle {at} r="5" fill="{fill}" stroke="{color}" stroke-width="2">{title}</circle>')
    for number, name in enumerate(dict.fromkeys(line.variant.split()[0] for line in lines)):
        left = LEFT + 110 * number
        parts.append(f'<circle cx="{left}" cy="{bottom + 16}" r="5" fill="{COLORS[name]}"/>')
        parts.append(f'<text x="{left + 12}" y="{bottom + 20}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
