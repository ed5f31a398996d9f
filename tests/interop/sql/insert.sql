-- # INSERT INTO with {operation} of a key that is stored, {ordering}
-- for operation | ordering | given
--   upsert | with an ordering field | , preCombineField = 'ts'
--   insert | with an ordering field | , preCombineField = 'ts'
--   bulk_insert | with an ordering field | , preCombineField = 'ts'
--   upsert | without an ordering field |  
--   insert | without an ordering field |  
--   bulk_insert | without an ordering field |  
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{type}'{given});
SET hoodie.spark.sql.insert.into.operation={operation};
INSERT INTO {t} VALUES (1, 'a', 2L), (2, 'b', 2L);
INSERT INTO {t} VALUES (1, 'late', 1L), (2, 'newer', 3L), (3, 'new', 1L);

-- # INSERT INTO of a key that is stored, without a setting
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = 'mor');
INSERT INTO {t} VALUES (1, 'a', 2L);
INSERT INTO {t} VALUES (1, 'late', 1L), (2, 'b', 1L);

-- # INSERT INTO with {operation} and two rows of one key
-- for operation
--   upsert
--   insert
--   bulk_insert
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
SET hoodie.spark.sql.insert.into.operation={operation};
INSERT INTO {t} VALUES (1, 'new', 2L), (1, 'old', 1L);

-- # INSERT INTO with a column list in another order
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} (b, k, a) VALUES ('b1', 1, 'a1');

-- # INSERT INTO with a column list in another order into a partitioned table
CREATE TABLE {t} (k INT, a STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} (day, k, a) VALUES ('d1', 1, 'a1');

-- # INSERT INTO with a column list that leaves columns out
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} (k, b) VALUES (1, 'b1');

-- # INSERT INTO with a column list that leaves the key out
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} (a, b) VALUES ('a1', 'b1');

-- # INSERT INTO with a column list that leaves the ordering field out
CREATE TABLE {t} (k INT, a STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
INSERT INTO {t} (k, a) VALUES (1, 'a1');

-- # INSERT INTO with a column list that leaves the partition column out
CREATE TABLE {t} (k INT, a STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} (k, a) VALUES (1, 'a1');

-- # INSERT INTO with an unknown column is refused
CREATE TABLE {t} (k INT, a STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} (k, c) VALUES (1, 'a1');

-- # INSERT INTO with too few values is refused
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a1');

-- # INSERT INTO with too many values is refused
CREATE TABLE {t} (k INT, a STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a1', 'b1');

-- # INSERT SELECT whose names are the table's, in another order
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} SELECT 1 AS k, 'x' AS b, 'y' AS a;

-- # INSERT SELECT whose names are others is by position
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} SELECT 1 AS id, 'x' AS c, 'y' AS d;

-- # INSERT SELECT with some names of the table is by position
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} SELECT 1 AS k, 'x' AS b, 'y' AS c;

-- # INSERT SELECT of a table whose columns are in another order
CREATE TABLE {u} (b STRING, a STRING, k INT) USING parquet;
INSERT INTO {u} VALUES ('b1', 'a1', 1);
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} SELECT * FROM {u};

-- # INSERT SELECT of a view whose columns are in another order
CREATE TEMPORARY VIEW w AS SELECT 1 AS k, 'b1' AS b, 'a1' AS a;
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} SELECT * FROM w;

-- # INSERT SELECT with names in capitals and another order
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} SELECT 1 AS K, 'x' AS B, 'y' AS A;

-- # INSERT SELECT with the partition column first
CREATE TABLE {t} (k INT, a STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} SELECT 'd1' AS day, 1 AS k, 'x' AS a;

-- # INSERT BY NAME takes names
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} BY NAME SELECT 'x' AS b, 1 AS k, 'y' AS a;

-- # INSERT INTO TABLE name
CREATE TABLE {u} (k INT, a STRING) USING parquet;
INSERT INTO {u} VALUES (1, 'a1');
CREATE TABLE {t} (k INT, a STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO TABLE {t} TABLE {u};
INSERT INTO {t} FROM {u} SELECT k + 1, a;

-- # INSERT of a query with WITH
CREATE TABLE {t} (k INT, a STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
WITH s AS (SELECT 1 AS k, 'a1' AS a) INSERT INTO {t} SELECT * FROM s;
INSERT INTO {t} WITH s AS (SELECT 2 AS k, 'a2' AS a) SELECT * FROM s;

-- # INSERT into a static partition
CREATE TABLE {t} (k INT, a STRING, day STRING, hour STRING) USING hudi PARTITIONED BY (day, hour) TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} PARTITION (day = 'd1', hour = 'h1') SELECT 1, 'a1';
INSERT INTO {t} PARTITION (hour = 'h2', day = 'd1') VALUES (2, 'a2');
INSERT INTO {t} PARTITION (day = 'd3', hour = 'h3') (a, k) VALUES ('a3', 3);
SHOW PARTITIONS {t};

-- # INSERT into dynamic partitions
CREATE TABLE {t} (k INT, a STRING, day STRING, hour STRING) USING hudi PARTITIONED BY (day, hour) TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} PARTITION (day, hour) SELECT 1 AS k, 'a1' AS a, 'd1' AS day, 'h1' AS hour;
INSERT INTO {t} PARTITION (day, hour) VALUES (2, 'a2', 'd2', 'h2');

