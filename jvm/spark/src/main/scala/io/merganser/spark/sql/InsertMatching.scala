package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.frame.FrameWrite
import io.merganser.spark.source.MerganserTable
import io.merganser.table.options.Options
import io.merganser.table.settings.WriteConfig
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.ExplainCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._

/**
 * Refuses an INSERT by position whose query has the table's names in another order, since Spark would swap the values,
 * or matches it by `spark.merganser.sql.insertMatching`. The same holds for fields of structs. A query with any
 * other name is left to Spark, and so are lists of columns and BY NAME.
 */
final case class InsertMatching(session: SparkSession) extends Rule[LogicalPlan] {
  import InsertMatching._

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperators {
    case insert: InsertIntoStatement if isLegacy(conf) && target(insert.table).isDefined =>
      throw legacy(target(insert.table).fold("")(_.table.name()))
    case insert: InsertIntoStatement if insert.query.resolved && !insert.byName && insert.userSpecifiedCols.isEmpty =>
      target(insert.table).flatMap { relation =>
        val static = insert.partitionSpec.collect { case (name, Some(_)) => name }
        val wanted = relation.output.filterNot(column => static.exists(conf.resolver(_, column.name)))
        matched(relation, insert.query, wanted)(named(insert.query, wanted))
      }.fold(insert)(query => insert.copy(query = query, byName = true))
    case over: OverwriteByExpression if isHeld(over.query) && over.table.resolved =>
      val query = over.query.children.head
      target(over.table).flatMap(relation => matched(relation, query, relation.output)(named(query, relation.output)))
        .fold(over.copy(query = query))(byName => over.copy(query = byName, isByName = true))
    case write: V2WriteCommand if !write.isByName =>
      (for (relation <- target(write.table); frame <- insertedFrame(write.query))
        yield matched(relation, frame, relation.output, optionsOf(write))(inOrder(frame, relation.output))
          .fold(write)(write.withNewQuery(_))).getOrElse(write)
  }

  /**
   * The query for a match by name, if the setting requests it.
   *
   * @param byName makes it for names in another order; None where they cannot be matched by name
   */
  private def matched(
      relation: DataSourceV2Relation,
      query: LogicalPlan,
      wanted: Seq[Attribute],
      options: Map[String, String] = Map.empty
  )(byName: Order => Option[LogicalPlan]): Option[LogicalPlan] = reordered(query, wanted).flatMap { order =>
    def undefined = MerganserException("INSERT_ORDER_UNDEFINED", "table" -> relation.table.name(),
      "query" -> order.query.mkString(", "), "columns" -> order.wanted.mkString(", "),
      "option" -> Options.SqlInsertMatching.key)
    val table = relation.table.asInstanceOf[MerganserTable].opened.config
    WriteConfig.insertMatching(options, FrameWrite.sessionConf(session), table) match {
      case "position" => None
      case "name"     => byName(order).orElse(throw undefined)
      case _          => throw undefined
    }
  }

  /** The query of a statement that is then matched by name: its columns have the table's names. */
  private def named(query: LogicalPlan, wanted: Seq[Attribute])(order: Order): Option[LogicalPlan] =
    if (order.isOfColumns) Some(query)
    else Some(Project(query.output.zip(wanted).map { case (from, to) => Alias(from, to.name)() }, query))

  /** The frame of an `insertInto` in the table's order, which stays matched by position. */
  private def inOrder(frame: LogicalPlan, wanted: Seq[Attribute])(order: Order): Option[LogicalPlan] =
    if (!order.isOfColumns) None
    else Some(Project(wanted.flatMap(to => frame.output.find(from => conf.resolver(from.name, to.name))), frame))

  /** The first columns or fields of the query that are the table's in another order. */
  private def reordered(query: LogicalPlan, wanted: Seq[Attribute]): Option[Order] =
    if (hasGeneratedNames(query)) None
    else reordered("", query.schema, StructType(wanted.map(a => StructField(a.name, a.dataType))))

  private def reordered(path: String, from: DataType, to: DataType): Option[Order] = (from, to) match {
    case (g: StructType, w: StructType) if g.length == w.length =>
      val (names, wanted) = (g.fieldNames.toSeq, w.fieldNames.toSeq)
      val isSame          = names.zip(wanted).forall { case (a, b) => conf.resolver(a, b) }
      if (!isSame && wanted.forall(name => names.count(conf.resolver(_, name)) == 1))
        Some(Order(names.map(path + _), wanted.map(path + _), isOfColumns = path.isEmpty))
      else
        g.iterator.zip(w.iterator).map { case (a, b) => reordered(s"$path${b.name}.", a.dataType, b.dataType) }
          .collectFirst { case Some(order) => order }
    case (g: ArrayType, w: ArrayType) => reordered(s"${path}element.", g.elementType, w.elementType)
    case (g: MapType, w: MapType)     => reordered(s"${path}value.", g.valueType, w.valueType)
    case _                            => None
  }
}

