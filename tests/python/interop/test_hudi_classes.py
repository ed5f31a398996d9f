"""Payload classes and mergers that were compiled against Hudi run unchanged, in a session that has Hudi's jar too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyspark
import pytest
from places import ROOT, TESTS
from pyspark.sql import SparkSession

from merganser import MerganserError

SOURCES = TESTS / "interop" / "hudi_classes"
OF_1_0 = SOURCES / "of_1_0"
HUDI = os.environ.get("MERGANSER_HUDI_JAR", "")
SPARK_JARS = Path(pyspark.__file__).parent / "jars"
MODELS = "org.apache.hudi.common.model."
CLASSES = "hoodie.write.record.merge.custom.implementation.classes"

COLUMNS = "id int, name string, price double, ts bigint"
MARKED = COLUMNS + ", _hoodie_is_deleted boolean"
TABLE = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.table.ordering.fields": "ts",
}
#: The first writer and the type of each table that a class is tried on; all of them with MERGANSER_FULL=1.
FULL = bool(os.environ.get("MERGANSER_FULL"))
OURS_ALONE = [*([["merganser", "COPY_ON_WRITE"]] if FULL else []), ["merganser", "MERGE_ON_READ"]]
FEW = {"tables": [["hudi", "COPY_ON_WRITE"], ["merganser", "MERGE_ON_READ"]]}

#: By the interface of 1.1 and of 1.0.
STRATEGIES = ("7d4b0b52-6a0a-4be0-95f8-3a4c7b5c1f01", "7d4b0b52-6a0a-4be0-95f8-3a4c7b5c1f02")

SALES = [
    ["upsert", [[1, "a", 5.0, 1], [2, "a", 1.0, 1], [2, "b", 2.0, 2], [3, "a", 3.0, 5], [4, "a", 4.0, 1]]],
    ["upsert", [[1, "b", 7.0, 2], [2, "gone", 0.0, 3], [3, "late", 1.0, 4], [4, "ignored", 100.0, 2]]],
    ["upsert", [[1, "c", 1.0, 1], [2, "again", 9.0, 4], [5, "new", 1.0, 1]]],
]
DELETES = [
    [
        "upsert",
        [
            [1, "a", 5.0, 1, False],
            [2, "a", 1.0, 2, False],
            [3, "a", 3.0, 5, False],
            [4, "frozen", 4.0, 1, None],
            [6, "a", 1.0, 1, False],
        ],
    ],
    [
        "upsert",
        [[1, "b", None, 2, False], [2, "late", 0.0, 1, False], [3, "x", 1.0, 4, True], [4, "x", 100.0, 2, False],
         [6, "x", 1.0, 3, True]],
    ],
    ["upsert", [[1, "c", None, 1, False], [5, "new", 1.0, 1, False], [6, "again", 2.0, 2, False]]],
]  # fmt: skip


def by_payload(name: str) -> dict[str, str]:
    return {**TABLE, "hoodie.datasource.write.payload.class": name}


def by_merger(strategy: str) -> dict[str, str]:
    return {**TABLE, "hoodie.write.record.merge.mode": "CUSTOM", "hoodie.write.record.merge.strategy.id": strategy}


def plan(
    options: Mapping[str, str],
    merger: str = "",
    *,
    marked: bool = False,
    ours_alone: bool = False,
    every_table: bool = False,
) -> Any:
    return {
        "schema": MARKED if marked else COLUMNS,
        "options": options,
        "read": {CLASSES: merger} if merger else {},
        "batches": DELETES if marked else SALES,
        **({"tables": OURS_ALONE, "hudi reads": False} if ours_alone else {} if every_table or FULL else FEW),
    }


PLANS = {
    "a payload": plan(by_payload("shop.SumPayload"), every_table=True),
    "a subclass of OverwriteWithLatestAvroPayload": plan(by_payload("shop.LatestKeepsPrice"), marked=True),
    "a subclass of DefaultHoodieRecordPayload": plan(by_payload("shop.ByEventTime"), marked=True),
    "a merger of Spark's rows": plan(by_merger(STRATEGIES[0]), "shop.MaxPriceSpark"),
    "HoodieAvroPayload": {**plan(by_payload(MODELS + "HoodieAvroPayload")), **FEW},
    "ReverseOrderHoodieRecordPayload": {**plan(by_payload(MODELS + "ReverseOrderHoodieRecordPayload")), **FEW},
    # Hudi 1.2 cannot run these: the first loses its record in a shuffle, it reads no table whose merger is for Avro
    # records, and the others have the interface of 1.0.
    "a payload that changes the stored record": plan(by_payload("shop.InPlacePayload"), ours_alone=True),
    "a merger of Avro records": plan(by_merger(STRATEGIES[0]), "shop.MaxPriceAvro", ours_alone=True),
    "a merger of Avro records and one of rows": plan(
        by_merger(STRATEGIES[0]), "shop.MaxPriceAvro,shop.MaxPriceSpark", ours_alone=True
    ),
    "a merger of partial rows": {
        **plan(
            {**by_merger(STRATEGIES[0]), "spark.merganser.write.missingColumns": "keep"},
            "shop.MaxPriceOfParts",
            ours_alone=True,
        ),
        "batches": [*SALES[:2], ["upsert", [[1, "part"]]]],
    },
    "a merger of Spark's rows for 1.0": plan(by_merger(STRATEGIES[1]), "shop.MaxPriceOldSpark", ours_alone=True),
    "a merger of Avro records for 1.0": plan(by_merger(STRATEGIES[1]), "shop.MaxPriceOldAvro", ours_alone=True),
}
BY_BOTH = [name for name, each in PLANS.items() if "hudi reads" not in each]

#: Hudi merges the versions in logs with each other first, and then with the base row: what a payload deletes in
#: between is then forgotten. A table without logs shows its rule.
FORGETS_DELETES = {("a payload", "MERGE_ON_READ"), ("a subclass of DefaultHoodieRecordPayload", "MERGE_ON_READ")}


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar of the classes, compiled against Hudi's: those for 1.0 against its interface, which is not in the jar."""
    assert HUDI, "MERGANSER_HUDI_JAR is not set"
    folder = tmp_path_factory.mktemp("classes")
    compile_java(folder / "found", HUDI, SOURCES.glob("*.java"))
    compile_java(folder / "found", HUDI, [*OF_1_0.glob("*.java"), *(OF_1_0 / "stubs").rglob("*.java")])
    shutil.rmtree(folder / "found" / "org")
    return packed(folder / "found")


