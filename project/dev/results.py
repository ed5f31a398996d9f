"""The steps of a run, and how many tests passed and failed in them."""

from __future__ import annotations

import re
import time
import xml.etree.ElementTree
from pathlib import Path
from typing import Callable

from dev.process import Failed, say

MESSAGE = 300  # characters of a failed test's message in the closing lines
SLOWEST = 25  # number of tests of each kind that are printed with their times

OUT_OF_TIME = "not begun before the deadline of the run"  # why pytest skips a test (tests/python/conftest.py)


class Results:
    """Closing lines of the steps of one run, how many tests passed and failed in them, and what failed."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0
        self.closing: list[str] = []
        self.failures: list[str] = []
        self.out_of_time: list[str] = []

    def step(self, name: str, work: Callable[[], str | None], *, timed: bool = True) -> bool:
        """Run a step; what it returns is its closing line. A step that fails counts as one failure at least.

        `timed` is False for work that began earlier, beside other work.
        """
        say(f"\n== {name}")
        start, failed_before = time.monotonic(), self.failed
        try:
            details = work()
            fine = self.failed == failed_before
        except Failed:
            details, fine = None, False
        if not fine and self.failed == failed_before:
            self.failed += 1
        seconds = time.monotonic() - start
        outcome = f"{name}: {'passed' if fine else 'FAILED'}" + (f" in {seconds:.0f} s" if timed else "")
        self.closing.append(f"{outcome} ({details})" if details else outcome)
        return fine

    def finish(self) -> int:
        """Print what was left out or failed and the closing lines, the total alone on the last one: the exit code."""
        if self.out_of_time:
            say("\n".join(["", f"{OUT_OF_TIME.capitalize()}:", *(f"  {name}" for name in self.out_of_time)]))
        if self.failures:
            say("\n".join(["", "Failed:", *(f"  {failure}" for failure in self.failures)]))
        say("\n" + "\n".join(self.closing))
        say(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0

    def scalatest(self, output: str) -> str:
        """Add the counts of every module from sbt's output, and the names of failed tests."""

        def total(pattern: str) -> int:
            return sum(int(number) for number in re.findall(pattern, output))

        succeeded, failed = total(r"Tests: succeeded (\d+)"), total(r"Tests: succeeded \d+, failed (\d+)")
        aborted, canceled = total(r"Suites: completed \d+, aborted (\d+)"), total(r"Tests: .*canceled (\d+)")
        self.passed += succeeded
        self.failures += re.findall(r"^\[info\] - (.*) \*\*\* FAILED \*\*\*", output, re.MULTILINE)
        others = len(re.findall(r"not passed: (?!tests)|\bcompileIncremental\) Compilation failed", output))
        self.failed += failed + aborted + canceled + others
        return f"ScalaTest: {succeeded} passed, {failed} failed, {canceled} canceled, {aborted} suites aborted"

    def pytest(self, report: Path) -> str:
        """Add the counts of pytest's JUnit report, what failed with its message, and the names of what was left out."""
        suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
        assert suite is not None
        count = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
        failed = count["failures"] + count["errors"]
        passed = count["tests"] - failed - count["skipped"]
        self.passed += passed
        self.failed += failed
        for test in suite.iter("testcase"):
            name = f"{test.get('classname')}::{test.get('name')}"
            for outcome in (*test.iter("failure"), *test.iter("error")):
                message = " ".join(outcome.get("message", "").split())[:MESSAGE]
                self.failures.append(f"{name}: {message}")
            if any(OUT_OF_TIME in outcome.get("message", "") for outcome in test.iter("skipped")):
                self.out_of_time.append(name)
        seconds = float(suite.get("time", "0"))
        return f"pytest: {passed} passed, {failed} failed, {count['skipped']} skipped in {seconds:.0f} s"


def slowest_scalatests(output: str) -> list[str]:
    """Time, suite and name of the slowest tests in sbt's output, the slowest first."""
    units = {"hour": 3600.0, "minute": 60.0, "second": 1.0, "millisecond": 0.001}
    found: list[tuple[float, str]] = []
    suite = ""
    for line in re.findall(r"^\[info\] (\S.*)$", output, re.MULTILINE):
        if re.fullmatch(r"\w+:", line):
            suite = line
        elif test := re.fullmatch(r"- (.*) \((\d[^()]*)\)", line):
            parts = re.findall(r"(\d+) (hour|minute|second|millisecond)s?", test[2])
            found.append((sum(int(number) * units[unit] for number, unit in parts), f"{suite} {test[1]}"))
    return [f"{seconds:.2f}s {name}" for seconds, name in sorted(found, reverse=True)[:SLOWEST]]
