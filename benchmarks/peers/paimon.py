"""Apache Paimon: tables with a primary key and fixed buckets, with and without deletion vectors."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame

from peers.data import KEY, ORDERING
from peers.engine import Engine, properties

KINDS = {"mor": {}, "mor-vectors": {"deletion-vectors.enabled": "true"}}


class Paimon(Engine):
    name = "paimon"
    kinds = KINDS
    group = "org.apache.paimon"

    @classmethod
    def settings(cls, folder: Path) -> dict[str, str]:
        return {
            "spark.sql.extensions": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
            "spark.sql.catalog.paimon": "org.apache.paimon.spark.SparkCatalog",
            "spark.sql.catalog.paimon.warehouse": folder.as_uri(),
        }

    @property
    def table(self) -> str:
        return f"paimon.bench.{self.name_of_table}"

    def create(self) -> None:
        self.path = self.path.parent / "bench.db" / self.name_of_table
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS paimon.bench")
        given = {
            **self.kinds[self.kind],
            "primary-key": KEY,
            "sequence.field": ORDERING,
            "bucket": str(self.files),
            "file.format": "parquet",
            "file.compression": "snappy",
        }
        self.spark.sql(f"CREATE TABLE {self.table} ({self.data.ddl()}) USING paimon {properties(given)}")

    def load(self, rows: DataFrame) -> None:
        self.upsert(rows)

    def upsert(self, rows: DataFrame) -> None:
        rows.createOrReplaceTempView("changes")
        self.spark.sql(f"INSERT INTO {self.table} SELECT * FROM changes")

    def compact(self) -> None:
        self.spark.sql(f"CALL paimon.sys.compact(table => 'bench.{self.name_of_table}')")
