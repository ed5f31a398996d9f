package io.merganser.merge.laws

import io.merganser.merge.RowLayout
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import scala.util.Random

/**
 * Random versions of one key. Values are few and small, so that versions tie, repeat each other and lack values.
 *
 * @param fixed   positions of columns that have one value in all versions
 * @param own     rows of the layout's columns, such as a table's; half of the values are theirs
 * @param markers strings that the rule treats in another way than others
 */
final class SampleValues(
    layout: RowLayout,
    fixed: Set[Int],
    own: IndexedSeq[InternalRow],
    markers: Seq[String],
    random: Random
) {
  import SampleValues._

  private val fields = layout.schema.fields
  private val marked = markers.map(UTF8String.fromString).toIndexedSeq

  /** Deletes are a fifth of them. */
  def version(): VersionSample = {
    val kind = random.nextInt(10) match {
      case 0 => SampleKind.Delete
      case 1 => SampleKind.OrderedDelete
      case _ => SampleKind.Row
    }
    VersionSample(values(), kind)
  }

  def row(): VersionSample = VersionSample(values(), SampleKind.Row)

  /** Some of the positions. */
  def some(positions: Seq[Int]): Set[Int] = positions.filter(_ => random.nextBoolean()).toSet

  private def values(): Vector[Any] = {
    val whole = if (own.isEmpty || random.nextInt(4) > 0) None else Some(pick(own))
    fields.indices.map { i =>
      if (i == layout.keyOrdinal) Key
      else if (fixed(i)) simple(fields(i).dataType).headOption.orNull
      else whole.fold(value(i))(RowLayout.valueAt(_, i, fields(i).dataType))
    }.toVector
  }

  private def value(i: Int): Any = {
    val lacks = if (layout.orderingOrdinals.contains(i)) 10 else 4
    if (own.nonEmpty && random.nextBoolean()) RowLayout.valueAt(pick(own), i, fields(i).dataType)
    else if (random.nextInt(lacks) == 0) null
    else drawn(fields(i).dataType)
  }

  private def pick[T](from: IndexedSeq[T]): T = from(random.nextInt(from.size))

  private def drawn(dataType: DataType): Any = dataType match {
    case ArrayType(element, _) => new GenericArrayData(Array.fill[Any](random.nextInt(3))(drawn(element)))
    case MapType(key, value, _) =>
      val keys = Seq.fill(random.nextInt(3))(drawn(key)).distinct
      ArrayBasedMapData(keys.toArray[Any], keys.map(_ => drawn(value)).toArray[Any])
    case struct: StructType =>
      new GenericInternalRow(struct.map(f => if (random.nextInt(4) == 0) null else drawn(f.dataType)).toArray[Any])
    case _: StringType if marked.nonEmpty && random.nextInt(3) == 0 => pick(marked)
    case other =>
      val known = simple(other)
      if (known.isEmpty) null else pick(known.toIndexedSeq)
  }
}

object SampleValues {

  /** The one key of all versions. */
  val Key: UTF8String = UTF8String.fromString("k")

  /** Values of a type, the simplest first; empty if no value of it is known. */
  def simple(dataType: DataType): Seq[Any] = dataType match {
    case BooleanType                                 => Seq(false, true)
    case ByteType                                    => numbers.map(_.toByte)
    case ShortType                                   => numbers.map(_.toShort)
    case IntegerType | DateType                      => numbers
    case _: YearMonthIntervalType                    => numbers
    case LongType | TimestampType | TimestampNTZType => numbers.map(_.toLong)
    case _: DayTimeIntervalType                      => numbers.map(_.toLong)
    case FloatType                                   => numbers.map(_.toFloat)
    case DoubleType                                  => numbers.map(_.toDouble)
    case decimal: DecimalType => numbers.map(n => Decimal(n.toLong, decimal.precision, decimal.scale))
    case _: StringType        => Seq("a", "b", "c", "").map(UTF8String.fromString)
    case BinaryType           => Seq("a", "b").map(_.getBytes("UTF-8"))
    case _                    => Nil
  }

  private val numbers = Seq(1, 2, 3, 4, 0, -1)
}
