"""Writes to a table: of rows, and statements that change stored rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, overload

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from merganser._arguments import AnyOptions, Transaction, is_column, is_frame, kind, wire_of, write_options
from merganser._expressions import Assignments, Condition, Parts, assignments_of, condition_text, quoted
from merganser._open_table import OpenTable
from merganser._rows import Rows, frame_of, without_added
from merganser.config import merged_options
from merganser.merging import Clause, Merge, on_columns
from merganser.options import DRY_RUN, PARTITION_PATHS_TO_DELETE, PARTITIONS_TO_DELETE
from merganser.results import CommitResult, StatementResult, TableInfo

if TYPE_CHECKING:
    from typing_extensions import Unpack


class WriteSettings(TypedDict, total=False):
    """Arguments of every kind of write, see :meth:`TableWrites.upsert`."""

    options: AnyOptions | None
    txn: Transaction | None
    dry_run: bool


class TableWrites(OpenTable):
    """What :class:`merganser.Table` writes."""

    def upsert(
        self,
        rows: Rows,
        *,
        options: AnyOptions | None = None,
        txn: Transaction | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Insert rows whose key is new; merge rows whose key is stored.

        Args:
            rows: Incoming rows, with the record key columns and, under event-time ordering, the ordering fields: a
                frame of Spark, pandas, Polars or Arrow, or a list of dicts, or of tuples with a value for each column.
                NaN in pandas becomes null, elsewhere it stays NaN. Times without a zone are in the session's zone in
                frames, and in that of this process in lists.
            options: Settings of this write alone, as :class:`WriteOptions` or by their ``hoodie.*`` names.
                ``None`` uses the table's and the session's.
            txn: Application and version of this write, for every kind of write. Versions grow with each new write of
                the application. If this version or a later one is committed, nothing is written, and the result is
                that of the earlier commit (``is_repetition``): so a write whose result was lost can be repeated.
            dry_run: For every kind of write: write nothing, and return what the write would report, with some of the
                rows before and after in ``dry_run`` of the result; ``spark.merganser.write.dryRun.rows`` in
                ``options`` limits their number.

        Raises:
            OrderingFieldMissingError: An ordering field is not a column of ``rows``.
            CommitConflictError: Another writer committed to the same file groups first.
        """
        return self._write("upsert", rows, options, txn, dry_run)

    def insert(
        self,
        rows: Rows,
        *,
        options: AnyOptions | None = None,
        txn: Transaction | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Add rows without merging: a key that is already stored is then stored twice. Arguments: :meth:`upsert`."""
        return self._write("insert", rows, options, txn, dry_run)

    def bulk_insert(
        self,
        rows: Rows,
        *,
        options: AnyOptions | None = None,
        txn: Transaction | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Add many rows without merging, as the first load of a table does. Arguments: :meth:`upsert`."""
        return self._write("bulk_insert", rows, options, txn, dry_run)

    def overwrite(
        self,
        rows: Rows,
        *,
        options: AnyOptions | None = None,
        txn: Transaction | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Replace all rows of the table with ``rows``, in one commit. Its columns and settings do not change.

        Args:
            rows: The table's new rows; an empty frame empties the table. They may be read from the table itself.
            options: As for :meth:`upsert`, and so are ``txn`` and ``dry_run``.

        Raises:
            CommitConflictError: Another writer added or changed rows since the write began, or since ``rows`` were
                read from the table.
        """
        return self._write("insert_overwrite_table", rows, options, txn, dry_run)

    def insert_overwrite(
        self,
        rows: Rows,
        *,
        options: AnyOptions | None = None,
        txn: Transaction | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Replace all rows of the partitions that ``rows`` belong to, in one commit.

        Other partitions are unchanged. A table without partitions is replaced as a whole. ``options``, ``txn`` and
        ``dry_run`` are as for :meth:`upsert`.

        Args:
            rows: The new rows of those partitions; an empty frame changes nothing.

        Raises:
            CommitConflictError: Another writer wrote to one of the partitions since the write began.
        """
        return self._write("insert_overwrite", rows, options, txn, dry_run)

    def delete_partitions(
        self,
        paths: Sequence[str] = (),
        *,
        matching: Sequence[str] = (),
        options: AnyOptions | None = None,
        txn: Transaction | None = None,
        dry_run: bool = False,
    ) -> CommitResult:
        """Remove all rows of partitions, in one commit.

        Args:
            paths: Partition paths as the table stores them, such as ``"2026-01-31"`` or ``"region=eu/day=31"``. All
                characters are literal; a path that is not a partition is ignored.
            matching: Patterns of partition paths, instead of ``paths``: ``*`` matches any characters.
            options: As for :meth:`upsert`, and so are ``txn`` and ``dry_run``.

        Raises:
            ValueError: Neither ``paths`` nor ``matching`` has elements, or both have; an element is empty; a pattern
                contains a comma.
            MerganserError: ``TABLE_WITHOUT_PARTITIONS``: the table is not partitioned.
            ConfigurationConflictError: ``options`` name other partitions.
        """
        for given in paths, matching:
            if isinstance(given, str) or not isinstance(given, Sequence):
                raise TypeError(f"delete_partitions takes a list of partition paths, not a {kind(given)}")
            if wrong := [path for path in given if not isinstance(path, str)]:
                raise TypeError(f"delete_partitions takes partition paths as strings, not a {kind(wrong[0])}")
        if bool(paths) == bool(matching) or not all([*paths, *matching]) or any("," in one for one in matching):
            raise ValueError(
                "delete_partitions takes paths or patterns (matching), at least one of the one kind: paths that are "
                f"not empty, or patterns without commas, not {[*paths, *matching]}"
            )
        named = (
            {PARTITION_PATHS_TO_DELETE: json.dumps(list(paths))} if paths else {PARTITIONS_TO_DELETE: list(matching)}
        )
        none = self._spark.createDataFrame([], self.schema)
        return self._write("delete_partition", none, merged_options(named, wire_of(options)), txn, dry_run)

    @overload
    def delete(self, which: Condition, /, **settings: Unpack[WriteSettings]) -> StatementResult: ...
    @overload
    def delete(self, /, *, where: Condition, **settings: Unpack[WriteSettings]) -> StatementResult: ...
    @overload
    def delete(self, which: Rows | Iterable[Any], /, **settings: Unpack[WriteSettings]) -> CommitResult: ...
    @overload
    def delete(self, /, *, keys: Rows | Iterable[Any], **settings: Unpack[WriteSettings]) -> CommitResult: ...

    def delete(
        self,
        which: Any = None,
        /,
        *,
        keys: Any = None,
        where: Condition | None = None,
        options: AnyOptions | None = None,
        txn: Transaction | None = None,
        dry_run: bool = False,
    ) -> CommitResult | StatementResult:
        """Delete rows by their keys, regardless of ordering values, or by a condition.

        Args:
            which: Keys, as ``keys``; or, if it is a string, a bool or a column, a condition, as ``where``.
            keys: A frame with the key columns, and the partition columns where they are known: without them the keys
                are looked up in all partitions. Or a list of keys: values of the one key column, tuples of values in
                the order of the key columns, or dicts. Rows of a table without key columns are deleted by their
                ``_hoodie_record_key`` and ``_hoodie_partition_path``.
            where: Condition on the table's columns, as SQL or as a column; ``True`` deletes all rows.
            options: As for :meth:`upsert`, and so are ``txn`` and ``dry_run``.

        Returns:
            Of keys, a :class:`CommitResult`; of a condition, a :class:`StatementResult`.

        Raises:
            TypeError: Neither keys nor a condition is given, or both are; ``keys`` is a string, a bool or a column.
            ColumnMissingError: ``keys`` lacks a key column.
        """
        if isinstance(keys, (str, bool)) or is_column(keys):
            raise TypeError(f"keys takes keys: write keys=[{keys!r}] for one key, where={keys!r} for a condition")
        if sum(given is not None for given in (which, keys, where)) != 1:
            raise TypeError(
                "delete takes either keys, or a condition, and not two conditions: table.delete(where=\"id = 'a'\")"
            )
        if isinstance(which, (str, bool)) or is_column(which):
            where = which
        elif which is not None:
            keys = which
        if where is not None:
            parts = self._transport.parts()
            text = f"DELETE FROM {parts.name(self.identifier)} WHERE {condition_text('where', where, parts)}"
            return self._statement("delete", text, write_options(options, txn), parts, dry_run)
        return self._write("delete", _with_partitions(self._keys(keys), self._info), options, txn, dry_run)

    def update(
        self,
        set: Assignments,
        where: Condition | None = None,
        *,
        options: AnyOptions | None = None,
        txn: Transaction | None = None,
        dry_run: bool = False,
    ) -> StatementResult:
        """Update the rows for which a condition is true.

        The rows go through the table's merge rule: one whose ordering column is assigned a smaller value loses.

        Args:
            set: Expressions by column, as SQL or as columns, or values that are not strings:
                ``{"fare": "fare * 2", "paid": True, "note": lit("late")}``.
            where: Condition on the table's columns, as SQL or as a column; ``None`` updates all rows.
            options: As for :meth:`upsert`, and so are ``txn`` and ``dry_run``.

        Raises:
            TypeError: ``set`` is not a dict of expressions, or ``where`` is not a condition.
            MerganserError: ``ASSIGNMENT_REFUSED``: a key column is assigned; others likewise.
        """
        parts = self._transport.parts()
        assigned = ", ".join(f"{name} = {value}" for name, value in assignments_of("set", set, parts))
        condition = "" if where is None else f" WHERE {condition_text('where', where, parts)}"
        text = f"UPDATE {parts.name(self.identifier)} SET {assigned}{condition}"
        return self._statement("update", text, write_options(options, txn), parts, dry_run)

    def merge(
        self,
        source: Rows | str,
        on: Condition | Sequence[str] | None = None,
        clauses: Sequence[Clause] = (),
        *,
        source_alias: str = "s",
        target_alias: str = "t",
        schema_evolution: bool = False,
    ) -> Merge:
        """Begin a MERGE; clauses follow as methods, then :meth:`merganser.Merge.execute` runs it.

        ::

            merge = table.merge(changes).when_matched_delete("s.op = 'd'").when_matched_update()
            print(merge.when_not_matched_insert().execute())

        Args:
            source: A frame or rows as for :meth:`upsert`; or a table, view or query as a string.
            on: When a row of the source matches a stored one: a condition as SQL or as a column, or names of columns
                that are equal. ``None``: the record key columns are equal.
            clauses: Clauses as values, such as :class:`merganser.WhenMatchedUpdate`; methods add others.
            source_alias: Qualifier of the source's columns in conditions and expressions.
            target_alias: Qualifier of the table's columns.
            schema_evolution: Whether the statement adds columns that the source has, and widens types.

        Raises:
            TypeError: ``source`` is neither rows nor a string, or ``on`` is not a condition.
        """
        begun = Merge(
            target=self.identifier,
            source=source if isinstance(source, str) else self._frame_of("merge", source),
            on=on_columns(on, self._info.record_key),
            target_alias=target_alias,
            source_alias=source_alias,
            evolves_schema=schema_evolution,
            table=lambda: self.schema.names,
            transport=self._transport,
        )
        return begun.with_clauses(*clauses)

    def _keys(self, keys: Any) -> DataFrame:
        if is_frame(keys) or hasattr(keys, "columns") or hasattr(keys, "column_names"):
            return self._frame_of("delete", keys)
        listed = [keys] if isinstance(keys, Mapping) or not isinstance(keys, Iterable) else list(keys)
        if listed and isinstance(listed[0], Mapping):
            return frame_of(self._spark, "delete", listed, self.schema)
        tuples = [one if isinstance(one, (tuple, list)) else (one,) for one in listed]
        return frame_of(self._spark, "delete", tuples, self._key_columns())

    def _key_columns(self) -> StructType:
        fields = {field.name.lower(): field for field in self.schema.fields}
        keys = self._info.record_key
        if not keys or any(key.lower() not in fields for key in keys):
            raise TypeError(
                f"The rows of '{self._info.name}' have no key of plain columns: delete takes a frame with the columns "
                "that identify rows, or a condition (where)"
            )
        return StructType([StructField(key, fields[key.lower()].dataType) for key in keys])

    def _statement(self, what: str, text: str, options: dict[str, str], parts: Parts, dry_run: bool) -> StatementResult:
        if dry_run:
            rows = self._transport.rows("dry_run", options, statement=text, parts=parts)
            return StatementResult.of_dry_run(what, rows)
        return StatementResult.of(what, self._transport.statement(what, text, options, parts))

    def _frame_of(self, operation: str, rows: Any) -> DataFrame:
        """Rows as a frame, in the types of the table's columns unless they are a Spark frame."""
        return frame_of(self._spark, operation, rows, None if is_frame(rows) else self.schema, self._earlier)

    def _earlier(self, size: int) -> list[str]:
        """The columns of tuples with this many values, see :func:`merganser._rows.without_added`."""
        (row,) = self._transport.rows("describe_table", path=self.path)
        names = [field["name"] for field in json.loads(row["schema"])["fields"]]
        return without_added(names, row["partition_fields"], row.get("added_columns") or (), size)

    def _write(self, operation: str, rows: Any, options: object, txn: object, dry_run: bool) -> CommitResult:
        frame = self._frame_of(operation, rows)
        wire = write_options(options, txn)
        if dry_run:
            wire[DRY_RUN] = "true"
        done = self._transport.written("write_rows", wire, frame=frame, path=self.path, operation=operation)
        return CommitResult.from_wire(done)


def _with_partitions(keys: DataFrame, table: TableInfo) -> DataFrame:
    """Keys with all partition columns: those that ``keys`` lacks come from the stored rows of these keys.

    Args:
        keys: A frame with the key columns. One without them is returned as it is: so are the keys of a table without
            key columns, which have meta columns; the write checks them.
        table: The table, whose newest rows are read where ``keys`` lacks a partition column.
    """
    if not table.partition_by:
        return keys
    given = {column.lower() for column in keys.columns}
    partitions = {_root(field).lower(): _root(field) for field in table.partition_by}
    absent = [quoted(column) for name, column in partitions.items() if name not in given]
    is_keyed = table.record_key and all(_root(field).lower() in given for field in table.record_key)
    if not absent or not is_keyed:
        return keys
    fields = {f"_merganser_key_{at}": ".".join(map(quoted, key.split("."))) for at, key in enumerate(table.record_key)}
    stored = keys.sparkSession.read.format("merganser").load(table.path)
    found = stored.select(*(stored[field].alias(name) for name, field in fields.items()), *absent)
    named = keys.select("*", *(keys[field].alias(name) for name, field in fields.items()))
    return named.join(found, list(fields)).drop(*fields)


def _root(field: str) -> str:
    """The column of a field, which may be inside a struct."""
    return field.partition(".")[0]
