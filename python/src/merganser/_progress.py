"""One line on the terminal, or below a notebook's cell, while Spark works. Nothing is shown elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from pyspark import SparkContext

_FIRST_AFTER_S = 0.5  # short calls stay quiet
_EVERY_S = 0.25
_NOTEBOOK_WIDTH = 100


@contextmanager
def progress(context: SparkContext, what: str, steps: Callable[[], Callable[[], str]] = lambda: str) -> Iterator[None]:
    """Show the step, the running stage and its tasks until the block ends, then clear the line.

    Stays quiet when stderr is neither a terminal nor a notebook, and when Spark shows its own progress bar.

    Args:
        context: Whose stages are shown.
        what: The call, such as ``restore``.
        steps: Called in this thread where the line is shown; returns a function for another thread, which returns
            what the call is doing, such as ``delete files: 120 of 3000``, or nothing.
    """
    screen = sys.stderr
    if not _wanted(context, screen):
        yield
        return
    step = steps()
    done = threading.Event()
    line = threading.Thread(
        target=_show, args=(context, what, step, screen, done), name="merganser-progress", daemon=True
    )
    line.start()
    try:
        yield
    finally:
        done.set()
        line.join(timeout=2.0)


def _wanted(context: SparkContext, screen: TextIO) -> bool:
    if screen is None:  # there is no stderr at all under pythonw
        return False
    if _is_notebook(screen):  # Spark's own bar is in the terminal that started the notebook
        return True
    return screen.isatty() and (context.getConf().get("spark.ui.showConsoleProgress") or "false").lower() != "true"


def _is_notebook(screen: TextIO) -> bool:
    """Whether it is written below a cell, where a carriage return begins the line again, as in a terminal."""
    return type(screen).__module__.startswith("ipykernel.")


def _show(context: SparkContext, what: str, step: Callable[[], str], screen: TextIO, done: threading.Event) -> None:
    started = time.monotonic()
    tracker = context.statusTracker()
    is_notebook = _is_notebook(screen)
    width = _NOTEBOOK_WIDTH if is_notebook else shutil.get_terminal_size().columns - 1
    # A notebook has no code that clears a line.
    clear = f"\r{' ' * width}\r" if is_notebook else "\r\x1b[K"
    shown = False
    wait = _FIRST_AFTER_S
    while not done.wait(wait):
        wait = _EVERY_S
        try:
            now = step()
            found = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        except Exception:  # the session ended during the request: there is nothing left to show
            break
        stages = [stage for stage in found if stage is not None]
        finished, tasks = sum(one.numCompletedTasks for one in stages), sum(one.numTasks for one in stages)
        numbers = sorted(one.stageId for one in stages)
        text = progress_line(what, time.monotonic() - started, numbers, finished, tasks, now)
        screen.write(clear + text[:width])
        screen.flush()
        shown = True
    if shown:
        screen.write(clear)
        screen.flush()


def progress_line(what: str, seconds: float, stages: list[int], finished: int, tasks: int, step: str = "") -> str:
    """Return the text of the line, such as ``compact  compaction 20260131  stage 7: 3 of 8 tasks  4.2 s``."""
    parts = [what, step]
    if stages:
        name = "stage" if len(stages) == 1 else "stages"
        parts.append(f"{name} {', '.join(map(str, stages))}: {finished} of {tasks} tasks")
    return "  ".join([*filter(None, parts), f"{seconds:.1f} s"])
