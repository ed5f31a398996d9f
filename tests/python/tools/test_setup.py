"""`./dev` lists what it can do and what is missing, and the jar it builds is the one that the package picks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyspark
import pytest
from places import ROOT

from dev import jars, lock
from dev.programs import with_jar


def dev(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "CI")}
    command = [sys.executable, str(ROOT / "dev"), *words]
    return subprocess.run(command, env={**inherited, **variables}, capture_output=True, text=True, timeout=60)


def dev_with_java(folder: Path, version: str | None, *words: str, jdk: bool = True) -> subprocess.CompletedProcess[str]:
    """`./dev` where `java` is a script that names a version, or where there is none."""
    folder.joinpath("bin").mkdir()
    if version is not None:
        java = folder / "bin" / "java"
        java.write_text(f"#!/bin/sh\necho '    java.home = {folder}' >&2\necho 'openjdk version \"{version}\"' >&2\n")
        java.chmod(0o755)
        folder.joinpath("lib").mkdir()
        if jdk:
            folder.joinpath("lib", "ct.sym").touch()
    return dev(*words, PATH=str(folder / "bin"))


def test_help_lists_every_command() -> None:
    listed = re.findall(r"^  ([\w-]+) ", dev("help").stdout, re.MULTILINE)

    own = ["help", "demo", "cdc", "test", "build", "lint", "fmt", "bench", "shell", "python"]
    programs = ["sql", "submit", "connect", "thrift", "beeline", "clean"]
    assert listed == [
        *own,
        *programs,
        "wheel",
        "publish-local",
        "docs",
        "api",
        "newcomer",
        "sbt",
        "artifacts",
        "release",
    ]


def test_an_unknown_command_is_refused_with_a_hint_to_help() -> None:
    run = dev("bild")

    assert run.returncode == 2
    assert run.stderr == "There is no command 'bild': `./dev help` lists the commands.\n"


def test_an_unknown_spark_line_is_refused_with_the_known_ones() -> None:
    run = dev("build", "--spark", "2.4")

    assert run.returncode == 2
    assert "'2.4'" in run.stderr
    assert all(line in run.stderr for line in ("3.5", "4.0", "4.1", "4.2"))


@pytest.mark.parametrize(
    ("version", "line", "sentence"),
    [
        (None, "3.5", "Java was not found: install a JDK 17 and put it on the PATH, or point JAVA_HOME at it."),
        ("1.8.0_392", "3.5", "Java 8 ({java}) is too old: install a JDK 17 and point JAVA_HOME at it."),
        ("11.0.21", "4.2", "Java 11 ({java}) is too old: install a JDK 17 and point JAVA_HOME at it."),
        (
            "25",
            "3.5",
            "Java 25 ({java}) is too new for Spark 3.5, which runs on Java 17 to 21: "
            "install a JDK 17 and point JAVA_HOME at it.",
        ),
        (
            "25.0.1",
            "4.0",
            "Java 25 ({java}) is too new for Spark 4.0, which runs on Java 17 to 21: "
            "install a JDK 17 and point JAVA_HOME at it.",
        ),
        (
            "26-ea",
            "4.2",
            "Java 26 ({java}) is too new for Spark 4.2, which runs on Java 17 to 25: "
            "install a JDK 17 and point JAVA_HOME at it.",
        ),
    ],
)
def test_an_unsuitable_java_is_refused_in_one_sentence(
    tmp_path: Path, version: str | None, line: str, sentence: str
) -> None:
    run = dev_with_java(tmp_path, version, "build", "--spark", line)

    assert run.returncode == 2
    assert run.stderr == sentence.format(java=tmp_path / "bin" / "java") + "\n"
    assert run.stdout == ""


def test_a_java_without_a_compiler_is_refused_in_one_sentence(tmp_path: Path) -> None:
    run = dev_with_java(tmp_path, "17.0.9", "build", jdk=False)

    assert run.returncode == 2
    assert run.stderr == (f"The Java in {tmp_path} has no compiler: install a JDK 17 and point JAVA_HOME at it.\n")


def test_a_java_home_without_java_is_refused_by_its_path(tmp_path: Path) -> None:
    run = dev("build", JAVA_HOME=str(tmp_path))

    assert run.returncode == 2
    assert run.stderr == f"JAVA_HOME is '{tmp_path}', which holds no bin/java: point it at a JDK 17, or unset it.\n"


@pytest.fixture
def lock_of_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "STATE", tmp_path / ".dev")
    monkeypatch.setattr(lock, "LOCK", tmp_path / ".dev" / "lock")


@pytest.mark.usefixtures("lock_of_another_folder")
def test_a_second_command_in_a_folder_waits_for_the_first_and_prints_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MERGANSER_DEV_LOCKED", raising=False)
    steps = []
    waits = threading.Event()
    monkeypatch.setattr(lock, "say", lambda text: (steps.append(text), waits.set()))

    def second() -> None:
        # The variable marks programs of the first command; this thread stands for another command.
        del os.environ["MERGANSER_DEV_LOCKED"]
        with lock.alone("build"):
            steps.append("second")

    with lock.alone("test"):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(10)
        steps.append("first")
        os.environ["MERGANSER_DEV_LOCKED"] = "1"
    thread.join(10)

    assert steps == [
        f"Waiting for another command in this folder: ./dev test (process {os.getpid()}) ...",
        "first",
        "second",
    ]


@pytest.mark.usefixtures("lock_of_another_folder")
def test_a_program_started_by_the_locking_command_does_not_wait() -> None:
    with lock.alone("test"), lock.alone("build"):
        pass


class Sources:
    """Sources of which stand-ins for the jars are built, in any folder."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kept: Path) -> None:
        self._monkeypatch = monkeypatch
        self.text = "first"
        self.meanwhile = ""  # what they become while they are compiled
        self.compiled: list[str] = []
        monkeypatch.setattr(jars, "KEPT", kept)
        monkeypatch.setattr(jars, "MOST_KEPT", 2)
        monkeypatch.setattr(jars, "sources_stamp", lambda: self.text)
        monkeypatch.setattr(jars, "sbt", self.compile)

    def use(self, folder: Path) -> None:
        """Work in a folder."""
        self._monkeypatch.setattr(jars, "JARS", folder / "jars")
        self._monkeypatch.setattr(jars, "STATE", folder)
        others = [folder / "b" / "costs.jar", folder / "c" / "mergers.jar"]
        self._monkeypatch.setattr(jars, "other_jars", lambda line: others)
        folder.mkdir(exist_ok=True)

    def build(self, folder: Path) -> str:
        """The contents of the jars that a build in a folder leaves there."""
        self.use(folder)
        jars.build(object(), ["3.5"])  # type: ignore[arg-type]
        (jar,) = jars.JARS.glob("*.jar")
        (text,) = {file.read_text() for file in (jar, *jars.other_jars("3.5"))}
        return text

    def compile(self, *_: object) -> None:
        self.compiled.append(self.text)
        for jar in (jars.JARS / "merganser-spark-3.5_2.12-0.1.0.jar", *jars.other_jars("3.5")):
            jar.parent.mkdir(parents=True, exist_ok=True)
            jar.write_text(self.text)
        self.text = self.meanwhile or self.text


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    return Sources(monkeypatch, tmp_path / "kept")


