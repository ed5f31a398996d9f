package io.merganser.merge

import java.util.{Map => JavaMap}
import scala.util.control.NonFatal

/** Makes a user's merger where it is needed; what travels to tasks is this and not the merger. */
trait MergerSource extends Serializable {

  /** Class that users know the rule by. */
  def className: String

  /** True if what it makes is a [[CombiningMerger]]. */
  def combines: Boolean = false

  def open(): RecordMerger
}

/** A merger by its class, loaded as Spark loads the classes of `spark.jars`. */
final case class MergerClass(className: String) extends MergerSource {

  /** @throws ReflectiveOperationException or LinkageError if there is no such class that can be made */
  override def open(): RecordMerger =
    MergerClass.load(className, classOf[RecordMerger]).getDeclaredConstructor().newInstance()
}

object MergerClass {

  /**
   * A class of the kind that is wanted. No code of the class has run yet: tables and options name classes, and one that is of
   * another kind must not run its static initialisers.
   *
   * @throws ClassCastException if it does not implement `wanted`
   */
  def load[T](className: String, wanted: Class[T]): Class[_ <: T] = Class.forName(className, false, loader).asSubclass(wanted)

  /** The loader that knows the jars of the session, or of the task. */
  def loader: ClassLoader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
}

/**
 * A user's merger as a rule: where its public records meet versions of rows.
 *
 * A delete without ordering value ends the key's history, and a version that wins over a delete is merged with nothing
 * before it, whatever the merger makes of it. A partial version finds nothing to be laid over on a delete, which then
 * stays. Everything else the merger decides.
 *
 * Laws: none is assumed, so versions are kept apart and folded from the stored row; but a [[CombiningMerger]] combines
 * those of a batch.
 *
 * @param hidden    columns that the merger does not see
 * @param props     what the merger is given as the table's properties; not to be changed
 * @param fileGroup where the rows lie, for messages
 */
final class CustomRule(source: MergerSource, layout: RowLayout, hidden: Set[String], props: JavaMap[String, String],
    fileGroup: String = "none")
    extends MergeRule {
  @transient private[this] lazy val merger  = source.open()
  @transient private[this] lazy val context = new RowContext(layout, hidden)

  override val laws: Laws = Laws(associative = false, idempotent = false, orderFree = false)

  override def at(fileGroup: String): MergeRule = new CustomRule(source, layout, hidden, props, fileGroup)

  override def merge(older: Version, newer: Version): Version =
    if (newer.isPartial && older.isDelete) { if (newer.inserts) merge(older, newer.asRow) else older }
    else if (newer.endsHistory) insert(newer)
    else if (context.isUnordered(older)) insert(newer).withoutHistory
    else {
      val result = ask(older, newer) { (olderRecord, newerRecord) =>
        if (older.isPartial || newer.isPartial) merger.partialMerge(olderRecord, newerRecord, context.schema, context, props)
        else merger.merge(olderRecord, newerRecord, context, props)
      }
      withHistoryOf(older, result)
    }

  override def combinesBatch: Boolean = source.combines

  override def combine(older: Version, newer: Version): Version =
    if (!source.combines) merge(older, newer)
    else if (newer.endsHistory) newer
    else if (context.isUnordered(older)) newer.withoutHistory
    else withHistoryOf(older, ask(older, newer)(combining.combine(_, _, context, props)))

  override def insert(version: Version): Version =
    if (!source.combines || version.isDelete) version
    else {
      val result = ask(version, version)((_, record) => combining.insert(record, context, props))
      if (version.endsHistory) result.withoutHistory else result
    }

  private def combining = merger.asInstanceOf[CombiningMerger]

  private def withHistoryOf(older: Version, result: Version): Version =
    if ((result eq older) || !(older.endsHistory || (older.isDelete && !result.isDelete))) result else result.withoutHistory

  private def ask(older: Version, newer: Version)(question: (BufferedRecord, BufferedRecord) => BufferedRecord): Version = {
    val (olderRecord, newerRecord) = (context.view(older), context.view(newer))
    val merged =
      try question(olderRecord, newerRecord)
      catch {
        case failure: Throwable if CustomRule.isTheMergers(failure) => throw failed(older, newer, s"it threw $failure").causedBy(failure)
      }
    if (merged eq olderRecord) checked(older, older, newer)
    else if (merged eq newerRecord) checked(newer, older, newer)
    else if (merged == null) throw failed(older, newer, "it returned null; a deletion is a record, as RecordContext.createDelete makes it")
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
        s"its result provides the columns ${columns.mkString(", ")}; the two versions provide ${context.providedByEither(older, newer).mkString(", ")}")
    }
    result
  }

  private def failed(older: Version, newer: Version, reason: String): MerganserException =
    MerganserException("MERGER_FAILED", "merger" -> source.className, "key" -> context.key(newer).take(200), "fileGroup" -> fileGroup,
      "older" -> context.describe(older), "newer" -> context.describe(newer), "reason" -> reason)
}

private object CustomRule {

  /** What comes from the user's code or from the way it was built, and not from the machine. */
  private def isTheMergers(failure: Throwable): Boolean = failure match {
    case _: LinkageError | _: StackOverflowError => true
    case other                                   => NonFatal(other)
  }
}
