"""Forms of keys and paths that no table stores: they are those of the stored rows, or a write is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from foreign_forms import FORMS
from foreign_tables import make
from foreign_tables import rows_of as rows_of_form
from frames import frame, listing, load, properties, refused, rows_of, save
from option_names import BUCKETS, COW, INDEX, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from pyspark.sql import SparkSession

from merganser import Table

VERSION = "hoodie.write.table.version"
GENERATOR = "hoodie.datasource.write.keygenerator.type"
ENCODING = "hoodie.write.complex.keygen.new.encoding"
VALIDATION = "hoodie.write.complex.keygen.validation.enable"
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


# Guarantee (Tables of other engines): A table whose single COMPLEX keys lack the column's name is written in that form
#   and not upgraded; one that was upgraded or has both forms refuses writes that would double a key ([decision
#   155](design/layout-and-trust.md#155-forms-of-stored-keys-and-paths)). Also:
#   test_each_write_to_an_upgraded_table_with_unnamed_single_keys_is_refused,
#   test_writes_that_look_up_keys_refuse_a_table_with_keys_in_both_forms,
#   test_a_write_uses_the_key_form_found_in_logs_alone,
#   test_unnamed_single_keys_are_upgraded_by_neither_engine_and_not_duplicated_by_our_writes
@pytest.mark.parametrize(("version", "kind"), [("6", MOR), ("8", COW)])
def test_an_upgrade_of_a_table_with_unnamed_single_keys_is_refused_until_rows_are_replaced(
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


def test_each_write_to_an_upgraded_table_with_unnamed_single_keys_is_refused(
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
def test_writes_that_look_up_keys_refuse_a_table_with_keys_in_both_forms(
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


def test_a_write_uses_the_key_form_found_in_logs_alone(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    modes = {"hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL", ORDERING: "v"}
    unnamed(spark, path, "8", MOR, **{INDEX: "BUCKET", BUCKETS: "1", **modes})
    assert not [name for name in listing(path) if name.endswith(".parquet")]
    save(frame(spark, [("k1", "new", "x")], COLUMNS), path, {})
    assert rows_of(load(spark, path).select("_hoodie_record_key", "v")) == [("k1", "new"), ("k2", "b")]


@pytest.mark.parametrize(("version", "kind"), [("6", COW), ("8", MOR)])
def test_a_write_to_a_partition_with_an_older_key_form_is_refused(
    spark: SparkSession, tmp_path: Path, version: str, kind: str
) -> None:
    path, form = tmp_path / "t", FORMS["keys-complex_mixed"]
    table = make(spark, path, form, version, kind)
    named = rows_of_form(spark, form, (1, 3, "new"))
    nothing_happens(path, lambda: table.upsert(named), "KEY_FORMS_MIXED", "'id:1'")
    nothing_happens(path, lambda: table.delete(keys=named.select("id", "part")), "KEY_FORMS_MIXED")
    table.upsert(rows_of_form(spark, form, (2, 3, "new")))
    assert rows_of(table.df().select("id", "v")) == [(1, "a"), (2, "new"), (3, "a")]


def test_an_overwrite_unifies_path_forms_and_paths_of_another_zone_require_that_zone(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, form = tmp_path / "t", FORMS["paths-times_mixed"]
    table = make(spark, path, form, "9", COW)
    rows = rows_of_form(spark, form, (1, 3, "new"), (2, 3, "new"))
    nothing_happens(path, lambda: table.upsert(rows), "PATH_FORMS_MIXED", "12%3A00%3A00", "at=1704477600789000")
    nothing_happens(path, lambda: table.delete(where="id = 1"), "PATH_FORMS_MIXED")
    spark.sql(f"INSERT OVERWRITE {table.identifier} SELECT * FROM {table.identifier}")
    table.upsert(rows)
    assert rows_of(table.df().select("id", "v")) == [(1, "new"), (2, "new"), (3, "a")]
    form = FORMS["paths-times_of_another_zone"]
    other = make(spark, tmp_path / "other", form, "9", MOR)
    nothing_happens(tmp_path / "other", lambda: other.upsert(rows), "PATH_IN_OTHER_ZONE", "21%3A00%3A00", "UTC")
    zones = spark._jvm.java.util.TimeZone  # type: ignore[union-attr]
    zones.setDefault(zones.getTimeZone("Asia/Tokyo"))
    try:
        other.upsert(rows)
    finally:
        zones.setDefault(zones.getTimeZone("UTC"))
    assert rows_of(other.df().select("id", "v")) == [(1, "new"), (2, "new"), (3, "a")]


@pytest.mark.parametrize("kind", [COW, MOR])
def test_partition_kinds_of_an_option_are_accepted_if_they_match_the_tables_paths(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path, form = tmp_path / "t", FORMS["paths-custom_without_kinds"]
    table = make(spark, path, form, "6", kind)
    rows = rows_of_form(spark, form, (1, 3, "new"), (2, 3, "new"), (4, 3, "new"))
    kinds = {PARTITION: "region:SIMPLE,at:TIMESTAMP"}
    nothing_happens(path, lambda: table.upsert(rows), "PARTITION_KIND_UNKNOWN", "'region'", PARTITION)
    for wrong, condition in (
        ("region:SIMPLE,at:SIMPLE", "PARTITION_KINDS_WRONG"),
        ("region:SIMPLE,at", "PARTITION_KIND_UNKNOWN"),
        ("region:SIMPLE,at:DAY", "CONFIG_CONFLICT"),
        ("at:TIMESTAMP", "CONFIG_CONFLICT"),
    ):
        nothing_happens(path, lambda w=wrong: table.upsert(rows, options={PARTITION: w}), condition)
    table.upsert(rows, options=kinds)
    expected = [(1, "new"), (2, "new"), (3, "a"), (4, "new")]
    assert rows_of(table.df().select("id", "v")) == expected
    table.services.upgrade()
    nothing_happens(path, lambda: table.upsert(rows), "PARTITION_KIND_UNKNOWN")
    table.upsert(rows, options=kinds)
    assert rows_of(table.df(where="at = 0").select("id", "v")) == [(2, "new"), (4, "new")]
    assert rows_of(table.df().select("id", "v")) == expected


ALLOW = {"spark.merganser.write.allowAmbiguousKeys": "true"}


def test_rows_with_an_ambiguous_key_are_refused_unless_allowed(spark: SparkSession, tmp_path: Path) -> None:
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


def test_an_ambiguous_partition_path_is_refused_and_an_unambiguous_slash_accepted(
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
