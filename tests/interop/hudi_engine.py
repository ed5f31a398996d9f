"""The real Apache Hudi for tests: a Spark session with Hudi's bundle in a process of its own.

    with HudiEngine() as hudi:
        hudi.upsert(path, "id int, name string", [[1, "a"]])
        assert hudi.read(path).business == [[1, "a"]]

Rows go in and come out as JSON values (see ``interop.values``). Starting takes some seconds: tests share one engine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
META_PREFIX = "_hoodie_"
META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)


class HudiMissingError(RuntimeError):
    """There is no Hudi to test against: a set-up error, never a reason to skip."""


class HudiError(RuntimeError):
    """Hudi refused or failed. ``causes`` are the messages, outermost first."""

    def __init__(self, request: str, causes: Sequence[str], log: str) -> None:
        super().__init__(f"Hudi failed to {request}:\n  " + "\n  caused by ".join(causes) + log)
        self.causes = tuple(causes)


@dataclass(frozen=True)
class Rows:
    """What an engine read from a table: ``columns`` are (name, Spark type), ``rows`` are in no promised order."""

    columns: list[tuple[str, str]]
    rows: list[list[Any]]

    def select(self, names: Sequence[str]) -> list[list[Any]]:
        """The named columns, sorted by value."""
        from interop.values import sort_rows

        positions = [[name for name, _ in self.columns].index(name) for name in names]
        return sort_rows([row[position] for position in positions] for row in self.rows)

    @property
    def business_columns(self) -> list[tuple[str, str]]:
        return [(name, kind) for name, kind in self.columns if name not in META_COLUMNS]

    @property
    def business(self) -> list[list[Any]]:
        """The rows without meta columns, sorted by value."""
        return self.select([name for name, _ in self.business_columns])


class HudiEngine:
    """A running Hudi; a context manager.

    Args:
        jar: Hudi's Spark 3.5 bundle. ``None`` takes it from the environment variable MERGANSER_HUDI_JAR.
        python: Interpreter with pyspark 3.5. ``None`` takes the environment variable MERGANSER_HUDI_PYTHON, and
            without it the running interpreter.

    Raises:
        HudiMissingError: The jar is not there, or the session did not start.
    """

    def __init__(self, jar: str | os.PathLike[str] | None = None, *, python: str | None = None) -> None:
        chosen = jar or os.environ.get("MERGANSER_HUDI_JAR")
        if not chosen:
            raise HudiMissingError(
                "The environment variable MERGANSER_HUDI_JAR is not set. Run the tests with './dev test --all', "
                "or set it to what 'python tests/interop/hudi_jar.py CACHE_DIR' prints."
            )
        if not Path(chosen).is_file():
            raise HudiMissingError(f"There is no Hudi bundle at '{chosen}' (MERGANSER_HUDI_JAR).")
        interpreter = python or os.environ.get("MERGANSER_HUDI_PYTHON") or sys.executable
        self._home = tempfile.TemporaryDirectory(prefix="hudi-engine-")
        self._log = (Path(self._home.name) / "log.txt").open("w+b")
        self._process = subprocess.Popen(
            [
                interpreter,
                "-m",
                "interop.hudi_worker",
                str(chosen),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
            cwd=self._home.name,
            # Python workers too: the PATH may begin with that of another Spark line.
            env={**_clean_environment(), "PYSPARK_PYTHON": interpreter},
        )
        try:
            self._answer("start")
        except HudiError as error:
            self.close()
            raise HudiMissingError(str(error)) from error

    def read(self, path: str | os.PathLike[str], query: str = "snapshot", **options: str) -> Rows:
        """The table's rows with meta columns; ``query`` is ``snapshot`` or ``read_optimized``."""
        answer = self._ask("read", path=_text(path), query=query, options=options)
        return Rows([(name, kind) for name, kind in answer["columns"]], answer["rows"])

    def write(
        self,
        path: str | os.PathLike[str],
        schema: str | Sequence[Sequence[str]],
        rows: Sequence[Sequence[Any]],
        *,
        operation: str = "upsert",
        mode: str = "append",
        options: Mapping[str, str] | None = None,
    ) -> None:
        """One Hudi commit. ``schema`` is DDL text or (name, type) pairs; ``mode="overwrite"`` makes a new table."""
        self._ask(
            "write",
            path=_text(path),
            schema=schema,
            rows=[list(row) for row in rows],
            operation=operation,
            mode=mode,
            options=dict(options or {}),
        )

    def upsert(
        self,
        path: str | os.PathLike[str],
        schema: str | Sequence[Sequence[str]],
        rows: Sequence[Sequence[Any]],
        **options: str,
    ) -> None:
        self.write(path, schema, rows, operation="upsert", options=options)

    def delete(
        self,
        path: str | os.PathLike[str],
        schema: str | Sequence[Sequence[str]],
        rows: Sequence[Sequence[Any]],
        **options: str,
    ) -> None:
        """Hudi's delete operation: rows need the key, partition and ordering columns only."""
        self.write(path, schema, rows, operation="delete", options=options)

    def merge(
        self,
        path: str | os.PathLike[str],
        schema: str | Sequence[Sequence[str]],
        rows: Sequence[Sequence[Any]],
        clauses: str,
    ) -> None:
        """SQL MERGE INTO the table as ``t``, from ``rows`` as ``s``."""
        self._ask("merge", path=_text(path), schema=schema, rows=[list(row) for row in rows], clauses=clauses)

    def compact(self, path: str | os.PathLike[str], op: str = "scheduleAndExecute", **options: str) -> None:
        """Hudi's run_compaction procedure: ``schedule``, ``run`` or ``scheduleAndExecute``."""
        self._ask("compact", path=_text(path), op=op, options=options)

    def sql(self, *statements: str) -> list[list[Any]]:
        """Run SQL statements one after the other; the rows of the last one."""
        return list(self._ask("sql", statements=list(statements)))

    def play(self, name: str, statements: Sequence[str]) -> list[Any]:
        """Outcomes of a sequence of statements, as :mod:`interop.sql_player` describes them."""
        return list(self._ask("play", name=name, statements=list(statements)))

    def format_names(self) -> dict[str, list[str]]:
        """What this Hudi has names for: ``properties`` of tables, ``folders`` of ``.hoodie``, ``actions``."""
        return dict(self._ask("names"))

    def help(self, procedure: str) -> str:
        """What Hudi's help procedure says of another one."""
        return str(self._ask("help", procedure=procedure))

    def close(self) -> None:
        """End the process; safe to call twice."""
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._log.close()
        self._home.cleanup()

    def __enter__(self) -> HudiEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, do: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise HudiError(do, ["the Hudi process has ended"], self._tail()) from error
        return self._answer(f"{do} {arguments.get('path', '')}")

    def _answer(self, request: str) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise HudiError(request, ["the Hudi process has ended"], self._tail())
        answer = json.loads(line)
        if "error" in answer:
            raise HudiError(request, answer["error"], self._tail())
        return answer["ok"]

    def _tail(self) -> str:
        if self._log.closed:
            return ""
        self._log.flush()
        text = Path(self._log.name).read_text("utf-8", errors="replace")
        return "\nIts log ends with:\n" + text[-3000:]


def _clean_environment() -> dict[str, str]:
    """Ours, without what would bring our own jar or settings into Hudi's session."""
    left = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    return {**left, "PYTHONPATH": str(TESTS), "TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1"}


def _text(path: str | os.PathLike[str]) -> str:
    return str(Path(path).resolve())
