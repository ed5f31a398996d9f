# Guarantee (Counts, dry runs and explanations): A verification names each kind of damage, and finds nothing in
#   undamaged tables, ours or Hudi's. Also: RowChecksSuite, WholePathSuite
"""Verification of tables: each kind of damage is found by name, and tables without damage have none; operating.md."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from frames import frame, save
from option_names import BUCKETS, COW, INDEX, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from places import TESTS
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from snippets import snippets

import merganser
from merganser import Table, VerifyResult
from merganser.cli import main

PAGE, SECTION = "docs/operating.md", "Verification"
COLUMNS = "id int, name string, ts bigint, part string"
AGAIN = {OPERATION: "bulk_insert", "hoodie.combine.before.insert": "false"}


def write(spark: SparkSession, path: Path, rows: list[Any], **options: str) -> Table:
    save(frame(spark, rows, COLUMNS), path, {KEY: "id", ORDERING: "ts", PARTITION: "part", **options})
    return Table.load(spark, str(path))


def kinds(result: VerifyResult) -> dict[str, int]:
    """The problems of each check that found one."""
    found: dict[str, int] = {}
    for problem in result.problems:
        found[problem.check] = found.get(problem.check, 0) + problem.problems
    return found


def base_files(path: Path, part: str) -> list[Path]:
    return sorted((path / part).glob("*.parquet"))


def replace(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def rewrite(spark: SparkSession, file: Path, folder: Path, change: Any) -> None:
    """Replace a base file by one with changed rows, as a careless tool does."""
    rows: DataFrame = change(spark.read.parquet(str(file)))
    rows.coalesce(1).write.parquet(str(folder))
    (made,) = folder.glob("*.parquet")
    replace(file, made.read_bytes())


@pytest.mark.parametrize("options", [{TYPE: COW}, {TYPE: MOR, INDEX: "BUCKET", BUCKETS: "2"}, {TYPE: MOR}])
def test_verify_finds_no_problem_after_writes_deletes_and_compactions(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    path = tmp_path / "t"
    write(spark, path, [(i, "a", 1, part) for i in range(30) for part in "pq"], **options)
    write(spark, path, [(1, "b", 2, "p"), (2, "late", 0, "p"), (3, "tie", 1, "q")], **options)
    table = write(spark, path, [(4, "c", 2, "p")], **options, **{OPERATION: "delete"})
    result = table.inspect.verify()
    assert result.ok, result.to_string()
    assert (result.file_groups_examined, result.sample) == (result.file_groups, None)
    if options[TYPE] == MOR:
        table.compact()
        write(spark, path, [(5, "d", 2, "p")], **options)
        assert table.inspect.verify()
    assert main(["verify", str(path), "--json"]) == 0


@pytest.mark.parametrize(
    "name", ["cow_partitioned_hive", "cow_timestamp_partition", "mor_v6", "mor_bucket", "mor_partial_merge"]
)
def test_verify_finds_no_problem_in_a_table_of_hudi(spark: SparkSession, tmp_path: Path, name: str) -> None:
    shutil.copytree(TESTS / "golden" / name / "table", tmp_path / "t")
    result = Table.load(spark, str(tmp_path / "t")).inspect.verify()
    assert result.ok, result.to_string()
    assert result.file_groups_examined > 0


def test_verify_finds_uncommitted_missing_and_unreadable_files(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = write(spark, path, [(1, "a", 1, part) for part in "pqrs"])
    (orphan,) = base_files(path, "p")
    copy = orphan.parent / ("0a1b2c3d-0000-4000-8000-0123456789ab-0" + orphan.name[orphan.name.index("_") :])
    shutil.copy(orphan, copy)
    (gone,), (garbage,) = base_files(path, "q"), base_files(path, "r")
    gone.unlink()
    replace(garbage, b"x" * garbage.stat().st_size)
    (path / "s" / ".hoodie_partition_metadata").unlink()
    result = table.inspect.verify()
    assert kinds(result) == {"uncommitted_file": 1, "missing_file": 1, "unreadable_file": 1, "partition_metadata": 1}
    by_check = {problem.check: problem for problem in result.problems}
    assert by_check["uncommitted_file"].file == f"p/{copy.name}"
    assert gone.name in by_check["missing_file"].detail
    assert garbage.name in by_check["unreadable_file"].detail
    assert by_check["partition_metadata"].partition_path == "s"
    for check in ("uncommitted_file", "partition_metadata"):
        spark.sql(by_check[check].remedy).collect()
    assert set(kinds(table.inspect.verify())) == {"missing_file", "unreadable_file"}


def test_verify_finds_an_unreadable_commit(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark, path, [(1, "a", 1, part) for part in "pq"])
    table = write(spark, path, [(1, "b", 2, "p")])
    oldest = min((path / ".hoodie" / "timeline").glob("*.commit"))
    replace(oldest, b"garbage")
    result = table.inspect.verify()
    assert set(kinds(result)) == {"unreadable_file"}
    assert oldest.name in result.to_string()


def test_verify_finds_duplicate_keys_and_its_remedy_repairs_them(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark, path, [(1, "a", 1, "p"), (2, "b", 1, "p"), (3, "c", 1, "p")], **AGAIN)
    table = write(spark, path, [(1, "c", 2, "p"), (3, "q", 1, "q")], **AGAIN)
    (problem,) = table.inspect.verify().problems
    assert (problem.check, problem.problems, problem.partition_path, problem.key) == ("duplicate_key", 1, "p", "1")
    spark.sql(problem.remedy).collect()
    assert table.inspect.verify()
    whole = {INDEX: "GLOBAL_SIMPLE", **AGAIN}
    write(spark, tmp_path / "u", [(1, "a", 1, "p"), (2, "b", 1, "p"), (3, "c", 1, "p")], **whole)
    (of_table,) = write(spark, tmp_path / "u", [(1, "c", 2, "p"), (3, "q", 1, "q")], **whole).inspect.verify().problems
    assert (of_table.check, of_table.problems) == ("duplicate_key", 2)
    assert of_table.detail.endswith("in the table: 1, 3")


def test_verify_finds_misplaced_rows_and_rows_without_a_key(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = {INDEX: "BUCKET", BUCKETS: "2"}
    table = write(spark, path, [(i, "a", 1, part) for i in range(20) for part in "pq"], **options)
    zero, one = base_files(path, "p")
    replace(one, zero.read_bytes())
    found = kinds(table.inspect.verify())
    assert found["other_bucket"] == found["meta_columns"] > 0
    assert "other_partition" not in found
    misplaced = next(problem for problem in table.inspect.verify().problems if problem.check == "other_bucket")
    assert "repair_deduplicate" in misplaced.remedy
    table = write(spark, tmp_path / "u", [(i, "a", 1, part) for i in range(5) for part in "pq"])
    (ours,), (theirs,) = base_files(tmp_path / "u", "p"), base_files(tmp_path / "u", "q")
    replace(ours, theirs.read_bytes())
    found = kinds(table.inspect.verify())
    assert (found["other_partition"], found["meta_columns"]) == (5, 10)
    nulled = f.when(f.col("id") == 3, None).otherwise(f.col("_hoodie_record_key"))
    rewrite(spark, theirs, tmp_path / "made", lambda rows: rows.withColumn("_hoodie_record_key", nulled).limit(4))
    found = kinds(table.inspect.verify())
    assert found["null_key"] == 1
    assert found["record_count"] == 1


def test_verify_finds_rows_whose_key_columns_contradict_their_key(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = write(spark, path, [(i, "a", 1, "p") for i in range(5)], **{TYPE: MOR})
    write(spark, path, [(1, "b", 2, "p")])
    (base,) = base_files(path, "p")
    other = f.when(f.col("id") == 3, None).when(f.col("id") == 4, 7).otherwise(f.col("id"))
    rewrite(spark, base, tmp_path / "made", lambda rows: rows.withColumn("id", other))
    assert kinds(table.inspect.verify())["other_key"] == 2
    nulled = f.when(f.col("_hoodie_record_key") == "0", None).otherwise(f.col("_hoodie_record_key"))
    rewrite(spark, base, tmp_path / "again", lambda rows: rows.withColumn("_hoodie_record_key", nulled))
    found = kinds(table.inspect.verify())
    assert (found["null_key"], found["other_key"]) == (1, 2)


def test_verify_examines_a_sample_and_returns_its_file_groups(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = write(spark, path, [(i, "a", 1, "p") for i in range(40)], **{INDEX: "BUCKET", BUCKETS: "8"})
    result = table.inspect.verify(sample=3)
    assert (result.file_groups_examined, result.file_groups) == (3, 8)
    assert result.sample is not None
    assert len(result.sample) == 3
    assert all(name.startswith("p/0000000") for name in result.sample)
    assert table.inspect.verify(sample=3).sample == result.sample
    with pytest.raises(merganser.MerganserError, match="CALL_ARGUMENT_INVALID"):
        table.inspect.verify(sample=0)


def test_the_verify_snippets_run_and_the_command_exits_with_1_on_problems(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    (python,), (sql,) = (snippets(PAGE, language, SECTION) for language in ("python", "sql"))
    exec(compile(python, PAGE, "exec"), names)
    printed = capsys.readouterr().out
    assert "duplicate_key: 1 in the table, such as key 'a'" in printed
    assert printed.endswith("True\n")
    result = names["result"]
    assert json.dumps(result.to_dict())
    assert "duplicate_key" in result._repr_html_()
    whole, wrong = (spark.sql(text) for text in sql.replace("{path}", names["path"]).split(";") if text.strip())
    assert [row["check"] for row in whole.collect()] == ["file_groups", *result.checks]
    assert wrong.collect() == []
    path = tmp_path / "t"
    write(spark, path, [(1, "a", 1, "p")], **AGAIN)
    write(spark, path, [(1, "b", 1, "p")], **AGAIN)
    capsys.readouterr()
    assert main(["verify", str(path), "--json", "--sample", "5"]) == 1
    groups, problem = json.loads(capsys.readouterr().out)
    assert (groups["check"], groups["examined"], problem["check"], problem["key"]) == (
        "file_groups",
        2,
        "duplicate_key",
        "1",
    )


def test_verify_compares_older_slices_with_their_compaction(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = write(spark, path, [(1, "a", 1, "p"), (2, "a", 1, "p")], **{TYPE: MOR})
    table = write(spark, path, [(1, "b", 2, "p"), (2, "late", 0, "p")])
    table.compact()
    result = table.inspect.verify()
    assert result.ok
    assert "the logs of 1 older file slices were merged again" in result.detail
    compacted = max(base_files(path, "p"), key=lambda file: file.stem.rpartition("_")[2])  # by its instant
    other = f.when(f.col("id") == 1, "lost").otherwise(f.col("name"))
    rewrite(spark, compacted, tmp_path / "made", lambda rows: rows.withColumn("name", other))
    (problem,) = (problem for problem in table.inspect.verify().problems if problem.check == "replay")
    assert problem.key == "1"
    assert "the compaction 2" in problem.detail


@pytest.mark.parametrize("version", ["6", "8", "9"])
def test_verify_does_not_compare_a_saved_slice_with_a_later_slices_compaction(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    path = tmp_path / "t"
    options = {TYPE: MOR, "hoodie.write.table.version": version, "hoodie.clean.automatic": "false"}
    table = write(spark, path, [(1, "a", 1, "p"), (2, "a", 1, "p")], **options)
    table.compact()
    write(spark, path, [(2, "b", 2, "p")])
    table.savepoints.create()
    write(spark, path, [(1, "b", 2, "p")])
    table.compact()
    write(spark, path, [(3, "c", 3, "p")])
    table.compact()
    for ts in (4, 5):
        write(spark, path, [(2, "d", ts, "p")])
        table.compact()
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    result = table.inspect.verify()
    assert result.ok, result.problems
    assert "1 of these were not compared with the next compaction" in result.detail


def test_verify_with_repair_fixes_duplicates_and_uncommitted_files(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t"
    write(spark, path, [(1, "a", 1, "p")], **AGAIN)
    table = write(spark, path, [(1, "b", 2, "p")], **AGAIN)
    (base,) = base_files(path, "p")[:1]
    replace(path / "p" / base.name.replace(base.name[:4], "ffff", 1), base.read_bytes())
    assert set(kinds(table.inspect.verify())) == {"duplicate_key", "uncommitted_file"}
    result = table.inspect.verify(repair=True)
    assert result.ok
    assert "repaired: uncommitted_file, duplicate_key" in result.detail
    assert table.df().select("id", "name").collect() == [(1, "b")]
    write(spark, path, [(1, "c", 3, "p")], **AGAIN)
    capsys.readouterr()
    assert main(["verify", str(path), "--repair"]) == 0
