"""Events that cannot be applied: an error, or rows of a quarantine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from merganser.changes._spec import Spec
from merganser.changes._sql import functions
from merganser.errors import EventsRefusedError, TableNotFoundError

if TYPE_CHECKING:
    from merganser.table import Table

_SHOWN = 500

#: What each reason means, and what to do.
REASONS: Mapping[str, str] = {
    "JSON_MALFORMED": "the event is not a JSON object",
    "JSON_TRAILING": "something follows the JSON object in the event, such as a second one: one event a line",
    "VALUE_MALFORMED": "a value does not fit the type of its column. If that type has changed at the source, and the "
    "table's cannot be widened to it, choose a wider one by columns={column: type}",
    "VALUE_UNAVAILABLE": "the event lacks the value of a column (an unchanged large value), and there is no row to "
    "take it from: neither a stored one nor, for a row with a new key, the one of its old key in the same batch. Such "
    "a column must be a string or binary of a table that Table.create_for_changes(...) created, or the source must "
    "send it (REPLICA IDENTITY FULL)",
    "ENVELOPE_UNKNOWN": "the event does not have the fields of the preset",
    "OPERATION_UNKNOWN": "the operation is none that the preset knows",
    "ROW_MISSING": "the event inserts or updates, and has no new row",
    "KEY_MISSING": "the event has no value of a record key column",
    "TOMBSTONE": "the event has no value. If the connector also sends each delete with its row "
    "(delete.tombstone.handling.mode=rewrite), skip it by preset=presets.named(...).configured(tombstones='skip'); "
    "else the delete has no order, so let it send them so",
    "ORDERING_MISSING": "the event has no value of an ordering field",
}


def refuse(path: str, rejected: DataFrame, reasons: Mapping[str, int]) -> EventsRefusedError:
    """The error for events that cannot be applied, with the first as the example."""
    example = rejected.first()
    assert example is not None
    reason = str(example["__kind"]).partition(":")[2]
    columns = "" if example["__detail"] is None else f" (column {example['__detail']})"
    counts = ", ".join(f"{count} {name}" for name, count in reasons.items())
    event = str(example["__event"])
    shown = event if len(event) <= _SHOWN else event[:_SHOWN] + "…"
    return EventsRefusedError(
        f"Cannot apply {sum(reasons.values())} events to '{path}' ({counts}); nothing was written. Example of {reason}"
        f"{columns}: {REASONS.get(reason, 'the preset refuses it')}: {shown}\nCorrect the events, or set them aside "
        "with their reasons by quarantine=<path of a table>.",
        condition="EVENTS_REFUSED",
        parameters={"table": path, "reason": reason, "event": shown},
    )


def write_quarantine(table: Table, rejected: DataFrame, spec: Spec, txn: tuple[str, int] | None) -> None:
    """Write events to the quarantine, which is created if it does not exist. An event is stored once."""
    F = functions(rejected)
    # With the names of the fields, since an event or a key may be null.
    identity = F.to_json(F.struct(F.lit(table.path).alias("table"), "__kind", "__key", "__event"))
    rows = rejected.select(
        F.sha2(identity, 256).alias("event_id"),
        F.col("__event").alias("event"),
        F.col("__key").alias("event_key"),
        F.expr("substring_index(__kind, ':', -1)").alias("reason"),
        F.col("__detail").alias("columns"),
        F.lit(table.path).alias("applied_to"),
        F.lit(spec.preset.name).alias("preset"),
        F.current_timestamp().alias("quarantined_at"),
    )
    # Of this table: others may share the quarantine, and the application.
    own = None if txn is None else (f"{txn[0]}/quarantine of {table.path}", txn[1])
    _opened(table, str(spec.quarantine), rows).upsert(rows, txn=own)


def _opened(table: Table, place: str, rows: DataFrame) -> Table:
    kind = type(table)
    try:
        return kind.load(rows.sparkSession, place)
    except TableNotFoundError:
        return kind.create(rows.sparkSession, place, rows.schema, record_key="event_id", name="quarantine")
