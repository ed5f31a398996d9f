"""Payloads and mergers that were compiled against older releases of Hudi, beside its jar or a later one.

They run with MERGANSER_FULL=1: each release is a jar of a hundred megabytes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from test_beside_other_formats import CACHE
from test_hudi_classes import FULL, OF_1_0, PLANS, SOURCES, compile_java, packed, play

from interop.hudi_jar import FIRST, OLDER, fetch

pytestmark = pytest.mark.skipif(not FULL, reason="jars of three more releases: with MERGANSER_FULL=1")

PAYLOADS = ("a payload", "a subclass of OverwriteWithLatestAvroPayload", "a subclass of DefaultHoodieRecordPayload")
OLD_MERGERS = ("a merger of Spark's rows for 1.0", "a merger of Avro records for 1.0")
MERGERS = ("a merger of Spark's rows", "a merger of Avro records", "a merger of partial rows")

#: By release: files of classes, and the histories that need them.
RELEASES: dict[str, tuple[list[Path], tuple[str, ...]]] = {
    "0.15.0": ([], PAYLOADS),
    "1.0.2": (list(OF_1_0.glob("*.java")), PAYLOADS + OLD_MERGERS),
    "1.1.1": (list(SOURCES.glob("MaxPrice*.java")), PAYLOADS + MERGERS),
}

#: What the interface of 1.1 has in place of that of 1.2.
OF_1_1 = {
    "org.apache.hudi.common.schema.HoodieSchema": "org.apache.avro.Schema",
    "HoodieSchema": "Schema",
    "encodeSchema": "encodeAvroSchema",
    "getField(field.name()).isPresent()": "getField(field.name()) != null",
}


#: What 0.9 has not, a marker of ignored rows and a method that is new in 0.10; and a call that 1.2 has no more.
OF_0_9 = {
    "HoodieRecord.SENTINEL": "current",
    "  @Override\n  public Comparable<?> getOrderingValue": "  public Comparable<?> getOrderingValue",
    "HoodieAvroUtils.avroToBytes(row)": "bytes(row)",
    "  public SumPayload(Option": """  private static byte[] bytes(GenericRecord row) {
    java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
    org.apache.avro.io.BinaryEncoder encoder = org.apache.avro.io.EncoderFactory.get().binaryEncoder(out, null);
    try {
      new org.apache.avro.generic.GenericDatumWriter<GenericRecord>(row.getSchema()).write(row, encoder);
      encoder.flush();
    } catch (IOException e) {
      throw new RuntimeException(e);
    }
    return out.toByteArray();
  }

  public SumPayload(Option""",
}


def plans(names: tuple[str, ...]) -> dict[str, Any]:
    tables = [["merganser", "COPY_ON_WRITE"], ["merganser", "MERGE_ON_READ"]]
    return {name: {**PLANS[name], "tables": tables, "hudi reads": False} for name in names}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The rows beside the release that the other tests use."""
    folder = tmp_path_factory.mktemp("newest")
    hudi = os.environ["MERGANSER_HUDI_JAR"]
    compile_java(folder / "found", hudi, SOURCES.glob("*.java"))
    compile_java(folder / "old", hudi, [*OF_1_0.glob("*.java"), *(OF_1_0 / "stubs").rglob("*.java")])
    (folder / "old" / "shop").rename(folder / "found" / "shop" / "old")
    for file in (folder / "found" / "shop" / "old").iterdir():
        file.rename(folder / "found" / "shop" / file.name)
    return play(plans(PAYLOADS + OLD_MERGERS + MERGERS), folder, hudi, packed(folder / "found"))


@pytest.mark.parametrize("release", RELEASES)
def test_classes_compiled_against_an_older_release_run_beside_its_jar(
    expected: Any, tmp_path: Path, release: str
) -> None:
    files, names = RELEASES[release]
    hudi = str(fetch(CACHE, OLDER[release]))
    changes = OF_1_1 if release == "1.1.1" else {}
    assert_same_rows(expected, tmp_path, compiled(tmp_path, hudi, files, changes), hudi, names)


def test_payloads_compiled_against_the_first_release_run_beside_the_jar_of_the_newest(
    expected: Any, tmp_path: Path
) -> None:
    classes = compiled(tmp_path, str(fetch(CACHE, FIRST)), [], OF_0_9)
    assert_same_rows(expected, tmp_path, classes, os.environ["MERGANSER_HUDI_JAR"], PAYLOADS)


def compiled(folder: Path, hudi: str, files: list[Path], changes: dict[str, str]) -> Path:
    """A jar of the payloads and of these files, in the form of a release."""
    sources = []
    for file in [*(SOURCES / f"{each}.java" for each in ("SumPayload", "LatestKeepsPrice", "ByEventTime")), *files]:
        text = file.read_text()
        for new, old in changes.items():
            text = text.replace(new, old)
        sources.append(folder / file.name)
        sources[-1].write_text(text)
    compile_java(folder / "found", hudi, sources)
    return packed(folder / "found")


def assert_same_rows(expected: Any, folder: Path, classes: Path, hudi: str, names: tuple[str, ...]) -> None:
    found = play(plans(names), folder, hudi, classes)
    for name in names:
        assert "error" not in found[name], f"{name}: " + "\n".join(found[name]["error"])
        assert found[name] == expected[name], name
