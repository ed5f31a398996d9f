// Hot path: one call per column of a merged version.
package io.merganser.merge.columns

import io.merganser.merge.RowLayout
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

/**
 * A merged row whose columns are read where they are: in one of the two versions, or among the values that were
 * computed. It is valid as long as these rows are; its copy is a packed row.
 *
 * @param both    the two versions
 * @param at      for each column its position in `both`, or the complement of its position among the computed values
 * @param compute makes the computed values
 * @param pack    makes all columns
 */
private[columns] final class MergedRow(
    both: BothVersions,
    at: Array[Int],
    compute: UnsafeProjection,
    pack: UnsafeProjection
) extends JoinedRow {
  private[this] var values: UnsafeRow = _

  /** This row, for the versions that are in `both` now. */
  def computed(): MergedRow = {
    val row = compute(both)
    if (values ne row) values = row
    this
  }

  override def numFields: Int = at.length

  override def copy(): InternalRow = pack(both).copy()

  override def anyNull: Boolean = at.indices.exists(isNullAt)

  override def isNullAt(i: Int): Boolean = if (at(i) < 0) values.isNullAt(~at(i)) else both.isNullAt(at(i))

  override def get(i: Int, dataType: DataType): AnyRef =
    if (at(i) < 0) values.get(~at(i), dataType) else both.get(at(i), dataType)

  override def getBoolean(i: Int): Boolean = if (at(i) < 0) values.getBoolean(~at(i)) else both.getBoolean(at(i))

  override def getByte(i: Int): Byte = if (at(i) < 0) values.getByte(~at(i)) else both.getByte(at(i))

  override def getShort(i: Int): Short = if (at(i) < 0) values.getShort(~at(i)) else both.getShort(at(i))

  override def getInt(i: Int): Int = if (at(i) < 0) values.getInt(~at(i)) else both.getInt(at(i))

  override def getLong(i: Int): Long = if (at(i) < 0) values.getLong(~at(i)) else both.getLong(at(i))

  override def getFloat(i: Int): Float = if (at(i) < 0) values.getFloat(~at(i)) else both.getFloat(at(i))

  override def getDouble(i: Int): Double = if (at(i) < 0) values.getDouble(~at(i)) else both.getDouble(at(i))

  override def getDecimal(i: Int, precision: Int, scale: Int): Decimal =
    if (at(i) < 0) values.getDecimal(~at(i), precision, scale) else both.getDecimal(at(i), precision, scale)

  override def getUTF8String(i: Int): UTF8String =
    if (at(i) < 0) values.getUTF8String(~at(i)) else both.getUTF8String(at(i))

  override def getBinary(i: Int): Array[Byte] = if (at(i) < 0) values.getBinary(~at(i)) else both.getBinary(at(i))

  override def getInterval(i: Int): CalendarInterval =
    if (at(i) < 0) values.getInterval(~at(i)) else both.getInterval(at(i))

  override def getStruct(i: Int, numFields: Int): InternalRow =
    if (at(i) < 0) values.getStruct(~at(i), numFields) else both.getStruct(at(i), numFields)

  override def getArray(i: Int): ArrayData = if (at(i) < 0) values.getArray(~at(i)) else both.getArray(at(i))

  override def getMap(i: Int): MapData = if (at(i) < 0) values.getMap(~at(i)) else both.getMap(at(i))

  override def toSeq(types: Seq[DataType]): Seq[Any] = types.indices.map(i => RowLayout.valueAt(this, i, types(i)))

  override def toString: String = copy().toString
}

private[columns] object MergedRow {

  /** Whether it has a method for the values of a type: Spark's lines do not have the same types. */
  def reads(dataType: DataType): Boolean = dataType match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType | BinaryType => true
    case DateType | TimestampType | TimestampNTZType | CalendarIntervalType                                => true
    case _: DecimalType | _: StringType | _: DayTimeIntervalType | _: YearMonthIntervalType                => true
    case _: StructType | _: ArrayType | _: MapType                                                         => true
    case _                                                                                                 => false
  }
}
