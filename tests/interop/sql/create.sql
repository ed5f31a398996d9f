-- # A partition column in the middle is moved to the end
CREATE TABLE {t} (k INT, day STRING, label STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a1', 'd1');
SELECT * FROM {t};

-- # A partition column in the first place is moved to the end
CREATE TABLE {t} (day STRING, k INT, label STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a1', 'd1');

-- # Two partition columns in another order than in the clause
CREATE TABLE {t} (k INT, hour STRING, label STRING, day STRING) USING hudi PARTITIONED BY (day, hour) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a1', 'd1', 'h1');
SHOW PARTITIONS {t};

-- # Two partition columns between others are moved to the end
CREATE TABLE {t} (day STRING, k INT, hour STRING, label STRING) USING hudi PARTITIONED BY (day, hour) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a1', 'd1', 'h1');
SHOW PARTITIONS {t};

-- # The record key is the partition column
CREATE TABLE {t} (k INT, v STRING) USING hudi PARTITIONED BY (k) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES ('a', 1), ('b', 2);

-- # A key of type {kind} finds its row again
-- for kind | one | two
--   BOOLEAN | true | false
--   TINYINT | 1Y | 2Y
--   SMALLINT | 1S | 2S
--   INT | 1 | 2
--   BIGINT | 1L | 2L
--   STRING | 'a' | 'b'
--   DATE | DATE'2024-01-05' | DATE'2024-01-06'
--   TIMESTAMP | TIMESTAMP'2024-01-05 18:00:00.789' | TIMESTAMP'2024-01-05 18:00:00'
--   DECIMAL(10,2) | 1.50BD | 2.00BD
--   DOUBLE | 1.5D | 2D
--   FLOAT | 1.5F | 2F
CREATE TABLE {t} (k {kind}, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
INSERT INTO {t} VALUES ({one}, 'old', 1L), ({two}, 'other', 1L);
MERGE INTO {t} USING (SELECT {one} AS k, 'new' AS v, 2L AS ts) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET *;
DELETE FROM {t} WHERE k = {two};

-- # A partition column of type {kind} names the folder
-- for kind | one | two
--   BOOLEAN | true | false
--   INT | 1 | 2
--   BIGINT | 1L | 2L
--   STRING | 'a b' | 'b/c'
--   DATE | DATE'2024-01-05' | DATE'2024-01-06'
--   TIMESTAMP | TIMESTAMP'2024-01-05 18:00:00.789' | TIMESTAMP'2024-01-05 18:00:00'
--   DECIMAL(10,2) | 1.50BD | 2.00BD
--   DOUBLE | 1.5D | 2D
CREATE TABLE {t} (k INT, v STRING, p {kind}) USING hudi PARTITIONED BY (p) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', {one}), (2, 'b', {two});
SHOW PARTITIONS {t};
SELECT k FROM {t} WHERE p = {one};
UPDATE {t} SET v = 'c' WHERE k = 1;

-- # A value of type {kind} is read as it was written
-- for kind | value
--   BOOLEAN | true
--   TINYINT | 1Y
--   SMALLINT | 2S
--   FLOAT | 0.1F
--   DOUBLE | CAST('NaN' AS DOUBLE)
--   DECIMAL(38,18) | 1.000000000000000001BD
--   DECIMAL(4,0) | -12BD
--   DATE | DATE'0001-01-01'
--   TIMESTAMP | TIMESTAMP'1969-12-31 23:59:59.999999'
--   TIMESTAMP_NTZ | TIMESTAMP_NTZ'2024-01-05 18:00:00.789'
--   BINARY | X'00FF'
--   CHAR(3) | 'a'
--   VARCHAR(3) | 'abc'
--   ARRAY<INT> | array(1, NULL)
--   MAP<STRING, INT> | map('a', 1, 'b', NULL)
--   STRUCT<a: INT, b: STRUCT<c: STRING>> | named_struct('a', 1, 'b', named_struct('c', 'x'))
--   ARRAY<STRUCT<a: INT>> | array(named_struct('a', 1))
CREATE TABLE {t} (k INT, v {kind}, w STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, {value}, 'x'), (2, NULL, 'y');
UPDATE {t} SET w = 'z';

-- # The table type is written {kind}
-- for kind
--   mor
--   MOR
--   COPY_ON_WRITE
--   merge_on_read
--   other
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{kind}');
INSERT INTO {t} VALUES (1, 'a');

-- # Keys and ordering come from {clause}
-- for clause | given
--   OPTIONS | OPTIONS (primaryKey = 'k', preCombineField = 'ts')
--   TBLPROPERTIES with quotes | TBLPROPERTIES ('primaryKey' = 'k', 'preCombineField' = 'ts')
--   orderingFields | TBLPROPERTIES (primaryKey = 'k', orderingFields = 'ts')
--   options of a write | TBLPROPERTIES ('hoodie.datasource.write.recordkey.field' = 'k', 'hoodie.datasource.write.precombine.field' = 'ts')
--   properties of a table | TBLPROPERTIES ('hoodie.table.recordkey.fields' = 'k', 'hoodie.table.ordering.fields' = 'ts')
--   names in capitals | TBLPROPERTIES (PRIMARYKEY = 'k', PRECOMBINEFIELD = 'ts')
--   values in capitals | TBLPROPERTIES (primaryKey = 'K', preCombineField = 'TS')
--   values with blanks | TBLPROPERTIES (primaryKey = ' k ', preCombineField = ' ts ')
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi {given};
INSERT INTO {t} VALUES (1, 'new', 2L);
MERGE INTO {t} USING (SELECT 1 AS k, 'late' AS v, 1L AS ts) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET *;

-- # A property is refused: {what}
-- for what | given
--   a key that is no column | primaryKey = 'nokey'
--   an ordering field that is no column | primaryKey = 'k', preCombineField = 'nots'
--   an empty key | primaryKey = ''
--   an unknown merge mode | primaryKey = 'k', 'hoodie.record.merge.mode' = 'NONE'
--   an unknown index | primaryKey = 'k', 'hoodie.index.type' = 'NONE'
--   version 7 | primaryKey = 'k', 'hoodie.write.table.version' = '7'
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES ({given});
INSERT INTO {t} VALUES (1, 'a', 1L);

-- # A partition column that is no column is refused
CREATE TABLE {t} (k INT, v STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');

-- # A table whose columns are all partition columns is refused
CREATE TABLE {t} (k INT) USING hudi PARTITIONED BY (k) TBLPROPERTIES (primaryKey = 'k');

-- # Two columns of one name are refused
CREATE TABLE {t} (k INT, V STRING, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');

-- # A partition column with its type in the clause is added to the columns
CREATE TABLE {t} (k INT, v STRING) USING hudi PARTITIONED BY (day STRING) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1');

-- # Two key columns are one record key
CREATE TABLE {t} (a INT, v STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'a,b', type = '{type}');
INSERT INTO {t} VALUES (1, 'x', 'p'), (1, 'y', 'q');
UPDATE {t} SET v = 'z' WHERE b = 'q';
DELETE FROM {t} WHERE b = 'p';

-- # Two key columns with a blank after the comma are one record key
CREATE TABLE {t} (a INT, v STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'a, b');
INSERT INTO {t} VALUES (1, 'x', 'p'), (1, 'y', 'q');

-- # Two ordering fields are compared one after the other
CREATE TABLE {t} (k INT, v STRING, o1 INT, o2 INT) USING hudi TBLPROPERTIES (primaryKey = 'k', orderingFields = 'o1,o2', type = 'mor');
INSERT INTO {t} VALUES (1, 'a', 1, 5);
MERGE INTO {t} USING (SELECT 1 AS k, 'late' AS v, 1 AS o1, 4 AS o2) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET *;

-- # A table without a key gives rows keys of their own
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (type = '{type}');
INSERT INTO {t} VALUES (1, 'a'), (1, 'a');
UPDATE {t} SET v = 'b' WHERE k = 1;
DELETE FROM {t} WHERE v = 'a';

-- # A partitioned table without a key gives rows keys of their own
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day);
INSERT INTO {t} VALUES (1, 'a', 'd1'), (1, 'a', 'd2');
DELETE FROM {t} WHERE day = 'd1';

-- # Column names keep their capitals
CREATE TABLE {t} (Id INT, vAlue STRING, TS BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'Id', preCombineField = 'TS');
INSERT INTO {t} (id, VALUE, ts) VALUES (1, 'a', 1L);
UPDATE {t} SET value = 'b' WHERE ID = 1;
SELECT id, VALUE FROM {t};

-- # Names of columns are reserved words
CREATE TABLE {t} (`key` INT, `order` STRING, `timestamp` BIGINT, `date` STRING) USING hudi PARTITIONED BY (`date`) TBLPROPERTIES (primaryKey = 'key', preCombineField = 'timestamp');
INSERT INTO {t} VALUES (1, 'a', 1L, 'd');
UPDATE {t} SET `order` = 'b' WHERE `key` = 1;

-- # A column's name has a {what}
-- for what | name
--   blank | a b
--   dot | a.b
--   hyphen | a-b
--   letter beyond ASCII | añ
--   digit in front | 1a
CREATE TABLE {t} (k INT, `{name}` STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');

-- # A column that is not null refuses a null
CREATE TABLE {t} (k INT NOT NULL, v STRING NOT NULL) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
INSERT INTO {t} VALUES (2, NULL);

-- # A column has a default value
CREATE TABLE {t} (k INT, v STRING DEFAULT 'x') USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} (k) VALUES (1);
INSERT INTO {t} VALUES (2, DEFAULT);

-- # Comments of columns and of the table are shown
CREATE TABLE {t} (k INT COMMENT 'the key', v STRING) USING hudi COMMENT 'a table' TBLPROPERTIES (primaryKey = 'k');
DESCRIBE {t};
SHOW COLUMNS IN {t};
DESCRIBE EXTENDED {t};
SHOW CREATE TABLE {t};
SHOW TBLPROPERTIES {t};

-- # A table that exists is left as it is by IF NOT EXISTS
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
CREATE TABLE IF NOT EXISTS {t} (k INT, w DOUBLE) USING hudi TBLPROPERTIES (primaryKey = 'k');

-- # A table that exists is refused
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');

-- # A table at a path is registered without columns
CREATE TABLE {u} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = 'mor') LOCATION '{path}';
INSERT INTO {u} VALUES (1, 'a', 'd1');
CREATE TABLE {t} USING hudi LOCATION '{path}';
INSERT INTO {t} VALUES (2, 'b', 'd2');
SELECT * FROM {u};

-- # A table at a path is registered with PARTITIONED BY alone
CREATE TABLE {u} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k') LOCATION '{path}';
INSERT INTO {u} VALUES (1, 'a', 'd1');
CREATE TABLE {t} USING hudi PARTITIONED BY (day) LOCATION '{path}';

-- # A table at a path is registered with other columns
CREATE TABLE {u} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k') LOCATION '{path}';
INSERT INTO {u} VALUES (1, 'a');
CREATE TABLE {t} (k INT, w DOUBLE) USING hudi LOCATION '{path}';

-- # A table at a path is registered with another key
CREATE TABLE {u} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k') LOCATION '{path}';
INSERT INTO {u} VALUES (1, 'a');
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'v') LOCATION '{path}';

-- # A path without a table is refused without columns
CREATE TABLE {t} USING hudi LOCATION '{path}';

-- # A dropped table with a location leaves its rows
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k') LOCATION '{path}';
INSERT INTO {t} VALUES (1, 'a');
DROP TABLE {t};
CREATE TABLE {t} USING hudi LOCATION '{path}';

-- # A dropped table of the warehouse is gone
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
DROP TABLE {t};
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');

-- # DROP TABLE with PURGE removes the table
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
DROP TABLE {t} PURGE;
DROP TABLE IF EXISTS {t};

-- # Partition folders without column names
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = 'mor', 'hoodie.datasource.write.hive_style_partitioning' = 'false');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd2');
SHOW PARTITIONS {t};
SELECT k FROM {t} WHERE day = 'd2';

-- # Partition values are encoded for URLs
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', 'hoodie.datasource.write.partitionpath.urlencode' = 'true');
INSERT INTO {t} VALUES (1, 'a', 'x/y z'), (2, 'b', 'ü%');
SHOW PARTITIONS {t};
SELECT k FROM {t} WHERE day = 'x/y z';

-- # A partition value is null or empty
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', NULL);
INSERT INTO {t} VALUES (2, 'b', '');
SHOW PARTITIONS {t};
SELECT k FROM {t} WHERE day IS NULL;

-- # The key generator is {class}
-- for class | by | given
--   SimpleKeyGenerator | day | primaryKey = 'k'
--   ComplexKeyGenerator | day | primaryKey = 'k'
--   NonpartitionedKeyGenerator | day | primaryKey = 'k'
--   TimestampBasedKeyGenerator | ts | primaryKey = 'k', 'hoodie.keygen.timebased.timestamp.type' = 'EPOCHMILLISECONDS', 'hoodie.keygen.timebased.output.dateformat' = 'yyyy-MM-dd'
--   GlobalDeleteKeyGenerator | day | primaryKey = 'k'
CREATE TABLE {t} (k INT, v STRING, ts BIGINT, day STRING) USING hudi PARTITIONED BY ({by}) TBLPROPERTIES ({given}, 'hoodie.table.keygenerator.class' = 'org.apache.hudi.keygen.{class}');
INSERT INTO {t} (k, v, ts, day) VALUES (1, 'a', 1700000000000L, 'd1');
UPDATE {t} SET v = 'b' WHERE k = 1;
SELECT v FROM {t};

-- # A merge-on-read table of version {version} takes inserts and updates
-- for version
--   6
--   8
--   9
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = 'mor', 'hoodie.write.table.version' = '{version}');
INSERT INTO {t} VALUES (1, 'a', 2L);
UPDATE {t} SET v = 'b' WHERE k = 1;
MERGE INTO {t} USING (SELECT 1 AS k, 'late' AS v, 1L AS ts) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET *;

