"""TPC-H's lineitem, batches of changes to it, and what they come to.

Every file holds lineitem's columns and `ts`, the ordering field. A row of the table has `ts` 1,000,000; batch n sends
rows with a `ts` n above that, and late ones n below it. So no two versions of a key tie but those that a batch sends
twice.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

KEY = ["l_orderkey", "l_linenumber"]
ORDERING = "ts"
THREE_COLUMNS = ["l_orderkey", "l_quantity", "l_shipdate"]

CHANGED = 0.05  # of the table's rows, a batch
LATE, NEW, DOUBLED = 0.2, 0.01, 0.01  # of a batch's rows
_STORED = 1_000_000
_NEW_KEYS = 1_000_000_000  # above all that the generator makes


@dataclass(frozen=True)
class Lineitem:
    """Paths of Parquet files, and the checksum of the table that all batches leave."""

    table: str
    schema: StructType
    batches: list[str]
    loaded: tuple[int, int]
    merged: tuple[int, int]
    size_bytes: int


def generate(spark: SparkSession, folder: Path, *, scale: float, files: int, batches: int) -> Lineitem:
    """Make the table and its batches below a folder."""
    _run_generator(folder / "generated", scale)
    table = str(folder / "lineitem")
    rows = spark.read.parquet(str(folder / "generated" / "lineitem.parquet"))
    with_ordering = rows.withColumn(ORDERING, F.lit(_STORED).cast("long"))
    with_ordering.repartitionByRange(files, *KEY).sortWithinPartitions(*KEY).write.parquet(table)
    stored = spark.read.parquet(table)
    paths = []
    for number in range(1, batches + 1):
        paths.append(str(folder / f"batch-{number}"))
        _changes(stored, number).write.parquet(paths[-1])
    return Lineitem(
        table=table,
        schema=stored.schema,
        batches=paths,
        loaded=checksum(stored),
        merged=checksum(_merged(spark.read.parquet(table, *paths))),
        size_bytes=size_of(Path(table)),
    )


def checksum(rows: DataFrame) -> tuple[int, int]:
    """The number of rows, and the sum of their hashes over all columns in the order of lineitem's."""
    columns = sorted(name for name in rows.columns if not name.startswith("_hoodie_"))
    hashed = rows.select(F.xxhash64(*columns).cast("decimal(38,0)").alias("hash"))
    found = hashed.agg(F.count("hash"), F.sum("hash")).first()
    assert found is not None
    return int(found[0]), int(found[1] or 0)


def size_of(folder: Path) -> int:
    """Bytes of the Parquet files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*.parquet"))


def _run_generator(folder: Path, scale: float) -> None:
    folder.mkdir(parents=True)
    program = Path(sys.executable).parent / "tpchgen-cli"
    command = [program, "parquet", "-s", str(scale), "--tables=lineitem", f"--output-dir={folder}"]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def _changes(stored: DataFrame, number: int) -> DataFrame:
    """A batch: random keys, some late, some new, some sent twice, in random order."""
    roll = F.col("roll")
    is_late, is_new = roll < LATE, roll >= 1 - NEW
    changed = (
        stored.where(F.rand(number) < CHANGED)
        .withColumn("roll", F.rand(100 + number))
        .withColumn(
            "l_orderkey", F.when(is_new, F.col("l_orderkey") + _NEW_KEYS * number).otherwise(F.col("l_orderkey"))
        )
        .withColumn("l_quantity", (F.col("l_quantity") + number).cast("decimal(15,2)"))
        .withColumn("l_comment", F.concat(F.lit(f"changed by {number}: "), "l_comment"))
        .withColumn(ORDERING, F.when(is_late, F.lit(_STORED - number)).otherwise(F.lit(_STORED + number)).cast("long"))
        .withColumn("copies", F.when(roll.between(0.5, 0.5 + DOUBLED), 2).otherwise(1))
    )
    sent = changed.withColumn("copy", F.explode(F.sequence(F.lit(1), "copies")))
    return sent.repartition(2, F.rand(200 + number)).select(stored.columns)


def _merged(versions: DataFrame) -> DataFrame:
    """Of each key the version with the largest ordering value, by plain Spark."""
    whole = F.struct(*versions.columns)
    return versions.groupBy(*KEY).agg(F.max_by(whole, ORDERING).alias("row")).select("row.*")
