"""What the judge of the recorded cases sees and what it passes over; no session is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from conformance.cases import Case, Difference
from conformance.judge import Verdict, judged
from conformance.player import Outcome, Played, Rows

KINDS = {"id": "int", "d": "double", "f": "float", "v": "string", "m": "map<string,int>"}
SETTINGS = {"hoodie.table.version": "9", "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}


def case(*expected: Mapping[str, Any], difference: Difference | None = None, create: str = "dataframe") -> Case:
    schema = [[name, kind] for name, kind in KINDS.items()]
    table = {"schema": schema, "create": create, "type": "mor"}
    steps = [{"op": "write", "expect": expect} for expect in expected]
    return Case("some.json", {"id": "one", "title": "one", "table": table, "steps": steps}, difference)


def rows(columns: Sequence[str], *cells: list[Any], **kinds: str) -> Rows:
    return Rows([(name, {**KINDS, **kinds}[name]) for name in columns], list(cells))


def verdict(expected: Mapping[str, Any], outcome: Outcome) -> Verdict:
    return judged(case(expected), Played(steps=[outcome]), by_decision=False)


@pytest.mark.parametrize(
    ("column", "recorded", "actual", "is_same"),
    [
        ("d", 1, 1.0, True),
        ("d", "NaN", "NaN", True),
        ("d", 0.0, -0.0, False),
        ("d", 1.5, 1.25, False),
        ("d", 1.0, None, False),
        ("f", 0.1, 0.10000000149011612, True),
        ("f", "Infinity", "-Infinity", False),
        ("v", "1", 1, False),
        ("m", [["a", 1], ["b", None]], [["a", 1], ["b", None]], True),
        ("m", [["a", 1]], [["a", 2]], False),
    ],
)
def test_cells_are_compared_by_value(column: str, recorded: Any, actual: Any, is_same: bool) -> None:
    expected = {"columns": [column], "rows": [[recorded]]}
    found = verdict(expected, Outcome(snapshot=rows([column], [actual])))
    assert (found.differences == []) == is_same


def test_rows_are_compared_as_a_multiset_and_columns_by_name() -> None:
    expected = {"columns": ["id", "v"], "rows": [[1, "a"], [1, "a"], [2, "b"]]}
    assert verdict(expected, Outcome(snapshot=rows(["v", "id"], ["b", 2], ["a", 1], ["a", 1]))).differences == []
    (text,) = verdict(expected, Outcome(snapshot=rows(["id", "v"], [1, "a"], [2, "b"]))).differences
    assert 'missing [1, "a"]' in text
    (text,) = verdict(expected, Outcome(snapshot=rows(["id"], [1], [1], [2]))).differences
    assert "columns are ['id']" in text


def test_a_column_keeps_its_declared_type() -> None:
    expected = {"columns": ["id"], "rows": [[1]]}
    (text,) = verdict(expected, Outcome(snapshot=rows(["id"], [1], id="bigint"))).differences
    assert "column id is bigint, must be int" in text


def test_a_step_that_should_fail_and_works_is_a_difference_and_vice_versa() -> None:
    empty = {"columns": ["id"], "rows": []}
    refused = {**empty, "error": {"class": "X"}}
    fine, failed = Outcome(snapshot=rows(["id"])), Outcome(error="boom", snapshot=rows(["id"]))
    assert verdict(refused, failed).differences == []
    assert verdict(empty, fine).differences == []
    assert "must fail" in verdict(refused, fine).differences[0]
    assert "boom" in verdict(empty, failed).differences[0]
    unreadable = {"read_error": {"class": "X"}}
    assert verdict(unreadable, Outcome(read_error="boom")).differences == []
    assert "must fail" in verdict(unreadable, fine).differences[0]
    assert "boom" in verdict(empty, Outcome(read_error="boom")).differences[0]
    assert verdict(empty, Outcome()).differences == ["step 0: there is no table"]


def test_an_unlisted_merge_setting_is_a_difference_in_later_steps_too() -> None:
    first, later = {"columns": ["id"], "rows": [], "table_config": SETTINGS}, {"columns": ["id"], "rows": []}
    fine = Outcome(snapshot=rows(["id"]), table_config={**SETTINGS, "hoodie.table.name": "t"})
    marker = "hoodie.record.merge.property.hoodie.payload.delete.field"
    more = Outcome(snapshot=rows(["id"]), table_config={**SETTINGS, marker: "v"})
    assert judged(case(first, later), Played(steps=[fine, fine]), by_decision=False).differences == []
    (text,) = judged(case(first, later), Played(steps=[fine, more]), by_decision=False).differences
    assert text == f"step 1: {marker} is v, must be absent"


def test_a_difference_in_read_optimized_rows_is_only_a_hint() -> None:
    expected = {"columns": ["id"], "rows": [[1]], "rows_ro": []}
    found = verdict(expected, Outcome(snapshot=rows(["id"], [1]), read_optimized=rows(["id"], [1])))
    assert found.differences == []
    assert len(found.hints) == 1


def test_a_decision_replaces_and_removes_parts_of_an_expectation() -> None:
    recorded = {"columns": ["id"], "rows": [], "error": {"class": "X"}}
    decided = Difference(2, "", {0: {"error": None, "rows": [[1]]}})
    played = Played(steps=[Outcome(snapshot=rows(["id"], [1]))])
    assert judged(case(recorded, difference=decided), played, by_decision=True).differences == []
    assert len(judged(case(recorded, difference=decided), played, by_decision=False).differences) == 2


def test_a_failed_creation_ends_the_case() -> None:
    sql = case({"columns": ["id"], "rows": []}, create="sql")
    assert judged(sql, Played(creation_error="boom"), by_decision=True).differences == ["CREATE TABLE fails: boom"]
    decided = case({}, difference=Difference(10, "", {-1: {"error": {"class": "X"}}}), create="sql")
    assert judged(decided, Played(creation_error="boom"), by_decision=True).differences == []
    assert judged(decided, Played(), by_decision=True).differences == ["CREATE TABLE works, but must fail"]
