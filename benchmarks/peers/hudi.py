"""Apache Hudi.

Without its metadata table, which makes each commit of tables of this size slower, and with shuffles of as many tasks
as the table has files. Reads and writes are by path, as its documentation recommends for data frames; statements need
the table in the catalog.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame

from peers.data import KEY, ORDERING
from peers.engine import Engine

KINDS = {
    f"{kind}-{index.lower()}": {"hoodie.datasource.write.table.type": table_type, "hoodie.index.type": index}
    for kind, table_type in (("cow", "COPY_ON_WRITE"), ("mor", "MERGE_ON_READ"))
    for index in ("SIMPLE", "BUCKET")
}
LACKS = {
    ("mor", "columns"): "a late row of a MERGE of some columns changes the stored row",
    **{(kind, "other"): "the ON of its MERGE has to equate the key" for kind in ("cow", "mor")},
}
PARALLELISM = ("upsert.shuffle", "insert.shuffle", "bulkinsert.shuffle", "delete.shuffle", "simple.index")


class Hudi(Engine):
    name = "hudi"
    kinds = KINDS
    group = "org.apache.hudi"
    lacks = LACKS
    decides = True

    @classmethod
    def settings(cls, folder: Path) -> dict[str, str]:
        return {
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        }

    @property
    def table(self) -> str:
        return self.name_of_table

    def create(self) -> None:
        """Prepare the options; the first write makes the table, and the catalog gets it by its path."""
        self._options = {
            **self.kinds[self.kind],
            **{f"hoodie.{step}.parallelism": str(self.files) for step in PARALLELISM},
            "hoodie.bucket.index.num.buckets": str(self.files),
            "hoodie.datasource.write.recordkey.field": KEY,
            "hoodie.table.ordering.fields": ORDERING,
            "hoodie.metadata.enable": "false",
            "hoodie.parquet.compression.codec": "snappy",
        }
        for name, value in self._options.items():
            self.spark.conf.set(name, value)

    def load(self, rows: DataFrame) -> None:
        self._write(rows, "bulk_insert")
        self.spark.sql(f"CREATE TABLE {self.table} USING hudi LOCATION '{self.path}'")

    def upsert(self, rows: DataFrame) -> None:
        self._write(rows, "upsert")

    def rows(self) -> DataFrame:
        return self.spark.read.format("hudi").option("hoodie.metadata.enable", "false").load(str(self.path))

    def compact(self) -> None:
        """A compaction is due after five commits; here it has to be after three."""
        due = "hoodie.compact.inline.max.delta.commits=1"
        self.spark.sql(f"CALL run_compaction(op => 'scheduleAndExecute', path => '{self.path}', options => '{due}')")

    def _write(self, rows: DataFrame, operation: str) -> None:
        options = {
            **self._options,
            "hoodie.table.name": self.table,
            "hoodie.datasource.write.operation": operation,
        }
        rows.write.format("hudi").options(**options).mode("append").save(str(self.path))
