"""The jars under Maven coordinates, each with the files and the description that Maven Central requires."""

from __future__ import annotations

import argparse
import hashlib
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from dev.environment import Environment
from dev.jars import build
from dev.layout import JARS, ROOT, described, spark_lines
from dev.process import say
from dev.sbom import jar_bom, maven_purl

GROUP = "io.merganser"

#: Files of Scaladoc that may be copied only with a licence that it does not bring: fonts, for which a page has others.
LEFT_OUT = ("lib/lato-", "lib/source-code-pro-")

#: What else is in a jar of documentation.
SCALADOC_NOTICE = """\
Merganser
Copyright 2026 The Merganser authors

The folder lib has files of others:

Scaladoc, all files that are not named below: Copyright (c) 2002-2023 EPFL, (c) 2011-2023 Lightbend, Inc.; Apache
License 2.0. Scala includes software developed at LAMP/EPFL (https://lamp.epfl.ch/) and Lightbend, Inc.
(https://www.lightbend.com/).

jquery.min.js: jQuery, Copyright OpenJS Foundation and other contributors; MIT License
jquery.mousewheel.min.js: jQuery Mousewheel, Copyright 2015 jQuery Foundation and other contributors; MIT License
jquery.panzoom.min.js: Panzoom, Copyright Timmy Willison; MIT License
modernizr.custom.js: Modernizr; MIT License
MaterialIcons-Regular: Material Icons, Google; Apache License 2.0
open-sans-v13-latin: Open Sans, Digitized data copyright 2010-2011, Google Corporation; Apache License 2.0
"""


def publish_local(options: argparse.Namespace, rest: list[str]) -> int:
    """put the jars into a local Maven repository [--spark LINE] [--to FOLDER], by default ~/.m2/repository

    `spark-submit --packages io.merganser:merganser-spark-3.5_2.12:VERSION` finds them in ~/.m2/repository; in another
    folder with `--repositories file:///FOLDER`.
    """
    lines = [options.spark] if options.spark else list(spark_lines())
    build(Environment(lines[0]), lines)
    repository = Path(options.to).resolve() if options.to else Path.home() / ".m2" / "repository"
    for line in lines:
        say(publish(jar_of(line), spark_lines()[line], repository))
    say(f"in {repository}")
    return 0


def jar_of(line: str) -> Path:
    (jar,) = JARS.glob(f"merganser-spark-{line}_*.jar")
    return jar


def publish(jar: Path, spark_version: str, repository: Path, others: Mapping[str, Path] | None = None) -> str:
    """Copy a jar with its POM, its bill of materials and checksums into a repository, and return its coordinates.

    Args:
        jar: Its name is that of the artifact and the version.
        spark_version: Of the Spark that it is compiled against.
        repository: The repository's folder.
        others: Further jars of the artifact by their classifier, such as ``sources``.
    """
    artifact, _, version = jar.stem.rpartition("-")
    folder = repository.joinpath(*GROUP.split("."), artifact, version)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(jar, folder / jar.name)
    for classifier, other in (others or {}).items():
        shutil.copyfile(other, folder / f"{jar.stem}-{classifier}.jar")
    (folder / f"{jar.stem}.pom").write_text(pom(artifact, version, spark_version))
    spark = maven_purl("org.apache.spark", f"spark-sql_{scala_of(artifact)}", spark_version)
    (folder / f"{jar.stem}-cyclonedx.json").write_text(jar_bom(jar, maven_purl(GROUP, artifact, version), spark))
    for file in sorted(folder.glob(f"{jar.stem}*")):
        if file.suffix in (".jar", ".pom", ".json"):
            for algorithm in ("md5", "sha1"):
                file.with_name(f"{file.name}.{algorithm}").write_text(
                    hashlib.new(algorithm, file.read_bytes()).hexdigest()
                )
    return f"{GROUP}:{artifact}:{version}"


def scala_of(artifact: str) -> str:
    return artifact.rpartition("_")[2]


def pom(artifact: str, version: str, spark_version: str) -> str:
    """The description of a jar. It depends on Spark alone, which is there where the jar is used."""
    address = escape(described("Source"))
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{GROUP}</groupId>
  <artifactId>{escape(artifact)}</artifactId>
  <version>{escape(version)}</version>
  <packaging>jar</packaging>
  <name>Merganser for Spark {escape(spark_version.rpartition(".")[0])}</name>
  <description>{escape(described("description"))}</description>
  <url>{address}</url>
  <licenses>
    <license>
      <name>{escape(described("license"))}</name>
      <url>http://www.apache.org/licenses/LICENSE-2.0</url>
      <distribution>repo</distribution>
    </license>
  </licenses>
  <developers>
    <developer>
      <name>The Merganser authors</name>
      <url>{address}</url>
    </developer>
  </developers>
  <scm>
    <connection>scm:git:{address}.git</connection>
    <developerConnection>scm:git:{address}.git</developerConnection>
    <url>{address}</url>
  </scm>
  <dependencies>
    <dependency>
      <groupId>org.apache.spark</groupId>
      <artifactId>spark-sql_{scala_of(artifact)}</artifactId>
      <version>{escape(spark_version)}</version>
      <scope>provided</scope>
    </dependency>
  </dependencies>
</project>
"""


def jar_of_documentation(folder: Path, jar: Path) -> None:
    """Write the files of a Scaladoc, with the licence, into a jar that depends on nothing but them."""
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    contents = {name: file.read_bytes() for name, file in files.items() if not name.startswith(LEFT_OUT)}
    contents["META-INF/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    contents["META-INF/NOTICE"] = SCALADOC_NOTICE.encode()
    jar.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(contents.items()):
            entry = zipfile.ZipInfo(name, date_time=(2010, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
