"""Sequences of SQL statements that are played on either engine; ``sql/README.md`` has their form."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "sql"

HEADING = "-- # "
VARIANTS = "-- for "
VALUES = "--   "


@dataclass(frozen=True)
class Sequence:
    """Statements with the placeholders of :mod:`interop.sql_player`, in Hudi's words. ``name`` is a sentence."""

    name: str
    topic: str
    statements: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """What a record of this sequence is a record of."""
        return hashlib.sha256("\n;\n".join(self.statements).encode()).hexdigest()[:12]

    @property
    def number(self) -> int:
        """A number that looks random and is the same in each run."""
        return zlib.crc32(self.name.encode())


def load_sequences() -> list[Sequence]:
    """All sequences, in the order of the files.

    Raises:
        ValueError: Two have one name, or a file has another form.
    """
    found = [sequence for file in sorted(FOLDER.glob("*.sql")) for sequence in _parsed(file.stem, file.read_text())]
    names = [sequence.name for sequence in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"Two sequences have one name: {twice}")
    return found


def _parsed(topic: str, text: str) -> Iterator[Sequence]:
    for part in re.split(rf"^{HEADING}", text, flags=re.MULTILINE)[1:]:
        name, _, rest = part.partition("\n")
        lines = rest.splitlines()
        header = [line for line in lines if line.startswith("--")]
        body = "\n".join(line for line in lines if not line.startswith("--"))
        for values in _variants(header, body):
            filled = _filled(body, values)
            statements = tuple(s.strip() for s in re.split(r";\s*(?:\n|$)", filled) if s.strip())
            if not statements:
                raise ValueError(f"{topic}.sql: '{name}' has no statement")
            kind = f" [{values['type']}]" if "type" in values and "{type}" not in name else ""
            yield Sequence(_filled(name, values) + kind, topic, statements)


def _variants(header: list[str], body: str) -> list[dict[str, str]]:
    """What the placeholders stand for, for each variant; one without placeholders if there are no variants."""
    keys: list[str] = []
    variants: list[dict[str, str]] = []
    for line in header:
        if line.startswith(VARIANTS):
            keys = [key.strip() for key in line.removeprefix(VARIANTS).split("|")]
        elif line.startswith(VALUES) and keys:
            values = [value.strip() for value in line.removeprefix(VALUES).split(" | ")]
            if len(values) != len(keys):
                raise ValueError(f"'{line}' has {len(values)} values for {keys}")
            variants.append(dict(zip(keys, values)))
    variants = variants or [{}]
    if "{type}" in body:
        variants = [{**variant, "type": kind} for variant in variants for kind in ("cow", "mor")]
    return variants


def _filled(text: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return text
