"""A session that does what most tests do, and leaves an archive of the classes that it loaded: ``FILE``."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

import merganser


def work(spark: SparkSession, folder: str) -> None:
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.table.ordering.fields": "ts",
    }
    for kind in ("COPY_ON_WRITE", "MERGE_ON_READ"):
        path = f"{folder}/{kind}"
        for ts in range(2):
            rows = spark.createDataFrame([(1, "a", ts), (2, "b", ts)], "id int, name string, ts int")
            writer = rows.write.format("merganser").options(**options)
            writer.option("hoodie.datasource.write.table.type", kind).mode("append").save(path)
        spark.sql(f"CREATE TABLE {kind} USING merganser LOCATION '{path}'")
        spark.sql(
            f"MERGE INTO {kind} t USING (SELECT 1 AS id, 'c' AS name, 5 AS ts) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        spark.sql(f"UPDATE {kind} SET name = 'd' WHERE id = 2")
        spark.sql(f"DELETE FROM {kind} WHERE id = 1")
        spark.sql(f"SELECT name, count(*), max(ts) FROM {kind} GROUP BY name ORDER BY name").collect()


def main(archive: str) -> None:
    unfinished = f"{archive}.new"
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": f"-XX:ArchiveClassesAtExit={unfinished} -Xlog:cds*=off "
            f"-Duser.timezone=UTC -Dderby.system.home={folder}",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        spark = merganser.session("classes", master="local[2]", config=settings)
        spark.sparkContext.setLogLevel("ERROR")
        work(spark, folder)
        spark.stop()
        gateway: Any = SparkContext._gateway
        gateway.proc.stdin.close()  # upon which the JVM ends, and writes the archive
        if gateway.proc.wait():
            sys.exit("Java failed")  # and an incomplete archive would end each Java that reads it
    os.replace(unfinished, archive)


if __name__ == "__main__":
    main(sys.argv[1])
