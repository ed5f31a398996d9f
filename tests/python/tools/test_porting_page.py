"""docs/porting.md: what it has for Hudi compiles against Hudi, and what it has instead against Merganser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pyspark
import pytest
from places import ROOT

from merganser import options

PAGE = (ROOT / "docs" / "porting.md").read_text()
FORMS = {"for Hudi": os.environ.get("MERGANSER_HUDI_JAR", ""), "here": ""}


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def code(title: str, form: str) -> str:
    [found] = re.findall(rf"```java\n// {form}\n(.*?)```", section(title), re.DOTALL)
    return found


def lines(title: str) -> list[tuple[str, str]]:
    """The code in the rows of the section's first table."""
    table = section(title).split("|---|---|\n")[1].split("\n\n")[0]
    cells = [re.fullmatch(r"\| `(.*)` \| (?:`(.*)`|none) \|", row) for row in table.splitlines()]
    assert all(cells), table
    return [(row.group(1), row.group(2) or "") for row in cells if row]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("title", "name"), [("A merger", "LeastPrice"), ("A payload class", "SumOfPrices")])
def test_both_forms_of_a_class_on_the_page_compile_and_have_the_lines_of_the_table(
    tmp_path: Path, title: str, name: str, form: str
) -> None:
    text = code(title, form)
    jar = FORMS[form] or str(ours())
    assert jar, "MERGANSER_HUDI_JAR is not set"
    (tmp_path / f"{name}.java").write_text(text)
    path = f"{jar}:{Path(pyspark.__file__).parent / 'jars'}/*"
    java = shutil.which("javac", path=f"{os.environ.get('JAVA_HOME', '')}/bin:{os.environ['PATH']}")
    assert java, "no javac"
    done = subprocess.run(
        [java, "-nowarn", "-d", str(tmp_path), "-cp", path, str(tmp_path / f"{name}.java")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    of_table = [row[list(FORMS).index(form)] for row in lines(title)]
    assert [line for line in of_table if line not in text] == []


def ours() -> Path:
    version = ".".join(pyspark.__version__.split(".")[:2])
    [jar] = (ROOT / "python" / "src" / "merganser" / "jars").glob(f"merganser-spark-{version}_*.jar")
    return jar


def test_the_constants_on_the_page_are_there() -> None:
    named = [here for _, here in lines("Options") if here.startswith("Options.")]
    assert len(named) > 5
    for name in named:
        found = options
        for part in name.split(".")[1:]:
            found = getattr(found, part)
        assert isinstance(found, str)
