-- # SET hoodie.datasource.write.operation={operation} and INSERT INTO
-- for operation
--   upsert
--   insert
--   bulk_insert
--   delete
--   insert_overwrite
--   insert_overwrite_table
--   delete_partition
--   nothing
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd1'), (3, 'c', 'd2');
SET hoodie.datasource.write.operation={operation};
INSERT INTO {t} VALUES (1, 'x', 'd1');

-- # SET {setting} and INSERT INTO
-- for setting
--   hoodie.datasource.write.insert.drop.duplicates=true
--   hoodie.combine.before.insert=true
--   hoodie.merge.allow.duplicate.on.inserts=false
--   hoodie.datasource.write.recordkey.field=v
--   hoodie.datasource.write.precombine.field=v
--   hoodie.datasource.write.partitionpath.field=v
--   hoodie.datasource.write.keygenerator.class=org.apache.hudi.keygen.ComplexKeyGenerator
--   hoodie.datasource.write.payload.class=org.apache.hudi.common.model.OverwriteWithLatestAvroPayload
--   hoodie.datasource.write.hive_style_partitioning=false
--   hoodie.datasource.write.table.type=MERGE_ON_READ
--   hoodie.write.record.merge.mode=COMMIT_TIME_ORDERING
--   hoodie.record.merge.mode=COMMIT_TIME_ORDERING
--   hoodie.index.type=BLOOM
--   hoodie.index.type=BUCKET
--   hoodie.insert.shuffle.parallelism=4
--   hoodie.upsert.shuffle.parallelism=4
--   hoodie.parquet.small.file.limit=0
--   hoodie.write.concurrency.mode=OPTIMISTIC_CONCURRENCY_CONTROL
--   hoodie.datasource.write.row.writer.enable=false
--   hoodie.populate.meta.fields=false
--   hoodie.metadata.index.column.stats.enable=true
--   hoodie.schema.on.read.enable=true
--   hoodie.datasource.write.reconcile.schema=true
--   hoodie.write.set.null.for.missing.columns=true
--   hoodie.datasource.write.drop.partition.columns=true
--   hoodie.no.such.option=1
--   hoodie.table.name=other
CREATE TABLE {t} (k INT, v STRING, ts BIGINT, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
INSERT INTO {t} VALUES (1, 'a', 5L, 'd1');
SET {setting};
INSERT INTO {t} VALUES (1, 'late', 1L, 'd1'), (2, 'b', 1L, 'd1');
UPDATE {t} SET v = 'c' WHERE k = 2;

-- # SET {setting} and MERGE
-- for setting
--   hoodie.spark.sql.merge.into.partial.updates=false
--   hoodie.spark.sql.merge.into.partial.updates=true
--   hoodie.spark.sql.optimized.writes.enable=false
--   hoodie.datasource.write.operation=insert
--   hoodie.spark.sql.insert.into.operation=bulk_insert
--   hoodie.merge.small.file.group.candidates.limit=0
CREATE TABLE {t} (k INT, v STRING, w STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = 'mor');
INSERT INTO {t} VALUES (1, 'a', 'x', 1L);
SET {setting};
MERGE INTO {t} USING (SELECT 1 AS k, 'b' AS v, 2L AS ts UNION ALL SELECT 2, 'c', 2L) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v, ts = s.ts WHEN NOT MATCHED THEN INSERT (k, v, ts) VALUES (s.k, s.v, s.ts);

-- # SET {setting} and CREATE TABLE
-- for setting
--   hoodie.datasource.write.table.type=MERGE_ON_READ
--   hoodie.datasource.write.recordkey.field=v
--   hoodie.datasource.write.hive_style_partitioning=false
--   hoodie.write.record.merge.mode=COMMIT_TIME_ORDERING
--   hoodie.write.table.version=8
--   hoodie.table.base.file.format=PARQUET
CREATE TABLE {u} (k INT) USING hudi TBLPROPERTIES (primaryKey = 'k');
SET {setting};
CREATE TABLE {t} (k INT, v STRING, ts BIGINT, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', 'hoodie.spark.sql.insert.into.operation' = 'upsert');
INSERT INTO {t} VALUES (1, 'a', 5L, 'd1');
INSERT INTO {t} VALUES (1, 'late', 1L, 'd1');

-- # A property of the table is stronger than the session's setting
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', 'hoodie.spark.sql.insert.into.operation' = 'insert');
SET hoodie.spark.sql.insert.into.operation=upsert;
INSERT INTO {t} VALUES (1, 'a');
INSERT INTO {t} VALUES (1, 'b');

-- # Compaction in line by settings of the session
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
SET hoodie.compact.inline=true;
SET hoodie.compact.inline.max.delta.commits=1;
INSERT INTO {t} VALUES (1, 'a');
UPDATE {t} SET v = 'b';
SET hoodie.datasource.query.type=read_optimized;
SELECT * FROM {t};

-- # Clustering in line by settings of the session
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
SET hoodie.clustering.inline=true;
SET hoodie.clustering.inline.max.commits=1;
INSERT INTO {t} VALUES (2, 'a'), (1, 'b');
UPDATE {t} SET v = 'c' WHERE k = 1;
