"""TPC-H's lineitem, batches of changes to it, and the rows that they result in.

Every file has lineitem's columns and `ts`, the ordering field. A row of the table has `ts` 1,000,000; batch n sends
rows with a `ts` n above that, and late-arriving ones n below it. So no two versions of a key tie but those that a batch
sends twice. A table with partitions also has the column `part`, the order key modulo their number; a new key
is in the partition of the row that it copies.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from costs import counted
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

KEY = ["l_orderkey", "l_linenumber"]
ORDERING = "ts"
PARTITION = "part"
THREE_COLUMNS = ["l_orderkey", "l_quantity", "l_shipdate"]

CHANGED = 0.05  # of the table's rows, a batch
LATE, NEW, DOUBLED = 0.2, 0.01, 0.01  # of a batch's rows
FEW = 100  # rows of the small batch
_STORED = 1_000_000
_NEW_KEYS = 1_000_000_000  # above all that the generator makes


@dataclass(frozen=True)
class Batch:
    """Parquet files of a batch, and the checksum of the table that has it and all batches before it."""

    path: str
    result: tuple[int, int]


@dataclass(frozen=True)
class Lineitem:
    """Paths of Parquet files on the counting file system, and checksums of the tables that result from them."""

    table: str
    schema: StructType
    batches: list[str]
    loaded: tuple[int, int]
    merged: tuple[int, int]
    """Checksum of the table that has all batches but the following ones."""
    statement: Batch
    """As the batches, for a SQL statement."""
    few: Batch
    """A few rows with neighbouring keys."""
    one_partition: Batch | None
    """The rows of a further batch that are in one partition, if the table has partitions."""
    size_bytes: int


def generate(
    spark: SparkSession, folder: Path, *, scale: float, files: int, batches: int, partitions: int = 0
) -> Lineitem:
    """Make the table and its batches below a folder."""
    run_generator(folder / "generated", scale)
    rows = spark.read.parquet(str(folder / "generated" / "lineitem.parquet"))
    rows = rows.withColumn(ORDERING, F.lit(_STORED).cast("long"))
    order = KEY
    if partitions:
        rows = rows.withColumn(PARTITION, (F.col("l_orderkey") % partitions).cast("int"))
        order = [PARTITION, *KEY]
    table = counted(folder / "lineitem")
    rows.repartitionByRange(files, *order).sortWithinPartitions(*order).write.parquet(table)
    stored = spark.read.parquet(table)
    paths: list[str] = []

    def written(changes: DataFrame) -> str:
        paths.append(counted(folder / f"batch-{len(paths) + 1}"))
        changes.write.parquet(paths[-1])
        return paths[-1]

    def result() -> tuple[int, int]:
        return checksum(merged(spark.read.parquet(table, *paths)))

    several = [written(_changes(stored, number)) for number in range(1, batches + 1)]
    merged_by_batches = result()
    statement = Batch(written(_changes(stored, batches + 1)), result())
    few = Batch(written(_few(stored, batches + 2)), result())
    one_partition = None
    if partitions:
        one_partition = Batch(written(_changes(stored, batches + 3).where(F.col(PARTITION) == 0)), result())
    return Lineitem(
        table=table,
        schema=stored.schema,
        batches=several,
        loaded=checksum(stored),
        merged=merged_by_batches,
        statement=statement,
        few=few,
        one_partition=one_partition,
        size_bytes=size_of(folder / "lineitem"),
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


def run_generator(folder: Path, scale: float) -> None:
    """Make lineitem.parquet below a folder."""
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
        .withColumns(_new_values(number))
        .withColumn(ORDERING, F.when(is_late, F.lit(_STORED - number)).otherwise(F.lit(_STORED + number)).cast("long"))
        .withColumn("copies", F.when(roll.between(0.5, 0.5 + DOUBLED), 2).otherwise(1))
    )
    sent = changed.withColumn("copy", F.explode(F.sequence(F.lit(1), "copies")))
    return sent.repartition(2, F.rand(200 + number)).select(stored.columns)


def _few(stored: DataFrame, number: int) -> DataFrame:
    """A batch of rows that are neighbours in a table sorted by record key, which is a string; in one file."""
    partition = [PARTITION] if PARTITION in stored.columns else []
    first = stored.orderBy(*partition, F.col("l_orderkey").cast("string"), "l_linenumber")
    changed = first.limit(FEW).withColumns(_new_values(number))
    return changed.withColumn(ORDERING, F.lit(_STORED + number).cast("long")).coalesce(1)


def _new_values(number: int) -> dict[str, Column]:
    return {
        "l_quantity": (F.col("l_quantity") + number).cast("decimal(15,2)"),
        "l_comment": F.concat(F.lit(f"changed by {number}: "), "l_comment"),
    }


def merged(versions: DataFrame) -> DataFrame:
    """Of each key the version with the largest ordering value, by plain Spark."""
    whole = F.struct(*versions.columns)
    return versions.groupBy(*KEY).agg(F.max_by(whole, ORDERING).alias("row")).select("row.*")
