package io.merganser.spark.sql

import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.source.MerganserTable
import io.merganser.table.options.{IndexType, MissingColumns, WriteSource}
import io.merganser.table.properties.TableConfig
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, Resolver, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{DataType, NullType}

/**
 * Expands `UPDATE SET *` and `INSERT *` of a MERGE that may change the table's columns: the star stands for the
 * source's columns, also where these are fewer or others than the table's. Spark would look up each column of the table
 * in the source. `active = s.active` may add a column to the table, too.
 *
 * The stars of any other MERGE leave out columns that were added to the table after its creation and that the source
 * lacks, as writes of data frames do; where the source lacks any other column, they are left to Spark, which names it.
 */
object StarExpansion {

  /** Placeholder for all source columns that the table has, each assigned to the column of its name. */
  private final case class SourceColumns() extends LeafExpression with Unevaluable {
    override def nullable: Boolean      = true
    override def dataType: DataType     = NullType
    override lazy val resolved: Boolean = false
  }

  /** A column that an assignment names, which the table may not have yet. */
  private final case class NamedColumn(parts: Seq[String]) extends LeafExpression with Unevaluable {
    override def nullable: Boolean      = true
    override def dataType: DataType     = NullType
    override lazy val resolved: Boolean = false
    override def sql: String            = parts.mkString(".")
  }

  private def marked: Seq[Assignment] = Seq(Assignment(SourceColumns(), SourceColumns()))

  /** Whether a MERGE may change its target's columns. */
  def isAsked(session: SparkSession, merge: MergeIntoTable): Boolean =
    StatementLine.withSchemaEvolution(merge) || WriteConfig.requestsEvolution(FrameWrite.sessionConf(session))

  /** Called before names are resolved, for one of our tables. */
  def mark(session: SparkSession, merge: MergeIntoTable): MergeIntoTable = {
    val evolves = isAsked(session, merge)
    merge.copy(
      matchedActions = merge.matchedActions.map {
        case star: UpdateStarAction          => UpdateAction(star.condition, marked)
        case update: UpdateAction if evolves => update.copy(assignments = update.assignments.map(withNamedColumn))
        case other                           => other
      },
      notMatchedActions = merge.notMatchedActions.map {
        case star: InsertStarAction          => InsertAction(star.condition, marked)
        case insert: InsertAction if evolves => insert.copy(assignments = insert.assignments.map(withNamedColumn))
        case other                           => other
      }
    )
  }

  /** Marks an assignment from a source column of the same name, which may add that column to the table. */
  private def withNamedColumn(assignment: Assignment): Assignment = (assignment.key, assignment.value) match {
    case (key: UnresolvedAttribute, value: UnresolvedAttribute)
        if key.nameParts.last.equalsIgnoreCase(value.nameParts.last) =>
      assignment.copy(key = NamedColumn(key.nameParts))
    case _ => assignment
  }

