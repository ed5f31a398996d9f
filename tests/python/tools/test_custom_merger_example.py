"""The example of a user's merger and the classes of docs/write-a-merger.md: built as a project of its own, loaded by
`spark.jars` in a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest
from places import ROOT
from pyspark.sql import SparkSession
from snippets import snippets

import merganser
from dev.java import find_java
from dev.sbt import SBT_JVM, SBT_SETTINGS, sbt_launcher
from interop.sessions import INTERPRETED
from merganser.session import jar_for

pytestmark = [pytest.mark.e2e, pytest.mark.extensive]

EXAMPLE = ROOT / "examples" / "custom-merger"
ROW = "o1 lamp Oak 7 3 {state} 9.5 card 5"

# For programs that leave these to spark-submit. A shuffle has 200 partitions otherwise, of one row.
SMALL = [
    "--conf spark.ui.enabled=false",
    "--conf spark.sql.shuffle.partitions=1",
    *(f"--conf {key}={value}" for key, value in INTERPRETED.items()),
]

CLASSES = "hoodie.write.record.merge.custom.implementation.classes"
PAGE = "docs/write-a-merger.md"

# What the page's statements leave, after its Python.
RESULT = """
for block in {sql!r}:
    for statement in filter(str.strip, block.split(";")):
        spark.sql(statement).collect()
rows = sorted(tuple(row)[-2:] for row in spark.sql("SELECT * FROM prices").collect() + prices.df().collect())
print("ROWS", rows)
"""


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's jar, built from a copy, with the launcher and the Spark that the project is built with."""
    folder = tmp_path_factory.mktemp("example") / "custom-merger"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("target"))
    for language, name in (("scala", "MaxPrice"), ("java", "DeleteNegative")):
        of_the_page = snippets(PAGE, language)[0]
        source = folder / "src" / "main" / language / "shop" / f"{name}.{language}"
        source.parent.mkdir(parents=True)
        source.write_text(f"package shop{';' if language == 'java' else ''}\n\n{of_the_page}")
    line = ".".join(pyspark.__version__.split(".")[:2])
    spark_jars = Path(pyspark.__file__).parent / "jars"
    home = find_java(line)
    launcher = sbt_launcher(SimpleNamespace(java_home=home, spark_jars=spark_jars))
    named = [f"-Dspark.jars.dir={spark_jars}", f"-Dmerganser.jar={jar_for(pyspark.__version__)}"]
    flags = [*SBT_JVM, *SBT_SETTINGS, *named, *os.environ.get("SBT_FLAGS", "").split()]
    command = [str(home / "bin" / "java"), *flags, "-jar", str(launcher), "package"]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.glob("target/scala-*/orders-merger_*.jar")
    return built


def run(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "python" / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "SPARK_LOCAL_IP": "127.0.0.1", **variables}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def test_the_example_gives_the_same_order_on_every_path_and_a_reader_needs_the_jar(
    jar: Path, spark: SparkSession, tmp_path: Path
) -> None:
    done = run(EXAMPLE / "orders.py", jar, tmp_path, PYSPARK_SUBMIT_ARGS=" ".join([*SMALL, "pyspark-shell"]))
    assert done.returncode == 0, done.stderr
    printed = re.findall(r"^(?:.*[\r\])])?([a-z_ ]+): (o1 .*)$", done.stdout, re.MULTILINE)
    shipped, delivered = ROW.format(state="shipped"), ROW.format(state="delivered")
    assert printed == [
        ("copy_on_write", shipped),
        ("merge_on_read", shipped),
        ("compacted", shipped),
        ("merge_on_read", delivered),
    ]
    reader = spark.read.format("merganser").option(CLASSES, "orders.OrderMerger")
    with pytest.raises(merganser.MerganserError) as refused:
        reader.load(str(tmp_path / "merge_on_read")).show()
    assert refused.value.condition == "MERGER_UNAVAILABLE"
    for words in ("'merge_on_read'", "orders.OrderMerger is not on the class path", "0e6957b1-7549"):
        assert words in str(refused.value)


def test_the_pages_classes_compile_and_its_python_and_sql_use_them(jar: Path, tmp_path: Path) -> None:
    (python,), sql = snippets(PAGE, "python", "Configuration"), snippets(PAGE, "sql", "Configuration")
    flags = ["--master local[1]", *SMALL, f"--conf spark.sql.warehouse.dir={tmp_path}", "pyspark-shell"]
    program = f"{python.replace('max-price.jar', str(jar))}{RESULT.format(sql=sql)}"
    done = run("-c", program, PYSPARK_SUBMIT_ARGS=" ".join(flags))
    assert done.returncode == 0, done.stderr[-4000:]
    assert "ROWS [('lamp', 9.5), ('lamp', 9.5), ('oak', 5.0), ('oak', 5.0)]" in done.stdout


def test_the_example_is_built_by_the_projects_sbt_version() -> None:
    assert (EXAMPLE / "project/build.properties").read_text() == (ROOT / "project/build.properties").read_text()


def test_no_file_of_the_example_is_longer_than_100_lines() -> None:
    for file in ("orders.py", "build.sbt", "src/main/scala/orders/OrderMerger.scala", "README.md"):
        assert len((EXAMPLE / file).read_text().splitlines()) <= 100, file
