"""Why a record is what it is: its stored versions and what became of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from html import escape
from itertools import groupby
from typing import Any, Union

from merganser._shown import Shown, html_table
from merganser._wire import built, wire

RecordKey = Union[str, int, Mapping[str, Any], "tuple[Any, ...]", float, bool, Decimal, date, datetime]
"""A key as a person names it: the value of one key column, a tuple of several, a dict, or the stored string."""


@dataclass(frozen=True)
class ColumnOrigin(Shown):
    """Where the value of a column came from."""

    commit: str
    """Requested time of the write."""
    file: str
    """Name of the base or log file."""


def _origins(columns: str) -> dict[str, ColumnOrigin]:
    return {name: ColumnOrigin(**of) for name, of in json.loads(columns).items()}


@dataclass(frozen=True)
class RecordVersion(Shown):
    """One stored version of a key and what happened to it when it was merged."""

    partition_path: str
    file_id: str
    slice: str
    """Instant at which its file slice begins."""
    commit: str
    """Requested time of the write that it is of."""
    completed: str | None
    """When that write completed; ``None`` if it is no longer on the timeline."""
    operation: str | None
    """``UPSERT``, ``DELETE``, ...; ``None`` if it is no longer on the timeline."""
    file: str | None
    """Name of the base or log file that has it."""
    in_log: bool
    version: str
    """``row``, ``partial row``, ``delete`` or ``unconditional delete``."""
    decision: str
    """``won``, ``lost``, ``tie``, ``filled``, ``deleted``, ``ignored``, ``stored``, ``duplicate``, ``replaced``."""
    reason: str
    """Why, in a sentence, with the values that decided and the rule."""
    ordering: Mapping[str, Any] | None = field(metadata=wire(of=json.loads))
    """Its ordering values by field; ``None`` if it has none."""
    against: Mapping[str, Any] | None = field(metadata=wire(of=json.loads))
    """Those of the row that it was merged with; ``None`` if there was none."""
    provided: Mapping[str, Any] | None = field(metadata=wire(of=json.loads))
    """The columns that it provides; ``None`` for a delete."""
    result: Mapping[str, Any] | None = field(metadata=wire(of=json.loads))
    """The row afterwards; ``None`` if there is none."""
    origins: Mapping[str, ColumnOrigin] | None = field(metadata=wire(of=_origins))
    """For each column of ``result`` where its value came from."""
    is_current: bool
    """Whether readers see its row now."""

    def _line(self) -> str:
        provided = f" {_shown(self.provided)}" if self.provided is not None else ""
        kind = "" if self.version == "row" else f" {self.version}"
        return f"{self.commit}  {self.decision:<9}{kind}{provided}  ({self.reason})"


@dataclass(frozen=True)
class SearchedFiles(Shown):
    """How much was searched for a key."""

    partitions: int
    file_groups: int
    """In these partitions; those count that were replaced and not cleaned yet."""
    candidates: int
    """File groups that the index admits."""
    footers: int
    """Base files whose footers were read: ranges and Bloom filters of keys."""
    base_files: int
    """Base files whose rows were read."""
    log_files: int

    def _line(self) -> str:
        return (
            f"{self.partitions} partitions, {self.file_groups} file groups, of which {self.candidates} may have the "
            f"key; read {self.footers} footers, {self.base_files} base files and {self.log_files} log files"
        )


@dataclass(frozen=True)
class RecordExplanation(Shown):
    """The retained versions of a key, what became of each, and what the next compaction changes.

    :meth:`show` prints a tree; notebooks show it as a picture.
    """

    _computed = ("found",)

    key: str = field(metadata=wire("record_key"))
    """The record key as the table stores it."""
    versions: tuple[RecordVersion, ...] = field(metadata=wire(of=RecordVersion.from_wire))
    """By file group, oldest first; file groups that were replaced come before those that readers see."""
    next_compaction: Mapping[str, str]
    """What the next compaction changes for the key, by file group."""
    searched: SearchedFiles = field(metadata=wire(of=SearchedFiles.from_wire))

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> RecordExplanation:
        """Build one from the rows of the call."""
        found = [row for row in rows if row["partition_path"] is not None]
        groups = {_group(row["partition_path"], row["file_id"]): row["next_compaction"] for row in found}
        return built(cls, {**rows[0], "versions": found, "next_compaction": groups})

    @property
    def found(self) -> bool:
        """Whether any version of the key is retained."""
        return bool(self.versions)

    @property
    def rows(self) -> list[Mapping[str, Any]]:
        """The rows of the key that readers see; more than one if it is in several partitions or stored twice."""
        return [version.result for version in self.versions if version.is_current and version.result is not None]

    def _line(self) -> str:
        if not self.found:
            return f"key {self.key!r}: no version is retained"
        now = "; ".join(f"row now: {_shown(row)}" for row in self.rows) or "row now: none"
        return f"key {self.key!r}: {len(self.versions)} versions in {len(self._groups())} file groups; {now}"

    def to_string(self) -> str:
        """A tree: file groups, their slices, and a line for each version."""
        if not self.found:
            return f"{self}\nsearched {self.searched}"
        lines = [f"key {self.key!r}"]
        for group, versions in self._groups().items():
            lines.append(f"└ {group}")
            for name, members in groupby(versions, lambda version: version.slice):
                lines.append(f"  └ file slice {name}")
                lines += [f"   {'*' if v.is_current else ' '}{'log ' if v.in_log else 'base'} {v}" for v in members]
            lines.append(f"  next compaction: {self.next_compaction[group]}")
        current = [version for version in self.versions if version.is_current]
        lines += [f"row now: {_shown(version.result)}" for version in current] or ["row now: none"]
        origins = ((name, of) for version in current for name, of in (version.origins or {}).items())
        lines += [f"  {name}: of commit {of.commit}, in {of.file}" for name, of in origins]
        return "\n".join([*lines, f"searched {self.searched}"])

    def _repr_html_(self) -> str:
        """A timeline of each file group, as SVG, above a table of its versions."""
        if not self.found:
            return f"<p>Key <b>{escape(self.key)}</b>: no version is retained.<br>Searched {self.searched}.</p>"
        parts = [f"<h4>Key {escape(self.key)}</h4>"]
        for group, versions in self._groups().items():
            parts.append(f"<p>{escape(group)}</p>{_timeline(versions)}{html_table(_COLUMNS, versions)}")
            parts.append(f"<p>Next compaction: {escape(self.next_compaction[group])}</p>")
        parts.append(f"<p>Searched {self.searched}.</p>")
        return "".join(parts)

    def _groups(self) -> dict[str, list[RecordVersion]]:
        groups: dict[str, list[RecordVersion]] = {}
        for version in self.versions:
            groups.setdefault(_group(version.partition_path, version.file_id), []).append(version)
        return groups


def key_argument(key: RecordKey) -> str:
    """A key as the argument of the call: a string as it is, other values as JSON.

    Raises:
        TypeError: It is a list, a set or ``None``.
    """
    if key is None or isinstance(key, (list, set, frozenset)):
        raise TypeError(f"key is a value, a tuple of values, a dict or a string, not {key!r}")
    if isinstance(key, str):
        return json.dumps([key]) if key[:1] in ("{", "[") else key
    values: Any = dict(key) if isinstance(key, Mapping) else list(key) if isinstance(key, tuple) else [key]
    return json.dumps(values, default=str)


def _group(partition_path: str, file_id: str) -> str:
    return f"{partition_path}/{file_id}" if partition_path else file_id


def _shown(values: Mapping[str, Any] | None) -> str:
    of_columns = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in (values or {}).items())
    return "-" if values is None else ", ".join(of_columns)


_COLUMNS = ("commit", "file", "version", "decision", "reason", "provided", "result")
_COLORS = {
    "won": "#2e7d32",
    "tie": "#558b2f",
    "filled": "#00838f",
    "stored": "#5c6bc0",
    "lost": "#9e9e9e",
    "ignored": "#bdbdbd",
    "deleted": "#c62828",
    "duplicate": "#ef6c00",
    "replaced": "#6d4c41",
}
_STEP = 118


def _timeline(versions: Sequence[RecordVersion]) -> str:
    """A circle for each version, oldest on the left; a line joins those that became the row."""
    width = _STEP * len(versions) + 20
    shapes: list[str] = []
    before: int | None = None
    for number, version in enumerate(versions):
        x = _STEP * number + _STEP // 2
        is_row = version.decision in ("won", "tie", "filled", "stored")
        y = 34 if is_row else 70
        if is_row and before is not None:
            shapes.append(f'<line x1="{before}" y1="34" x2="{x}" y2="34" stroke="#5c6bc0" stroke-width="2"/>')
        if is_row or version.decision in ("deleted", "replaced"):
            before = x if is_row else None
        ring = ' stroke="#000" stroke-width="3"' if version.is_current else ""
        color = _COLORS.get(version.decision, "#9e9e9e")
        title = escape(f"{version.reason}: {_shown(version.provided)}")
        shapes.append(f'<circle cx="{x}" cy="{y}" r="9" fill="{color}"{ring}><title>{title}</title></circle>')
        shapes.append(f'<text x="{x}" y="{y - 15}" text-anchor="middle">{escape(version.decision)}</text>')
        order = "" if version.ordering is None else escape(_shown(version.ordering))
        shapes.append(f'<text x="{x}" y="98" text-anchor="middle">{order}</text>')
        shapes.append(f'<text x="{x}" y="114" text-anchor="middle" fill="#616161">{escape(version.commit)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="122" '
        f'font-family="sans-serif" font-size="10">{"".join(shapes)}</svg>'
    )
