package io.merganser.table.config

import io.merganser.merge.{MerganserException, MergerClass, RecordMerger, RecordType}

import scala.util.control.NonFatal

/** Chooses the user's merger of a table: by the strategy id it stores, among the classes that a write or a read names. */
private[config] object UserMergers {
  private val HudiInterfaces = "org.apache.hudi."

  /**
   * The first class that has the table's strategy id and merges Spark's rows. Classes for other engines' rows, and classes
   * that cannot be loaded, are passed over; only if none matches are they named.
   *
   * @param strategyId the one that the table stores, neither a mode's nor that of payload classes
   * @throws MerganserException MERGER_UNAVAILABLE naming table, id and why each class was not taken
   */
  def choose(table: TableConfig, strategyId: String, classes: Seq[String]): StoredRule = {
    var passedOver = Vector.empty[String]
    val found = classes.iterator.flatMap { name =>
      consider(name, strategyId) match {
        case Right(merger) => Some(name -> merger)
        case Left(why) =>
          passedOver :+= s"$name $why"
          None
      }
    }.take(1).toSeq.headOption
    found match {
      case Some((name, merger)) =>
        StoredRule.ByMerger(MergerClass(name), table.orderingFields, properties(table), merger.isProjectionCompatible)
      case None =>
        throw MerganserException("MERGER_UNAVAILABLE", "table" -> table.name, "strategyId" -> strategyId,
          "tried" -> (if (passedOver.isEmpty) "no class was named" else passedOver.mkString("; ")), "option" -> Options.MergerClasses.key)
    }
  }

  private def consider(className: String, strategyId: String): Either[String, RecordMerger] =
    loaded(className, classOf[RecordMerger]).flatMap { merger =>
      try
        if (merger.getRecordType != RecordType.SPARK) Left(s"merges ${merger.getRecordType} records")
        else if (!strategyId.equalsIgnoreCase(merger.getMergingStrategy)) Left(s"has strategy id ${merger.getMergingStrategy}")
        else Right(merger)
      catch { case failure: Throwable if isOfItsCode(failure) => Left(s"fails when asked what it is: $failure") }
    }

  /** An instance of the class, or why there is none. */
  private[config] def loaded[T](className: String, wanted: Class[T]): Either[String, T] =
    try {
      val found = Class.forName(className, true, MergerClass.loader)
      if (wanted.isAssignableFrom(found)) Right(found.getDeclaredConstructor().newInstance().asInstanceOf[T])
      else if (ancestors(found).exists(_.getName.startsWith(HudiInterfaces))) Left(ofHudi(wanted))
      else Left(s"does not implement ${wanted.getName}")
    } catch {
      case missing: LinkageError if String.valueOf(missing.getMessage).replace('/', '.').contains(HudiInterfaces) => Left(ofHudi(wanted))
      case _: ClassNotFoundException => Left("is not on the class path (its jar goes into spark.jars)")
      case _: NoSuchMethodException  => Left("has no constructor without arguments")
      case thrown: java.lang.reflect.InvocationTargetException if isOfItsCode(thrown.getCause) =>
        Left(s"cannot be made: its constructor threw ${thrown.getCause}")
      case failure: Throwable if isOfItsCode(failure) => Left(s"cannot be loaded: $failure")
    }

  private def ofHudi(wanted: Class[_]) = s"is made for Hudi's interface; implement ${wanted.getName} instead"

  private def ancestors(of: Class[_]): Seq[Class[_]] =
    of +: (Option[Class[_]](of.getSuperclass).toSeq ++ of.getInterfaces).flatMap(ancestors)

  private def isOfItsCode(failure: Throwable): Boolean = failure.isInstanceOf[LinkageError] || NonFatal(failure)

  /** What a merger is given: the same on every path, since it is what the table stores. */
  private[config] def properties(table: TableConfig): Map[String, String] = table.properties ++ table.mergeProperties
}
