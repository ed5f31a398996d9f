"""Plays a sequence of SQL statements in a session of either engine, and notes what comes of each.

Placeholders of statements: ``{t}``, ``{u}``, ``{v}`` are names of tables (the outcome of the whole is that of ``{t}``),
``{path}`` a folder, ``{instant 1}`` the requested time of the first commit of ``{t}``, or of the table in ``{path}``;
``{day 1}`` the same as ``yyyy-MM-dd HH:mm:ss.SSS``. The format is ``hudi``, in whose place our engine has its own.

Two statements are not SQL, for data frames:

    WRITE mode {path} OPTIONS (key = value, …) AS SELECT …      df.write.format(…).options(…).mode(…).save(path)
    READ {path} OPTIONS (key = value, …) [AS SELECT … FROM df]  spark.read.format(…).options(…).load(path)

An outcome is one of

    "ok"                                      a statement that is no query
    "refused: Class"                          the simple name of the error's class
    {"columns": [[name, type]], "rows": […]}  a query: rows sorted, without the meta columns it does not name
    {"columns": …, "count": n}                a CALL, whose rows have times and file names

The last outcome is the table's, see :func:`table_outcome`.
"""

from __future__ import annotations

import os
import re
import shutil
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, Union

from interop.frames import rows_of
from interop.hudi_engine import META_COLUMNS
from interop.values import sort_rows

Outcome = Union[str, dict[str, Any]]

