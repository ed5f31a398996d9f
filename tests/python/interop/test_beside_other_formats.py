"""Delta, Iceberg and Merganser in one session, with the real jars: nobody's statements go astray."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from places import ROOT

from interop.hudi_jar import Jar, fetch

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "merganser"
JARS = (
    Jar(
        "io.delta",
        "delta-spark_2.12",
        "3.3.3",
        "4912bf902a1c453aba3bd838ff212dedd357155212f9bb37a6b47d97f2827ebc",
    ),
    Jar("io.delta", "delta-storage", "3.3.3", "45ad193053fd30cebe6d9ab1889873cde39b223a0f210e00ebee8b6642476901"),
    Jar(
        "org.apache.iceberg",
        "iceberg-spark-runtime-3.5_2.12",
        "1.11.0",
        "94b8e36fc329f0293d44ba9e01b784a56e9501affec1842d898144c51f6e486a",
    ),
)

PROGRAM = """
    import sys

    import merganser

    folder, jars = sys.argv[1:]
    OURS = "io.merganser.spark.MerganserExtensions"
    DELTA = "io.delta.sql.DeltaSparkSessionExtension"
    ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    SETTINGS = {
        "spark.jars": jars,
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "1",
        # The generation of code takes longer than these statements, which are told apart before.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    LAKE = "io.merganser.spark.MerganserLakeCatalog"

    try:
        merganser.session("no catalog of ours", master="local[2]", config=SETTINGS)
        raise SystemExit("the catalog of another format was taken away")
    except merganser.ConfigurationConflictError as error:
        assert LAKE in str(error) and "warehouse" in str(error), error

    for number, extensions in enumerate([f"{DELTA},{ICEBERG}", f"{OURS},{DELTA},{ICEBERG}"]):
        place = f"{folder}/{number}"
        spark = merganser.session("formats", master="local[2]", config={
            **SETTINGS,
            "spark.sql.extensions": extensions,
            "spark.sql.warehouse.dir": f"{place}/tables",
            "spark.sql.catalog.ice.warehouse": f"{place}/ice",
            "spark.sql.catalog.lake": LAKE,
            "spark.sql.catalog.lake.warehouse": f"{place}/lake",
        })
        configured = spark.conf.get("spark.sql.extensions").split(",")
        assert configured == [*extensions.split(","), *([] if OURS in extensions else [OURS])], configured
        merged = "SELECT 1 id, 7L ts, 'merged' v UNION ALL SELECT 5, 1L, 'new'"
        keyed = "TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts')"
        for table, made in (
            ("d", "USING delta"), ("ice.i", "USING iceberg"), ("lake.m", f"USING merganser {keyed}"),
        ):
            spark.sql(f"CREATE TABLE {table} (id int, ts bigint, v string) {made}")
            rows = "(1, 1, 'a'), (2, 1, 'b'), (3, 1, 'c'), (4, 1, 'd')"
            spark.sql(f"INSERT INTO {table} VALUES {rows}")
            spark.sql(f"UPDATE {table} SET ts = 2, v = 'u' WHERE id = 2")
            spark.sql("UPDATE IDENTIFIER(:t) SET v = 'w' WHERE id = 4", {"t": table})
            spark.sql(f"WITH gone AS (SELECT 3 id) DELETE FROM {table} WHERE id = 3")
            spark.sql(f"MERGE INTO {table} t USING ({merged}) s ON t.id = s.id "
                      "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
            found = sorted(map(tuple, spark.table(table).collect()))
            assert found == [(1, 7, "merged"), (2, 2, "u"), (4, 1, "w"), (5, 1, "new")], (table, extensions, found)
            try:
                spark.sql(f"UPDATE {table} SET nothing = 1 WHERE id = 1")
                raise SystemExit("an unknown column was taken")
            except Exception as error:
                assert "nothing" in str(error) and "held(" not in str(error), error
            if table == "ice.i":
                spark.sql("CALL ice.system.rewrite_data_files(table => 'i')").collect()
            if table == "lake.m":
                assert merganser.Table.load(spark, table).record_key == ("id",)
        spark.sql("MERGE INTO lake.m t USING d s ON t.id = s.id WHEN MATCHED THEN DELETE")
        assert spark.table("lake.m").count() == 0
        try:
            spark.conf.set("spark.sql.catalog.mg", "io.merganser.spark.MerganserCatalog")
            spark.sql(f"CREATE TABLE mg.default.mm (id int) USING merganser {keyed}")
            raise SystemExit("a named MerganserCatalog was taken")
        except merganser.MerganserError as error:
            assert error.condition == "SESSION_CATALOG_NAME", error
            assert "spark.sql.catalog.mg=" + LAKE in str(error), error
        spark.stop()
    print("FORMATS DONE")
"""


# Guarantee (SQL and sessions): Statements on Delta and Iceberg tables are left to them, in either order of the
#   extensions; other formats' statements and the format `hudi` are refused with what to write. Also:
#   test_the_format_hudi_without_hudis_jar_is_refused_with_our_format_as_remedy,
#   test_statements_of_other_formats_are_refused_with_their_replacement
def test_delta_and_iceberg_run_their_own_statements_in_either_order_of_extensions(tmp_path: Path) -> None:
    program = tmp_path / "formats.py"
    program.write_text(textwrap.dedent(PROGRAM))
    jars = ",".join(str(fetch(CACHE, jar)) for jar in JARS)
    source = ROOT / "python" / "src"
    environment = {**os.environ, "PYTHONPATH": str(source), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path), jars],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    assert "FORMATS DONE" in done.stdout
