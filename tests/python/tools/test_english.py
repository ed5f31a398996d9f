"""The check of English finds phrases where users read them, with their lines, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from dev.english import findings

OPTIONS = "jvm/table/src/main/scala/io/merganser/table/options"


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("README.md", "# Title\n\nNames count in\nany case.\n", "3: 'count in any case': write are case-insensitive"),
        (
            "docs/a/b.md",
            "Old files are\ndeleted that no read needs.",
            "1: 'are deleted that': write the relative clause",
        ),
        (
            "jvm/merge/src/main/resources/io/conditions.json",
            '{\n"A": "It is no table."\n}',
            "2: 'is no table': write is not a",
        ),
        (
            f"{OPTIONS}/Some.scala",
            'val A = write("a", None,\n  "Hours. Most " +\n    "rows to show.")',
            "2: 'Most rows': write maximum number of",
        ),
        (
            "python/src/merganser/some.py",
            'def f(rows):\n    """Return.\n\n    Args:\n        rows: Most rows to show.\n    """\n',
            "5: 'Most rows': write maximum number of",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "/" in value else "",
)
def test_a_phrase_is_reported_with_its_line_and_the_better_form(
    tmp_path: Path, file: str, text: str, expected: str
) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    (found,) = findings(tmp_path)
    assert found.startswith(f"{file}:{expected}")


def test_phrases_in_code_are_not_reported(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Run `not set: x`.\n\n```python\n# names count in any case\n```\n")
    package = tmp_path / "python" / "src" / "merganser"
    package.mkdir(parents=True)
    (package / "some.py").write_text('# Names count in any case.\nX = "not set: "\n')
    assert not list(findings(tmp_path))


def test_words_that_only_begin_like_a_phrase_are_not_reported(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("There is no table. It is no longer there. They are no larger. Most of them.\n")
    assert not list(findings(tmp_path))
