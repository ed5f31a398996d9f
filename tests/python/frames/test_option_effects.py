"""Every option of docs/config.md does something: for each a test that sees it; those of files are here."""

from __future__ import annotations

import random
import re
import uuid
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from frames import commit_metadata, frame, load, rows_of, save
from option_names import COW, INDEX, KEY, MOR, OPERATION, ORDERING, TYPE
from places import PYTESTS, ROOT
from pyspark.sql import DataFrame, SparkSession
from sql_steps import Sql, each_kind

import merganser

COLUMNS = "id int, ts bigint, v string, c string"
OPTIONS = {KEY: "id", ORDERING: "ts"}
MAX_FILE = "hoodie.parquet.max.file.size"
RECENT = "spark.merganser.write.recentRows.percent"
BLOOM_KEYS, BLOOM_RATE = "hoodie.index.bloom.num_entries", "hoodie.index.bloom.fpp"

HERE = "test_option_effects.py::"
FILES = HERE + "test_options_of_a_write_change_its_base_files"
LOGS = HERE + "test_options_of_a_write_change_its_logs"
TASKS = HERE + "test_an_operation_runs_the_configured_number_of_tasks"
SETTINGS = "test_frame_tables.py::test_a_new_table_stores_its_settings_in_hoodie_properties"
TIMES = "KeyColumnsSuite.scala::a time-based partition is formatted from numbers by their unit"
ZONES = "KeyColumnsSuite.scala::a time-based partition uses the zones of input and output and the configured delimiter"
HEARTBEATS = "RollbackSuite.scala::under LAZY a write counts as dead after the missed heartbeats its followers allow"
STRATEGIES = "CompactionSelectionSuite.scala::"
MERGERS = "test_custom_mergers.py::"
INCREMENTAL = "test_incremental.py::"
RULES = "test_merge_rule.py::"
COLUMN_RULES = "test_column_rules.py::"
TRANSACTIONS = "test_transactions.py::test_a_write_repeated_with_its_transaction_returns_the_first_result_and_changes"
OVERWRITES = "test_overwrites.py::"
DRY_RUNS = "test_dry_runs.py::test_a_frame_with_the_dry_run_option_is_not_written_even_without_a_table"
HIVE = "test_hive_metastore.py::"
CLEANING = "test_cleaning.py::"
CHANGE_DATA = "test_change_data.py::"
LOG_COMPACTIONS = "test_log_compaction.py::"
BACKGROUND = "BackgroundServicesSuite.scala::"
CLUSTERED = "ClusteringServiceSuite.scala::"
RUNS = "ClusteringRunsSuite.scala::"
PLANNED = "ClusteringPlannerSuite.scala::"
STREAMS = "test_stream_sink.py::"
FOLLOWED = "test_stream_source.py::"

