"""Access to the JVM of a classic session. No other module of this package depends on one."""

from __future__ import annotations

import difflib
import json
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaPackage  # type: ignore[import-untyped, unused-ignore]
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped, unused-ignore]
from pyspark import SparkConf, SparkContext
from pyspark.errors.exceptions import captured
from pyspark.sql import DataFrame, SparkSession

from merganser._expressions import Parts
from merganser._progress import progress
from merganser._transport import Transport, convert_exceptions
from merganser.errors import MerganserError, MissingJarError, error_for

_FORMAT = "merganser"
_EXCEPTION = "io.merganser.merge.MerganserException"
_MAX_CAUSES = 32  # chains of causes can be circular
_CANCEL_EVERY_S = 0.5
_NO_FORMAT = re.compile(r"\[DATA_SOURCE_NOT_FOUND\] .*?: (\w+)\. ")


class Bridge(Transport):
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
        if not has_jar(jvm):
            jars = spark.conf.get("spark.jars", None) or "empty"
            raise missing_jar(f"'spark.jars' is {jars}", jars)

    def _rows(self, call: str, frame: Any, arguments: dict[str, Any], columns: dict[str, Any]) -> list[dict[str, Any]]:
        given = json.dumps(arguments), None if frame is None else frame._jdf, _java(columns)
        found: list[dict[str, Any]] = self._call("call", self._session, call, *given, shown=call)
        return found

    def _statement(self, what: str, text: str, parts: Parts) -> list[dict[str, Any]]:
        given = text, _java(parts.columns), json.dumps(parts.names)
        rows: list[dict[str, Any]] = self._call("statement", self._session, *given, shown=what)
        return rows

    def _add_view(self, name: str, rows: DataFrame) -> str:
        self._call("view", self._session, name, rows._jdf, shown="view")
        return name

    def sql_of(self, column: Any) -> str:
        with self._translating():
            return str(self._entry.sqlOf(self._session, column._jc))

    def _call(self, method: str, *args: Any, shown: str) -> Any:
        shows = progress(self._spark.sparkContext, shown, self._step)
        with self._translating(), shows, interruptible(self._spark):
            response = getattr(self._entry, method)(*args)
        return json.loads(response)

    def _step(self) -> Callable[[], str]:
        """What the next call of this thread is doing, such as ``delete files: 120 of 3000``."""
        caller = self._entry.caller()
        return lambda: str(self._entry.progress(caller))

    def _translated(self, failure: Exception) -> MerganserError | None:
        return translated(failure)


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


def _java(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {word: column._jc for word, column in columns.items()}


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
    convert_exceptions([captured], _converted)


def _converted(sparks: Callable[[Any], Any], thrown: Any) -> Any:
    try:
        ours = _carried(thrown) or _unknown_format(thrown)
    except Py4JError:
        ours = None
    return ours or sparks(thrown)


def translated(failure: BaseException) -> MerganserError | None:
    """Return our exception among a failed call's causes, or ``None``."""
    if isinstance(failure, Py4JJavaError):
        return _carried(failure.java_exception)
    return _carried(getattr(failure, "_origin", None))  # PySpark wraps Spark's own exceptions it knows


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


def _carried(thrown: Any) -> MerganserError | None:
    """Our exception that a Java exception is or has as a cause, or ``None``."""
    for _ in range(_MAX_CAUSES):
        if thrown is None:
            return None
        if thrown.getClass().getName() == _EXCEPTION:
            return error_for(
                str(thrown.condition()),
                message=str(thrown.getMessage()),
                sql_state=thrown.sqlState(),
                parameters=json.loads(thrown.parametersJson()),
            )
        thrown = thrown.getCause()
    return None
