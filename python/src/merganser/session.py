"""Spark sessions with the jar, the SQL extension and the catalog."""

from __future__ import annotations

import atexit
import functools
import importlib.resources
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from merganser.errors import ConfigurationConflictError, MissingJarError

EXTENSIONS = "io.merganser.spark.MerganserExtensions"
CATALOG = "io.merganser.spark.MerganserCatalog"
LAKE_CATALOG = "io.merganser.spark.MerganserLakeCatalog"
_JAR = re.compile(r"merganser-spark-(?P<line>\d+\.\d+)_.*\.jar")
_JARS_KEY = "spark.jars"
EXTENSIONS_KEY = "spark.sql.extensions"
CATALOG_KEY = "spark.sql.catalog.spark_catalog"
_NAMED_CATALOG = re.compile(r"spark\.sql\.catalog\.[^.]+")


def session(name: str, *, master: str | None = None, config: Mapping[str, str] | None = None) -> SparkSession:
    """Start a session that can read and write Merganser's tables, or return the running one.

    It works in a plain Python process, in a notebook and under ``spark-submit``. A running session is returned
    unchanged if it has the jar, the SQL extension and a catalog for Merganser's tables.

    Args:
        name: Name of the application.
        master: Where Spark runs, such as ``local[2]``. ``None`` leaves it to ``spark-submit`` and Spark's files.
        config: Further settings of the session.

    Raises:
        MissingJarError: The package ships no jar for the installed PySpark, or the running session has none.
        ConfigurationConflictError: ``config`` sets another session catalog without one of Merganser's in addition, or
            the running session lacks the extension or the catalog. That session is left unchanged.
    """
    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    return configure(builder.config(map=dict(config or {}))).getOrCreate()


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Add the jar, the SQL extension and the catalog to a builder, in addition to its settings.

    Settings made afterwards, on the command line of ``spark-submit`` or in Spark's files are retained: ``getOrCreate``
    combines them again. It raises :class:`MissingJarError` if no jar is available, and
    :class:`ConfigurationConflictError` if the running session was started without Merganser.

    Returns:
        The same builder.

    Raises:
        TypeError: It is no builder.
        ConfigurationConflictError: The builder sets another session catalog without one of Merganser's in addition.
    """
    if not hasattr(builder, "getOrCreate"):
        raise TypeError(
            "configure() takes the builder of a session, merganser.configure(SparkSession.builder).getOrCreate(), not "
            f"a {type(builder).__name__}. A running session reads these settings no more: stop it first (spark.stop())"
        )
    _complete(builder, builder._options, jar_if_any())  # there is no public way to read a builder
    create: Callable[[], SparkSession] = builder.getOrCreate
    if not isinstance(create, functools.partial):  # else it is configured already
        builder.getOrCreate = functools.partial(_get_or_create, builder, create)  # type: ignore[method-assign]
    return builder


def _complete(builder: SparkSession.Builder, configured: Mapping[str, Any], jar: Path | None) -> None:
    """Set jar, extension and catalog in the builder, appended to the values configured there or elsewhere."""
    jars = added(configured.get(_JARS_KEY), "" if jar is None else str(jar))
    if jars:
        builder.config(_JARS_KEY, jars)
    builder.config(EXTENSIONS_KEY, added(configured.get(EXTENSIONS_KEY), EXTENSIONS))
    if _requires_session_catalog(configured):
        builder.config(CATALOG_KEY, CATALOG)


def jar_if_any() -> Path | None:
    """The jar for the installed PySpark, or ``None``."""
    try:
        return jar_for(pyspark.__version__)
    except MissingJarError:
        return None  # the JVM may have one: `getOrCreate` checks


def _requires_session_catalog(configured: Mapping[str, Any]) -> bool:
    """Whether Merganser's must be the session catalog: it need not be if a lake catalog is configured as well."""
    catalog = str(configured.get(CATALOG_KEY, CATALOG))
    if catalog == CATALOG:
        return True
    if any(_NAMED_CATALOG.fullmatch(key) and value == LAKE_CATALOG for key, value in configured.items()):
        return False
    raise ConfigurationConflictError(
        f"Cannot make '{CATALOG}' the session catalog: '{CATALOG_KEY}' is '{catalog}' already. Remove that setting, "
        "or keep it and add a separate catalog for Merganser's tables: "
        f"spark.sql.catalog.<name>={LAKE_CATALOG} and spark.sql.catalog.<name>.warehouse=<folder>.",
        condition="SESSION_CATALOG_CONFLICT",
        parameters={"given": catalog, "needed": CATALOG},
    )


