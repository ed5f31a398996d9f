"""Corners of MERGE, UPDATE and DELETE: spellings, settings of queries, types that grow, rows that ON leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest
from sql_steps import Sql, each_kind

pytestmark = pytest.mark.e2e


@each_kind
def test_ordered_deletes_of_rows_that_the_source_lacks_apply(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a'), (2, 5, 'b')")
    with sql.settings({"spark.merganser.sql.deletes": "ordered"}):
        sql.run(
            f"MERGE INTO {table} t USING (SELECT 1 id, 1L ts) s ON t.id = s.id WHEN NOT MATCHED BY SOURCE THEN DELETE"
        )
    assert sql.rows(table) == [(1, 5, "a")]


@each_kind
def test_merge_matches_the_key_column_in_another_case(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    source = "(SELECT * FROM VALUES (1, 6L, 'x'), (1, 7L, 'y') AS rows(ID, TS, V)) s"
    merge = f"MERGE INTO {table} t USING {source} ON t.Id = s.id WHEN MATCHED THEN UPDATE SET *"
    assert "no join" in sql.run("EXPLAIN " + merge)[0][0]
    sql.run(merge)
    assert sql.rows(table) == [(1, 7, "y")]


def test_an_update_ignores_the_sessions_query_type(sql: Sql) -> None:
    table = sql.create("mor", "id int, n int", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 1), (2, 1)")
    sql.run(f"UPDATE {table} SET n = 10")
    sql.run(f"DELETE FROM {table} WHERE id = 2")
    with sql.settings({"hoodie.datasource.query.type": "read_optimized"}):
        sql.run(f"UPDATE {table} SET n = n + (SELECT max(n) FROM {table})")
    assert sql.rows(table) == [(1, 20)]


@each_kind
def test_merge_matches_a_key_of_a_wider_type_in_the_source(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (-1, 5, 'a')")
    source = "(SELECT * FROM VALUES (-1L, 6L, 'x'), (7L, 6L, 'y') AS rows(id, ts, v)) s"
    clauses = "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    with sql.settings({"spark.merganser.sql.schemaEvolution": "true"}):
        sql.run(f"MERGE INTO {table} t USING {source} ON t.id = s.id {clauses}")
        sql.run(
            f"MERGE INTO {table} t USING {source} ON t.id + 0 = s.id WHEN MATCHED THEN UPDATE SET v = concat(t.v, '!')"
        )
    assert sql.rows(table) == [(-1, 5, "x!"), (7, 6, "y!")]


@each_kind
@pytest.mark.parametrize("by_source", ["", " WHEN NOT MATCHED BY SOURCE AND t.id < 0 THEN DELETE"])
def test_a_source_row_excluded_by_on_does_not_displace_another(sql: Sql, kind: str, by_source: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    source = "(SELECT * FROM VALUES (1, 6L, 'x', 'u'), (1, 7L, 'y', 'no') AS rows(id, ts, v, kind)) s"
    on = "t.id = s.id AND s.kind = 'u'"
    sql.run(f"MERGE INTO {table} t USING {source} ON {on} WHEN MATCHED THEN UPDATE SET v = s.v, ts = s.ts{by_source}")
    assert sql.rows(table) == [(1, 6, "x")]


@pytest.mark.parametrize("by_source", ["", " WHEN NOT MATCHED BY SOURCE AND t.id < 0 THEN DELETE"])
@pytest.mark.parametrize(
    ("kind", "ordering", "values", "winner"),
    [
        ("cow", "double", ["'NaN'", "1.5", "null"], 0),
        ("mor", "double", ["0.0", "-0.0", "null"], 1),
        ("mor", "string", ["'b'", "'Z'", "'ab'"], 0),
        ("cow", "decimal(20, 4)", ["null", "10.5", "9.75"], 1),
        ("mor", "date", ["'2024-02-01'", "'2024-02-01'", "null"], 1),
    ],
)
def test_merge_picks_the_source_row_that_an_upsert_would_keep(
    sql: Sql, by_source: str, kind: str, ordering: str, values: list[str], winner: int
) -> None:
    rows = ", ".join(
        f"SELECT 1 AS id, CAST({value} AS {ordering}) AS ts, 'v{i}' AS v" for i, value in enumerate(values)
    )
    source = rows.replace(", SELECT", " UNION ALL SELECT")
    merged, upserted = (sql.create(kind, f"id int, ts {ordering}, v string") for _ in range(2))
    sql.run(
        f"MERGE INTO {merged} t USING ({source}) s ON t.id = s.id "
        f"WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *{by_source}"
    )
    with sql.settings({"hoodie.spark.sql.insert.into.operation": "upsert"}):
        sql.run(f"INSERT INTO {upserted} {source}")
    assert [v for _, _, v in sql.rows(merged)] == [v for _, _, v in sql.rows(upserted)] == [f"v{winner}"]


@each_kind
@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
def test_a_source_row_excluded_by_on_is_inserted_and_merged_in_its_partition(sql: Sql, kind: str, index: str) -> None:
    table = sql.create(
        kind,
        "id int, ts bigint, v string, p string",
        by="p",
        **{"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "1"},
    )
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a', 'x'), (1, 5, 'b', 'y'), (2, 5, 'c', 'x'), (3, 5, 'd', 'x')")
    rows = [
        "(1, 6L, 'newer', 'y', 9)",  # stored in two partitions, and goes to one of them
        "(2, 4L, 'late', 'x', 9)",
        "(3, 4L, 'elsewhere', 'z', 9)",
        "(4, 4L, 'nowhere', 'x', 9)",
        "(2, 9L, 'matched', 'x', 1)",
    ]
    source = f"(SELECT * FROM VALUES {', '.join(rows)} AS rows(id, ts, v, p, n)) s"
    merge = (
        f"MERGE INTO {table} t USING {source} ON t.id = s.id AND s.n < 5 "
        "WHEN MATCHED THEN UPDATE SET v = s.v, ts = s.ts "
        "WHEN NOT MATCHED THEN INSERT (id, ts, v, p) VALUES (s.id, s.ts, s.v, s.p)"
    )
    assert "no join" in sql.run("EXPLAIN " + merge)[0][0]
    result = sql.spark.sql(merge).first().asDict()
    assert sql.rows(table) == [
        (1, 5, "a", "x"),
        (1, 6, "newer", "y"),
        (2, 9, "matched", "x"),
        (3, 4, "elsewhere", "z"),
        (3, 5, "d", "x"),
        (4, 4, "nowhere", "x"),
    ]
    counts = (result["inserted"], result["updated"], result["appended"], result["deleted"])
    # Both rows of key 2 go into one log: readers merge them.
    assert counts == ((2, 1, 2, 0) if (kind, index) == ("mor", "BUCKET") else (2, 2, 0, 0))


@each_kind
@pytest.mark.parametrize("by_source", ["", " WHEN NOT MATCHED BY SOURCE AND t.id < 0 THEN DELETE"])
def test_the_greatest_of_new_rows_with_one_key_is_inserted_for_any_match_condition(
    sql: Sql, kind: str, by_source: str
) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    source = "(SELECT * FROM VALUES (2, 8L, 'y'), (2, 6L, 'x') AS rows(id, ts, v)) s"
    on = "t.id = s.id AND s.v = 'x'"
    sql.run(f"MERGE INTO {table} t USING {source} ON {on} WHEN NOT MATCHED THEN INSERT *{by_source}")
    assert sql.rows(table) == [(1, 5, "a"), (2, 8, "y")]


@each_kind
@pytest.mark.parametrize("key", ["e.k", "id,e.k"])
def test_statements_change_other_columns_but_not_a_key_inside_a_struct(sql: Sql, kind: str, key: str) -> None:
    table = sql.create(kind, "id int, v int, e struct<k: string, z: int>", key=key, ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, named_struct('k', 'a', 'z', 1))")
    sql.run(f"UPDATE {table} SET v = 2")
    sql.run(f"MERGE INTO {table} t USING (SELECT 'a' k) s ON t.e.k = s.k WHEN MATCHED THEN UPDATE SET v = t.v + 5")
    refused = sql.fails(
        f"MERGE INTO {table} t USING (SELECT 1 id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.e.k = 'other'"
    )
    assert "ASSIGNMENT_REFUSED" in refused
    assert "'WHEN MATCHED THEN UPDATE SET e'" in refused
    assert sql.rows(table, "id, v, e.k, e.z") == [(1, 7, "a", 1)]


@each_kind
def test_merge_refuses_a_new_column_without_a_type(sql: Sql, kind: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    merge = f"MERGE INTO {table} t USING (SELECT 1 id, NULL AS nothing) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    with sql.settings({"spark.merganser.sql.schemaEvolution": "true"}):
        failure = sql.fails(merge)
    assert "UNSUPPORTED_TYPE" in failure
    assert "'nothing'" in failure


@each_kind
def test_merge_updates_rows_of_one_key_in_two_partitions_separately(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, ts bigint, v string, p string", by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a', 'x'), (1, 5, 'b', 'y')")
    source = "(SELECT * FROM VALUES (1, 6L, 'A', 'x'), (1, 6L, 'B', 'y') AS rows(id, ts, v, p)) s"
    with sql.settings({"spark.merganser.sql.duplicates": "fail"}):
        sql.run(f"MERGE INTO {table} t USING {source} ON t.id = s.id AND t.p = s.p WHEN MATCHED THEN UPDATE SET *")
    assert sql.rows(table) == [(1, 6, "A", "x"), (1, 6, "B", "y")]


def test_statements_run_on_tables_with_and_without_a_namespace(sql: Sql, tmp_path: Path) -> None:
    sql.spark.conf.set("spark.sql.catalog.corner", "io.merganser.spark.MerganserLakeCatalog")
    sql.spark.conf.set("spark.sql.catalog.corner.warehouse", str(tmp_path))
    for name in ("corner.t", "corner.a.b.t"):
        if name.count(".") > 1:
            sql.run("CREATE NAMESPACE corner.a")
            sql.run("CREATE NAMESPACE corner.a.b")
        sql.run(f"CREATE TABLE {name} (id int, v string) USING merganser TBLPROPERTIES (primaryKey = 'id')")
        sql.run(f"CACHE TABLE {name}")
        sql.run(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
        sql.run(f"UPDATE {name} SET v = 'z' WHERE id = 1")
        sql.run(f"DELETE FROM {name} WHERE id = 2")
        assert sql.rows(name) == [(1, "z")]
        sql.run(f"UNCACHE TABLE {name}")


@each_kind
def test_merge_may_read_its_own_table_by_path(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, n int", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    path = f"merganser.`{sql.folder(table)}`"
    sql.run(
        f"MERGE INTO {table} t USING (SELECT id, n + 1 AS n FROM {path}) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET *"
    )
    assert sql.rows(table) == [(1, 2), (2, 3)]


@each_kind
@pytest.mark.parametrize("index", [{}, {"hoodie.index.type": "GLOBAL_SIMPLE"}])
def test_merge_inserts_a_row_whose_stored_key_it_deletes_by_source(sql: Sql, kind: str, index: dict[str, str]) -> None:
    table = sql.create(kind, "id int, ts bigint, v string, p string", by="p" if index else "", **index)
    sql.run(f"INSERT INTO {table} (id, ts, v, p) VALUES (1, 5, 'a', 'x'), (2, 5, 'b', 'x')")
    sql.run(
        f"MERGE INTO {table} t USING (SELECT 1 id, 4L ts, 'new' v, 'y' p) s ON t.p = s.p "
        "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    assert sql.rows(table, "id, ts, v, p") == [(1, 4, "new", "y")]


@each_kind
def test_a_source_row_excluded_by_a_comparison_with_the_stored_row_does_not_displace_another(
    sql: Sql, kind: str
) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'm'), (2, 5, 'm')")
    source = "(SELECT * FROM VALUES (1, 6L, 'a'), (1, 7L, 'z'), (2, 8L, 'z') AS rows(id, ts, v)) s"
    for by_source in ("", " WHEN NOT MATCHED BY SOURCE THEN DELETE"):
        sql.run(
            f"MERGE INTO {table} t USING {source} ON t.id = s.id AND s.v < t.v "
            f"WHEN MATCHED THEN UPDATE SET v = concat(s.v, '!'){by_source}"
        )
        assert sql.rows(table) == [(1, 5, "a!"), (2, 5, "m")][: 1 if by_source else 2]
        sql.run(f"UPDATE {table} SET v = 'm'")


@each_kind
@pytest.mark.parametrize("by_source", ["", " WHEN NOT MATCHED BY SOURCE AND t.id < 0 THEN DELETE"])
def test_new_rows_of_different_keys_with_equal_on_values_are_all_inserted(sql: Sql, kind: str, by_source: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    source = "(SELECT * FROM VALUES (2, 6L, 'x', 9), (3, 7L, 'y', 9), (4, 6L, 'z', 1) AS rows(id, ts, v, of)) s"
    sql.run(
        f"MERGE INTO {table} t USING {source} ON t.id = s.of "
        f"WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *{by_source}"
    )
    assert sql.rows(table) == [(1, 5, "z"), (2, 6, "x"), (3, 7, "y")]


def test_a_failing_assignment_is_reported_with_its_clause_and_column(sql: Sql) -> None:
    table = sql.create("cow", "id int, a varchar(3), b varchar(3), n int not null, tiny tinyint", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 'a', 'b', 1, 1)")
    source = "(SELECT 1 id, 'long' AS b, 1000 AS q) s"
    merge = f"MERGE INTO {table} t USING {source} ON t.id = s.id WHEN MATCHED AND t.n = 5 THEN DELETE "
    too_long = sql.fails(merge + "WHEN MATCHED THEN UPDATE SET a = 'x', b = s.b")
    assert "CLAUSE_FAILED" in too_long
    assert "column 'b' of 'WHEN MATCHED THEN UPDATE SET a, b'" in too_long
    assert "3" in too_long
    assert "column 'tiny' of 'WHEN MATCHED THEN UPDATE SET tiny'" in sql.fails(
        merge + "WHEN MATCHED THEN UPDATE SET tiny = s.q"
    )
    assert "column 'n' of 'UPDATE SET n'" in sql.fails(f"UPDATE {table} SET n = nullif(n, 1)")
    by_zero = sql.fails(merge + "WHEN MATCHED AND raise_error(concat('no ', s.b)) IS NULL THEN UPDATE SET a = 'x'")
    assert "the condition of 'WHEN MATCHED AND" in by_zero
    assert "no long" in by_zero
    assert sql.rows(table) == [(1, "a", "b", 1, 1)]


@each_kind
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {table} SET v = 'x', _hoodie_record_key = 'zzz'",
        "MERGE INTO {table} t USING (SELECT 1 id) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET t._hoodie_commit_time = '1'",
        "MERGE INTO {table} t USING (SELECT 7 id) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id, _hoodie_commit_time) VALUES (s.id, 'x')",
    ],
)
def test_an_assignment_to_a_meta_column_is_refused(sql: Sql, kind: str, statement: str) -> None:
    table = sql.create(kind)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    failure = sql.fails(statement.format(table=table))
    assert "ASSIGNMENT_REFUSED" in failure
    assert "'_hoodie_" in failure
    assert sql.rows(table) == [(1, 5, "a")]


@each_kind
def test_statements_work_if_one_partition_is_a_folder_inside_another(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, v int, p string", ordering=None, by="p")
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a/b')")
    sql.run(f"INSERT INTO {table} VALUES (2, 2, 'a'), (3, 3, 'a/c')")
    sql.run(f"UPDATE {table} SET v = v + 10 WHERE p <> 'a/c'")
    assert sql.rows(table) == [(1, 11, "a/b"), (2, 12, "a"), (3, 3, "a/c")]


def test_a_partition_value_that_looks_like_a_hive_level_is_updated_and_overwritten(sql: Sql) -> None:
    options = {"hoodie.datasource.write.hive_style_partitioning": "false"}
    table = sql.create("cow", "id int, v int, p string", ordering=None, by="p", **options)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'p=x'), (2, 2, 'x')")
    sql.run(f"UPDATE {table} SET v = 10 WHERE p = 'p=x'")
    sql.run(f"INSERT OVERWRITE {table} PARTITION (p = 'x') VALUES (3, 3)")
    assert sql.rows(table) == [(1, 10, "p=x"), (3, 3, "x")]


@each_kind
def test_merge_clauses_can_call_python_functions(sql: Sql, kind: str) -> None:
    def both(a: int | None, b: int | None) -> int:
        return (a or 0) * 100 + (b or 0)

    sql.spark.udf.register("both", both, "int")
    table = sql.create(kind, "id int, v int", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3)")
    source = "(SELECT * FROM VALUES (1, 7), (2, 8), (3, 9), (4, 10) AS rows(id, v)) s"
    merge = f"MERGE INTO {table} t USING {source} ON t.id = s.id WHEN MATCHED AND both(t.id, s.v) = 208 THEN DELETE"
    merge += " WHEN MATCHED THEN UPDATE SET v = both(t.v, s.v)"
    sql.run(merge + " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, both(s.v, 0))")
    assert sql.rows(table) == [(1, 107), (3, 309), (4, 1000)]
    one_sided = f"MERGE INTO {table} t USING {source} ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = both(s.v, s.v)"
    assert "no join" in sql.run("EXPLAIN " + one_sided)[0][0]
    sql.run(one_sided)
    sql.run(f"UPDATE {table} SET v = both(v, 1) WHERE both(0, id) > 1")
    sql.run(f"DELETE FROM {table} WHERE both(0, id) = 3")
    assert sql.rows(table) == [(1, 707), (4, 101001)]
    on = "t.id = s.id AND both(t.id, s.id) = 101"
    sql.run(f"MERGE INTO {table} t USING {source} ON {on} WHEN MATCHED THEN UPDATE SET v = 0")
    assert sql.rows(table) == [(1, 0), (4, 101001)]


def test_a_duplicate_key_deleted_and_written_again_is_one_row(sql: Sql) -> None:
    for kind in ("cow", "mor"):
        table = sql.create(kind)
        sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
        sql.run(f"INSERT INTO {table} VALUES (1, 9, 'b'), (2, 5, 'c')")
        assert len(sql.rows(table)) == 3
        sql.run(f"DELETE FROM {table} WHERE v = 'a'")
        assert sql.rows(table) == [(2, 5, "c")]
        sql.run(
            f"MERGE INTO {table} t USING (SELECT 1 id, 1L ts, 'd' v) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
        )
        assert sql.rows(table) == [(1, 1, "d"), (2, 5, "c")]


@each_kind
def test_values_of_clauses_are_not_evaluated_for_other_rows(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, n int, d int", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 0, 0), (2, 5, 0)")
    source = "(SELECT explode(array(1, 2, 3)) id) s"
    with sql.settings({"spark.sql.ansi.enabled": "true"}):
        sql.run(
            f"MERGE INTO {table} t USING {source} ON t.id = s.id "
            f"WHEN MATCHED AND t.n <> 0 THEN UPDATE SET d = (SELECT max(n) FROM {table}) DIV t.n + 1 "
            f"WHEN NOT MATCHED THEN INSERT (id, n, d) VALUES (s.id, (SELECT min(n) FROM {table}), 6 DIV (s.id - 1))"
        )
    assert sql.rows(table) == [(1, 0, 0), (2, 5, 2), (3, 0, 3)]


def test_statements_work_with_columns_declared_in_another_case(sql: Sql, tmp_path: Path) -> None:
    frame = sql.spark.createDataFrame(
        [(1, 5, "a", (1, "x"))], "Id int, Ts long, Name string, Place struct<Lat: int, Town: string>"
    )
    options = {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "Id"}
    frame.write.format("merganser").options(**options).save(str(tmp_path / "t"))
    table = sql.name()
    columns = "id int, ts bigint, name string, place struct<lat: int, town: string>"
    sql.run(f"CREATE TABLE {table} ({columns}) USING merganser LOCATION '{tmp_path / 't'}'")
    sql.run(f"UPDATE {table} SET name = 'b', place.town = 'y' WHERE id = 1")
    sql.run(f"INSERT INTO {table} VALUES (2, 5, 'c', named_struct('lat', 2, 'town', 'z'))")
    source = f"(SELECT id, ts, 'd' name, place FROM {table} WHERE id = 2) s"
    sql.run(f"MERGE INTO {table} t USING {source} ON t.id = s.id WHEN MATCHED THEN UPDATE SET *")
    rows = sql.rows(table, "id, ts, name, place.lat, place.town")
    assert rows == [(1, 5, "b", 1, "y"), (2, 5, "d", 2, "z")]


@pytest.mark.parametrize("statement", ["CREATE OR REPLACE", "REPLACE"])
def test_a_replaced_table_has_its_new_types_and_comment(sql: Sql, statement: str) -> None:
    table = sql.create("cow", "id int, c varchar(3), n tinyint, gone int", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 'abc', 1, 1)")
    query = "SELECT 1 id, 'longer' C, 300 n"
    sql.run(f"{statement} TABLE {table} USING merganser COMMENT 'new' TBLPROPERTIES (primaryKey = 'id') AS {query}")
    sql.run(f"INSERT INTO {table} VALUES (2, 'longer still', 3000)")
    assert sql.rows(table) == [(1, "longer", 300), (2, "longer still", 3000)]
    described = {row[0]: row[1] for row in sql.run(f"DESCRIBE TABLE EXTENDED {table}")}
    assert (described["C"], described["n"], described["Comment"]) == ("string", "int", "new")
    columns = "id int, c varchar(20), k char(3)"
    sql.run(f"{statement} TABLE {table} ({columns}) USING merganser TBLPROPERTIES (primaryKey = 'id')")
    assert sql.rows(table) == []
    sql.run(f"INSERT INTO {table} VALUES (1, 'of twenty', 'k')")
    assert sql.rows(table) == [(1, "of twenty", "k  ")]
    assert "EXCEED" in sql.fails(f"INSERT INTO {table} VALUES (2, 'a text of twenty-one!', 'k')")


def test_a_condition_that_is_not_boolean_is_refused_with_its_type(sql: Sql) -> None:
    table = sql.create("cow")
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a')")
    merge = f"MERGE INTO {table} t USING (SELECT 1 id) s ON t.id = s.id WHEN MATCHED AND s.id THEN DELETE"
    assert "WHEN MATCHED AND s.id THEN DELETE" in (message := sql.fails(merge))
    assert "type INT, not BOOLEAN" in message
    assert "type INT, not BOOLEAN" in sql.fails(merge.replace("t.id = s.id", "t.id").replace("AND s.id ", ""))
    sql.run(merge.replace("AND s.id ", "AND NULL "))
    assert sql.rows(table) == [(1, 5, "a")]


@each_kind
def test_merge_by_tuple_or_in_conditions_on_the_key_needs_no_join(sql: Sql, kind: str) -> None:
    table = sql.create(kind, "id int, n int, v string", key="id,n", ordering=None)
    sql.run(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 1, 'b')")
    for on, v in (("(t.id, t.n) = (s.id, s.n)", "c"), ("t.id IN (s.id) AND (t.n = s.n)", "d")):
        merge = f"MERGE INTO {table} t USING (SELECT 1 id, 1 n UNION ALL SELECT 2, 2) s ON {on}"
        merge += f" WHEN MATCHED THEN UPDATE SET v = '{v}'"
        assert "no join" in sql.run("EXPLAIN " + merge)[0][0]
        sql.run(merge)
        assert sql.rows(table) == [(1, 1, v), (2, 1, "b")]


# --- keys of every type ------------------------------------------------------------------------------------------


def by_key(sql: Sql, merge: str) -> bool:
    """Whether the statement looks keys up; what it does otherwise is a join."""
    plan = sql.run("EXPLAIN " + merge)[0][0]
    assert "RowLevelCommand" in plan
    return "no join" in plan


@pytest.mark.parametrize(
    ("kind", "key", "stored", "of_source", "same", "other"),
    [
        ("mor", "varchar(3)", "'abc'", "string", "'abc'", "'b'"),
        ("cow", "char(3)", "'a'", "string", "'a  '", "'b'"),
        ("mor", "char(3)", "'a'", "char(5)", "'a'", "'bcd'"),
        (
            "cow",
            "timestamp_ntz",
            "'2024-01-01 00:00:00'",
            "timestamp_ntz",
            "'2024-01-01 00:00:00'",
            "'2024-01-02 00:00:00'",
        ),
        ("mor", "decimal(10, 2)", "1.5", "decimal(12, 4)", "1.5", "2.25"),
        ("cow", "decimal(10, 2)", "1", "int", "1", "2"),
        ("mor", "bigint", "1", "decimal(12, 2)", "1", "2"),
    ],
)
def test_keys_are_matched_across_types_of_the_source(
    sql: Sql, kind: str, key: str, stored: str, of_source: str, same: str, other: str
) -> None:
    table = sql.create(kind, f"id {key}, ts bigint, v string")
    sql.run(f"INSERT INTO {table} VALUES (CAST({stored} AS {key}), 5, 'a')")
    source = sql.name()
    sql.run(f"CREATE TABLE {source} (id {of_source}, ts bigint, v string) USING parquet")
    rows = (f"(CAST({value} AS {of_source}), 6, '{v}')" for value, v in ((same, "same"), (other, "other")))
    sql.run(f"INSERT INTO {source} VALUES {', '.join(rows)}")
    merge = (
        f"MERGE INTO {table} t USING {source} s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = concat('was ', t.v) WHEN NOT MATCHED THEN INSERT *"
    )
    assert by_key(sql, merge)
    sql.run(merge)
    found = f"CAST(CAST({stored} AS {key}) AS string)", f"CAST(CAST({other} AS {key}) AS string)"
    ((first, second),) = sql.run("SELECT " + ", ".join(f"rtrim({text})" for text in found))
    assert sql.rows(table, "rtrim(CAST(id AS string)), v") == sorted([(first, "was a"), (second, "other")])


@pytest.mark.parametrize("by_source", ["", " WHEN NOT MATCHED BY SOURCE AND t.v = 'none' THEN DELETE"])
@pytest.mark.parametrize(
    ("kind", "key", "stored", "of_source", "near"),
    [
        ("mor", "char(3)", "'a  '", "string", "'a'"),
        ("cow", "varchar(3)", "'abc'", "string", "'abc '"),
        ("mor", "decimal(3, 2)", "1.23", "decimal(6, 4)", "1.2301"),
    ],
)
def test_a_source_key_equal_only_after_its_cast_is_unmatched_and_replaces_the_row_when_inserted(
    sql: Sql, kind: str, key: str, stored: str, of_source: str, near: str, by_source: str
) -> None:
    table = sql.create(kind, f"id {key}, ts bigint, v string")
    sql.run(f"INSERT INTO {table} VALUES ({stored}, 5, 'a')")

    def merge(*rows: tuple[str, int, str], clauses: str) -> None:
        source = " UNION ALL ".join(f"SELECT CAST({i} AS {of_source}) id, {ts}L ts, '{v}' v" for i, ts, v in rows)
        sql.run(f"MERGE INTO {table} t USING ({source}) s ON t.id = s.id {clauses}{by_source}")

    merge((stored, 6, "equal"), (near, 7, "near"), clauses="WHEN MATCHED THEN UPDATE SET v = s.v")
    assert sql.rows(table, "v") == [("equal",)]
    merge((near, 8, "near"), clauses="WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *")
    assert sql.rows(table, "ts, v") == [(8, "near")]


def test_a_string_too_long_for_the_key_matches_no_row_and_its_insert_fails(sql: Sql) -> None:
    table = sql.create("cow", "id varchar(3), ts bigint, v string")
    sql.run(f"INSERT INTO {table} VALUES ('abc', 5, 'a')")
    merge = f"MERGE INTO {table} t USING (SELECT 'abcd' id, 6L ts, 'x' v) s ON t.id = s.id WHEN"
    assert by_key(sql, f"{merge} NOT MATCHED AND s.v = 'y' THEN INSERT *")
    sql.run(f"{merge} MATCHED THEN DELETE WHEN NOT MATCHED AND s.v = 'y' THEN INSERT *")
    assert sql.rows(table) == [("abc", 5, "a")]
    assert "3" in sql.fails(f"{merge} NOT MATCHED THEN INSERT *")


@each_kind
@pytest.mark.parametrize("by", ["", "c"])
def test_merge_matches_char_columns_of_different_lengths(sql: Sql, kind: str, by: str) -> None:
    table = sql.create(kind, "id int, ts bigint, c char(3)", by=by)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'ab'), (2, 5, 'abc')")
    source = sql.name()
    sql.run(f"CREATE TABLE {source} (short char(2), long char(5)) USING parquet")
    sql.run(f"INSERT INTO {source} VALUES ('ab', 'abc')")
    for column in "short", "long":
        sql.run(f"MERGE INTO {table} t USING {source} s ON t.c = s.{column} WHEN MATCHED THEN UPDATE SET ts = t.ts + 1")
    assert sql.rows(table) == [(1, 6, "ab "), (2, 6, "abc")]


def test_merge_matches_a_zero_key_by_either_sign(sql: Sql) -> None:
    table = sql.create("mor", "id double, ts bigint, v string")
    sql.run(f"INSERT INTO {table} VALUES (0.0D, 5, 'zero'), (CAST('NaN' AS double), 5, 'nan')")
    source = "(SELECT explode(array(-0.0D, CAST('NaN' AS double))) id)"
    merge = f"MERGE INTO {table} t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = upper(t.v)"
    assert not by_key(sql, merge)
    sql.run(merge)
    assert sql.rows(table, "v") == [("NAN",), ("ZERO",)]
