"""Every merge rule that a table can store, as the options that configure it and as what it must do."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

from fold import Row, Rule
from option_names import ORDERING
from random_rules import RandomRule

MODE = "hoodie.write.record.merge.mode"
PAYLOAD = "hoodie.datasource.write.payload.class"
VERSION = "hoodie.write.table.version"
MODELS = "org.apache.hudi.common.model."

UNAVAILABLE = "__debezium_unavailable_value"


def lowest_null(*values: Any) -> tuple[Any, ...]:
    """Null is the smallest value of every type; strings compare by their bytes."""
    return tuple((v is not None, v.encode() if isinstance(v, str) else v if v is not None else 0) for v in values)


def is_null(value: Any) -> bool:
    return value is None


def is_unavailable(value: Any) -> bool:
    return value == UNAVAILABLE


def some_ts(rng: random.Random) -> dict[str, Any]:
    return {"ts": None if rng.random() < 0.1 else rng.randint(-2, 4)}


def by_ts(row: Row) -> tuple[Any, ...]:
    return lowest_null(row["ts"])


def payload(name: str, version: int | None = None) -> dict[str, str]:
    return {PAYLOAD: MODELS + name, **({} if version is None else {VERSION: str(version)})}


def two_fields() -> Rule:
    def change(rng: random.Random) -> dict[str, Any]:
        return {**some_ts(rng), "seq": None if rng.random() < 0.1 else rng.choice(["10", "9", "B", "b", "é"])}

    return Rule(
        "event time by two fields",
        {ORDERING: "ts,seq"},
        "ts int, seq string",
        change,
        lambda row: lowest_null(row["ts"], row["seq"]),
    )


def simple(name: str, settings: dict[str, str], **how: Any) -> Rule:
    """A rule over a table with one ordering field `ts`."""
    return Rule(name, {ORDERING: "ts", **settings}, "ts bigint", some_ts, by_ts, **how)


def dms(name: str, settings: dict[str, str], deletes: set[str], **how: Any) -> Rule:
    def change(rng: random.Random) -> dict[str, Any]:
        return {**some_ts(rng), "Op": rng.choice(["I", "U", "D", "d", None])}

    return Rule(
        name,
        {ORDERING: "ts", **settings},
        "ts bigint, Op string",
        change,
        by_ts,
        by_event=False,
        marks=lambda row: row["Op"] in deletes,
        **how,
    )


def debezium(
    name: str,
    settings: dict[str, str],
    columns: str,
    change: Callable[[random.Random], dict[str, Any]],
    order: Callable[[Row], tuple[Any, ...]],
    **how: Any,
) -> Rule:
    def with_operation(rng: random.Random) -> dict[str, Any]:
        return {**change(rng), "_change_operation_type": rng.choice(["c", "u", "u", "d"])}

    return Rule(
        name,
        settings,
        f"{columns}, _change_operation_type string",
        with_operation,
        order,
        marks=lambda row: row["_change_operation_type"] == "d",
        **how,
    )


def some_lsn(rng: random.Random) -> dict[str, Any]:
    return {"_event_lsn": rng.randint(1, 6), "doc": rng.choice([UNAVAILABLE, "a", "b", None])}


def postgres(name: str, settings: dict[str, str], **how: Any) -> Rule:
    return debezium(
        name,
        {ORDERING: "_event_lsn", **settings},
        "_event_lsn bigint, doc string",
        some_lsn,
        lambda row: lowest_null(row["_event_lsn"]),
        keeps=is_unavailable,
        **how,
    )


def mysql(name: str, settings: dict[str, str], version: int) -> Rule:
    def position(rng: random.Random) -> tuple[int, int]:
        return rng.randint(8, 11), rng.randint(8, 11)

    def modern(rng: random.Random) -> dict[str, Any]:
        file, pos = position(rng)
        return {"_event_bin_file": f"bin.{file}", "_event_pos": pos}

    def older(rng: random.Random) -> dict[str, Any]:
        file, pos = position(rng)
        return {"_event_seq": f"{file:06d}.{pos}" if rng.random() < 0.5 else f"{file}.{pos}"}

    if version >= 9:
        return debezium(
            name,
            {ORDERING: "_event_bin_file,_event_pos", **settings},
            "_event_bin_file string, _event_pos bigint",
            modern,
            lambda row: lowest_null(row["_event_bin_file"], row["_event_pos"]),
        )
    return debezium(
        name,
        {ORDERING: "_event_seq", **settings},
        "_event_seq string",
        older,
        lambda row: tuple(int(part) for part in row["_event_seq"].split(".")),
        batch="greatest",
    )


def of_version(version: int) -> list[Rule]:
    """The classic payload classes on tables where they run by their own rules."""
    v = f"version {version}"
    return [
        simple(f"OverwriteWithLatest, {v}", payload("OverwriteWithLatestAvroPayload", version), by_event=False,
               batch="greatest"),
        simple(f"Default, {v}", payload("DefaultHoodieRecordPayload", version), batch="greatest"),
        simple(f"EventTime, {v}", payload("EventTimeAvroPayload", version), batch="greatest"),
        simple(f"OverwriteNonDefaults, {v}", payload("OverwriteNonDefaultsWithLatestAvroPayload", version),
               by_event=False, batch="greatest", keeps=is_null),
        simple(f"PartialUpdate, {v}", payload("PartialUpdateAvroPayload", version), batch="columns", keeps=is_null,
               deletes_win=True),
        dms(f"AWSDms, {v}", payload("AWSDmsAvroPayload", version), {"D", "d"}, batch="greatest"),
        mysql(f"MySqlDebezium, {v}", payload("debezium.MySqlDebeziumAvroPayload", version), version),
        postgres(f"PostgresDebezium, {v}", payload("debezium.PostgresDebeziumAvroPayload", version),
                 batch="greatest", fills_late=False),
    ]  # fmt: skip


def coalesced(older: Row, newer: Row) -> Row:
    """What the merger `CoalesceFields` documents."""
    winner, other = (newer, older) if by_ts(newer) >= by_ts(older) else (older, newer)
    return {name: other[name] if value is None else value for name, value in winner.items()}


def some_values(rng: random.Random) -> dict[str, Any]:
    def often(value: Any) -> Any:
        return None if rng.random() < 0.2 else value

    return {
        **some_ts(rng),
        "n": often(rng.randint(1, 9)),
        "low": often(rng.randint(0, 9)),
        "high": often(rng.choice("abcd")),
        "origin": often(rng.choice("abcd")),
        "seen": often(rng.random() < 0.3),
    }


def by_functions(older: Row, newer: Row, late: bool) -> Row:
    """Each column by its function; those without one are the winner's."""

    def merged(name: str, of: Callable[[list[Any]], Any]) -> Any:
        known = [row[name] for row in (older, newer) if row[name] is not None]
        return of(known) if known else None

    return {
        **(older if late else newer),
        "n": merged("n", sum),
        "low": merged("low", min),
        "high": merged("high", max),
        "origin": older["origin"],
        "seen": merged("seen", any),
    }


