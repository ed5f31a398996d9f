"""Apache Iceberg: copy-on-write tables, and merge-on-read tables of version 3, which have deletion vectors."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame

from peers.engine import Engine, properties

KINDS = {
    kind: {
        "format-version": version,
        **{f"write.{statement}.mode": mode for statement in ("merge", "update", "delete")},
        "write.parquet.compression-codec": "snappy",
    }
    for kind, version, mode in (("cow", "2", "copy-on-write"), ("mor", "3", "merge-on-read"))
}


class Iceberg(Engine):
    name = "iceberg"
    kinds = KINDS
    group = "org.apache.iceberg"

    @classmethod
    def settings(cls, folder: Path) -> dict[str, str]:
        return {
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.lake.type": "hadoop",
            "spark.sql.catalog.lake.warehouse": str(folder),
        }

    @property
    def table(self) -> str:
        return f"lake.bench.{self.name_of_table}"

    def create(self) -> None:
        self.path = self.path.parent / "bench" / self.name_of_table
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
        given = properties(self.kinds[self.kind])
        self.spark.sql(f"CREATE TABLE {self.table} ({self.data.ddl()}) USING iceberg {given}")

    def load(self, rows: DataFrame) -> None:
        rows.writeTo(self.table).append()

    def services(self) -> None:
        self.compact()

    def compact(self) -> None:
        """Rewrite all files that have deleted rows."""
        options = "map('delete-file-threshold', '1')"
        name = f"bench.{self.name_of_table}"
        self.spark.sql(f"CALL lake.system.rewrite_data_files(table => '{name}', options => {options})")
