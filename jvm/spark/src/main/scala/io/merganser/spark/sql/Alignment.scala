package io.merganser.spark.sql

import io.merganser.merge.MerganserException
import io.merganser.spark.source.MerganserTable
import io.merganser.table.schema.{FrameCheck, MetaColumns}
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis.ResolveRowLevelCommandAssignments
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.catalog.{SupportsRowLevelOperations, TableCapability}
import org.apache.spark.sql.connector.write.{RowLevelOperationBuilder, RowLevelOperationInfo}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

import java.util
import scala.util.Try

/**
 * Resolves a statement's assignments to one value per column, with Spark's store-assignment casts, by calling the rule
 * that Spark applies to row-level tables.
 */
private[sql] object Alignment {

  /**
   * @return for each data column of the target, its value
   * @throws MerganserException ASSIGNMENT_REFUSED, with the clause and Spark's message about the column
   */
  def ofUpdate(update: UpdateTable, target: CommandTarget): Map[String, Expression] =
    naming("UPDATE SET", target) {
      refuseMeta("UPDATE SET", update.assignments)
      val one =
        update.copy(table = forSpark(target), assignments = uncast(update.assignments, target), condition = None)
      ResolveRowLevelCommandAssignments(one) match {
        case aligned: UpdateTable => values(aligned.assignments, target)
        case other                => throw new IllegalStateException(s"an UPDATE became ${other.nodeName}")
      }
    }

  /**
   * @param clause the action's text in messages and plans
   * @return for each data column of the target, its value; none for a delete
   */
  def ofAction(
      merge: MergeIntoTable,
      action: MergeAction,
      clause: String,
      target: CommandTarget
  ): Map[String, Expression] =
    action match {
      case _: DeleteAction => Map.empty
      case assigning => naming(clause, target) {
          refuseMeta(clause, assignments(assigning))
          val one = merge
            .withNewChildren(Seq(forSpark(target), merge.sourceTable))
            .asInstanceOf[MergeIntoTable]
            .copy(matchedActions = Nil, notMatchedActions = Seq(uncast(assigning, target)),
              notMatchedBySourceActions = Nil)
          ResolveRowLevelCommandAssignments(one) match {
            case aligned: MergeIntoTable => aligned.notMatchedActions.head match {
                case made @ (_: UpdateAction | _: InsertAction) => values(assignments(made), target)
                case other => throw new IllegalStateException(s"a clause became ${other.nodeName}")
              }
            case other => throw new IllegalStateException(s"a MERGE became ${other.nodeName}")
          }
        }
    }

  /** The assignments of a MERGE clause. */
  def assignments(action: MergeAction): Seq[Assignment] = action match {
    case update: UpdateAction => update.assignments
    case insert: InsertAction => insert.assignments
    case _                    => Nil
  }

  /** Names of the assigned columns, including those of which only a nested field is assigned. */
  def assigned(assignments: Seq[Assignment], target: CommandTarget): Set[String] =
    assignments.flatMap(_.key.collectFirst { case a: AttributeReference => a.name }).flatMap(target.columnAfter(_)).map(
      _.name).toSet

  private def values(assignments: Seq[Assignment], target: CommandTarget): Map[String, Expression] =
    assignments.flatMap(a =>
      a.key.collectFirst { case k: Attribute =>
        k.name -> RequiredValue.inPlaceOfSparks(a.value, target.relation.table.name())
      }).toMap

  private def uncast(action: MergeAction, target: CommandTarget): MergeAction = action match {
    case update: UpdateAction => update.copy(condition = None, assignments = uncast(update.assignments, target))
    case insert: InsertAction => insert.copy(condition = None, assignments = uncast(insert.assignments, target))
    case other                => other
  }

  /** Spark has already cast the values for tables that are not row-level, whatever the store assignment policy. */
  private def uncast(assignments: Seq[Assignment], target: CommandTarget): Seq[Assignment] =
    assignments.filter(a => assigned(Seq(a), target).nonEmpty).map { a =>
      val key = a.key match {
        case column: AttributeReference => target.columnAfter(column.name).getOrElse(column)
        case inside                     => inside
      }
      Assignment(key, uncast(a.value))
    }

  private def uncast(value: Expression): Expression = value match {
    case cast: Cast if cast.getTagValue(Cast.BY_TABLE_INSERTION).isDefined => uncast(cast.child)
    case AssertNotNullValue(child)                                         => child
    case other                                                             => other
  }

  private object AssertNotNullValue {
    def unapply(e: Expression): Option[Expression] = e match {
      case assert: objects.AssertNotNull => Some(assert.child)
      case _                             => None
    }
  }

  private def refuseMeta(clause: String, assignments: Seq[Assignment]): Unit =
    assignments.flatMap(_.key.collectFirst {
      case a: AttributeReference if MetaColumns.isMeta(a.name) => a.name
    }).foreach { name =>
      throw MerganserException("ASSIGNMENT_REFUSED", "clause" -> clause,
        "reason" -> s"Column '$name' is a meta column; leave it out, and assign the columns it is computed from.")
    }

  /** Runs `work`; an analysis error becomes ASSIGNMENT_REFUSED of the clause. */
  private def naming[A](clause: String, target: CommandTarget)(work: => A): A =
    try {
      if (InsertMatching.isLegacy(target.session.sessionState.conf))
        throw InsertMatching.legacy(target.relation.table.name())
      work
    } catch {
      case e: AnalysisException =>
        // Spark's rule does not know the table's name.
        val reason = e.getMessage.replace("the table ``", s"the table `${target.relation.table.name()}`")
        throw MerganserException("ASSIGNMENT_REFUSED", "clause" -> clause,
          "reason" -> (reason +: remedy(e, target).toSeq).mkString(" ")).causedBy(e)
    }

  /** For a value of another type; None for any other error. */
  private def remedy(error: AnalysisException, target: CommandTarget): Option[String] = for {
    name   <- Option(error.getMessageParameters).flatMap(all => Option(all.get("colName")))
    parts  <- Try(CatalystSqlParser.parseMultipartIdentifier(name)).toOption
    column <- parts.headOption.flatMap(target.columnAfter)
  } yield {
    def inside(names: Seq[String]) =
      names.foldLeft(Option[DataType](column.dataType))((outer, name) => outer.flatMap(within(_, name)))
    val whole = s"CAST(… AS ${column.dataType.sql})"
    // No cast adds a field to a struct.
    val lacking = inside(parts.tail.dropRight(1)).collect {
      case outer: StructType if error.getMessage.contains("CANNOT_FIND_DATA") =>
        val all = outer.fieldNames.map(field => s"'$field', …").mkString(", ")
        s"named_struct($all) for ${name.take(name.lastIndexOf('.'))}, or, if it has as many fields of other names, "
    }
    val value = column.dataType match {
      case _: StructType =>
        val field = inside(parts.tail).filterNot(_.isInstanceOf[StructType]).map(of =>
          s"CAST(… AS ${of.sql}) for $name, or ")
        val first = lacking.orElse(field).getOrElse("")
        s"$first$whole for the whole struct, whose fields are then taken by their position"
      case _ => s"${lacking.getOrElse("")}$whole in its place"
    }
    s"Write $value; for UPDATE SET * and INSERT *, in the query of the source."
  }

  /** The type of what Spark names inside a value: a field, or the `element`, `key` or `value` of a collection. */
  private def within(outer: DataType, name: String): Option[DataType] = (outer, name) match {
    case (struct: StructType, _)       => FrameCheck.find(struct, name).map(_.dataType)
    case (array: ArrayType, "element") => Some(array.elementType)
    case (map: MapType, "key")         => Some(map.keyType)
    case (map: MapType, "value")       => Some(map.valueType)
    case _                             => None
  }

  /** The target as Spark's rule expects it: row-level, without meta columns, with its columns after the statement. */
  private def forSpark(target: CommandTarget): DataSourceV2Relation =
    target.relation.copy(table = new RowLevelTable(target.relation.table.asInstanceOf[MerganserTable]),
      output = target.after)

  private final class RowLevelTable(table: MerganserTable) extends SupportsRowLevelOperations {
    override def name(): String                            = table.name()
    override def schema(): StructType                      = table.schema()
    override def capabilities(): util.Set[TableCapability] = table.capabilities()
    override def newRowLevelOperationBuilder(info: RowLevelOperationInfo): RowLevelOperationBuilder =
      throw new IllegalStateException("a placeholder table for Spark's rule")
  }
}