def some_of_two_streams(rng: random.Random) -> dict[str, Any]:
    row = {**some_values(rng), "lo_at": rng.randint(0, 4), "hi_at": rng.randint(0, 4)}
    return {**row, "lo_at": None, "low": None, "n": None} if rng.random() < 0.3 else row


def by_groups(older: Row, newer: Row, late: bool) -> Row:
    """`low` and `n` go by `lo_at`, `high` by `hi_at`; the others by the table's ordering field."""

    def winner(clock: str) -> Row:
        return older if lowest_null(newer[clock]) < lowest_null(older[clock]) else newer

    lows, highs = winner("lo_at"), winner("hi_at")
    known = [row["n"] for row in (older, newer) if row["n"] is not None]
    return {
        **(older if late else newer),
        "lo_at": lows["lo_at"],
        "low": lows["low"],
        "n": sum(known) if known else None,
        "hi_at": highs["hi_at"],
        "high": highs["high"],
    }


def on_delete_of_groups(older: Row, delete: Row, late: bool) -> Row | None:
    """The row goes with `hi_at`; `low` and `n` are reset by `lo_at`; the table's ordering field removes nothing."""
    if delete["hi_at"] is not None and lowest_null(delete["hi_at"]) >= lowest_null(older["hi_at"]):
        return None
    if delete["lo_at"] is not None and lowest_null(delete["lo_at"]) >= lowest_null(older["lo_at"]):
        return {**older, "low": None, "n": None, "lo_at": delete["lo_at"]}
    return older


def some_deletes_of_two_streams(rng: random.Random) -> dict[str, Any]:
    row = some_of_two_streams(rng)
    return {**row, "hi_at": None} if rng.random() < 0.5 else row


def on_delete_of_row(older: Row, delete: Row, late: bool) -> Row | None:
    """All columns without a role are reset."""
    reset = dict.fromkeys(("v", "w", "n", "low", "high", "origin", "seen"))
    return older if late else {**older, **reset, "ts": delete["ts"]}


def some_retractions(rng: random.Random) -> dict[str, Any]:
    return {**some_ts(rng), "n": rng.randint(1, 9), "op": rng.choice(["+I", "+U", "-U", "before", None])}


def is_retraction(row: Row) -> bool:
    return row["op"] in ("-U", "before")


def with_retractions(older: Row, newer: Row, late: bool) -> Row:
    if is_retraction(newer):
        return {**older, "n": older["n"] - newer["n"]}
    return {**(older if late else newer), "n": older["n"] + newer["n"]}


def retraction_alone(row: Row) -> Row:
    if not is_retraction(row):
        return row
    return {name: value if name == "id" else -value if name == "n" else None for name, value in row.items()}


def by_expressions(older: Row, newer: Row, late: bool) -> Row:
    """`n` is a sum that a flag resets; `high` is of the version with the larger `low`; `origin` has all of them."""

    def larger(a: Any, b: Any) -> Any:
        return b if a is None else a if b is None else max(a, b)

    is_larger = None not in (older["low"], newer["low"]) and newer["low"] > older["low"]
    return {
        **(older if late else newer),
        "n": newer["n"] if newer["seen"] else (older["n"] or 0) + (newer["n"] or 0),
        "low": larger(older["low"], newer["low"]),
        "high": newer["high"] if is_larger else older["high"],
        "origin": "".join(row["origin"] for row in (older, newer) if row["origin"] is not None),
    }


