"""`./dev test` starts pytest as soon as the jars are there, and not without them, and its parts run every variant."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from places import ROOT, TESTS

from dev import testing
from dev.process import Failed
from dev.results import Results

REPORT = '<testsuites><testsuite tests="3" failures="0" errors="0" skipped="0" time="2"/></testsuites>'


class Stage:
    """Stands in for sbt and pytest; `built` are the lines whose jars sbt writes, and it fails without one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, state: Path, built: set[str]) -> None:
        self.events: list[str] = []
        self.written: set[str] = set()
        self.waiting = threading.Event()
        self.built = built
        self.state = state
        replaced: dict[str, Any] = {
            "STATE": state,
            "Environment": lambda line: SimpleNamespace(line=line),
            "sbt": self.sbt,
            "start_pytest": self.pytest,
            "first_steps": lambda environment, few: "every step",
            "is_fresh": lambda line, since: line in self.written,
            "staged": lambda line: True,
        }
        for name in ("lint_all_but_scala", "archive_classes", "hudi_jar"):
            replaced[name] = lambda *_: None
        for name, stand_in in replaced.items():
            monkeypatch.setattr(testing, name, stand_in)

    def sbt(self, *_: Any, **__: Any) -> str:
        self.written |= self.built - {"4.2"}
        for _ in range(1200 if self.built else 0):
            time.sleep(0.05)
            if self.events:
                break
        self.written |= self.built
        self.events.append("ScalaTest ends")
        if self.built != {"3.5", "4.2"}:
            (self.state / "sbt.log").write_text("[error] (table42 / Compile / compileIncremental) Compilation failed\n")
            raise Failed("sbt")
        return "Tests: succeeded 5, failed 0, canceled 0\nSuites: completed 2, aborted 0\n"

    def pytest(self, part: testing.Part) -> None:
        self.events.append(part.name)
        if part.folder in ("stores", "services"):
            self.waiting.set()
        assert self.waiting.wait(60), "a part that waits runs beside sbt and another part"
        part.report.write_text(REPORT)

    def run(self) -> Results:
        results = Results()
        oldest, newest = (SimpleNamespace(line=line) for line in ("3.5", "4.2"))
        testing.test_all(results, oldest, [newest])  # type: ignore[arg-type]
        return results

    def run_first(self) -> Results:
        results = Results()
        testing.test_first(results, SimpleNamespace(line="3.5"))  # type: ignore[arg-type]
        return results


def test_pytest_starts_once_its_line_has_a_jar_and_all_parts_are_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = Stage(monkeypatch, tmp_path, {"3.5", "4.2"})
    results = stage.run()
    assert "Spark 3.5" in stage.events[0]
    parts = len(testing.FOLDERS) + len(testing.NEWEST_FOLDERS)
    assert len(stage.events) == 1 + parts
    assert (results.passed, results.failed) == (5 + 3 * parts, 0)
    assert results.closing[-1] == f"{testing.NEWCOMER}: passed (every step, in 0 s)"


def test_the_first_run_takes_the_default_line_without_folders_of_engines_and_servers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = Stage(monkeypatch, tmp_path, {"3.5", "4.2"})
    results = stage.run_first()
    parts = {event for event in stage.events if event != "ScalaTest ends"}
    assert parts == {f"pytest on Spark 3.5, {folder}" for folder in set(testing.FOLDERS) - {"interop", "stores"}}
    assert (results.passed, results.failed) == (5 + 3 * len(parts), 0)


