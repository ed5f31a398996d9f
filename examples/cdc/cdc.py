"""A real database, followed through restarts of each part: PostgreSQL, Debezium's engine, and Spark.

Run it with ``./dev cdc``, or::

    python examples/cdc/cdc.py --out cdc-out

It starts a PostgreSQL, or with ``--database mariadb`` a MariaDB, changes two of its tables at random, and applies their
change events to a copy-on-write and a merge-on-read table each, while the engine is killed, the Spark application is
killed, and the server crashes. It writes the events, the tables and ``report.html`` below ``--out``, and ends with an
exit code other than 0 when any row or column is not as in the database.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import cdc_report
import measure
from applier import KINDS, NAMES, Checked, Settings
from capture import Capture, CaptureError
from database import Database, named, names
from server import DatabaseError, Server
from workload import KEYS, Workload

from dev.maven import JarError

HERE = Path(__file__).resolve().parent
MARKER = ".merganser-cdc"  # in the folder of a run, which the next one deletes
WAIT_S = 600  # on a busy machine a session alone may take a minute


class Failure(RuntimeError):
    """A part has ended, or does nothing any more."""


@dataclass(frozen=True)
class Plan:
    """What a run does."""

    out: Path
    database: str = "postgres"
    seed: int = 0
    transactions: int = 3000
    size: int = 600
    pause_s: float = 0.02
    rounds: int = 2  # restarts of each part
    fetched: bool = False  # the server of Maven Central, also where one is installed
    master: str = "local[2]"


class Run:
    """One run: the parts, and what was done to them."""

    def __init__(self, plan: Plan, source: Database, server: Server) -> None:
        self.plan = plan
        self.started = time.time()
        self.restarts: list[cdc_report.Restart] = []
        self._source = source
        self._server = server
        self._folder = plan.out.resolve()
        self.workload = Workload(
            source, server, seed=plan.seed, transactions=plan.transactions, pause_s=plan.pause_s, size=plan.size
        )
        self.capture = Capture(source, self._folder / "engine", server.port)
        self._application: subprocess.Popen[bytes] | None = None

    def run(self) -> list[Checked]:
        """Run everything; what the comparison has found.

        Raises:
            Failure: A part does not go on.
        """
        try:
            return self._run()
        finally:
            self._kill_application()
            self.capture.stop()

    def _run(self) -> list[Checked]:
        actions = [self._restart_engine, self._restart_application, self._restart_server] * self.plan.rounds
        self.workload.limit = share = self.plan.transactions // (len(actions) + 1)
        self.workload.create_tables()
        self._write_settings()
        self.workload.start()
        self._start_application()
        title = f"{self._source.title} {self._server.version}"
        self._say(f"{title} on port {self._server.port}, Debezium and Spark are starting")
        self._start_engine()
        self._wait("the engine's snapshot", self.capture.has_snapshot)
        self._wait("the first batches", lambda: all(file.exists() for file in self._records()))
        self._say("the first batches are applied")
        for number, action in enumerate(actions, start=1):
            enough = self.workload.done + share // 4  # a restart may have let the workload go beyond its share
            self.workload.limit = max(self.workload.limit, share * (number + 1), enough)
            self._wait_for_workload(enough)
            action()
        self.workload.limit = self.plan.transactions
        self._wait_for_workload(self.plan.transactions)
        self.workload.finish()
        self._wait("the last event", self.capture.folder_of("marks").exists)
        self._say("all events are captured; the application applies the last ones, and compares the tables")
        (self._folder / "finish").touch()
        checked = self._folder / "checked.json"
        self._wait("the comparison", checked.exists)
        if self._application:
            self._application.wait()
        return [Checked(**one) for one in json.loads(checked.read_text())]

    def _start_engine(self) -> None:
        """Start the engine; where it needs that, block writes while it finds its place in the log."""
        block = self._source.block_writes(list(KEYS))
        with self._server.connect() as blocking, self._server.connect() as watching:
            if block:
                blocking.query(block)
            self.capture.start()
            self._wait("the engine's place in the log", lambda: self._source.has_place(watching))
            if block:
                blocking.query("COMMIT")

    def _restart_engine(self) -> None:
        """Kill the engine while it writes events, so that it has not stored the offsets of the last ones."""
        before = sum(_files(self.capture.folder_of(table)) for table in KEYS)
        self._work("events to repeat", lambda: sum(_files(self.capture.folder_of(t)) for t in KEYS) > before + 2)
        self.capture.kill()
        self.capture.start()
        self._restarted("the engine was killed", self._ends_of_events())

    def _restart_application(self) -> None:
        self._kill_application()
        lines = [_lines(file) for file in self._records()]
        self._start_application()
        self._restarted(
            "the Spark application was killed",
            lambda: all(_lines(file) > before for file, before in zip(self._records(), lines)),
        )

    def _restart_server(self) -> None:
        self._server.stop(crash=True)
        self._server.start()
        self._restarted(f"{self._source.title} crashed", self._ends_of_events())

    def _ends_of_events(self) -> Callable[[], bool]:
        """Whether the engine has written events of every table since now."""
        before = {table: _files(self.capture.folder_of(table)) for table in KEYS}
        return lambda: all(_files(self.capture.folder_of(table)) > count for table, count in before.items())

    def _restarted(self, what: str, goes_on: Callable[[], bool]) -> None:
        at = time.time()
        self._say(f"{what} after {self.workload.done:,} transactions, and started again")
        self._work(f"work after: {what}", goes_on)
        self.restarts.append(cdc_report.Restart(at * 1000, what, time.time() - at))

    def _work(self, what: str, done: Callable[[], bool]) -> None:
        """Wait, and let the workload go on slowly, so that there is something to do for the part."""
        step, raised = max(2, self.plan.transactions // 200), [time.time()]

        def is_done() -> bool:
            if self.workload.done >= self.workload.limit and time.time() - raised[0] > 1:
                raised[0] = time.time()
                self.workload.limit += step
            return done() or not self.workload.is_running

        self._wait(what, is_done)

    def _wait(self, what: str, done: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT_S
        while not done():
            self.capture.restart_if_ended()
            self.workload.raise_failure()
            application = self._application
            if application and application.poll() not in (None, 0):
                raise Failure(f"The Spark application has ended:\n{_end_of(self._folder / 'application.log')}")
            if time.monotonic() > end:
                logs = "\n".join(_end_of(file) for file in (self.capture.log, self._folder / "application.log"))
                raise Failure(f"Waited {WAIT_S} s for {what}, in vain:\n{logs}")
            time.sleep(0.05)

    def _wait_for_workload(self, transactions: int) -> None:
        """Wait until so many are done, or all of them."""
        self._wait("the workload", lambda: self.workload.done >= transactions or not self.workload.is_running)

    def _write_settings(self) -> None:
        with self._server.connect() as connection:
            columns = {table: self._source.columns_of(connection, table) for table in KEYS}
        for table in KEYS:
            self.capture.folder_of(table).mkdir(parents=True)
        settings = Settings(
            folder=str(self._folder),
            events={table: str(self.capture.folder_of(table)) for table in KEYS},
            keys=KEYS,
            columns={table: [[one.name, one.lake_type] for one in found] for table, found in columns.items()},
            database=self._source.name,
            port=self._server.port,
            master=self.plan.master,
        )
        (self._folder / "settings.json").write_text(json.dumps(asdict(settings)))

    def _start_application(self) -> None:
        paths = os.pathsep.join([str(HERE), *(path for path in sys.path if path)])
        with (self._folder / "application.log").open("ab") as log:
            self._application = subprocess.Popen(
                [sys.executable, str(HERE / "applier.py"), str(self._folder / "settings.json")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env={**os.environ, "PYTHONPATH": paths},
                start_new_session=True,  # so that its Java is killed with it
            )

    def _kill_application(self) -> None:
        if self._application:
            if self._application.poll() is None:
                os.killpg(self._application.pid, signal.SIGKILL)
            self._application.wait()
        self._application = None

    def _records(self) -> list[Path]:
        return [self._folder / "records" / f"{kind}-{table}.jsonl" for table in KEYS for kind in KINDS]

    def _say(self, text: str) -> None:
        print(f"{time.time() - self.started:6.1f} s  {text}", flush=True)

    def report(self, checked: Sequence[Checked]) -> cdc_report.Report:
        """What the run has left behind, measured."""
        copies = []
        stories = []
        for table, keys in KEYS.items():
            events = measure.read_events(self._source, self.capture.folder_of(table), keys)
            stories.append(cdc_report.Story(table, measure.most_telling(events)))
            for kind in KINDS:
                batches = measure.batches(
                    self._folder / "checkpoints" / kind / table,
                    self._folder / "records" / f"{kind}-{table}.jsonl",
                    self._folder / "records" / "progress.jsonl",
                    f"{kind}/{table}",
                    events,
                )
                own = next(one for one in checked if (one.table, one.kind) == (table, kind))
                copies.append(cdc_report.Copy(table, NAMES[kind], batches, own))
        return cdc_report.Report(
            database=self._source,
            version=self._server.version,
            seed=self.plan.seed,
            seconds=time.time() - self.started,
            workload=dict(self.workload.counts),
            restarts=self.restarts,
            copies=copies,
            stories=[story for story in stories if story.events],
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; return 0 when every table equals the database's."""
    parser = argparse.ArgumentParser(description="Follow a database by its change events, and check every row.")
    parser.add_argument("--database", choices=names(), default="postgres", help="which one (postgres)")
    parser.add_argument("--out", type=Path, default=Path("cdc-out"), help="folder to write to (cdc-out)")
    parser.add_argument("--transactions", type=int, default=3000, help="of the workload (3000)")
    parser.add_argument("--seed", type=int, default=0, help="of the workload (0)")
    parser.add_argument("--rounds", type=int, default=2, help="how often each part is restarted (2)")
    parser.add_argument("--size", type=int, default=600, help="about how many rows a table has (600)")
    parser.add_argument("--master", default="local[2]", help="where Spark runs (local[2])")
    parser.add_argument(
        "--fetched", action="store_true", help="use the server of Maven Central, also where one is installed"
    )
    options = vars(parser.parse_args(arguments))
    plan = Plan(**options)
    # Only what an earlier run has left behind: the folder may have other files.
    if plan.out.exists() and any(plan.out.iterdir()) and not (plan.out / MARKER).is_file():
        print(f"{plan.out} has files of others: give an empty folder, or a new one, by --out", file=sys.stderr)
        return 2
    shutil.rmtree(plan.out, ignore_errors=True)
    plan.out.mkdir(parents=True)
    (plan.out / MARKER).touch()
    try:
        source = named(plan.database)
        with source.server(fetched=plan.fetched) as server:
            run = Run(plan, source, server)
            checked = run.run()
            report = run.report(checked)
    except (Failure, DatabaseError, CaptureError, JarError) as error:
        print(error, file=sys.stderr)
        return 2
    target = plan.out / "report.html"
    target.write_text(cdc_report.render(report), encoding="utf-8")
    for copy in report.copies:
        print(copy.summary)
        for line in copy.checked.differences[:10]:
            print(f"  WRONG: {line}")
    print(f"\nReport: {target}\nDone in {report.seconds:.0f} s: {report.differences:,} differences")
    return 1 if report.differences else 0


def _files(folder: Path) -> int:
    return len(list(folder.glob("*.json")))


def _lines(file: Path) -> int:
    return file.read_text().count("\n") if file.is_file() else 0


def _end_of(file: Path) -> str:
    return file.read_text(errors="replace")[-2000:] if file.is_file() else f"{file.name}: there is no log"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the parts are ended, as by Ctrl-C
    sys.exit(main())
