package io.merganser.spark.sql

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis.{
  ResolvedIdentifier,
  ResolvedTable,
  UnresolvedIdentifier,
  UnresolvedTableOrView
}
import org.apache.spark.sql.catalyst.catalog.CatalogUtils
import org.apache.spark.sql.catalyst.parser.ParserInterface
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.command.CreateTableLikeCommand

/**
 * A parsed CREATE TABLE … LIKE.
 *
 * @param target   name of the new table
 * @param source   name of the existing one
 * @param provider of USING
 */
private[sql] final case class LikeStatement(
    target: Seq[String],
    source: Seq[String],
    ifNotExists: Boolean,
    provider: Option[String],
    location: Option[String],
    properties: Map[String, String]
)

private[sql] object LikeStatement {

  private val Part = "(?:[\\p{L}\\p{N}_]+|`(?:[^`]|``)+`)"
  private val Name = s"$Part(?:\\s*\\.\\s*$Part)*"
  private val Like = s"(?is)\\s*CREATE\\s+TABLE\\s+(IF\\s+NOT\\s+EXISTS\\s+)?($Name)\\s+LIKE\\s+($Name)(\\W.*)?".r

  /** None for any other plan, and for tables of Hive's formats (STORED AS, ROW FORMAT), which are Spark's. */
  def of(plan: LogicalPlan): Option[LikeStatement] = plan match {
    case like: CreateTableLikeCommand =>
      if (like.fileFormat.inputFormat.isDefined || like.fileFormat.serde.isDefined) None
      else
        Some(LikeStatement(parts(like.targetTable), parts(like.sourceTable), like.ifNotExists, like.provider,
            like.fileFormat.locationUri.map(CatalogUtils.URIToString(_)), like.properties))
    // The plan of Spark 4.2, a class that earlier lines do not have.
    case like if like.nodeName == "CreateTableLike" =>
      def field[T](name: String): T = like.getClass.getMethod(name).invoke(like).asInstanceOf[T]
      if (field[Option[Any]]("serdeInfo").isDefined) None
      else
        for (target <- parts(field[LogicalPlan]("name")); source <- parts(field[LogicalPlan]("source")))
          yield LikeStatement(target, source, field("ifNotExists"), field("provider"), field("location"),
            field("properties"))
    case _ => None
  }

  /**
   * A statement with a name of more than two parts, which Spark before 4.2 does not parse; None for any other text.
   *
   * @param escapes  whether a backslash in a string literal escapes the next character
   * @param isWanted whether a statement on the table of a name is one of ours
   * @throws org.apache.spark.sql.catalyst.parser.ParseException for a clause that Spark does not have
   */
  def ofLongNames(text: String, escapes: Boolean, parser: ParserInterface)(
      isWanted: Seq[String] => Boolean
  ): Option[LikeStatement] = {
    val upper = text.toUpperCase(java.util.Locale.ROOT)
    if (!upper.contains("CREATE") || !upper.contains("LIKE")) None
    else {
      val SqlText(plain, masked) = SqlText.read(text, escapes)
      for {
        found <- Like.findFirstMatchIn(masked) if found.start == 0 && found.end == masked.length
        target = parser.parseMultipartIdentifier(plain.substring(found.start(2), found.end(2)))
        source = parser.parseMultipartIdentifier(plain.substring(found.start(3), found.end(3)))
        if (target.length > 2 || source.length > 2) && isWanted(source)
        short = s"CREATE TABLE ${Option(found.group(1)).getOrElse("")}t LIKE s${plain.substring(found.end(3))}"
        statement <- of(parser.parsePlan(short))
      } yield statement.copy(target = target, source = source)
    }
  }

  private def parts(name: TableIdentifier): Seq[String] = (name.catalog ++ name.database).toSeq :+ name.table

  /** None for views. */
  private def parts(name: LogicalPlan): Option[Seq[String]] = name match {
    case named: UnresolvedIdentifier  => Some(named.nameParts.toSeq)
    case named: UnresolvedTableOrView => Some(named.multipartIdentifier.toSeq)
    case found: ResolvedIdentifier =>
      Some(found.catalog.name() +: found.identifier.namespace.toSeq :+ found.identifier.name)
    case found: ResolvedTable =>
      Some(found.catalog.name() +: found.identifier.namespace.toSeq :+ found.identifier.name)
    case _ => None
  }
}
