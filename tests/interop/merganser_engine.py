"""Our own engine in the words of ``HudiEngine``, so that one story can be told to either."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from interop.frames import Schema, frame_of, rows_of
from interop.hudi_engine import META_COLUMNS, Rows

FORMAT = "merganser"


class MerganserEngine:
    """Reads and writes tables by path, through the session that has our jar."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def read(self, path: str | os.PathLike[str], query: str = "snapshot", **options: str) -> Rows:
        """The table's rows, meta columns first; ``query`` is ``snapshot`` or ``read_optimized``."""
        reader = self.spark.read.format(FORMAT).option("hoodie.datasource.query.type", query)
        read = rows_of(reader.options(**options).load(os.fspath(path)).select(*META_COLUMNS, "*"))
        return Rows([(name, kind) for name, kind in read["columns"]], read["rows"])

    def write(
        self,
        path: str | os.PathLike[str],
        schema: Schema,
        rows: Sequence[Sequence[Any]],
        *,
        operation: str = "upsert",
        mode: str = "append",
        options: Mapping[str, str] | None = None,
    ) -> None:
        """One commit of ours. A path that is no table becomes one, by what ``options`` say."""
        settings = {**dict(options or {}), "hoodie.datasource.write.operation": operation}
        frame_of(self.spark, schema, rows).write.format(FORMAT).options(**settings).mode(mode).save(os.fspath(path))

    def upsert(
        self, path: str | os.PathLike[str], schema: Schema, rows: Sequence[Sequence[Any]], **options: str
    ) -> None:
        self.write(path, schema, rows, options=options)

    def delete(
        self, path: str | os.PathLike[str], schema: Schema, rows: Sequence[Sequence[Any]], **options: str
    ) -> None:
        """The delete operation: rows need the key and partition columns only."""
        self.write(path, schema, rows, operation="delete", options=options)

    def compact(self, path: str | os.PathLike[str], op: str = "scheduleAndExecute") -> None:
        self.spark.sql(f"CALL run_compaction(op => '{op}', path => '{os.fspath(path)}')").collect()
