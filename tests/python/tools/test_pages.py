"""The code of pages runs, from the first block of a page to its last."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from places import ROOT
from pyspark.sql import SparkSession

PAGES = ["index", "tutorial", "recipes", "coming-from-hudi", "coming-from-other-formats", "installation"]
#: Pages whose SQL is run as well, with the views that it reads.
WITH_SQL = {
    "column-rules": {"deliveries": "SELECT 'a' AS id, current_timestamp() AS at, 1L AS qty"},
    "merging-frames": {
        "stored_orders": "SELECT 1 AS id, 5L AS ts, 'new' AS status",
        "changed_orders": "SELECT 1 AS id, 9L AS ts, 'paid' AS status",
    },
}


@pytest.mark.e2e
@pytest.mark.parametrize("page", [*PAGES, *WITH_SQL])
def test_the_blocks_of_a_page_run_one_after_the_other(page: str, spark: SparkSession, tmp_path: Path) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    text = text.replace("/tmp/tutorial", str(tmp_path)).replace('"lake/', f'"{tmp_path}/lake/')
    blocks = re.findall(r"^```(python|sql)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    views = WITH_SQL.get(page)
    for name, query in (views or {}).items():
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
    names: dict[str, object] = {"__name__": page}
    try:
        for number, (language, block) in enumerate(blocks, start=1):
            if language == "python":
                exec(compile(block, f"{page}.md, block {number}", "exec"), names)
            elif views is not None:
                for statement in filter(str.strip, block.split(";")):
                    spark.sql(statement).collect()
    finally:
        for table in ("orders", "stock"):
            spark.sql(f"DROP TABLE IF EXISTS {table}")
        for name in views or ():
            spark.catalog.dropTempView(name)
    assert blocks
    if page == "recipes":  # what the delete by law leaves: the newest base file, without the deleted row
        files = [file for file in Path(str(names["lake"]), "users").iterdir() if not file.name.startswith(".hoodie")]
        data = [file for file in files if file.suffix != ".crc"]
        assert [file.suffix for file in data] == [".parquet"], data
