-- # Compaction is scheduled and run: {arguments}
-- for arguments
--   op => 'scheduleandexecute', table => '{t}'
--   op => 'scheduleAndExecute', table => '{t}'
--   op => 'schedule', table => '{t}'
--   op => 'run', table => '{t}'
--   op => 'execute', table => '{t}'
--   'scheduleandexecute', '{t}'
--   op => 'scheduleandexecute', table => '{t}', limit => 1
--   op => 'scheduleandexecute', table => '{t}', options => 'hoodie.compaction.strategy=org.apache.hudi.table.action.compact.strategy.UnBoundedCompactionStrategy'
--   op => 'sometimes', table => '{t}'
--   table => '{t}'
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor', 'hoodie.compact.inline.max.delta.commits' = '1');
INSERT INTO {t} VALUES (1, 'a');
UPDATE {t} SET v = 'b';
CALL run_compaction({arguments});
CALL show_compaction(table => '{t}');
CALL show_compaction(table => '{t}', limit => 1);

-- # Clustering is scheduled and run: {arguments}
-- for arguments
--   table => '{t}'
--   table => '{t}', order => 'k'
--   table => '{t}', op => 'schedule'
--   table => '{t}', op => 'execute'
--   table => '{t}', op => 'scheduleAndExecute', order => 'k, v', order_strategy => 'z-order'
--   table => '{t}', op => 'scheduleandexecute', order_strategy => 'hilbert', order => 'k,v'
--   table => '{t}', predicate => 'day = "d1"'
--   table => '{t}', selected_partitions => 'day=d1', show_involved_partition => true
--   table => '{t}', op => 'never'
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (2, 'b', 'd1'), (1, 'a', 'd2');
CALL run_clustering({arguments});
CALL show_clustering(table => '{t}');
CALL show_clustering(table => '{t}', limit => 1, show_involved_partition => true);

-- # Cleaning is run: {arguments}
-- for arguments
--   table => '{t}'
--   table => '{t}', retain_commits => 1
--   table => '{t}', clean_policy => 'KEEP_LATEST_FILE_VERSIONS', file_versions_retained => 1
--   table => '{t}', clean_policy => 'KEEP_LATEST_BY_HOURS', hours_retained => 1
--   table => '{t}', skip_locking => true, schedule_in_line => true, retain_commits => 1
--   table => '{t}', trigger_strategy => 'NUM_COMMITS', trigger_max_commits => 1, retain_commits => 1
--   table => '{t}', options => 'hoodie.cleaner.commits.retained=1'
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
UPDATE {t} SET v = 'b';
UPDATE {t} SET v = 'c';
CALL run_clean({arguments});
CALL show_cleans(table => '{t}');
CALL show_cleans_metadata(table => '{t}', limit => 1);

-- # Savepoints are created, shown, rolled back to and deleted
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a');
CALL create_savepoint(table => '{t}', commit_time => '{instant 1}');
CALL show_savepoints(table => '{t}');
INSERT INTO {t} VALUES (2, 'b');
CALL rollback_to_savepoint(table => '{t}', instant_time => '{instant 1}');
SELECT * FROM {t};
CALL delete_savepoint(table => '{t}', instant_time => '{instant 1}');

-- # A savepoint is created with user and comments
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
CALL create_savepoint(table => '{t}', commit_time => '{instant 1}', user => 'me', comments => 'before');
CALL create_savepoint(table => '{t}', commit_time => '20200101000000000');

-- # A commit is rolled back
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a');
INSERT INTO {t} VALUES (2, 'b');
CALL rollback_to_instant(table => '{t}', instant_time => '{instant 2}');
CALL rollback_to_instant(table => '{t}', instant_time => '20200101000000000');

