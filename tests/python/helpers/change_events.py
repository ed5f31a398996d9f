"""Change events as the tools write them."""

from __future__ import annotations

import base64
import json
from typing import Any

PLACEHOLDER = "__debezium_unavailable_value"

#: Columns of the table ``orders`` in PostgreSQL, as Debezium's JSON converter describes them.
ORDERS: list[dict[str, Any]] = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "status"},
    {
        "type": "bytes",
        "optional": True,
        "name": "org.apache.kafka.connect.data.Decimal",
        "version": 1,
        "parameters": {"scale": "2", "connect.decimal.precision": "10"},
        "field": "amount",
    },
    {"type": "int32", "optional": True, "name": "io.debezium.time.Date", "version": 1, "field": "day"},
    {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "version": 1, "field": "placed"},
    {"type": "string", "optional": True, "name": "io.debezium.time.ZonedTimestamp", "version": 1, "field": "shipped"},
    {"type": "string", "optional": True, "name": "io.debezium.data.Json", "version": 1, "field": "note"},
    {"type": "bytes", "optional": True, "field": "photo"},
]


def decimal(unscaled: int) -> str:
    """An unscaled decimal as Kafka Connect writes it."""
    size = (unscaled.bit_length() + 8) // 8
    return base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


def envelope(columns: list[dict[str, Any]]) -> dict[str, Any]:
    """The schema of an event of a table with these columns."""
    images = [
        {"type": "struct", "fields": columns, "optional": True, "name": "server.public.orders.Value", "field": field}
        for field in ("before", "after")
    ]
    source = {"type": "struct", "fields": [{"type": "int64", "field": "lsn"}], "optional": False, "field": "source"}
    op = {"type": "string", "optional": False, "field": "op"}
    return {
        "type": "struct",
        "fields": [*images, source, op],
        "optional": False,
        "name": "server.public.orders.Envelope",
    }


def postgres(
    op: str,
    lsn: int,
    after: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
    *,
    columns: list[dict[str, Any]] | None = ORDERS,
    table: str = "orders",
) -> str:
    """One event of Debezium's PostgreSQL connector; without the columns, without a schema."""
    source = {
        "version": "2.7.3.Final",
        "connector": "postgresql",
        "name": "server",
        "ts_ms": 1_700_000_000_000 + lsn,
        "snapshot": "true" if op == "r" else "false",
        "db": "shop",
        "sequence": f'["{lsn - 1}","{lsn}"]',
        "schema": "public",
        "table": table,
        "txId": lsn // 10,
        "lsn": lsn,
        "xmin": None,
    }
    payload = {"before": before, "after": after, "source": source, "op": op, "ts_ms": 1_700_000_001_000 + lsn}
    return json.dumps(payload if columns is None else {"schema": envelope(columns), "payload": payload})


def order(id: int, status: str | None = "new", **more: Any) -> dict[str, Any]:
    """The image of a row of that table."""
    row: dict[str, Any] = dict.fromkeys(str(column["field"]) for column in ORDERS)
    return {**row, "id": id, "status": status, **more}


def key(id: int) -> str:
    """The key of an event of that table."""
    fields = [{"type": "int32", "optional": False, "field": "id"}]
    return json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": {"id": id}})
