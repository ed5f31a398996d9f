"""Which of Merganser's requirements an installation and a session meet, and the commands that add the rest."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from merganser._shown import Shown, html_table
from merganser._version import __version__
from merganser.errors import MissingJarError
from merganser.session import CATALOG, CATALOG_KEY, EXTENSIONS, EXTENSIONS_KEY, LAKE_CATALOG, added, jar_for, jar_if_any

#: Oldest and newest Java that each Spark line runs on.
_JAVA = {"3.5": (8, 21), "4.0": (17, 21), "4.1": (17, 25), "4.2": (17, 25)}

#: Modules of a Spark Connect client, beside PySpark.
_CONNECT_MODULES = ("grpc", "grpc_status", "google.protobuf", "pandas", "pyarrow")


@dataclass(frozen=True)
class Finding(Shown):
    """One thing that was looked for."""

    name: str
    """``package``, ``python``, ``pyspark``, ``java``, ``spark home``, ``jar``, ``session``, ``session jar``,
    ``extension``, ``catalog``, ``connect server``, ``connect client`` or ``round trip``."""
    status: str
    """``ok``; ``missing``, which has to be corrected; ``warning``; ``not needed`` or ``not checked``."""
    found: str
    """What was found."""
    remedy: str | None = None
    """The line to run or to add."""

    def to_string(self) -> str:
        """The line in columns, and the remedy below it."""
        line = f"{self.status:<11} {self.name:<14} {self.found}"
        return line if self.remedy is None else f"{line}\n{'':<26} -> {self.remedy}"

    def _line(self) -> str:
        return f"{self.name}: {self.status}, {self.found}{'' if self.remedy is None else f' -> {self.remedy}'}"


@dataclass(frozen=True)
class Diagnosis(Shown):
    """What :func:`doctor` found."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is missing; warnings do not count."""
        return all(finding.status != "missing" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain values."""
        return {"ok": self.ok, **super().to_dict()}

    def to_string(self) -> str:
        """A line for each finding, and the remedies."""
        return "\n".join(finding.to_string() for finding in self.findings)

    def _line(self) -> str:
        """What is missing, with its remedy, and warnings."""
        found = [str(finding) for finding in self.findings if finding.status in ("missing", "warning")]
        return "; ".join(found) or f"nothing is missing of {len(self.findings)} things"

    def _repr_html_(self) -> str:
        return html_table(("status", "name", "found", "remedy"), self.findings)


def doctor(spark: SparkSession | None = None, *, write: bool = False) -> Diagnosis:
    """Look for what Merganser needs in this process: Java, the jar, and in a session its extension and catalog.

    No session is started, and none is changed.

    Args:
        spark: The session to look at, also one of Spark Connect. ``None``: the running one, if there is one.
        write: Whether to write a table of two rows into a temporary folder of this machine and to read it. This needs a
            local session; in others it is not done.
    """
    running: Any = spark or SparkSession.getActiveSession()
    findings = installed()
    if running is None:
        remedy = 'spark = merganser.session("my job")'
        findings.append(Finding("session", "not checked", "no session runs in this process", remedy))
    elif hasattr(running, "_jvm"):
        findings += _classic(running)
    else:
        findings += _connect(running)
    missing = any(finding.status == "missing" for finding in findings)
    if write and running is not None and not missing:
        findings.append(_round_trip(running))
    return Diagnosis(tuple(findings))


def installed() -> list[Finding]:
    """What is installed: everything that can be looked at without a session."""
    line = ".".join(pyspark.__version__.split(".")[:2])
    return [
        Finding("package", "ok", f"merganser {__version__} in {Path(__file__).parent}"),
        Finding("python", "ok", platform.python_version()),
        _pyspark(line),
        *_spark_home(line),
        _java(line),
        _jar(),
        _connect_client(line),
    ]


def _pyspark(line: str) -> Finding:
    found = f"{pyspark.__version__} in {Path(pyspark.__file__).parent}"
    if line in _JAVA:
        return Finding("pyspark", "ok", found)
    lines = ", ".join(_JAVA)
    return Finding("pyspark", "missing", f"{found}; Spark {line} is none of {lines}", "pip install 'pyspark>=3.5,<4.3'")


def _spark_home(line: str) -> list[Finding]:
    home = os.environ.get("SPARK_HOME")
    if not home:
        return []
    cores = sorted(Path(home, "jars").glob("spark-core_*.jar"))
    version = cores[0].stem.rpartition("-")[2] if cores else None
    if version is None:
        return [Finding("spark home", "missing", f"SPARK_HOME is {home}, which has no Spark", "unset SPARK_HOME")]
    if version.startswith(f"{line}."):
        return [Finding("spark home", "ok", f"SPARK_HOME is {home}, Spark {version}")]
    found = f"SPARK_HOME is {home}, Spark {version}, beside PySpark {pyspark.__version__}"
    return [Finding("spark home", "missing", found, f"unset SPARK_HOME, or pip install pyspark=={version}")]


def _java(line: str) -> Finding:
    if not (Path(pyspark.__file__).parent / "jars").is_dir() and not os.environ.get("SPARK_HOME"):
        return Finding("java", "not needed", "PySpark without jars is a client of Spark Connect")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    oldest, newest = _JAVA.get(line, (17, 21))
    remedy = "install a JDK 17 and point JAVA_HOME at it (Debian: apt-get install openjdk-17-jre-headless)"
    if java is None or not os.access(java, os.X_OK):
        return Finding("java", "missing", f"JAVA_HOME is {home}, without bin/java" if home else "no java found", remedy)
    shown = subprocess.run([java, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    version = re.search(r'version "(?:1\.)?(\d+)[^"]*"', shown)
    if version is None:
        return Finding("java", "missing", f"{java} -version names no version", remedy)
    found = f"{version[0].partition(' ')[2].strip(chr(34))}: {java}"
    if not oldest <= int(version[1]) <= newest:
        return Finding("java", "missing", f"{found}; Spark {line} runs on Java {oldest} to {newest}", remedy)
    return Finding("java", "ok", found)


def _jar() -> Finding:
    try:
        jar = jar_for(pyspark.__version__)
    except MissingJarError as error:
        remedy = "in a clone: ./dev build, or ./dev wheel and pip install dist/merganser-*.whl"
        return Finding("jar", "missing", str(error), remedy)
    return Finding("jar", "ok", f"{jar} ({jar.stat().st_size / 1e6:.1f} MB)")


def _connect_client(line: str) -> Finding:
    if line.startswith("3."):
        return Finding("connect client", "not needed", "clients of Spark Connect need PySpark 4")
    absent = [name for name in _CONNECT_MODULES if not _is_installed(name)]
    if absent:
        remedy = "pip install 'pyspark[connect]>=4.0' (only for Spark Connect)"
        return Finding("connect client", "not needed", f"without {', '.join(absent)}", remedy)
    return Finding("connect client", "ok", "can be a client of a Spark Connect server")


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _classic(spark: SparkSession) -> list[Finding]:
    from merganser import _bridge

    name, master = spark.sparkContext.appName, spark.sparkContext.master
    session = Finding("session", "ok", f"'{name}' on {master}, Spark {spark.version}")
    restart = "stop the session, and start it with merganser.session(...) or"
    if not _bridge.has_jar(spark._jvm):
        remedy = f"{restart} --jars {jar_if_any() or 'merganser-spark-....jar'}"
        return [session, Finding("session jar", "missing", "its JVM runs without Merganser's classes", remedy)]
    extension = Finding("extension", "ok", EXTENSIONS)
    if not _bridge.has_extension(spark):
        extensions = spark.conf.get(EXTENSIONS_KEY, None) or ""
        remedy = f"{restart} --conf {EXTENSIONS_KEY}={added(extensions, EXTENSIONS)}"
        extension = Finding("extension", "missing", f"{EXTENSIONS_KEY} is '{extensions}'", remedy)
    return [session, Finding("session jar", "ok", "its classes are loaded"), extension, _catalog(spark, restart)]


def _catalog(spark: SparkSession, restart: str) -> Finding:
    from merganser import _bridge

    catalog = spark.conf.get(CATALOG_KEY, None)
    if catalog == CATALOG:
        return Finding("catalog", "ok", f"the session catalog is {CATALOG}")
    if _bridge.has_catalog(spark, LAKE_CATALOG):
        return Finding("catalog", "ok", f"a catalog of its own, {LAKE_CATALOG}, beside {catalog}")
    setting = f"{CATALOG_KEY}={CATALOG}"
    if catalog is not None:
        setting = f"spark.sql.catalog.lake={LAKE_CATALOG} --conf spark.sql.catalog.lake.warehouse=FOLDER"
    shown = f"the session catalog is {catalog or 'that of Spark'}"
    return Finding("catalog", "missing", shown, f"{restart} --conf {setting}")


def _connect(spark: SparkSession) -> list[Finding]:
    session = Finding("session", "ok", f"Spark Connect, server of Spark {spark.version}")
    try:
        spark.sql("CALL help()").collect()
    except Exception as error:  # whatever a server without the procedure raises
        jar = f"merganser-spark-{'.'.join(spark.version.split('.')[:2])}_2.13-{__version__}.jar"
        settings = f"--conf {EXTENSIONS_KEY}={EXTENSIONS} --conf {CATALOG_KEY}={CATALOG}"
        remedy = f"start the server with --jars {jar} {settings}"
        reason = str(error).strip().splitlines()[0][:200]
        return [session, Finding("connect server", "missing", f"it has no procedures of Merganser: {reason}", remedy)]
    return [session, Finding("connect server", "ok", "it has the jar, the extension and the catalog")]


def _round_trip(spark: Any) -> Finding:
    from merganser.table import Table

    if not hasattr(spark, "_jvm") or not spark.sparkContext.master.startswith("local"):
        return Finding("round trip", "not checked", "the session is not local")
    with tempfile.TemporaryDirectory(prefix="merganser-doctor-") as folder:
        try:
            rows = spark.sql("SELECT 'a' AS id, 1L AS ts UNION ALL SELECT 'a', 2L")
            table = Table.create(spark, f"{folder}/t", rows.schema, record_key="id", ordering_by="ts")
            table.upsert(rows)
            read = [tuple(row) for row in table.df().collect()]
        except Exception as error:  # any reason is the finding
            return Finding("round trip", "missing", str(error).strip().splitlines()[0][:300])
    if read != [("a", 2)]:
        return Finding("round trip", "missing", f"two versions of a row were merged into {read}")
    return Finding("round trip", "ok", "a table was created, upserted and read")
