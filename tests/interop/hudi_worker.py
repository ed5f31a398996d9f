"""The program inside the Hudi process: JSON requests on stdin, one a line; JSON answers on stdout.

``python -m interop.hudi_worker JAR``. The first line it prints says that the session is up.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from interop.hudi_session import (
    compact_table,
    format_names,
    help_with,
    merge_into_table,
    play_sequence,
    read_table,
    run_statements,
    start_session,
    write_table,
)

COMMANDS: dict[str, Callable[..., Any]] = {
    "read": read_table,
    "write": write_table,
    "merge": merge_into_table,
    "compact": compact_table,
    "help": help_with,
    "sql": run_statements,
    "play": play_sequence,
    "names": format_names,
}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the JVM prints goes to the log, not between the answers
    try:
        spark = start_session(sys.argv[1])
    except Exception as error:
        say(answers, failure(error))
        raise
    say(answers, {"ok": spark.version})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            say(answers, {"ok": COMMANDS[request.pop("do")](spark, **request)})
        except Exception as error:
            say(answers, failure(error))
    spark.stop()


def failure(error: Exception) -> dict[str, Any]:
    """The error and its Java causes, outermost first."""
    causes = [f"{type(error).__name__}: {error}"]
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None and len(causes) < 10:
        causes.append(str(java.toString()))
        java = java.getCause()
    return {"error": [cause[:2000] for cause in causes]}


def say(answers: Any, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
