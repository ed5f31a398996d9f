"""Values that events do not have, where no version of their own row has them: a row that was given another key."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from merganser.changes._preset import DELETE, REFUSED, UPSERT
from merganser.changes._reading import ARRIVAL, DETAIL, KIND, LACKS, OLD
from merganser.changes._sql import field_of, functions, name, quoted, text, type_text
from merganser.changes._target import ChangeTarget

if TYPE_CHECKING:
    from merganser.table import Table

#: So many keys are given to the read of the table as literals, by which it finds their files.
_LITERALS = 1_000

_FIRST = "UNBOUNDED PRECEDING AND 1 PRECEDING"
_LAST = "1 FOLLOWING AND UNBOUNDED FOLLOWING"


class Unavailable:
    """What becomes of the events of a batch that lack values.

    - An update of a row that is stored, or is in front of it in the batch, stays as it is: the table's rule takes the
      value from there.
    - A row with a new key takes the value from the row of its old key as of the change. The old key is that of the one
      delete at the same position, or is in the event itself.
    - An event after which the batch or the table has a whole row or a delete of its key stays as it is: it loses.
    - Others are refused: VALUE_UNAVAILABLE. The placeholder is never stored.

    What versions of one row result in is still decided by the table's rule.
    """

    def __init__(self, table: Table, target: ChangeTarget, lacking: list[str]) -> None:
        self._table, self._target, self._lacking = table, target, lacking

    def resolved(self, events: DataFrame, persisted: ExitStack) -> DataFrame:
        """The events with these values, or refused.

        Args:
            events: Of a batch, persisted.
            persisted: Gets what is persisted on the way.
        """
        count, events = None, _leaf(events, persisted)
        while True:
            found = _leaf(self._filled(events), persisted)
            unresolved = found.where("__unresolved IS NOT NULL").count()
            if unresolved in (0, count):
                break
            count = unresolved  # a row that was filled may have the value for the next key of its row
            events = found.drop("__unresolved")
        is_refused = "__unresolved IS NOT NULL"
        named = {
            KIND: f"if({is_refused}, '{REFUSED}VALUE_UNAVAILABLE', {KIND})",
            DETAIL: f"if({is_refused}, __unresolved, {DETAIL})",
            OLD: f"if({is_refused}, NULL, {OLD})",
        }
        columns = [one for one in found.columns if one != "__unresolved"]
        return found.selectExpr(*(f"{named.get(one, name(one))} AS {name(one)}" for one in columns))

    def _filled(self, events: DataFrame) -> DataFrame:
        """The events with what one pass finds, and a column with the names of what it does not find."""
        outcome = self._outcome(events)
        joined = events.join(outcome, ARRIVAL, "left")
        found = {column: f"if(f{at} IS NOT NULL, f{at}.v, {name(column)})" for at, column in enumerate(self._lacking)}
        still = ", ".join(
            f"if(f{at} IS NULL AND array_contains({LACKS}, {text(column)}), {text(column)}, NULL)"
            for at, column in enumerate(self._lacking)
        )
        found[LACKS] = f"if(size(array_compact(array({still}))) = 0, NULL, array_compact(array({still})))"
        lost = ", ".join(f"if(u{at}, {text(column)}, NULL)" for at, column in enumerate(self._lacking))
        rows = [f"{found.get(one, name(one))} AS {name(one)}" for one in events.columns]
        return joined.selectExpr(*rows, f"nullif(concat_ws(', ', {lost}), '') AS __unresolved")

    def _outcome(self, events: DataFrame) -> DataFrame:
        """For each event that lacks values: the value of each column that was found, and whether there is none."""
        F = functions(events)
        keyed = self._keyed(events)
        marked = keyed.where(f"{LACKS} IS NOT NULL AND {KIND} = '{UPSERT}'")
        # A repeated delete is the same delete; two keys that are left at one position do not show which is this row's.
        left = keyed.where(f"{KIND} = '{DELETE}'").groupBy("p").agg(F.min("k").alias("lo"), F.max("k").alias("hi"))
        origin = "coalesce(o, if(lo = hi AND lo <> k, lo, NULL))"
        marked = marked.join(left, "p", "left").selectExpr(ARRIVAL, "k", "p", LACKS, f"{origin} AS o")
        probes = marked.selectExpr("k", "p", f"{ARRIVAL} AS id", LACKS, "o IS NOT NULL AS moved", "true AS own")
        origins = marked.where("o IS NOT NULL")
        probes = probes.unionByName(
            origins.selectExpr("o AS k", "p", f"{ARRIVAL} AS id", LACKS, "true AS moved", "false AS own")
        )
        own, old = marked.select("k").distinct(), origins.selectExpr("o AS k").distinct()
        versions = self._versions(keyed.where(f"{KIND} IN ('{UPSERT}', '{DELETE}')"))
        if old.limit(1).collect():
            versions = versions.unionByName(self._stored(keyed, old, values=True))
            own = own.join(old, "k", "left_anti")
        versions = versions.unionByName(self._stored(keyed, own, values=False))
        nothing = [f"cast(NULL AS {type_text(versions.schema[f'v{at}'].dataType)}) AS v{at}" for at in self._at]
        points = probes.selectExpr("k", "p", "0 AS f", *nothing, "false AS whole", "id", LACKS, "moved", "own")
        rows = versions.selectExpr(
            *("k", "p", "1 AS f", *(f"v{at}" for at in self._at), "whole", "cast(NULL AS bigint) AS id"),
            *(f"cast(NULL AS array<string>) AS {LACKS}", "false AS moved", "false AS own"),
        )
        over = "OVER (PARTITION BY k ORDER BY p, f ROWS BETWEEN"
        seen = rows.unionByName(points).selectExpr(
            *("id", "moved", "own", LACKS),
            *(f"last(v{at}, true) {over} {_FIRST}) AS v{at}" for at in self._at),
            f"coalesce(max(whole) {over} {_LAST}), false) AS loses",
        )
        seen = seen.where("id IS NOT NULL")
        results = []
        for at, column in zip(self._at, self._lacking):
            is_lacking = f"array_contains({LACKS}, {text(column)})"
            is_there = f"coalesce(v{at}.there, false)"
            value = f"if(moved AND NOT own AND {is_lacking} AND {is_there}, v{at}, NULL)"
            results.append(F.expr(f"first({value}, true)").alias(f"f{at}"))
            is_known = f"({is_there} AND own <> moved) OR (own AND loses)"
            results.append(F.expr(f"max({is_lacking}) AND NOT max({is_known})").alias(f"u{at}"))
        return seen.groupBy(F.col("id").alias(ARRIVAL)).agg(*results)

    @property
    def _at(self) -> range:
        return range(len(self._lacking))

    def _keyed(self, events: DataFrame) -> DataFrame:
        """The events with their key, their position and their old key as structs."""
        keys, order = self._target.keys, self._target.ordering
        key, position = (_struct([quoted(field) for field in fields]) for fields in (keys, order))
        old = "NULL"
        if isinstance(events.schema[OLD].dataType, T.StructType):
            old = f"if({OLD} IS NULL, NULL, {_struct([f'{OLD}.{name(field)}' for field in keys])})"
        read = events.selectExpr("*", f"{key} AS k", f"{position} AS p")
        return read.selectExpr("*", f"cast({old} AS {type_text(read.schema['k'].dataType)}) AS o")

    def _versions(self, keyed: DataFrame) -> DataFrame:
        """The versions of rows in the batch: a value where it is there, and none after a delete."""
        own, gone = [], []
        for at, column in zip(self._at, self._lacking):
            kind = type_text(keyed.schema[column].dataType)
            nothing = f"named_struct('v', cast(NULL AS {kind}), 'there', false)"
            value = f"named_struct('v', {name(column)}, 'there', true)"
            lacks = f"coalesce(array_contains({LACKS}, {text(column)}), false)"
            own.append(f"CASE WHEN {KIND} = '{DELETE}' THEN {nothing} WHEN NOT {lacks} THEN {value} END AS v{at}")
            gone.append(f"{nothing} AS v{at}")
        rows = keyed.selectExpr("k", "p", *own, f"{KIND} = '{DELETE}' OR {LACKS} IS NULL AS whole")
        moved = keyed.where("o IS NOT NULL").selectExpr("o AS k", "p", *gone, "true AS whole")
        return rows.unionByName(moved)

    def _stored(self, keyed: DataFrame, keys: DataFrame, *, values: bool) -> DataFrame:
        """The stored rows of some keys, with the values of the columns or only with the note that they are there."""
        key, order = self._target.keys, self._target.ordering
        rows = self._table.df()
        near = keys.limit(_LITERALS + 1).collect()
        if len(near) <= _LITERALS:
            for at, field in enumerate(key):
                if "." not in field:
                    rows = rows.where(functions(rows).col(name(field)).isin([row["k"][at] for row in near]))
        columns = []
        for at, column in zip(self._at, self._lacking):
            stored = field_of(rows.schema, column) if values else None
            kind = type_text(keyed.schema[column].dataType)
            value = f"cast({'NULL' if stored is None else name(stored)} AS {kind})"
            columns.append(f"named_struct('v', {value}, 'there', true) AS v{at}")
        types = {one: type_text(keyed.schema[one].dataType) for one in ("k", "p")}
        rows = rows.selectExpr(
            f"cast({_struct([quoted(field) for field in key])} AS {types['k']}) AS k",
            f"cast({_struct([quoted(field) for field in order])} AS {types['p']}) AS p",
            *(*columns, "true AS whole"),
        )
        return rows.join(keys, "k", "left_semi")


def _leaf(frame: DataFrame, persisted: ExitStack) -> DataFrame:
    """The rows of a frame, without the plan that made them: the plans here name them many times.

    Spark Connect has this as of 4.0; before, plans take longer to make.
    """
    try:
        return frame.localCheckpoint()
    except NotImplementedError:
        frame = frame.persist()
        persisted.callback(frame.unpersist)
        return frame


def _struct(values: list[str]) -> str:
    return "named_struct(" + ", ".join(f"'c{at}', {value}" for at, value in enumerate(values)) + ")"
