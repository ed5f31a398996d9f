package io.merganser.table.rule

import io.merganser.merge.{BufferedRecord, MergerClass, MergerSource, OrderingValues, RecordMerger}
import io.merganser.table.avro.RecordPayload
import org.apache.avro.Schema
import org.apache.avro.generic.{GenericRecord, IndexedRecord}
import org.apache.avro.util.Utf8
import org.apache.spark.sql.catalyst.util.DateTimeUtils

import java.lang.reflect.{Constructor, Method}
import java.time.{Instant, LocalDateTime}
import java.util.{Optional, Properties, Map => JavaMap}
import scala.collection.JavaConverters._
import scala.util.Try

/** A payload class that was compiled against Hudi, run through Hudi's jar on the user's class path. */
private[table] final case class HudiPayloadClass(className: String, table: String) extends MergerSource {

  override val combines: Boolean = true

  override def open(): RecordMerger = new PayloadMerger(HudiPayloads(className), table)
}

private[rule] object HudiPayloads {
  private val ByEventTime = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"

  /** @throws ReflectiveOperationException if the class has neither of the constructors that Hudi calls */
  def apply(className: String): HudiPayloads = {
    val interface = HudiJar.load(HudiJar.Payload)
    new HudiPayloads(MergerClass.load(className, interface), interface)
  }
}

/**
 * Makes payloads as Hudi does: by the constructor `(GenericRecord, Comparable)` for a table with ordering fields, by
 * `(Option)` for one without, and by the other one if the class has only that. Methods are those of the interface in
 * the jar, the one with most parameters first, as Hudi calls them.
 */
private[rule] final class HudiPayloads(payloadClass: Class[_], interface: Class[_]) extends Payloads {
  private[this] val byOrdering = constructor(classOf[GenericRecord], classOf[Comparable[_]])
  private[this] val byOption   = constructor(HudiOption.optionClass)
  private[this] val ordering   = new HudiOrdering

  if (byOrdering == null && byOption == null)
    throw new NoSuchMethodException(s"${payloadClass.getName}(GenericRecord, Comparable)")

  private[this] val preCombines: Method = Seq(Seq(interface, classOf[Schema], classOf[Properties]),
    Seq(interface, classOf[Properties]), Seq(interface))
    .flatMap(types => Try(interface.getMethod("preCombine", types: _*)).toOption).head

  private[this] val combines =
    interface.getMethod("combineAndGetUpdateValue", classOf[IndexedRecord], classOf[Schema], classOf[Properties])

  private[this] val inserts = interface.getMethod("getInsertValue", classOf[Schema], classOf[Properties])

  override def changesInPlace: Boolean = true

  override def properties(props: JavaMap[String, String]): Properties = HudiJar.properties(props)

  override def payload(record: BufferedRecord, avro: GenericRecord, properties: Properties): RecordPayload = {
    val fields = properties.getProperty(PayloadMerger.OrderingField)
    val instance =
      if (byOption != null && (fields == null || byOrdering == null)) HudiJar.make(byOption, HudiOption.some(avro))
      else if (fields == null) HudiJar.make(byOrdering, avro, Integer.valueOf(0))
      else HudiJar.make(byOrdering, avro, ordering.of(avro, fields))
    new HudiPayload(instance, avro.getSchema)
  }

  override def decideDeletes: Boolean = true

  /**
   * Before 1.1 this class of Hudi's deletes without a look at the ordering values if the payload has no record. With
   * one it compares them: a late delete would win in a log and lose before it is written there.
   */
  private[this] val ordersNoDelete =
    HudiJar.isOf(HudiPayloads.ByEventTime, payloadClass) && HudiJar.find(HudiOrdering.Values).isEmpty

  /** A payload without a record. A class that cannot have one leaves the delete to the ordering values. */
  override def delete(
      record: BufferedRecord,
      currentValue: => IndexedRecord,
      schema: Schema,
      properties: Properties
  ): Option[Optional[IndexedRecord]] =
    try {
      val instance =
        if (byOrdering == null) HudiJar.make(byOption, HudiOption.empty)
        else HudiJar.make(byOrdering, null, HudiOrdering.ofDelete(record))
      val decided = new HudiPayload(instance, schema).combineAndGetUpdateValue(currentValue, schema, properties)
      if (ordersNoDelete && !decided.isPresent) None else Some(decided)
    } catch { case _: NullPointerException => None }

  private def constructor(types: Class[_]*): Constructor[_] =
    Try(payloadClass.getConstructor(types: _*): Constructor[_]).getOrElse(null)

  private final class HudiPayload(val instance: AnyRef, schema: Schema) extends RecordPayload {

    override def preCombine(older: RecordPayload, properties: Properties): RecordPayload = {
      val before = older.asInstanceOf[HudiPayload]
      val result = preCombines.getParameterCount match {
        case 3 => HudiJar.call(preCombines, instance, before.instance, schema, properties)
        case 2 => HudiJar.call(preCombines, instance, before.instance, properties)
        case _ => HudiJar.call(preCombines, instance, before.instance)
      }
      if (result eq instance) this
      else if (result eq before.instance) before
      else if (result == null) null
      else new HudiPayload(result, schema)
    }

    override def combineAndGetUpdateValue(
        currentValue: IndexedRecord,
        schema: Schema,
        properties: Properties
    ): Optional[IndexedRecord] = {
      val result = HudiOption.value(HudiJar.call(combines, instance, currentValue, schema, properties))
      if (isIgnored(result)) Optional.of(currentValue) else Optional.ofNullable(result.asInstanceOf[IndexedRecord])
    }

    override def getInsertValue(schema: Schema, properties: Properties): Optional[IndexedRecord] = {
      val result = HudiOption.value(HudiJar.call(inserts, instance, schema, properties))
      if (isIgnored(result)) Optional.empty() else Optional.ofNullable(result.asInstanceOf[IndexedRecord])
    }

    private def isIgnored(result: AnyRef): Boolean = result != null && (result eq HudiJar.sentinel)
  }
}

