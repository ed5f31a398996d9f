"""Arguments as users write them. One of another type is a ``TypeError``, which names what to pass."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from typing import Any, Protocol, Union

from pyspark.sql import Column, SparkSession
from pyspark.sql.types import StructType

from merganser.config import Options, WriteOptions, merged_options


class HasInstant(Protocol):
    """What names a commit: the result of a write, or an entry of the history."""

    @property
    def instant(self) -> str:
        """Requested time of the commit."""


Columns = Union[str, Sequence[str]]
Names = Union[str, "Column", Sequence[Union[str, "Column"]]]
Time = Union[str, date, HasInstant]
Place = Union[str, "os.PathLike[str]"]
Transaction = tuple[str, int]
AnyOptions = Union[WriteOptions, Options]

_WORDS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def session_of(spark: object) -> SparkSession:
    if isinstance(spark, (str, os.PathLike)):
        raise TypeError(f"The session comes first, then the path or name: (spark, {str(spark)!r}, ...)")
    if not hasattr(spark, "sql") and not hasattr(spark, "_jvm"):
        raise TypeError(
            "The first argument is a Spark session, such as spark = merganser.session('my job') returns, not "
            f"{'None' if spark is None else f'a {kind(spark)}'}"
        )
    return spark  # type: ignore[return-value]


def path_of(path_or_name: object) -> str:
    if not isinstance(path_or_name, (str, os.PathLike)):
        raise TypeError(f"A table is identified by its path or name, not by a {kind(path_or_name)}")
    return str(os.fspath(path_or_name))


def columns_of(spark: SparkSession, schema: object) -> StructType:
    """The columns that a schema, DDL or a frame has."""
    if isinstance(schema, str):
        return spark.createDataFrame([], schema).schema  # type: ignore[type-var, unused-ignore]
    if isinstance(schema, StructType):
        return schema
    columns = getattr(schema, "schema", None)
    if is_frame(schema) and isinstance(columns, StructType):
        return columns
    raise TypeError(
        f"schema is a StructType, a string such as 'id string, ts long', or a Spark DataFrame, not a {kind(schema)}"
    )


def is_frame(rows: object) -> bool:
    """Whether it is a data frame of a classic session or of Spark Connect."""
    return hasattr(rows, "_jdf") or hasattr(rows, "createOrReplaceTempView")


def is_column(value: object) -> bool:
    """Whether it is a column of a classic session or of Spark Connect, whose classes differ."""
    return isinstance(value, Column) or type(value).__module__.startswith("pyspark.sql.connect.column")


def condition_of(argument: str, condition: object) -> Any:
    """A condition, as it is."""
    if isinstance(condition, str) or is_column(condition):
        return condition
    raise TypeError(
        f"{argument} is a condition as SQL, such as \"id = 'a'\", or as a column, such as col('id') == 'a', "
        f"not a {kind(condition)}"
    )


def time_of(argument: str, time: object) -> str:
    """A time as the jar reads it."""
    if isinstance(time, str):
        return time
    if isinstance(time, datetime):
        return time.isoformat(sep=" ", timespec="milliseconds")
    if isinstance(time, date):
        return time.isoformat()
    instant = getattr(time, "instant", None)
    if isinstance(instant, str):
        return instant
    raise TypeError(
        f"{argument} is an instant or a time as a str, a datetime, a date, the result of a write, or an entry of "
        f"history(), not {kind(time)}"
    )


def time_or_none(argument: str, time: object) -> str | None:
    """The same where ``None`` has a meaning of its own."""
    return None if time is None else time_of(argument, time)


def utc_text(time: datetime | None) -> str | None:
    """A time as procedures read it; one without a zone is local."""
    return None if time is None else time.astimezone(timezone.utc).isoformat()


def wire_of(options: object) -> dict[str, str]:
    """Options of a write by their names."""
    if isinstance(options, WriteOptions):
        return options.to_options()
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(
            "options is a WriteOptions or a dict of settings by their names, such as "
            f"{{'hoodie.combine.before.upsert': 'true'}}, not a {kind(options)}"
        )
    return merged_options({}, options)


def transaction_of(txn: object) -> dict[str, Any]:
    if txn is None:
        return {}
    if not (isinstance(txn, tuple) and len(txn) == 2 and isinstance(txn[0], str) and type(txn[1]) is int):
        raise TypeError(f"txn is an application and a version, such as ('orders-job', 17), not {txn!r}")
    return {"spark.merganser.write.txnAppId": txn[0], "spark.merganser.write.txnVersion": str(txn[1])}


def write_options(options: object, txn: object) -> dict[str, str]:
    """Options and transaction of a write by their names."""
    return merged_options(transaction_of(txn), wire_of(options))


def names_of(argument: str, columns: object) -> list[str]:
    listed = [columns] if isinstance(columns, str) else columns
    if not isinstance(listed, (list, tuple, set, frozenset)) or not all(isinstance(one, str) for one in listed):
        raise TypeError(f"{argument} is the name of a column, or a list of names, not {columns!r}")
    return [str(one) for one in listed]


def is_name(text: str) -> bool:
    """Whether a string is the name of a column, or of a field inside one, that needs no quotes."""
    return _WORDS.fullmatch(text) is not None


def kind(value: object) -> str:
    """The type of a value, for messages."""
    given = type(value)
    if given.__module__ == "builtins":
        return given.__name__
    return f"{given.__module__.partition('.')[0]}.{given.__name__}"
