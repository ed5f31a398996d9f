"""The way into the JVM of a classic session. Nothing else in this package knows that there is one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from py4j.java_gateway import JavaPackage  # type: ignore[import-untyped, unused-ignore]
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped, unused-ignore]
from pyspark.sql import DataFrame, SparkSession

from merganser._progress import progress
from merganser.errors import MerganserError, MissingJarError, error_for

_EXCEPTION = "io.merganser.merge.MerganserException"
_MAX_CAUSES = 32  # chains of causes can be circular


class Bridge:
    """Calls the jar on behalf of one session. Every call is one call into the JVM and answers JSON."""

    def __init__(self, spark: SparkSession) -> None:
        """Find the jar.

        Raises:
            MissingJarError: The session runs without the jar.
        """
        self._spark = spark
        self._session: Any = spark._jsparkSession
        jvm: Any = spark._jvm
        self._entry: Any = jvm.io.merganser.spark.python.PythonBridge
        if isinstance(self._entry, JavaPackage):  # py4j's way to say that there is no such class
            jars = spark.conf.get("spark.jars", None) or "empty"
            raise MissingJarError(
                f"Cannot find Merganser's jar in this session: 'spark.jars' is {jars}. Start the session with "
                "merganser.session(...), or pass its builder through merganser.configure(builder), or add the jar "
                "to 'spark.jars' before the session starts.",
                condition="MISSING_JAR",
                parameters={"spark.jars": jars},
            )

    def create(self, path: str, schema_json: str, options: Mapping[str, str]) -> Any:
        return self._call("create", self._session, path, schema_json, json.dumps(dict(options)))

    def describe(self, path_or_name: str) -> Any:
        return self._call("describe", self._session, path_or_name)

    def write(self, path: str, rows: DataFrame, operation: str, options: Mapping[str, str]) -> Any:
        return self._call("write", self._session, path, rows._jdf, operation, json.dumps(dict(options)))

    def compact(self, path: str, op: str, options: Mapping[str, str]) -> Any:
        return self._call("compact", self._session, path, op, json.dumps(dict(options)))

    def history(self, path: str) -> Any:
        return self._call("history", self._session, path)

    def file_slices(self, path: str) -> Any:
        return self._call("fileSlices", self._session, path)

    def _call(self, method: str, *args: Any) -> Any:
        try:
            with progress(self._spark.sparkContext, method):
                answer = getattr(self._entry, method)(*args)
        except Exception as failure:
            error = translated(failure)
            if error is None:
                raise
            raise error from failure
        return json.loads(answer)


def translated(failure: BaseException) -> MerganserError | None:
    """Return the exception of ours that a failed call carries somewhere in its causes, or ``None``."""
    for thrown in _causes(failure):
        if thrown.getClass().getName() == _EXCEPTION:
            return error_for(
                str(thrown.condition()),
                message=str(thrown.getMessage()),
                sql_state=thrown.sqlState(),
                parameters=json.loads(thrown.parametersJson()),
            )
    return None


def _causes(failure: BaseException) -> Iterator[Any]:
    """The Java exception of a failed call, and what caused it."""
    if isinstance(failure, Py4JJavaError):
        thrown: Any = failure.java_exception
    else:  # PySpark wraps those of Spark's own that it knows
        thrown = getattr(failure, "_origin", None)
    for _ in range(_MAX_CAUSES):
        if thrown is None:
            return
        yield thrown
        thrown = thrown.getCause()
