-- # CTAS stores the rows of a query
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k', type = '{type}') AS SELECT 1 AS k, 'a' AS v;
INSERT INTO {t} VALUES (2, 'b');

-- # CTAS moves its partition column to the end
CREATE TABLE {t} USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = 'mor') AS SELECT 'd1' AS day, 1 AS k, 'a' AS v;
SELECT * FROM {t};

-- # CTAS has two partition columns
CREATE TABLE {t} USING hudi PARTITIONED BY (day, hour) TBLPROPERTIES (primaryKey = 'k') AS SELECT 1 AS k, 'h1' AS hour, 'a' AS v, 'd1' AS day;

-- # CTAS without a key gives rows keys of their own
CREATE TABLE {t} USING hudi TBLPROPERTIES (type = 'mor') AS SELECT * FROM VALUES (1, 'a'), (1, 'a') AS s(k, v);

-- # CTAS stores one row of two with the same key
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts') AS SELECT * FROM VALUES (1, 'a', 1L), (1, 'b', 2L) AS s(k, v, ts);

-- # CTAS with the operation {operation} and two rows of one key
-- for operation
--   upsert
--   insert
--   bulk_insert
SET hoodie.spark.sql.insert.into.operation={operation};
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts') AS SELECT * FROM VALUES (1, 'a', 1L), (1, 'b', 2L) AS s(k, v, ts);

-- # CTAS has an integer, a decimal and a null as the query has them
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k') AS SELECT 1 AS k, 10 AS price, 1.50 AS rate, CAST(NULL AS STRING) AS v;

-- # CTAS of a null without a type is refused
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k') AS SELECT 1 AS k, NULL AS v;

-- # CTAS of a null key is refused
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k') AS SELECT CAST(NULL AS INT) AS k, 'a' AS v;

-- # CTAS of no rows makes an empty table
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k') AS SELECT 1 AS k, 'a' AS v WHERE false;
INSERT INTO {t} VALUES (1, 'a');

-- # CTAS at a location
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k') LOCATION '{path}' AS SELECT 1 AS k, 'a' AS v;
SELECT * FROM {t};

-- # CTAS from a Parquet table with its partition column last
CREATE TABLE {u} (k INT, day STRING, v STRING) USING parquet PARTITIONED BY (day);
INSERT INTO {u} VALUES (1, 'a', 'd1');
CREATE TABLE {t} USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k') AS SELECT * FROM {u};

-- # CTAS from another table of the format
CREATE TABLE {u} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {u} VALUES (1, 'a'), (2, 'b');
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k') AS SELECT k, upper(v) AS v FROM {u} WHERE k = 2;

-- # CTAS over a table that exists is refused
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k') AS SELECT 1 AS k, 'a' AS v;

-- # CTAS with IF NOT EXISTS leaves a table that exists
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
CREATE TABLE IF NOT EXISTS {t} USING hudi TBLPROPERTIES (primaryKey = 'k') AS SELECT 1 AS k, 'a' AS v;

-- # CTAS of a query that fails leaves no table
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k') AS SELECT 1 AS k, raise_error('no') AS v;
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k') AS SELECT 1 AS k, 'a' AS v;

-- # CTAS has a partition column of type {kind}
-- for kind | value
--   DATE | DATE'2024-01-05'
--   INT | 5
--   TIMESTAMP | TIMESTAMP'2024-01-05 18:00:00'
CREATE TABLE {t} USING hudi PARTITIONED BY (p) TBLPROPERTIES (primaryKey = 'k') AS SELECT 1 AS k, 'a' AS v, {value} AS p;
SHOW PARTITIONS {t};

-- # CTAS with two columns of one name is refused
CREATE TABLE {t} USING hudi TBLPROPERTIES (primaryKey = 'k') AS SELECT 1 AS k, 'a' AS v, 'b' AS V;