#: Where a changed value of each option is seen.
SEEN = {
    "hoodie.datasource.streaming.startOffset": FOLLOWED + "test_a_stream_starts_at_the_next_commit_or_after_a_time",
    "maxFilesPerTrigger": FOLLOWED + "test_a_micro_batch_reads_commits_or_snapshot_file_groups_up_to_its_limits",
    "maxBytesPerTrigger": FOLLOWED + "test_a_micro_batch_reads_commits_or_snapshot_file_groups_up_to_its_limits",
    "hoodie.datasource.write.streaming.retry.count": STREAMS + "test_a_micro_batch_is_retried_the_configured_number",
    "hoodie.datasource.write.streaming.retry.interval.ms": STREAMS + "test_a_micro_batch_is_retried_the_configured",
    "hoodie.datasource.write.streaming.checkpoint.identifier": STREAMS + "test_micro_batches_are_merged_by_the_tables",
    "hoodie.datasource.write.streaming.disable.compaction": STREAMS + "test_services_follow_micro_batches",
    "hoodie.table.name": SETTINGS,
    "hoodie.database.name": SETTINGS,
    "hoodie.datasource.write.table.type": "test_frame_tables.py::test_both_table_types_apply_changes_under_both",
    "hoodie.write.table.version": "test_settings.py::test_writes_keep_a_tables_older_version_and_refuse_another_one",
    "hoodie.datasource.write.recordkey.field": "test_frame_tables.py::test_a_key_generator_named_by_type_or_class",
    "hoodie.datasource.write.partitionpath.field": "test_frame_tables.py::test_partitions_are_stored_in_the",
    "hoodie.table.ordering.fields": RULES + "test_several_ordering_fields_are_compared_one_after_the_other",
    "hoodie.write.record.merge.mode": "test_partial_writes.py::test_under_commit_time_each_partial_row_overwrites_its",
    "hoodie.table.cdc.enabled": CHANGE_DATA + "test_each_commit_has_its_changes_with_the_rows_before_and_after",
    "hoodie.table.cdc.supplemental.logging.mode": "GroupChangesSuite.scala::every mode of change files gives the same",
    "spark.merganser.read.changeImages": CHANGE_DATA + "test_sql_and_frames_read_change_data_as_hudi_names_it",
    "spark.merganser.read.changeReason": CHANGE_DATA + "test_each_commit_has_its_changes_with_the_rows_before",
    "hoodie.record.merge.mode": "test_sql_tables.py::test_create_table_stores_tblproperties_in_hoodie_properties",
    "hoodie.write.record.merge.strategy.id": MERGERS + "test_strategy_and_mode_are_stored_and_the_class_is_not",
    "hoodie.datasource.write.payload.class": "test_upgrade.py::test_an_upgrade_replaces_a_payload_class_with_the",
    "hoodie.payload.ordering.field": "test_settings.py::test_a_table_without_ordering_fields_uses_its_payloads",
    "hoodie.payload.delete.field": HERE
    + "test_a_delete_marker_applies_to_one_write_if_an_older_table_does_not_store_it",
    "hoodie.payload.delete.marker": RULES + "test_a_delete_marker_is_stored_with_the_table_and_matched_exactly",
    "merganser.rule": COLUMN_RULES + "test_the_output_of_show_create_table_declares_the_same_rule",
    "merganser.rule.default": COLUMN_RULES + "test_a_rule_declared_in_python_merges_rows_and_is_shown",
    "merganser.tombstones.retained.hours": "TombstonesSuite.scala::altering a table makes it retain deletes, and",
    "merganser.rule.delete": "test_rule_deletes.py::test_python_and_sql_declare_the_same_delete_policies",
    "merganser.rule.retract.column": "test_retractions.py::test_an_update_before_row_is_subtracted_from_the_sums",
    "merganser.rule.retract.values": "test_retractions.py::test_an_update_before_row_is_subtracted_from_the_sums",
    "spark.merganser.write.nullOrdering": RULES + "test_null_ordering_values_can_be_rejected_by_the_table",
    "hoodie.datasource.write.keygenerator.type": "test_frame_tables.py::test_a_key_generator_named_by_type_or_class",
    "hoodie.datasource.write.keygenerator.class": "test_frame_tables.py::test_a_key_generator_named_by_type_or_class",
    "hoodie.datasource.write.drop.partition.columns": "test_dropped_columns.py::test_hudi_reads_and_writes_our_table",
    "hoodie.datasource.write.slash.separated.date.partitioning": (
        "test_slashed_dates.py::test_hudi_reads_and_writes_our_table_with_slashed_dates"
    ),
    "hoodie.populate.meta.fields": "test_virtual_keys.py::test_hudi_reads_and_writes_our_table_without_stored_keys",
    "hoodie.datasource.write.hive_style_partitioning": "KeyColumnsSuite.scala::a partition path has one level per",
    "hoodie.datasource.write.partitionpath.urlencode": "KeyColumnsSuite.scala::url encoding escapes only characters",
    "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled": (
        "KeyColumnsSuite.scala::logical timestamps in keys are strings in the JVM's zone, truncated to milliseconds"
    ),
    "hoodie.write.complex.keygen.new.encoding": "KeyColumnsSuite.scala::a complex generator names a single key",
    "hoodie.table.timeline.timezone": SETTINGS,
    "hoodie.keygen.timebased.timestamp.type": TIMES,
    "hoodie.keygen.timebased.timestamp.scalar.time.unit": TIMES,
    "hoodie.keygen.timebased.input.dateformat": "KeyColumnsSuite.scala::a time-based partition is formatted from times",
    "hoodie.keygen.timebased.input.dateformat.list.delimiter.regex": ZONES,
    "hoodie.keygen.timebased.input.timezone": ZONES,
    "hoodie.keygen.timebased.output.dateformat": TIMES,
    "hoodie.keygen.timebased.output.timezone": ZONES,
    "hoodie.keygen.timebased.timezone": TIMES,
    "hoodie.index.type": "test_frame_tables.py::test_both_table_types_apply_changes_under_both_indexes",
    "hoodie.bucket.index.num.buckets": "test_frame_tables.py::test_both_table_types_apply_changes_under_both_indexes",
    "hoodie.bucket.index.hash.field": SETTINGS,
    "hoodie.index.bucket.engine": "test_consistent_buckets.py::"
    "test_hudi_continues_our_table_with_consistent_buckets_after_overwrites_and_drops",
    "hoodie.bucket.index.partition.expressions": "test_consistent_buckets.py::"
    "test_each_partition_has_the_bucket_count_of_hudis_partition_rule",
    "hoodie.simple.index.update.partition.path": "test_global_index.py::test_update_of_the_partition_column_is",
    "hoodie.bloom.index.update.partition.path": "WriteConfigSuite.scala::a table with a global index keeps it, and",
    "hoodie.datasource.write.operation": OVERWRITES + "test_hudis_overwrite_operations_replace_rows_with_mode_append",
    "hoodie.datasource.overwrite.mode": OVERWRITES + "test_an_overwrite_of_a_path_follows_its_option_and_else_the",
    "hoodie.datasource.write.partitions.to.delete": OVERWRITES + "test_hudis_overwrite_operations_replace_rows_with",
    "spark.merganser.write.partitionPathsToDelete": OVERWRITES + "test_delete_partition_takes_exact_names_and_matches",
    "hoodie.spark.sql.insert.into.operation": "test_settings.py::test_a_session_setting_and_a_table_property_set_the",
    "hoodie.sql.insert.mode": "test_sql_tables.py::test_strict_insert_refuses_a_stored_key_and_writes_nothing",
    "hoodie.sql.bulk.insert.enable": HERE + "test_a_session_setting_changes_the_operation_of_an_insert",
    "hoodie.combine.before.insert": "test_arrival.py::test_combined_inserts_keep_the_last_row_of_each_key",
    "hoodie.combine.before.upsert": RULES + "test_an_upsert_without_combining_stores_all_rows_of_a_new_key_in_a_new",
    "hoodie.datasource.write.insert.drop.duplicates": RULES + "test_inserts_duplicate_combine_or_drop_keys_as_their",
    "hoodie.datasource.insert.dup.policy": RULES + "test_an_insert_that_refuses_stored_keys_writes_nothing",
    "hoodie.merge.allow.duplicate.on.inserts": RULES + "test_an_insert_without_duplicates_merges_rows_with_stored_ones",
    "spark.merganser.write.missingColumns": "test_partial_writes.py::test_missing_columns_are_refused_or_written_as",
    "spark.merganser.write.schemaEvolution": "test_schema_evolution.py::test_a_write_with_evolution_disabled_refuses",
    "spark.merganser.sql.schemaEvolution": "test_merge_evolution.py::test_stars_add_additional_columns_of_the_source",
    "hoodie.schema.on.read.enable": "test_schema_evolution.py::test_with_column_versions_columns_are_renamed_dropped",
    "spark.merganser.sql.deletes": "test_merge_deletes.py::test_the_deletes_setting_chooses_which_deletes_are_compared",
    "spark.merganser.sql.duplicates": "test_statement_plans.py::test_the_duplicates_setting_refuses_several_source",
    "spark.merganser.sql.insertMatching": "test_insert_matching.py::test_the_setting_matches_insert_columns_by_name",
    "hoodie.spark.sql.merge.into.partial.updates": HERE
    + "test_statements_log_whole_rows_if_partial_updates_are_disabled",
    "hoodie.write.record.merge.custom.implementation.classes": MERGERS + "test_the_first_class_with_the_tables",
    "hoodie.payload.event.time.field": "test_event_times.py::test_a_copy_on_write_commit_records_the_event_time_range",
    "hoodie.datasource.write.commitmeta.key.prefix": HERE
    + "test_options_with_the_commit_prefix_are_stored_in_the_commit",
    "hoodie.write.complex.keygen.validation.enable": "test_key_forms.py::test_writes_that_look_up_keys_refuse_a_table",
    "spark.merganser.write.allowAmbiguousKeys": "test_key_forms.py::test_rows_with_an_ambiguous_key_are_refused",
    "hoodie.write.auto.upgrade": "test_upgrade.py::test_an_insert_under_the_session_setting_upgrades",
    "hoodie.allow.empty.commit": HERE + "test_a_write_without_rows_makes_no_commit_if_empty_commits_are_disabled",
    "hoodie.parquet.small.file.limit": FILES,
    MAX_FILE: FILES,
    "hoodie.parquet.block.size": FILES,
    "hoodie.parquet.page.size": FILES,
    "hoodie.parquet.dictionary.enabled": FILES,
    RECENT: FILES,
    "hoodie.parquet.compression.codec": FILES,
    BLOOM_KEYS: FILES,
    BLOOM_RATE: FILES,
    "hoodie.copyonwrite.record.size.estimate": FILES,
    "hoodie.logfile.max.size": LOGS,
    "hoodie.logfile.data.block.max.size": LOGS,
    "hoodie.logfile.data.block.format": LOGS,
    "hoodie.clustering.inline": CLUSTERED + "a write runs or schedules a clustering after the configured number of",
    "hoodie.clustering.schedule.inline": CLUSTERED + "a write runs or schedules a clustering after the configured",
    "hoodie.clustering.async.enabled": BACKGROUND
    + "clustering runs in the background after the write that makes it due",
    "hoodie.clustering.async.max.commits": BACKGROUND
    + "clustering runs in the background after the write that makes it due",
    "hoodie.clustering.inline.max.commits": PLANNED + "clustering is due by the commits since the last one, whether",
    "hoodie.clustering.plan.strategy.small.file.limit": PLANNED + "small slices of a partition are grouped",
    "hoodie.clustering.plan.strategy.target.file.max.bytes": CLUSTERED + "files roll at the target size",
    "hoodie.clustering.plan.strategy.max.bytes.per.group": PLANNED + "small slices of a partition are grouped",
    "hoodie.clustering.plan.strategy.max.num.groups": PLANNED + "small slices of a partition are grouped",
    "hoodie.clustering.plan.strategy.sort.columns": CLUSTERED + "files roll at the target size",
    "hoodie.clustering.plan.strategy.single.group.clustering.enabled": PLANNED + "a single slice is not clustered if",
    "hoodie.clustering.plan.partition.filter.mode": PLANNED + "the partition mode selects all partitions, the latest,",
    "hoodie.clustering.plan.strategy.daybased.lookback.partitions": PLANNED + "the partition mode selects all",
    "hoodie.clustering.plan.strategy.daybased.skipfromlatest.partitions": PLANNED + "the partition mode selects all",
    "hoodie.clustering.plan.strategy.cluster.begin.partition": PLANNED + "the partition mode selects all partitions,",
    "hoodie.clustering.plan.strategy.cluster.end.partition": PLANNED + "the partition mode selects all partitions,",
    "hoodie.clustering.plan.strategy.partition.selected": PLANNED + "partitions are chosen by path or by regular",
    "hoodie.clustering.plan.strategy.partition.regex.pattern": PLANNED + "partitions are chosen by path or by regular",
    "hoodie.clustering.plan.strategy.class": "test_clustering.py::test_other_strategies_of_hudi_are_refused",
    "hoodie.clustering.execution.strategy.class": "test_clustering.py::test_other_strategies_of_hudi_are_refused",
    "hoodie.clustering.updates.strategy": "test_clustering.py::test_an_update_beside_a_planned_clustering_conflicts",
    "hoodie.clustering.enable.expirations": RUNS + "a write rolls back an expired inline clustering, a planned one",
    "hoodie.clustering.expiration.threshold.mins": RUNS + "a write rolls back an expired inline clustering, a planned",
    "hoodie.clustering.preserve.commit.metadata": CLUSTERED + "a write runs or schedules a clustering after the",
    "hoodie.layout.optimize.strategy": CLUSTERED + "files roll at the target size",
    "hoodie.layout.optimize.curve.build.method": CLUSTERED + "files roll at the target size",
    "hoodie.layout.optimize.build.curve.sample.size": CLUSTERED + "files roll at the target size",
    "hoodie.compact.inline": "test_scan.py::test_a_write_compacts_after_the_configured_number_of_delta_commits",
    "hoodie.compact.inline.max.delta.commits": "test_scan.py::test_a_write_compacts_after_the_configured_number_of",
    "hoodie.compact.schedule.inline": "AfterCommitSuite.scala::a compaction that is due is scheduled after a write",
    "hoodie.compact.inline.trigger.strategy": "CompactionDueSuite.scala::the first compaction is due by commits and",
    "hoodie.compact.inline.max.delta.seconds": "CompactionDueSuite.scala::the first compaction is due by commits and",
    "hoodie.log.compaction.inline": LOG_COMPACTIONS + "test_a_write_compacts_logs_at_the_configured_number_of_blocks",
    "hoodie.log.compaction.blocks.threshold": LOG_COMPACTIONS + "test_a_write_compacts_logs_at_the_configured_number",
    "hoodie.compaction.strategy": STRATEGIES + "slices are chosen by their number of log files",
    "hoodie.compaction.target.io": STRATEGIES + "slices with the largest logs are chosen first, until the target of",
    "hoodie.compaction.logfile.size.threshold": STRATEGIES + "slices with the largest logs are chosen first, until",
    "hoodie.compaction.logfile.num.threshold": STRATEGIES + "slices are chosen by their number of log files",
    "hoodie.compaction.daybased.target.partitions": STRATEGIES + "the latest partitions are chosen",
    "hoodie.compaction.partition.path.regex": STRATEGIES + "partitions are chosen by a regular expression",
    "hoodie.write.concurrency.mode": "test_upgrade.py::test_an_upgrade_is_refused_while_another_of_several_writers_is",
    "hoodie.clean.failed.writes.policy": HEARTBEATS,
    "hoodie.client.heartbeat.interval_in_ms": HEARTBEATS,
    "hoodie.client.heartbeat.tolerable.misses": HEARTBEATS,
    "hoodie.write.num.retries.on.conflict.failures": "AttemptsSuite.scala::a conflicting write is retried from the",
    "spark.merganser.write.txnAppId": TRANSACTIONS,
    "spark.merganser.write.txnVersion": TRANSACTIONS,
    "spark.merganser.write.txnRetentionHours": "AppTransactionsSuite.scala::an application idle for the configured",
    "spark.merganser.write.dryRun": DRY_RUNS,
    "spark.merganser.write.dryRun.rows": DRY_RUNS,
    "hoodie.write.lock.wait_time_ms": "RollbackSuite.scala::a write waits for the table's lock as long as",
    "hoodie.write.lock.provider": "WriteConfigSuite.scala::an unknown lock provider is refused for several writers",
    "hoodie.write.lock.filesystem.path": "TableLockSuite.scala::a configured lock folder of other engines is locked",
    "hoodie.write.lock.filesystem.expire": "TableLockSuite.scala::an empty lock file counts as another engine's and",
    "hoodie.write.lock.storage.validity.timeout.secs": "WriteConfigSuite.scala::the storage-based lock provider takes",
    "hoodie.write.lock.storage.renew.interval.secs": "WriteConfigSuite.scala::the storage-based lock provider takes",
    "hoodie.fs.atomic_creation.support": "StoragesSuite.scala::several writers are refused on a store without",
    "hoodie.datasource.hive_sync.enable": HIVE + "test_the_next_registration_adds_the_partitions_of_an_unregistered",
    "hoodie.datasource.meta.sync.enable": HIVE + "test_the_next_registration_adds_the_partitions_of_an_unregistered",
    "hoodie.datasource.hive_sync.metastore.uris": HIVE + "test_a_hive_client_sees_the_table",
    "hoodie.datasource.hive_sync.database": HIVE + "test_a_hive_client_sees_the_table",
    "hoodie.datasource.hive_sync.table": HIVE + "test_the_next_registration_adds_the_partitions_of_an_unregistered",
    "hoodie.datasource.hive_sync.partition_fields": HIVE + "test_sync_options_change_the_registered_columns",
    "hoodie.datasource.hive_sync.partition_extractor_class": HIVE + "test_sync_options_change_the_registered_columns",
    "hoodie.datasource.hive_sync.table.strategy": HIVE + "test_a_merge_on_read_table_is_registered",
    "hoodie.datasource.hive_sync.skip_ro_suffix": HIVE + "test_a_merge_on_read_table_is_registered",
    "hoodie.meta.sync.sync_snapshot_with_table_name": HIVE + "test_a_merge_on_read_table_is_registered",
    "hoodie.datasource.hive_sync.support_timestamp": HIVE + "test_sync_options_change_the_registered_columns",
    "hoodie.datasource.hive_sync.sync_as_datasource": HIVE + "test_sync_options_change_the_registered_columns",
    "hoodie.datasource.hive_sync.omit_metadata_fields": HIVE + "test_sync_options_change_the_registered_columns",
    "hoodie.datasource.hive_sync.auto_create_database": HIVE + "test_a_failed_registration_leaves_the_write_committed",
    "hoodie.datasource.hive_sync.ignore_exceptions": HIVE + "test_a_failed_registration_leaves_the_write_committed",
    "hoodie.datasource.hive_sync.table_properties": HIVE + "test_sync_options_change_the_registered_columns",
    "hoodie.datasource.hive_sync.serde_properties": HIVE + "test_sync_options_change_the_registered_columns",
    "hoodie.datasource.compaction.async.enable": BACKGROUND + "a write returns while its asynchronous compaction",
    "hoodie.clean.async.enabled": BACKGROUND + "stopping the session runs requested cleans, ends the threads and",
    "hoodie.archive.async": BACKGROUND + "archiving runs in the background after the write that makes it due",
    "hoodie.archive.automatic": "test_archiving.py::test_python_and_sql_archive_down_to_their_limits_and_later_writes",
    "hoodie.keep.min.commits": "test_archiving.py::test_python_and_sql_archive_down_to_their_limits_and_later_writes",
    "hoodie.keep.max.commits": "test_archiving.py::test_python_and_sql_archive_down_to_their_limits_and_later_writes",
    "hoodie.commits.archival.batch": "ArchivingSuite.scala::a block of the archive of version 6 has",
    "hoodie.archive.beyond.savepoint": "ArchivingSuite.scala::archiving keeps instants from the first savepoint on,",
    "hoodie.timeline.compaction.batch.size": "ArchivingSuite.scala::layers of the history are merged",
    "hoodie.timeline.compaction.target.file.max.bytes": "ArchivingSuite.scala::files of the history above the",
    "hoodie.timeline.manifest.retained.versions": "ArchivingSuite.scala::layers of the history are merged",
    "hoodie.fail.writes.on.inline.table.service.exception": "AfterCommitSuite.scala::a failed inline compaction",
    "hoodie.clean.automatic": CLEANING + "test_a_clean_reports_deleted_files_and_its_dry_run_deletes_none",
    "hoodie.clean.policy": CLEANING + "test_a_clean_reads_its_policy_from_the_table_and_from_older_names",
    "hoodie.clean.commits.retained": CLEANING + "test_a_clean_reports_deleted_files_and_its_dry_run_deletes_none",
    "hoodie.clean.hours.retained": CLEANING + "test_a_clean_reads_its_policy_from_the_table_and_from_older_names",
    "hoodie.clean.fileversions.retained": CLEANING + "test_a_clean_reads_its_policy_from_the_table_and_from_older",
    "hoodie.clean.trigger.strategy": CLEANING + "test_a_clean_reads_its_policy_from_the_table_and_from_older_names",
    "hoodie.clean.trigger.max.commits": CLEANING + "test_a_clean_reads_its_policy_from_the_table_and_from_older_names",
    "hoodie.clean.incremental.enabled": "CleaningScopeSuite.scala::a clean lists exactly the partitions in which",
    "spark.merganser.write.allowUnknownProperties": "TableFeaturesSuite.scala::an unknown property refuses writing",
    "spark.merganser.write.dropIndexes": "test_foreign_tables.py::test_a_write_to_a_table_with_a_record_index_is",
    "spark.merganser.write.dropMetadataTable": "test_foreign_tables.py::test_a_write_to_a_table_with_a_record_index",
    "hoodie.upsert.shuffle.parallelism": TASKS,
    "hoodie.insert.shuffle.parallelism": TASKS,
    "hoodie.bulkinsert.shuffle.parallelism": TASKS,
    "hoodie.delete.shuffle.parallelism": TASKS,
    "hoodie.datasource.query.type": RULES + "test_a_read_optimized_read_shows_base_files_alone",
    "spark.merganser.merge.allowedClasses": "AllowedClassesSuite.scala::a class that the application does not allow",
    "hoodie.datasource.read.begin.instanttime": INCREMENTAL + "test_every_way_to_read_returns_the_rows_that_changed",
    "hoodie.datasource.read.end.instanttime": INCREMENTAL + "test_every_way_to_read_returns_the_rows_that_changed",
    "hoodie.datasource.query.incremental.format": INCREMENTAL + "test_an_unreadable_window_is_refused_before_the_read",
    "hoodie.datasource.read.schema.use.end.instanttime": INCREMENTAL + "test_windows_return_overwrites_partial_rows",
    "as.of.instant": "test_sql_tables.py::test_version_and_timestamp_as_of_return_earlier_rows",
}


