"""Reads of a table: its rows now or as of a time, and what changed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame, DataFrameReader

from merganser._arguments import Names, Time, condition_of, is_column, time_of
from merganser._open_table import OpenTable

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, unused-ignore]
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

_FORMAT = "merganser"


class TableReads(OpenTable):
    """What :class:`merganser.Table` reads."""

    def df(
        self,
        *,
        as_of: Time | None = None,
        columns: Names | None = None,
        where: str | Column | None = None,
        read_optimized: bool = False,
    ) -> DataFrame:
        """Return the rows of the table.

        Args:
            as_of: Time to read as of: an instant (``yyyyMMddHHmmssSSS``) or another string that ``as.of.instant``
                accepts, a ``date`` (its start), a ``datetime``, or the result of a write. Without a time zone they are
                in the table's timeline zone. ``None`` reads the latest commit.
            columns: Columns to return, also the meta columns such as ``_hoodie_commit_time``. ``None``: all data
                columns.
            where: Condition on columns of the table.
            read_optimized: Read only base files: faster on merge-on-read tables, but without the rows of the logs.

        Raises:
            TypeError: ``as_of`` is not a time, or ``columns`` or ``where`` is neither SQL nor a column.
        """
        reader = self._spark.read.format(_FORMAT)
        if as_of is not None:
            reader = reader.option("as.of.instant", time_of("as_of", as_of))
        if read_optimized:
            reader = reader.option("hoodie.datasource.query.type", "read_optimized")
        return _chosen(reader.load(self.path), columns, where)

    def count(self, where: str | Column | None = None, *, as_of: Time | None = None) -> int:
        """Return the number of rows, of all or of those for which a condition is true."""
        return self.df(as_of=as_of, where=where).count()

    def to_pandas(
        self, *, as_of: Time | None = None, columns: Names | None = None, where: str | Column | None = None
    ) -> pandas.DataFrame:
        """Return the rows as a frame of pandas, in the memory of this process. Arguments are those of :meth:`df`.

        Raises:
            ImportError: pandas is not installed.
        """
        _require("to_pandas", "pandas")
        return self.df(as_of=as_of, columns=columns, where=where).toPandas()

    def to_arrow(
        self, *, as_of: Time | None = None, columns: Names | None = None, where: str | Column | None = None
    ) -> pyarrow.Table:
        """Return the rows as a table of Arrow, in the memory of this process. Arguments are those of :meth:`df`.

        Raises:
            ImportError: pyarrow is not installed.
        """
        _require("to_arrow", "pyarrow")
        frame: Any = self.df(as_of=as_of, columns=columns, where=where)
        if hasattr(frame, "toArrow"):
            return frame.toArrow()
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_schema

        batches = frame._collect_as_arrow()  # Spark 3.5 has no other way to Arrow
        if not batches:
            return to_arrow_schema(frame.schema).empty_table()
        return pyarrow.Table.from_batches(batches)

    def show(self, n: int = 20, *, as_of: Time | None = None, where: str | Column | None = None) -> None:
        """Print the first rows."""
        self.df(as_of=as_of, where=where).show(n)

    def changes(
        self,
        since: Time | None = None,
        *,
        until: Time | None = None,
        columns: Names | None = None,
        where: str | Column | None = None,
    ) -> DataFrame:
        """Return the rows that changed in a window of time, each once, as it was at the end of the window.

        The window is one of completion times: a row is in it if the commit that last changed it, up to the end,
        completed after ``since``. Deleted rows are not returned, nor are rows that a late change did not alter.
        Only file groups that these commits wrote to are read.

        Args:
            since: Time after which changes are returned, as ``as_of`` of :meth:`df`, such as the result of the last
                write that was read. ``None`` begins with the first commit.
            until: Time likewise, up to which changes are returned, inclusive. ``None``: the newest commit.
            columns: As for :meth:`df`, and so is ``where``.

        Raises:
            MerganserError: Files or commits of the window are gone, or the window is invalid; the condition says which.
        """
        return _chosen(self._incremental(since, until).load(self.path), columns, where)

    def change_data(
        self,
        since: Time | None = None,
        *,
        until: Time | None = None,
        reason: bool = False,
        json: bool = False,
    ) -> DataFrame:
        """Return what each commit of a window changed: operation, row before and row after.

        One row for each changed row and commit: ``op`` (``i``, ``u`` or ``d``), ``instant`` and ``completion_time`` of
        the commit, ``before`` and ``after`` as structs of the table's columns, one of them null for an insert or a
        delete. Rows that a commit did not alter are not included. Rows are in no particular order.

        Args:
            since: As for :meth:`changes`, and so is ``until``.
            reason: Adds the column ``reason``: ``won``, ``tie``, ``filled``, ``merged`` or ``deleted``.
            json: Returns the same columns as Hudi instead: ``op``, ``ts_ms``, and ``before`` and ``after`` as JSON.

        Raises:
            MerganserError: Files or commits of the window are gone, or the window is invalid; the condition says which.
        """
        return self._incremental(since, until).options(**_change_data(reason, json)).load(self.path)

    def change_data_stream(
        self,
        start: Time = "earliest",
        *,
        reason: bool = False,
        json: bool = False,
        max_files: int | None = None,
        max_bytes: int | None = None,
    ) -> DataFrame:
        """Return a stream of what each commit changed, in the columns of :meth:`change_data`.

        A micro-batch contains the changes of one or more commits, and several changes of a row if several commits
        changed it: ``completion_time`` orders these. Each change is in exactly one micro-batch, across restarts of
        the query with the same checkpoint.

        Args:
            start: Where a new query begins: ``"earliest"`` with the rows of the table, as inserts of its newest commit;
                ``"latest"`` with the next commit; or after a time, as ``since`` of :meth:`changes`. A restarted
                query continues from its checkpoint.
            reason: As for :meth:`change_data`, and so is ``json``.
            max_files: Maximum number of files in a micro-batch, which takes at least one commit. ``None``: no limit.
            max_bytes: The same by the size of the files.

        Raises:
            MerganserError: An option is invalid. A query raises when it is started or goes on: files or commits that it
                needs are gone, or the table's columns have changed; the condition names which.
        """
        limits = {"maxFilesPerTrigger": max_files, "maxBytesPerTrigger": max_bytes}
        named = {key: str(limit) for key, limit in limits.items() if limit is not None}
        reader = self._spark.readStream.format(_FORMAT).option("hoodie.datasource.query.type", "incremental")
        reader = reader.options(**_change_data(reason, json), **named)
        return reader.option("hoodie.datasource.streaming.startOffset", time_of("start", start)).load(self.path)

    def _incremental(self, since: Time | None, until: Time | None) -> DataFrameReader:
        reader = self._spark.read.format(_FORMAT).option("hoodie.datasource.query.type", "incremental")
        begin = "earliest" if since is None else time_of("since", since)
        reader = reader.option("hoodie.datasource.read.begin.instanttime", begin)
        if until is not None:
            reader = reader.option("hoodie.datasource.read.end.instanttime", time_of("until", until))
        return reader


def _require(call: str, library: str) -> None:
    """Fail if a library cannot be imported, with what installs it."""
    try:
        importlib.import_module(library)
    except ImportError as missing:
        install = "pip install " + " ".join(dict.fromkeys((library, "pyarrow")))
        raise ImportError(
            f"{call}() needs {library}, which is not installed here ({missing}): {install}. df() returns the same rows "
            "as a data frame of Spark, without it",
            name=library,
        ) from missing


def _chosen(rows: DataFrame, columns: object, where: object) -> DataFrame:
    if where is not None:
        rows = rows.where(condition_of("where", where))
    if columns is None:
        return rows
    listed = [columns] if isinstance(columns, str) or is_column(columns) else columns
    if not isinstance(listed, (list, tuple)) or not all(isinstance(one, str) or is_column(one) for one in listed):
        raise TypeError(f"columns is a name or a column, or a list of them, not {columns!r}")
    return rows.select(*listed)


def _change_data(reason: bool, json: bool) -> dict[str, str]:
    return {
        "hoodie.datasource.query.incremental.format": "cdc",
        "spark.merganser.read.changeImages": "json" if json else "struct",
        "spark.merganser.read.changeReason": str(reason).lower(),
    }
