package io.merganser.spark.sql.procedures

import io.merganser.merge.MerganserException
import io.merganser.spark.source.TableNames
import io.merganser.spark.write.{StatementResult, StatementSession}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types._

import java.util.Locale

/**
 * CALL run_statement(statement => …, options => …): runs a MERGE, UPDATE or DELETE with options of its own, among them
 * a transaction. Settings of the session, which SQL has instead, are those of all its statements.
 */
object RunStatement extends Procedure[Row] {
  override val name = "run_statement"

  override val parameters = Seq(
    Parameter("statement", StringType, "MERGE, UPDATE or DELETE, as SQL", isRequired = true),
    Parameter.options,
    Parameter.names
  )

  override val columns = ResultColumns.ofRows(
    StatementResult.columns.map(column => column.name -> column.dataType) :+ ("is_repetition" -> BooleanType): _*)

  override val measures = StatementResult.CountNames

  override protected def run(session: SparkSession, arguments: Arguments): Seq[Row] = {
    val statement = arguments.statement(arguments.required("statement"))
    RowStatements.requireOurs(session, statement) {
      case _: MergeIntoTable | _: UpdateTable | _: DeleteFromTable => true
      case _                                                       => false
    }(kind => MerganserException("RUN_STATEMENT", "kind" -> kind))
    // In a session of its own.
    val own     = StatementSession.of(session, arguments.options("options"))
    val counts  = statement.run(own).head()
    val repeats = StatementSession.result(own).exists(_.notes.isRepetition)
    Seq(Row.fromSeq(counts.toSeq :+ repeats))
  }
}

private object RowStatements {

  /**
   * Refuses whatever does not change rows of a table of ours, before it is analyzed.
   *
   * @param isTaken for the plan of a statement that changes rows
   * @param refused takes the word with which the statement begins
   */
  def requireOurs(session: SparkSession, statement: BoundStatement)(isTaken: LogicalPlan => Boolean)(
      refused: String => MerganserException
  ): Unit = {
    def word = "[A-Za-z]+".r.findFirstIn(statement.text).fold("nothing")(_.toUpperCase(Locale.ROOT))
    def check(plan: LogicalPlan): Unit = {
      val target = plan match {
        case merge: MergeIntoTable       => Some(merge.targetTable)
        case update: UpdateTable         => Some(update.table)
        case delete: DeleteFromTable     => Some(delete.table)
        case insert: InsertIntoStatement => Some(insert.table)
        case _                           => None
      }
      (plan, target) match {
        case (within: UnresolvedWith, _) => check(within.child)
        case (changing, Some(of)) if isTaken(changing) =>
          of.collectFirst { case relation: UnresolvedRelation => relation.multipartIdentifier } match {
            case Some(parts) => TableNames.pathOf(session, parts); ()
            case None        => throw refused(s"$word, and is of no table")
          }
        case _ => throw refused(word)
      }
    }
    check(statement.plan(session))
  }
}
