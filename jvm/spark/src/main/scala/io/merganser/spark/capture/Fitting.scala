package io.merganser.spark.capture

import io.merganser.spark.capture.Expressions._
import io.merganser.spark.capture.Values._
import org.apache.spark.sql.Column
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types._

/** Values in columns of other types: of events without a schema, of frames, and of columns whose type has changed. */
private[capture] object Fitting {

  /** A value of JSON without a schema, by the type of the table's column. */
  def byTable(table: DataType, preset: Preset): Value = {
    val mark = isText(preset.placeholder)
    table match {
      case BinaryType                                    => binary(preset.placeholder, preset.binaries)
      case d: DecimalType if preset.decimals == "base64" => decimalOfBase64(d, d.scale, mark)
      case DateType => numberOrText(table, mark)(text => daysOf(tryCast(text, IntegerType)))
      case TimestampType | TimestampNTZType =>
        numberOrText(table, mark)(text => wallClockOf(preset.timestampUnit, table)(tryCast(text, LongType)))
      case d: DecimalType if preset.texts => Value(StringType, d, "decimal", exactDecimal(_, d), mark)
      case d: DecimalType => // more digits than a cast may round away
        Value(wide(d), d, "number", given => when(given.cast(d) === given, given))
      case _: NumericType | BooleanType if preset.texts => Value(StringType, table, "number", tryCast(_, table))
      case _                                            => same(table)
    }
  }

  private def wide(decimal: DecimalType) = DecimalType(38, 38 - (decimal.precision - decimal.scale))

  /** A decimal from a string; null where a cast would round it. */
  private def exactDecimal(text: Column, target: DecimalType): Column = {
    val own = tryCast(text, target)
    if (target.precision == 38) own else when(own === tryCast(text, wide(target)), own)
  }

  private def numberOrText(table: DataType, mark: Option[Column => Column])(number: Column => Column): Value =
    Value(StringType, table, "time",
      text => when(text.rlike("^-?[0-9]+$"), number(text)).otherwise(ofText(text, table)),
      mark)

  private def ofText(text: Column, target: DataType): Column = target match {
    case d: DecimalType => exactDecimal(text, d)
    case TimestampType => // without a zone it is UTC, whatever the zone of the session
      val isLocal = text.rlike("^[0-9]+-[0-9]+-[0-9]+([ T][0-9:.]+)?$")
      val zone    = when(length(text) > 10, "Z").otherwise("T00:00:00Z")
      when(isLocal, tryCast(concat(text, zone), target)).otherwise(tryCast(text, target))
    case _ => tryCast(text, target)
  }

  /** A value of a frame with types, for a column of the table; None: the column is new. */
  def byTypes(wire: DataType, table: Option[DataType], preset: Preset): Value = (wire, table) match {
    case (_, Some(DateType)) if isInteger(wire) =>
      Value(wire, DateType, "days", given => daysOf(tryCast(given, IntegerType)))
    case (_, Some(time @ (TimestampType | TimestampNTZType))) if isInteger(wire) =>
      Value(wire, time, "wall clock", given => wallClockOf(preset.timestampUnit, time)(given.cast(LongType)))
    case (BinaryType, Some(decimal: DecimalType)) =>
      Value(wire, decimal, "decimal", unscaled(_, decimal, decimal.scale))
    case (_: StringType, Some(other)) if !isNested(other) && other != BinaryType && other != StringType =>
      fitted(same(wire), other, preset)
    case _ => same(wire)
  }

  private def isNested(dataType: DataType): Boolean = dataType match {
    case _: StructType | _: ArrayType | _: MapType => true
    case _                                         => false
  }

  // ---- types that change

  /**
   * The type of a column whose events have some types: the table's type or the first one, widened by each other one as
   * a write to the table allows it. A new column of types without a common one is a string, if none of them is nested
   * or binary.
   *
   * @param types          of the events, at least one
   * @param table          of the table's column; None if it is new
   * @param widensToString whether a number or a date in the table may become a string
   * @param isFixed        whether stored rows are found by the column: then integers widen, and nothing else
   */
  def columnType(types: Seq[DataType], table: Option[DataType], widensToString: Boolean, isFixed: Boolean): DataType =
    types.foldLeft(table.getOrElse(types.head)) { (chosen, next) =>
      val isStable = isInteger(chosen) && next == LongType
      if (fits(next, chosen) || isFixed && table.isDefined && !isStable) chosen
      else if (promotes(chosen, next, widensToString || table.isEmpty)) merged(chosen, next)
      else if (table.isDefined || promotes(next, chosen, toString = true)) chosen
      else if (Seq(chosen, next).exists(one => isNested(one) || one == BinaryType)) chosen
      else StringType
    }

  private val Integers: Seq[DataType] = Seq(ByteType, ShortType, IntegerType, LongType)

  private def isInteger(dataType: DataType): Boolean = Integers.contains(dataType)

  /** Whether every value of the first type is one of the second. */
  def fits(own: DataType, other: DataType): Boolean = (own, other) match {
    case _ if own.simpleString == other.simpleString => true
    case (_, d: DecimalType) if isInteger(own)       => d.precision - d.scale >= (if (own == LongType) 20 else 10)
    case (_, DoubleType) if isInteger(own)           => own != LongType
    case _ if isInteger(own) && isInteger(other)     => own.defaultSize < other.defaultSize
    case (a: DecimalType, b: DecimalType)   => a.scale <= b.scale && a.precision - a.scale <= b.precision - b.scale
    case (ArrayType(a, _), ArrayType(b, _)) => fits(a, b)
    case (FloatType, DoubleType)            => true
    case _                                  => false
  }

  /** Whether a write of the second type changes a column of the first to it. */
  private def promotes(stored: DataType, next: DataType, toString: Boolean): Boolean = (stored, next) match {
    case (_: NumericType | DateType, _: StringType)       => toString
    case (_, _: StringType)                               => false
    case (_, FloatType | DoubleType) if isInteger(stored) => true
    case (a: StructType, b: StructType) =>
      b.forall(field => !a.fieldNames.contains(field.name) || fits(field.dataType, a(field.name).dataType))
    case (a: DecimalType, b: DecimalType) => common(a, b)._1 <= 38
    case _                                => fits(stored, next)
  }

  private def merged(stored: DataType, next: DataType): DataType = (stored, next) match {
    case (a: StructType, b: StructType) => StructType(a.fields ++ b.filterNot(one => a.fieldNames.contains(one.name)))
    case (a: DecimalType, b: DecimalType) =>
      val (precision, scale) = common(a, b)
      DecimalType(precision, scale)
    case _ => next
  }

  /** Precision and scale that have the values of two decimals. */
  private def common(one: DecimalType, other: DecimalType): (Int, Int) = {
    val scale = math.max(one.scale, other.scale)
    (math.max(one.precision - one.scale, other.precision - other.scale) + scale, scale)
  }

  /** A value in a column of another type: null where the column cannot store it as it is. */
  def fitted(value: Value, target: DataType, preset: Preset): Value = (value.target, target) match {
    case (own, _) if own.simpleString == target.simpleString => value
    case (_: StructType, _: StructType)                    => value // the write adds fields, and refuses others by name
    case (_: StringType, BinaryType) if !value.isConverted => binary(preset.placeholder, preset.binaries)
    case (own, _) =>
      val mark = value.unavailable.orElse(
        if (value.wire != StringType || target == StringType) None
        else if (!value.isConverted) isText(preset.placeholder)
        else preset.placeholder.flatMap(value.lacking))
      Value(value.wire, target, s"${value.form} as ${target.sql}",
        given => let(value.convert(given))(inType(_, own, target)), mark)
  }

  /** A value of one type in another one; null where that would change it. */
  private def inType(value: Column, own: DataType, target: DataType): Column = {
    // As the wall clock of UTC, whatever the zone of the session.
    def local  = if (own == TimestampType) wallClockOf("micros", TimestampNTZType)(unix_micros(value)) else value
    val isTime = own == TimestampType || own == TimestampNTZType
    (own, target) match {
      case _ if fits(own, target)                                      => value.cast(target)
      case _ if isNested(own) || isNested(target) || own == BinaryType => nothing(target)
      case (_: StringType, _)                                          => ofText(value, target)
      case (_: NumericType | BooleanType, _: NumericType | BooleanType) =>
        let(tryCast(value, target))(there => when(tryCast(there, own) === value, there))
      case (TimestampType, _: StringType)                     => concat(local.cast(StringType), lit("Z"))
      case (_, _: StringType)                                 => value.cast(StringType)
      case (_, TimestampNTZType) if isTime || own == DateType => local.cast(TimestampNTZType)
      case (DateType, TimestampType)    => tryCast(concat(value.cast(StringType), lit("T00:00:00Z")), target)
      case (_, TimestampType) if isTime => tryCast(concat(value.cast(StringType), lit("Z")), target)
      case (_, DateType) if isTime =>
        let(local)(time => when(time.cast(DateType).cast(TimestampNTZType) === time, time.cast(DateType)))
      case _ => nothing(target)
    }
  }

  /** The values of a column that events describe by several types, by the number of each event's schema. */
  def mixed(options: Seq[(Long, Value)], target: DataType, preset: Preset): Value = {
    val number = named(Parsed.Schema)
    val cases  = options.map { case (schema, option) => (schema, option.wire, fitted(option, target, preset)) }
    val bare   = fitted(same(StringType), target, preset)
    def read(text: Column, wire: DataType) =
      if (isNested(wire))
        fromJson(concat(lit("{\"c\":"), text, lit("}")), new StructType().add("c", wire)).getField("c")
      else if (wire == StringType) text
      else tryCast(text, wire)
    def choose(otherwise: Column, found: Seq[(Long, Column)]): Column =
      found.foldRight(otherwise) { case ((schema, value), rest) => when(number === schema, value).otherwise(rest) }
    val marks = for {
      (schema, wire, value) <- cases
      placeholder           <- preset.placeholder
      mark                  <- value.lacking(placeholder)
    } yield (text: Column) => schema -> mark(read(text, wire))
    Value(StringType, target, "mixed",
      text =>
        choose(bare.convert(text).cast(target),
          cases.map { case (schema, wire, value) => schema -> value.convert(read(text, wire)).cast(target) }),
      if (marks.isEmpty) None else Some(text => holds(choose(lit(false), marks.map(_(text))))))
  }
}
