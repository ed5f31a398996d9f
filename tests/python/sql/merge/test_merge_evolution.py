"""MERGE that changes the columns of the table: WITH SCHEMA EVOLUTION where Spark parses it, an option elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from row_level import INSERT_ALL, LINE, UPDATE_ALL, fails_unchanged, merge, plain, values
from sql_steps import Sql, each_kind

pytestmark = pytest.mark.e2e

OPTION = "spark.merganser.sql.schemaEvolution"
COLUMNS = "id int, n int, dep string"
ROWS = ["(1, 100, 'hr')", "(2, 200, 'eng')"]


@pytest.fixture(params=["option"] if LINE < (4, 0) else ["option", "clause"])
def evolving(sql: Sql, request: pytest.FixtureRequest) -> Iterator[str]:
    """What stands in front of INTO, where MERGE may change the table's columns."""
    if request.param == "clause":
        yield "MERGE WITH SCHEMA EVOLUTION INTO"
        return
    sql.spark.conf.set(OPTION, "true")
    yield "MERGE INTO"
    sql.spark.conf.unset(OPTION)


def types(sql: Sql, table: str) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in sql.spark.table(table).schema}


def evolve(evolving: str, table: str, source: str, *clauses: str, on: str = "t.id = s.id") -> str:
    return merge(table, source, *clauses, on=on).replace("MERGE INTO", evolving, 1)


@each_kind
def test_merge_without_evolution_ignores_additional_columns_of_the_source(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, COLUMNS, *ROWS)
    source = values("id, n, dep, active", "(2, 201, 'new', true)", "(3, 301, 'new', false)")
    sql.run(merge(table, source, UPDATE_ALL, INSERT_ALL))
    assert sql.rows(table) == [(1, 100, "hr"), (2, 201, "new"), (3, 301, "new")]
    assert list(types(sql, table)) == ["id", "n", "dep"]
    fails_unchanged(sql, table, merge(table, source, "WHEN MATCHED THEN UPDATE SET active = s.active"), "`active`")
    inserting = "WHEN NOT MATCHED THEN INSERT (id, active) VALUES (s.id, s.active)"
    fails_unchanged(sql, table, merge(table, source, inserting), "`active`")
    wide = values("id, n, dep", "(2, 3000000000L, 'x')")
    fails_unchanged(sql, table, merge(table, wide, UPDATE_ALL), "overflow")
    nested = plain(sql, kind, "id int, s struct<a: int>")
    more = "(SELECT 1 AS id, named_struct('a', 1, 'b', 2) AS s) s"
    for clause in [UPDATE_ALL, INSERT_ALL, "WHEN MATCHED THEN UPDATE SET t.s = s.s"]:
        fails_unchanged(sql, nested, merge(nested, more, clause), "`b`")


@each_kind
def test_stars_add_additional_columns_of_the_source(sql: Sql, kind: str, evolving: str) -> None:
    table = plain(sql, kind, COLUMNS, *ROWS)
    source = values("id, active, n, dep, more", "(2, true, 201, 'new', 1)", "(3, false, 301, 'new', 2)")
    fresh = values("id, n, dep, active", "(9, 901, 'x', true)")
    empty = plain(sql, kind, COLUMNS)
    sql.run(evolve(evolving, empty, fresh, INSERT_ALL))
    assert sql.rows(empty) == [(9, 901, "x", True)]
    sql.run(evolve(evolving, table, source, UPDATE_ALL, INSERT_ALL))
    assert types(sql, table) == {"id": "int", "n": "int", "dep": "string", "active": "boolean", "more": "int"}
    assert sql.rows(table, "id, n, dep, active, more") == [
        (1, 100, "hr", None, None),
        (2, 201, "new", True, 1),
        (3, 301, "new", False, 2),
    ]


@each_kind
def test_stars_keep_columns_that_the_source_lacks_and_insert_nulls(sql: Sql, kind: str, evolving: str) -> None:
    table = plain(sql, kind, COLUMNS, *ROWS)
    source = values("id, n, active", "(2, 201, true)", "(3, 301, false)")
    sql.run(evolve(evolving, table, source, UPDATE_ALL, INSERT_ALL))
    assert sql.rows(table, "id, n, dep, active") == [
        (1, 100, "hr", None),
        (2, 201, "eng", True),
        (3, 301, None, False),
    ]


