"""Envelopes of change events: where each tool has the row, the operation and the order of an event.

A preset is chosen by its name, or taken from here and configured::

    from merganser.changes import presets

    mysql = presets.named("debezium_mysql").configured(timestamp_unit="micros")
    table.apply_changes(events, preset=mysql)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

_NAMES = (
    "aws_dms",
    "aws_dms_s3",
    "canal",
    "debezium_flattened",
    "debezium_generic",
    "debezium_mysql",
    "debezium_postgres",
    "maxwell",
    "ogg",
)

#: The settings of a preset, which the jar has.
SETTINGS: Mapping[str, str] = {
    "header": "fields of the envelope that expressions use, by their path, with their types; there a field is `e.` and "
    "its path",
    "kind": "what an event is: SQL for 'upsert', 'delete', 'truncate', 'skip:' and a name, or 'refused:' and a reason",
    "ordering": "columns of a new table that order the events of a key",
    "stored": "further columns of a new table",
    "known": "further columns that are filled if the table has them",
    "before_sequence": "columns of a new table that order events before the columns of `sequence_by` do",
    "loads": "with `before_sequence`, whether a row is of a full load: a condition on the frame's columns",
    "after": "the field with the new row; None if the event itself is the row",
    "before": "the field with the old row, or with its changed columns",
    "before_is_partial": "whether `before` has only the columns that changed",
    "row_prefixes": "of a flat event, prefixes of fields that are no columns",
    "rows": "the field with an array of rows, in an event that has several",
    "source_table": "the name of the source's table, as SQL",
    "record_key": "the field with the names of the key columns",
    "has_schema": "whether the event may be wrapped in `schema` and `payload`",
    "placeholder": "the value that stands for one that the event does not have",
    "timestamp_unit": "unit of timestamps that are numbers, in events without a schema: millis, micros or nanos",
    "decimals": "how events without a schema write decimals: base64 (Debezium's precise) or text",
    "binaries": "how events write bytes: base64, base64url, hex or latin1, a character for each byte",
    "texts": "whether numbers may be strings",
    "types": "the field with MySQL's type of each column",
    "omits_nulls": "whether a row leaves out the columns that are null",
    "tombstones": "what an event without a value is: skip, as it follows a delete that has one, or refuse",
    "options": "settings of a table created for this preset, by their `hoodie.*` names",
}


@dataclass(frozen=True)
class EventColumn:
    """A column that a preset fills from the envelope.

    Attributes:
        name: Its name in the table.
        type: Its type, as in SQL.
        sql: Its value, from the envelope's fields; ``{load}`` stands for whether the row is of a full load.
    """

    name: str
    type: str
    sql: str


@dataclass(frozen=True)
class Preset:
    """How to read one tool's change events. Take one from :func:`named`; :meth:`configured` changes settings.

    Attributes:
        name: Its name.
        settings: Those of :data:`SETTINGS` that are not the preset's own; with ``kind``, there need be none of the
            name.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def configured(self, **settings: Any) -> Preset:
        """Return this preset with other settings.

        Raises:
            ValueError: A setting does not exist.
        """
        for unknown in sorted(set(settings) - set(SETTINGS)):
            raise ValueError(f"A preset has no setting '{unknown}'; it has {', '.join(SETTINGS)}")
        return Preset(self.name, {**self.settings, **settings})

    def _wire(self) -> str:
        """The preset as an argument of the jar's calls."""
        return json.dumps({"name": self.name, **self.settings}, default=_plain) if self.settings else self.name


def _plain(value: Any) -> Any:
    return asdict(value) if isinstance(value, EventColumn) else dict(value)


def named(name: str) -> Preset:
    """Return a preset by its name.

    Raises:
        ValueError: There is none of this name.
    """
    if name not in _NAMES:
        raise ValueError(f"There is no preset {name!r}; there are {', '.join(_NAMES)}")
    return Preset(name)


def names() -> tuple[str, ...]:
    """The names of all presets."""
    return _NAMES
