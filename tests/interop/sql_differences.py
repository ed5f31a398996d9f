"""Where our engine does something else than Hudi with the same statements, and why.

``sql/hudi-1.2.0.json`` is what Hudi did, written by ``record_sql.py``. ``sql/differences.json`` lists the differences:
under each reason the sequences, and for each the steps (from 1, ``end`` is the table afterwards) with what differs:

    refused here       Hudi runs the statement
    accepted here      Hudi refuses it
    columns            other columns, or in another order
    types              the same columns with other types
    rows               other rows
    partitions         other partition columns
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from interop.sql_player import Outcome
from interop.sql_sequences import FOLDER

RECORD = FOLDER / "hudi-1.2.0.json"
LIST = FOLDER / "differences.json"

PAGE = Path(__file__).resolve().parents[2] / "docs" / "move-from-hudi.md"
BEGIN = "<!-- Made by tests/interop/record_sql.py from tests/interop/sql/differences.json; a test compares. -->"
END = "<!-- End of what is made. -->"


@dataclass(frozen=True)
class Reason:
    """Why some sequences end otherwise. ``in_hudi`` and ``here`` are empty where no page has the difference."""

    reason: str
    statement: str
    in_hudi: str
    here: str
    sequences: dict[str, list[str]]


def load_record() -> dict[str, tuple[str, list[Outcome]]]:
    """Digest of the statements and Hudi's outcomes, by the name of the sequence."""
    if not RECORD.exists():
        return {}
    return {name: (entry["digest"], entry["outcomes"]) for name, entry in json.loads(RECORD.read_text()).items()}


def save_record(record: dict[str, tuple[str, list[Outcome]]]) -> None:
    """One sequence a line."""
    lines = (
        f"{json.dumps(name)}: {json.dumps({'digest': digest, 'outcomes': outcomes}, ensure_ascii=False)}"
        for name, (digest, outcomes) in record.items()
    )
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def load_reasons() -> list[Reason]:
    return [
        Reason(
            entry["reason"],
            entry.get("statement", ""),
            entry.get("in_hudi", ""),
            entry.get("here", ""),
            {name: steps.split(", ") for name, steps in entry["sequences"].items()},
        )
        for entry in json.loads(LIST.read_text())["differences"]
    ]


def differences(hudi: Sequence[Outcome], ours: Sequence[Outcome]) -> list[str]:
    """What differs, as the list has it: ``3 rows``, ``end types``."""
    found = []
    for number, (theirs, here) in enumerate(zip(hudi, ours, strict=True), start=1):
        step = "end" if number == len(hudi) else str(number)
        found += [f"{step} {kind}" for kind in _kinds(theirs, here)]
    return found


def _kinds(theirs: Outcome, here: Outcome) -> list[str]:
    if _is_refused(theirs) or _is_refused(here):
        if _is_refused(theirs) and _is_refused(here):
            return []
        return ["accepted here" if _is_refused(theirs) else "refused here"]
    if isinstance(theirs, str) or isinstance(here, str):
        return [] if theirs == here else ["rows"]
    kinds = []
    columns, ours = theirs["columns"], here["columns"]
    if "count" in theirs:
        ours = ours[: len(columns)]  # a procedure may have more columns than Hudi's
    if [name for name, _ in columns] != [name for name, _ in ours]:
        kinds.append("columns")
    elif columns != ours:
        kinds.append("types")
    if theirs.get("rows") != here.get("rows") or theirs.get("count") != here.get("count"):
        kinds.append("rows")
    if theirs.get("partitions") != here.get("partitions"):
        kinds.append("partitions")
    return kinds


def _is_refused(outcome: Outcome) -> bool:
    return isinstance(outcome, str) and outcome.startswith("refused")


def table_of_page() -> str:
    """The differences that users meet, as a table of docs/move-from-hudi.md."""
    rows = [f"| {r.statement} | {r.in_hudi} | {r.here} |" for r in load_reasons() if r.statement]
    return "\n".join(["| | Hudi 1.2 | here |", "|---|---|---|", *rows]) + "\n"


def page_with_table(page: str) -> str:
    """The page with that table between its two marks.

    Raises:
        ValueError: The marks are not there.
    """
    if BEGIN not in page or END not in page:
        raise ValueError(f"{PAGE} has no marks {BEGIN} {END}")
    head, _, rest = page.partition(BEGIN)
    tail = rest.partition(END)[2]
    return f"{head}{BEGIN}\n\n{table_of_page()}\n{END}{tail}"
