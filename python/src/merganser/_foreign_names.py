"""What tables and merges of other packages call what ours call otherwise: for the error of a name that is not there."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

_ALTER = 'spark.sql(f"ALTER TABLE {table.identifier} ...")'
_STREAM = "spark.readStream.format('merganser').load(table.path)"

#: What to write instead, by a name of Delta, pyiceberg, pypaimon or Spark in lower case and without underscores.
_OURS = {
    "forpath": "Table.for_path(spark, path)",
    "forname": "Table.for_name(spark, name)",
    "loadtable": "Table.load(spark, path_or_name)",
    "gettable": "Table.load(spark, path_or_name)",
    "converttodelta": "Table.create(spark, path, frame, ...) and table.bulk_insert(frame)",
    "isdeltatable": "Table.exists(spark, path_or_name)",
    "istable": "Table.exists(spark, path_or_name)",
    "tableexists": "Table.exists(spark, path_or_name)",
    "createtable": "Table.create(spark, path, schema, ...), or Table.create_named(spark, name, schema, ...)",
    "createifnotexists": "Table.create_or_load(spark, path, schema, ...)",
    "createtableifnotexists": "Table.create_or_load(spark, path, schema, ...)",
    "createorreplace": "table.overwrite(rows), or CREATE OR REPLACE TABLE in SQL for other columns",
    "todf": "table.df()",
    "scan": "table.df(columns=..., where=...)",
    "select": "table.df(columns=...)",
    "filter": "table.df(where=...)",
    "where": "table.df(where=...)",
    "asof": "table.df(as_of=...)",
    "topolars": "table.to_arrow(), which polars.from_arrow takes",
    "newreadbuilder": "table.df(columns=..., where=...)",
    "newbatchwritebuilder": "table.upsert(rows)",
    "append": "table.upsert(rows), or table.insert(rows), which does not merge",
    "write": "table.upsert(rows)",
    "dynamicpartitionoverwrite": "table.insert_overwrite(rows)",
    "replacewhere": "table.insert_overwrite(rows), or table.delete(where=...) and table.upsert(rows)",
    "updateall": "table.update(set)",
    "alias": "table.merge(source, on): the table is t and the source s in conditions",
    "detail": "table.properties and table.merge_config()",
    "metadata": "table.properties and table.merge_config()",
    "inspect": "table.history(), table.partitions() and table.file_slices()",
    "snapshots": "table.history()",
    "currentsnapshot": "table.history(1)",
    "currentversion": "table.history(1)[0].instant",
    "files": "table.file_slices()",
    "columns": "table.schema.names",
    "dtypes": "table.schema",
    "printschema": "table.df().printSchema()",
    "vacuum": "table.clean()",
    "expiresnapshots": "table.clean()",
    "optimize": "table.compact(), or table.cluster(order_by=..., strategy='z-order')",
    "executecompaction": "table.compact()",
    "executezorderby": "table.cluster(order_by=..., strategy='z-order')",
    "zorder": "table.cluster(order_by=..., strategy='z-order')",
    "restoretoversion": "table.restore(to), with a time, an instant, or an entry of table.history()",
    "restoretotimestamp": "table.restore(to), with a time, an instant, or an entry of table.history()",
    "rollbacktotimestamp": "table.restore(to), with a time, an instant, or an entry of table.history()",
    "rollbacktosnapshot": "table.restore(to), with a time, an instant, or an entry of table.history()",
    "rollbackto": "table.restore(to), with a time, an instant, or an entry of table.history()",
    "managesnapshots": "table.create_savepoint(), table.restore(to) and table.rollback()",
    "createtag": "table.create_savepoint()",
    "tags": "table.savepoints()",
    "updateschema": _ALTER,
    "addcolumn": _ALTER,
    "addcolumns": _ALTER,
    "renamecolumn": _ALTER,
    "dropcolumn": _ALTER,
    "readchangefeed": "table.change_data(since)",
    "incremental": "table.changes(since)",
    "readstream": _STREAM,
    "writestream": "frame.writeStream.format('merganser').start(table.path)",
    "upgradetableprotocol": "table.upgrade()",
    "whenmatchedupdate": ".when_matched_update(set, condition)",
    "whenmatchedupdateall": ".when_matched_update()",
    "whenmatcheddelete": ".when_matched_delete(condition)",
    "whennotmatchedinsert": ".when_not_matched_insert(values, condition)",
    "whennotmatchedinsertall": ".when_not_matched_insert()",
    "whennotmatchedbysourceupdate": ".when_not_matched_by_source_update(set, condition)",
    "whennotmatchedbysourcedelete": ".when_not_matched_by_source_delete(condition)",
    "withschemaevolution": ".with_schema_evolution()",
    "run": ".execute()",
}


#: The same of arguments, with what is written instead.
_ARGUMENTS = {
    "primarykey": "record_key",
    "recordkeyfield": "record_key",
    "identifierfields": "record_key",
    "key": "record_key",
    "keys": "record_key",
    "precombine": "ordering_by",
    "precombinefield": "ordering_by",
    "precombinekey": "ordering_by",
    "orderby": "ordering_by",
    "orderingfields": "ordering_by",
    "sequenceby": "ordering_by",
    "partitionedby": "partition_by",
    "partitionby": "partition_by",
    "partitionkeys": "partition_by",
    "partitioncolumns": "partition_by",
    "type": "table_type",
    "tablename": "name",
    "properties": "options",
    "tblproperties": "options",
    "timestamp": "as_of",
    "version": "as_of",
    "snapshotid": "as_of",
    "condition": "where",
    "filter": "where",
    "predicate": "where",
    "memory": "config",
    "conf": "config",
}


def unknown_argument(function: str, name: str, known: Collection[str]) -> TypeError:
    """The error of an argument that a function does not have, with the one that is meant where that is known."""
    ours = _ARGUMENTS.get(name.replace("_", "").lower())
    near = [ours] if ours in known else difflib.get_close_matches(name, known, 1)
    meant = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(sorted(known))}"
    return TypeError(f"{function}() has no argument {name!r}: {meant}")


def explaining_arguments(function: _F) -> _F:
    """A function whose error of an unknown argument names the one that is meant."""
    parameters = inspect.signature(function).parameters.values()
    known = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return function  # the function that it passes them on to has the error

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        for name in named:
            if name not in known:
                raise unknown_argument(function.__name__, name, [one for one in known if one not in ("self", "cls")])
        return function(*arguments, **named)

    return checked  # type: ignore[return-value]


def missing(owner: str, name: str) -> AttributeError:
    """The error of a name that a class does not have, with what to write instead where that is known."""
    ours = _OURS.get(name.replace("_", "").lower())
    return AttributeError(f"{owner} has no '{name}'{'' if ours is None else f': write {ours}'}")


def attribute(value: object, owner: str, name: str) -> Any:
    """What an object that lacks an attribute does instead: raise the error of its name.

    A property that is there, and whose function raised an AttributeError of its own, raises that again.
    """
    if hasattr(type(value), name):
        return object.__getattribute__(value, name)
    raise missing(owner, name)


class NamesOurs(type):
    """Type of classes whose missing names, and unknown arguments of public methods, are explained."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        own = [base for base in cls.__mro__[:-1] if base is cls or not isinstance(base, NamesOurs)]
        members = {key: member for base in reversed(own) for key, member in vars(base).items()}
        for key, member in members.items():
            if not key.startswith("_"):
                if isinstance(member, classmethod):
                    setattr(cls, key, classmethod(explaining_arguments(member.__func__)))
                elif inspect.isfunction(member):
                    setattr(cls, key, explaining_arguments(member))

    if not TYPE_CHECKING:  # for type checkers a missing name stays one

        def __getattr__(cls, name: str) -> Any:
            raise missing(cls.__name__, name)
