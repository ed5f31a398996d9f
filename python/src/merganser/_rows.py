"""Data frames from what users have: frames of Spark, pandas, Arrow and Polars, and lists of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, Union

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import types as T

from merganser._arguments import is_frame, kind
from merganser._values import Zone, fitting, nested, session_zone


class HasColumns(Protocol):
    """A frame of pandas or of Polars."""

    @property
    def columns(self) -> Any:
        """Names of its columns."""


class HasColumnNames(Protocol):
    """A table of Arrow."""

    @property
    def column_names(self) -> list[str]:
        """Names of its columns."""


Rows = Union[DataFrame, HasColumns, HasColumnNames, Sequence[Mapping[str, Any]], Sequence[Sequence[Any]], Sequence[Row]]
"""A frame of Spark, pandas, Arrow or Polars, or a list of dicts, of ``Row``, or of tuples in the table's order.

Tuples may lack the last columns that were added to the table after its creation, as rows of a frame may.
A reader of Arrow is read to its end, and a lazy frame of Polars is collected.

Nulls, NaN and times without a zone are as :meth:`merganser.Table.upsert` has them.
"""


Earlier = Callable[[int], Sequence[str]]
"""Names of the columns of tuples with this many values: those before others were added to the table."""


def frame_of(
    spark: SparkSession,
    operation: str,
    rows: Any,
    schema: T.StructType | None = None,
    earlier: Earlier = lambda size: (),
) -> DataFrame:
    """A data frame of the session.

    Args:
        spark: The session.
        operation: What takes the rows, for messages.
        rows: See :data:`Rows`.
        schema: The columns of the table: columns of these names get their types. Without it, types are inferred.
        earlier: The columns of tuples that are shorter than the table's rows.

    Raises:
        TypeError: There is no plain way to make a frame of ``rows``.
        ValueError: The rows of a list have different columns.
    """
    if is_frame(rows) or hasattr(rows, "to_spark"):  # pandas on Spark has the latter
        frame: DataFrame = rows if is_frame(rows) else rows.to_spark()
        return frame
    module = type(rows).__module__.partition(".")[0]
    if module == "pandas":
        return _of_pandas(spark, operation, rows, schema)
    if module == "polars":
        return _of_arrow(spark, operation, (rows.collect() if hasattr(rows, "collect") else rows).to_arrow(), schema)
    if module == "pyarrow":
        return _of_arrow(spark, operation, rows.read_all() if hasattr(rows, "read_all") else rows, schema)
    if isinstance(rows, (Mapping, Sequence)) and not isinstance(rows, (str, bytes)):
        return _of_records(spark, operation, [rows] if isinstance(rows, Mapping) else list(rows), schema, earlier)
    raise TypeError(
        f"{operation} takes rows: a frame of Spark, pandas, Polars or Arrow, or a list of dicts or tuples, not a "
        f"{kind(rows)}. For a query: spark.sql(...)"
    )


def _of_pandas(spark: SparkSession, operation: str, rows: Any, schema: T.StructType | None) -> DataFrame:
    names = _distinct(operation, rows.columns)
    values = rows.astype(object).where(rows.notna(), None).itertuples(index=False, name=None)
    return _frame(spark, names, values, schema, zone=_zone_of(spark))


def _zone_of(spark: SparkSession) -> Zone:
    return cache(lambda: session_zone(spark))


def _of_arrow(spark: SparkSession, operation: str, rows: Any, schema: T.StructType | None) -> DataFrame:
    names = _distinct(operation, rows.schema.names)
    values = zip(*(rows.column(place).to_pylist() for place in range(len(names))))
    ntz = _prefers_ntz(spark)
    types = {name: _of_arrow_type(kind, ntz) for name, kind in zip(names, rows.schema.types)}
    return _frame(spark, names, values, schema, zone=_zone_of(spark), types=types)


def _of_arrow_type(kind: Any, prefers_ntz: bool) -> T.DataType | None:
    """The type of a column of Arrow, or ``None`` where PySpark has none for it, and infers one from its values."""
    from pyspark.sql.pandas.types import from_arrow_type

    try:
        return from_arrow_type(kind, prefers_ntz)
    except PySparkException:
        return None


def _prefers_ntz(spark: SparkSession) -> bool:
    """Whether naive times get a type without time zone, where no column of the table has theirs."""
    return str(spark.conf.get("spark.sql.timestampType")) == "TIMESTAMP_NTZ"


def _distinct(operation: str, columns: Iterable[Any]) -> list[str]:
    names = [str(name) for name in columns]
    if len(set(names)) < len(names):
        raise ValueError(f"{operation}: the frame has several columns of one name: {', '.join(names)}")
    return names


def without_added(names: Sequence[str], partition_by: Sequence[str], added: Sequence[str], size: int) -> list[str]:
    """The columns of a row with this many values, before the last columns were added; none if it cannot be one.

    Args:
        names: The table's columns.
        partition_by: Those that partition it: columns are added before them, where they are the last ones.
        added: Those that were added after the table was created, in the table's order.
        size: Number of values.
    """
    fixed = {name.lower() for name in partition_by}
    last = [name for name in names if name.lower() not in fixed][-len(added) :]
    lacking = len(names) - size
    if not 0 < lacking <= len(added) or last != list(added):
        return []
    return [name for name in names if name not in last[-lacking:]]


def _of_records(
    spark: SparkSession, operation: str, rows: list[Any], schema: T.StructType | None, earlier: Earlier
) -> DataFrame:
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
        columns = list(earlier(len(first)) if len(first) < len(schema.names) else ()) or schema.names
        for number, record in enumerate(records):
            if not isinstance(record, (tuple, list)) or len(record) != len(columns):
                raise ValueError(
                    f"{operation}: a tuple has a value for each of the columns ({', '.join(columns)}), but row "
                    f"{number} is {record!r}. Dicts may have some of them"
                )
        return _frame(spark, list(columns), map(tuple, records), schema)
    raise TypeError(f"{operation} takes a list of dicts or tuples, not of {kind(first)}")


def _frame(
    spark: SparkSession,
    names: list[str],
    rows: Iterable[tuple[Any, ...]],
    schema: T.StructType | None,
    *,
    zone: Zone | None = None,
    types: Mapping[str, T.DataType | None] | None = None,
) -> DataFrame:
    """A frame in the types of the table's columns.

    Args:
        spark: The session.
        names: Names of its columns.
        rows: Their values.
        schema: The columns of the table.
        zone: The zone of naive times; see :func:`merganser._values.fitting`.
        types: Types of columns that the table does not have. Those that it lacks are inferred; a column without
            values is one of nulls.
    """
    known = {} if schema is None else {field.name.lower(): field.dataType for field in schema.fields}
    found = [known.get(name.lower()) or (types or {}).get(name) for name in names]
    values = list(rows)
    local = None if _prefers_ntz(spark) else zone
    unknown = {place: [nested(row[place], local) for row in values] for place, kind in enumerate(found) if kind is None}
    inferred = [place for place, column in unknown.items() if any(value is not None for value in column)]
    if inferred:
        sample = list(zip(*(unknown[place] for place in inferred)))
        types_of = spark.createDataFrame(sample, [names[place] for place in inferred]).schema
        for place, field in zip(inferred, types_of.fields):
            found[place] = field.dataType
    fields = [T.StructField(name, kind or T.NullType()) for name, kind in zip(names, found)]
    fitted = [tuple(fitting(value, field.dataType, zone) for value, field in zip(row, fields)) for row in values]
    return spark.createDataFrame(fitted, T.StructType(fields))
