"""Data frames from what users have: frames of Spark, pandas, Arrow and Polars, and lists of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol, Union

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as T
from pyspark.sql.functions import col

from merganser._arguments import is_frame, kind


class HasColumns(Protocol):
    """A frame of pandas or of Polars."""

    @property
    def columns(self) -> Any:
        """Names of its columns."""
        ...


class HasColumnNames(Protocol):
    """A table of Arrow."""

    @property
    def column_names(self) -> list[str]:
        """Names of its columns."""
        ...


Rows = Union[DataFrame, HasColumns, HasColumnNames, Sequence[Mapping[str, Any]], Sequence[Sequence[Any]], Sequence[Row]]
"""A frame of Spark, pandas or Arrow, or a list of dicts, of ``Row``, or of tuples in the table's order."""


def frame_of(spark: SparkSession, operation: str, rows: Any, schema: T.StructType | None = None) -> DataFrame:
    """A data frame of the session.

    Args:
        spark: The session.
        operation: What takes the rows, for messages.
        rows: See :data:`Rows`.
        schema: The columns of the table: columns of these names get their types. Without it, types are inferred.

    Raises:
        TypeError: There is no plain way to make a frame of ``rows``.
        ValueError: The rows of a list have different columns.
    """
    if is_frame(rows):
        found: DataFrame = rows
        return found
    module = type(rows).__module__.partition(".")[0]
    if hasattr(rows, "to_spark"):  # pandas on Spark
        frame: DataFrame = rows.to_spark()
        return frame
    if module in ("pandas", "polars", "pyarrow"):
        table = rows if module == "pandas" else rows.to_pandas()
        return _of_pandas(spark, operation, table, schema)
    if isinstance(rows, Mapping):
        return _of_records(spark, operation, [rows], schema)
    if isinstance(rows, Sequence) and not isinstance(rows, (str, bytes)):
        return _of_records(spark, operation, list(rows), schema)
    raise TypeError(
        f"{operation} takes rows: a frame of Spark, pandas or Arrow, or a list of dicts or tuples, not a {kind(rows)}. "
        "For a query: spark.sql(...)"
    )


def _of_pandas(spark: SparkSession, operation: str, rows: Any, schema: T.StructType | None) -> DataFrame:
    names = [str(name) for name in rows.columns]
    if len(set(names)) < len(names):
        raise ValueError(f"{operation}: the frame has several columns of one name: {', '.join(names)}")
    objects = rows.astype(object)
    values = objects.where(rows.notna(), None).itertuples(index=False, name=None)
    return _frame(spark, names, values, schema)


def _of_records(spark: SparkSession, operation: str, rows: list[Any], schema: T.StructType | None) -> DataFrame:
    if not rows:
        if schema is None:
            raise ValueError(f"{operation} takes rows, and the list has none")
        return spark.createDataFrame([], schema)
    records = [row.asDict() if isinstance(row, Row) and hasattr(row, "__fields__") else row for row in rows]
    first = records[0]
    if isinstance(first, Mapping):
        names = [str(name) for name in first]
        for number, record in enumerate(records):
            if not isinstance(record, Mapping) or set(record) != set(first):
                raise ValueError(
                    f"{operation}: all rows of a list have the same columns, but row {number} has "
                    f"{sorted(record) if isinstance(record, Mapping) else record!r} and row 0 has {sorted(first)}"
                )
        return _frame(spark, names, (tuple(record[name] for name in first) for record in records), schema)
    if isinstance(first, (tuple, list)) and schema is not None:
        for number, record in enumerate(records):
            if not isinstance(record, (tuple, list)) or len(record) != len(schema.names):
                raise ValueError(
                    f"{operation}: a tuple has a value for each of the columns ({', '.join(schema.names)}), but row "
                    f"{number} is {record!r}. Dicts may have some of them"
                )
        return _frame(spark, list(schema.names), map(tuple, records), schema)
    raise TypeError(f"{operation} takes a list of dicts or tuples, not of {kind(first)}")


def _frame(
    spark: SparkSession, names: list[str], rows: Iterable[tuple[Any, ...]], schema: T.StructType | None
) -> DataFrame:
    known = {} if schema is None else {field.name.lower(): field for field in schema.fields}
    if all(name.lower() in known for name in names):
        fields = [T.StructField(name, known[name.lower()].dataType) for name in names]
        values = [tuple(_fitting(value, field.dataType) for value, field in zip(row, fields)) for row in rows]
        return spark.createDataFrame(values, T.StructType(fields))
    # Spark infers the types of the columns that the table does not have.
    frame = spark.createDataFrame(list(rows), names)
    return frame.select(
        *(col(_name(name)).cast(known[name.lower()].dataType) if name.lower() in known else col(_name(name))
          for name in names)
    ).toDF(*names)  # fmt: skip


def _fitting(value: Any, kind: T.DataType) -> Any:
    """A value as PySpark wants it for a type: pandas has integers with missing values as floats, for one."""
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and isinstance(kind, T.IntegralType) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and isinstance(kind, T.FractionalType):
        return Decimal(value) if isinstance(kind, T.DecimalType) else float(value)
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    if isinstance(value, datetime) and isinstance(kind, T.DateType):
        return value.date()
    return value


def _name(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"
