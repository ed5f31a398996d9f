"""Times the merge loop alone beside a loop written by hand over primitive arrays, and checks the four targets.

Run it with ``./dev bench merge``. JMH measures; each round runs both sides of every case one after the other, each in a
JVM of its own, and what is reported is their ratio in that round. README.md says what the two sides do.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
ROWS = 1 << 17


@dataclass(frozen=True)
class Case:
    """One rule, one of the engine's merges, and the rows that versions meet: percents, or late: all, and all win."""

    merge: str
    rule: str
    met: str

    @property
    def name(self) -> str:
        return f"{self.merge} {self.rule} {self.met}"

    @property
    def least_ratio(self) -> float | None:
        """Of the engine's rows a second to those of the loop by hand; for an upsert of a twentieth of the rows."""
        least = {"event-time-1": 0.5, "event-time-2": 0.25, "sum-max": 0.5}
        return least.get(self.rule) if self.met == "5" else None

    @property
    def most_bytes(self) -> float | None:
        """Allocated for a row that wins unchanged, where most do; partial versions and functions make new rows."""
        return None if self.rule in ("partial-update", "sum-max") or self.met == "100" else 1.0


CASES = [
    Case("sorted", "commit-time", "5"),
    Case("sorted", "event-time-1", "5"),
    Case("sorted", "event-time-2", "5"),
    Case("sorted", "partial-update", "5"),
    Case("sorted", "event-time-1", "100"),
    Case("sorted", "event-time-2", "100"),
    Case("sorted", "event-time-1", "late"),
    Case("keyed", "event-time-1", "5"),
    Case("batches", "event-time-1", "5"),
    Case("batches", "event-time-2", "5"),
    Case("batches", "partial-update", "5"),
    Case("batches", "event-time-1", "100"),
    Case("sorted", "sum-max", "5"),
    Case("batches", "sum-max", "5"),
]


@dataclass
class Measured:
    """One entry a round: rows a second of both sides, and bytes that the engine allocates for a stored row."""

    case: Case
    unchanged: int = 0
    """Stored rows that are left as they were; the others are replaced, removed, or meet several versions."""
    engine: list[float] = field(default_factory=list)
    by_hand: list[float] = field(default_factory=list)
    bytes_a_row: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [engine / by_hand for engine, by_hand in zip(self.engine, self.by_hand)]

    @property
    def bytes_unchanged(self) -> float:
        """All that is allocated, as if the rows that win unchanged had to answer for it."""
        return statistics.median(self.bytes_a_row) * ROWS / self.unchanged

    @property
    def misses(self) -> list[str]:
        """The targets that the case does not meet."""
        ratio, allocated = statistics.median(self.ratios), self.bytes_unchanged
        missed = []
        if self.case.least_ratio is not None and ratio < self.case.least_ratio:
            missed.append(f"{self.case.name}: {ratio:.2f} of the loop by hand, {self.case.least_ratio} wanted")
        if self.case.most_bytes is not None and allocated >= self.case.most_bytes:
            missed.append(f"{self.case.name}: {allocated:.2f} bytes for a row that wins unchanged, less than 1 wanted")
        return missed


class Jmh:
    """JMH's own main program, run for one case at a time."""

    def __init__(self, java: str, arguments: Path, settings: dict[str, str], log: Path) -> None:
        self.command = [java, f"@{arguments}", "org.openjdk.jmh.Main", "MergeLoop"]
        self.settings = settings
        self.log = log

    def run(self, case: Case, measured: Measured) -> None:
        """Add a round of a case: a JVM for each side."""
        parameters = [word for name, value in self._parameters(case).items() for word in ("-p", f"{name}={value}")]
        options = ["-f", "1", "-prof", "gc", "-foe", "true", "-jvmArgsAppend", self.settings["flags"]]
        options += ["-wi", self.settings["warm-ups"], "-w", self.settings["duration"]]
        options += ["-i", self.settings["iterations"], "-r", self.settings["duration"]]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "jmh.json"
            command = [*self.command, *parameters, *options, "-rf", "json", "-rff", str(file)]
            ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            with self.log.open("a") as log:
                log.write(ran.stdout)
            if ran.returncode != 0 or not file.is_file():
                print(ran.stdout[-4000:], file=sys.stderr)
                sys.exit(f"JMH failed ({ran.returncode}) at {case.name}; its output is in {self.log}")
            found = {entry["benchmark"].rsplit(".", 1)[1]: entry for entry in json.loads(file.read_text())}
        measured.engine.append(found["engine"]["primaryMetric"]["score"])
        measured.by_hand.append(found["byHand"]["primaryMetric"]["score"])
        allocated = found["engine"]["secondaryMetrics"]
        measured.bytes_a_row.append(next(v["score"] for k, v in allocated.items() if k.endswith("gc.alloc.rate.norm")))
        measured.unchanged = int(re.findall(r"rows that win unchanged: (\d+)", ran.stdout)[-1])

    def _parameters(self, case: Case) -> dict[str, object]:
        return {"rule": case.rule, "merge": case.merge, "met": case.met, "keys": self.settings["keys"]}


