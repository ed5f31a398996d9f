package io.merganser.table.rule

import io.merganser.merge.laws.RuleLaw
import io.merganser.merge.{MerganserException, MergerClass, MergerSource, RecordMerger, RecordType}
import io.merganser.table.avro.RecordPayload
import io.merganser.table.options.Options
import io.merganser.table.properties.TableConfig

import scala.util.control.NonFatal

/**
 * Chooses a table's user-written merger by the stored strategy id, among the classes configured for a write or read.
 */
private[table] object UserMergers {

  /**
   * The first class that has the table's strategy id and merges Spark's rows, or, of those made for Hudi, Avro records.
   * Classes for other engines' rows and those that cannot be loaded are skipped, and reported only if none matches.
   *
   * @param strategyId as the table stores it, neither a merge mode's nor that of payload classes
   * @throws MerganserException MERGER_UNAVAILABLE naming table, id and why each class was skipped
   */
  def choose(table: TableConfig, strategyId: String, classes: Seq[String]): StoredRule = {
    var skipped = Vector.empty[String]
    var found   = Option.empty[Candidate]
    val untried = classes.iterator
    while (!found.exists(_.isOfRows) && untried.hasNext) {
      val name = untried.next()
      consider(table, name, strategyId) match {
        case Right(candidate) => if (found.isEmpty || candidate.isOfRows) found = Some(candidate)
        case Left(why)        => skipped :+= s"$name $why"
      }
    }
    found match {
      case Some(chosen) =>
        StoredRule.UserMerger(chosen.source, table.orderingFields, properties(table), chosen.isProjectionCompatible,
          chosen.isAssociative && !CheckedRule.of(table).exists(_.refutes(RuleLaw.Associative)))
      case None =>
        throw MerganserException("MERGER_UNAVAILABLE", "table" -> table.name, "strategyId" -> strategyId,
          "tried" -> (if (skipped.isEmpty) "no class was named" else skipped.mkString("; ")),
          "option" -> Options.MergerClasses.key)
    }
  }

  /** @param isOfRows false for a class of Hudi's that merges Avro records, which is taken if none merges rows */
  private final case class Candidate(
      source: MergerSource,
      isProjectionCompatible: Boolean,
      isOfRows: Boolean,
      isAssociative: Boolean = false
  )

  /** The class's merger, or why it is skipped. */
  private def consider(table: TableConfig, className: String, strategyId: String): Either[String, Candidate] =
    loaded(className, classOf[RecordMerger], HudiJar.Merger, mergerOf).flatMap { instance =>
      try
        if (instance.getRecordType != RecordType.SPARK) Left(s"merges ${instance.getRecordType} records")
        else if (!strategyId.equalsIgnoreCase(instance.getMergingStrategy))
          Left(s"has strategy id ${instance.getMergingStrategy}")
        else instance match {
          case hudi: HudiMerger =>
            Right(Candidate(HudiMergerClass(className, table.name), hudi.isProjectionCompatible, !hudi.isAvro))
          case own => Right(Candidate(MergerClass(className), own.isProjectionCompatible, isOfRows = true,
                own.isAssociative))
        }
      catch { case failure: Throwable if isUserFailure(failure) => Left(s"fails to describe itself: $failure") }
    }

  /**
   * The user's payload class of a table.
   *
   * @throws MerganserException PAYLOAD_UNAVAILABLE naming table, class and why it cannot be used
   */
  def payload(table: TableConfig, className: String): StoredRule = {
    val found = PayloadClasses.refused(className)
      .fold(loaded(className, classOf[RecordPayload], HudiJar.Payload, payloadOf(_, table)))(Left(_))
    found match {
      case Right(source) =>
        StoredRule.UserMerger(source, table.orderingFields, properties(table) ++ ordering(table),
          isProjectionCompatible = false)
      case Left(why) =>
        throw MerganserException("PAYLOAD_UNAVAILABLE", "table" -> table.name, "class" -> className, "reason" -> why)
    }
  }

  private def ordering(table: TableConfig): Option[(String, String)] =
    if (table.orderingFields.isEmpty) None else Some(PayloadMerger.OrderingField -> table.orderingFields.mkString(","))

  private def payloadOf(found: Class[_], table: TableConfig): MergerSource =
    if (classOf[RecordPayload].isAssignableFrom(found)) {
      found.getConstructor(RecordPayload.Constructor: _*)
      PayloadClass(found.getName, table.name)
    } else {
      HudiPayloads(found.getName)
      HudiPayloadClass(found.getName, table.name)
    }

  private def mergerOf(found: Class[_]): RecordMerger =
    if (classOf[RecordMerger].isAssignableFrom(found))
      found.getDeclaredConstructor().newInstance().asInstanceOf[RecordMerger]
    else HudiMerger(found.getName, table = "")

  /**
   * What `make` returns for the class, or why the class cannot be used.
   *
   * @param wanted the interface of ours
   * @param hudis  name of Hudi's interface, which does as well if Hudi's jar is on the class path
   */
  private def loaded[T](className: String, wanted: Class[_], hudis: String, make: Class[_] => T): Either[String, T] =
    AllowedClasses.refusal(className).toLeft(()).flatMap(_ => loadedFreely(className, wanted, hudis, make))

  private def loadedFreely[T](
      className: String,
      wanted: Class[_],
      hudis: String,
      make: Class[_] => T
  ): Either[String, T] =
    try {
      // Static initialisers run only after the class is known to be of the expected type.
      val found = Class.forName(className, false, MergerClass.loader)
      if (wanted.isAssignableFrom(found)) Right(make(Class.forName(className, true, found.getClassLoader)))
      else if (HudiJar.isOf(hudis, found)) madeForHudi(found, make)
      else if (ancestors(found).exists(_.getName.startsWith(HudiJar.Packages))) Left(withoutHudi(wanted))
      else Left(s"does not implement ${wanted.getName}")
    } catch {
      case missing: LinkageError if isOfHudi(missing) => Left(withoutHudi(wanted))
      case _: ClassNotFoundException                  => Left("is not on the class path (its jar goes into spark.jars)")
      case _: NoSuchMethodException                   => Left(s"has no public constructor ${constructorOf(wanted)}")
      case _: IllegalAccessException => Left(s"is not public, or its constructor ${constructorOf(wanted)} is not")
      case thrown: java.lang.reflect.InvocationTargetException if isUserFailure(thrown.getCause) =>
        Left(s"cannot be made: its constructor threw ${thrown.getCause}")
      case failure: Throwable if isUserFailure(failure) => Left(s"cannot be loaded: $failure")
    }

  private def madeForHudi[T](found: Class[_], make: Class[_] => T): Either[String, T] =
    try Right(make(found))
    catch {
      case failure: Throwable if failure.isInstanceOf[NoSuchElementException] || isMissing(failure) =>
        Left(s"does not fit the release of Apache Hudi on the class path: $failure; $OtherRelease")
    }

  private val OtherRelease = "use the one that it was compiled against, or compile it again"

  private def isMissing(failure: Throwable): Boolean =
    failure.isInstanceOf[LinkageError] || failure.isInstanceOf[ReflectiveOperationException]

  private def isOfHudi(missing: LinkageError): Boolean =
    String.valueOf(missing.getMessage).replace('/', '.').contains(HudiJar.Packages)

  private def constructorOf(wanted: Class[_]): String =
    if (wanted == classOf[RecordPayload]) RecordPayload.Constructor.map(_.getSimpleName).mkString("(", ", ", ")")
    else "without arguments"

  private def withoutHudi(wanted: Class[_]): String =
    if (HudiJar.isPresent)
      s"was compiled against Apache Hudi, and does not fit its release on the class path; $OtherRelease"
    else s"was compiled against Apache Hudi, whose jar is not on the class path: add ${HudiJar.artifact} to " +
      s"spark.jars.packages, or implement ${wanted.getName} instead"

  private def ancestors(of: Class[_]): Seq[Class[_]] =
    of +: (Option[Class[_]](of.getSuperclass).toSeq ++ of.getInterfaces).flatMap(ancestors)

  private def isUserFailure(failure: Throwable): Boolean = failure.isInstanceOf[LinkageError] || NonFatal(failure)

  /** The properties passed to a merger: the same on every path, since the table stores them. */
  private[table] def properties(table: TableConfig): Map[String, String] = table.properties ++ table.mergeProperties
}
