"""Compares Merganser with Hudi, Delta Lake, Iceberg, Paimon and plain Spark on the same data, one process a table.

Run it with ``./dev bench peers``. In each round every kind of table of every engine takes all steps (`steps.py`), in an
order that changes with the round, after plain Spark, which reads or rewrites the same bytes. What is reported are the
ratios to it in the same round. Every table is compared with the truth by count and checksum after each change.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import bench
import pyspark
import ratios
from ratios import Sample, amount

from dev.layout import CACHE, STATE
from dev.maven import fetch_all
from peers import data, report
from peers.data import DATA, Data
from peers.engines import ENGINES, jars_of
from peers.steps import Found, Task

PLAIN = ("plain", "parquet")
FILES = 8  # of the loaded table, and its buckets
READS = 3
WARM_UP = 0.005  # of the rows at scale 1


@dataclass(frozen=True)
class Settings:
    data: str
    scale: float
    rounds: int
    only: list[str]
    cores: int
    memory: str
    small: bool


class Peers:
    """One run. Everything it makes lies in `folder`."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.folder = folder
        known = jars_of(line())
        if missing := [name for name in settings.only if name not in known]:
            raise SystemExit(f"No jars are listed for Spark {line()}: {', '.join(missing)}.")
        self.engines = [name for name in known if name == PLAIN[0] or name in (settings.only or known)]
        self.jars = {name: fetch_all(CACHE, known[name]) if known[name] else [] for name in self.engines}
        self.samples: list[Sample] = []
        self.failures: list[str] = []

    def run(self) -> Data:
        """Make the data and measure everything."""
        given = self.settings
        for name, scale in (("small", min(WARM_UP, given.scale)), ("large", given.scale)):
            words = [self.folder / name, given.data, scale, FILES, given.memory]
            print(f"Making {given.data} at scale {scale:g} ...", flush=True)
            log = STATE / "bench-peers-data.log"
            if python("peers.data", words, log):
                raise SystemExit(f"The data could not be made: see {log}")
        for number in range(given.rounds):
            self._round(number)
        return Data(self.folder / "large")

    def _round(self, number: int) -> None:
        tables = [(name, kind) for name in self.engines for kind in ENGINES[name].kinds if (name, kind) != PLAIN]
        turn = number % len(tables) if tables else 0
        plain = {found.work: found for found in medians(self._measure(number, *PLAIN))}
        for name, kind in [*tables[turn:], *tables[:turn]]:
            for found in self._measure(number, name, kind):
                if found.work in plain:
                    self.samples.append(
                        Sample(found.work, f"{name} {kind}", found.unit, found.amount, plain[found.work].amount)
                    )

    def _measure(self, number: int, name: str, kind: str) -> list[Found]:
        """Take all steps on a table in a process; if it fails, those before that."""
        given, place = self.settings, self.folder / f"{number}-{name}-{kind}"
        place.mkdir()
        task = Task(
            engine=name,
            kind=kind,
            jars=[str(jar) for jar in self.jars[name]],
            warm_up=str(self.folder / "small"),
            data=str(self.folder / "large"),
            folder=str(place),
            out=str(place / "found.jsonl"),
            reads=READS,
            files=FILES,
            cores=given.cores,
            memory=given.memory,
            small=given.small,
        )
        log = STATE / f"bench-peers-{name}-{kind}.log"
        code = python("peers.steps", [json.dumps(asdict(task))], log)
        out = Path(task.out)
        lines = [json.loads(text) for text in out.read_text().splitlines()] if out.exists() else []
        found = [Found(**each) for each in lines if "failed" not in each]
        if code:
            after = found[-1].work if found else "its start"
            reason = lines[-1]["failed"] if lines and "failed" in lines[-1] else f"see {log}"
            self.failures.append(f"{name} {kind}, round {number + 1}, after {after}: {reason}")
        outcome = self.failures[-1] if code else ", ".join(f"{f.work} {amount(f.amount, f.unit)}" for f in found)
        print(f"round {number + 1}, {name} {kind}: {outcome}", flush=True)
        shutil.rmtree(place)
        return found


