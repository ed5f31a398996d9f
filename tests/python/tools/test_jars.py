"""Jars from Maven Central are taken only with the checksum that is known, and by Maven where Ivy fails."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from dev.maven import Jar, JarError, fetch_all, listed

CONTENT = "a jar"
JAR = Jar("org.example", "thing", "1.0", hashlib.sha256(CONTENT.encode()).hexdigest())

#: A Java that does what Ivy would, and notes the arguments.
IVY = f"""#!/bin/sh
echo "$@" > "$(dirname "$0")/arguments"
folder=$(echo "$@" | sed 's/.*-retrieve //; s/.\\[artifact\\].*//')
printf '{CONTENT}' > "$folder/thing-1.0.jar"
"""
BROKEN = "#!/bin/sh\necho no network\nexit 1\n"
MAVEN = f"""#!/bin/sh
for word in "$@"; do case "$word" in -DoutputDirectory=*) folder=${{word#*=}};; esac; done
printf '{CONTENT}' > "$folder/thing-1.0.jar"
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for `java` and `mvn`, of which there are no others."""
    folder = tmp_path / "home" / "bin"
    folder.mkdir(parents=True)
    monkeypatch.setenv("JAVA_HOME", str(folder.parent))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr("shutil.which", lambda name: str(folder / name) if (folder / name).exists() else None)
    return folder


def script(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o755)


def test_a_jar_is_fetched_once_with_the_system_properties_of_sbt(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SBT_FLAGS", "-Dhttps.proxyHost=proxy -J-Xmx1g")
    script(tools / "java", IVY)
    (jar,) = fetch_all(tmp_path / "cache", [JAR])
    assert jar.read_text() == CONTENT
    arguments = (tools / "arguments").read_text()
    assert arguments.startswith("-Dhttps.proxyHost=proxy -jar ")
    assert "-Xmx1g" not in arguments
    script(tools / "java", BROKEN)
    assert fetch_all(tmp_path / "cache", [JAR]) == [jar]


def test_a_jar_with_another_checksum_is_refused_and_not_kept(tools: Path, tmp_path: Path) -> None:
    script(tools / "java", IVY)
    with pytest.raises(JarError, match=r"Refused thing-1\.0\.jar: its SHA-256 is .* expected 0000"):
        fetch_all(tmp_path / "cache", [Jar(JAR.group, JAR.artifact, JAR.version, "0000")])
    assert not (tmp_path / "cache" / JAR.name).exists()


def test_maven_fetches_a_jar_that_ivy_cannot_and_else_the_error_has_ivys_output(tools: Path, tmp_path: Path) -> None:
    script(tools / "java", BROKEN)
    with pytest.raises(JarError, match=r"(?s)Cannot fetch org\.example:thing:1\.0, .*no network"):
        fetch_all(tmp_path / "cache", [JAR])
    script(tools / "mvn", MAVEN)
    assert fetch_all(tmp_path / "cache", [JAR])[0].read_text() == CONTENT


def test_a_list_has_the_coordinates_and_the_checksum_of_each_jar(tmp_path: Path) -> None:
    file = tmp_path / "jars.txt"
    file.write_text("org.example:thing:1.0 abc\norg.example:other:2.0 def\n")
    assert [(jar.coordinates, jar.sha256) for jar in listed(file)] == [
        ("org.example:thing:1.0", "abc"),
        ("org.example:other:2.0", "def"),
    ]
