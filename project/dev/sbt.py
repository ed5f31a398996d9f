"""sbt: its launcher, which is fetched once, checked, and stored in the user's cache, and runs of its commands."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from dev.environment import Environment
from dev.java import SHORT_RUN
from dev.layout import CACHE, ROOT, SOURCE_DATE_EPOCH, STATE
from dev.process import Stop, remove, run, say, tried

# Checksum of the launcher of the sbt version in project/build.properties; change both together.
SBT_LAUNCH_SHA256 = "1750c8fb61c2d2f82da40b2cd9014f4d8a1bd49a361402ea5b1cec061ed66578"
# With one compiler the JVM reserves 48 MB for compiled code, which is not enough to compile all lines.
SBT_JVM = ["-Xmx3g", "-Xss4m", *SHORT_RUN, "-XX:ReservedCodeCacheSize=512m"]
SBT_SETTINGS = [
    "-Dsbt.override.build.repos=true",
    f"-Dsbt.repository.config={ROOT / 'project' / 'repositories'}",
    "-Dsbt.server.autostart=false",
    "-Dsbt.supershell=false",
    "-Dsbt.color=false",
]


def sbt_launcher(environment: Environment) -> Path:
    """The verified launcher: from the cache, else fetched by coordinates, with pyspark's Ivy or with Maven."""
    properties = (ROOT / "project" / "build.properties").read_text()
    version = properties.split("sbt.version=")[1].strip()
    jar = CACHE / f"sbt-launch-{version}.jar"
    if verified(jar):
        return jar
    say(f"Fetching sbt {version} ...")
    CACHE.mkdir(parents=True, exist_ok=True)
    for fetch in (fetch_by_ivy, fetch_by_maven):
        if fetch(environment, version, jar) and verified(jar):
            return jar
        remove(jar)
    raise Stop(
        f"Cannot fetch org.scala-sbt:sbt-launch:{version} with the expected checksum, with Ivy or with Maven "
        f"(see {STATE}/fetch-*.log): check the network, or put the file at {jar} yourself."
    )


def verified(jar: Path) -> bool:
    return jar.is_file() and hashlib.sha256(jar.read_bytes()).hexdigest() == SBT_LAUNCH_SHA256


def fetch_by_ivy(environment: Environment, version: str, jar: Path) -> bool:
    ivy = sorted(environment.spark_jars.glob("ivy-*.jar"))
    if not ivy:
        return False
    java = [environment.java_home / "bin" / "java", "-jar", ivy[-1]]
    folders = ["-cache", CACHE / "ivy", "-retrieve", CACHE / "[artifact]-[revision].[ext]"]
    wanted = ["-confs", "default", "-types", "jar", "-notransitive", "-dependency", "org.scala-sbt", "sbt-launch"]
    return tried([*java, *folders, *wanted, version], "fetch-ivy")


def fetch_by_maven(environment: Environment, version: str, jar: Path) -> bool:
    maven = shutil.which("mvn")
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    artifact = [f"-Dartifact=org.scala-sbt:sbt-launch:{version}", f"-DoutputDirectory={CACHE}", "-Dtransitive=false"]
    return maven is not None and tried([maven, "-q", "-B", plugin, *artifact], "fetch-maven")


def sbt(
    environment: Environment,
    commands: Sequence[str],
    *others: Environment,
    folder: Path = ROOT,
    properties: Sequence[str] = (),
) -> str:
    """Run sbt's commands in one process; Spark's jars come from the environments, or by Maven coordinates.

    Args:
        environment: Of the line whose Java runs sbt.
        commands: As typed at sbt's prompt.
        others: Environments of further lines.
        folder: The build's folder.
        properties: Further system properties, as ``-Dname=value``.
    """
    spark_jars = os.pathsep.join(str(each.spark_jars) for each in (environment, *others))
    java = environment.java_home / "bin" / "java"
    launch = ["-jar", sbt_launcher(environment)]
    flags = [*SBT_JVM, *SBT_SETTINGS, f"-Dspark.jars.dir={spark_jars}", *properties]
    flags += os.environ.get("SBT_FLAGS", "").split()
    variables = environment.variables(SOURCE_DATE_EPOCH=SOURCE_DATE_EPOCH)
    return run([java, *flags, *launch, *commands], "sbt", environment=variables, show=Gist(), folder=folder)


class Gist:
    """Filter of sbt's output: compilation, errors, failed tests with the following lines, and the tests' totals."""

    def __init__(self) -> None:
        self.more = 0

    def __call__(self, line: str) -> bool:
        self.more = 4 if re.search(r"\*\*\* (FAILED|ABORTED)", line) else self.more - 1
        shown = re.search(r"compiling \d+|^\[error\]|: error:|Tests: succeeded|Suites: completed", line)
        return self.more > 0 or shown is not None