# Guarantee (Writes): Each documented option has its documented effect.
def test_every_documented_option_has_a_test_of_its_effect() -> None:
    page = (ROOT / "docs" / "config.md").read_text()
    documented = set(re.findall(r"^- \*\*`([^`]+)`\*\*", page, re.M))
    assert documented - SEEN.keys() == set(), "options that no test sees: add a test, and its name to SEEN"
    assert SEEN.keys() - documented == set(), "options that are documented no more"
    files = {**PYTESTS, **{f.name: f for f in ROOT.glob("jvm/*/src/test/**/*.scala")}}
    for key, place in SEEN.items():
        file, name = place.split("::")
        begin = f"def {name}" if file.endswith(".py") else rf'test\(\s*s?"(?:version \$version: )?{re.escape(name)}'
        assert re.search(begin, files[file].read_text()), f"{key}: {file} has no test '{name}'"


def rows(spark: SparkSession, count: int, ts: int = 1, first: int = 0) -> DataFrame:
    rng = random.Random(ts)
    return frame(
        spark, [(i, ts, f"{rng.getrandbits(400):0100x}", "same") for i in range(first, first + count)], COLUMNS
    )


def bases(path: Path) -> list[Path]:
    return [f for f in path.glob("*.parquet") if not f.name.startswith(".")]


