-- Orders of a shop arrive late, twice, and as deletes. The rule of the table: the version with the larger `at` wins.
CREATE TABLE demo_orders (id STRING, status STRING, amount DOUBLE, at BIGINT) USING merganser LOCATION '{path}'
  TBLPROPERTIES (primaryKey = 'id', orderingFields = 'at', type = 'mor');

INSERT INTO demo_orders VALUES ('o1', 'new', 10.0, 1), ('o2', 'new', 25.0, 1), ('o3', 'paid', 7.5, 4);

-- o1 is paid, and the change comes twice; the draft of o3 comes late; o4 is new.
MERGE INTO demo_orders t
  USING (SELECT * FROM VALUES ('o1', 'paid', 10.0D, 5L), ('o1', 'paid', 10.0D, 5L), ('o3', 'draft', 7.0D, 2L),
                              ('o4', 'new', 3.0D, 6L) AS v (id, status, amount, at)) s ON t.id = s.id
  WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;

UPDATE demo_orders SET status = 'sent', at = 7 WHERE id = 'o1';

DELETE FROM demo_orders WHERE id = 'o2';

SELECT id, status, amount, at FROM demo_orders ORDER BY id;

-- The files of the table stay.
DROP TABLE demo_orders;
