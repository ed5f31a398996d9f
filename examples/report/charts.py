"""Charts as SVG text: stacked bars, and points over time. Every bar and point shows its values when hovered.

Text and lines have the colours of the page's style, which differ in light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

INK, PALE, GRID, PATH = "var(--ink)", "var(--pale)", "var(--grid)", "var(--path)"
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 40, 30, 48  # margins, in pixels
_WIDEST = 80  # of a bar
_ROW = 12  # from one line of small text to the next


@dataclass(frozen=True)
class Series:
    """One colour of a chart: one value for each bar."""

    name: str
    colour: str
    values: Sequence[float]


@dataclass(frozen=True)
class Line:
    """A vertical line in a chart of bars, with its name above; the tip is shown when it is hovered."""

    bars: int
    """The number of bars left of it."""
    name: str = ""
    tip: str = ""
    colour: str = INK
    dashed: bool = True


@dataclass(frozen=True)
class Point:
    """One point of a scatter chart."""

    x: float
    y: float
    colour: str
    ring: bool
    tip: str


def stacked_bars(
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    title: str,
    x_title: str,
    y_title: str,
    text: Callable[[float], str],
    width: int = 570,
    height: int = 290,
    on_top: Sequence[str] = (),
    edges: bool = False,
    lines: Sequence[Line] = (),
) -> str:
    """Return a bar chart, the series stacked in the order given.

    Args:
        labels: Text below each bar, of one line or several; empty for none. With ``edges`` one more than there are
            bars. Where they have no room beside each other, some are left out; all are in the tips of the bars.
        series: The colours, from the bottom up.
        title: What the chart shows, for readers that cannot see it.
        x_title: What the bars are, with the unit if there is one.
        y_title: What the height is, with the unit.
        text: Writes a value of the y axis.
        width: In pixels.
        height: In pixels, with labels of two lines.
        on_top: Text above each bar.
        edges: Whether the labels stand at the edges of the bars, as in a histogram.
        lines: Vertical lines between the bars.
    """
    count = len(series[0].values) if series else 0
    totals = [sum(one.values[bar] for one in series) for bar in range(count)]
    ticks = nice_ticks(max(totals, default=0))
    if len({text(tick) for tick in ticks}) < len(ticks):  # fractions of a few rows, which have no text of their own
        ticks = [tick for tick in ticks if tick == round(tick)]
    inner, depth = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    height += _ROW * max((name.count("\n") - 1 for name in labels), default=0)
    step = inner / max(count, 1)
    gap = 0.0 if edges else max(min(step * 0.22, 14), step - _WIDEST)
    bottom = _TOP + depth
    parts = _frame(title, width, height, depth, ticks, text, y_title, x_title)
    for bar in range(count):
        x, y = _LEFT + bar * step + gap / 2, float(bottom)
        for one in series:
            tall = depth * one.values[bar] / ticks[-1]
            if tall <= 0:
                continue
            y -= tall
            name = f"{labels[bar]}–{labels[bar + 1]}" if edges else labels[bar]
            tip = escape(f"{name} {one.name}: {text(one.values[bar])}".replace("\n", " ").strip())
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.2f}" width="{max(step - gap - (0.8 if edges else 0), 1):.1f}" '
                f'height="{tall:.2f}" fill="{one.colour}"><title>{tip}</title></rect>'
            )
        if bar < len(on_top):
            parts.append(_label(x + (step - gap) / 2, y - 5, on_top[bar], size=10))
    first = _LEFT + (0 if edges else step / 2)
    parts += _names_below([first + place * step for place in range(len(labels))], labels, bottom)
    return "".join([*parts, *_between_bars(lines, step, width, bottom), "</svg>"])


def _names_below(middles: Sequence[float], names: Sequence[str], bottom: float) -> list[str]:
    """The names of bars, except those that would touch the one before."""
    parts: list[str] = []
    free = -math.inf
    for middle, name in zip(middles, names):
        half = _wide(name) / 2
        if not name or middle - half < free:
            continue
        free = middle + half + 6
        for row, part in enumerate(name.split("\n")):
            parts.append(_label(middle, bottom + 14 + _ROW * row, part, size=10))
    return parts


def _between_bars(lines: Sequence[Line], step: float, width: int, bottom: float) -> list[str]:
    """Lines, and their names in two rows above; a name without room, beside those of earlier lines, is only in its tip.

    Lines at the same place are drawn beside each other.
    """
    parts: list[str] = []
    names: list[str] = []
    taken: list[tuple[int, float, float]] = []
    for number, one in enumerate(lines):
        x = _LEFT + one.bars * step + 4 * sum(other.bars == one.bars for other in lines[:number])
        half = _wide(one.name) / 2
        left = min(max(x - half, 2), width - 2 * half - 2)
        right = left + 2 * half
        rows = [row for row in (1, 0) if all(row != r or right + 6 < a or b + 6 < left for r, a, b in taken)]
        top = _TOP - 6 - _ROW * (rows[:1] == [0])
        dashes = ' stroke-dasharray="4 3"' if one.dashed else ""
        ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"'
        tip = f"<title>{escape(one.tip)}</title>" if one.tip else ""
        room = f'<line {ends} stroke="transparent" stroke-width="8"/>' if one.tip else ""  # to hover
        parts.append(f'<g>{room}<line {ends} stroke="{one.colour}" stroke-width="1.5"{dashes}/>{tip}</g>')
        if rows:
            taken.append((rows[0], left, right))
            names.append(_label(left + half, top - 3, one.name, size=10, colour=one.colour))
    return [*parts, '<g class="over">', *names, "</g>"] if lines else []


def _wide(text: str) -> float:
    """Roughly the width of small text in pixels."""
    return 5.8 * max(map(len, text.split("\n")))


def scatter(
    points: Sequence[Point],
    *,
    title: str,
    x_title: str,
    y_title: str,
    x_ticks: Sequence[tuple[float, str]],
    y_ticks: Sequence[tuple[float, str]],
    width: int = 1156,
    height: int = 220,
) -> str:
    """Return a chart of points, joined in the order given; both axes go from their first to their last tick."""
    inner, depth = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM

    def x_of(value: float) -> float:
        return _LEFT + inner * (value - x_ticks[0][0]) / ((x_ticks[-1][0] - x_ticks[0][0]) or 1)

    def y_of(value: float) -> float:
        room = depth - 14  # the lowest points and labels keep clear of the names below
        return _TOP + room * (value - y_ticks[0][0]) / ((y_ticks[-1][0] - y_ticks[0][0]) or 1)

    parts = [_open(title, width, height), _axis_titles(width, height, x_title, y_title)]
    for value, name in y_ticks:
        parts.append(_rule(width, y_of(value)) + _label(_LEFT - 8, y_of(value) + 3.5, name, anchor="end"))
    for value, name in x_ticks:
        parts.append(_label(x_of(value), _TOP + depth + 15, name, size=10))
    places: list[tuple[float, float]] = []
    for one in points:
        x, y = x_of(one.x), y_of(one.y)
        while any(abs(x - left) < 16 and abs(y - top) < 8 for left, top in places):
            x += 17  # beside the point that is there, not on it
        places.append((x, y))
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{way}" fill="none" stroke="{PATH}" stroke-width="1.2"/>')
    for number, ((x, y), one) in enumerate(zip(places, points), start=1):
        if one.ring:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="none" stroke="{INK}" stroke-width="1.6"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" fill="{one.colour}">')
        parts.append(f"<title>{escape(one.tip)}</title></circle>")
        parts.append(_label(x, y + 3.5, str(number), size=10, colour="#ffffff"))
    return "".join([*parts, "</svg>"])


def nice_ticks(largest: float, *, about: int = 5) -> list[float]:
    """Return round numbers from 0 to at least ``largest``, evenly apart."""
    if largest <= 0:
        return [0.0, 1.0]
    rough = largest / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    return [step * number for number in range(math.ceil(largest / step - 1e-9) + 1)]


def _frame(
    title: str,
    width: int,
    height: int,
    depth: int,
    ticks: Sequence[float],
    text: Callable[[float], str],
    y_title: str,
    x_title: str,
) -> list[str]:
    parts = [_open(title, width, height), _axis_titles(width, height, x_title, y_title)]
    for tick in ticks:
        y = _TOP + depth * (1 - tick / ticks[-1])
        parts.append(_rule(width, y) + _label(_LEFT - 8, y + 3.5, text(tick), anchor="end"))
    return parts


def _open(title: str, width: int, height: int) -> str:
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg {box} role="img" aria-label="{escape(title)}">'


def _axis_titles(width: int, height: int, x_title: str, y_title: str) -> str:
    middle = _TOP + (height - _TOP - _BOTTOM) / 2
    turned = f'<g transform="translate(13 {middle:.0f}) rotate(-90)">{_label(0, 0, y_title)}</g>'
    return turned + _label(_LEFT + (width - _LEFT - _RIGHT) / 2, height - 8, x_title)


def _rule(width: int, y: float) -> str:
    return f'<line x1="{_LEFT}" x2="{width - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>'


def _label(x: float, y: float, text: str, *, size: int = 11, anchor: str = "middle", colour: str = PALE) -> str:
    if not text:
        return ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
    )
