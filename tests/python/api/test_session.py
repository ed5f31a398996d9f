"""`merganser.session` and `configure` beside a session that runs, and beside the configuration of spark-submit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pyspark
import pytest
from places import ROOT

from merganser.session import jar_for

pytestmark = pytest.mark.e2e

PROGRAM = """
    import merganser
    from merganser import Table
    from merganser.session import CATALOG, EXTENSIONS, jar_for
    import os, pathlib, pyspark
    from pyspark.sql import SparkSession

    def settings(spark):
        return sorted(tuple(row)[:2] for row in spark.sql("SET").collect())

    quiet = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}

    # A session that runs without Merganser is refused and left alone.
    plain = SparkSession.builder.master("local[1]").appName("plain").config(map=quiet).getOrCreate()
    before = settings(plain)
    try:
        merganser.session("mine", config={"spark.sql.session.timeZone": "Asia/Tokyo"})
        raise SystemExit("a session without the jar was taken")
    except merganser.MissingJarError as error:
        assert "spark.stop()" in str(error) and EXTENSIONS in str(error) and CATALOG in str(error), error
    try:
        merganser.configure(SparkSession.builder.appName("mine")).getOrCreate()
        raise SystemExit("a session without the jar was taken")
    except merganser.MissingJarError:
        pass
    assert plain.sql("select 1").collect()[0][0] == 1
    assert settings(plain) == before
    plain.stop()

    # The JVM is up, as under spark-submit: jar, extension and catalog are added to what it is configured with.
    builder = merganser.configure(SparkSession.builder.appName("ours"))
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    assert spark.conf.get("spark.sql.extensions").split(",") == ["given.by.Defaults", EXTENSIONS]
    jars = [jar.rpartition("/")[2] for jar in spark.conf.get("spark.jars").split(",")]
    assert jars == ["given.jar", jar_for(pyspark.__version__).name], jars
    assert spark.conf.get("spark.sql.catalog.spark_catalog") == CATALOG
    again = merganser.session("again", config={"spark.sql.shuffle.partitions": "3"})
    assert again is spark or again._jsparkSession.equals(spark._jsparkSession)
    assert again.conf.get("spark.sql.shuffle.partitions") == "3"

    # One meaning of paths and names: a word is a name, and else a path.
    table = Table.create(spark, "trips", "id string, ts long", record_key="id", ordering_by="ts")
    assert table.path.endswith(os.getcwd() + "/trips"), table.path
    frame = spark.createDataFrame([("a", 1), ("b", 2)], "id string, ts long")
    assert table.upsert(frame, options={"hoodie.combine.before.upsert": "true"}).inserted == 2
    assert table.df().count() == Table.load(spark, "trips").df().count() == 2
    resolved = str(pathlib.Path("trips").resolve())
    for location in (pathlib.Path(resolved), "./trips", f"file:{resolved}"):
        assert Table.load(spark, location).path.removeprefix("file:") == resolved, location
    spark.sql("CREATE TABLE trips (id int) USING merganser TBLPROPERTIES (primaryKey = 'id')")
    assert Table.load(spark, "trips").df().count() == 0
    assert Table.load(spark, "./trips").df().count() == 2
    spark.sql(f"UPDATE merganser.`{table.path}` SET ts = 9 WHERE id = 'a'")
    assert table.df().agg({"ts": "sum"}).collect()[0][0] == 11
    spark.stop()

    # What is set after configure() takes nothing away either, and no more jars are needed in the next session.
    builder = merganser.configure(SparkSession.builder.master("local[1]")).config(map=quiet)
    spark = builder.config("spark.sql.extensions", "set.Afterwards").getOrCreate()
    assert spark.conf.get("spark.sql.extensions") == f"set.Afterwards,{EXTENSIONS}"
    assert len(spark.sql("CALL help()").collect()) > 5
    spark.stop()
    print("SESSIONS DONE")
"""


# Guarantee (SQL and sessions): A running session is used as it is, or refused and left unchanged; settings of
#   spark-submit are retained.
@pytest.mark.extensive
def test_a_session_without_the_jar_is_refused_and_spark_submits_settings_are_kept(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(textwrap.dedent(PROGRAM))
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(
        f"spark.sql.extensions given.by.Defaults\nspark.sql.warehouse.dir {tmp_path}/tables\n"
    )
    user_jar = tmp_path / "given.jar"
    shutil.make_archive(str(user_jar), "zip", tmp_path / "conf")
    Path(f"{user_jar}.zip").rename(user_jar)
    source = ROOT / "python" / "src"
    foreign = ("SPARK_HOME", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS")
    environment = {
        **{name: value for name, value in os.environ.items() if name not in foreign},
        "PYTHONPATH": str(source),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONF_DIR": str(tmp_path / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    done = subprocess.run(
        [str(submit), "--master", "local[1]", "--driver-memory", "1g", "--jars", str(user_jar), "app.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]  # spark-submit prints tracebacks to stdout
    assert "SESSIONS DONE" in done.stdout


def test_a_package_without_a_jar_uses_the_sessions_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As with ``--py-files merganser.whl --jars merganser.jar``: an archive has no folder of jars."""
    import importlib

    import merganser
    from merganser import _bridge

    module = importlib.import_module("merganser.session")
    jar = tmp_path / "given" / jar_for(pyspark.__version__).name
    found = {"spark.jars": str(jar)}
    monkeypatch.setattr(module, "_shipped_jars", lambda: tmp_path / "none")
    monkeypatch.setattr(module.SparkSession, "getActiveSession", classmethod(lambda cls: None))
    monkeypatch.setattr(module.SparkSession, "_instantiatedSession", None)
    monkeypatch.setattr(pyspark.SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(_bridge, "launched", lambda settings: found)
    monkeypatch.setattr(_bridge, "loaded_jar", lambda: None)
    monkeypatch.setattr(_bridge, "has_jar", lambda jvm: True)
    builder = module.SparkSession.Builder()
    monkeypatch.setattr(builder, "getOrCreate", lambda: dict(builder._options))
    settings = merganser.configure(builder).getOrCreate()
    assert settings["spark.jars"] == str(jar)
    assert settings["spark.sql.extensions"] == module.EXTENSIONS
