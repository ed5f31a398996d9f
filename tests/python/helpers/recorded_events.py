"""Events as the documentation of each tool shows them: a row 1 that is inserted and updated, a row 2 that is deleted, a
row 3 whose key becomes 4, and what has no row; none of them in their order."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Recorded(NamedTuple):
    """Events of a tool.

    Attributes:
        values: The events' JSON.
        skipped: What has no row, by name.
        ordering: The ordering fields of a table for them.
        columns: The table's columns where the events do not tell their types.
    """

    values: list[str | None]
    skipped: dict[str, int]
    ordering: tuple[str, ...]
    columns: dict[str, str]


TYPES = {"id": "int", "name": "string", "price": "decimal(10,2)", "at": "timestamp_ntz"}


def row(id: int, name: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "price": 12.5, "at": "2024-05-01 10:00:00", **more}


def mysql(op: str, pos: int, after: Any, before: Any = None, *, at: int = 0, file: str = "mysql-bin.000003") -> str:
    source = {
        "version": "2.7.3.Final",
        "connector": "mysql",
        "name": "dbserver1",
        "ts_ms": 1_715_000_000_000,
        "snapshot": "false",
        "db": "inventory",
        "table": "products",
        "server_id": 223344,
        "gtid": None,
        "file": file,
        "pos": pos,
        "row": at,
        "thread": 7,
        "query": None,
    }
    payload = {"before": before, "after": after, "source": source, "op": op, "ts_ms": 1_715_000_000_100}
    return json.dumps({"payload": payload})


def _debezium(id: int, name: str) -> dict[str, Any]:
    return row(id, name, price="BOI=", at=1_714_557_600_000)  # 1250 hundredths; milliseconds


MYSQL = Recorded(
    [
        mysql("u", 154, _debezium(1, "new"), _debezium(1, "old"), file="mysql-bin.1000000"),
        mysql("c", 400, _debezium(1, "old"), file="mysql-bin.999999"),
        mysql("c", 410, _debezium(2, "gone")),
        mysql("d", 420, None, _debezium(2, "gone")),
        None,
        mysql("d", 430, None, _debezium(3, "moved"), at=1),
        mysql("c", 430, _debezium(4, "moved"), at=1),
        mysql("c", 405, _debezium(3, "moved")),
        json.dumps({"status": "BEGIN", "id": "571", "ts_ms": 1_715_000_000_000, "event_count": None}),
        json.dumps(
            {"source": {"db": "inventory"}, "databaseName": "inventory", "ddl": "ALTER TABLE products ADD x INT"}
        ),
    ],
    {"tombstone": 1, "transaction": 1, "schema_change": 1},
    ("_event_bin_number", "_event_pos", "_event_row"),
    TYPES,
)


def sqlserver(op: str, lsn: str, serial: int, after: Any, before: Any = None) -> str:
    source = {
        "connector": "sqlserver",
        "ts_ms": 1_715_000_000_000,
        "snapshot": "false",
        "db": "testDB",
        "schema": "dbo",
        "table": "products",
        "change_lsn": lsn,
        "commit_lsn": "00000027:00000758:0005",
        "event_serial_no": serial,
    }
    return json.dumps({"before": before, "after": after, "source": source, "op": op, "ts_ms": 1_715_000_000_100})


SQLSERVER = Recorded(
    [
        sqlserver("u", "00000027:00000758:0003", 2, _debezium(1, "new"), _debezium(1, "old")),
        sqlserver("c", "00000027:00000758:0001", 1, _debezium(1, "old")),
        sqlserver("d", "00000027:00000758:0004", 1, None, _debezium(2, "gone")),
        sqlserver("c", "00000027:00000758:0002", 1, _debezium(2, "gone")),
        sqlserver("u", "00000027:00000758:000A", 2, _debezium(4, "moved"), _debezium(3, "moved")),
        sqlserver("c", "00000027:00000758:0005", 1, _debezium(3, "moved")),
        json.dumps({"ts_ms": 1_715_000_000_000}),
    ],
    {"heartbeat": 1},
    ("_event_lsn",),
    TYPES,
)


def flattened(op: str, lsn: int, id: int, name: str | None) -> str:
    more = {"__deleted": str(op == "d").lower(), "__op": op, "__lsn": lsn, "__source_ts_ms": 1_715_000_000_000}
    return json.dumps(
        {"id": id, "name": name, "price": "BOI=", "at": 1_714_557_600_000_000, "__table": "products", **more}
    )


FLATTENED = Recorded(
    [
        flattened("u", 1000, 1, "new"),
        flattened("c", 999, 1, "old"),
        flattened("d", 1002, 2, None),
        flattened("c", 1001, 2, "gone"),
        flattened("c", 1003, 3, "moved"),
        flattened("d", 1004, 3, None),
        flattened("c", 1004, 4, "moved"),
    ],
    {},
    ("_event_lsn",),
    TYPES,
)


def maxwell(kind: str, position: int, data: Any, old: Any = None, **more: Any) -> str:
    event = {
        "database": "shop",
        "table": "products",
        "type": kind,
        "ts": 1_715_000_000,
        "xid": 940_752,
        "position": f"master.000006:{position}",
        "primary_key_columns": ["id"],
        "data": data,
        **({} if old is None else {"old": old}),
        **more,
    }
    return json.dumps(event)


MAXWELL = Recorded(
    [
        maxwell("update", 800, row(1, "new"), {"name": "old"}, commit=True),
        maxwell("insert", 800, row(1, "old"), xoffset=3),
        maxwell("insert", 90, row(2, "gone"), commit=True),
        maxwell("delete", 100, row(2, "gone"), commit=True),
        maxwell("update", 900, row(4, "moved"), {"id": 3}, commit=True),
        maxwell("bootstrap-insert", 890, row(3, "moved")),
        json.dumps({"type": "table-alter", "database": "shop", "table": "products", "sql": "ALTER TABLE ...", "ts": 1}),
        maxwell("bootstrap-start", 1, {}),
    ],
    {"schema_change": 1, "bootstrap": 1},
    ("_event_position", "_event_ts", "_event_xid", "_event_xoffset"),
    TYPES,
)


def canal(kind: str, es: int, data: Any, old: Any = None, *, ddl: bool = False) -> str:
    texts = data and [{column: str(value) for column, value in one.items()} for one in data]
    event = {
        "data": texts,
        "database": "shop",
        "es": es,
        "id": es // 10,
        "isDdl": ddl,
        "mysqlType": None
        if ddl
        else {"id": "int(11)", "name": "varchar(255)", "price": "decimal(10,2)", "at": "datetime"},
        "old": old,
        "pkNames": None if ddl else ["id"],
        "sql": "",
        "sqlType": None if ddl else {"id": 4, "name": 12, "price": 3, "at": 93},
        "table": "products",
        "ts": es + 5,
        "type": kind,
    }
    return json.dumps(event)


CANAL = Recorded(
    [
        canal("UPDATE", 300, [row(1, "new"), row(4, "moved")], [{"name": "old"}, {"id": "3"}]),
        canal("INSERT", 100, [row(1, "old"), row(2, "gone"), row(3, "moved")]),
        canal("DELETE", 200, [row(2, "gone")]),
        canal("ALTER", 250, None, ddl=True),
    ],
    {"schema_change": 1},
    ("_event_es", "_event_id"),
    {},
)


def dms(operation: str, at: int, data: Any, before: Any = None, *, kind: str = "data") -> str:
    metadata = {
        "timestamp": f"2024-05-01T10:00:{at:02d}.000000Z",
        "record-type": kind,
        "operation": operation,
        "partition-key-type": "primary-key",
        "schema-name": "shop",
        "table-name": "products",
        "transaction-id": 40 + at,
    }
    return json.dumps({"data": data, "metadata": metadata, **({} if before is None else {"before-image": before})})


DMS = Recorded(
    [
        dms("update", 9, row(1, "new")),
        dms("load", 1, row(1, "old")),
        dms("delete", 5, row(2, "gone")),
        dms("insert", 4, row(2, "gone")),
        dms("update", 8, row(4, "moved"), {"id": 3}),
        dms("insert", 7, row(3, "moved")),
        dms("create-table", 0, None, kind="control"),
    ],
    {"schema_change": 1},
    ("_event_timestamp", "_event_transaction", "_event_record"),
    TYPES,
)


def ogg(kind: str, pos: int, after: Any = None, before: Any = None) -> str:
    event = {
        "table": "SHOP.PRODUCTS",
        "op_type": kind,
        "op_ts": "2024-05-01 10:00:00.000000",
        "current_ts": "2024-05-01T10:00:01.267000",
        "pos": f"{pos:020d}",
        "primary_keys": ["id"],
        **({} if before is None else {"before": before}),
        **({} if after is None else {"after": after}),
    }
    return json.dumps(event)


OGG = Recorded(
    [
        ogg("U", 2000, row(1, "new"), row(1, "old")),
        ogg("I", 1000, row(1, "old")),
        ogg("D", 1200, before=row(2, "gone")),
        ogg("I", 1100, row(2, "gone")),
        ogg("U", 1400, row(4, "moved"), row(3, "moved")),
        ogg("I", 1300, row(3, "moved")),
    ],
    {},
    ("_event_pos",),
    TYPES,
)

RECORDED = {
    "debezium_mysql": MYSQL,
    "debezium_generic": SQLSERVER,
    "debezium_flattened": FLATTENED,
    "maxwell": MAXWELL,
    "canal": CANAL,
    "aws_dms": DMS,
    "ogg": OGG,
}
