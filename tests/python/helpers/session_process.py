"""A session with Merganser in a process of its own, for tests that need another driver than the tests' session.

    with SessionProcess(folder, "local[2]", {"spark.hadoop.…": "…"}) as session:
        session.call(count, path="/tmp/table")

where ``count(spark, path)`` is a function of a module, with arguments and a result that JSON has.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from places import ROOT, TESTS

from interop.sessions import INTERPRETED, read_rows_as_pickled

DEFAULTS = {
    **INTERPRETED,
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class SessionError(RuntimeError):
    """A call failed. ``causes`` are its messages, outermost first."""

    def __init__(self, what: str, causes: list[str], log: Path) -> None:
        super().__init__(
            f"{what}:\n  " + "\n  caused by ".join(causes) + f"\n{log.read_text(errors='replace')[-3000:]}"
        )
        self.causes = causes


class SessionProcess:
    """A running session; a context manager. Calls run one after the other.

    Args:
        folder: For its log, its warehouse and its metastore.
        master: Where Spark runs.
        settings: Of Spark, in addition to those of all such sessions.
        plain: Without Merganser.
    """

    def __init__(self, folder: Path, master: str, settings: Mapping[str, str], *, plain: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "session.log"
        java = f"-Duser.timezone=UTC -Dderby.system.home={folder}"
        own = {"spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.driver.extraJavaOptions": java}
        config = json.dumps({**DEFAULTS, **own, **settings})
        variables = {k: v for k, v in os.environ.items() if k != "SPARK_REMOTE"}
        # As in pytest.ini.
        paths = os.pathsep.join(map(str, (TESTS, Path(__file__).parent, ROOT / "project")))
        with self.log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, __file__, master, config, "plain" if plain else "merganser"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=folder,
                env={**variables, "PYTHONPATH": paths, "TZ": "UTC"},
            )
        try:
            self._answer("start a session")
        except SessionError:
            self.close()
            raise

    def call(self, function: Callable[..., Any], **arguments: Any) -> Any:
        """Call a function in the process, with the session and these arguments.

        Raises:
            SessionError: It failed.
        """
        assert self._process.stdin is not None
        file = sys.modules[function.__module__].__file__
        assert file is not None
        request = {"folder": str(Path(file).parent), "module": Path(file).stem, "function": function.__name__}
        self._process.stdin.write(json.dumps({**request, "arguments": arguments}) + "\n")
        self._process.stdin.flush()
        return self._answer(function.__name__)

    def kill(self) -> None:
        """End the driver without giving it a chance to do anything."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()
        if self._process.stdout:
            self._process.stdout.close()

    def __enter__(self) -> SessionProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _answer(self, what: str) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer = json.loads(line) if line else {"error": ["the process has ended"]}
        if "error" in answer:
            raise SessionError(what, answer["error"], self.log)
        return answer["result"]


def main(master: str, config: str, kind: str) -> None:
    from pyspark.sql import SparkSession

    from interop.hudi_worker import failure, say

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the JVM prints goes to the log
    read_rows_as_pickled()
    try:
        import merganser

        builder = SparkSession.builder.appName("tests").master(master)
        for key, value in json.loads(config).items():
            builder = builder.config(key, value)
        spark = (builder if kind == "plain" else merganser.configure(builder)).getOrCreate()
    except Exception as error:
        say(answers, failure(error))
        raise
    say(answers, {"result": spark.version})
    for line in sys.stdin:
        request = json.loads(line)
        if request["folder"] not in sys.path:
            sys.path.append(request["folder"])
        try:
            function = getattr(importlib.import_module(request["module"]), request["function"])
            say(answers, {"result": function(spark, **request["arguments"])})
        except Exception as error:
            say(answers, failure(error))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
