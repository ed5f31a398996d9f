"""How results are shown: one line by ``print``, more lines by ``show()``, a table in notebooks, dicts for programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import date, datetime
from enum import Enum
from html import escape
from typing import Any, ClassVar, TypeVar

from merganser._wire import built

_T = TypeVar("_T")
_Result = TypeVar("_Result", bound="Shown")
_MOST = 3
"""Values of a list that a line shows; of a longer one it has the number."""


class Shown:
    """What results have in common. Their subclasses are frozen dataclasses."""

    _computed: ClassVar[tuple[str, ...]] = ()
    """Properties that belong to the values of a result."""
    _below: ClassVar[tuple[str, ...]] = ()
    """Values that :meth:`to_string` shows below the line: each has, or is, results or lines."""

    @classmethod
    def from_wire(cls: type[_Result], row: Mapping[str, Any]) -> _Result:
        """Build one from a row of a call."""
        return built(cls, row)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dicts, lists, strings, numbers and times."""
        return {name: plain(value) for name, value in self._values().items()}

    def to_string(self) -> str:
        """The whole result as text, in several lines where it is longer than one."""
        return "\n".join([str(self), *map(lines, filter(None, (getattr(self, name) for name in self._below)))])

    def show(self) -> None:
        """Print :meth:`to_string`."""
        print(self.to_string())

    def __str__(self) -> str:
        return " ".join(line.strip() for line in self._line().splitlines())

    def _line(self) -> str:
        """What the one line has: what is not zero and not empty."""
        found = {name: value for name, value in self._values().items() if not is_empty(value)}
        parts = [f"{name.removesuffix('_ms')}={shown(name, value)}" for name, value in found.items()]
        return f"{type(self).__name__}: {', '.join(parts) or 'nothing'}"

    def _repr_html_(self) -> str:
        """A table of names and values, without what is empty."""
        found = {words(name): cell(shown(name, one)) for name, one in self._values().items() if not is_empty(one)}
        rows = "".join(f"<tr><th>{name}</th><td>{one}</td></tr>" for name, one in found.items())
        return f"<table>{rows}</table>" if rows else f"<p>{escape(str(self))}</p>"

    def _values(self) -> dict[str, Any]:
        names = (*(one.name for one in fields(self)), *self._computed)  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}


class Results(list[_T]):
    """A list of results. ``print`` shows a line for each, notebooks show a table."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """Each result as a dict; ``spark.createDataFrame`` and ``pandas.DataFrame`` take the list."""
        return [plain(one) for one in self]

    def to_string(self) -> str:
        """One line for each."""
        return str(self)

    def show(self) -> None:
        """Print a line for each."""
        print(self)

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "none"

    def _repr_html_(self) -> str:
        """An HTML table, without the columns in which nothing has a value."""
        names = [one.name for one in fields(self[0])] if self else []  # type: ignore[arg-type]
        return html_table(names, self)


def lines(found: Any) -> str:
    """A result, a line, or several of them as text."""
    if isinstance(found, (list, tuple)):
        return "\n".join(map(lines, found))
    return found.to_string() if isinstance(found, Shown) else str(found)


def html_table(names: Sequence[str], rows: Iterable[Any], caption: str = "") -> str:
    """An HTML table of those columns that have a value in any of the rows, which are objects or dicts."""
    found = [row if isinstance(row, Mapping) else {name: getattr(row, name) for name in names} for row in rows]
    kept = [name for name in names if any(row[name] is not None and row[name] != () for row in found)]
    head = "".join(f"<th>{words(name)}</th>" for name in kept)
    body = "".join(f"<tr>{''.join(f'<td>{cell(shown(name, row[name]))}</td>' for name in kept)}</tr>" for row in found)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def plain(value: Any) -> Any:
    """A value of a result as dicts, lists, strings, numbers and times."""
    if isinstance(value, Shown):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value.value if isinstance(value, Enum) else value


def is_empty(value: object) -> bool:
    """Whether a line leaves it out."""
    return value is None or value is False or value == 0 or value in ("", ()) or value == {}


def words(name: str) -> str:
    """The name of a field in words."""
    return escape(name.replace("_", " "))


def cell(value: object) -> str:
    """A value in a table of HTML."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        value = ", ".join(f"{name}={one!r}" for name, one in value.items())
    return escape(str(value)).replace("\n", "<br>")


def shown(name: str, value: object) -> object:
    """A value with its unit, which the name of the field has."""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int) and not isinstance(value, bool):
        if name.endswith("_ms"):
            return f"{value / 1000:.1f} s"
        if "bytes" in name.split("_"):
            return size(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) if len(value) <= _MOST else len(value)
    return value


def size(count: float) -> str:
    """A number of bytes with its unit, in powers of ten, to three digits."""
    amount, units = float(count), ["B", "kB", "MB", "GB", "TB", "PB"]
    while amount >= 999.5 and len(units) > 1:
        amount, units = amount / 1000, units[1:]
    return f"{amount:.0f} {units[0]}" if amount >= 100 or units[0] == "B" else f"{amount:.3g} {units[0]}"
