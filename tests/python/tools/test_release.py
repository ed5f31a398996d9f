# Guarantee (Installing): The same sources result in the same jar, wheel and source distribution, byte by byte.
"""A release has everything that users get, describes it, and is made of the tagged sources alone."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest
from places import ROOT

from dev import releasing
from dev.artifacts import checksums, notes
from dev.environment import Environment
from dev.layout import ENVIRONMENTS, JARS, PACKAGE, release_version
from dev.packaging import pack
from dev.process import Stop
from dev.publishing import SCALADOC_NOTICE, jar_of, jar_of_documentation
from dev.releasing import check_taggable, copy_tree, opened, tag
from dev.sbom import jar_bom, wheel_bom

LINE = ".".join(pyspark.__version__.split(".")[:2])
CHANGELOG = "# Changelog\n\n## 0.2.0 (2026-03-01)\n\n### Fixed\n\n- A bug.\n\n## 0.1.0 (2026-01-01)\n\n- The first.\n"
SPARK = "pkg:maven/org.apache.spark/spark-sql_2.12@3.5.9"

# What is the same in two builds of different versions of the same sources.
MANIFEST = "META-INF/MANIFEST.MF"


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git repository with a commit."""
    for person in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{person}_NAME", "A test")
        monkeypatch.setenv(f"GIT_{person}_EMAIL", "test@localhost")
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "CHANGELOG.md").write_text("# Changelog\n")
    (folder / ".gitignore").write_text("dist/\n")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


def test_release_notes_are_the_versions_section_of_the_changelog() -> None:
    assert notes(CHANGELOG, "0.2.0") == "0.2.0 (2026-03-01)\n\n### Fixed\n\n- A bug.\n"
    assert notes(CHANGELOG, "0.1.0") == "0.1.0 (2026-01-01)\n\n- The first.\n"
    with pytest.raises(Stop, match=r"no section 0\.3\.0"):
        notes(CHANGELOG, "0.3.0")


def test_a_release_tags_a_commit_with_its_notes(tree: Path, tmp_path: Path) -> None:
    message = tmp_path / "notes.md"
    message.write_text(notes(CHANGELOG, "0.2.0"))
    check_taggable(tree, "0.2.0")
    (tree / "CHANGELOG.md").write_text(CHANGELOG)
    with pytest.raises(Stop, match="not committed"):
        check_taggable(tree, "0.2.0")
    tag(tree, "0.2.0", message)
    assert git(tree, "log", "-1", "--format=%s%d").startswith("project: release 0.2.0 (HEAD -> ")
    assert git(tree, "cat-file", "tag", "v0.2.0").endswith(f"\n\n{message.read_text()}")
    with pytest.raises(Stop, match=r"tag v0\.2\.0 already"):
        check_taggable(tree, "0.2.0")


def run_release(tree: Path, monkeypatch: pytest.MonkeyPatch, *, dry: bool) -> None:
    """Release 9.9.9 from a tree, with a file in place of what is built."""

    def built(command: list[object], *_: object, **__: object) -> str:
        copy = Path(str(command[1])).parent
        assert command[1:] == [copy / "dev", "artifacts"]
        assert "9.9.9" in (copy / "python" / "src" / "merganser" / "_version.py").read_text()
        (copy / "dist" / "release").mkdir(parents=True)
        (copy / "dist" / "release" / "notes.md").write_text(notes((copy / "CHANGELOG.md").read_text(), "9.9.9"))
        return ""

    for name, value in {"ROOT": tree, "COPY": tree / "dist" / "copy", "RELEASE": tree / "dist" / "release"}.items():
        monkeypatch.setattr(releasing, name, value)
    monkeypatch.setattr(releasing, "run", built)
    monkeypatch.setattr(releasing, "Environment", lambda line: None)
    releasing.release(SimpleNamespace(version="9.9.9", next=False, dry_run=dry, spark=None), [])


def test_a_release_dates_and_commits_files_and_its_dry_run_only_builds(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## 9.9.9 (not released)\n\n- A change.\n")
    for name in ("build.sbt", "README.md", "python/README.md", "python/src/merganser/_version.py"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f'__version__ = "{release_version()}"\n')
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "second")
    run_release(tree, monkeypatch, dry=True)
    assert (git(tree, "status", "--porcelain"), git(tree, "tag")) == ("", "")
    assert (tree / "dist" / "release" / "notes.md").read_text().startswith("9.9.9 (2")
    run_release(tree, monkeypatch, dry=False)
    assert git(tree, "tag") == "v9.9.9\n"
    assert git(tree, "diff", "--name-only", "HEAD~", "v9.9.9") == "CHANGELOG.md\npython/src/merganser/_version.py\n"
    assert "- A change." in git(tree, "cat-file", "tag", "v9.9.9")
    assert not (tree / "dist" / "copy").exists()