def _get_or_create(builder: SparkSession.Builder, create: Callable[[], SparkSession]) -> SparkSession:
    options: dict[str, Any] = builder._options
    is_client = "spark.remote" in options or options.get("spark.api.mode") == "connect"
    if is_client or "SPARK_REMOTE" in os.environ or "SPARK_CONNECT_MODE_ENABLED" in os.environ:
        return create()  # a client of Spark Connect: the server has the jar
    from merganser import _bridge

    theirs = _without_ours(options)
    running: Any = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if running is not None and running._sc._jsc is None:
        running = None  # it was stopped
    context: Any = pyspark.SparkContext._active_spark_context
    if running is not None or context is not None:
        _require_ready(running, context)
        builder._options = theirs if running is not None else {CATALOG_KEY: CATALOG, **theirs}
        try:
            return create()
        finally:
            builder._options = options
    found = _bridge.launched(theirs)
    combined = {**found, **theirs, _JARS_KEY: _joined_jars(theirs.get(_JARS_KEY), found.get(_JARS_KEY))}
    _requires_session_catalog(combined)
    jar = _bridge.loaded_jar()
    jvm = pyspark.SparkContext._jvm
    if not _bridge.has_jar(jvm):
        jar = jar_for(pyspark.__version__)
        _bridge.load(jar)
        if not _bridge.has_jar(jvm):
            raise MissingJarError(
                f"Cannot add {jar} to the running JVM. Start it with the jar: spark-submit --jars {jar} ...",
                condition="MISSING_JAR",
                parameters={"jar": str(jar)},
            )
    builder._options = theirs
    _complete(builder, combined, jar)
    return create()


def _require_ready(spark: SparkSession | None, context: Any) -> None:
    """Refuse a running session that cannot read and write tables by every API; it is not changed.

    Args:
        spark: The session; ``None`` if only a context runs.
        context: The context.
    """
    from merganser import _bridge

    has_jar = _bridge.has_jar(context._jvm)
    settings: dict[str, str] = {}
    for key in (_JARS_KEY, EXTENSIONS_KEY, CATALOG_KEY):
        settings[key] = (context.getConf().get(key, "") if spark is None else spark.conf.get(key, None)) or ""
    named = EXTENSIONS in _words(settings[EXTENSIONS_KEY])
    missing: list[str] = []
    if not has_jar:
        missing.append(f"the jar ('{_JARS_KEY}' is '{settings[_JARS_KEY]}')")
    if not named or (spark is not None and has_jar and not _bridge.has_extension(spark)):
        missing.append(f"the SQL extension {EXTENSIONS} ('{EXTENSIONS_KEY}' is '{settings[EXTENSIONS_KEY]}')")
    if spark is not None and settings[CATALOG_KEY] != CATALOG and not _bridge.has_catalog(spark, LAKE_CATALOG):
        missing.append(f"the catalog {CATALOG} ('{CATALOG_KEY}' is '{settings[CATALOG_KEY]}')")
    if not missing:
        return
    kind = ConfigurationConflictError if has_jar else MissingJarError
    raise kind(
        f"Cannot use the running Spark session: it was started without {', without '.join(missing)}. These settings "
        "are read when a session starts. Stop it (spark.stop()) and call merganser.session(...) first, or pass its "
        "builder through merganser.configure(builder). The session is unchanged.",
        condition="SESSION_NOT_READY" if has_jar else "MISSING_JAR",
        parameters=settings,
    )