def table(measured: list[Measured]) -> str:
    """Markdown: M rows/s, the ratio with its spread over the rounds, bytes for a row left unchanged."""
    head = ("merge", "rule", "met", "engine M rows/s", "by hand", "ratio", "min-max", "wanted", "bytes/unchanged row")
    rows = [head, tuple("-" * len(word) for word in head)]
    for each in measured:
        wanted = "" if each.case.least_ratio is None else f"{each.case.least_ratio}"
        rows.append(
            (
                *(each.case.merge, each.case.rule, each.case.met if each.case.met == "late" else f"{each.case.met} %"),
                *(f"{statistics.median(side) / 1e6:.1f}" for side in (each.engine, each.by_hand)),
                f"{statistics.median(each.ratios):.2f}",
                f"{min(each.ratios):.2f}-{max(each.ratios):.2f}",
                wanted,
                f"{each.bytes_unchanged:.2f}",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths)) + " |" for row in rows)


def verdict(measured: list[Measured]) -> tuple[str, bool]:
    """The four targets, passed or failed, and whether all are met."""
    targets = (
        ("one long ordering field: at least 0.5 of the loop by hand", "event-time-1", "of the loop"),
        ("two ordering fields of mixed types: at least 0.25", "event-time-2", "of the loop"),
        ("a declared rule of sum and max: at least 0.5", "sum-max", "of the loop"),
        ("less than 1 byte allocated for a row that wins unchanged", "", "bytes for"),
    )
    lines, fine = [], True
    for target, rule, about in targets:
        concerned = [
            each
            for each in measured
            if rule in each.case.rule and (each.case.least_ratio if rule else each.case.most_bytes)
        ]
        missed = [miss for each in concerned for miss in each.misses if about in miss]
        if not concerned:
            lines.append(f"not run  {target}")
        else:
            lines.append(f"{'FAIL' if missed else 'pass'}     {target}")
            lines += [f"           {miss}" for miss in missed]
            fine = fine and not missed
    return "\n".join(lines), fine


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench merge", description=__doc__.splitlines()[0])
    parser.add_argument("--java", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--arguments", required=True, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--log", required=True, type=Path, help=argparse.SUPPRESS)
    parser.add_argument(
        "--rounds", type=int, default=2, help="a JVM for each side of each case in every round; default 2"
    )
    parser.add_argument("--warm-ups", type=int, default=20, help="iterations before those that count; default 20")
    parser.add_argument("--iterations", type=int, default=3, help="iterations that count; default 3")
    parser.add_argument("--duration", default="200ms", help="of an iteration; default 200ms")
    parser.add_argument(
        "--keys", choices=("uuid", "orders"), default="uuid", help="random keys, or with a long common start"
    )
    parser.add_argument("--flags", default="-Xms1g -Xmx1g", help="of the JVMs; default '-Xms1g -Xmx1g'")
    parser.add_argument("--only", default="", metavar="WORDS", help="cases whose names contain all of these words")
    parser.add_argument(
        "--write", action="store_true", help=f"keep the results in {RESULTS.parent.name}/{RESULTS.name}/"
    )
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    given = arguments(words)
    cases = [case for case in CASES if all(word in case.name.split() for word in given.only.split())]
    if not cases:
        sys.exit(f"No case has the words '{given.only}': {', '.join(case.name for case in CASES)}")
    settings = {
        "flags": given.flags,
        "warm-ups": str(given.warm_ups),
        "iterations": str(given.iterations),
        "duration": given.duration,
        "keys": given.keys,
    }
    given.log.unlink(missing_ok=True)
    jmh = Jmh(given.java, given.arguments, settings, given.log)
    measured = [Measured(case) for case in cases]
    load = os.getloadavg()[0]
    for number in range(1, given.rounds + 1):
        for each in measured:
            jmh.run(each.case, each)
            ratio = each.ratios[-1]
            print(f"round {number}/{given.rounds}  {each.case.name:<28}{ratio:5.2f} of the loop by hand", flush=True)
    summary, fine = verdict(measured)
    print(f"\n{table(measured)}\n\n{summary}")
    if given.write:
        keep(measured, summary, settings | {"rounds": str(given.rounds), "load before": f"{load:.1f}"}, given.log)
    return 0 if fine else 1


def keep(measured: list[Measured], summary: str, settings: dict[str, str], log: Path) -> None:
    """Write the run with its settings, all samples as JSON and the table as Markdown."""
    java = re.search(r"# VM version: (.+)", log.read_text())
    settings = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "java": java.group(1) if java else "",
        "stored rows": str(ROWS),
        **settings,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    name = "merge-loop"
    samples = [vars(each) | {"case": vars(each.case)} for each in measured]
    (RESULTS / f"{name}.json").write_text(json.dumps({"settings": settings, "samples": samples}, indent=1) + "\n")
    lines = "\n".join(f"- {key}: {value}" for key, value in settings.items())
    text = f"# {name}\n\nThe merge loop alone, beside a loop by hand: `./dev bench merge --write`.\n\n"
    (RESULTS / f"{name}.md").write_text(f"{text}{lines}\n\n{table(measured)}\n\n```\n{summary}\n```\n")
    print(f"Wrote {name}.md and {name}.json to {RESULTS.relative_to(RESULTS.parents[1])}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
