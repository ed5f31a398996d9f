"""Calls of a table into its session, and the choice between their two implementations."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from merganser._expressions import Parts


class Transport(Protocol):
    """Calls the jar on behalf of one session.

    Both implementations return values in the form of the jar's JSON, which :mod:`merganser.results` reads. Errors of
    the jar are raised as the classes of :mod:`merganser.errors`.
    """

    def create(self, path: str, schema_json: str, options: Mapping[str, str]) -> Any: ...

    def describe(self, path_or_name: str) -> Any: ...

    def write(self, path: str, rows: DataFrame, operation: str, options: Mapping[str, str]) -> Any: ...

    def apply_changes(self, rows: DataFrame, arguments: Mapping[str, Any], options: Mapping[str, str]) -> Any:
        """``CALL apply_changes`` with the events of a frame; conditions may be columns."""
        ...

    def create_for_changes(
        self, rows: DataFrame | None, arguments: Mapping[str, Any], options: Mapping[str, str]
    ) -> Any:
        """``CALL create_table_for_changes`` with the events of a frame, or with a schema among the arguments."""
        ...

    def create_named(
        self,
        name: str,
        schema_json: str,
        partitions: str,
        path: str | None,
        if_not_exists: bool,
        options: Mapping[str, str],
    ) -> None:
        """Create an empty table with a name.

        Args:
            name: As SQL.
            schema_json: Its columns.
            partitions: As in PARTITIONED BY; empty for none.
            path: Its folder; ``None`` is the catalog's.
            if_not_exists: Leave an existing table of the name as it is.
            options: Its properties.
        """
        ...

    def parts(self) -> Parts:
        """No parts of a statement yet; the statement is written with them."""
        ...

    def statement(self, what: str, text: str, options: Mapping[str, str], parts: Parts) -> Any:
        """Run a statement; the row that it returns, by its columns' names in the form of the jar's JSON.

        Args:
            what: What is shown while it runs.
            text: The statement.
            options: Settings of the statement alone.
            parts: What it has beside its text.
        """
        ...

    def sql_of(self, column: Any) -> str:
        """The SQL text of a column."""
        ...

    def preview(self, text: str, most: int | None, options: Mapping[str, str], parts: Parts) -> Any:
        """What a statement would do: the rows of ``CALL dry_run``."""
        ...

    def view(self, rows: DataFrame) -> AbstractContextManager[str]:
        """The name of a temporary view of a frame, for as long as a block lasts."""
        ...

    def add_view(self, rows: DataFrame) -> str:
        """The name of a new temporary view of a frame, whichever session the frame is from."""
        ...

    def drop_view(self, name: str) -> None: ...

    def columns(self, source: str) -> list[str]:
        """The columns of a table, view or query."""
        ...

    @property
    def has_evolution_clause(self) -> bool:
        """Whether this Spark line has MERGE WITH SCHEMA EVOLUTION."""
        ...

    def compact(self, path: str, op: str, options: Mapping[str, str]) -> Any: ...
    def compact_logs(self, path: str, op: str, options: Mapping[str, str]) -> Any: ...

    def cluster(
        self,
        path: str,
        op: str,
        columns: str | None,
        strategy: str | None,
        where: str | None,
        options: Mapping[str, str],
    ) -> Any: ...

    def purge_clustering(self, path: str, instant: str, options: Mapping[str, str]) -> Any: ...

    def clean(self, path: str, options: Mapping[str, str]) -> Any: ...

    def archive(
        self, path: str, min_commits: int | None, max_commits: int | None, options: Mapping[str, str]
    ) -> Any: ...

    def start_services(
        self, path: str, services: str | None, interval_seconds: int | None, options: Mapping[str, str]
    ) -> Any: ...

    def stop_services(self, path: str) -> None: ...

    def services(self, path: str) -> Any: ...

    def create_savepoint(
        self, path: str, instant: str | None, user: str, comments: str, options: Mapping[str, str]
    ) -> Any: ...

    def delete_savepoint(self, path: str, instant: str | None, options: Mapping[str, str]) -> None: ...

    def savepoints(self, path: str) -> Any: ...

    def restore(self, path: str, instant: str, options: Mapping[str, str]) -> Any: ...

    def restore_savepoint(self, path: str, savepoint: str | None, options: Mapping[str, str]) -> Any: ...

    def rollback(self, path: str, instant: str | None, options: Mapping[str, str]) -> Any: ...

    def history(self, path: str, limit: int | None, archived: bool) -> Any: ...

    def rows(self, procedure: str, options: Mapping[str, str] | None = None, **arguments: Any) -> Any: ...

    def file_slices(self, path: str) -> Any: ...


class SessionStatements:
    """What both implementations do by statements of the session."""

    _spark: SparkSession

    @property
    def has_evolution_clause(self) -> bool:
        return not self._spark.version.startswith("3.")

    def add_view(self, rows: DataFrame) -> str:
        raise NotImplementedError

    def drop_view(self, name: str) -> None:
        self._spark.catalog.dropTempView(name)

    @contextmanager
    def view(self, rows: DataFrame) -> Iterator[str]:
        name = self.add_view(rows)
        try:
            yield name
        finally:
            self.drop_view(name)

    def columns(self, source: str) -> list[str]:
        return self._spark.sql(f"SELECT * FROM {source}").columns


def view_name() -> str:
    """A name that no view has."""
    return f"merganser_rows_{uuid.uuid4().hex}"


@contextmanager
def explaining_names() -> Iterator[None]:
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