  /** Expands the stars once target and source are resolved. */
  final case class Expand(session: SparkSession) extends Rule[LogicalPlan] {

    override def apply(plan: LogicalPlan): LogicalPlan = plan match {
      case within: WithCTE => within.copy(plan = apply(within.plan))
      case written: MergeIntoTable
          if written.targetTable.resolved && written.sourceTable.resolved && actions(written).exists(isMarked) =>
        val merge  = withDeletes(written.copy(targetTable = DeferredStatements.bare(written.targetTable)))
        val change = if (isAsked(session, merge) || mayLack(merge)) expanded(merge)(_) else star _
        val stay   = staying(merge)
        def update(action: MergeAction) = action match {
          case all: UpdateAction if isStar(all) && stay.nonEmpty => withoutMove(merge, stay)(change(all))
          case other                                             => change(other)
        }
        written.copy(matchedActions = merge.matchedActions.map(update),
          notMatchedActions = merge.notMatchedActions.map(change))
      case other => other
    }

    private def withDeletes(merge: MergeIntoTable): MergeIntoTable = relation(merge.targetTable).fold(merge) {
      target => StarDeletes.split(merge, target.table.asInstanceOf[MerganserTable].opened.config.name, isStar)
    }

    /** Partition columns that rows keep, whatever partition the source names: those of an index that moves no row. */
    private def staying(merge: MergeIntoTable): Seq[String] = relation(merge.targetTable).toSeq.flatMap { relation =>
      val config = relation.table.asInstanceOf[MerganserTable].opened.config
      parsed(config).index match {
        case IndexType.Simple(_, Some(IndexType.GlobalKeys(false))) => config.partitionFields
        case _                                                      => Nil
      }
    }

    private def parsed(config: TableConfig): WriteConfig =
      WriteConfig.parse(Map.empty, FrameWrite.sessionConf(session), config, WriteSource.SqlChange)

    /** `UPDATE SET *` without these columns, where the source has all others. */
    private def withoutMove(merge: MergeIntoTable, stay: Seq[String])(action: MergeAction): MergeAction = {
      def stays(column: Attribute) = stay.exists(names(_, column.name))
      action match {
        case whole: UpdateStarAction =>
          val others = merge.targetTable.output.filterNot(stays)
          val values = others.flatMap(to => merge.sourceTable.output.find(from => names(to.name, from.name)))
          if (values.size < others.size) whole
          else UpdateAction(whole.condition, others.zip(values).map { case (to, from) => Assignment(to, from) })
        case evolving: UpdateAction =>
          evolving.copy(assignments = evolving.assignments.filterNot(_.key match {
            case column: Attribute => stays(column)
            case _                 => false
          }))
        case other => other
      }
    }

    /** Whether the source lacks columns of the table, and only ones that writes may omit. */
    private def mayLack(merge: MergeIntoTable): Boolean = {
      val lacking =
        merge.targetTable.output.map(_.name).filterNot(t => merge.sourceTable.output.exists(s => names(t, s.name)))
      lacking.nonEmpty && relation(merge.targetTable).exists { relation =>
        val opened   = relation.table.asInstanceOf[MerganserTable].opened
        val settings = parsed(opened.config)
        settings.missingColumns == MissingColumns.Added && lacking.forall(opened.timeline.addedColumns)
      }
    }

    /** The action with the star it was written with. */
    private def star(action: MergeAction): MergeAction = action match {
      case update: UpdateAction if isStar(update) => UpdateStarAction(update.condition)
      case insert: InsertAction if isStar(insert) => InsertStarAction(insert.condition)
      case other                                  => other
    }

    private def isStar(action: MergeAction): Boolean = action match {
      case update: UpdateAction => update.assignments == marked
      case insert: InsertAction => insert.assignments == marked
      case _                    => false
    }

    private def actions(merge: MergeIntoTable) = merge.matchedActions ++ merge.notMatchedActions

    private def isMarked(action: MergeAction): Boolean = action match {
      case update: UpdateAction => update.assignments.exists(isMarked)
      case insert: InsertAction => insert.assignments.exists(isMarked)
      case _                    => false
    }

    private def isMarked(assignment: Assignment): Boolean = assignment.key match {
      case _: SourceColumns => true
      case _: NamedColumn   => assignment.value.resolved
      case _                => false
    }

    private def expanded(merge: MergeIntoTable)(action: MergeAction): MergeAction =
      if (!isMarked(action)) action
      else action match {
        case update: UpdateAction => update.copy(assignments = update.assignments.flatMap(expanded(merge, _)))
        case insert: InsertAction => insert.copy(assignments = insert.assignments.flatMap(expanded(merge, _)))
        case other                => other
      }

    private def expanded(merge: MergeIntoTable, assignment: Assignment): Seq[Assignment] = assignment.key match {
      case _: SourceColumns =>
        merge.sourceTable.output.flatMap(value =>
          merge.targetTable.output.find(t => names(t.name, value.name)).map(Assignment(_, value)))
      case key: NamedColumn if assignment.value.resolved =>
        Seq(assignment.copy(key = column(merge, key, assignment.value)))
      case _ => Seq(assignment)
    }

    /** The table's column, or a new one; otherwise unresolved, so that Spark reports the unknown name. */
    private def column(merge: MergeIntoTable, key: NamedColumn, value: Expression): Expression = {
      val isColumn = key.parts.length == 1 || (merge.targetTable match {
        case alias: SubqueryAlias => key.parts.length == 2 && names(alias.alias, key.parts.head)
        case _                    => false
      })
      merge.targetTable.resolve(key.parts, names) match {
        case Some(known: Alias) => known.child
        case Some(known)        => known
        case None
            if relation(merge.targetTable).isDefined && isColumn && merge.sourceTable.output.exists(
              _.semanticEquals(value)) =>
          AttributeReference(key.parts.last, value.dataType)()
        case None => UnresolvedAttribute(key.parts)
      }
    }

    private def names: Resolver = session.sessionState.conf.resolver

    /** The relation of the target, if it is one of our tables. */
    private def relation(target: LogicalPlan): Option[DataSourceV2Relation] = EliminateSubqueryAliases(target) match {
      case relation: DataSourceV2Relation if relation.table.isInstanceOf[MerganserTable] => Some(relation)
      case _                                                                             => None
    }
  }
}