/** The ordering value of an Avro record, in the types that Hudi's payloads compare. */
private final class HudiOrdering {
  private[this] val valueOf = HudiJar.load("org.apache.hudi.avro.HoodieAvroUtils").getMethod("getNestedFieldVal",
    classOf[GenericRecord], classOf[String], classOf[Boolean], classOf[Boolean])

  private[this] var names: String         = _
  private[this] var fields: Array[String] = _

  /** @param orderingFields names, separated by commas */
  def of(record: GenericRecord, orderingFields: String): AnyRef = {
    if (names ne orderingFields) {
      names = orderingFields
      fields = orderingFields.split(',').map(_.trim)
    }
    if (fields.length == 1) value(record, fields(0)) else HudiOrdering.together(fields.map(value(record, _)))
  }

  private def value(record: GenericRecord, field: String): AnyRef =
    HudiJar.call(valueOf, null, record, field, java.lang.Boolean.TRUE, java.lang.Boolean.FALSE)
}

private[rule] object HudiOrdering {
  val Values = "org.apache.hudi.common.util.OrderingValues"

  private lazy val several = HudiJar.load(Values).getMethod("create", classOf[Array[Comparable[_]]])

  /** The ordering value of a version that has none. */
  val Default: Integer = Integer.valueOf(0)

  /** The ordering value of a delete, in the types that those of its table's rows have. */
  def ofDelete(record: BufferedRecord): AnyRef = record.getOrderingValue match {
    case several: OrderingValues => together(several.values.asScala.toArray.map(typed))
    case one                     => typed(one.asInstanceOf[AnyRef])
  }

  private def typed(value: AnyRef): AnyRef = value match {
    case string: String      => new Utf8(string)
    case time: Instant       => java.lang.Long.valueOf(DateTimeUtils.instantToMicros(time))
    case time: LocalDateTime => java.lang.Long.valueOf(DateTimeUtils.localDateTimeToMicros(time))
    case other               => other
  }

  /** The values of several fields as one. Releases before 1.1 have one ordering field, and no class for several. */
  def together(values: Array[AnyRef]): AnyRef =
    HudiJar.call(several, null, values.map(_.asInstanceOf[Comparable[_]]))
}
