# Guarantee (Installing): Importing the package opens no connection; `merganser doctor` names what a session lacks, with
#   the line that adds it.
"""`merganser.doctor`: what is found, and the line that adds what is missing. And the jar out of an archive."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest
from places import ROOT
from pyspark.sql import SparkSession

import merganser
from merganser import _bridge, diagnosis
from merganser.session import CATALOG, EXTENSIONS, LAKE_CATALOG


def named(findings: Any, name: str) -> merganser.Finding:
    (found,) = (finding for finding in findings if finding.name == name)
    return found


@pytest.mark.e2e
def test_a_session_that_has_everything_writes_and_reads_a_table(spark: SparkSession) -> None:
    found = merganser.doctor(spark, write=True)
    assert found.ok, found.to_string()
    assert found.to_dict()["ok"] is True
    names = [finding.name for finding in found.findings if finding.status == "ok"]
    assert {"java", "jar", "session jar", "extension", "catalog", "round trip"} <= set(names)
    assert merganser.doctor().ok  # the running session
    assert "<td>round trip</td>" in found._repr_html_()


@pytest.mark.parametrize(
    ("version", "status"),
    [("17.0.1", "ok"), ("1.8.0_402", "ok"), ("7.0.1", "missing"), ("26", "missing")],
)
def test_the_doctor_checks_that_java_suits_the_spark_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, status: str
) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = diagnosis._java("3.5")
    assert (found.status, found.remedy is not None) == (status, status == "missing")
    assert version in found.found
    assert diagnosis._java("4.2").status == ("missing" if version != "17.0.1" else "ok")
    java.unlink()
    assert diagnosis._java("3.5").found == f"JAVA_HOME is {tmp_path}, without bin/java"


def test_the_doctor_shows_the_setting_that_adds_a_missing_jar_extension_or_catalog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings: dict[str, str | None] = {"spark.sql.extensions": "of.Others"}
    session: Any = SimpleNamespace(
        _jvm=None,
        version="3.5.9",
        sparkContext=SimpleNamespace(appName="theirs", master="local[1]"),
        conf=SimpleNamespace(get=lambda key, default: settings.get(key, default)),
    )
    monkeypatch.setattr(_bridge, "has_jar", lambda jvm: False)
    missing = named(diagnosis._classic(session), "session jar")
    assert missing.remedy is not None
    assert missing.remedy.endswith(f"--jars {merganser.jar_path()}")

    monkeypatch.setattr(_bridge, "has_jar", lambda jvm: True)
    monkeypatch.setattr(_bridge, "has_extension", lambda spark: False)
    monkeypatch.setattr(_bridge, "has_catalog", lambda spark, name: False)
    found = diagnosis._classic(session)
    assert f"spark.sql.extensions=of.Others,{EXTENSIONS}" in str(named(found, "extension").remedy)
    assert str(named(found, "catalog").remedy).endswith(f"spark.sql.catalog.spark_catalog={CATALOG}")

    settings["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    catalog = named(diagnosis._classic(session), "catalog")
    assert f"spark.sql.catalog.lake={LAKE_CATALOG}" in str(catalog.remedy)
    assert "DeltaCatalog" in catalog.found


def test_the_doctor_reports_a_spark_home_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jars").mkdir()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert "has no Spark" in diagnosis._spark_home("3.5")[0].found
    (tmp_path / "jars" / "spark-core_2.13-4.0.4.jar").touch()
    (other,) = diagnosis._spark_home("3.5")
    assert (other.status, other.remedy) == ("missing", "unset SPARK_HOME, or pip install pyspark==4.0.4")
    assert diagnosis._spark_home("4.0")[0].status == "ok"


def test_a_package_in_an_archive_extracts_its_jar_until_the_process_ends(tmp_path: Path) -> None:
    """As with ``--py-files merganser.whl``. Importing it needs neither the command line's libraries nor a network."""
    package = tmp_path / "package"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "python" / "src" / "merganser", package / "merganser", ignore=ignored)
    archive = shutil.make_archive(str(tmp_path / "merganser"), "zip", package)
    program = (
        "import sys, socket\n"
        "def refuse(*_): raise AssertionError('a connection at import')\n"
        "socket.socket.connect = refuse\n"
        "import merganser\n"
        "assert not {'click', 'rich'} & set(sys.modules), 'libraries of the command line'\n"
        "print(merganser.__file__); print(merganser.jar_path())\n"
        "from pathlib import Path; assert Path(merganser.jar_path()).stat().st_size > 1e6\n"
    )
    environment = {**os.environ, "PYTHONPATH": archive}
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path += {sys.path!r}\n{program}"],
                          env=environment, cwd=tmp_path, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    file, jar = done.stdout.split()
    assert file.startswith(archive)
    assert Path(jar).name == Path(merganser.jar_path(pyspark.__version__)).name
    assert not Path(jar).exists()


@pytest.mark.parametrize("has_jar", [True, False])
def test_the_doctor_detects_a_connect_server_without_the_jar(has_jar: bool) -> None:
    def sql(statement: str) -> Any:
        if not has_jar:
            raise ValueError("[PARSE_SYNTAX_ERROR] Syntax error at or near 'CALL'\nmore")
        return SimpleNamespace(collect=list)

    findings = diagnosis._connect(SimpleNamespace(version="4.2.0", sql=sql))  # type: ignore[arg-type]
    server = named(findings, "connect server")
    assert server.status == ("ok" if has_jar else "missing")
    if not has_jar:
        assert "PARSE_SYNTAX_ERROR" in server.found
        assert str(server.remedy).startswith("start the server with --jars merganser-spark-4.2_2.13-")
