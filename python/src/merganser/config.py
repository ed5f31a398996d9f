"""Settings by type. ``None`` always means "not set": the defaults live in the jar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum

from merganser.errors import ConfigurationConflictError


class TableType(Enum):
    """How a table stores changes."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    """A write rewrites the files it touches. Reads are plain scans."""
    MERGE_ON_READ = "MERGE_ON_READ"
    """A write appends to logs. Reads merge them, compaction merges them into the base files."""


class MergeMode(Enum):
    """Which of two versions of a row wins."""

    EVENT_TIME_ORDERING = "EVENT_TIME_ORDERING"
    """The one with the larger ordering value; of equal ones the newer."""
    COMMIT_TIME_ORDERING = "COMMIT_TIME_ORDERING"
    """The one written last."""
    CUSTOM = "CUSTOM"
    """The one that a class of your own chooses, by its strategy id or as the table's payload class."""


class IndexType(Enum):
    """How a write finds the file group of a key."""

    SIMPLE = "SIMPLE"
    """By a merge join of the sorted batch with the stored keys; only the key column is read."""
    BUCKET = "BUCKET"
    """By a hash of the key; the number of buckets is fixed when the table is created."""
    GLOBAL_SIMPLE = "GLOBAL_SIMPLE"
    """As SIMPLE, in all partitions: a key is one row in the whole table, and may move."""
    BLOOM = "BLOOM"
    """As SIMPLE; base files also have bloom filters of their keys."""
    GLOBAL_BLOOM = "GLOBAL_BLOOM"
    """As GLOBAL_SIMPLE; base files also have bloom filters of their keys."""


class MissingColumns(Enum):
    """How a write handles columns of the table that its rows lack."""

    ADDED = "added"
    """The default. It fails for columns that the table was created with. For columns that were added later, an upsert
    keeps the stored values; a new key gets null."""
    REJECT = "reject"
    """It fails."""
    NULL = "null"
    """They become null."""
    KEEP = "keep"
    """An upsert keeps the stored values; a new key gets null."""


Options = Mapping[str, str]
"""Settings by their ``hoodie.*`` names."""


@dataclass(frozen=True)
class WriteOptions:
    """Settings of one write. Unset ones come from the table, then from the session, then from the defaults.

    ``hoodie`` holds any other setting by its name.
    """

    combine_before_insert: bool | None = field(default=None, metadata={"key": "hoodie.combine.before.insert"})
    """Whether insert and bulk_insert merge the versions of a key in the batch into one."""
    combine_before_upsert: bool | None = field(default=None, metadata={"key": "hoodie.combine.before.upsert"})
    compact_inline: bool | None = field(default=None, metadata={"key": "hoodie.compact.inline"})
    """Whether the write compacts a merge-on-read table after enough writes to its logs."""
    compact_after_commits: int | None = field(default=None, metadata={"key": "hoodie.compact.inline.max.delta.commits"})
    """How many writes are enough, for ``compact_inline``."""
    delete_field: str | None = field(default=None, metadata={"key": "hoodie.payload.delete.field"})
    """Column that marks a row as a delete when it holds ``delete_marker``."""
    delete_marker: str | None = field(default=None, metadata={"key": "hoodie.payload.delete.marker"})
    missing_columns: MissingColumns | None = field(
        default=None, metadata={"key": "spark.merganser.write.missingColumns"}
    )
    """How columns of the table that the rows lack are handled."""
    hoodie: Options | None = None

    def to_options(self) -> dict[str, str]:
        """Return the settings that are set, by their ``hoodie.*`` names."""
        named = {one.metadata["key"]: getattr(self, one.name) for one in fields(self) if one.metadata}
        return merged_options(named, self.hoodie)


def merged_options(
    named: Mapping[str, str | int | Enum | Sequence[str] | None], more: Options | None
) -> dict[str, str]:
    """Return named settings and further ones combined, without unset ones.

    Raises:
        ConfigurationConflictError: Both have a setting, with different values.
    """
    options = {key: _text(value) for key, value in named.items() if value is not None}
    for key, value in (more or {}).items():
        if options.setdefault(key, value) != value:
            raise ConfigurationConflictError(
                f"Setting '{key}' is set twice: to '{options[key]}' by its argument and to '{value}' in the options. "
                "Remove one of them.",
                condition="SETTING_GIVEN_TWICE",
                parameters={"key": key, "argument": options[key], "option": value},
            )
    return options


def _text(value: str | int | Enum | Sequence[str]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, (str, int)):
        return str(value)
    return ",".join(value)
