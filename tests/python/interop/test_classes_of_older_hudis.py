"""Payloads and mergers that were compiled against older releases of Hudi, beside the jar of that release.

They run with MERGANSER_FULL=1: each release is a jar of a hundred megabytes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from test_beside_other_formats import CACHE
from test_hudi_classes import FULL, OF_1_0, PLANS, SOURCES, compile_java, packed, play

from interop.hudi_jar import OLDER, fetch

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
    sources = []
    for file in [*(SOURCES / f"{each}.java" for each in ("SumPayload", "LatestKeepsPrice", "ByEventTime")), *files]:
        text = file.read_text()
        if release == "1.1.1":
            for new, old in OF_1_1.items():
                text = text.replace(new, old)
        sources.append(tmp_path / file.name)
        sources[-1].write_text(text)
    compile_java(tmp_path / "found", hudi, sources)
    found = play(plans(names), tmp_path, hudi, packed(tmp_path / "found"))
    for name in names:
        assert "error" not in found[name], f"{name}: " + "\n".join(found[name]["error"])
        assert found[name] == expected[name], name
