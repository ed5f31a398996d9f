# Guarantee (Installing): Every command is documented, with its exit codes, and prints its result and nothing else,
#   unless something is wrong, but for one line on a terminal while Spark starts. Also:
#   test_a_command_in_its_own_process_prints_nothing_to_stderr,
#   test_a_command_in_its_own_process_prints_its_result_and_one_start_line
"""The commands that look at a table, its savepoints, restores and repairs, and those of the installation."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import click
import pytest
from places import ROOT
from pyspark.sql import SparkSession

import merganser
from merganser._calls import calls
from merganser.cli import _arguments, commands, main, setup
from merganser.cli._arguments import every_option, on_table
from merganser.cli._run import _quiet_log
from merganser.diagnosis import Finding

COLUMNS = "id string, amount double, ts long"
Run = Callable[..., str]


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of two commits; the second one has a late row."""
    folder = tmp_path_factory.mktemp("command line") / "orders"
    table = merganser.Table.create(
        spark, folder, COLUMNS, record_key="id", ordering_by="ts", table_type=merganser.TableType.MERGE_ON_READ
    )
    table.upsert(spark.createDataFrame([("a", 1.0, 10), ("b", 2.0, 10)], COLUMNS).coalesce(1))
    table.upsert(spark.createDataFrame([("a", 9.0, 5), ("b", 3.0, 20)], COLUMNS).coalesce(1))
    return str(folder)


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main(arguments) == code, capsys.readouterr().err
        return capsys.readouterr().out

    return run


@pytest.mark.e2e
def test_commands_print_a_table_as_lines_a_table_or_json(path: str, printed: Run) -> None:
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in printed("info", path).splitlines())
    assert (lines["type"], lines["record_key"], lines["ordering_by"]) == ("MERGE_ON_READ", "id", "ts")
    assert printed(path, "schema").splitlines()[0].split() == ["column", "type", "nullable"]
    (found,) = json.loads(printed("info", path, "--json"))
    assert (found["file_slices"], found["columns"]) == (1, 3)
    history = json.loads(printed("history", path, "--json"))
    assert [entry["operation"] for entry in history] == ["UPSERT", "UPSERT"]
    head, *rows = printed("history", path, "--limit", "1").splitlines()
    assert head.split()[:3] == ["instant", "operation", "state"]
    assert len(rows) == 1
    assert len(json.loads(printed("slices", path, "--json"))[0]["log_files"]) == 1


@pytest.mark.e2e
def test_config_lists_settings_with_their_sources_and_conflicts_first(path: str, printed: Run) -> None:
    rows = [line.split() for line in printed("config", path).splitlines()]
    assert rows[0] == ["setting", "value", "source"]  # a column without values is not shown
    assert ["hoodie.table.ordering.fields", "ts", "table"] in rows
    wrong = "--option=hoodie.datasource.write.recordkey.field=amount"
    first = printed("config", path, wrong).splitlines()[1]
    assert first.split()[:3] == ["hoodie.datasource.write.recordkey.field", "id", "table"]
    assert "'amount'" in first
    assert len(printed("config", path, "--all").splitlines()) > 5 * len(rows)
    by_name = {one["setting"]: one for one in json.loads(printed("config", path, "--json", wrong))}
    assert by_name["hoodie.combine.before.upsert"]["source"] == "default"
    assert "'amount'" in by_name["hoodie.datasource.write.recordkey.field"]["conflict"]
    assert "hoodie.table.checksum" in printed("config", path, "--stored")


@pytest.mark.e2e
def test_read_changes_and_explain_print_rows_and_versions(path: str, printed: Run) -> None:
    rows = json.loads(printed("read", path, "--where", "id = 'b'", "--json"))
    assert rows == [{"id": "b", "amount": 3.0, "ts": 20}]
    first = json.loads(printed("history", path, "--json"))[-1]["instant"]
    old = json.loads(printed("read", path, "--as-of", first, "--columns", "id, ts", "--json"))
    assert sorted(row["ts"] for row in old) == [10, 10]
    changed = json.loads(printed("changes", path, "--since", first, "--json"))
    assert [row["id"] for row in changed] == ["b"]
    (change,) = json.loads(printed("changes", path, "--since", first, "--data", "--json"))
    assert (change["op"], change["before"]["amount"], change["after"]["amount"]) == ("u", 2.0, 3.0)
    assert {"won", "lost"} & set(printed("explain", path, "b").split())
    assert json.loads(printed("explain", path, '["b"]', "--json")) == json.loads(
        printed("explain", path, "b", "--json")
    )
    assert "nothing" not in printed("explain", path, "none", code=1)
    assert printed("read", path, "--where", "id = 'none'") == "no rows\n"


