"""Columns, values and names of a program in statements: none of them is read as SQL, whatever the session's settings.

test_connect.py runs these over Spark Connect.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

import merganser
from merganser import Table
from merganser._expressions import literal

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
}
ALL = {
    "spark.sql.variable.substitute": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
}
SETTINGS["all"] = ALL

HOME = "${env:HOME}"
"""Text in which Spark substitutes a variable of the environment."""


def random_strings(count: int = 2000) -> list[str]:
    """Different strings of these pieces."""
    draw = random.Random(int(os.environ.get("MERGANSER_SEED", "0")))
    found = dict.fromkeys(PIECES)
    while len(found) < count:
        found["".join(draw.choices(PIECES, k=draw.randint(1, 8)))] = None
    return list(found)[:count]


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
def test_the_text_of_a_string_is_read_as_the_same_string_under_every_setting_of_the_parser(
    spark: SparkSession, settings: dict[str, str]
) -> None:
    strings = random_strings()
    with set_to(spark, settings):
        (row,) = spark.sql(f"SELECT {literal(strings)} AS v").collect()
    assert row["v"] == strings


@pytest.mark.parametrize("settings", [{}, ALL], ids=["defaults", "all"])
def test_strings_of_columns_reach_update_merge_and_delete_as_they_are(
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
def test_a_shown_merge_runs_with_the_strings_of_its_columns(
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


def test_a_table_with_a_name_has_the_properties_the_columns_and_the_folder_that_it_is_given(
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


def test_keys_options_and_rules_are_given_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    table = Table.create(spark, str(tmp_path / "keys"), "k string, v int", record_key="k")
    keys = [HOME, "it's", "\\", "${x}"]
    table.upsert([(key, at) for at, key in enumerate(keys)])
    for key in keys:
        assert len(table.explain_record({"k": key}).versions) == 1
    assert table.explain_record_df({"k": HOME}).count() == 1
    rows = spark.createDataFrame([("a", "1"), ("a", "2")], "k string, v string")
    rule = {"v": merganser.rule(lambda old, new: {"v": merganser.rules.concat(old.v, HOME + "\\'", new.v)})["v"]}
    with set_to(spark, {"spark.sql.parser.escapedStringLiterals": "true"}):
        assert [row["v"] for row in merganser.combine(rows, "k", rule).collect()] == ["1" + HOME + "\\'2"]
