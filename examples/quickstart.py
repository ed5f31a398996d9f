"""Sensors report late, twice and out of order; the table holds the latest of each.

Run: ./dev python examples/quickstart.py
"""

import tempfile

from pyspark.sql import DataFrame, SparkSession

import merganser


def readings(spark: SparkSession, *rows: tuple[str, float, str, bool]) -> DataFrame:
    """A batch: sensor, degrees, time of day, whether the sensor was taken down."""
    text = ", ".join(f"('{s}', {c}D, timestamp'2026-01-01 {at}', {gone})" for s, c, at, gone in rows)
    return spark.sql(f"SELECT * FROM VALUES {text} AS t(sensor, celsius, at, _hoodie_is_deleted)")


def main() -> None:
    spark = merganser.session("quickstart", master="local[2]")
    table = merganser.Table.create(
        spark,
        tempfile.mkdtemp() + "/sensors",
        readings(spark, ("a", 0.0, "00:00:00", False)).schema,
        record_key="sensor",
        ordering_by="at",
        table_type=merganser.TableType.MERGE_ON_READ,
    )
    table.bulk_insert(readings(spark, ("a", 20.5, "08:00:00", False), ("b", 18.0, "08:00:00", False)))
    table.upsert(readings(spark, ("a", 21.0, "08:10:00", False), ("a", 21.0, "08:10:00", False)))  # twice
    table.upsert(readings(spark, ("a", 19.0, "07:50:00", False), ("b", 0.0, "08:20:00", True)))  # late; taken down
    before = table.df().collect()
    compaction = table.compact()
    after = table.df().collect()
    for commit in reversed(table.history()):
        counts = f"appended {commit.appended}, late {commit.late}, deleted {commit.deleted}"
        print(commit.instant, commit.operation, counts)
    print("log files folded in:", compaction.log_files_compacted if compaction else 0)
    print("compaction changes no answer:", before == after)
    table.df().select("sensor", "celsius", "at").show()


if __name__ == "__main__":
    main()
