package io.merganser.merge.columns

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.objects.{Invoke, StaticInvoke}
import org.apache.spark.sql.types._

import scala.annotation.nowarn

/**
 * How one column of two versions becomes one value.
 *
 * @param name as rules name it
 */
sealed abstract class ColumnFunction(val name: String) extends Serializable {

  /** As rules store it; equal for equal functions. */
  def text: String = name

  /** The types of columns that it is for, in words; None if the type is one of them. */
  @nowarn("cat=unused-params")
  def refusal(dataType: DataType): Option[String] = None

  /**
   * Whether grouping does not matter, to the last bit.
   *
   * @param isOrdered whether versions can be late-arriving
   */
  def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean

  /** Whether a version that is merged twice changes nothing the second time. */
  def isIdempotent: Boolean = true

  /** Whether a late-arriving version can change the value. */
  def takesLate: Boolean = true

  /** Whether a value that a statement assigns is the result. */
  def replaces: Boolean = false

  /** Whether a retraction is taken out of the value, or leaves it to the row that comes after the retraction. */
  def isRetractable: Boolean = false

  /** Whether it compares parts of values, so that no field of a struct inside may be left out of a read. */
  def comparesParts: Boolean = false

  override def toString: String = text
}

/** A function of the two values of the column. Null adds nothing, except to `last` and `first`. */
sealed abstract class ValueFunction(name: String) extends ColumnFunction(name) {

  /**
   * The merged value.
   *
   * @param older  the value of the version committed first
   * @param newer  the value of the other
   * @param isLate whether the newer version is late-arriving
   */
  def merged(older: Expression, newer: Expression, isLate: Boolean): Expression
}

object ColumnFunction {

  /** The value of the version with the larger ordering value; on a tie, of the newer one. */
  case object Last extends ValueFunction("last") {
    override def merged(older: Expression, newer: Expression, isLate: Boolean): Expression =
      if (isLate) older else newer

    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean = true

    override def takesLate: Boolean = false

    override def replaces: Boolean = true

    override def isRetractable: Boolean = true
  }

  /** The same, but the other version's value where that is null. */
  case object LastNonNull extends ValueFunction("last_non_null") {
    override def merged(older: Expression, newer: Expression, isLate: Boolean): Expression =
      Coalesce(if (isLate) Seq(older, newer) else Seq(newer, older))

    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean = !isOrdered

    override def isRetractable: Boolean = true
  }

  /** The value of the version that was committed first. */
  case object First extends ValueFunction("first") {
    override def merged(older: Expression, newer: Expression, isLate: Boolean): Expression = older

    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean = true

    override def takesLate: Boolean = false
  }

  /** The first value that is not null, in order of commits. */
  case object FirstNonNull extends ValueFunction("first_non_null") {
    override def merged(older: Expression, newer: Expression, isLate: Boolean): Expression =
      Coalesce(Seq(older, newer))

    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean = true
  }

  /** Functions of numbers that are not idempotent. Integers and decimals that do not fit their column are errors. */
  sealed abstract class Arithmetic(name: String, ofIntegers: String, ofDecimals: String) extends ValueFunction(name) {

    protected def ofFractions(older: Expression, newer: Expression): Expression

    override def refusal(dataType: DataType): Option[String] = dataType match {
      case IntegerType | LongType | FloatType | DoubleType | _: DecimalType => None
      case _ => Some("int, bigint, float, double, decimal")
    }

    override def merged(older: Expression, newer: Expression, isLate: Boolean): Expression = {
      val both = older.dataType match {
        case integer @ (IntegerType | LongType) =>
          StaticInvoke(classOf[Math], integer, ofIntegers, Seq(older, newer), returnNullable = false)
        case decimal: DecimalType =>
          CheckOverflow(Invoke(older, ofDecimals, decimal, Seq(newer)), decimal, nullOnOverflow = false)
        case _ => ofFractions(older, newer)
      }
      // Null where either is null.
      Coalesce(Seq(both, older, newer))
    }

