"""Every result is frozen, prints as one line, and has more lines in ``show()`` and a table in notebooks."""

from __future__ import annotations

import json
import types
import typing
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields, is_dataclass
from datetime import datetime, timezone
from typing import Any

import pytest

import merganser
from merganser._shown import Results, Shown

TEXT = "two\nlines"
#: Dataclasses of a statement, which are no results.
GIVEN = {
    "Merge",
    "WhenMatchedDelete",
    "WhenMatchedUpdate",
    "WhenNotMatchedBySourceDelete",
    "WhenNotMatchedBySourceUpdate",
    "WhenNotMatchedInsert",
    "WriteOptions",
}
RESULTS = sorted(name for name in merganser.__all__ if is_dataclass(getattr(merganser, name)) and name not in GIVEN)


def value(hint: Any, full: bool) -> Any:
    """A value of a type: text of two lines, the number 7, one element; or as little as there can be."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, getattr(types, "UnionType", None)):
        return value(inner[0], full) if full or type(None) not in inner else None
    if origin is tuple and inner[-1] is Ellipsis:
        return (value(inner[0], full),) if full else ()
    if origin is tuple:
        return tuple(value(one, full) for one in inner)
    if origin in (dict, Mapping):
        return {TEXT: value(inner[1], full)} if full else {}
    if isinstance(hint, type) and issubclass(hint, Shown):
        return made(hint, full)
    if isinstance(hint, typing.TypeVar):  # of counts, which the history has as None too
        hint = int
    plain = {str: TEXT, int: 7, bool: True, datetime: datetime(2026, 1, 31, tzinfo=timezone.utc), Any: {"a": TEXT}}
    return plain[hint] if full else {str: "x", int: 0, bool: False, Any: None}.get(hint, plain[hint])


def made(kind: type[Any], full: bool) -> Any:
    hints = typing.get_type_hints(kind)
    values = {one.name: value(hints[one.name], full) for one in fields(kind)}
    if kind is merganser.RecordExplanation:
        values["next_compaction"] = defaultdict(lambda: TEXT)
    return kind(**values)


@pytest.mark.parametrize("full", [True, False], ids=["with everything", "empty"])
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_prints_as_one_line(name: str, full: bool, capsys: pytest.CaptureFixture[str]) -> None:
    one = made(getattr(merganser, name), full)
    assert isinstance(one, Shown)
    with pytest.raises(FrozenInstanceError):
        setattr(one, fields(one)[0].name, None)
    for line in (str(one), repr(one)):
        assert line
        assert "\n" not in line
    one.show()
    assert capsys.readouterr().out == f"{one.to_string()}\n"
    assert one._repr_html_().startswith(("<table", "<p", "<h4"))
    assert {field.name for field in fields(one)} <= set(json.loads(json.dumps(one.to_dict(), default=str)))


def test_every_result_that_a_call_returns_is_public() -> None:
    assert {"CommitResult", "DryRun", "ServiceDryRun", "RuleComparison", "VerifyResult", "RecordExplanation"} <= {
        *RESULTS
    }
    subclasses, found = [Shown], set()
    while subclasses:
        for kind in subclasses.pop().__subclasses__():
            subclasses.append(kind)
            if kind.__module__ != "merganser.counts" and not kind.__name__.startswith("_"):  # what results inherit
                found.add(kind.__name__)
    assert sorted(found) == RESULTS


def test_a_list_of_results_shows_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    two = Results([made(merganser.LogFile, True)] * 2)
    two.show()
    assert capsys.readouterr().out.splitlines() == two.to_string().splitlines() == [str(one) for one in two]
