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

#: What each is: docs/follow-a-database.md.
# fmt: off
_SETTINGS = (
    "header", "kind", "ordering", "stored", "known", "before_sequence", "loads", "after", "before",
    "before_is_partial", "row_prefixes", "rows", "source_table", "record_key", "has_schema", "placeholder",
    "timestamp_unit", "decimals", "binaries", "texts", "types", "omits_nulls", "tombstones", "options",
)
# fmt: on


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
        settings: Those that are not the preset's own, as ``docs/follow-a-database.md`` lists them.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def configured(self, **settings: Any) -> Preset:
        """Return this preset with other settings.

        Raises:
            ValueError: A setting does not exist.
        """
        for unknown in sorted(set(settings) - set(_SETTINGS)):
            raise ValueError(f"A preset has no setting '{unknown}'; it has {', '.join(_SETTINGS)}")
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
        raise ValueError(f"There is no preset {name!r}. Use one of {', '.join(_NAMES)}")
    return Preset(name)


def names() -> tuple[str, ...]:
    """The names of all presets."""
    return _NAMES
