"""Names of tests that do not show at first sight what is tested, and what to write instead.

A name has a subject, a verb and an outcome: "a late delete does not remove a newer row". The check finds the names
that miss one of them by their words: too few or too many, or a phrase that stands in for the thing itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

FEWEST_WORDS = 3
MOST_CHARACTERS = 120
"""In a name as it is read: a variable in it counts as one."""

PHRASES = {
    r"^(?:it|so|that|there|they|these|those|what|which|whichever|who|whoever)\b": "the subject: a name stands alone",
    r"\b(?:knows?|knew|says?|said|speaks?|tells?|told)\b": "the fact: a file contains …, an error names …",
    r"\b(?:anew|as good as|in the way of|of ours|one of its own|passed over)\b": "again, equals, blocks, ours, ignored",
}

PYTHON = re.compile(r"^[ \t]*(?:async )?def test_(\w+)", re.MULTILINE)
VALUE = r"\$\{(?:[^{}\"]|\"[^\"]*\"|\{[^{}]*\})*\}|\$\w+"
SCALA = re.compile(r'(?<![\w.])(?:property|test)\(\s*(?=s?")')
STRING = re.compile(rf'(s?)"((?:[^"\\$]|\\.|{VALUE}|\$)*)"\s*(\+\s*(?=s?"))?')


def findings(root: Path) -> Iterator[str]:
    """A line for each name that is refused: where, the name, and what to write."""
    for pattern, names in (("tests/python/**/test_*.py", _of_python), ("jvm/*/src/test/**/*.scala", _of_scala)):
        for file in sorted(root.glob(pattern)):
            for line, name in names(file.read_text()):
                for reason in _reasons(name):
                    yield f"{file.relative_to(root)}:{line}: '{name}': {reason}"


def _reasons(name: str) -> Iterator[str]:
    """A name of variables alone has none."""
    words = name.split()
    if len(words) < FEWEST_WORDS and re.search(r"\w", name):
        yield f"{len(words)} words: write subject, verb and outcome"
    if len(name) > MOST_CHARACTERS:
        yield f"{len(name)} characters: write at most {MOST_CHARACTERS}"
    for phrase, better in PHRASES.items():
        if match := re.search(phrase, name, re.IGNORECASE):
            yield f"instead of '{match[0]}' write {better}"


def _of_python(source: str) -> Iterator[tuple[int, str]]:
    for match in PYTHON.finditer(source):
        yield source.count("\n", 0, match.start()) + 1, match[1].replace("_", " ")


def _of_scala(source: str) -> Iterator[tuple[int, str]]:
    for match in SCALA.finditer(source):
        name, place, more = "", match.end(), True
        while more and (part := STRING.match(source, place)):
            name += re.sub(VALUE, "…", part[2]) if part[1] else part[2]
            place, more = part.end(), part[3] is not None
        yield source.count("\n", 0, match.start()) + 1, name
