package io.merganser.spark.sql

import io.merganser.merge.OrderingField
import io.merganser.spark.prune.KeyRanges.areIntegers
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.util.{CharVarcharCodegenUtils, CharVarcharUtils}
import org.apache.spark.sql.types._

/**
 * What an ON condition requires of the record key.
 *
 * The values are the source's, as the columns would store them. ON may be false where they are equal: a CHAR(2) stores
 * 'a' as 'a ', which is not equal to it, and a DECIMAL(3, 2) stores 1.234 as 1.23.
 *
 * @param keys    for each key column, its name (`a.b` for a field of a struct) and the source's value for it, in the
 *                column's type
 * @param paths   the same for the partition columns; empty where ON does not equate all of them
 * @param isAll   true where the condition has no other part, and is exact
 * @param isExact true where ON holds for all rows with these values
 */
private[sql] final case class KeyCondition(
    keys: Seq[(String, Expression)],
    paths: Seq[(String, Expression)],
    isAll: Boolean,
    isExact: Boolean
)

private[sql] object KeyCondition extends PredicateHelper {

  /** None unless ON equates every key column with a value of the source. */
  def of(on: Expression, target: CommandTarget): Option[KeyCondition] = {
    val found = pairs(on, target, nullSafe = true, hasOneString).groupBy(_.column).map { case (name, values) =>
      name -> values.head
    }
    def all(names: Seq[String])              = if (names.forall(found.contains)) Some(names.map(found)) else None
    def known(columns: Seq[String]): Boolean = columns.forall(OrderingField.find(target.schema, _).isDefined)
    if (!known(target.keyColumns)) None
    else all(target.keyColumns).filter(_.exists(_.value.references.nonEmpty)).map { keys =>
      val paths   = if (known(target.partitionColumns)) all(target.partitionColumns).getOrElse(Nil) else Nil
      val isExact = (keys ++ paths).forall(_.isExact)
      val isAll   = isExact && splitConjunctivePredicates(on).size == keys.size + paths.size
      KeyCondition(keys.map(_.named), paths.map(_.named), isAll, isExact)
    }
  }

  /**
   * Target columns that ON equates with values from outside the target, as the columns would store them.
   *
   * @param nullSafe whether to include `<=>`, which also equates nulls
   * @param isUsable the column types to include
   */
  def equated(
      on: Expression,
      target: CommandTarget,
      nullSafe: Boolean,
      isUsable: DataType => Boolean = hasOneString
  ): Seq[(String, Expression)] = pairs(on, target, nullSafe, isUsable).map(_.named)

  /** @param isExact whether the column equals every value that it would store as `value` */
  private final case class Pair(column: String, value: Expression, isExact: Boolean) {
    def named: (String, Expression) = (column, value)
  }

  private def pairs(
      on: Expression,
      target: CommandTarget,
      nullSafe: Boolean,
      isUsable: DataType => Boolean
  ): Seq[Pair] = {
    val columns = AttributeSet(target.relation.output)
    def pair(a: Expression, b: Expression): Option[Pair] =
      if (b.references.exists(columns.contains) || !b.deterministic) None
      else peeled(a) match {
        case Nested(name, column) if columns.contains(column) && isUsable(peeled(a).dataType) =>
          val to = peeled(a).dataType
          // Strings of CHAR fields are padded, as those of CHAR columns.
          if (a.dataType != b.dataType || CharVarcharUtils.getRawType(column.metadata).isDefined) None
          else if (to != b.dataType)
            Some(Pair(name, narrowed(peeled(b), to, target), isExact = areIntegers(b.dataType)))
          else Some(Pair(name, b, isExact = true))
        case column: AttributeReference if columns.contains(column) && isUsable(column.dataType) =>
          // Spelled as in the table: the statement may use another case.
          target.relation.output.find(_.exprId == column.exprId).flatMap { stored =>
            if (a.dataType != b.dataType) None
            // A value that does not fit the column equals none of its rows; ON itself is evaluated again anyway.
            else if (column.dataType != b.dataType)
              Some(Pair(stored.name, narrowed(peeled(b), column.dataType, target), isExact = areIntegers(b.dataType)))
            else Some(charTypeOf(stored, target).fold(Pair(stored.name, b, isExact = true))(t =>
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

  /** A field inside a struct column: its name with those of the structs around it, as the table spells them. */
  private object Nested {
    def unapply(e: Expression): Option[(String, AttributeReference)] = e match {
      case GetStructField(column: AttributeReference, at, _) =>
        Some((s"${column.name}.${fieldName(column.dataType, at)}", column))
      case GetStructField(inner: GetStructField, at, _) => unapply(inner).map { case (name, column) =>
          (s"$name.${fieldName(inner.dataType, at)}", column)
        }
      case _ => None
    }

    private def fieldName(struct: DataType, at: Int): String = struct.asInstanceOf[StructType](at).name
  }

  /**
   * The value that an insert assigns to a column, or to a field inside a struct column.
   *
   * @param assigned the value of each data column
   * @param schema   the data columns
   */
  def assignedTo(assigned: Map[String, Expression], schema: StructType, name: String): Option[Expression] =
    OrderingField.find(schema, name).flatMap(field =>
      assigned.get(field.column.name).map(value => field.path.foldLeft(value)(fieldOf)))

  /** A field of a struct's value; where the struct is null, so is the field. */
  private def fieldOf(struct: Expression, at: Int): Expression = struct match {
    case alias: Alias                                       => fieldOf(alias.child, at)
    case made: CreateNamedStruct                            => made.valExprs(at)
    case If(IsNull(_), Literal(null, _), made)              => fieldOf(made, at)
    case cast: Cast if cast.dataType == cast.child.dataType => fieldOf(cast.child, at)
    case other                                              => GetStructField(other, at)
  }

  /** Whether equal values have the same string, by which keys are looked up. Not so floating point: 0.0 equals -0.0. */
  private def hasOneString(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | BooleanType | StringType => true
    case DateType | TimestampType | TimestampNTZType                              => true
    case _: DecimalType                                                           => true
    case _                                                                        => false
  }

  private def narrowed(value: Expression, to: DataType, target: CommandTarget): Expression =
    if (value.dataType == to) value
    else Cast(value, to, Some(target.session.sessionState.conf.sessionLocalTimeZone), EvalMode.TRY)

  // --- char and varchar ----------------------------------------------------------------------------------------------

  /** The char or varchar type that strings are padded or trimmed to when a column stores them. */
  private def charTypeOf(column: Attribute, target: CommandTarget): Option[DataType] =
    if (target.session.sessionState.conf.charVarcharAsString) None
    else CharVarcharUtils.getRawType(column.metadata).filter {
      case _: CharType | _: VarcharType => true
      case _                            => false
    }

  /** A string as a column of the type stores it; the string itself if the column rejects it. */
  private def fitted(text: Expression, to: DataType): Expression = {
    def within(length: Int, fitting: Expression) =
      If(GreaterThan(Length(StringTrimRight(text)), Literal(length)), text, fitting)
    to match {
      case char: CharType       => within(char.length, StringRPad(text, Literal(char.length)))
      case varchar: VarcharType => within(varchar.length, Substring(text, Literal(1), Literal(varchar.length)))
      case _                    => text
    }
  }

  /** The argument of Spark's check on writes of a char or varchar column, as the column stores it. */
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

  // --- whether two values are equal ----------------------------------------------------------------------------------

  /**
   * Whether the value assigned to a column is the one its key is looked up by, unless the column rejects it.
   *
   * @param assigned what is stored, or rejected
   * @param lookup   one of [[KeyCondition.keys]] or [[KeyCondition.paths]]
   */
  def areSameValue(assigned: Expression, lookup: Expression): Boolean = (stored(assigned), stored(lookup)) match {
    case (x, y) if x.semanticEquals(y) => true
    case (Checked(x), y)               => x.semanticEquals(y)
    case (x: Cast, y: Cast) if x.dataType == y.dataType && peeled(x.child).semanticEquals(peeled(y.child)) =>
      !isWrapping(x) || y.evalMode != EvalMode.TRY
    case (x, y) => uncast(x).exists(i => uncast(y).exists(i.semanticEquals))
  }

  /** Without alias, overflow check, and casts that change nothing (of a string to a string of some length). */
  private def stored(e: Expression): Expression = e match {
    case alias: Alias                                       => stored(alias.child)
    case CheckOverflowInTableInsert(child, _)               => stored(child)
    case cast: Cast if cast.dataType == cast.child.dataType => stored(cast.child)
    case other                                              => other
  }

  /** The integer that an integer is cast from without wrapping; None for other types. */
  private def uncast(e: Expression): Option[Expression] = e match {
    case cast: Cast if areIntegers(cast.dataType) && areIntegers(cast.child.dataType) && !isWrapping(cast) =>
      uncast(cast.child)
    case other if areIntegers(other.dataType) => Some(other)
    case _                                    => None
  }

  /** Whether a cast wraps around on overflow, and neither fails nor returns null. */
  private def isWrapping(cast: Cast): Boolean =
    cast.evalMode == EvalMode.LEGACY && areIntegers(cast.dataType) && cast.child.dataType.isInstanceOf[NumericType] &&
      !isWider(cast.child.dataType, cast.dataType)

  /** Whether the numeric type `to` can represent every value of `from`. */
  private def isWider(from: DataType, to: DataType): Boolean = (from, to) match {
    case (a, b) if areIntegers(a) && areIntegers(b) => a.defaultSize <= b.defaultSize
    case (a, b: DecimalType) if areIntegers(a)      => b.precision - b.scale >= digits(a)
    case (a: DecimalType, b: DecimalType) => b.scale >= a.scale && b.precision - b.scale >= a.precision - a.scale
    case _                                => false
  }

  private def digits(integer: DataType): Int = integer match {
    case ByteType    => 3
    case ShortType   => 5
    case IntegerType => 10
    case _           => 19
  }

  /** A number without its lossless casts. */
  private def peeled(e: Expression): Expression = e match {
    case cast: Cast if isWider(cast.child.dataType, cast.dataType) => peeled(cast.child)
    case other                                                     => other
  }
}
