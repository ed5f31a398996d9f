"""Writes what Hudi 1.2.0 does with the sequences of ``sql/`` to ``sql/hudi-1.2.0.json``, and the page's table.

    ./dev python tests/interop/record_sql.py          those whose statements changed, or that are new
    ./dev python tests/interop/record_sql.py --all    all of them, some minutes
    ./dev python tests/interop/record_sql.py --page   the table of docs/move-from-hudi.md alone

MERGANSER_HUDI_JAR is the path of Hudi's bundle.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from interop.hudi_engine import HudiEngine
from interop.sql_differences import PAGE, load_record, page_with_table, save_record
from interop.sql_sequences import load_sequences


def record(everything: bool) -> None:
    sequences = load_sequences()
    known = {} if everything else load_record()
    recorded = {s.name: known[s.name] for s in sequences if s.name in known and known[s.name][0] == s.digest}
    missing = [s for s in sequences if s.name not in recorded]
    if missing:
        with HudiEngine() as hudi:
            for sequence in missing:
                recorded[sequence.name] = (sequence.digest, hudi.play(sequence.name, sequence.statements))
                print(sequence.name, flush=True)
                save_record(recorded)
    save_record({s.name: recorded[s.name] for s in sequences})


if __name__ == "__main__":
    if sys.argv[1:] != ["--page"]:
        record("--all" in sys.argv[1:])
    PAGE.write_text(page_with_table(PAGE.read_text()))