@pytest.mark.parametrize("built", [set(), {"3.5"}], ids=["no jar", "one jar"])
def test_the_parts_of_a_line_without_a_jar_do_not_run(
    built: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = Stage(monkeypatch, tmp_path, built)
    results = stage.run()
    assert "Spark 3.5" in stage.events[0] if built else stage.events == ["ScalaTest ends"]
    of_both = len(testing.FOLDERS), len(testing.NEWEST_FOLDERS)
    run, not_run = of_both if built else (0, sum(of_both) + 1)  # a newcomer's steps, too
    assert len(stage.events) == 1 + run
    assert results.failed == 1
    assert sum("not run" in line for line in results.closing) == not_run


@functools.cache
def collected(variants: str, seed: int = 0, tests: str = "") -> set[str]:
    """Names of the tests of a folder and of a file that pytest chooses."""
    places = [TESTS / "python" / "sql" / "update_delete", TESTS / "python" / "services" / "test_repair.py"]
    places += [TESTS / "python" / "services" / "test_cleaning.py", TESTS / "python" / "services" / "test_soak.py"]
    marked = ["-m", "e2e"] if variants == "some" else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *marked, *places],
        env={**os.environ, "MERGANSER_VARIANTS": variants, "MERGANSER_SEED": str(seed), "MERGANSER_TESTS": tests},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {line for line in done.stdout.splitlines() if "::" in line}


SAMPLED = "test_repair.py::test_a_repair_merges_the_duplicates_of_each_key"


def test_the_runs_some_and_others_together_have_every_variant_except_of_samples() -> None:
    all_of_them, others, some = (collected(variants) for variants in ("", "others", "some"))
    assert {name for name in all_of_them - some - others if SAMPLED not in name} == set()
    assert len(some) < len(all_of_them) > len(others)


def test_the_first_run_omits_extensive_tests_and_some_variants() -> None:
    complete, first = collected("others"), collected("others", tests="first")
    assert first < complete
    left_out = {name.split("[")[0] for name in complete} - {name.split("[")[0] for name in first}
    assert {name.split("/")[-1].split("::")[0] for name in left_out} == {"test_cleaning.py", "test_soak.py"}


def test_two_successive_seeds_draw_different_halves_of_tests_without_variants() -> None:
    others, some, drawn = collected("others"), collected("some"), collected("some", 1)
    assert (some & others).isdisjoint(drawn & others)
    assert some - others == drawn - others
    assert some & others
    assert drawn & others


def test_two_successive_seeds_draw_different_halves_of_a_sample() -> None:
    halves = [collected("others", seed) for seed in (0, 1)]
    sampled = [{name for name in half if SAMPLED in name} for half in halves]
    assert [len(half) for half in sampled] == [2, 2]
    assert sampled[0].isdisjoint(sampled[1])
    assert halves[0] - sampled[0] == halves[1] - sampled[1]
    assert sampled[0] | sampled[1] == {name for name in collected("") if SAMPLED in name}


def test_tests_omitted_by_a_deadline_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.xml"
    place = TESTS / "python" / "api" / "test_option_constants.py"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", place],
        env={**os.environ, "MERGANSER_DEADLINE": str(time.time())},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = Results()
    results.step("pytest", lambda: results.pytest(report))
    assert results.finish() == 0
    assert results.out_of_time
    printed = capsys.readouterr().out
    assert "Not begun before the deadline of the run:\n  tests.python.api.test_option_constants::" in printed
    assert printed.endswith("\n0 passed, 0 failed\n")


def test_failed_tests_are_listed_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.xml"
    failed = (
        '<testcase classname="api" name="test_two"><failure message="assert 1&#10;  == 2">long</failure></testcase>'
    )
    counts = 'tests="2" failures="1" errors="0" skipped="0" time="1"'
    report.write_text(f"<s><testsuite {counts}><testcase classname='api' name='test_one'/>{failed}</testsuite></s>")
    results = Results()
    results.step("pytest", lambda: results.pytest(report))
    output = "[info] - adds rows *** FAILED *** (2 seconds)\n[info] Tests: succeeded 3, failed 1, canceled 0\n"
    results.step("ScalaTest", lambda: results.scalatest(output))
    assert results.finish() == 1
    printed = capsys.readouterr().out
    assert "Failed:\n  api::test_two: assert 1 == 2\n  adds rows\n" in printed
    assert printed.endswith("\n4 passed, 2 failed\n")
