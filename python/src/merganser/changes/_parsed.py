"""The events of a frame in one form: header, new row, old row and key, whatever form the frame has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from merganser.changes._sql import field_of
from merganser.changes._values import SCHEMA, Value
from merganser.errors import MerganserError

#: Columns of the frames here: the event and its key as text, whether it is null, whether it does not parse, whether it
#: is in a ``payload``, a number for its ``schema``, and the structs with the header, the new row, the old one, the key.
RAW, KEY, ABSENT, CORRUPT, WRAPPED = "__raw", "__raw_key", "__absent", "__corrupt", "__wrapped"
HEADER, AFTER, BEFORE, KEYS = "e", "a", "b", "k"
#: In front of the name of a column of the frame that is no part of its events, and orders them.
FRAME = "__frame_"
#: The column that marks deletes among the rows that are written.
DELETED = "_hoodie_is_deleted"
ALL = (RAW, KEY, ABSENT, CORRUPT, SCHEMA, HEADER, AFTER, BEFORE, KEYS)


@dataclass(frozen=True)
class Target:
    """What the table, or the caller, knows of the columns that events fill.

    Attributes:
        schema: Columns of the table; empty if it is created by these events.
        types: Types that the caller gave by column.
        only: The columns that are applied; ``None``: all.
        omitted: Columns that are not applied.
        source_table: The source's table whose events are applied; ``None``: all.
        fixed: Columns of the table by which stored rows are found and ordered: only their integers widen.
        evolution: Whether columns of the table may become wider: ``true``, ``false``, or ``tostring``, strings too.
    """

    schema: T.StructType
    types: Mapping[str, T.DataType]
    only: tuple[str, ...] | None
    omitted: tuple[str, ...]
    source_table: str | None = None
    fixed: tuple[str, ...] = ()
    evolution: str = "true"

    def type_of(self, column: str) -> T.DataType | None:
        if column in self.types:
            return self.types[column]
        found = field_of(self.schema, column)
        return None if found is None else self.schema[found].dataType

    def widens(self, column: str) -> bool:
        """Whether an event may give the column another type: not if the caller did."""
        return column not in self.types and (self.evolution != "false" or field_of(self.schema, column) is None)

    def is_fixed(self, column: str) -> bool:
        return column.casefold() in {one.casefold() for one in self.fixed}

    def applied(self, columns: Iterable[str]) -> list[str]:
        """Those of the events' columns that are applied.

        Of two whose names differ in case only, ``only`` and ``omitted`` mean the one that they name exactly.

        Raises:
            MerganserError: ``CHANGES_COLUMNS_ALIKE``: two of them differ in case only.
            ValueError: One of them has the name of the column that marks deletes.
        """
        found = list(columns)

        def names(given: Iterable[str], column: str) -> bool:
            alike = [one for one in given if one.casefold() == column.casefold()]
            return column in alike or any(one not in found for one in alike)

        applied = [
            column
            for column in found
            if not names(self.omitted, column) and (self.only is None or names(self.only, column))
        ]
        seen: dict[str, str] = {}
        for column in applied:
            other = seen.setdefault(column.casefold(), column)
            if other != column:
                raise alike(other, column)
        if DELETED in seen:
            given = seen[DELETED]
            raise ValueError(
                f"Column '{given}' of the changes would mark deletes: give apply_as_deletes={given!r} if it does, and "
                f"leave it out of the rows by except_columns={given!r}"
            )
        return applied


def alike(one: str, other: str) -> MerganserError:
    """The error for two columns of events that one column of a table would have."""
    return MerganserError(
        f"Cannot apply changes with the columns '{one}' and '{other}': their names differ in case only, and a table "
        f"has one column for both. Rename one of them at the source; of events in JSON, except_columns='{other}' "
        "leaves one out.",
        condition="CHANGES_COLUMNS_ALIKE",
        parameters={"column": one, "other": other},
    )


@dataclass(frozen=True)
class Parsed:
    """Events with typed header and rows.

    Attributes:
        frame: With the columns of ``ALL``, and those of the frame that begin with FRAME.
        columns: Every column of the rows that is applied, with its conversion.
        has_before: Whether events can have old rows.
        is_json: Whether RAW is what the tool wrote.
        places: Of JSON, each value of an event by its place, with the struct that reads it alone.
    """

    frame: DataFrame
    columns: Mapping[str, Value]
    has_before: bool
    is_json: bool = False
    places: Mapping[str, T.StructType] = field(default_factory=dict)

    @property
    def of_frame(self) -> Mapping[str, T.DataType]:
        """The types of the frame's own columns that order the events, by their names in ``sequence_by``.

        Raises:
            ValueError: The rows of the events have a column of the name too.
        """
        fields = self.frame.schema.fields
        found = {one.name.removeprefix(FRAME): one.dataType for one in fields if one.name.startswith(FRAME)}
        rows = {column.casefold() for column in self.columns}
        for column in found:
            if column.casefold() in rows:
                raise ValueError(
                    f"sequence_by names '{column}', which the frame has beside the events, and their rows have too. "
                    f"For the frame's, rename it: frame.withColumnRenamed('{column}', 'event_{column}'); for that of "
                    "the rows, select the events alone: frame.select('key', 'value')"
                )
        return found
