package io.merganser.table.rule

import io.merganser.merge._
import io.merganser.table.avro.RecordPayload
import org.apache.avro.Schema
import org.apache.avro.generic.{GenericRecord, IndexedRecord}
import org.apache.spark.sql.types.StructType

import java.lang.reflect.{Constructor, InvocationTargetException}
import java.util.{Optional, Properties, Map => JavaMap}
import scala.annotation.nowarn

/**
 * A user's payload class as a merger.
 *
 * A delete without data removes older versions unless its ordering value is smaller. A row after a delete that has an
 * ordering value is an insert, unless its own ordering value is smaller. An empty result of a payload is an
 * unconditional delete: what follows is an insert.
 */
private[table] final class PayloadMerger(payloads: Payloads, table: String) extends CombiningMerger {
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
    if (older.isDelete) afterDelete(older, newer, context, props)
    else if (newer.isDelete) deleted(older, newer, context, props)
    else {
      prepare(context, props)
      val current = records.toAvro(older.getRecord)
      merged(payload(newer).combineAndGetUpdateValue(current, records.schema, properties), current, older, newer,
        context)
    }

  private def afterDelete(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    if (!payloads.decideDeletes && isLateAgainstDelete(older, newer, context)) older
    else if (newer.isDelete) newer
    else insert(newer, context, props)

  private def deleted(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    if (newer.isCommitTimeOrderingDelete) newer
    else {
      prepare(context, props)
      lazy val current = records.toAvro(older.getRecord)
      payloads.delete(newer, current, records.schema, properties) match {
        case Some(result) if result.isPresent => merged(result, current, older, newer, context)
        case Some(_)                          => newer
        case None                             => if (isLateAgainstDelete(older, newer, context)) older else newer
      }
    }

  private def merged(
      result: Optional[IndexedRecord],
      current: IndexedRecord,
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext
  ): BufferedRecord =
    if (result != null && result.isPresent && (result.get eq current) && isUnchanged(current, older)) older
    else toRecord(result, newer, context)

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

  private def isUnchanged(current: IndexedRecord, older: BufferedRecord): Boolean =
    !payloads.changesInPlace || current == records.toAvro(older.getRecord)

  private def payload(record: BufferedRecord): RecordPayload =
    payloads.payload(record, records.toAvro(record.getRecord), properties)

  private def prepare(context: RecordContext, props: JavaMap[String, String]): Unit = {
    if (records == null) records = new PayloadRecords(context.getSchema(0), table)
    if (source ne props) {
      source = props
      properties = payloads.properties(props)
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
    new PayloadMerger(new OwnPayloads(MergerClass.load(className, classOf[RecordPayload])), table)
}

/** Makes the payloads of one class. */
private[table] trait Payloads {

  /** Whether a payload may change the previous record and return it. */
  def changesInPlace: Boolean = false

  /** Whether payloads decide about deletes; otherwise a delete or a row with the smaller ordering value loses. */
  def decideDeletes: Boolean = false

  /**
   * Merges a delete that has an ordering value with the previous record.
   *
   * @return as of a payload; None if ordering values are to decide
   */
  @nowarn("cat=unused-params")
  def delete(
      record: BufferedRecord,
      currentValue: => IndexedRecord,
      schema: Schema,
      properties: Properties
  ): Option[Optional[IndexedRecord]] = None

  /** The properties that payloads get. */
  def properties(props: JavaMap[String, String]): Properties

  /**
   * @param record the row; not a delete
   * @param avro   its columns
   */
  def payload(record: BufferedRecord, avro: GenericRecord, properties: Properties): RecordPayload
}

private final class OwnPayloads(payloadClass: Class[_ <: RecordPayload]) extends Payloads {
  private[this] val constructor: Constructor[_ <: RecordPayload] =
    payloadClass.getConstructor(RecordPayload.Constructor: _*)

  override def properties(props: JavaMap[String, String]): Properties = {
    val result = new Properties
    props.forEach((key, value) => { result.setProperty(key, value); () })
    result
  }

  override def payload(record: BufferedRecord, avro: GenericRecord, properties: Properties): RecordPayload = {
    val ordering: Any =
      if (properties.containsKey(PayloadMerger.OrderingField)) record.getOrderingValue else Integer.valueOf(0)
    try constructor.newInstance(avro, ordering.asInstanceOf[AnyRef])
    catch { case thrown: InvocationTargetException => throw thrown.getCause }
  }
}
