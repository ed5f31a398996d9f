package io.merganser.spark.sql

import io.merganser.spark.write.KeyRanges.areWhole
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/**
 * What an ON condition says of the record key.
 *
 * @param keys  for each key column, its name and what the source has for it, in the column's type
 * @param paths the same for the partition columns; empty where ON does not equate all of them
 * @param isAll true where the condition says nothing else
 */
private[sql] final case class KeyedOn(keys: Seq[(String, Expression)], paths: Seq[(String, Expression)], isAll: Boolean)

private[sql] object KeyedOn extends PredicateHelper {

  /** None unless every key column must equal something of the source. */
  def of(on: Expression, target: StatementTarget): Option[KeyedOn] = {
    val found                   = equated(on, target, nullSafe = true).groupBy(_._1).map { case (name, values) => name -> values.head._2 }
    def all(names: Seq[String]) = if (names.forall(found.contains)) Some(names.map(n => n -> found(n))) else None
    def known(columns: Seq[String]): Boolean = columns.forall(target.schema.fieldNames.contains)
    if (!known(target.keyColumns)) None
    else all(target.keyColumns).filter(_.exists(_._2.references.nonEmpty)).map { keys =>
      val paths = if (known(target.partitionColumns)) all(target.partitionColumns).getOrElse(Nil) else Nil
      KeyedOn(keys, paths, isAll = splitConjunctivePredicates(on).size == keys.size + paths.size)
    }
  }

  /**
   * Columns of the target that must equal something that is not the target's, with that, in the column's type.
   *
   * @param nullSafe whether `<=>` counts, which also equates nulls
   * @param isUsable the types that count
   */
  def equated(
      on: Expression, target: StatementTarget, nullSafe: Boolean, isUsable: DataType => Boolean = isExact
  ): Seq[(String, Expression)] = {
    val own = AttributeSet(target.relation.output)
    // As the table spells it: the statement may do so otherwise.
    def stored(column: AttributeReference): Option[String] = target.relation.output.find(_.exprId == column.exprId).map(_.name)
    def pair(a: Expression, b: Expression): Option[(String, Expression)] =
      if (b.references.exists(own.contains) || !b.deterministic) None
      else a match {
        case column: AttributeReference if own.contains(column) && column.dataType == b.dataType && isUsable(b.dataType) =>
          stored(column).map(_ -> b)
        // A wider value that the column cannot hold equals none of its rows; the condition itself is asked again anyway.
        case Widened(column) if own.contains(column) => stored(column).map(_ -> narrowed(b, column.dataType, target))
        case _                                       => None
      }
    splitConjunctivePredicates(on).flatMap {
      case EqualTo(a, b)                   => pair(a, b).orElse(pair(b, a))
      case EqualNullSafe(a, b) if nullSafe => pair(a, b).orElse(pair(b, a))
      case _                               => None
    }
  }

  /** Equal values of the type have one text, which a key is looked up by. */
  private def isExact(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | BooleanType | DateType | TimestampType | StringType => true
    case _: DecimalType                                                                                      => true
    case _                                                                                                   => false
  }

  private def narrowed(value: Expression, to: DataType, target: StatementTarget): Expression =
    Cast(value, to, Some(target.session.sessionState.conf.sessionLocalTimeZone), EvalMode.TRY)

  /** Whether two values of a column, both of which were made for it, are made of one. */
  def areOne(a: Expression, b: Expression): Boolean = (stored(a), stored(b)) match {
    case (x, y) if x.semanticEquals(y)                                                     => true
    case (x: Cast, y: Cast) if x.dataType == y.dataType && x.child.semanticEquals(y.child) => true
    case (x, y) => whole(x).exists(i => whole(y).exists(i.semanticEquals))
  }

  /** Without its name, and without the check that it fits. */
  private def stored(e: Expression): Expression = e match {
    case alias: Alias                         => stored(alias.child)
    case CheckOverflowInTableInsert(child, _) => stored(child)
    case other                                => other
  }

  /** What a whole number is a cast of, if it is one. */
  private def whole(e: Expression): Option[Expression] = e match {
    case cast: Cast if areWhole(cast.dataType) && areWhole(cast.child.dataType) => whole(cast.child)
    case other if areWhole(other.dataType)                                      => Some(other)
    case _                                                                      => None
  }

  /** A whole number's column under a cast to a longer type. */
  private object Widened {
    def unapply(e: Expression): Option[AttributeReference] = e match {
      case cast: Cast => (cast.child, cast.dataType) match {
          case (column: AttributeReference, to)
              if areWhole(column.dataType) && areWhole(to) && column.dataType.defaultSize <= to.defaultSize =>
            Some(column)
          case _ => None
        }
      case _ => None
    }
  }
}
