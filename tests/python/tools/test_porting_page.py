"""docs/move-from-hudi.md: both forms of its classes compile, for Hudi and for Merganser, and the constants agree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pyspark
import pytest
from places import ROOT, TESTS
from snippets import page_text

from merganser import options

pytestmark = pytest.mark.extensive

FORMS = {"for Hudi": os.environ.get("MERGANSER_HUDI_JAR", ""), "here": ""}


def section(title: str) -> str:
    return page_text("docs/move-from-hudi.md", title)


def code(title: str, form: str) -> str:
    [found] = re.findall(rf"```java\n// {form}\n(.*?)```", section(title), re.DOTALL)
    return found


def lines(title: str, number: int = 1) -> list[tuple[str, str]]:
    """The code in the rows of a table of the section, by default its first one."""
    table = section(title).split("|---|---|\n")[number].split("\n\n")[0]
    cells = [re.fullmatch(r"\| `(.*)` \| (?:`(.*)`|none) \|", row) for row in table.splitlines()]
    assert all(cells), table
    return [(row.group(1), row.group(2) or "") for row in cells if row]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("title", "name"), [("A merger", "LeastPrice"), ("A payload class", "SumOfPrices")])
def test_both_forms_of_a_class_on_the_page_compile_and_have_the_lines_of_the_table(
    tmp_path: Path, title: str, name: str, form: str
) -> None:
    text = code(title, form)
    compile_java(tmp_path, FORMS[form] or str(ours()), name, text)
    of_table = [row[list(FORMS).index(form)] for row in lines(title)]
    assert [line for line in of_table if line not in text] == []


def compile_java(folder: Path, jars: str, name: str, text: str, *more: Path) -> None:
    assert jars, "MERGANSER_HUDI_JAR is not set"
    (folder / f"{name}.java").write_text(text)
    done = subprocess.run(
        [tool("javac"), "-nowarn", "-d", str(folder), "-cp", path(jars), *map(str, more), str(folder / f"{name}.java")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def tool(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('JAVA_HOME', '')}/bin:{os.environ['PATH']}")
    assert found, f"no {name}"
    return found


def path(jars: str) -> str:
    return f"{jars}:{Path(pyspark.__file__).parent / 'jars'}/*"


#: What a merger needs besides the lines of the table of 1.0: one of each line, in the order of the table.
MERGERS_OF_1_0 = {
    "for Hudi": """
        {imports} import org.apache.hudi.common.config.TypedProperties;
        import org.apache.hudi.common.model.HoodieRecordMerger;
        public class Merger implements HoodieRecordMerger {{
          @Override {method} {parameters}) {{
            double price = {value};
            return {isDelete} ? {newer} : price > 1 ? {newer} : {deleted};
          }}
          @Override public String getMergingStrategy() {{ return ""; }}
          @Override public HoodieRecord.HoodieRecordType getRecordType() {{ return null; }}
        }}""",
    "here": """
        {imports} import io.merganser.merge.RecordMerger; import java.util.Map;
        public class Merger implements RecordMerger {{
          @Override {method} {parameters}) {{
            double price = (Double) {value};
            double sum = price + 1;
            if (price > 2) return %s;
            return {isDelete} ? {newer} : price > 1 ? {newer} : {deleted};
          }}
          @Override public String getMergingStrategy() {{ return ""; }}
        }}""",
}


@pytest.mark.parametrize("form", FORMS)
def test_both_forms_of_the_lines_of_a_merger_for_hudi_1_0_compile(tmp_path: Path, form: str) -> None:
    cells = [row[list(FORMS).index(form)] for row in lines("A merger", 2)]
    imports = [cell for cell in cells if cell.startswith("import ")]
    method, parameters, value, is_delete, newer, deleted = cells[-6:]
    [made] = re.findall(r"`(context\.mergeWithEngineRecord\(.*?\)\))`", section("A merger"))
    text = (
        MERGERS_OF_1_0[form]
        .replace("%s", made)
        .format(
            imports=" ".join(imports),
            method=method,
            parameters=parameters,
            value=value,
            isDelete=is_delete,
            newer=newer,
            deleted=deleted,
        )
    )
    # The interface of 1.0 is not in the jar.
    stubs = (TESTS / "interop" / "hudi_classes" / "of_1_0" / "stubs").rglob("*.java") if form == "for Hudi" else ()
    compile_java(tmp_path, FORMS[form] or str(ours()), "Merger", text, *stubs)


def test_hudis_constants_on_the_page_exist_and_equal_ours(tmp_path: Path) -> None:
    rows = [(theirs, here) for theirs, here in lines("Constants") if here.startswith("Options.")]
    prints = "\n".join(f"System.out.println({theirs} + ' ' + {here});" for theirs, here in rows)
    text = f"""
        import io.merganser.Options; import org.apache.hudi.DataSourceWriteOptions;
        import org.apache.hudi.config.HoodieIndexConfig; import org.apache.hudi.config.HoodieWriteConfig;
        public class Names {{ public static void main(String[] arguments) {{ {prints} }} }}"""
    jars = f"{tmp_path}:{ours()}:{FORMS['for Hudi']}"
    compile_java(tmp_path, jars, "Names", text)
    done = subprocess.run([tool("java"), "-cp", path(jars), "Names"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = [line.split(" ") for line in done.stdout.splitlines()]
    assert len(printed) == len(rows) > 5
    [other] = [pair for pair in printed if pair[0] != pair[1]]
    assert other == ["hoodie.datasource.write.precombine.field", options.ORDERING_FIELDS]
    assert all(name in section("Constants") for name in other)


def ours() -> Path:
    version = ".".join(pyspark.__version__.split(".")[:2])
    [jar] = (ROOT / "python" / "src" / "merganser" / "jars").glob(f"merganser-spark-{version}_*.jar")
    return jar


def test_our_constants_on_the_page_exist() -> None:
    named = [here for _, here in lines("Constants") if here.startswith("Options.")]
    assert len(named) > 5
    for name in named:
        found = options
        for part in name.split(".")[1:]:
            found = getattr(found, part)
        assert isinstance(found, str)
