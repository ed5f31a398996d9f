"""Access to the JVM of a classic session. No other module of this package depends on one."""

from __future__ import annotations

import difflib
import json
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaPackage  # type: ignore[import-untyped, unused-ignore]
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped, unused-ignore]
from pyspark import SparkConf, SparkContext
from pyspark.errors.exceptions import captured
from pyspark.sql import DataFrame, SparkSession

from merganser._arguments import is_column
from merganser._expressions import Parts
from merganser._progress import progress
from merganser._transport import SessionStatements, explaining_names, view_name
from merganser.errors import MerganserError, MissingJarError, error_for, in_python

_FORMAT = "merganser"
_EXCEPTION = "io.merganser.merge.MerganserException"
_MAX_CAUSES = 32  # chains of causes can be circular
_CANCEL_EVERY_S = 0.5
_NO_FORMAT = re.compile(r"\[DATA_SOURCE_NOT_FOUND\] .*?: (\w+)\. ")


class Bridge(SessionStatements):
    """Calls the jar on behalf of one session. Every call is one call into the JVM and returns JSON."""

    def __init__(self, spark: SparkSession) -> None:
        """Find the jar.

        Raises:
            MissingJarError: The session runs without the jar.
        """
        self._spark = spark
        self._session: Any = spark._jsparkSession
        jvm: Any = spark._jvm
        self._entry: Any = jvm.io.merganser.spark.python.PythonBridge
        if isinstance(self._entry, JavaPackage):  # what py4j returns for a class that does not exist
            jars = spark.conf.get("spark.jars", None) or "empty"
            raise missing_jar(f"'spark.jars' is {jars}", jars)

    def create(self, path: str, schema_json: str, options: Mapping[str, str]) -> Any:
        return self._call("create", self._session, path, schema_json, json.dumps(dict(options)))

    def describe(self, path_or_name: str) -> Any:
        return self._call("describe", self._session, path_or_name)

    def write(self, path: str, rows: DataFrame, operation: str, options: Mapping[str, str]) -> Any:
        return self._call("write", self._session, path, rows._jdf, operation, json.dumps(dict(options)))

    def apply_changes(self, rows: DataFrame, arguments: Mapping[str, Any], options: Mapping[str, str]) -> Any:
        columns = {name: value._jc for name, value in arguments.items() if is_column(value)}
        plain = json.dumps({"source": "", **{k: v for k, v in arguments.items() if k not in columns}})
        given = rows._jdf, columns, plain, json.dumps(dict(options))
        return self._call("applyChanges", self._session, *given, shown="apply_changes")

    def create_for_changes(
        self, rows: DataFrame | None, arguments: Mapping[str, Any], options: Mapping[str, str]
    ) -> Any:
        frame = None if rows is None else rows._jdf
        given = frame, json.dumps(dict(arguments)), json.dumps(dict(options))
        return self._call("createForChanges", self._session, *given, shown="create_table_for_changes")

    def create_named(
        self,
        name: str,
        schema_json: str,
        partitions: str,
        path: str | None,
        if_not_exists: bool,
        options: Mapping[str, str],
    ) -> None:
        given = name, schema_json, partitions, path, if_not_exists, json.dumps(dict(options))
        self._call("createNamed", self._session, *given, shown="create")

    def parts(self) -> Parts:
        return Parts()

    def statement(self, what: str, text: str, options: Mapping[str, str], parts: Parts) -> Any:
        given = text, *_wire_of(parts), json.dumps(dict(options))
        with explaining_names():
            return self._call("statement", self._session, *given, shown="run_statement" if options else what)

    def preview(self, text: str, most: int | None, options: Mapping[str, str], parts: Parts) -> Any:
        given = text, *_wire_of(parts), most, json.dumps(dict(options))
        return self._call("preview", self._session, *given, shown="dry_run")

    def add_view(self, rows: DataFrame) -> str:
        name = view_name()
        self._call("view", self._session, name, rows._jdf)
        return name

    def sql_of(self, column: Any) -> str:
        with self._translating():
            return str(self._entry.sqlOf(self._session, column._jc))

    def compact(self, path: str, op: str, options: Mapping[str, str]) -> Any:
        return self._call("compact", self._session, path, op, json.dumps(dict(options)))

    def compact_logs(self, path: str, op: str, options: Mapping[str, str]) -> Any:
        return self._call("compactLogs", self._session, path, op, json.dumps(dict(options)))

    def cluster(
        self,
        path: str,
        op: str,
        columns: str | None,
        strategy: str | None,
        where: str | None,
        options: Mapping[str, str],
    ) -> Any:
        return self._call("cluster", self._session, path, op, columns, strategy, where, json.dumps(dict(options)))

    def purge_clustering(self, path: str, instant: str, options: Mapping[str, str]) -> Any:
        return self._call("purgeClustering", self._session, path, instant, json.dumps(dict(options)))

    def clean(self, path: str, options: Mapping[str, str]) -> Any:
        return self._call("clean", self._session, path, json.dumps(dict(options)))

    def archive(self, path: str, min_commits: int | None, max_commits: int | None, options: Mapping[str, str]) -> Any:
        return self._call("archive", self._session, path, min_commits, max_commits, json.dumps(dict(options)))

    def start_services(
        self, path: str, services: str | None, interval_seconds: int | None, options: Mapping[str, str]
    ) -> Any:
        return self._call("startServices", self._session, path, services, interval_seconds, json.dumps(dict(options)))

    def stop_services(self, path: str) -> None:
        self._call("stopServices", self._session, path)

    def services(self, path: str) -> Any:
        return self._call("services", self._session, path)

    def create_savepoint(
        self, path: str, instant: str | None, user: str, comments: str, options: Mapping[str, str]
    ) -> Any:
        return self._call("createSavepoint", self._session, path, instant, user, comments, json.dumps(dict(options)))

    def delete_savepoint(self, path: str, instant: str | None, options: Mapping[str, str]) -> None:
        self._call("deleteSavepoint", self._session, path, instant, json.dumps(dict(options)))

    def savepoints(self, path: str) -> Any:
        return self._call("savepoints", self._session, path)

    def restore(self, path: str, instant: str, options: Mapping[str, str]) -> Any:
        return self._call("restore", self._session, path, instant, json.dumps(dict(options)))

    def restore_savepoint(self, path: str, savepoint: str | None, options: Mapping[str, str]) -> Any:
        return self._call("restoreSavepoint", self._session, path, savepoint, json.dumps(dict(options)))

    def rollback(self, path: str, instant: str | None, options: Mapping[str, str]) -> Any:
        return self._call("rollback", self._session, path, instant, json.dumps(dict(options)))

    def history(self, path: str, limit: int | None, archived: bool) -> Any:
        return self._call("history", self._session, path, limit, archived)

    def rows(self, procedure: str, options: Mapping[str, str] | None = None, **arguments: Any) -> Any:
        named = json.dumps(arguments), json.dumps(dict(options or {}))
        return self._call("call", self._session, procedure, *named, shown=procedure)

    def file_slices(self, path: str) -> Any:
        return self._call("fileSlices", self._session, path)

    def _call(self, method: str, *args: Any, shown: str | None = None) -> Any:
        with self._translating(), self._progress(shown or words(method)), interruptible(self._spark):
            response = getattr(self._entry, method)(*args)
        return json.loads(response)

    def _progress(self, what: str) -> AbstractContextManager[None]:
        return progress(self._spark.sparkContext, what, lambda: step_of(self._entry))

    @contextmanager
    def _translating(self) -> Iterator[None]:
        """Raise the jar's errors as ours."""
        try:
            yield
        except MerganserError as ours:  # created where PySpark converts exceptions; its context is the cause
            raise in_python(ours) from ours.__context__
        except Exception as failure:
            error = translated(failure)
            if error is None:
                raise
            raise in_python(error) from failure


