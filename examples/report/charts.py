"""Charts as SVG text: stacked bars, and points over time. Every bar and point shows its values when hovered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

INK, PALE, GRID = "#1f2933", "#5f6c7b", "#e3e8ee"
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 40, 24, 48  # margins, in pixels


@dataclass(frozen=True)
class Series:
    """One colour of a chart: one value for each bar."""

    name: str
    colour: str
    values: Sequence[float]


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
    lines: Sequence[tuple[int, str]] = (),
    label_every: int = 1,
) -> str:
    """Return a bar chart, the series stacked in the order given.

    Args:
        labels: Text below each bar, of one line or two; empty for none. With ``edges`` one more than there are bars.
        series: The colours, from the bottom up.
        title: What the chart shows, for readers that cannot see it.
        x_title: What the bars are, with the unit if there is one.
        y_title: What the height is, with the unit.
        text: Writes a value of the y axis.
        width: In pixels.
        height: In pixels.
        on_top: Text above each bar.
        edges: Whether the labels stand at the edges of the bars, as in a histogram.
        lines: Vertical dashed lines: the number of bars left of each, and its label.
        label_every: Only each so many-th label is drawn below its bar; all are in the bars' titles.
    """
    count = len(series[0].values) if series else 0
    totals = [sum(one.values[bar] for one in series) for bar in range(count)]
    ticks = nice_ticks(max(totals, default=0))
    if len({text(tick) for tick in ticks}) < len(ticks):  # fractions of a few rows, which have no text of their own
        ticks = [tick for tick in ticks if tick == round(tick)]
    inner, depth = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM
    step = inner / max(count, 1)
    gap = 0.0 if edges else min(step * 0.22, 14)
    bottom = _TOP + depth
    parts = _frame(title, width, height, ticks, text, y_title, x_title)
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
    for place, name in enumerate(labels):
        if place % label_every:
            continue
        middle = _LEFT + place * step + (0 if edges else step / 2)
        for row, part in enumerate(name.split("\n")):
            parts.append(_label(middle, bottom + 14 + 12 * row, part, size=10))
    for bars, name in lines:
        x = _LEFT + bars * step
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 8}" y2="{bottom}" stroke="{INK}" stroke-dasharray="4 3"/>'
        )
        anchor = "end" if x > width - _RIGHT - 60 else "middle"
        parts.append(_label(x, _TOP - 12, name, size=10, colour=INK, anchor=anchor))
    return "".join([*parts, "</svg>"])


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
    parts.append(f'<polyline points="{way}" fill="none" stroke="#b6c0cc" stroke-width="1.2"/>')
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
    ticks: Sequence[float],
    text: Callable[[float], str],
    y_title: str,
    x_title: str,
) -> list[str]:
    depth = height - _TOP - _BOTTOM
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
