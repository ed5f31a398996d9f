"""Envelopes of change events: where each tool has the row, the operation and the order of an event.

A preset is chosen by its name, or taken from here and configured::

    from merganser.changes import presets

    table.apply_changes(events, preset=presets.named("debezium_postgres").configured(timestamp_unit="millis"))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from merganser.changes._values import UNITS

PLACEHOLDER = "__debezium_unavailable_value"

#: Kinds of events, as the ``kind`` of a preset returns them. Others are a name of what is skipped or a reason.
UPSERT, DELETE, TRUNCATE, SKIP, REFUSED = "upsert", "delete", "truncate", "skip:", "refused:"


@dataclass(frozen=True)
class EventColumn:
    """A column that a preset fills from the envelope.

    Attributes:
        name: Its name in the table.
        type: Its type, as in SQL.
        sql: Its value, from the envelope's fields.
    """

    name: str
    type: str
    sql: str


@dataclass(frozen=True)
class Preset:
    """How to read one tool's change events. Take one from :func:`named`; :meth:`configured` changes settings.

    Attributes:
        name: Its name.
        header: Fields of the envelope that expressions use, by their path, with their types. In the expressions a
            field is ``e.`` and its path.
        kind: What an event is: an SQL expression for one of the kinds.
        ordering: Columns of a new table that order the events of a key.
        stored: Further columns of a new table.
        known: Further columns that are filled if the table has them.
        after: The field with the new row; ``None`` if the event itself is the row.
        before: The field with the old row, or with its changed columns.
        before_is_partial: Whether ``before`` has only the columns that changed.
        row_prefixes: Of a flat event, prefixes of fields that are no columns.
        rows: The field with an array of rows, in an event that has several.
        source_table: The name of the source's table, as SQL.
        record_key: The field with the names of the key columns.
        has_schema: Whether the event may be wrapped in ``schema`` and ``payload``.
        placeholder: The value that stands for one that the event does not have.
        timestamp_unit: Unit of timestamps that are numbers, in events without a schema: millis, micros or nanos.
        decimals: How events without a schema write decimals: ``base64`` (Debezium's ``precise``) or ``text``, for
            numbers and strings.
        options: Settings of a table created for this preset, by their ``hoodie.*`` names.
    """

    name: str
    header: Mapping[str, str]
    kind: str
    ordering: tuple[EventColumn, ...] = ()
    stored: tuple[EventColumn, ...] = ()
    known: tuple[EventColumn, ...] = ()
    after: str | None = "after"
    before: str | None = "before"
    before_is_partial: bool = False
    row_prefixes: tuple[str, ...] = ()
    rows: str | None = None
    source_table: str | None = None
    record_key: str | None = None
    has_schema: bool = False
    placeholder: str | None = None
    timestamp_unit: str = "micros"
    decimals: str = "text"
    options: Mapping[str, str] = field(default_factory=dict)

    def configured(self, **settings: Any) -> Preset:
        """Return this preset with other settings, by the names of the attributes.

        Raises:
            ValueError: A setting does not exist, or has no such value.
        """
        unknown = sorted(set(settings) - set(self.__dataclass_fields__))
        if unknown:
            known = ", ".join(self.__dataclass_fields__)
            raise ValueError(f"A preset has no setting '{unknown[0]}'; it has {known}")
        changed = replace(self, **settings)
        if changed.timestamp_unit not in UNITS:
            raise ValueError(f"timestamp_unit is one of {', '.join(UNITS)}, not {changed.timestamp_unit!r}")
        if changed.decimals not in ("base64", "text"):
            raise ValueError(f"decimals is 'base64' or 'text', not {changed.decimals!r}")
        return changed

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        """All columns that the preset can fill."""
        return self.ordering + self.stored + self.known


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

_OPERATION = EventColumn("_change_operation_type", "string", "e.op")
_ORIGIN = EventColumn("_event_origin_ts_ms", "bigint", "e.source.ts_ms")
_DEBEZIUM_TABLE = "concat_ws('.', e.source.db, e.source.schema, e.source.table)"
_POSTGRES_PAYLOAD = "org.apache.hudi.common.model.debezium.PostgresDebeziumAvroPayload"
_FILLS = MappingProxyType({"hoodie.datasource.write.payload.class": _POSTGRES_PAYLOAD})

_POSTGRES = Preset(
    name="debezium_postgres",
    header={**_DEBEZIUM_HEADER, "source.lsn": "bigint", "source.txId": "bigint", "source.xmin": "bigint"},
    kind=_DEBEZIUM_KIND,
    ordering=(EventColumn("_event_lsn", "bigint", "e.source.lsn"),),
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

_PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in (_POSTGRES,)}
