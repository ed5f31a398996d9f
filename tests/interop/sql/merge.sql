-- # MERGE updates, deletes and inserts
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 1L), (2, 'b', 1L);
MERGE INTO {t} AS target USING (SELECT * FROM VALUES (1, 'a2', 2L, 'u'), (2, 'b2', 2L, 'd'), (3, 'c', 2L, 'i') AS s(k, v, ts, op)) AS source ON target.k = source.k WHEN MATCHED AND source.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET v = source.v, ts = source.ts WHEN NOT MATCHED THEN INSERT (k, v, ts) VALUES (source.k, source.v, source.ts);

-- # MERGE with stars
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 1L), (2, 'b', 5L);
MERGE INTO {t} USING (SELECT * FROM VALUES (1, 'a2', 2L), (2, 'late', 2L), (3, 'c', 2L) AS s(k, v, ts)) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- # MERGE with a source in another order of columns
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a1', 'b1');
MERGE INTO {t} USING (SELECT 'b2' AS b, 'a2' AS a, 1 AS k UNION ALL SELECT 'b3', 'a3', 3) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- # MERGE with a star and a source that has {what}
-- for what | query
--   fewer columns | SELECT 1 AS k, 'a2' AS a
--   more columns | SELECT 1 AS k, 'a2' AS a, 'b2' AS b, 'c2' AS c
--   other names | SELECT 1 AS id, 'a2' AS x, 'b2' AS y
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a1', 'b1');
MERGE INTO {t} USING ({query}) s ON {t}.k = 1 WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
MERGE INTO {t} USING ({query}) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- # MERGE with a key of the source that has another name
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
INSERT INTO {t} VALUES (1, 'a', 1L);
MERGE INTO {t} USING (SELECT 1 AS id, 'b' AS w, 2L AS at UNION ALL SELECT 2, 'c', 2L) s ON {t}.k = s.id WHEN MATCHED THEN UPDATE SET v = s.w, ts = s.at WHEN NOT MATCHED THEN INSERT (k, v, ts) VALUES (s.id, s.w, s.at);

-- # MERGE that inserts some columns
CREATE TABLE {t} (k INT, a STRING, b STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a1', 'b1');
MERGE INTO {t} USING (SELECT 2 AS k, 'a2' AS a) s ON {t}.k = s.k WHEN NOT MATCHED THEN INSERT (k, a) VALUES (s.k, s.a);

-- # MERGE that updates one column
CREATE TABLE {t} (k INT, a STRING, b STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}');
INSERT INTO {t} VALUES (1, 'a1', 'b1', 1L);
MERGE INTO {t} USING (SELECT 1 AS k, 'a2' AS a, 2L AS ts) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a, ts = s.ts;
MERGE INTO {t} USING (SELECT 1 AS k, 'a3' AS a) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET a = s.a;

-- # MERGE with an expression of both sides
CREATE TABLE {t} (k INT, n INT, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = 'mor');
INSERT INTO {t} VALUES (1, 10, 1L);
MERGE INTO {t} USING (SELECT 1 AS k, 5 AS n, 2L AS ts) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET n = {t}.n + s.n, ts = s.ts;

-- # MERGE with conditions on both clauses
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
INSERT INTO {t} VALUES (1, 'a', 1L), (2, 'b', 1L);
MERGE INTO {t} USING (SELECT * FROM VALUES (1, 'x', 2L), (2, 'y', 2L), (3, 'z', 2L), (4, 'w', 2L) AS s(k, v, ts)) s ON {t}.k = s.k WHEN MATCHED AND {t}.v = 'a' THEN UPDATE SET * WHEN NOT MATCHED AND s.k > 3 THEN INSERT *;

-- # MERGE with two update clauses
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
INSERT INTO {t} VALUES (1, 'a', 1L), (2, 'b', 1L);
MERGE INTO {t} USING (SELECT * FROM VALUES (1, 2L), (2, 2L) AS s(k, ts)) s ON {t}.k = s.k WHEN MATCHED AND s.k = 1 THEN UPDATE SET v = 'first', ts = s.ts WHEN MATCHED THEN UPDATE SET v = 'second', ts = s.ts;

-- # MERGE with NOT MATCHED BY SOURCE
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED BY SOURCE THEN DELETE;

-- # MERGE that deletes a row with a late source row
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 5L);
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v, 1L AS ts) s ON {t}.k = s.k WHEN MATCHED THEN DELETE;

