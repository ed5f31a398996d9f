package io.merganser.table.rule

import io.merganser.merge.{BufferedRecord, RecordContext, RowContext}
import org.apache.avro.Schema
import org.apache.spark.sql.types.StructType

import java.lang.reflect.Method
import java.util.{IdentityHashMap, Map => JavaMap}

/**
 * A merger of Hudi 1.1 and later: it gets buffered records, and a record context of Hudi's own.
 *
 * @param mergeMethod its method `merge`
 */
private[rule] final class HudiBufferedMerger(instance: AnyRef, mergeMethod: Method, rows: HudiRows)
    extends HudiMerger(instance, rows) {
  import HudiBufferedMerger._

  private[this] lazy val calls          = new Calls
  private[this] lazy val partial        = HudiJar.methodOf(instance.getClass, "partialMerge", 5)
  private[this] var hudiContext: AnyRef = _
  private[this] val ids                 = new IdentityHashMap[HudiLayout, Integer]
  private[this] val schemas             = new java.util.HashMap[Integer, Schema]

  override def merge(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    exchanged(older, newer, context, props)((first, second) =>
      HudiJar.call(mergeMethod, instance, first, second, hudiContext, properties(props)))

  override def partialMerge(
      older: BufferedRecord,
      newer: BufferedRecord,
      readerSchema: StructType,
      context: RecordContext,
      props: JavaMap[String, String]
  ): BufferedRecord =
    exchanged(older, newer, context, props) { (first, second) =>
      val columns = rows.whole(context).schemaFor(partial.getParameterTypes()(2))
      HudiJar.call(partial, instance, first, second, columns, hudiContext, properties(props))
    }

  private def exchanged(
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext,
      props: JavaMap[String, String]
  )(method: (AnyRef, AnyRef) => AnyRef): BufferedRecord = {
    if (hudiContext == null) hudiContext = calls.context(rows.isAvro, HudiTable.config(props, storesKeys = false))
    val (first, second) = (rows.send(older, context), rows.send(newer, context))
    val (one, other)    = (toHudi(first, context), toHudi(second, context))
    val found           = method(one, other)
    if (found == null) null
    else if (calls.isDelete(found)) {
      if ((found eq one) && older.isDelete) older
      else if ((found eq other) && newer.isDelete) newer
      else deleteLike(found, one, older, newer, context)
    } else result(calls.data(found), schemaOf(found, context), first, second, context)
  }

  private def deleteLike(
      found: AnyRef,
      one: AnyRef,
      older: BufferedRecord,
      newer: BufferedRecord,
      context: RecordContext
  ): BufferedRecord = {
    val ordering = calls.ordering(found)
    if (ordering == null || ordering == HudiOrdering.Default) context.createCommitTimeOrderingDelete(newer)
    else context.createDelete(if (ordering == calls.ordering(one)) older else newer)
  }

  private def toHudi(sent: Sent, context: RecordContext): AnyRef = {
    val ordering = orderingOf(sent.record, context.asInstanceOf[RowContext])
    if (sent.data == null) calls.record(sent.record.getRecordKey, ordering, null, null, calls.delete)
    else calls.record(sent.record.getRecordKey, ordering, sent.data, idOf(sent.layout), null)
  }

  private def orderingOf(record: BufferedRecord, context: RowContext): AnyRef =
    if (record.isCommitTimeOrderingDelete) HudiOrdering.Default
    else {
      val values = context.engineOrdering(record).map(value => if (rows.isAvro) plain(value) else value).toArray
      if (values.isEmpty || values.contains(null)) HudiOrdering.Default
      else if (values.length == 1) values.head.asInstanceOf[AnyRef]
      else HudiOrdering.together(values.map(_.asInstanceOf[AnyRef]))
    }

  private def idOf(layout: HudiLayout): Integer = {
    var id = ids.get(layout)
    if (id == null) {
      id = calls.encode(hudiContext, layout)
      ids.put(layout, id)
      schemas.put(id, layout.schema)
    }
    id
  }

  private def schemaOf(found: AnyRef, context: RecordContext): Schema = calls.schemaId(found) match {
    case null => rows.whole(context).schema
    case id =>
      val known = schemas.get(id)
      if (known != null) known
      else {
        val schema = calls.schema(hudiContext, found)
        schemas.put(id, schema)
        schema
      }
  }
}

private object HudiBufferedMerger {

  /** An ordering value of Spark as the Java value of Avro's. */
  private def plain(value: Any): Any = value match {
    case decimal: org.apache.spark.sql.types.Decimal      => decimal.toJavaBigDecimal
    case string: org.apache.spark.unsafe.types.UTF8String => string.toString
    case other                                            => other
  }

  /** The constructors and methods of Hudi's buffered records and record contexts. */
  private final class Calls {
    private[this] val buffered  = HudiJar.load("org.apache.hudi.common.table.read.BufferedRecord")
    private[this] val contexts  = HudiJar.load("org.apache.hudi.common.engine.RecordContext")
    private[this] val makes     = buffered.getConstructors.find(_.getParameterCount == 5).get
    private[this] val isDeletes = buffered.getMethod("isDelete")
    private[this] val records   = buffered.getMethod("getRecord")
    private[this] val orderings = buffered.getMethod("getOrderingValue")
    private[this] val schemaIds = buffered.getMethod("getSchemaId")
    private[this] val schemas   = HudiJar.methodOf(contexts, "getSchemaFromBufferRecord", 1)
    private[this] val encodes: Method = HudiJar.method(contexts, "encodeSchema", 1)
      .getOrElse(HudiJar.methodOf(contexts, "encodeAvroSchema", 1))

    val delete: AnyRef = HudiJar.constant(HudiJar.Operation, "DELETE")

    def context(isAvro: Boolean, config: AnyRef): AnyRef =
      if (isAvro) {
        val avro = HudiJar.load("org.apache.hudi.avro.AvroRecordContext")
        HudiJar.make(avro.getConstructor(config.getClass, classOf[String]), config, "")
      } else {
        val spark = HudiJar.load("org.apache.hudi.SparkFileFormatInternalRecordContext$")
        HudiJar.call(spark.getMethod("apply", config.getClass), spark.getField("MODULE$").get(null), config)
      }

    def record(key: String, ordering: AnyRef, data: AnyRef, schemaId: Integer, operation: AnyRef): AnyRef =
      HudiJar.make(makes, key, ordering, data, schemaId, operation)

    def isDelete(record: AnyRef): Boolean = HudiJar.call(isDeletes, record).asInstanceOf[Boolean]

    def data(record: AnyRef): AnyRef = HudiJar.call(records, record)

    def ordering(record: AnyRef): AnyRef = HudiJar.call(orderings, record)

    def schemaId(record: AnyRef): Integer = HudiJar.call(schemaIds, record).asInstanceOf[Integer]

    def encode(context: AnyRef, layout: HudiLayout): Integer =
      HudiJar.call(encodes, context, layout.schemaFor(encodes.getParameterTypes.head)).asInstanceOf[Integer]

    def schema(context: AnyRef, record: AnyRef): Schema = HudiLayout.avroOf(HudiJar.call(schemas, context, record))
  }
}
