# Guarantee (Python): Values, names of columns and folders, options and rules that a program gives are never parsed as
#   SQL, and no variable is substituted in them, under every setting of the parser, also over Connect.
"""Columns, values and names of a program in statements: none of them is read as SQL, whatever the session's settings.

test_connect.py runs these over Spark Connect.
"""

from __future__ import annotations

import functools
import json
import operator
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

import merganser
from merganser import Table
from merganser._expressions import literal, quoted

pytestmark = pytest.mark.e2e

#: What settings of the parser, and the parser itself, give a meaning.
PIECES = [
    "'", '"', "`", "\\", "\\'", "''", "$", "${", "}", "${env:HOME}", "${spark.app.name}", "${x}", "{source}", "{", "--",
    "/*", "*/", "?", ":name", ":", ";", "\n", "\r\n", "\t", "\0", "%", "_", "\\u0041", "\\n", "\\0", "\\Z", "\\%", "r'",
    "X'", "a", "Z", "0", " ", "é", "ß", "漢", "🚀", "e\u0301", "\u2028", "\ufeff", "NULL", "); DROP TABLE t",
]  # fmt: skip

#: Settings of the parser, one at a time and all together.
SETTINGS = {
    "substitute": {"spark.sql.variable.substitute": "true"},
    "no_substitute": {"spark.sql.variable.substitute": "false"},
    "no_escapes": {"spark.sql.parser.escapedStringLiterals": "true"},
    "ansi": {"spark.sql.ansi.enabled": "true"},
    "no_ansi": {"spark.sql.ansi.enabled": "false"},
    "quoted_identifiers": {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"},
    "reserved_words": {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.enforceReservedKeywords": "true"},
    "regular_expressions": {"spark.sql.parser.quotedRegexColumnNames": "true"},
    "legacy": dict.fromkeys(
        (
            *("spark.sql.legacy.setopsPrecedence.enabled", "spark.sql.legacy.exponentLiteralAsDecimal.enabled"),
            *("spark.sql.legacy.interval.enabled", "spark.sql.legacy.parseNullPartitionSpecAsStringLiteral"),
            *("spark.sql.legacy.charVarcharAsString", "spark.sql.legacy.consecutiveStringLiterals.enabled"),
        ),
        "true",
    ),
}
ALL = {
    "spark.sql.variable.substitute": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.ansi.enforceReservedKeywords": "true",
}
SETTINGS["all"] = ALL

#: Values with literals of their own.
TYPED = [
    None, True, 7, -1, 2**40, -(2**63), Decimal(2**63), 1.5, -1e-7, 1e300, Decimal("1.50"), bytearray(b"\x01'"),
    date(2026, 1, 31), timedelta(days=-1, microseconds=5), [1, None],
]  # fmt: skip

#: Names of columns that are words of the grammar, some of them reserved under settings, or have other letters.
WORDS = ["select", "user", "order", "end", "from", "interval", "t", "s", "é", "漢"]

HOME = "${env:HOME}"
"""Text in which Spark substitutes a variable of the environment."""


def random_strings(count: int = 2000) -> list[str]:
    """Different strings of these pieces."""
    draw = random.Random(int(os.environ.get("MERGANSER_SEED", "0")))
    found = dict.fromkeys(PIECES)
    while len(found) < count:
        found["".join(draw.choices(PIECES, k=draw.randint(1, 8)))] = None
    return list(found)[:count]


def random_names(count: int) -> list[str]:
    """Different names of these pieces, which differ by more than case."""
    names: dict[str, str] = {}
    for name in [*WORDS, "a.b", "1", *random_strings(count + 100)]:
        if name.strip():
            names.setdefault(name.lower(), name)
    return list(names.values())[:count]


@contextmanager
def set_to(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)


@pytest.fixture
def notes(spark: SparkSession, tmp_path: Path) -> Table:
    return Table.create(spark, str(tmp_path / "notes"), "id int, v string", record_key="id")


def values(table: Table) -> dict[int, str]:
    return {row["id"]: row["v"] for row in table.df().collect()}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_a_string_literal_is_parsed_as_the_same_string_under_every_parser_setting(
    spark: SparkSession, settings: dict[str, str]
) -> None:
    strings = random_strings()
    with set_to(spark, settings):
        (row,) = spark.sql(f"SELECT {literal(strings)} AS v").collect()
        (typed,) = spark.sql(f"SELECT {', '.join(map(literal, TYPED))}").collect()
    assert row["v"] == strings
    assert list(typed) == TYPED


@pytest.mark.parametrize("settings", [{}, ALL], ids=["defaults", "all"])
def test_update_merge_and_delete_take_column_strings_unchanged(
    spark: SparkSession, notes: Table, settings: dict[str, str]
) -> None:
    strings = random_strings()
    stored = F.element_at(F.array(*map(F.lit, strings)), F.col("id"))
    arriving = F.element_at(F.array(*map(F.lit, strings)), F.col("s.id"))
    size = len(strings)
    half = size // 2
    with set_to(spark, settings):
        notes.insert(spark.range(1, half + 1).selectExpr("cast(id AS int) AS id", "'' AS v"))
        notes.update({"v": stored})
        source = spark.range(1, size + 1).selectExpr("cast(id AS int) AS id")
        merge = notes.merge(source).when_not_matched_insert({"id": F.col("s.id"), "v": arriving}, arriving != "no")
        assert merge.dry_run(rows=0).inserted == merge.execute().inserted == size - half
        assert values(notes) == dict(enumerate(strings, start=1))
        kept = strings[::2]
        assert notes.delete(where=~F.col("v").isin(*kept)).deleted == size - len(kept)
        assert sorted(values(notes).values()) == sorted(kept)


@pytest.mark.parametrize("settings", [{}, ALL], ids=["defaults", "all"])
def test_the_shown_sql_of_a_merge_stores_its_columns_strings(
    spark: SparkSession, notes: Table, settings: dict[str, str]
) -> None:
    strings = random_strings(200)
    source = spark.range(1, len(strings) + 1).selectExpr("cast(id AS int) AS id")
    text = F.element_at(F.array(*map(F.lit, strings)), F.col("s.id"))
    merge = notes.merge(source).when_not_matched_insert({"id": "s.id", "v": text})
    with set_to(spark, settings):
        spark.sql(merge.sql(), source=source).collect()
    assert values(notes) == dict(enumerate(strings, start=1))


def test_no_variable_is_substituted_in_a_value_or_a_condition(notes: Table) -> None:
    notes.insert([(1, "a"), (2, os.environ["HOME"]), (3, HOME)])
    assert notes.delete(where=F.col("v") == HOME).deleted == 1
    assert notes.update({"v": F.lit(HOME)}, F.col("id") == 1).updated == 1
    assert notes.update({"v": F.lit("it's \\ and ${x}")}, where=F.col("v") == os.environ["HOME"]).updated == 1
    assert values(notes) == {1: HOME, 2: "it's \\ and ${x}"}
    done = notes.update({"v": F.lit("$")}, F.col("v") == HOME, txn=(HOME, 1))
    assert (done.updated, done.is_repetition) == (1, False)


def test_no_variable_is_substituted_in_the_name_of_a_column_or_a_folder(spark: SparkSession, tmp_path: Path) -> None:
    name, path = "${spark.app.name}", str(tmp_path / "${spark.app.name}")
    table = Table.create(spark, path, "id int, v string", record_key="id")
    table.insert([(1, "a"), (2, "b"), (3, "c")])
    assert Table.exists(spark, path)
    assert table.update({"v": F.lit("x")}, F.col("id") == 1).updated == 1
    assert table.update({"v": F.lit("x")}, "id = 2", dry_run=True).updated == 1
    assert table.delete(where="id = 3").deleted == 1
    columns = T.StructType([T.StructField("id", T.IntegerType()), T.StructField(name, T.StringType())])
    source = spark.createDataFrame([(1, "new"), (4, "more")], columns)  # a string of columns is SQL over Connect
    merge = table.merge(source).when_matched_update({"v": F.concat(F.col(f"s.`{name}`"), F.lit("!"))})
    merge = merge.when_not_matched_insert({"id": "s.id", "v": F.col(f"s.`{name}`")})
    assert merge.dry_run().inserted == 1
    assert merge.execute().inserted == 1
    taken = table.merge(source.withColumn("v", F.lit("taken")), on=["id"]).when_matched_update(except_="id")
    assert taken.execute().updated == 2
    renamed = table.merge(source.withColumnRenamed("id", "${x}"), on=F.col("t.id") == F.col("s.`${x}`"))
    assert renamed.when_matched_delete(F.col(f"s.`{name}`") == "more").execute().deleted == 1
    assert values(table) == {1: "taken", 2: "b"}


def test_a_named_table_is_created_with_the_given_properties_columns_and_folder(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, rule = tmp_path / "it's$x", {"v": "expr('concat(old.v, ''${x}'', new.v)')"}
    table = Table.create_named(
        spark, "program_values", "id int NOT NULL, v string, s struct<n: int>", path=path, record_key="id", rule=rule
    )
    try:
        assert (path / ".hoodie").is_dir()
        assert table.schema.simpleString() == "struct<id:int,v:string,s:struct<n:int>>"
        assert not table.schema["id"].nullable
        table.upsert([(1, "a", None)])
        table.upsert([(1, "b", None)])
        assert values(table) == {1: "a${x}b"}
    finally:
        spark.sql("DROP TABLE program_values")


def test_keys_and_rules_keep_quotes_backslashes_and_variables(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create(spark, str(tmp_path / "keys"), "k string, v int", record_key="k")
    keys = [HOME, "it's", "\\", "${x}"]
    table.upsert([(key, at) for at, key in enumerate(keys)])
    for key in keys:
        assert len(table.inspect.explain({"k": key}).versions) == 1
    assert table.inspect.explain_df({"k": HOME}).count() == 1
    rows = spark.createDataFrame([("a", "1"), ("a", "2")], "k string, v string")
    rule = {"v": merganser.rule(lambda old, new: {"v": merganser.rules.concat(old.v, HOME + "\\'", new.v)})["v"]}
    with set_to(spark, {"spark.sql.parser.escapedStringLiterals": "true"}):
        assert [row["v"] for row in merganser.combine(rows, "k", rule).collect()] == ["1" + HOME + "\\'2"]


@pytest.mark.extensive
def test_strings_are_stored_and_matched_unchanged_under_each_parser_setting(spark: SparkSession, notes: Table) -> None:
    notes.insert(spark.range(1, 2001).selectExpr("cast(id AS int) AS id", "'' AS v"))
    for number, settings in enumerate(SETTINGS.values()):
        strings = random_strings()
        strings = strings[number:] + strings[:number]
        with set_to(spark, settings):
            assert notes.update({"v": F.element_at(F.array(*map(F.lit, strings)), F.col("id"))}).updated == 2000
            assert values(notes) == dict(enumerate(strings, start=1)), settings
            assert notes.delete(where=~F.col("v").isin(*strings), dry_run=True).deleted == 0


@pytest.mark.parametrize("settings", [{}, ALL], ids=["defaults", "all"])
def test_columns_of_any_name_are_merged_and_columns_named_like_keywords_are_stored(
    spark: SparkSession, tmp_path: Path, settings: dict[str, str]
) -> None:
    key, *others = WORDS
    table = Table.create(
        spark,
        str(tmp_path / "t"),
        T.StructType([T.StructField(word, T.StringType()) for word in WORDS]),
        record_key=key,
        partition_by=others[0],
    )
    names = random_names(60)
    source_key, value = names[0], F.concat(*(F.col(f"from.{quoted(name)}") for name in names[1:]))
    fields = [T.StructField(name, T.StringType()) for name in names]
    source = spark.createDataFrame([("a", *names[1:]), ("c", *names[1:])], T.StructType(fields))
    with set_to(spark, settings):
        table.insert([(row, *others) for row in ("a", "b")])
        assert table.update({word: F.lit(word * 2) for word in others[1:]}, F.col(key) == "b").updated == 1
        every = functools.reduce(operator.and_, (F.col(word) == word * 2 for word in others[1:]))
        assert table.delete(where=every, dry_run=True).deleted == 1
        merge = table.merge(
            source, on=F.col(f"select.{key}") == F.col(f"from.{quoted(source_key)}"), source_alias="from",
            target_alias="select",
        )  # fmt: skip
        merge = merge.when_matched_update({others[1]: value})
        merge = merge.when_not_matched_insert(
            {key: F.col(f"from.{quoted(source_key)}"), others[0]: F.lit("x"), others[1]: value}
        )
        assert merge.dry_run(rows=0).inserted == 1
        done = merge.execute()
        assert (done.inserted, done.updated) == (1, 1)
        arriving = spark.createDataFrame([("b", *others)], table.schema)
        assert table.merge(arriving, on=[key]).when_matched_update(except_=others[:2]).execute().updated == 1
        joined = "".join(names[1:])
        twice = [word * 2 for word in others]
        stored = {row[key]: [row[word] for word in others] for row in table.df().collect()}
        assert stored == {
            "a": [others[0], joined, *others[2:]],
            "b": [others[0], twice[1], *others[2:]],
            "c": ["x", joined, *[None] * (len(others) - 2)],
        }
        assert table.delete(["a", "b", "c"]).deleted == 3


def test_keys_of_any_characters_are_written_found_and_deleted(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create(spark, str(tmp_path / "t"), "k string, v int", record_key="k")
    strings = random_strings()
    with set_to(spark, ALL):
        table.upsert([(key, at) for at, key in enumerate(strings)])
        assert table.delete(strings[::2]).deleted == 1000
        assert {row["k"] for row in table.df().collect()} == set(strings[1::2])
        for key in strings[1:20:2]:
            assert table.inspect.explain((key,)).versions
        assert table.call("explain_record", key=strings[1]).count() > 0


def test_a_rule_keeps_the_strings_of_the_program(spark: SparkSession) -> None:
    parts = ["".join(random_strings()), *random_strings(50)]
    rows = spark.createDataFrame([("a", ""), ("a", "")], "k string, v string")
    rule = {"v": merganser.rule(lambda old, new: {"v": merganser.rules.concat(old.v, *parts, new.v)})["v"]}
    for settings in ({}, ALL):
        with set_to(spark, settings):
            assert [row["v"] for row in merganser.combine(rows, "k", rule).collect()] == ["".join(parts)]


@pytest.mark.parametrize("settings", [{}, ALL], ids=["defaults", "all"])
def test_a_folder_of_any_name_holds_a_table(spark: SparkSession, tmp_path: Path, settings: dict[str, str]) -> None:
    pieces = [one for one in PIECES if not set(one) & set("/\0")]
    for at in range(0, len(pieces), 12):
        folder = tmp_path / ("x" + "y".join(pieces[at : at + 12]) + "z")
        with set_to(spark, settings):
            table = Table.create(spark, folder, "id int, v string", record_key="id")
            table.insert([(1, "a"), (2, "b")])
            assert (folder / ".hoodie").is_dir()
            assert table.update({"v": F.lit("c")}, F.col("id") == 1).updated == 1
            assert table.delete(where="id = 2").deleted == 1
            assert values(Table.load(spark, folder)) == {1: "c"}
            assert table.call("show_commits").count() == 3


def test_events_with_any_strings_and_keyword_columns_are_applied(spark: SparkSession, tmp_path: Path) -> None:
    strings, tables = random_strings(), ["it's ${x} \\", "other"]
    rows = [{"id": at, WORDS[0]: one} for at, one in enumerate(strings)]
    rows.append({"id": -1, **{word: word for word in WORDS}})
    values = [
        json.dumps({"op": "c", "after": row, "source": {"lsn": 1, "table": table}}) for table in tables for row in rows
    ]
    events = spark.createDataFrame([(value,) for value in values], "value string")
    with set_to(spark, ALL):
        given: dict[str, Any] = {"preset": "debezium_postgres", "keys": "id"}
        table = Table.create_for_changes(spark, str(tmp_path / "t"), events, **given)
        done = table.apply_changes(events, **given, source_table=tables[0])
        assert (done.inserted, done.skipped["other_table"]) == (len(rows), len(rows))
        stored = table.df().select("id", *map(quoted, WORDS)).orderBy("id").collect()
        assert list(stored[0])[1:] == WORDS
        assert [row[1] for row in stored[1:]] == strings
        odd = spark.createDataFrame([(values[0].replace('"id": ', '"${x}": 7, "id": '),)], "value string")
        with pytest.raises(merganser.MerganserError, match=r"Cannot store column '\$\{x\}'"):
            table.apply_changes(odd, **given, source_table=tables[0])
