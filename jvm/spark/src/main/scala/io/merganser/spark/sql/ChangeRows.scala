package io.merganser.spark.sql

import io.merganser.spark.source.MerganserTable
import io.merganser.spark.write.ColumnMask
import io.merganser.table.config.WriteConfig
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SupportsNonDeterministicExpression, UnaryCommand}
import org.apache.spark.sql.types.LongType

/**
 * A MERGE, UPDATE or DELETE of ours: rows of `query` become rows of one write by the first clause that applies to them.
 *
 * What a clause does is an expression for each column of [[ChangedColumns]]. The statement's result is one row of counts.
 */
sealed trait ChangeStatement extends UnaryCommand with SupportsNonDeterministicExpression {

  def target: ChangeTarget

  /** What the statement says, one text a clause; for EXPLAIN. */
  def clauses: Seq[String]

  /** When a clause applies, in the order in which they are asked. */
  def conditions: Seq[Expression]

  /** What a clause makes of a row: an expression for each of [[ChangedColumns]]. */
  def rows: Seq[Seq[Expression]]

  /** The rows of whole columns, of which a clause's row names one by number. */
  def masks: Seq[ColumnMask]

  def query: LogicalPlan

  override def allowNonDeterministicExpression: Boolean = true

  override def child: LogicalPlan = query
}

/**
 * The table that a statement changes.
 *
 * @param table       as the statement sees it from its beginning to its end
 * @param statement   MERGE, UPDATE or DELETE
 * @param readsItself true where rows are found by reading the table: nobody may have changed them when they are written
 * @param columns     of the rows that the clauses make
 * @param settings    of the write
 * @param name        by which a catalog knows it, as SQL text
 * @param identifying clauses that assign columns which the row's key or partition comes from
 */
final case class ChangeTarget(
    table: MerganserTable,
    statement: String,
    readsItself: Boolean,
    columns: ChangedColumns,
    settings: WriteConfig,
    name: Option[String],
    identifying: Seq[String]
) {
  override def toString: String = table.name()
}

/**
 * The rows that a query finds, each with what identifies the stored row it changes.
 *
 * @param storedRow number of the stored row that a source row matched, else null; given where a stored row may be matched
 *                  once only, as SQL has it
 * @param shown     what an error shows of a row that was matched again
 */
final case class ChangeRows(
    target: ChangeTarget,
    clauses: Seq[String],
    conditions: Seq[Expression],
    rows: Seq[Seq[Expression]],
    masks: Seq[ColumnMask],
    storedRow: Option[Expression],
    shown: Seq[Expression],
    query: LogicalPlan,
    override val output: Seq[Attribute] = ChangeStatement.counts
) extends ChangeStatement {
  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(query = newChild)
}

/**
 * A MERGE whose ON equates the record key: no join. Source rows look their key up and meet the stored row, if there is one.
 *
 * @param on        the whole ON condition
 * @param keys      what the source has for the key columns
 * @param keyNames  names of these
 * @param paths     the same for the partition columns; empty where ON does not equate all of them
 * @param arrival   place of a source row in the source
 * @param order     what the source has for the ordering columns, where the greatest of several source rows for one key counts;
 *                  None where the table's rule makes one of what the clauses make of them
 * @param found     what the lookup adds before the stored columns: number of the file slice, whether a row is stored
 * @param stored    columns of the stored row that clauses look at
 */
final case class ChangeRowsByKey(
    target: ChangeTarget,
    clauses: Seq[String],
    conditions: Seq[Expression],
    rows: Seq[Seq[Expression]],
    masks: Seq[ColumnMask],
    on: Expression,
    keys: Seq[Expression],
    keyNames: Seq[String],
    paths: Seq[Expression],
    pathNames: Seq[String],
    arrival: Attribute,
    order: Option[Seq[Expression]],
    found: Seq[Attribute],
    stored: Seq[Attribute],
    query: LogicalPlan,
    override val output: Seq[Attribute] = ChangeStatement.counts
) extends ChangeStatement {
  override def producedAttributes: AttributeSet = AttributeSet((arrival +: found) ++ stored ++ output)

  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(query = newChild)
}

/**
 * A MERGE by another condition: source and target are joined once the source's values have shown which of the target's
 * files can match.
 *
 * @param query    the source, with its row marks
 * @param stored   the target, with its row marks
 * @param versions what rows of the join have in common whose source rows are versions of one row; empty where all of them count
 * @param arrival  place of a source row in the source
 * @param order    by what one of them counts: whether ON is true, then what the source has for the ordering columns
 * @param prunes   columns of the target that ON equates with something of the source's
 * @param prunedBy what that is, one for each column
 * @param keys     what the source has for the key columns, where ON equates all of them
 * @param keyNames names of these
 */
final case class ChangeRowsByJoin(
    target: ChangeTarget,
    clauses: Seq[String],
    conditions: Seq[Expression],
    rows: Seq[Seq[Expression]],
    masks: Seq[ColumnMask],
    storedRow: Option[Expression],
    shown: Seq[Expression],
    on: Expression,
    versions: Seq[Expression],
    arrival: Attribute,
    order: Seq[Expression],
    joinType: JoinType,
    prunes: Seq[String],
    prunedBy: Seq[Expression],
    keys: Seq[Expression],
    keyNames: Seq[String],
    stored: StoredSide,
    query: LogicalPlan,
    override val output: Seq[Attribute] = ChangeStatement.counts
) extends ChangeStatement {
  override def producedAttributes: AttributeSet = AttributeSet(stored.plan.output ++ output)

  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(query = newChild)
}

/** The target's side of a join, planned when the statement runs; kept from the rules that rewrite the source. */
final class StoredSide(val plan: LogicalPlan) extends Serializable {
  override def toString: String = "stored rows"
}

object ChangeStatement {

  /** A statement's result: one row of counts. */
  val CountNames: Seq[String] = Seq(
    "inserted", "updated", "unchanged", "deleted", "late", "ties", "appended", "file_groups_read", "file_groups_written",
    "file_groups_pruned")

  def counts: Seq[Attribute] = CountNames.map(AttributeReference(_, LongType, nullable = false)())
}
