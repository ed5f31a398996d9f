"""Repairs: duplicates, orphan files, partition metadata, properties; by Python and by SQL; docs/operating.md."""

from __future__ import annotations

import re
import shutil
import threading
from collections import Counter
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from frames import frame, load, properties, rows_of, save
from option_names import COW, INDEX, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from pyspark.sql import SparkSession
from snippets import page_text, snippets

import merganser
from merganser import Table
from merganser._statements import Statements

COLUMNS = "id int, name string, ts bigint, part string"
PAGE, SECTION = "docs/operating.md", "Repair"
NEW_FILES = {OPERATION: "bulk_insert", "hoodie.combine.before.insert": "false"}
SMALL_FILE = {OPERATION: "insert"}


def write(spark: SparkSession, path: Path, rows: list[Any], columns: str = COLUMNS, **options: str) -> None:
    save(frame(spark, rows, columns), path, {KEY: "id", **options})


def stored(spark: SparkSession, table: Table) -> list[int]:
    """The keys in the base files of the newest slices."""
    files = [f"{table.path}/{s.partition_path}/{s.base_file}" for s in table.inspect.file_slices() if s.base_file]
    return sorted(row["id"] for row in spark.read.parquet(*files).select("id").collect())


# Guarantee (Repairs and restores): A repair of duplicates leaves one row of each key, by the table's rule and in its
#   bucket, or all copies if it fails; Hudi reads, writes and compacts the table afterwards. Also: RepairFaultsSuite,
#   test_hudi_reads_writes_and_cleans_a_table_whose_duplicates_were_repaired,
#   test_a_repair_moves_keys_into_their_bucket_and_removes_emptied_file_groups,
#   test_hudi_writes_a_bucket_table_whose_duplicate_keys_were_repaired,
#   test_a_write_to_a_partition_that_hudi_overwrote_outside_its_buckets_is_refused_until_repaired
@pytest.mark.sampled
@pytest.mark.parametrize("kind", [COW, MOR])
@pytest.mark.parametrize("mode", ["EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"])
def test_a_repair_merges_the_duplicates_of_each_key_by_the_rule_in_one_commit(
    spark: SparkSession, tmp_path: Path, kind: str, mode: str
) -> None:
    path = tmp_path / "t"
    options = {TYPE: kind, ORDERING: "ts", "hoodie.record.merge.mode": mode, PARTITION: "part"}
    first = [(1, "a", 1, "p"), (2, "b", 5, "p"), (3, "c", 1, "p"), (4, "d", 1, "p"), (1, "q", 1, "q")]
    first += [(6, "f", 1, "p"), (6, "F", 2, "p")]
    write(spark, path, first, **options, **NEW_FILES)
    write(spark, path, [(1, "A", 3, "p"), (2, "B", 2, "p"), (5, "e", 1, "p")], **options, **NEW_FILES)
    write(spark, path, [(3, "C", 0, "p")], **options, **SMALL_FILE)
    if kind == MOR:
        write(spark, path, [(4, "D", 7, "p"), (2, "BB", 3, "p")], **options)
    table = Table.load(spark, str(path))
    before = rows_of(table.df())
    assert sorted(row[0] for row in before) == [1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 6]
    preview = table.services.dry_run("repair_duplicates")
    assert (preview.rows_before, preview.rows_after) == (8, 4)
    actions = Counter(copy.action for copy in preview.rows)
    assert preview.row_counts == actions
    assert actions["keep"] + actions["delete"] == 8
    assert rows_of(table.df()) == before
    event = mode == "EVENT_TIME_ORDERING"
    wins = {copy.after["id"]: copy.after["name"] for copy in preview.rows if copy.after}
    two = "b" if event else ("BB" if kind == MOR else "B")
    # A copy that was updated in both file groups is the same row twice.
    assert wins[1] == "A"
    assert wins[3] == ("c" if event else "C")
    done = table.repairs.merge_duplicates()
    assert (done.keys, done.rows) == (4, 8)
    assert done.instant is not None
    assert done.files_written >= 2
    after = {(row[0], row[3]): row[1] for row in rows_of(table.df())}
    four = "D" if kind == MOR else "d"
    assert after == {
        (1, "p"): "A",
        (1, "q"): "q",
        (2, "p"): two,
        (3, "p"): wins[3],
        (4, "p"): four,
        (5, "p"): "e",
        (6, "p"): "F",
    }
    assert len(rows_of(table.df())) == 7
    assert stored(spark, table) == [1, 1, 2, 3, 4, 5, 6]
    again = table.repairs.merge_duplicates()
    assert (again.keys, again.instant) == (0, None)
    write(spark, path, [(1, "new", 9, "p"), (2, "new", 9, "p")], **options)
    assert [row[1] for row in rows_of(table.df()) if row[0] in (1, 2)] == ["new", "q", "new"]