EXPRESSIONS = {
    "n": "if(new.seen, new.n, coalesce(old.n, 0) + coalesce(new.n, 0))",
    "low": "greatest(old.low, new.low)",
    "high": "CASE WHEN new.low > old.low THEN new.high ELSE old.high END",
    "origin": "concat_ws('', old.origin, new.origin)",
}

GROUPS = {
    "column.n": "sum",
    "group.lows.columns": "low,n",
    "group.lows.ordering": "lo_at",
    "group.highs.columns": "high",
    "group.highs.ordering": "hi_at",
}

FUNCTIONS = {"n": "sum", "low": "min", "high": "max", "origin": "first", "seen": "bool_or"}

TRACED = RandomRule(int(os.environ.get("MERGANSER_SEED", "0")))

RULES: list[Rule] = [
    simple("commit time", {MODE: "COMMIT_TIME_ORDERING"}, by_event=False),
    simple("event time", {}),
    two_fields(),
    simple("OverwriteWithLatest", payload("OverwriteWithLatestAvroPayload"), by_event=False, batch="greatest"),
    simple(
        "OverwriteNonDefaults",
        payload("OverwriteNonDefaultsWithLatestAvroPayload"),
        by_event=False,
        batch="greatest",
        keeps=is_null,
    ),
    simple("PartialUpdate", payload("PartialUpdateAvroPayload"), batch="columns", keeps=is_null),
    dms("AWSDms", payload("AWSDmsAvroPayload"), {"D"}),
    mysql("MySqlDebezium", payload("debezium.MySqlDebeziumAvroPayload"), 9),
    postgres("PostgresDebezium", payload("debezium.PostgresDebeziumAvroPayload"), batch="columns"),
    *of_version(8),
    *of_version(6),
    Rule(
        "functions of columns",
        {ORDERING: "ts", **{f"merganser.rule.column.{name}": text for name, text in FUNCTIONS.items()}},
        "ts bigint, n bigint, low int, high string, origin string, seen boolean",
        some_values,
        by_ts,
        by_column=by_functions,
    ),
    Rule(
        "expressions of columns",
        {
            ORDERING: "ts",
            **{
                f"merganser.rule.column.{name}": "expr('" + sql.replace("'", "''") + "')"
                for name, sql in EXPRESSIONS.items()
            },
        },
        "ts bigint, n bigint, low int, high string, origin string, seen boolean",
        some_values,
        by_ts,
        by_column=by_expressions,
    ),
    Rule(
        "a traced rule, drawn at random",
        {ORDERING: "ts", **TRACED.rule.to_options()},
        "ts bigint, n bigint, low int, high string, origin string, seen boolean",
        some_values,
        by_ts,
        by_column=TRACED.by_column,
    ),
    Rule(
        "groups of columns",
        {ORDERING: "ts", **{f"merganser.rule.{name}": text for name, text in GROUPS.items()}},
        "ts bigint, n bigint, low int, lo_at int, high string, hi_at int, origin string, seen boolean",
        some_of_two_streams,
        by_ts,
        by_column=by_groups,
    ),
    Rule(
        "deletes of groups of columns",
        {
            ORDERING: "ts",
            **{f"merganser.rule.{name}": text for name, text in GROUPS.items()},
            "merganser.rule.delete": "ignore",
            "merganser.rule.group.lows.delete": "reset_group",
            "merganser.rule.group.highs.delete": "remove_row",
        },
        "ts bigint, n bigint, low int, lo_at int, high string, hi_at int, origin string, seen boolean",
        some_deletes_of_two_streams,
        by_ts,
        by_column=by_groups,
        on_delete=on_delete_of_groups,
    ),
    Rule(
        "deletes that reset the row",
        {
            ORDERING: "ts",
            **{f"merganser.rule.column.{name}": text for name, text in FUNCTIONS.items()},
            "merganser.rule.delete": "reset_group",
        },
        "ts bigint, n bigint, low int, high string, origin string, seen boolean",
        some_values,
        by_ts,
        by_column=by_functions,
        on_delete=on_delete_of_row,
    ),
    Rule(
        "sums with retractions",
        {
            ORDERING: "ts",
            "merganser.rule.column.n": "sum",
            "merganser.rule.retract.column": "op",
            "merganser.rule.retract.values": "-U,before",
        },
        "ts bigint, n bigint, op string",
        some_retractions,
        by_ts,
        by_column=with_retractions,
        takes_back=is_retraction,
        alone=retraction_alone,
    ),
    simple(
        "a user's merger",
        {
            MODE: "CUSTOM",
            "hoodie.write.record.merge.strategy.id": "32d52b80-9055-481c-be0e-e308b5eb1f34",
            "hoodie.write.record.merge.custom.implementation.classes": "io.merganser.conformance.CoalesceFields",
        },
        by_event=False,
        merge=coalesced,
    ),
]
