package io.merganser.spark.sql

import io.merganser.spark.source.MerganserTable
import io.merganser.spark.write.StatementResult
import io.merganser.spark.write.prepare.ColumnMask
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SupportsNonDeterministicExpression, UnaryCommand}

/**
 * A MERGE, UPDATE or DELETE on one of our tables: rows of `query` become rows of one write by the first clause that
 * applies to them.
 *
 * A clause's row has an expression for each column of [[CommandColumns]]. The statement's result is one row.
 */
sealed trait RowLevelCommand extends UnaryCommand with SupportsNonDeterministicExpression {

  def target: CommandContext

  /** In the order in which their conditions are evaluated: the first that is true applies. */
  def clauses: Seq[RowClause]

  /** The columns that partial rows provide; a clause's row refers to them by number. */
  def masks: Seq[ColumnMask]

  def query: LogicalPlan

  override def allowNonDeterministicExpression: Boolean = true

  override def child: LogicalPlan = query
}

/**
 * The target of a statement.
 *
 * @param table       as of the statement's start
 * @param statement   MERGE, UPDATE or DELETE
 * @param readsItself true where rows are found by reading the table: no other writer may change them before the commit
 * @param columns     of the clauses' output rows
 * @param settings    of the write
 * @param name        in its catalog, as SQL text
 * @param identifying clauses that assign columns from which key or partition path are computed
 */
final case class CommandContext(
    table: MerganserTable,
    statement: String,
    readsItself: Boolean,
    columns: CommandColumns,
    settings: WriteConfig,
    name: Option[String],
    identifying: Seq[String]
) {
  override def toString: String = table.name()
}

/** Changes the rows of a query, each of which has the key and partition path of its stored row. */
final case class RowLevelCommandOverQuery(
    target: CommandContext,
    clauses: Seq[RowClause],
    masks: Seq[ColumnMask],
    once: Option[MatchedOnce],
    query: LogicalPlan,
    override val output: Seq[Attribute] = RowLevelCommand.result
) extends RowLevelCommand {
  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(query = newChild)
}

/**
 * A MERGE whose ON equates the record key: no join. Source rows look up their key and are matched with the stored row.
 *
 * @param on        the whole ON condition
 * @param keys      the key columns
 * @param paths     the partition columns; none where ON does not equate all of them
 * @param arrival   position of a source row in the source
 * @param choice    of several source rows for one key; None where the table's rule merges their output rows
 * @param found     columns that the lookup adds before the stored ones: number of the file slice, whether a row is
 *                  stored
 * @param stored    columns of the stored row that clauses use
 */
final case class RowLevelCommandByKey(
    target: CommandContext,
    clauses: Seq[RowClause],
    masks: Seq[ColumnMask],
    on: Expression,
    keys: EqualColumns,
    paths: EqualColumns,
    arrival: Attribute,
    choice: Option[SourceChoice],
    found: Seq[Attribute],
    stored: Seq[Attribute],
    query: LogicalPlan,
    override val output: Seq[Attribute] = RowLevelCommand.result
) extends RowLevelCommand {
  override def producedAttributes: AttributeSet = AttributeSet((arrival +: found) ++ stored ++ output)

  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(query = newChild)
}

/**
 * A MERGE by another condition: source and target are joined once the source's values have shown which of the target's
 * files can match.
 *
 * @param query    the source, with its marker columns
 * @param stored   the target, with its marker columns
 * @param arrival  position of a source row in the source
 * @param choice   of several rows of the join whose source rows are versions of one row
 * @param pruning  columns that ON equates with values of the source, by which the target's files are pruned
 * @param keys     the key columns, where ON equates all of them
 */
final case class RowLevelCommandByJoin(
    target: CommandContext,
    clauses: Seq[RowClause],
    masks: Seq[ColumnMask],
    once: Option[MatchedOnce],
    on: Expression,
    arrival: Attribute,
    choice: SourceChoice,
    joinType: JoinType,
    pruning: EqualColumns,
    keys: EqualColumns,
    stored: StoredSide,
    query: LogicalPlan,
    override val output: Seq[Attribute] = RowLevelCommand.result
) extends RowLevelCommand {
  override def producedAttributes: AttributeSet = AttributeSet(stored.plan.output ++ output)

  override protected def withNewChildInternal(newChild: LogicalPlan): LogicalPlan = copy(query = newChild)
}

/** The target's side of a join, planned when the statement runs; hidden from the rules that rewrite the source. */
final class StoredSide(val plan: LogicalPlan) extends Serializable {
  override def toString: String = "stored rows"
}

object RowLevelCommand {

  /** The columns of [[StatementResult]]. */
  def result: Seq[Attribute] =
    StatementResult.columns.map(c => AttributeReference(c.name, c.dataType, c.nullable)())
}