def test_options_of_a_write_change_its_base_files(spark: SparkSession, tmp_path: Path) -> None:
    def written(count: int = 2000, **more: str) -> Path:
        path = tmp_path / uuid.uuid4().hex
        save(rows(spark, count), path, {**OPTIONS, **more})
        return path

    def footer(path: Path) -> Any:
        (only,) = bases(path)
        return pq.ParquetFile(only).metadata

    def column(of: Any, name: str) -> Any:
        return next(c for c in map(of.row_group(0).column, range(of.num_columns)) if c.path_in_schema == name)

    plain = footer(written())
    assert plain.num_row_groups == 1
    assert column(plain, "v").compression == "SNAPPY"
    assert column(plain, "c").has_dictionary_page
    assert footer(written(**{"hoodie.parquet.block.size": "20000"})).num_row_groups > 1
    assert column(footer(written(**{"hoodie.parquet.compression.codec": "gzip"})), "v").compression == "GZIP"
    assert not column(footer(written(**{"hoodie.parquet.dictionary.enabled": "false"})), "c").has_dictionary_page
    pages = column(footer(written(**{"hoodie.parquet.page.size": "1000"})), "v").total_uncompressed_size
    assert pages > column(plain, "v").total_uncompressed_size

    def has_recent_rows(count: int, **more: str) -> bool:
        """Whether the base file has rows a second time after an upsert of some of its 2,000 rows."""
        path = written()
        save(rows(spark, count, ts=2), path, {**OPTIONS, **more})
        newest = max(bases(path), key=lambda file: file.name.split("_")[-1])
        return b"merganser.recent.rows" in pq.ParquetFile(newest).metadata.metadata

    def filter_bytes(**more: str) -> int:
        return len(footer(written(**{INDEX: "BLOOM", **more})).metadata[b"org.apache.hudi.bloomfilter"])

    assert has_recent_rows(10)
    assert not has_recent_rows(400)
    assert has_recent_rows(400, **{RECENT: "50"})
    assert not has_recent_rows(10, **{RECENT: "0"})

    assert filter_bytes() > 10 * filter_bytes(**{BLOOM_KEYS: "100"})
    assert filter_bytes() > 2 * filter_bytes(**{BLOOM_RATE: "0.01"})

    assert len(bases(written(10, **{"hoodie.copyonwrite.record.size.estimate": str(40 << 20)}))) == 4
    for operation in "upsert", "insert", "bulk_insert":
        path = written(**{OPERATION: operation, MAX_FILE: "60000", "hoodie.bulkinsert.shuffle.parallelism": "1"})
        files = bases(path)
        assert len(files) >= 3, operation
        assert max(f.stat().st_size for f in files) < 120000, operation
        stored = load(spark, path).select("id", "_hoodie_file_name").collect()
        assert sorted(row[0] for row in stored) == list(range(2000)), operation
        assert {row[1] for row in stored} == {f.name for f in files}, operation
        save(rows(spark, 1, ts=2), path, {**OPTIONS, MAX_FILE: "60000"})
        assert load(spark, path).where("ts = 2").count() == 1

    filled = written(10)
    save(rows(spark, 10, first=10), filled, OPTIONS)
    save(rows(spark, 10, first=20), filled, {**OPTIONS, "hoodie.parquet.small.file.limit": "0"})
    assert len(merganser.Table.load(spark, str(filled)).inspect.file_slices()) == 2


