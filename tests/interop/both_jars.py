"""The program of a session with both jars, Hudi's and ours: the same histories by either engine, the same classes.

``python -m interop.both_jars PLAN FOLDER JARS`` plays the histories of a JSON file, see ``Play``, and writes the rows
that every engine read to ``rows.json`` in the folder.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from interop.frames import frame_of, rows_of
from interop.hudi_session import QUIET, table_properties
from interop.hudi_worker import failure
from interop.python_daemon import SETTINGS as PYTHON_WORKERS
from interop.sessions import INTERPRETED, SMALL, read_rows_as_pickled
from interop.values import sort_rows

OURS, HUDI = "merganser", "hudi"
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"


class Play:
    """One history: ``{"schema": …, "options": {…}, "read": {…}, "batches": [[operation, rows], …]}``.

    ``"tables"`` are the writers and kinds of tables, all of them if it is missing; with ``"hudi reads": false`` Hudi
    reads none.
    """

    def __init__(self, spark: Any, folder: Path, name: str, plan: Mapping[str, Any]) -> None:
        self.spark, self.folder, self.name, self.plan = spark, folder, name, plan

    def write(self, engine: str, path: Path, kind: str, operation: str, rows: Sequence[Sequence[Any]]) -> None:
        options = {
            "hoodie.table.name": "shop",
            "hoodie.datasource.write.table.type": kind,
            "hoodie.datasource.write.operation": operation,
            **self.plan["options"],
            **self.plan["read"],
            **(QUIET if engine == HUDI else {}),
        }
        schema = ", ".join(self.plan["schema"].split(", ")[: len(rows[0])])
        frame_of(self.spark, schema, rows).write.format(engine).options(**options).mode("append").save(str(path))

    def read(self, engine: str, path: Path) -> list[list[Any]]:
        frame = self.spark.read.format(engine).options(**self.plan["read"]).load(str(path))
        columns = [column.split(" ")[0] for column in self.plan["schema"].split(", ")]
        return sort_rows(rows_of(frame.select(*columns))["rows"])

    def both(self, path: Path) -> dict[str, Any]:
        return {engine: self.read(engine, path) for engine in (HUDI, OURS)}

    def played(self) -> dict[str, Any]:
        """Rows by writer, kind of table and reader, before and after our compaction."""
        found: dict[str, Any] = {}
        tables = self.plan.get("tables", [[engine, kind] for engine in (HUDI, OURS) for kind in (COW, MOR)])
        for engine, kind in tables:
            path = self.folder / f"{self.name}-{engine}-{kind}"
            for operation, rows in self.plan["batches"]:
                self.write(engine, path, kind, operation, rows)
            readers = self.both if self.plan.get("hudi reads", True) else lambda p: {OURS: self.read(OURS, p)}
            found[f"{engine} {kind}"] = readers(path)
            if kind == MOR:
                for key, value in self.plan["read"].items():
                    self.spark.conf.set(key, value)
                self.spark.sql(f"CALL run_compaction(op => 'scheduleAndExecute', path => '{path}')").collect()
                found[f"{engine} {kind} compacted"] = readers(path)
            found[f"{engine} {kind} stored"] = {
                key: value for key, value in table_properties(path).items() if "merge" in key or "payload" in key
            }
        return found


def session(jars: str, settings: Mapping[str, str]) -> Any:
    """The session as docs/write-a-merger.md starts it, with these jars in place of its own, and with more settings."""
    import merganser

    def started(name: str, *, config: Mapping[str, str]) -> Any:
        return merganser.session(name, master="local[1]", config={**settings, **config})

    page = Path(__file__).parents[2] / "docs" / "write-a-merger.md"
    section = page.read_text().split("\n## Classes made for Hudi\n")[1]
    (snippet,) = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"merganser": SimpleNamespace(session=started)}
    exec(re.sub(r'"[^"]+\.jar,[^"]+\.jar"', repr(jars), snippet), names)
    return names["spark"]


def main() -> None:
    plan, folder, jars = sys.argv[1:]
    read_rows_as_pickled()
    settings = {
        **PYTHON_WORKERS,
        **INTERPRETED,
        **SMALL,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1200m",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
    }
    spark = session(jars, settings)
    spark.sparkContext.setLogLevel("ERROR")
    results: dict[str, Any] = {}
    for number, (name, each) in enumerate(json.loads(Path(plan).read_text()).items()):
        try:
            results[name] = Play(spark, Path(folder), str(number), each).played()
        except Exception as error:
            results[name] = failure(error)
    spark.stop()
    Path(folder, "rows.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main()