@pytest.mark.usefixtures("spark")
def test_the_demo_prints_statements_with_their_results_and_keeps_its_table(
    tmp_path: Path, printed: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "shop's")
    shown = printed("demo", folder)
    assert re.search(r"inserted  updated  unchanged  late .*\n +1 +1 +1 +1 ", shown)
    assert re.search(r"^o1 +sent .*\no3 +paid +7.5 +4\no4 +new ", shown, re.MULTILINE)
    assert json.loads(printed("info", f"{folder}/orders", "--json"))[0]["ordering_by"] == ["at"]
    assert f"merganser explain {shlex.quote(folder + '/orders')} o1" in shown
    assert main(["demo", folder]) == 2
    assert "name another folder" in capsys.readouterr().err


def test_a_wrong_key_or_column_prints_a_short_error(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", path, "{id: 1"]) == 2
    assert "Error: KEY begins like JSON and is none (Expecting property name" in capsys.readouterr().err
    assert main(["read", path, "--where", "nope = 1"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("merganser: [UNRESOLVED_COLUMN")


@pytest.mark.e2e
def test_savepoint_commands_create_list_restore_and_delete_a_savepoint(
    spark: SparkSession, tmp_path: Path, printed: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "t")
    table = merganser.Table.create(spark, place, COLUMNS, record_key="id", ordering_by="ts")
    table.upsert(spark.createDataFrame([("a", 1.0, 1)], COLUMNS))
    (made,) = json.loads(printed("savepoint", place, "--comment", "before", "--json"))
    table.upsert(spark.createDataFrame([("a", 2.0, 2), ("b", 2.0, 2)], COLUMNS))
    assert "1 commits, 1 rows inserted" in printed("restore", place, "--savepoint", "newest", "--dry-run")
    at = (datetime.now(timezone.utc) - timedelta(days=99)).isoformat(sep=" ", timespec="seconds")
    assert main(["restore", place, "--to", at]) == 1
    assert "as merganser history shows them" in capsys.readouterr().err
    soon = (datetime.now(timezone.utc) + timedelta(days=1)).isoformat(sep=" ", timespec="seconds")
    newest = table.history(1)[0].instant
    assert f"0 files (0 B) deleted; newest write then: {newest} (2" in printed("restore", place, "--to", soon)
    assert main(["restore", place, "--savepoint", "newest"]) == 2
    assert "Give --yes" in capsys.readouterr().err
    assert table.df().count() == 2
    assert printed("restore", place, "--savepoint", "newest", "--yes").startswith("taken back: 1 commits")
    assert [row.amount for row in table.df().collect()] == [1.0]
    (listed,) = json.loads(printed("savepoint", place, "--list", "--json"))
    assert (listed["savepoint_time"], listed["comments"]) == (made["savepoint_time"], "before")
    printed("savepoint", place, "--delete", made["savepoint_time"])
    assert printed("savepoint", place, "--list") == "no savepoints\n"


@pytest.mark.e2e
def test_repair_shows_its_steps_first_and_changes_rows_only_with_apply(
    spark: SparkSession, tmp_path: Path, printed: Run
) -> None:
    place = str(tmp_path / "t")
    table = merganser.Table.create(spark, place, COLUMNS, record_key="id", ordering_by="ts")
    for ts in (1, 2):
        table.insert(spark.createDataFrame([("a", 1.0, ts)], COLUMNS))
    assert "repair_deduplicate" in printed("verify", place, code=1)
    printed("repair", place, "duplicates")
    assert table.df().count() == 2
    printed("repair", place, "duplicates", "--apply")
    assert [row.ts for row in table.df().collect()] == [2]
    assert printed("repair", place, "orphans") == "no orphan files\n"
    assert json.loads(printed("doctor", place, "--json"))["ok"] is True


def test_wrong_arguments_return_2_and_a_missing_table_returns_1(
    path: str, printed: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in (
        ["read"],
        ["read", path, "--limit", "0"],
        ["restore", path],
        ["restore", path, "--to", "1", "--savepoint", "1"],
        ["repair", path, "everything"],
        ["savepoint", path, "--list", "--delete", "1"],
        ["info", path, "--master", "local", "--remote", "sc://x"],
        ["config", path, "--all", "--stored"],
        [path, "nothing"],
    ):
        assert main(wrong) == 2, wrong
    assert main(["info", f"{path}/none", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "PATH_IS_NO_TABLE"
    assert main(["jar", "--spark", "9.9"]) == 1
    assert printed("jar") == f"{merganser.jar_path()}\n"
    assert printed("--version") == f"merganser {merganser.__version__}\n"


def test_every_command_is_on_the_page() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text()
    known = commands().commands
    assert [name for name in known if f"merganser {name} " not in page] == []
    assert len(known) > 15


@pytest.mark.parametrize("page", ["command-line.md", "tutorial.md", "installation.md", "run-it-for-a-year.md"])
def test_the_parser_accepts_every_command_of_a_page(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    shell = "\n".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL))
    lines = re.findall(r"^(?:python -m )?merganser (.*)$", shell, re.MULTILINE)
    assert lines
    for line in lines:
        name, *words = shlex.split(line, comments=True)
        commands().commands[name].make_context(name, words)


def test_an_option_has_its_parameters_type_default_and_help() -> None:
    (limit,) = (one for one in calls()["archive_commits"]["parameters"] if one["name"] == "min_commits")
    options = {one.name: one for one in commands().commands["archive"].params if isinstance(one, click.Option)}
    found = options["min_commits"]
    assert found.help is not None
    assert found.help.lower() == f"{limit['doc']}; default: {limit['default']}.".lower()
    assert isinstance(found.type, click.IntRange)
    assert options["dry_run"].is_flag


def test_completion_scripts_are_printed_for_each_shell(printed: Run) -> None:
    scripts: dict[str, Any] = {shell: printed("completion", shell) for shell in ("bash", "zsh", "fish")}
    assert all("_MERGANSER_COMPLETE" in script for script in scripts.values())


def test_only_the_pause_option_repeats_a_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[int | None] = []
    monkeypatch.setattr(_arguments, "run", lambda answer, request: pauses.append(request.every) or 0)
    named_so = on_table(click.option("--every")(lambda given, every: []))
    paused = on_table(every_option(lambda given, pause: []))
    for command in (named_so, paused):
        command.main(["a table", "--every", "5m"], standalone_mode=False)
        command.main(["a table"], standalone_mode=False)
    assert pauses == [None, None, 300, None]


def test_compact_of_a_copy_on_write_table_does_nothing(
    spark: SparkSession, tmp_path: Path, printed: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "t")
    merganser.Table.create(spark, place, COLUMNS, record_key="id")
    for more in ((), ("--if-due",), ("--dry-run",), ("--schedule",)):
        assert printed("compact", place, *more) == "nothing to do: a copy-on-write table has no logs\n"
    assert printed("compact", place, "--json") == "[]\n"
    assert main(["compact", place, "--every", "1s"]) == 1
    assert "COMPACTION_OF_COPY_ON_WRITE" in capsys.readouterr().err


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_help_text_is_truncated(printed: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    def squeezed(text: str) -> str:
        return "".join(text.split())  # words are broken where a column is too narrow for them

    shown = printed("--help")
    for name, command in commands().commands.items():
        first = (command.help or "").partition("\n\n")[0].partition(". ")[0].rstrip(".")
        assert squeezed(f"{name} {first}") in squeezed(shown), name
        own = printed(name, "--help")
        assert max(map(len, [*shown.splitlines(), *own.splitlines()])) <= width
        assert "…" not in shown + own
        assert squeezed((command.help or "").replace("\b", "")) in squeezed(own), name
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help, f"{name} {option.name}"
                assert squeezed(option.help) in squeezed(own), f"{name} {option.name}"
                assert option.opts[0] in own.split()
    assert "about 5 seconds" in " ".join(shown.split())


def test_a_command_logs_nothing_unless_logging_is_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    option = "SPARK_SUBMIT_OPTS"
    for name in (option, "JAVA_TOOL_OPTIONS", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with _quiet_log({}):
        file = re.fullmatch(r" -Dlog4j2\.configurationFile=file://(\S+)", os.environ[option])
        assert file is not None
        assert Path(file[1]).is_file()
    assert option not in os.environ
    own = "-Dlog4j2.configurationFile=/own"
    with _quiet_log({"spark.driver.extraJavaOptions": own}):
        assert option not in os.environ
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv(option, "-Da=b")
    with _quiet_log({}):
        assert os.environ[option].startswith("-Da=b -Dlog4j2")
    assert os.environ[option] == "-Da=b"
    (tmp_path / "log4j2.properties").touch()
    with _quiet_log({}):
        assert os.environ[option] == "-Da=b"


def test_a_declined_question_exits_with_130(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = merganser.Table.load(SparkSession.active(), path).history()[-1]
    terminal = io.StringIO("n\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert main(["restore", path, "--to", first.instant]) == 130
    assert capsys.readouterr().err.endswith("merganser: aborted\n")
    assert len(merganser.Table.load(SparkSession.active(), path).history()) == 2


def test_the_doctor_exits_with_1_if_something_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = [Finding("java", "missing", "There is no Java.")]
    monkeypatch.setattr(setup, "installed", lambda: missing)
    assert main(["doctor"]) == 1
    assert "There is no Java." in capsys.readouterr().out


class OwnProcess:
    """A command in a process of its own. Its standard error is a terminal, so that it has what people see."""

    def __init__(self, *arguments: str) -> None:
        self._terminal, theirs = pty.openpty()
        environment = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}  # Java notes it
        self.process = subprocess.Popen(
            [sys.executable, "-m", "merganser", *arguments, "--master", "local[1]"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            env=environment,
        )
        os.close(theirs)
        self.seen = self._line()

    def _line(self) -> str:
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self._terminal, 1)
        return line.decode()

    def end(self, signal_: int | None = None) -> tuple[int, str, str]:
        """The exit code, what it printed, and what the terminal showed."""
        if signal_ is not None:
            self.process.send_signal(signal_)
        reader = threading.Thread(target=self._read_terminal)
        reader.start()
        out, _ = self.process.communicate(timeout=300)
        reader.join()
        os.close(self._terminal)
        return self.process.returncode, out, self.seen

    def _read_terminal(self) -> None:
        with contextlib.suppress(OSError):  # the terminal's end, where all processes have closed it
            while part := os.read(self._terminal, 1000):
                self.seen += part.decode()


@pytest.mark.extensive
@pytest.mark.parametrize(
    ("command", "shown"),
    [("verify", "check"), ("compact", ""), ("doctor", "java")],
)
def test_a_command_in_its_own_process_prints_its_result_and_one_start_line(
    spark: SparkSession, tmp_path: Path, command: str, shown: str
) -> None:
    place = str(tmp_path / "t")
    table = merganser.Table.create(spark, place, COLUMNS, record_key="id", table_type="MERGE_ON_READ")
    for ts in (1, 2):
        table.upsert([("a", 1.0, ts)])
    code, out, seen = OwnProcess(command, place).end()
    remaining = [line.rpartition("\x1b[K")[2].strip() for line in seen.split("\n")]  # without cleared progress
    assert (code, [line for line in remaining if line]) == (0, ["Starting Spark, about 5 s ..."])
    assert shown in out


@pytest.mark.extensive
def test_a_command_in_its_own_process_prints_nothing_to_stderr(path: str) -> None:
    command = [sys.executable, "-m", "merganser", "schema", path, "--master", "local[1]"]
    environment = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}  # Java notes it
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True, env=environment)
    assert done.stdout.startswith("column")
    assert done.stderr == ""


@pytest.mark.extensive
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_terminated_repeated_command_exits_with_0(spark: SparkSession, tmp_path: Path, name: str) -> None:
    place = str(tmp_path / "t")
    table = merganser.Table.create(spark, place, COLUMNS, record_key="id", table_type="MERGE_ON_READ")
    for ts in (1, 2):
        table.upsert([("a", 1.0, ts)])
    due = "--option=hoodie.compact.inline.max.delta.commits=1"
    running = OwnProcess("compact", place, "--every", "1s", "--json", due)
    assert running.process.stdout is not None
    assert json.loads(running.process.stdout.readline())  # the first run is done
    code, out, seen = running.end(getattr(signal, name))
    assert (code, out, seen.count("\n")) == (0, "", 1)


@pytest.mark.extensive
def test_ctrl_c_exits_with_130(path: str) -> None:
    running = OwnProcess("read", path, "--where", "reflect('java.lang.Thread', 'sleep', 60000L) is null")
    code, out, seen = running.end(signal.SIGINT)
    assert (code, out) == (130, "")
    assert "Traceback" not in seen
