"""Apache Hudi inside one Spark session: read, write and compact tables by path.

Runs only in a process that has Hudi's bundle and never our own jar (see ``hudi_engine``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from interop.frames import Schema, frame_of, rows_of
from interop.python_daemon import SETTINGS as PYTHON_WORKERS
from interop.sessions import INTERPRETED, SMALL, read_rows_as_pickled
from interop.sql_player import Outcome, SqlPlayer

#: Keep a small write small and alone: they change neither rows nor the layout of base and log files.
QUIET = {
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.index.bloom.num_entries": "10",
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
    "hoodie.simple.index.parallelism": "1",
}


def start_session(jar: str | os.PathLike[str]) -> Any:
    """A local Spark session, in UTC, with Hudi's bundle, SQL extension and catalog.

    Raises:
        RuntimeError: The running pyspark is not 3.5, the only line the bundle is made for.
    """
    import pyspark

    if not pyspark.__version__.startswith("3.5."):
        raise RuntimeError(
            f"Hudi's bundle needs pyspark 3.5, this Python has {pyspark.__version__}. "
            "Give HudiEngine a Python of the 3.5 line."
        )
    os.environ["TZ"] = "UTC"
    time.tzset()
    from pyspark.sql import SparkSession

    read_rows_as_pickled()
    settings = {
        **PYTHON_WORKERS,
        **INTERPRETED,
        **SMALL,
        "spark.jars": str(Path(jar).resolve()),
        # Hudi's repair of schemas is in a package of Parquet, whose classes must be of the same loader.
        "spark.driver.extraClassPath": str(Path(jar).resolve()),
        "spark.driver.memory": "1200m",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.ui.enabled": "false",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
    }
    builder = SparkSession.builder.master("local[1]").appName("hudi")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def read_table(
    spark: Any, path: str, query: str = "snapshot", options: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Columns ``[[name, type], …]`` and rows of a table, the five meta columns first.

    Args:
        query: ``snapshot`` or ``read_optimized``.
    """
    reader = spark.read.format("hudi").option("hoodie.datasource.query.type", query)
    return rows_of(reader.options(**dict(options or {})).load(path))


def write_table(
    spark: Any,
    path: str,
    schema: Schema,
    rows: Sequence[Sequence[Any]],
    operation: str = "upsert",
    mode: str = "append",
    options: Mapping[str, str] | None = None,
) -> None:
    """Write ``rows`` (JSON form, one input partition, in this order) in one commit.

    A table that exists lends its name, so that ``options`` may be empty.
    """
    written = {**QUIET, **dict(options or {}), "hoodie.datasource.write.operation": operation}
    if "hoodie.table.name" not in written:
        written["hoodie.table.name"] = table_properties(path)["hoodie.table.name"]
    frame_of(spark, schema, rows).write.format("hudi").options(**written).mode(mode).save(path)


def merge_into_table(spark: Any, path: str, schema: Schema, rows: Sequence[Sequence[Any]], clauses: str) -> None:
    """SQL MERGE INTO the table as ``t``, from ``rows`` as ``s``."""
    name = table_properties(path)["hoodie.table.name"]
    for key, value in QUIET.items():
        spark.conf.set(key, value)
    try:
        spark.sql(f"CREATE TABLE IF NOT EXISTS {name} USING hudi LOCATION '{path}'")
        frame_of(spark, schema, rows).createOrReplaceTempView("s")
        spark.sql(f"MERGE INTO {name} t USING s {clauses}")
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        for key in QUIET:
            spark.conf.unset(key)


def compact_table(
    spark: Any, path: str, op: str = "scheduleAndExecute", options: Mapping[str, str] | None = None
) -> None:
    """Run Hudi's own compaction procedure: ``schedule``, ``run`` or ``scheduleAndExecute``."""
    settings = {**QUIET, "hoodie.compact.inline.max.delta.commits": "1", **dict(options or {})}
    text = ",".join(f"{key}={value}" for key, value in settings.items())
    spark.sql(f"CALL run_compaction(op => '{op}', path => '{path}', options => '{text}')").collect()


def run_statements(spark: Any, statements: Sequence[str]) -> list[list[Any]]:
    """Run SQL statements with the settings of small writes; the rows of the last one. SET lasts until the end."""

    def settings() -> dict[str, str]:
        return {row.key: row.value for row in spark.sql("SET").collect()}

    before = settings()
    for key, value in QUIET.items():
        spark.conf.set(key, value)
    try:
        rows: list[list[Any]] = []
        for statement in statements:
            rows = rows_of(spark.sql(statement))["rows"]
        return rows
    finally:
        for key in settings().keys() - before.keys():
            spark.conf.unset(key)


def play_sequence(spark: Any, name: str, statements: list[str]) -> list[Outcome]:
    """Outcomes of a sequence of :mod:`interop.sql_sequences`; tables with a path are below the working directory."""
    return SqlPlayer(spark, "hudi", Path.cwd() / "paths", QUIET).play(name, statements)


def format_names(spark: Any) -> dict[str, list[str]]:
    """What this Hudi has names for, read from its own classes.

    ``properties``: keys of ``hoodie.properties`` and their older names, where one that ends with a dot is a beginning.
    ``folders``: folders of ``.hoodie``. ``actions``: actions on the timeline.
    """
    jvm = spark.sparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()

    def constants(name: str) -> list[tuple[str, Any]]:
        fields = jvm.java.lang.Class.forName(f"org.apache.hudi.common.{name}", True, loader).getDeclaredFields()
        kinds: dict[str, Any] = {"String": str, "ConfigProperty": lambda value: value, "Set": list, "String[]": list}
        found = []
        for field in fields:
            if (kind := field.getType().getSimpleName()) in kinds and jvm.java.lang.reflect.Modifier.isStatic(
                field.getModifiers()
            ):
                field.setAccessible(True)
                found.append((str(field.getName()), kinds[kind](field.get(None))))
        return found

    config = constants("table.HoodieTableConfig")
    entries = [value for _, value in config + constants("config.TimestampKeyGeneratorConfig") if hasattr(value, "key")]
    prefixes = [value for name, value in config if name == "RECORD_MERGE_PROPERTY_PREFIX"]
    timeline = dict(constants("table.timeline.HoodieTimeline"))
    folders = [value for name, value in constants("table.HoodieTableMetaClient") if "FOLDER" in name]
    return {
        "properties": sorted({key for e in entries for key in [e.key(), *e.getAlternatives()]} | set(prefixes)),
        "folders": sorted({folder.removeprefix(".hoodie/").split("/")[0] for folder in folders} - {".hoodie"}),
        "actions": sorted([*timeline["VALID_ACTIONS_IN_TIMELINE"], timeline["SCHEMA_COMMIT_ACTION"]]),
    }


def help_with(spark: Any, procedure: str) -> str:
    """What Hudi says of a procedure of its own: parameters, then columns, one a line."""
    return str(spark.sql(f"CALL help(cmd => '{procedure}')").collect()[0][0])


def table_properties(path: str | os.PathLike[str]) -> dict[str, str]:
    """The settings stored in the table's ``hoodie.properties``, with Java's escapes of ``:`` and ``=`` removed."""
    lines = (Path(path) / ".hoodie" / "hoodie.properties").read_text("latin-1").splitlines()
    pairs = (line.split("=", 1) for line in lines if line and not line.startswith("#"))
    return {key: value.replace("\\:", ":").replace("\\=", "=") for key, value in pairs}
