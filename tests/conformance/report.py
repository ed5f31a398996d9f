"""Counts what became of the cases, file by file, and prints it when the run ends."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import pytest

from conformance.cases import Case
from conformance.judge import Verdict
from conformance.player import Played

KINDS = ("passed", "by decision", "owed", "failed")


class Report:
    """A pytest plugin, registered when the first case is played."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(KINDS, 0))
        self._hints: dict[str, int] = defaultdict(int)
        self._steps = 0
        self._seconds = 0.0
        self._failures: list[str] = []

    def add(self, case: Case, kind: str, verdict: Verdict, played: Played) -> None:
        self._counts[case.file][kind] += 1
        self._hints[case.file] += len(verdict.hints)
        self._steps += len(played.steps)
        self._seconds += played.seconds
        self._failures += [f"{case.id} [{kind}] {text}" for text in verdict.differences]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("conformance")
        terminalreporter.write_line(f"{'file':28}" + "".join(f"{kind:>13}" for kind in KINDS) + f"{'hints':>8}")
        for file, counts in sorted(self._counts.items()):
            numbers = "".join(f"{counts[kind]:13}" for kind in KINDS)
            terminalreporter.write_line(f"{file:28}{numbers}{self._hints[file]:8}")
        totals = [sum(counts[kind] for counts in self._counts.values()) for kind in KINDS]
        numbers = "".join(f"{total:13}" for total in totals)
        terminalreporter.write_line(f"{sum(totals):4} {'cases':23}{numbers}{sum(self._hints.values()):8}")
        mean = self._seconds / max(self._steps, 1)
        terminalreporter.write_line(f"{self._steps} steps, {mean:.2f} seconds a step in each session")
        if "CONFORMANCE_DIFFERENCES" in os.environ:
            Path(os.environ["CONFORMANCE_DIFFERENCES"]).write_text("\n".join(self._failures) + "\n")
