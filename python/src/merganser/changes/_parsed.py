"""The events of a frame in one form: header, new row, old row and key, whatever form the frame has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from merganser.changes._sql import field_of
from merganser.changes._values import SCHEMA, Value

#: Columns of the frames here: the event and its key as text, whether it is null, whether it does not parse, whether it
#: is in a ``payload``, a number for its ``schema``, and the structs with the header, the new row, the old one, the key.
RAW, KEY, ABSENT, CORRUPT, WRAPPED = "__raw", "__raw_key", "__absent", "__corrupt", "__wrapped"
HEADER, AFTER, BEFORE, KEYS = "e", "a", "b", "k"
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

    def applies(self, column: str) -> bool:
        own = column.casefold()
        is_omitted = own in map(str.casefold, self.omitted)
        return not is_omitted and (self.only is None or own in map(str.casefold, self.only))


@dataclass(frozen=True)
class Parsed:
    """Events with typed header and rows.

    Attributes:
        frame: With the columns of ``ALL``.
        columns: Every column of the rows that is applied, with its conversion.
        has_before: Whether events can have old rows.
        is_json: Whether RAW is what the tool wrote.
    """

    frame: DataFrame
    columns: Mapping[str, Value]
    has_before: bool
    is_json: bool = False
