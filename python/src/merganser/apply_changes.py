"""``Table.apply_changes``: changes of other databases, in the vocabulary of Spark's AUTO CDC."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Union

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from merganser.change_results import ApplyResult
from merganser.changes import _stream
from merganser.changes._apply import apply_batch
from merganser.changes._create import RETAINED_HOURS, new_table
from merganser.changes._preset import Preset
from merganser.changes._spec import Spec, names_of, spec_of
from merganser.changes._target import target_of
from merganser.config import IndexType, Options, TableType, WriteOptions, merged_options
from merganser.errors import MerganserError
from merganser.options import TOMBSTONES_RETAINED
from merganser.results import TableInfo

if TYPE_CHECKING:
    from pyspark.sql import Column

    from merganser._transport import Transport

Names = Union[str, "Column", Sequence[Union[str, "Column"]]]
_T = TypeVar("_T", bound="TableChanges")


class TableChanges:
    """The part of :class:`merganser.Table` that applies changes."""

    _spark: SparkSession
    _transport: Transport
    _info: TableInfo

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
        spec = spec_of(
            preset=preset,
            keys=keys,
            sequence_by=sequence_by,
            apply_as_deletes=apply_as_deletes,
            apply_as_truncates=apply_as_truncates,
            ignore_null_updates=ignore_null_updates,
            columns=columns,
            except_columns=except_columns,
            stored_as_scd_type=stored_as_scd_type,
            source_table=source_table,
            quarantine=_place(quarantine, self._info.path),
            options=options,
            column_list=column_list,
            except_column_list=except_column_list,
            ignore_null_updates_column_list=ignore_null_updates_column_list,
            ignore_null_updates_except_column_list=ignore_null_updates_except_column_list,
        )
        if not changes.isStreaming:
            return self._apply(changes, spec, txn)
        if txn is not None:
            raise ValueError("txn belongs to one batch; a stream has transactions of its own")
        return _stream.start(
            changes,
            self._info.path,
            spec,
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
        spec = spec_of(
            preset=preset,
            keys=keys,
            sequence_by=sequence_by,
            apply_as_deletes=None,
            apply_as_truncates=None,
            ignore_null_updates=ignore_null_updates,
            columns=columns,
            except_columns=except_columns,
            stored_as_scd_type=1,
            source_table=None,
            quarantine=None,
            options=None,
            column_list=column_list,
            except_column_list=except_column_list,
            ignore_null_updates_column_list=ignore_null_updates_column_list,
            ignore_null_updates_except_column_list=ignore_null_updates_except_column_list,
        )
        if isinstance(rows, str):
            rows = spark.createDataFrame([], rows).schema  # type: ignore[type-var, unused-ignore]
        if not isinstance(rows, StructType) and rows.isStreaming:
            raise TypeError("A table is created from a frame of some events, not from a stream; or give the columns")
        partitions = names_of("partition_by", partition_by)
        plan = new_table(rows, spec, partitions, index)
        settings = merged_options(plan.options, options)

        def create(settings: Mapping[str, str]) -> _T:
            kind: Any = cls
            made: _T = kind.create(
                spark,
                path,
                plan.schema,
                record_key=plan.record_key,
                partition_by=partitions or None,
                ordering_by=plan.ordering_by,
                table_type=table_type,
                index=plan.index,
                name=name,
                options=settings,
            )
            return made

        if plan.moves_rows or TOMBSTONES_RETAINED in settings:
            return create(settings)
        try:
            return create({**settings, TOMBSTONES_RETAINED: RETAINED_HOURS})
        except MerganserError as refused:
            if refused.condition != "TOMBSTONES_NEED_ORDERING":
                raise
            return create(settings)  # of a rule of its own, with which a table retains no deletes

    def _apply(self, changes: DataFrame, spec: Spec, txn: tuple[str, int] | None) -> ApplyResult:
        """Apply one batch; the columns and the rule are those that the table has now."""
        info = TableInfo.from_wire(self._transport.describe(self._info.path))
        current: Any = type(self)(self._spark, self._transport, info)  # type: ignore[call-arg]
        rows = self._transport.rows("show_table_properties", path=info.path, limit=2**31 - 1)
        properties = {row["key"]: row["value"] for row in rows}
        target = target_of(info, current.schema, properties, spec)
        return apply_batch(current, target, changes, spec, txn)


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
