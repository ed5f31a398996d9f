# Guarantee (Tables of other engines): Statements, session settings and options give the rows, columns and errors of
#   Hudi 1.2.0, except for those in `tests/interop/sql/differences.json`, with the reason.
"""The same statements on two engines: Hudi 1.2.0 and ours, with the same outcomes or with a reason in the list.

tests/interop/sql/README.md describes sequences, record and list. Hudi itself plays a tenth of the sequences again,
others with another seed, and all of them with MERGANSER_FULL=1. With SQL_DIFFERENCES=<file> every difference that is
not listed is also written to that file.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from interop.hudi_engine import HudiEngine
from interop.sessions import INTERPRETED
from interop.sql_differences import PAGE, differences, load_reasons, load_record, page_with_table
from interop.sql_player import Outcome, SqlPlayer
from interop.sql_sequences import Sequence, load_sequences

pytestmark = pytest.mark.extensive

SEQUENCES = load_sequences()
RECORD = load_record()
REASONS = load_reasons()
LISTED = {name: steps for reason in REASONS for name, steps in reason.sequences.items()}

SEED = int(os.environ.get("MERGANSER_SEED", "0"))
AGAIN = [s for s in SEQUENCES if os.environ.get("MERGANSER_FULL") or (s.number + SEED) % 10 == 0]

#: Statements of a small sequence leave the cores idle in between.
PLAYERS = 3

#: These change how a query runs, not what it answers.
SETTINGS = {"spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false", **INTERPRETED}


class Stage:
    """Plays sequences in several sessions of one application, ahead of the tests that wait."""

    def __init__(self, spark: SparkSession, sequences: list[Sequence], folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._players = threading.local()
        self._pool = ThreadPoolExecutor(PLAYERS)
        self._played: dict[str, Future[list[Outcome]]] = {s.name: self._pool.submit(self._play, s) for s in sequences}

    def outcomes(self, sequence: Sequence) -> list[Outcome]:
        return self._played[sequence.name].result()

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _play(self, sequence: Sequence) -> list[Outcome]:
        player = SqlPlayer(self._spark, "merganser", self._folder, SETTINGS)
        return player.play(sequence.name, list(sequence.statements))


@pytest.fixture(scope="module")
def stage(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Stage]:
    requested = [item.callspec.params["sequence"] for item in request.session.items if "stage" in item.fixturenames]
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="same-sql-", dir=memory if memory.is_dir() else None))
    stage = Stage(spark, requested, folder)
    yield stage
    stage.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("sequence", [pytest.param(s, id=s.name) for s in SEQUENCES])
def test_a_sequence_of_statements_gives_hudis_outcome_or_the_listed_difference(
    stage: Stage, sequence: Sequence
) -> None:
    assert RECORD[sequence.name][0] == sequence.digest, "run tests/interop/record_sql.py"
    hudi, ours = RECORD[sequence.name][1], stage.outcomes(sequence)
    found, listed = differences(hudi, ours), LISTED.get(sequence.name, [])
    if found != listed and "SQL_DIFFERENCES" in os.environ:
        with Path(os.environ["SQL_DIFFERENCES"]).open("a") as out:
            out.write(f'"{sequence.name}" = "{", ".join(found)}"\n{_story(sequence, hudi, ours)}\n\n')
    assert found == listed, _story(sequence, hudi, ours)


def _story(sequence: Sequence, hudi: list[Outcome], ours: list[Outcome]) -> str:
    lines = [f"{sequence.topic}: {sequence.name}"]
    for statement, theirs, here in zip([*sequence.statements, "(end)"], hudi, ours, strict=True):
        lines += [statement, f"    Hudi: {theirs}", f"    here: {here}" if here != theirs else "    here: the same"]
    return "\n".join(lines)


@pytest.mark.parametrize("sequence", [pytest.param(s, id=s.name) for s in AGAIN])
def test_hudi_plays_each_sequence_with_the_recorded_outcome(hudi: HudiEngine, sequence: Sequence) -> None:
    assert hudi.play(sequence.name, sequence.statements) == RECORD[sequence.name][1]


def test_the_record_and_the_list_have_every_sequence_and_no_other() -> None:
    names = {sequence.name for sequence in SEQUENCES}
    assert set(RECORD) == names
    assert set(LISTED) <= names
    assert len(LISTED) == sum(len(reason.sequences) for reason in REASONS), "a sequence is listed for two reasons"


def test_the_page_for_hudi_users_shows_the_listed_differences() -> None:
    assert PAGE.read_text() == page_with_table(PAGE.read_text()), "run tests/interop/record_sql.py --page"
