"""Make the golden tables again, with the real Apache Hudi: see README.md in this folder.

    python tests/golden/make_golden.py HUDI_JAR [NAME ...]

Each table is a story in ``stories.py``. Beside the table's files this writes ``expected.json``, what Hudi itself reads
from them. Without names all tables are made.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parent
sys.path[:0] = [str(GOLDEN), str(GOLDEN.parent)]

from interop.frames import Schema  # noqa: E402
from interop.hudi_session import (  # noqa: E402
    QUIET,
    compact_table,
    merge_into_table,
    read_table,
    run_statements,
    start_session,
    table_properties,
    write_table,
)

META = ["_hoodie_commit_time", "_hoodie_record_key", "_hoodie_partition_path"]
LEFTOVERS = [".temp", ".heartbeat", ".locks", ".aux", ".hoodie.properties.crc"]
#: Settings with which Hudi stores versions of columns, and reads nested ones by them.
SCHEMA_ON_READ = {
    "hoodie.schema.on.read.enable": "true",
    "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true",
    "spark.sql.parquet.enableVectorizedReader": "false",
}
BLOCK_KINDS = ["command", "delete", "corrupt", "avro", "hfile", "parquet", "cdc"]


class Story:
    """One table while it is being made: the words in which ``stories.py`` tells it."""

    def __init__(self, spark: Any, name: str) -> None:
        self.spark = spark
        self.name = name
        self.folder = GOLDEN / name
        self.path = str(self.folder / "table")
        self.schema: Schema = ""
        self.options: dict[str, str] = {}
        self.mode = "overwrite"

    def table(
        self,
        kind: str,
        schema: Schema,
        *,
        key: str = "",
        partition: str = "",
        ordering: str = "",
        **options: str,
    ) -> None:
        """Settings of the table, used by its first write and passed on all of them. Without a key Hudi generates it."""
        self.schema = schema
        self.options = {
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.table.type": kind,
            **({"hoodie.datasource.write.recordkey.field": key} if key else {}),
            "hoodie.datasource.write.partitionpath.field": partition,
            "hoodie.parquet.small.file.limit": "0",
            **({"hoodie.table.ordering.fields": ordering} if ordering else {}),
            **options,
        }

    def declare(self, kind: str, columns: str, *, key: str, partition: str, ordering: str, **options: str) -> None:
        """Settings of the table, which CREATE TABLE stores: data frames do not store all of them."""
        self.table(kind, columns, key=key, partition=partition, ordering=ordering, **options)
        stored = {"primaryKey": key, "preCombineField": ordering, "type": "cow" if kind[0] == "C" else "mor", **options}
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in stored.items())
        self.spark.sql(
            f"CREATE TABLE {self.name} ({columns}) USING hudi PARTITIONED BY ({partition}) "
            f"TBLPROPERTIES ({properties}) LOCATION '{self.path}'"
        )
        self.spark.sql(f"DROP TABLE {self.name}")
        self.mode = "append"

    def write(self, operation: str, *rows: Sequence[Any], schema: Schema = "", **options: str) -> None:
        """One commit."""
        settings = {**self.options, **options}
        write_table(self.spark, self.path, schema or self.schema, rows, operation, self.mode, settings)
        self.mode = "append"

    def upsert(self, *rows: Sequence[Any], **options: str) -> None:
        self.write("upsert", *rows, **options)

    def delete(self, schema: Schema, *rows: Sequence[Any]) -> None:
        self.write("delete", *rows, schema=schema)

    def compact(self, op: str = "scheduleAndExecute") -> None:
        settings = {k: v for k, v in self.options.items() if k.startswith("hoodie.write.")}
        compact_table(self.spark, self.path, op, settings)

    def cluster(self, op: str, **options: str) -> None:
        """Hudi's run_clustering procedure: ``schedule`` or ``execute``."""
        settings = {**QUIET, **self.options, **options}
        text = ",".join(f"{key}={value}" for key, value in settings.items() if value)
        self.spark.sql(f"CALL run_clustering(op => '{op}', path => '{self.path}', options => '{text}')").collect()

    def merge(self, schema: Schema, rows: Sequence[Sequence[Any]], clauses: str) -> None:
        """SQL MERGE INTO the table as ``t``, from ``rows`` as ``s``."""
        merge_into_table(self.spark, self.path, schema, rows, clauses)

    def alter(self, *changes: str) -> None:
        """ALTER TABLE, one commit for each change; from then on Hudi stores and reads versions of the columns."""
        for key, value in SCHEMA_ON_READ.items():
            self.spark.conf.set(key, value)
        self.run(*(f"ALTER TABLE {self.name} {change}" for change in changes))

    def run(self, *statements: str) -> None:
        """SQL statements on the table by its name."""
        table = f"CREATE TABLE {self.name} USING hudi LOCATION '{self.path}'"
        alone = "SET hoodie.parquet.small.file.limit=0"
        run_statements(self.spark, [table, alone, *statements, f"DROP TABLE {self.name}"])

    def finish(self, holds: set[str]) -> None:
        """Read the table with Hudi, write ``expected.json``, drop what is no part of a table.

        Raises:
            AssertionError: The table lacks a kind of log block that its story promises.
        """
        kinds = log_block_kinds(Path(self.path))
        assert kinds == holds, f"{self.name} has {kinds} blocks, its story promises {holds}"
        expected = self.expected()
        for key in SCHEMA_ON_READ:
            self.spark.conf.unset(key)
        clean(Path(self.path))
        (self.folder / "expected.json").write_text(layout(expected), encoding="utf-8")

    def expected(self) -> dict[str, Any]:
        properties = table_properties(self.path)
        snapshot = split(read_table(self.spark, self.path))
        optimized = split(read_table(self.spark, self.path, "read_optimized"))
        expected: dict[str, Any] = {
            "table": {
                "name": properties["hoodie.table.name"],
                "type": properties["hoodie.table.type"],
                "version": int(properties["hoodie.table.version"]),
                "record_key": fields(properties, "hoodie.table.recordkey.fields"),
                "partition": fields(properties, "hoodie.table.partition.fields"),
                "ordering": fields(properties, "hoodie.table.ordering.fields"),
                "merge_mode": properties.get("hoodie.record.merge.mode"),
                "key_generator": properties.get("hoodie.table.keygenerator.type"),
            },
            "properties": dict(sorted(properties.items())),
            "log_blocks": sorted(log_block_kinds(Path(self.path))),
            **snapshot,
        }
        for name in ("columns", "rows", "meta_rows"):
            if optimized[name] != snapshot[name]:
                expected[f"{name}_ro"] = optimized[name]
        return expected