@contextmanager
def interruptible(spark: SparkSession) -> Iterator[None]:
    """Make Ctrl-C in a call of the JVM a KeyboardInterrupt, and end what the call does.

    The jobs of the application are cancelled until the call ends, which removes what it has written; a call that is
    about to be done may complete. A second Ctrl-C does not wait for that. PySpark's own handler, which calls the JVM on
    the connection that waits for it, breaks that connection and leaves the call running.
    """
    before = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or before in (None, signal.SIG_IGN):
        yield
        return
    over = threading.Event()
    cancelling: list[threading.Thread] = []

    def cancel() -> None:
        while not over.is_set():
            with suppress(Py4JError):  # the JVM may end meanwhile
                spark.sparkContext.cancelAllJobs()
            over.wait(_CANCEL_EVERY_S)

    def interrupted(number: int, frame: object) -> None:
        if cancelling:
            client: Any = spark.sparkContext._gateway._gateway_client  # type: ignore[union-attr, unused-ignore]
            connection = getattr(client, "get_thread_connection", lambda: None)()
            if connection is not None:
                connection.close()  # its answer would be that of the next call
            raise KeyboardInterrupt
        cancelling.append(threading.Thread(target=cancel, daemon=True))
        cancelling[0].start()

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    except Exception as failure:
        if not cancelling:
            raise
        raise KeyboardInterrupt from failure
    finally:
        over.set()
        signal.signal(signal.SIGINT, before)
    if cancelling:
        raise KeyboardInterrupt


def _wire_of(parts: Parts) -> tuple[dict[str, Any], str]:
    """Columns of the JVM, and names as JSON."""
    return {word: column._jc for word, column in parts.columns.items()}, json.dumps(parts.names)


def step_of(entry: Any) -> Callable[[], str]:
    """What the next call of this thread is doing, such as ``delete files: 120 of 3000``.

    Args:
        entry: ``PythonBridge`` in the JVM, where the thread of this one makes its calls.
    """
    caller = entry.caller()
    return lambda: str(entry.progress(caller))


