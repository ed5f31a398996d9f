"""The check of test names finds names that are no sentences, with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from dev.naming import findings


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("options", "1 words: write subject, verb and outcome"),
        ("what a failed write left is removed", "instead of 'what' write the subject"),
        ("a commit tells its rows", "instead of 'tells' write the fact"),
        ("a late delete " + "does not remove a newer row and " * 4, "characters: write at most 120"),
    ],
)
def test_a_name_that_is_no_sentence_is_reported_in_both_languages(tmp_path: Path, name: str, expected: str) -> None:
    python = written(tmp_path, "tests/python/frames/test_some.py", f"\ndef test_{name.strip().replace(' ', '_')}():\n")
    scala = written(tmp_path, "jvm/table/src/test/scala/SomeSuite.scala", f'\n\n  test("{name.strip()}") {{\n')
    found = list(findings(tmp_path))
    assert [line.rpartition(": '")[0] for line in found] == [f"{python}:2", f"{scala}:3"]
    assert all(expected in line for line in found)


@pytest.mark.parametrize(
    "literal",
    [
        '"a late delete does not " +\n      s"remove a newer row"',
        's"$kind, ${if (isLate) "late" else "early " + x}: a delete " +\n "removes the row"',
        's"$name: $law"',
    ],
)
def test_sentences_in_joined_strings_and_names_of_variables_are_accepted(tmp_path: Path, literal: str) -> None:
    written(tmp_path, "jvm/table/src/test/scala/SomeSuite.scala", f"test(\n  {literal}) {{\n")
    assert not list(findings(tmp_path))


def test_a_joined_string_is_read_as_one_name(tmp_path: Path) -> None:
    written(
        tmp_path, "jvm/table/src/test/scala/SomeSuite.scala", 'test("a commit has " +\n  s"$n rows and says so") {\n'
    )
    (found,) = findings(tmp_path)
    assert "'a commit has … rows and says so': instead of 'says'" in found


def written(root: Path, name: str, text: str) -> str:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)
    return name
