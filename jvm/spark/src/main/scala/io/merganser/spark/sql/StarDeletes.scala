package io.merganser.spark.sql

import io.merganser.table.schema.FrameCheck
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.{BooleanType, StructField, StructType}

/**
 * Deletes by the stars of a MERGE: source rows with `_hoodie_is_deleted` delete, as they do in an upsert, where the
 * table does not store that column and no clause reads it. `UPDATE SET *` would otherwise drop the column, and turn the
 * delete into an update.
 */
private[sql] object StarDeletes {

  /**
   * The statement with a DELETE of the marked rows before each `UPDATE SET *`, and without them in each `INSERT *`.
   *
   * @param table  name of the target
   * @param isStar whether an action was written with a star
   * @throws io.merganser.merge.MerganserException DELETE_FLAG_NOT_BOOLEAN
   */
  def split(merge: MergeIntoTable, table: String, isStar: MergeAction => Boolean): MergeIntoTable = {
    val actions = merge.matchedActions ++ merge.notMatchedActions
    flag(merge).filter(flag => actions.exists(isStar) && !actions.exists(reads(_, flag.name))).fold(merge) { flag =>
      FrameCheck.requireDeleteFlag(columns(Seq(flag)), StructType(Nil), table, "merge into")
      if (flag.dataType != BooleanType) merge
      else merge.copy(
        matchedActions = merge.matchedActions.flatMap {
          case star: UpdateAction if isStar(star) => Seq(DeleteAction(Some(and(star.condition, flag))), star)
          case other                              => Seq(other)
        },
        notMatchedActions = merge.notMatchedActions.map {
          case star: InsertAction if isStar(star) =>
            star.copy(condition = Some(and(star.condition, Not(EqualNullSafe(flag, Literal.TrueLiteral)))))
          case other => other
        }
      )
    }
  }

  private def flag(merge: MergeIntoTable): Option[Attribute] =
    FrameCheck.deleteFlag(columns(merge.sourceTable.output), columns(merge.targetTable.output))
      .flatMap(found => merge.sourceTable.output.find(_.name == found.name))

  private def reads(action: MergeAction, column: String): Boolean = action.exists {
    case name: UnresolvedAttribute => name.nameParts.last.equalsIgnoreCase(column)
    case found: Attribute          => found.name.equalsIgnoreCase(column)
    case _                         => false
  }

  private def and(condition: Option[Expression], last: Expression): Expression = condition.foldRight(last)(And(_, _))

  private def columns(attributes: Seq[Attribute]): StructType =
    StructType(attributes.map(a => StructField(a.name, a.dataType)))
}
