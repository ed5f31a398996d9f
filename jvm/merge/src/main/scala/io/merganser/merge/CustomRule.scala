package io.merganser.merge

import java.util.{Map => JavaMap}
import scala.util.control.NonFatal

/** Creates a user's merger in each task; this is serialized, the merger is not. */
trait MergerSource extends Serializable {

  /** Name of the class that the user configured. */
  def className: String

  /** True if its mergers are [[CombiningMerger]]s. */
  def combines: Boolean = false

  def open(): RecordMerger
}

/** A merger by its class, loaded as Spark loads the classes of `spark.jars`. */
final case class MergerClass(className: String) extends MergerSource {

  /** @throws ReflectiveOperationException or LinkageError if the class is missing or cannot be instantiated */
  override def open(): RecordMerger =
    MergerClass.load(className, classOf[RecordMerger]).getDeclaredConstructor().newInstance()
}

object MergerClass {

  /**
   * Loads a class that implements `wanted`. Tables and options name classes, so its static initializers do not run: it
   * may be any class.
   *
   * @throws ClassCastException if it does not implement `wanted`
   */
  def load[T](className: String, wanted: Class[T]): Class[_ <: T] =
    Class.forName(className, false, loader).asSubclass(wanted)

  /** The class loader of the session's jars, or of the task's. */
  def loader: ClassLoader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
}

/**
 * A user's merger as a rule: it maps versions of rows to public records and back.
 *
 * A row that wins over a delete carries nothing from before it, whatever the merger returns. Without ordering
 * fields every delete ends the key's history. Everything else the merger decides.
 *
 * Laws: none is assumed but what the merger states, so versions are buffered uncombined and folded from the stored row;
 * but a [[CombiningMerger]] combines those of a batch. A delete is buffered always: the merger may refuse it.
 *
 * @param hidden        columns that the merger does not see
 * @param props         the table's properties for the merger; not to be changed
 * @param isAssociative as the merger states
 */
final class CustomRule(
    source: MergerSource,
    layout: RowLayout,
    hidden: Set[String],
    props: JavaMap[String, String],
    isAssociative: Boolean = false
) extends MergeRule {
  @transient private[this] lazy val merger  = source.open()
  @transient private[this] lazy val context = new RowContext(layout, hidden)

  override val laws: Laws = Laws(
    associative = isAssociative,
    idempotent = false,
    orderFree = false,
    combinesBatch = source.combines || isAssociative,
    everyDeleteEndsHistory = layout.orderingOrdinals.isEmpty,
    buffersDeletes = isAssociative,
    buffersUnconditional = isAssociative,
    ignoresDeletes = true
  )

  override def merge(older: Version, newer: Version): Version = afterDelete(older,
    call(older, newer) { (olderRecord, newerRecord) =>
      if (older.isPartial || newer.isPartial)
        merger.partialMerge(olderRecord, newerRecord, context.schema, context, props)
      else merger.merge(olderRecord, newerRecord, context, props)
    })

  override def combine(older: Version, newer: Version): Version =
    if (!source.combines) merge(older, newer)
    else afterDelete(older, call(older, newer)(combining.combine(_, _, context, props)))

  override def insert(version: Version): Version =
    if (!source.combines) version else call(version, version)((_, record) => combining.insert(record, context, props))

  private def combining = merger.asInstanceOf[CombiningMerger]

  private def afterDelete(older: Version, result: Version): Version =
    if (older.isDelete && !result.isDelete) result.withoutHistory else result

  private def call(
      older: Version,
      newer: Version
  )(method: (BufferedRecord, BufferedRecord) => BufferedRecord): Version = {
    val (olderRecord, newerRecord) = (context.view(older), context.view(newer))
    val merged =
      try method(olderRecord, newerRecord)
      catch {
        case failure: Throwable if CustomRule.isUserFailure(failure) =>
          throw failed(older, newer, CustomRule.reason(failure), failure)
      }
    if (merged eq olderRecord) checked(older, older, newer)
    else if (merged eq newerRecord) checked(newer, older, newer)
    else if (merged == null)
      throw failed(older, newer, "it returned null; a deletion is a record too: RecordContext.createDelete makes one")
    else if (merged.owner ne context) throw failed(older, newer, "it returned a record of another file group or table")
    else {
      context.setHidden(merged.version, if (newer.isDelete && !merged.isDelete) older else newer)
      merged.version.inserts = merged.version.isPartial && older.inserts && newer.inserts
      checked(merged.version, older, newer)
    }
  }

  private def checked(result: Version, older: Version, newer: Version): Version = {
    if (context.keyBytes(result) != context.keyBytes(newer))
      throw failed(older, newer, s"it returned a record of key '${context.key(result)}'")
    context.wronglyProvided(result, older, newer).foreach { columns =>
      throw failed(older, newer,
        s"its result provides the columns ${columns.mkString(", ")}; " +
          s"the two versions provide ${context.providedByEither(older, newer).mkString(", ")}")
    }
    result
  }

  private def failed(older: Version, newer: Version, reason: String, cause: Throwable = null): MergerFailure =
    new MergerFailure(
      Seq("merger" -> source.className, "key" -> context.key(newer).take(200), "older" -> context.describe(older),
        "newer" -> context.describe(newer), "reason" -> reason),
      cause)
}

private object CustomRule {

  /** True for failures of user code or its packaging; false for fatal JVM errors. */
  private def isUserFailure(failure: Throwable): Boolean = failure match {
    case _: LinkageError | _: StackOverflowError => true
    case other                                   => NonFatal(other)
  }

  private def reason(failure: Throwable): String = failure match {
    case _: IncompatibleClassChangeError =>
      s"it threw $failure: a jar on the class path is of another release than the one it was compiled against; use " +
        "that one, or compile it again"
    case other => s"it threw $other"
  }
}
