"""A user's program, which mypy and pyright check in their strict modes; it is not run."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import merganser
from merganser import (
    CommitResult,
    StatementResult,
    Table,
    WhenMatchedUpdate,
    WhenNotMatchedInsert,
    WriteOptions,
    options,
)


def tables(spark: SparkSession, changes: DataFrame) -> Table:
    table = Table.create(spark, Path("/lake/trips"), "id string, ts long", record_key="id", ordering_by=["ts"])
    Table.create_or_load(spark, "/lake/trips", changes, record_key="id")
    Table.create_named(spark, "rides.trips", changes.schema, path="/lake/trips", partition_by="day", record_key="id")
    assert Table.exists(spark, "rides.trips")
    assert Table.load(spark, "rides.trips") == Table.load(spark, Path("/lake/trips"))
    return table


def writes(table: Table, changes: DataFrame) -> str:
    done: CommitResult = table.upsert(changes, options={options.COMBINE_BEFORE_UPSERT: "true"}, txn=("job", 1))
    table.upsert([{"id": "a", "ts": 1}])
    table.insert([("a", 1), ("b", 2)])
    table.insert_overwrite(changes)
    updated: StatementResult = table.update(
        {"fare": F.col("fare") * 2, "paid": True, "tip": Decimal("1.5"), "day": date(2026, 1, 31), "note": None},
        where="day = '2026-01-31'",
    )
    deleted: StatementResult = table.delete(where=F.col("fare") < 0)
    also: StatementResult = table.delete("id = 'a'")
    by_key: CommitResult = table.delete(keys=[("a", 1)])
    merged: StatementResult = (
        table.merge(changes, F.col("t.id") == F.col("s.id"))
        .when_matched_delete("s.op = 'd'")
        .when_matched_update(except_=["tip"])
        .when_not_matched_insert({"id": "s.id", "ts": F.col("s.ts")}, condition="s.ts > 0")
        .when_not_matched_by_source_update({"fare": 0.0})
        .when_not_matched_by_source_delete("t.ts < 5")
        .execute()
    )
    table.merge("SELECT 1 AS id", ["id"], [WhenMatchedUpdate(), WhenNotMatchedInsert()]).execute()
    once: StatementResult = table.update(
        {"paid": True}, options={options.COMBINE_BEFORE_UPSERT: "true"}, txn=("job", 2)
    )
    table.delete("id = 'b'", options=WriteOptions(compact_inline=True), txn=("job", 3), dry_run=True)
    table.delete(keys=["c"], txn=("job", 4))
    again: bool = table.merge(changes).when_matched_delete().execute(txn=("job", 5)).is_repetition or once.is_repetition
    rows: int = done.inserted + updated.updated + deleted.deleted + also.deleted + by_key.deleted + merged.inserted
    return f"{rows} {again} {done.to_dict()['instant']} {table.merge(changes).when_matched_delete().sql()}"


def reads(table: Table) -> DataFrame:
    last = table.history(limit=1)[0]
    count: int = table.count("fare > 1", as_of=datetime(2026, 1, 31))
    print(
        count,
        table.inspect.merge_config()["hoodie.index.type"],
        table.inspect.check_keys().duplicate_keys,
        table.inspect.file_slices()[0],
    )
    return table.df(as_of=last, columns=["id", F.col("ts")], where=F.col("ts") > 0)


def handled(table: Table, changes: DataFrame) -> str | None:
    try:
        table.upsert(changes)
    except merganser.CommitConflictError as conflict:
        return conflict.condition
    except Exception as error:
        return merganser.condition_of(error)
    return None
