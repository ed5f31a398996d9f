package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.source.MerganserTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode, FalseLiteral}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, V2WriteCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.DataType

/**
 * The value of a column that is NOT NULL. In place of Spark's check, whose failure is a NullPointerException, and an
 * internal error where the value is constant.
 *
 * @param column with the fields around it
 */
private[spark] final case class RequiredValue(child: Expression, table: String, column: String)
    extends UnaryExpression {
  override def dataType: DataType = child.dataType

  override def nullable: Boolean = false

  /** Otherwise a constant would be evaluated without a row. */
  override lazy val foldable: Boolean = false

  override def eval(input: InternalRow): Any = {
    val value = child.eval(input)
    if (value == null) throw missing
    value
  }

  /** Called by generated code too. */
  def missing: RuntimeException = MerganserException(RequiredValue.Condition, "table" -> table, "column" -> column)

  override protected def doGenCode(context: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(context)
    val self  = context.addReferenceObj("required", this)
    val check = code"if (${value.isNull}) { throw $self.missing(); }"
    ev.copy(code = value.code + check, isNull = FalseLiteral, value = value.value)
  }

  override protected def withNewChildInternal(newChild: Expression): RequiredValue = copy(child = newChild)
}

private[spark] object RequiredValue {
  val Condition = "NULL_VALUE"

  /** The expression with our checks in place of Spark's. */
  def inPlaceOfSparks(expression: Expression, table: String): Expression = expression.transform {
    case AssertNotNull(value, path) => RequiredValue(value, table, path.mkString("."))
  }

  private def isChecked(column: Expression): Boolean = column.exists(_.isInstanceOf[AssertNotNull])

  /** The rows of an INSERT, or of `writeTo`, in one of our tables. */
  object OfInserts extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan =
      plan.resolveOperatorsWithPruning(_.containsPattern(TreePattern.COMMAND)) {
        case write: V2WriteCommand if write.resolved =>
          (write.table, write.query) match {
            case (relation: DataSourceV2Relation, Project(columns, rows))
                if relation.table.isInstanceOf[MerganserTable] && columns.exists(isChecked) =>
              val name = relation.table.name()
              write.withNewQuery(Project(columns.map(inPlaceOfSparks(_, name).asInstanceOf[NamedExpression]), rows))
            case _ => write
          }
      }
  }
}