    override def isIdempotent: Boolean = false
  }

  case object Sum extends Arithmetic("sum", "addExact", "$plus") {
    override protected def ofFractions(older: Expression, newer: Expression): Expression = new Add(older, newer)

    override def isRetractable: Boolean = true

    /** What takes a value back when it is added. An integer without such a value is an error. */
    def negated(value: Expression, dataType: DataType): Expression = dataType match {
      case integer @ (IntegerType | LongType) =>
        StaticInvoke(classOf[Math], integer, "negateExact", Seq(value), returnNullable = false)
      case _ => UnaryMinus(value, failOnError = false)
    }

    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean = !isFraction(dataType)
  }

  case object Product extends Arithmetic("product", "multiplyExact", "$times") {
    override protected def ofFractions(older: Expression, newer: Expression): Expression = new Multiply(older, newer)

    // A product of decimals is rounded to the column's scale.
    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean =
      !isFraction(dataType) && !dataType.isInstanceOf[DecimalType]
  }

  sealed abstract class Extreme(name: String) extends ValueFunction(name) {
    override def refusal(dataType: DataType): Option[String] = dataType match {
      case _: StructType | _: ArrayType | _: MapType => ordered
      case other                                     => if (RowOrdering.isOrderable(other)) None else ordered
    }

    private def ordered = Some("numbers, strings, binary, boolean, dates, timestamps")

    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean = true
  }

  case object Min extends Extreme("min") {
    override def merged(older: Expression, newer: Expression, isLate: Boolean): Expression = Least(Seq(older, newer))
  }

  case object Max extends Extreme("max") {
    override def merged(older: Expression, newer: Expression, isLate: Boolean): Expression =
      Greatest(Seq(older, newer))
  }

  sealed abstract class Logical(name: String) extends ValueFunction(name) {
    protected def both(older: Expression, newer: Expression): Expression

    override def refusal(dataType: DataType): Option[String] = if (dataType == BooleanType) None else Some("boolean")

    override def merged(older: Expression, newer: Expression, isLate: Boolean): Expression =
      Coalesce(Seq(both(older, newer), older, newer))

    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean = true
  }

  /** False if one of them is. */
  case object BoolAnd extends Logical("bool_and") {
    override protected def both(older: Expression, newer: Expression): Expression = And(older, newer)
  }

  /** True if one of them is. */
  case object BoolOr extends Logical("bool_or") {
    override protected def both(older: Expression, newer: Expression): Expression = Or(older, newer)
  }

  /** The elements of both arrays, those of the older version first. */
  case object Collect extends ValueFunction("collect") {
    override def refusal(dataType: DataType): Option[String] =
      if (dataType.isInstanceOf[ArrayType]) None else Some("array")

    override def merged(older: Expression, newer: Expression, isLate: Boolean): Expression =
      Coalesce(Seq(Concat(Seq(older, newer)), older, newer))

    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean = true

    override def isIdempotent: Boolean = false
  }

  /**
   * The elements of both arrays, each once, or the entries of both maps, those of the older version first. The value of
   * an equal key is that of the version with the larger ordering value; on a tie, of the newer one.
   */
  case object Union extends ValueFunction("union") {
    override def refusal(dataType: DataType): Option[String] = dataType match {
      case ArrayType(element, _) if RowOrdering.isOrderable(element) => None
      case MapType(key, _, _) if RowOrdering.isOrderable(key)        => None
      case _ => Some("arrays whose elements can be compared, maps whose keys can be compared")
    }

    override def merged(older: Expression, newer: Expression, isLate: Boolean): Expression = {
      // An array that comes where none is may have an element twice, too.
      val (both, alone) = older.dataType match {
        case _: MapType => (MapUnion(older, newer, leftWins = isLate), newer)
        case _          => (ArrayUnion(older, newer), ArrayUnion(newer, newer))
      }
      Coalesce(Seq(both, older, alone))
    }

    override def comparesParts: Boolean = true

    // A key that a version lacks is like a null of last_non_null.
    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean =
      !(isOrdered && dataType.isInstanceOf[MapType])
  }

