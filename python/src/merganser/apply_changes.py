"""``Table.apply_changes``: changes of other databases, in the vocabulary of Spark's AUTO CDC."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Union

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from merganser._arguments import path_of, session_of, write_options
from merganser._open_table import OpenTable
from merganser._transport import transport_for
from merganser.change_results import ApplyResult
from merganser.changes import _given, _stream
from merganser.changes.presets import Preset
from merganser.config import IndexType, Options, TableType, WriteOptions
from merganser.creation import settings_of
from merganser.results import TableInfo

if TYPE_CHECKING:
    from pyspark.sql import Column

Names = Union[str, "Column", Sequence[Union[str, "Column"]]]
_T = TypeVar("_T", bound="TableChanges")


class TableChanges(OpenTable):
    """The part of :class:`merganser.Table` that applies changes."""

    def apply_changes(
        self,
        changes: DataFrame,
        *,
        preset: str | Preset | None = None,
        keys: Names | None = None,
        sequence_by: Names | None = None,
        apply_as_deletes: str | Column | None = None,
        apply_as_truncates: str | Column | None = None,
        ignore_null_updates: bool | Names | None = None,
        columns: Names | Mapping[str, str] | StructType | None = None,
        except_columns: Names | None = None,
        stored_as_scd_type: int | str | None = 1,
        source_table: str | None = None,
        quarantine: Any = None,
        options: WriteOptions | Options | None = None,
        txn: tuple[str, int] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        trigger: Mapping[str, Any] | None = None,
        query_name: str | None = None,
        on_batch: _stream.OnBatch | None = None,
        column_list: Names | None = None,
        except_column_list: Names | None = None,
        ignore_null_updates_column_list: Names | None = None,
        ignore_null_updates_except_column_list: Names | None = None,
    ) -> Any:
        """Apply changes of another database: inserts, updates, deletes and truncates, in any order.

        All of them are one upsert, in which the table's rule decides by the ordering fields. Which preset reads what
        is in ``docs/apply-changes.md``.

        Args:
            changes: Events of a preset (JSON in a column ``value``, with ``key`` if there is one, or the envelope's
                fields as columns), or rows with a column that orders them. May be a stream.
            preset: Name of the envelope, such as ``"debezium_postgres"``, or a configured
                :class:`merganser.changes.Preset`.
            keys: The table's record key columns. ``None`` takes the table's.
            sequence_by: Column or columns of the rows that are larger in a later change of a key, also as
                ``struct("day", "seq")``. With a preset, ``None`` takes the order of the envelope.
            apply_as_deletes: Condition on a row that makes it a delete.
            apply_as_truncates: Condition on a row that deletes all rows up to it.
            ignore_null_updates: Whether null leaves the stored value; this belongs to the table, ``None`` takes that.
            columns: The columns to apply, or types of columns for events without a schema.
            except_columns: Columns not to apply. They stay as they are stored.
            stored_as_scd_type: 1. Every version of a row as a row is not what a table with one row per key stores.
            source_table: Name of the source's table, as the events have it, such as ``"inventory.public.orders"``.
                Events of others are skipped and counted. Without it, events of several tables are an error.
            quarantine: A table, or the path of one, for events that cannot be applied; it is created if it does not
                exist. ``True`` is ``<path of this table>_quarantine``. Without it they are an error.
            options: Settings of this write alone.
            txn: Application and version of this application of changes, as of any write; not for streams.
            checkpoint: Folder of a stream's checkpoint.
            trigger: Arguments of the stream's trigger, such as ``{"availableNow": True}``.
            query_name: Name of the stream.
            on_batch: Called after each micro-batch with its number and its :class:`ApplyResult`.
            column_list: ``columns``, as Spark's AUTO CDC names it.
            except_column_list: ``except_columns``, as Spark's AUTO CDC names it.
            ignore_null_updates_column_list: The columns in which null leaves the stored value: all or none, besides
                keys and ordering fields. Also as ``ignore_null_updates=[...]``.
            ignore_null_updates_except_column_list: The columns in which it does not: all or none.

        Returns:
            An :class:`ApplyResult`; for a stream the running ``StreamingQuery``.

        Raises:
            EventsRefusedError: Events cannot be applied, and there is no quarantine; nothing was written.
            ConfigurationConflictError: An argument contradicts the table.
            MerganserError: ``CHANGES_NEED_ORDERING``, ``CHANGES_NEED_KEYS``, ``CHANGES_NEED_GLOBAL_INDEX``: the table
                cannot take changes.
            TypeError: An argument or the frame has the wrong type.
        """
        _require_frame(changes)
        if str(stored_as_scd_type) == "2":
            raise ValueError(
                "stored_as_scd_type=2 keeps every version of a row as a row of its own, which a table with one row per "
                "key does not. Insert the events into a table whose record_key is the key and the sequence, or read "
                "earlier states of this table by df(as_of=...)"
            )
        if stored_as_scd_type is not None and str(stored_as_scd_type) != "1":
            raise ValueError(f"stored_as_scd_type is 1, not {stored_as_scd_type!r}")
        given = _given.given(
            preset=preset,
            keys=keys,
            sequence_by=sequence_by,
            ignore_null_updates=ignore_null_updates,
            columns=columns,
            except_columns=except_columns,
            column_list=column_list,
            except_column_list=except_column_list,
            ignore_null_updates_column_list=ignore_null_updates_column_list,
            ignore_null_updates_except_column_list=ignore_null_updates_except_column_list,
        )
        more = {
            "apply_as_deletes": _given.condition("apply_as_deletes", apply_as_deletes),
            "apply_as_truncates": _given.condition("apply_as_truncates", apply_as_truncates),
            "source_table": _given.text("source_table", source_table),
            "quarantine": _place(quarantine, self._info.path),
        }
        given |= {name: value for name, value in more.items() if value is not None}
        wire = write_options(options, txn)
        if not changes.isStreaming:
            return self._apply(changes, given, wire)
        if txn is not None:
            raise ValueError("txn belongs to one batch; a stream has transactions of its own")
        return _stream.start(
            changes,
            self._info.path,
            given,
            wire,
            checkpoint=checkpoint,
            trigger=trigger,
            query_name=query_name,
            on_batch=on_batch,
        )

    @classmethod
    def create_for_changes(
        cls: type[_T],
        spark: SparkSession,
        path: str | os.PathLike[str],
        rows: DataFrame | StructType | str,
        *,
        preset: str | Preset | None = None,
        keys: Names | None = None,
        sequence_by: Names | None = None,
        ignore_null_updates: bool | Names | None = None,
        columns: Names | Mapping[str, str] | StructType | None = None,
        except_columns: Names | None = None,
        partition_by: Names | None = None,
        table_type: TableType | None = None,
        index: IndexType | None = None,
        name: str | None = None,
        options: Options | None = None,
        column_list: Names | None = None,
        except_column_list: Names | None = None,
        ignore_null_updates_column_list: Names | None = None,
        ignore_null_updates_except_column_list: Names | None = None,
    ) -> _T:
        """Create an empty table with the columns and the rule that :meth:`apply_changes` needs.

        The table retains deletes for 48 hours, so that an event that is older than the delete of its row, and comes in
        a later batch, is late; not if it is partitioned by columns that are not part of the key. The option
        ``merganser.tombstones.retained.hours`` is another time, or ``0``.

        Args:
            spark: The session.
            path: Folder of the table.
            rows: Events (not a stream) from which the columns and, if they have one, the key are taken; or the
                columns themselves.
            preset: Name of the envelope, or a preset. Its ordering columns are added.
            keys: Record key columns; ``None`` takes those that the events name.
            sequence_by: Columns of the rows that order the changes, in place of the preset's.
            ignore_null_updates: Whether null in a change leaves the stored value.
            columns: The columns to apply, or types of columns for events without a schema.
            except_columns: Columns to leave out.
            partition_by: Partition columns. If one is not part of the key, the index is global unless ``index`` is
                given.
            table_type: Copy-on-write or merge-on-read.
            index: How a write finds the file group of a key.
            name: Name of the table.
            options: Further settings by their ``hoodie.*`` names.
            column_list: ``columns``, as Spark's AUTO CDC names it.
            except_column_list: ``except_columns``, as Spark's AUTO CDC names it.
            ignore_null_updates_column_list: As of :meth:`apply_changes`.
            ignore_null_updates_except_column_list: As of :meth:`apply_changes`.

        Raises:
            ValueError: There is no key or no ordering.
            TableExistsError: There is a table.
        """
        given = _given.given(
            preset=preset,
            keys=keys,
            sequence_by=sequence_by,
            ignore_null_updates=ignore_null_updates,
            columns=columns,
            except_columns=except_columns,
            column_list=column_list,
            except_column_list=except_column_list,
            ignore_null_updates_column_list=ignore_null_updates_column_list,
            ignore_null_updates_except_column_list=ignore_null_updates_except_column_list,
        )
        partitions = _given.names_of("partition_by", partition_by) or None
        wire = settings_of(options, partition_by=partitions, table_type=table_type, index=index, name=name)
        given["path"] = path_of(path)
        events = None
        if isinstance(rows, str):
            given["schema"] = rows
        elif isinstance(rows, StructType):
            given["schema"] = rows.json()
        elif rows.isStreaming:
            raise TypeError("A table is created from a frame of some events, not from a stream; or give the columns")
        else:
            events = rows
        transport = transport_for(session_of(spark))
        made = transport.one("create_table_for_changes", wire, frame=events, **given)
        kind: Any = cls
        table: _T = kind(spark, transport, TableInfo.from_wire(made))
        return table

    def _apply(self, changes: DataFrame, given: Mapping[str, Any], options: Mapping[str, str]) -> ApplyResult:
        """Apply one batch."""
        arguments = {**given, "path": self._info.path}
        return ApplyResult.of(self._transport.written("apply_changes", options, frame=changes, **arguments))


def _place(quarantine: Any, path: str) -> str | None:
    if quarantine is None or quarantine is False:
        return None
    if quarantine is True:
        return f"{path.rstrip('/')}_quarantine"
    if isinstance(quarantine, TableChanges):
        return quarantine._info.path
    if isinstance(quarantine, (str, os.PathLike)):
        return os.fspath(quarantine)
    raise TypeError(f"quarantine is True, a table or the path of one, not a {type(quarantine).__name__}")


def _require_frame(changes: Any) -> None:
    if not hasattr(changes, "isStreaming"):
        raise TypeError(
            f"apply_changes takes a Spark DataFrame or a streaming one, not a {type(changes).__name__}: "
            "spark.createDataFrame(...), spark.read or spark.readStream make one"
        )
