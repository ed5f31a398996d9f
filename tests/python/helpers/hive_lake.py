"""Writes that register their tables in a Hive metastore, and what its own client then sees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from metastore import HiveClient
from pyspark.sql import DataFrame, SparkSession

from merganser import Table

SYNC = "hoodie.datasource.hive_sync."
COW = {"hoodie.datasource.write.table.type": "COPY_ON_WRITE"}
MOR = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}


@dataclass
class Lake:
    """A metastore, Hive's client of it, and a session that writes."""

    spark: SparkSession
    uris: str
    client: HiveClient

    @property
    def enabled(self) -> dict[str, str]:
        """Options with which a write registers its table."""
        return {f"{SYNC}enable": "true", f"{SYNC}metastore.uris": self.uris}

    def rows(self, values: str) -> DataFrame:
        return self.spark.sql(f"SELECT * FROM VALUES {values} AS t (id, value, ts, part)")

    def write(
        self, path: Path, rows: DataFrame, mode: str = "append", operation: str = "upsert", **options: str
    ) -> None:
        settings = {
            "hoodie.table.name": "Orders",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "part",
            "hoodie.table.ordering.fields": "ts",
            "hoodie.datasource.write.operation": operation,
            **self.enabled,
            **options,
        }
        kept = {key: value for key, value in settings.items() if value}
        rows.write.format("merganser").options(**kept).mode(mode).save(str(path))

    def is_current(self, path: Path, database: str, name: str) -> bool:
        """Whether the newest commit of the table is registered."""
        commits = Table.load(self.spark, str(path)).history()
        return self.client.table(database, name).properties["last_commit_time_sync"] == max(
            commit.instant for commit in commits if commit.completed
        )