@each_kind
def test_only_columns_assigned_directly_from_the_source_are_added(sql: Sql, kind: str, evolving: str) -> None:
    table = plain(sql, kind, COLUMNS, *ROWS)
    source = values("id, n, dep, active, more", "(2, 201, 'new', true, 1)", "(3, 301, 'new', false, 2)")
    nothing = "WHEN MATCHED THEN UPDATE SET n = s.more"
    sql.run(evolve(evolving, table, source, nothing, "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"))
    sql.run(evolve(evolving, table, source, "WHEN MATCHED AND s.active THEN DELETE"))
    assert sql.rows(table) == [(1, 100, "hr"), (3, 301, None)]
    assert list(types(sql, table)) == ["id", "n", "dep"]
    for assigned in ["more = s.more + 1", "other = s.more"]:
        word = assigned.split()[0]
        fails_unchanged(sql, table, evolve(evolving, table, source, f"WHEN MATCHED THEN UPDATE SET {assigned}"), word)
    updating = "WHEN MATCHED THEN UPDATE SET dep = 'up', active = s.active"
    inserting = "WHEN NOT MATCHED AND s.active THEN INSERT (id, n, dep, active) VALUES (s.id, 0, s.dep, s.active)"
    sql.run(evolve(evolving, table, source, updating, inserting))
    assert types(sql, table) == {"id": "int", "n": "int", "dep": "string", "active": "boolean"}
    assert sql.rows(table) == [(1, 100, "hr", None), (2, 0, "new", True), (3, 301, "up", False)]


@each_kind
def test_wider_types_of_the_source_are_adopted_and_other_types_refused(sql: Sql, kind: str, evolving: str) -> None:
    columns = "id int, n int, x float, s struct<a: int, b: string>, l array<int>, m map<string, int>"
    row = "(1, 100, 1.5, named_struct('a', 1, 'b', 'x'), array(1), map('k', 1))"
    table = plain(sql, kind, columns, row)
    unused = values("id, n, dep", "(1, 3000000000L, 'x')")
    sql.run(evolve(evolving, table, unused, "WHEN MATCHED THEN UPDATE SET x = 2.5"))
    assert types(sql, table)["n"] == "int"
    big = "3000000000L"
    source = (
        f"(SELECT 2 AS id, {big} AS n, 2.5D AS x, named_struct('a', {big}, 'b', 'y') AS s, array({big}) AS l, "
        f"map('k', {big}) AS m, 'more' AS dep) s"
    )
    sql.run(evolve(evolving, table, source, UPDATE_ALL, INSERT_ALL))
    found = types(sql, table)
    assert found["n"] == "bigint"
    assert found["x"] == "double"
    assert found["s"] == "struct<a:bigint,b:string>"
    assert found["l"] == "array<bigint>"
    assert found["m"] == "map<string,bigint>"
    assert found["dep"] == "string"
    assert sql.rows(table, "id, n, x, s, l, m, dep") == [
        (1, 100, 2.5, (1, "x"), [1], {"k": 1}, None),
        (2, 3000000000, 2.5, (3000000000, "y"), [3000000000], {"k": 3000000000}, "more"),
    ]
    wrong = "(SELECT 1 AS id, named_struct('a', 1) AS n) s"
    fails_unchanged(sql, table, evolve(evolving, table, wrong, "WHEN MATCHED THEN UPDATE SET n = s.n"), "n")


