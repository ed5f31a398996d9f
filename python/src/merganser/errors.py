"""Exceptions, one class for each condition that a program may want to handle.

The jar identifies an error by a *condition*, as in ``[ORDERING_FIELD_MISSING] Cannot upsert into 'trips': ...``.
A condition without its own class raises :class:`MerganserError`, with the condition's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from pyspark.errors import PySparkException

_CLASSES: dict[str, type[MerganserError]] = {}
BY_CONDITION: Mapping[str, type[MerganserError]] = MappingProxyType(_CLASSES)
"""The class of each condition that has one."""


class MerganserError(PySparkException):
    """An operation was refused or failed. The message states what failed, with which value, and what to do.

    Like any of PySpark's exceptions it has ``getMessageParameters()`` and the other getters.

    Attributes:
        condition: Name of the condition, in capitals.
        sql_state: Five characters of SQLSTATE, if the condition has one.
        parameters: Values that the message mentions, by name.
        origin: The error that the server of Spark Connect sent; ``None`` in a classic session, where it is the cause.
    """

    CONDITIONS: ClassVar[tuple[str, ...]] = ()
    """The conditions of the jar that have this class."""
    origin: BaseException | None = None

    def __init_subclass__(cls, of: tuple[str, ...] = ()) -> None:
        cls.CONDITIONS = of
        _CLASSES.update(dict.fromkeys(of, cls))

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

    getErrorClass = getCondition

    def getMessage(self) -> str:
        return str(self)

    def getSqlState(self) -> str | None:  # type: ignore[override, unused-ignore]
        return self.sql_state

    def getMessageParameters(self) -> dict[str, str]:
        return dict(self.parameters)

    def __str__(self) -> str:
        return str(self.args[0])


class TableNotFoundError(MerganserError, of=("TABLE_NOT_FOUND", "PATH_IS_NO_TABLE", "DELETE_FROM_NO_TABLE")):
    """There is no table at the path, or none with the name."""


class TableExistsError(MerganserError, of=("TABLE_EXISTS", "TABLE_FOLDER_TAKEN")):
    """There is already a table at the path."""


class ColumnMissingError(
    MerganserError, of=("COLUMN_MISSING", "RECORD_KEY_COLUMN_MISSING", "PARTITION_COLUMN_MISSING")
):
    """A column that the operation needs is not among the incoming ones."""


class OrderingFieldMissingError(ColumnMissingError, of=("ORDERING_FIELD_MISSING",)):
    """An ordering field is not a column of the incoming rows."""


class NullValueError(MerganserError, of=("NULL_RECORD_KEY", "NULL_ORDERING_VALUE", "NULL_VALUE")):
    """A row lacks its key, a value of a column that is NOT NULL, or an ordering value where the table rejects null."""


class SchemaConflictError(MerganserError, of=("SCHEMA_CONFLICT",)):
    """The columns of the incoming rows contradict those of the table."""


class OptionError(MerganserError, of=("UNKNOWN_OPTION", "UNSUPPORTED_OPTION", "OPTION_VALUE_INVALID")):
    """An option is unknown or unsupported, or its value is invalid."""


class ConfigurationConflictError(
    MerganserError,
    of=(
        "CONFIG_CONFLICT",
        "PAYLOAD_CLASS_REFUSED",
        "COLUMNS_CONFLICT",
        "OPTION_CONFLICT",
        "MERGE_SETTINGS_CONFLICT",
        "OVERWRITE_WITH_OTHER_SETTINGS",
        "CHANGES_CONFLICT",
    ),
):
    """A setting contradicts the table or another setting, or is set twice to different values."""


class DuplicateKeyError(MerganserError, of=("DUPLICATE_KEY",)):
    """A key is already stored, and the insert's duplicate policy is ``fail``."""


class CommitConflictError(MerganserError, of=("COMMIT_CONFLICT",)):
    """Another writer committed to the same file groups first; write again."""


class CompactionConflictError(CommitConflictError, of=("COMPACTION_CONFLICT",)):
    """Another process is running or has completed the same compaction; no row has changed."""


class ClusteringConflictError(CommitConflictError, of=("CLUSTERING_CONFLICT",)):
    """Another writer ran the same clustering, rolled it back or changed its rows first; no row has changed."""


class LockTimeoutError(MerganserError, of=("LOCK_TIMEOUT",)):
    """Another writer held the table's lock for too long; write again."""


class SliceFileMissingError(MerganserError, of=("SLICE_FILE_MISSING",)):
    """A file of a slice is gone, probably cleaned while it was read."""


class EventsRefusedError(MerganserError, of=("EVENTS_REFUSED",)):
    """Change events that cannot be applied, and no quarantine for them; nothing was written."""


class ChangesValueError(
    MerganserError,
    ValueError,
    of=(
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
    ),
):
    """An argument of ``apply_changes`` has an invalid value, or is missing."""


class ChangesTypeError(MerganserError, TypeError, of=("CHANGES_FORM_UNKNOWN", "CHANGES_IMAGE_TYPE")):
    """A frame of changes does not have the form that the preset takes."""


class RuleNotTraceableError(MerganserError):
    """A rule's Python function does what columns without values cannot do; the message shows the line and a remedy."""


class MissingJarError(MerganserError):
    """The session runs without the jar, or the package ships none for this Spark line."""


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


def error_for(condition: str, **more: Any) -> MerganserError:
    """Return the exception for a condition of the jar, with its message and more; not raised yet."""
    return BY_CONDITION.get(condition, MerganserError)(condition=condition, **more)