@pytest.mark.parametrize("kind", [COW, MOR])
def test_a_repaired_row_made_of_several_duplicates_is_written_in_the_place_of_the_newest(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "t"
    payload = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
    options = {TYPE: kind, ORDERING: "ts", "hoodie.datasource.write.payload.class": payload}
    columns = "id int, a string, b string, ts bigint"
    for row in [(1, "a", None, 1), (1, None, "b", 2), (1, None, None, 3)]:
        write(spark, path, [row, (row[3] + 10, "x", "y", 1)], columns, **options, **NEW_FILES)
    table = Table.load(spark, str(path))
    preview = table.services.dry_run("repair_duplicates")
    few = table.services.dry_run("repair_duplicates", rows=1)
    assert len(few.rows) == 1
    assert few.row_counts == preview.row_counts == {"delete": 3, "insert": 1}
    assert (few.rows_before, few.rows_after, few.counts) == (3, 1, {})
    (winner,) = (copy for copy in preview.rows if copy.after)
    assert (winner.before, winner.after) == (None, {"id": 1, "a": "a", "b": "b", "ts": 3})
    assert table.repairs.merge_duplicates().rows == 3
    assert rows_of(table.df())[0] == (1, "a", "b", 3)
    assert stored(spark, table) == [1, 11, 12, 13]


@pytest.mark.parametrize("kind", [COW, MOR])
def test_a_repair_moves_keys_into_their_bucket_and_removes_emptied_file_groups(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "t"
    options = {TYPE: kind, ORDERING: "ts", INDEX: "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
    write(spark, path, [(i, "first", 1, "p") for i in range(8)], **options)
    write(spark, path, [(0, "first", 20, "p")], **options)
    # As if other writers had two buckets: half of the keys are in buckets that they do not look for.
    two = {key: value for key, value in properties(path).items() if not key.endswith("checksum")}
    two["hoodie.bucket.index.num.buckets"] = "2"
    file = tmp_path / "two.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in two.items()))
    spark.sql(f"CALL repair_overwrite_hoodie_props(path => '{path}', new_props_file_path => '{file}')").collect()
    table = Table.load(spark, str(path))
    write(spark, path, [(i, "copy", 10, "p") for i in range(8)])
    before = rows_of(table.df())
    moved = table.services.dry_run("repair_duplicates")
    assert moved.rows_after
    assert rows_of(table.df()) == before
    assert table.repairs.merge_duplicates().keys == moved.rows_after
    expected = [(0, "first", 20, "p")] + [(i, "copy", 10, "p") for i in range(1, 8)]
    assert rows_of(table.df()) == expected
    assert {slice.file_id[:8] for slice in table.inspect.file_slices()} == {"00000000", "00000001"}
    assert stored(spark, table) == list(range(8))
    assert table.repairs.merge_duplicates().keys == 0
    write(spark, path, [(i, "new", 30, "p") for i in range(8)])
    assert rows_of(table.df()) == [(i, "new", 30, "p") for i in range(8)]


@pytest.mark.parametrize("kind", [COW, MOR])
def test_a_repair_under_a_global_index_merges_duplicates_across_partitions(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "t"
    options = {TYPE: kind, ORDERING: "ts", PARTITION: "part", INDEX: "GLOBAL_SIMPLE"}
    write(spark, path, [(1, "a", 1, "p"), (2, "b", 1, "p"), (3, "c", 1, "p")], **options, **NEW_FILES)
    write(spark, path, [(3, "C", 2, "p")], **options)
    write(spark, path, [(1, "A", 3, "q"), (2, "B", 0, "q"), (3, "x", 1, "q")], **options, **NEW_FILES)
    table = Table.load(spark, str(path))
    assert table.repairs.merge_duplicates("p").keys == 0
    assert table.repairs.merge_duplicates().rows == 6
    assert rows_of(table.df()) == [(1, "A", 3, "q"), (2, "b", 1, "p"), (3, "C", 2, "p")]
    assert stored(spark, table) == [1, 2, 3]


def test_a_repair_merges_duplicates_by_a_custom_merger(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    own = {
        "hoodie.write.record.merge.mode": "CUSTOM",
        "hoodie.write.record.merge.strategy.id": "2da6ba2d-6b9e-4a8c-b948-54daf8ca5a10",
        "hoodie.write.record.merge.custom.implementation.classes": "io.merganser.conformance.KeepFirst",
    }
    for rows in [[(1, "first", 1, "p"), (2, "first", 1, "p")], [(1, "later", 2, "p")], [(2, "later", 3, "p")]]:
        write(spark, path, rows, **own, **NEW_FILES)
    table = Table.load(spark, str(path))
    assert table.repairs.merge_duplicates(options=own).keys == 2
    found = load(spark, path, **own).select("id", "name")
    assert rows_of(found) == [(1, "first"), (2, "first")]


def test_a_repair_beside_writers_merges_all_duplicates_and_loses_no_row(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    several = {
        TYPE: MOR,
        ORDERING: "ts",
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
        "hoodie.write.num.retries.on.conflict.failures": "20",
    }
    write(spark, path, [(i, "first", 1, "p") for i in range(4)], **several, **NEW_FILES)
    write(spark, path, [(i, "copy", 2, "p") for i in range(2)], **several, **NEW_FILES)
    table = Table.load(spark, str(path))
    failures: list[BaseException] = []

    def upserts() -> None:
        try:
            session = spark.newSession()
            for n in range(4):
                write(session, path, [(3, f"update {n}", 10 + n, "p"), (10 + n, "new", 1, "p")], **several)
        except BaseException as error:
            failures.append(error)

    writer = threading.Thread(target=upserts)
    writer.start()
    done = table.repairs.merge_duplicates(options=several)
    writer.join(120)
    assert not failures
    assert done.keys == 2
    expected = [(0, "copy"), (1, "copy"), (2, "first"), (3, "update 3"), *((10 + n, "new") for n in range(4))]
    assert sorted(row[:2] for row in rows_of(table.df())) == expected
    assert table.repairs.merge_duplicates(options=several).keys == 0


def test_a_repair_of_a_keyless_table_or_unknown_partition_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    save(frame(spark, [(1, "a")], "id int, name string"), tmp_path / "keyless", {})
    keyless = Table.load(spark, str(tmp_path / "keyless"))
    with pytest.raises(merganser.MerganserError, match="DUPLICATES_WITHOUT_KEYS"):
        keyless.repairs.merge_duplicates()
    write(spark, tmp_path / "t", [(1, "a", 1, "p")], **{PARTITION: "part"})
    table = Table.load(spark, str(tmp_path / "t"))
    with pytest.raises(merganser.MerganserError, match=r"PARTITIONS_NOT_FOUND.*'x'"):
        table.repairs.merge_duplicates("x")
    with pytest.raises(merganser.MerganserError, match=r"CALL_ARGUMENT_INVALID.*repaired_output_path"):
        spark.sql(f"CALL repair_deduplicate(path => '{table.path}', repaired_output_path => '/tmp/x')").collect()


def test_remove_orphan_files_lists_orphans_by_age_and_removes_them(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark, path, [(1, "a", 1, "p"), (2, "b", 1, "q")], **{PARTITION: "part"})
    table = Table.load(spark, str(path))
    (base,) = (path / "p").glob("*.parquet")
    orphan = base.with_name(re.sub(r"_\d{17}", "_29990101000000000", base.name))
    shutil.copy(base, orphan)
    assert table.repairs.remove_orphan_files() == []
    now = datetime.now(timezone.utc) + timedelta(seconds=5)
    (step,) = table.services.dry_run("remove_orphans", older_than=now)
    assert step.item.endswith(orphan.name)
    assert step.bytes == base.stat().st_size
    sql = f"CALL show_orphan_files(path => '{path}', older_than => '{now.isoformat()}')"
    (row,) = spark.sql(sql).collect()
    assert row.orphan_file_location.endswith(step.item)
    (found,) = table.repairs.remove_orphan_files(older_than=now, backup_path=tmp_path / "backup")
    assert found.path == row.orphan_file_location
    assert abs(found.modified_at - now) < timedelta(minutes=5)
    assert found.instant == "29990101000000000"
    assert not orphan.exists()
    assert (tmp_path / "backup" / "p" / orphan.name).exists()
    assert len(rows_of(load(spark, path))) == 2
    with pytest.raises(merganser.MerganserError, match="CALL_ARGUMENT_TYPE"):
        spark.sql(f"CALL show_orphan_files(path => '{path}', older_than => 'yesterday, maybe')").collect()


def test_partition_metadata_is_added_and_migrated(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = [(1, "a", 1, "p"), (2, "b", 1, "q")]
    write(spark, path, rows, **{PARTITION: "part"})
    (path / "p" / ".hoodie_partition_metadata").unlink()
    for use in (lambda: rows_of(load(spark, path)), lambda: write(spark, path, [(1, "c", 2, "p")])):
        with pytest.raises(merganser.MerganserError, match="PARTITION_METADATA_MISSING"):
            use()
    table = Table.load(spark, str(path))
    assert [step.partition_path for step in table.services.dry_run("repair_partitions")] == ["p"]
    assert [f.path for f in table.repairs.add_partition_metadata() if f.repaired] == ["p"]
    call = f"CALL repair_migrate_partition_meta(path => '{path}', dry_run => false)"
    assert [tuple(row) for row in spark.sql(call).collect()] == [
        ("p", "true", "false", "MIGRATED"),
        ("q", "true", "false", "MIGRATED"),
    ]
    assert not list(path.glob("*/.hoodie_partition_metadata"))
    assert rows_of(load(spark, path)) == rows
    assert spark.sql(f"CALL repair_corrupted_clean_files(path => '{path}')").first()[0] is True
    assert spark.sql(f"CALL show_invalid_parquet(path => '{path}')").collect() == []
    (base,) = (file for file in (path / "p").glob("*.parquet") if not file.name.startswith("."))
    base.write_bytes(b"x" * base.stat().st_size)
    (invalid,) = spark.sql(f"CALL show_invalid_parquet(path => '{path}')").collect()
    assert invalid[0].endswith(base.name)


@pytest.mark.parametrize("version", ["6", "9"])
def test_lost_properties_are_recreated_and_wrong_ones_refused(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    path = tmp_path / "t"
    write(spark, path, [(1, "a", 1, "p")], **{PARTITION: "part", ORDERING: "ts", "hoodie.write.table.version": version})
    before = properties(path)
    (path / ".hoodie" / "hoodie.properties").unlink()
    for crc in (path / ".hoodie").glob(".hoodie.properties*.crc"):
        crc.unlink()
    named = {"hoodie.table.partition.fields": "part", "hoodie.table.ordering.fields": "ts", "hoodie.table.name": "t"}
    with pytest.raises(merganser.MerganserError, match="PROPERTY_REQUIRED"):
        merganser.repair_properties(spark, path, properties=named)
    named["hoodie.table.version"] = version
    with pytest.raises(merganser.MerganserError, match=r"PROPERTIES_CONTRADICT_DATA.*recordkey.*'name'.*key '1'"):
        merganser.repair_properties(spark, path, properties={**named, "hoodie.table.recordkey.fields": "name"})
    named["hoodie.table.recordkey.fields"] = "id"
    unordered = {key: value for key, value in named.items() if "ordering" not in key}
    with pytest.raises(merganser.MerganserError, match=r"PROPERTIES_CONTRADICT_DATA.*ordering.*written with 'ts'"):
        merganser.repair_properties(spark, path, properties=unordered)
    assert merganser.repair_properties(spark, path, properties=named, dry_run=True)
    assert not (path / ".hoodie" / "hoodie.properties").exists()
    merganser.repair_properties(spark, path, properties=named)
    assert properties(path) == before
    write(spark, path, [(1, "b", 2, "p")])
    assert rows_of(load(spark, path)) == [(1, "b", 2, "p")]
    file = tmp_path / "new.properties"
    file.write_text((path / ".hoodie" / "hoodie.properties").read_text() + "owner.of.table=me\n")
    call = f"CALL repair_overwrite_hoodie_props(path => '{path}', new_props_file_path => '{file}')"
    changed = [tuple(row) for row in spark.sql(call).collect() if row.old_value != row.new_value]
    assert changed == [("owner.of.table", None, "me")]
    file.write_text("hoodie.table.name=t\n")
    with pytest.raises(merganser.MerganserError, match="TABLE_VERSION_UNKNOWN"):
        merganser.repair_properties(spark, path, properties={"hoodie.table.version": "7"})
    assert properties(path)["owner.of.table"] == "me"


def test_repairs_over_connect_statements_return_the_same_results(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    for name in ("a", "b"):
        write(spark, path, [(1, name, 1, "p")], **{PARTITION: "part"}, **NEW_FILES)
    direct = Table.load(spark, str(path))
    client = Table(spark, Statements(spark), direct._info)
    now = datetime.now(timezone.utc) + timedelta(seconds=5)
    assert client.services.dry_run("repair_duplicates") == direct.services.dry_run("repair_duplicates")
    assert client.repairs.merge_duplicates("p").rows == 2
    assert (
        client.repairs.remove_orphan_files(older_than=now) == direct.repairs.remove_orphan_files(older_than=now) == []
    )
    assert client.repairs.add_partition_metadata() == direct.repairs.add_partition_metadata()


def test_the_repair_snippets_print_what_the_page_shows(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    (python,), (sql,) = (snippets(PAGE, language, SECTION) for language in ("python", "sql"))
    names: dict[str, object] = {}
    exec(compile(python, PAGE, "exec"), names)
    printed = re.search(r"It prints `([^`]*)`", page_text(PAGE, SECTION))
    assert printed is not None
    assert capsys.readouterr().out.splitlines()[-1] == printed[1]
    for statement in filter(str.strip, sql.replace("{path}", str(names["path"])).split(";")):
        spark.sql(statement).collect()