-- # MERGE that deletes with a source without the ordering field
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 5L), (2, 'b', 5L);
MERGE INTO {t} USING (SELECT 1 AS k) s ON {t}.k = s.k WHEN MATCHED THEN DELETE;

-- # MERGE on a column that is not the key
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a'), (2, 'a');
MERGE INTO {t} USING (SELECT 'a' AS v, 'x' AS w) s ON {t}.v = s.v WHEN MATCHED THEN UPDATE SET v = s.w;

-- # MERGE on part of a key of two columns
CREATE TABLE {t} (a INT, b INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'a,b');
INSERT INTO {t} VALUES (1, 1, 'x'), (1, 2, 'y');
MERGE INTO {t} USING (SELECT 1 AS a, 'z' AS v) s ON {t}.a = s.a WHEN MATCHED THEN UPDATE SET v = s.v;

-- # MERGE on both columns of a key
CREATE TABLE {t} (a INT, b STRING, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'a,b', type = 'mor');
INSERT INTO {t} VALUES (1, 'p', 'x'), (1, 'q', 'y');
MERGE INTO {t} USING (SELECT 1 AS a, 'q' AS b, 'z' AS v UNION ALL SELECT 2, 'p', 'w') s ON {t}.a = s.a AND {t}.b = s.b WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- # MERGE on the key and a further condition
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
INSERT INTO {t} VALUES (1, 'a', 1L), (2, 'b', 1L);
MERGE INTO {t} USING (SELECT * FROM VALUES (1, 'x', 2L), (2, 'y', 2L) AS s(k, v, ts)) s ON {t}.k = s.k AND {t}.v = 'a' WHEN MATCHED THEN UPDATE SET *;

-- # MERGE on an expression of the source's key
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
MERGE INTO {t} USING (SELECT 0 AS n, 'x' AS v) s ON {t}.k = s.n + 1 WHEN MATCHED THEN UPDATE SET v = s.v;

-- # MERGE on a key that is cast
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
MERGE INTO {t} USING (SELECT '1' AS k, 'x' AS v) s ON {t}.k = CAST(s.k AS INT) WHEN MATCHED THEN UPDATE SET v = s.v;
MERGE INTO {t} USING (SELECT 1L AS k, 'y' AS v) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v;

-- # MERGE with two source rows of one key
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 1L);
MERGE INTO {t} USING (SELECT * FROM VALUES (1, 'new', 3L), (1, 'old', 2L), (2, 'new', 3L), (2, 'old', 2L) AS s(k, v, ts)) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- # MERGE into a partitioned table without the partition in ON
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd2');
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v, 'd1' AS day UNION ALL SELECT 3, 'z', 'd3') s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- # MERGE into a partitioned table with the partition in ON
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1'), (2, 'b', 'd2');
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v, 'd1' AS day UNION ALL SELECT 2, 'z', 'd3') s ON {t}.k = s.k AND {t}.day = s.day WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- # MERGE that moves a row to another partition
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a', 'd1');
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v, 'd2' AS day) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET *;

-- # MERGE that moves a row to another partition under a global index
CREATE TABLE {t} (k INT, v STRING, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', 'hoodie.index.type' = 'GLOBAL_SIMPLE');
INSERT INTO {t} VALUES (1, 'a', 'd1');
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v, 'd2' AS day) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET *;

-- # MERGE into a table without a key
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (type = 'mor');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v UNION ALL SELECT 3, 'z') s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *;

-- # MERGE that assigns the key
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET k = s.k, v = s.v;
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET k = s.k + 1, v = s.v;

-- # MERGE that inserts another key than the source's
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v) s ON {t}.k = s.k WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k + 1, s.v);

