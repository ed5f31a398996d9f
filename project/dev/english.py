"""Phrases over which readers stumble, and what to write instead, in the pages and in texts that users see.

Each is English word by word, but not what an engineer writes: a relative clause far from its noun, a description
without a verb, the word order of another language. A space in a phrase stands for any whitespace.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PAST = "(?:counted|deleted|kept|listed|merged|read|removed|retained|taken|written)"
END = "(?=[,.;:)])"

PHRASES = {
    r"\bleft as (?:it|they) (?:was|were|is|are)\b": "left unchanged, did not change",
    rf"\b(?:is|are|be|was|were) {PAST} that\b": "the relative clause after its noun: files that … are read",
    rf"(?<=[.:;] )(?:{PAST}|refused|missing) (?:is|are)\b(?! (?:not|only))": "the subject first: … are refused",
    r"(?<!there )\b(?:is|are) no (?!longer|more|such|other|better|less|\w+er\b)\w+" + END: "is not a …",
    r"\b(?:is|are) none of (?:them|these)\b": "is not one of …, is not included",
    r"\ban? [\w-]+(?: [\w-]+)? of hudi's\b(?! )": "a … made by Hudi, one of Hudi's …",
    r"\b(?:and|or|one of) (?:its|their) like\b": "and the other …",
    r"\bby default by\b": "default: by …",
    r"\bcount in any case\b": "are case-insensitive",
    r"\bdiffers? in case only\b": "differ only in case",
    r"\bfor good" + END: "forever",
    r"\bin its place" + END: "instead",
    r"\bline of time\b": "timeline",
    r"\bnot set: ": "if unset: …",
    r"\bof (?:before|now)" + END: "the earlier …, the current …",
    r"\bone (?:event|level|parameter|row|value) an? (?:column|file|key|line|partition|row|table)\b": "one … per …",
    r"\bso many (?:bytes|commits|days|files|hours|rows|values)\b": "that many, a number of …",
    r"(?<=[.:;] )most (?:bytes|copies|file groups|groups|of these|rows)\b": "maximum number of …",
    r"\bwhatever (?:its|their) ": "regardless of …",
    r"\bwithout effect where\b": "no effect if …",
}


def findings(root: Path) -> Iterator[str]:
    """A line for each phrase that is found: where, its words, and what to write."""
    for file in files(root):
        for line, words, better in found(prose(file)):
            yield f"{file.relative_to(root)}:{line}: '{words}': write {better}"


def files(root: Path) -> list[Path]:
    """Pages, messages, texts of options, calls, counts, laws and explanations, and the Python package."""
    patterns = (
        "*.md",
        "docs/**/*.md",
        "jvm/*/src/main/resources/**/conditions.json",
        "jvm/merge/src/main/scala/io/merganser/merge/buffer/MergeCounts.scala",
        "jvm/merge/src/main/scala/io/merganser/merge/laws/RuleLaw.scala",
        "jvm/spark/src/main/scala/io/merganser/spark/sql/procedures/*.scala",
        "jvm/table/src/main/scala/io/merganser/table/explain/*.scala",
        "jvm/table/src/main/scala/io/merganser/table/options/*.scala",
        "python/src/merganser/**/*.py",
    )
    return [file for pattern in patterns for file in sorted(root.glob(pattern))]


def found(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, words and the better form of each phrase in a text."""
    words = list(re.finditer(r"\S+", text))
    joined = " ".join(word[0] for word in words)
    for phrase, better in PHRASES.items():
        for match in re.finditer(phrase, joined, re.IGNORECASE):
            first = words[joined.count(" ", 0, match.start())]
            yield text.count("\n", 0, first.start()) + 1, match[0].strip(), better


def prose(file: Path) -> str:
    """The text of a file that is read, on the lines where it is: no code."""
    source = file.read_text()
    if file.suffix == ".md":
        return re.sub(r"```.*?```|`[^`]*`", lambda code: "`_`" + _lines(code[0]), source, flags=re.DOTALL)
    if file.suffix == ".scala":
        return _strings(source)
    if file.suffix == ".py":
        return _docstrings(source)
    return source


def _strings(source: str) -> str:
    """The strings of Scala sources, those joined by a plus as one."""
    parts = re.split(r'"((?:[^"\\\n]|\\.)*)"', source)
    for place in range(0, len(parts), 2):
        is_join = re.fullmatch(r"\s*\+\s*s?", parts[place])
        parts[place] = ("" if is_join else " ; ") + _lines(parts[place])
    return "".join(parts)


def _docstrings(source: str) -> str:
    """The strings of Python sources that are statements."""
    lines = source.split("\n")
    kept = [""] * len(lines)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            kept[node.lineno - 1 : node.end_lineno] = lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(kept)


def _lines(text: str) -> str:
    return "\n" * text.count("\n")
