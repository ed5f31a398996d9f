"""Settings of the merge, wherever they are configured: at the write, by SQL's SET, as table properties."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from frames import frame, load, properties, refused, rows_of, save
from option_names import COW, KEY, MOR, ORDERING, TYPE
from pyspark.sql import SparkSession
from sql_steps import Sql

pytestmark = pytest.mark.e2e

VERSION = "hoodie.write.table.version"
PAYLOAD = "hoodie.datasource.write.payload.class"
MODELS = "org.apache.hudi.common.model."


@contextmanager
def set_to(sql: Sql, **settings: str) -> Iterator[None]:
    """SQL's SET for a while; names with __ for dots."""
    names = [name.replace("__", ".") for name in settings]
    for name, value in zip(names, settings.values()):
        sql.run(f"SET {name}={value}")
    try:
        yield
    finally:
        for name in names:
            sql.run(f"RESET {name}")


def test_settings_of_the_session_are_stored_in_a_new_table(sql: Sql) -> None:
    with set_to(
        sql, hoodie__write__table__version="8", hoodie__datasource__write__payload__class=MODELS + "AWSDmsAvroPayload"
    ):
        name = sql.create("mor")
    stored = properties(sql.folder(name))
    assert stored["hoodie.table.version"] == "8"
    assert stored["hoodie.compaction.payload.class"] == MODELS + "AWSDmsAvroPayload"
    sql.run(f"INSERT INTO {name} VALUES (1, 1, 'a')")
    assert properties(sql.folder(name))["hoodie.table.version"] == "8"


def test_set_does_not_override_a_stored_property(sql: Sql) -> None:
    name = sql.create("cow")
    sql.run(f"INSERT INTO {name} VALUES (1, 1, 'a')")
    upserts = {"hoodie__spark__sql__insert__into__operation": "upsert"}
    with set_to(sql, hoodie__write__record__merge__mode="COMMIT_TIME_ORDERING", **upserts):
        sql.run(f"INSERT INTO {name} VALUES (1, 0, 'late'), (2, 0, 'b')")
    assert sql.rows(name) == [(1, 1, "a"), (2, 0, "b")]


def test_a_session_setting_and_a_table_property_set_the_operation_of_inserts(sql: Sql) -> None:
    merging = sql.create("cow", **{"hoodie.spark.sql.insert.into.operation": "upsert"})
    plain = sql.create("cow")
    for name in (merging, plain):
        sql.run(f"INSERT INTO {name} VALUES (1, 5, 'a')")
    sql.run(f"INSERT INTO {merging} VALUES (1, 4, 'late'), (2, 1, 'b')")
    assert sql.rows(merging) == [(1, 5, "a"), (2, 1, "b")]
    with set_to(sql, hoodie__spark__sql__insert__into__operation="upsert"):
        sql.run(f"INSERT INTO {plain} VALUES (1, 6, 'newer')")
    assert sql.rows(plain) == [(1, 6, "newer")]
    with set_to(sql, hoodie__spark__sql__insert__into__operation="insert"):
        sql.run(f"INSERT INTO {merging} VALUES (2, 0, 'again')")
    assert sql.rows(merging) == [(1, 5, "a"), (2, 0, "again"), (2, 1, "b")]


@pytest.mark.parametrize("version", ["6", "8"])
@pytest.mark.parametrize("kind", [COW, MOR])
def test_writes_keep_a_tables_older_version_and_refuse_another_one(
    spark: SparkSession, tmp_path: Path, kind: str, version: str
) -> None:
    path, made = tmp_path / "t", {KEY: "id", ORDERING: "ts", TYPE: kind}
    save(frame(spark, [(1, 5, "a")], "id int, ts bigint, v string"), path, {**made, VERSION: version})
    newer = frame(spark, [(1, 6, "b")], "id int, ts bigint, v string")
    save(newer, path, made)
    assert properties(path)["hoodie.table.version"] == version
    assert rows_of(load(spark, path)) == [(1, 6, "b")]
    refused(lambda: save(newer, path, {**made, VERSION: "9"}), "CONFIG_CONFLICT", VERSION, "'9'", f"'{version}'")


@pytest.mark.parametrize("version", ["6", "8"])
def test_a_table_without_ordering_fields_uses_its_payloads_ordering_field(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    options = {KEY: "id", TYPE: MOR, VERSION: version, PAYLOAD: MODELS + "DefaultHoodieRecordPayload"}
    rows = "id int, ts bigint, seen bigint, v string"
    for name, more, first, late in (
        ("default", {}, (1, 5, 1, "a"), (1, 4, 9, "late")),
        ("named", {"hoodie.payload.ordering.field": "seen"}, (1, 5, 5, "a"), (1, 9, 4, "late")),
    ):
        path = tmp_path / name
        save(frame(spark, [first], rows), path, {**options, **more})
        save(frame(spark, [late], rows), path, {**options, **more})
        assert rows_of(load(spark, path)) == [first]
