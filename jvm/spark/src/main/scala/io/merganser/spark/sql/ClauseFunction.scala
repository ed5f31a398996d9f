package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.write.merge.RowOutcomes
import io.merganser.spark.write.prepare.ColumnMask
import io.merganser.spark.write.tag.InsertPartition
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.merganser.Partitions

import scala.collection.mutable
import scala.util.Try
import scala.util.control.NonFatal

/**
 * The clauses of a statement as one generated function: it maps a row of both sides to the output row of the first
 * clause that applies, or to none.
 *
 * @param clauses over `input`
 * @param columns of their output rows
 * @param masks   columns that partial rows provide, by number
 */
private[sql] final class ClauseFunction(
    clauses: Seq[RowClause],
    input: Seq[Attribute],
    columns: CommandColumns,
    masks: Seq[ColumnMask]
) extends Serializable {
  private val texts           = clauses.map(_.text)
  private val boundConditions = BindReferences.bindReferences(clauses.map(_.condition), input)
  private val boundRows       = clauses.map(clause => BindReferences.bindReferences(clause.row, input))

  /** Called in a task. The output rows are reused objects. */
  def open(): CompiledClauses = {
    val partition  = TaskContext.getPartitionId()
    val predicates = boundConditions.map(Predicate.create(_)).toArray
    val makers     = boundRows.map(UnsafeProjection.create(_)).toArray
    predicates.foreach(_.initialize(partition))
    makers.foreach(_.initialize(partition))
    new CompiledClauses(predicates, makers, columns.outcomes.map(_.open(masks)), this)
  }

  /** The error for a clause's condition. */
  private[sql] def failedCondition(clause: Int, cause: Throwable): Throwable = failed(clause, "the condition", cause)

  /** The error for a clause's output row; it names the column whose value cannot be computed. */
  private[sql] def failedRow(clause: Int, row: InternalRow, cause: Throwable): Throwable = {
    val values = boundRows(clause).zip(columns.schema.fieldNames)
    val column = values.collectFirst {
      case (value, name) if value.deterministic && Try(value.eval(row)).isFailure => s"column '$name'"
    }
    failed(clause, column.getOrElse("a value"), cause)
  }

  private def failed(clause: Int, part: String, cause: Throwable): Throwable = cause match {
    // Which clause assigns the null is known here alone.
    case ours: MerganserException if ours.condition != RequiredValue.Condition => ours
    case other =>
      MerganserException("CLAUSE_FAILED", "clause" -> texts(clause), "part" -> part, "reason" -> other.getMessage)
        .causedBy(other)
  }
}

/** Used in the task that opened it. */
private[sql] final class CompiledClauses(
    predicates: Array[BasePredicate],
    makers: Array[UnsafeProjection],
    outcomes: Option[RowOutcomes],
    function: ClauseFunction
) {
  private[this] val outcomesOrNull = outcomes.orNull

  /** Index of the first clause that applies; -1 for none. */
  def clauseOf(row: InternalRow): Int = {
    var i = 0
    try while (i < predicates.length && !predicates(i).eval(row)) i += 1
    catch { case NonFatal(e) => throw function.failedCondition(i, e) }
    if (i == predicates.length) -1 else i
  }

  def make(clause: Int, row: InternalRow): UnsafeRow =
    try {
      val made = makers(clause)(row)
      if (outcomesOrNull != null) outcomesOrNull.set(made)
      made
    } catch { case NonFatal(e) => throw function.failedRow(clause, row, e) }
}

/** Applies clauses to the rows of a query. */
private[sql] object ClauseRows {

  def of(query: RDD[InternalRow], clauses: ClauseFunction): RDD[InternalRow] = Partitions.map(query) { rows =>
    val compiled = clauses.open()
    rows.flatMap { row =>
      val clause = compiled.clauseOf(row)
      if (clause < 0) None else Some(compiled.make(clause, row))
    }
  }
}

/**
 * Applies clauses to the rows of a key lookup. The rows of one source row are adjacent, one for each stored row of its
 * key. A NOT MATCHED clause takes the source row once, and only if none of them matches: with the stored row of the
 * partition that it is inserted into, if there is one.
 *
 * @param isMatch whether ON is true, over the rows
 * @param arrival ordinal of a source row's position in the source
 * @param latest  chooses one of several source rows for one key; None where the table's rule merges their output rows
 * @param check   rejects several source rows for one key; None where the table's rule merges them
 */
private[sql] final class KeyedClauses(
    clauses: ClauseFunction,
    isMatch: Expression,
    arrival: Int,
    latest: Option[SourceDeduplication],
    check: Option[CardinalityCheck]
) extends Serializable {

  /** @param inserts determines the partition of an inserted row, where a key may be stored in several */
  def run(found: Iterator[InternalRow], inserts: Option[InsertPartition]): Iterator[InternalRow] = {
    val rows     = latest.fold(found)(_.of(found))
    val compiled = clauses.open()
    val matches  = Predicate.create(isMatch)
    matches.initialize(TaskContext.getPartitionId())
    val watch = check.map(_.watch())

    new Iterator[InternalRow] {
      private[this] val ready                = mutable.Queue.empty[InternalRow]
      private[this] var place                = -1L
      private[this] var wasMatched           = false
      private[this] var unmatched: UnsafeRow = _

      override def hasNext: Boolean = {
        while (ready.isEmpty && rows.hasNext) advance(rows.next())
        if (ready.isEmpty) finish()
        if (ready.isEmpty) watch.foreach(_.finish())
        ready.nonEmpty
      }

      override def next(): InternalRow = {
        if (!hasNext) throw new NoSuchElementException
        ready.dequeue()
      }

      private def advance(row: InternalRow): Unit = {
        if (row.getLong(arrival) != place) {
          finish()
          place = row.getLong(arrival)
          wasMatched = false
        }
        val clause = compiled.clauseOf(row)
        if (clause >= 0) watch.foreach(_.see(row, place))
        if (matches.eval(row)) {
          wasMatched = true
          unmatched = null
          // Consumed before the next output row is made, so it needs no copy.
          if (clause >= 0) ready.enqueue(compiled.make(clause, row))
        } else if (!wasMatched && clause >= 0) insert(row, clause)
      }

      private def insert(row: InternalRow, clause: Int): Unit = inserts match {
        case None => if (unmatched == null) unmatched = compiled.make(clause, row).copy()
        case Some(partition) =>
          val made = compiled.make(clause, row)
          if (partition.holds(row, made)) unmatched = made.copy()
          else if (unmatched == null) unmatched = partition.isNew(made.copy())
      }

      private def finish(): Unit = if (unmatched != null) {
        ready.enqueue(unmatched)
        unmatched = null
      }
    }
  }
}
