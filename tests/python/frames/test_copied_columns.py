"""Base files with copied columns and row groups: the rows, counts and changes of files written in full."""

from __future__ import annotations

import random
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from merganser import Table, TableType, WriteOptions
from merganser.counts import CommitCounts

pytestmark = [pytest.mark.e2e, pytest.mark.extensive]

SCHEMA = (
    "id string, ts long, part string, word string, token string, amount decimal(20, 4), at timestamp, day date, "
    "marks array<int>, pair struct<a: int, b: string>, by map<string, double>, flag boolean, _hoodie_is_deleted boolean"
)
ROWS = 18_000
STEPS = 8

#: Of a file with another codec nothing is copied.
COPIED = ["snappy"] * STEPS
WRITTEN = ["gzip", "snappy"] * STEPS


def versions(spark: SparkSession, numbers: str, ts: int, salt: int, deletes: str = "false") -> DataFrame:
    """Rows of the numbers that a condition selects."""
    return (
        spark.range(0, 3 * ROWS, 1, 2)
        .where(numbers)
        .selectExpr(
            "concat('k', lpad(cast(id AS string), 8, '0')) AS id",
            f"cast({ts} AS long) AS ts",
            "concat('p', pmod(id, 2)) AS part",
            f"IF(pmod(hash(id, {salt}), 9) = 0, NULL, concat('w', pmod(hash(id, {salt}, 1), 20))) AS word",
            f"md5(cast(id * 31 + {salt} AS string)) AS token",
            f"cast(pmod(hash(id, {salt}, 2), 100000) / 7 AS decimal(20, 4)) AS amount",
            f"timestamp_micros(pmod(xxhash64(id, {salt}, 3), 1000000000000000)) AS at",
            "date_add(date'2020-01-01', pmod(hash(id), 700)) AS day",
            f"IF(pmod(id, 5) = 0, NULL, array(pmod(hash(id, {salt}), 9), NULL, 3)) AS marks",
            f"named_struct('a', pmod(hash(id, {salt}, 4), 5), 'b', concat('x', pmod(id, 3))) AS pair",
            f"map('m', cast(pmod(hash(id, {salt}, 5), 50) AS double)) AS by",
            "pmod(id, 2) = 0 AS flag",
            f"({deletes}) AS _hoodie_is_deleted",
        )
    )


class Pair:
    """A table whose columns are copied, and one whose files are written in full."""

    def __init__(self, spark: SparkSession, folder: Path, deletes: dict[str, str]) -> None:
        self.spark = spark
        self.step = 0
        options = {"hoodie.table.cdc.enabled": "true", "hoodie.clean.automatic": "false", **deletes}
        self.tables = [
            Table.create(
                spark,
                folder / name,
                SCHEMA,
                record_key="id",
                partition_by="part",
                ordering_by="ts",
                table_type=TableType.COPY_ON_WRITE,
                options=options,
            )
            for name in ("copied", "written")
        ]

    def options(self, i: int) -> dict[str, str]:
        codecs = (COPIED, WRITTEN)[i]
        return {
            "hoodie.parquet.compression.codec": codecs[self.step],
            "hoodie.parquet.block.size": "300000",
            "hoodie.parquet.small.file.limit": "104857600",
        }

    def write(self, rows: DataFrame, kind: str = "upsert") -> None:
        """Write the rows to both tables, with the same counts."""
        found = [
            getattr(table, kind)(rows, options=WriteOptions(hoodie=self.options(i)))
            for i, table in enumerate(self.tables)
        ]
        self.step += 1
        names = [field.name for field in fields(CommitCounts)]
        one, other = ([getattr(result, name) for name in names] for result in found)
        assert one == other
        assert found[0].lateness == found[1].lateness

    def sql(self, statement: str) -> None:
        """Run a statement on both tables; `{t}` is the table."""
        results = []
        for i, table in enumerate(self.tables):
            options = self.options(i)
            for name, value in options.items():
                self.spark.conf.set(name, value)
            try:
                row = self.spark.sql(statement.format(t=f"merganser.`{table.path}`")).collect()[0]
            finally:
                for name in options:
                    self.spark.conf.unset(name)
            results.append([row[name] for name in ("inserted", "updated", "unchanged", "deleted", "late", "ties")])
        self.step += 1
        assert results[0] == results[1]

    def check(self) -> None:
        """Compare rows, their meta columns and the changes."""
        assert self._sum(*map(self._rows, self.tables)) == 1
        assert self._sum(*map(self._changes, self.tables)) == 1

    def _sum(self, *frames: DataFrame) -> int:
        """How many different contents the frames have."""
        return len(
            {
                tuple(
                    frame.selectExpr("count(*)", "sum(cast(xxhash64(to_json(struct(*))) AS decimal(38)))").first() or ()
                )
                for frame in frames
            }
        )

    def _numbered(self, table: Table, instant: str) -> str:
        """The number of a commit, which is the same in both tables."""
        instants = sorted(commit.instant for commit in table.history())
        return f"array_position(array({', '.join(map(repr, instants))}), {instant}) AS commit"

    def _rows(self, table: Table) -> DataFrame:
        rows = self.spark.read.format("merganser").load(str(table.path))
        names = [name for name in rows.columns if not name.startswith("_hoodie_")]
        number = self._numbered(table, "_hoodie_commit_time")
        return rows.selectExpr("_hoodie_record_key", "_hoodie_partition_path", number, *names)

    def _changes(self, table: Table) -> DataFrame:
        return table.change_data(since=min(commit.instant for commit in table.history())).selectExpr(
            "op", "before", "after", self._numbered(table, "instant")
        )