-- # MERGE of a value that is cast: {what}
-- for what | kind | value
--   a string to a double | DOUBLE | '1.5'
--   an integer to a string | STRING | 5
--   a long to an integer | INT | 5L
--   an integer to a long | BIGINT | 5
--   a double to a float | FLOAT | 0.1D
--   a decimal of another scale | DECIMAL(5,1) | 1.25BD
--   a string to a date | DATE | '2024-01-05'
--   a struct with other names | STRUCT<a: INT> | named_struct('x', 1)
CREATE TABLE {t} (k INT, v {kind}) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, NULL);
MERGE INTO {t} USING (SELECT 1 AS k, {value} AS v) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v;

-- # MERGE from another table of the format
CREATE TABLE {u} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
INSERT INTO {u} VALUES (1, 'x', 2L), (2, 'y', 2L);
CREATE TABLE {t} (k INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts');
INSERT INTO {t} VALUES (1, 'a', 1L);
MERGE INTO {t} AS a USING {u} AS b ON a.k = b.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- # MERGE from a Parquet table into a partitioned table with a flag
CREATE TABLE {u} (k INT, v STRING, flag STRING, day STRING) USING parquet;
INSERT INTO {u} VALUES (1, 'x', 'update', 'd1'), (2, 'y', 'delete', 'd1'), (3, 'z', 'insert', 'd2');
CREATE TABLE {t} (k INT, v STRING, ts BIGINT, day STRING) USING hudi PARTITIONED BY (day) TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = 'mor');
INSERT INTO {t} VALUES (1, 'a', 1L, 'd1'), (2, 'b', 1L, 'd1');
MERGE INTO {t} AS target USING (SELECT k, v, '1000' AS ts, flag, day FROM {u}) source ON target.k = source.k WHEN MATCHED AND flag != 'delete' THEN UPDATE SET k = source.k, v = source.v, ts = source.ts, day = source.day WHEN MATCHED AND flag = 'delete' THEN DELETE WHEN NOT MATCHED THEN INSERT (k, v, ts, day) VALUES (source.k, source.v, source.ts, source.day);

-- # MERGE from the table itself
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a'), (2, 'b');
MERGE INTO {t} a USING {t} b ON a.k = b.k WHEN MATCHED AND b.k = 1 THEN UPDATE SET v = concat(b.v, 'x');

-- # MERGE with a source that is empty
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, 'a');
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v WHERE false) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- # MERGE into a table that is empty
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

-- # MERGE assigns a field of a struct
CREATE TABLE {t} (k INT, s STRUCT<a: INT, b: STRING>) USING hudi TBLPROPERTIES (primaryKey = 'k');
INSERT INTO {t} VALUES (1, named_struct('a', 1, 'b', 'x'));
MERGE INTO {t} USING (SELECT 1 AS k, 2 AS a) c ON {t}.k = c.k WHEN MATCHED THEN UPDATE SET s.a = c.a;

-- # MERGE assigns null and a literal
CREATE TABLE {t} (k INT, a STRING, b INT) USING hudi TBLPROPERTIES (primaryKey = 'k', type = 'mor');
INSERT INTO {t} VALUES (1, 'a', 1);
MERGE INTO {t} USING (SELECT 1 AS k) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET a = NULL, b = 7;

-- # MERGE with a delete flag as a column
CREATE TABLE {t} (k INT, v STRING, ts BIGINT, _hoodie_is_deleted BOOLEAN) USING hudi TBLPROPERTIES (primaryKey = 'k', preCombineField = 'ts', type = '{type}');
INSERT INTO {t} VALUES (1, 'a', 1L, false), (2, 'b', 1L, false);
MERGE INTO {t} USING (SELECT 1 AS k, 'x' AS v, 2L AS ts, true AS _hoodie_is_deleted) s ON {t}.k = s.k WHEN MATCHED THEN UPDATE SET *;

-- # MERGE into a view is refused
CREATE TABLE {t} (k INT, v STRING) USING hudi TBLPROPERTIES (primaryKey = 'k');
CREATE TEMPORARY VIEW w AS SELECT * FROM {t};
MERGE INTO w USING (SELECT 1 AS k, 'x' AS v) s ON w.k = s.k WHEN NOT MATCHED THEN INSERT *;
