-- # ADD COLUMNS adds at the end
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a');
ALTER TABLE {t} ADD COLUMNS (w STRING COMMENT 'new', n INT);
INSERT INTO {t} VALUES (2, 'b', 'x', 5);
SELECT * FROM {t};

-- # ADD COLUMNS of a partitioned table adds before the partition column
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 'd1');
ALTER TABLE {t} ADD COLUMNS (w STRING);
INSERT INTO {t} SELECT 2 AS k, 'b' AS v, 'x' AS w, 'd2' AS day;
SELECT * FROM {t};

-- # ADD COLUMNS of {what}
-- for what | columns
--   a column that is there | v STRING
--   a column that is there in capitals | V STRING
--   a meta column | _hoodie_record_key STRING
--   a column with a default | w STRING DEFAULT 'x'
--   a struct | s STRUCT<a: INT, b: ARRAY<STRING>>
--   a column that is not null | w STRING NOT NULL
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
ALTER TABLE {t} ADD COLUMNS ({columns});

-- # ADD COLUMNS with the schema on read: {what}
-- for what | columns
--   in the first place | w STRING FIRST
--   after the key | w STRING AFTER k
--   a field of a struct | s.c STRING
CREATE TABLE {t} (k INT, s STRUCT<a: INT>, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, named_struct('a', 1), 'a');
SET hoodie.schema.on.read.enable=true;
ALTER TABLE {t} ADD COLUMNS ({columns});
SELECT * FROM {t};

-- # Schema on read: {what}
-- for what | alter
--   a renamed column | RENAME COLUMN v TO w
--   a dropped column | DROP COLUMN v
--   two dropped columns | DROP COLUMNS (v, n)
--   a dropped key | DROP COLUMN k
--   a renamed key | RENAME COLUMN k TO id
--   a wider integer | ALTER COLUMN n TYPE BIGINT
--   an integer as a string | ALTER COLUMN n TYPE STRING
--   an integer as a double | ALTER COLUMN n TYPE DOUBLE
--   a narrower integer | ALTER COLUMN n TYPE SMALLINT
--   a string as an integer | ALTER COLUMN v TYPE INT
--   a comment | ALTER COLUMN v COMMENT 'text'
--   a moved column | ALTER COLUMN n AFTER k
--   a column that may be null | ALTER COLUMN v DROP NOT NULL
--   a column that must not be null | ALTER COLUMN v SET NOT NULL
--   an unknown column | DROP COLUMN x
CREATE TABLE {t} (k INT, v STRING, n INT) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a', 1);
SET hoodie.schema.on.read.enable=true;
ALTER TABLE {t} {alter};
SELECT * FROM {t};

-- # Schema on read, where columns may be dropped: {what}
-- for what | alter
--   a renamed column | RENAME COLUMN v TO w
--   a dropped column | DROP COLUMN v
CREATE TABLE {t} (k INT, v STRING, n INT) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a', 1);
SET hoodie.schema.on.read.enable=true;
SET hoodie.datasource.write.schema.allow.auto.evolution.column.drop=true;
ALTER TABLE {t} {alter};
SELECT * FROM {t};

-- # Without the schema on read: {what}
-- for what | alter
--   a renamed column | RENAME COLUMN v TO w
--   a dropped column | DROP COLUMN v
--   a wider integer | ALTER COLUMN n TYPE BIGINT
--   CHANGE COLUMN to a wider integer | CHANGE COLUMN n n BIGINT
--   a comment | ALTER COLUMN v COMMENT 'text'
--   REPLACE COLUMNS | REPLACE COLUMNS (k INT, w STRING)
CREATE TABLE {t} (k INT, v STRING, n INT) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 1);
ALTER TABLE {t} {alter};
SELECT * FROM {t};

-- # A column is dropped and added again with the schema on read
CREATE TABLE {t} (k INT, v STRING, n INT) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 1);
SET hoodie.schema.on.read.enable=true;
SET hoodie.datasource.write.schema.allow.auto.evolution.column.drop=true;
ALTER TABLE {t} DROP COLUMN v;
ALTER TABLE {t} ADD COLUMNS (v STRING);
INSERT INTO {t} SELECT 2 AS k, 2 AS n, 'b' AS v;

-- # A renamed table has its rows
CREATE TABLE {u} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {u} VALUES (1, 'a');
ALTER TABLE {u} RENAME TO {t};
INSERT INTO {t} VALUES (2, 'b');

-- # SET TBLPROPERTIES of {what}
-- for what | properties
--   an option of writes | hoodie.keep.max.commits = '10'
--   a note | 'note' = 'keep'
--   the key | primaryKey = 'v'
--   the type | type = 'mor'
--   the ordering field | preCombineField = 'v'
--   the operation of INSERT | 'hoodie.spark.sql.insert.into.operation' = 'upsert'
--   the merge mode | 'hoodie.record.merge.mode' = 'COMMIT_TIME_ORDERING'
--   a comment | 'comment' = 'text'
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
INSERT INTO {t} VALUES (1, 'a', 5L);
ALTER TABLE {t} SET TBLPROPERTIES ({properties});
INSERT INTO {t} VALUES (1, 'b', 1L);

-- # UNSET TBLPROPERTIES of {what}
-- for what | clause
--   a property | ('note')
--   a property that is not set | IF EXISTS ('other')
--   an option | IF EXISTS (hoodie.keep.max.commits)
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', 'note' = 'x', hoodie.keep.max.commits = '10');
ALTER TABLE {t} UNSET TBLPROPERTIES {clause};
INSERT INTO {t} VALUES (1, 'a');

-- # SET SERDEPROPERTIES of a table
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
ALTER TABLE {t} SET SERDEPROPERTIES ('key1' = 'value1');
INSERT INTO {t} VALUES (1, 'a');

-- # SET LOCATION of a table
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
ALTER TABLE {t} SET LOCATION '{path}';

-- # COMMENT ON TABLE is taken
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
COMMENT ON TABLE {t} IS 'text';

-- # An index is created and shown: {what}
-- for what | statement
--   a secondary index | CREATE INDEX i1 ON {t} (v)
--   an expression index | CREATE INDEX i1 ON {t} USING column_stats(v) OPTIONS (expr = 'upper')
--   the list | SHOW INDEXES FROM {t}
--   a dropped one that is not there | DROP INDEX IF EXISTS i1 ON {t}
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
{statement};
