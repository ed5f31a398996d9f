-- # A frame of a {kind} table: {operation}
-- for kind | operation
--   COPY_ON_WRITE | upsert
--   COPY_ON_WRITE | insert
--   COPY_ON_WRITE | bulk_insert
--   COPY_ON_WRITE | delete
--   COPY_ON_WRITE | insert_overwrite
--   COPY_ON_WRITE | insert_overwrite_table
--   COPY_ON_WRITE | delete_partition
--   COPY_ON_WRITE | nothing
--   MERGE_ON_READ | upsert
--   MERGE_ON_READ | insert
--   MERGE_ON_READ | bulk_insert
--   MERGE_ON_READ | delete
--   MERGE_ON_READ | insert_overwrite
--   MERGE_ON_READ | delete_partition
WRITE overwrite {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.precombine.field = 'ts', hoodie.datasource.write.partitionpath.field = 'day', hoodie.datasource.write.table.type = '{kind}') AS SELECT * FROM VALUES (1, 'a', 5L, 'd1'), (2, 'b', 5L, 'd1'), (3, 'c', 5L, 'd2') AS s(k, v, ts, day);
WRITE append {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.precombine.field = 'ts', hoodie.datasource.write.partitionpath.field = 'day', hoodie.datasource.write.operation = '{operation}') AS SELECT * FROM VALUES (1, 'x', 9L, 'd1'), (2, 'late', 1L, 'd1') AS s(k, v, ts, day);

