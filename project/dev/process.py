"""Output on the terminal, and programs whose output goes to a log."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Callable, NoReturn

from dev.layout import ROOT, STATE

ALL_OUTPUT = os.environ.get("CI") == "true"  # or --verbose


class Stop(Exception):
    """The command cannot continue; the message has the reason, the exit code is 2."""


class Failed(Exception):
    """A step ran and did not pass; the details are already on the terminal."""


def show_all_output() -> None:
    global ALL_OUTPUT
    ALL_OUTPUT = True


def say(text: str) -> None:
    print(text, flush=True)


def nothing(line: str) -> bool:
    """Filter that shows no line of a program's output, unless the program fails."""
    return False


def run(
    command: Sequence[object],
    log: str,
    *,
    environment: dict[str, str] | None = None,
    show: Callable[[str], bool] | None = None,
    allowed: Sequence[int] = (0,),
    deferred: bool = False,
    folder: Path = ROOT,
) -> str:
    """Run a program. Its output goes to .dev/<log>.log, and the lines that `show` accepts to the terminal.

    Without `show`, or in verbose mode, all of it goes to the terminal. `deferred` output is printed when the program
    ends, because others run at the same time. Returns the output; raises Failed, with the output's end on the
    terminal, when the exit code is not an allowed one.
    """
    STATE.mkdir(exist_ok=True)
    file = STATE / f"{log}.log"
    everything = (ALL_OUTPUT or show is None) and not deferred
    output = bytearray()
    shown = 0
    words = [str(part) for part in command]
    with file.open("wb") as copy:
        start = functools.partial(subprocess.Popen, words, cwd=folder, env=environment, stdin=subprocess.DEVNULL)
        with start(stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as program:
            assert program.stdout is not None
            pipe = program.stdout.fileno()
            for chunk in iter(lambda: os.read(pipe, 65536), b""):
                copy.write(chunk)
                copy.flush()
                output += chunk
                if everything:
                    sys.stdout.buffer.write(chunk)
                    sys.stdout.buffer.flush()
                else:
                    end = output.rfind(b"\n") + 1
                    for line in output[shown:end].decode("utf-8", "replace").splitlines():
                        if show is not None and not deferred and show(line):
                            say("  " + line)
                    shown = end
    text = output.decode("utf-8", "replace")
    if deferred:
        say(text)
    if program.returncode not in allowed:
        if not everything:
            say(f"\n... the end of {file.relative_to(ROOT)}:")
            say("\n".join(text.splitlines()[-40:]))
        say(f"\nFailed ({program.returncode}): {words[0]}; its whole output is in {file.relative_to(ROOT)}")
        raise Failed(log)
    return text


def tried(
    command: Sequence[object],
    log: str,
    show: Callable[[str], bool] | None = nothing,
    environment: dict[str, str] | None = None,
) -> bool:
    try:
        run(command, log, show=show, environment=environment)
    except Failed:
        return False
    return True


def remove(*paths: Path) -> None:
    """Delete files and folders, if they exist."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()


def replace_by(command: Sequence[object], environment: dict[str, str]) -> NoReturn:
    """Replace this process by another program, which takes over the terminal."""
    sys.stdout.flush()
    os.execve(str(command[0]), [str(part) for part in command], environment)
