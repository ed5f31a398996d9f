"""Writes a page about a table: commits over time, late rows, file slices by size, and what to do next.

    python examples/report /lake/trips --out trips.html

Only the table's timeline and listings of files are read. The page is one file, which needs no other.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from table_report import report_of

import merganser


def main() -> None:
    parser = argparse.ArgumentParser(prog="python examples/report", description="Write a page about a table.")
    parser.add_argument("table", help="a path, or a name in the session's catalogs")
    parser.add_argument("--out", type=Path, default=Path("report.html"), help="the page (default: %(default)s)")
    parser.add_argument("--commits", type=int, default=60, help="newest actions to show (default: %(default)s)")
    given = parser.parse_args()
    table = merganser.Table.load(merganser.session("report"), given.table)
    given.out.write_text(report_of(table, commits=given.commits), encoding="utf-8")
    print(given.out.resolve())


if __name__ == "__main__":
    main()
