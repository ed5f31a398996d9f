package io.merganser.spark.sql

import io.merganser.spark.write.KeyRanges.areWhole
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.util.{CharVarcharCodegenUtils, CharVarcharUtils}
import org.apache.spark.sql.types._

/**
 * What an ON condition says of the record key.
 *
 * The values are what the columns would store of the source's. ON may be false where they are equal: 'a' is stored as 'a ' in
 * a CHAR(2) and is not equal to it, and 1.23 is what a DECIMAL(3, 2) stores of 1.234.
 *
 * @param keys  for each key column, its name and what the source has for it, in the column's type
 * @param paths the same for the partition columns; empty where ON does not equate all of them
 * @param isAll true where the condition says nothing else, so that a row with these values is one that it leaves over
 */
private[sql] final case class KeyedOn(keys: Seq[(String, Expression)], paths: Seq[(String, Expression)], isAll: Boolean)

private[sql] object KeyedOn extends PredicateHelper {

  /** None unless every key column must equal something of the source. */
  def of(on: Expression, target: StatementTarget): Option[KeyedOn] = {
    val found = equated(on, target, nullSafe = true, rounds = true).groupBy(_._1).map { case (name, values) => name -> values.head._2 }
    def all(names: Seq[String]): Option[Seq[(String, Expression)]] =
      if (names.forall(found.contains)) Some(names.map(n => n -> cut(n, target).fold(found(n))(fitted(found(n), _)))) else None
    def known(columns: Seq[String]): Boolean = columns.forall(target.schema.fieldNames.contains)
    if (!known(target.keyColumns)) None
    else all(target.keyColumns).filter(_.exists(_._2.references.nonEmpty)).map { keys =>
      val paths  = if (known(target.partitionColumns)) all(target.partitionColumns).getOrElse(Nil) else Nil
      val exact  = equated(on, target, nullSafe = true).map(_._1).toSet
      val isSame = (keys ++ paths).forall { case (name, _) => exact(name) && cut(name, target).isEmpty }
      KeyedOn(keys, paths, isAll = isSame && splitConjunctivePredicates(on).size == keys.size + paths.size)
    }
  }

  /**
   * Columns of the target that must equal something that is not the target's, with that, in the column's type.
   *
   * @param nullSafe whether `<=>` counts, which also equates nulls
   * @param isUsable the types that count
   * @param rounds   whether the column may be one that stores such values rounded only
   */
  def equated(
      on: Expression, target: StatementTarget, nullSafe: Boolean, isUsable: DataType => Boolean = isExact, rounds: Boolean = false
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
        case Widened(column) if own.contains(column) && isUsable(column.dataType) && (rounds || areWhole(b.dataType)) =>
          stored(column).map(_ -> narrowed(peeled(b), column.dataType, target))
        case _ => None
      }
    splitConjunctivePredicates(on).flatMap {
      case EqualTo(a, b)                   => pair(a, b).orElse(pair(b, a))
      case EqualNullSafe(a, b) if nullSafe => pair(a, b).orElse(pair(b, a))
      case _                               => None
    }
  }

  /** Equal values of the type have one text, which a key is looked up by. Of floating point 0.0 and -0.0 are equal. */
  private def isExact(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | BooleanType | DateType | TimestampType | TimestampNTZType | StringType => true
    case _: DecimalType                                                                                                         => true
    case _                                                                                                                      => false
  }

  private def narrowed(value: Expression, to: DataType, target: StatementTarget): Expression =
    if (value.dataType == to) value
    else Cast(value, to, Some(target.session.sessionState.conf.sessionLocalTimeZone), EvalMode.TRY)

  // --- char and varchar -------------------------------------------------------------------------------------------------

  /** The char or varchar type that texts are made to fit when they are stored in a column. */
  private def cut(column: String, target: StatementTarget): Option[DataType] =
    if (target.session.sessionState.conf.charVarcharAsString) None
    else target.column(column).flatMap(c => CharVarcharUtils.getRawType(c.metadata)).filter {
      case _: CharType | _: VarcharType => true
      case _                            => false
    }

  /** What a column of the type stores of a text; the text itself if that is refused. */
  private def fitted(text: Expression, to: DataType): Expression = {
    def within(length: Int, kept: Expression) = If(GreaterThan(Length(StringTrimRight(text)), Literal(length)), text, kept)
    to match {
      case char: CharType       => within(char.length, StringRPad(text, Literal(char.length)))
      case varchar: VarcharType => within(varchar.length, Substring(text, Literal(1), Literal(varchar.length)))
      case _                    => text
    }
  }

  /** What Spark's check of a char or varchar column is asked of, as the column stores it. */
  private object Checked {
    def unapply(e: Expression): Option[Expression] = e match {
      case check: StaticInvoke if check.staticObject == classOf[CharVarcharCodegenUtils] =>
        (check.functionName, check.arguments) match {
          case ("charTypeWriteSideCheck", Seq(text, Literal(length: Int, _)))    => Some(fitted(stored(text), CharType(length)))
          case ("varcharTypeWriteSideCheck", Seq(text, Literal(length: Int, _))) => Some(fitted(stored(text), VarcharType(length)))
          case _                                                                 => None
        }
      case _ => None
    }
  }

  // --- whether two values are one ---------------------------------------------------------------------------------------

  /**
   * Whether a value that a column is given is what its key is looked up by, wherever the column takes it.
   *
   * @param given  what is stored, or refused
   * @param looked one of [[KeyedOn.keys]] or [[KeyedOn.paths]]
   */
  def areOne(given: Expression, looked: Expression): Boolean = (stored(given), stored(looked)) match {
    case (x, y) if x.semanticEquals(y) => true
    case (Checked(x), y)               => x.semanticEquals(y)
    case (x: Cast, y: Cast) if x.dataType == y.dataType && peeled(x.child).semanticEquals(peeled(y.child)) =>
      !isWrapping(x) || y.evalMode != EvalMode.TRY
    case (x, y) => whole(x).exists(i => whole(y).exists(i.semanticEquals))
  }

  /** Without its name, the check that it fits, and a cast that changes nothing (of a text to a text of some length). */
  private def stored(e: Expression): Expression = e match {
    case alias: Alias                                       => stored(alias.child)
    case CheckOverflowInTableInsert(child, _)               => stored(child)
    case cast: Cast if cast.dataType == cast.child.dataType => stored(cast.child)
    case other                                              => other
  }

  /** What a whole number is a cast of, if it is one. */
  private def whole(e: Expression): Option[Expression] = e match {
    case cast: Cast if areWhole(cast.dataType) && areWhole(cast.child.dataType) && !isWrapping(cast) => whole(cast.child)
    case other if areWhole(other.dataType)                                                           => Some(other)
    case _                                                                                           => None
  }

  /** A cast that makes another number of one that is too large, and neither fails nor makes null of it. */
  private def isWrapping(cast: Cast): Boolean =
    cast.evalMode == EvalMode.LEGACY && areWhole(cast.dataType) && cast.child.dataType.isInstanceOf[NumericType] &&
      !isWider(cast.child.dataType, cast.dataType)

  /** Whether a number type holds every value of another one. */
  private def isWider(from: DataType, to: DataType): Boolean = (from, to) match {
    case (a, b) if areWhole(a) && areWhole(b) => a.defaultSize <= b.defaultSize
    case (a, b: DecimalType) if areWhole(a)   => b.precision - b.scale >= digits(a)
    case (a: DecimalType, b: DecimalType)     => b.scale >= a.scale && b.precision - b.scale >= a.precision - a.scale
    case _                                    => false
  }

  private def digits(whole: DataType): Int = whole match {
    case ByteType    => 3
    case ShortType   => 5
    case IntegerType => 10
    case _           => 19
  }

  /** A number without casts to types that hold every value of its own. */
  private def peeled(e: Expression): Expression = e match {
    case cast: Cast if isWider(cast.child.dataType, cast.dataType) => peeled(cast.child)
    case other                                                     => other
  }

  /** A number column under a cast to a wider type. */
  private object Widened {
    def unapply(e: Expression): Option[AttributeReference] = e match {
      case cast: Cast => peeled(cast) match {
          case column: AttributeReference => Some(column)
          case _                          => None
        }
      case _ => None
    }
  }
}
