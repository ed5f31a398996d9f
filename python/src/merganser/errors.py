"""Exceptions, one class for each condition that a program may want to handle.

The jar identifies an error by a *condition*, as in ``[ORDERING_FIELD_MISSING] Cannot upsert into 'trips': ...``.
A condition without its own class raises :class:`MerganserError`, which has its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar

from pyspark.errors import PySparkException


class MerganserError(PySparkException):
    """An operation was refused or failed. The message states what failed, with which value, and what to do.

    Like any of PySpark's exceptions it has ``getMessageParameters()`` and the other getters.

    Attributes:
        condition: Name of the condition, in capitals.
        sql_state: Five characters of SQLSTATE, where the condition has one.
        parameters: Values that the message mentions, by name.
        origin: The error that the server of Spark Connect sent; ``None`` in a classic session, where it is the cause.
    """

    origin: BaseException | None = None

    def __init__(
        self,
        message: str,
        *,
        condition: str,
        sql_state: str | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.args = (message,)
        self.condition = condition
        self.sql_state = sql_state
        self.parameters: Mapping[str, str] = MappingProxyType(dict(parameters or {}))

    def getCondition(self) -> str:
        return self.condition

    def getErrorClass(self) -> str:
        return self.condition

    def getMessage(self) -> str:
        return str(self)

    def getSqlState(self) -> str | None:  # type: ignore[override, unused-ignore]
        return self.sql_state

    def getMessageParameters(self) -> dict[str, str]:
        return dict(self.parameters)

    def __str__(self) -> str:
        return str(self.args[0])


class _ConditionError(MerganserError):
    """Base of the classes for conditions of the jar."""

    CONDITIONS: ClassVar[tuple[str, ...]]


class TableNotFoundError(_ConditionError):
    """There is no table at the path, or none with the name."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("TABLE_NOT_FOUND", "PATH_IS_NO_TABLE", "DELETE_FROM_NO_TABLE")


class TableExistsError(_ConditionError):
    """There is a table at the path already."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("TABLE_EXISTS", "TABLE_FOLDER_TAKEN")


class ColumnMissingError(_ConditionError):
    """A column that the operation needs is not among the incoming ones."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("COLUMN_MISSING", "RECORD_KEY_COLUMN_MISSING", "PARTITION_COLUMN_MISSING")


class OrderingFieldMissingError(ColumnMissingError):
    """An ordering field is not a column of the incoming rows."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("ORDERING_FIELD_MISSING",)


class NullValueError(_ConditionError):
    """A row lacks its key, a value of a column that is NOT NULL, or an ordering value where the table rejects null."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("NULL_RECORD_KEY", "NULL_ORDERING_VALUE", "NULL_VALUE")


class SchemaConflictError(_ConditionError):
    """The columns of the incoming rows contradict those of the table."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("SCHEMA_CONFLICT",)


class OptionError(_ConditionError):
    """An option is unknown or unsupported, or its value is invalid."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("UNKNOWN_OPTION", "UNSUPPORTED_OPTION", "OPTION_VALUE_INVALID")


class ConfigurationConflictError(_ConditionError):
    """A setting contradicts the table or another setting, or is set twice to different values."""

    CONDITIONS: ClassVar[tuple[str, ...]] = (
        "CONFIG_CONFLICT",
        "PAYLOAD_CLASS_REFUSED",
        "COLUMNS_CONFLICT",
        "OPTION_CONFLICT",
        "MERGE_SETTINGS_CONFLICT",
        "OVERWRITE_WITH_OTHER_SETTINGS",
        "CHANGES_CONFLICT",
    )


class DuplicateKeyError(_ConditionError):
    """A key is already stored, and the insert's duplicate policy is ``fail``."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("DUPLICATE_KEY",)


class CommitConflictError(_ConditionError):
    """Another writer committed to the same file groups first; write again."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("COMMIT_CONFLICT",)


class CompactionConflictError(CommitConflictError):
    """Another process is running or has completed the same compaction; no row has changed."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("COMPACTION_CONFLICT",)


class ClusteringConflictError(CommitConflictError):
    """Another writer ran the same clustering, rolled it back or changed its rows first; no row has changed."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("CLUSTERING_CONFLICT",)


class LockTimeoutError(_ConditionError):
    """Another writer held the table's lock for too long; write again."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("LOCK_TIMEOUT",)


class SliceFileMissingError(_ConditionError):
    """A file of a slice is gone, probably cleaned while it was read."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("SLICE_FILE_MISSING",)


class EventsRefusedError(_ConditionError):
    """Change events that cannot be applied, and no quarantine for them; nothing was written."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("EVENTS_REFUSED",)


class ChangesValueError(_ConditionError, ValueError):
    """An argument of an application of changes has no such value, or a needed one is missing."""

    CONDITIONS: ClassVar[tuple[str, ...]] = (
        "CHANGES_COLUMN_MARKS_DELETES",
        "CHANGES_COLUMN_MISSING",
        "CHANGES_KEYS_UNKNOWN",
        "CHANGES_NEED_SEQUENCE",
        "CHANGES_NULLS_IN_SOME_COLUMNS",
        "CHANGES_OF_SEVERAL_TABLES",
        "CHANGES_ORDER_UNKNOWN",
        "CHANGES_PRESET_INVALID",
        "CHANGES_PRESET_UNKNOWN",
        "CHANGES_SEQUENCE_AMBIGUOUS",
        "CHANGES_SEQUENCE_UNKNOWN",
        "CHANGES_SOURCE_TABLE_OF_ROWS",
    )


class ChangesTypeError(_ConditionError, TypeError):
    """A frame of changes does not have the form that the preset takes."""

    CONDITIONS: ClassVar[tuple[str, ...]] = ("CHANGES_FORM_UNKNOWN", "CHANGES_IMAGE_TYPE")


class RuleNotTraceableError(MerganserError):
    """A rule's Python function does what columns without values cannot do; the message has the line and a remedy."""


class MissingJarError(MerganserError):
    """The session runs without the jar, or the package ships none for this Spark line."""


def _classes(base: type[_ConditionError]) -> Iterator[type[_ConditionError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _classes(kind)


BY_CONDITION: Mapping[str, type[_ConditionError]] = MappingProxyType(
    {condition: kind for kind in _classes(_ConditionError) for condition in kind.CONDITIONS}
)
"""The class of each condition that has one."""


CALLS: Mapping[str, str] = MappingProxyType(
    {
        "CALL show_commits": "Table.history()",
        "CALL show_savepoints": "Table.savepoints.list()",
        "CALL restore_to_instant(instant_time => ": "Table.savepoints.restore(",
        "CALL rollback_to_instant(instant_time => ": "Table.savepoints.rollback(",
        "CALL run_compaction(op => 'run')": "Table.compact()",
        "CALL run_clustering(op => 'execute')": "Table.services.cluster()",
        "CALL run_clean": "Table.clean()",
    }
)
"""What procedures that messages name are in Python."""


def in_python(error: MerganserError) -> MerganserError:
    """The error of a call of Python: its message names the methods in place of procedures."""
    message = str(error)
    for procedure, method in CALLS.items():
        message = message.replace(procedure, method)
    error.args = (message,)
    return error


def error_for(
    condition: str,
    *,
    message: str,
    sql_state: str | None = None,
    parameters: Mapping[str, str] | None = None,
) -> MerganserError:
    """Return the exception for a condition of the jar; not raised yet."""
    kind: type[MerganserError] = BY_CONDITION.get(condition, MerganserError)
    return kind(message, condition=condition, sql_state=sql_state, parameters=parameters)
