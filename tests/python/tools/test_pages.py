"""The code of pages runs, from the first block of a page to its last."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pasted import SERVERS
from pyspark.sql import SparkSession
from pyspark.sql.functions import col
from snippets import page_text

import merganser

PAGES = ["index", "tutorial", "move-from-hudi", "compared", "installation"]

TRIPS = """
spark.sql('''CREATE TABLE trips (id STRING, fare DOUBLE, ts BIGINT, year STRING) USING merganser
  PARTITIONED BY (year) TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts', type = 'mor')''')
spark.sql("INSERT INTO trips VALUES ('a', 1.0, 1, '2024')")
spark.sql("UPDATE trips SET fare = 2.0")
"""
#: Pages, or sections of them, whose SQL is run as well, after code that makes what they take for granted.
WITH_SQL = {
    "merge-rules": "view('deliveries', '''SELECT 'a' AS id, current_timestamp() AS at, 1L AS qty''')",
    "load-a-feed": """
view("stored_orders", "SELECT 1 AS id, 5L AS ts, 'new' AS status")
view("changed_orders", "SELECT 1 AS id, 9L AS ts, 'paid' AS status")
""",
    "run-it-for-a-year#Alerts": TRIPS,
    "run-it-for-a-year#How services run": f"{TRIPS}table = merganser.Table.load(spark, 'trips')",
    "run-it-for-a-year#Compaction": TRIPS,
    "concurrent-writers": """
rows = spark.createDataFrame([(1, "a")], "id int, item string")
table = merganser.Table.create(spark, path, rows.schema, record_key="id")
""",
    "schema-evolution": """
spark.sql('''CREATE TABLE trips (id STRING, fare DOUBLE, address STRUCT<street: STRING>, seats INT NOT NULL)
  USING merganser TBLPROPERTIES (primaryKey = 'id')''')
""",
    "sql": """
spark.createDataFrame([(1, 2.0)], "id int, fare double").write.format("merganser").mode("append").save(path)
view("changes", "SELECT 'a' AS id, 2.0D AS fare, '2026-01-01' AS day, 2L AS ts, 'u' AS op")
""",
}
#: What holds afterwards.
AFTERWARDS = {
    "run-it-for-a-year#How services run": "assert table.services.status() == []",
    "run-it-for-a-year#Compaction": """
assert table.services.compact_logs() is None
assert merganser.Table.load(spark, "trips").compact() is None
""",
    "concurrent-writers": "assert table.df().count() == 1",
    "schema-evolution": """
seats = merganser.Table.load(spark, "trips").schema["seats"]
assert merganser.Table.load(spark, "trips").schema.names == ["seats", "id", "price", "address"]
assert (seats.dataType.simpleString(), seats.nullable) == ("bigint", True)
""",
    "sql": """
assert [row.fare for row in spark.read.format("merganser").load(path).collect()] == [4.0]
assert spark.table("trips").count() == 0
for like in ("trips_test", "trips_cow"):
    assert spark.table(like).schema == spark.table("trips").schema
    spark.sql(f"DROP TABLE {like}")
""",
}


@pytest.mark.e2e
@pytest.mark.parametrize("page", [*PAGES, *WITH_SQL])
def test_the_blocks_of_a_page_run_one_after_the_other(page: str, spark: SparkSession, tmp_path: Path) -> None:
    name, _, section = page.partition("#")
    text = page_text(f"docs/{name}.md", section or None)
    if name == "sql":
        text = text.replace(SERVERS, "")  # test_connect runs it
    text = text.replace("/tmp/tutorial", str(tmp_path))
    text = re.sub(r"""(["'])/?lake/""", rf"\1{tmp_path}/lake/", text)
    blocks = re.findall(r"^```(python|sql)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    views: list[str] = []
    names: dict[str, object] = {"__name__": page, "path": str(tmp_path / "of the page")}

    def view(name: str, query: str) -> None:
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
        views.append(name)

    if page in WITH_SQL:
        names |= {"spark": spark, "merganser": merganser, "col": col, "view": view}
        exec(WITH_SQL[page], names)
    try:
        for number, (language, block) in enumerate(blocks, start=1):
            if language == "python":
                exec(compile(block, f"{page}.md, block {number}", "exec"), names)
            elif page in WITH_SQL:
                for statement in filter(str.strip, block.replace("{path}", str(names["path"])).split(";")):
                    spark.sql(statement).collect()
        assert blocks
        exec(AFTERWARDS.get(page, ""), names)
    finally:
        spark.conf.unset("hoodie.schema.on.read.enable")
        for table in ("orders", "shipments", "stock", "trips"):
            spark.sql(f"DROP TABLE IF EXISTS {table}")
        for name in views:
            spark.catalog.dropTempView(name)
