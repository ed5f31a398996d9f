"""Commands that hand over to another program: the demo, benchmarks, Python's prompt and Spark's own programs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from dev.environment import Environment
from dev.jars import build
from dev.layout import JARS, ROOT, STATE, default_line, identifier, spark_lines
from dev.lock import alone
from dev.process import replace_by
from dev.sbt import sbt
from dev.testing import HUDI_LINE, hudi_jar

CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"  # in pyspark from Spark 4 on
THRIFT_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


def demo(options: argparse.Namespace, rest: list[str]) -> int:
    """set up, build and run the demo: a year of flights into demo-out/ [--spark LINE] [DEMO ARGUMENTS]"""
    environment = Environment(options.spark or default_line())
    build(environment, [environment.line])
    out = [] if "--out" in rest else ["--out", "demo-out"]
    replace_by([environment.python, "examples/flights/demo.py", *out, *rest], environment.variables())


def cdc(options: argparse.Namespace, rest: list[str]) -> int:
    """follow a database by its change events, through restarts, into cdc-out/ [--spark LINE] [CDC ARGUMENTS]"""
    environment = Environment(options.spark or default_line())
    build(environment, [environment.line])
    out = [] if "--out" in rest else ["--out", "cdc-out"]
    replace_by([environment.python, "examples/cdc/cdc.py", *out, *rest], environment.variables())


def bench(options: argparse.Namespace, rest: list[str]) -> int:
    """compare loads, changes, reads and compaction with plain Spark [--spark LINE] [BENCHMARK ARGUMENTS]

    It compares times, and what operations cost: jobs, shuffles, calls of the file system. `./dev bench services` does
    so with cleans, archivings and compactions, `./dev bench changes` with incremental reads, change data and streams,
    beside Hudi too. `./dev bench peers` compares with Hudi, Delta Lake, Iceberg and Paimon, whose jars it fetches.
    `./dev bench scale` compares two workers of a cluster with one, and a skewed batch with an even one. `./dev bench
    merge` times the merge loop alone, on the default line.
    """
    if rest[:1] == ["merge"]:
        bench_merge(rest[1:])
    environment = Environment(options.spark or default_line())
    build(environment, [environment.line])
    if rest[:1] == ["peers"]:
        variables = environment.variables(PYTHONPATH=str(ROOT / "benchmarks"))
        replace_by([environment.python, "-m", "peers.run", *rest[1:]], variables)
    script = "benchmarks/bench.py"
    if rest[:1] in (["services"], ["changes"], ["scale"]):
        script, rest = f"benchmarks/{rest[0]}.py", rest[1:]
    variables = {}
    if script == "benchmarks/changes.py" and environment.line == HUDI_LINE and "--without-hudi" not in rest:
        variables["MERGANSER_HUDI_JAR"] = str(hudi_jar(environment))
    replace_by([environment.python, script, *rest], environment.variables(**variables))


def bench_merge(rest: list[str]) -> NoReturn:
    """Compare the merge loop alone with a hand-written loop; the class path comes from the build."""
    environment = Environment(default_line())
    number = identifier(environment.line)
    with alone("bench merge"):
        sbt(environment, [f"bench{number}/javaArguments"])
    java, found = environment.java_home / "bin" / "java", ROOT / "jvm" / ".lines" / number / "bench" / "java.args"
    words = ["--java", java, "--arguments", found, "--log", STATE / "bench-merge.log", *rest]
    replace_by([environment.python, "benchmarks/merge_loop.py", *words], environment.variables())


def shell(options: argparse.Namespace, rest: list[str]) -> int:
    """a Python prompt with a session that has Merganser, as `spark` [--spark LINE]"""
    environment = Environment(options.spark or default_line())
    build(environment, [environment.line])
    start = "import merganser; spark = merganser.session('shell', master='local[2]')"
    start += f"; print('Spark {environment.version} with Merganser: `spark` is the session, `merganser` the package.')"
    replace_by([environment.python, "-i", "-c", start], environment.variables())


def python(options: argparse.Namespace, rest: list[str]) -> int:
    """run a file, or any arguments of Python, with the environment's Python [--spark LINE] FILE ..."""
    environment = Environment(options.spark or default_line())
    build(environment, [environment.line])
    replace_by([environment.python, *rest], environment.variables())


