package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.source.{CatalogTables, LikeTable, MerganserTable, NamedTables, OwnCatalog, TableNames}
import io.merganser.table.options.Names
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.internal.{SQLConf, VariableSubstitution}
import org.apache.spark.sql.merganser.CatalogBridge

import scala.util.control.NonFatal

/**
 * CREATE TABLE … LIKE one of our tables. Spark before 4.2 makes a catalog entry without a table, and Spark 4.2 leaves
 * it to the catalog. LIKE a view or a table of another format stays Spark's.
 */
final case class CreateTableLikes(session: SparkSession) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.children.forall(_.resolved)) plan
    else LikeStatement.of(plan).flatMap(CreateTableLikes.plan(session, _)).getOrElse(plan)
}

object CreateTableLikes {

  /**
   * The plan of a statement on one of our tables whose names Spark's parser does not take.
   *
   * @param parser parses the statement's clauses
   */
  private[sql] def ofText(session: SparkSession, text: String, parser: ParserInterface): Option[LogicalPlan] =
    LikeStatement.ofLongNames(new VariableSubstitution().substitute(text), !SQLConf.get.escapedStringLiterals, parser)(
      source(session, _).isDefined).flatMap(plan(session, _))

  /** None if the statement is Spark's. */
  private def plan(session: SparkSession, statement: LikeStatement): Option[LogicalPlan] =
    source(session, statement.source).flatMap { like =>
      statement.provider match {
        case Some(other) if !CatalogTables.isOurs(Some(other)) => Some(ofOtherFormat(session, statement, other, like))
        case _                                                 => ofOurFormat(session, statement, like)
      }
    }

  /** @throws MerganserException LIKE_NEEDS_CATALOG where Spark would make an entry without a table */
  private def ofOurFormat(
      session: SparkSession,
      statement: LikeStatement,
      like: MerganserTable
  ): Option[LogicalPlan] = TableNames.located(session, statement.target) match {
    case (catalog: OwnCatalog, name) => Some(CreateLikeCommand(catalog, name, like, statement))
    case (catalog, _) if catalog.name() == ForeignStatements.SessionCatalog =>
      throw MerganserException("LIKE_NEEDS_CATALOG", "table" -> statement.target.mkString("."),
        "source" -> statement.source.mkString("."), "catalog" -> catalog.name())
    case _ => None
  }

  /** The existing table, if it is one of ours; also one of a session catalog that has no more than its entry. */
  private def source(session: SparkSession, name: Seq[String]): Option[MerganserTable] =
    if (session.sessionState.catalog.isTempView(name)) None
    else
      try TableNames.located(session, name) match {
          case (_: OwnCatalog, _) => TableNames.named(session, name).collect { case ours: MerganserTable => ours }
          case (catalog, identifier) if catalog.name() == ForeignStatements.SessionCatalog =>
            val entry = CatalogBridge.catalogTable(session, identifier)
            entry.filter(e => CatalogTables.isOurs(e.provider)).map(CatalogTables.ofCatalog(session, _))
          case _ => None
        }
      catch { case NonFatal(e) if !e.isInstanceOf[MerganserException] => None } // a catalog that cannot be used

  /** Spark's own statement for a table with the columns, and with the partition columns that are not inside structs. */
  private def ofOtherFormat(
      session: SparkSession,
      statement: LikeStatement,
      provider: String,
      like: MerganserTable
  ): LogicalPlan = {
    val columns   = like.schema()
    val fields    = like.opened.config.partitionFields.filter(columns.fieldNames.contains).map(Names.quoted)
    val by        = if (fields.isEmpty) "" else fields.mkString(" PARTITIONED BY (", ", ", ")")
    val unlessNew = if (statement.ifNotExists) "IF NOT EXISTS " else ""
    val name      = statement.target.map(Names.quoted).mkString(".")
    val text      = s"CREATE TABLE $unlessNew$name (${columns.toDDL}) USING $provider$by"
    NamedTables.plan(session.sessionState.sqlParser.parsePlan(text), statement.properties, statement.location)
  }
}

/** Creates an empty table with the columns and settings of another one. */
private[sql] final case class CreateLikeCommand(
    catalog: OwnCatalog,
    name: Identifier,
    like: MerganserTable,
    statement: LikeStatement
) extends LeafRunnableCommand {

  override def simpleString(maxFields: Int): String =
    s"CreateLikeCommand ${(catalog.name() +: name.namespace :+ name.name).mkString(".")}, ${like.name()}"

  override def run(session: SparkSession): Seq[Row] = {
    def existing = new TableAlreadyExistsException(name)
    try {
      if (catalog.tableExists(name)) throw existing
      catalog.createLike(name, new LikeTable(like, statement.properties, statement.location))
    } catch { case _: TableAlreadyExistsException if statement.ifNotExists => }
    Nil
  }
}
