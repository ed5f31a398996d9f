package io.merganser.table.rule

import io.merganser.merge._
import io.merganser.table.avro.{AvroInput, AvroOutput, AvroRowReader, AvroRowWriter, AvroSchemas, RecordPayload}
import org.apache.avro.Schema
import org.apache.avro.generic.{GenericDatumReader, GenericDatumWriter, GenericRecord, IndexedRecord}
import org.apache.avro.io.{DecoderFactory, EncoderFactory}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import java.io.ByteArrayOutputStream
import java.lang.reflect.{Constructor, InvocationTargetException}
import java.util.{Optional, Properties, Map => JavaMap}

/**
 * A user's [[RecordPayload]] class as a merger.
 *
 * A delete without data removes older versions unless its ordering value is smaller. A row after a delete that has an
 * ordering value is an insert, unless its own ordering value is smaller. An empty result of a payload is an
 * unconditional delete: what follows is an insert.
 */
private[table] final class PayloadMerger(payloadClass: Class[_ <: RecordPayload], table: String)
    extends CombiningMerger {
  private[this] val constructor: Constructor[_ <: RecordPayload] =
    payloadClass.getConstructor(RecordPayload.Constructor: _*)

  private[this] var records: PayloadRecords         = _
  private[this] var properties: Properties          = _
  private[this] var source: JavaMap[String, String] = _

  override def getMergingStrategy: String = PayloadMerger.StrategyId

  override def merge(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    if (isLateAgainstDelete(older, newer, context)) older
    else if (newer.isDelete) newer
    else if (older.isDelete) insert(newer, context, props)
    else {
      prepare(context, props)
      val current = records.toAvro(older.getRecord)
      val result  = payload(newer).combineAndGetUpdateValue(current, records.schema, properties)
      if (result != null && result.isPresent && (result.get eq current)) older else toRecord(result, newer, context)
    }

  /** A partial version is overlaid on the older row first: payloads handle full records only. */
  override def partialMerge(
      older: BufferedRecord,
      newer: BufferedRecord,
      readerSchema: StructType,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    if (older.isDelete || newer.isDelete) merge(older, newer, context, props)
    else {
      val values = new java.util.HashMap[String, AnyRef]
      context.getSchema(newer).fieldNames.foreach(column => values.put(column, context.getValue(newer, column)))
      val whole  = context.mergeWithEngineRecord(older, values)
      val merged = merge(older, whole, context, props)
      if (merged eq whole) context.copy(whole) else merged
    }

  override def combine(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    if (isLateAgainstDelete(older, newer, context)) older
    else if (newer.isDelete || older.isDelete) newer
    else {
      prepare(context, props)
      val (first, second) = (payload(older), payload(newer))
      second.preCombine(first, properties) match {
        case null                       => null
        case result if result eq first  => older
        case result if result eq second => newer
        case result                     => toRecord(result.getInsertValue(records.schema, properties), newer, context)
      }
    }

  override def insert(
      record: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord = {
    prepare(context, props)
    toRecord(payload(record).getInsertValue(records.schema, properties), record, context)
  }

  /** Whether one of the two is a delete, neither is unconditional, and the newer one has the smaller ordering value. */
  private def isLateAgainstDelete(older: BufferedRecord, newer: BufferedRecord, context: RecordContext): Boolean =
    (older.isDelete || newer.isDelete) && !newer.isCommitTimeOrderingDelete && !older.isCommitTimeOrderingDelete &&
      context.compareOrdering(newer, older) < 0

  private def toRecord(
      result: Optional[IndexedRecord],
      record: BufferedRecord,
      context: RecordContext
  ): BufferedRecord =
    if (result == null) null
    else if (!result.isPresent) context.createCommitTimeOrderingDelete(record)
    else context.asInstanceOf[RowContext].ofEngineRow(record, records.toRow(result.get), records.columns)

  private def payload(record: BufferedRecord): RecordPayload = {
    val ordering: Any =
      if (properties.containsKey(PayloadMerger.OrderingField)) record.getOrderingValue else Integer.valueOf(0)
    try constructor.newInstance(records.toAvro(record.getRecord), ordering.asInstanceOf[AnyRef])
    catch { case thrown: InvocationTargetException => throw thrown.getCause }
  }

  private def prepare(context: RecordContext, props: JavaMap[String, String]): Unit = {
    if (records == null) records = new PayloadRecords(context.getSchema(0), table)
    if (source ne props) {
      source = props
      properties = new Properties
      props.forEach((key, value) => { properties.setProperty(key, value); () })
    }
  }
}

private[table] object PayloadMerger {

  /** The strategy id of tables whose payload class decides. */
  val StrategyId = "00000000-0000-0000-0000-000000000000"

  /** Property by which payloads get the ordering fields; absent where the table has none. */
  val OrderingField = "hoodie.payload.ordering.field"
}

/** A payload class by name, loaded where it merges. */
private[table] final case class PayloadClass(className: String, table: String) extends MergerSource {

  override val combines: Boolean = true

  override def open(): RecordMerger =
    new PayloadMerger(MergerClass.load(className, classOf[RecordPayload]), table)
}

/** Converts rows to Avro records and back, through the encoding that logs use. */
private final class PayloadRecords(val columns: StructType, table: String) {

  /** Every column is nullable, so that the schema is the same on every path. */
  val schema: Schema = AvroSchemas.toAvro(StructType(columns.map(_.copy(nullable = true))), table)

  private[this] val writer  = new AvroRowWriter(columns, schema)
  private[this] val decoder = new GenericDatumReader[GenericRecord](schema)
  private[this] val output  = new AvroOutput()
  private[this] val own     = new AvroRowReader(schema, columns, "a payload's record")

  def toAvro(row: InternalRow): GenericRecord = {
    output.clear()
    writer.write(row, output)
    decoder.read(null, DecoderFactory.get.binaryDecoder(output.toByteArray, null))
  }

  /** @throws IllegalArgumentException if the record lacks a column */
  def toRow(record: IndexedRecord): InternalRow = {
    val reader =
      if (record.getSchema == schema) own else new AvroRowReader(record.getSchema, columns, "a payload's record")
    val missing = columns.fieldNames.zip(reader.provided).collect { case (name, false) => name }
    if (missing.nonEmpty)
      throw new IllegalArgumentException(s"the record lacks the column(s) ${missing.mkString(", ")}")
    val bytes   = new ByteArrayOutputStream
    val encoder = EncoderFactory.get.directBinaryEncoder(bytes, null)
    new GenericDatumWriter[IndexedRecord](record.getSchema).write(record, encoder)
    encoder.flush()
    val array = bytes.toByteArray
    reader.read(new AvroInput().reset(array, 0, array.length)).copy()
  }
}
