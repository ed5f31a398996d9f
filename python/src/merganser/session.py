"""Spark sessions that have the jar, the SQL extension and the catalog."""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from merganser.errors import ConfigurationConflictError, MissingJarError

EXTENSIONS = "io.merganser.spark.MerganserExtensions"
CATALOG = "io.merganser.spark.MerganserCatalog"
_JAR = re.compile(r"merganser-spark-(?P<line>\d+\.\d+)_.*\.jar")


def session(name: str, *, master: str | None = None, config: Mapping[str, str] | None = None) -> SparkSession:
    """Start a session that can read and write Merganser's tables, or return the one that runs.

    Args:
        name: Name of the application.
        master: Where Spark runs, such as ``local[2]``. ``None`` leaves it to ``spark-submit`` and Spark's files.
        config: Further settings of the session.

    Raises:
        MissingJarError: The package ships no jar for the PySpark that is installed.
        ConfigurationConflictError: ``config`` asks for another session catalog.
    """
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in (config or {}).items():
        builder = builder.config(key, value)
    return configure(builder).getOrCreate()


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Add the jar, the SQL extension and the catalog to a builder, beside what it already has.

    It must be called before the first session of the process starts: Spark reads these settings once.

    Returns:
        The same builder.

    Raises:
        MissingJarError: The package ships no jar for the PySpark that is installed.
        ConfigurationConflictError: The builder asks for another session catalog.
    """
    options: Mapping[str, Any] = builder._options  # there is no public way to read a builder
    catalog = str(options.get("spark.sql.catalog.spark_catalog", CATALOG))
    if catalog != CATALOG:
        raise ConfigurationConflictError(
            f"Cannot make '{CATALOG}' the session catalog: 'spark.sql.catalog.spark_catalog' is '{catalog}' already. "
            "Drop that setting, or configure the builder by hand with a catalog of its own for Merganser "
            f"(spark.sql.catalog.<name>={CATALOG}).",
            condition="SESSION_CATALOG_CONFLICT",
            parameters={"given": catalog, "needed": CATALOG},
        )
    return (
        builder.config("spark.jars", _appended(options.get("spark.jars"), str(jar_for(pyspark.__version__))))
        .config("spark.sql.extensions", _appended(options.get("spark.sql.extensions"), EXTENSIONS))
        .config("spark.sql.catalog.spark_catalog", CATALOG)
    )


def jar_for(spark_version: str, *, folder: Path | None = None) -> Path:
    """Return the jar for a version of Spark, such as ``3.5.9``.

    Args:
        spark_version: The version; its first two numbers name the line.
        folder: Where the jars are; the package's own folder unless given.

    Raises:
        MissingJarError: There is no jar for that line, or more than one.
    """
    jars = folder if folder is not None else Path(str(importlib.resources.files("merganser") / "jars"))
    line = ".".join(spark_version.split(".")[:2])
    shipped: dict[str, list[Path]] = {}
    for file in sorted(jars.glob("*.jar")):
        match = _JAR.fullmatch(file.name)
        if match:
            shipped.setdefault(match["line"], []).append(file)
    found = shipped.get(line, [])
    if len(found) == 1:
        return found[0]
    parameters = {"line": line, "folder": str(jars)}
    if found:
        names = ", ".join(file.name for file in found)
        raise MissingJarError(
            f"Cannot choose a jar for Spark {line}: {jars} holds {names}. Leave one of them there, or set "
            "'spark.jars' yourself.",
            condition="MISSING_JAR",
            parameters=parameters,
        )
    lines = ", ".join(sorted(shipped, key=lambda text: [int(part) for part in text.split(".")])) or "none at all"
    raise MissingJarError(
        f"Cannot find a jar for Spark {line} (pyspark {spark_version}): this package ships jars for {lines}. Install "
        "a pyspark of one of these lines, or set 'spark.jars' to a jar built for yours.",
        condition="MISSING_JAR",
        parameters=parameters,
    )


def _appended(present: object, new: str) -> str:
    """Add to a list of words separated by commas, unless it is there."""
    words = [word.strip() for word in str(present or "").split(",") if word.strip()]
    return ",".join(words if new in words else [*words, new])
