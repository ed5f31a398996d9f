-- Orders change, the news of it comes in any order; the table holds the latest of each.
-- Run it with: ./dev sql -f examples/quickstart.sql
CREATE TABLE orders (id INT, status STRING, amount DECIMAL(10, 2), at TIMESTAMP) USING merganser
  TBLPROPERTIES (primaryKey = 'id', orderingFields = 'at', type = 'mor');

-- Plain INSERT INTO would add rows; this makes it merge them.
SET hoodie.spark.sql.insert.into.operation = upsert;
INSERT INTO orders VALUES
  (1, 'placed', 20.00, timestamp'2026-01-01 09:00:00'),
  (2, 'placed', 35.50, timestamp'2026-01-01 09:05:00');

-- A feed: 1 was paid and shipped, told in the wrong order; 2 was cancelled; 3 is new.
CREATE OR REPLACE TEMPORARY VIEW feed AS SELECT * FROM VALUES
  (1, 'shipped', 20.00, timestamp'2026-01-01 12:00:00'),
  (2, 'cancelled', 35.50, timestamp'2026-01-01 10:00:00'),
  (3, 'placed', 7.25, timestamp'2026-01-01 11:00:00') AS t(id, status, amount, at);
MERGE INTO orders o USING feed f ON o.id = f.id
  WHEN MATCHED AND f.status = 'cancelled' THEN DELETE
  WHEN MATCHED THEN UPDATE SET *
  WHEN NOT MATCHED THEN INSERT *;
INSERT INTO orders VALUES (1, 'paid', 20.00, timestamp'2026-01-01 10:30:00');  -- late: 'shipped' stays

UPDATE orders SET amount = amount + 1 WHERE id = 3;
CALL run_compaction(op => 'scheduleandexecute', table => 'orders');
SELECT id, status, amount FROM orders ORDER BY id;
DROP TABLE orders;
