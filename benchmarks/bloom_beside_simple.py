"""Times upserts with the index BLOOM beside SIMPLE: tables of random keys, whose files all have the same range of keys.

    ./dev python benchmarks/bloom_beside_simple.py [COPY_ON_WRITE] [MERGE_ON_READ]

Prints a table for ``benchmarks/results/bloom-beside-simple.md``.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import merganser

FILES, ROWS_PER_FILE, REPETITIONS = 100, 20_000, 3
INDEXES = ("SIMPLE", "BLOOM")
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
#: Keys of an upsert: few of them are in few files, many of them in all files.
SIZES = (1, 100, 10_000)


def options(kind: str, index: str) -> dict[str, str]:
    return {
        "hoodie.table.name": "keys",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.index.type": index,
        # 20,000 rows: a smaller limit would split the files as they are written.
        "hoodie.parquet.max.file.size": "2600000",
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.copyonwrite.record.size.estimate": "128",
    }


def rows(spark: SparkSession, first: int, count: int, ts: int) -> DataFrame:
    return spark.range(first, first + count).selectExpr("md5(cast(id AS string)) AS id", "id AS v", f"{ts}L AS ts")


def save(frame: DataFrame, path: Path, chosen: dict[str, str]) -> float:
    started = time.monotonic()
    frame.write.format("merganser").options(**chosen).mode("append").save(str(path))
    return time.monotonic() - started


def main(folder: Path, kinds: tuple[str, ...]) -> None:
    spark = merganser.session("bloom", master="local[2]")
    print("| table | keys | stored | SIMPLE, s | BLOOM, s | BLOOM / SIMPLE, by repetition |\n|---|---|---|---|---|---|")
    for kind in kinds:
        for index in INDEXES:
            save(rows(spark, 0, FILES * ROWS_PER_FILE, 0), folder / kind / index, options(kind, index))
            files = len(list((folder / kind / index).glob("*.parquet")))
            print(f"<!-- {kind} {index}: {files} files -->")
            # The first upsert of a session also loads classes.
            save(rows(spark, 0, 1, 1), folder / kind / index, options(kind, index))
        ts = 1
        for count in SIZES:
            for stored in (True, False):
                seconds: dict[str, list[float]] = {index: [] for index in INDEXES}
                for repetition in range(REPETITIONS):
                    ts += 1
                    first = repetition * 1_000_003 % (FILES * ROWS_PER_FILE - count)
                    batch = rows(spark, first if stored else 10_000_000 + ts * count, count, ts)
                    for index in INDEXES if repetition % 2 == 0 else INDEXES[::-1]:
                        seconds[index].append(save(batch, folder / kind / index, options(kind, index)))
                ratios = [b / s for s, b in zip(seconds["SIMPLE"], seconds["BLOOM"], strict=True)]
                medians = {index: statistics.median(seconds[index]) for index in INDEXES}
                print(
                    f"| {kind} | {count:,} | {'yes' if stored else 'no'} | {medians['SIMPLE']:.2f} | "
                    f"{medians['BLOOM']:.2f} | {', '.join(f'{ratio:.2f}' for ratio in ratios)} |",
                    flush=True,
                )
    spark.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary), tuple(sys.argv[1:]) or KINDS)
