-- # Time travel by the instant of a commit
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a');
UPDATE {t} SET v = 'b';
SELECT * FROM {t} TIMESTAMP AS OF '{instant 1}';
SELECT * FROM {t} TIMESTAMP AS OF '{day 1}';
SELECT * FROM {t} VERSION AS OF '{instant 1}';
SELECT * FROM {t} FOR SYSTEM_TIME AS OF '{instant 1}';
SELECT a.v, b.v FROM {t} TIMESTAMP AS OF '{instant 1}' a JOIN {t} b ON a.k = b.k;

-- # Time travel to {what}
-- for what | at
--   a day in the future | '2999-01-01'
--   a time in the future | '2999-01-01 12:00:00'
--   an instant in the future | '29990101000000000'
--   a day before the table | '2001-01-01'
--   a word | 'latest'
--   a number without quotes | 20200101000000000
--   a timestamp literal in the future | TIMESTAMP'2999-01-01 00:00:00'
--   now | current_timestamp()
--   a day as a date | DATE'2999-01-01'
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
SELECT * FROM {t} TIMESTAMP AS OF {at};

-- # Time travel shows the columns of then
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
ALTER TABLE {t} ADD COLUMNS (w STRING);
INSERT INTO {t} VALUES (2, 'b', 'x');
SELECT * FROM {t} TIMESTAMP AS OF '{instant 1}';

-- # hudi_table_changes has the latest state {what}
-- for what | arguments
--   since the beginning | 'earliest'
--   since the first commit | '{instant 1}'
--   up to the first commit | 'earliest', '{instant 1}'
--   since a day | '2001-01-01'
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
UPDATE {t} SET v = 'c' WHERE k = 1;
SELECT k, v FROM hudi_table_changes('{t}', 'latest_state', {arguments});

-- # hudi_table_changes after a delete
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
DELETE FROM {t} WHERE k = 1;
SELECT k, v FROM hudi_table_changes('{t}', 'latest_state', '{instant 1}');
SELECT k, v FROM hudi_table_changes('{t}', 'latest_state', 'earliest');

-- # hudi_table_changes by path
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k') LOCATION '{path}';
INSERT INTO {t} VALUES (1, 'a');
SELECT k, v FROM hudi_table_changes('{path}', 'latest_state', 'earliest');

-- # hudi_table_changes with change data
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', 'hoodie.table.cdc.enabled' = 'true');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
UPDATE {t} SET v = 'c' WHERE k = 1;
DELETE FROM {t} WHERE k = 2;
SELECT op, get_json_object(before, '$.v') AS b, get_json_object(after, '$.v') AS a FROM hudi_table_changes('{t}', 'cdc', 'earliest');
SELECT op, get_json_object(before, '$.v') AS b, get_json_object(after, '$.v') AS a FROM hudi_table_changes('{t}', 'cdc', '{instant 1}');

-- # hudi_table_changes of a table without change data
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
SELECT op FROM hudi_table_changes('{t}', 'cdc', 'earliest');

-- # hudi_table_changes with {what} is refused
-- for what | arguments
--   an unknown kind | 'newest', 'earliest'
--   no kind |  'earliest'
--   a time that is none | 'latest_state', 'soon'
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
SELECT * FROM hudi_table_changes('{t}', {arguments});

-- # hudi_query of a table: {what}
-- for what | query
--   its timeline | SELECT action, state FROM hudi_query_timeline('{t}', 'true')
--   its files | SELECT count(*) FROM hudi_filesystem_view('{t}')
--   its metadata table | SELECT count(*) FROM hudi_metadata('{t}')
--   a snapshot | SELECT k FROM hudi_query('{t}')
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
{query};

-- # Meta columns are selected by name
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a', 'd1');
SELECT _hoodie_record_key, _hoodie_partition_path, _hoodie_commit_time, v FROM {t};
SELECT count(*) FROM {t} WHERE _hoodie_commit_time >= '{instant 1}';

-- # A read-optimized query of a merge-on-read table
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a');
UPDATE {t} SET v = 'b';
SET hoodie.datasource.query.type=read_optimized;
SELECT * FROM {t};
SET hoodie.datasource.query.type=snapshot;
SELECT * FROM {t};

-- # An incremental query by settings of the session
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
INSERT INTO {t} VALUES (2, 'b');
SET hoodie.datasource.query.type=incremental;
SET hoodie.datasource.read.begin.instanttime={instant 1};
SELECT * FROM {t};
RESET hoodie.datasource.query.type;
RESET hoodie.datasource.read.begin.instanttime;

-- # Filters on {what}
-- for what | condition
--   the key | k = 2
--   the partition | day = 'd1'
--   both | k = 1 AND day = 'd1'
--   a null | v IS NULL
--   a set | k IN (1, 3)
--   a range of partitions | day > 'd1'
--   a partition as an expression | substr(day, 2) = '2'
--   a prefix of a partition | day LIKE 'd%'
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, NULL, 'd2'), (3, 'c', 'd2');
UPDATE {t} SET v = 'x' WHERE k = 3;
SELECT k, v FROM {t} WHERE {condition};

-- # A query joins, groups and windows
CREATE TABLE {t} (k INT, v STRING, n INT) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3);
SELECT v, sum(n) AS s FROM {t} GROUP BY v;
SELECT a.k, b.k AS l FROM {t} a JOIN {t} b ON a.v = b.v AND a.k < b.k;
SELECT k, row_number() OVER (PARTITION BY v ORDER BY n DESC) AS r FROM {t};
SELECT count(*), count(DISTINCT v), min(k), max(n) FROM {t};

-- # A query of a table by path in quotes
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k') LOCATION '{path}';
INSERT INTO {t} VALUES (1, 'a');
SELECT k, v FROM {format}.`{path}`;

-- # A view of a table sees later rows
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
CREATE TEMPORARY VIEW w AS SELECT k FROM {t};
CREATE VIEW {u} AS SELECT k, v FROM {t};
INSERT INTO {t} VALUES (2, 'b');
SELECT * FROM w;
SELECT * FROM {u};
DROP VIEW {u};
