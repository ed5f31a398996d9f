package io.merganser.spark.sql

import io.merganser.spark.prune.KeyRanges.areWhole
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
 * @param keys    for each key column, its name and what the source has for it, in the column's type
 * @param paths   the same for the partition columns; empty where ON does not equate all of them
 * @param isAll   true where the condition says nothing else, and is exact
 * @param isExact true where ON holds for all rows with these values
 */
private[sql] final case class KeyCondition(
    keys: Seq[(String, Expression)],
    paths: Seq[(String, Expression)],
    isAll: Boolean,
    isExact: Boolean
)

private[sql] object KeyCondition extends PredicateHelper {

  /** None unless every key column must equal something of the source. */
  def of(on: Expression, target: CommandTarget): Option[KeyCondition] = {
    val found = pairs(on, target, nullSafe = true, isText).groupBy(_.column).map { case (name, values) =>
      name -> values.head
    }
    def all(names: Seq[String])              = if (names.forall(found.contains)) Some(names.map(found)) else None
    def known(columns: Seq[String]): Boolean = columns.forall(target.schema.fieldNames.contains)
    if (!known(target.keyColumns)) None
    else all(target.keyColumns).filter(_.exists(_.value.references.nonEmpty)).map { keys =>
      val paths   = if (known(target.partitionColumns)) all(target.partitionColumns).getOrElse(Nil) else Nil
      val isExact = (keys ++ paths).forall(_.isExact)
      val isAll   = isExact && splitConjunctivePredicates(on).size == keys.size + paths.size
      KeyCondition(keys.map(_.named), paths.map(_.named), isAll, isExact)
    }
  }

  /**
   * Columns of the target that must equal something that is not the target's, with what they would store of that.
   *
   * @param nullSafe whether `<=>` counts, which also equates nulls
   * @param isUsable the types that count
   */
  def equated(
      on: Expression,
      target: CommandTarget,
      nullSafe: Boolean,
      isUsable: DataType => Boolean = isText
  ): Seq[(String, Expression)] = pairs(on, target, nullSafe, isUsable).map(_.named)

  /** @param isExact whether the column equals all that it would store as the value */
  private final case class Pair(column: String, value: Expression, isExact: Boolean) {
    def named: (String, Expression) = (column, value)
  }

  private def pairs(
      on: Expression,
      target: CommandTarget,
      nullSafe: Boolean,
      isUsable: DataType => Boolean
  ): Seq[Pair] = {
    val own = AttributeSet(target.relation.output)
    def pair(a: Expression, b: Expression): Option[Pair] =
      if (b.references.exists(own.contains) || !b.deterministic) None
      else peeled(a) match {
        case column: AttributeReference if own.contains(column) && isUsable(column.dataType) =>
          // As the table spells it: the statement may do so otherwise.
          target.relation.output.find(_.exprId == column.exprId).flatMap { stored =>
            if (a.dataType != b.dataType) None
            // A value that the column cannot hold equals none of its rows; the condition itself is asked again anyway.
            else if (column.dataType != b.dataType)
              Some(Pair(stored.name, narrowed(peeled(b), column.dataType, target), isExact = areWhole(b.dataType)))
            else Some(cut(stored, target).fold(Pair(stored.name, b, isExact = true))(t =>
                Pair(stored.name, fitted(b, t), isExact = false)))
          }
        case _ => None
      }
    splitConjunctivePredicates(on).flatMap {
      case EqualTo(a, b)                   => pair(a, b).orElse(pair(b, a))
      case EqualNullSafe(a, b) if nullSafe => pair(a, b).orElse(pair(b, a))
      case _                               => None
    }
  }

  /** Equal values of the type have one text, which a key is looked up by. Of floating point 0.0 and -0.0 are equal. */
  private def isText(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | BooleanType | DateType | TimestampType | TimestampNTZType | StringType =>
      true
    case _: DecimalType => true
    case _              => false
  }

  private def narrowed(value: Expression, to: DataType, target: CommandTarget): Expression =
    if (value.dataType == to) value
    else Cast(value, to, Some(target.session.sessionState.conf.sessionLocalTimeZone), EvalMode.TRY)

  // --- char and varchar -------------------------------------------------------------------------------------------------

  /** The char or varchar type that texts are made to fit when they are stored in a column. */
  private def cut(column: Attribute, target: CommandTarget): Option[DataType] =
    if (target.session.sessionState.conf.charVarcharAsString) None
    else CharVarcharUtils.getRawType(column.metadata).filter {
      case _: CharType | _: VarcharType => true
      case _                            => false
    }

  /** What a column of the type stores of a text; the text itself if that is refused. */
  private def fitted(text: Expression, to: DataType): Expression = {
    def within(length: Int, kept: Expression) =
      If(GreaterThan(Length(StringTrimRight(text)), Literal(length)), text, kept)
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
          case ("charTypeWriteSideCheck", Seq(text, Literal(length: Int, _))) =>
            Some(fitted(stored(text), CharType(length)))
          case ("varcharTypeWriteSideCheck", Seq(text, Literal(length: Int, _))) =>
            Some(fitted(stored(text), VarcharType(length)))
          case _ => None
        }
      case _ => None
    }
  }

  // --- whether two values are one ---------------------------------------------------------------------------------------

  /**
   * Whether a value that a column is given is what its key is looked up by, wherever the column takes it.
   *
   * @param given  what is stored, or refused
   * @param looked one of [[KeyCondition.keys]] or [[KeyCondition.paths]]
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
    case cast: Cast if areWhole(cast.dataType) && areWhole(cast.child.dataType) && !isWrapping(cast) =>
      whole(cast.child)
    case other if areWhole(other.dataType) => Some(other)
    case _                                 => None
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
}
