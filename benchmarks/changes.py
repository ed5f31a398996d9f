"""Times incremental reads, reads of change data and micro-batches beside plain Spark, and beside Hudi.

Run it with ``./dev bench changes``. Each measurement follows one of plain Spark in the same session:

- an incremental read returns the rows that an upsert changed; plain Spark reads Parquet files with these rows alone;
- a read of change data returns them before and after the upsert; plain Spark joins the files before and after it;
- a micro-batch is upserted; plain Spark writes its rows, and beside a copy-on-write table also rewrites the files.

Hudi has a process of its own and takes turns with ours, on the same rows. All of them return the same rows, or the run
fails; so it does where a target is missed.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bench
import change_tables
import costs
import hudi_process
import ratios
from change_tables import NEAR, READ, READS, SPREAD, STREAMED, Engine, Settings, Work, WrongResult
from pyspark.sql import SparkSession

PAGE = bench.RESULTS / "changes.md"
OURS, HUDI = "merganser", "hudi"

#: Calls a method of an engine by its name.
Side = Callable[..., Any]

#: Targets that compare two of our own reads: at most so many times the read of the whole table.
OF_A_WHOLE_READ = {
    f"incremental read of {NEAR}": {"seconds": 0.5, "open": 0.15, "read bytes": 0.05},
    f"incremental read of {SPREAD}": {"seconds": 0.8, "open": 1.1, "read bytes": 0.4},
    "incremental read of all": {"seconds": 1.25, "open": 1.1, "read bytes": 1.1},
}
#: At most so many times plain Spark, which joins the files before and after the upsert.
OF_A_JOIN = {f"change data of {NEAR}": 1.5, f"change data of {SPREAD}": 1.0}
#: A micro-batch: at most so many times Hudi's seconds, each divided by plain Spark's in the same session.
OF_HUDI = 0.8


@dataclass(frozen=True)
class Samples:
    """By engine: what it measured beside plain Spark, and its incremental reads beside its reads of the whole table."""

    beside_plain: dict[str, list[ratios.Sample]]
    shares: dict[str, list[ratios.Sample]]


@dataclass(frozen=True)
class Lines:
    """The samples, summed up."""

    beside_plain: dict[str, list[ratios.Line]]
    shares: dict[str, list[ratios.Line]]


class Changes:
    """One run.

    Args:
        sides: The engines by name, of which each has plain Spark in its session.
    """

    def __init__(self, sides: Mapping[str, Side], settings: Settings, say: Callable[[str], None]) -> None:
        self.sides = sides
        self.settings = settings
        self.say = say
        self.samples = Samples({name: [] for name in sides}, {name: [] for name in sides})

    def run(self, streamed: tuple[int, int]) -> Samples:
        """Measure everything.

        Args:
            streamed: Checksum of a table with all micro-batches.

        Raises:
            WrongResult: An engine and plain Spark differ in the rows of a read, or of a table.
        """
        read, written = ([table for table in self.settings.tables if table in of] for of in (READ, STREAMED))
        self._all("load", read)
        for commit in (1, 2):
            self._all("upsert", read, commit)
            for number, work in enumerate(READS):
                if work.commits == commit and work.table in read:
                    self._read(number, work)
        self._all("load_streamed", written)
        for table in written:
            self._all("start_streams", [table])
            self._stream(table)
            self._all("stop_streams", [table])
            for name, side in self.sides.items():
                require(side("result_streamed", table) == streamed, f"{name}'s {table} has the rows of all batches")
        return self.samples

    def _all(self, do: str, tables: Iterable[str], *arguments: object) -> None:
        for table in tables:
            for name, side in self.sides.items():
                self.say(f"{name}: {do} {table}")
                side(do, table, *arguments)

    def _read(self, number: int, work: Work) -> None:
        # Hudi reads change data of tables with change files alone.
        sides = {n: s for n, s in self.sides.items() if n == OURS or work.query != "changes" or work.table != "cow"}
        expected = self.sides[OURS]("result_plain", number)
        for name, side in sides.items():
            require(side("result", number) == expected, f"the {work.name} of {name}'s {work.table} has the right rows")
        for repetition in range(self.settings.batches):
            pairs = {}
            for name, side in sides.items():
                plain, own = side("read_plain", number), side("read", number)
                pairs[name] = (own, plain)
                if work.query == "rows":
                    whole = side("read_whole", number)
                    self._add(self.samples.shares[name], repetition, work.name, work.table, own, whole)
            self._add_all(repetition, work.name, work.table, pairs)

    def _stream(self, table: str) -> None:
        work = f"micro-batch of {self.settings.batch:,} rows"
        for number in range(self.settings.batches):
            pairs = {}
            for name, side in self.sides.items():
                plain, own = side("stream_plain", table, number), side("stream", table, number)
                pairs[name] = (own, plain)
            self._add_all(number, work, table, pairs)

    def _add_all(
        self, repetition: int, work: str, table: str, pairs: Mapping[str, tuple[costs.Measured, costs.Measured]]
    ) -> None:
        """Add what the engines measured, each with plain Spark right before it, and print it."""
        for name, (own, plain) in pairs.items():
            self._add(self.samples.beside_plain[name], repetition, work, table, own, plain)
        seconds = (f"{name} {own.seconds:.2f} s, plain {plain.seconds:.2f} s" for name, (own, plain) in pairs.items())
        self.say(f"{work}, {table}, {repetition}: {'; '.join(seconds)}")

    def _add(
        self,
        samples: list[ratios.Sample],
        repetition: int,
        work: str,
        table: str,
        own: costs.Measured,
        other: costs.Measured,
    ) -> None:
        if repetition >= self.settings.warm_ups:
            samples.append(ratios.Sample(work, table, "seconds", own.seconds, other.seconds, own.costs, other.costs))


def require(holds: bool, what: str) -> None:
    """Check a result.

    Raises:
        WrongResult: It is wrong.
    """
    if not holds:
        raise WrongResult(f"not true: {what}")


# ---- targets


def missed(lines: Lines) -> list[str]:
    """The targets that a run missed, each with its numbers."""
    return [text for text, value, most in targets(lines) if value > most]


def targets(lines: Lines) -> Iterator[tuple[str, float, float]]:
    """What is compared with a target, its value, and the target."""
    for line in lines.shares[OURS]:
        for kind, most in OF_A_WHOLE_READ.get(line.work, {}).items():
            yield named(line, f"{kind} {share(line, kind):.2f} of a whole read's", most), share(line, kind), most
    peers = {(line.work, line.variant): line for line in lines.beside_plain.get(HUDI, [])}
    for line in lines.beside_plain[OURS]:
        if line.work in OF_A_JOIN:
            most = OF_A_JOIN[line.work]
            yield named(line, f"{line.median:.2f} of a join", most), line.median, most
        peer = peers.get((line.work, line.variant))
        if peer is not None and line.work.startswith("micro-batch"):
            value = line.median / peer.median
            yield named(line, f"{value:.2f} of Hudi's", OF_HUDI), value, OF_HUDI


def named(line: ratios.Line, value: str, most: float) -> str:
    return f"{line.work}, {line.variant}: {value}, target {most}"


def share(line: ratios.Line, kind: str) -> float:
    """Seconds or costs of a read, as a part of those of a read of the whole table."""
    return line.median if kind == "seconds" else line.our_costs[kind].median / line.plain_costs[kind].median


# ---- the page


def page(settings: Mapping[str, object], lines: Lines) -> str:
    text = f"# Changes\n\n    ./dev bench changes --write\n\n{ratios.markdown(settings, lines.beside_plain[OURS])}"
    text += "\n## Incremental reads and a read of the whole table\n\n"
    text += (
        "Parts of a snapshot read of the same table by the same engine, which was measured right after. Medians.\n\n"
    )
    text += "| engine | read | table | time | opened files | bytes read |\n|---|---|---|---|---|---|\n"
    for name, found in lines.shares.items():
        for line in found:
            cells = " | ".join(f"{share(line, kind):.2f}" for kind in ("seconds", "open", "read bytes"))
            text += f"| {name} | {line.work} | {line.variant} | {cells} |\n"
    if HUDI in lines.beside_plain:
        text += beside_hudi(lines.beside_plain)
    text += "\n## Targets\n\n" + "".join(f"- {said}\n" for said, value, most in targets(lines))
    return text


def beside_hudi(lines: Mapping[str, list[ratios.Line]]) -> str:
    """Both engines, each beside plain Spark in its session."""
    text = f"\n## Beside Hudi {hudi_process.VERSION}\n\n"
    text += (
        "Medians; `/ plain` is the ratio to plain Spark in the session of the engine. Counts are ours, then Hudi's.\n\n"
    )
    text += "| work | table | ours | Hudi | ours / plain | Hudi / plain | jobs | list | open | read |\n"
    text += "|" + "---|" * 10 + "\n"
    own = {(line.work, line.variant): line for line in lines[OURS]}
    for line in lines[HUDI]:
        ours = own[line.work, line.variant]
        counts = [
            f"{ours.our_costs[kind].median:g}, {line.our_costs[kind].median:g}" for kind in ("jobs", "list", "open")
        ]
        read = ", ".join(f"{of.our_costs['read bytes'].median / 1e6:.2f} MB" for of in (ours, line))
        text += (
            f"| {line.work} | {line.variant} | {ours.ours:.2f} s | {line.ours:.2f} s | {ours.median:.2f} | "
            f"{line.median:.2f} | {' | '.join(counts)} | {read} |\n"
        )
    return text


def described(spark: SparkSession, settings: Settings, load: float, with_hudi: bool) -> dict[str, object]:
    """What a reader of the numbers has to know."""
    return {
        "tables that are read": f"{settings.rows:,} rows in {settings.files} files, each with a range of the keys; an "
        f"upsert of neighbouring keys, half of two files, then one of as many rows of all files. In `mor` both are "
        "logs; `cow-cdc` and `mor` have `hoodie.table.cdc.enabled`",
        "incremental read": "beside a read of Parquet files with the changed rows alone",
        "change data": "images as JSON; beside a join of the files before and after the upsert, those that it touched",
        "micro-batch": f"a Parquet file of {settings.batch:,} rows, nine of ten with stored keys at random, into "
        f"{settings.streamed:,} rows in {change_tables.BUCKETS} file groups; time of the trigger. "
        "Beside a stream that writes the rows (mor), or rewrites the files as well (cow)",
        "Hudi": f"{hudi_process.VERSION} in a process of its own, without its metadata table, shuffles of "
        f"{change_tables.PARALLELISM} tasks"
        if with_hudi
        else "not measured",
        "repetitions": f"{settings.repetitions} after {settings.warm_ups} to warm up",
        "file system": "Hadoop's local one, without checksum files; its calls are counted",
        "Spark": f"{spark.version}, {spark.sparkContext.master}",
        "machine": f"{platform.platform()}, {os.cpu_count()} cores, load {load:.1f} at the begin, "
        f"{os.getloadavg()[0]:.1f} at the end",
    }


def summed_up(samples: Samples) -> Lines:
    beside_plain, shares = (
        {name: ratios.summed_up(found) for name, found in of.items()} for of in (samples.beside_plain, samples.shares)
    )
    return Lines(beside_plain, shares)


def measure(
    spark: SparkSession, settings: Settings, folder: Path, say: Callable[[str], None], with_hudi: bool
) -> Samples:
    """Measure everything. Everything that is made lies in `folder`."""
    change_tables.write_files(spark, settings, folder)
    expected = change_tables.streamed_result(spark, folder)
    ours = Engine(spark, OURS, settings, folder, costs.counted)
    with ExitStack() as stack:
        sides: dict[str, Side] = {OURS: lambda do, *arguments: getattr(ours, do)(*arguments)}
        if with_hudi:
            sides[HUDI] = stack.enter_context(hudi_process.HudiProcess(settings, folder))
        return Changes(sides, settings, say).run(expected)


def main(words: list[str]) -> int:
    usual = Settings()
    parser = argparse.ArgumentParser(prog="./dev bench changes", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=usual.rows, help="of the tables that are read")
    parser.add_argument("--files", type=int, default=usual.files, help="of these tables; 100: an upsert of 1 %%")
    parser.add_argument("--repetitions", type=int, default=usual.repetitions)
    parser.add_argument("--warm-ups", type=int, default=usual.warm_ups)
    parser.add_argument("--only", nargs="+", choices=usual.tables, default=usual.tables, help="some of the tables")
    parser.add_argument("--without-hudi", action="store_true")
    parser.add_argument("--folder", type=Path, help="where data and tables go; a temporary folder unless given")
    parser.add_argument("--write", action="store_true", help=f"keep the results in {PAGE.relative_to(bench.RESULTS)}")
    given = parser.parse_args(words)
    settings = Settings(
        given.rows, given.files, repetitions=given.repetitions, warm_ups=given.warm_ups, tables=given.only
    )
    with_hudi = not given.without_hudi and hudi_process.JAR in os.environ
    load = os.getloadavg()[0]
    spark = bench.start_session("local[2]", "2g", 4)
    folder = Path(tempfile.mkdtemp(prefix="merganser-changes-", dir=given.folder)).resolve()
    try:
        samples = measure(spark, settings, folder, lambda text: print(text, flush=True), with_hudi)
        description = described(spark, settings, load, with_hudi)
    except WrongResult as wrong:
        print(f"WRONG RESULT: {wrong}", file=sys.stderr)
        return 1
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    lines = summed_up(samples)
    text = page(description, lines)
    print("\n" + text, end="")
    if given.write:
        PAGE.write_text(text)
    for target in missed(lines):
        print(f"MISSED: {target}", file=sys.stderr)
    return 1 if missed(lines) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
