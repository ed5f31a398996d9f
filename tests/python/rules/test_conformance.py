# Guarantee (Tables of other engines): 468 histories recorded from Hudi give the recorded results, except for those in
#   `tests/conformance/lists`, with the reason.
"""Every recorded case on our engine: rows, failing steps and stored settings are as recorded, or as decided.

A complete run of all tests plays half of the cases, others with another seed; with MERGANSER_FULL=1 it plays all.
tests/conformance/README.md explains cases and lists. The run's end prints what became of each file's cases.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conformance.cases import Case, load_cases, unknown_ids
from conformance.judge import Verdict, judged
from conformance.player import Played, Player
from conformance.report import Report
from interop.sessions import INTERPRETED

CASES = load_cases()

#: Cases a file has. A file that grows or shrinks changes what this suite promises.
SIZES = {
    "bucket-index.json": 11,
    "chains.json": 8,
    "config-change.json": 14,
    "config-create.json": 69,
    "custom-mergers.json": 10,
    "data-types.json": 8,
    "deletes.json": 32,
    "input-combine.json": 34,
    "merge-into.json": 74,
    "ordering-modes.json": 10,
    "ordering-multi.json": 8,
    "ordering-nulls.json": 10,
    "ordering-types.json": 14,
    "partial-update.json": 20,
    "partition-moves.json": 12,
    "payloads-cdc.json": 14,
    "payloads.json": 52,
    "random.json": 48,
    "schema-evolution.json": 10,
    "sql-dml.json": 10,
}

#: Statements and writes of a small case leave the cores idle in between.
PLAYERS = 3

#: These change how a query runs, not what it answers: small jobs take half the time.
SESSION = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    **INTERPRETED,
}


class Stage:
    """Plays the requested cases in several sessions of one application, ahead of the tests that wait."""

    def __init__(self, spark: SparkSession, cases: list[Case], folder: Path, report: Report) -> None:
        self.report = report
        self._spark = spark
        self._folder = folder
        self._players = threading.local()
        self._pool = ThreadPoolExecutor(PLAYERS)
        self._played: dict[str, Future[Played]] = {case.id: self._pool.submit(self._play, case) for case in cases}

    def played(self, case: Case) -> Played:
        return self._played[case.id].result()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _play(self, case: Case) -> Played:
        if not hasattr(self._players, "mine"):
            session = self._spark.newSession()
            for key, value in SESSION.items():
                session.conf.set(key, value)
            self._players.mine = Player(session, self._folder)
        return self._players.mine.play(case)


@pytest.fixture(scope="module")
def stage(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Stage]:
    requested = [item.callspec.params["case"] for item in request.session.items if "stage" in item.fixturenames]
    report = Report()
    request.config.pluginmanager.register(report)
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="conformance-", dir=memory if memory.is_dir() else None))
    stage = Stage(spark, requested, folder, report)
    yield stage
    stage.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_case_ends_as_recorded_or_as_decided(stage: Stage, case: Case) -> None:
    played = stage.played(case)
    verdict = judged(case, played, by_decision=True)
    if case.owed_to is not None:
        kind = "owed" if verdict.differences else "failed"
    elif verdict.differences:
        kind = "failed"
    else:
        kind = "by decision" if case.difference is not None else "passed"
    stage.report.add(case, kind, verdict, played)
    if case.owed_to is not None:
        assert verdict.differences, f"{case.id} works now: take it off lists/owed.json ({case.owed_to})"
    else:
        assert not verdict.differences, _story(case, verdict)


def _story(case: Case, verdict: Verdict) -> str:
    lines = [f"{case.id}: {case.recorded['title']}", *verdict.differences]
    if case.is_disputed:
        lines.append(f"disputed: {case.recorded['dispute']}")
    return "\n".join(lines)


def test_every_file_has_its_recorded_number_of_cases() -> None:
    assert dict(Counter(case.file for case in CASES)) == SIZES
    assert len(CASES) == sum(SIZES.values()) == 468
    assert len({case.id for case in CASES}) == 468


def test_the_lists_name_only_existing_cases() -> None:
    assert list(unknown_ids(CASES)) == []


def test_every_case_that_differs_by_decision_is_listed_as_disputed_or_decided() -> None:
    free = [case.id for case in CASES if case.difference is not None and not (case.is_disputed or decided(case))]
    assert free == []


def decided(case: Case) -> bool:
    return case.id.startswith(DECIDED)


#: Undisputed cases that a decision is about: named by 18, that of PartialUpdate by decision 1, and the last five by
#: decisions 5 (OverwriteNonDefaults combines a batch as OverwriteWithLatest does), 10 and 22.
DECIDED = (
    "merge-expr-mor",
    "merge-noorder-expr-mor",
    "merge-on-key-plus-cond-",
    "merge-cast-",
    "merge-renamed-src-",
    "log-merge-into",
    "merge-upd-subset-no-ts-",
    "merge-no-ts-in-src-",
    "chg-payload-other-mor",
    "chg-both-ordering-keys-cow",
    "pay-PostgresDebezium-user-ordering-",
    "pay-PartialUpdate-v8-mor-delete",
    "part-types-OverwriteNonDefaults-",
    "pay-OverwriteNonDefaults-v9-",
    "rand-nondefaults-",
    "chg-merge-mode-table-key-cow",
    "merge-delete-only-",
)


def test_every_difference_by_decision_changes_the_expectation() -> None:
    same = [
        (case.id, step)
        for case in CASES
        if case.difference is not None
        for step in case.difference.steps
        if step >= 0 and case.expected(step, by_decision=True) == case.expected(step, by_decision=False)
    ]
    assert same == []