def test_a_copied_tree_has_the_files_that_git_tracks_or_would_add(tree: Path, tmp_path: Path) -> None:
    (tree / "new").mkdir()
    (tree / "new" / "file.py").write_text("pass\n")
    (tree / "dist").mkdir()
    (tree / "dist" / "ignored.jar").touch()
    copy_tree(tree, tmp_path / "copy")
    found = sorted(file.relative_to(tmp_path / "copy").as_posix() for file in (tmp_path / "copy").rglob("*.*"))
    assert found == [".gitignore", "CHANGELOG.md", "new/file.py"]


def test_a_release_of_an_invalid_version_and_a_dry_run_of_next_are_refused() -> None:
    for words, refusal in ((["next"], "not a version"), (["99.0.0", "--next", "--dry-run"], "no --dry-run of it")):
        command = [sys.executable, str(ROOT / "dev"), "release", *words]
        assert refusal in subprocess.run(command, capture_output=True, text=True).stderr


def test_sha256sum_accepts_the_written_checksums(tmp_path: Path) -> None:
    (tmp_path / "maven").mkdir()
    (tmp_path / "maven" / "a.jar").write_bytes(b"a jar")
    (tmp_path / "maven" / "a.jar.sha1").write_text("of Maven")
    assert checksums(tmp_path) == [f"{hashlib.sha256(b'a jar').hexdigest()}  maven/a.jar"]
    checked = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.stdout == "maven/a.jar: OK\n"


@pytest.mark.e2e
def test_the_jar_contains_classes_of_our_sources_only() -> None:
    ours = {
        file.parent.relative_to(folder).as_posix()
        for folder in ROOT.glob("jvm/*/src/main/*/")
        for file in folder.rglob("*.*a")
    }
    with zipfile.ZipFile(jar_of(LINE)) as jar:
        packages = {name.rpartition("/")[0] for name in jar.namelist() if name.endswith(".class")}
        legal = {name: jar.read(f"META-INF/{name}").decode() for name in ("LICENSE", "NOTICE")}
        others = [name for name in jar.namelist() if name.endswith((".jar", ".so", ".dll"))]
    assert packages - ours == set(), "third-party code: NOTICE has to name it, and its licence"
    assert others == []
    assert legal == {name: (ROOT / name).read_text() for name in legal}
    assert "include no third-party software" in legal["NOTICE"]


