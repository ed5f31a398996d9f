"""``Table.apply_changes``: changes of other databases, in the vocabulary of Spark's AUTO CDC."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from merganser._arguments import Names, path_of, session_of, write_options
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

_T = TypeVar("_T", bound="TableChanges")


class TableChanges(OpenTable):
    """The part of :class:`merganser.Table` that applies changes.

    Both methods take these arguments; the names that end in ``column_list`` are those of Spark's AUTO CDC:

    - ``preset``: Name of the envelope, such as ``"debezium_postgres"``, or a configured
      :class:`merganser.changes.Preset`.
    - ``keys``: The record key columns. ``None`` takes the table's; for a new table, those that the events name.
    - ``sequence_by``: Column or columns of the rows that are larger in a later change of a key, also as
      ``struct("day", "seq")``. With a preset, ``None`` takes the order of the envelope.
    - ``ignore_null_updates``: Whether null leaves the stored value, or the columns in which it does, as in
      ``ignore_null_updates_column_list``. The setting belongs to the table; ``None`` takes the table's.
    - ``ignore_null_updates_column_list``: The columns in which null leaves the stored value: all or none, besides keys
      and ordering fields.
    - ``ignore_null_updates_except_column_list``: The columns in which it does not: all or none.
    - ``columns``, ``column_list``: The columns to apply, or types of columns for events without a schema.
    - ``except_columns``, ``except_column_list``: Columns not to apply. Their stored values do not change.
    """

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

        All of them are one upsert, in which the table's rule decides by the ordering fields.
        ``docs/follow-a-database.md`` describes the presets, and
        :class:`merganser.apply_changes.TableChanges` the arguments that are not listed here.

        Args:
            changes: Events of a preset (JSON in a column ``value``, with ``key`` if there is one, or the envelope's
                fields as columns), or rows with a column that orders them. May be a stream.
            apply_as_deletes: Condition on a row that makes it a delete.
            apply_as_truncates: Condition on a row that deletes all rows up to it.
            stored_as_scd_type: 1. A table with one row per key cannot store every version of a row.
            source_table: Name of the source's table in the events, such as ``"inventory.public.orders"``. Events of
                other tables are skipped and counted. Without it, events of several tables are an error.
            quarantine: A table, or the path of one, for events that cannot be applied; it is created if it does not
                exist. ``True`` is ``<path of this table>_quarantine``. Without it they are an error.
            options: Settings of this write alone.
            txn: Application and version of this write, as for :meth:`upsert`; not for streams.
            checkpoint: Folder of a stream's checkpoint.
            trigger: Arguments of the stream's trigger, such as ``{"availableNow": True}``.
            query_name: Name of the stream.
            on_batch: Called after each micro-batch with its number and its :class:`ApplyResult`.

        Returns:
            An :class:`ApplyResult`; for a stream the running ``StreamingQuery``.

        Raises:
            EventsRefusedError: Events cannot be applied, and there is no quarantine; nothing was written.
            ConfigurationConflictError: An argument contradicts the table.
            MerganserError: ``CHANGES_NEED_ORDERING``, ``CHANGES_NEED_KEYS``, ``CHANGES_NEED_GLOBAL_INDEX``: the table
                cannot take changes.
            TypeError: An argument or the frame has the wrong type.
        """
        return self._applied(changes, locals())

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
        ``merganser.tombstones.retained.hours`` sets another time; ``0`` turns this off.
        :class:`merganser.apply_changes.TableChanges` describes the arguments that are not listed here.

        Args:
            spark: As for :meth:`create`, and so are ``path``, ``table_type``, ``index``, ``name`` and ``options``.
            rows: Events (not a stream) from which the columns and, if they have one, the key are taken; or the
                columns themselves. Those that order the events of a preset are added.
            partition_by: Partition columns. If one is not part of the key, the index is global unless ``index`` is
                given.

        Raises:
            ValueError: There is no key or no ordering.
            TableExistsError: There is a table.
        """
        given = {"path": path_of(path), **_given.given(locals())}
        partitions = _given.names_of("partition_by", partition_by) or None
        wire = settings_of(options, partition_by=partitions, table_type=table_type, index=index, name=name)
        if isinstance(rows, (str, StructType)):
            given["schema"] = rows if isinstance(rows, str) else rows.json()
        elif rows.isStreaming:
            raise TypeError("A table is created from a frame of some events, not from a stream; or give the columns")
        events = None if "schema" in given else rows
        transport = transport_for(session_of(spark))
        made = transport.one("create_table_for_changes", wire, frame=events, **given)
        return cls(spark, transport, TableInfo.from_wire(made))

    def _applied(self, changes: Any, arguments: Mapping[str, Any]) -> Any:
        """Apply a batch, or start a stream, with the arguments of :meth:`apply_changes`."""
        if not hasattr(changes, "isStreaming"):
            raise TypeError(
                f"apply_changes takes a Spark DataFrame or a streaming one, not a {type(changes).__name__}: "
                "spark.createDataFrame(...), spark.read or spark.readStream make one"
            )
        given = _given.given(arguments, self.path)
        options = write_options(arguments["options"], arguments["txn"])
        if not changes.isStreaming:
            return self._apply(changes, given, options)
        if arguments["txn"] is not None:
            raise ValueError("txn belongs to one batch; a stream has transactions of its own")
        return _stream.start(changes, self.path, given, options, arguments)

    def _apply(self, changes: DataFrame, given: Mapping[str, Any], options: Mapping[str, str]) -> ApplyResult:
        return ApplyResult.of(self._transport.written("apply_changes", options, frame=changes, path=self.path, **given))
