"""The jar's condition for which an exception was raised, with or without Spark Connect."""

from __future__ import annotations

import sys

from pyspark.errors import PySparkException

from merganser import _statements
from merganser.errors import MerganserError

_MAX_CAUSES = 32  # chains of causes can be circular


def condition_of(error: BaseException) -> str | None:
    """Return the name of the condition for which an exception was raised, or ``None`` if it is not Merganser's.

    The exception's causes are examined too, and errors that PySpark made before ``merganser`` was imported::

        try:
            frame.write.format("merganser").mode("append").save(path)
        except Exception as error:
            if merganser.condition_of(error) == "COMMIT_CONFLICT": ...
    """
    ours = error_of(error)
    return None if ours is None else ours.condition


def error_of(error: BaseException) -> MerganserError | None:
    """Return the jar's error for which an exception was raised, or ``None`` if it is not Merganser's."""
    for _ in range(_MAX_CAUSES):
        ours, cause = _carried(error), error.__cause__ or error.__context__
        if ours is not None or cause is None:
            return ours
        error = cause
    return None


def _carried(error: BaseException) -> MerganserError | None:
    if isinstance(error, MerganserError):
        return error
    if isinstance(error, PySparkException):
        sent = _statements.carried(error)
        if sent is not None:
            return sent
    bridge = sys.modules.get("merganser._bridge")  # a client of Spark Connect may lack the libraries it imports
    return bridge.translated(error) if bridge is not None else None
