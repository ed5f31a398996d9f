"""Measurements: collected side by side, summed up as ratios, printed and kept."""

from __future__ import annotations

import datetime
import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """One measurement beside that of plain Spark right before it: both in seconds, or both in bytes."""

    work: str
    variant: str
    unit: str
    ours: float
    plain: float

    @property
    def ratio(self) -> float:
        """How many times plain Spark's."""
        return self.ours / self.plain


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
            )
        )
    return lines


def markdown(settings: Mapping[str, object], lines: list[Line]) -> str:
    """The settings and a table; `plain` and `ours` are medians, the ratios those of neighbouring measurements."""
    said = "\n".join(f"- {name}: {value}" for name, value in settings.items())
    head = ("work", "table", "plain", "ours", "min", "median", "max", "n")
    rows = [head, tuple("-" * len(word) for word in head)]
    for line in lines:
        plain, ours = (_amount(value, line.unit) for value in (line.plain, line.ours))
        ratios = (f"{ratio:.2f}" for ratio in (line.low, line.median, line.high))
        rows.append((line.work, line.variant, plain, ours, *ratios, str(line.samples)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    table = "\n".join("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths)) + " |" for row in rows)
    return f"Ratios to plain Spark doing the same bytes without merging, in the same session.\n\n{said}\n\n{table}\n"


def write(folder: Path, name: str, settings: Mapping[str, object], samples: list[Sample]) -> list[Path]:
    """Keep a run: all samples as JSON, the table as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d-%H%M%S")
    data, page = folder / f"{stamp}-{name}.json", folder / f"{stamp}-{name}.md"
    kept = [vars(sample) | {"ratio": sample.ratio} for sample in samples]
    data.write_text(json.dumps({"settings": dict(settings), "samples": kept}, indent=1, default=str) + "\n")
    page.write_text(f"# {name}\n\n" + markdown(settings, summed_up(samples)))
    return [data, page]


def _amount(value: float, unit: str) -> str:
    return f"{value / 1e6:.1f} MB" if unit == "bytes" else f"{value:.2f} s"