def steps_of(spark: SparkSession) -> Callable[[], Callable[[], str]]:
    """:func:`step_of` in a session, for ``progress``."""
    jvm: Any = spark._jvm
    return lambda: step_of(jvm.io.merganser.spark.python.PythonBridge)


def words(method: str) -> str:
    """The name of a method of the JVM as it is shown: ``compactLogs`` is ``compact logs``."""
    return re.sub(r"[A-Z]", lambda capital: f" {capital.group().lower()}", method)


def has_jar(jvm: Any) -> bool:
    """Whether a JVM has the jar's classes."""
    # py4j returns a package for a class that does not exist.
    return not isinstance(jvm.io.merganser.spark.python.PythonBridge, JavaPackage)


def has_extension(spark: SparkSession) -> bool:
    """Whether a session, whose JVM has the jar, was started with the SQL extension."""
    jvm: Any = spark._jvm
    return bool(jvm.io.merganser.spark.python.PythonBridge.hasExtension(spark._jsparkSession))


def has_catalog(spark: SparkSession, class_name: str) -> bool:
    """Whether a setting of the session names a class as a catalog."""
    settings: Any = spark._jsparkSession.conf().getAll()  # type: ignore[operator, unused-ignore]
    return bool(settings.values().toList().contains(class_name))


def launched(settings: Mapping[str, object]) -> dict[str, str]:
    """Settings with which this process's JVM was launched; without a JVM, one is launched with ``settings``.

    They include those of ``spark-submit`` and of Spark's default configuration files.
    """
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        if value is not None:
            conf.set(key, str(value))
    SparkContext._ensure_initialized(conf=conf)
    return dict(SparkConf().getAll())


_loaded: list[Path] = []


def loaded_jar() -> Path | None:
    """The jar that :func:`load` added to the JVM of this process."""
    return _loaded[-1] if _loaded else None


def load(jar: Path) -> None:
    """Add a jar to the class loader of the running JVM; no effect if the class loader does not support it."""
    jvm: Any = SparkContext._jvm
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())
        _loaded.append(jar)
    except Py4JError:
        return


def raise_conditions() -> None:
    """Make ``spark.sql``, readers, writers and actions raise the classes of :mod:`merganser.errors`.

    PySpark converts the JVM's exceptions in one function; those without one of ours among their causes are unchanged.
    """
    sparks: Any = captured.convert_exception
    if getattr(sparks, "raises_conditions", False):
        return

    def convert_exception(thrown: Any) -> Any:
        try:
            ours = _carried(_chain(thrown)) or _unknown_format(thrown)
        except Py4JError:
            ours = None
        return sparks(thrown) if ours is None else ours

    convert_exception.raises_conditions = True  # type: ignore[attr-defined]
    captured.convert_exception = convert_exception  # type: ignore[assignment, unused-ignore]


def translated(failure: BaseException) -> MerganserError | None:
    """Return our exception among a failed call's causes, or ``None``."""
    if isinstance(failure, Py4JJavaError):
        return _carried(_chain(failure.java_exception))
    return _carried(_chain(getattr(failure, "_origin", None)))  # PySpark wraps Spark's own exceptions it knows


def missing_jar(reason: str, jars: str) -> MissingJarError:
    """The error of a session without the jar."""
    return MissingJarError(
        f"Cannot find Merganser's jar in this session: {reason}. Start the session with merganser.session(...), or "
        "pass its builder through merganser.configure(builder), or add the jar to 'spark.jars' (spark-submit --jars) "
        "before the session starts.",
        condition="MISSING_JAR",
        parameters={"spark.jars": jars},
    )


def _unknown_format(thrown: Any) -> MerganserError | None:
    """The error of a format that Spark does not find, and that is ours or nearly so."""
    if not thrown.getClass().getName().endswith("ClassNotFoundException"):
        return None
    found = _NO_FORMAT.search(str(thrown.getMessage()))
    if found is None or not difflib.get_close_matches(found[1].lower(), [_FORMAT], 1, 0.75):
        return None
    if found[1].lower() == _FORMAT:
        return missing_jar(f"there is no format '{_FORMAT}'", "unknown")
    return MerganserError(
        f"Spark has no format '{found[1]}'. Write '{_FORMAT}': format(\"{_FORMAT}\"), or USING {_FORMAT} in SQL.",
        condition="FORMAT_UNKNOWN",
        parameters={"format": found[1]},
    )


def _carried(chain: Iterator[Any]) -> MerganserError | None:
    for thrown in chain:
        if thrown.getClass().getName() == _EXCEPTION:
            return error_for(
                str(thrown.condition()),
                message=str(thrown.getMessage()),
                sql_state=thrown.sqlState(),
                parameters=json.loads(thrown.parametersJson()),
            )
    return None


def _chain(thrown: Any) -> Iterator[Any]:
    """A Java exception and its causes."""
    for _ in range(_MAX_CAUSES):
        if thrown is None:
            return
        yield thrown
        thrown = thrown.getCause()
