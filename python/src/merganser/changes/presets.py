"""Envelopes of change events: where each tool has the row, the operation and the order of an event.

A preset is chosen by its name, or taken from here and configured::

    from merganser.changes import presets

    mysql = presets.named("debezium_mysql").configured(timestamp_unit="micros")
    table.apply_changes(events, preset=mysql)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from merganser.changes._preset import (
    DELETE,
    LOAD,
    PLACEHOLDER,
    REFUSED,
    SKIP,
    TRUNCATE,
    UPSERT,
    EventColumn,
    Preset,
)


def named(name: str) -> Preset:
    """Return a preset by its name.

    Raises:
        ValueError: There is none of this name.
    """
    found = _PRESETS.get(name)
    if found is None:
        raise ValueError(f"There is no preset {name!r}; there are {', '.join(sorted(_PRESETS))}")
    return found


def names() -> tuple[str, ...]:
    """The names of all presets."""
    return tuple(sorted(_PRESETS))


_DEBEZIUM_KIND = f"""CASE
 WHEN e.op IN ('c', 'r', 'u') THEN '{UPSERT}'
 WHEN e.op = 'd' THEN '{DELETE}'
 WHEN e.op = 't' THEN '{TRUNCATE}'
 WHEN e.op = 'm' THEN '{SKIP}message'
 WHEN e.op IS NOT NULL THEN '{REFUSED}OPERATION_UNKNOWN'
 WHEN e.status IN ('BEGIN', 'END') THEN '{SKIP}transaction'
 WHEN e.ddl IS NOT NULL OR e.tableChanges IS NOT NULL THEN '{SKIP}schema_change'
 WHEN e.ts_ms IS NOT NULL AND e.source.ts_ms IS NULL THEN '{SKIP}heartbeat'
 ELSE '{REFUSED}ENVELOPE_UNKNOWN' END"""

_DEBEZIUM_HEADER = {
    "op": "string",
    "ts_ms": "bigint",
    "status": "string",
    "ddl": "string",
    "tableChanges": "string",
    "source.connector": "string",
    "source.ts_ms": "bigint",
    "source.snapshot": "string",
    "source.db": "string",
    "source.schema": "string",
    "source.table": "string",
}

#: Fields of Debezium's source by which its connectors order the events of a key.
_POSITIONS = {
    "lsn": "bigint",
    "commit_lsn": "string",
    "change_lsn": "string",
    "event_serial_no": "bigint",
    "scn": "string",
    "rs_id": "string",
    "ssn": "bigint",
    "file": "string",
    "pos": "bigint",
    "row": "bigint",
    "ord": "bigint",
    "ts_ms": "bigint",
    "ts_ns": "bigint",
}


def _file_number(file: str) -> str:
    return f"cast(nullif(regexp_extract({file}, '([0-9]+)$', 1), '') AS bigint)"


def _is_load(operation: str, file: str) -> str:
    """Whether an event is a row of a snapshot that was read at no position of a binlog, as Flink CDC reads them."""
    return f"{operation} = 'r' AND {file} = ''"


def _digits(number: str, size: int = 20) -> str:
    return f"lpad(cast(coalesce({number}, 0) AS string), {size}, '0')"


def _comparable(position: str) -> str:
    """A position as it is, which has a fixed width in most databases; one of digits alone is padded."""
    return f"if({position} RLIKE '^[0-9]+$', {_digits(position)}, {position})"


def _binlog_position(position: str) -> str:
    """``mysql-bin.000002:12345`` as text that compares as positions do; empty without one."""
    file, offset = (f"substring_index({position}, ':', {part})" for part in (1, -1))
    return f"if({position} IS NULL, '', concat({_digits(_file_number(file), 12)}, ':', {_digits(offset)}))"


def _position(field: Callable[[str], str], operation: str) -> str:
    """The position of an event as text that compares as the positions do, for every connector.

    Args:
        field: The expression of a field of the source.
        operation: The expression of the operation.
    """
    file, pos, lsn = field("file"), field("pos"), field("lsn")
    cases = {
        # Of PostgreSQL: the first change after a snapshot may be at its position, and wins.
        lsn: _digits(f"if({operation} = 'r', {lsn} - 1, {lsn})"),
        # Of SQL Server and Db2 hexadecimal of a fixed width, of Informix a number.
        field("commit_lsn"): f"concat_ws('/', {_comparable(field('commit_lsn'))}, "
        f"coalesce({_comparable(field('change_lsn'))}, ''), "
        f"{_digits(field('event_serial_no'), 10)})",
        field("scn"): f"concat_ws('/', {_digits(field('scn'))}, coalesce({field('rs_id')}, ''), "
        f"{_digits(field('ssn'), 10)})",
        pos: f"CASE WHEN {_is_load(operation, file)} THEN '' WHEN {pos} >= 0 THEN concat_ws('/', "
        f"{_digits(_file_number(file), 12)}, {_digits(pos)}, {_digits(field('row'), 10)}) END",
        field("ord"): f"concat_ws('/', {_digits(field('ts_ms'))}, {_digits(field('ord'), 10)})",
        field("ts_ns"): _digits(field("ts_ns")),
        field("ts_ms"): _digits(f"{field('ts_ms')} * 1000000"),
    }
    whens = " ".join(f"WHEN {has} IS NOT NULL THEN {text}" for has, text in cases.items())
    return f"CASE {whens} END"


def _flat_field(field: str) -> str:
    return f"coalesce(e.__source_{field}, e.__{field})"


_OPERATION = EventColumn("_change_operation_type", "string", "e.op")
_ORIGIN = EventColumn("_event_origin_ts_ms", "bigint", "e.source.ts_ms")
_DEBEZIUM_TABLE = "concat_ws('.', e.source.db, e.source.schema, e.source.`table`)"
_POSTGRES_PAYLOAD = "org.apache.hudi.common.model.debezium.PostgresDebeziumAvroPayload"
_FILLS = MappingProxyType({"hoodie.datasource.write.payload.class": _POSTGRES_PAYLOAD})

_POSTGRES = Preset(
    name="debezium_postgres",
    header={**_DEBEZIUM_HEADER, "source.lsn": "bigint", "source.txId": "bigint", "source.xmin": "bigint"},
    kind=_DEBEZIUM_KIND,
    # Rows of a snapshot have the position at which it was taken, and so may the first change after it: that wins.
    ordering=(EventColumn("_event_lsn", "bigint", "if(e.op = 'r', e.source.lsn - 1, e.source.lsn)"),),
    stored=(_OPERATION, _ORIGIN),
    known=(
        EventColumn("_event_tx_id", "bigint", "e.source.txId"),
        EventColumn("_event_xmin", "bigint", "e.source.xmin"),
        EventColumn("_upstream_event_processed_ts_ms", "bigint", "e.ts_ms"),
    ),
    source_table=_DEBEZIUM_TABLE,
    has_schema=True,
    placeholder=PLACEHOLDER,
    decimals="base64",
    options=_FILLS,
)


_MYSQL_LOAD = _is_load("e.op", "e.source.file")

_MYSQL = Preset(
    name="debezium_mysql",
    header={**_DEBEZIUM_HEADER, "source.file": "string", "source.pos": "bigint", "source.row": "bigint"},
    kind=_DEBEZIUM_KIND,
    ordering=(
        EventColumn("_event_bin_number", "bigint", f"if({_MYSQL_LOAD}, -1, {_file_number('e.source.file')})"),
        # Below 0 where the binlog has no position of the event, as from MariaDB 11.4 on by default: there is no order.
        EventColumn(
            "_event_pos", "bigint", f"CASE WHEN {_MYSQL_LOAD} THEN 0 WHEN e.source.pos >= 0 THEN e.source.pos END"
        ),
        EventColumn("_event_row", "bigint", "coalesce(e.source.row, 0)"),
    ),
    stored=(_OPERATION, _ORIGIN),
    known=(
        EventColumn("_event_bin_file", "string", "e.source.file"),
        EventColumn(
            "_event_seq", "string", "concat(substring_index(e.source.file, '.', -1), '.', cast(e.source.pos AS string))"
        ),
        EventColumn("_upstream_event_processed_ts_ms", "bigint", "e.ts_ms"),
    ),
    source_table=_DEBEZIUM_TABLE,
    has_schema=True,
    timestamp_unit="millis",
    decimals="base64",
)

_GENERIC = Preset(
    name="debezium_generic",
    header={**_DEBEZIUM_HEADER, **{f"source.{field}": kind for field, kind in _POSITIONS.items()}},
    kind=_DEBEZIUM_KIND,
    ordering=(EventColumn("_event_lsn", "string", _position(lambda field: f"e.source.{field}", "e.op")),),
    stored=(_OPERATION, _ORIGIN),
    source_table=_DEBEZIUM_TABLE,
    has_schema=True,
    placeholder=PLACEHOLDER,
    timestamp_unit="millis",
    decimals="base64",
    options=_FILLS,
)

_FLATTENED = Preset(
    name="debezium_flattened",
    header={
        **dict.fromkeys(("__op", "__deleted", "__table", "__source_table"), "string"),
        **{f"__{field}": kind for field, kind in _POSITIONS.items()},
        **{f"__source_{field}": kind for field, kind in _POSITIONS.items()},
    },
    kind=f"""CASE
 WHEN e.__deleted = 'true' OR e.__op = 'd' THEN '{DELETE}'
 WHEN e.__op IN ('c', 'r', 'u') OR (e.__op IS NULL AND e.__deleted = 'false') THEN '{UPSERT}'
 WHEN e.__op = 't' THEN '{TRUNCATE}'
 WHEN e.__op IS NOT NULL THEN '{REFUSED}OPERATION_UNKNOWN'
 ELSE '{REFUSED}ENVELOPE_UNKNOWN' END""",
    ordering=(EventColumn("_event_lsn", "string", _position(_flat_field, "e.__op")),),
    stored=(EventColumn("_change_operation_type", "string", "if(e.__deleted = 'true', 'd', e.__op)"),),
    after=None,
    before=None,
    row_prefixes=("__",),
    source_table="coalesce(e.__source_table, e.__table)",
    has_schema=True,
    placeholder=PLACEHOLDER,
    decimals="base64",
    tombstones="refuse",
    options=_FILLS,
)

_MAXWELL = Preset(
    name="maxwell",
    header={
        **dict.fromkeys(("type", "database", "table", "position", "ddl", "sql"), "string"),
        **dict.fromkeys(("ts", "xid", "xoffset"), "bigint"),
        "commit": "boolean",
    },
    kind=f"""CASE
 WHEN e.type IN ('insert', 'update', 'bootstrap-insert') THEN '{UPSERT}'
 WHEN e.type = 'delete' THEN '{DELETE}'
 WHEN e.type IN ('bootstrap-start', 'bootstrap-complete') THEN '{SKIP}bootstrap'
 WHEN e.type RLIKE '^(table|database)-' THEN '{SKIP}schema_change'
 WHEN e.type = 'heartbeat' THEN '{SKIP}heartbeat'
 WHEN e.type IS NOT NULL THEN '{REFUSED}OPERATION_UNKNOWN'
 ELSE '{REFUSED}ENVELOPE_UNKNOWN' END""",
    ordering=(
        EventColumn(
            "_event_position",
            "string",
            _binlog_position("e.position"),
        ),
        EventColumn("_event_ts", "bigint", "e.ts"),
        EventColumn("_event_xid", "bigint", "coalesce(e.xid, 0)"),
        # The last row of a transaction has `commit` in place of an offset.
        EventColumn("_event_xoffset", "bigint", "if(e.commit, 9223372036854775807, coalesce(e.xoffset, 0))"),
    ),
    after="data",
    before="old",
    before_is_partial=True,
    source_table="concat_ws('.', e.database, e.`table`)",
    record_key="primary_key_columns",
)

_CANAL = Preset(
    name="canal",
    header={
        **dict.fromkeys(("type", "database", "table"), "string"),
        **dict.fromkeys(("es", "ts", "id"), "bigint"),
        "isDdl": "boolean",
    },
    kind=f"""CASE
 WHEN e.type IN ('INSERT', 'UPDATE') THEN '{UPSERT}'
 WHEN e.type = 'DELETE' THEN '{DELETE}'
 WHEN e.type = 'TRUNCATE' THEN '{TRUNCATE}'
 WHEN e.isDdl OR e.type IN ('CREATE', 'ALTER', 'ERASE', 'RENAME', 'CINDEX', 'DINDEX') THEN '{SKIP}schema_change'
 WHEN e.type IN ('QUERY', 'TRANSACTIONBEGIN', 'TRANSACTIONEND', 'GTID', 'XACOMMIT', 'XAROLLBACK')
 THEN '{SKIP}transaction'
 WHEN e.type IS NOT NULL THEN '{REFUSED}OPERATION_UNKNOWN'
 ELSE '{REFUSED}ENVELOPE_UNKNOWN' END""",
    ordering=(EventColumn("_event_es", "bigint", "e.es"), EventColumn("_event_id", "bigint", "coalesce(e.id, 0)")),
    after=None,
    before="old",
    before_is_partial=True,
    rows="data",
    source_table="concat_ws('.', e.database, e.`table`)",
    record_key="pkNames",
    texts=True,
    binaries="latin1",
    types="mysqlType",
)

_DMS_OPERATION = "e.metadata.operation"
_DMS_TIME = "coalesce(e.metadata.`commit-timestamp`, e.metadata.timestamp)"
#: With six digits behind the second, so that it compares as the time does: "…:09Z" is in front of "…:09.5Z".
_DMS_MICROS = f"""if({_DMS_TIME} RLIKE '[0-9]([.][0-9]+)?Z?$', concat(regexp_extract({_DMS_TIME}, '^([^.Z]*)', 1), '.',
 rpad(regexp_extract({_DMS_TIME}, '[.]([0-9]+)', 1), 6, '0'), 'Z'), {_DMS_TIME})"""
_AWS_DMS = Preset(
    name="aws_dms",
    header={
        **dict.fromkeys(
            (
                *("metadata.timestamp", "metadata.record-type", "metadata.operation", "metadata.schema-name"),
                *("metadata.table-name", "metadata.commit-timestamp"),
            ),
            "string",
        ),
        **dict.fromkeys(("metadata.transaction-id", "metadata.transaction-record-id"), "bigint"),
    },
    kind=f"""CASE
 WHEN {_DMS_OPERATION} IN ('load', 'insert', 'update') THEN '{UPSERT}'
 WHEN {_DMS_OPERATION} = 'delete' THEN '{DELETE}'
 WHEN {_DMS_OPERATION} = 'truncate-table' THEN '{TRUNCATE}'
 WHEN e.metadata.`record-type` = 'control' THEN '{SKIP}schema_change'
 WHEN {_DMS_OPERATION} IS NOT NULL THEN '{REFUSED}OPERATION_UNKNOWN'
 ELSE '{REFUSED}ENVELOPE_UNKNOWN' END""",
    ordering=(
        # The time of a load is that of the replication server; a change may be committed before it, by the source's
        # clock, and not be in the load.
        EventColumn("_event_timestamp", "string", f"if({_DMS_OPERATION} = 'load', '', {_DMS_MICROS})"),
        EventColumn("_event_transaction", "bigint", "coalesce(e.metadata.`transaction-id`, 0)"),
        EventColumn("_event_record", "bigint", "coalesce(e.metadata.`transaction-record-id`, 0)"),
    ),
    after="data",
    before="before-image",
    before_is_partial=True,
    source_table="concat_ws('.', e.metadata.`schema-name`, e.metadata.`table-name`)",
    omits_nulls=True,  # IncludeNullAndEmpty is false unless it is set
)

_AWS_DMS_S3 = Preset(
    name="aws_dms_s3",
    header={"Op": "string", LOAD: "boolean"},
    kind=f"""CASE
 WHEN coalesce(e.Op, 'I') IN ('I', 'U', '') THEN '{UPSERT}'
 WHEN e.Op = 'D' THEN '{DELETE}'
 ELSE '{REFUSED}OPERATION_UNKNOWN' END""",
    known=(EventColumn("Op", "string", "e.Op"),),
    # The columns of a load are filled by another clock, or are empty.
    before_sequence=(EventColumn("_event_is_change", "int", "if({load}, 0, 1)"),),
    after=None,
    before=None,
    row_prefixes=(LOAD,),
)

_OGG = Preset(
    name="ogg",
    header=dict.fromkeys(("table", "op_type", "op_ts", "current_ts", "pos"), "string"),
    kind=f"""CASE
 WHEN e.op_type IN ('I', 'U') THEN '{UPSERT}'
 WHEN e.op_type = 'D' THEN '{DELETE}'
 WHEN e.op_type = 'T' THEN '{TRUNCATE}'
 WHEN e.op_type IS NOT NULL THEN '{REFUSED}OPERATION_UNKNOWN'
 ELSE '{REFUSED}ENVELOPE_UNKNOWN' END""",
    ordering=(EventColumn("_event_pos", "string", "lpad(e.pos, greatest(20, length(e.pos)), '0')"),),
    source_table="e.`table`",
    record_key="primary_keys",
    texts=True,
)

_ALL = (_POSTGRES, _MYSQL, _GENERIC, _FLATTENED, _MAXWELL, _CANAL, _AWS_DMS, _AWS_DMS_S3, _OGG)
_PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in _ALL})
