# Guarantee (Installing): A wheel is not built without a Spark line's jar; a jar in a Maven repository depends on Spark
#   alone, as provided.
"""What users install: wheels have their jars, POMs name Spark alone, and one command sets the version."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from datetime import date
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from places import ROOT

import merganser
from dev.layout import release_version, spark_lines
from dev.packaging import check_contents
from dev.process import Stop
from dev.publishing import publish
from dev.releasing import dated, opened, set_version

POM = "{http://maven.apache.org/POM/4.0.0}"
CHANGELOG = "# Changelog\n\n## 0.2.0 (not released)\n\n- A change.\n\n## 0.1.0 (2026-01-01)\n\n- The first.\n"


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook of the package's build, in a project of its own with the lines 3.5 and 4.0."""
    interface = ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object  # type: ignore[attr-defined]
    for name in ("hatchling", "hatchling.builders", "hatchling.builders.hooks", "hatchling.builders.hooks.plugin"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.delenv("MERGANSER_WHEEL_LINES", raising=False)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "python" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.Jars()
    made.root, made.config, made.target_name = str(tmp_path), {"lines": ["3.5", "4.0"]}, "wheel"
    made.metadata = SimpleNamespace(version="1.0.0")
    (tmp_path / "src" / "merganser" / "jars").mkdir(parents=True)
    return made


def jar(hook: Any, name: str) -> None:
    Path(hook.root, "src", "merganser", "jars", name).write_text("a jar")


def test_a_wheel_needs_the_jar_of_every_line_and_an_editable_installation_does_not(hook: Any) -> None:
    jar(hook, "merganser-spark-3.5_2.12-1.0.0.jar")
    jar(hook, "merganser-spark-4.0_2.13-0.9.0.jar")  # of another version
    data: dict[str, Any] = {"force_include": {}}
    with pytest.raises(RuntimeError, match=r"for Spark 4\.0\. `./dev wheel` builds them"):
        hook.initialize("standard", data)
    hook.initialize("editable", data)
    assert data == {"force_include": {}}


def test_a_wheel_has_the_jars_of_its_version_for_the_chosen_lines(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("merganser-spark-3.5_2.12-1.0.0.jar", "merganser-spark-3.5_2.12-0.9.0.jar"):
        jar(hook, name)
    monkeypatch.setenv("MERGANSER_WHEEL_LINES", "3.5")
    for target, folder in (("wheel", "merganser/jars"), ("sdist", "src/merganser/jars")):
        hook.target_name = target
        data: dict[str, Any] = {"force_include": {}}
        hook.initialize("standard", data)
        assert list(data["force_include"].values()) == [f"{folder}/merganser-spark-3.5_2.12-1.0.0.jar"]


def test_a_wheel_from_a_source_distribution_has_its_jars(hook: Any) -> None:
    Path(hook.root, "PKG-INFO").touch()
    data: dict[str, Any] = {"force_include": {}}
    with pytest.raises(RuntimeError, match="without its jars"):
        hook.initialize("standard", data)
    jar(hook, "merganser-spark-4.0_2.13-1.0.0.jar")
    hook.initialize("standard", data)
    assert list(data["force_include"].values()) == ["merganser/jars/merganser-spark-4.0_2.13-1.0.0.jar"]


def test_the_package_lists_every_spark_line_and_has_the_projects_licence_and_version() -> None:
    project = (ROOT / "python" / "pyproject.toml").read_text()
    (lines,) = re.findall(r"^lines = \[(.*?)\]", project, re.MULTILINE)
    assert re.findall(r'"([\d.]+)"', lines) == list(spark_lines())
    for name in ("LICENSE", "NOTICE"):
        assert (ROOT / "python" / name).read_text() == (ROOT / name).read_text()
    assert merganser.__version__ == release_version()
    assert f'ThisBuild / version      := "{release_version()}"' in (ROOT / "build.sbt").read_text()
    assert f"\n## {release_version()} (" in (ROOT / "CHANGELOG.md").read_text()


def test_a_wheel_without_a_required_file_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "merganser.whl"
    names = ["merganser/py.typed"]
    names += [f"merganser-{release_version()}.dist-info/licenses/{name}" for name in ("LICENSE", "NOTICE")]
    names += [f"merganser/jars/merganser-spark-3.5_2.12-{release_version()}.jar"]
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    check_contents(wheel, ["3.5"])
    with pytest.raises(Stop, match=r"without a jar for Spark 4\.0"):
        check_contents(wheel, ["3.5", "4.0"])


def test_a_published_jar_depends_only_on_provided_spark(
    tmp_path: Path,
) -> None:
    built = tmp_path / "merganser-spark-4.2_2.13-0.1.0.jar"
    built.write_bytes(b"a jar")
    coordinates = publish(built, "4.2.0", tmp_path / "repository")
    assert coordinates == "io.merganser:merganser-spark-4.2_2.13:0.1.0"
    folder = tmp_path / "repository" / "io" / "merganser" / "merganser-spark-4.2_2.13" / "0.1.0"
    pom = folder / "merganser-spark-4.2_2.13-0.1.0.pom"
    assert (folder / built.name).read_bytes() == b"a jar"
    files = [file for file in folder.iterdir() if file.suffix not in (".sha1", ".md5")]
    assert {file.name.removeprefix(built.stem) for file in files} == {".jar", ".pom", "-cyclonedx.json"}
    for file in files:
        assert file.with_name(f"{file.name}.sha1").read_text() == hashlib.sha1(file.read_bytes()).hexdigest()
        assert file.with_name(f"{file.name}.md5").read_text() == hashlib.md5(file.read_bytes()).hexdigest()
    project = ElementTree.parse(pom).getroot()
    (dependency,) = project.iter(f"{POM}dependency")
    found = [dependency.findtext(f"{POM}{name}") for name in ("groupId", "artifactId", "version", "scope")]
    assert found == ["org.apache.spark", "spark-sql_2.13", "4.2.0", "provided"]
    assert project.findtext(f"{POM}licenses/{POM}license/{POM}name") == "Apache-2.0"
    required = ("name", "description", "url", "developers/developer/name", "scm/connection", "scm/url")  # by Central
    for path in required:
        assert project.findtext("/".join(POM + name for name in path.split("/"))), path


def test_a_release_dates_the_open_section_and_the_next_version_opens_one_above() -> None:
    released = dated(CHANGELOG, "0.2.0", date(2026, 3, 1))
    assert "## 0.2.0 (2026-03-01)\n\n- A change." in released
    following = opened(released, "0.3.0")
    assert following.index("## 0.3.0 (not released)") < following.index("## 0.2.0 (2026-03-01)")
    assert following.count("## ") == 3
    with pytest.raises(Stop, match=r"0\.2\.0 is not released yet"):
        opened(CHANGELOG, "0.3.0")
    with pytest.raises(Stop, match="no section"):
        dated(released, "0.3.0", date(2026, 3, 2))
    with pytest.raises(Stop, match=r"0\.3\.0 of CHANGELOG.md is empty"):
        dated(following, "0.3.0", date(2026, 3, 2))


def test_the_version_is_set_in_the_package_the_build_and_the_names_of_jars(tmp_path: Path) -> None:
    files = {
        "python/src/merganser/_version.py": '__version__ = "0.1.0"\n',
        "build.sbt": 'ThisBuild / version      := "0.1.0"\nval other = "0.1.0"\n',
        "README.md": "spark.jars merganser-spark-3.5_2.12-0.1.0.jar, since 0.1.0\n",
        "python/README.md": "nothing\n",
        "docs/installation.md": "io.merganser:merganser-spark-3.5_2.12:0.1.0, merganser-0.1.0-py3-none-any.whl\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    changed = set_version(tmp_path, "0.1.0", "0.2.0")
    assert {str(file.relative_to(tmp_path)) for file in changed} == set(files) - {"python/README.md"}
    assert (tmp_path / "build.sbt").read_text() == 'ThisBuild / version      := "0.2.0"\nval other = "0.1.0"\n'
    assert (tmp_path / "README.md").read_text() == "spark.jars merganser-spark-3.5_2.12-0.2.0.jar, since 0.1.0\n"
    assert (tmp_path / "docs" / "installation.md").read_text().count("0.2.0") == 2
