"""Tables with versions of their columns (Hudi's schema on read): renamed, dropped, re-added, moved and retyped ones."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import MerganserError

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SETTING = "hoodie.schema.on.read.enable"
#: Hudi cannot read renamed fields of structs with its vectorized reader.
ON = (
    f"SET {SETTING}=true",
    "SET hoodie.datasource.write.schema.allow.auto.evolution.column.drop=true",
    "SET spark.sql.parquet.enableVectorizedReader=false",
    "SET hoodie.write.auto.upgrade=false",
)

SCHEMA = (
    "id int, amount int, note string, who struct<name:string,age:int>, tags array<struct<k:string,v:int>>, ts bigint"
)
CHANGED = (
    "RENAME COLUMN amount TO total",
    "ALTER COLUMN total TYPE bigint",
    "DROP COLUMN note",
    "ADD COLUMNS (note string COMMENT 'another one' AFTER id)",
    "RENAME COLUMN who.age TO years",
    "RENAME COLUMN tags.element.v TO weight",
    "RENAME COLUMN who TO person",
    "ADD COLUMNS (person.zip string AFTER name)",
    "ALTER COLUMN ts AFTER id",
)
NOW = ["id", "ts", "note", "total", "person", "tags"]


def options(name: str, kind: str, version: int, **more: str) -> dict[str, str]:
    return {
        "hoodie.table.name": name,
        "hoodie.datasource.write.table.type": kind,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.table.ordering.fields": "ts",
        "hoodie.write.table.version": str(version),
        "hoodie.write.auto.upgrade": "false",
        **more,
    }


def before(i: int, ts: int = 1) -> list[Any]:
    return [i, i * 10, f"old {i}", {"name": f"n{i}", "age": i}, [{"k": "k", "v": i}], ts]


def after(i: int, ts: int, total: int, note: str | None = None) -> list[Any]:
    return [i, ts, note, total, {"name": f"n{i}", "zip": None, "years": i}, [{"k": "k", "weight": i}]]


class Both:
    """One table, and both engines that read and write it."""

    def __init__(self, ours: MerganserEngine, hudi: HudiEngine, path: Path, name: str) -> None:
        self.ours, self.hudi, self.path, self.name = ours, hudi, path, name

    def by_hudi(self, *statements: str, setting: bool = True) -> list[list[Any]]:
        """Run Hudi's SQL on the table, as ``{t}``; the rows of the last statement."""
        self.hudi.sql(
            f"DROP TABLE IF EXISTS {self.name}", f"CREATE TABLE {self.name} USING hudi LOCATION '{self.path}'"
        )
        try:
            return self.hudi.sql(*(ON if setting else ON[2:]), *(s.format(t=self.name) for s in statements))
        finally:
            self.hudi.sql(f"DROP TABLE {self.name}")

    def sql(self, *statements: str) -> list[Any]:
        """Run our SQL on the table, as ``{t}``."""
        for statement in statements:
            rows = self.ours.spark.sql(statement.format(t=f"merganser.`{self.path}`")).collect()
        return rows

    def all_read(self, columns: list[str], *rows: list[Any]) -> None:
        read = self.ours.read(self.path)
        assert [name for name, _ in read.business_columns] == columns
        assert read.business == list(rows)
        assert self.by_hudi(f"SELECT {', '.join(columns)} FROM {{t}} ORDER BY id") == list(rows)

    def history(self) -> list[dict[str, Any]]:
        """The versions of the columns, newest first."""
        files = sorted((self.path / ".hoodie" / ".schema").glob("*.schemacommit"))
        return list(json.loads(files[-1].read_text())["schemas"]) if files else []

    def ids(self) -> dict[str, int]:
        return {field["name"]: field["id"] for field in self.history()[0]["fields"]}


@pytest.fixture
def with_setting(ours: MerganserEngine) -> Iterator[None]:
    ours.spark.conf.set(SETTING, "true")
    try:
        yield
    finally:
        ours.spark.conf.unset(SETTING)


#: Type and version of a table and format of its log blocks: each type and each layout of the timeline; all of them with
#: MERGANSER_FULL=1. Blocks in Parquet are among the next ones.
VARIANTS = [(COW, 9, "avro"), (MOR, 6, "avro")]
if os.environ.get("MERGANSER_FULL"):
    VARIANTS += [(MOR, 9, "parquet"), (COW, 6, "avro"), (MOR, 8, "avro")]