-- # INSERT into a static and a dynamic partition column
CREATE TABLE {t} (k INT, a STRING, day STRING, hour STRING) USING hudi PARTITIONED BY (day, hour) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} PARTITION (day = 'd1', hour) SELECT 1, 'a1', 'h1';
INSERT INTO {t} PARTITION (day = 'd1', hour) SELECT 2 AS k, 'h2' AS hour, 'a2' AS a;

-- # INSERT into an unknown partition column is refused
CREATE TABLE {t} (k INT, a STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} PARTITION (week = 'w1') SELECT 1, 'a1';

-- # INSERT into a static partition with a value of another type
CREATE TABLE {t} (k INT, a STRING, day DATE) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} PARTITION (day = '2024-01-05') SELECT 1, 'a1';
INSERT INTO {t} PARTITION (day = 'no day') SELECT 2, 'a2';

-- # INSERT of {what} into {kind}
-- for what | kind | value
--   a string | INT | '5'
--   a word | INT | 'five'
--   an integer | STRING | 5
--   a long | INT | 5L
--   a long that is too large | INT | 5000000000L
--   a double | INT | 5.7D
--   a decimal | DOUBLE | 5.5BD
--   a double | DECIMAL(4,1) | 5.55D
--   a string | DATE | '2024-01-05'
--   a date | TIMESTAMP | DATE'2024-01-05'
--   a string | TIMESTAMP | '2024-01-05 18:00:00'
--   an integer | BOOLEAN | 1
--   a long string | VARCHAR(3) | 'abcdef'
--   an array of integers | ARRAY<BIGINT> | array(1, 2)
--   a struct with other names | STRUCT<a: INT, b: STRING> | named_struct('x', 1, 'y', 'z')
--   a struct with names in another order | STRUCT<a: STRING, b: STRING> | named_struct('b', 'x', 'a', 'y')
CREATE TABLE {t} (k INT, v {kind}) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} SELECT 1, {value};

-- # INSERT of a null key is refused
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (NULL, 'a');

-- # INSERT of a null into one of two key columns
CREATE TABLE {t} (a INT, b STRING, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'a,b');
INSERT INTO {t} VALUES (1, NULL, 'x'), (2, '', 'y');
INSERT INTO {t} VALUES (NULL, NULL, 'z');

-- # INSERT of an empty string as key
CREATE TABLE {t} (k STRING, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES ('', 'a');

-- # INSERT of a null ordering value
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}', 'hoodie.spark.sql.insert.into.operation' = 'upsert');
INSERT INTO {t} VALUES (1, 'a', NULL), (2, 'b', 1L);
INSERT INTO {t} VALUES (1, 'c', 1L), (2, 'd', NULL);

-- # INSERT with hoodie.datasource.insert.dup.policy={policy}
-- for policy
--   none
--   drop
--   fail
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
SET hoodie.datasource.insert.dup.policy={policy};
INSERT INTO {t} VALUES (1, 'b'), (2, 'c');

-- # INSERT with hoodie.sql.insert.mode={mode}
-- for mode
--   upsert
--   strict
--   non-strict
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
SET hoodie.sql.insert.mode={mode};
INSERT INTO {t} VALUES (1, 'a', 1L);
INSERT INTO {t} VALUES (1, 'b', 2L);

-- # INSERT with hoodie.sql.bulk.insert.enable
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
SET hoodie.sql.bulk.insert.enable=true;
INSERT INTO {t} VALUES (1, 'a'), (1, 'b');

-- # INSERT of the table's own rows
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
INSERT INTO {t} SELECT k + 1, v FROM {t};

-- # INSERT of no rows
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
INSERT INTO {t} SELECT 2, 'b' WHERE false;

-- # INSERT of a key into another partition with {operation}
-- for operation
--   upsert
--   insert
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = '{type}', 'hoodie.spark.sql.insert.into.operation' = '{operation}');
INSERT INTO {t} VALUES (1, 'a', 'd1');
INSERT INTO {t} VALUES (1, 'b', 'd2');
