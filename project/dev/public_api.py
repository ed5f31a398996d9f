"""The classes of the jar that users compile against or name in a configuration: signatures and documentation."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
from pathlib import Path

from dev.environment import Environment
from dev.jars import build
from dev.layout import JARS, ROOT, default_line, release_version
from dev.process import nothing, remove, run, say

SIGNATURES = ROOT / "api" / "merganser.txt"
SCALADOC = ROOT / "dist" / "scaladoc"

#: Classes that users' code calls or implements.
COMPILED_AGAINST = (
    "io.merganser.merge.BufferedRecord",
    "io.merganser.merge.MerganserException",
    "io.merganser.merge.OrderingValues",
    "io.merganser.merge.RecordContext",
    "io.merganser.merge.RecordMerger",
    "io.merganser.merge.RecordOperation",
    "io.merganser.merge.RecordType",
    "io.merganser.merge.laws.LawResult",
    "io.merganser.merge.laws.RuleLaw",
    "io.merganser.table.avro.RecordPayload",
    "io.merganser.testing.MergeLaws",
)

#: Classes of which the names are listed: options are listed in their source, the others implement Spark's interfaces.
NAMED = (
    "io.merganser.Options",
    "io.merganser.spark.MerganserCatalog",
    "io.merganser.spark.MerganserExtensions",
    "io.merganser.spark.MerganserLakeCatalog",
)

_HEAD = """\
# What code compiled against Merganser's jar may use, with the signatures of the default Spark line: a change here
# breaks or extends users' code, and is an entry of CHANGELOG.md. `./dev api` writes this file.
"""


def api(options: argparse.Namespace, rest: list[str]) -> int:
    """write the signatures of the jar's public classes into api/merganser.txt, and their Scaladoc into dist/scaladoc"""
    environment = Environment(default_line())
    build(environment, [environment.line])
    (jar,) = JARS.glob(f"merganser-spark-{environment.line}_*.jar")
    SIGNATURES.write_text(signatures(environment.java_home, jar))
    remove(SCALADOC)
    documentation(environment, jar, SCALADOC)
    for written in (SIGNATURES, SCALADOC / "index.html"):
        say(str(written.relative_to(ROOT)))
    return 0


def signatures(java_home: Path, jar: Path) -> str:
    """The public classes of a jar with those public members whose types are Java's, Spark's, Avro's or public too."""
    javap = [java_home / "bin" / "javap", "-public", "-cp", jar, *COMPILED_AGAINST, *NAMED]
    output = subprocess.run([str(word) for word in javap], capture_output=True, text=True, check=True).stdout
    lines: list[str] = []
    names_alone = False
    for line in output.splitlines():
        if line.startswith("public "):
            names_alone = re.findall(r"io\.merganser\.[\w.]+", line)[0] in NAMED
            lines += ["", re.sub(r" (?:extends|implements) .*", "", line[:-2]) if names_alone else line[:-2]]
        elif line.startswith("  ") and not names_alone and is_public(line):
            lines.append(line.replace("java.lang.", ""))
    return _HEAD + "\n".join(lines) + "\n"


def is_public(member: str) -> bool:
    """Whether users can call a member: its types are public, and it is not the compiler's own."""
    own = set(re.findall(r"io\.merganser\.[\w.]+", member))
    return own <= {*COMPILED_AGAINST, *NAMED} and not re.search(r"\$(?!default\$|\d)", member)


def documentation(environment: Environment, jar: Path, folder: Path) -> None:
    """Write the Scaladoc of the public classes into a folder."""
    spark = str(environment.spark_jars / "*")
    libraries = os.pathsep.join(map(str, [jar, *sorted(environment.spark_jars.glob("*.jar"))]))
    scaladoc = [environment.java_home / "bin" / "java", "-cp", spark, "scala.tools.nsc.ScalaDoc", "-cp", libraries]
    title = ["-doc-title", "Merganser", "-doc-version", release_version(), "-no-link-warnings"]
    folder.mkdir(parents=True)
    sources = sorted({source(name) for name in (*COMPILED_AGAINST, *NAMED)})
    run([*scaladoc, *title, "-d", folder, *sources], "scaladoc", show=nothing)


def source(name: str) -> Path:
    """The file of a class, which may have the name of another class."""
    package, _, simple = name.rpartition(".")
    declared = re.compile(rf"^(?:[a-z]+ )*(?:class|enum|interface|object|trait) {simple}\b", re.MULTILINE)
    files = sorted(ROOT.glob(f"jvm/*/src/main/*/{package.replace('.', '/')}/*.*a"))
    return next(file for file in files if declared.search(file.read_text()))
