"""Forms of keys and paths that no table stores: they are those of the stored rows, or a write is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from frames import frame, listing, load, properties, refused, rows_of, save
from option_names import BUCKETS, COW, INDEX, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from pyspark.sql import SparkSession

from merganser import Table

VERSION = "hoodie.write.table.version"
GENERATOR = "hoodie.datasource.write.keygenerator.type"
ENCODING = "hoodie.write.complex.keygen.new.encoding"
VALIDATION = "hoodie.write.complex.keygen.validation.enable"
HIVE = "hoodie.datasource.write.hive_style_partitioning"
COLUMNS = "id string, v string, part string"


def without(path: Path, *keys: str, **changed: str) -> None:
    """The table as another engine leaves it, whose properties have no such keys."""
    file = path / ".hoodie" / "hoodie.properties"
    lines = [line for line in file.read_text().splitlines() if line.split("=")[0] not in (*keys, *changed)]
    file.write_text("\n".join([*lines, *(f"{key}={value}" for key, value in changed.items())]) + "\n")
    (path / ".hoodie" / ".hoodie.properties.crc").unlink(missing_ok=True)


def unnamed(spark: SparkSession, path: Path, version: str, kind: str = COW, **more: str) -> None:
    """A table as of Hudi 0.14.1 to 1.0.2: its keys are `k1`, not `id:k1`."""
    options = {KEY: "id", PARTITION: "part", GENERATOR: "COMPLEX", TYPE: kind, VERSION: version, ENCODING: "true"}
    rows = [("k1", "a", "x"), ("k2", "b", "x")]
    save(frame(spark, rows, COLUMNS), path, {**options, **more})
    without(path, ENCODING)
    assert keys(spark, path) == ["k1", "k2"]


def keys(spark: SparkSession, path: Path) -> list[str]:
    return sorted(key for (key,) in load(spark, path).select("_hoodie_record_key").collect())


def nothing_happens(path: Path, action: Callable[[], object], condition: str, *mentions: str) -> None:
    before = listing(path)
    refused(action, condition, *mentions)
    assert listing(path) == before


@pytest.mark.parametrize(("version", "kind"), [("6", MOR), ("8", COW)])
def test_a_table_whose_single_keys_lack_their_name_is_not_upgraded_until_its_rows_are_replaced(
    spark: SparkSession, tmp_path: Path, version: str, kind: str
) -> None:
    path = tmp_path / "t"
    unnamed(spark, path, version, kind)
    upgrade = f"CALL upgrade_table(path => '{path}')"
    more = frame(spark, [("k1", "new", "x"), ("k3", "c", "x")], COLUMNS)
    nothing_happens(path, lambda: spark.sql(upgrade).collect(), "KEYS_WITHOUT_NAME", "'k1'", "'id:k1'", VALIDATION)
    nothing_happens(path, lambda: save(more, path, {"hoodie.write.auto.upgrade": "true"}), "KEYS_WITHOUT_NAME")
    preview = f"CALL dry_run_service(path => '{path}', service => 'upgrade')"
    nothing_happens(path, lambda: spark.sql(preview).collect(), "KEYS_WITHOUT_NAME", "Cannot upgrade")
    save(more, path, {})
    assert keys(spark, path) == ["k1", "k2", "k3"]
    # Partitions that are overwritten keep the form of the others.
    save(
        frame(spark, [("k4", "d", "y")], COLUMNS),
        path,
        {"hoodie.datasource.overwrite.mode": "dynamic"},
        mode="overwrite",
    )
    assert keys(spark, path) == ["k1", "k2", "k3", "k4"]
    save(load(spark, path).select("id", "v", "part"), path, {ENCODING: "false"}, mode="overwrite")
    assert keys(spark, path) == ["id:k1", "id:k2", "id:k3", "id:k4"]
    spark.sql(upgrade).collect()
    save(frame(spark, [("k1", "newer", "x")], COLUMNS), path, {})
    assert rows_of(load(spark, path).select("id", "v")) == [("k1", "newer"), ("k2", "b"), ("k3", "c"), ("k4", "d")]
    assert properties(path)["hoodie.table.version"] == "9"


def test_a_table_that_another_engine_has_upgraded_so_is_not_written_by_any_way(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, name = tmp_path / "t", f"merganser.`{tmp_path / 't'}`"
    unnamed(spark, path, "8")
    save(frame(spark, [], COLUMNS), path, {"hoodie.write.auto.upgrade": "true", VALIDATION: "false"})
    assert properties(path)["hoodie.table.version"] == "9"
    row = frame(spark, [("k1", "new", "x")], COLUMNS)
    source = "(SELECT 'k1' id, 'new' v, 'x' part) s ON t.id = s.id"
    ways: list[Callable[[], object]] = [
        lambda: save(row, path, {}),
        lambda: save(row, path, {OPERATION: "insert"}),
        lambda: save(row, path, {OPERATION: "delete"}),
        lambda: save(row, path, {"hoodie.datasource.overwrite.mode": "dynamic"}, mode="overwrite"),
        lambda: spark.sql(f"INSERT INTO {name} VALUES ('k1', 'new', 'x')"),
        lambda: spark.sql(f"UPDATE {name} SET v = 'new' WHERE id = 'k1'"),
        lambda: spark.sql(f"DELETE FROM {name} WHERE id = 'k1'"),
        lambda: spark.sql(f"MERGE INTO {name} t USING {source} WHEN NOT MATCHED THEN INSERT *"),
        lambda: Table.load(spark, str(path)).upsert(row),
        lambda: Table.load(spark, str(path)).delete(keys=["k1"]),
    ]
    for way in ways:
        nothing_happens(path, way, "KEYS_WITHOUT_NAME", "'k1'")
    assert rows_of(load(spark, path).where("id = 'k1'").select("id", "v")) == [("k1", "a")]
    spark.sql(f"INSERT OVERWRITE {name} SELECT id, v, part FROM {name}")
    save(row, path, {})
    assert keys(spark, path) == ["id:k1", "id:k2"]


@pytest.mark.parametrize("version", ["6", "8"])
def test_a_table_with_single_keys_in_both_forms_is_not_written_by_what_looks_up_keys(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    path = tmp_path / "t"
    unnamed(spark, path, version)
    without(path, **{ENCODING: "false"})
    save(frame(spark, [("k1", "named", "x")], COLUMNS), path, {})
    without(path, ENCODING)
    assert keys(spark, path) == ["id:k1", "k1", "k2"]
    row = frame(spark, [("k2", "new", "x")], COLUMNS)
    nothing_happens(path, lambda: save(row, path, {}), "KEY_FORMS_MIXED", "'id:k1'", "'k2'")
    nothing_happens(path, lambda: save(row, path, {OPERATION: "delete"}), "KEY_FORMS_MIXED")
    save(row, path, {OPERATION: "insert"})
    save(row, path, {VALIDATION: "false"})


def test_the_form_of_keys_that_only_logs_have_is_the_one_that_a_write_takes(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    modes = {"hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL", ORDERING: "v"}
    unnamed(spark, path, "8", MOR, **{INDEX: "BUCKET", BUCKETS: "1", **modes})
    assert not [name for name in listing(path) if name.endswith(".parquet")]
    save(frame(spark, [("k1", "new", "x")], COLUMNS), path, {})
    assert rows_of(load(spark, path).select("_hoodie_record_key", "v")) == [("k1", "new"), ("k2", "b")]


LEVELS = "merganser.partition.timestamps"
UNKNOWN = "spark.merganser.write.allowUnknownProperties"
TIMES = "id int, v string, ts timestamp"
EVENING = datetime(2024, 1, 5, 18, 0, 0, 789000)


def of_statements(spark: SparkSession, path: Path, kind: str, version: str, form: str = "seconds") -> str:
    """A table whose paths have timestamps as Hudi's SQL statements write them; its name."""
    options = {KEY: "id", PARTITION: "ts", TYPE: kind, VERSION: version, HIVE: "true"}
    save(frame(spark, [], TIMES), path, options)
    without(path, **{LEVELS: form})
    save(frame(spark, [(1, "a", EVENING), (2, "b", None)], TIMES), path, {UNKNOWN: "true"})
    without(path, LEVELS)
    return f"merganser.`{path}`"


