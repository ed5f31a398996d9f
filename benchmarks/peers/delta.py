"""Delta Lake, with and without deletion vectors."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame

from peers.engine import Engine, properties

KINDS = {
    "cow": {"delta.enableDeletionVectors": "false"},
    "mor": {"delta.enableDeletionVectors": "true"},
}


class Delta(Engine):
    name = "delta"
    kinds = KINDS
    group = "io.delta"

    @classmethod
    def settings(cls, folder: Path) -> dict[str, str]:
        return {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }

    @property
    def table(self) -> str:
        return f"delta.`{self.path}`"

    def create(self) -> None:
        given = properties(self.kinds[self.kind])
        self.spark.sql(f"CREATE TABLE {self.table} ({self.data.ddl()}) USING delta {given}")

    def load(self, rows: DataFrame) -> None:
        rows.write.format("delta").mode("append").save(str(self.path))

    def services(self) -> None:
        self.compact()

    def compact(self) -> None:
        """Rewrite files of which more than 5 % of the rows are deleted, and small ones."""
        self.spark.sql(f"OPTIMIZE {self.table}")