QUERIES = ("SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "FROM", "VALUES", "READ", "(")

#: Statements whose rows each engine words in its own way.
WORDED = ("SHOW CREATE", "SHOW TBLPROPERTIES", "DESCRIBE EXTENDED", "DESCRIBE TABLE EXTENDED", "DESCRIBE FORMATTED")

GENERATED_KEY = re.compile(r"^\d{17}_\d+_\d+$")
INSTANT = re.compile(r"(?<!\d)\d{17}(?!\d)")
WRITTEN = re.compile(r"WRITE (\w+) (\S+)(?: OPTIONS \((.*?)\))? AS (.*)", re.DOTALL)
READ = re.compile(r"READ (\S+)(?: OPTIONS \((.*?)\))?(?: AS (.*))?$", re.DOTALL)
OPTION = re.compile(r"'?([\w.\-]+)'?\s*=\s*'((?:[^'])*)'")


class SqlPlayer:
    """Plays sequences in sessions of its own, which share the application of ``spark``.

    Args:
        format_name: ``hudi`` or ``merganser``.
        folder: Where tables with a path are.
        settings: Of each session.
    """

    def __init__(self, spark: Any, format_name: str, folder: str | os.PathLike[str], settings: dict[str, str]) -> None:
        self._spark = spark
        self._format = format_name
        self._folder = Path(folder)
        self._settings = settings

    def play(self, name: str, statements: list[str]) -> list[Outcome]:
        """The outcomes of the statements, and that of the table at the end."""
        session = self._spark.newSession()
        for key, value in self._settings.items():
            session.conf.set(key, value)
        sequence = _Playing(session, self._format, self._folder, name)
        try:
            return [*(sequence.outcome(statement) for statement in statements), sequence.table_outcome(statements)]
        finally:
            sequence.close()


class _Playing:
    def __init__(self, session: Any, format_name: str, folder: Path, name: str) -> None:
        self._session = session
        self._format = format_name
        number = f"{zlib.crc32(name.encode()):08x}"
        self._tables = {table: f"s{number}_{table}" for table in ("t", "u", "v")}
        self._path = folder / f"s{number}"
        warehouse = session.conf.get("spark.sql.warehouse.dir").removeprefix("file:")
        self._homes = {table: Path(warehouse) / name for table, name in self._tables.items()}

    def outcome(self, statement: str) -> Outcome:
        try:
            return self._run(self._filled(statement), statement)
        except Exception as error:
            return f"refused: {error_class(error)}"

    def _run(self, text: str, statement: str) -> Outcome:
        if written := WRITTEN.match(text):
            mode, path, options, query = written.groups()
            frame = _nullable(self._session, self._session.sql(query))
            frame.write.format(self._format).options(**_options(options)).mode(mode).save(path)
            return "ok"
        if read := READ.match(text):
            path, options, query = read.groups()
            frame = self._session.read.format(self._format).options(**_options(options)).load(path)
            if query:
                frame.createOrReplaceTempView("df")
                frame = self._session.sql(query)
            return self._queried(frame, statement)
        frame = self._session.sql(text)
        words = text.upper()
        if words.startswith("CALL"):
            found = rows_of(frame)
            return {"columns": [[name, kind] for name, kind in found["columns"]], "count": len(found["rows"])}
        if words.startswith(WORDED) or not words.startswith(QUERIES):
            frame.collect()
            return "ok"
        return self._queried(frame, statement)

    def _queried(self, frame: Any, statement: str) -> Outcome:
        if not frame.columns:  # WITH … INSERT
            frame.collect()
            return "ok"
        named = [name for name in META_COLUMNS if name in statement]
        kept = [name for name in frame.columns if name not in META_COLUMNS or name in named]
        if len(set(frame.columns)) == len(frame.columns):
            frame = frame.select(*(f"`{name}`" for name in kept))
        found = rows_of(frame)
        rows = [[self._masked(cell) for cell in row] for row in found["rows"]]
        if statement.upper().startswith(("DESC", "SHOW COLUMNS")):
            rows = [row for row in rows if row[0] not in META_COLUMNS]
            return {"columns": found["columns"], "rows": rows}
        return {"columns": found["columns"], "rows": sort_rows(rows)}

    def table_outcome(self, statements: list[str]) -> Outcome:
        """Columns and partition columns as the catalog has them, rows with record key and partition path.

        ``"no table"`` where there is none at the end.
        """
        text = "\n".join(statements)
        keys = "_hoodie_record_key, _hoodie_partition_path"
        try:
            if (self._homes["t"] / ".hoodie").exists() or ("{t}" in text and self._exists("t")):
                described = [list(row)[:2] for row in self._session.sql(f"DESCRIBE {self._tables['t']}").collect()]
                names = [name for name, _ in described]
                end = next((i for i, name in enumerate(names) if name.startswith("#") or not name), len(names))
                columns = [column for column in described[:end] if column[0] not in META_COLUMNS]
                partitions = _partitions(names[end:])
                source = self._tables["t"]
            elif (self._path / ".hoodie").exists():
                frame = self._session.read.format(self._format).load(str(self._path))
                columns = [[f.name, f.dataType.simpleString()] for f in frame.schema if f.name not in META_COLUMNS]
                partitions = []
                frame.createOrReplaceTempView("the_table")
                source = "the_table"
            else:
                return "no table"
            listed = ", ".join(f"`{name}`" for name, _ in columns)
            found = rows_of(self._session.sql(f"SELECT {keys}, {listed} FROM {source}"))
            rows = sort_rows([[self._masked(cell) for cell in row] for row in found["rows"]])
            return {"columns": columns, "partitions": partitions, "rows": rows}
        except Exception as error:
            return f"refused: {error_class(error)}"

    def close(self) -> None:
        for table, name in self._tables.items():
            with suppress(Exception):  # a table that the engine cannot drop is in nobody's way
                self._session.sql(f"DROP TABLE IF EXISTS {name}")
            shutil.rmtree(self._homes[table], ignore_errors=True)
        shutil.rmtree(self._path, ignore_errors=True)

    def _exists(self, table: str) -> bool:
        return bool(self._session.catalog.tableExists(self._tables[table]))

    def _filled(self, statement: str) -> str:
        for table, name in self._tables.items():
            statement = statement.replace(f"{{{table}}}", name)
        statement = re.sub(r"\b(USING|using) hudi\b", rf"\1 {self._format}", statement)
        statement = statement.replace("{path}", str(self._path)).replace("{format}", self._format)
        return re.sub(r"\{(instant|day) (\d+)\}", lambda m: self._instant(m[1], int(m[2])), statement)

    def _instant(self, form: str, number: int) -> str:
        home = self._path if (self._path / ".hoodie").exists() else self._homes["t"]
        timeline = home / ".hoodie" / "timeline"
        done = sorted(f.name[:17] for f in timeline.iterdir() if re.match(r"\d{17}_\d{17}\.", f.name))
        at = done[number - 1]
        if form == "instant":
            return at
        return f"{at[:4]}-{at[4:6]}-{at[6:8]} {at[8:10]}:{at[10:12]}:{at[12:14]}.{at[14:]}"

    def _masked(self, cell: Any) -> Any:
        """A cell without what differs from run to run."""
        if not isinstance(cell, str):
            return cell
        if GENERATED_KEY.match(cell):
            return "<generated>"
        cell = INSTANT.sub("<instant>", cell)
        for table, name in self._tables.items():
            cell = cell.replace(name, f"{{{table}}}")
        return cell.replace(str(self._path), "{path}")


def error_class(error: Exception) -> str:
    """The simple name of the Java class, or of Python's."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    return str(java.getClass().getSimpleName()) if java is not None else type(error).__name__


def _partitions(names: list[str]) -> list[str]:
    """The partition columns in what DESCRIBE has after the columns: parts with a heading each."""
    heading, found = "", []
    for name in names:
        if name.startswith("#"):
            heading = heading if name == "# col_name" else name
        elif name and heading.startswith("# Partition"):
            found.append(name)
    return found


def _nullable(session: Any, frame: Any) -> Any:
    """The frame's rows in one partition; its columns may be null, as those of files are and literals are not."""
    schema = frame.schema
    for field in schema:
        field.nullable = True
    return session.createDataFrame(frame.collect(), schema).coalesce(1)


def _options(text: str | None) -> dict[str, str]:
    return dict(OPTION.findall(text or ""))
