"""What is wrong with a table: its files, its commits, its rows, and the paths on which they are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from merganser._shown import Shown, html_table, lines
from merganser._wire import built, wire


@dataclass(frozen=True)
class TableProblem(Shown):
    """Something that is wrong with a table."""

    check: str
    """``uncommitted_file``, ``missing_file``, ``unreadable_file``, ``partition_metadata``, ``record_count``,
    ``key_statistics``, ``null_key``, ``other_key``, ``duplicate_key``, ``other_bucket``, ``other_partition``,
    ``meta_columns`` or ``replay``."""
    problems: int
    """Number of rows, keys or files."""
    partition_path: str
    file_id: str | None
    """``None`` where it is not of one file group."""
    file: str | None
    """Path of the file in the table; ``None`` where it is not of one file."""
    key: str | None
    """One of the record keys; ``None`` where it is not of keys."""
    detail: str
    remedy: str
    """What corrects it: a statement, or what to do."""

    def to_string(self) -> str:
        """Three lines: the check, how many and where; the detail; the remedy."""
        return f"{self._place()}\n  {self.detail}\n  remedy: {self.remedy}"

    def _line(self) -> str:
        return f"{self._place()}: {self.detail}; remedy: {self.remedy}"

    def _place(self) -> str:
        where = self.file or "/".join(part for part in (self.partition_path, self.file_id) if part) or "the table"
        key = "" if self.key is None else f", such as key {self.key!r}"
        return f"{self.check}: {self.problems} in {where}{key}"


@dataclass(frozen=True)
class VerifyResult(Shown):
    """What :meth:`merganser.inspection.Inspection.verify` found; true in conditions if nothing is wrong."""

    _computed = ("ok",)

    problems: tuple[TableProblem, ...] = field(metadata=wire(of=TableProblem.from_wire))
    checks: tuple[str, ...]
    """The checks that were made."""
    file_groups_examined: int = field(metadata=wire("examined"))
    """File groups whose rows were read; files are compared with commits in the whole table."""
    file_groups: int = field(metadata=wire("total"))
    """File groups of the table."""
    sample: tuple[str, ...] | None = field(metadata=wire("file_groups"))
    """Partition path and file id of those that were examined; ``None`` if all were."""
    detail: str
    """How much was examined, in a sentence."""

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> VerifyResult:
        """Build one from the rows of the call."""
        groups, *checks = rows
        names = list(dict.fromkeys(row["check"] for row in checks))
        return built(cls, {**groups, "problems": [row for row in checks if row["problems"]], "checks": names})

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

    def to_string(self) -> str:
        """A line for how much was examined, then the problems."""
        return lines((self.detail, self.problems or self._nothing()))

    def _line(self) -> str:
        found = ", ".join(dict.fromkeys(problem.check for problem in self.problems))
        return f"{self.detail}; {f'found: {found}' if found else self._nothing()}"

    def _nothing(self) -> str:
        return f"nothing is wrong by {len(self.checks)} checks"

    def _repr_html_(self) -> str:
        if self.ok:
            return f"<p>{escape(self.detail)}; nothing is wrong.</p>"
        names = ("check", "problems", "partition_path", "file", "key", "detail", "remedy")
        return f"<p>{escape(self.detail)}</p>{html_table(names, self.problems)}"