def medians(found: Sequence[Found]) -> Iterator[Found]:
    """One measurement for each work."""
    for work in dict.fromkeys(each.work for each in found):
        same = [each for each in found if each.work == work]
        yield Found(work, same[0].unit, statistics.median(each.amount for each in same))


def python(module: str, words: Sequence[object], log: Path) -> int:
    """Run a module in a process, whose output goes to a file: its exit code."""
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as out:
        command = [sys.executable, "-m", module, *map(str, words)]
        return subprocess.run(command, stdout=out, stderr=subprocess.STDOUT).returncode


def line() -> str:
    """The Spark line of this Python, such as 3.5."""
    return ".".join(pyspark.__version__.split(".")[:2])


def described(settings: Settings, made: Data, jars: Mapping[str, Sequence[Path]], load: float) -> dict[str, object]:
    """What a reader of the numbers has to know."""
    facts = made.facts
    names = [jar.stem for each in jars.values() for jar in each]
    return {
        "data": f"{settings.data}, {facts.rows:,} rows of {len(made.schema)} columns, {facts.size_bytes / 1e6:.1f} MB "
        f"in {FILES} files",
        "batches": f"{data.SHARE} of the keys: {data.LATE:.0%} late, {data.DOUBLED:.0%} doubled, {data.NEW:.0%} new",
        "rounds": settings.rounds,
        "peers": ", ".join(names) or "none",
        "Spark": f"{pyspark.__version__}, local[{settings.cores}], {settings.memory} memory, {FILES} shuffle "
        "partitions",
        "machine": f"{platform.platform()}, {os.cpu_count()} cores, load {load:.1f} at the begin, "
        f"{os.getloadavg()[0]:.1f} at the end",
    }


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev bench peers", description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=list(DATA), default="narrow", help="form of the table; narrow unless given")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="1 is 2 million rows, 400,000 of 100 columns, 6 million of lineitem"
    )
    parser.add_argument(
        "--doublings", type=int, default=0, help="measure at so many further sizes, each twice the last"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=[name for name in ENGINES if name != PLAIN[0]], default=[])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="3g", help="of each JVM")
    parser.add_argument(
        "--small", action="store_true", help=f"read after 1 and after {data.SMALL_UPSERTS} upserts alone"
    )
    parser.add_argument("--folder", type=Path, help="where data and tables go; a temporary folder unless given")
    parser.add_argument("--write", action="store_true", help="keep the results in benchmarks/results/")
    given = parser.parse_args(words)
    settings = Settings(given.data, given.scale, given.rounds, given.only, given.cores, given.memory, given.small)
    load = os.getloadavg()[0]
    by_rows: dict[int, list[ratios.Line]] = {}
    failures: list[str] = []
    for doubling in range(given.doublings + 1):
        folder = Path(tempfile.mkdtemp(prefix="merganser-peers-", dir=given.folder)).resolve()
        try:
            run = Peers(replace(settings, scale=given.scale * 2**doubling), folder)
            made = run.run()
            description = described(settings, made, run.jars, load)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        by_rows[made.facts.rows] = lines = ratios.summed_up(run.samples)
        failures += run.failures
    name = f"peers-spark-{line()}" + ("" if given.data == "narrow" else f"-{given.data}")
    name += "-small-upserts" if given.small else ""
    name += "-doubled" if given.doublings else ""
    text = report.page("Beside other table formats", description, lines, failures) + report.growth(by_rows)
    print("\n" + text, end="")
    if given.write and lines:
        (bench.RESULTS / f"{name}.md").write_text(text)
        (bench.RESULTS / f"{name}.json").write_text(ratios.raw(description, run.samples))
        (bench.RESULTS / f"{name}.svg").write_text(report.picture(lines))
    for failure in failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
