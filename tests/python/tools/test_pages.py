"""The Python of the pages for newcomers runs, from the first block of a page to its last."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import ROOT
from pyspark.sql import SparkSession

PAGES = ["tutorial", "recipes", "coming-from-hudi", "coming-from-other-formats", "installation"]


@pytest.mark.e2e
@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_one_after_the_other(page: str, spark: SparkSession, tmp_path: Path) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text().replace("/tmp/tutorial", str(tmp_path))
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {"__name__": page}
    try:
        for number, block in enumerate(blocks, start=1):
            exec(compile(block, f"{page}.md, block {number}", "exec"), names)
    finally:
        spark.sql("DROP TABLE IF EXISTS orders")
    assert blocks
    if page == "recipes":  # what the delete by law leaves: the newest base file, without the deleted row
        files = [file for file in Path(str(names["lake"]), "users").iterdir() if not file.name.startswith(".hoodie")]
        data = [file for file in files if file.suffix != ".crc"]
        assert [file.suffix for file in data] == [".parquet"], data
