"""Making and opening tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from merganser._arguments import Columns, Place, columns_of, names_of, path_of, session_of
from merganser._expressions import name_text, quoted
from merganser._open_table import OpenTable
from merganser._rule_options import rule_options
from merganser._transport import transport_for
from merganser.config import IndexType, MergeMode, Options, TableType, merged_options
from merganser.errors import ConfigurationConflictError, MerganserError, TableExistsError
from merganser.results import TableInfo

if TYPE_CHECKING:
    from typing_extensions import Unpack

_T = TypeVar("_T", bound="TableCreation")

_NO_TABLE = ("TABLE_NOT_FOUND", "PATH_IS_NO_TABLE", "TABLE_OF_OTHER_FORMAT")


class NamedSettings(TypedDict, total=False):
    """Arguments of :meth:`TableCreation.create` that :meth:`TableCreation.create_named` takes as well."""

    record_key: Columns | None
    ordering_by: Columns | None
    table_type: TableType | None
    merge_mode: MergeMode | None
    rule: Mapping[str, str] | None
    rule_groups: Mapping[str, Mapping[str, Columns]] | None
    rule_delete: str | None
    rule_retract: Mapping[str, Columns] | None
    index: IndexType | None
    options: Options | None


class TableSettings(NamedSettings, total=False):
    """Arguments of :meth:`TableCreation.create` beside the place and the columns."""

    partition_by: Columns | None
    name: str | None


class TableCreation(OpenTable):
    """Creates and loads a :class:`merganser.Table`."""

    @classmethod
    def create(
        cls: type[_T],
        spark: SparkSession,
        path: Place,
        schema: StructType | str | DataFrame,
        *,
        record_key: Columns | None = None,
        partition_by: Columns | None = None,
        ordering_by: Columns | None = None,
        table_type: TableType | None = None,
        merge_mode: MergeMode | None = None,
        rule: Mapping[str, str] | None = None,
        rule_groups: Mapping[str, Mapping[str, Columns]] | None = None,
        rule_delete: str | None = None,
        rule_retract: Mapping[str, Columns] | None = None,
        index: IndexType | None = None,
        name: str | None = None,
        options: Options | None = None,
    ) -> _T:
        """Create an empty table at a path.

        Args:
            spark: The session.
            path: Folder of the table, which must be absent or empty. A relative one is below the current folder.
            schema: Columns of the table, also as a string, ``id string, ts long``, or as a frame with these columns.
            record_key: Column or columns that identify a row. Without them, each inserted row gets a generated key.
            partition_by: Column or columns that choose the folder of a row.
            ordering_by: Column or columns whose larger value wins, compared in this order.
            table_type: Copy-on-write or merge-on-read.
            merge_mode: Which of two versions wins; by default it follows from ``ordering_by``.
            rule: How each column of two versions becomes one value: names of columns, and functions such as ``sum``,
                ``max`` or ``expr('greatest(old.x, new.y)')``; ``"*"`` stands for all columns that are not named.
                Default: ``last``, the winner's value. :func:`merganser.rule` makes one of a Python function.
            rule_groups: Columns that are merged by ordering fields of their own, by the name of each group:
                ``{"prices": {"columns": ["price", "currency"], "ordering": "priced_at"}}``; also with ``"delete"``:
                what a delete does to them, as ``rule_delete``; default ``ignore``.
            rule_delete: Effect of a delete with an ordering value: ``remove_row``, the default; ``reset_group``:
                columns in no group become null; ``ignore``. SQL DELETE and :meth:`delete` remove the row.
            rule_retract: Which rows are subtracted from sum columns:
                ``{"column": "op", "values": ["update_before"]}``; the values are by default ``-U`` and
                ``update_before``.
            index: How a write finds the file group of a key.
            name: Name of the table.
            options: Further settings by their ``hoodie.*`` names.

        Raises:
            MissingJarError: The session runs without the jar.
            TableExistsError: There is a table at the path.
            ConfigurationConflictError: ``options`` contradicts an argument.
            MerganserError: The table cannot be created; the condition is the reason.
        """
        given = locals()
        transport, place = transport_for(session_of(spark)), path_of(path)
        columns = columns_of(spark, schema).json()
        wire = settings_of(**{argument: given[argument] for argument in ("options", *_SETTINGS, *_RULE)})
        made = transport.one("create_table", wire, path=place, columns=columns)
        return cls(spark, transport, TableInfo.from_wire(made))

    @classmethod
    def create_or_load(
        cls: type[_T],
        spark: SparkSession,
        path: Place,
        schema: StructType | str | DataFrame,
        **arguments: Unpack[TableSettings],
    ) -> _T:
        """Create an empty table, or open the existing one at the path.

        Args:
            spark: As for :meth:`create`, and so is ``path``.
            schema: Columns of the table. An existing one may have more, and wider types.
            **arguments: As for :meth:`create`. Those that an existing table contradicts are refused.

        Raises:
            ConfigurationConflictError: The existing table has another key, ordering, type or rule, or lacks columns,
                or has them with another type.
            MerganserError: As for :meth:`create` and :meth:`load`.
        """
        try:
            return cls.create(spark, path, schema, **arguments)
        except TableExistsError:
            place = path_of(path)
            table = cls.load(spark, place if "/" in place else f"./{place}")
        return _checked(table, schema, arguments)

    @classmethod
    def create_named(
        cls: type[_T],
        spark: SparkSession,
        name: str,
        schema: StructType | str | DataFrame,
        *,
        path: Place | None = None,
        partition_by: Columns | None = None,
        if_not_exists: bool = False,
        **arguments: Unpack[NamedSettings],
    ) -> _T:
        """Create an empty table with a name in one of the session's catalogs, by a CREATE TABLE.

        Args:
            spark: The session.
            name: The table's name as SQL, such as ``lake.rides.trips``.
            schema: As for :meth:`create`. Catalogs move partition columns to the end: tuples of values must then
                have the order of :attr:`schema`.
            path: Folder of the table; ``None`` lets the catalog choose one, which ``DROP TABLE`` deletes.
            partition_by: As for :meth:`create`, and so are all ``**arguments``.
            if_not_exists: Open the table if there is one of that name. Arguments that it contradicts are refused, as
                by :meth:`create_or_load`.

        Raises:
            ConfigurationConflictError: The existing table has other settings or columns.
            MerganserError: The table cannot be created; the condition is the reason.
        """
        transport = transport_for(session_of(spark))
        columns = columns_of(spark, schema)
        wire = settings_of(**arguments)
        partitions = ", ".join(map(name_text, names_of("partition_by", partition_by or ())))
        place = None if path is None else path_of(path)
        given = {"table": name, "columns": columns.json(), "partitions": partitions, "if_not_exists": if_not_exists}
        transport.rows("create_table", wire, path=place, **given)
        table = cls.load(spark, name if "." in name or "`" in name else quoted(name))
        return _checked(table, schema, {**arguments, "partition_by": partition_by}) if if_not_exists else table

    @classmethod
    def load(cls: type[_T], spark: SparkSession, path_or_name: Place) -> _T:
        """Open a table by its path, or by its name in the session's catalogs.

        A word without a slash is a name or, if no table has that name, a path below the current folder: "`trips`" is
        always a name, and "./trips" a path.

        Raises:
            MissingJarError: The session runs without the jar.
            TableNotFoundError: There is no such table.
        """
        transport, place = transport_for(session_of(spark)), path_of(path_or_name)
        return cls(spark, transport, TableInfo.from_wire(transport.one("describe_table", table=place)))

    @classmethod
    def exists(cls, spark: SparkSession, path_or_name: Place) -> bool:
        """Return whether there is a table at a path or with a name; ``False`` for tables of other formats.

        Raises:
            MerganserError: There is one that cannot be read; the condition is the reason.
        """
        try:
            transport_for(session_of(spark)).one("describe_table", table=path_of(path_or_name))
        except MerganserError as error:
            if error.condition in _NO_TABLE:
                return False
            raise
        return True


def settings_of(options: Options | None = None, **arguments: Any) -> dict[str, str]:
    """The settings of a new table by their names, from arguments of :meth:`TableCreation.create`."""
    declared = rule_options(*(arguments.pop(name, None) for name in _RULE))
    for name in arguments.keys() - _SETTINGS.keys():
        raise TypeError(f"create_named() got an unexpected keyword argument {name!r}")
    return merged_options({**{_SETTINGS[name]: value for name, value in arguments.items()}, **declared}, options)


def _checked(table: _T, schema: StructType | str | DataFrame, arguments: Mapping[str, Any]) -> _T:
    """A table that is there, if no argument of a creation contradicts it."""
    before = _conflicts(table)
    columns = columns_of(table._spark, schema).json()
    for setting, conflict in _conflicts(table, settings_of(**arguments), columns=columns).items():
        if before.get(setting) != conflict:
            condition = "COLUMNS_CONFLICT" if setting == "columns" else "CONFIG_CONFLICT"
            raise ConfigurationConflictError(conflict, condition=condition)
    return table


def _conflicts(table: TableCreation, options: Mapping[str, str] | None = None, **declared: str) -> dict[str, str]:
    """What contradicts the settings of a table, for a write with these options, and the declared columns."""
    rows = table._transport.rows("show_merge_config", options, path=table._info.path, **declared)
    return {row["setting"]: row["conflict"] for row in rows if row["conflict"] is not None}


_RULE = ("rule", "rule_groups", "rule_delete", "rule_retract")
_SETTINGS = {
    "name": "hoodie.table.name",
    "record_key": "hoodie.datasource.write.recordkey.field",
    "partition_by": "hoodie.datasource.write.partitionpath.field",
    "ordering_by": "hoodie.table.ordering.fields",
    "table_type": "hoodie.datasource.write.table.type",
    "merge_mode": "hoodie.write.record.merge.mode",
    "index": "hoodie.index.type",
}
"""Names of settings by argument."""