def newest(table: Table) -> list[Path]:
    """The base file of each file group."""
    files = [file for file in Path(str(table.path)).rglob("*.parquet") if ".hoodie" not in file.parts]
    ordered = sorted(files, key=lambda file: file.stem.split("_")[-1])
    return list({file.name.split("_")[0]: file for file in ordered}.values())


def step(pair: Pair, drawn: random.Random) -> str:
    """Write something to both tables."""
    spark, ts, salt = pair.spark, pair.step + 1, drawn.randrange(1000)
    start = drawn.randrange(ROWS)
    near = f"id >= {start} AND id < {start + ROWS // 50}"
    far = f"pmod(xxhash64(id, {salt}), {drawn.choice([7, 500])}) = 0"
    stored = f"id < {ROWS} AND pmod(id, 3) < 2"
    kind = drawn.choice(["near", "far", "late", "equal", "flags", "merge", "update", "delete", "new", "behind"])
    if kind == "near":
        pair.write(versions(spark, f"{near} AND {stored}", ts, salt))
    elif kind == "far":
        pair.write(versions(spark, f"{far} AND {stored}", ts, salt))
    elif kind == "late":
        pair.write(versions(spark, f"{far} AND {stored}", drawn.choice([-1, 0]), salt))
    elif kind == "equal":
        pair.write(versions(spark, f"{near} AND {stored}", 0, 0))
    elif kind == "flags":
        pair.write(versions(spark, f"{far} AND {stored}", ts, salt, "pmod(id, 2) = 0"))
    elif kind == "new":
        pair.write(versions(spark, f"({near} OR {far}) AND id < {ROWS}", ts, salt))
    elif kind == "behind":
        pair.write(versions(spark, f"id >= {ROWS + 200 * ts} AND id < {ROWS + 200 * ts + 200}", ts, salt))
    elif kind == "merge":
        versions(spark, f"{far} AND id < {ROWS}", ts, salt).createOrReplaceTempView("changes")
        pair.sql(
            "MERGE INTO {t} t USING changes s ON t.id = s.id AND t.part = s.part "
            "WHEN MATCHED THEN UPDATE SET word = s.word, by = s.by"
        )
    elif kind == "update":
        pair.sql(f"UPDATE {{t}} SET amount = amount + 1 WHERE pmod(xxhash64(id, {salt}), 300) = 0")
    elif kind == "delete":
        pair.sql(f"DELETE FROM {{t}} WHERE id >= 'k{start:08d}' AND id < 'k{start + 50:08d}'")
    return kind


@pytest.mark.parametrize("seed", range(4))
def test_random_writes_of_copied_files_have_the_rows_counts_and_changes_of_files_written_in_full(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    drawn = random.Random(f"{seed}")
    pair = Pair(spark, tmp_path, {"hoodie.index.bloom.num_entries": "20000", "hoodie.index.type": "BLOOM"})
    pair.write(versions(spark, f"id < {ROWS} AND pmod(id, 3) < 2", 0, 0))
    done = []
    while pair.step < STEPS:
        done.append(step(pair, drawn))
        pair.check()
    copied, written = [sorted(newest(table), key=lambda file: file.parent.name) for table in pair.tables]
    assert len(copied) == len(written) == 2
    for one, other in zip(copied, written, strict=True):
        compare(spark, one, other)
        assert pq.ParquetFile(one).metadata.num_row_groups > 2, done


def compare(spark: SparkSession, one: Path, other: Path) -> None:
    """Compare two base files as plain Spark and pyarrow read them, and their footers."""
    names = [name for name in pq.read_schema(one).names if not name.startswith("_hoodie_") or "key" in name]
    tables = [pq.read_table(file, columns=names) for file in (one, other)]
    assert tables[0].equals(tables[1])
    rows = []
    for vectorized in ("true", "false"):
        spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
        try:
            for file in (one, other):
                rows.append([str(row) for row in spark.read.parquet(str(file)).select(names).collect()])
        finally:
            spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
    assert all(found == rows[0] for found in rows)
    assert len(rows[0]) == tables[0].num_rows
    keys = ("hoodie_min_record_key", "hoodie_max_record_key", "org.apache.hudi.bloomfilter")
    footers = [pq.read_metadata(file).metadata for file in (one, other)]
    for key in keys:
        assert footers[0][key.encode()] == footers[1][key.encode()]
    ranges = [ranges_of(file) for file in (one, other)]
    for column in ("_hoodie_record_key", "ts", "at", "amount", "pair.a"):
        assert ranges[0][column] == ranges[1][column], column


def ranges_of(file: Path) -> dict[str, tuple[Any, Any, int]]:
    """The least and the greatest value of each column, and the number of nulls."""
    metadata = pq.read_metadata(file)
    found: dict[str, tuple[Any, Any, int]] = {}
    for group in range(metadata.num_row_groups):
        for i in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(i)
            stats = chunk.statistics
            if stats is not None and stats.has_min_max:
                least, greatest, nulls = found.get(chunk.path_in_schema, (stats.min, stats.max, 0))
                found[chunk.path_in_schema] = (
                    min(least, stats.min),
                    max(greatest, stats.max),
                    nulls + stats.null_count,
                )
    return found
