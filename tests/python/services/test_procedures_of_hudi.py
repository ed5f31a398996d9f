"""Procedures that Hudi has too: its parameters in its order, its defaults, its columns."""

from __future__ import annotations

import re

import pytest
from sql_steps import Sql

from interop.hudi_engine import HudiEngine

#: What Hudi has and ours lack: archived and pending instants, how far a file group is planned to be compacted, and a
#: listing of invalid files that deletes them.
WITHOUT_PARAMETERS = {
    "show_fsview_latest": {"include_max", "include_in_flight", "exclude_compaction", "path_regex", "merge"},
    "show_invalid_parquet": {"instants", "needDelete", "parallelism", "partitions"},
    "show_timeline": {"showArchived"},
}
WITHOUT_COLUMNS = {
    "show_fsview_latest": {
        "delta_size_compaction_scheduled",
        "delta_size_compaction_unscheduled",
        "delta_to_base_radio_compaction_scheduled",
        "delta_to_base_radio_compaction_unscheduled",
        "delta_files_compaction_scheduled",
        "delta_files_compaction_unscheduled",
    },
    "show_timeline": {"requested_time", "inflight_time", "timeline_type", "rollback_info"},
}
TYPES = {"string": "STRING", "long": "BIGINT", "integer": "INT", "boolean": "BOOLEAN", "double": "DOUBLE"}
SHARED = [
    "archive_commits",
    "create_savepoint",
    "delete_savepoint",
    "rollback_to_instant",
    "rollback_to_savepoint",
    "repair_add_partition_meta",
    "repair_corrupted_clean_files",
    "repair_deduplicate",
    "repair_migrate_partition_meta",
    "repair_overwrite_hoodie_props",
    "run_clean",
    "run_clustering",
    "run_compaction",
    "show_archived_commits",
    "show_clean_plans",
    "show_cleans",
    "show_cleans_metadata",
    "show_clustering",
    "show_commit_files",
    "show_commit_partitions",
    "show_commits",
    "show_commits_metadata",
    "show_compaction",
    "show_fsview_latest",
    "show_rollback_detail",
    "show_invalid_parquet",
    "show_rollbacks",
    "show_savepoints",
    "show_table_properties",
    "show_timeline",
    "upgrade_table",
]


def of_hudi(help_text: str) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """Parameters with type and default, and columns with type, of Hudi's help."""
    parameters, columns = help_text.split("outputType:")
    fields = [line.split() for line in parameters.splitlines() if line.startswith("\t")]
    typed = {name: (TYPES[kind], default[0] if default[1:] else "") for name, kind, *default in fields[1:]}
    return typed, {name: TYPES[kind] for name, kind, *_ in map(str.split, columns.strip().splitlines()[1:])}


def of_ours(lines: list[str]) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    columns = dict(line.split(" ", 2)[1:] for line in lines if line.startswith("returns "))
    parameters = {}
    for line in lines:
        if not line.startswith("returns "):
            name, kind = line.split(":")[0].split(" ", 1)
            default = re.search(r"default (\w+)", line)
            parameters[name] = (kind.split(" or ")[0], default[1] if default else "null")
    return parameters, columns


@pytest.mark.parametrize("procedure", SHARED)
def test_each_hudi_procedure_has_hudis_parameters_and_columns(sql: Sql, hudi: HudiEngine, procedure: str) -> None:
    theirs, their_columns = of_hudi(hudi.help(procedure))
    ours, columns = of_ours([row[0] for row in sql.run(f"CALL help(cmd => '{procedure}')")])
    left_out = WITHOUT_PARAMETERS.get(procedure, set())
    assert theirs.keys() - ours.keys() == left_out
    shared = [name for name in theirs if name not in left_out]
    assert [name for name in ours if name in theirs] == shared
    assert [ours[name][0] for name in shared] == [theirs[name][0] for name in shared]
    if "limit" in shared:
        assert ours["limit"] == theirs["limit"]
    wanted = {name: kind for name, kind in their_columns.items() if name not in WITHOUT_COLUMNS.get(procedure, set())}
    assert list(columns.items())[: len(wanted)] == list(wanted.items())


def test_every_procedure_exists_in_hudi_or_is_listed_as_mergansers_own(sql: Sql) -> None:
    own = {
        "apply_changes",
        "change_rule",
        "check_keys",
        "check_rule",
        "compare_rule",
        "dry_run",
        "dry_run_service",
        "show_dry_run",
        "show_merge_config",
        "create_table",
        "create_table_for_changes",
        "describe_table",
        "explain_record",
        "help",
        "remove_orphan_files",
        "repair_properties",
        "restore_to_instant",
        "rollback_failed_writes",
        "run_log_compaction",
        "run_statement",
        "show_history",
        "show_orphan_files",
        "show_restores",
        "show_services",
        "start_services",
        "stop_services",
        "verify_table",
        "write_rows",
    }
    assert {row[0] for row in sql.run("CALL help()")} == own | set(SHARED)
