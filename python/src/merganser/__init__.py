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
from typing import TYPE_CHECKING

from merganser import changes as changes
from merganser import options as options
from merganser._conditions import condition_of as condition_of
from merganser._version import __version__ as __version__
from merganser.change_results import ApplyResult as ApplyResult
from merganser.config import IndexType as IndexType
from merganser.config import MergeMode as MergeMode
from merganser.config import MissingColumns as MissingColumns
from merganser.config import TableType as TableType
from merganser.config import WriteOptions as WriteOptions
from merganser.diagnosis import Diagnosis as Diagnosis
from merganser.diagnosis import Finding as Finding
from merganser.diagnosis import doctor as doctor
from merganser.dry_runs import DryRun as DryRun
from merganser.dry_runs import DryRunRow as DryRunRow
from merganser.dry_runs import RuleComparison as RuleComparison
from merganser.dry_runs import RuleDifference as RuleDifference
from merganser.dry_runs import ServiceDryRun as ServiceDryRun
from merganser.dry_runs import ServiceStep as ServiceStep
from merganser.dry_runs import dry_run as dry_run
from merganser.dry_runs import last_dry_run as last_dry_run
from merganser.errors import ClusteringConflictError as ClusteringConflictError
from merganser.errors import ColumnMissingError as ColumnMissingError
from merganser.errors import CommitConflictError as CommitConflictError
from merganser.errors import CompactionConflictError as CompactionConflictError
from merganser.errors import ConfigurationConflictError as ConfigurationConflictError
from merganser.errors import DuplicateKeyError as DuplicateKeyError
from merganser.errors import EventsRefusedError as EventsRefusedError
from merganser.errors import LockTimeoutError as LockTimeoutError
from merganser.errors import MerganserError as MerganserError
from merganser.errors import MissingJarError as MissingJarError
from merganser.errors import NullValueError as NullValueError
from merganser.errors import OptionError as OptionError
from merganser.errors import OrderingFieldMissingError as OrderingFieldMissingError
from merganser.errors import RuleNotTraceableError as RuleNotTraceableError
from merganser.errors import SchemaConflictError as SchemaConflictError
from merganser.errors import SliceFileMissingError as SliceFileMissingError
from merganser.errors import TableExistsError as TableExistsError
from merganser.errors import TableNotFoundError as TableNotFoundError
from merganser.explanations import ColumnOrigin as ColumnOrigin
from merganser.explanations import RecordExplanation as RecordExplanation
from merganser.explanations import RecordVersion as RecordVersion
from merganser.explanations import SearchedFiles as SearchedFiles
from merganser.frames import combine as combine
from merganser.frames import merge_frames as merge_frames
from merganser.history import History as History
from merganser.history import HistoryEntry as HistoryEntry
from merganser.laws import check_rule as check_rule
from merganser.merging import Merge as Merge
from merganser.merging import WhenMatchedDelete as WhenMatchedDelete
from merganser.merging import WhenMatchedUpdate as WhenMatchedUpdate
from merganser.merging import WhenNotMatchedBySourceDelete as WhenNotMatchedBySourceDelete
from merganser.merging import WhenNotMatchedBySourceUpdate as WhenNotMatchedBySourceUpdate
from merganser.merging import WhenNotMatchedInsert as WhenNotMatchedInsert
from merganser.repairs import repair_properties as repair_properties
from merganser.results import CommitResult as CommitResult
from merganser.results import FileSlice as FileSlice
from merganser.results import LogFile as LogFile
from merganser.results import StatementResult as StatementResult
from merganser.rule_checks import RuleCheck as RuleCheck
from merganser.rule_checks import RuleLaw as RuleLaw
from merganser.rules import Rule as Rule
from merganser.rules import rule as rule
from merganser.service_results import ArchiveResult as ArchiveResult
from merganser.service_results import CleanResult as CleanResult
from merganser.service_results import ClusteringResult as ClusteringResult
from merganser.service_results import CompactionResult as CompactionResult
from merganser.service_results import OrphanFile as OrphanFile
from merganser.service_results import PartitionRepair as PartitionRepair
from merganser.service_results import PropertyChange as PropertyChange
from merganser.service_results import RepairResult as RepairResult
from merganser.service_results import RestoredFile as RestoredFile
from merganser.service_results import RestoreResult as RestoreResult
from merganser.service_results import RollbackResult as RollbackResult
from merganser.service_results import RuleChange as RuleChange
from merganser.service_results import Savepoint as Savepoint
from merganser.service_results import ServiceStatus as ServiceStatus
from merganser.service_results import TakenBack as TakenBack
from merganser.session import configure as configure
from merganser.session import jar_path as jar_path
from merganser.session import session as session
from merganser.table import Table as Table
from merganser.table_checks import KeyCheck as KeyCheck
from merganser.table_checks import MergeConfig as MergeConfig
from merganser.table_checks import RepeatedKey as RepeatedKey
from merganser.table_checks import Setting as Setting
from merganser.verification import TableProblem as TableProblem
from merganser.verification import VerifyResult as VerifyResult

if not TYPE_CHECKING:  # type checkers take the names that are imported as themselves
    __all__ = ["__version__", "changes", "options"]
    __all__ += [name for name, value in globals().items() if getattr(value, "__module__", "").startswith("merganser.")]

    def __dir__() -> list[str]:
        """The public names: completion shows no modules of the package beside them."""
        return __all__


with contextlib.suppress(ImportError):  # a client of Spark Connect alone has no JVM, and nothing to call one with
    from merganser._bridge import raise_conditions as _raise_conditions

    _raise_conditions()

with contextlib.suppress(ImportError):  # the libraries of a client of Spark Connect may be absent
    from merganser._statements import raise_conditions as _raise_remote_conditions

    _raise_remote_conditions()