object InsertMatching {

  /** Whether values are to be stored as in Hive, which Spark permits for its file tables only. */
  private[sql] def isLegacy(settings: SQLConf): Boolean = settings.storeAssignmentPolicy.toString == "LEGACY"

  private[sql] def legacy(table: String): MerganserException =
    MerganserException("STORE_ASSIGNMENT_LEGACY", "table" -> table)

  /**
   * Keeps REPLACE WHERE on one of our tables unresolved until the names of its query are seen: Spark gives the columns
   * the table's names as soon as they are resolved. Called before names are resolved, also several times.
   */
  def hold(session: SparkSession, plan: LogicalPlan): LogicalPlan = plan.transform {
    case explain: ExplainCommand => explain.copy(logicalPlan = hold(session, explain.logicalPlan))
    case over: OverwriteByExpression
        if !over.isByName && !over.query.isInstanceOf[Held] && isOurs(session, over.table) =>
      over.copy(query = Held(over.query))
  }

  /** A query that is never resolved. */
  private final case class Held(child: LogicalPlan) extends UnaryNode {
    override lazy val resolved: Boolean = false

    override def output: Seq[Attribute] = child.output

    override protected def withNewChildInternal(newChild: LogicalPlan): Held = copy(child = newChild)
  }

  /**
   * @param query       names or paths of the query
   * @param wanted      the same in the table's order
   * @param isOfColumns false for fields of a struct
   */
  private final case class Order(query: Seq[String], wanted: Seq[String], isOfColumns: Boolean)

  private def isHeld(query: LogicalPlan): Boolean = query match {
    case Held(child) => child.resolved
    case _           => false
  }

  private def isOurs(session: SparkSession, table: LogicalPlan): Boolean = table match {
    case relation: UnresolvedRelation => TimeTravelTexts.isOurs(session, relation)
    case _                            => false
  }

  private def target(table: LogicalPlan): Option[DataSourceV2Relation] = table match {
    case relation: DataSourceV2Relation if relation.table.isInstanceOf[MerganserTable] => Some(relation)
    case _                                                                             => None
  }

  /** The frame of an `insertInto`, in the projection to the table's columns that Spark has added. */
  private def insertedFrame(query: LogicalPlan): Option[LogicalPlan] = query match {
    case Project(_, frame) if !query.analyzed && frame.analyzed => Some(frame)
    case _                                                      => None
  }

  private def optionsOf(write: V2WriteCommand): Map[String, String] = write match {
    case append: AppendData                  => append.writeOptions
    case over: OverwriteByExpression         => over.writeOptions
    case dynamic: OverwritePartitionsDynamic => dynamic.writeOptions
    case _                                   => Map.empty
  }

  /** VALUES without names: Spark calls its columns col1, col2, …. */
  private def hasGeneratedNames(query: LogicalPlan): Boolean = query match {
    case _: LeafNode => query.output.zipWithIndex.forall { case (column, i) => column.name == s"col${i + 1}" }
    case _           => false
  }
}
