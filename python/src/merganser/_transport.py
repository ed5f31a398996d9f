"""Calls of a table into its session, and the choice between their two implementations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession


class Transport(Protocol):
    """Calls the jar on behalf of one session.

    Both implementations return values in the form of the jar's JSON, which :mod:`merganser.results` reads. Errors of
    the jar are raised as the classes of :mod:`merganser.errors`.
    """

    def create(self, path: str, schema_json: str, options: Mapping[str, str]) -> Any: ...

    def describe(self, path_or_name: str) -> Any: ...

    def write(self, path: str, rows: DataFrame, operation: str, options: Mapping[str, str]) -> Any: ...

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

    def clean(self, path: str, dry_run: bool, options: Mapping[str, str]) -> Any: ...

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

    def restore(self, path: str, instant: str, dry_run: bool, options: Mapping[str, str]) -> Any: ...

    def restore_savepoint(self, path: str, savepoint: str | None, dry_run: bool, options: Mapping[str, str]) -> Any: ...

    def rollback(self, path: str, instant: str | None, dry_run: bool, options: Mapping[str, str]) -> Any: ...

    def history(self, path: str, limit: int | None, archived: bool) -> Any: ...

    def rows(self, procedure: str, options: Mapping[str, str] | None = None, **arguments: Any) -> Any: ...

    def file_slices(self, path: str) -> Any: ...


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