-- # A table with the index {index} finds the row of an upsert
-- for index | more
--   BLOOM | ''
--   SIMPLE | ''
--   GLOBAL_BLOOM | ''
--   GLOBAL_SIMPLE | ''
--   BUCKET | '', 'hoodie.bucket.index.num.buckets' = '2'
--   INMEMORY | ''
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', 'note' = {more}, 'hoodie.index.type' = '{index}', 'hoodie.spark.sql.insert.into.operation' = 'upsert');
INSERT INTO {t} VALUES (1, 'a', 'd1');
INSERT INTO {t} VALUES (1, 'b', 'd1');
INSERT INTO {t} VALUES (1, 'c', 'd2');

-- # Rows are merged with {rule}
-- for rule | given
--   COMMIT_TIME_ORDERING | preCombineField = 'ts', 'hoodie.record.merge.mode' = 'COMMIT_TIME_ORDERING'
--   EVENT_TIME_ORDERING | preCombineField = 'ts', 'hoodie.record.merge.mode' = 'EVENT_TIME_ORDERING'
--   recordMergeMode | preCombineField = 'ts', recordMergeMode = 'COMMIT_TIME_ORDERING'
--   OverwriteWithLatestAvroPayload | preCombineField = 'ts', 'hoodie.datasource.write.payload.class' = 'org.apache.hudi.common.model.OverwriteWithLatestAvroPayload'
--   DefaultHoodieRecordPayload | preCombineField = 'ts', 'hoodie.datasource.write.payload.class' = 'org.apache.hudi.common.model.DefaultHoodieRecordPayload'
--   PartialUpdateAvroPayload | preCombineField = 'ts', 'hoodie.datasource.write.payload.class' = 'org.apache.hudi.common.model.PartialUpdateAvroPayload'
--   payloadClass | preCombineField = 'ts', payloadClass = 'org.apache.hudi.common.model.PartialUpdateAvroPayload'
--   FirstValueAvroPayload | preCombineField = 'ts', 'hoodie.datasource.write.payload.class' = 'org.apache.hudi.common.model.FirstValueAvroPayload'
CREATE TABLE {t} (k INT, v STRING, w STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{type}', {given}, 'hoodie.spark.sql.insert.into.operation' = 'upsert');
INSERT INTO {t} VALUES (1, 'a', 'x', 2L), (2, 'a', 'x', 2L), (3, 'a', 'x', 2L);
INSERT INTO {t} VALUES (1, 'b', NULL, 3L), (2, 'b', NULL, 1L), (3, 'b', NULL, 2L);

-- # CREATE OR REPLACE replaces the table
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
CREATE OR REPLACE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');

-- # CREATE TABLE LIKE copies the columns
CREATE TABLE {u} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
CREATE TABLE {t} LIKE {u} USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1');