@pytest.mark.parametrize(("kind", "version"), [(COW, "9"), (MOR, "8"), (COW, "6")])
def test_timestamps_in_paths_are_written_as_the_tables_paths_have_them(
    spark: SparkSession, tmp_path: Path, kind: str, version: str
) -> None:
    path = tmp_path / "t"
    name, at = of_statements(spark, path, kind, version), "ts=2024-01-05 18%3A00%3A00"
    assert (path / at).is_dir()
    save(frame(spark, [(1, "upsert", EVENING), (3, "new", EVENING)], TIMES), path, {})
    spark.sql(f"UPDATE {name} SET v = 'update' WHERE id = 3")
    source = f"(SELECT 2 id, 'merge' v, CAST(NULL AS TIMESTAMP) ts UNION ALL SELECT 4, 'merge', TIMESTAMP '{EVENING}')"
    spark.sql(
        f"MERGE INTO {name} t USING {source} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    save(frame(spark, [(4, None, EVENING)], TIMES), path, {OPERATION: "delete"})
    found = rows_of(load(spark, path).select("id", "v", "_hoodie_partition_path"))
    assert found == [(1, "upsert", at), (2, "merge", "ts=__HIVE_DEFAULT_PARTITION__"), (3, "update", at)]
    assert Table.load(spark, str(path)).verify().ok
    dynamic = {"hoodie.datasource.overwrite.mode": "dynamic"}
    save(frame(spark, [(5, "over", EVENING)], TIMES), path, dynamic, mode="overwrite")
    assert rows_of(load(spark, path).select("id")) == [(2,), (5,)]


def test_a_table_with_timestamps_of_two_forms_in_its_paths_or_of_another_time_zone_is_not_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    name = of_statements(spark, path, COW, "9", form="micros")
    without(path, **{LEVELS: "seconds"})
    save(frame(spark, [(3, "c", EVENING)], TIMES), path, {UNKNOWN: "true"})
    without(path, LEVELS)
    row = frame(spark, [(1, "new", EVENING)], TIMES)
    nothing_happens(path, lambda: save(row, path, {}), "PATH_FORMS_MIXED", "18%3A00%3A00", "ts=1704477600789000")
    nothing_happens(path, lambda: spark.sql(f"DELETE FROM {name} WHERE id = 1"), "PATH_FORMS_MIXED")
    spark.sql(f"INSERT OVERWRITE {name} SELECT id, v, ts FROM {name}")
    save(row, path, {})
    assert rows_of(load(spark, path).select("id", "v")) == [(1, "new"), (2, "b"), (3, "c")]
    other = tmp_path / "other"
    of_statements(spark, other, MOR, "9")
    zones = spark._jvm.java.util.TimeZone  # type: ignore[union-attr]
    zones.setDefault(zones.getTimeZone("Asia/Tokyo"))
    try:
        nothing_happens(other, lambda: save(row, other, {}), "PATH_IN_OTHER_ZONE", "18%3A00%3A00", "Asia/Tokyo")
    finally:
        zones.setDefault(zones.getTimeZone("UTC"))
    save(row, other, {})


FORMAT = "hoodie.keygen.timebased.input.dateformat"
TIMED = {
    KEY: "id",
    PARTITION: "at",
    GENERATOR: "TIMESTAMP",
    "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd",
}


@pytest.mark.parametrize(
    ("kind", "values"),
    [("EPOCHMILLISECONDS", "1700000000000"), ("UNIX_TIMESTAMP", "1700000000"), ("SCALAR", "1700000000")],
)
def test_a_time_based_partition_column_that_became_a_string_is_written_found_and_verified_by_its_numbers(
    spark: SparkSession, tmp_path: Path, kind: str, values: str
) -> None:
    path, columns = tmp_path / "t", "id int, v string, at string"
    # A new table needs the format of its strings; a table whose column was a number has none.
    options = {**TIMED, TYPE: MOR, "hoodie.keygen.timebased.timestamp.type": kind, FORMAT: "yyyy"}
    save(frame(spark, [], columns), path, options)
    without(path, FORMAT)
    save(frame(spark, [(1, "a", values), (2, "b", "86400")], columns), path, {})
    save(frame(spark, [(1, "new", values)], columns), path, {})
    spark.sql(f"UPDATE merganser.`{path}` SET v = 'sql' WHERE at = '86400'")
    rows = load(spark, path)
    assert rows_of(rows.where(f"at = '{values}'").select("id", "v", "_hoodie_partition_path")) == [
        (1, "new", "2023-11-14")
    ]
    assert rows_of(rows.select("id", "v")) == [(1, "new"), (2, "sql")]
    assert Table.load(spark, str(path)).verify().ok


ALLOW = {"spark.merganser.write.allowAmbiguousKeys": "true"}


def test_rows_whose_key_or_path_other_values_have_too_are_refused_by_name_unless_they_are_allowed(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, name, columns = tmp_path / "t", f"merganser.`{tmp_path / 't'}`", "a string, b string, v string"
    save(frame(spark, [("x", None, "null"), ("x", "", "empty")], columns), path, {KEY: "a,b"})
    for row in (("x", "__null__", "v"), ("x", "__empty__", "v"), ("x,b:y", "z", "v")):
        wrong, mention = frame(spark, [("y", "y", "right"), row], columns), f'"b":"{row[1]}"'
        for options in ({}, {OPERATION: "insert"}, {OPERATION: "bulk_insert"}, {OPERATION: "delete"}):
            nothing_is_seen(path, lambda w=wrong, o=options: save(w, path, o), "KEY_AMBIGUOUS", mention)
        nothing_is_seen(path, lambda r=row: spark.sql(f"INSERT INTO {name} VALUES {r}"), "KEY_AMBIGUOUS", mention)
    assert rows_of(load(spark, path).select("v")) == [("empty",), ("null",)]
    save(frame(spark, [("x", "__null__", "literal")], columns), path, ALLOW)
    spark.sql(f"UPDATE {name} SET v = 'updated' WHERE b = '__null__'")
    spark.sql(f"DELETE FROM {name} WHERE b = '__null__'")
    assert rows_of(load(spark, path).select("v")) == [("empty",)]


def test_partition_values_with_the_path_of_others_are_refused_and_a_slash_where_it_tells_values_apart_is_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    single, double, columns = tmp_path / "single", tmp_path / "double", "id int, p string, q string"
    both = [(1, "x", "a"), (1, "x/y", "b")]
    save(frame(spark, both, columns), single, {KEY: "id", PARTITION: "p"})
    save(frame(spark, both, columns), single, {})
    assert rows_of(load(spark, single).select("id", "p", "q")) == both
    wrong = frame(spark, [(1, "__HIVE_DEFAULT_PARTITION__", "a")], columns)
    nothing_is_seen(single, lambda: save(wrong, single, {}), "PARTITION_AMBIGUOUS", '"p":"__HIVE_DEFAULT_PARTITION__"')
    save(frame(spark, [(1, "x", "y/z")], columns), double, {KEY: "id", PARTITION: "p,q"})
    wrong = frame(spark, [(1, "x/y", "z")], columns)
    nothing_is_seen(double, lambda: save(wrong, double, {}), "PARTITION_AMBIGUOUS", '"p":"x/y"')
    save(wrong, double, ALLOW)
    assert rows_of(load(spark, double).select("p", "q")) == [("x/y", "z")]


def nothing_is_seen(path: Path, action: Callable[[], object], condition: str, *mentions: str) -> None:
    """A row is refused once the write has begun: no file of the table and no completed instant is left."""
    before = [name for name in listing(path) if name.endswith((".parquet", "commit")) or ".log" in name]
    refused(action, condition, *mentions)
    assert [name for name in listing(path) if name.endswith((".parquet", "commit")) or ".log" in name] == before