  /** One string after the other, the older version's first. @param separator between the two */
  final case class Joined(separator: String) extends ValueFunction("concat") {
    override def text: String = if (separator.isEmpty) name else s"concat('${separator.replace("'", "''")}')"

    override def refusal(dataType: DataType): Option[String] = if (dataType == StringType) None else Some("string")

    override def merged(older: Expression, newer: Expression, isLate: Boolean): Expression = {
      val between = if (separator.isEmpty) Nil else Seq(Literal(separator))
      Coalesce(Seq(Concat((older +: between) :+ newer), older, newer))
    }

    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean = true

    override def isIdempotent: Boolean = false
  }

  /**
   * The value of an SQL expression over any columns of the two versions, whatever their ordering values. Where it is
   * not the same as another function, nothing is known of its laws: versions are folded one by one from the stored row.
   *
   * @param sql with `old.x` for a column of the version committed first, and `new.x` for one of the other
   */
  final case class Computed(sql: String) extends ColumnFunction("expr") {
    private val expression = new RuleExpression(sql)

    override def text: String = s"expr('${sql.replace("'", "''")}')"

    override def isAssociative(dataType: DataType, isOrdered: Boolean): Boolean = false

    override def isIdempotent: Boolean = false

    /** The columns that it reads, or why it is not possible. */
    def columns(schema: StructType): Either[ExpressionProblem, ExpressionColumns] = expression.columns(schema)

    /**
     * The function that gives the column the same values, whatever these are, and whose laws are known; None if the
     * expression has no form of which that is known.
     */
    def same(schema: StructType, column: String): Option[ValueFunction] = {
      import RuleExpression.{New, Old}
      val found = expression.callOn(schema, column) match {
        case Some(("greatest", Seq(Old, New) | Seq(New, Old))) => Some(Max)
        case Some(("least", Seq(Old, New) | Seq(New, Old)))    => Some(Min)
        case Some(("coalesce", Seq(Old, New)))                 => Some(FirstNonNull)
        case Some(("", Seq(Old)))                              => Some(First)
        case _                                                 => None
      }
      found.filter(_.refusal(schema(column).dataType).isEmpty)
    }

    /** Why it cannot be the function of this column. */
    def problem(schema: StructType, column: String): Option[ExpressionProblem] =
      expression.over(schema, column).left.toOption

    /** The merged value of the column, over the columns of the older version, then those of the newer one. */
    private[columns] def over(schema: StructType, column: String): Either[ExpressionProblem, Expression] =
      expression.over(schema, column)
  }

  private val plain: Seq[ColumnFunction] =
    Seq(Last, LastNonNull, First, FirstNonNull, Sum, Product, Min, Max, BoolAnd, BoolOr, Collect, Union, Joined(""))

  /** The functions as a rule names them. */
  val names: Seq[String] = plain.map(_.name) ++ Seq("concat('separator')", "expr('expression')")

  /** Those of any type, so that they can be the default of columns that are added later. */
  val ofAnyType: Seq[ColumnFunction] = Seq(Last, LastNonNull, First, FirstNonNull)

  // Possessive: a greedy repetition of alternatives takes a stack frame for each character.
  private val WithSeparator = """(?is)concat\s*\(\s*'((?:[^']|'')*+)'\s*\)""".r

  private val WithExpression = """(?is)expr\s*\(\s*'((?:[^']|'')*+)'\s*\)""".r

  /** An expression is not checked: that needs the table's columns. */
  def parse(text: String): Option[ColumnFunction] = text.trim match {
    case WithSeparator(separator) => Some(Joined(separator.replace("''", "'")))
    case WithExpression(sql)      => Some(Computed(sql.replace("''", "'").trim))
    case name                     => plain.find(_.name.equalsIgnoreCase(name))
  }

  private def isFraction(dataType: DataType): Boolean = dataType == FloatType || dataType == DoubleType
}