-- # CALL {what}
-- for what | procedure | arguments
--   show_commits | show_commits | table => '{t}', limit => 10
--   show_commits by position | show_commits | '{t}', 5
--   show_commits with archived ones | show_commits | table => '{t}', showArchived => true
--   show_commits by path | show_commits | path => '{path}'
--   show_commits_metadata | show_commits_metadata | table => '{t}', limit => 10
--   show_archived_commits | show_archived_commits | table => '{t}', limit => 10, start_ts => '20200101000000000', end_ts => '20300101000000000'
--   show_archived_commits_metadata | show_archived_commits_metadata | table => '{t}'
--   show_commit_files | show_commit_files | table => '{t}', instant_time => '{instant 1}'
--   show_commit_partitions | show_commit_partitions | table => '{t}', instant_time => '{instant 1}'
--   show_commit_write_stats | show_commit_write_stats | table => '{t}', instant_time => '{instant 1}'
--   show_commit_extra_metadata | show_commit_extra_metadata | table => '{t}', instant_time => '{instant 1}'
--   show_rollbacks | show_rollbacks | table => '{t}', limit => 10
--   show_timeline | show_timeline | table => '{t}', limit => 5
--   show_timeline of a time | show_timeline | table => '{t}', startTime => '20200101000000000', endTime => '20300101000000000'
--   show_fsview_latest | show_fsview_latest | table => '{t}', partition_path => ''
--   show_fsview_all | show_fsview_all | table => '{t}'
--   show_table_properties | show_table_properties | table => '{t}', limit => 5
--   show_invalid_parquet | show_invalid_parquet | path => '{path}'
--   stats_file_sizes | stats_file_sizes | table => '{t}'
--   stats_wa | stats_wa | table => '{t}'
--   show_metadata_table_files | show_metadata_table_files | table => '{t}'
--   metadata_create | metadata_create | table => '{t}'
--   commits_compare | commits_compare | table => '{t}', path => '{path}'
--   validate_hoodie_sync | validate_hoodie_sync | src_table => '{t}', dst_table => '{t}', mode => 'complete', hive_server_url => '', hive_pass => ''
--   archive_commits | archive_commits | table => '{t}', min_commits => 2, max_commits => 3, retain_commits => 1
--   repair_deduplicate | repair_deduplicate | table => '{t}', duplicated_partition_path => '', repaired_output_path => '{path}_out'
--   repair_add_partition_meta | repair_add_partition_meta | table => '{t}', dry_run => true
--   repair_migrate_partition_meta | repair_migrate_partition_meta | table => '{t}', dry_run => true
--   repair_corrupted_clean_files | repair_corrupted_clean_files | table => '{t}'
--   repair_overwrite_hoodie_props | repair_overwrite_hoodie_props | table => '{t}', new_props_file_path => '{path}/no.properties'
--   upgrade_table | upgrade_table | table => '{t}', to_version => 'NINE'
--   downgrade_table | downgrade_table | table => '{t}', to_version => 'EIGHT'
--   delete_marker | delete_marker | table => '{t}', instant_time => '{instant 1}'
--   copy_to_table | copy_to_table | table => '{t}', new_table => '{u}'
--   copy_to_temp_view | copy_to_temp_view | table => '{t}', view_name => 'copied'
--   delete_fsview | delete_fsview | table => '{t}'
--   drop_partition | drop_partition | table => '{t}', predicate => 'k=1'
--   truncate_table | truncate_table | table => '{t}'
--   export_instants | export_instants | table => '{t}', local_folder => '{path}'
--   help | help | cmd => 'show_commits'
--   no_such_procedure | no_such_procedure | table => '{t}'
--   show_cleans with an unknown parameter | show_cleans | table => '{t}', no_such => 1
--   show_commits of an unknown table | show_commits | table => 'no_such_table'
--   show_commits with a limit that is a string | show_commits | table => '{t}', limit => '5'
--   show_commits without a table | show_commits | limit => 5
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k') LOCATION '{path}';
INSERT INTO {t} VALUES (1, 'a');
CALL {procedure}({arguments});
