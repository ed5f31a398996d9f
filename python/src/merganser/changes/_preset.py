"""What a preset is: where a tool's events have the row, the operation and the order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from merganser.changes._values import BINARIES, UNITS

PLACEHOLDER = "__debezium_unavailable_value"

#: A column of frames, true for rows of a full load: see ``Preset.loads``.
LOAD = "__merganser_load"

#: Kinds of events, as the ``kind`` of a preset returns them. Others are a name of what is skipped or a reason.
UPSERT, DELETE, TRUNCATE, SKIP, REFUSED = "upsert", "delete", "truncate", "skip:", "refused:"


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
        header: Fields of the envelope that expressions use, by their path, with their types. In the expressions a
            field is ``e.`` and its path.
        kind: What an event is: an SQL expression for one of the kinds.
        ordering: Columns of a new table that order the events of a key.
        stored: Further columns of a new table.
        known: Further columns that are filled if the table has them.
        before_sequence: Columns of a new table that order events before the columns of ``sequence_by`` do.
        loads: With ``before_sequence``, whether a row is of a full load: a condition on the frame's columns. ``None``:
            it has no operation, or is an insert without a value of ``sequence_by``.
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
        binaries: How events write binary values for columns of this type: ``base64``, ``base64url``, ``hex`` (those of
            Debezium's ``binary.handling.mode``) or ``latin1``, a character for each byte.
        texts: Whether numbers may be strings.
        types: The field with MySQL's type of each column.
        omits_nulls: Whether a row leaves out the columns that are null.
        tombstones: What an event without a value is: ``skip``, as it follows a delete that has one, or ``refuse``.
        options: Settings of a table created for this preset, by their ``hoodie.*`` names.
    """

    name: str
    header: Mapping[str, str]
    kind: str
    ordering: tuple[EventColumn, ...] = ()
    stored: tuple[EventColumn, ...] = ()
    known: tuple[EventColumn, ...] = ()
    before_sequence: tuple[EventColumn, ...] = ()
    loads: str | None = None
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
    binaries: str = "base64"
    texts: bool = False
    types: str | None = None
    omits_nulls: bool = False
    tombstones: str = "skip"
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
        if changed.binaries not in BINARIES:
            raise ValueError(f"binaries is one of {', '.join(BINARIES)}, not {changed.binaries!r}")
        if changed.tombstones not in ("skip", "refuse"):
            raise ValueError(f"tombstones is 'skip' or 'refuse', not {changed.tombstones!r}")
        return changed

    @property
    def columns(self) -> tuple[EventColumn, ...]:
        """All columns that the preset can fill."""
        return self.before_sequence + self.ordering + self.stored + self.known
