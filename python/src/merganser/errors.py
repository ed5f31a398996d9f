"""Exceptions, one class for each condition that a program may want to handle.

The jar names what went wrong by a *condition*, as in ``[MERGE_MODE_CONFLICT] Cannot write to 'trips': ...``.
A condition without a class of its own raises :class:`MerganserError`, which holds its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar


class MerganserError(Exception):
    """Something was refused or failed. The message says what, with which value, and what to do.

    Attributes:
        condition: Name of the condition, in capitals.
        sql_state: Five characters of SQLSTATE, where the condition has one.
        parameters: Values that the message mentions, by name.
    """

    def __init__(
        self,
        message: str,
        *,
        condition: str,
        sql_state: str | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.condition = condition
        self.sql_state = sql_state
        self.parameters: Mapping[str, str] = MappingProxyType(dict(parameters or {}))


class _ConditionError(MerganserError):
    """Base of the classes that stand for conditions of the jar."""

    CONDITION: ClassVar[str]


class OrderingFieldMissingError(_ConditionError):
    """An ordering field is not a column of the incoming rows."""

    CONDITION = "ORDERING_FIELD_MISSING"


class MergeModeConflictError(_ConditionError):
    """A write asks for another merge mode than the table stores."""

    CONDITION = "MERGE_MODE_CONFLICT"


class CommitConflictError(_ConditionError):
    """Another writer committed to the same file groups first; write again."""

    CONDITION = "COMMIT_CONFLICT"


class SliceFileMissingError(_ConditionError):
    """A file of a slice is gone, probably cleaned while it was read."""

    CONDITION = "SLICE_FILE_MISSING"


class TableNotFoundError(_ConditionError):
    """There is no table at the path, or none of the name."""

    CONDITION = "TABLE_NOT_FOUND"


class MissingJarError(MerganserError):
    """The session runs without the jar, or the package ships none for this Spark line."""


class SparkConnectError(MerganserError):
    """The session is a Spark Connect client, which has no JVM to call."""


class ConfigurationConflictError(MerganserError):
    """A setting is given twice with different values."""


_BY_CONDITION: Mapping[str, type[_ConditionError]] = MappingProxyType(
    {kind.CONDITION: kind for kind in _ConditionError.__subclasses__()}
)


def error_for(
    condition: str,
    *,
    message: str,
    sql_state: str | None = None,
    parameters: Mapping[str, str] | None = None,
) -> MerganserError:
    """Return the exception for a condition of the jar; not raised yet."""
    kind: type[MerganserError] = _BY_CONDITION.get(condition, MerganserError)
    return kind(message, condition=condition, sql_state=sql_state, parameters=parameters)
