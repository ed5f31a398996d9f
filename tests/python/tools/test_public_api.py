"""What users compile against changes only on purpose."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pyspark

from dev.layout import spark_lines
from dev.public_api import COMPILED_AGAINST, NAMED, SIGNATURES, is_public, signatures, source
from merganser.session import jar_for

CLASS = r"^public .*?(?:class|interface) (\S+)"


def test_the_public_signatures_of_the_jar_match_the_list() -> None:
    found, listed = signatures(Path(os.environ["JAVA_HOME"]), jar_for(pyspark.__version__)), SIGNATURES.read_text()
    assert re.findall(CLASS, found, re.MULTILINE) == re.findall(CLASS, listed, re.MULTILINE)
    if pyspark.__version__ == next(iter(spark_lines().values())):  # other lines have another Scala
        assert found == listed, "`./dev api` writes the list"


def test_members_with_internal_types_are_not_listed() -> None:
    assert is_public("  public io.merganser.merge.RecordType getRecordType();")
    assert is_public("  public static int check$default$3();")
    assert not is_public("  public io.merganser.merge.Version version();")
    assert not is_public("  public static final String $anonfun$toString$1();")


def test_every_public_class_has_a_source_for_its_documentation() -> None:
    files = {source(name).stem for name in (*COMPILED_AGAINST, *NAMED)}
    assert {"RecordMerger", "RecordPayload", "MergeLaws", "Options"} <= files
