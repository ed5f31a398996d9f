package io.merganser.table.rule

import io.merganser.merge.{MerganserException, MergerClass, RecordMerger, RecordType}
import io.merganser.table.avro.RecordPayload
import io.merganser.table.options.Options
import io.merganser.table.properties.TableConfig

import scala.util.control.NonFatal

/**
 * Chooses a table's user-written merger by the stored strategy id, among the classes configured for a write or read.
 */
private[table] object UserMergers {
  private val HudiInterfaces = "org.apache.hudi."

  /**
   * The first class that has the table's strategy id and merges Spark's rows. Classes for other engines' rows and those
   * that cannot be loaded are skipped, and reported only if none matches.
   *
   * @param strategyId as the table stores it, neither a merge mode's nor that of payload classes
   * @throws MerganserException MERGER_UNAVAILABLE naming table, id and why each class was skipped
   */
  def choose(table: TableConfig, strategyId: String, classes: Seq[String]): StoredRule = {
    var skipped = Vector.empty[String]
    val found = classes.iterator.flatMap { name =>
      consider(name, strategyId) match {
        case Right(isProjectionCompatible) => Some(name -> isProjectionCompatible)
        case Left(why) =>
          skipped :+= s"$name $why"
          None
      }
    }.take(1).toSeq.headOption
    found match {
      case Some((name, isProjectionCompatible)) =>
        StoredRule.UserMerger(MergerClass(name), table.orderingFields, properties(table), isProjectionCompatible)
      case None =>
        throw MerganserException("MERGER_UNAVAILABLE", "table" -> table.name, "strategyId" -> strategyId,
          "tried" -> (if (skipped.isEmpty) "no class was named" else skipped.mkString("; ")),
          "option" -> Options.MergerClasses.key)
    }
  }

  /** Whether the class's merger is projection compatible, or why it is skipped. */
  private def consider(className: String, strategyId: String): Either[String, Boolean] =
    loaded(className, classOf[RecordMerger], mergerOf).flatMap { instance =>
      val merger = instance.asInstanceOf[RecordMerger]
      try
        if (merger.getRecordType != RecordType.SPARK) Left(s"merges ${merger.getRecordType} records")
        else if (!strategyId.equalsIgnoreCase(merger.getMergingStrategy))
          Left(s"has strategy id ${merger.getMergingStrategy}")
        else Right(merger.isProjectionCompatible)
      catch { case failure: Throwable if isUserFailure(failure) => Left(s"fails to describe itself: $failure") }
    }

  /**
   * The user's payload class of a table.
   *
   * @throws MerganserException PAYLOAD_UNAVAILABLE naming table, class and why it cannot be used
   */
  def payload(table: TableConfig, className: String): StoredRule = {
    val reason =
      if (className.split('.').last == "ExpressionPayload")
        Some("belongs to Hudi's SQL statements; MERGE, UPDATE and DELETE need no payload class here")
      else loaded(className, classOf[RecordPayload], payloadOf).left.toOption
    reason.foreach(why =>
      throw MerganserException("PAYLOAD_UNAVAILABLE", "table" -> table.name, "class" -> className, "reason" -> why))
    val ordering =
      if (table.orderingFields.isEmpty) Nil else Seq(PayloadMerger.OrderingField -> table.orderingFields.mkString(","))
    StoredRule.UserMerger(PayloadClass(className, table.name), table.orderingFields, properties(table) ++ ordering,
      isProjectionCompatible = false)
  }

  private def payloadOf(found: Class[_]): Any = found.getConstructor(RecordPayload.Constructor: _*)

  private def mergerOf(found: Class[_]): Any = found.getDeclaredConstructor().newInstance()

  /** What `make` returns for the class, or why the class cannot be used. */
  private def loaded(className: String, wanted: Class[_], make: Class[_] => Any): Either[String, Any] =
    AllowedClasses.refusal(className).toLeft(()).flatMap(_ => loadedFreely(className, wanted, make))

  private def loadedFreely(className: String, wanted: Class[_], make: Class[_] => Any): Either[String, Any] =
    try {
      // Static initialisers run only after the class is known to be of the expected type.
      val found = Class.forName(className, false, MergerClass.loader)
      if (wanted.isAssignableFrom(found)) Right(make(Class.forName(className, true, found.getClassLoader)))
      else if (ancestors(found).exists(_.getName.startsWith(HudiInterfaces))) Left(ofHudi(wanted))
      else Left(s"does not implement ${wanted.getName}")
    } catch {
      case missing: LinkageError if String.valueOf(missing.getMessage).replace('/', '.').contains(HudiInterfaces) =>
        Left(ofHudi(wanted))
      case _: ClassNotFoundException => Left("is not on the class path (its jar goes into spark.jars)")
      case _: NoSuchMethodException  => Left(s"has no public constructor ${constructorOf(wanted)}")
      case _: IllegalAccessException => Left(s"is not public, or its constructor ${constructorOf(wanted)} is not")
      case thrown: java.lang.reflect.InvocationTargetException if isUserFailure(thrown.getCause) =>
        Left(s"cannot be made: its constructor threw ${thrown.getCause}")
      case failure: Throwable if isUserFailure(failure) => Left(s"cannot be loaded: $failure")
    }

  private def constructorOf(wanted: Class[_]): String =
    if (wanted == classOf[RecordPayload]) RecordPayload.Constructor.map(_.getSimpleName).mkString("(", ", ", ")")
    else "without arguments"

  private def ofHudi(wanted: Class[_]) = s"is made for Hudi's interface; implement ${wanted.getName} instead"

  private def ancestors(of: Class[_]): Seq[Class[_]] =
    of +: (Option[Class[_]](of.getSuperclass).toSeq ++ of.getInterfaces).flatMap(ancestors)

  private def isUserFailure(failure: Throwable): Boolean = failure.isInstanceOf[LinkageError] || NonFatal(failure)

  /** The properties passed to a merger: the same on every path, since the table stores them. */
  private[table] def properties(table: TableConfig): Map[String, String] = table.properties ++ table.mergeProperties
}
