"""What the README shows works when it is pasted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pasted import LINE, README, ROOT, SERVERS, blocks, commands, paste
from pyspark.sql import SparkSession

import merganser

pytestmark = pytest.mark.e2e


def test_every_dev_command_of_the_pages_exists() -> None:
    commands = re.findall(r"^ {4}(\S+) ([\w-]+)", README + SERVERS, re.MULTILINE)
    programs = {name for program, name in commands if program == "./dev"}
    assert {"demo", "test", "sql", "connect", "thrift", "beeline"} <= programs
    known = re.findall(r'^    "([\w-]+)": \(\w+, (?:True|False)\)', (ROOT / "dev").read_text(), re.MULTILINE)
    assert programs <= set(known)
    assert not any(program in ("spark-sql", "spark-submit", "beeline", "sbt") for program, _ in commands)


def test_the_python_of_the_readme_merges_a_late_and_a_new_row(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    exec(compile(blocks("python")[0], "README.md", "exec"), names)
    table = names["table"]
    assert isinstance(table, merganser.Table)
    rows = sorted(tuple(row) for row in table.df().collect())
    assert rows == [("a", 12.5, 3), ("b", 20.0, 5), ("c", 7.0, 1)]
    printed = capsys.readouterr().out
    for count in re.findall(r"\b(\w+=\d)", README):
        assert count in printed, f"the README promises {count}"


@pytest.mark.extensive
def test_the_sql_of_the_readme_runs_when_it_is_pasted_into_the_prompt(tmp_path: Path) -> None:
    (prompt,) = commands("./dev sql")
    more = ["--master", "local[1]", "--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=1"]
    more += ["--conf", f"spark.sql.warehouse.dir={tmp_path / 'tables'}"]
    # The first compiler alone starts sooner.
    more += ["--driver-java-options", f"-Dderby.system.home={tmp_path}"]
    ran = paste(prompt, "--spark", LINE, *more, typed=blocks("sql")[0], folder=tmp_path)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert [line for line in ran.stdout.splitlines() if "\t" in line][-2:] == ["a\t12.5\t3", "b\t20.0\t5"]


def test_the_documented_settings_for_another_spark_match_a_sessions(spark: SparkSession) -> None:
    page = (ROOT / "docs" / "installation.md").read_text().partition("## Maven")[0]
    settings = dict(re.findall(r"^ {4}(spark\.\S+) +(\S+)$", page, re.MULTILINE))
    assert Path(settings.pop("spark.jars")).name.startswith("merganser-spark-")
    assert settings == {name: spark.conf.get(name) for name in settings}
    assert len(settings) == 2


def test_files_and_folders_linked_by_the_readme_exist() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