-- # A frame in mode {mode} over a table
-- for mode
--   overwrite
--   append
--   ignore
--   error
WRITE overwrite {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k') AS SELECT 1 AS k, 'a' AS v;
WRITE {mode} {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k') AS SELECT 2 AS k, 'b' AS v;

-- # A frame without {what}
-- for what | given
--   options | hoodie.table.name = 't'
--   a key, partitioned | hoodie.table.name = 't', hoodie.datasource.write.partitionpath.field = 'day'
--   an ordering field | hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k'
--   the table's name | hoodie.datasource.write.recordkey.field = 'k'
WRITE overwrite {path} OPTIONS ({given}) AS SELECT 1 AS k, 'a' AS v, 5L AS ts, 'd1' AS day;
WRITE append {path} OPTIONS ({given}) AS SELECT 1 AS k, 'b' AS v, 1L AS ts, 'd1' AS day;

-- # A frame appends without naming the table's settings
WRITE overwrite {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.precombine.field = 'ts') AS SELECT 1 AS k, 'a' AS v, 5L AS ts;
WRITE append {path} AS SELECT 1 AS k, 'b' AS v, 6L AS ts;
WRITE append {path} OPTIONS (hoodie.table.name = 't') AS SELECT 1 AS k, 'c' AS v, 7L AS ts;

-- # A frame names the partition columns {what}
-- for what | given
--   of one column | hoodie.datasource.write.partitionpath.field = 'day'
--   of two columns | hoodie.datasource.write.partitionpath.field = 'day,hour'
--   in Hive's style | hoodie.datasource.write.partitionpath.field = 'day', hoodie.datasource.write.hive_style_partitioning = 'true'
--   encoded | hoodie.datasource.write.partitionpath.field = 'hour', hoodie.datasource.write.partitionpath.urlencode = 'true'
--   with the key generator of several | hoodie.datasource.write.partitionpath.field = 'day,hour', hoodie.datasource.write.keygenerator.class = 'org.apache.hudi.keygen.ComplexKeyGenerator'
--   with the custom key generator | hoodie.datasource.write.partitionpath.field = 'day:SIMPLE', hoodie.datasource.write.keygenerator.class = 'org.apache.hudi.keygen.CustomKeyGenerator'
--   of none | hoodie.datasource.write.partitionpath.field = ''
--   dropped from the files | hoodie.datasource.write.partitionpath.field = 'day', hoodie.datasource.write.drop.partition.columns = 'true'
WRITE overwrite {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', {given}) AS SELECT 1 AS k, 'd1' AS day, 'a/b' AS hour, 'x' AS v;
WRITE append {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', {given}) AS SELECT 1 AS k, 'd1' AS day, 'a/b' AS hour, 'y' AS v;

-- # A frame that appends has {what}
-- for what | query
--   columns in another order | SELECT 'b' AS v, 6L AS ts, 2 AS k
--   a column more | SELECT 2 AS k, 'b' AS v, 6L AS ts, 'new' AS w
--   a column less | SELECT 2 AS k, 6L AS ts
--   a wider key | SELECT 2L AS k, 'b' AS v, 6L AS ts
--   a narrower ordering value | SELECT 2 AS k, 'b' AS v, 6 AS ts
--   a number for a string | SELECT 2 AS k, 5 AS v, 6L AS ts
--   a string for a number | SELECT 2 AS k, 'b' AS v, '6' AS ts
--   names in capitals | SELECT 2 AS K, 'b' AS V, 6L AS TS
--   two rows of one key | SELECT * FROM VALUES (2, 'new', 7L), (2, 'old', 6L) AS s(k, v, ts)
--   a null key | SELECT CAST(NULL AS INT) AS k, 'b' AS v, 6L AS ts
--   a null ordering value | SELECT 1 AS k, 'b' AS v, CAST(NULL AS BIGINT) AS ts
--   a delete flag | SELECT 1 AS k, 'b' AS v, 6L AS ts, true AS _hoodie_is_deleted
--   a delete flag that is an integer | SELECT 1 AS k, 'b' AS v, 6L AS ts, 1 AS _hoodie_is_deleted
--   a delete flag that is a string | SELECT 1 AS k, 'b' AS v, 6L AS ts, 'true' AS _hoodie_is_deleted
--   an operation column | SELECT 1 AS k, 'b' AS v, 6L AS ts, 'D' AS _hoodie_operation
--   no rows | SELECT 2 AS k, 'b' AS v, 6L AS ts WHERE false
WRITE overwrite {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.precombine.field = 'ts') AS SELECT 1 AS k, 'a' AS v, 5L AS ts;
WRITE append {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.precombine.field = 'ts') AS {query};

-- # A frame's option {option}
-- for option
--   hoodie.datasource.write.insert.drop.duplicates = 'true', hoodie.datasource.write.operation = 'insert'
--   hoodie.datasource.insert.dup.policy = 'drop', hoodie.datasource.write.operation = 'insert'
--   hoodie.datasource.insert.dup.policy = 'fail', hoodie.datasource.write.operation = 'insert'
--   hoodie.combine.before.upsert = 'false'
--   hoodie.combine.before.insert = 'true', hoodie.datasource.write.operation = 'insert'
--   hoodie.datasource.write.recordkey.field = 'v'
--   hoodie.datasource.write.precombine.field = 'v'
--   hoodie.datasource.write.table.type = 'MERGE_ON_READ'
--   hoodie.datasource.write.payload.class = 'org.apache.hudi.common.model.EmptyHoodieRecordPayload'
--   hoodie.datasource.write.payload.class = 'org.apache.hudi.common.model.OverwriteWithLatestAvroPayload'
--   hoodie.write.record.merge.mode = 'COMMIT_TIME_ORDERING'
--   hoodie.write.set.null.for.missing.columns = 'true'
--   hoodie.datasource.write.reconcile.schema = 'true'
--   hoodie.index.type = 'BLOOM'
--   hoodie.index.type = 'GLOBAL_SIMPLE'
--   hoodie.table.name = 'other'
--   hoodie.upsert.shuffle.parallelism = '2'
--   hoodie.no.such.option = '1'
WRITE overwrite {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.precombine.field = 'ts') AS SELECT 1 AS k, 'a' AS v, 5L AS ts;
WRITE append {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.precombine.field = 'ts', {option}) AS SELECT * FROM VALUES (1, 'late', 1L), (2, 'b', 2L), (2, 'c', 1L) AS s(k, v, ts);

-- # A frame of an old table: {given}
-- for given
--   hoodie.write.table.version = '6'
--   hoodie.write.table.version = '8'
--   hoodie.datasource.write.keygenerator.class = 'org.apache.hudi.keygen.ComplexKeyGenerator'
--   hoodie.datasource.write.keygenerator.class = 'org.apache.hudi.keygen.NonpartitionedKeyGenerator'
--   hoodie.datasource.write.payload.class = 'org.apache.hudi.common.model.PartialUpdateAvroPayload'
--   hoodie.record.merge.mode = 'EVENT_TIME_ORDERING'
--   hoodie.table.ordering.fields = 'ts'
--   hoodie.populate.meta.fields = 'false'
WRITE overwrite {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.precombine.field = 'ts', hoodie.datasource.write.table.type = 'MERGE_ON_READ', {given}) AS SELECT 1 AS k, 'a' AS v, 5L AS ts;
WRITE append {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.precombine.field = 'ts', {given}) AS SELECT * FROM VALUES (1, 'late', 1L), (2, NULL, 2L) AS s(k, v, ts);

-- # A frame deletes the partitions of an option
WRITE overwrite {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.partitionpath.field = 'day') AS SELECT * FROM VALUES (1, 'd1'), (2, 'd2'), (3, 'd3') AS s(k, day);
WRITE append {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.partitionpath.field = 'day', hoodie.datasource.write.operation = 'delete_partition', hoodie.datasource.write.partitions.to.delete = 'd1,d3') AS SELECT * FROM VALUES (1, 'd2') AS s(k, day);

-- # A read has the option {options}
-- for options
--   hoodie.datasource.query.type = 'snapshot'
--   hoodie.datasource.query.type = 'read_optimized'
--   hoodie.datasource.query.type = 'incremental', hoodie.datasource.read.begin.instanttime = '{instant 1}'
--   hoodie.datasource.query.type = 'incremental', hoodie.datasource.read.begin.instanttime = '000'
--   hoodie.datasource.query.type = 'incremental', hoodie.datasource.read.begin.instanttime = 'earliest', hoodie.datasource.read.end.instanttime = '{instant 1}'
--   hoodie.datasource.query.type = 'incremental', hoodie.datasource.query.incremental.format = 'cdc', hoodie.datasource.read.begin.instanttime = '000'
--   as.of.instant = '{instant 1}'
--   as.of.instant = '2999-01-01'
--   hoodie.datasource.query.type = 'other'
--   hoodie.datasource.read.extract.partition.values.from.path = 'true'
--   hoodie.no.such.option = '1'
WRITE overwrite {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.table.type = 'MERGE_ON_READ') AS SELECT 1 AS k, 'a' AS v;
WRITE append {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k') AS SELECT 1 AS k, 'b' AS v;
READ {path} OPTIONS ({options});

-- # A table of a frame is used by SQL
WRITE overwrite {path} OPTIONS (hoodie.table.name = 't', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.precombine.field = 'ts', hoodie.datasource.write.partitionpath.field = 'day') AS SELECT 'd1' AS day, 1 AS k, 'a' AS v, 5L AS ts;
CREATE TABLE {t} USING hudi LOCATION '{path}';
INSERT INTO {t} SELECT 2 AS k, 'b' AS v, 6L AS ts, 'd2' AS day;
UPDATE {t} SET v = 'c' WHERE k = 1;
DELETE FROM {t} WHERE k = 2;

-- # A table of SQL is used by a frame
CREATE TABLE {t} (k INT, day STRING, v STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = '{type}') LOCATION '{path}';
INSERT INTO {t} (k, v, day) VALUES (1, 'a', 'd1');
WRITE append {path} OPTIONS (hoodie.table.name = '{t}', hoodie.datasource.write.recordkey.field = 'k', hoodie.datasource.write.partitionpath.field = 'day', hoodie.datasource.write.hive_style_partitioning = 'true') AS SELECT 'd1' AS day, 1 AS k, 'b' AS v;
READ {path};
