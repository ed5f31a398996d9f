"""The state of a table that a session has opened, on which everything that is done with it is built."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from merganser._statements import call_of
from merganser._transport import Transport
from merganser.config import Options
from merganser.results import TableInfo

ALL = 2**31 - 1
"""For the limit of calls whose rows are limited by default."""


class OpenTable:
    """A table at a path, as a session sees it."""

    def __init__(self, spark: SparkSession, transport: Transport, info: TableInfo) -> None:
        self._spark = spark
        self._transport = transport
        self._info = info

    @property
    def path(self) -> str:
        """Folder of the table."""
        return self._info.path

    @property
    def identifier(self) -> str:
        """Name of the table in statements, such as ``f"ALTER TABLE {table.identifier} ADD COLUMNS (tip DOUBLE)"``."""
        return f"merganser.`{self.path.replace('`', '``')}`"

    @property
    def schema(self) -> StructType:
        """Columns of the table now, without the meta columns; each access reads the table's timeline."""
        self.refresh()
        return StructType.fromJson(json.loads(self._info.schema_json))

    def refresh(self) -> None:
        """Read the table's description again. The reading of rows needs none: each read sees the latest commit."""
        self._info = TableInfo.from_wire(self._transport.one("describe_table", table=self.path))

    def _rows(self, call: str, options: Options | None = None, **arguments: Any) -> list[dict[str, Any]]:
        """The rows of a call of this table; see :meth:`Transport.rows`."""
        return self._transport.rows(call, options, path=self.path, **arguments)

    def _row(self, call: str, options: Options | None = None, **arguments: Any) -> dict[str, Any]:
        """The row of a call of this table that returns one."""
        return self._transport.one(call, options, path=self.path, **arguments)

    def _frame(self, call: str, **arguments: Any) -> DataFrame:
        """The rows of a call of this table as a frame."""
        return self._spark.sql(*call_of(call, {"path": self.path, **arguments}))


class OfTable:
    """One of the objects in which a table has further methods."""

    def __init__(self, table: OpenTable) -> None:
        self._table = table
