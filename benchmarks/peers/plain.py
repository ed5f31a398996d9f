"""Plain Spark: it reads and writes the Parquet files of the loaded table, and merges nothing."""

from __future__ import annotations

from pyspark.sql import DataFrame

from peers.data import Change
from peers.engine import Engine

KINDS: dict[str, dict[str, str]] = {"parquet": {}}


class Plain(Engine):
    """The baseline: a change of the table is a rewrite of it; that of new keys alone writes the new rows."""

    name = "plain"
    kinds = KINDS
    merges = False
    compacts = True

    def create(self) -> None:
        pass

    def load(self, rows: DataFrame) -> None:
        rows.write.parquet(str(self.path))

    def rows(self) -> DataFrame:
        return self.data.rows(self.spark)

    def change(self, change: Change) -> None:
        self._write(self.data.rows(self.spark, "new") if change.name == "new" else self.rows())

    def small_upsert(self, batch: Change, number: int) -> None:
        pass

    def services(self) -> None:
        pass

    def compact(self) -> None:
        self._write(self.rows())

    def _write(self, rows: DataFrame) -> None:
        target = self.path.with_name(f"{self.path.name}-rewritten")
        rows.write.mode("overwrite").parquet(str(target))