@each_kind
def test_additional_fields_of_the_source_are_added_inside_structs_arrays_and_maps(
    sql: Sql, kind: str, evolving: str
) -> None:
    field = "struct<a: int, d: struct<e: int>>"
    columns = f"id int, s {field}, l array<struct<a: int>>, m map<string, struct<a: int>>"
    old = "named_struct('a', 1, 'd', named_struct('e', 1))"
    small = "named_struct('a', 1)"
    table = plain(sql, kind, columns, f"(1, {old}, array({small}), map('k', {small}))", "(3, NULL, NULL, NULL)")
    new = "named_struct('a', 2, 'd', named_struct('e', 2, 'f', 'new'))"
    some = "named_struct('a', 2, 'b', true)"
    source = f"(SELECT 2 AS id, {new} AS s, array({some}) AS l, map('k', {some}) AS m) s"
    sql.run(evolve(evolving, table, source, UPDATE_ALL, INSERT_ALL))
    assert types(sql, table)["s"] == "struct<a:int,d:struct<e:int,f:string>>"
    assert sql.rows(table) == [
        (1, (1, (1, None)), [(1, None)], {"k": (1, None)}),
        (2, (2, (2, "new")), [(2, True)], {"k": (2, True)}),
        (3, None, None, None),
    ]


@each_kind
def test_only_fields_of_a_struct_assigned_directly_from_the_source_are_added(
    sql: Sql, kind: str, evolving: str
) -> None:
    table = plain(sql, kind, "id int, s struct<a: int, d: struct<e: int>>", "(1, NULL)", "(2, NULL)")
    struct = "named_struct('a', 2, 'd', named_struct('e', 2, 'f', 'up'))"
    source = f"(SELECT 1 AS id, {struct} AS s) s"
    sql.run(evolve(evolving, table, source, "WHEN MATCHED THEN UPDATE SET t.s.a = s.s.a"))
    assert types(sql, table)["s"] == "struct<a:int,d:struct<e:int>>"
    sql.run(evolve(evolving, table, source, "WHEN MATCHED THEN UPDATE SET t.s = s.s"))
    assert types(sql, table)["s"] == "struct<a:int,d:struct<e:int,f:string>>"
    assert sql.rows(table) == [(1, (2, (2, "up"))), (2, None)]


@each_kind
def test_null_structs_stay_null_and_structs_of_nulls_stay_structs(sql: Sql, kind: str) -> None:
    columns = "id int, s struct<a: int, d: struct<e: int, f: string>>"
    nulls = "named_struct('a', CAST(NULL AS int), 'd', named_struct('e', CAST(NULL AS int), 'f', CAST(NULL AS string)))"
    inner = "named_struct('a', 1, 'd', CAST(NULL AS struct<e: int, f: string>))"
    table = plain(sql, kind, columns, f"(1, {nulls})", "(2, NULL)", f"(3, {inner})", "(4, NULL)")
    none = "CAST(NULL AS struct<a: int, d: struct<e: int, f: string>>)"
    source = f"(SELECT * FROM VALUES (1, {none}), (2, {nulls}), (3, {none}), (5, {inner}) AS rows(id, s)) s"
    sql.run(merge(table, source, UPDATE_ALL, INSERT_ALL))
    assert sql.rows(table) == [(1, None), (2, (None, (None, None))), (3, None), (4, None), (5, (1, None))]
    sql.run(merge(table, source.replace(none, inner), "WHEN MATCHED THEN UPDATE SET t.s.d = s.s.d"))
    assert sql.rows(table) == [
        (1, (None, None)),
        (2, (None, (None, None))),
        (3, (None, None)),
        (4, None),
        (5, (1, None)),
    ]


@each_kind
def test_structs_without_a_field_of_the_table_are_refused_by_its_name(sql: Sql, kind: str) -> None:
    table = plain(sql, kind, "id int, s struct<a: int, d: struct<e: int, f: string>>, l array<struct<a: int, b: int>>")
    for assigned, column in [
        ("named_struct('a', 1) AS s, NULL AS l", "`s`.`d`"),
        ("named_struct('a', 1, 'd', named_struct('e', 1)) AS s, NULL AS l", "`s`.`d`.`f`"),
        ("NULL AS s, array(named_struct('a', 1)) AS l", "`b`"),
    ]:
        source = f"(SELECT 1 AS id, {assigned}) s"
        fails_unchanged(sql, table, merge(table, source, INSERT_ALL), column)
        fails_unchanged(sql, table, merge(table, source, UPDATE_ALL), column)
