"""The list of Spark's own tests of MERGE, UPDATE and DELETE names tests of ours that exist, or a reason why not."""

from __future__ import annotations

import ast
import json
from collections import Counter
from typing import Any

from places import PYTESTS, TESTS


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON whose names differ."""
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    assert not twice, f"named twice: {twice}"
    return dict(pairs)


def test_each_spark_test_is_matched_by_our_tests_or_by_a_reason() -> None:
    answers = json.loads((TESTS / "python/sql/row_level_answers.json").read_text(), object_pairs_hook=once)
    reasons = answers.pop("why not")
    trees = [ast.parse(file.read_text()) for file in PYTESTS.values()]
    ours = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef))
    answered = {(suite, name): answer for suite, named in answers.items() for name, answer in named.items()}
    assert len(answered) > 300
    assert all(answered.values())
    assert {answer for answer in answered.values() if isinstance(answer, str)} == set(reasons)
    named = {name for answer in answered.values() if isinstance(answer, list) for name in answer}
    assert {name: ours[name] for name in named if ours[name] != 1} == {}
