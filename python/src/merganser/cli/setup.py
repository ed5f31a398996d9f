"""The installation: ``demo``, ``doctor``, ``jar`` and ``completion``."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path
from typing import Any

import click
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from merganser.cli._arguments import SESSION, request_of
from merganser.cli._output import print_grid, print_json, print_text
from merganser.cli._run import Result, open_session, run
from merganser.diagnosis import Diagnosis, Finding, doctor, installed
from merganser.errors import MerganserError
from merganser.session import jar_path
from merganser.table import Table


@click.command("demo", params=SESSION.copy())
@click.argument("folder", metavar="[FOLDER]", default="merganser-demo")
def demo_command(folder: str, **session: Any) -> int:
    """Merge a small feed into a new table, FOLDER/orders, and show each statement with its result.

    FOLDER is merganser-demo by default. The table stays for the other commands.
    """
    place = Path(folder).resolve() / "orders"
    if place.exists():
        raise click.UsageError(f"{place} exists: name another folder")
    literal, word = str(place).replace("\\", "\\\\").replace("'", "\\'"), shlex.quote(str(place))
    script = Path(__file__).with_name("demo.sql").read_text(encoding="utf-8").format(path=literal)

    def shown(spark: SparkSession) -> Result:
        out, last = io.StringIO(), []
        for statement in script.strip().removesuffix(";").split(";\n"):
            out.write(f"{statement.strip()};\n")
            rows = [row.asDict() for row in spark.sql(statement).collect()]
            if rows:
                last = [{name: row[name] for name in row if any(one[name] for one in rows)} for row in rows]
                print_grid(last, out)
            out.write("\n")
        return Result(last, text=f"{out.getvalue()}Next: merganser explain {word} o1; merganser history {word}")

    return run(shown, request_of(session))


@click.command("doctor", params=SESSION.copy())
@click.argument("table", metavar="[TABLE]", required=False)
@click.option("--no-session", is_flag=True, help="Look only at what is installed, and start no session.")
def doctor_command(table: str | None, no_session: bool, **session: Any) -> int:
    """Look for what Merganser needs: Java, jar, extension, catalog; exit code 1 if something is missing.

    Starts a session, and, if it is local, writes and reads a table in a temporary folder. With TABLE, that
    table is opened as well. Whatever is missing is printed with the command that adds it.
    """
    found, request = installed(), request_of(session)
    if not no_session and all(finding.status != "missing" for finding in found):
        try:
            with open_session(request) as spark:
                found = list(doctor(spark, write=True).findings)
                if table is not None:
                    found.append(Finding("table", "ok", repr(Table.load(spark, table))))
        except (MerganserError, PySparkException, OSError) as error:
            name = "session" if all(finding.name != "session" for finding in found) else "table"
            found.append(Finding(name, "missing", str(error)))
    diagnosis = Diagnosis(tuple(found))
    if request.json:
        print_json(diagnosis.to_dict(), sys.stdout)
    else:
        print_text(diagnosis.to_string(), sys.stdout)
    return 0 if diagnosis.ok else 1


@click.command("jar")
@click.option("--spark", metavar="LINE", help="Version or line of Spark; default: the installed PySpark's.")
def jar_command(spark: str | None) -> int:
    """Print the path of the package's jar: spark-submit --jars "$(merganser jar)" ..."""
    try:
        click.echo(jar_path(spark))
    except MerganserError as error:
        click.echo(f"merganser: {error}", err=True)
        return 1
    return 0


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> int:
    """Print the script that completes commands in a shell: eval "$(merganser completion bash)"."""
    from click.shell_completion import get_completion_class

    from merganser.cli import commands

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(commands(), {}, "merganser", "_MERGANSER_COMPLETE").source())
    return 0


COMMANDS = (demo_command, doctor_command, jar_command, completion_command)
