"""Tables with a date as a path of three levels, written by Apache Hudi and by us in turn."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from interop.hudi_engine import HudiEngine
from interop.merganser_engine import MerganserEngine
from merganser import MerganserError

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SLASHED = {"hoodie.datasource.write.slash.separated.date.partitioning": "true"}
COLUMNS = "id int, day %s, amount int, ts bigint"


def options(kind: str, version: int = 9, **more: str) -> dict[str, str]:
    return {
        **SLASHED,
        "hoodie.table.name": "slashed",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.write.table.version": str(version),
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "day",
        "hoodie.table.ordering.fields": "ts",
        **more,
    }


def paths(path: Path) -> set[str]:
    """Of the files below the partitions of a year."""
    return {str(file.parent.relative_to(path)) for file in path.glob("20*/**/*.parquet")}


@pytest.mark.sampled
@pytest.mark.parametrize(("kind", "version"), [(COW, 6), (MOR, 9)])
def test_hudis_table_with_slashed_dates_is_read_as_dates_and_each_key_keeps_one_path(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, version: int
) -> None:
    path, schema, chosen = tmp_path / "slashed", COLUMNS % "string", options(kind, version)
    hudi.upsert(path, schema, [[1, "2024-01-02", 11, 2], [2, "2024-01-03", 20, 1], [3, None, 30, 1]], **chosen)
    assert ours.read(path).business == [[1, "2024-01-02", 11, 2], [2, "2024-01-03", 20, 1], [3, None, 30, 1]]
    ours.upsert(path, schema, [[1, "2024-01-02", 12, 3], [4, "2024-02-01", 40, 1], [3, None, 31, 2]])
    table = f"merganser.`{path}`"
    ours.spark.sql(f"UPDATE {table} SET amount = 21 WHERE day = '2024-01-03'")
    hudi.upsert(path, schema, [[4, "2024-02-01", 44, 5], [2, "2024-01-03", 22, 5]], **chosen)
    if kind == MOR:
        ours.compact(path)
    rows = [[1, "2024-01-02", 12, 3], [2, "2024-01-03", 22, 5], [3, None, 31, 2], [4, "2024-02-01", 44, 5]]
    assert ours.read(path).business == rows
    # Hudi's reader returns the paths here, since its data frame writer does not store the property.
    assert hudi.read(path).select(["id", "amount", "ts"]) == [[i, amount, ts] for i, _, amount, ts in rows]
    assert paths(path) == {"2024/01/02", "2024/01/03", "2024/02/01"}
    for condition, slices, found in (
        ("day = '2024-01-03'", 1, [2]),
        # The path of the rows without a date has no value, so they are read too where no path is named.
        ("day > '2024-01-03'", 2, [4]),
        ("day < '2024-01-03'", 2, [1]),
        ("day IN ('2024-02-01', '2024-03-01')", 1, [4]),
    ):
        read = ours.spark.read.format("merganser").load(str(path)).where(condition)
        assert [row.id for row in read.collect()] == found
        plan = read._jdf.queryExecution().executedPlan().toString()
        assert f"[slices: {slices}," in plan, condition
    hudi.delete(path, schema, [[1, "2024-01-02", 0, 9]], **chosen)
    assert ours.read(path).business == rows[1:]


@pytest.mark.parametrize(("kind", "dates"), [(COW, "date"), (MOR, "string")])
def test_hudi_reads_and_writes_our_table_with_slashed_dates(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, kind: str, dates: str
) -> None:
    path, schema, chosen = tmp_path / "created", COLUMNS % dates, options(kind)
    ours.upsert(path, schema, [[1, "2024-01-02", 11, 2], [2, "2024-01-03", 20, 1]], **chosen)
    hudi.upsert(path, schema, [[1, "2024-01-02", 12, 3], [3, "2024-01-03", 30, 1]], **chosen)
    ours.upsert(path, schema, [[3, "2024-01-03", 33, 2]], **chosen)
    rows = [[1, "2024-01-02", 12, 3], [2, "2024-01-03", 20, 1], [3, "2024-01-03", 33, 2]]
    assert ours.read(path).business == rows
    # Hudi's reader fails on a column of type date, in its own tables too.
    if dates == "string":
        assert hudi.read(path).business == rows
    assert paths(path) == {"2024/01/02", "2024/01/03"}


def test_a_sql_table_with_slashed_dates_lists_and_replaces_its_partitions(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path
) -> None:
    path = tmp_path / "sql"
    hudi.sql(
        "CREATE TABLE slashed_sql (id int, amount int, ts bigint, day string) USING hudi PARTITIONED BY (day) "
        "TBLPROPERTIES (primaryKey='id', type='cow', preCombineField='ts', "
        f"'hoodie.datasource.write.slash.separated.date.partitioning'='true') LOCATION '{path}'",
        "INSERT INTO slashed_sql VALUES (1, 11, 2, '2024-01-02'), (2, 20, 1, '2024-01-03')",
    )
    spark, table = ours.spark, f"merganser.`{path}`"
    assert [row.partition for row in spark.sql(f"SHOW PARTITIONS {table}").collect()] == [
        "day=2024-01-02",
        "day=2024-01-03",
    ]
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (day = '2024-01-03') VALUES (3, 30, 1)")
    rows = [[1, 11, 2, "2024-01-02"], [3, 30, 1, "2024-01-03"]]
    assert ours.read(path).business == rows
    assert hudi.read(path).business == rows
    hudi.sql("UPDATE slashed_sql SET amount = 31 WHERE id = 3", "DROP TABLE slashed_sql")
    assert ours.read(path).business == [rows[0], [3, 31, 1, "2024-01-03"]]
    assert paths(path) == {"2024/01/02", "2024/01/03"}


def test_slashed_dates_are_refused_with_hive_style_paths_and_with_several_partition_columns(
    ours: MerganserEngine, tmp_path: Path
) -> None:
    schema, row, path = COLUMNS % "string", [1, "2024-01-02", 1, 1], tmp_path / "none"
    hive = {"hoodie.datasource.write.hive_style_partitioning": "true"}
    with pytest.raises(MerganserError, match=r"OPTION_CONFLICT.*slash.separated.*hive_style"):
        ours.upsert(path, schema, [row], **options(COW, **hive))
    several = {"hoodie.datasource.write.partitionpath.field": "day,amount"}
    with pytest.raises(MerganserError, match=r"OPTION_CONFLICT.*slash.separated.*day,amount"):
        ours.upsert(path, schema, [row], **options(COW, **several))
    assert not path.exists()


#: Type of the partition column -> values; those without a path are refused.
OTHER_VALUES: dict[str, list[Any]] = {
    "string": ["2024-01-02", "2024/01/03", "2024-01/04", "a-b/c-d", "x/y", "no date"],
    "int": [20240102, 7],
    "timestamp": ["2024-01-02T03:04:05.000000"],
}


@pytest.mark.parametrize("dates", OTHER_VALUES if os.environ.get("MERGANSER_FULL") else ["string"])
def test_values_with_slashes_and_of_other_types_get_hudis_paths(
    ours: MerganserEngine, hudi: HudiEngine, tmp_path: Path, dates: str
) -> None:
    schema, chosen, values = COLUMNS % dates, options(COW), OTHER_VALUES[dates]
    written = [[i, value, i, 1] for i, value in enumerate(values)]
    hudi.upsert(tmp_path / "hudi", schema, written, **chosen)
    ours.upsert(tmp_path / "ours", schema, written, **chosen)
    place = ["id", "_hoodie_partition_path"]
    expected = hudi.read(tmp_path / "hudi").select(place)
    assert ours.read(tmp_path / "ours").select(place) == expected
    again = [[i, value, i + 100, 2] for i, value in enumerate(values)]
    ours.upsert(tmp_path / "hudi", schema, again)
    hudi.upsert(tmp_path / "ours", schema, again, **chosen)
    for path in (tmp_path / "hudi", tmp_path / "ours"):
        assert ours.read(path).select(place) == expected
        assert ours.read(path).business == again
        for i, value in enumerate(values):
            literal = f"'{value}'" if isinstance(value, str) else value
            read = ours.spark.read.format("merganser").load(str(path)).where(f"day = {literal}")
            assert [row.id for row in read.collect()] == [i], value


def test_a_value_whose_dashes_leave_an_empty_level_is_refused(ours: MerganserEngine, tmp_path: Path) -> None:
    for dates, value in (("string", "2024-01-"), ("string", "-"), ("int", -5)):
        with pytest.raises(MerganserError, match="PARTITION_PATH_INVALID"):
            ours.upsert(tmp_path / dates, COLUMNS % dates, [[1, value, 1, 1]], **options(COW))
        assert not list((tmp_path / dates).rglob("*.parquet"))
