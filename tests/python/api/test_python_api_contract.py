"""What the Python package does by itself: choose a jar, pass settings on, read answers, name errors."""

from __future__ import annotations

import importlib
import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from places import ROOT
from py4j.java_gateway import JavaPackage
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructType

import merganser
from merganser import Table, _bridge, _progress
from merganser.config import merged_options
from merganser.counts import CommitCounts
from merganser.errors import BY_CONDITION, error_for
from merganser.inspection import Inspection
from merganser.repairs import Repairs
from merganser.savepoints import Savepoints
from merganser.services import Services
from merganser.session import CATALOG, EXTENSIONS, configure, jar_for

EXCEPTION = "io.merganser.merge.MerganserException"

#: Fields of an entry of the history.
ACTION = [
    *("instant_time", "requested_at", "completed_time", "completed_at", "elapsed_ms", "action", "operation", "state"),
    *("user", "application", "engine", *(one.name for one in fields(CommitCounts))),
    *("files_written", "rows_written", "bytes_written", "groups_replaced", "files_deleted"),
    *("bytes_deleted", "partitions", "planned", "comment", "readable", "archived"),
]

# ---- the jar


def jars(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).touch()
    return folder


def test_the_jar_is_the_one_of_the_spark_line(tmp_path: Path) -> None:
    folder = jars(tmp_path, "merganser-spark-3.5_2.12-0.1.0.jar", "merganser-spark-4.0_2.13-0.1.0.jar")
    assert jar_for("3.5.9", folder=folder).name == "merganser-spark-3.5_2.12-0.1.0.jar"
    assert jar_for("4.0.4.dev1", folder=folder).name == "merganser-spark-4.0_2.13-0.1.0.jar"


def test_a_spark_line_without_a_jar_is_refused_with_the_lines_there_are(tmp_path: Path) -> None:
    folder = jars(tmp_path, "merganser-spark-4.2_2.13-0.1.0.jar", "merganser-spark-3.5_2.12-0.1.0.jar", "other.jar")
    with pytest.raises(merganser.MissingJarError, match=r"Spark 4\.3 .*jars for 3\.5, 4\.2\..*spark\.jars") as raised:
        jar_for("4.3.0", folder=folder)
    assert raised.value.condition == "MISSING_JAR"
    assert raised.value.parameters["line"] == "4.3"


def test_a_package_without_any_jar_is_refused(tmp_path: Path) -> None:
    with pytest.raises(merganser.MissingJarError, match="none at all"):
        jar_for("3.5.9", folder=tmp_path)


