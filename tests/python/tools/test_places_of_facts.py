"""A count and a column of a call stand in the files of decision 181, *What a fact costs*, and no others."""

from __future__ import annotations

import re

import pytest
from places import ROOT

MAIN = [
    *(file for ending in ("*.scala", "*.java") for file in ROOT.glob(f"jvm/*/src/main*/**/{ending}")),
    *(ROOT / "python" / "src").rglob("*.py"),
]


def files_with(*names: str) -> set[str]:
    words = re.compile(rf"\b(?:{'|'.join(names)})\b")
    return {file.name for file in MAIN if words.search(file.read_text())}


def test_each_merge_count_is_named_in_three_files_only() -> None:
    of_scans = {"MergeMetrics.scala"}  # for counts that Spark shows of a scan: it makes metrics by their classes
    assert files_with("noOps", "no_ops") - of_scans == {"MergeTally.scala", "MergeCounts.scala", "counts.py"}


@pytest.mark.parametrize(
    ("column", "call"),
    [("partitions_deleted", "Cleans.scala"), ("file_slices_compacted", "RuleChanges.scala")],
)
def test_each_column_of_a_call_is_named_in_its_definition_and_python_result_only(column: str, call: str) -> None:
    assert files_with(column) == {call, "service_results.py"}
