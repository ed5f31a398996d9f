"""What a table's settings and keys are found to be. Counts are in rows unless stated otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from merganser._shown import Results, Shown, html_table
from merganser._wire import wire


@dataclass(frozen=True)
class Setting(Shown):
    """A setting as it holds for the writes of a table."""

    setting: str
    """Its name, ``hoodie.*`` for the most part."""
    value: str | None
    """``None`` if nothing sets it and it has no default."""
    source: str
    """``table``, ``option``, ``session`` or ``default``; ``inferred`` where other properties of the table imply it."""
    scope: str
    """``table``, if it is stored with the table and no write overrides it; else ``write``."""
    conflict: str | None
    """What is configured but refused, ignored or without effect; ``None`` if nothing is."""
    meaning: str

    def _line(self) -> str:
        value = "not set" if self.value is None else self.value
        return f"{self.setting} = {value} ({self.source}){'' if self.conflict is None else f': {self.conflict}'}"


class MergeConfig(Results[Setting]):
    """Every setting that holds for the writes of a table. ``config["hoodie.index.type"]`` is a value."""

    def __getitem__(self, key: Any) -> Any:
        """The value of a setting by its name; a setting by its position."""
        if isinstance(key, str):
            return {one.setting: one.value for one in self}[key]
        return super().__getitem__(key)

    @property
    def conflicts(self) -> Results[Setting]:
        """Those that something contradicts."""
        return Results(one for one in self if one.conflict is not None)

    @property
    def changed(self) -> Results[Setting]:
        """Those that are not defaults."""
        return Results(one for one in self if one.source != "default")

    def __str__(self) -> str:
        """A line for each setting that is not a default, contradictions first."""
        first = self.conflicts
        others = [one for one in self.changed if one.conflict is None]
        return "\n".join(map(str, [*first, *others])) or "only defaults"

    def _repr_html_(self) -> str:
        """A table of all settings, contradictions first, then those that are not defaults."""
        order = sorted(self, key=lambda one: (one.conflict is None, one.source == "default"))
        names = ("setting", "value", "source", "scope", "conflict", "meaning")
        return html_table(names, order)


@dataclass(frozen=True)
class RepeatedKey(Shown):
    """A record key that more than one row has."""

    key: str
    rows: int
    partitions: tuple[str, ...]
    """Paths of the partitions in which they are."""


@dataclass(frozen=True)
class KeyCheck(Shown):
    """The keys of a table; true in conditions if each row has a key and no key has two rows.

    Rows of one key in several partitions are different rows, unless the table's index is a global one.
    """

    rows: int
    keys: int
    """Different keys."""
    duplicate_keys: int
    """Keys that more than one row has."""
    duplicate_rows: int
    """Rows of these keys."""
    null_keys: int
    """Rows whose key columns are all null."""
    keys_in_several_partitions: int
    duplicates: tuple[RepeatedKey, ...] = field(metadata=wire(of=RepeatedKey.from_wire, empty=()))
    """Some of the keys that more than one row has, those with the most rows first."""

    @property
    def ok(self) -> bool:
        """Whether each row has a key and no key has two rows."""
        return not self.duplicate_keys and not self.null_keys

    def __bool__(self) -> bool:
        return self.ok

    def _line(self) -> str:
        repeated = f"{self.duplicate_keys} keys have {self.duplicate_rows} rows" if self.duplicate_keys else ""
        lacking = f"{self.null_keys} rows have no key" if self.null_keys else ""
        found = "; ".join(filter(None, (repeated, lacking))) or "each has one row"
        first = f" (such as {self.duplicates[0].key!r})" if self.duplicates else ""
        return f"{self.rows} rows, {self.keys} keys: {found}{first}"
