"""Draws how a small table grows, or does not, with its upserts: files, bytes, timeline and time of a read.

    ./dev python benchmarks/upsert_curve.py [--upserts 1000] [--write]

One row of twenty is upserted at a time, with default settings. ``--write`` makes a picture and a page of the numbers in
``benchmarks/results``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

import merganser
from merganser import Table, TableType

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "results" / "many-upserts.md"
PICTURE = PAGE.with_suffix(".svg")
TITLE = """# Many upserts of a small table

    ./dev python benchmarks/upsert_curve.py --write

A table of twenty rows, of which one is upserted at a time, with default settings: no option of cleaning, archiving
or compaction is set. The merge-on-read table compacts a slice of 100 logs.

![Files, bytes, timeline and read time by number of upserts](many-upserts.svg)

"""
SCHEMA = "id long, v long, ts long"
ROWS = 20

KINDS = {"copy-on-write": TableType.COPY_ON_WRITE, "merge-on-read": TableType.MERGE_ON_READ}


@dataclass(frozen=True)
class Point:
    """The table after so many upserts."""

    upserts: int
    data_files: int
    data_bytes: int
    timeline_files: int
    history_files: int
    read_ms: float
    """Median of three reads."""


def measure(
    spark: SparkSession,
    path: Path,
    kind: str,
    upserts: int,
    every: int,
    reads: int = 3,
    say: Callable[[str], None] = print,
) -> list[Point]:
    """Create a table, upsert one row at a time, and look at it after every so many upserts.

    Raises:
        AssertionError: The table does not have the rows that were written.
    """
    table = Table.create(spark, path, SCHEMA, record_key="id", ordering_by="ts", table_type=KINDS[kind])
    table.upsert(spark.createDataFrame([(i, 0, 0) for i in range(ROWS)], SCHEMA))
    expected = dict.fromkeys(range(ROWS), 0)
    points = [_point(path, table, expected, 0, reads)]
    for number in range(1, upserts + 1):
        result = table.upsert(spark.createDataFrame([(number % ROWS, number, number)], SCHEMA))
        assert result.service_failure is None, result.service_failure
        expected[number % ROWS] = number
        if number % every == 0:
            points.append(_point(path, table, expected, number, reads))
            say(f"{kind}: {points[-1]}")
    return points


def _point(path: Path, table: Table, expected: dict[int, int], upserts: int, reads: int) -> Point:
    seconds = []
    for _ in range(reads):
        start = time.perf_counter()
        rows = table.df().collect()
        seconds.append(time.perf_counter() - start)
        assert {row.id: row.v for row in rows} == expected
    data = [f for f in path.iterdir() if f.is_file() and not f.name.startswith(".hoodie") and f.suffix != ".crc"]
    return Point(
        upserts,
        len(data),
        sum(file.stat().st_size for file in data),
        _files(path / ".hoodie" / "timeline"),
        _files(path / ".hoodie" / "timeline" / "history"),
        1000 * statistics.median(seconds),
    )


def _files(folder: Path) -> int:
    return sum(f.is_file() and f.suffix != ".crc" for f in folder.iterdir()) if folder.exists() else 0


# ---- the picture and the page

WIDTH, HEIGHT, LEFT, TOP, GAP = 420, 150, 70, 30, 60
COLORS = {"copy-on-write": "#1f6fb4", "merge-on-read": "#c25e00"}
PANELS: list[tuple[str, Callable[[Point], float]]] = [
    ("data files", lambda p: p.data_files),
    ("bytes of data files, kB", lambda p: p.data_bytes / 1000),
    ("files on the timeline", lambda p: p.timeline_files),
    ("milliseconds of a read", lambda p: p.read_ms),
]


def picture(curves: dict[str, list[Point]]) -> str:
    """An SVG of four panels, a line for each kind of table."""
    columns, rows = 2, 2
    width, height = columns * (WIDTH + LEFT + 20), rows * (HEIGHT + TOP + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    most = max(point.upserts for points in curves.values() for point in points)
    for number, (title, value) in enumerate(PANELS):
        left, top = LEFT + number % columns * (WIDTH + LEFT + 20), TOP + number // columns * (HEIGHT + TOP + GAP)
        highest = max(value(point) for points in curves.values() for point in points) or 1
        parts.append(f'<text x="{left}" y="{top - 10}" font-weight="bold">{title}</text>')
        parts.append(f'<path d="M{left} {top}v{HEIGHT}h{WIDTH}" stroke="#888" fill="none"/>')
        for share in (0, 0.5, 1):
            y = top + HEIGHT * (1 - share)
            parts.append(f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{highest * share:,.0f}</text>')
            x = left + WIDTH * share
            parts.append(f'<text x="{x:.0f}" y="{top + HEIGHT + 16}" text-anchor="middle">{most * share:,.0f}</text>')
        for kind, points in curves.items():
            path = " ".join(
                f"{left + WIDTH * p.upserts / most:.1f},{top + HEIGHT * (1 - value(p) / highest):.1f}" for p in points
            )
            parts.append(f'<polyline points="{path}" fill="none" stroke="{COLORS[kind]}" stroke-width="1.5"/>')
    for number, kind in enumerate(curves):
        x = LEFT + number * 200
        parts.append(f'<rect x="{x}" y="{height - 22}" width="12" height="12" fill="{COLORS[kind]}"/>')
        parts.append(f'<text x="{x + 18}" y="{height - 12}">{kind}</text>')
    parts.append(f'<text x="{width - 20}" y="{height - 12}" text-anchor="end">upserts</text></svg>')
    return "\n".join(parts) + "\n"


def numbers(curves: dict[str, list[Point]], load: float) -> str:
    """A table of the picture's numbers, at ten points."""
    lines = [
        "| table | upserts | data files | bytes | files on the timeline | files of the history | read, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, points in curves.items():
        step = max(1, len(points) // 10)
        lines += [
            f"| {kind} | {p.upserts:,} | {p.data_files} | {p.data_bytes:,} | {p.timeline_files} | {p.history_files} | "
            f"{p.read_ms:.0f} |"
            for p in [*points[:-1:step], points[-1]]
        ]
    lines += [
        "",
        f"Spark 3.5, `local[2]`, {os.cpu_count()} cores, load {load:.0f}: the times depend on it, sizes and counts do "
        "not.",
    ]
    return "\n".join(lines) + "\n"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--upserts", type=int, default=1000)
    parser.add_argument("--every", type=int, default=10, help="upserts between two points")
    parser.add_argument("--only", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--write", action="store_true", help=f"keep the results in {PICTURE.relative_to(ROOT).parent}")
    given = parser.parse_args(words)
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    spark = merganser.session("upserts", master="local[2]", config=settings)
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        curves = {
            kind: measure(
                spark, Path(folder) / kind, kind, given.upserts, given.every, say=lambda text: print(text, flush=True)
            )
            for kind in given.only
        }
    spark.stop()
    found = numbers(curves, os.getloadavg()[0])
    print(found, end="")
    if given.write:
        PICTURE.write_text(picture(curves))
        PAGE.write_text(TITLE + found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
