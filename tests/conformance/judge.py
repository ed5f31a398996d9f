"""Compares what came of a case with what was recorded or decided."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.cases import Case
from conformance.player import Outcome, Played, Rows

#: Settings that say who wins: an expectation that lists some of them says that the others are not there.
MERGE_SETTINGS = (
    "hoodie.table.version",
    "hoodie.table.ordering.fields",
    "hoodie.table.precombine.field",
    "hoodie.record.merge.mode",
    "hoodie.record.merge.strategy.id",
    "hoodie.compaction.payload.class",
    "hoodie.table.legacy.payload.class",
    "hoodie.table.partial.update.mode",
)
MERGE_PROPERTY = "hoodie.record.merge.property."


@dataclass
class Verdict:
    """Differences that count, and hints: read-optimized rows depend on how rows are laid into files."""

    differences: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)


def judged(case: Case, played: Played, *, by_decision: bool) -> Verdict:
    """All that differs from the recorded outcome, or from the decided one."""
    verdict = Verdict()
    expected_failure = "error" in case.expected_creation(by_decision=by_decision)
    if expected_failure != (played.creation_error is not None):
        said = "works, but must fail" if expected_failure else f"fails: {played.creation_error}"
        verdict.differences.append(f"CREATE TABLE {said}")
    if expected_failure or played.creation_error is not None:
        return verdict
    kinds = _settled_types(case)
    config: Mapping[str, str] | None = None
    for number, outcome in enumerate(played.steps):
        expected = case.expected(number, by_decision=by_decision)
        config = expected.get("table_config", config)
        found = _differences(expected, outcome, config, kinds)
        verdict.differences += [f"step {number}: {text}" for text in found]
        verdict.hints += [f"step {number}: {text}" for text in _hints(expected, outcome)]
    return verdict


def _differences(
    expected: Mapping[str, Any], outcome: Outcome, config: Mapping[str, str] | None, kinds: Mapping[str, str]
) -> Iterator[str]:
    if "error" in expected and outcome.error is None:
        yield f"works, but must fail with {expected['error'].get('class')}"
    if "error" not in expected and outcome.error is not None:
        yield f"fails: {outcome.error}"
    if expected.get("table_exists") is False and outcome.table_config is not None:
        yield "there is a table, but there must be none"
    if "read_error" in expected:
        if outcome.read_error is None:
            yield "the read works, but must fail"
    elif "rows" in expected:
        yield from _row_differences(expected["columns"], expected["rows"], outcome, kinds)
    if config is not None and outcome.table_config is not None:
        yield from _config_differences(config, outcome.table_config)


def _row_differences(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], outcome: Outcome, kinds: Mapping[str, str]
) -> Iterator[str]:
    if outcome.snapshot is None:
        yield f"cannot be read: {outcome.read_error}" if outcome.read_error else "there is no table"
        return
    found = [name for name, _ in outcome.snapshot.columns]
    if sorted(found) != sorted(columns):
        yield f"columns are {found}, must be {list(columns)}"
        return
    for name, kind in outcome.snapshot.columns:
        if kinds.get(name, kind) != kind:
            yield f"column {name} is {kind}, must be {kinds[name]}"
    yield from _multiset_differences(columns, rows, outcome.snapshot, "rows")


def _hints(expected: Mapping[str, Any], outcome: Outcome) -> Iterator[str]:
    rows = expected.get("rows_ro", expected.get("rows"))
    if rows is None or outcome.read_optimized is None:
        return
    columns = expected.get("columns_ro", expected["columns"])
    if sorted(columns) != sorted(name for name, _ in outcome.read_optimized.columns):
        yield f"read-optimized columns are {[name for name, _ in outcome.read_optimized.columns]}"
    else:
        yield from _multiset_differences(columns, rows, outcome.read_optimized, "read-optimized rows")


def _multiset_differences(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], found: Rows, what: str
) -> Iterator[str]:
    kinds = dict(found.columns)
    places = [[name for name, _ in found.columns].index(name) for name in columns]
    wanted = Counter(_text(row, [kinds[name] for name in columns]) for row in rows)
    given = Counter(_text([row[p] for p in places], [kinds[name] for name in columns]) for row in found.cells)
    if wanted != given:
        missing, extra = ("; ".join(sorted(rows.elements())) or "none" for rows in (wanted - given, given - wanted))
        yield f"{what} {list(columns)}: missing {missing}; not expected {extra}"


def _text(row: Sequence[Any], kinds: Sequence[str]) -> str:
    """A row as text in which equal cells, and only those, look the same."""
    return json.dumps([_cell(cell, kind) for cell, kind in zip(row, kinds)], sort_keys=True, ensure_ascii=False)


def _cell(cell: Any, kind: str) -> Any:
    """JSON writes a double of 1 as ``1`` or ``1.0``, and a float with the digits of a double."""
    if kind in ("float", "double") and isinstance(cell, (int, float)):
        return struct.unpack("f", struct.pack("f", cell))[0] if kind == "float" else float(cell)
    return cell


def _config_differences(expected: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    about = {k: v for k, v in found.items() if k in MERGE_SETTINGS or k.startswith(MERGE_PROPERTY)}
    for key in sorted(set(expected) | set(about)):
        if expected.get(key) != found.get(key):
            yield f"{key} is {found.get(key, 'absent')}, must be {expected.get(key, 'absent')}"


def _settled_types(case: Case) -> dict[str, str]:
    """Types of the columns whose type no step changes."""
    kinds = {name: {kind} for name, kind in case.table["schema"]}
    for step in case.recorded["steps"]:
        for name, kind in step.get("schema", []):
            kinds.setdefault(name, set()).add(kind)
    return {name: next(iter(found)) for name, found in kinds.items() if len(found) == 1}
