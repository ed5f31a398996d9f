"""Calls of a table into its session, and the choice between their two implementations."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from merganser._arguments import is_column
from merganser._expressions import Parts
from merganser._wire import measured
from merganser.config import Options, merged_options
from merganser.errors import MerganserError, in_python
from merganser.options import DRY_RUN


class Transport(ABC):
    """Calls the jar on behalf of one session. Its errors are raised as the classes of :mod:`merganser.errors`."""

    _spark: SparkSession
    parts: ClassVar[type[Parts]] = Parts
    """The parts of a statement; the statement is written with them."""

    def rows(
        self,
        call: str,
        options: Options | None = None,
        *,
        frame: Any = None,
        parts: Any = None,
        **arguments: Any,
    ) -> list[dict[str, Any]]:
        """The rows of a call: their values by columns, also in nested ones. Times are in milliseconds since 1970.

        Args:
            call: Its name.
            options: Its argument ``options``.
            frame: The rows of its argument ``source``.
            parts: What a statement has beside its text.
            arguments: By parameter; columns of conditions among them. Those that are ``None`` are left out.
        """
        settings = merged_options({}, options) or None
        given = {**arguments, "options": settings, "names": parts.names or None if parts else None}
        found = {name: value for name, value in given.items() if value is not None}
        columns = {name: value for name, value in found.items() if is_column(value)}
        plain = {name: value for name, value in found.items() if name not in columns}
        return self._rows(call, frame, plain, {**columns, **(parts.columns if parts else {})})

    @abstractmethod
    def _rows(self, call: str, frame: Any, arguments: dict[str, Any], columns: dict[str, Any]) -> list[dict[str, Any]]:
        """The rows of a call with its frame, its arguments and those of them that are columns."""

    def statement(self, what: str, text: str, options: Mapping[str, str], parts: Parts) -> dict[str, Any]:
        """Run a statement; the row that it returns.

        Args:
            what: What is shown while it runs.
            text: The statement.
            options: Settings of the statement alone.
            parts: What it has beside its text.
        """
        with _explaining_names():
            if options:
                return self.one("run_statement", options, statement=text, parts=parts)
            rows = self._statement(what, text, parts)
        return rows[0] if rows else {}

    @abstractmethod
    def _statement(self, what: str, text: str, parts: Parts) -> list[dict[str, Any]]:
        """The rows of a statement without settings."""

    @abstractmethod
    def sql_of(self, column: Any) -> str:
        """The SQL text of a column."""

    def add_view(self, rows: DataFrame) -> str:
        """The name of a new temporary view of a frame, whichever session the frame is from."""
        # Dropping a view uncaches a frame of the same plan; projections do not make it another one on Spark 4.
        return self._add_view(f"merganser_rows_{uuid.uuid4().hex}", rows.where("true"))

    @abstractmethod
    def _add_view(self, name: str, rows: DataFrame) -> str:
        """Add a view, and return its name with that of its database, if it has one."""

    @contextmanager
    def _translating(self) -> Iterator[None]:
        """Raise the jar's errors as ours."""
        try:
            yield
        except MerganserError as ours:  # created where PySpark converts exceptions; its context is the cause
            raise in_python(ours) from ours.origin or ours.__context__
        except Exception as failure:
            error = self._translated(failure)
            if error is None:
                raise
            raise in_python(error) from failure

    @abstractmethod
    def _translated(self, failure: Exception) -> MerganserError | None:
        """Our exception for a failed call, or ``None``."""

    def one(self, call: str, options: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
        """The row of a call that returns one; see :meth:`rows`."""
        (row,) = self.rows(call, options, **more)
        return row

    def written(self, call: str, options: Mapping[str, str], **more: Any) -> dict[str, Any]:
        """The row of a call that writes; of a dry run with its rows."""
        row = self.one(call, options, **more)
        if row["instant"] == "" and self._is_dry_run(options):
            row["dry_run"] = measured(self.rows("show_dry_run"))
        return row

    def _is_dry_run(self, options: Mapping[str, str]) -> bool:
        return str(options.get(DRY_RUN) or self._spark.conf.get(DRY_RUN, None)).lower() == "true"

    def drop_view(self, name: str) -> None:
        """Drop a view that :meth:`add_view` has created."""
        self._spark.catalog.dropTempView(name)

    @contextmanager
    def view(self, rows: DataFrame) -> Iterator[str]:
        """The name of a temporary view of a frame, for as long as a block lasts."""
        name = self.add_view(rows)
        try:
            yield name
        finally:
            self.drop_view(name)

    def columns(self, source: str) -> list[str]:
        """The columns of a table, view or query."""
        return self._spark.sql(f"SELECT * FROM {source}").columns

    @property
    def has_evolution_clause(self) -> bool:
        """Whether this Spark line has MERGE WITH SCHEMA EVOLUTION."""
        return not self._spark.version.startswith("3.")


@contextmanager
def _explaining_names() -> Iterator[None]:
    """Add to the error of an unknown column that strings are SQL."""
    try:
        yield
    except PySparkException as error:
        if "UNRESOLVED_COLUMN" in str(error) and hasattr(error, "add_note"):  # from Python 3.11 on
            error.add_note(_STRINGS_ARE_SQL)
        raise


_STRINGS_ARE_SQL = (
    "Strings are SQL: the value 'paid' is written lit('paid') or \"'paid'\". In a merge, the table's columns are "
    "t.name and the source's s.name."
)


def convert_exceptions(modules: Sequence[Any], converted: Callable[..., Any]) -> None:
    """Replace a function of PySpark.

    Args:
        modules: Those that have ``convert_exception``.
        converted: Returns the exception to raise, from PySpark's function and from that function's arguments.
    """
    sparks = modules[0].convert_exception
    if not isinstance(sparks, partial):
        for module in modules:
            module.convert_exception = partial(converted, sparks)


def transport_for(spark: SparkSession) -> Transport:
    """Return the transport of a session: SQL for Spark Connect, else calls into the session's JVM.

    Raises:
        MissingJarError: The session has a JVM, which runs without the jar.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        from merganser._statements import Statements

        return Statements(spark)
    from merganser._bridge import Bridge  # a client of Spark Connect may lack the libraries this imports

    return Bridge(spark)