def test_an_import_opens_no_connection() -> None:
    program = (
        "import socket\n"
        "def refuse(*_): raise SystemExit('a connection')\n"
        "socket.socket.connect = socket.socket.connect_ex = refuse\n"
        "import merganser, merganser.cli\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_two_jars_for_one_line_are_refused_by_name(tmp_path: Path) -> None:
    folder = jars(tmp_path, "merganser-spark-3.5_2.12-0.1.0.jar", "merganser-spark-3.5_2.12-0.2.0.jar")
    with pytest.raises(merganser.MissingJarError, match=r"0\.1\.0\.jar, merganser-spark-3\.5_2\.12-0\.2\.0\.jar"):
        jar_for("3.5.9", folder=folder)


# ---- the session


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = importlib.import_module("merganser.session")  # `merganser.session` itself is the function
    monkeypatch.setattr(module, "jar_for", lambda version: Path("/jars/ours.jar"))
    return SparkSession.Builder()


def settings(builder: Any) -> dict[str, str]:
    return dict(builder._options)


def test_configure_adds_jar_extension_and_catalog(builder: Any) -> None:
    assert configure(builder) is builder
    assert settings(builder) == {
        "spark.jars": "/jars/ours.jar",
        "spark.sql.extensions": EXTENSIONS,
        "spark.sql.catalog.spark_catalog": CATALOG,
    }


def test_configure_keeps_the_jars_and_extensions_that_are_there(builder: Any) -> None:
    builder.config("spark.jars", "/a.jar, /b.jar").config("spark.sql.extensions", "org.other.Extensions")
    configure(configure(builder))
    assert settings(builder)["spark.jars"] == "/a.jar,/b.jar,/jars/ours.jar"
    assert settings(builder)["spark.sql.extensions"] == f"org.other.Extensions,{EXTENSIONS}"


def test_configure_refuses_to_take_the_session_catalog_from_another_format(builder: Any) -> None:
    builder.config("spark.sql.catalog.spark_catalog", "org.other.Catalog")
    with pytest.raises(merganser.ConfigurationConflictError, match=r"'org\.other\.Catalog' already") as raised:
        configure(builder)
    assert "spark.sql.catalog.<name>=io.merganser.spark.MerganserLakeCatalog" in str(raised.value)
    configure(builder.config("spark.sql.catalog.lake", "io.merganser.spark.MerganserLakeCatalog"))
    assert settings(builder)["spark.sql.catalog.spark_catalog"] == "org.other.Catalog"


def test_a_session_without_the_jar_names_the_setting_to_add() -> None:
    package = SimpleNamespace(PythonBridge=JavaPackage("io.merganser.spark.python.PythonBridge", None))
    jvm = SimpleNamespace(io=SimpleNamespace(merganser=SimpleNamespace(spark=SimpleNamespace(python=package))))
    spark: Any = SimpleNamespace(
        _jvm=jvm, _jsparkSession=None, conf=SimpleNamespace(get=lambda key, default: "/other.jar")
    )
    with pytest.raises(merganser.MissingJarError, match=r"'spark\.jars' is /other\.jar") as raised:
        merganser.Table.load(spark, "/lake/trips")
    assert raised.value.condition == "MISSING_JAR"


# ---- settings on the wire


class Entry:
    """Stands in for the jar: records its calls and returns the answer it was made with."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, method: str) -> Any:
        def call(*args: Any) -> str:
            self.calls.append((method, *args))
            if isinstance(self.answer, Exception):
                raise self.answer
            return json.dumps(self.answer if isinstance(self.answer, list) else [self.answer])

        return call


INFO = {
    "name": "trips",
    "path": "/lake/trips",
    "type": "MERGE_ON_READ",
    "version": 9,
    "record_key_fields": ["id", "region"],
    "partition_fields": [],
    "ordering_fields": ["ts"],
    "merge_mode": "EVENT_TIME_ORDERING",
    "index": None,
    "schema": StructType().add("id", LongType()).add("region", StringType()).json(),
}
COMMIT = {
    "instant": "20250101120000000",
    "operation": "upsert",
    "inserted": 1,
    "updated": 2,
    "unchanged": 3,
    "late": 4,
    "ties": 5,
    "deleted": 6,
    "duplicates": 7,
    "appended": 12,
    "appended_deletes": 13,
    "filled": 14,
    "no_ops": 15,
    "tombstones": 16,
    "files_written": 8,
    "rows_written": 9,
    "bytes_written": 10,
    "elapsed_ms": 11,
    "warnings": ["The last write wins."],
    "ignored_options": ["hoodie.x"],
    "columns_added": [],
    "columns_widened": ["amount: int -> bigint"],
    "service_failure": None,
    "retries": 0,
    "is_repetition": False,
}


def session_with(entry: Entry) -> Any:
    jvm = SimpleNamespace()
    jvm.io = SimpleNamespace(
        merganser=SimpleNamespace(spark=SimpleNamespace(python=SimpleNamespace(PythonBridge=entry)))
    )
    return SimpleNamespace(_jvm=jvm, _jsparkSession="session", sparkContext=None)


def sent(entry: Entry, number: int = 0) -> dict[str, Any]:
    """The arguments of a call."""
    arguments: dict[str, Any] = json.loads(entry.calls[number][3])
    return arguments


def table_with(entry: Entry) -> merganser.Table:
    answer, entry.answer = entry.answer, INFO
    table = merganser.Table.load(session_with(entry), "trips")
    entry.answer = answer
    entry.calls.clear()
    return table


def test_a_loaded_table_has_its_stored_settings() -> None:
    table = merganser.Table.load(session_with(Entry(INFO)), "trips")
    assert (table.name, table.path, table.version) == ("trips", "/lake/trips", 9)
    assert table.table_type is merganser.TableType.MERGE_ON_READ
    assert (table.record_key, table.partition_by, table.ordering_by) == (("id", "region"), (), ("ts",))
    assert (table.merge_mode, table.index) == ("EVENT_TIME_ORDERING", None)
    assert table.schema.names == ["id", "region"]


def test_create_sends_given_arguments_and_no_defaults() -> None:
    entry = Entry(INFO)
    schema = StructType().add("id", LongType())
    merganser.Table.create(session_with(entry), "/lake/trips", schema, record_key="id")
    assert entry.calls[0][:3] == ("call", "session", "create_table")
    assert sent(entry) == {
        "path": "/lake/trips",
        "columns": schema.json(),
        "options": {"hoodie.datasource.write.recordkey.field": "id"},
    }


def test_create_sends_every_argument_under_its_hoodie_name() -> None:
    entry = Entry(INFO)
    merganser.Table.create(
        session_with(entry),
        "/lake/trips",
        StructType(),
        record_key=["id", "region"],
        partition_by="region",
        ordering_by=["ts", "seq"],
        table_type=merganser.TableType.MERGE_ON_READ,
        merge_mode=merganser.MergeMode.EVENT_TIME_ORDERING,
        index=merganser.IndexType.BUCKET,
        name="trips",
        options={"hoodie.bucket.index.num.buckets": "4"},
    )
    assert sent(entry)["options"] == {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id,region",
        "hoodie.datasource.write.partitionpath.field": "region",
        "hoodie.table.ordering.fields": "ts,seq",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING",
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": "4",
    }


def test_an_argument_that_contradicts_an_option_is_refused() -> None:
    with pytest.raises(merganser.ConfigurationConflictError, match=r"'hoodie\.index\.type'.*'BUCKET'.*'SIMPLE'"):
        merged_options({"hoodie.index.type": merganser.IndexType.BUCKET}, {"hoodie.index.type": "SIMPLE"})
    same = merged_options({"hoodie.index.type": merganser.IndexType.BUCKET}, {"hoodie.index.type": "BUCKET"})
    assert same == {"hoodie.index.type": "BUCKET"}


@pytest.mark.parametrize(
    ("method", "operation"),
    [
        *((same, same) for same in ("upsert", "insert", "bulk_insert", "delete")),
        ("overwrite", "insert_overwrite_table"),
    ],
)
def test_a_write_is_one_call_and_sends_only_the_options_that_are_set(method: str, operation: str) -> None:
    entry = Entry(COMMIT)
    table = table_with(entry)
    rows = SimpleNamespace(_jdf="frame")
    getattr(table, method)(rows)
    options = merganser.WriteOptions(combine_before_insert=False, compact_after_commits=3, hoodie={"hoodie.x": "y"})
    getattr(table, method)(rows, options=options)
    assert [call[:3] + call[4:] for call in entry.calls] == [("call", "session", "write_rows", "frame", {})] * 2
    assert sent(entry) == {"path": "/lake/trips", "operation": operation}
    assert sent(entry, 1)["options"] == {
        "hoodie.combine.before.insert": "false",
        "hoodie.compact.inline.max.delta.commits": "3",
        "hoodie.x": "y",
    }


# ---- a Spark Connect session


class Remote:
    """Stands in for a Spark Connect session: records its statements and returns the rows it was made with."""

    session_id = "own"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.statements: list[tuple[str, dict[str, Any]]] = []
        self.views: list[str] = []
        self.catalog = SimpleNamespace(dropTempView=lambda name: self.views.remove(name))

    def sql(self, statement: str, values: dict[str, Any]) -> Any:
        self.statements.append((statement, values))
        if isinstance(self.answer, Exception):
            raise self.answer
        rows = [SimpleNamespace(asDict=lambda recursive, row=row: row) for row in self.answer]
        return SimpleNamespace(collect=lambda: rows)


Remote.__module__ = "pyspark.sql.connect.session"


class Refused(PySparkException):
    """What a failed statement of a Spark Connect session raises."""

    def __init__(self, message: str, condition: str | None = None) -> None:
        super().__init__(message)
        self._condition = condition

    def getCondition(self) -> str | None:
        return self._condition

    getErrorClass = getCondition  # the name of Spark 3.5


def remote_table(answer: Any) -> tuple[merganser.Table, Any]:
    session: Any = Remote([INFO])
    table = merganser.Table.load(session, "trips")
    assert session.statements.pop() == ("CALL describe_table(table => :of_table)", {"of_table": "trips"})
    session.answer = answer
    return table, session


def test_over_connect_a_method_is_a_call_with_parameters() -> None:
    table, session = remote_table([INFO])
    assert (table.name, table.record_key, table.schema.names) == ("trips", ("id", "region"), ["id", "region"])
    assert session.statements.pop() == ("CALL describe_table(table => :of_table)", {"of_table": "/lake/trips"})
    session.answer = [dict(COMMIT)]
    rows: Any = SimpleNamespace(sparkSession=session, createOrReplaceTempView=session.views.append)
    rows.where = rows.select = lambda columns: rows
    options = merganser.WriteOptions(combine_before_insert=False, hoodie={"hoodie.x": "it's, \\"})
    result = table.upsert(rows, options=options)
    assert (result.inserted, result.late, result.appended_deletes, result.files) == (1, 4, 13, 8)
    ((statement, values),) = session.statements
    assert statement == (
        "CALL write_rows(source => :of_source, path => :of_path, operation => :of_operation, "
        "options => map(:key0, :value0, :key1, :value1))"
    )
    assert values.pop("of_source").startswith("merganser_rows_")
    assert values == {
        "of_path": "/lake/trips",
        "of_operation": "upsert",
        "key0": "hoodie.combine.before.insert",
        "value0": "false",
        "key1": "hoodie.x",
        "value1": "it's, \\",
    }
    assert session.views == []  # the view of the rows is gone


def test_the_view_of_the_rows_is_dropped_when_the_write_fails() -> None:
    table, session = remote_table(Refused("no"))
    rows: Any = SimpleNamespace(sparkSession=session, createOrReplaceTempView=session.views.append)
    rows.where = rows.select = lambda columns: rows
    with pytest.raises(PySparkException):
        table.upsert(rows)
    assert session.views == []


@pytest.mark.parametrize(
    ("text", "condition", "message"),
    [
        (
            "(io.merganser.merge.MerganserException) [TABLE_NOT_FOUND] There is none.",
            "TABLE_NOT_FOUND",
            "There is none.",
        ),
        (
            "(org.apache.spark.SparkException) No\n\nJVM stacktrace:\norg.apache.spark.SparkException\n\tat a.b"
            "\nCaused by: io.merganser.merge.MerganserException: [NULL_RECORD_KEY] Two\nlines.\n\tat d.e(f:2)",
            "NULL_RECORD_KEY",
            "Two\nlines.",
        ),
    ],
    ids=["thrown as it is", "among the causes"],
)
def test_an_error_of_a_statement_becomes_the_exception_of_its_condition(
    text: str, condition: str, message: str
) -> None:
    table, _ = remote_table(failed := Refused(text))
    with pytest.raises(BY_CONDITION[condition]) as raised:
        table.history()
    assert (raised.value.condition, str(raised.value)) == (condition, f"[{condition}] {message}")
    assert raised.value.__cause__ is failed
    assert merganser.condition_of(failed) == merganser.condition_of(raised.value) == condition


def test_a_server_without_the_procedures_raises_missing_jar_and_other_failures_pass() -> None:
    table, _ = remote_table(Refused("[UNRESOLVED_ROUTINE] Cannot resolve `describe_table`.", "UNRESOLVED_ROUTINE"))
    with pytest.raises(merganser.MissingJarError, match=r"spark\.sql\.extensions"):
        table.history()
    table, _ = remote_table(other := Refused("[DIVIDE_BY_ZERO] by zero", "DIVIDE_BY_ZERO"))
    with pytest.raises(PySparkException) as raised:
        table.history()
    assert raised.value is other


# ---- answers


def test_a_write_returns_every_count_of_its_commit() -> None:
    result = table_with(Entry(COMMIT)).upsert(SimpleNamespace(_jdf=None))  # type: ignore[arg-type]
    assert result == merganser.CommitResult(
        instant="20250101120000000",
        operation="upsert",
        inserted=1,
        updated=2,
        unchanged=3,
        late=4,
        ties=5,
        deleted=6,
        duplicates=7,
        appended=12,
        appended_deletes=13,
        filled=14,
        no_ops=15,
        tombstones=16,
        files=8,
        rows_written=9,
        bytes_written=10,
        elapsed_ms=11,
        warnings=("The last write wins.",),
        ignored_options=("hoodie.x",),
        columns_widened=("amount: int -> bigint",),
    )
    shown = repr(result)
    assert "elapsed_ms=11, warnings=('The last write wins.',), ignored_options=('hoodie.x',)" in shown
    assert "columns_added" not in shown  # what is empty is not shown
    assert "service_failure" not in shown


def test_results_and_docs_have_every_count_of_the_jar() -> None:
    listed = (ROOT / "jvm/merge/src/main/scala/io/merganser/merge/buffer/MergeCounts.scala").read_text()
    counts = re.findall(r'Count\("(\w+)"', listed)
    columns = (re.sub("([A-Z])", r"_\1", count).lower() for count in counts)
    assert sorted(columns) == sorted(one.name for one in fields(CommitCounts))
    for page in ("docs/operating.md", "docs/sql.md"):
        text = (ROOT / page).read_text()
        assert [one.name for one in fields(CommitCounts) if f"`{one.name}`" not in text] == [], page


def test_a_response_without_a_count_is_an_error() -> None:
    wire = {key: value for key, value in COMMIT.items() if key != "late"}
    with pytest.raises(KeyError, match="late"):
        merganser.CommitResult.from_wire(wire)


def test_compact_returns_its_counts_or_none_if_nothing_is_due() -> None:
    entry = Entry(
        [
            {
                "timestamp": "20250101130000000",
                "operation_size": 2,
                "rows_written": 30,
                "bytes_written": 400,
                "log_files_compacted": 5,
                "elapsed_ms": 60,
                "left_because": None,
            },
            {"timestamp": "20250101140000000", "left_because": "this process runs it already"},
        ]
    )
    table = table_with(entry)
    result = table.compact()
    assert result is not None
    assert (result.files, result.rows_written, result.bytes_written) == (2, 30, 400)
    assert (result.log_files_compacted, result.elapsed_ms) == (5, 60)
    assert result.left == ("20250101140000000: this process runs it already",)
    entry.answer = []
    assert table.compact(schedule_only=True) is None
    assert [sent(entry, n)["op"] for n in range(2)] == ["scheduleandexecute", "schedule"]


def action(**fields: Any) -> dict[str, Any]:
    """An entry of the history as the jar answers it; fields without a value are null."""
    return {**dict.fromkeys(ACTION), "instant_time": "20250101120000000", "archived": False, **fields}


def test_a_history_entry_without_a_count_has_none() -> None:
    commit = action(action="deltacommit", state="COMPLETED", inserted=1, files_written=8, elapsed_ms=11)
    pending = action(action="compaction", state="REQUESTED", planned=3)
    first, second = table_with(entry := Entry([commit, pending])).history(2, archived=True)
    assert (first.action, first.inserted, first.files, first.elapsed_ms) == ("deltacommit", 1, 8, 11)
    assert (second.state, second.completed, second.inserted, second.planned) == ("REQUESTED", None, None, 3)
    assert sent(entry, -1) == {"path": "/lake/trips", "limit": 2, "archived": True}


def test_history_prints_a_line_for_each_action_and_is_a_table_in_notebooks() -> None:
    commit = action(
        requested_at=1735732800000,
        completed_at=1735732801500,
        elapsed_ms=1500,
        action="commit",
        operation="UPSERT",
        state="COMPLETED",
        user="<ops>",
        inserted=2,
        updated=0,
        late=1,
        files_written=1,
        readable=True,
    )
    history = table_with(Entry([commit, action(action="compaction", state="REQUESTED", planned=3)])).history()
    assert str(history).splitlines() == [
        "2025-01-01 12:00:00 20250101120000000  UPSERT  2 inserted  1 late  1 files written  1.5 s  by <ops>",
        "20250101120000000  compaction  requested  3 planned",
    ]
    page = history._repr_html_()
    assert "<td>&lt;ops&gt;</td>" in page
    assert "<th>requested at</th>" in page
    assert "<th>comment</th>" not in page  # no action has one
    assert page.count("<tr>") == 3
    assert str(table_with(Entry([])).history()) == "no actions"


def test_file_slices_hold_their_log_files_and_may_lack_a_base_file() -> None:
    logs = [{"name": ".a.log.1", "size": 5}, {"name": ".a.log.2", "size": 6}]
    wire = {"partition": "m=1", "file_id": "a-0", "base_instant": "1", "delta_files": logs}
    with_base = {**wire, "data_file": "a-0_1.parquet", "data_file_size": 100}
    without = {**wire, "data_file": None, "data_file_size": None, "delta_files": []}
    first, second = table_with(Entry([with_base, without])).inspect.file_slices()
    assert (first.base_size_bytes, first.log_size_bytes, [log.name for log in first.log_files]) == (
        100,
        11,
        [".a.log.1", ".a.log.2"],
    )
    assert (second.base_file, second.base_size_bytes, second.log_size_bytes) == (None, 0, 0)


# ---- errors


class Thrown:
    """A Java exception as py4j shows it."""

    _target_id = "o1"
    _gateway_client = SimpleNamespace(send_command=lambda *_: "")

    def __init__(self, kind: str, message: str = "", cause: Any = None, **parameters: str) -> None:
        self._kind, self._message, self._cause, self._parameters = kind, message, cause, parameters

    def getClass(self) -> Any:
        return SimpleNamespace(getName=lambda: self._kind)

    def getCause(self) -> Any:
        return self._cause

    def getMessage(self) -> str:
        return self._message

    def condition(self) -> str:
        return self._message[1 : self._message.index("]")]

    def sqlState(self) -> str:
        return "42K01"

    def parametersJson(self) -> str:
        return json.dumps(self._parameters)


def failure(thrown: Any) -> Py4JJavaError:
    return Py4JJavaError("An error occurred.\n", thrown)


OURS = Thrown(EXCEPTION, "[ORDERING_FIELD_MISSING] Cannot upsert into 'trips': ...", field="ts")


@pytest.mark.parametrize(
    "thrown",
    [
        failure(OURS),
        failure(Thrown("org.apache.spark.SparkException", cause=Thrown("java.lang.RuntimeException", cause=OURS))),
        type("CapturedException", (Exception,), {"_origin": Thrown("org.apache.spark.SparkException", cause=OURS)})(),
    ],
    ids=["thrown as it is", "thrown by a task", "wrapped by PySpark"],
)
def test_a_condition_anywhere_among_the_causes_raises_the_exception_of_its_name(thrown: Exception) -> None:
    with pytest.raises(merganser.OrderingFieldMissingError, match="Cannot upsert into 'trips'") as raised:
        table_with(Entry(thrown)).upsert(SimpleNamespace(_jdf=None))  # type: ignore[arg-type]
    assert raised.value.condition == "ORDERING_FIELD_MISSING"
    assert raised.value.sql_state == "42K01"
    assert dict(raised.value.parameters) == {"field": "ts"}
    assert raised.value.__cause__ is thrown
    assert merganser.condition_of(thrown) == "ORDERING_FIELD_MISSING"
    wrapped = ValueError("a user's own")
    wrapped.__cause__ = thrown
    assert merganser.condition_of(wrapped) == "ORDERING_FIELD_MISSING"
    assert merganser.condition_of(ValueError("another")) is None


def test_a_condition_without_a_class_of_its_own_raises_the_base_class() -> None:
    error = error_for("BRAND_NEW", message="[BRAND_NEW] It is.")
    assert type(error) is merganser.MerganserError
    assert (error.condition, str(error)) == ("BRAND_NEW", "[BRAND_NEW] It is.")


def test_a_foreign_exception_with_circular_causes_is_raised_unchanged() -> None:
    circle = Thrown("java.lang.IllegalStateException")
    circle._cause = circle
    thrown = failure(circle)
    assert _bridge.translated(thrown) is None
    with pytest.raises(Py4JJavaError) as raised:
        table_with(Entry(thrown)).history()
    assert raised.value is thrown


def test_every_condition_with_a_class_is_declared_in_the_jar() -> None:
    files = list(ROOT.glob("jvm/*/src/main/resources/io/merganser/*/conditions.json"))
    assert len(files) >= 2
    known = {name for file in files for name in json.loads(file.read_text(encoding="utf-8"))}
    assert set(BY_CONDITION) - known == set()


def test_a_condition_belongs_to_one_class_and_a_missing_ordering_field_is_a_missing_column() -> None:
    assert len(BY_CONDITION) == sum(len(kind.CONDITIONS) for kind in set(BY_CONDITION.values()))
    assert BY_CONDITION["ORDERING_FIELD_MISSING"] is merganser.OrderingFieldMissingError
    assert issubclass(merganser.OrderingFieldMissingError, merganser.ColumnMissingError)


def test_every_exception_class_is_exported_and_derives_from_the_base_class() -> None:
    kinds = [getattr(merganser, name) for name in merganser.__all__ if name.endswith("Error")]
    assert len(kinds) >= 8
    assert all(issubclass(kind, merganser.MerganserError) for kind in kinds)


# ---- progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def context(*, own_bar: bool = False) -> Any:
    stage = SimpleNamespace(stageId=7, numTasks=8, numCompletedTasks=3)
    tracker = SimpleNamespace(getActiveStageIds=lambda: [7, 8], getStageInfo=lambda n: stage if n == 7 else None)
    conf = SimpleNamespace(get=lambda key: "true" if own_bar else None)
    return SimpleNamespace(getConf=lambda: conf, statusTracker=lambda: tracker)


def shown(monkeypatch: pytest.MonkeyPatch, screen: io.StringIO, context: Any, step: Callable[[], str] = str) -> str:
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(_progress, "_FIRST_AFTER_S", 0.01)
    with _progress.progress(context, "write", lambda: step):
        deadline = time.monotonic() + (0.1 if type(screen) is io.StringIO else 5)
        while "stage 7: 3 of 8 tasks" not in screen.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    return screen.getvalue()


def test_a_terminal_shows_the_stage_of_a_long_call_and_clears_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal(), context())
    assert "stage 7: 3 of 8 tasks" in text
    assert text.endswith("\r\x1b[K")


def test_the_progress_line_shows_the_current_step_of_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal(), context(), lambda: "delete files: 120 of 3000")
    assert "write  delete files: 120 of 3000  stage 7: 3 of 8 tasks  0" in text
    assert _progress.progress_line("restore", 4.24, [], 0, 0, "delete files: 1 of 2") == (
        "restore  delete files: 1 of 2  4.2 s"
    )


def test_a_notebook_shows_the_progress_line_without_terminal_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_notebooks = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
    text = shown(monkeypatch, of_notebooks(), context(own_bar=True))
    assert "stage 7: 3 of 8 tasks" in text
    assert "\x1b" not in text
    assert text.split("\r")[-2].strip() == ""


def test_no_progress_is_shown_if_stderr_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO(), context()) == ""


def test_no_progress_is_shown_beside_sparks_own_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(_progress, "_FIRST_AFTER_S", 0.01)
    with _progress.progress(context(own_bar=True), "write"):
        time.sleep(0.1)
    assert screen.getvalue() == ""


def test_only_the_bridge_imports_py4j() -> None:
    package = Path(merganser.__file__).parent
    assert [file.name for file in sorted(package.glob("*.py")) if "py4j" in file.read_text()] == ["_bridge.py"]


# ---- the names of a table

#: The public names of a table, and of the objects that it has.
NAMES = {
    Table: [
        *("create", "create_or_load", "create_named", "create_for_changes", "load", "exists"),
        *("path", "name", "identifier", "table_type", "version", "record_key", "partition_by", "ordering_by"),
        *("merge_mode", "rule", "index", "schema", "properties", "refresh"),
        *("df", "count", "show", "to_pandas", "to_arrow", "changes", "change_data", "change_data_stream"),
        *("upsert", "insert", "bulk_insert", "overwrite", "insert_overwrite", "delete_partitions", "delete", "update"),
        *("merge", "apply_changes", "history", "compact", "clean", "call"),
        *("services", "savepoints", "repairs", "inspect"),
    ],
    Services: [
        *("compact_logs", "cluster", "purge_clustering", "archive", "upgrade", "change_rule", "dry_run"),
        *("start", "stop", "status"),
    ],
    Savepoints: ["create", "delete", "list", "restore", "rollback"],
    Repairs: ["merge_duplicates", "remove_orphan_files", "add_partition_metadata"],
    Inspection: [
        *("explain", "explain_df", "verify", "check_rule", "compare_rule", "merge_config", "check_keys"),
        *("file_slices", "partitions", "rule"),
    ],
}


@pytest.mark.parametrize("kind", NAMES)
def test_each_class_defines_its_listed_public_names_and_no_others(kind: type) -> None:
    assert [name for name in dir(kind) if not name.startswith("_")] == sorted(NAMES[kind])
    assert type(kind) is type
    assert not [
        name for one in kind.__mro__ for name, member in vars(one).items() if "NotImplementedError" in code(member)
    ]


def code(member: Any) -> tuple[str, ...]:
    """The names that a function or a property uses."""
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    names: tuple[str, ...] = getattr(getattr(function, "__code__", None), "co_names", ())
    return names


def test_completion_of_a_table_shows_its_public_names_alone() -> None:
    assert dir(table_with(Entry({}))) == sorted(NAMES[Table])
