"""One line on the terminal while Spark works. Nothing is shown when stderr is not a terminal."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from pyspark import SparkContext

_FIRST_AFTER_S = 0.5  # short calls stay quiet
_EVERY_S = 0.25


@contextmanager
def progress(context: SparkContext, what: str) -> Iterator[None]:
    """Show the running stage and its tasks until the block ends, then clear the line.

    Stays quiet when stderr is not a terminal, and when Spark shows its own progress bar.
    """
    screen = sys.stderr
    if not _wanted(context, screen):
        yield
        return
    done = threading.Event()
    line = threading.Thread(target=_show, args=(context, what, screen, done), name="merganser-progress", daemon=True)
    line.start()
    try:
        yield
    finally:
        done.set()
        line.join(timeout=2.0)


def _wanted(context: SparkContext, screen: TextIO) -> bool:
    if screen is None or not screen.isatty():  # there is no stderr at all under pythonw
        return False
    return (context.getConf().get("spark.ui.showConsoleProgress") or "false").lower() != "true"


def _show(context: SparkContext, what: str, screen: TextIO, done: threading.Event) -> None:
    started = time.monotonic()
    tracker = context.statusTracker()
    shown = False
    wait = _FIRST_AFTER_S
    while not done.wait(wait):
        wait = _EVERY_S
        try:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except Exception:  # the session ended during the request: there is nothing left to show
            break
        finished = sum(stage.numCompletedTasks for stage in stages if stage is not None)
        tasks = sum(stage.numTasks for stage in stages if stage is not None)
        numbers = sorted(stage.stageId for stage in stages if stage is not None)
        text = progress_line(what, time.monotonic() - started, numbers, finished, tasks)
        screen.write("\r\x1b[K" + text[: shutil.get_terminal_size().columns - 1])
        screen.flush()
        shown = True
    if shown:
        screen.write("\r\x1b[K")
        screen.flush()


def progress_line(what: str, seconds: float, stages: list[int], finished: int, tasks: int) -> str:
    """Return the text of the line, such as ``write  stage 7: 3 of 8 tasks  4.2 s``."""
    if not stages:
        return f"{what}  {seconds:.1f} s"
    name = "stage" if len(stages) == 1 else "stages"
    return f"{what}  {name} {', '.join(map(str, stages))}: {finished} of {tasks} tasks  {seconds:.1f} s"
