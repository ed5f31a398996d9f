"""What writes, services and other rules would do: nothing is changed. Counts are in rows unless stated otherwise."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from merganser._shown import Shown, html_table, lines, size
from merganser._transport import transport_for
from merganser._wire import built, measured, wire
from merganser.config import Options
from merganser.counts import Counts


@dataclass(frozen=True)
class DryRunRow(Shown):
    """What a write would do to one row."""

    outcome: str
    """``inserted``, ``updated``, ``late``, ``deleted``, ``absent`` (a delete of a key that has no row), ``ignored``
    (a delete that the rule ignores) or ``replaced`` (by an overwrite)."""
    key: str = field(metadata=wire("record_key"))
    partition_path: str
    """Empty in a table without partitions."""
    reason: str
    """Why, in a sentence, with the values that decided."""
    incoming: Mapping[str, Any] | None = field(metadata=wire(of=json.loads))
    """The columns that the last version of the key provides; ``None`` for a delete, and for a replaced row."""
    before: Mapping[str, Any] | None = field(metadata=wire(of=json.loads))
    after: Mapping[str, Any] | None = field(metadata=wire(of=json.loads))

    def _line(self) -> str:
        where = f" in {self.partition_path}" if self.partition_path else ""
        return f"{self.outcome} {self.key}{where}: {_shown(self.before)} -> {_shown(self.after)} ({self.reason})"


@dataclass(frozen=True)
class DryRun(Counts[int]):
    """What a write that was not committed would have done to rows.

    The counts are those that readers would see, also of versions that go to logs, which a commit counts as appended.
    """

    _below = ("rows",)

    rows_replaced: int
    """Rows of file groups that an overwrite replaces."""
    partitions: int
    """Number of partitions that would get files, or lose some."""
    files_replaced: int
    rows: tuple[DryRunRow, ...] = field(metadata=wire(of=DryRunRow.from_wire))
    """Some of the rows, of each outcome about as many, by partition and key."""

    @classmethod
    def of_statement(cls, rows: Sequence[Mapping[str, Any]]) -> DryRun:
        """Build one from the rows of ``CALL dry_run(statement => …)``."""
        return cls.from_wire(measured(rows))

    def _line(self) -> str:
        counts = ", ".join(f"{name}={count}" for name, count in self._values().items() if count and name != "rows")
        return counts or "no row would change"

    def _repr_html_(self) -> str:
        return html_table(("outcome", "key", "before", "after", "reason"), self.rows, str(self))


@dataclass(frozen=True)
class ServiceStep(Shown):
    """One thing that a service would do."""

    action: str
    """A verb: ``compact``, ``cluster``, ``delete``, ``archive``, ``keep``, ``restore`` (the write that a restore goes
    back to), ``roll back``, ``set``, ``add``, ``compare`` or ``differ``; of rows ``insert``, ``update``, ``delete``,
    ``keep``; ``count``."""
    item: str
    """What it is done to: a file, a file group, an instant, a property, a record key; of a ``count``: ``rows``, or the
    action that it counts."""
    partition_path: str | None
    files: int
    """Files that would be read or deleted for it."""
    bytes: int
    """Size of those files."""
    detail: str
    """More about it; may be empty."""
    before: Any = None
    """A row by its columns, a number of rows, or the text of a property, as it is; ``None`` if there is none."""
    after: Any = None
    """The same as it becomes."""

    @classmethod
    def from_wire(cls, answer: Mapping[str, Any]) -> ServiceStep:
        """Build one from a row of the call, which has values as JSON, but for the text of a property."""
        values = () if answer["action"] == "set" else ("before", "after")
        return built(cls, {**answer, **{name: json.loads(answer[name] or "null") for name in values}})

    @property
    def _is_row(self) -> bool:
        return isinstance(self.before, Mapping) or isinstance(self.after, Mapping)

    def _line(self) -> str:
        where = f" in {self.partition_path}" if self.partition_path else ""
        files = f", {self.files} files of {self.bytes} bytes" if self.files else ""
        text: Callable[[Any], str] = _shown if self._is_row else str
        change = f": {text(self.before)} -> {text(self.after)}" if self._is_row or self.action == "count" else ""
        detail = "" if not self.detail or (change and self.action == "differ") else f": {self.detail}"
        return f"{self.action} {self.item}{where}{files}{detail}{change}"


@dataclass(frozen=True)
class ServiceDryRun(Shown):
    """What a service would do now, a step after the other; false if there is nothing to do."""

    service: str
    steps: tuple[ServiceStep, ...]

    def __iter__(self) -> Iterator[ServiceStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def files(self) -> int:
        """Files that would be read or deleted."""
        return sum(step.files for step in self.steps)

    @property
    def bytes(self) -> int:
        """Size of those files."""
        return sum(step.bytes for step in self.steps)

    @property
    def counts(self) -> dict[str, int]:
        """Number of steps by their action, without those that are rows, and the write that a restore goes back to."""
        named = (step.action for step in self.steps if not step._is_row)
        return dict(Counter(action for action in named if action not in ("count", "restore")))

    @property
    def row_counts(self) -> dict[str, int]:
        """Number of rows by their action, also of those that are not shown."""
        counts = (step for step in self.steps if step.action == "count" and step.item != "rows")
        return {step.item: max(step.before, step.after) for step in counts}

    @property
    def rows(self) -> tuple[ServiceStep, ...]:
        """The steps that are rows, as they are and as they become; some of them, where there are many."""
        return tuple(step for step in self.steps if step._is_row)

    @property
    def rows_before(self) -> int | None:
        """Rows that are removed or change; ``None`` if the service changes none, or that is not known."""
        return next((step.before for step in self.steps if step.action == "count"), None)

    @property
    def rows_after(self) -> int | None:
        """Rows in their place."""
        return next((step.after for step in self.steps if step.action == "count"), None)

    def to_string(self) -> str:
        """A line for each step."""
        return lines(self.steps) or str(self)

    def _line(self) -> str:
        steps, rows = (", ".join(f"{k}={n}" for k, n in counts.items()) for counts in (self.counts, self.row_counts))
        is_unknown = any(step.action == "count" and step.before is None for step in self.steps)
        compared = f"rows: {rows}" if rows else "rows are not compared" if is_unknown else ""
        files = f"{self.files} files, {size(self.bytes)}" if self.files else ""
        target = next((f"to {step.item} ({step.detail})" for step in self.steps if step.action == "restore"), "")
        parts = filter(None, (target, steps, compared, files))
        return f"{self.service}: {'; '.join(parts) or 'nothing to do'}"

    def _repr_html_(self) -> str:
        return html_table(("action", "item", "partition_path", "files", "bytes", "detail"), self.steps, self.service)


@dataclass(frozen=True)
class RuleDifference(Shown):
    """A row that another rule would have merged differently."""

    key: str = field(metadata=wire("record_key"))
    partition_path: str
    columns: tuple[str, ...]
    """Those that differ; all of them where one of the rules results in no row."""
    stored: Mapping[str, Any] | None = field(metadata=wire(of=json.loads))
    """The row as the table has it; ``None`` if it has none."""
    other: Mapping[str, Any] | None = field(metadata=wire(of=json.loads))
    """The row under the other rule; ``None`` if there is none."""
    versions: int
    """Retained versions of the key."""

    def _line(self) -> str:
        where = f" in {self.partition_path}" if self.partition_path else ""
        return f"{self.key}{where}: {_shown(self.stored)} -> {_shown(self.other)} ({self.versions} versions)"


@dataclass(frozen=True)
class RuleComparison(Shown):
    """The rows of a table under its own rule and under another one, as far as versions are retained."""

    _below = ("examples", "notes")

    rules: str
    """The table's rule and the other one, in a few words."""
    rows: int
    """Rows of the table."""
    compared: int = field(metadata=wire("rows_compared"))
    """Keys with several retained versions: only they can differ."""
    differing: int = field(metadata=wire("rows_differing"))
    file_groups: int
    notes: tuple[str, ...]
    """What could not be seen, a sentence each."""
    examples: tuple[RuleDifference, ...] = field(metadata=wire(of=RuleDifference.from_wire))
    """Some of the rows that differ, by partition and key."""

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> RuleComparison:
        """Build one from the rows of the call."""
        measures = {row["measure"]: row["detail"] if row["measure"] == "rules" else row["value"] for row in rows}
        notes = [row["detail"] for row in rows if row["measure"] == "note"]
        examples = [row for row in rows if row["measure"] is None]
        return built(cls, {**measures, "notes": notes, "examples": examples})

    def _line(self) -> str:
        return f"{self.rules}: {self.differing} of {self.compared} compared rows differ, of {self.rows} rows in all"

    def _repr_html_(self) -> str:
        return html_table(("key", "columns", "stored", "other"), self.examples, str(self))


def last_dry_run(spark: SparkSession) -> DryRun | None:
    """Return what the last dry run of a session found, also of a data frame's write; ``None`` if there was none."""
    rows = transport_for(spark).rows("show_dry_run")
    return DryRun.of_statement(rows) if rows else None


def dry_run(spark: SparkSession, statement: str, *, rows: int = 20, options: Options | None = None) -> DryRun:
    """Return what a MERGE, UPDATE, DELETE or INSERT would do. Nothing is changed.

    Args:
        spark: A session with the jar.
        statement: The statement as SQL.
        rows: Maximum number of rows to return.
        options: Settings of the statement alone.

    Raises:
        MerganserError: ``DRY_RUN_STATEMENT``: it is another statement; and what the statement raises.
    """
    return DryRun.of_statement(transport_for(spark).rows("dry_run", options, statement=statement, rows=rows))


def _shown(row: Mapping[str, Any] | None) -> str:
    return "no row" if row is None else ", ".join(f"{name}={value!r}" for name, value in row.items())
