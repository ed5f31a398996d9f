"""The lock of this folder: one command at a time changes its environments, classes and jars."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from dev.layout import STATE
from dev.process import say

LOCK = STATE / "lock"

# Set for the programs of a command that has the lock: they do not take it again.
LOCKED = "MERGANSER_DEV_LOCKED"


@contextlib.contextmanager
def alone(work: str) -> Iterator[None]:
    """Wait until no other ./dev command changes this folder's environments, classes or jars, then keep others waiting.

    Released when the block ends or the process does. May be nested.
    """
    if LOCKED in os.environ:
        yield
        return
    STATE.mkdir(exist_ok=True)
    with LOCK.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            say(f"Waiting for another command in this folder: {file.read().strip() or './dev'} ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(f"./dev {work} (process {os.getpid()})\n")
        file.flush()
        os.environ[LOCKED] = str(os.getpid())
        try:
            yield
        finally:
            del os.environ[LOCKED]
            file.truncate(0)
