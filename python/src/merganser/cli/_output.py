"""What commands print: tables and lines on a terminal, one line of JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

#: Wide enough that nothing is cut where the output is no terminal.
_NO_LIMIT = 100_000

_NUMBERS = (int, float)


def print_json(value: object, out: TextIO) -> None:
    """Print a value as one line."""
    print(json.dumps(value, default=str, ensure_ascii=False), file=out, flush=True)


def print_grid(rows: Sequence[dict[str, Any]], out: TextIO) -> None:
    """Print rows as a table: a column for each name that has a value in some row."""
    terminal = console(out)
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for name in names:
        is_number = all(row[name] is None or isinstance(row[name], _NUMBERS) for row in rows)
        grid.add_column(Text(name), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(shown(row[name])) for name in names))
    with terminal.capture() as printed:
        terminal.print(grid)
    lines = printed.get().splitlines()
    out.write("".join(f"{line.rstrip()}\n" for line in lines))


def print_fields(rows: Sequence[dict[str, Any]], out: TextIO) -> None:
    """Print each row as lines of names and values."""
    terminal = console(out)
    for number, row in enumerate(rows):
        if number:
            terminal.print()
        present = {name: value for name, value in row.items() if value is not None}
        width = max(map(len, present), default=0)
        for name, value in present.items():
            terminal.print(Text.assemble((f"{name:<{width}}", "bold"), "  ", shown(value)), soft_wrap=True)


def print_text(text: str, out: TextIO) -> None:
    """Print text as it is."""
    console(out).print(Text(text), soft_wrap=True)


def console(out: TextIO) -> Console:
    """A console of a stream: as wide as the terminal, and without a limit where there is none."""
    width = None if out.isatty() else _NO_LIMIT
    return Console(file=out, highlight=False, emoji=False, markup=False, width=width)


def shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(shown, value))
    if isinstance(value, dict):
        return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)
