"""A JDBC client in a process of its own: Hive's driver, from the jars that PySpark ships."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from servers import SPARK_HOME

CLIENT = Path(__file__).parent / "JdbcClient.java"


class JdbcError(Exception):
    """What a statement failed with."""

    def __init__(self, sql_state: str, message: str) -> None:
        super().__init__(message)
        self.sql_state = sql_state


@dataclass(frozen=True)
class Answer:
    """Columns as ``name:type``, and rows of strings."""

    columns: list[str]
    rows: list[tuple[str, ...]]

    def records(self) -> list[dict[str, str]]:
        names = [column.split(":")[0] for column in self.columns]
        return [dict(zip(names, row)) for row in self.rows]


class Jdbc:
    """One connection; statements run one after the other. What the client itself complains about goes to a log."""

    def __init__(self, url: str, log: Path) -> None:
        self._log = log
        java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
        command = [str(java), "-cp", f"{SPARK_HOME / 'jars'}/*", str(CLIENT), url]
        pipe = subprocess.PIPE
        with log.open("w") as errors:
            self._client: Any = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True)

    def run(self, statement: str) -> Answer:
        """Run a statement.

        Raises:
            JdbcError: It failed.
        """
        with suppress(BrokenPipeError):  # it has ended then, and the reason is read below
            self._client.stdin.write(" ".join(statement.split("\n")) + "\n")
            self._client.stdin.flush()
        columns: list[str] = []
        rows: list[tuple[str, ...]] = []
        error = None
        while (line := self._client.stdout.readline()) != "\n":
            if not line:
                raise RuntimeError(f"the JDBC client has ended: {self._log.read_text()[-4000:]}")
            kind, *fields = (_text(field) for field in line.rstrip("\n").split("\t"))
            if kind == "columns":
                columns = fields
            elif kind == "row":
                rows.append(tuple(fields))
            else:
                error = JdbcError(*fields)
        if error is not None:
            raise error
        return Answer(columns, rows)

    def __enter__(self) -> Jdbc:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, at: TracebackType | None) -> None:
        with suppress(BrokenPipeError):
            self._client.stdin.close()
        self._client.wait(timeout=30)


def _text(field: str) -> str:
    return re.sub(r"\\(.)", lambda escaped: {"n": "\n", "t": "\t"}.get(escaped[1], escaped[1]), field)
