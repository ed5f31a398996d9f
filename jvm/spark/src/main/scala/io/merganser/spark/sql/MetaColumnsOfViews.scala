package io.merganser.spark.sql

import io.merganser.table.schema.MetaColumns
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * Meta columns of a table behind a temporary view: `SELECT _hoodie_commit_time FROM view`, as in Hudi's quick start.
 *
 * Spark hides the metadata columns of a relation behind a view of it. A query that names one of ours reads the view's
 * plan in place of the view; it is hidden from `*` as in a query of the table itself. Other queries are unaffected.
 */
object MetaColumnsOfViews extends Rule[LogicalPlan] {

  /** A view that shows the hidden columns of its plan, until the query is resolved. */
  private final case class ExposingView(view: View) extends LeafNode with ExposesMetadataColumns {
    override def output: Seq[Attribute] = view.output

    override def metadataOutput: Seq[Attribute] = metaColumns(view.child)

    override def withMetadataColumns(): LogicalPlan = extended(view.child)
  }

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case query if !query.isInstanceOf[Command] && query.childrenResolved && namesMetaColumn(query) =>
      AnalysisHelper.allowInvokingTransformsInAnalyzer(query.mapChildren(_.transformDown {
        case view: View if view.isTempView && metaColumns(view.child).nonEmpty => ExposingView(view)
      }))
  }

  /** Restores views of which a query uses no hidden column. */
  object Restore extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan =
      if (!plan.exists(_.isInstanceOf[ExposingView])) plan
      else AnalysisHelper.allowInvokingTransformsInAnalyzer(plan.transformUp { case ExposingView(view) => view })
  }

  /** Whether a name is one of ours, and not that of a column which the query reads already, as of another table. */
  private def namesMetaColumn(query: LogicalPlan): Boolean = query.expressions.exists(_.exists {
    case name: UnresolvedAttribute =>
      MetaColumns.names.exists(conf.resolver(_, name.nameParts.last)) &&
      query.resolveChildren(name.nameParts, conf.resolver).isEmpty
    case _ => false
  })

  /** None of distinct rows: with meta columns there would be more of them. */
  private def metaColumns(plan: LogicalPlan): Seq[Attribute] = plan match {
    case _ if plan.exists(_.isInstanceOf[Distinct]) => Nil
    // Of a table with CHAR columns, Spark puts a projection that pads them below the name, which hides the columns.
    case SubqueryAlias(_, padded @ Project(_, _: ExposesMetadataColumns)) => metaColumns(padded)
    case Project(_, child)                                                => metaColumns(child)
    case filter: Filter                                                   => metaColumns(filter.child)
    case sort: Sort                                                       => metaColumns(sort.child)
    case _ => plan.metadataOutput.filter(column => MetaColumns.isMeta(column.name))
  }

  /** A plan whose output has its hidden meta columns too. */
  private def extended(plan: LogicalPlan): LogicalPlan = plan match {
    case same if metaColumns(same).isEmpty => same
    case relation: ExposesMetadataColumns  => relation.withMetadataColumns()
    case project: Project =>
      project.copy(projectList = project.projectList ++ metaColumns(project), child = extended(project.child))
    case other => other.withNewChildren(other.children.map(extended))
  }
}