def compile_java(folder: Path, hudi: str, files: Iterable[Path]) -> None:
    compiler = shutil.which("javac", path=f"{os.environ.get('JAVA_HOME', '')}/bin:{os.environ['PATH']}")
    assert compiler, "no javac"
    run([compiler, "-nowarn", "-d", str(folder), "-cp", f"{hudi}:{SPARK_JARS}/*", *map(str, files)])


def packed(folder: Path) -> Path:
    """The jar of a folder's classes, beside it."""
    return Path(shutil.make_archive(str(folder.parent / "shop"), "zip", folder)).rename(folder.parent / "shop.jar")


@pytest.fixture(scope="module")
def played(classes: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The histories of all classes, in one session."""
    return play(PLANS, tmp_path_factory.mktemp("both-jars"), HUDI, classes)


def play(plans: Mapping[str, Any], folder: Path, hudi: str, classes: Path) -> Any:
    """What both engines make of the histories in a session with a jar of Hudi and one of the classes."""
    (folder / "plan.json").write_text(json.dumps(plans))
    program = [sys.executable, "-m", "interop.both_jars", str(folder / "plan.json"), str(folder), f"{hudi},{classes}"]
    run(program, cwd=folder, limit_s=60 * len(plans) + 300)
    return json.loads((folder / "rows.json").read_text())


def run(command: list[str], cwd: Path | None = None, limit_s: int = 300) -> str:
    paths = os.pathsep.join([str(TESTS), str(ROOT / "python" / "src")])
    environment = {**os.environ, "PYTHONPATH": paths, "TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=limit_s)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return done.stdout


def rows(played: Any, name: str) -> dict[str, Any]:
    assert "error" not in played[name], "\n".join(played[name]["error"])
    return {key: each for key, each in played[name].items() if not key.endswith("stored")}


# Guarantee (Merge rules): Payload classes and mergers compiled against Hudi (0.9.0 to 1.2.0) run unchanged beside its
#   jar, and give the rows of its copy-on-write tables on every path. Also:
#   test_a_merger_of_avro_records_or_of_hudi_1_0_gives_the_same_rows_as_one_of_rows,
#   test_classes_compiled_against_an_older_release_run_beside_its_jar,
#   test_payloads_compiled_against_the_first_release_run_beside_the_jar_of_the_newest
@pytest.mark.sampled
@pytest.mark.parametrize("name", BY_BOTH)
def test_a_class_made_for_hudi_gives_hudis_rows_on_every_path_of_both_engines(played: Any, name: str) -> None:
    found = rows(played, name)
    expected = found["hudi COPY_ON_WRITE"]["hudi"]
    for place, readers in found.items():
        assert readers["merganser"] == expected, f"{place}, read by us"
        if (name, place.split(" ")[1]) not in FORGETS_DELETES or place.endswith("compacted"):
            assert readers["hudi"] == expected, f"{place}, read by Hudi"
    stored = [each for key, each in played[name].items() if key.endswith("stored")]
    assert all(each == stored[0] for each in stored)


def test_a_merger_of_avro_records_or_of_hudi_1_0_gives_the_same_rows_as_one_of_rows(played: Any) -> None:
    expected = rows(played, "a merger of Spark's rows")["hudi COPY_ON_WRITE"]["hudi"]
    for name in ("a merger of Avro records", "a merger of Avro records and one of rows"):
        for place, readers in rows(played, name).items():
            assert readers["merganser"] == expected, f"{name}: {place}"
    greatest = [[1, "b", 7.0, 2], [2, "again", 9.0, 4], [3, "a", 3.0, 5], [5, "new", 1.0, 1]]
    for name in ("a merger of Spark's rows for 1.0", "a merger of Avro records for 1.0"):
        for place, readers in rows(played, name).items():
            assert readers["merganser"] == greatest, f"{name}: {place}"


def test_a_merger_made_for_hudi_merges_partial_rows(played: Any) -> None:
    for place, readers in rows(played, "a merger of partial rows").items():
        assert readers["merganser"] == [[1, "part", 7.0, 2], [3, "late", 3.0, 5], [4, "ignored", 100.0, 2]], place


def test_changes_of_a_payload_to_the_stored_record_are_stored(played: Any) -> None:
    expected = [[1, "c", 5.0, 1], [2, "again", 2.0, 2], [3, "late", 3.0, 5], [4, "ignored", 4.0, 1], [5, "new", 1.0, 1]]
    for place, readers in rows(played, "a payload that changes the stored record").items():
        assert readers["merganser"] == expected, place


# Guarantee (Merge rules): Every payload class of Hudi 1.2.0 has a rule, or is refused with the setting to use instead.
def test_every_payload_class_of_hudis_jar_has_a_rule_or_a_replacement(
    classes: Path, spark: SparkSession, tmp_path: Path
) -> None:
    path = f"{classes}:{HUDI}:{SPARK_JARS}/*"
    found = run(["java", "-cp", path, "shop.PayloadList", HUDI]).split()
    assert len(found) > 15
    assert MODELS + "DefaultHoodieRecordPayload" in found
    known = spark._jvm.io.merganser.table.rule.PayloadClasses  # type: ignore[union-attr]
    assert [name for name in found if known.named(name).isEmpty() == known.refused(name).isEmpty()] == []
    frame = spark.createDataFrame([(1, 1)], "id int, ts bigint")
    for name in (MODELS + "EmptyHoodieRecordPayload", "org.apache.hudi.common.HoodieJsonPayload"):
        with pytest.raises(MerganserError) as refusal:
            frame.write.format("merganser").options(**by_payload(name)).mode("append").save(str(tmp_path / "t"))
        assert refusal.value.condition == "PAYLOAD_UNAVAILABLE"
        assert str(known.refused(name).get()) in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "condition"),
    [(by_payload("shop.SumPayload"), "PAYLOAD_UNAVAILABLE"), (by_merger(STRATEGIES[0]), "MERGER_UNAVAILABLE")],
    ids=["payload", "merger"],
)
def test_a_class_made_for_hudi_is_refused_without_hudis_jar(
    spark: SparkSession, classes: Path, tmp_path: Path, options: dict[str, str], condition: str
) -> None:
    spark.sql(f"ADD JAR '{classes}'")
    name = options.get("hoodie.datasource.write.payload.class", "shop.MaxPriceSpark")
    frame = spark.createDataFrame([(1, "a", 1.0, 1)], COLUMNS)
    with pytest.raises(MerganserError) as refusal:
        frame.write.format("merganser").options(**options, **{CLASSES: "shop.MaxPriceSpark"}).mode("append").save(
            str(tmp_path / "t")
        )
    assert refusal.value.condition == condition
    assert f"{name} was compiled against Apache Hudi, whose jar is not on the class path" in str(refusal.value)
    assert "add org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0 to spark.jars.packages" in str(refusal.value)
    assert not (tmp_path / "t").exists()
