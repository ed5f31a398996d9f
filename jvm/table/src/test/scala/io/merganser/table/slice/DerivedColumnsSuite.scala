package io.merganser.table.slice

import io.merganser.merge.MerganserException
import io.merganser.table.log.LogSink
import io.merganser.table.properties.TableConfig
import io.merganser.table.schema.{DroppedColumns, MetaColumns}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Cast, GenericInternalRow}
import org.apache.spark.sql.sources.{EqualTo, IsNull}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** Columns of rows that files do not store. */
class DerivedColumnsSuite extends AnyFunSuite {

  private val Drop  = "hoodie.datasource.write.drop.partition.columns" -> "true"
  private val NoKey = "hoodie.populate.meta.fields" -> "false"

  private def config(partitions: String, more: (String, String)*): TableConfig = TableConfig(
    Map("hoodie.table.name" -> "t", "hoodie.table.version" -> "9", "hoodie.table.recordkey.fields" -> "id",
      "hoodie.table.partition.fields" -> partitions) ++ more)

  private val table = StructType.fromDDL("id INT, v BIGINT, day STRING")
  private val key   = RowKey(Cast(AttributeReference("id", IntegerType)(), StringType), StructType(table.take(1)))

  private def text(value: String) = UTF8String.fromString(value)

  private def row(values: Any*): InternalRow = new GenericInternalRow(values.toArray)

  private def values(config: TableConfig, path: String): Seq[String] =
    PathValues.of(config, path).map(value => if (value == null) null else value.toString)

  test("partition columns get their values from the levels of the path, and a single one from the whole path") {
    assert(values(config("day"), "2024/01/02") == Seq("2024/01/02"))
    assert(values(config("day,region"), "2024-01-02/a b") == Seq("2024-01-02", "a b"))
    assert(values(config("day,region"), "x/__HIVE_DEFAULT_PARTITION__") == Seq("x", null))
    val escaped = Seq("hoodie.datasource.write.hive_style_partitioning" -> "true",
      "hoodie.datasource.write.partitionpath.urlencode" -> "true")
    assert(values(config("day,region", escaped: _*), "day=a%2Fb%3D/region=%25") == Seq("a/b=", "%"))
    assert(values(config("day", "hoodie.datasource.write.slash.separated.date.partitioning" -> "true"),
      "2024/01/02") == Seq("2024-01-02"))
    val e = intercept[MerganserException](PathValues.of(config("day,region"), "a/b/c"))
    assert(e.condition == "PARTITION_VALUES_NOT_IN_PATH" && e.getMessage.contains("a/b/c"))
  }

  test("dropped columns become strings at the end of the table's columns and are not stored by commits") {
    val (stored, slim) = (StructType.fromDDL("id INT, DAY INT, v BIGINT"), StructType.fromDDL("id INT, v BIGINT"))
    assert(DroppedColumns.added(config("day", Drop), slim) == StructType.fromDDL("id INT, v BIGINT, day STRING"))
    assert(DroppedColumns.added(config("day", Drop), stored) == stored, "a type that commits have is kept")
    assert(DroppedColumns.removed(config("day", Drop), stored) == slim)
    assert(DroppedColumns.removed(config("day", Drop), stored, slim) == slim)
    assert(DroppedColumns.removed(config("day", Drop), stored, stored) == stored, "and commits keep having it")
    assert(DroppedColumns.added(config("day", Drop), new StructType).isEmpty)
    assert(DroppedColumns.added(config("day"), stored) == stored && DroppedColumns.removed(config("day"),
      stored) == stored)
  }

  test("rows are completed from the path and, if the key is requested, from the key columns") {
    val none = new DerivedColumns(config("day"), table, None)
    assert(none.isEmpty && none.stored == table)
    val dropped = new DerivedColumns(config("day", Drop), StructType(Seq(table("day"), table("v"))), None)
    assert(dropped.stored == StructType(Seq(table("v"))) && dropped.areConstant)
    val complete = dropped.complete("2024-01-02")
    assert(complete(row(7L)).getUTF8String(0) == text("2024-01-02") && complete(row(8L)).getLong(1) == 8L)
    val virtual = config("day", NoKey)
    assert(new DerivedColumns(virtual, StructType(Seq(table("v"))), Some(key)).stored.fieldNames.toSeq == Seq("v"))
    val keyed = new DerivedColumns(virtual,
      StructType(Seq(table("v"), MetaColumns.schema(MetaColumns.RecordKey),
          MetaColumns.schema(MetaColumns.PartitionPath))), Some(key))
    assert(keyed.stored.fieldNames.toSeq == Seq("v", "id") && !keyed.areConstant)
    val completed = keyed.complete("a")(row(7L, 42))
    assert(completed.getUTF8String(1) == text("42") && completed.getUTF8String(2) == text("a"))
  }

  test("a dropped column with a type in commits takes values of this type, or the path is an error") {
    def value(dataType: DataType, path: String) =
      PathValues.typed(config("day", Drop), path, StructField("day", dataType), text(path))
    assert(value(DateType, "2024-01-02") == java.time.LocalDate.of(2024, 1, 2).toEpochDay.toInt)
    assert(value(IntegerType, "-7") == -7 && value(TimestampType, "1704164645000000") == 1704164645000000L)
    assert(value(DecimalType(4, 1), "1.5") == Decimal("1.5") && value(BooleanType, "true") == true)
    for ((dataType, path) <- Seq(DateType -> "x", IntegerType -> "2024/01", TimestampType -> "2024-01-02")) {
      val e = intercept[MerganserException](value(dataType, path))
      assert(e.condition == "PARTITION_VALUES_NOT_IN_PATH" && e.getMessage.contains(dataType.catalogString))
    }
    val columns = new DerivedColumns(config("day", Drop), StructType.fromDDL("day DATE, v BIGINT"), None)
    assert(columns.complete("1970-01-03")(row(7L)).getInt(0) == 2)
  }

  test("a key that is computed from a dropped column takes its value from the path") {
    val day = RowKey(AttributeReference("day", StringType)(), StructType(Seq(table("day"))))
    val keyed = new DerivedColumns(config("day", Drop, NoKey),
      StructType(Seq(table("v"), MetaColumns.schema(MetaColumns.RecordKey))), Some(day))
    assert(keyed.stored.fieldNames.toSeq == Seq("v"))
    assert(keyed.complete("2024-01-02")(row(7L)).getUTF8String(1) == text("2024-01-02"))
  }

  test("filters on columns that a file does not store do not prune it") {
    val dropped = new DerivedColumns(config("day", Drop, NoKey), table, Some(key))
    val byValue = EqualTo("v", 1L)
    assert(dropped.usable(Seq(byValue, EqualTo("day", "x"), IsNull(MetaColumns.RecordKey))) == Seq(byValue))
  }

  test("a partial log record provides the derived columns and those that its block has") {
    val columns = new DerivedColumns(config("day", Drop), table, None)
    assert(columns.stored.fieldNames.toSeq == Seq("id", "v"))
    var seen = Seq.empty[(Option[Seq[Boolean]], String)]
    val sink = columns.sink("a",
      new LogSink {
        override def row(row: InternalRow, provided: Array[Boolean], inserts: Boolean): Unit =
          seen :+= ((Option(provided).map(_.toSeq), row.getUTF8String(2).toString))
        override def delete(key: UTF8String, partitionPath: UTF8String, ordering: Array[Any]): Unit = ()
      })
    sink.row(row(1, 2L), Array(true, false), inserts = false)
    sink.row(row(1, 2L), null, inserts = false)
    assert(seen == Seq((Some(Seq(true, false, true)), "a"), (None, "a")))
  }
}
