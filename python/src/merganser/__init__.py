"""Merganser: merges late, repeated and deleted changes into lake tables on Spark.

::

    import merganser

    spark = merganser.session("trips", master="local[2]")
    table = merganser.Table.load(spark, "/lake/trips")
    result = table.upsert(spark.read.parquet("/landing/today"))
    print(result.inserted, result.updated, result.late)
"""

from __future__ import annotations

import contextlib

from merganser import changes, options
from merganser._conditions import condition_of
from merganser._version import __version__
from merganser.change_results import ApplyResult
from merganser.config import IndexType, MergeMode, MissingColumns, TableType, WriteOptions
from merganser.diagnosis import Diagnosis, Finding, doctor
from merganser.dry_runs import (
    DryRun,
    DryRunRow,
    RuleComparison,
    RuleDifference,
    ServiceDryRun,
    ServiceStep,
    dry_run,
    last_dry_run,
)
from merganser.errors import (
    ClusteringConflictError,
    ColumnMissingError,
    CommitConflictError,
    CompactionConflictError,
    ConfigurationConflictError,
    DuplicateKeyError,
    EventsRefusedError,
    LockTimeoutError,
    MerganserError,
    MissingJarError,
    NullValueError,
    OptionError,
    OrderingFieldMissingError,
    RuleNotTraceableError,
    SchemaConflictError,
    SliceFileMissingError,
    TableExistsError,
    TableNotFoundError,
)
from merganser.explanations import ColumnOrigin, RecordExplanation, RecordVersion, SearchedFiles
from merganser.frames import combine, merge_frames
from merganser.history import History, HistoryEntry
from merganser.laws import check_rule
from merganser.merging import (
    Merge,
    WhenMatchedDelete,
    WhenMatchedUpdate,
    WhenNotMatchedBySourceDelete,
    WhenNotMatchedBySourceUpdate,
    WhenNotMatchedInsert,
)
from merganser.repairs import repair_properties
from merganser.results import CommitResult, FileSlice, LogFile, StatementResult
from merganser.rule_checks import RuleCheck, RuleLaw
from merganser.rules import Rule, rule
from merganser.service_results import (
    ArchiveResult,
    CleanResult,
    ClusteringResult,
    CompactionResult,
    OrphanFile,
    PartitionRepair,
    PropertyChange,
    RepairResult,
    RestoredFile,
    RestoreResult,
    RollbackResult,
    RuleChange,
    Savepoint,
    ServiceStatus,
    TakenBack,
)
from merganser.session import configure, jar_path, session
from merganser.table import Table
from merganser.table_checks import KeyCheck, MergeConfig, RepeatedKey, Setting
from merganser.verification import TableProblem, VerifyResult

__all__ = [
    "ApplyResult",
    "ArchiveResult",
    "CleanResult",
    "ClusteringConflictError",
    "ClusteringResult",
    "ColumnMissingError",
    "ColumnOrigin",
    "CommitConflictError",
    "CommitResult",
    "CompactionConflictError",
    "CompactionResult",
    "ConfigurationConflictError",
    "Diagnosis",
    "DryRun",
    "DryRunRow",
    "DuplicateKeyError",
    "EventsRefusedError",
    "FileSlice",
    "Finding",
    "History",
    "HistoryEntry",
    "IndexType",
    "KeyCheck",
    "LockTimeoutError",
    "LogFile",
    "MerganserError",
    "Merge",
    "MergeConfig",
    "MergeMode",
    "MissingColumns",
    "MissingJarError",
    "NullValueError",
    "OptionError",
    "OrderingFieldMissingError",
    "OrphanFile",
    "PartitionRepair",
    "PropertyChange",
    "RecordExplanation",
    "RecordVersion",
    "RepairResult",
    "RepeatedKey",
    "RestoreResult",
    "RestoredFile",
    "RollbackResult",
    "Rule",
    "RuleChange",
    "RuleCheck",
    "RuleComparison",
    "RuleDifference",
    "RuleLaw",
    "RuleNotTraceableError",
    "Savepoint",
    "SchemaConflictError",
    "SearchedFiles",
    "ServiceDryRun",
    "ServiceStatus",
    "ServiceStep",
    "Setting",
    "SliceFileMissingError",
    "StatementResult",
    "Table",
    "TableExistsError",
    "TableNotFoundError",
    "TableProblem",
    "TableType",
    "TakenBack",
    "VerifyResult",
    "WhenMatchedDelete",
    "WhenMatchedUpdate",
    "WhenNotMatchedBySourceDelete",
    "WhenNotMatchedBySourceUpdate",
    "WhenNotMatchedInsert",
    "WriteOptions",
    "__version__",
    "changes",
    "check_rule",
    "combine",
    "condition_of",
    "configure",
    "doctor",
    "dry_run",
    "jar_path",
    "last_dry_run",
    "merge_frames",
    "options",
    "repair_properties",
    "rule",
    "session",
]


def __dir__() -> list[str]:
    """The public names: completion shows no modules of the package beside them."""
    return __all__


with contextlib.suppress(ImportError):  # a client of Spark Connect alone has no JVM, and nothing to call one with
    from merganser._bridge import raise_conditions as _raise_conditions

    _raise_conditions()

with contextlib.suppress(ImportError):  # the libraries of a client of Spark Connect may be absent
    from merganser._statements import raise_conditions as _raise_remote_conditions

    _raise_remote_conditions()
