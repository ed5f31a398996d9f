"""The recorded cases, and the two lists beside them: what differs by decision, and what waits for a feature."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DECISIONS = FOLDER / "lists" / "decisions.json"
OWED = FOLDER / "lists" / "owed.json"

#: The cases' own mergers, by the names they go by there: class and strategy id. Their source is in mergers/.
MERGERS = {
    "max_price": ("io.merganser.conformance.MaxPrice", "841577c6-50de-4f2d-9c31-526c356219a4"),
    "coalesce_fields": ("io.merganser.conformance.CoalesceFields", "32d52b80-9055-481c-be0e-e308b5eb1f34"),
    "delete_negative": ("io.merganser.conformance.DeleteNegative", "7b5c8535-4d27-41eb-9c08-b90398da7d17"),
    "keep_first": ("io.merganser.conformance.KeepFirst", "2da6ba2d-6b9e-4a8c-b948-54daf8ca5a10"),
}


@dataclass(frozen=True)
class Difference:
    """What we give by decision where it is not what was recorded.

    ``steps`` maps a step's number, from 0, to the parts of its expectation that differ. A part that is ``None`` is
    taken away: ``{"error": None}`` is a step that works here. Number -1 is the statement that creates the table.
    """

    decision: int
    reason: str
    steps: Mapping[int, Mapping[str, Any]]


@dataclass(frozen=True)
class Case:
    """One recorded story."""

    file: str
    recorded: Mapping[str, Any]
    difference: Difference | None = None
    owed_to: str | None = None

    @property
    def id(self) -> str:
        return str(self.recorded["id"])

    @property
    def table(self) -> Mapping[str, Any]:
        return self.recorded["table"]  # type: ignore[no-any-return]

    @property
    def is_sql(self) -> bool:
        return bool(self.table["create"] == "sql")

    @property
    def is_merge_on_read(self) -> bool:
        return bool(self.table["type"] == "mor")

    @property
    def is_disputed(self) -> bool:
        return bool(self.recorded.get("disputed"))

    def expected_creation(self, *, by_decision: bool) -> Mapping[str, Any]:
        """Of the CREATE TABLE: an ``error``, or nothing."""
        return self._changed(self.recorded.get("expect_create", {}), -1, by_decision)

    def expected(self, step: int, *, by_decision: bool) -> Mapping[str, Any]:
        """Of a step, as recorded or as decided."""
        return self._changed(self.recorded["steps"][step].get("expect", {}), step, by_decision)

    def _changed(self, recorded: Mapping[str, Any], step: int, by_decision: bool) -> Mapping[str, Any]:
        if not by_decision or self.difference is None or step not in self.difference.steps:
            return recorded
        changes = self.difference.steps[step]
        return {key: value for key, value in {**recorded, **changes}.items() if value is not None}


def case_files() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def load_cases() -> list[Case]:
    """Every case of every file, in the files' order."""
    differences, owed = load_decisions(), load_owed()
    return [
        Case(file.name, recorded, differences.get(recorded["id"]), owed.get(recorded["id"]))
        for file in case_files()
        for recorded in json.loads(_with_mergers(file.read_text()))["cases"]
    ]


def _with_mergers(text: str) -> str:
    """The cases with the mergers' classes and ids for their placeholders."""
    for name, (class_name, strategy_id) in MERGERS.items():
        text = text.replace(f"$merger.class:{name}", class_name).replace(f"$merger.id:{name}", strategy_id)
    return text


def load_decisions() -> dict[str, Difference]:
    """By case id."""
    found: dict[str, Difference] = {}
    for group in json.loads(DECISIONS.read_text()):
        for case, steps in group["cases"].items():
            numbered = {int(number): changes for number, changes in steps.items()}
            _once(found, case, DECISIONS)
            found[case] = Difference(group["decision"], group["reason"], numbered)
    return found


def load_owed() -> dict[str, str]:
    """Case id to the feature it waits for."""
    found: dict[str, str] = {}
    for feature, cases in json.loads(OWED.read_text()).items():
        for case in cases:
            _once(found, case, OWED)
            found[case] = feature
    return found


def _once(found: Mapping[str, Any], case: str, file: Path) -> None:
    if case in found:
        raise ValueError(f"{case} is in {file.name} twice")


def unknown_ids(cases: list[Case]) -> Iterator[str]:
    """Ids in the lists that no case has."""
    known = {case.id for case in cases}
    yield from sorted((set(load_decisions()) | set(load_owed())) - known)
