package io.merganser.table.rule

import io.merganser.merge.{BufferedRecord, RecordContext, RowContext}
import org.apache.avro.Schema
import org.apache.avro.generic.IndexedRecord
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import java.lang.reflect.Method
import java.util.{Map => JavaMap}

/**
 * A merger of Hudi 1.0 and earlier: it gets Hudi's records with their Avro schemas, an empty record for a delete, and
 * returns an optional pair of these. An empty result deletes, and so does a record that it does not let be flushed.
 *
 * @param mergeMethod its method `merge`
 */
private[rule] final class HudiRecordMerger(instance: AnyRef, mergeMethod: Method, rows: HudiRows)
    extends HudiMerger(instance, rows) {
  private[this] lazy val calls   = new HudiRecordMerger.Calls(rows.isAvro)
  private[this] lazy val partial = HudiJar.methodOf(instance.getClass, "partialMerge", 6)
  private[this] lazy val flushes = HudiJar.method(instance.getClass, "shouldFlush", 3)

  override def merge(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    exchanged(older, newer, context, props) { (first, firstSchema, second, secondSchema) =>
      HudiJar.call(mergeMethod, instance, first, firstSchema, second, secondSchema, properties(props))
    }

  override def partialMerge(
      older: BufferedRecord,
      newer: BufferedRecord,
      readerSchema: StructType,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    exchanged(older, newer, context, props) { (first, firstSchema, second, secondSchema) =>
      HudiJar.call(partial, instance, first, firstSchema, second, secondSchema, rows.whole(context).schema,
        properties(props))
    }

  private def exchanged(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  )(method: (AnyRef, Schema, AnyRef, Schema) => AnyRef): BufferedRecord = {
    val (first, second) = (rows.send(older, context), rows.send(newer, context))
    val (one, other)    = (toHudi(first, context), toHudi(second, context))
    val pair            = HudiOption.value(method(one, first.layout.schema, other, second.layout.schema))
    val found           = if (pair == null) null else calls.left(pair)
    if (found == null) context.createCommitTimeOrderingDelete(newer)
    else if (calls.isDelete(found)) {
      if ((found eq one) && older.isDelete) older
      else if ((found eq other) && newer.isDelete) newer
      else context.createCommitTimeOrderingDelete(newer)
    } else {
      val schema = calls.right(pair)
      if (isFlushed(found, schema, props)) result(calls.data(found), schema, first, second, context)
      else context.createCommitTimeOrderingDelete(newer)
    }
  }

  private def isFlushed(record: AnyRef, schema: Schema, props: JavaMap[String, String]): Boolean =
    flushes.forall(HudiJar.call(_, instance, record, schema, properties(props)).asInstanceOf[Boolean])

  private def toHudi(sent: Sent, context: RecordContext): AnyRef =
    if (sent.data != null) calls.record(sent.record.getRecordKey, sent.data, sent.layout.rowType)
    else calls.delete(sent.record.getRecordKey, orderingOf(sent.record, context.asInstanceOf[RowContext]))

  private def orderingOf(record: BufferedRecord, context: RowContext): AnyRef =
    if (record.isCommitTimeOrderingDelete) HudiOrdering.Default
    else context.engineOrdering(record).headOption.map(_.asInstanceOf[AnyRef]).getOrElse(HudiOrdering.Default)
}

private object HudiRecordMerger {

  /** The constructors and methods of Hudi's records. */
  private final class Calls(isAvro: Boolean) {
    private[this] val record     = HudiJar.load(HudiJar.Record)
    private[this] val empty      = HudiJar.load("org.apache.hudi.common.model.HoodieEmptyRecord")
    private[this] val keyClass   = HudiJar.load(HudiJar.Key)
    private[this] val keys       = keyClass.getConstructor(classOf[String], classOf[String])
    private[this] val datas      = record.getMethod("getData")
    private[this] val pairs      = HudiJar.load("org.apache.hudi.common.util.collection.Pair")
    private[this] val lefts      = pairs.getMethod("getLeft")
    private[this] val rights     = pairs.getMethod("getRight")
    private[this] val types      = HudiJar.load(HudiJar.RecordType)
    private[this] val operations = HudiJar.load(HudiJar.Operation)
    private[this] val deleteType = HudiJar.constant(HudiJar.RecordType, if (isAvro) "AVRO" else "SPARK")
    private[this] val deletes    = HudiJar.constant(HudiJar.Operation, "DELETE")

    private[this] val makesEmpty = empty.getConstructor(keyClass, operations, classOf[Comparable[_]], types)
    private[this] val makes =
      if (isAvro)
        HudiJar.load("org.apache.hudi.common.model.HoodieAvroIndexedRecord")
          .getConstructor(keyClass, classOf[IndexedRecord])
      else HudiJar.load("org.apache.hudi.common.model.HoodieSparkRecord")
        .getConstructor(keyClass, classOf[InternalRow], classOf[StructType], classOf[Boolean])

    def record(key: String, data: AnyRef, rowType: StructType): AnyRef =
      if (isAvro) HudiJar.make(makes, HudiJar.make(keys, key, ""), data)
      else HudiJar.make(makes, HudiJar.make(keys, key, ""), data, rowType, java.lang.Boolean.FALSE)

    def delete(key: String, ordering: AnyRef): AnyRef =
      HudiJar.make(makesEmpty, HudiJar.make(keys, key, ""), deletes, ordering, deleteType)

    def isDelete(found: AnyRef): Boolean = empty.isInstance(found) || data(found) == null

    def data(found: AnyRef): AnyRef = HudiJar.call(datas, found)

    def left(pair: AnyRef): AnyRef = HudiJar.call(lefts, pair)

    def right(pair: AnyRef): Schema = HudiJar.call(rights, pair).asInstanceOf[Schema]
  }
}