def _without_ours(options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a builder without those that :func:`configure` added."""
    theirs = dict(options)
    if theirs.get(CATALOG_KEY) == CATALOG:
        del theirs[CATALOG_KEY]
    if _words(theirs.get(EXTENSIONS_KEY)) == [EXTENSIONS]:
        del theirs[EXTENSIONS_KEY]
    jars = [jar for jar in _words(theirs.pop(_JARS_KEY, None)) if Path(jar).parent != _shipped_jars()]
    if jars:
        theirs[_JARS_KEY] = ",".join(jars)
    return theirs


@functools.lru_cache(maxsize=1)
def _shipped_jars() -> Path:
    """The folder of the package's jars; if the package is imported from an archive, a temporary one of this process."""
    shipped = importlib.resources.files("merganser") / "jars"
    folder = Path(str(shipped))
    if folder.is_dir() or not shipped.is_dir():
        return folder
    copies = Path(tempfile.mkdtemp(prefix="merganser-jars-"))
    atexit.register(shutil.rmtree, copies, ignore_errors=True)
    for jar in shipped.iterdir():
        if _JAR.fullmatch(jar.name):
            (copies / jar.name).write_bytes(jar.read_bytes())
    return copies


def jar_path(spark_version: str | None = None) -> str:
    """Return the path of the package's jar, for ``--jars`` of ``spark-submit`` and for ``spark.jars``.

    Args:
        spark_version: Version or line of Spark, such as ``"4.0.4"`` or ``"4.0"``. ``None``: the installed PySpark's.

    Raises:
        MissingJarError: The package ships no jar for that line.
    """
    return str(jar_for(spark_version or pyspark.__version__))


def jar_for(spark_version: str, *, folder: Path | None = None) -> Path:
    """Return the file of :func:`jar_path`, or one for that line in another folder of jars.

    Raises:
        MissingJarError: There is no jar for that line, or more than one.
    """
    jars = folder if folder is not None else _shipped_jars()
    line = ".".join(spark_version.split(".")[:2])
    shipped: dict[str, list[Path]] = {}
    for file in sorted(jars.glob("*.jar")):
        match = _JAR.fullmatch(file.name)
        if match:
            shipped.setdefault(match["line"], []).append(file)
    found = shipped.get(line, [])
    if len(found) == 1:
        return found[0]
    names = ", ".join(file.name for file in found)
    lines = ", ".join(sorted(shipped, key=lambda text: [int(part) for part in text.split(".")])) or "none at all"
    reason = (
        f"Cannot choose a jar for Spark {line}: {jars} has {names}. Leave one there, or set '{_JARS_KEY}' yourself."
        if found
        else f"Cannot find a jar for Spark {line} (pyspark {spark_version}): this package ships jars for {lines}. "
        f"Install a pyspark of one of these lines, or set '{_JARS_KEY}' to a jar built for yours."
    )
    raise MissingJarError(reason, condition="MISSING_JAR", parameters={"line": line, "folder": str(jars)})


def added(present: object, new: str) -> str:
    """Add a word to a comma-separated list, unless the list has it."""
    return ",".join(_words(f"{present or ''},{new}"))


def _joined_jars(*lists: object) -> str:
    """The jars of several lists without duplicates; a local path and its URI are the same jar."""
    jars: dict[str, str] = {}
    for one in lists:
        for jar in _words(one):
            jars.setdefault(re.sub(r"^file:/+", "/", jar), jar)
    return ",".join(jars.values())


def _words(present: object) -> list[str]:
    """The words of a comma-separated list without duplicates."""
    return list(dict.fromkeys(word.strip() for word in str(present or "").split(",") if word.strip()))