def test_options_of_a_write_change_its_logs(spark: SparkSession, tmp_path: Path) -> None:
    path, options = tmp_path / "t", {**OPTIONS, TYPE: MOR}
    save(rows(spark, 500), path, options)
    table = merganser.Table.load(spark, str(path))

    def logs(ts: int, **more: str) -> list[bytes]:
        before = set(path.glob(".*.log.*"))
        save(rows(spark, 500, ts=ts), path, {**options, **more})
        return [f.read_bytes() for f in set(path.glob(".*.log.*")) - before if not f.name.endswith(".crc")]

    block = {"hoodie.logfile.data.block.max.size": "20000"}
    (one,) = logs(2)
    (blocks,) = logs(3, **block)
    assert one.count(b"#HUDI#") == 1
    assert blocks.count(b"#HUDI#") > 2
    assert b"PAR1" not in one
    assert b"PAR1" in logs(4, **{"hoodie.logfile.data.block.format": "parquet"})[0]
    several = logs(5, **block, **{"hoodie.logfile.max.size": "30000"})
    assert len(several) > 2
    assert len(table.history()) == 5
    assert table.history(1)[0].rows_written == 500
    assert {row.ts for row in table.df().collect()} == {5}
    table.compact()
    assert rows_of(table.df().select("id", "ts")) == sorted(((i, 5) for i in range(500)), key=repr)


