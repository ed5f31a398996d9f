package io.merganser.table.rule

import io.merganser.merge.MergerClass
import org.apache.spark.SPARK_VERSION

import java.lang.reflect.{Constructor, InvocationTargetException, Method}
import java.util.{Properties, Map => JavaMap}
import scala.util.control.NonFatal

/**
 * Apache Hudi's classes by name. Merganser is compiled without them; they are there if the user's class path has Hudi's
 * jar, of whatever release.
 */
private[rule] object HudiJar {
  val Packages = "org.apache.hudi."

  private val Model      = "org.apache.hudi.common.model."
  val Payload: String    = Model + "HoodieRecordPayload"
  val Merger: String     = Model + "HoodieRecordMerger"
  val Record: String     = Model + "HoodieRecord"
  val RecordType: String = Model + "HoodieRecord$HoodieRecordType"
  val Operation: String  = Model + "HoodieOperation"
  val Key: String        = Model + "HoodieKey"

  /** The release that is tested, for Spark 3.5. */
  private val Release = "1.2.0"

  def load(name: String): Class[_] = Class.forName(name, true, MergerClass.loader)

  def find(name: String): Option[Class[_]] =
    try Some(Class.forName(name, false, MergerClass.loader))
    catch { case _: ClassNotFoundException | _: LinkageError => None }

  def isPresent: Boolean = find(Payload).isDefined

  /** Whether the class implements one of Hudi's interfaces; false if Hudi's jar is missing. */
  def isOf(interface: String, found: Class[_]): Boolean = find(interface).exists(_.isAssignableFrom(found))

  /** The Maven coordinates of Hudi's jar for the running Spark line. */
  def artifact: String = {
    val line  = SPARK_VERSION.split('.').take(2).mkString(".")
    val scala = util.Properties.versionNumberString.split('.').take(2).mkString(".")
    s"org.apache.hudi:hudi-spark$line-bundle_$scala" + (if (line == "3.5" && scala == "2.12") s":$Release" else "")
  }

  /** Calls a method, and throws what it throws. */
  def call(method: Method, target: AnyRef, arguments: AnyRef*): AnyRef =
    try method.invoke(target, arguments: _*)
    catch { case thrown: InvocationTargetException => throw thrown.getCause }

  def make(constructor: Constructor[_], arguments: AnyRef*): AnyRef =
    try constructor.newInstance(arguments: _*).asInstanceOf[AnyRef]
    catch { case thrown: InvocationTargetException => throw thrown.getCause }

  /** The public method of that name and number of parameters, if the class has one with a body or inherits it. */
  def method(of: Class[_], name: String, parameters: Int): Option[Method] =
    of.getMethods.filter(m => m.getName == name && m.getParameterCount == parameters)
      .sortBy(m => (java.lang.reflect.Modifier.isAbstract(m.getModifiers), m.isBridge)).headOption

  /** @throws NoSuchMethodException if this release of Hudi has no such method */
  def methodOf(of: Class[_], name: String, parameters: Int): Method = method(of, name, parameters)
    .getOrElse(throw new NoSuchMethodException(s"${of.getName}.$name with $parameters parameters"))

  def constant(enumeration: String, name: String): AnyRef =
    load(enumeration).getEnumConstants.map(_.asInstanceOf[AnyRef]).find(_.toString == name)
      .getOrElse(throw new NoSuchFieldException(s"$enumeration.$name"))

  /** The properties as Hudi's own class of properties, with the names that its releases read ordering fields by. */
  def properties(of: JavaMap[String, String]): Properties = {
    val result = make(load("org.apache.hudi.common.config.TypedProperties").getConstructor()).asInstanceOf[Properties]
    of.forEach((key, value) => { result.setProperty(key, value); () })
    orderingFields(of).foreach(fields =>
      for (name <- OrderingNames if !result.containsKey(name)) result.setProperty(name, fields))
    result
  }

  private val OrderingNames = Seq("hoodie.payload.ordering.field", "hoodie.datasource.write.precombine.field",
    "hoodie.table.precombine.field", "hoodie.table.ordering.fields")

  private def orderingFields(of: JavaMap[String, String]): Option[String] =
    OrderingNames.iterator.map(of.get).find(value => value != null && value.nonEmpty)

  /** Hudi's marker of a row to be ignored; null in releases that have none. */
  lazy val sentinel: AnyRef =
    try load(Record).getField("SENTINEL").get(null)
    catch { case failure if NonFatal(failure) => null }
}

/** Hudi's own type of optional values. */
private[rule] object HudiOption {
  private[this] lazy val option    = HudiJar.load("org.apache.hudi.common.util.Option")
  private[this] lazy val isPresent = option.getMethod("isPresent")
  private[this] lazy val get       = option.getMethod("get")
  private[this] lazy val of        = option.getMethod("of", classOf[Object])

  def optionClass: Class[_] = option

  def empty: AnyRef = HudiJar.call(option.getMethod("empty"), null)

  def some(value: AnyRef): AnyRef = HudiJar.call(of, null, value)

  /** The value, or null for an empty option and for null. */
  def value(found: AnyRef): AnyRef =
    if (found == null || !HudiJar.call(isPresent, found).asInstanceOf[Boolean]) null else HudiJar.call(get, found)
}
