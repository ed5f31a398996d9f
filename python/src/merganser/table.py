"""A table: one row per record key, chosen by its merge rule."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import StructType

from merganser._transport import Transport, transport_for
from merganser.apply_changes import TableChanges
from merganser.config import IndexType, MergeMode, Options, TableType, WriteOptions, merged_options
from merganser.dry_runs import TableDryRuns
from merganser.history import History
from merganser.inspection import TableInspection
from merganser.options import DRY_RUN
from merganser.results import (
    CommitResult,
    FileSlice,
    TableInfo,
)
from merganser.services import Columns, TableServices

_FORMAT = "merganser"


class Table(TableServices, TableChanges, TableInspection, TableDryRuns):
    """A table at a path. Use :meth:`create` or :meth:`load`.

    The session may be a classic one, or a client of a Spark Connect server that runs with the jar.
    """

    def __init__(self, spark: SparkSession, transport: Transport, info: TableInfo) -> None:
        self._spark = spark
        self._transport = transport
        self._info = info

    @classmethod
    def create(
        cls,
        spark: SparkSession,
        path: str | os.PathLike[str],
        schema: StructType | str,
        *,
        record_key: Columns | None = None,
        partition_by: Columns | None = None,
        ordering_by: Columns | None = None,
        table_type: TableType | None = None,
        merge_mode: MergeMode | None = None,
        rule: Mapping[str, str] | None = None,
        rule_groups: Mapping[str, Mapping[str, Columns]] | None = None,
        index: IndexType | None = None,
        name: str | None = None,
        options: Options | None = None,
    ) -> Table:
        """Create an empty table.

        Args:
            spark: The session.
            path: Folder of the table, which must be absent or empty. A relative one is below the current folder.
            schema: Columns of the table, also as a string: ``id string, ts long``.
            record_key: Column or columns that identify a row. Without them, each inserted row gets a key of its own.
            partition_by: Column or columns that choose the folder of a row.
            ordering_by: Column or columns whose larger value wins, compared in this order.
            table_type: Copy-on-write or merge-on-read.
            merge_mode: Which of two versions wins; by default it follows from ``ordering_by``.
            rule: How each column of two versions becomes one value: names of columns, and functions such as ``sum``,
                ``max`` or ``expr('greatest(old.x, new.y)')``; ``"*"`` is all columns that are not named. By default
                ``last``, the value of the version that wins. :func:`merganser.rule` makes one of a Python function.
            rule_groups: Columns that are merged by ordering fields of their own, by the name of each group:
                ``{"prices": {"columns": ["price", "currency"], "ordering": "priced_at"}}``.
            index: How a write finds the file group of a key.
            name: Name of the table.
            options: Further settings by their ``hoodie.*`` names.

        Raises:
            MissingJarError: The session runs without the jar.
            ConfigurationConflictError: ``options`` contradicts an argument.
            MerganserError: The table cannot be created; the condition is the reason.
        """
        transport, place = transport_for(_session(spark)), _path(path)
        columns = columns_of(spark, schema)
        wire = merged_options(
            {
                "hoodie.table.name": name,
                "hoodie.datasource.write.recordkey.field": record_key,
                "hoodie.datasource.write.partitionpath.field": partition_by,
                "hoodie.table.ordering.fields": ordering_by,
                "hoodie.datasource.write.table.type": table_type,
                "hoodie.write.record.merge.mode": merge_mode,
                "hoodie.index.type": index,
                **rule_options(rule, rule_groups),
            },
            options,
        )
        return cls(spark, transport, TableInfo.from_wire(transport.create(place, columns.json(), wire)))

    @classmethod
    def load(cls, spark: SparkSession, path_or_name: str | os.PathLike[str]) -> Table:
        """Open a table by its path, or by its name in the session's catalogs.

        A word without a slash is a name or, if no table has that name, a path below the current folder.

        Raises:
            MissingJarError: The session runs without the jar.
            TableNotFoundError: There is no such table.
        """
        transport, place = transport_for(_session(spark)), _path(path_or_name)
        return cls(spark, transport, TableInfo.from_wire(transport.describe(place)))

    @property
    def path(self) -> str:
        """Folder of the table."""
        return self._info.path

    @property
    def name(self) -> str:
        """Name the table stores."""
        return self._info.name

    @property
    def type(self) -> TableType:
        """Copy-on-write or merge-on-read."""
        return TableType(self._info.type)

    @property
    def version(self) -> int:
        """Version of the table's layout."""
        return self._info.version

    @property
    def record_key(self) -> tuple[str, ...]:
        """Columns that identify a row; empty where each inserted row gets a key of its own."""
        return self._info.record_key

    @property
    def partition_by(self) -> tuple[str, ...]:
        """Columns that choose the folder of a row; empty without partitions."""
        return self._info.partition_by

    @property
    def ordering_by(self) -> tuple[str, ...]:
        """Columns whose larger value wins; empty under commit-time ordering."""
        return self._info.ordering_by

    @property
    def merge_mode(self) -> str:
        """Merge mode the table stores; a string, as tables of other engines may have modes without an enum value."""
        return self._info.merge_mode

    @property
    def rule(self) -> dict[str, str]:
        """Functions by which columns are merged, by column; ``"*"`` is all others. Empty without a rule of its own."""
        if self._info.rule_json is None:
            return {}
        stored = json.loads(self._info.rule_json)
        return {**stored["columns"], "*": stored["default"]}

    @property
    def index(self) -> str | None:
        """Index the table stores, or ``None`` when that is left to each write."""
        return self._info.index

    @property
    def schema(self) -> StructType:
        """Columns of the table when this object was created, without the meta columns."""
        return StructType.fromJson(json.loads(self._info.schema_json))

    def df(self, *, as_of: str | date | None = None, read_optimized: bool = False) -> DataFrame:
        """Return the rows of the table.

        Args:
            as_of: Time to read as of: an instant (``yyyyMMddHHmmssSSS``) or another string that ``as.of.instant``
                accepts, a ``date`` (its start), or a ``datetime``. Without a time zone they are in the table's timeline
                zone. ``None`` reads the latest commit.
            read_optimized: Read only base files: faster on merge-on-read tables, but without the rows of the logs.
        """
        reader = self._spark.read.format(_FORMAT)
        if as_of is not None:
            reader = reader.option("as.of.instant", _time("as_of", as_of))
        if read_optimized:
            reader = reader.option("hoodie.datasource.query.type", "read_optimized")
        return reader.load(self.path)

    def changes(
        self,
        since: str | date | None = None,
        *,
        until: str | date | None = None,
        columns: Columns | None = None,
        where: str | Column | None = None,
    ) -> DataFrame:
        """Return the rows that changed in a window of time, each once, as it was at the end of the window.

        The window is one of completion times: a row is in it if the commit that last changed it, up to the end,
        completed after ``since``. Deleted rows are not returned, nor are rows that a late change left as they were.
        Only the file groups are read that these commits wrote to.

        Args:
            since: Time after which changes are returned: an instant (``yyyyMMddHHmmssSSS``), such as
                ``CommitResult.instant`` of the last commit that was read, or another string that ``as.of.instant``
                accepts, a ``date`` (its start), or a ``datetime``. Without a time zone they are in the table's timeline
                zone. ``None`` begins with the first commit.
            until: Time likewise, up to which changes are returned, inclusive. ``None``: the newest commit.
            columns: Columns to return, also the meta columns such as ``_hoodie_commit_time``. ``None``: all data
                columns.
            where: Condition on columns of the table.

        Raises:
            MerganserError: Files or commits of the window are gone, or it cannot be one; the condition names which.
        """
        rows = self._incremental(since, until).load(self.path)
        if where is not None:
            rows = rows.where(where)
        if columns is not None:
            rows = rows.select(*([columns] if isinstance(columns, str) else columns))
        return rows

    def change_data(
        self,
        since: str | date | None = None,
        *,
        until: str | date | None = None,
        reason: bool = False,
        json: bool = False,
    ) -> DataFrame:
        """Return what each commit of a window changed: operation, row before and row after.

        One row for each changed row and commit: ``op`` (``i``, ``u`` or ``d``), ``instant`` and ``completion_time`` of
        the commit, ``before`` and ``after`` as structs of the table's columns, one of them null for an insert or a
        delete. A row that a commit left as it was is not among them. Rows come in no order.

        Args:
            since: Commits that completed after this time, as for :meth:`changes`. ``None``: from the first commit on.
            until: Commits that completed up to this time, inclusive. ``None``: the newest commit.
            reason: Adds the column ``reason``: ``won``, ``tie``, ``filled``, ``merged`` or ``deleted``.
            json: Returns the columns of Hudi's reads instead: ``op``, ``ts_ms``, and ``before`` and ``after`` as JSON.

        Raises:
            MerganserError: Files or commits of the window are gone, or it cannot be one; the condition names which.
        """
        return self._incremental(since, until).options(**_change_data(reason, json)).load(self.path)

    def change_data_stream(
        self,
        start: str | date = "earliest",
        *,
        reason: bool = False,
        json: bool = False,
        max_files: int | None = None,
        max_bytes: int | None = None,
    ) -> DataFrame:
        """Return a stream of what each commit changed, in the columns of :meth:`change_data`.

        A micro-batch has the changes of one or more commits, several of them for a row that several commits changed:
        ``completion_time`` orders these. Each change is in exactly one micro-batch, across restarts of the query with
        the same checkpoint.

        Args:
            start: Where a new query begins: ``"earliest"`` with the rows of the table, as inserts of its newest commit;
                ``"latest"`` with the next commit; or after a time, as ``since`` of :meth:`changes`. A query that is
                started again goes on where its checkpoint is.
            reason: As for :meth:`change_data`.
            json: As for :meth:`change_data`.
            max_files: A micro-batch takes commits up to so many files, at least one commit. ``None``: all there are.
            max_bytes: The same by the size of the files.

        Raises:
            MerganserError: An option is invalid. A query raises when it is started or goes on: files or commits that it
                needs are gone, or the table's columns have changed; the condition names which.
        """
        limits = {"maxFilesPerTrigger": max_files, "maxBytesPerTrigger": max_bytes}
        named = {key: str(limit) for key, limit in limits.items() if limit is not None}
        reader = self._spark.readStream.format(_FORMAT).option("hoodie.datasource.query.type", "incremental")
        reader = reader.options(**_change_data(reason, json), **named)
        return reader.option("hoodie.datasource.streaming.startOffset", _time("start", start)).load(self.path)

    def _incremental(self, since: str | date | None, until: str | date | None) -> DataFrameReader:
        reader = self._spark.read.format(_FORMAT).option("hoodie.datasource.query.type", "incremental")
        begin = "earliest" if since is None else _time("since", since)
        reader = reader.option("hoodie.datasource.read.begin.instanttime", begin)
        if until is not None:
            reader = reader.option("hoodie.datasource.read.end.instanttime", _time("until", until))
        return reader

    def upsert(
        self,
        rows: DataFrame,
        *,
        options: WriteOptions | Options | None = None,
        txn: tuple[str, int] | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Insert rows whose key is new; merge rows whose key is stored.

        Args:
            rows: Incoming rows, with the record key columns and, under event-time ordering, the ordering fields.
            options: Settings of this write alone, as :class:`WriteOptions` or by their ``hoodie.*`` names.
                ``None`` uses the table's and the session's.
            txn: Application and version of this write, for every kind of write. Versions grow with each new write of
                the application. If this version or a later one is committed, nothing is written, and the result is
                that of the earlier commit (``is_repetition``): so a write whose answer was lost can be repeated.
            dry_run: For every kind of write: write nothing, and return what the write would report, with some of the
                rows before and after in ``dry_run`` of the result. ``spark.merganser.write.dryRun.rows`` in
                ``options`` is how many.

        Raises:
            OrderingFieldMissingError: An ordering field is not a column of ``rows``.
            CommitConflictError: Another writer committed to the same file groups first.
        """
        return self._write("upsert", rows, options, txn, dry_run)

    def insert(
        self,
        rows: DataFrame,
        *,
        options: WriteOptions | Options | None = None,
        txn: tuple[str, int] | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Add rows without merging: a key that is already stored is then stored twice."""
        return self._write("insert", rows, options, txn, dry_run)

    def bulk_insert(
        self,
        rows: DataFrame,
        *,
        options: WriteOptions | Options | None = None,
        txn: tuple[str, int] | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Add many rows without merging, as the first load of a table does."""
        return self._write("bulk_insert", rows, options, txn, dry_run)

    def delete(
        self,
        rows: DataFrame,
        *,
        options: WriteOptions | Options | None = None,
        txn: tuple[str, int] | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Delete the rows with the keys of ``rows``, whatever their ordering value."""
        return self._write("delete", rows, options, txn, dry_run)

    def overwrite(
        self,
        rows: DataFrame,
        *,
        options: WriteOptions | Options | None = None,
        txn: tuple[str, int] | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Replace all rows of the table by ``rows``, in one commit. Its columns and settings stay.

        Args:
            rows: The table's new rows; an empty frame empties the table. They may be read from the table itself.
            options: Settings of this write alone. ``None`` uses the table's and the session's.

        Raises:
            CommitConflictError: Another writer added or changed rows since the write began, or since ``rows`` were
                read from the table.
        """
        return self._write("insert_overwrite_table", rows, options, txn, dry_run)

    def overwrite_partitions(
        self,
        rows: DataFrame,
        *,
        options: WriteOptions | Options | None = None,
        txn: tuple[str, int] | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Replace all rows of the partitions of ``rows`` by ``rows``, in one commit.

        Other partitions are unchanged. A table without partitions is replaced as a whole.

        Args:
            rows: The new rows of those partitions; an empty frame changes nothing.
            options: Settings of this write alone. ``None`` uses the table's and the session's.

        Raises:
            CommitConflictError: Another writer wrote to one of the partitions since the write began.
        """
        return self._write("insert_overwrite", rows, options, txn, dry_run)

    def delete_partitions(
        self,
        paths: Sequence[str],
        *,
        options: WriteOptions | Options | None = None,
        txn: tuple[str, int] | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Remove all rows of partitions, in one commit.

        Args:
            paths: Partition paths as the table has them, such as ``"2026-01-31"`` or ``"region=eu/day=31"``, without
                commas. ``*`` matches any characters; a path that is not a partition is ignored.
            options: Settings of this write alone. ``None`` uses the table's and the session's.

        Raises:
            ValueError: ``paths`` is empty, or a path is empty or contains a comma.
            MerganserError: ``TABLE_WITHOUT_PARTITIONS``: the table is not partitioned.
            ConfigurationConflictError: ``options`` name other partitions.
        """
        if isinstance(paths, str) or not isinstance(paths, Sequence):
            raise TypeError(f"delete_partitions takes a list of partition paths, not a {_kind(paths)}")
        wrong = [path for path in paths if not path.strip() or "," in path]
        if wrong or not paths:
            raise ValueError(f"delete_partitions takes partition paths without commas, at least one: not {list(paths)}")
        named = merged_options({"hoodie.datasource.write.partitions.to.delete": ",".join(paths)}, _wire(options))
        none = self._spark.createDataFrame([], self.schema)
        return self._write("delete_partition", none, named, txn, dry_run)

    def history(self, limit: int | None = None, *, archived: bool = False) -> History:
        """Return what was done to the table, newest first: writes, services, savepoints, and what is pending.

        Only files of the timeline are read, of as many actions as are returned. An archiving is no action of its own;
        what it moved has ``archived``.

        Args:
            limit: Most actions to return; ``None`` returns all.
            archived: Whether actions that were moved from the timeline to its history follow.

        Raises:
            ValueError: ``limit`` is negative.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit is {limit}, but not below 0")
        return History.from_wire(self._transport.history(self.path, limit, archived))

    def file_slices(self) -> list[FileSlice]:
        """Return the latest file slice of every file group."""
        return [FileSlice.from_wire(entry) for entry in self._transport.file_slices(self.path)]

    def __repr__(self) -> str:
        return f"Table(name={self.name!r}, path={self.path!r})"

    def _write(
        self,
        operation: str,
        rows: DataFrame,
        options: WriteOptions | Options | None,
        txn: tuple[str, int] | None,
        dry_run: bool,
    ) -> CommitResult:
        require_frame(operation, rows)
        wire = merged_options(_transaction(txn), _wire(options))
        if dry_run:
            wire[DRY_RUN] = "true"
        return CommitResult.from_wire(self._transport.write(self.path, rows, operation, wire))


def rule_options(
    rule: Mapping[str, str] | None, groups: Mapping[str, Mapping[str, Columns]] | None
) -> dict[str, Columns]:
    functions = {
        "merganser.rule.default" if column == "*" else f"merganser.rule.column.{column}": function
        for column, function in (rule or {}).items()
    }
    parts = {
        f"merganser.rule.group.{name}.{part}": columns
        for name, group in (groups or {}).items()
        for part, columns in group.items()
    }
    return {**functions, **parts}


def _wire(options: WriteOptions | Options | None) -> dict[str, str]:
    return options.to_options() if isinstance(options, WriteOptions) else merged_options({}, options)


def _transaction(txn: tuple[str, int] | None) -> dict[str, Any]:
    if txn is None:
        return {}
    if not (isinstance(txn, tuple) and len(txn) == 2 and isinstance(txn[0], str) and type(txn[1]) is int):
        raise TypeError(f"txn is an application and a version, such as ('orders-job', 17), not {txn!r}")
    return {"spark.merganser.write.txnAppId": txn[0], "spark.merganser.write.txnVersion": str(txn[1])}


def _change_data(reason: bool, json: bool) -> dict[str, str]:
    return {
        "hoodie.datasource.query.incremental.format": "cdc",
        "spark.merganser.read.changeImages": "json" if json else "struct",
        "spark.merganser.read.changeReason": str(reason).lower(),
    }


def _time(argument: str, time: object) -> str:
    if isinstance(time, str):
        return time
    if isinstance(time, datetime):
        return time.isoformat(sep=" ", timespec="milliseconds")
    if isinstance(time, date):
        return time.isoformat()
    raise TypeError(f"{argument} is a str, a datetime or a date, not {type(time).__name__}")


def _session(spark: object) -> SparkSession:
    if isinstance(spark, (str, os.PathLike)):
        raise TypeError(f"The session comes first, then the path or name: Table.load(spark, {str(spark)!r})")
    return spark  # type: ignore[return-value]


def _path(path_or_name: object) -> str:
    if not isinstance(path_or_name, (str, os.PathLike)):
        raise TypeError(f"A table is identified by its path or name, not by a {_kind(path_or_name)}")
    return str(os.fspath(path_or_name))


def columns_of(spark: SparkSession, schema: object) -> StructType:
    """Return columns that are given as a schema or as DDL."""
    if isinstance(schema, str):
        return spark.createDataFrame([], schema).schema  # type: ignore[type-var, unused-ignore]
    if isinstance(schema, StructType):
        return schema
    raise TypeError(
        f"schema is a StructType or a string such as 'id string, ts long', not a {_kind(schema)}; "
        "the schema of a frame is frame.schema"
    )


def require_frame(operation: str, rows: Any) -> None:
    if isinstance(rows, str):
        raise TypeError(
            f"{operation} takes a Spark DataFrame, not a string. For a query: spark.sql(...). To delete by a "
            "condition, pass the rows that satisfy it: table.delete(table.df().where(...)), or use the statement "
            "DELETE FROM"
        )
    if isinstance(rows, (Sequence, Mapping)) or type(rows).__module__.partition(".")[0] in ("pandas", "pyarrow"):
        raise TypeError(
            f"{operation} takes a Spark DataFrame, not a {_kind(rows)}: spark.createDataFrame(...) creates one"
        )


def _kind(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