@pytest.mark.parametrize("way", ["created", "altered"])
def test_every_write_to_a_table_with_avro_logs_writes_avro_blocks(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    path, avro = tmp_path / "t", "'hoodie.logfile.data.block.format' = 'avro'"
    if way == "created":
        spark.sql(
            f"CREATE TABLE blocks (id int, ts bigint, v string) USING merganser LOCATION '{path}' "
            f"TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts', type = 'mor', {avro})"
        )
        spark.sql("DROP TABLE blocks")
        table = merganser.Table.load(spark, str(path))
    else:
        columns, kind = "id int, ts bigint, v string", merganser.TableType.MERGE_ON_READ
        table = merganser.Table.create(spark, path, columns, record_key="id", ordering_by="ts", table_type=kind)
        spark.sql(f"ALTER TABLE {table.identifier} SET TBLPROPERTIES ({avro})")
    many = spark.range(1100).selectExpr("CAST(id AS int) id", "1L ts", "'a' v").coalesce(1)
    table.bulk_insert(many)
    table.upsert(many.selectExpr("id", "2L ts", "'b' v"))
    spark.sql(f"UPDATE {table.identifier} SET v = 'c'")
    table.services.compact_logs(options={"hoodie.log.compaction.blocks.threshold": "2"})
    logs = [f.read_bytes() for f in path.glob(".*.log.*") if not f.name.endswith(".crc")]
    assert len(logs) == 3
    assert not [log for log in logs if b"PAR1" in log]
    assert {row.v for row in table.df().collect()} == {"c"}


def test_a_write_without_rows_makes_no_commit_if_empty_commits_are_disabled(sql: Sql) -> None:
    never = {"hoodie.allow.empty.commit": "false"}
    for kind in "cow", "mor":
        name = sql.create(kind, COLUMNS)
        table = merganser.Table.load(sql.spark, name)
        none = rows(sql.spark, 0)
        table.upsert(rows(sql.spark, 3))
        assert table.upsert(none).instant == table.history(1)[0].instant
        assert len(table.history()) == 2
        assert table.upsert(none, options=merganser.WriteOptions(hoodie=never)).instant == ""
        with sql.settings(never):
            sql.run(f"UPDATE {name} SET c = 'x' WHERE id = 99")
            sql.run(f"DELETE FROM {name} WHERE id = 99")
            sql.run(f"MERGE INTO {name} t USING (SELECT 99 id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
            assert len(table.history()) == 2
            sql.run(f"DELETE FROM {name} WHERE id = 2")
            sql.run(f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE id = 99")
        assert len(table.history()) == 4
        assert sql.rows(name) == []


def test_creating_a_table_without_rows_makes_a_commit(spark: SparkSession, tmp_path: Path) -> None:
    save(rows(spark, 0), tmp_path / "t", {**OPTIONS, "hoodie.allow.empty.commit": "false"})
    assert load(spark, tmp_path / "t").columns == ["id", "ts", "v", "c"]


def extra_metadata(spark: SparkSession, path: Path) -> dict[str, str]:
    newest = max((f for f in (path / ".hoodie" / "timeline").glob("*.commit")), key=lambda f: f.name)
    return commit_metadata(spark, newest)["extraMetadata"]


def test_options_with_the_commit_prefix_are_stored_in_the_commit(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(rows(spark, 1), path, {**OPTIONS, "_job": "a"})
    assert extra_metadata(spark, path)["_job"] == "a"
    save(rows(spark, 1), path, {**OPTIONS, "hoodie.datasource.write.commitmeta.key.prefix": "note.", "note.job": "b"})
    assert extra_metadata(spark, path)["note.job"] == "b"


@pytest.mark.parametrize("kind", [COW, MOR])
def test_a_delete_marker_applies_to_one_write_if_an_older_table_does_not_store_it(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "t"
    options = {**OPTIONS, TYPE: kind, "hoodie.write.table.version": "8"}
    save(frame(spark, [(1, 1, "a", "I"), (2, 1, "b", "I")], COLUMNS), path, options)
    mark = {"hoodie.payload.delete.field": "c", "hoodie.payload.delete.marker": "D"}
    save(frame(spark, [(1, 2, "a", "D"), (2, 2, "b", "d")], COLUMNS), path, {**options, **mark})
    assert rows_of(load(spark, path)) == [(2, 2, "b", "d")]
    save(frame(spark, [(2, 3, "b", "D")], COLUMNS), path, options)
    assert rows_of(load(spark, path)) == [(2, 3, "b", "D")]


def test_a_session_setting_changes_the_operation_of_an_insert(sql: Sql) -> None:
    name = sql.create("cow", COLUMNS)
    with sql.settings({"hoodie.sql.bulk.insert.enable": "true"}):
        sql.run(f"INSERT INTO {name} VALUES (1, 1, 'a', 'b')")
    sql.run(f"INSERT INTO {name} VALUES (2, 1, 'a', 'b')")
    table = merganser.Table.load(sql.spark, name)
    assert [entry.operation for entry in table.history()] == ["INSERT", "BULK_INSERT"]


@each_kind
def test_statements_log_whole_rows_if_partial_updates_are_disabled(sql: Sql, kind: str) -> None:
    table = sql.create(kind, COLUMNS)
    sql.run(f"INSERT INTO {table} VALUES (1, 5, 'a', 'kept'), (2, 5, 'b', 'kept')")
    with sql.settings({"hoodie.spark.sql.merge.into.partial.updates": "false"}):
        sql.run(f"MERGE INTO {table} t USING (SELECT 1 id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 'x'")
        sql.run(f"UPDATE {table} SET v = 'y' WHERE id = 2")
    logs = [log.read_bytes() for log in sql.folder(table).glob(".*.log.*") if not log.name.endswith(".crc")]
    assert len(logs) == (2 if kind == "mor" else 0)
    assert all(b"kept" in log for log in logs)
    assert sql.rows(table) == [(1, 5, "x", "kept"), (2, 5, "y", "kept")]


def test_an_operation_runs_the_configured_number_of_tasks(spark: SparkSession, tmp_path: Path) -> None:
    path, context = tmp_path / "t", spark.sparkContext
    tracker = context.statusTracker()
    save(rows(spark, 20), path, OPTIONS)

    def tasks(operation: str, **more: str) -> set[int]:
        group = uuid.uuid4().hex
        context.setJobGroup(group, operation)
        try:
            save(rows(spark, 20, ts=2), path, {**OPTIONS, OPERATION: operation, **more})
        finally:
            context._jsc.clearJobGroup()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        return {stage.numTasks for stage in stages if stage}

    for operation in "upsert", "insert", "bulk_insert", "delete":
        # An insert that looks nothing up shuffles its rows by key only with this option.
        key = f"hoodie.{operation.replace('_', '')}.shuffle.parallelism"
        assert 7 in tasks(operation, **{key: "7"}), operation
        assert 7 not in tasks(operation), operation