# Guarantee (Tables of other engines): Columns that Hudi or our `ALTER TABLE` renamed, dropped, moved or retyped are
#   read and written by their ids in both engines. Also:
#   test_columns_retyped_by_hudi_have_its_values_in_files_and_log_blocks, InternalSchemaSuite,
#   test_hudi_continues_column_versions_begun_by_our_alter_table,
#   test_hudi_reads_columns_retyped_by_our_alter_table
@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "version", "blocks"), VARIANTS)
def test_both_engines_read_and_write_a_table_whose_columns_hudi_changed(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: int, blocks: str
) -> None:
    name = f"changed_{kind[0]}{version}"
    both = Both(ours, hudi, tmp_path / name, name)
    logged = options(name, kind, version, **{"hoodie.logfile.data.block.format": blocks})
    hudi.upsert(both.path, SCHEMA, [before(i) for i in (1, 2, 3, 4)], **logged)
    hudi.upsert(both.path, SCHEMA, [[2, 22, *before(2)[2:5], 2]], **logged)
    instant = max(row[0] for row in ours.read(both.path).select(["_hoodie_commit_time"]))
    both.by_hudi(*(f"ALTER TABLE {{t}} {change}" for change in CHANGED))
    rows = [after(1, 1, 10), after(2, 2, 22), after(3, 1, 30), after(4, 1, 40)]
    both.all_read(NOW, *rows)
    # Filters and single columns of renamed, retyped and re-added columns.
    assert both.sql("SELECT id FROM {t} WHERE total = 22L AND note IS NULL") == [(2,)]
    assert both.sql("SELECT count(1) FROM {t} WHERE note = 'old 1'") == [(0,)]
    assert both.sql("SELECT person.years FROM {t} WHERE person.years > 3") == [(4,)]
    # As of a time before the changes, the table has the columns of then.
    past = ours.spark.read.format("merganser").option("as.of.instant", instant).load(str(both.path))
    assert past.columns == ["id", "amount", "note", "who", "tags", "ts"]
    assert past.where("amount >= 30").count() == 2
    assert both.sql(f"SELECT note FROM {{t}} VERSION AS OF '{instant}' WHERE amount = 10") == [("old 1",)]
    # Our writes: an upsert, statements, a new column.
    ids = both.ids()
    wider = "id int, ts bigint, note string, total bigint, extra double"
    ours.upsert(both.path, wider, [[1, 5, "new 1", 11, 1.5]], **{"spark.merganser.write.missingColumns": "keep"})
    both.sql(
        "MERGE INTO {t} t USING (SELECT 3 id, 'new 3' note, 9L ts) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET note = s.note, ts = s.ts",
        "DELETE FROM {t} WHERE total = 40",
    )
    assert both.ids() == {**ids, "extra": both.history()[0]["max_column_id"]}
    with_extra = [*NOW, "extra"]
    rows = [[*after(1, 5, 11, "new 1"), 1.5], [*after(2, 2, 22), None], [*after(3, 9, 30, "new 3"), None]]
    both.all_read(with_extra, *rows)
    # Hudi writes and changes columns further, and so do we.
    both.by_hudi(
        "UPDATE {t} SET total = 23, ts = 7 WHERE id = 2",
        "ALTER TABLE {t} RENAME COLUMN extra TO rate",
        "UPDATE {t} SET rate = 2.5, ts = 8 WHERE id = 2",
    )
    rows = [rows[0], [*after(2, 8, 23), 2.5], rows[2]]
    with_rate = [*NOW, "rate"]
    both.all_read(with_rate, *rows)
    if kind == MOR:
        both.sql(f"CALL run_compaction(op => 'scheduleandexecute', path => '{both.path}')")
        both.all_read(with_rate, *rows)
        assert ours.read(both.path, "read_optimized").business == rows
    both.sql("ALTER TABLE {t} RENAME COLUMN note TO remark", "UPDATE {t} SET remark = 'r', ts = 10 WHERE id = 1")
    renamed = ["id", "ts", "remark", *with_rate[3:]]
    rows = [[*after(1, 10, 11, "r"), 1.5], *rows[1:]]
    both.all_read(renamed, *rows)
    if kind == MOR:
        hudi.compact(both.path, **{SETTING: "true"})
        both.all_read(renamed, *rows)