def sql(options: argparse.Namespace, rest: list[str]) -> int:
    """Spark's SQL prompt with Merganser [--spark LINE] [SPARK-SQL ARGUMENTS]

    Its tables are in .dev/lake. `-f FILE` runs a file, `-e "STATEMENT"` a statement.
    """
    run_spark(options, "spark-sql", [], rest)


def submit(options: argparse.Namespace, rest: list[str]) -> int:
    """spark-submit, with Merganser's jar and settings [--spark LINE] [SPARK-SUBMIT ARGUMENTS] FILE ..."""
    run_spark(options, "spark-submit", [], rest)


def connect(options: argparse.Namespace, rest: list[str]) -> int:
    """a Spark Connect server at sc://localhost:15002, until Ctrl-C [--spark LINE] [SPARK-SUBMIT ARGUMENTS]"""
    run_spark(options, "spark-submit", ["--class", CONNECT_SERVER], [*rest, "spark-internal"])


def thrift(options: argparse.Namespace, rest: list[str]) -> int:
    """Spark's JDBC server at jdbc:hive2://localhost:10000/, until Ctrl-C [--spark LINE] [SPARK-SUBMIT ARGUMENTS]"""
    run_spark(options, "spark-submit", ["--class", THRIFT_SERVER], [*rest, "spark-internal"])


def beeline(options: argparse.Namespace, rest: list[str]) -> int:
    """the JDBC client that Spark ships [--spark LINE] [BEELINE ARGUMENTS]"""
    environment = Environment(options.spark or default_line())
    replace_by([spark_home(environment) / "bin" / "beeline", *rest], spark_variables(environment))


def run_spark(options: argparse.Namespace, program: str, first: Sequence[str], rest: Sequence[str]) -> NoReturn:
    """Start a program of Spark's with Merganser's jar and settings; the arguments follow and take precedence."""
    lines = list(spark_lines())
    environment = Environment(options.spark or (lines[-1] if CONNECT_SERVER in first else lines[0]))
    build(environment, [environment.line])
    jar = next(JARS.glob(f"merganser-spark-{environment.line}_*.jar"))
    lake = STATE / "lake"
    lake.mkdir(parents=True, exist_ok=True)
    settings = [
        f"spark.jars={jar}",
        f"spark.driver.extraClassPath={jar}",  # sessions of the thrift server load their catalog only from there
        "spark.sql.extensions=io.merganser.spark.MerganserExtensions",
        "spark.sql.catalog.spark_catalog=io.merganser.spark.MerganserCatalog",
        f"spark.sql.warehouse.dir={lake / 'tables'}",
    ]
    words = [word for setting in settings for word in ("--conf", setting)]
    command = [
        spark_home(environment) / "bin" / program,
        *words,
        "--driver-java-options",
        f"-Dderby.system.home={lake}",
    ]
    replace_by([str(word) for word in (*command, *first, *with_jar(rest, jar))], spark_variables(environment))


def with_jar(words: Sequence[str], jar: Path) -> list[str]:
    """Arguments of spark-submit with our jar added to --jars, which replaces spark.jars."""
    taken = list(words)
    for at, word in enumerate(taken[:-1]):
        if word == "--jars":
            taken[at + 1] = f"{jar},{taken[at + 1]}"
    return taken


def spark_home(environment: Environment) -> Path:
    return environment.spark_jars.parent


def spark_variables(environment: Environment) -> dict[str, str]:
    return environment.variables(SPARK_HOME=str(spark_home(environment)))