def test_a_jar_s_bill_of_materials_names_spark_alone(tmp_path: Path) -> None:
    jar = tmp_path / "merganser-spark-3.5_2.12-0.1.0.jar"
    jar.write_bytes(b"a jar")
    purl = "pkg:maven/io.merganser/merganser-spark-3.5_2.12@0.1.0"
    bom = json.loads(jar_bom(jar, purl, SPARK))
    subject = bom["metadata"]["component"]
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    assert (subject["group"], subject["name"], subject["version"]) == (
        "io.merganser",
        "merganser-spark-3.5_2.12",
        "0.1.0",
    )
    assert subject["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(b"a jar").hexdigest()}]
    assert subject["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    assert [each["purl"] for each in bom["components"]] == [SPARK]
    assert bom["dependencies"][0] == {"ref": purl, "dependsOn": [SPARK]}
    assert jar_bom(jar, purl, SPARK) == jar_bom(jar, purl, SPARK)
    jar.write_bytes(b"another jar")
    assert json.loads(jar_bom(jar, purl, SPARK))["serialNumber"] != bom["serialNumber"]


def test_a_wheel_s_bill_of_materials_names_its_jars_and_what_it_requires(tmp_path: Path) -> None:
    wheel = tmp_path / "merganser-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("merganser/jars/merganser-spark-3.5_2.12-0.1.0.jar", "a jar")
        archive.writestr(
            "merganser-0.1.0.dist-info/METADATA",
            "Name: merganser\nVersion: 0.1.0\nRequires-Dist: pyspark<4.3,>=3.5\nRequires-Dist: click>=8.1\n"
            "Requires-Dist: pytest>=8; extra == 'test'\n\nText.\n",
        )
    bom = json.loads(wheel_bom(wheel, "io.merganser"))
    assert bom["metadata"]["component"]["purl"] == "pkg:pypi/merganser@0.1.0"
    assert [each["purl"] for each in bom["components"]] == [
        "pkg:maven/io.merganser/merganser-spark-3.5_2.12@0.1.0",
        "pkg:pypi/click",
        "pkg:pypi/pyspark",
    ]
    assert [each.get("properties") for each in bom["components"][1:]] == [
        [{"name": "merganser:requirement", "value": "click>=8.1"}],
        [{"name": "merganser:requirement", "value": "pyspark<4.3,>=3.5"}],
    ]


def test_a_documentation_jar_has_the_same_bytes_for_equal_files(tmp_path: Path) -> None:
    made = []
    for time in (1_000_000_000, 1_700_000_000):
        folder = tmp_path / str(time)
        folder.mkdir()
        for name in ("b.html", "a.html") if time == 1_000_000_000 else ("a.html", "b.html"):
            (folder / name).write_text(name)
            os.utime(folder / name, (time, time))
        (folder / "lib").mkdir()
        (folder / "lib" / "lato-v11.ttf").touch()  # a font whose licence would have to be there
        jar_of_documentation(folder, tmp_path / f"{time}.jar")
        made.append((tmp_path / f"{time}.jar").read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "1000000000.jar") as jar:
        assert jar.namelist() == ["META-INF/LICENSE", "META-INF/NOTICE", "a.html", "b.html"]


@pytest.mark.extensive
def test_the_wheel_and_the_source_distribution_of_the_same_sources_have_the_same_bytes(tmp_path: Path) -> None:
    environment, built = Environment(LINE), []
    for mode in (0o644, 0o600):
        package = tmp_path / f"of-{mode:o}" / "python"
        shutil.copytree(PACKAGE, package, copy_function=shutil.copyfile)
        for number, file in enumerate(file for file in package.rglob("*") if file.is_file()):
            file.chmod(mode)
            os.utime(file, (1_500_000_000 + mode * 10_000 + number,) * 2)
        pack(environment, [LINE], package.with_name("dist"), package=package)
        built.append({file.name: file.read_bytes() for file in package.with_name("dist").glob("merganser*")})
    assert {name.rpartition(".")[2] for name in built[0]} == {"whl", "gz"}
    assert built[0] == built[1]
    with tarfile.open(tmp_path / "of-644" / "dist" / f"merganser-{release_version()}.tar.gz") as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {"LICENSE", "NOTICE", f"src/merganser/jars/{jar_of(LINE).name}"} <= names


@pytest.mark.extensive
def test_a_dry_run_of_a_release_makes_all_files_and_changes_no_others(tmp_path: Path) -> None:
    tree, version = tmp_path / "tree", release_version()
    copy_tree(ROOT, tree)
    changelog = (tree / "CHANGELOG.md").read_text()
    if f"## {version} (not released)" not in changelog:
        version = "99.0.0"
        (tree / "CHANGELOG.md").write_text(
            opened(changelog, version).replace("(not released)\n", "(not released)\n\nAll.")
        )
    git(tree, "init", "--quiet")
    before = git(tree, "status", "--porcelain", "--untracked-files=all")
    command = [sys.executable, tree / "dev", "release", version, "--dry-run", "--spark", LINE]
    variables = {**os.environ, "MERGANSER_ENVIRONMENTS": str(ENVIRONMENTS)}
    done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout

    assert "A dry run" in done.stdout
    assert git(tree, "status", "--porcelain", "--untracked-files=all") == before
    made = tree / "dist" / "release"
    assert re.match(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)\n\n\S", (made / "notes.md").read_text())
    artifact = jar_of(LINE).stem.rpartition("-")[0]
    folder = f"maven/io/merganser/{artifact}/{version}/{artifact}-{version}"
    names = [line.split("  ")[1] for line in (made / "SHA256SUMS").read_text().splitlines()]
    endings = ("-cyclonedx.json", "-javadoc.jar", "-sources.jar", ".jar", ".pom")
    assert names == [
        *(f"{folder}{ending}" for ending in endings),
        "notes.md",
        f"python/merganser-{version}-py3-none-any.whl",
        f"python/merganser-{version}.cdx.json",
        f"python/merganser-{version}.tar.gz",
    ]
    assert all(f"  {name}\n" in done.stdout for name in names)

    with zipfile.ZipFile(made / f"{folder}-sources.jar") as sources:
        expected = {"META-INF/NOTICE", "io/merganser/merge/KeyFold.scala", "io/merganser/spark/MerganserCatalog.scala"}
        assert expected <= set(sources.namelist())
    with zipfile.ZipFile(made / f"{folder}-javadoc.jar") as documentation:
        assert {"META-INF/LICENSE", "io/merganser/merge/RecordMerger.html"} <= set(documentation.namelist())
        assert documentation.read("META-INF/NOTICE").decode() == SCALADOC_NOTICE
        named = tuple(re.findall(r"^([\w.-]+):", SCALADOC_NOTICE, re.MULTILINE))
        library = [name.removeprefix("lib/") for name in documentation.namelist() if name.startswith("lib/")]
        others = [name for name in library if re.search(r"\.(min|custom)\.js$|\.(ttf|eot|woff)$", name)]
        assert [name for name in others if not name.startswith(named)] == []
    # Another build of the same sources in another folder: the jar of these tests.
    with zipfile.ZipFile(made / f"{folder}.jar") as one, zipfile.ZipFile(JARS / jar_of(LINE).name) as other:
        assert [(entry.filename, entry.date_time) for entry in one.infolist()] == [
            (entry.filename, entry.date_time) for entry in other.infolist()
        ]
        assert [name for name in one.namelist() if name != MANIFEST and one.read(name) != other.read(name)] == []
