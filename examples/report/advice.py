"""What to do next with a table, from its history and its file slices."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from parts import number

from merganser._shown import size
from merganser.history import HistoryEntry
from merganser.results import FileSlice

#: Logs of a slice from which a read has noticeably more to do, and their share of the bytes.
_MANY_LOGS, _LARGE_LOGS = 10, 0.5

#: Base files below this size are small if a partition has several.
_SMALL_FILE, _MANY_FILES = 32_000_000, 8

_COMMITS_WITHOUT_CLEAN = 30

_LATE_SHARE = 0.2

_WRITES = ("commit", "deltacommit", "replacecommit")


@dataclass(frozen=True)
class Advice:
    """One thing to do, and the command for it."""

    what: str
    command: str


def advice(path: str, history: Sequence[HistoryEntry], slices: Sequence[FileSlice]) -> list[Advice]:
    """Return what is to be done next, the most urgent first; nothing where nothing is due.

    Args:
        path: The table, as it is named in the commands.
        history: The newest actions on the table.
        slices: Its newest file slices.
    """
    table = shlex.quote(path)
    found = [*_pending(table, history), *_logs(table, slices), *_small_files(table, slices)]
    return [*found, *_cleaning(table, history), *_keys(table, history), *_lateness(table, history)]


def _pending(table: str, history: Sequence[HistoryEntry]) -> list[Advice]:
    found = []
    for action, command in (("compaction", "compact"), ("clustering", "cluster")):
        planned = [entry for entry in history if entry.action == action and entry.state != "COMPLETED"]
        if planned:
            what = f"{len(planned)} planned {action}(s) wait to be run, the oldest since {planned[-1].instant}."
            found.append(Advice(what, f"merganser {command} {table} --run"))
    open_writes = [entry for entry in history if entry.state != "COMPLETED" and entry.action in _WRITES]
    if open_writes:
        what = (
            f"{len(open_writes)} write(s) are not completed, the oldest since {open_writes[-1].instant}: they are "
            "running, or have failed, and then the next write removes what they left."
        )
        found.append(Advice(what, f"merganser history {table}"))
    return found


def _logs(table: str, slices: Sequence[FileSlice]) -> list[Advice]:
    most = max((len(one.log_files) for one in slices), default=0)
    logs = sum(one.log_size_bytes for one in slices)
    base = sum(one.base_size_bytes for one in slices)
    if most < _MANY_LOGS and logs <= _LARGE_LOGS * base:
        return []
    what = f"{size(logs)} of logs beside {size(base)} of base files, up to {most} logs in a slice: reads merge them."
    return [Advice(what, f"merganser compact {table}")]


def _small_files(table: str, slices: Sequence[FileSlice]) -> list[Advice]:
    small = Counter(one.partition_path for one in slices if 0 < one.base_size_bytes < _SMALL_FILE)
    crowded = {partition: count for partition, count in small.items() if count >= _MANY_FILES}
    if not crowded:
        return []
    what = (
        f"{number(sum(crowded.values()))} base files of less than {size(_SMALL_FILE)} in {len(crowded)} partition(s): "
        "fewer and sorted files are read faster. Tables with the BUCKET index keep theirs."
    )
    return [Advice(what, f"merganser cluster {table}")]


def _cleaning(table: str, history: Sequence[HistoryEntry]) -> list[Advice]:
    completed = [entry.action for entry in history if entry.state == "COMPLETED"]
    since = completed.index("clean") if "clean" in completed else len(completed)
    writes = sum(action in _WRITES for action in completed[:since])
    if writes < _COMMITS_WITHOUT_CLEAN:
        return []
    what = f"{writes} commits since the last clean: superseded files take up space."
    return [Advice(what, f"merganser clean {table} --dry-run")]


def _keys(table: str, history: Sequence[HistoryEntry]) -> list[Advice]:
    plain = [entry for entry in history if entry.operation in ("INSERT", "BULK_INSERT") and entry.state == "COMPLETED"]
    if len(plain) < 2:
        return []
    what = f"{len(plain)} commits inserted without merging: a key that was inserted twice is stored twice."
    return [Advice(what, f"merganser verify {table}")]


def _lateness(table: str, history: Sequence[HistoryEntry]) -> list[Advice]:
    late = sum(entry.late or 0 for entry in history)
    compared = late + sum((entry.updated or 0) + (entry.deleted or 0) for entry in history)
    if compared == 0 or late / compared < _LATE_SHARE:
        return []
    what = (
        f"{number(late)} of {number(compared)} rows that were compared with a stored one came late and lost to it. If "
        "they should have won, the ordering field is not the right one: explain one of their keys."
    )
    return [Advice(what, f"merganser explain {table} KEY")]
