"""What the README shows works when it is pasted."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import merganser
from merganser.session import jar_for

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def block(language: str) -> str:
    """The one fenced block of a language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return str(text)


def spark_sql_command() -> list[str]:
    """The words of the command that starts a prompt, its jar the one for this line."""
    (text,) = re.findall(r"^ {4}(spark-sql (?:.*\\\n)*.*)$", README, re.MULTILINE)
    program, *words = re.sub(r"\\\n", " ", text).split()
    jar = str(jar_for(pyspark.__version__))
    return [str(Path(pyspark.__file__).parent / "bin" / program), *(re.sub(r"(?<==)\S*\.jar$", jar, w) for w in words)]


def test_the_python_of_the_readme_merges_a_late_and_a_new_row(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    exec(compile(block("python"), "README.md", "exec"), names)
    table = names["table"]
    assert isinstance(table, merganser.Table)
    rows = sorted(tuple(row) for row in table.df().collect())
    assert rows == [("a", 12.5, 3), ("b", 20.0, 5), ("c", 7.0, 1)]
    said = capsys.readouterr().out
    for count in re.findall(r"\b(\w+=\d)", README):
        assert count in said, f"the README promises {count}"


def test_the_sql_of_the_readme_needs_nothing_but_the_jar_and_two_settings(tmp_path: Path) -> None:
    script = tmp_path / "readme.sql"
    script.write_text(block("sql"))
    more = ["--master", "local[1]", "--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=1"]
    more += ["--driver-java-options", "-XX:TieredStopAtLevel=1"]  # starts sooner
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "SPARK_HOME", "SPARK_CONF_DIR")}
    ran = subprocess.run(
        [*spark_sql_command(), *more, "-f", str(script)],
        cwd=tmp_path,
        env={**clean, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert ran.stdout.splitlines()[-2:] == ["a\t12.5\t3", "b\t20.0\t5"]


def test_the_files_and_folders_that_the_readme_links_to_are_there() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