TYPES = (
    "id int, i int, l bigint, f float, d double, dc decimal(5,2), s string, sd string, dt date, bin binary, ts bigint"
)
RETYPED = {
    "i": "string", "l": "decimal(20,2)", "f": "double", "d": "decimal(10,3)", "dc": "decimal(7,2)",
    "s": "decimal(10,2)", "sd": "date", "dt": "string", "bin": "string",
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "blocks"), [(COW, "avro"), (MOR, "avro"), (MOR, "parquet")])
def test_columns_retyped_by_hudi_have_its_values_in_files_and_log_blocks(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, blocks: str
) -> None:
    name = f"retyped_{kind[0]}_{blocks}"
    both = Both(ours, hudi, tmp_path / name, name)
    values = [1, 10, 2.1, 4.2, "1.50", "12.345", "2024-01-02", "2024-02-03", "YWI="]
    logged = options(name, kind, 9, **{"hoodie.logfile.data.block.format": blocks})
    ours.upsert(both.path, TYPES, [[i, *values, 1] for i in (1, 2)], **logged)
    ours.upsert(both.path, TYPES, [[2, *values, 2]], **{"hoodie.logfile.data.block.format": blocks})
    both.by_hudi(*(f"ALTER TABLE {{t}} ALTER COLUMN {column} TYPE {to}" for column, to in RETYPED.items()))
    now = ["1", "10.00", 2.1, "4.200", "1.50", "12.35", "2024-01-02", "2024-02-03", "ab"]
    both.all_read(["id", *RETYPED, "ts"], [1, *now, 1], [2, *now, 2])
    assert both.sql("SELECT count(1) FROM {t} WHERE sd = date'2024-01-02' AND i = '1' AND s > 12") == [(2,)]
    both.sql("UPDATE {t} SET i = 'one', ts = 3 WHERE id = 2")
    both.all_read(["id", *RETYPED, "ts"], [1, *now, 1], [2, "one", *now[1:], 3])


@pytest.mark.sampled
@pytest.mark.parametrize("kind", [COW, MOR])
def test_hudi_continues_column_versions_begun_by_our_alter_table(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, with_setting: None, kind: str
) -> None:
    name = f"begun_{kind[0]}"
    both = Both(ours, hudi, tmp_path / name, name)
    ours.upsert(both.path, SCHEMA, [before(i) for i in (1, 2, 3)], **options(name, kind, 9))
    both.sql(*(f"ALTER TABLE {{t}} {change}" for change in CHANGED))
    newest, first = both.history()[0], both.history()[-1]
    assert [v["version_id"] for v in both.history()] == sorted((v["version_id"] for v in both.history()), reverse=True)
    assert first["version_id"] == 0
    assert newest["max_column_id"] == first["max_column_id"] + 2
    rows = [after(1, 1, 10), after(2, 1, 20), after(3, 1, 30)]
    both.all_read(NOW, *rows)
    both.by_hudi(
        "UPDATE {t} SET note = 'x', ts = 2 WHERE id = 1",
        "ALTER TABLE {t} RENAME COLUMN total TO amount",
    )
    names = [*NOW[:3], "amount", *NOW[4:]]
    rows[0] = after(1, 2, 10, "x")
    both.all_read(names, *rows)
    both.sql("UPDATE {t} SET amount = 21, ts = 3 WHERE id = 2")
    rows[1] = after(2, 3, 21)
    both.all_read(names, *rows)
    # Without its setting Hudi loses renamed values of files that it rewrites; of others they stay.
    if kind == MOR:
        both.by_hudi("INSERT INTO {t} VALUES (9, 1, 'n', 90, null, null)", setting=False)
        assert ours.read(both.path).business == [*rows, [9, 1, "n", 90, None, None]]


