"""Tables as earlier writers left them, in forms that no write of ours makes; `foreign_forms.py` lists the forms.

A table is written with strings for keys and partition paths, in two columns of its own, and with times in the unit of
the form. Then its properties and commits are rewritten, so that keys and paths are those of the form's columns, and
these have the form's type. Strings, paths and units are spelled by the form: what computes them here has no part in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import avro_container
from frames import frame, save
from option_names import COW, KEY, MOR, ORDERING, PARTITION, TYPE
from pyspark.sql import DataFrame, SparkSession

from merganser import Table

VERSIONS = ("6", "8", "9")
#: The columns of the strings.
TEXTS = "key_text string, path_text string"
QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
#: Settings of keys that Hudi leaves to each write.
NOT_STORED = (
    "hoodie.write.complex.keygen.new.encoding",
    "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled",
)
CLASSES = {
    "SIMPLE": "SimpleKeyGenerator",
    "COMPLEX": "ComplexKeyGenerator",
    "TIMESTAMP": "TimestampBasedKeyGenerator",
    "CUSTOM": "CustomKeyGenerator",
    "NON_PARTITION": "NonpartitionedKeyGenerator",
    "GLOBAL_DELETE": "GlobalDeleteKeyGenerator",
}


@dataclass(frozen=True)
class Place:
    """What the rows of one partition have in common."""

    path: str
    values: tuple[Any, ...] = ()
    """Of the form's columns."""
    key: str = "{id}"
    stored: tuple[Any, ...] | None = None
    """The values as they are written, where they have another type or unit then."""


@dataclass(frozen=True)
class Form:
    """How an earlier writer left a table. Rows with an odd id are in the first place, the others in the second."""

    columns: str
    places: tuple[Place, Place]
    key: str = "id"
    partition: str = ""
    """Fields as the table's properties have them."""
    generator: str = "SIMPLE"
    properties: dict[str, str] = field(default_factory=dict)
    stored: str | None = None
    """The columns as they are written, where these have another type then."""
    schema: tuple[tuple[str, str], ...] = ()
    """Parts of the schema of what is written, and what the table's schema has in their places."""
    versions: tuple[str, ...] = VERSIONS
    kinds: tuple[str, ...] = (COW, MOR)
    damage: Callable[[Path], None] | None = None
    opened: str | None = None
    """The condition by which every use is refused."""
    read: str | None = None
    """The same for reads."""
    write: str | None = None
    """The same for writes that look up keys."""
    upgrade: str | None = None
    found: frozenset[str] = frozenset()
    """The checks in which a verification finds something: in none of a table that Hudi leaves regularly."""
    repair: Callable[[Table], object] | None = None
    """After it, nothing is refused any more."""

    @property
    def names(self) -> list[str]:
        return [column.split()[0] for column in self.columns.split(", ") if column]

    def place(self, id: int) -> Place:
        return self.places[1 - id % 2]

    def key_of(self, id: int) -> str:
        return self.place(id).key.format(id=id)


def make(spark: SparkSession, path: Path, form: Form, version: str, kind: str) -> Table:
    write(spark, path, form, version, kind)
    return Table.load(spark, str(path))


def write(spark: SparkSession, path: Path, form: Form, version: str, kind: str) -> None:
    """Rows 1 to 3, of which row 2 was written twice: in a log, if the table has logs."""
    options = {
        KEY: "key_text",
        **({PARTITION: "path_text"} if form.partition else {}),
        ORDERING: "ts",
        TYPE: kind,
        "hoodie.write.table.version": version,
        "hoodie.logfile.data.block.format": "avro" if version == "6" else "parquet",
        "spark.merganser.write.allowAmbiguousKeys": "true",
        **QUIET,
    }
    for rows in ((1, 1, "a"), (2, 1, "a"), (3, 1, "a")), ((2, 2, "b"),):
        save(rows_of(spark, form, *rows, stored=True), path, options)
    restate(path, form, version)
    for commit in commits(path):
        rewrite(commit, *form.schema)
    if form.damage:
        form.damage(path)
    assert kind != MOR or list(path.rglob("*.log.*"))


def rows_of(spark: SparkSession, form: Form, *rows: tuple[int, int, str], stored: bool = False) -> DataFrame:
    """Rows (id, ts, v) with the columns of the form: as users have them, or as they are written at first."""

    def values(place: Place) -> tuple[Any, ...]:
        return place.stored if stored and place.stored is not None else place.values

    columns = form.stored if stored and form.stored is not None else form.columns
    filled = [(*row, *values(form.place(row[0])), form.key_of(row[0]), form.place(row[0]).path) for row in rows]
    return frame(spark, filled, ", ".join(filter(None, ["id int, ts bigint, v string", columns, TEXTS])))


def restate(path: Path, form: Form, version: str) -> None:
    """The properties as the form's writer leaves them: before version 8 with the class of the key generator."""
    file = path / ".hoodie" / "hoodie.properties"
    old = "hoodie.table.keygenerator", "hoodie.table.recordkey.fields", "hoodie.table.partition.fields"
    old += "hoodie.table.partition_extractor_class", *NOT_STORED, "merganser."
    lines = [line for line in file.read_text().splitlines() if not line.startswith((*old, *form.properties))]
    generator = (
        {"hoodie.table.keygenerator.class": f"org.apache.hudi.keygen.{CLASSES.get(form.generator)}"}
        if version == "6"
        else {"hoodie.table.keygenerator.type": form.generator}
    )
    fields = {"hoodie.table.recordkey.fields": form.key, "hoodie.table.partition.fields": form.partition}
    pairs = {**generator, **{key: value for key, value in fields.items() if value}, **form.properties}
    lines += [f"{key}={value}" for key, value in pairs.items()]
    replace(file, "\n".join([*lines, ""]).encode())


def commits(path: Path) -> list[Path]:
    """The files of completed writes, oldest first."""
    files = [f for f in (path / ".hoodie").rglob("*commit") if f.is_file() and not f.name.startswith(".")]
    return sorted(files, key=lambda file: file.name)


def rewrite(commit: Path, *changes: tuple[str, str]) -> None:
    """Parts of the schema or whole strings changed, and what only our commits have renamed."""
    data = commit.read_bytes().replace(b"merganser.", b"elsewhere.")
    for old, new in changes:
        if data.startswith(avro_container.MAGIC):
            data = avro_container.replaced(data, old, new)
        else:
            data = json.dumps(in_json(json.loads(data), old, new)).encode()
    replace(commit, data)


def in_json(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {in_json(key, old, new): in_json(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [in_json(item, old, new) for item in value]
    if isinstance(value, str) and (value == old or value.startswith('{"type":"record"')):
        return value.replace(old, new)
    return value


def replace(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
