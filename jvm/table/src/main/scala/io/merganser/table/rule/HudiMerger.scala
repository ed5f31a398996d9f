package io.merganser.table.rule

import io.merganser.merge.{BufferedRecord, MergerClass, MergerSource, RecordContext, RecordMerger}
import org.apache.avro.Schema
import org.apache.spark.sql.types.StructType

import java.util.{Properties, List => JavaList, Map => JavaMap}
import scala.collection.JavaConverters._

/** A merger that was compiled against Hudi, run through Hudi's jar on the user's class path. */
private[table] final case class HudiMergerClass(className: String, table: String) extends MergerSource {
  override def open(): RecordMerger = HudiMerger(className, table)
}

/**
 * Passes versions of rows to a merger of Hudi's interface and takes back what it returns.
 *
 * @param instance the user's merger
 * @param rows     converts rows to the records it merges
 */
private[rule] abstract class HudiMerger(instance: AnyRef, rows: HudiRows) extends RecordMerger {
  private[this] var source: JavaMap[String, String] = _
  private[this] var typed: Properties               = _

  /** Whether it merges Avro records rather than Spark's rows. */
  def isAvro: Boolean = rows.isAvro

  override def getMergingStrategy: String = HudiMerger.strategy(instance)

  override def isProjectionCompatible: Boolean = HudiMerger.flag(instance, "isProjectionCompatible")

  override def getMandatoryFieldsForMerging(schema: StructType, props: JavaMap[String, String]): JavaList[String] = {
    val method  = HudiJar.methodOf(instance.getClass, "getMandatoryFieldsForMerging", 3)
    val columns = rows.layout(schema).schemaFor(method.getParameterTypes.head)
    val named = HudiJar.call(method, instance, columns, HudiTable.config(props, storesKeys = true), properties(props))
      .asInstanceOf[Array[String]].toSet
    schema.fieldNames.filter(named).toSeq.asJava
  }

  /** The properties in Hudi's class, made once. */
  protected def properties(props: JavaMap[String, String]): Properties = {
    if (source ne props) {
      source = props
      typed = HudiJar.properties(props)
    }
    typed
  }

  /**
   * What a call returned as a record of ours: one of the two it got if its data are theirs, as they were.
   *
   * @param data   the result's data; not null
   * @param schema the schema of `data`
   */
  protected def result(
      data: AnyRef,
      schema: => Schema,
      older: Sent,
      newer: Sent,
      context: RecordContext
  ): BufferedRecord =
    if (isUnchanged(data, older)) older.record
    else if (isUnchanged(data, newer)) newer.record
    else rows.toRecord(data, schema, newer.record, context)

  private def isUnchanged(data: AnyRef, sent: Sent): Boolean = (data eq sent.data) && sent.layout.isSame(data, sent)
}

private[rule] object HudiMerger {

  /**
   * @throws ReflectiveOperationException or LinkageError if the class cannot be instantiated, or does not fit the
   *                                      release of Hudi on the class path
   */
  def apply(className: String, table: String): HudiMerger = {
    val instance =
      HudiJar.make(MergerClass.load(className, HudiJar.load(HudiJar.Merger)).getDeclaredConstructor())
    val rows = new HudiRows(table, isAvro = recordType(instance) == "AVRO")
    // A merger made for 1.0 has the method of that release whatever the jar's; the jar's interface then lacks a body.
    HudiJar.method(instance.getClass, "merge", parameters = 4).filterNot(isAbstract) match {
      case Some(merge) => new HudiBufferedMerger(instance, merge, rows)
      case None =>
        val merge = HudiJar.methodOf(instance.getClass, "merge", parameters = 5)
        new HudiRecordMerger(instance, merge, rows)
    }
  }

  private def isAbstract(method: java.lang.reflect.Method) =
    java.lang.reflect.Modifier.isAbstract(method.getModifiers)

  /** SPARK, AVRO or FLINK. */
  def recordType(instance: AnyRef): String =
    String.valueOf(HudiJar.call(HudiJar.methodOf(instance.getClass, "getRecordType", 0), instance))

  private def strategy(instance: AnyRef): String =
    HudiJar.call(HudiJar.methodOf(instance.getClass, "getMergingStrategy", 0), instance).asInstanceOf[String]

  private def flag(instance: AnyRef, name: String): Boolean = HudiJar.method(instance.getClass, name, 0)
    .exists(HudiJar.call(_, instance) == java.lang.Boolean.TRUE)
}