@pytest.mark.parametrize("kind", [COW, MOR] if os.environ.get("MERGANSER_FULL") else [COW])
def test_hudi_reads_columns_retyped_by_our_alter_table(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str
) -> None:
    name = f"ours_retyped_{kind[0]}"
    both = Both(ours, hudi, tmp_path / name, name)
    values = [1, 10, 2.1, 4.2, "1.50", "12.345", "2024-01-02", "2024-02-03", "YWI="]
    ours.upsert(both.path, TYPES, [[i, *values, 1] for i in (1, 2, 3)], **options(name, kind, 9))
    # Hudi reads null for these from base files, and fails on them in logs.
    odd = ["none", "no date"] if kind == COW else values[5:7]
    ours.upsert(both.path, TYPES, [[2, *values, 2], [3, *values[:5], *odd, *values[7:], 2]])
    changes = {**RETYPED, "i": "decimal(5,1)", "f": "decimal(6,2)"}
    refusal = r"COLUMN_CHANGE_UNSUPPORTED.*do not widen.*Set hoodie.schema.on.read.enable=true"
    for column in ("i", "f", "s", "sd"):
        with pytest.raises(MerganserError, match=refusal):
            both.sql(f"ALTER TABLE {{t}} ALTER COLUMN {column} TYPE {changes[column]}")
    ours.spark.conf.set(SETTING, "true")
    try:
        both.sql(*(f"ALTER TABLE {{t}} ALTER COLUMN {column} TYPE {to}" for column, to in changes.items()))
        # Types that no engine converts, and columns that find or order rows.
        for column, to in (("dt", "int"), ("sd", "int"), ("id", "decimal(5,1)"), ("ts", "decimal(5,1)")):
            with pytest.raises((MerganserError, AnalysisException)):
                both.sql(f"ALTER TABLE {{t}} ALTER COLUMN {column} TYPE {to}")
    finally:
        ours.spark.conf.unset(SETTING)
    assert {n: t for n, t in ours.read(both.path).business_columns if n in changes} == changes
    now = ["1.0", "10.00", "2.10", "4.200", "1.50", "12.35", "2024-01-02", "2024-02-03", "ab"]
    columns, third = ["id", *RETYPED, "ts"], [*now[:5], *([None, None] if kind == COW else now[5:7]), *now[7:]]
    both.all_read(columns, [1, *now, 1], [2, *now, 2], [3, *third, 2])
    where = "sd = date'2024-01-02' AND i = 1 AND s > 12 AND f = 2.10 AND id < 3 ORDER BY id"
    assert both.sql(f"SELECT id FROM {{t}} WHERE {where}") == [(1,), (2,)]
    both.sql(
        "MERGE INTO {t} t USING (SELECT 12.35 AS v) s ON t.s = s.v AND t.id < 3 "
        "WHEN MATCHED THEN UPDATE SET i = 7.5, ts = t.ts + 5"
    )
    changed = ["7.5", *now[1:]]
    both.all_read(columns, [1, *changed, 6], [2, *changed, 7], [3, *third, 2])
    both.by_hudi("UPDATE {t} SET sd = date'2024-03-04', ts = 9 WHERE id = 3")
    third[6] = "2024-03-04"
    if kind == MOR:
        both.sql(f"CALL run_compaction(op => 'scheduleandexecute', path => '{both.path}')")
    both.all_read(columns, [1, *changed, 6], [2, *changed, 7], [3, *third, 9])


def test_a_merge_by_a_renamed_or_retyped_column_prunes_files_by_their_statistics(
    ours: MerganserEngine, with_setting: None, tmp_path: Path
) -> None:
    spark, path, name = ours.spark, tmp_path / "t", f"merganser.`{tmp_path / 't'}`"
    schema = "id int, low int, high int, ratio float, note string, ts bigint"
    files = options("t", COW, 9, **{"hoodie.parquet.small.file.limit": "0"})

    def row(i: int) -> list[Any]:
        return [i, i, 100 + i, i + 0.1, f"n{i:02}", 1]

    # Each write has files of its own, in the order of all columns.
    for first in range(0, 40, 10):
        ours.write(path, schema, [row(i) for i in range(first, first + 10)], operation="bulk_insert", options=files)
    changes = (
        "RENAME COLUMN low TO middle",
        "RENAME COLUMN high TO low",
        "ALTER COLUMN low TYPE bigint",
        "ALTER COLUMN ratio TYPE double",
        "DROP COLUMN note",
        "ADD COLUMNS (note string)",
    )
    for change in changes:
        spark.sql(f"ALTER TABLE {name} {change}")

    def merged(column: str, value: str) -> tuple[int, int]:
        """How many rows a MERGE by the column changes, and how many file groups it reads."""
        (found,) = spark.sql(
            f"MERGE INTO {name} t USING (SELECT {value} AS v) s ON t.{column} = s.v "
            "WHEN MATCHED THEN UPDATE SET ts = t.ts + 1"
        ).collect()
        return found["updated"], found["file_groups_read"]

    assert merged("middle", "25") == (1, 1)
    # Files have a column of this name with other values.
    assert merged("low", "125L") == (1, 1)
    assert merged("low", "25L") == (0, 0)
    # 25.1 is not among the values of the file: the float nearest to it is.
    assert merged("ratio", "25.1D")[0] == 1
    # Files have values of the dropped column, which is not this one.
    assert merged("note", "'n25'")[0] == 0
    spark.sql(f"UPDATE {name} SET note = 'n25' WHERE middle = 3")
    assert merged("note", "'n25'")[0] == 1
    read = {row.middle: (row.low, row.ratio, row.note, row.ts) for row in spark.sql(f"SELECT * FROM {name}").collect()}
    assert {key: value[:2] for key, value in read.items()} == {i: (100 + i, i + 0.1) for i in range(40)}
    assert (read[25][2:], read[3][2:], read[4][2:]) == ((None, 4), ("n25", 2), (None, 1))
