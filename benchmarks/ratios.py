"""Measurements: collected side by side, summed up as ratios and counts, printed and stored."""

from __future__ import annotations

import datetime
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """One measurement beside that of plain Spark right before it: both in seconds, or both in bytes.

    The costs of an operation are counts by kind, such as `jobs`.
    """

    work: str
    variant: str
    unit: str
    ours: float
    plain: float
    our_costs: Mapping[str, int] = field(default_factory=dict)
    plain_costs: Mapping[str, int] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """How many times plain Spark's."""
        return self.ours / self.plain


@dataclass(frozen=True)
class Count:
    """The median of what several repetitions cost, of one kind."""

    median: float
    agree: bool
    """Whether it is the same in all repetitions."""


@dataclass(frozen=True)
class Line:
    """All samples of one work on one kind of table."""

    work: str
    variant: str
    unit: str
    samples: int
    plain: float
    ours: float
    low: float
    median: float
    high: float
    our_costs: Mapping[str, Count]
    plain_costs: Mapping[str, Count]


def summed_up(samples: list[Sample]) -> list[Line]:
    """One line for each work and variant, in the order in which they were first measured."""
    groups: dict[tuple[str, str], list[Sample]] = {}
    for work in dict.fromkeys(sample.work for sample in samples):
        for sample in samples:
            if sample.work == work:
                groups.setdefault((work, sample.variant), []).append(sample)
    lines = []
    for (work, variant), group in groups.items():
        ratios = [sample.ratio for sample in group]
        lines.append(
            Line(
                work=work,
                variant=variant,
                unit=group[0].unit,
                samples=len(group),
                plain=statistics.median(sample.plain for sample in group),
                ours=statistics.median(sample.ours for sample in group),
                low=min(ratios),
                median=statistics.median(ratios),
                high=max(ratios),
                our_costs=_counts([sample.our_costs for sample in group]),
                plain_costs=_counts([sample.plain_costs for sample in group]),
            )
        )
    return lines


def _counts(samples: Sequence[Mapping[str, int]]) -> dict[str, Count]:
    kinds = {kind: [costs[kind] for costs in samples] for kind in samples[0]}
    return {kind: Count(statistics.median(found), len(set(found)) == 1) for kind, found in kinds.items()}


def markdown(settings: Mapping[str, object], lines: list[Line]) -> str:
    """The settings and two tables: ratios, and what each operation costs."""
    listed = "\n".join(f"- {name}: {value}" for name, value in settings.items())
    text = "Ratios to plain Spark doing the same bytes without merging, in the same session.\n\n"
    text += f"{listed}\n\n{table_of_ratios(lines)}\n"
    counted = [line for line in lines if line.our_costs]
    if counted:
        text += "\n## What each operation costs\n\n"
        text += "Ours, and plain Spark's in parentheses; `~` is the median of repetitions that differ.\n\n"
        text += f"{_costs(counted)}\n"
    return text


def table_of_ratios(lines: list[Line], ours: str = "ours") -> str:
    """`plain` and `ours` are medians, the ratios those of neighbouring measurements."""
    rows = []
    for line in lines:
        amounts = (amount(value, line.unit) for value in (line.plain, line.ours))
        ratios = (f"{ratio:.2f}" for ratio in (line.low, line.median, line.high))
        rows.append((line.work, line.variant, *amounts, *ratios, str(line.samples)))
    return table(("work", "table", "plain", ours, "min", "median", "max", "n"), rows)


def _costs(lines: list[Line]) -> str:
    kinds = list(lines[0].our_costs)
    rows = []
    for line in lines:
        cells = (f"{_count(line.our_costs[kind], kind)} ({_count(line.plain_costs[kind], kind)})" for kind in kinds)
        rows.append((line.work, line.variant, *cells))
    return table(("work", "table", *kinds), rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["-" * len(word) for word in head], *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths)) + " |" for line in lines)


def write(folder: Path, name: str, settings: Mapping[str, object], samples: list[Sample]) -> list[Path]:
    """Store a run: all samples as JSON, the tables as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d-%H%M%S")
    data, page = folder / f"{stamp}-{name}.json", folder / f"{stamp}-{name}.md"
    data.write_text(raw(settings, samples))
    page.write_text(f"# {name}\n\n" + markdown(settings, summed_up(samples)))
    return [data, page]


def raw(settings: Mapping[str, object], samples: list[Sample]) -> str:
    """All samples as JSON."""
    kept = [vars(sample) | {"ratio": sample.ratio} for sample in samples]
    return json.dumps({"settings": dict(settings), "samples": kept}, indent=1, default=str) + "\n"


def amount(value: float, unit: str) -> str:
    return f"{value / 1e6:.1f} MB" if unit == "bytes" else f"{value:.2f} s"


def _count(count: Count, kind: str) -> str:
    amount = f"{count.median / 1e3:,.1f} kB" if kind.endswith("bytes") and count.median else f"{count.median:g}"
    return amount if count.agree else f"~{amount}"
