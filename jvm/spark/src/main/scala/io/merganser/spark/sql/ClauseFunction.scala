package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.write.merge.RowOutcomes
import io.merganser.spark.write.prepare.ColumnMask
import io.merganser.spark.write.tag.InsertPartition
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

import scala.collection.mutable
import scala.util.Try
import scala.util.control.NonFatal

/**
 * The clauses of a statement as one generated function: of a row of both sides it makes the row that the first clause asks
 * for that applies, or nothing.
 *
 * @param clauses over `input`
 * @param columns of the rows that they make
 * @param masks   columns that rows provide which do not provide all, by number
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

  /** To be called in a task. The rows that it gives are reused. */
  def open(): CompiledClauses = {
    val partition  = TaskContext.getPartitionId()
    val predicates = boundConditions.map(Predicate.create(_)).toArray
    val makers     = boundRows.map(UnsafeProjection.create(_)).toArray
    predicates.foreach(_.initialize(partition))
    makers.foreach(_.initialize(partition))
    new CompiledClauses(predicates, makers, columns.outcomes.map(_.open(masks)), this)
  }

  /** The error of a clause's condition. */
  private[sql] def failedCondition(clause: Int, cause: Throwable): Throwable = failed(clause, "the condition", cause)

  /** The error of a clause's row, which names the column whose value cannot be made. */
  private[sql] def failedRow(clause: Int, row: InternalRow, cause: Throwable): Throwable = {
    val values = boundRows(clause).zip(columns.schema.fieldNames)
    val column = values.collectFirst {
      case (value, name) if value.deterministic && Try(value.eval(row)).isFailure => s"column '$name'"
    }
    failed(clause, column.getOrElse("a value"), cause)
  }

  private def failed(clause: Int, part: String, cause: Throwable): Throwable = cause match {
    case ours: MerganserException => ours
    case other =>
      MerganserException("CLAUSE_FAILED", "clause" -> texts(clause), "part" -> part, "reason" -> other.getMessage).causedBy(
        other)
  }
}

/** To be used in the task that opened it. */
private[sql] final class CompiledClauses(
    predicates: Array[BasePredicate],
    makers: Array[UnsafeProjection],
    outcomes: Option[RowOutcomes],
    of: ClauseFunction
) {
  private[this] val outcomesOrNull = outcomes.orNull

  /** Which clause applies; -1 for none. */
  def clauseOf(row: InternalRow): Int = {
    var i = 0
    try while (i < predicates.length && !predicates(i).eval(row)) i += 1
    catch { case NonFatal(e) => throw of.failedCondition(i, e) }
    if (i == predicates.length) -1 else i
  }

  def make(clause: Int, row: InternalRow): UnsafeRow =
    try {
      val made = makers(clause)(row)
      if (outcomesOrNull != null) outcomesOrNull.set(made)
      made
    } catch { case NonFatal(e) => throw of.failedRow(clause, row, e) }
}

/** Rows of a query, changed. */
private[sql] object ClauseRows {

  def of(query: RDD[InternalRow], clauses: ClauseFunction): RDD[InternalRow] = query.mapPartitions { rows =>
    val compiled = clauses.open()
    rows.flatMap { row =>
      val clause = compiled.clauseOf(row)
      if (clause < 0) None else Some(compiled.make(clause, row))
    }
  }
}

/**
 * Rows that a lookup gives, changed. The rows of one source row follow each other, one for each stored row of its key; a
 * clause for rows that are not matched takes the source row once, and only if none of them is a match: with the stored row of the
 * partition that it goes to, if there is one.
 *
 * @param isMatch over the rows: whether ON is true
 * @param arrival ordinal of a source row's place in the source
 * @param latest  chooses one of several source rows for one key; None where the rule makes one of what the clauses give
 * @param twice   what is said of several source rows for one key; None where the table's rule makes one of them
 */
private[sql] final class KeyedClauses(
    clauses: ClauseFunction,
    isMatch: Expression,
    arrival: Int,
    latest: Option[SourceDeduplication],
    twice: Option[CardinalityCheck]
) extends Serializable {

  /** @param inserts tells which partition a row goes to, where a key may be in several */
  def run(found: Iterator[InternalRow], inserts: Option[InsertPartition]): Iterator[InternalRow] = {
    val rows     = latest.fold(found)(_.of(found))
    val compiled = clauses.open()
    val matches  = Predicate.create(isMatch)
    matches.initialize(TaskContext.getPartitionId())
    val watch = twice.map(_.watch())

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
          // Taken before the next row is made, so it needs no copy.
          if (clause >= 0) ready.enqueue(compiled.make(clause, row))
        } else if (!wasMatched && clause >= 0) insert(row, clause)
      }

      private def insert(row: InternalRow, clause: Int): Unit = inserts match {
        case None => if (unmatched == null) unmatched = compiled.make(clause, row).copy()
        case Some(own) =>
          val made = compiled.make(clause, row)
          if (own.holds(row, made)) unmatched = made.copy()
          else if (unmatched == null) unmatched = own.isNew(made.copy())
      }

      private def finish(): Unit = if (unmatched != null) {
        ready.enqueue(unmatched)
        unmatched = null
      }
    }
  }
}
