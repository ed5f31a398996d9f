"""Merganser: merges late, repeated and deleted changes into lake tables on Spark.

::

    import merganser

    spark = merganser.session("trips", master="local[2]")
    table = merganser.Table.load(spark, "/lake/trips")
    result = table.upsert(spark.read.parquet("/landing/today"))
    print(result.inserted, result.updated, result.late)
"""

from __future__ import annotations

from merganser.config import IndexType, MergeMode, TableType, WriteOptions
from merganser.errors import (
    CommitConflictError,
    ConfigurationConflictError,
    MerganserError,
    MergeModeConflictError,
    MissingJarError,
    OrderingFieldMissingError,
    SliceFileMissingError,
    SparkConnectError,
    TableNotFoundError,
)
from merganser.results import CommitResult, CompactionResult, FileSlice, HistoryEntry, LogFile
from merganser.session import configure, session
from merganser.table import Table

__all__ = [
    "CommitConflictError",
    "CommitResult",
    "CompactionResult",
    "ConfigurationConflictError",
    "FileSlice",
    "HistoryEntry",
    "IndexType",
    "LogFile",
    "MerganserError",
    "MergeMode",
    "MergeModeConflictError",
    "MissingJarError",
    "OrderingFieldMissingError",
    "SliceFileMissingError",
    "SparkConnectError",
    "Table",
    "TableNotFoundError",
    "TableType",
    "WriteOptions",
    "configure",
    "session",
]
