-- # UPDATE by the key
CREATE TABLE {t} (k INT, v STRING, n DOUBLE, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 1.5D, 1L), (2, 'b', 2.5D, 1L);
UPDATE {t} SET n = n * 2, ts = 1111 WHERE k = 1;

-- # UPDATE with a smaller ordering value
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 5L);
UPDATE {t} SET v = 'b', ts = 1L WHERE k = 1;

-- # UPDATE of all rows without an ordering field
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
UPDATE {t} SET v = concat(v, k);

-- # UPDATE by a column that is not the key
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'a', 'd2'), (3, 'b', 'd1');
UPDATE {t} SET v = 'c' WHERE v = 'a' AND day = 'd1';

-- # UPDATE of nothing
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
UPDATE {t} SET v = 'b' WHERE k = 9;

-- # UPDATE of {what}
-- for what | set
--   the key | k = 9
--   the key to itself | k = k, v = 'b'
--   the partition column | day = 'd9'
--   an unknown column | x = 1
--   a column to null | v = NULL
--   a column to DEFAULT | v = DEFAULT
--   a column twice | v = 'b', v = 'c'
--   a column in capitals | V = 'b'
--   a string column with an integer | v = 5
--   an integer column with a string | n = '5'
--   an integer column with a word | n = 'five'
--   an integer column with a long | n = 5L
CREATE TABLE {t} (k INT, v STRING, n INT, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 1, 'd1');
UPDATE {t} SET {set} WHERE k = 1;

-- # UPDATE with {condition}
-- for condition
--   k IN (1, 2)
--   k IN (SELECT 2)
--   EXISTS (SELECT 1)
--   v IS NULL
--   v LIKE 'a%'
--   n = (SELECT 1)
--   true
--   k = 1 OR v IS NULL
CREATE TABLE {t} (k INT, v STRING, n INT) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 2), (3, NULL, 1);
UPDATE {t} SET n = 9 WHERE {condition};

-- # UPDATE with an alias
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
UPDATE {t} AS x SET x.v = 'c' WHERE x.k = 1;
UPDATE {t} x SET v = 'd' WHERE x.k = 2;

-- # UPDATE of a field of a struct
CREATE TABLE {t} (k INT, s STRUCT<a: INT, b: STRING>) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, named_struct('a', 1, 'b', 'x'));
UPDATE {t} SET s.a = 2 WHERE k = 1;
UPDATE {t} SET s = named_struct('a', 3, 'b', 'y') WHERE s.a = 1;

-- # UPDATE twice and DELETE leave the last state
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
UPDATE {t} SET v = 'c';
UPDATE {t} SET v = concat(v, '!') WHERE k = 2;
DELETE FROM {t} WHERE v = 'c';

-- # DELETE of {what}
-- for what | where
--   one key | WHERE k = 1
--   several keys | WHERE k IN (1, 3)
--   a remainder | WHERE k % 2 = 0
--   a partition | WHERE day = 'd1'
--   nulls | WHERE v IS NULL
--   a sub-query | WHERE k IN (SELECT 2)
--   all rows |  
--   all rows by a condition | WHERE 1 = 1
--   nothing | WHERE k = 9
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', 'note' = '{what}', type = 'mor');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd2'), (3, NULL, 'd2');
DELETE FROM {t} {where};

-- # DELETE of a row and INSERT of it with a smaller ordering value
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}', 'hoodie.spark.sql.insert.into.operation' = 'upsert');
INSERT INTO {t} VALUES (1, 'a', 5L), (2, 'b', 5L);
DELETE FROM {t} WHERE k = 1;
INSERT INTO {t} VALUES (1, 'c', 1L);

-- # DELETE with an alias
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
DELETE FROM {t} AS x WHERE x.k = 1;

-- # DELETE by a meta column
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
DELETE FROM {t} WHERE _hoodie_record_key = '1';
UPDATE {t} SET v = 'c' WHERE _hoodie_record_key = '2';

-- # DELETE of one of two rows of a key
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', 'hoodie.spark.sql.insert.into.operation' = 'insert');
INSERT INTO {t} VALUES (1, 'a');
INSERT INTO {t} VALUES (1, 'b');
DELETE FROM {t} WHERE v = 'a';

-- # UPDATE and DELETE with an unknown column are refused
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
UPDATE {t} SET v = 'b' WHERE x = 1;
DELETE FROM {t} WHERE x = 1;

-- # UPDATE of a table with two partition columns and two keys
CREATE TABLE {t} (a INT, b INT, v STRING, day STRING, hour INT) USING hudi PARTITIONED BY (day, hour) TBLPROPERTIES (primaryKey = 'a,b', type = 'mor');
INSERT INTO {t} VALUES (1, 1, 'x', 'd1', 1), (1, 2, 'y', 'd1', 2);
UPDATE {t} SET v = 'z' WHERE hour = 2;
DELETE FROM {t} WHERE a = 1 AND b = 1;
