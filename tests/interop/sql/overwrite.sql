-- # INSERT OVERWRITE of a table without partitions replaces all rows
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 1L), (2, 'b', 1L);
INSERT OVERWRITE {t} SELECT 3, 'c', 0L;
SELECT * FROM {t};

-- # INSERT OVERWRITE of a partitioned table replaces
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd2');
INSERT OVERWRITE {t} SELECT 3, 'c', 'd1';
SHOW PARTITIONS {t};

-- # INSERT OVERWRITE with {setting} of a partitioned table
-- for setting
--   hoodie.datasource.overwrite.mode=DYNAMIC
--   hoodie.datasource.overwrite.mode=STATIC
--   spark.sql.sources.partitionOverwriteMode=DYNAMIC
--   spark.sql.sources.partitionOverwriteMode=STATIC
--   hoodie.datasource.write.operation=insert_overwrite
--   hoodie.datasource.write.operation=insert_overwrite_table
--   hoodie.datasource.write.operation=upsert
--   hoodie.spark.sql.insert.into.operation=upsert
--   hoodie.sql.bulk.insert.enable=true
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd2');
SET {setting};
INSERT OVERWRITE {t} SELECT 3, 'c', 'd1';

-- # INSERT OVERWRITE of a static partition replaces it
CREATE TABLE {t} (k INT, v STRING, day STRING, hour STRING) USING hudi PARTITIONED BY (day, hour) TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 'd1', 'h1'), (2, 'b', 'd1', 'h2'), (3, 'c', 'd2', 'h1');
INSERT OVERWRITE {t} PARTITION (day = 'd1', hour = 'h1') SELECT 4, 'd';
SHOW PARTITIONS {t};

-- # INSERT OVERWRITE of a static and a dynamic partition column
CREATE TABLE {t} (k INT, v STRING, day STRING, hour STRING) USING hudi PARTITIONED BY (day, hour) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1', 'h1'), (2, 'b', 'd1', 'h2'), (3, 'c', 'd2', 'h1');
INSERT OVERWRITE {t} PARTITION (day = 'd1', hour) SELECT 4, 'd', 'h1';

-- # INSERT OVERWRITE of dynamic partitions
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd2');
INSERT OVERWRITE {t} PARTITION (day) SELECT 3, 'c', 'd1';

-- # INSERT OVERWRITE of a static partition that does not exist
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1');
INSERT OVERWRITE {t} PARTITION (day = 'd9') VALUES (3, 'c');

-- # INSERT OVERWRITE with no rows {what}
-- for what | clause
--   of the table |  
--   of a partition | PARTITION (day = 'd1')
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', 'note' = '{what}');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd2');
INSERT OVERWRITE {t} {clause} SELECT k, v FROM {t} WHERE k = 9;

-- # INSERT OVERWRITE of an empty query with all columns
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
INSERT OVERWRITE {t} SELECT 1, 'b' WHERE false;

-- # INSERT OVERWRITE with a column list in another order
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a1', 'b1');
INSERT OVERWRITE {t} (b, a, k) VALUES ('b2', 'a2', 2);

-- # INSERT OVERWRITE with the table's names in another order
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a1', 'b1');
INSERT OVERWRITE {t} SELECT 2 AS k, 'b2' AS b, 'a2' AS a;

-- # INSERT OVERWRITE with two rows of one key
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
INSERT OVERWRITE {t} VALUES (1, 'new', 2L), (1, 'old', 1L);

-- # INSERT OVERWRITE reads the table it replaces
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
INSERT OVERWRITE {t} SELECT k + 10, v FROM {t} WHERE k = 1;

-- # INSERT OVERWRITE TABLE of a table without a key
CREATE TABLE {t} (k INT, v STRING) USING hudi;
INSERT INTO {t} VALUES (1, 'a');
INSERT OVERWRITE TABLE {t} VALUES (2, 'b'), (2, 'b');

-- # INSERT OVERWRITE is undone by time travel
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a');
INSERT OVERWRITE {t} VALUES (2, 'b');
SELECT * FROM {t} TIMESTAMP AS OF '{instant 1}';

-- # TRUNCATE TABLE removes all rows
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a');
TRUNCATE TABLE {t};
INSERT INTO {t} VALUES (2, 'b');

-- # TRUNCATE TABLE of a partition
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd2');
TRUNCATE TABLE {t} PARTITION (day = 'd1');
SHOW PARTITIONS {t};

-- # ALTER TABLE DROP PARTITION removes its rows
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd2');
ALTER TABLE {t} DROP PARTITION (day = 'd1');
SHOW PARTITIONS {t};
INSERT INTO {t} VALUES (3, 'c', 'd1');

-- # ALTER TABLE DROP PARTITION of several
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd2'), (3, 'c', 'd3');
ALTER TABLE {t} DROP PARTITION (day = 'd1'), PARTITION (day = 'd2');

-- # ALTER TABLE DROP PARTITION of one column of two
CREATE TABLE {t} (k INT, v STRING, day STRING, hour STRING) USING hudi PARTITIONED BY (day, hour) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1', 'h1'), (2, 'b', 'd1', 'h2'), (3, 'c', 'd2', 'h1');
ALTER TABLE {t} DROP PARTITION (day = 'd1');
ALTER TABLE {t} DROP PARTITION (day = 'd2', hour = 'h1');

-- # ALTER TABLE DROP PARTITION of one that does not exist
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1');
ALTER TABLE {t} DROP PARTITION (day = 'd9');
ALTER TABLE {t} DROP IF EXISTS PARTITION (day = 'd9');

-- # ALTER TABLE DROP PARTITION of a value of type {kind}
-- for kind | value
--   DATE | DATE'2024-01-05'
--   INT | 5
--   STRING | 'a b/c'
CREATE TABLE {t} (k INT, v STRING, p {kind}) USING hudi PARTITIONED BY (p) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', {value}), (2, 'b', NULL);
ALTER TABLE {t} DROP PARTITION (p = {value});

-- # SHOW PARTITIONS of one day
CREATE TABLE {t} (k INT, v STRING, day STRING, hour STRING) USING hudi PARTITIONED BY (day, hour) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1', 'h1'), (2, 'b', 'd1', 'h2'), (3, 'c', 'd2', 'h1');
SHOW PARTITIONS {t} PARTITION (day = 'd1');
SHOW PARTITIONS {t} PARTITION (day = 'd1', hour = 'h2');

-- # SHOW PARTITIONS of a table without partitions
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
SHOW PARTITIONS {t};

-- # ALTER TABLE ADD PARTITION
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1');
ALTER TABLE {t} ADD PARTITION (day = 'd2');
SHOW PARTITIONS {t};

-- # MSCK REPAIR TABLE finds partitions
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1');
MSCK REPAIR TABLE {t};
REFRESH TABLE {t};
ANALYZE TABLE {t} COMPUTE STATISTICS;
