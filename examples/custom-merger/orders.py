"""One order, two services: a table whose merge rule is a class of its own. See README.md.

Run: ./dev python examples/custom-merger/orders.py JAR [FOLDER]
"""

import sys
import tempfile

from pyspark.sql import SparkSession

import merganser

MERGER = {"hoodie.write.record.merge.custom.implementation.classes": "orders.OrderMerger"}
TABLE = {
    "hoodie.write.record.merge.mode": "CUSTOM",
    "hoodie.write.record.merge.strategy.id": "0e6957b1-7549-4980-94c2-88553968562c",
    "hoodie.record.merge.property.order.states": "placed,paid,shipped,delivered",
}
INFO = "id string, item string, address string, info_ts long, state string"
PAYMENT = "id string, paid double, method string, payment_ts long, state string"
ALL = f"{INFO}, paid double, method string, payment_ts long"
# A service's frame lacks the other one's columns: they are not provided, and stay as they are.
SENT = merganser.WriteOptions(missing_columns=merganser.MissingColumns.KEEP, hoodie=MERGER)


def show(spark: SparkSession, path: str, step: str) -> None:
    rows = spark.read.format("merganser").options(**MERGER).load(path).select(*[c.split()[0] for c in ALL.split(", ")])
    for row in rows.orderBy("id").collect():
        print(f"{step}: {' '.join(str(value) for value in row)}")


def main(jar: str, folder: str) -> None:
    spark = merganser.session("orders", master="local[2]", config={"spark.jars": jar})
    for kind in (merganser.TableType.COPY_ON_WRITE, merganser.TableType.MERGE_ON_READ):
        path = f"{folder}/{kind.name.lower()}"
        orders = merganser.Table.create(
            spark, path, spark.createDataFrame([], ALL).schema, record_key="id", table_type=kind, options=TABLE
        )
        placed = [("o1", "lamp", "Elm 1", 1, "placed"), ("o1", "lamp", "Elm 2", 2, "placed")]  # two in one batch
        orders.upsert(spark.createDataFrame(placed, INFO), options=SENT)
        orders.upsert(spark.createDataFrame([("o1", 9.5, "card", 5, "paid")], PAYMENT), options=SENT)
        orders.upsert(spark.createDataFrame([("o1", "lamp", "Oak 7", 3, "shipped")], INFO), options=SENT)
        late = [("o1", 0.0, "cash", 4, "paid")]  # an older payment, and a state the order has left behind
        orders.upsert(spark.createDataFrame(late, PAYMENT), options=SENT)
        show(spark, path, kind.name.lower())
        if kind is merganser.TableType.MERGE_ON_READ:
            orders.compact(options=MERGER)
            show(spark, path, "compacted")
            orders.upsert(spark.createDataFrame([("o1", None, None, None, "delivered")], INFO), options=SENT)
            show(spark, path, kind.name.lower())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
