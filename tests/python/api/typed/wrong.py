"""Mistakes that mypy and pyright find: each line that ends in `# wrong` has one, and no other line has."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from merganser import IndexType, MergeMode, Table, WhenMatchedDelete, WriteOptions


def mistakes(spark: SparkSession, table: Table, changes: DataFrame) -> None:
    Table.create("/lake/trips", spark, "id string")  # wrong
    Table.create(spark, "/lake/trips", "id string", index="BLOOM")  # wrong
    Table.create(spark, "/lake/trips", "id string", merge_mode=IndexType.BLOOM)  # wrong
    Table.create_or_load(spark, "/lake/trips", "id string", key="id")  # wrong
    Table.create_named(spark, "trips", "id string", table_type="mor")  # wrong
    Table.load(spark, 7)  # wrong
    table.upsert(7)  # wrong
    table.upsert(changes, options={"hoodie.combine.before.upsert": True})  # wrong
    table.upsert(changes, txn=("job", "1"))  # wrong
    table.update("fare = 1")  # wrong
    table.update({"fare": 1}, options=["hoodie.index.type"])  # wrong
    table.merge(changes).execute(txn="job")  # wrong
    table.update({"fare": object()})  # wrong
    table.delete(where={"id": 1})  # wrong
    table.merge(changes).when_matched_update("fare = 1")  # wrong
    table.merge(changes, clauses=["DELETE"])  # wrong
    table.merge(changes, clauses=[WhenMatchedDelete(condition=1.5)])  # wrong
    print(table.merge(changes).execute().affected)  # wrong
    table.df(as_of=1)  # wrong
    table.count(where=["a"])  # wrong
    WriteOptions(compact_inline="yes")  # wrong
    print(MergeMode.LAST)  # wrong