def test_jars_of_equal_sources_are_compiled_once_for_all_clones(tmp_path: Path, sources: Sources) -> None:
    assert sources.build(tmp_path / "a") == sources.build(tmp_path / "b") == "first"
    assert sources.compiled == ["first"]
    with (tmp_path / "a" / "b" / "costs.jar").open() as running:
        for sources.text in ("second", "third", "second"):
            assert sources.build(tmp_path / "b") == sources.text
        assert sources.build(tmp_path / "a") == "second"
        assert running.read() == "first"  # as a program reads that has opened it
    assert sources.compiled == ["first", "second", "third"]
    assert sorted(kept.name for kept in jars.KEPT.iterdir()) == ["second-3.5", "third-3.5"]


def test_jars_of_sources_edited_during_compilation_are_not_stored(tmp_path: Path, sources: Sources) -> None:
    assert sources.build(tmp_path / "a") == "first"
    sources.text, sources.meanwhile = "second", "edited"
    assert sources.build(tmp_path / "a") == "second"
    assert [kept.name for kept in jars.KEPT.iterdir()] == ["first-3.5"]
    for text in ("first", "edited", "second"):
        sources.text = text
        assert sources.build(tmp_path / "a") == text
    assert sources.compiled == ["first", "second", "edited", "second"]


def test_concurrent_parts_of_a_run_store_the_same_jars(tmp_path: Path, sources: Sources) -> None:
    sources.use(tmp_path / "a")
    sources.compile()
    together = threading.Barrier(8)

    def mark(_: int) -> None:
        together.wait(30)
        jars.mark_staged(["3.5"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(mark, range(8)))
    assert [kept.name for kept in jars.KEPT.iterdir()] == ["first-3.5"]
    assert len(list((jars.KEPT / "first-3.5").iterdir())) == 3


def test_a_jar_option_of_spark_submit_is_added_to_ours() -> None:
    assert with_jar(["--jars", "a.jar", "app.py"], Path("m.jar")) == ["--jars", "m.jar,a.jar", "app.py"]


@pytest.mark.e2e
def test_the_jar_of_the_installed_spark_is_staged_and_picked() -> None:
    from merganser.session import jar_for

    line = ".".join(pyspark.__version__.split(".")[:2])
    jar = jar_for(pyspark.__version__)

    assert jar.parent == ROOT / "python" / "src" / "merganser" / "jars"
    assert jar.name.startswith(f"merganser-spark-{line}_")


@pytest.mark.e2e
def test_the_oldest_java_of_the_line_reads_the_jars_class_files() -> None:
    from merganser.session import jar_for

    oldest = 52 if pyspark.__version__.startswith("3.5.") else 61  # class files of Java 8 and 17
    with zipfile.ZipFile(jar_for(pyspark.__version__)) as jar:
        classes = [name for name in jar.namelist() if name.endswith(".class")]
        found = {int.from_bytes(jar.read(name)[6:8], "big") for name in classes}

    assert {"io/merganser/merge/MerganserException.class"} <= set(classes)
    assert found == {oldest}
