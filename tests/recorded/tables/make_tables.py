"""Makes the tables of this folder: `./dev python tests/recorded/tables/make_tables.py`, which leaves existing ones."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import merganser
from merganser import Table, TableType

HERE = Path(__file__).parent
KEEP = {"spark.merganser.write.missingColumns": "keep"}
ONE_BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}

ITEMS = (
    "id int, name string, price decimal(8,2), priced_at timestamp, stock bigint, counted_at bigint, "
    "tags array<string>, best int, _hoodie_is_deleted boolean"
)
PRICES = "id int, price decimal(8,2), priced_at timestamp"
VISITS = "id int, v string, ts bigint, _hoodie_is_deleted boolean"
ORDERS = "id int, ts bigint, name string, amount decimal(10,2), orders int, op string"


def at(hour: int) -> datetime:
    return datetime(2026, 1, 1, hour, tzinfo=timezone.utc)


def items(spark: Any, path: Path) -> None:
    """Groups with clocks of their own, functions and an expression, partial rows, deletes that reset and remove."""
    table = Table.create(
        spark,
        path,
        ITEMS,
        record_key="id",
        table_type=TableType.MERGE_ON_READ,
        rule={
            "stock": "sum",
            "tags": "union",
            "best": "expr('if(new.best > old.best * 2, new.best, old.best)')",
            "*": "last_non_null",
        },
        rule_groups={
            "prices": {"columns": "price", "ordering": "priced_at", "delete": "reset_group"},
            "stocks": {"columns": "stock", "ordering": "counted_at", "delete": "remove_row"},
        },
        rule_delete="ignore",
        options=ONE_BUCKET,
    )
    write = [
        [(1, "a", "1.00", at(5), 7, 5, ["x"], 3, None), (2, "b", "2.00", at(5), 7, 5, None, 3, None)],
        [(1, None, "9.00", at(4), 1, 6, ["y", "x"], 7, None), (3, "c", "3.00", at(5), None, None, [], None, None)],
        [(2, None, None, None, None, 6, None, None, True), (3, None, None, at(6), None, None, None, None, True)],
        [(1, "late", "1.50", at(6), 2, 4, None, 13, None)],
    ]
    for number, rows in enumerate(write):
        table.upsert(spark.createDataFrame(typed(rows, 2), ITEMS))
        if number == 1:
            table.compact()
    table.upsert(spark.createDataFrame(typed([(1, "1.75", at(7)), (3, "4.00", at(5))], 1), PRICES), options=KEEP)


def visits(spark: Any, path: Path) -> None:
    """Deletes that base files retain, of a key that was stored and of one that was not; a late row and a newer one."""
    retained = {"merganser.tombstones.retained.hours": "1000000", **ONE_BUCKET}
    table = Table.create(
        spark,
        path,
        VISITS,
        record_key="id",
        ordering_by="ts",
        table_type=TableType.MERGE_ON_READ,
        options=retained,
    )
    for rows in (
        [(1, "a", 10, None), (2, "b", 10, None), (3, "c", 10, None)],
        [(1, None, 20, True), (2, None, 20, True), (9, None, 20, True)],
    ):
        table.upsert(spark.createDataFrame(rows, VISITS))
    table.compact()
    table.upsert(spark.createDataFrame([(1, "late", 15, None), (2, "newer", 25, None)], VISITS))


def orders(spark: Any, path: Path) -> None:
    """Rows that are subtracted from sums, one of them before the row that it takes back."""
    table = Table.create(
        spark,
        path,
        ORDERS,
        record_key="id",
        ordering_by="ts",
        table_type=TableType.MERGE_ON_READ,
        rule={"amount": "sum", "orders": "sum"},
        rule_retract={"column": "op", "values": ["update_before", "delete"]},
        options=ONE_BUCKET,
    )
    for rows in (
        [(1, 1, "a", "10.00", 1, "create"), (2, 9, "b", "4.00", 1, "update_before")],
        [(1, 2, "a", "10.00", 1, "update_before"), (1, 2, "a2", "12.50", 1, "update_after")],
        [(2, 3, "b", "5.00", 1, "update_after"), (1, 1, "late", "1.00", 1, "create")],
    ):
        table.upsert(spark.createDataFrame(typed(rows, 3), ORDERS))


def typed(rows: list[tuple[Any, ...]], at: int) -> list[tuple[Any, ...]]:
    """The rows with decimals in place of strings at a position."""
    return [(*row[:at], None if row[at] is None else Decimal(row[at]), *row[at + 1 :]) for row in rows]


def main() -> None:
    spark = merganser.session("recorded tables", master="local[1]", config={"spark.sql.session.timeZone": "UTC"})
    for story in (items, visits, orders):
        folder = HERE / story.__name__
        if not folder.exists():
            story(spark, folder / "table")
            for left in [*folder.rglob("*.crc"), *folder.rglob(".temp")]:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            found = Table.load(spark, folder / "table").df().orderBy("id").toJSON().collect()
            (folder / "rows.json").write_text(json.dumps([json.loads(row) for row in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
