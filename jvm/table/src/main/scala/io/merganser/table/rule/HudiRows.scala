package io.merganser.table.rule

import io.merganser.merge.{BufferedRecord, RecordContext, RowContext, RowLayout}
import io.merganser.table.avro.AvroSchemas
import org.apache.avro.Schema
import org.apache.avro.generic.IndexedRecord
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{StructField, StructType}

import java.lang.reflect.Method
import java.util.{IdentityHashMap, Map => JavaMap}
import scala.collection.JavaConverters._
import scala.collection.mutable

/** A record and the data that were passed to the user's class for it, null for a delete. */
private[rule] final case class Sent(record: BufferedRecord, layout: HudiLayout, data: AnyRef)

/**
 * Rows as Hudi's mergers take them: Spark's rows, or Avro records. Both have the table's data columns, without the meta
 * columns.
 */
private[rule] final class HudiRows(table: String, val isAvro: Boolean) {
  private[this] val layouts = mutable.Map.empty[Int, HudiLayout]
  private[this] val results = new IdentityHashMap[Schema, ResultRows]

  def layout(columns: StructType): HudiLayout = new HudiLayout(columns, table, isAvro)

  def send(record: BufferedRecord, context: RecordContext): Sent =
    if (record.isDelete) Sent(record, whole(context), null)
    else {
      val layout = layouts.getOrElseUpdate(record.getSchemaId, this.layout(context.getSchema(record)))
      Sent(record, layout, layout.data(record))
    }

  /** All columns. */
  def whole(context: RecordContext): HudiLayout = layouts.getOrElseUpdate(0, layout(context.getSchema(0)))

  /** @throws IllegalArgumentException if the data have a column of another type than the table */
  def toRecord(data: AnyRef, schema: Schema, like: BufferedRecord, context: RecordContext): BufferedRecord = {
    var rows = results.get(schema)
    if (rows == null) {
      rows = new ResultRows(schema, context.getSchema(0))
      results.put(schema, rows)
    }
    context.asInstanceOf[RowContext].ofEngineRow(like, rows.row(data), rows.columns)
  }

  /** Data of one schema that a user's class returned. */
  private final class ResultRows(schema: Schema, all: StructType) {
    private[this] val found = AvroSchemas.toSpark(schema)

    /** Those of the table's columns that the data have. */
    val columns: StructType = StructType(all.filter(column => found.fieldNames.contains(column.name)))

    private[this] val positions = columns.fieldNames.map(name => found.fieldNames.indexOf(name))
    private[this] val isPlain   = positions.sameElements(found.indices)
    private[this] val records   = if (isAvro) new PayloadRecords(columns, table) else null

    if (!isAvro) columns.foreach { column =>
      val other = found(column.name).dataType
      if (other.catalogString != AvroSchemas.stored(StructType(Seq(column))).head.dataType.catalogString)
        throw new IllegalArgumentException(
          s"column '${column.name}' of the result has type ${other.catalogString}, " +
            s"the table's has ${column.dataType.catalogString}")
    }

    def row(data: AnyRef): InternalRow = data match {
      case record: IndexedRecord if isAvro => records.toRow(record)
      case row: InternalRow if !isAvro =>
        if (isPlain) row
        else
          new GenericInternalRow(Array.tabulate[Any](columns.length)(n =>
              RowLayout.valueAt(row, positions(n), columns(n).dataType)))
      case other => throw new IllegalArgumentException(
          s"its result has data of ${other.getClass.getName}, not " +
            (if (isAvro) "an Avro record" else "a row of Spark"))
    }
  }
}

/** One set of columns, as a schema of Hudi and as data. */
private[rule] final class HudiLayout(val columns: StructType, table: String, isAvro: Boolean) {

  /** Every column is nullable, so that the schema is the same on every path. */
  val schema: Schema = AvroSchemas.toAvro(StructType(columns.map(_.copy(nullable = true))), table)

  /** The columns with the types of the rows. */
  val rowType: StructType = StructType(columns.map((column: StructField) => column.copy(nullable = true)))

  private[this] lazy val records = new PayloadRecords(columns, table)

  def data(record: BufferedRecord): AnyRef = if (isAvro) records.toAvro(record.getRecord) else record.getRecord

  /** Whether data that were passed to the class are as they were: an Avro record can be changed in place. */
  def isSame(data: AnyRef, sent: Sent): Boolean = !isAvro || data == this.data(sent.record)

  /** The schema as the class that a method of Hudi takes: Avro's until 1.1, Hudi's own since. */
  def schemaFor(parameter: Class[_]): AnyRef =
    if (parameter == classOf[Schema]) schema
    else HudiJar.call(HudiLayout.fromAvro(parameter), null, schema)
}

private[rule] object HudiLayout {
  private def fromAvro(schemaClass: Class[_]): Method = schemaClass.getMethod("fromAvroSchema", classOf[Schema])

  /** Avro's schema of what a method of Hudi returned. */
  def avroOf(found: AnyRef): Schema = found match {
    case schema: Schema => schema
    case other          => HudiJar.call(HudiJar.methodOf(other.getClass, "toAvroSchema", 0), other).asInstanceOf[Schema]
  }
}

/** The table's settings as Hudi's class. */
private[rule] object HudiTable {

  /** @param storesKeys false for rows without meta columns: Hudi then computes a record key from the key columns */
  def config(props: JavaMap[String, String], storesKeys: Boolean): AnyRef = {
    val configClass = HudiJar.load("org.apache.hudi.common.table.HoodieTableConfig")
    val config      = HudiJar.make(configClass.getConstructor())
    val set         = configClass.getMethod("setValue", classOf[String], classOf[String])
    for ((key, value) <- props.asScala) HudiJar.call(set, config, key, value)
    if (!storesKeys) HudiJar.call(set, config, "hoodie.populate.meta.fields", "false")
    config
  }
}
