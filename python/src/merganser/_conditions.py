"""Which condition of the jar's an exception stands for, whichever way it came."""

from __future__ import annotations

import sys

from pyspark.errors import PySparkException

from merganser import _statements
from merganser.errors import MerganserError

_MAX_CAUSES = 32  # chains of causes can be circular


def condition_of(error: BaseException) -> str | None:
    """Return the name of the condition for which an exception was raised, or ``None`` where it is none of Merganser's.

    It looks into what caused the exception too. Over Spark Connect, where statements and data frames raise PySpark's
    own exceptions, it reads what the server sent::

        try:
            frame.write.format("merganser").mode("append").save(path)
        except Exception as error:
            if merganser.condition_of(error) == "COMMIT_CONFLICT": ...
    """
    current: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if current is None:
            return None
        ours = _carried(current)
        if ours is not None:
            return ours.condition
        current = current.__cause__ or current.__context__
    return None


def _carried(error: BaseException) -> MerganserError | None:
    if isinstance(error, MerganserError):
        return error
    if isinstance(error, PySparkException):
        sent = _statements.carried(error)
        if sent is not None:
            return sent
    bridge = sys.modules.get("merganser._bridge")  # a client of Spark Connect may have nothing that it needs
    return bridge.translated(error) if bridge is not None else None
