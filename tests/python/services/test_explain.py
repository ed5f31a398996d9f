"""Why a record is what it is: versions, decisions, origins, and the files that are read; docs/before-and-after.md."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as Xml
from pathlib import Path
from typing import Any

import pytest
from frames import frame, refusal, save
from option_names import BUCKETS, COW, INDEX, KEY, MOR, OPERATION, ORDERING, PARTITION, TYPE
from places import ROOT
from pyspark.sql import SparkSession
from snippets import snippets

import merganser
from merganser import Table

PAGE, SECTION = "docs/before-and-after.md", "Explanation of a record"
COLUMNS = "id int, name string, ts bigint, part string"


def write(spark: SparkSession, path: Path, rows: list[Any], **options: str) -> None:
    save(frame(spark, rows, COLUMNS), path, {KEY: "id", ORDERING: "ts", **options})


def decisions(table: Table, key: Any, **arguments: Any) -> list[str]:
    return [version.decision for version in table.inspect.explain(key, **arguments).versions]


def damage_all_but(folder: Path, kept: list[str]) -> int:
    """Overwrite every base file but these with bytes that are no Parquet file; how many there were."""
    others = [file for file in folder.rglob("*.parquet") if file.name not in kept and ".hoodie" not in file.parts]
    for file in others:
        file.write_bytes(b"x" * file.stat().st_size)
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    return len(others)


def drawn(picture: str) -> str:
    """A picture without the instants in it."""
    return re.sub(r"\d{17}", "instant", picture)


def test_the_explain_snippets_print_the_reason_of_a_late_version(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    (python,) = snippets(PAGE, "python", SECTION)
    exec(compile(python, PAGE, "exec"), names)
    printed = capsys.readouterr().out
    assert printed.endswith("{'ts': 6} {'ts': 7}\n")
    assert 'lost      id=1, status="late"' in printed
    assert "next compaction: the row of commit" in printed
    why = names["why"]
    assert [version.decision for version in why.versions] == ["won", "won", "lost"]
    assert why.rows == [{"id": 1, "status": "paid", "note": None, "ts": 7}]
    assert why.versions[1].origins["status"].commit == why.versions[1].commit
    assert why.to_dict()["versions"][2]["reason"].endswith('{"ts":6} against {"ts":7}, by EVENT_TIME_ORDERING')
    picture = why._repr_html_()
    svg = re.findall(r"<svg.*?</svg>", picture)
    assert len(svg) == 1
    assert len(Xml.fromstring(svg[0]).findall(".//{*}circle")) == 3
    assert drawn(svg[0]) == drawn((ROOT / "docs" / "images" / "explain.svg").read_text().strip())
    (sql,) = snippets(PAGE, "sql", SECTION)
    whole, filtered = (spark.sql(text) for text in sql.replace("{path}", names["path"]).split(";") if text.strip())
    assert [row["decision"] for row in whole.collect()] == ["won", "won", "lost"]
    assert filtered.count() == 3
    assert names["table"].inspect.explain_df(1).columns == whole.columns


# Guarantee (Counts, dry runs and explanations): The explanation of a record opens only files that can hold its key.
#   Also: test_explain_opens_only_files_whose_range_and_filter_may_have_the_key, RecordHistorySuite
@pytest.mark.parametrize("kind", [COW, MOR])
def test_explain_finds_a_key_in_its_bucket_and_opens_no_other_file(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "t"
    options = {TYPE: kind, PARTITION: "part", INDEX: "BUCKET", BUCKETS: "20"}
    write(
        spark, path, [(i, "a", 1, part) for i in range(100) for part in "pq"], **options, **{OPERATION: "bulk_insert"}
    )
    write(spark, path, [(7, "b", 2, "p")], **options)
    table = Table.load(spark, str(path))
    why = table.inspect.explain({"id": 7, "part": "p"})
    assert [version.decision for version in why.versions] == ["won", "won"]
    assert (why.searched.partitions, why.searched.candidates) == (1, 1)
    assert why.searched.footers == (2 if kind == COW else 1)
    used = [version.file for version in why.versions if version.file]
    assert damage_all_but(path, used) > 30
    again = table.inspect.explain({"id": 7, "part": "p"})
    assert again == why
    assert table.inspect.explain(7, partition="p").rows == [{"id": 7, "name": "b", "ts": 2, "part": "p"}]


def test_explain_opens_only_files_whose_range_and_filter_may_have_the_key(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = {TYPE: MOR, INDEX: "BLOOM", PARTITION: "part"}
    write(spark, path, [(i, "a", 1, f"p{i % 100 // 10}") for i in range(1000, 1100)], **options)
    write(spark, path, [(1050, "late", 0, "p5")], **options)
    table = Table.load(spark, str(path))
    why = table.inspect.explain(1050)
    assert [version.decision for version in why.versions] == ["won", "lost"]
    assert why.searched.footers == why.searched.file_groups == 10
    assert (why.searched.base_files, why.searched.log_files) == (1, 1)
    missing = table.inspect.explain(5)
    assert (missing.found, missing.rows, missing.searched.base_files) == (False, [], 0)
    assert str(missing) == "key '5': no version is retained"
    assert missing.to_string().startswith(f"{missing}\nsearched 10 partitions")
    assert "no version is retained" in missing._repr_html_()
    (row,) = spark.sql(f"CALL explain_record(path => '{path}', key => '5')").collect()
    assert row["decision"] == "not found"
    assert row["reason"].startswith("no version of the key is retained: searched 10 partitions with")


def test_explain_shows_replaced_file_groups_until_they_are_cleaned(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark, path, [(1, "a", 1, "p"), (2, "b", 1, "p")])
    write(spark, path, [(1, "c", 2, "p")], **{OPERATION: "insert_overwrite_table"})
    table = Table.load(spark, str(path))
    assert decisions(table, 1) == ["won", "replaced", "won"]
    assert decisions(table, 2) == ["won", "replaced"]
    assert table.inspect.explain(2).rows == []
    table.clean(options={"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"})
    assert decisions(table, 2) == []


def test_explain_takes_composite_keys_as_tuples_dicts_or_strings(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    schema = "region string, day date, n bigint"
    table = Table.create(spark, path, schema, record_key=["region", "day"])
    table.upsert(spark.sql("SELECT 'eu' region, DATE'2026-01-31' day, 1L n"))
    by_name = table.inspect.explain({"day": "2026-01-31", "region": "eu"})
    assert by_name.key == "region:eu,day:2026-01-31"
    assert by_name.found
    for key in (("eu", "2026-01-31"), "region:eu,day:2026-01-31", json.dumps({"region": "eu", "day": "2026-01-31"})):
        wire = key if isinstance(key, (tuple, str)) and not str(key).startswith("{") else json.loads(str(key))
        assert table.inspect.explain(wire) == by_name
    error = refusal(lambda: table.inspect.explain({"region": "eu"}))
    assert error.condition == "CALL_ARGUMENT_INVALID"
    assert "no value of day" in str(error)
    assert "no key column n" in str(refusal(lambda: table.inspect.explain({"region": "eu", "day": None, "n": 1})))
    assert "'x' is no DATE for day" in str(refusal(lambda: table.inspect.explain(("eu", "x"))))
    with pytest.raises(TypeError, match="a tuple of values, a dict or a string"):
        table.inspect.explain(["eu"])  # type: ignore[arg-type]


def test_explain_marks_duplicates_of_a_key_and_shows_both_partitions_rows(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(
        spark,
        path,
        [(1, "a", 1, "p"), (1, "b", 2, "p"), (1, "c", 1, "q")],
        **{PARTITION: "part", OPERATION: "bulk_insert", "hoodie.combine.before.insert": "false"},
    )
    table = Table.load(spark, str(path))
    assert sorted(decisions(table, 1)) == ["duplicate", "won", "won"]
    assert len(table.inspect.explain(1).rows) == 2
    assert decisions(table, 1, partition="q") == ["won"]
    assert decisions(table, 1, partition="no") == []
    assert merganser.RecordExplanation is type(table.inspect.explain(1))
