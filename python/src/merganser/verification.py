"""What is wrong with a table: its files, its commits, its rows, and the paths on which they are merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from merganser._shown import Shown, html_table


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
        """The check, how many, where, the detail and the remedy."""
        return f"{self._place()}: {self.detail}; remedy: {self.remedy}"

    def _place(self) -> str:
        where = self.file or "/".join(part for part in (self.partition_path, self.file_id) if part) or "the table"
        key = "" if self.key is None else f", such as key {self.key!r}"
        return f"{self.check}: {self.problems} in {where}{key}"


@dataclass(frozen=True)
class VerifyResult(Shown):
    """What :meth:`merganser.inspection.Inspection.verify` found; true in conditions if nothing is wrong."""

    problems: tuple[TableProblem, ...]
    checks: tuple[str, ...]
    """The checks that were made."""
    file_groups_examined: int
    """File groups whose rows were read; files are compared with commits in the whole table."""
    file_groups: int
    """File groups of the table."""
    sample: tuple[str, ...] | None
    """Partition path and file id of those that were examined; ``None`` if all were."""
    detail: str
    """How much was examined, in a sentence."""

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> VerifyResult:
        """Build one from the rows of the call."""
        groups, *checks = rows
        return cls(
            problems=tuple(TableProblem.from_wire(row) for row in checks if row["problems"]),
            checks=tuple(dict.fromkeys(row["check"] for row in checks)),
            file_groups_examined=groups["examined"],
            file_groups=groups["total"],
            sample=None if groups["file_groups"] is None else tuple(groups["file_groups"]),
            detail=groups["detail"],
        )

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dicts, lists, strings and numbers."""
        return {**super().to_dict(), "ok": self.ok}

    def to_string(self) -> str:
        """A line for how much was examined, then the problems."""
        found = [problem.to_string() for problem in self.problems] or [f"nothing is wrong by {len(self.checks)} checks"]
        return "\n".join([self.detail, *found])

    def _line(self) -> str:
        """How much was examined, and the checks that found something."""
        found = ", ".join(dict.fromkeys(problem.check for problem in self.problems))
        return f"{self.detail}; {f'found: {found}' if found else f'nothing is wrong by {len(self.checks)} checks'}"

    def _repr_html_(self) -> str:
        """The problems as an HTML table."""
        if self.ok:
            return f"<p>{escape(self.detail)}; nothing is wrong.</p>"
        names = ("check", "problems", "partition_path", "file", "key", "detail", "remedy")
        return f"<p>{escape(self.detail)}</p>{html_table(names, self.problems)}"
