"""The list of Spark's own tests of MERGE, UPDATE and DELETE: each has a test of ours, or a reason why not."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON whose names differ."""
    twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    assert not twice, f"named twice: {twice}"
    return dict(pairs)


@pytest.fixture(scope="module")
def spark_tests() -> dict[str, list[str]]:
    """Names of the tests in Spark 3.5.9 and 4.2.0, by suite."""
    return json.loads((HERE / "row_level_suites.json").read_text(), object_pairs_hook=once)


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """By suite and name of Spark's test: names of ours, or a word under which `why not` has the reason."""
    return json.loads((HERE / "row_level_answers.json").read_text(), object_pairs_hook=once)


def own_tests() -> Counter[str]:
    """Test functions of the files in this folder."""
    trees = [ast.parse(file.read_text()) for file in sorted(HERE.glob("test_*.py"))]
    named = [node.name for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    return Counter(name for name in named if name.startswith("test_"))


def test_every_test_of_sparks_suites_has_an_answer_and_no_other(
    spark_tests: dict[str, list[str]], answers: dict[str, Any]
) -> None:
    assert sum(map(len, spark_tests.values())) > 300
    for suite, names in spark_tests.items():
        assert len(names) == len(set(names)), suite
    assert {suite: set(names) for suite, names in spark_tests.items()} == {
        suite: set(given) for suite, given in answers.items() if suite != "why not"
    }


def test_every_test_of_ours_that_answers_exists_once(answers: dict[str, Any]) -> None:
    ours = own_tests()
    named = {
        name
        for suite, given in answers.items()
        if suite != "why not"
        for answer in given.values()
        if isinstance(answer, list)
        for name in answer
    }
    assert len(named) > 50
    assert {name: ours[name] for name in named if ours[name] != 1} == {}
    for suite, given in answers.items():
        for name, answer in given.items():
            assert answer, f"{suite}: {name}"


def test_every_reason_why_not_is_written_down_and_used(answers: dict[str, Any]) -> None:
    used = {
        answer
        for suite, given in answers.items()
        if suite != "why not"
        for answer in given.values()
        if isinstance(answer, str)
    }
    assert used == set(answers["why not"])
    assert all(len(reason.split()) > 8 and reason.endswith(".") for reason in answers["why not"].values())