def split(read: dict[str, Any]) -> dict[str, Any]:
    """Business columns and, row by row beside them, the meta columns that tests compare, if Hudi reads any."""
    names = [name for name, _ in read["columns"]]
    business = [i for i, name in enumerate(names) if not name.startswith("_hoodie_") or name == "_hoodie_is_deleted"]
    meta = [names.index(name) for name in META if name in names]
    rows = sorted(read["rows"], key=lambda row: json.dumps([[row[i] for i in reversed(meta)][:2], row]))
    return {
        "columns": [read["columns"][i] for i in business],
        "rows": [[row[i] for i in business] for row in rows],
        "meta_columns": [names[i] for i in meta],
        "meta_rows": [[row[i] for i in meta] for row in rows],
    }


def fields(properties: dict[str, str], key: str) -> list[str]:
    return [field for field in properties.get(key, "").split(",") if field]


def layout(expected: dict[str, Any]) -> str:
    """JSON with one row a line."""

    def block(value: Any) -> str:
        if isinstance(value, list) and value and isinstance(value[0], list):
            return "[\n    " + ",\n    ".join(json.dumps(r, ensure_ascii=False) for r in value) + "\n  ]"
        if isinstance(value, dict):
            pairs = (f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items())
            return "{\n    " + ",\n    ".join(pairs) + "\n  }"
        return json.dumps(value, ensure_ascii=False)

    return "{\n  " + ",\n  ".join(f'"{key}": {block(value)}' for key, value in expected.items()) + "\n}\n"


def log_block_kinds(table: Path) -> set[str]:
    """Kinds of the blocks in all log files: type number after magic (6 bytes), length (8) and version (4)."""
    kinds = set()
    for log in table.rglob(".*.log.*"):
        data, position = log.read_bytes(), 0
        if log.name.endswith(".crc"):
            continue
        while position < len(data):
            assert data[position : position + 6] == b"#HUDI#", f"{log} has no block at {position}"
            length = int.from_bytes(data[position + 6 : position + 14], "big")
            kinds.add(BLOCK_KINDS[int.from_bytes(data[position + 18 : position + 22], "big")])
            position += 14 + length
    return kinds


def clean(table: Path) -> None:
    for crc in table.rglob(".*.crc"):
        crc.unlink()
    for name in LEFTOVERS:
        shutil.rmtree(table / ".hoodie" / name, ignore_errors=True)
    # each file of versions has all that are in earlier ones
    versions = table / ".hoodie" / ".schema"
    for file in sorted(versions.glob("*"), key=lambda file: file.name.split("_")[0].split(".")[0])[:-3]:
        file.unlink()
    if versions.is_dir() and not any(versions.iterdir()):
        versions.rmdir()


def main(jar: str, names: Sequence[str]) -> None:
    from stories import STORIES

    unknown = set(names) - set(STORIES)
    if unknown:
        sys.exit(f"No story is called {', '.join(sorted(unknown))}. There are: {', '.join(STORIES)}")
    spark = start_session(jar)
    for name in names or STORIES:
        story = Story(spark, name)
        shutil.rmtree(story.folder, ignore_errors=True)
        tell, holds = STORIES[name]
        tell(story)
        story.finish(holds)
        size = sum(file.stat().st_size for file in story.folder.rglob("*") if file.is_file())
        print(f"{name}: {size / 1000:.0f} kB", flush=True)
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python make_golden.py HUDI_JAR [NAME ...]")
    bundle = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:  # Spark leaves folders where it runs
        os.chdir(scratch)
        main(str(bundle), sys.argv[2:])
        os.chdir(GOLDEN)
